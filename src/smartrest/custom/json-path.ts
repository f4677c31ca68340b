/**
 * JSONPaths of templates (docs/spec/smartrest.md#json-paths), without filters and scripts: nothing in a path is ever
 * evaluated. A path is read once; its length, its steps and what one evaluation may visit are bounded.
 */

/** Longest path, in characters. */
const PATH_LENGTH_MAX = 1_000;
/** Most steps of a path, those of its base included. */
export const PATH_STEPS_MAX = 50;

/** What is wrong with a path; the texts are those of error rows of SmartREST 1.0 (docs/spec/smartrest-one.md). */
const FAULTS = {
  invalid: 'Invalid JsonPath',
  filter: 'Using Filters (?) in JsonPath is not allowed for SmartRest',
  list: 'Using JsonPath to refer to a list of objects is not allowed for SmartRest',
  /** More values, visited members or text than one evaluation may have. */
  bound: 'JsonPath finds too much',
} as const;

export type PathFault = keyof typeof FAULTS;

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
  readonly fault: PathFault;
  /** The text of the fault alone, as SmartREST 1.0 has it. */
  readonly text: string;

  /** @param detail the path, and where it is wrong or which limit it met. */
  constructor(fault: PathFault, detail: string) {
    super(`${FAULTS[fault]}: ${detail}`);
    this.fault = fault;
    this.text = FAULTS[fault];
  }
}

export const STEP = {
  /** One member of an object, or one element of an array. */
  NAME: 0,
  /** All members or elements. */
  ALL: 1,
  /** The value and everything below it. */
  BELOW: 2,
  /** Several members or elements by name. */
  UNION: 3,
  /** Elements `start:end:step`. */
  SLICE: 4,
} as const;

export interface NameStep {
  readonly kind: typeof STEP.NAME;
  readonly name: string;
  /** Of an element, -1 for a name that is not an index. */
  readonly index: number;
  /** Written as `[0]`: of a list, not a member called `0`. */
  readonly isElement: boolean;
}

export type Step =
  | NameStep
  | { readonly kind: typeof STEP.ALL }
  | { readonly kind: typeof STEP.BELOW }
  /** Each name once. */
  | { readonly kind: typeof STEP.UNION; readonly names: readonly NameStep[] }
  /** `start` and `end` count from the end where they are negative. */
  | { readonly kind: typeof STEP.SLICE; readonly start: number; readonly end: number; readonly step: number };

export interface JsonPath {
  readonly text: string;
  readonly steps: readonly Step[];
  /** Each step is a NAME: there is at most one value. */
  readonly isPlain: boolean;
}

const ALL: Step = { kind: STEP.ALL };
const BELOW: Step = { kind: STEP.BELOW };

const NAME = /[^.[\]()?*@,'"^~`\u0000-\u001f]+/y;
const ROOT = /\$(?=[.[]|$)/y;
/** In brackets: one of these, or several quoted names or indexes with commas between. */
const QUOTED = /'((?:[^'\\]|\\['\\])*)'|"((?:[^"\\]|\\["\\])*)"/y;
const INDEX = /\d{1,9}/y;
const SLICE = /(-?\d{1,9})?:(-?\d{1,9})?(?::([1-9]\d{0,8})?)?/y;
const BLANKS = / */y;
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,8})$/;

function nameStep(name: string, isElement = false): NameStep {
  return { kind: STEP.NAME, name, index: ARRAY_INDEX.test(name) ? Number(name) : -1, isElement };
}

/**
 * Reads a path: `$.a.b`, `a.b`, `a['b c']`, `a[0]`, `a[*]`, `a.*`, `$..a`, `a[1:3]`, `a[0,2]`. Without `$` it begins at
 * the whole value as well.
 * @throws JsonPathError for anything else, and for a path that is too long.
 */
export function compileJsonPath(text: string): JsonPath {
  if (text.length > PATH_LENGTH_MAX)
    throw new JsonPathError('invalid', `it has ${text.length} characters; at most ${PATH_LENGTH_MAX} are allowed`);
  return pathOf(text, new PathReader(text).read());
}

