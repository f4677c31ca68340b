import { PmmlError } from '../../document/element.ts';
import { type Field, makeField, store } from '../../fields/field.ts';
import { Dictionary, type Row } from '../../fields/row.ts';
import { Scope } from '../../fields/scope.ts';
import { textOf, type Value } from '../../fields/types.ts';
import { categoryOf, type Model, type ModelContext, Prediction, type TargetField, type Trace } from '../model.ts';
import { generator } from '../../math/random.ts';
import { densityOf, sampleOf } from './density.ts';
import { eliminate, type Factor, TABLE_MAX, TooLarge } from './factors.ts';
import {
  type Condition,
  type ContinuousNode,
  type DiscreteNode,
  type Node,
  type NodeDistribution,
  readNodes,
} from './nodes.ts';

/** Weighted samples of a network with continuous nodes that the record does not give. */
const SAMPLES = 10_000;
/** Entries of the table of a node with derived fields. */
const DERIVED_MAX = 100_000;
const SEED = 0x9e3779b9;

/**
 * BayesianNetworkModel: what the targets are, given the values of the record (Bayesian Networks of the standard). Exact where
 * every node that the record does not give is discrete; otherwise an estimate from 10,000 weighted samples, the same for
 * the same record.
 */
export function compileBayesianNetwork(context: ModelContext): Model {
  const { element } = context;
  const list = element.child('BayesianNetworkNodes');
  if (list === undefined) throw new PmmlError(element, 'there are no BayesianNetworkNodes');
  const scope = new Scope(context.scope.names, { parent: context.scope });
  const fields = new Map<string, Field>();
  for (const child of list.childrenOf('DiscreteNode', 'ContinuousNode')) {
    const name = child.required('name');
    if (fields.has(name)) throw new PmmlError(child, `there are two nodes '${name}'`);
    const isDiscrete = child.name === 'DiscreteNode';
    const field = makeField({
      name,
      type: isDiscrete ? 'string' : 'double',
      optype: isDiscrete ? 'categorical' : 'continuous',
      slot: scope.names.slots.take(),
      dictionary: isDiscrete ? new Dictionary() : undefined,
    });
    fields.set(name, field);
    scope.declare(field);
  }
  const nodes = readNodes(list, scope, context);
  return new BayesianNetwork(nodes, fields, context);
}

interface Target {
  readonly field: TargetField;
  readonly node: Node;
  readonly prediction: Prediction;
}

class BayesianNetwork implements Model {
  readonly prediction: Prediction;
  readonly bytes: number;
  readonly #nodes: readonly Node[];
  readonly #fields: ReadonlyMap<string, Field>;
  readonly #inputs: ReadonlyMap<string, Field>;
  readonly #targets: readonly Target[];
  readonly #others: ReadonlyMap<string, Prediction> | undefined;

