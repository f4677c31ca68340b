const NO_ELEMENTS: readonly Element[] = [];

/** One element of a PMML document, with its place in the text. Namespaces are dropped: PMML has one. */
export class Element {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Line of the document, from 1. */
  readonly line: number;
  /** Where its tag begins: characters from the beginning of the document. */
  readonly offset: number;
  readonly parent: Element | undefined;
  /** The elements inside of it, without those of vendors. */
  readonly children: Element[] = [];
  /** `Extension` elements inside of it: content of vendors may stand anywhere and is never taken for that of the standard. */
  extensions: readonly Element[] = NO_ELEMENTS;
  /** What stands between the tags, without the text of children. */
  text = '';
  /** What a collector made of children that are not kept as elements, such as the nodes of a tree. */
  packed: unknown;

  constructor(
    name: string,
    attributes: ReadonlyMap<string, string>,
    place: { readonly line: number; readonly offset: number },
    parent?: Element,
  ) {
    this.name = name;
    this.attributes = attributes;
    this.line = place.line;
    this.offset = place.offset;
    this.parent = parent;
  }

  attribute(name: string): string | undefined {
    return this.attributes.get(name);
  }

  /** First child of this name. */
  child(name: string): Element | undefined {
    for (const child of this.children) if (child.name === name) return child;
    return undefined;
  }

  extend(extension: Element): void {
    this.extensions = [...this.extensions, extension];
  }

  childrenOf(...names: readonly string[]): Element[] {
    return this.children.filter((child) => names.includes(child.name));
  }

  /** A required attribute; without it the model is refused. */
  required(name: string): string {
    const value = this.attributes.get(name);
    if (value === undefined) throw new PmmlError(this, `the attribute '${name}' is missing`);
    return value;
  }

  /** A number as an attribute holds it, or the default. */
  number(name: string): number | undefined;
  number(name: string, byDefault: number): number;
  number(name: string, byDefault?: number): number | undefined {
    const text = this.attributes.get(name);
    if (text === undefined) return byDefault;
    return parseNumber(this, name, text);
  }

  requiredNumber(name: string): number {
    return parseNumber(this, name, this.required(name));
  }

  /** One of the words that an attribute may hold. */
  oneOf<Word extends string>(name: string, words: readonly Word[], byDefault: Word): Word {
    const text = this.attributes.get(name);
    if (text === undefined) return byDefault;
    const found = words.find((word) => word === text);
    if (found === undefined) throw new PmmlError(this, `'${name}' is '${text}'; it may be ${words.join(', ')}`);
    return found;
  }

  /** `true` and `1` are true, `false` and `0` false. */
  flag(name: string, byDefault: boolean): boolean {
    const text = this.attributes.get(name);
    if (text === undefined) return byDefault;
    if (text === 'true' || text === '1') return true;
    if (text === 'false' || text === '0') return false;
    throw new PmmlError(this, `'${name}' is '${text}'; it may be true or false`);
  }
}

/** Version of PMML that the document of an element has; empty where it tells none. */
export function versionOf(element: Element): string {
  let root = element;
  while (root.parent !== undefined) root = root.parent;
  return root.attribute('version') ?? '';
}

/** Lets go of what is in an element, but of elements that `keeps` names: a model that is compiled needs them no more. */
export function release(element: Element, keeps: ReadonlySet<string>): void {
  const waiting = [element];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (keeps.has(next.name)) continue;
    for (const child of next.children) waiting.push(child);
    next.children.length = 0;
    next.extensions = NO_ELEMENTS;
    next.packed = undefined;
  }
}

/** A model that is refused: what, and at which element of the document. */
export class PmmlError extends Error {
  readonly element: string;
  readonly line: number;
  readonly offset: number;
  /** The message without its place. */
  readonly reason: string;

  constructor(element: Pick<Element, 'name' | 'line' | 'offset'>, reason: string) {
    super(`${element.name} (line ${element.line}): ${reason}`);
    this.name = 'PmmlError';
    this.element = element.name;
    this.line = element.line;
    this.offset = element.offset;
    this.reason = reason;
  }
}

/** A number as XML Schema writes it (`INF`, `-INF`, `NaN` too) and as Java does (`Infinity`). */
export function numberOf(text: string): number | undefined {
  const trimmed = text.trim();
  if (NUMBER.test(trimmed)) return Number(trimmed);
  if (trimmed === 'INF' || trimmed === '+INF' || trimmed === 'Infinity') return Number.POSITIVE_INFINITY;
  if (trimmed === '-INF' || trimmed === '-Infinity') return Number.NEGATIVE_INFINITY;
  return trimmed === 'NaN' ? Number.NaN : undefined;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

function parseNumber(element: Element, name: string, text: string): number {
  const number = numberOf(text);
  if (number === undefined) throw new PmmlError(element, `'${name}' is '${text}', which is not a number`);
  return number;
}
