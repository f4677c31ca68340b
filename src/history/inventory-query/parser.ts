/** Grammar of the inventory's query language (docs/spec/queries.md): text to a tree. */
import { failAt, partsOf, tokensOf } from './lexer.ts';
import type { Token } from './lexer.ts';

export type Operator = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le';

export type Literal =
  | { readonly kind: 'text'; readonly pieces: readonly string[] }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' };

/** Names from the top of the document. */
export type Path = readonly string[];

export type Expression =
  | { readonly kind: 'comparison'; readonly path: Path; readonly operator: Operator; readonly literal: Literal }
  /** One of the paths exists. */
  | { readonly kind: 'has'; readonly paths: readonly Path[] }
  /** Direct children of one of the groups, of any kind. */
  | { readonly kind: 'bygroupid'; readonly ids: readonly string[] }
  /** One of the objects or anything below them. */
  | { readonly kind: 'isinhierarchyof'; readonly ids: readonly string[] }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Expression[] }
  | { readonly kind: 'not'; readonly operand: Expression };

export interface OrderBy {
  readonly path: Path;
  readonly isDescending: boolean;
}

export interface InventoryQuery {
  /** Undefined: everything. */
  readonly filter: Expression | undefined;
  readonly order: readonly OrderBy[];
}

const DEPTH_MAX = 50;
const COMPARISONS_MAX = 200;
const ORDER_MAX = 10;
const PATH_LENGTH_MAX = 20;
const ARGUMENTS_MAX = 1_000;
/** Each is looked up level by level, with queries of its own before the one of the list. */
const HIERARCHIES_MAX = 20;
const OPERATORS: ReadonlySet<string> = new Set(['eq', 'ne', 'gt', 'ge', 'lt', 'le']);
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?[fdl]?$/i;
const FRAGMENT_FUNCTIONS = ['has', 'hasany'] as const;
const FUNCTIONS: ReadonlySet<string> = new Set([...FRAGMENT_FUNCTIONS, 'bygroupid', 'isinhierarchyof']);
/** Of entities that are in no hierarchy. */
export const FUNCTIONS_OF_DATA: ReadonlySet<string> = new Set(FRAGMENT_FUNCTIONS);

