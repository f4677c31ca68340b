import { type Element, PmmlError } from '../../document/element.ts';
import type { Expression } from '../../fields/expression.ts';
import { Scope } from '../../fields/scope.ts';
import type { ModelContext } from '../model.ts';

/** A condition on parents: for each of them a value that it must have. */
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
  const nodes = elements.map((child) =>
    child.name === 'DiscreteNode' ? readDiscrete(child) : readContinuous(child, names, scope, context),
  );
  return inOrder(nodes, element);
}

function readDiscrete(element: Element): DiscreteNode {
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
  const tables = conditional.map((holder) => ({ when: conditionOf(holder), list: read(holder) }));
  if (tables.length === 0) tables.push({ when: new Map(), list: read(element) });
  return { kind: 'discrete', name: element.required('name'), parents: parentsOf(tables), values, tables };
}

function readContinuous(
  element: Element,
  names: ReadonlySet<string>,
  scope: Scope,
  context: ModelContext,
): ContinuousNode {
  const derived = element.childrenOf('DerivedField');
  // Parents have other values while one record is scored, so fields of them are computed each time.
  const own =
    derived.length === 0
      ? scope
      : new Scope(scope.names, {
          parent: scope,
          locals: new Map(derived.map((field) => [field.required('name'), field])),
          isFunction: true,
        });
  const conditional = element.childrenOf('ContinuousConditionalProbability');
  const holders = conditional.length > 0 ? conditional : [element];
  const referred = new Set<string>();
  for (const field of derived) collectNames(field, names, referred);
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
      const expression = child === undefined ? undefined : scope.names.findExpression(child);
      if (expression === undefined) throw new PmmlError(inner, `${part} with an expression is missing`);
      collectNames(expression, names, referred);
      return context.expression(expression, own);
    });
    return { when: conditionOf(holder), name, parameters };
  });
  const parents = [...new Set([...parentsOf(distributions), ...referred])];
  return { kind: 'continuous', name: element.required('name'), parents, distributions };
}

function conditionOf(holder: Element): Condition {
  return new Map(holder.childrenOf('ParentValue').map((one) => [one.required('parent'), one.required('value')]));
}

function parentsOf(tables: readonly { readonly when: Condition }[]): string[] {
  return [...new Set(tables.flatMap(({ when }) => [...when.keys()]))];
}

/** Nodes that an expression refers to. */
function collectNames(element: Element, names: ReadonlySet<string>, into: Set<string>): void {
  const field = element.attribute('field');
  if (field !== undefined && names.has(field)) into.add(field);
  for (const child of element.children) collectNames(child, names, into);
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
