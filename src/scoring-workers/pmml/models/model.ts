import type { Element } from '../document/element.ts';
import type { Problems } from '../document/problems.ts';
import type { Expression } from '../fields/expression.ts';
import type { DataField } from '../fields/data-field.ts';
import type { Row } from '../fields/row.ts';
import type { Scope } from '../fields/scope.ts';
import { castText, type DataType, type OpType, textOf, type Value } from '../fields/types.ts';
import type { Predicate } from '../predicates/predicate.ts';

export const MINING_FUNCTIONS = [
  'associationRules',
  'sequences',
  'classification',
  'regression',
  'clustering',
  'timeSeries',
  'mixed',
] as const;

export type MiningFunction = (typeof MINING_FUNCTIONS)[number];

/** An entity of a result in the order of its rank: a cluster, a neighbour, a rule. */
export interface RankedEntity {
  readonly id: string;
  /** Distance or similarity; of a rule its measure of rank. */
  readonly affinity: number;
  readonly display?: string;
}

/** A rule of an association, as outputs show it. */
export interface RankedRule {
  readonly id: string;
  readonly antecedent: readonly string[];
  readonly consequent: readonly string[];
  readonly support: number;
  readonly confidence: number;
  readonly lift: number | undefined;
  readonly leverage: number | undefined;
  readonly affinity: number | undefined;
}

/** How the fired rules of an association are chosen for one output. */
export type RuleAlgorithm = 'recommendation' | 'exclusiveRecommendation' | 'ruleAssociation';

const NONE: readonly string[] = [];

/**
 * What a model says about the record that it was evaluated for last. One object for each compiled model, written again for
 * each record, so that scoring allocates nothing.
 */
export class Prediction {
  /** The categories of a classification in the order of the model; empty for others. */
  categories: readonly Value[];
  /** Probability of each category; NaN: none. */
  probabilities: Float64Array;
  /** Confidence of each category; NaN: none. */
  confidences: Float64Array;
  /** The predicted number of a regression; NaN: none. */
  number = Number.NaN;
  /** The predicted value; undefined: none. `setNumber` and `setValue` keep both. */
  value: Value | undefined;
  /** What is shown in its place. */
  display: string | undefined;
  /** Node, rule, cluster, neighbour, neuron that decided. */
  entityId: string | undefined;
  /** Distance or similarity to that entity. */
  affinity = Number.NaN;
  /** Entities, best first, where the model ranks them; computed when an output asks. */
  ranked: (() => readonly RankedEntity[]) | undefined;
  /** Entities in document order, for an affinity that names one (`value`). */
  entities: (() => readonly RankedEntity[]) | undefined;
  /** Reason codes of a scorecard in the order of their rank. */
  reasonCodes: readonly string[] = NONE;
  /** Values of further targets of a model with several, by target field. */
  others: ReadonlyMap<string, Prediction> | undefined;
  /** Rules of an association that fired, in document order; computed when an output asks. */
  rules: ((algorithm: RuleAlgorithm) => readonly RankedRule[]) | undefined;
  /** Spread of a regression or forecast; NaN: none. */
  standardError = Number.NaN;
  standardDeviation = Number.NaN;

  constructor(categories: readonly Value[] = []) {
    this.categories = categories;
    this.probabilities = new Float64Array(categories.length).fill(Number.NaN);
    this.confidences = new Float64Array(categories.length).fill(Number.NaN);
  }

  /** No result: the model has nothing to say about this record. */
  clear(): void {
    this.number = Number.NaN;
    this.value = undefined;
    this.display = undefined;
    this.entityId = undefined;
    this.affinity = Number.NaN;
    this.ranked = undefined;
    this.entities = undefined;
    this.reasonCodes = NONE;
    this.rules = undefined;
    this.standardError = Number.NaN;
    this.standardDeviation = Number.NaN;
    if (this.categories.length > 0) {
      this.probabilities.fill(Number.NaN);
      this.confidences.fill(Number.NaN);
    }
  }

  setNumber(number: number): void {
    this.number = number;
    this.value = Number.isNaN(number) ? undefined : number;
  }

  setValue(value: Value | undefined): void {
    this.value = value;
    this.number = typeof value === 'number' ? value : Number.NaN;
  }

  /** Takes over what another model says. Its arrays are shared, and valid until that model is evaluated again. */
  copyFrom(other: Prediction): void {
    this.categories = other.categories;
    this.probabilities = other.probabilities;
    this.confidences = other.confidences;
    this.number = other.number;
    this.value = other.value;
    this.display = other.display;
    this.entityId = other.entityId;
    this.affinity = other.affinity;
    this.ranked = other.ranked;
    this.entities = other.entities;
    this.reasonCodes = other.reasonCodes;
    this.others = other.others;
    this.rules = other.rules;
    this.standardError = other.standardError;
    this.standardDeviation = other.standardDeviation;
  }

