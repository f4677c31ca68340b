/** SupportVectorMachineModel (docs/spec/pmml-equations.md#support-vector-machines). */
import { PmmlError } from '../../document/element.ts';
import type { Row } from '../../fields/row.ts';
import { textOf, type Value } from '../../fields/types.ts';
import { warnOfFloat } from '../math-context.ts';
import { categoryOf, type CompileModel, type Model, type ModelContext, Prediction } from '../model.ts';
import { readKernel } from './kernel.ts';
import { Machine } from './machine.ts';
import { RecordVector, SupportVectors } from './vectors.ts';

/** The machines of a model and what they are computed from. */
interface Machines {
  readonly list: readonly Machine[];
  readonly bytes: number;
  /** Kernels, or the record's vector; undefined where a field is missing. */
  values(row: Row): Float64Array | undefined;
}

export const compileSupportVector: CompileModel = (context) => {
  const { element, functionName } = context;
  warnOfFloat(context);
  const machines = readMachines(context);
  if (functionName === 'classification') return classification(context, machines);
  if (functionName !== 'regression')
    throw new PmmlError(element, `'functionName' is '${functionName}'; it may be regression, classification`);
  return regression(context, machines);
};

function readMachines(context: ModelContext): Machines {
  const { element } = context;
  const representation = element.oneOf(
    'svmRepresentation',
    ['SupportVectors', 'Coefficients'] as const,
    'SupportVectors',
  );
  const kernel = readKernel(element);
  const dictionary = element.child('VectorDictionary');
  if (dictionary === undefined) throw new PmmlError(element, 'has no VectorDictionary');
  const record = new RecordVector(dictionary, context);
  const size = record.values.length;
  if (representation === 'Coefficients' && !kernel.isLinear)
    throw new PmmlError(element, "'svmRepresentation' is 'Coefficients', which needs a LinearKernelType");
  const vectors = representation === 'Coefficients' ? undefined : new SupportVectors(dictionary, size, kernel);
  const threshold = element.number('threshold', 0);
  const elements = element.childrenOf('SupportVectorMachine');
  if (elements.length === 0) throw new PmmlError(element, 'has no SupportVectorMachine');
  const list = elements.map((machine) => new Machine(machine, vectors, { size, threshold }));
  return {
    list,
    bytes: list.reduce((sum, { bytes }) => sum + bytes, vectors?.bytes ?? 0),
    values(row) {
      if (!record.read(row)) return undefined;
      if (vectors === undefined) return record.values;
      vectors.compute(record.values);
      return vectors.kernels;
    },
  };
}

function regression({ element }: ModelContext, machines: Machines): Model {
  const [machine] = machines.list as readonly [Machine];
  if (machines.list.length !== 1)
    throw new PmmlError(element, `has ${machines.list.length} machines; a regression has one`);
  const prediction = new Prediction();
  return {
    prediction,
    bytes: machines.bytes,
    evaluate(row) {
      const values = machines.values(row);
      prediction.setNumber(values === undefined ? Number.NaN : machine.value(values));
    },
    explain(_row, trace) {
      trace.line('[SupportVectorMachine]');
      trace.line(`Value of the machine is [${shown(prediction.number)}]`);
    },
  };
}

const shown = (number: number): string => (Number.isNaN(number) ? 'missing' : textOf(number, 'double'));

/** How a machine of a classification votes: for one of two categories. */
interface Vote {
  readonly machine: Machine;
  readonly category: number;
  readonly alternate: number;
}

function classification(context: ModelContext, machines: Machines): Model {
  const { element, target } = context;
  const isMaximum = element.flag('maxWins', false);
  const binary = element.attribute('alternateBinaryTargetCategory');
  const texts = categoriesOf(context, machines.list, binary);
  const indexes = new Map(texts.map((text, index) => [text, index]));
  const indexOf = (text: string): number => indexes.get(textOf(categoryOf(text, target), target?.type)) ?? -1;
  const nameOf = ({ targetCategory }: Machine): string => {
    if (targetCategory === undefined)
      throw new PmmlError(element, "a SupportVectorMachine of a classification has no 'targetCategory'");
    return targetCategory;
  };
  const prediction = new Prediction(texts.map((text): Value => categoryOf(text, target)));
  const outputs = new Float64Array(machines.list.length);
  let missing = false;
  const vote = votesOf(context, machines.list, { texts, binary, indexOf, nameOf });
  const decide =
    vote === undefined
      ? byExtreme(prediction, { categories: machines.list.map((machine) => indexOf(nameOf(machine))), isMaximum })
      : byVotes(prediction, { votes: vote, isMaximum, isBinary: binary !== undefined });
  return {
    prediction,
    bytes: machines.bytes,
    evaluate(row) {
      const values = machines.values(row);
      missing = values === undefined;
      prediction.clear();
      if (values === undefined) return;
      for (let i = 0; i < outputs.length; i++) outputs[i] = (machines.list[i] as Machine).value(values);
      decide(outputs);
    },
    explain(_row, trace) {
      trace.line('[SupportVectorMachine]');
      const type = (target?.type ?? 'string').toUpperCase();
      machines.list.forEach(({ targetCategory, alternateTargetCategory }, i) => {
        const other =
          alternateTargetCategory === undefined
            ? ''
            : `, alternateTargetCategory: ${alternateTargetCategory} (${type})`;
        trace.line(
          `Processing [SupportVectorMachine] [targetCategory: ${targetCategory} (${type})${other}], the value is [${missing ? 'missing' : shown(outputs[i] as number)}]`,
        );
      });
    },
  };
}

