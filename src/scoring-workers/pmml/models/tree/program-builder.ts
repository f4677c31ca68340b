import { PmmlError } from '../../document/element.ts';
import type { Field } from '../../fields/field.ts';
import { compileMembers } from '../../predicates/compile.ts';
import type { Predicate } from '../../predicates/predicate.ts';
import { membership, setPredicate } from '../../predicates/sets.ts';
import { OPERATORS, predicateOf, simpleTest, type SlotTest } from '../../predicates/simple.ts';
import type { ModelContext } from '../model.ts';
import { FALSE_PREDICATE, IS_IN, IS_NOT_IN, NONE, type PackedTree, TRUE_PREDICATE } from './collector.ts';
import { floatBorder, nextUp } from './float.ts';
import {
  COUNT,
  EQUAL,
  type Graph,
  type GraphTest,
  IN_SET,
  LESS,
  MISSING,
  NULL_OUTCOME,
  PLAIN,
  PREDICATE,
  type TestedField,
} from './program.ts';

/** What a test that is unknown means, by `missingValueStrategy`. */
export type Unknown = 'none' | 'lastPrediction' | 'nullPrediction' | 'defaultChild';

export interface ProgramOptions {
  readonly unknown: Unknown;
  /** `noTrueChildStrategy="returnLastPrediction"`. */
  readonly isLastWithoutTrueChild: boolean;
  /** Whether steps that missing values make are counted. */
  readonly countsMissing: boolean;
  /** Numbers are compared with 32 bits. */
  readonly isFloat: boolean;
}

/** A test of a slot as the program has it: all orders are made of `less than`, so some have their outcomes swapped. */
interface Test {
  readonly kind: number;
  readonly field: Field;
  readonly operand: number;
  readonly isSwapped: boolean;
}

interface Targets {
  readonly yes: number;
  readonly no: number;
  readonly unknown: number;
}

/** Where a test stands in the code; of a surrogate, its members after each other. */
interface Reserved {
  readonly first: number;
  readonly members: number;
}

/** @throws PmmlError where a predicate is not what the standard allows */
export function buildGraph(tree: PackedTree, context: ModelContext, options: ProgramOptions): Graph {
  return new GraphBuilder(tree, context, options).build();
}

class GraphBuilder {
  readonly #tests: GraphTest[] = [];
  readonly #predicates: Predicate[] = [];
  readonly #sets: ((given: number) => boolean)[] = [];
  readonly #tested: TestedField[] = [];
  readonly #testedBySlot = new Map<number, number>();
  readonly #fields = new Map<number, Field>();
  readonly #setNumbers = new Map<string, number>();
  /** Tests whose outcomes are exchanged. */
  readonly #swapped = new Set<number>();
  readonly #reserved = new Map<number, Reserved>();
  /** By parent: the test of the child before, where it is one of a slot. */
  readonly #lastTests = new Map<number, Test>();
  /** Nodes that need no test: what is true of them is false of the sibling before. */
  readonly #opposites = new Set<number>();
  readonly #defaultTargets = new Map<number, number>();
  readonly #tree: PackedTree;
  readonly #context: ModelContext;
  readonly #options: ProgramOptions;
  /** Target of a node that was chosen: the first test of its children, or the node itself. */
  readonly #entry: Int32Array;
  /** Target where a node is asked whether the record goes there. */
  readonly #scan: Int32Array;

  constructor(tree: PackedTree, context: ModelContext, options: ProgramOptions) {
    this.#tree = tree;
    this.#context = context;
    this.#options = options;
    this.#entry = new Int32Array(tree.count);
    this.#scan = new Int32Array(tree.count);
  }

  build(): Graph {
    const tree = this.#tree;
    const { count } = tree;
    // Tests are numbered in the order of the nodes, then targets are found from the end: those of a node come later.
    for (let node = 0; node < count; node++) this.#reserve(node);
    for (let node = count - 1; node >= 0; node--) {
      const child = tree.firstChild(node);
      this.#entry[node] = child === NONE ? ~node : this.#scan[child];
      this.#scan[node] = this.#scanOf(node);
    }
    for (let node = 0; node < count; node++) this.#finish(node);
    return {
      tests: this.#tests,
      start: this.#scan[0],
      fields: this.#tested,
      predicates: this.#predicates,
      sets: this.#sets,
      score: (node) => tree.scoreNumber.get(node),
    };
  }

