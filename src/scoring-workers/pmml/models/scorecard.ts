import { type Element, PmmlError } from '../document/element.ts';
import { numberFrom } from '../fields/expression.ts';
import { InvalidRecord, type Row } from '../fields/row.ts';
import { findPredicate } from '../predicates/compile.ts';
import { type Predicate, TRUE } from '../predicates/predicate.ts';
import { type Model, type ModelContext, Prediction, type Trace } from './model.ts';

interface Attribute {
  readonly predicate: Predicate;
  readonly partialScore: (row: Row) => number;
  /** Index of its reason code; -1: none. */
  readonly reason: number;
}

interface Characteristic {
  readonly name: string;
  readonly attributes: readonly Attribute[];
  /** NaN: none, so it gives no reason. */
  readonly baseline: number;
}

export const REASON_ALGORITHMS = ['pointsAbove', 'pointsBelow'] as const;

/** `Scorecard`: partial scores are added, and the reasons for a low or high one ranked (docs/spec/pmml-trees.md#scorecards). */
export function compileScorecard(context: ModelContext): Model {
  return new ScorecardModel(new ScorecardReader(context), context);
}

class ScorecardReader {
  readonly reasons: string[] = [];
  readonly characteristics: readonly Characteristic[];
  readonly usesReasons: boolean;
  readonly #context: ModelContext;

  constructor(context: ModelContext) {
    this.#context = context;
    const { element } = context;
    this.usesReasons = element.flag('useReasonCodes', true);
    element.oneOf('baselineMethod', ['max', 'min', 'mean', 'neutral', 'other'] as const, 'other');
    const list = element.child('Characteristics')?.childrenOf('Characteristic') ?? [];
    if (list.length === 0) throw new PmmlError(element, 'has no Characteristics');
    this.characteristics = list.map((child, index) => this.#characteristic(child, index));
  }

  #characteristic(element: Element, index: number): Characteristic {
    const attributes = element.childrenOf('Attribute').map((child) => this.#attribute(child, element));
    if (attributes.length === 0) throw new PmmlError(element, 'has no Attribute');
    const baseline = element.number('baselineScore') ?? this.#context.element.number('baselineScore', Number.NaN);
    if (this.usesReasons && Number.isNaN(baseline))
      this.#context.problems.warn(element, "has no 'baselineScore', so it gives no reason code");
    return { name: element.attribute('name') ?? String(index + 1), attributes, baseline };
  }

  #attribute(element: Element, characteristic: Element): Attribute {
    const predicate = findPredicate(element);
    if (predicate === undefined) throw new PmmlError(element, 'has no predicate');
    return {
      predicate: this.#context.predicate(predicate),
      partialScore: this.#partialScore(element),
      reason: this.#reason(element.attribute('reasonCode') ?? characteristic.attribute('reasonCode')),
    };
  }

  #partialScore(element: Element): (row: Row) => number {
    const complex = element.child('ComplexPartialScore');
    if (complex === undefined) {
      const score = element.requiredNumber('partialScore');
      return () => score;
    }
    return numberFrom(this.#context.expression(this.#context.scope.names.expressionOf(complex)));
  }

  #reason(code: string | undefined): number {
    if (code === undefined) return -1;
    const known = this.reasons.indexOf(code);
    return known === -1 ? this.reasons.push(code) - 1 : known;
  }
}

class ScorecardModel implements Model {
  readonly prediction = new Prediction();
  readonly bytes: number;
  readonly #characteristics: readonly Characteristic[];
  readonly #reasons: readonly string[];
  readonly #usesReasons: boolean;
  readonly #initialScore: number;
  /** 1: points above the baseline are reasons, -1: points below. */
  readonly #direction: 1 | -1;
  readonly #isFloat: boolean;
  /** Points of each reason; NaN: it was not given. */
  readonly #points: Float64Array;
  /** Reasons with points, in the order in which they got the first ones. */
  readonly #given: number[] = [];
  /** Partial scores of the record that was scored last. */
  readonly #partial: Float64Array;

  constructor(reader: ScorecardReader, { element }: ModelContext) {
    this.#characteristics = reader.characteristics;
    this.#reasons = reader.reasons;
    this.#usesReasons = reader.usesReasons;
    this.#initialScore = element.number('initialScore', 0);
    this.#direction = element.oneOf('reasonCodeAlgorithm', REASON_ALGORITHMS, 'pointsBelow') === 'pointsAbove' ? 1 : -1;
    this.#isFloat = element.attribute('x-mathContext') === 'float';
    this.#points = new Float64Array(reader.reasons.length);
    this.#partial = new Float64Array(reader.characteristics.length);
    this.bytes = reader.characteristics.reduce((sum, { attributes }) => sum + attributes.length * ATTRIBUTE_BYTES, 0);
  }

  evaluate(row: Row): void {
    const { prediction } = this;
    const points = this.#points.fill(Number.NaN);
    let score = this.#initialScore;
    prediction.clear();
    this.#partial.fill(Number.NaN);
    this.#given.length = 0;
    for (let i = 0; i < this.#characteristics.length; i++) {
      const characteristic = this.#characteristics[i];
      const attribute = attributeFor(characteristic, row);
      const partial = attribute.partialScore(row);
      if (Number.isNaN(partial)) return;
      this.#partial[i] = partial;
      score = this.#isFloat ? Math.fround(score + partial) : score + partial;
      const { reason } = attribute;
      const difference = (partial - characteristic.baseline) * this.#direction;
      if (reason === -1 || Number.isNaN(difference)) continue;
      if (Number.isNaN(points[reason])) {
        points[reason] = difference;
        this.#given.push(reason);
      } else points[reason] += difference;
    }
    prediction.setNumber(score);
    if (this.#usesReasons) prediction.reasonCodes = this.#rankedReasons();
  }

  /** Reasons with points, most first; of equal ones the one that got points first. */
  #rankedReasons(): readonly string[] {
    const points = this.#points;
    return this.#given
      .filter((reason) => points[reason] >= 0)
      .sort((a, b) => points[b] - points[a])
      .map((reason) => this.#reasons[reason]);
  }

  explain(_row: Row, trace: Trace): void {
    trace.line('[Scorecard]');
    trace.line(`The initial score is [${this.#initialScore}]`);
    this.#characteristics.forEach(({ name }, index) => {
      const partial = this.#partial[index];
      if (!Number.isNaN(partial)) trace.line(`The partial score of the characteristic [${name}] is [${partial}]`);
    });
  }
}

/** @throws InvalidRecord where no attribute is true of the record */
function attributeFor({ attributes, name }: Characteristic, row: Row): Attribute {
  for (const attribute of attributes) if (attribute.predicate(row) === TRUE) return attribute;
  throw new InvalidRecord(`no attribute of the characteristic '${name}' is true`);
}

const ATTRIBUTE_BYTES = 400;
