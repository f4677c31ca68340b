import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { Element, PmmlError } from './element.ts';
import { DocumentDecoder } from './encoding.ts';

/** A document that is not XML: 400 `Invalid XML format.` */
class XmlError extends Error {
  override readonly name = 'XmlError';
}

/**
 * Takes the children of some elements in place of the tree, so that a large forest never stands in memory as elements.
 * It begins with a `Node` whose parent is not a `Node`, and ends with the same.
 */
export interface Collector {
  /** An element begins inside; `true`: the collector takes it, `false`: it becomes an `Element` and is given to `child`. */
  open(
    name: string,
    attributes: ReadonlyMap<string, string>,
    place: { readonly line: number; readonly offset: number },
  ): boolean;
  /** A whole element (and what is in it) that `open` left to the tree. */
  child(element: Element): void;
  close(name: string): void;
  /** What the parent keeps as `packed`. */
  result(): unknown;
}

/** Name of an element → what collects it and what is in it; undefined where it stays an element. */
export type Collectors = ReadonlyMap<string, (parent: Element) => Collector | undefined>;

const DEPTH_MAX = 2_000;
const NAME_CHARACTERS_MAX = 65_536;
const ATTRIBUTES_MAX = 1_000;

/**
 * Reads a PMML document into elements, chunk by chunk. Entities of a document type are never resolved: one in the text is
 * an `XmlError`.
 */
export class DocumentReader {
  readonly #parser = new SaxesParser({ position: true });
  readonly #decoder = new DocumentDecoder();
  readonly #collectors: Collectors;
  #root: Element | undefined;
  #current: Element | undefined;
  #collector: Collector | undefined;
  /** The element that keeps what the collector makes. */
  #collecting: Element | undefined;
  /** Open elements that the collector has taken. */
  #collected: string[] = [];
  #depth = 0;
  /** Of the tag that is being read. */
  #place = { line: 1, offset: 0 };
  #isFirst = true;

  constructor(collectors: Collectors = new Map()) {
    this.#collectors = collectors;
    const parser = this.#parser;
    parser.on('error', (error) => {
      throw new XmlError(error.message);
    });
    parser.on('opentagstart', ({ name }) => {
      this.#place = { line: parser.line, offset: parser.position - name.length - 2 };
    });
    parser.on('opentag', (tag) => this.#open(tag as SaxesTagPlain));
    parser.on('closetag', (tag) => this.#close(local(tag.name)));
    parser.on('text', (text) => this.#text(text));
    parser.on('cdata', (text) => this.#text(text));
  }

  write(chunk: Uint8Array | string): void {
    this.#parser.write(typeof chunk === 'string' ? this.#withoutMark(chunk) : this.#decoder.write(chunk));
  }

  /** A decoder leaves it out of bytes. */
  #withoutMark(text: string): string {
    if (!this.#isFirst || text === '') return text;
    this.#isFirst = false;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  /** The root element; throws an `XmlError` where the document is not whole. */
  end(): Element {
    this.#parser.write(this.#decoder.end());
    this.#parser.close();
    if (this.#root === undefined) throw new XmlError('the document is empty');
    return this.#root;
  }

  #open(tag: SaxesTagPlain): void {
    const name = local(tag.name);
    if (++this.#depth > DEPTH_MAX) throw new XmlError(`elements are nested deeper than ${DEPTH_MAX}`);
    const attributes = attributesOf(tag.attributes);
    const collector = this.#collector;
    if (
      collector !== undefined &&
      this.#current === this.#collecting &&
      collector.open(name, attributes, this.#place)
    ) {
      this.#collected.push(name);
      return;
    }
    const parent = this.#current;
    if (collector === undefined && parent !== undefined) {
      const made = this.#collectors.get(name)?.(parent);
      if (made !== undefined) {
        this.#collector = made;
        this.#collecting = parent;
        if (!made.open(name, attributes, this.#place))
          throw new PmmlError({ name, ...this.#place }, 'is not expected here');
        this.#collected.push(name);
        return;
      }
    }
    const element = new Element(name, attributes, this.#place, parent);
    if (parent === undefined) this.#root = element;
    else if (parent !== this.#collecting) put(element, parent);
    this.#current = element;
  }

  #close(name: string): void {
    this.#depth--;
    const collector = this.#collector;
    const current = this.#current;
    if (collector !== undefined && current === this.#collecting) {
      this.#collected.pop();
      collector.close(name);
      if (this.#collected.length === 0) {
        if (current !== undefined) current.packed = collector.result();
        this.#collector = undefined;
        this.#collecting = undefined;
      }
      return;
    }
    if (current === undefined) return;
    this.#current = current.parent;
    if (collector !== undefined && current.parent === this.#collecting && current.name !== EXTENSION)
      collector.child(current);
  }

  #text(text: string): void {
    if (this.#current !== undefined && this.#current !== this.#collecting) this.#current.text += text;
  }
}

const EXTENSION = 'Extension';
/** Extensions that one element keeps; further ones are left out. */
const EXTENSIONS_MAX = 1_000;

function put(element: Element, parent: Element): void {
  if (element.name !== EXTENSION) parent.children.push(element);
  else if (parent.extensions.length < EXTENSIONS_MAX) parent.extend(element);
}

/** Reads a whole document. */
export function readDocument(text: Uint8Array | string, collectors?: Collectors): Element {
  const reader = new DocumentReader(collectors);
  reader.write(text);
  return reader.end();
}

function local(name: string): string {
  const colon = name.indexOf(':');
  return colon === -1 ? name : name.slice(colon + 1);
}

function attributesOf(given: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (const name in given) {
    if (name === 'xmlns' || name.startsWith('xmlns:')) continue;
    const value = given[name] ?? '';
    if (name.length > NAME_CHARACTERS_MAX)
      throw new XmlError(`a name is longer than ${NAME_CHARACTERS_MAX} characters`);
    attributes.set(name, value);
    if (attributes.size > ATTRIBUTES_MAX) throw new XmlError(`an element has more than ${ATTRIBUTES_MAX} attributes`);
  }
  return attributes;
}