/** `base` in front of `path`. @throws JsonPathError when it has too many steps. */
export function joinPaths(base: JsonPath, path: JsonPath): JsonPath {
  return base.steps.length === 0 ? path : pathOf(`${base.text} ${path.text}`, [...base.steps, ...path.steps]);
}

function pathOf(text: string, steps: readonly Step[]): JsonPath {
  if (steps.length > PATH_STEPS_MAX)
    throw new JsonPathError('invalid', `${text} has ${steps.length} steps; at most ${PATH_STEPS_MAX} are allowed`);
  // Two of them find a value once for each pair of its ancestors.
  if (steps.filter(({ kind }) => kind === STEP.BELOW).length > 1)
    throw new JsonPathError('invalid', `${text} has '..' more than once`);
  return {
    text,
    steps,
    isPlain: steps.every(({ kind }) => kind === STEP.NAME),
  };
}

class PathReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Step[] {
    const steps: Step[] = [];
    const isRooted = this.#take(ROOT) !== undefined;
    if (!isRooted) {
      const name = this.#take(NAME);
      if (name !== undefined) steps.push(nameStep(name[0]));
      else if (this.#text[this.#at] === '*') this.#pushAll(steps);
      else if (this.#text[this.#at] !== '[') throw this.#fault();
    }
    while (this.#at < this.#text.length) this.#readStep(steps);
    return steps;
  }

  #pushAll(steps: Step[]): void {
    this.#at += 1;
    steps.push(ALL);
  }

  #readStep(steps: Step[]): void {
    if (this.#text[this.#at] === '[') {
      this.#at += 1;
      steps.push(this.#readBrackets());
      return;
    }
    if (this.#text[this.#at] !== '.') throw this.#fault();
    this.#at += 1;
    if (this.#text[this.#at] === '.') {
      this.#at += 1;
      steps.push(BELOW);
      if (this.#text[this.#at] === '[') return;
    }
    if (this.#text[this.#at] === '*') {
      this.#pushAll(steps);
      return;
    }
    const name = this.#take(NAME);
    if (name === undefined) throw this.#fault();
    steps.push(nameStep(name[0]));
  }

  /** Behind `[`, up to and with `]`. */
  #readBrackets(): Step {
    this.#take(BLANKS);
    if (this.#text[this.#at] === '*') {
      this.#at += 1;
      this.#close();
      return ALL;
    }
    const slice = this.#take(SLICE);
    if (slice !== undefined) {
      this.#close();
      const [, start = '0', end = 'Infinity', step = '1'] = slice;
      return { kind: STEP.SLICE, start: Number(start), end: Number(end), step: Number(step) };
    }
    const names = [this.#readKey()];
    for (;;) {
      this.#take(BLANKS);
      if (this.#text[this.#at] !== ',') break;
      this.#at += 1;
      this.#take(BLANKS);
      names.push(this.#readKey());
    }
    this.#close();
    if (names.length === 1) return names[0];
    const unique = new Map(names.map((step) => [step.name, step]));
    return { kind: STEP.UNION, names: [...unique.values()] };
  }

  #readKey(): NameStep {
    const index = this.#take(INDEX);
    if (index !== undefined) return nameStep(String(Number(index[0])), true);
    const quoted = this.#take(QUOTED);
    if (quoted === undefined) throw this.#fault();
    return nameStep((quoted[1] ?? quoted[2]).replace(/\\(.)/g, '$1'));
  }

  #close(): void {
    this.#take(BLANKS);
    if (this.#text[this.#at] !== ']') throw this.#fault();
    this.#at += 1;
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }

  #fault(): JsonPathError {
    const isFilter = this.#text[this.#at] === '?' || this.#text[this.#at] === '(';
    return new JsonPathError(isFilter ? 'filter' : 'invalid', `${this.#text} at character ${this.#at + 1}`);
  }
}
