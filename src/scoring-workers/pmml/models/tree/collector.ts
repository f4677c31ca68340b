import { readTexts } from '../../document/arrays.ts';
import { type Element, numberOf, PmmlError } from '../../document/element.ts';
import type { Place } from '../../document/problems.ts';
import type { Collector } from '../../document/reader.ts';
import { OPERATORS, type Operator } from '../../predicates/simple.ts';
import { Column, TextPool } from './columns.ts';

/** What decides whether a record goes to a node. The first ones are the operators of SimplePredicate in their order. */
export const TRUE_PREDICATE = OPERATORS.length;
export const FALSE_PREDICATE = OPERATORS.length + 1;
export const IS_IN = OPERATORS.length + 2;
export const IS_NOT_IN = OPERATORS.length + 3;
/** The element is kept: a CompoundPredicate. */
export const ELEMENT_PREDICATE = OPERATORS.length + 4;
const NO_PREDICATE = OPERATORS.length + 5;

export const NONE = -1;

/** The nodes of a tree in the order of the document, as columns. Texts are numbers of the pool. */
export class PackedTree {
  readonly pool: TextPool;
  count = 0;
  readonly parent = new Column(Int32Array, NONE);
  readonly nextSibling = new Column(Int32Array, NONE);
  readonly id = new Column(Int32Array, NONE);
  readonly defaultChild = new Column(Int32Array, NONE);
  readonly scoreNumber = new Column(Float64Array, Number.NaN);
  /** Of a score that its number does not tell. */
  readonly scoreText = new Column(Int32Array, NONE);
  readonly recordCount = new Column(Float64Array, Number.NaN);
  readonly predicate = new Column(Uint8Array, NO_PREDICATE);
  readonly field = new Column(Int32Array, NONE);
  readonly valueNumber = new Column(Float64Array, Number.NaN);
  /** Of a value that its number does not tell; of a set, number in `sets`. */
  readonly valueText = new Column(Int32Array, NONE);
  readonly line = new Column(Int32Array, 0);
  readonly offset = new Column(Int32Array, 0);
  readonly sets: (readonly string[])[] = [];
  /** CompoundPredicates, and models inside of nodes. */
  readonly elements = new Map<number, Element>();
  readonly embedded = new Map<number, Element>();
  /** ScoreDistributions of all nodes, those of a node beside each other. */
  distributions = 0;
  readonly distributionNode = new Column(Int32Array, NONE);
  readonly distributionValue = new Column(Int32Array, NONE);
  readonly distributionCount = new Column(Float64Array, Number.NaN);
  readonly distributionProbability = new Column(Float64Array, Number.NaN);
  readonly distributionConfidence = new Column(Float64Array, Number.NaN);

  constructor(pool: TextPool) {
    this.pool = pool;
  }

  /** Where a node stands in the document. */
  place(node: number): Place {
    return { name: 'Node', line: this.line.get(node), offset: this.offset.get(node) };
  }

  /** The first child stands after its parent. */
  firstChild(node: number): number {
    return node + 1 < this.count && this.parent.get(node + 1) === node ? node + 1 : NONE;
  }

  /** Gives back the room for nodes that did not come. */
  trim(): void {
    for (const column of Object.values(this)) if (column instanceof Column) column.trim();
  }

  /** The text of a score; undefined where the node has none. */
  score(node: number): string | undefined {
    return textIn(this.pool, this.scoreText.get(node), this.scoreNumber.get(node));
  }

  /** Whether the node has a score or a model of its own, not only a distribution. */
  hasScore(node: number): boolean {
    return this.scoreText.get(node) !== NONE || !Number.isNaN(this.scoreNumber.get(node)) || this.embedded.has(node);
  }

  /** The text that a SimplePredicate compares with. */
  value(node: number): string | undefined {
    return textIn(this.pool, this.valueText.get(node), this.valueNumber.get(node));
  }
}