  /** Index of the category with the highest probability, the first of equal ones; -1 where none has one. */
  mostProbable(): number {
    const { probabilities } = this;
    let best = -1;
    let highest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < probabilities.length; i++) {
      const probability = probabilities[i] as number;
      if (probability > highest) {
        highest = probability;
        best = i;
      }
    }
    return best;
  }

  /** Takes the most probable category as the predicted value. */
  setMostProbable(): void {
    const best = this.mostProbable();
    this.setValue(best === -1 ? undefined : this.categories[best]);
  }

  /** Index of a category, by value or by its text; -1 where the model has none such. */
  indexOf(category: Value | undefined): number {
    if (category === undefined) return -1;
    const index = this.categories.indexOf(category);
    if (index !== -1) return index;
    const text = textOf(category, undefined);
    return this.categories.findIndex((known) => textOf(known, undefined) === text);
  }
}

/** The lines of an explanation (13.2), in order. */
export interface Trace {
  line(text: string): void;
}

/**
 * A tree whose tests are all comparisons of slots, as its entries (tree/program.ts): the operand of entry n at 2n, its head and
 * target at 4n + 2 and 4n + 3.
 */
export interface PlainEntries {
  readonly operands: Float64Array;
  readonly heads: Int32Array;
  readonly start: number;
}

/** A tree with the number that each of its leaf entries predicts. */
export interface NumberSource {
  readonly entries: PlainEntries;
  resultOf(leaf: number): number;
}

/** A compiled model without its targets and outputs. */
export interface Model {
  readonly prediction: Prediction;
  /** Scores the record in the row: writes `prediction`. */
  evaluate(row: Row): void;
  /** The predicted number alone, of a regression that tells it faster so: `prediction` is not written. NaN: none. */
  readonly numberOf?: ((row: Row) => number) | undefined;
  /** The same as a tree, where the model is one of comparisons alone. */
  readonly numberSource?: NumberSource | undefined;
  /** Tells how the record, for which `evaluate` was called just before, came to its result. */
  explain?(row: Row, trace: Trace): void;
  /** Bytes of its tables, about. */
  readonly bytes: number;
  /** Outputs of segments, which the result shows too. */
  readonly segmentOutputs?: readonly ModelOutput[];
  /** The names that outputs of this model see, where there are more than it sees itself: those of its segments. */
  readonly innerScope?: Scope;
  /** Of segments by id: for outputs that name one (`segmentId`). */
  readonly segments?: ReadonlyMap<string, PartialModel>;
}

/** The target of a model: what it predicts. */
export interface TargetField {
  readonly name: string;
  readonly type: DataType;
  readonly optype: OpType;
  /** Its field in the dictionary of data; a segment may predict something that is not in it. */
  readonly data: DataField | undefined;
}

/** What the compiler of a model family is given. */
export interface ModelContext {
  readonly element: Element;
  readonly functionName: MiningFunction;
  /** The names that it sees: its mining fields, derived fields, and those around it. */
  readonly scope: Scope;
  /** The first target of the MiningSchema. */
  readonly target: TargetField | undefined;
  readonly targets: readonly TargetField[];
  readonly problems: Problems;
  /** The MiningSchema's active fields, in order. */
  readonly activeFields: readonly string[];
  expression(element: Element, scope?: Scope): Expression;
  predicate(element: Element, scope?: Scope): Predicate;
  /** A model inside of this one, with its own MiningSchema, Targets and Output; `scope` is what it sees of this one. */
  nested(element: Element, scope: Scope): EvaluatedModel;
}

export type CompileModel = (context: ModelContext) => Model;

/** An output field of a model: name, type and value for the record that was evaluated last. */
export interface ModelOutput {
  readonly name: string;
  readonly type: DataType | undefined;
  readonly isFinal: boolean;
  value(row: Row): Value | undefined;
}

/** A segment: its model, which does not take part in every result. */
export interface PartialModel {
  readonly model: EvaluatedModel;
  /** Whether it was evaluated for the record in the row. */
  isActive(row: Row): boolean;
}

/** A model with its targets and outputs. */
export interface EvaluatedModel extends Model {
  readonly functionName: MiningFunction;
  readonly target: TargetField | undefined;
  readonly targets: readonly TargetField[];
  readonly outputs: readonly ModelOutput[];
  /** The scope in which its outputs are fields, for what comes after it in a chain. */
  readonly outputScope: Scope;
}

/** Value of a text of the model, such as a score, as the target's type: 1 as integer is 1, as string '1'. */
export function categoryOf(text: string, target: TargetField | undefined): Value {
  if (target === undefined) return text;
  return castText(text, target.type) ?? text;
}
