import { type Element, PmmlError } from '../document/element.ts';
import type { Row } from '../fields/row.ts';
import type { Value } from '../fields/types.ts';
import { findPredicate } from '../predicates/compile.ts';
import { type Predicate, TRUE } from '../predicates/predicate.ts';
import { categoryOf, type Model, type ModelContext, Prediction, type RankedEntity, type Trace } from './model.ts';

/** A SimpleRule. */
interface Rule {
  readonly id: string;
  /** Index of its score among the categories. */
  readonly category: number;
  readonly confidence: number;
  readonly weight: number;
  /** Shares of records by category, where the rule has a ScoreDistribution. */
  readonly shares: Float64Array | undefined;
}

/** A rule with its predicate; of a CompoundRule the rules inside are asked where it is true. */
interface Guarded {
  readonly predicate: Predicate;
  readonly rule: Rule | undefined;
  readonly inner: readonly Guarded[];
}

export const RULE_CRITERIA = ['weightedSum', 'weightedMax', 'firstHit'] as const;

type Criterion = (typeof RULE_CRITERIA)[number];

/** `RuleSetModel`: the first rule that fires, or the score whose rules have most weight (docs/spec/pmml-trees.md#rule-sets). */
export function compileRuleSet(context: ModelContext): Model {
  const ruleSet = context.element.child('RuleSet');
  if (ruleSet === undefined) throw new PmmlError(context.element, 'has no RuleSet');
  const reader = new RuleReader(context);
  const rules = reader.read(ruleSet);
  return new RuleSetModel(ruleSet, rules, reader, context);
}

class RuleReader {
  readonly categories: Value[];
  readonly #context: ModelContext;
  count = 0;

  constructor(context: ModelContext) {
    this.#context = context;
    this.categories = [...(context.target?.data?.valid ?? [])];
  }

  read(parent: Element): readonly Guarded[] {
    const { nesting } = this.#context.scope.names;
    nesting.enter(parent);
    try {
      return parent.childrenOf('SimpleRule', 'CompoundRule').map((element) => {
        const predicate = findPredicate(element);
        if (predicate === undefined) throw new PmmlError(element, 'has no predicate');
        const compiled = this.#context.predicate(predicate);
        if (element.name === 'SimpleRule') return { predicate: compiled, rule: this.#simple(element), inner: [] };
        return { predicate: compiled, rule: undefined, inner: this.read(element) };
      });
    } finally {
      nesting.leave();
    }
  }

  #simple(element: Element): Rule {
    this.count++;
    const distributions = element.childrenOf('ScoreDistribution');
    const shares = distributions.map((one) => ({
      category: this.category(one.required('value')),
      records: one.number('probability') ?? one.number('recordCount', 0),
    }));
    const category = this.category(element.required('score'));
    const records = shares.reduce((sum, share) => sum + share.records, 0);
    return {
      id: element.attribute('id') ?? String(this.count),
      category,
      confidence: element.number('confidence', 1),
      weight: element.number('weight', 1),
      shares: records === 0 ? undefined : sharesOf(shares, records),
    };
  }

  /** Index of a score; one of a regression is a number. */
  category(text: string): number {
    const { target, functionName, element } = this.#context;
    const value = functionName === 'regression' ? Number(text) : categoryOf(text, target);
    if (typeof value === 'number' && Number.isNaN(value))
      throw new PmmlError(element, `the score '${text}' is not a number`);
    const known = this.categories.indexOf(value);
    return known === -1 ? this.categories.push(value) - 1 : known;
  }
}

function sharesOf(shares: readonly { readonly category: number; readonly records: number }[], records: number) {
  const length = shares.reduce((most, { category }) => Math.max(most, category + 1), 0);
  const made = new Float64Array(length);
  for (const share of shares) made[share.category] += share.records / records;
  return made;
}

class RuleSetModel implements Model {
  readonly prediction: Prediction;
  readonly bytes: number;
  readonly #rules: readonly Guarded[];
  /** Scores by index, of a classification its categories. */
  readonly #values: readonly Value[];
  readonly #criterion: Criterion;
  readonly #defaultCategory: number;
  readonly #defaultConfidence: number;
  /** Rules that fired for the record, in order. */
  readonly #fired: Rule[] = [];
  /** By category: weight of the rules that fired, and the one with most. */
  readonly #sums: Float64Array;
  readonly #best: (Rule | undefined)[];
  /** The target declares its values, by whose order equal sums are decided. */
  readonly #isDeclared: boolean;