  constructor(nodes: readonly Node[], fields: ReadonlyMap<string, Field>, context: ModelContext) {
    this.#nodes = nodes;
    this.#fields = fields;
    const inputs = new Map<string, Field>();
    for (const name of context.activeFields) {
      const field = context.scope.find(name, context.element);
      if (field !== undefined && fields.has(name)) inputs.set(name, field);
    }
    this.#inputs = inputs;
    const targets = context.targets.length > 0 ? context.targets : [];
    this.#targets = targets.map((field) => {
      const node = nodes.find(({ name }) => name === field.name);
      if (node === undefined) throw new PmmlError(context.element, `the target '${field.name}' has no node`);
      const categories = node.kind === 'discrete' ? node.values.map((text) => categoryOf(text, field)) : [];
      return { field, node, prediction: new Prediction(categories) };
    });
    this.prediction = this.#targets[0]?.prediction ?? new Prediction();
    this.#others =
      this.#targets.length > 1
        ? new Map(this.#targets.map(({ field, prediction }) => [field.name, prediction]))
        : undefined;
    this.bytes = nodes.length * 1_000;
  }

  evaluate(row: Row): void {
    for (const { prediction } of this.#targets) prediction.clear();
    this.prediction.others = this.#others;
    const given = this.#given(row);
    const hidden = this.#nodes.filter(({ name }) => !given.has(name));
    if (hidden.every(({ kind }) => kind === 'discrete')) {
      try {
        this.#exact(row, given);
        return;
      } catch (error) {
        if (!(error instanceof TooLarge)) throw error;
      }
    }
    this.#sample(row, given);
  }

  /** Values of the record by node, put into the nodes' slots too. */
  #given(row: Row): ReadonlyMap<string, Value> {
    const given = new Map<string, Value>();
    for (const [name, field] of this.#inputs) {
      const value = field.value(row);
      if (value === undefined || Array.isArray(value)) continue;
      const node = this.#fields.get(name) as Field;
      const own = node.type === 'string' ? textOf(value, field.type) : value;
      store(row, node.slot, own, node.dictionary);
      given.set(name, own);
    }
    return given;
  }

  #exact(row: Row, given: ReadonlyMap<string, Value>): void {
    const hidden = this.#nodes.filter(
      (node): node is DiscreteNode => node.kind === 'discrete' && !given.has(node.name),
    );
    const variables = new Map(hidden.map(({ name }, index) => [name, index]));
    const sizes = hidden.map(({ values }) => values.length);
    const factors = this.#nodes.map((node) => this.#factor(node, row, given, variables, hidden));
    for (const { node, prediction } of this.#targets) {
      const index = variables.get(node.name);
      if (index === undefined) this.#take(given.get(node.name), prediction);
      else setWeights(prediction, eliminate(factors, sizes, index));
    }
  }

  /** A target that the record gives is what it says. */
  #take(value: Value | undefined, prediction: Prediction): void {
    const index = prediction.indexOf(value);
    if (index === -1) prediction.setValue(prediction.categories.length === 0 ? value : undefined);
    else
      setWeights(
        prediction,
        prediction.probabilities.map((_, i) => (i === index ? 1 : 0)),
      );
  }

  /** What a node says about the hidden ones among it and its parents. */
  #factor(
    node: Node,
    row: Row,
    given: ReadonlyMap<string, Value>,
    variables: ReadonlyMap<string, number>,
    hidden: readonly DiscreteNode[],
  ): Factor {
    const own = [node.name, ...node.parents].map((name) => variables.get(name)).filter((index) => index !== undefined);
    const list = own.sort((a, b) => a - b);
    const sizes = list.map((index) => (hidden[index] as DiscreteNode).values.length);
    const size = sizes.reduce((product, count) => product * count, 1);
    // Each entry of a node with derived fields calls functions, which a record may do 1,000,000 times.
    const maximum = node.derived.size > 0 ? DERIVED_MAX : TABLE_MAX;
    if (size > maximum)
      throw new TooLarge(`a table of the network would have ${size} entries; at most ${maximum} are computed`);
    const table = new Float64Array(size);
    const values = new Map<string, string>();
    for (const [name, value] of given) if (typeof value === 'string') values.set(name, value);
    for (let i = 0; i < table.length; i++) {
      let rest = i;
      for (let at = list.length - 1; at >= 0; at--) {
        const { name, values: texts } = hidden[list[at] as number] as DiscreteNode;
        const text = texts[rest % texts.length] as string;
        values.set(name, text);
        const field = this.#fields.get(name) as Field;
        store(row, field.slot, text, field.dictionary);
        rest = Math.floor(rest / texts.length);
      }
      table[i] = this.#likelihood(node, row, given, values);
    }
    return { variables: list, table };
  }

  #likelihood(node: Node, row: Row, given: ReadonlyMap<string, Value>, values: Map<string, string>): number {
    derive(node, row, values);
    if (node.kind === 'discrete') {
      const table = fitting(node.tables, values);
      return table?.list[node.values.indexOf(values.get(node.name) ?? '')] ?? 0;
    }
    const distribution = fitting(node.distributions, values);
    return distribution === undefined ? 0 : densityOf(distribution, row, given.get(node.name) as number);
  }

  #sample(row: Row, given: ReadonlyMap<string, Value>): void {
    const random = generator(SEED);
    const sums = this.#targets.map(({ prediction }) => new Float64Array(Math.max(prediction.categories.length, 2)));
    const values = new Map<string, string>();
    let all = 0;
    for (let i = 0; i < SAMPLES; i++) {
      const weight = this.#draw(row, given, values, random);
      all += weight;
      this.#targets.forEach(({ node }, at) => {
        const into = sums[at] as Float64Array;
        if (node.kind === 'discrete') {
          const index = node.values.indexOf(values.get(node.name) ?? '');
          into[index] = (into[index] as number) + weight;
          return;
        }
        const x = row.numbers[(this.#fields.get(node.name) as Field).slot] as number;
        into[0] = (into[0] as number) + weight * x;
        into[1] = (into[1] as number) + weight * x * x;
      });
    }
    if (!(all > 0)) return;
    this.#targets.forEach(({ node, prediction }, at) => {
      const into = sums[at] as Float64Array;
      if (node.kind === 'discrete') return setWeights(prediction, into);
      const mean = (into[0] as number) / all;
      prediction.setNumber(mean);
      prediction.standardDeviation = Math.sqrt(Math.max((into[1] as number) / all - mean * mean, 0));
    });
  }

  /** Gives every hidden node a value at random, parents first; returns how likely the given values are with them. */
  #draw(row: Row, given: ReadonlyMap<string, Value>, values: Map<string, string>, random: () => number): number {
    let weight = 1;
    for (const node of this.#nodes) {
      const known = given.get(node.name);
      const field = this.#fields.get(node.name) as Field;
      derive(node, row, values);
      if (node.kind === 'discrete') {
        const table = fitting(node.tables, values);
        if (table === undefined) return 0;
        const text = typeof known === 'string' ? known : drawn(node, table.list, random);
        values.set(node.name, text);
        if (known === undefined) store(row, field.slot, text, field.dictionary);
        else weight *= table.list[node.values.indexOf(text)] ?? 0;
        continue;
      }
      const distribution = fittingOf(node, values);
      if (distribution === undefined) return 0;
      if (typeof known === 'number') weight *= densityOf(distribution, row, known);
      else row.numbers[field.slot] = sampleOf(distribution, row, random);
    }
    return weight;
  }

  explain(_: Row, trace: Trace): void {
    trace.line('[BayesianNetworkModel]');
    for (const { field, prediction } of this.#targets) {
      prediction.categories.forEach((category, i) => {
        trace.line(
          `The probability of [${field.name}] being [${String(category)}] is [${prediction.probabilities[i]}]`,
        );
      });
      if (prediction.categories.length === 0) trace.line(`The mean of [${field.name}] is [${prediction.number}]`);
    }
  }
}