function textIn(pool: TextPool, text: number, number: number): string | undefined {
  if (text !== NONE) return pool.text(text);
  return Number.isNaN(number) ? undefined : String(number);
}

const POOLS = new WeakMap<Element, TextPool>();

function poolOf(element: Element): TextPool {
  let root = element;
  while (root.parent !== undefined) root = root.parent;
  let pool = POOLS.get(root);
  if (pool === undefined) {
    pool = new TextPool();
    POOLS.set(root, pool);
  }
  return pool;
}

/** What collects the nodes of a tree; elsewhere, as in an Extension, a Node means nothing. */
export function treeCollector(parent: Element): Collector | undefined {
  return parent.name === 'TreeModel' || parent.name === 'DecisionTree' ? new TreeCollector(parent) : undefined;
}

/** Packs the nodes of a tree while the document is read, so that a large forest never stands in memory as elements. */
class TreeCollector implements Collector {
  readonly #tree: PackedTree;
  readonly #sets = new Map<string, number>();
  /** Scores of a regression are numbers: their texts are not kept. */
  readonly #isRegression: boolean;
  #current = NONE;
  /** Last child of each open node. */
  readonly #lastChild: number[] = [];

  constructor(parent: Element) {
    this.#tree = new PackedTree(poolOf(parent));
    this.#isRegression = parent.attribute('functionName') === 'regression';
  }

  open(name: string, attributes: ReadonlyMap<string, string>, place: Omit<Place, 'name'>): boolean {
    switch (name) {
      case 'Node':
        this.#openNode(attributes, place);
        return true;
      case 'ScoreDistribution':
        this.#distribution(attributes, place);
        return true;
      case 'SimplePredicate':
        this.#simple(attributes, place);
        return true;
      case 'True':
      case 'False':
        this.#tree.predicate.set(this.#current, name === 'True' ? TRUE_PREDICATE : FALSE_PREDICATE);
        return true;
      default:
        return false;
    }
  }

