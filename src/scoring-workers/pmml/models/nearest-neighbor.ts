import { type Element, PmmlError } from '../document/element.ts';
import { type Field, store } from '../fields/field.ts';
import { Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import { tableOf } from '../fields/tables.ts';
import { castText, type Value } from '../fields/types.ts';
import { asNumber, type ComparedField, comparedField, type Measure, readMeasure } from './comparison.ts';
import type { Model, ModelContext, RankedEntity, TargetField, Trace } from './model.ts';
import { Prediction } from './model.ts';
import { highestOf } from '../math/vectors.ts';

export const CONTINUOUS_METHODS = ['median', 'average', 'weightedAverage'] as const;
export const CATEGORICAL_METHODS = ['majorityVote', 'weightedMajorityVote'] as const;
const INSTANCES_MAX = 5_000_000;

interface Columns {
  /** Texts of each training instance by field, in document order; undefined: missing. */
  readonly rows: readonly ReadonlyMap<string, string>[];
}

/** NearestNeighborModel: what the k nearest training instances say (k-Nearest Neighbors of the standard). */
export function compileNearestNeighbor(context: ModelContext): Model {
  const { element, scope } = context;
  const measureElement = element.child('ComparisonMeasure');
  if (measureElement === undefined) throw new PmmlError(element, 'the ComparisonMeasure is missing');
  const fields = (element.child('KNNInputs')?.childrenOf('KNNInput') ?? []).map((input) =>
    comparedField(input, scope.field(input.required('field'), input), measureElement),
  );
  if (fields.length === 0) throw new PmmlError(element, 'the KNNInput is missing');
  const neighbors = element.requiredNumber('numberOfNeighbors');
  if (!Number.isInteger(neighbors) || neighbors < 1)
    throw new PmmlError(element, `'numberOfNeighbors' is '${neighbors}'; it is 1 or more`);
  const instances = readInstances(element, scope);
  const targets = context.targets.map((target) => readTarget(target, instances.columns, element));
  const idColumn = element.attribute('instanceIdVariable');
  return new NearestNeighborModel({
    fields,
    measure: readMeasure(measureElement, fields),
    neighbors,
    threshold: element.number('threshold', 0.001),
    continuous: element.oneOf('continuousScoringMethod', CONTINUOUS_METHODS, 'average'),
    categorical: element.oneOf('categoricalScoringMethod', CATEGORICAL_METHODS, 'majorityVote'),
    targets,
    ids: instances.columns.rows.map((row, index) => {
      const id = idColumn === undefined ? undefined : row.get(idColumn);
      return id ?? String(index + 1);
    }),
    instances: trainingValues(instances, fields, context),
    isClustering: context.functionName === 'clustering',
  });
}

interface Instances {
  readonly columns: Columns;
  readonly isTransformed: boolean;
  readonly element: Element;
  readonly names: readonly string[];
}

function readInstances(model: Element, scope: Scope): Instances {
  const element = model.child('TrainingInstances');
  if (element === undefined) throw new PmmlError(model, 'there are no TrainingInstances');
  const fields = (element.child('InstanceFields')?.childrenOf('InstanceField') ?? []).map((field) => {
    const name = field.required('field');
    return { name, column: localName(field.attribute('column') ?? name) };
  });
  const byColumn = new Map<string, string[]>();
  for (const { name, column } of fields) byColumn.set(column, [...(byColumn.get(column) ?? []), name]);
  const rows = tableOf(element, scope).map((row) => {
    const cells = new Map<string, string>();
    for (const [column, text] of row) for (const name of byColumn.get(column) ?? []) cells.set(name, text);
    return cells;
  });
  if (rows.length === 0) throw new PmmlError(element, 'the table has no row');
  if (rows.length > INSTANCES_MAX) throw new PmmlError(element, `there are more than ${INSTANCES_MAX} rows`);
  return {
    columns: { rows },
    isTransformed: element.flag('isTransformed', false),
    element,
    names: fields.map(({ name }) => name),
  };
}

/** The local part of a name with a prefix. */
function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** What the instances say about one target. */
interface Target {
  readonly field: TargetField;
  readonly isCategorical: boolean;
  readonly values: readonly (Value | undefined)[];
  readonly prediction: Prediction;
}

function readTarget(field: TargetField, columns: Columns, element: Element): Target {
  const values = columns.rows.map((row) => {
    const text = row.get(field.name);
    return text === undefined ? undefined : castText(text, field.type);
  });
  if (!values.some((value) => value !== undefined))
    throw new PmmlError(element, `no training instance has a value of the target '${field.name}'`);
  const isCategorical = field.optype !== 'continuous';
  const categories = isCategorical ? [...new Set(values.filter((value) => value !== undefined))] : [];
  return { field, isCategorical, values, prediction: new Prediction(categories) };
}

/** Values of the compared fields of each instance, row by row; those that are not transformed go through the model's fields. */
function trainingValues(
  instances: Instances,
  fields: readonly ComparedField[],
  context: ModelContext,
): (slots: number) => Float64Array {
  const { scope } = context;
  const given = new Map<string, Field>();
  for (const name of instances.names) {
    const field = scope.find(name, instances.element);
    if (field !== undefined) given.set(name, field);
  }
  // Records hold codes of texts: all that the instances have are known before the first one.
  for (const [name, { dictionary }] of given)
    if (dictionary !== undefined)
      for (const cells of instances.columns.rows) {
        const text = cells.get(name);
        if (text !== undefined) dictionary.add(text);
      }
  return (slots) => {
    const row = new Row(slots);
    const values = new Float64Array(instances.columns.rows.length * fields.length);
    instances.columns.rows.forEach((cells, index) => {
      row.epoch++;
      for (const [name, field] of given) {
        const text = cells.get(name);
        store(row, field.slot, text === undefined ? undefined : castText(text, field.type), field.dictionary);
        // A field that is computed is taken as it stands in the table.
        row.stamps[field.slot] = row.epoch;
      }
      fields.forEach(({ field }, i) => {
        field.ensure?.(row);
        const text = row.values[field.slot];
        values[index * fields.length + i] =
          typeof text === 'string' ? asNumber(field, text) : (row.numbers[field.slot] as number);
      });
    });
    return values;
  };
}

interface Form {
  readonly fields: readonly ComparedField[];
  readonly measure: Measure;
  readonly neighbors: number;
  readonly threshold: number;
  readonly continuous: (typeof CONTINUOUS_METHODS)[number];
  readonly categorical: (typeof CATEGORICAL_METHODS)[number];
  readonly targets: readonly Target[];
  readonly ids: readonly string[];
  readonly instances: (slots: number) => Float64Array;
  readonly isClustering: boolean;
}

class NearestNeighborModel implements Model {
  readonly prediction: Prediction;
  readonly bytes: number;
  readonly #form: Form;
  readonly #record: Float64Array;
  #instances: Float64Array | undefined;
  /** Of the record: the nearest instances and their distances, best first. */
  readonly #nearest: Int32Array;
  readonly #distances: Float64Array;
  #count = 0;

  constructor(form: Form) {
    this.#form = form;
    this.#record = new Float64Array(form.fields.length);
    this.#nearest = new Int32Array(Math.min(form.neighbors, form.ids.length));
    this.#distances = new Float64Array(this.#nearest.length);
    this.prediction = form.targets[0]?.prediction ?? new Prediction();
    if (form.targets.length > 1)
      this.prediction.others = new Map(form.targets.map(({ field, prediction }) => [field.name, prediction]));
    this.bytes = form.ids.length * (form.fields.length * 8 + 64 + form.targets.length * 16);
  }

  evaluate(row: Row): void {
    const { fields, targets } = this.#form;
    if (this.#instances === undefined) {
      // Fields of the instances are computed with the first record: not before are all slots of the model given out.
      this.#instances = this.#form.instances(row.numbers.length);
      // Texts that were computed for the instances have codes since.
      for (const { field } of fields) if (field.ensure !== undefined) row.stamps[field.slot] = -1;
    }
    const { prediction } = this;
    const { others } = prediction;
    let missing = 0;
    for (let i = 0; i < fields.length; i++) {
      const { field } = fields[i] as ComparedField;
      field.ensure?.(row);
      const value = row.numbers[field.slot] as number;
      this.#record[i] = value;
      if (Number.isNaN(value)) missing++;
    }
    for (const target of targets) target.prediction.clear();
    prediction.clear();
    prediction.others = others;
    this.#count = 0;
    if (missing === fields.length) return;
    this.#find(this.#instances, missing === 0 ? 1 : fields.length / (fields.length - missing));
    for (const target of targets) this.#predict(target);
    // No instance has a distance.
    if (this.#count === 0) return;
    const first = this.#nearest[0] as number;
    prediction.entityId = this.#form.ids[first];
    prediction.affinity = this.#distances[0] as number;
    prediction.ranked = this.#ranked;
    if (targets.length === 0 || this.#form.isClustering) prediction.setValue(prediction.entityId);
  }

  /** The nearest instances by insertion into a short list; of equally near ones the first of the document. */
  #find(instances: Float64Array, adjustment: number): void {
    const { measure, fields, ids } = this.#form;
    const sign = measure.kind === 'distance' ? 1 : -1;
    const nearest = this.#nearest;
    const distances = this.#distances;
    let count = 0;
    for (let i = 0; i < ids.length; i++) {
      const distance = measure.between(this.#record, instances, i * fields.length, adjustment);
      if (Number.isNaN(distance)) continue;
      if (count === nearest.length && sign * distance >= sign * (distances[count - 1] as number)) continue;
      let at = count < nearest.length ? count++ : count - 1;
      while (at > 0 && sign * (distances[at - 1] as number) > sign * distance) {
        distances[at] = distances[at - 1] as number;
        nearest[at] = nearest[at - 1] as number;
        at--;
      }
      distances[at] = distance;
      nearest[at] = i;
    }
    this.#count = count;
  }

  readonly #ranked = (): RankedEntity[] =>
    Array.from({ length: this.#count }, (_, i) => ({
      id: this.#form.ids[this.#nearest[i] as number] as string,
      affinity: this.#distances[i] as number,
    }));

  #predict(target: Target): void {
    if (target.isCategorical) this.#vote(target);
    else target.prediction.setNumber(this.#numberOf(target));
  }

  /** How much a neighbour counts: less the farther it is, or more the more alike. */
  #weight(i: number): number {
    const distance = this.#distances[i] as number;
    return this.#form.measure.kind === 'distance' ? 1 / (distance + this.#form.threshold) : distance;
  }

  #vote(target: Target): void {
    const { prediction, values } = target;
    const isWeighted = this.#form.categorical === 'weightedMajorityVote';
    const votes = new Float64Array(prediction.categories.length);
    let all = 0;
    for (let i = 0; i < this.#count; i++) {
      const index = prediction.indexOf(values[this.#nearest[i] as number]);
      if (index === -1) continue;
      const weight = isWeighted ? this.#weight(i) : 1;
      votes[index] = (votes[index] as number) + weight;
      all += weight;
    }
    if (all === 0) return;
    for (let i = 0; i < votes.length; i++) prediction.probabilities[i] = (votes[i] as number) / all;
    prediction.setValue(this.#winner(target, votes));
  }

  /** Of categories with as many votes the one that more of all instances have (the standard's rule for ties), then the first. */
  #winner(target: Target, votes: Float64Array): Value | undefined {
    const highest = highestOf(votes);
    const tied = target.prediction.categories.filter((_, i) => votes[i] === highest);
    if (tied.length < 2) return tied[0];
    const counts = tied.map((category) => target.values.filter((value) => value === category).length);
    return tied[counts.indexOf(highestOf(counts))];
  }

  #numberOf(target: Target): number {
    const numbers: number[] = [];
    const weights: number[] = [];
    for (let i = 0; i < this.#count; i++) {
      const value = target.values[this.#nearest[i] as number];
      if (typeof value !== 'number') continue;
      numbers.push(value);
      weights.push(this.#weight(i));
    }
    if (numbers.length === 0) return Number.NaN;
    const sum = (list: readonly number[]): number => list.reduce((total, number) => total + number, 0);
    if (this.#form.continuous === 'average') return sum(numbers) / numbers.length;
    if (this.#form.continuous === 'weightedAverage')
      return sum(numbers.map((number, i) => number * (weights[i] as number))) / sum(weights);
    const sorted = numbers.sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    const upper = sorted[middle] as number;
    return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
  }

  explain(_: Row, trace: Trace): void {
    trace.line('[NearestNeighborModel]');
    for (const { id, affinity } of this.#ranked())
      trace.line(`The [${this.#form.measure.kind}] of the record to the training instance [${id}] is [${affinity}]`);
  }
}