/** @throws PlatformError `inventory/invalid-query` with the position of what is wrong. */
export function parseInventoryQuery(query: string, functions = FUNCTIONS): InventoryQuery {
  const { filter, order } = partsOf(query);
  const tokens = tokensOf(query, filter[0], filter[1]);
  return {
    filter: tokens.length === 1 ? undefined : new Parser(tokens, functions).filter(),
    order: order === undefined ? [] : new Parser(tokensOf(query, order[0], order[1]), functions).order(),
  };
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #functions: ReadonlySet<string>;
  #index = 0;
  #depth = 0;
  #comparisonsCount = 0;
  #hierarchiesCount = 0;

  constructor(tokens: readonly Token[], functions: ReadonlySet<string>) {
    this.#tokens = tokens;
    this.#functions = functions;
  }

  filter(): Expression {
    const expression = this.#or();
    this.#end();
    return expression;
  }

  order(): OrderBy[] {
    const list: OrderBy[] = [];
    while (this.#peek().kind !== 'end') {
      if (list.length >= ORDER_MAX) failAt(this.#peek().at, `more than ${ORDER_MAX} orders`);
      const path = this.#path();
      const direction = this.#peek().kind === 'word' ? this.#peek().source.toLowerCase() : '';
      if (direction === 'asc' || direction === 'desc') this.#index += 1;
      list.push({ path, isDescending: direction === 'desc' });
      if (this.#peek().kind === 'end') break;
      this.#take(',', 'a comma');
      if (this.#peek().kind === 'end') failAt(this.#peek().at, 'a path is missing');
    }
    return list;
  }

  #peek(): Token {
    return this.#tokens[this.#index];
  }

  #or(): Expression {
    return this.#series('or', () => this.#and());
  }

  #and(): Expression {
    return this.#series('and', () => this.#unary());
  }

  #series(kind: 'and' | 'or', operand: () => Expression): Expression {
    const operands = [operand()];
    while (this.#isKeyword(kind)) {
      this.#index += 1;
      operands.push(operand());
    }
    return operands.length === 1 ? operands[0] : { kind, operands };
  }

  #unary(): Expression {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) failAt(this.#peek().at, `more than ${DEPTH_MAX} levels`);
    const expression = this.#nested();
    this.#depth -= 1;
    return expression;
  }

  #nested(): Expression {
    // A property may be named like a keyword or a function: what follows tells.
    if (this.#isKeyword('not') && !this.#isOperator(1)) {
      this.#index += 1;
      return { kind: 'not', operand: this.#unary() };
    }
    if (this.#peek().kind === '(') {
      this.#index += 1;
      const expression = this.#or();
      this.#take(')', 'a closing parenthesis');
      return expression;
    }
    this.#comparisonsCount += 1;
    if (this.#comparisonsCount > COMPARISONS_MAX) failAt(this.#peek().at, `more than ${COMPARISONS_MAX} conditions`);
    return this.#tokens[this.#index + 1]?.kind === '(' ? this.#function() : this.#comparison();
  }

  #function(): Expression {
    const { source, at } = this.#peek();
    const name = source.toLowerCase();
    if (this.#peek().kind !== 'word' || !this.#functions.has(name)) failAt(at, `unknown function ${source}`);
    if (name === 'isinhierarchyof') this.#hierarchiesCount += 1;
    if (this.#hierarchiesCount > HIERARCHIES_MAX)
      failAt(at, `more than ${HIERARCHIES_MAX} times isinhierarchyof, which takes several ids at once`);
    this.#index += 2;
    const paths: Path[] = [];
    const ids: string[] = [];
    for (;;) {
      if (paths.length + ids.length >= ARGUMENTS_MAX) failAt(this.#peek().at, `more than ${ARGUMENTS_MAX} arguments`);
      if (name.startsWith('has')) paths.push(this.#path());
      else ids.push(this.#id());
      if (this.#peek().kind !== ',') break;
      this.#index += 1;
    }
    this.#take(')', 'a closing parenthesis');
    if (name === 'has' && paths.length > 1) failAt(at, 'has takes one path; hasany takes several');
    if (name === 'has' || name === 'hasany') return { kind: 'has', paths };
    return { kind: name as 'bygroupid' | 'isinhierarchyof', ids };
  }

  #comparison(): Expression {
    const path = this.#path();
    const { at } = this.#peek();
    if (!this.#isOperator(0)) failAt(at, `one of ${[...OPERATORS].join(', ')} is missing`);
    const operator = this.#peek().source.toLowerCase() as Operator;
    this.#index += 1;
    const literalAt = this.#peek().at;
    const literal = this.#literal();
    if ((literal.kind === 'boolean' || literal.kind === 'null') && operator !== 'eq' && operator !== 'ne') {
      failAt(
        literalAt,
        `${operator} takes a text or a number, found ${literal.kind === 'null' ? 'null' : String(literal.value)}`,
      );
    }
    return { kind: 'comparison', path, operator, literal };
  }

  #literal(): Literal {
    const { kind, pieces, source, at } = this.#peek();
    if (kind !== 'text' && kind !== 'word') failAt(at, 'a value is missing');
    this.#index += 1;
    if (kind === 'text') return { kind: 'text', pieces };
    switch (source.toLowerCase()) {
      case 'true':
        return { kind: 'boolean', value: true };
      case 'false':
        return { kind: 'boolean', value: false };
      case 'null':
        return { kind: 'null' };
      default:
        break;
    }
    if (!NUMBER.test(source)) return { kind: 'text', pieces };
    const value = Number(source.replace(/[fdl]$/i, ''));
    if (!Number.isFinite(value)) failAt(at, `${source} is larger than a number may be`);
    return { kind: 'number', value };
  }

  #path(): Path {
    const { kind, pieces, source, at } = this.#peek();
    if (kind !== 'word' && kind !== 'text') failAt(at, 'a property is missing');
    this.#index += 1;
    const path = (kind === 'text' ? pieces.join('*') : source).split('.');
    if (path.includes('')) failAt(at, 'a property without a name');
    if (path.length > PATH_LENGTH_MAX) failAt(at, `more than ${PATH_LENGTH_MAX} names in a path`);
    return path;
  }

  #id(): string {
    const { kind, pieces, source, at } = this.#peek();
    if (kind !== 'word' && kind !== 'text') failAt(at, 'an id is missing');
    this.#index += 1;
    return kind === 'text' ? pieces.join('*') : source;
  }

  #isKeyword(word: string): boolean {
    return this.#peek().kind === 'word' && this.#peek().source.toLowerCase() === word;
  }

  #isOperator(offset: number): boolean {
    const token = this.#tokens[this.#index + offset];
    return token?.kind === 'word' && OPERATORS.has(token.source.toLowerCase());
  }

  #take(kind: Token['kind'], name: string): void {
    if (this.#peek().kind !== kind) failAt(this.#peek().at, `${name} is missing`);
    this.#index += 1;
  }

  #end(): void {
    if (this.#peek().kind !== 'end') failAt(this.#peek().at, `${this.#peek().source} is not understood`);
  }
}