  child(element: Element): void {
    const tree = this.#tree;
    switch (element.name) {
      case 'SimpleSetPredicate':
        this.#set(element);
        return;
      case 'CompoundPredicate':
        tree.predicate.set(this.#current, ELEMENT_PREDICATE);
        tree.elements.set(this.#current, element);
        return;
      case 'Regression':
      case 'DecisionTree':
        tree.embedded.set(this.#current, element);
        return;
      // Statistics.
      case 'Partition':
        return;
      default:
        throw new PmmlError(element, 'is not expected in a Node');
    }
  }

  close(name: string): void {
    if (name !== 'Node') return;
    const tree = this.#tree;
    const node = this.#current;
    if (tree.predicate.get(node) === NO_PREDICATE) throw new PmmlError(tree.place(node), 'has no predicate');
    this.#current = tree.parent.get(node);
    this.#lastChild.pop();
  }

  result(): PackedTree {
    this.#tree.trim();
    return this.#tree;
  }

  #openNode(attributes: ReadonlyMap<string, string>, place: Omit<Place, 'name'>): void {
    const tree = this.#tree;
    const node = tree.count++;
    const parent = this.#current;
    tree.parent.set(node, parent);
    tree.line.set(node, place.line);
    tree.offset.set(node, place.offset);
    const last = this.#lastChild.at(-1);
    if (last !== undefined && last !== NONE) tree.nextSibling.set(last, node);
    if (this.#lastChild.length > 0) this.#lastChild[this.#lastChild.length - 1] = node;
    this.#lastChild.push(NONE);
    this.#current = node;
    const id = attributes.get('id');
    if (id !== undefined) tree.id.set(node, tree.pool.add(id));
    const defaultChild = attributes.get('defaultChild');
    if (defaultChild !== undefined) tree.defaultChild.set(node, tree.pool.add(defaultChild));
    const score = attributes.get('score');
    if (score !== undefined) this.#keep(tree.scoreNumber, tree.scoreText, node, score, this.#isRegression);
    const count = attributes.get('recordCount');
    if (count !== undefined) tree.recordCount.set(node, numberIn('Node', place, 'recordCount', count));
  }

  /** A text as its number, and as a text too where the number does not tell it. */
  #keep(numbers: Column<Float64Array>, texts: Column<Int32Array>, node: number, text: string, isNumber: boolean): void {
    const number = numberOf(text);
    if (number !== undefined && !Number.isNaN(number)) numbers.set(node, number);
    if (number === undefined || Number.isNaN(number) || (!isNumber && String(number) !== text))
      texts.set(node, this.#tree.pool.add(text));
  }

  #simple(attributes: ReadonlyMap<string, string>, place: Omit<Place, 'name'>): void {
    const tree = this.#tree;
    const node = this.#current;
    const given = attributes.get('operator');
    const operator = OPERATORS.indexOf(given as Operator);
    const field = attributes.get('field');
    const from = { name: 'SimplePredicate', ...place };
    if (operator === -1) throw new PmmlError(from, `'operator' is '${given ?? ''}'; it may be ${OPERATORS.join(', ')}`);
    if (field === undefined) throw new PmmlError(from, "the attribute 'field' is missing");
    tree.predicate.set(node, operator);
    tree.field.set(node, tree.pool.add(field));
    const value = attributes.get('value');
    if (value !== undefined) this.#keep(tree.valueNumber, tree.valueText, node, value, false);
  }

  #set(element: Element): void {
    const tree = this.#tree;
    const node = this.#current;
    const operator = element.required('booleanOperator');
    if (operator !== 'isIn' && operator !== 'isNotIn')
      throw new PmmlError(element, `'booleanOperator' is '${operator}'; it may be isIn, isNotIn`);
    const array = element.child('Array') ?? element.children.find(({ name }) => name.endsWith('-Array'));
    if (array === undefined) throw new PmmlError(element, 'has no Array');
    let set = this.#sets.get(array.text);
    if (set === undefined) {
      set = tree.sets.length;
      tree.sets.push(readTexts(array));
      this.#sets.set(array.text, set);
    }
    tree.predicate.set(node, operator === 'isIn' ? IS_IN : IS_NOT_IN);
    tree.field.set(node, tree.pool.add(element.required('field')));
    tree.valueText.set(node, set);
  }

  #distribution(attributes: ReadonlyMap<string, string>, place: Omit<Place, 'name'>): void {
    const tree = this.#tree;
    const value = attributes.get('value');
    if (value === undefined)
      throw new PmmlError({ name: 'ScoreDistribution', ...place }, "the attribute 'value' is missing");
    const at = tree.distributions++;
    tree.distributionNode.set(at, this.#current);
    tree.distributionValue.set(at, tree.pool.add(value));
    const number = (name: string): number => {
      const text = attributes.get(name);
      return text === undefined ? Number.NaN : numberIn('ScoreDistribution', place, name, text);
    };
    tree.distributionCount.set(at, number('recordCount'));
    tree.distributionProbability.set(at, number('probability'));
    tree.distributionConfidence.set(at, number('confidence'));
  }
}

function numberIn(element: string, place: Omit<Place, 'name'>, name: string, text: string): number {
  const number = numberOf(text);
  if (number === undefined) throw new PmmlError({ name: element, ...place }, `'${name}' is '${text}', not a number`);
  return number;
}

/** The nodes of a tree that stands as elements, such as one inside of another tree. */
export function packElements(parent: Element): PackedTree | undefined {
  const root = parent.child('Node');
  if (root === undefined) return undefined;
  const collector = new TreeCollector(parent);
  // Without recursion: the end of an element stands on the stack as its name.
  const waiting: (Element | string)[] = [root];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') collector.close(next);
    else if (collector.open(next.name, next.attributes, next)) {
      waiting.push(next.name);
      for (let i = next.children.length - 1; i >= 0; i--) waiting.push(next.children[i]);
    } else collector.child(next);
  }
  return collector.result();
}