  constructor(ruleSet: Element, rules: readonly Guarded[], reader: RuleReader, context: ModelContext) {
    const [method] = ruleSet.childrenOf('RuleSelectionMethod');
    if (method === undefined) throw new PmmlError(ruleSet, 'has no RuleSelectionMethod');
    this.#criterion = method.oneOf('criterion', RULE_CRITERIA, method.required('criterion') as Criterion);
    this.#rules = rules;
    const score = ruleSet.attribute('defaultScore');
    this.#defaultCategory = score === undefined ? -1 : reader.category(score);
    this.#defaultConfidence = ruleSet.number('defaultConfidence', Number.NaN);
    const isRegression = context.functionName === 'regression';
    this.#isDeclared = (context.target?.data?.valid.length ?? 0) > 0;
    this.#values = reader.categories;
    this.prediction = new Prediction(isRegression ? [] : reader.categories);
    this.#sums = new Float64Array(reader.categories.length);
    this.#best = new Array<Rule | undefined>(reader.categories.length).fill(undefined);
    this.bytes = reader.count * RULE_BYTES;
  }

  evaluate(row: Row): void {
    this.#fired.length = 0;
    this.#collect(this.#rules, row);
    this.prediction.clear();
    const [first] = this.#fired;
    if (first === undefined) this.#writeDefault();
    else if (this.#criterion === 'firstHit') this.#write(first, first.confidence);
    else this.#vote();
  }

  /** @returns whether no more rules are needed */
  #collect(rules: readonly Guarded[], row: Row): boolean {
    for (const { predicate, rule, inner } of rules) {
      if (predicate(row) !== TRUE) continue;
      if (rule === undefined) {
        if (this.#collect(inner, row)) return true;
        continue;
      }
      this.#fired.push(rule);
      if (this.#criterion === 'firstHit') return true;
    }
    return false;
  }

  #writeDefault(): void {
    if (this.#defaultCategory === -1) return;
    this.prediction.setValue(this.#values[this.#defaultCategory]);
    if (this.prediction.categories.length > 0)
      this.prediction.confidences[this.#defaultCategory] = this.#defaultConfidence;
  }

  #write(rule: Rule, confidence: number): void {
    const { prediction } = this;
    prediction.setValue(this.#values[rule.category]);
    prediction.entityId = rule.id;
    if (prediction.categories.length === 0) return;
    prediction.confidences[rule.category] = confidence;
    if (rule.shares === undefined) return;
    prediction.probabilities.fill(0);
    prediction.probabilities.set(rule.shares);
  }

  /** The sum of weights is divided by the number of all rules that fired. */
  #vote(): void {
    const sums = this.#sums.fill(0);
    const best = this.#best.fill(undefined);
    for (const rule of this.#fired) {
      const leader = best[rule.category];
      if (leader === undefined || rule.weight > leader.weight) best[rule.category] = rule;
      sums[rule.category] += rule.weight;
    }
    const { confidences } = this.prediction;
    if (confidences.length > 0)
      for (const rule of best) if (rule !== undefined) confidences[rule.category] = this.#confidenceOf(rule);
    let winner: Rule | undefined;
    for (const rule of this.#order())
      if (this.#leads(rule) && (winner === undefined || this.#affinityOf(rule) > this.#affinityOf(winner)))
        winner = rule;
    if (winner === undefined) return;
    this.#write(winner, this.#confidenceOf(winner));
    this.prediction.ranked = this.#ranked;
  }

  /** What the rule with most weight of a category makes of it. */
  #confidenceOf(rule: Rule): number {
    return this.#criterion === 'weightedMax' ? rule.confidence : this.#sums[rule.category] / this.#fired.length;
  }

  /** By what rules are ranked. */
  #affinityOf(rule: Rule): number {
    return this.#criterion === 'weightedMax' ? rule.weight : this.#sums[rule.category] / this.#fired.length;
  }

  /** The first of equal rules goes before the others: of equal sums that of the value that the target declares first. */
  #order(): readonly (Rule | undefined)[] {
    return this.#criterion === 'weightedSum' && this.#isDeclared ? this.#best : this.#fired;
  }

  /** Whether the rule is the one with most weight of its category. */
  #leads(rule: Rule | undefined): rule is Rule {
    return rule !== undefined && rule === this.#best[rule.category];
  }

  readonly #ranked = (): readonly RankedEntity[] =>
    this.#order()
      .filter((rule) => this.#leads(rule))
      .map((rule) => ({ id: rule.id, affinity: this.#affinityOf(rule) }))
      .sort((a, b) => b.affinity - a.affinity);

  explain(_row: Row, trace: Trace): void {
    trace.line('[RuleSet]');
    for (const { id, weight } of this.#fired) trace.line(`Rule [${id}] fired with weight [${weight}].`);
    if (this.#fired.length === 0) trace.line('No rule fired: the default score applies.');
  }
}

const RULE_BYTES = 600;