  #scanOf(node: number): number {
    const reserved = this.#reserved.get(node);
    if (reserved !== undefined) return reserved.first;
    // Only an opposite sibling that is unknown asks for it, as one that is like false: so is this one then.
    if (this.#opposites.has(node)) return this.#options.unknown === 'none' ? this.#otherwise(node) : ~NULL_OUTCOME;
    return this.#tree.predicate.get(node) === TRUE_PREDICATE ? this.#entry[node] : this.#otherwise(node);
  }

  /** Target where the record does not go to a node: its next sibling, or what stands for no true child. */
  #otherwise(node: number): number {
    const sibling = this.#tree.nextSibling.get(node);
    if (sibling !== NONE) return this.#scan[sibling];
    const parent = this.#tree.parent.get(node);
    const stays = this.#options.isLastWithoutTrueChild && parent !== NONE && this.#tree.hasScore(parent);
    return ~(stays ? parent : NULL_OUTCOME);
  }

  #finish(node: number): void {
    const reserved = this.#reserved.get(node);
    if (reserved === undefined) return;
    const sibling = this.#tree.nextSibling.get(node);
    const otherwise = this.#otherwise(node);
    const targets = {
      yes: this.#entry[node],
      // What is false of one child is true of the next where the two are opposite.
      no: sibling !== NONE && this.#opposites.has(sibling) ? this.#entry[sibling] : otherwise,
      unknown: this.#unknown(node, otherwise),
    };
    if (reserved.members === 1) this.#write(reserved.first, targets);
    else this.#finishSurrogate(reserved, targets);
  }

  /** The first member that is not unknown decides; one after the first is a step that a missing value made. */
  #finishSurrogate({ first, members }: Reserved, targets: Targets): void {
    const yes = this.#counted(targets.yes);
    const no = this.#counted(targets.no);
    for (let i = 0; i < members; i++) {
      const unknown = i === members - 1 ? targets.unknown : first + i + 1;
      this.#write(first + i, i === 0 ? { ...targets, unknown } : { yes, no, unknown });
    }
  }

  #unknown(node: number, otherwise: number): number {
    const parent = this.#tree.parent.get(node);
    if (parent === NONE) return ~NULL_OUTCOME;
    switch (this.#options.unknown) {
      case 'none':
        return otherwise;
      case 'lastPrediction':
        return ~parent;
      case 'nullPrediction':
        return ~NULL_OUTCOME;
      default:
        return this.#defaultTarget(parent);
    }
  }

  /** A node that names no default child has no prediction for such records. */
  #defaultTarget(parent: number): number {
    const known = this.#defaultTargets.get(parent);
    if (known !== undefined) return known;
    const tree = this.#tree;
    const wanted = tree.defaultChild.get(parent);
    let target = ~NULL_OUTCOME;
    if (wanted !== NONE) {
      let child = tree.firstChild(parent);
      while (child !== NONE && tree.id.get(child) !== wanted) child = tree.nextSibling.get(child);
      if (child === NONE)
        throw new PmmlError(
          tree.place(parent),
          `'defaultChild' is '${tree.pool.text(wanted)}', which is not a child's id`,
        );
      target = this.#counted(this.#entry[child]);
    }
    this.#defaultTargets.set(parent, target);
    return target;
  }

  #counted(target: number): number {
    if (!this.#options.countsMissing) return target;
    const at = this.#emit(COUNT, 0, 0);
    this.#write(at, { yes: target, no: target, unknown: target });
    return at;
  }

  #write(at: number, { yes, no, unknown }: Targets): void {
    const test = this.#tests[at];
    const isSwapped = this.#swapped.has(at);
    test.yes = isSwapped ? no : yes;
    test.no = isSwapped ? yes : no;
    test.unknown = unknown;
  }

  #emit(kind: number, subject: number, operand: number): number {
    return this.#tests.push({ kind, subject, operand, yes: 0, no: 0, unknown: 0 }) - 1;
  }

  #reserve(node: number): void {
    const tree = this.#tree;
    const predicate = tree.predicate.get(node);
    const parent = tree.parent.get(node);
    const before = this.#lastTests.get(parent);
    this.#lastTests.delete(parent);
    if (predicate === TRUE_PREDICATE || predicate === FALSE_PREDICATE) return;
    if (predicate < OPERATORS.length || predicate === IS_IN || predicate === IS_NOT_IN) {
      const test = this.#simple(node, predicate);
      if ('kind' in test) {
        if (areOpposite(before, test)) {
          this.#opposites.add(node);
          return;
        }
        this.#lastTests.set(parent, test);
      }
      const first = 'kind' in test ? this.#emitTest(test) : this.#emitPredicate(test.predicate);
      this.#reserved.set(node, { first, members: 1 });
      return;
    }
    const element = tree.elements.get(node);
    if (element === undefined) throw new PmmlError(tree.place(node), 'has no predicate');
    const { scope } = this.#context;
    const isSurrogate = element.attribute('booleanOperator') === 'surrogate';
    const members = isSurrogate ? compileMembers(element, scope) : [this.#context.predicate(element)];
    const places = members.map((member) => this.#emitPredicate(member));
    this.#reserved.set(node, { first: places[0], members: places.length });
  }

  #emitPredicate(predicate: Predicate): number {
    return this.#emit(PREDICATE, this.#predicates.push(predicate) - 1, 0);
  }

  #emitTest({ kind, field, operand, isSwapped }: Test): number {
    const isPlain = kind === LESS && field.ensure === undefined;
    const at = isPlain ? this.#emit(PLAIN, field.slot, operand) : this.#emit(kind, this.#testedNumber(field), operand);
    if (isSwapped) this.#swapped.add(at);
    return at;
  }

  #testedNumber({ slot, ensure }: Field): number {
    let number = this.#testedBySlot.get(slot);
    if (number === undefined) {
      number = this.#tested.push({ slot, ensure }) - 1;
      this.#testedBySlot.set(slot, number);
    }
    return number;
  }

  #field(node: number): Field {
    const tree = this.#tree;
    const name = tree.field.get(node);
    let field = this.#fields.get(name);
    if (field === undefined) {
      const text = tree.pool.text(name);
      field = this.#context.scope.find(text, this.#context.element);
      if (field === undefined) throw new PmmlError(tree.place(node), `unknown field '${text}'`);
      this.#fields.set(name, field);
    }
    return field;
  }

  #simple(node: number, predicate: number): Test | { readonly predicate: Predicate } {
    const tree = this.#tree;
    const field = this.#field(node);
    if (predicate === IS_IN || predicate === IS_NOT_IN) {
      const set = tree.valueText.get(node);
      if (field.type === 'string' && field.dictionary === undefined)
        return { predicate: setPredicate(field, tree.sets[set], predicate === IS_IN) };
      return { kind: IN_SET, field, operand: this.#setNumber(field, set), isSwapped: predicate === IS_NOT_IN };
    }
    const test = simpleTest(field, OPERATORS[predicate], tree.value(node), tree.place(node));
    if ('predicate' in test) return test;
    return testOf(test, this.#options.isFloat && field.type !== 'float') ?? { predicate: predicateOf(test) };
  }

  #setNumber(field: Field, set: number): number {
    const key = `${field.slot} ${set}`;
    let number = this.#setNumbers.get(key);
    if (number === undefined) {
      number = this.#sets.length;
      this.#sets.push(membership(field, this.#tree.sets[set]));
      this.#setNumbers.set(key, number);
    }
    return number;
  }
}

/** @returns undefined where the program has no form for it */
function testOf({ field, operator, operand }: SlotTest, isFloat: boolean): Test | undefined {
  const border = (number: number): number => (isFloat ? floatBorder(number) : number);
  switch (operator) {
    case 'equal':
    case 'notEqual':
      return { kind: EQUAL, field, operand, isSwapped: operator === 'notEqual' };
    case 'isMissing':
    case 'isNotMissing':
      return { kind: MISSING, field, operand: 0, isSwapped: operator === 'isNotMissing' };
    case 'lessThan':
    case 'greaterOrEqual':
      return { kind: LESS, field, operand: border(operand), isSwapped: operator === 'greaterOrEqual' };
    default:
      if (operand === Number.POSITIVE_INFINITY) return undefined;
      return { kind: LESS, field, operand: border(nextUp(operand)), isSwapped: operator === 'greaterThan' };
  }
}

function areOpposite(one: Test | undefined, other: Test): boolean {
  return (
    one !== undefined &&
    one.kind === other.kind &&
    one.field.slot === other.field.slot &&
    Object.is(one.operand, other.operand) &&
    one.isSwapped !== other.isSwapped
  );
}
