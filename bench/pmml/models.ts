/** PMML documents for the bench, each with the same model as plain JavaScript. */

export type BenchRecord = Readonly<Record<string, number>>;

export interface PmmlSubject {
  readonly name: string;
  readonly document: string;
  /** Body of a function of `record` that gives the same result. */
  readonly source: string;
  /** Output that both give. */
  readonly output: string;
}

const FIELDS = Array.from({ length: 50 }, (_, i) => `f${i}`);

/** Numbers between -1 and 1, the same at each run. */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return (state / 2_147_483_647) * 2 - 1;
  };
}

/** Records with all fields, as JSON.parse makes them of a request's body. */
export function records(count: number): BenchRecord[] {
  const next = numbers(7);
  const one = (): string => `{${FIELDS.map((name) => `"${name}":${next()}`).join()}}`;
  return Array.from({ length: count }, () => JSON.parse(one()) as BenchRecord);
}

function documentOf(categories: readonly string[], model: string): string {
  const inputs = FIELDS.map((name) => `<DataField name="${name}" optype="continuous" dataType="double"/>`).join('');
  const values = categories.map((value) => `<Value value="${value}"/>`).join('');
  return `<PMML version="4.4"><Header/><DataDictionary>${inputs}<DataField name="class" optype="categorical" dataType="string">${values}</DataField></DataDictionary>${model}</PMML>`;
}

const SCHEMA = `<MiningSchema><MiningField name="class" usageType="target"/>${FIELDS.map((name) => `<MiningField name="${name}"/>`).join('')}</MiningSchema>`;

/** A logistic regression of 50 fields. */
function logisticRegression(): PmmlSubject {
  const next = numbers(11);
  const weights = FIELDS.map(next);
  const predictors = FIELDS.map((name, i) => `<NumericPredictor name="${name}" coefficient="${weights[i]}"/>`).join('');
  return {
    name: 'logistic regression, 50 fields',
    output: 'class',
    document: documentOf(
      ['yes', 'no'],
      `<RegressionModel functionName="classification" normalizationMethod="logit">${SCHEMA}<RegressionTable targetCategory="yes" intercept="0.1">${predictors}</RegressionTable><RegressionTable targetCategory="no"/></RegressionModel>`,
    ),
    source: `let y = 0; ${FIELDS.map((name, i) => `y += ${weights[i]} * record.${name};`).join(' ')}
      const p = 1 / (1 + Math.exp(-(y + 0.1))); return { class: p >= 0.5 ? 'yes' : 'no' };`,
  };
}

/** A network 50-100-10: logistic neurons, then softmax. */
function network(): PmmlSubject {
  const next = numbers(13);
  const layer = (neurons: number, inputs: number) =>
    Array.from({ length: neurons }, () => ({ bias: next(), weights: Array.from({ length: inputs }, next) }));
  const hidden = layer(100, 50);
  const output = layer(10, 100);
  const neurons = (of: typeof hidden, id: string, from: (i: number) => string): string =>
    of
      .map(
        ({ bias, weights }, i) =>
          `<Neuron id="${id}${i}" bias="${bias}">${weights.map((weight, j) => `<Con from="${from(j)}" weight="${weight}"/>`).join('')}</Neuron>`,
      )
      .join('');
  const inputs = FIELDS.map(
    (name) =>
      `<NeuralInput id="${name}"><DerivedField optype="continuous" dataType="double"><FieldRef field="${name}"/></DerivedField></NeuralInput>`,
  ).join('');
  const outputs = output
    .map(
      (_, i) =>
        `<NeuralOutput outputNeuron="o${i}"><DerivedField optype="categorical" dataType="string"><NormDiscrete field="class" value="c${i}"/></DerivedField></NeuralOutput>`,
    )
    .join('');
  const array = (values: readonly number[]): string => `Float64Array.of(${values.join()})`;
  const sums = (to: string, of: string, from: string, width: number): string =>
    `for (let i = 0, at = 0; i < ${to}.length; i++) { let sum = 0; for (let j = 0; j < ${width}; j++) sum += ${of}Weights[at++] * ${from}[j]; ${to}[i] = sum + ${of}Biases[i]; }`;
  return {
    name: 'neural network, 50-100-10',
    output: 'class',
    document: documentOf(
      output.map((_, i) => `c${i}`),
      `<NeuralNetwork functionName="classification" activationFunction="logistic">${SCHEMA}<NeuralInputs>${inputs}</NeuralInputs><NeuralLayer>${neurons(hidden, 'h', (i) => `f${i}`)}</NeuralLayer><NeuralLayer activationFunction="identity" normalizationMethod="softmax">${neurons(output, 'o', (i) => `h${i}`)}</NeuralLayer><NeuralOutputs>${outputs}</NeuralOutputs></NeuralNetwork>`,
    ),
    source: `const x = held.x ??= new Float64Array(50), h = held.h ??= new Float64Array(100), o = held.o ??= new Float64Array(10);
      const hiddenWeights = held.hw ??= ${array(hidden.flatMap(({ weights }) => weights))}, hiddenBiases = held.hb ??= ${array(hidden.map(({ bias }) => bias))};
      const outputWeights = held.ow ??= ${array(output.flatMap(({ weights }) => weights))}, outputBiases = held.ob ??= ${array(output.map(({ bias }) => bias))};
      ${FIELDS.map((name, i) => `x[${i}] = record.${name};`).join(' ')}
      ${sums('h', 'hidden', 'x', 50)} for (let i = 0; i < 100; i++) h[i] = 1 / (1 + Math.exp(-h[i]));
      ${sums('o', 'output', 'h', 100)}
      let best = 0; for (let i = 1; i < 10; i++) if (o[i] > o[best]) best = i;
      let total = 0; for (let i = 0; i < 10; i++) total += Math.exp(o[i] - o[best]);
      return { class: 'c' + best, probability: 1 / total };`,
  };
}

export const PMML_SUBJECTS: readonly (() => PmmlSubject)[] = [logisticRegression, network];
