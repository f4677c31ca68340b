/**
 * What JSONPaths find in a value. All evaluations over one value share a budget: templates come from devices, and so do
 * the values. No package bounds what a path visits; test/smartrest/custom compares the results with those of one.
 */
import { parseExact } from './exact-numbers.ts';
import { JsonPathError, STEP, type JsonPath, type NameStep } from './json-path.ts';

/** Most values of one path. */
export const PATH_RESULTS_MAX = 2_000;
/** Members and elements that all paths with one budget may visit. */
const VISITS_MAX = 100_000;
/** Characters of all values that all paths with one budget may find. */
const TEXT_LENGTH_MAX = 1 << 20;
/** Characters of documents that are parsed with one budget; one document is parsed in any case. */
const PARSED_LENGTH_MAX = 4 << 20;

/**
 * What may still be parsed, visited and found: make one for each message, or for each value that a collection is tried
 * on.
 */
export class PathBudget {
  #visits = VISITS_MAX;
  #textLength = TEXT_LENGTH_MAX;
  #parsedLength = 0;

  /** Nothing more is to be read for it. */
  get isSpent(): boolean {
    return this.#visits < 0 || this.#textLength < 0 || this.#parsedLength >= PARSED_LENGTH_MAX;
  }

  /** @param text JSON. @throws JsonPathError `bound`. */
  parse(text: string): unknown {
    if (this.isSpent || (this.#parsedLength > 0 && this.#parsedLength + text.length > PARSED_LENGTH_MAX)) {
      this.#parsedLength = PARSED_LENGTH_MAX;
      throw new JsonPathError('bound', 'the rows of the message before have used up what one message may ask for');
    }
    this.#parsedLength += text.length;
    return parseExact(text);
  }

  /** @throws JsonPathError `bound`. */
  visit(path: JsonPath): void {
    this.#visits -= 1;
    if (this.#visits < 0) throw new JsonPathError('bound', `${path.text} visits more than ${VISITS_MAX} members`);
  }

  /** @throws JsonPathError `bound`. */
  found(path: JsonPath, length: number): void {
    this.#textLength -= length;
    if (this.#textLength < 0)
      throw new JsonPathError('bound', `${path.text} finds more than ${TEXT_LENGTH_MAX} characters`);
  }
}

/**
 * The values at `path`, in the order of the document.
 * @throws JsonPathError `bound` for more than PATH_RESULTS_MAX, or when the budget is used up.
 */
export function valuesAt(path: JsonPath, value: unknown, budget: PathBudget): unknown[] {
  const found = firstValues(path, value, budget, PATH_RESULTS_MAX + 1);
  if (found.length > PATH_RESULTS_MAX)
    throw new JsonPathError('bound', `${path.text} finds more than ${PATH_RESULTS_MAX} values`);
  return found;
}

/** Whether `path` leads to a value, be it null. @throws JsonPathError `bound`. */
export function isAt(path: JsonPath, value: unknown, budget: PathBudget): boolean {
  return firstValues(path, value, budget, 1).length > 0;
}

function firstValues(path: JsonPath, value: unknown, budget: PathBudget, limit: number): unknown[] {
  const found: unknown[] = [];
  if (!path.isPlain) {
    walk({ path, budget, found, limit }, 0, value);
    return found;
  }
  let at = value;
  for (const step of path.steps) {
    budget.visit(path);
    at = memberOf(at, step as NameStep);
    if (at === undefined) return found;
  }
  found.push(at);
  return found;
}

interface Search {
  readonly path: JsonPath;
  readonly budget: PathBudget;
  readonly found: unknown[];
  readonly limit: number;
}

/** undefined where there is none; JSON has no such value. */
function memberOf(value: unknown, step: NameStep): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return step.index < 0 ? undefined : (value[step.index] as unknown);
  return Object.hasOwn(value, step.name) ? (value as Record<string, unknown>)[step.name] : undefined;
}

/** Goes as deep as the value is nested (NESTING_MAX of documents) and the path has steps. */
function walk(search: Search, depth: number, value: unknown): void {
  const { steps } = search.path;
  if (search.found.length >= search.limit) return;
  if (depth === steps.length) {
    search.found.push(value);
    return;
  }
  search.budget.visit(search.path);
  if (typeof value !== 'object' || value === null) return;
  const step = steps[depth];
  switch (step.kind) {
    case STEP.NAME:
      walkMember(search, depth, value, step);
      return;
    case STEP.UNION:
      for (const name of step.names) walkMember(search, depth, value, name);
      return;
    case STEP.SLICE:
      if (!Array.isArray(value)) return;
      for (let index = fromEnd(step.start, value.length); index < fromEnd(step.end, value.length); index += step.step)
        walk(search, depth + 1, value[index]);
      return;
    case STEP.BELOW:
      walk(search, depth + 1, value);
      for (const member of Object.values(value)) walk(search, depth, member);
      return;
    case STEP.ALL:
      for (const member of Object.values(value)) walk(search, depth + 1, member);
  }
}

function walkMember(search: Search, depth: number, value: object, step: NameStep): void {
  const member = memberOf(value, step);
  if (member !== undefined) walk(search, depth + 1, member);
}

/** @returns an index from 0 to `length`. */
const fromEnd = (index: number, length: number): number =>
  Math.min(index < 0 ? Math.max(index + length, 0) : index, length);
