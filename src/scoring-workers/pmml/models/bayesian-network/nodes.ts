import { type Element, PmmlError } from '../../document/element.ts';
import type { Expression } from '../../fields/expression.ts';
import type { Field } from '../../fields/field.ts';
import { derivedFieldsOf, Scope } from '../../fields/scope.ts';
import { castText, textOf } from '../../fields/types.ts';
import type { ModelContext } from '../model.ts';

/** A condition on parents and derived fields of the node: for each of them a value that it must have. */
export type Condition = ReadonlyMap<string, string>;

/** Probabilities of the values of a node where its parents are as the condition says. */
export interface Probabilities {
  readonly when: Condition;
  /** In the order of the node's values. */
  readonly list: Float64Array;
}

export interface DiscreteNode {
  readonly kind: 'discrete';
  readonly name: string;
  readonly parents: readonly string[];
  /** Derived fields of the node that its conditions name, by name. */
  readonly derived: ReadonlyMap<string, Field>;
  readonly values: readonly string[];
  readonly tables: readonly Probabilities[];
}

const DISTRIBUTIONS = {
  NormalDistributionForBN: ['Mean', 'Variance'],
  LognormalDistributionForBN: ['Mean', 'Variance'],
  UniformDistributionForBN: ['Lower', 'Upper'],
  TriangularDistributionForBN: ['Mean', 'Lower', 'Upper'],
} as const;

export type DistributionName = keyof typeof DISTRIBUTIONS;

export interface NodeDistribution {
  readonly when: Condition;
  readonly name: DistributionName;
  /** In the order of `DISTRIBUTIONS`. */
  readonly parameters: readonly Expression[];
}

export interface ContinuousNode {
  readonly kind: 'continuous';
  readonly name: string;
  /** Discrete and continuous ones. */
  readonly parents: readonly string[];
  readonly derived: ReadonlyMap<string, Field>;
  readonly distributions: readonly NodeDistribution[];
}

export type Node = DiscreteNode | ContinuousNode;

/**
 * The nodes of a network, parents before children.
 *
 * @param scope knows each node as a field, by name
 * @throws PmmlError where a node is its own ancestor
 */
export function readNodes(element: Element, scope: Scope, context: ModelContext): readonly Node[] {
  const elements = element.childrenOf('DiscreteNode', 'ContinuousNode');
  if (elements.length === 0) throw new PmmlError(element, 'it has no node');
  const names = new Set(elements.map((child) => child.required('name')));
  const nodes = elements.map((child) => {
    const own = new OwnFields(child, names, scope);
    return child.name === 'DiscreteNode' ? readDiscrete(child, own) : readContinuous(child, own, context);
  });
  return inOrder(nodes, element);
}

/** The derived fields of a node, and the nodes that they and its distributions refer to. */
class OwnFields {
  readonly scope: Scope;
  /** Those that conditions name, by name. */
  readonly named = new Map<string, Field>();
  readonly #locals: ReadonlyMap<string, Element>;
  readonly #names: ReadonlySet<string>;
  readonly #parents = new Set<string>();

  constructor(element: Element, names: ReadonlySet<string>, scope: Scope) {
    this.#names = names;
    this.#locals = derivedFieldsOf(element);
    for (const [name, field] of this.#locals) {
      if (names.has(name)) throw new PmmlError(field, `'${name}' is the name of a node, too`);
      this.refer(field);
    }
    // Parents have other values while one record is scored, so fields of them are computed each time.
    this.scope =
      this.#locals.size === 0
        ? scope
        : new Scope(scope.names, { parent: scope, locals: this.#locals, isFunction: true });
  }

  /** Takes note of the nodes that an element refers to. */
  refer(element: Element): void {
    const field = element.attribute('field');
    if (field !== undefined && this.#names.has(field)) this.#parents.add(field);
    for (const child of element.children) this.refer(child);
  }

  condition(holder: Element): Condition {
    return new Map(holder.childrenOf('ParentValue').map((one) => this.#parentValue(one)));
  }

  #parentValue(element: Element): [name: string, value: string] {
    const [name, text] = [element.required('parent'), element.required('value')];
    if (!this.#locals.has(name)) {
      this.#parents.add(name);
      return [name, text];
    }
    const field = this.scope.field(name, element);
    this.named.set(name, field);
    const value = castText(text, field.type);
    return [name, value === undefined ? text : textOf(value, field.type)];
  }

  /** After all conditions and distributions are read. */
  get parents(): readonly string[] {
    return [...this.#parents];
  }
}

function readDiscrete(element: Element, own: OwnFields): DiscreteNode {
  const conditional = element.childrenOf('DiscreteConditionalProbability');
  const values = [
    ...new Set(
      [element, ...conditional].flatMap((holder) =>
        holder.childrenOf('ValueProbability').map((one) => one.required('value')),
      ),
    ),
  ];
  const read = (holder: Element): Float64Array => {
    const list = new Float64Array(values.length);
    for (const one of holder.childrenOf('ValueProbability'))
      list[values.indexOf(one.required('value'))] = one.requiredNumber('probability');
    return list;
  };
  const tables: Probabilities[] = conditional.map((holder) => ({ when: own.condition(holder), list: read(holder) }));
  if (tables.length === 0) tables.push({ when: new Map(), list: read(element) });
  return {
    kind: 'discrete',
    name: element.required('name'),
    parents: own.parents,
    derived: own.named,
    values,
    tables,
  };
}

function readContinuous(element: Element, own: OwnFields, context: ModelContext): ContinuousNode {
  const conditional = element.childrenOf('ContinuousConditionalProbability');
  const holders = conditional.length > 0 ? conditional : [element];
  const distributions = holders.map((holder) => {
    const inner = holder.child('ContinuousDistribution')?.children.find(({ name }) => name in DISTRIBUTIONS);
    if (inner === undefined)
      throw new PmmlError(
        holder,
        `a ContinuousDistribution is missing with one of ${Object.keys(DISTRIBUTIONS).join(', ')}`,
      );
    const name = inner.name as DistributionName;
    const parameters = DISTRIBUTIONS[name].map((part) => {
      const child = inner.child(part);
      const expression = child === undefined ? undefined : own.scope.names.findExpression(child);
      if (expression === undefined) throw new PmmlError(inner, `${part} with an expression is missing`);
      own.refer(expression);
      return context.expression(expression, own.scope);
    });
    return { when: own.condition(holder), name, parameters };
  });
  return {
    kind: 'continuous',
    name: element.required('name'),
    parents: own.parents,
    derived: own.named,
    distributions,
  };
}

function inOrder(nodes: readonly Node[], element: Element): readonly Node[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const ordered: Node[] = [];
  const done = new Set<string>();
  const under = new Set<string>();
  const visit = (node: Node): void => {
    if (done.has(node.name)) return;
    if (under.has(node.name)) throw new PmmlError(element, `the node '${node.name}' is its own ancestor`);
    under.add(node.name);
    for (const name of node.parents) {
      const parent = byName.get(name);
      if (parent === undefined) throw new PmmlError(element, `unknown node '${name}', a parent of '${node.name}'`);
      visit(parent);
    }
    under.delete(node.name);
    done.add(node.name);
    ordered.push(node);
  };
  for (const node of nodes) visit(node);
  return ordered;
}