/** Puts the derived fields that conditions of the node name beside the values of its parents, which the row holds. */
function derive({ derived }: Node, row: Row, values: Map<string, string>): void {
  for (const [name, field] of derived) {
    const value = field.value(row);
    if (value === undefined || Array.isArray(value)) values.delete(name);
    else values.set(name, textOf(value, field.type));
  }
}

function fitting<Table extends { readonly when: Condition }>(
  tables: readonly Table[],
  values: ReadonlyMap<string, string>,
): Table | undefined {
  return tables.find(({ when }) => {
    for (const [parent, value] of when) if (values.get(parent) !== value) return false;
    return true;
  });
}

function fittingOf(node: ContinuousNode, values: ReadonlyMap<string, string>): NodeDistribution | undefined {
  return fitting(node.distributions, values);
}

function drawn(node: DiscreteNode, probabilities: Float64Array, random: () => number): string {
  let left = random() * probabilities.reduce((sum, probability) => sum + probability, 0);
  for (let i = 0; i < probabilities.length; i++) {
    left -= probabilities[i] as number;
    if (left < 0) return node.values[i] as string;
  }
  return node.values.at(-1) as string;
}

function setWeights(prediction: Prediction, weights: Float64Array): void {
  const all = prediction.probabilities.reduce((sum, _, i) => sum + (weights[i] as number), 0);
  if (!(all > 0)) return;
  for (let i = 0; i < prediction.probabilities.length; i++) prediction.probabilities[i] = (weights[i] as number) / all;
  prediction.setMostProbable();
}