/** One against all: the machine with the least value wins, or that with the greatest. */
function byExtreme(
  prediction: Prediction,
  form: { readonly categories: readonly number[]; readonly isMaximum: boolean },
): (outputs: Float64Array) => void {
  const { categories, isMaximum } = form;
  return (outputs) => {
    let best = -1;
    for (let i = 0; i < outputs.length; i++) {
      const output = outputs[i] as number;
      if (Number.isNaN(output)) continue;
      const held = outputs[best] as number;
      if (best === -1 || (isMaximum ? output > held : output < held)) best = i;
    }
    if (best === -1) return;
    prediction.setValue(prediction.categories[categories[best] as number]);
    prediction.affinity = outputs[best] as number;
  };
}

/** Each machine votes for one of its two categories; the share of votes is the probability. */
function byVotes(
  prediction: Prediction,
  form: { readonly votes: readonly Vote[]; readonly isMaximum: boolean; readonly isBinary: boolean },
): (outputs: Float64Array) => void {
  const { votes, isMaximum, isBinary } = form;
  return (outputs) => {
    const { probabilities } = prediction;
    probabilities.fill(0);
    for (let i = 0; i < votes.length; i++) {
      const { machine, category, alternate } = votes[i] as Vote;
      const output = outputs[i] as number;
      const choice = isBinary
        ? ofRounded(output, category, alternate)
        : (isMaximum ? output > machine.threshold : output < machine.threshold)
          ? category
          : alternate;
      if (choice === -1 || Number.isNaN(output)) {
        prediction.clear();
        return;
      }
      probabilities[choice] = (probabilities[choice] as number) + 1;
    }
    for (let i = 0; i < probabilities.length; i++) probabilities[i] = (probabilities[i] as number) / votes.length;
    prediction.setMostProbable();
  };
}

/** Of `alternateBinaryTargetCategory`: 1 is the machine's category, 0 the other; -1: the output is neither. */
function ofRounded(output: number, category: number, alternate: number): number {
  const rounded = Math.round(output);
  return rounded === 1 ? category : rounded === 0 ? alternate : -1;
}

/** The votes of machines of two categories each; undefined where each machine is one category against all. */
function votesOf(
  context: ModelContext,
  list: readonly Machine[],
  form: {
    readonly texts: readonly string[];
    readonly binary: string | undefined;
    readonly indexOf: (text: string) => number;
    readonly nameOf: (machine: Machine) => string;
  },
): readonly Vote[] | undefined {
  const { element } = context;
  const { texts, binary, indexOf, nameOf } = form;
  const given = element.attribute('classificationMethod');
  const method = element.oneOf('classificationMethod', ['OneAgainstAll', 'OneAgainstOne'] as const, 'OneAgainstAll');
  // Many documents leave the method out: two categories for each machine are one against one.
  const hasPairs = list.every(({ alternateTargetCategory }) => alternateTargetCategory !== undefined);
  const isOnly = list.length === 1 && texts.length === 2;
  const isPairs = method === 'OneAgainstOne' || (given === undefined && hasPairs) || isOnly || binary !== undefined;
  if (!isPairs) return undefined;
  if (binary !== undefined && list.length !== 1)
    throw new PmmlError(element, `has ${list.length} machines; with 'alternateBinaryTargetCategory' there is one`);
  return list.map((machine) => {
    const category = indexOf(nameOf(machine));
    const alternate = binary ?? machine.alternateTargetCategory ?? (isOnly ? texts[1 - category] : undefined);
    if (alternate === undefined)
      throw new PmmlError(
        element,
        `the SupportVectorMachine of '${machine.targetCategory}' has no 'alternateTargetCategory'`,
      );
    return { machine, category, alternate: indexOf(alternate) };
  });
}

/** Declared values of the target in their order, then others that machines name. */
function categoriesOf({ target }: ModelContext, list: readonly Machine[], binary: string | undefined): string[] {
  const texts = new Set((target?.data?.valid ?? []).map((value) => textOf(value, target?.type)));
  const named = list.flatMap(({ targetCategory, alternateTargetCategory }) => [
    targetCategory,
    alternateTargetCategory,
  ]);
  for (const text of [...named, binary])
    if (text !== undefined) texts.add(textOf(categoryOf(text, target), target?.type));
  return [...texts];
}
