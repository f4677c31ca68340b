/** Response templates (docs/spec/smartrest.md#response-templates): which values of a JSON value become a row. */
import { rowText } from './exact-numbers.ts';
import { compileJsonPath, JsonPathError, joinPaths, type JsonPath } from './json-path.ts';
import { isAt, valuesAt, type PathBudget } from './path-values.ts';

/**
 * `2.0`: the base goes in front of the patterns, and there is one row; the condition is looked up in the whole value.
 * `1.0`: the base leads to an object or a list, each element of which is a row of its own if the condition, looked up
 * in it, holds. Paths that may find several values are refused.
 */
export type ResponseDialect = '1.0' | '2.0';

export interface ResponseTemplateText {
  readonly messageId: string;
  /** Paths may lack `$.` in front. Absent or empty: the whole value. */
  readonly base?: string | undefined;
  /** Absent or empty: it always holds. */
  readonly condition?: string | undefined;
  readonly patterns: readonly string[];
}

export interface ResponseTemplate {
  readonly messageId: string;
  /**
   * The values of each row, without the message id: none when the condition does not hold. A pattern that finds nothing
   * is `''`, one that finds several values is as many. Texts are as they are, objects and lists JSON.
   * @param value of `parseExact`. @param budget one for all templates that are tried on the value.
   * @throws JsonPathError `bound`.
   */
  rowsOf(value: unknown, budget: PathBudget): string[][];
}

/** @throws JsonPathError that names the path. */
export function compileResponseTemplate(template: ResponseTemplateText, dialect: ResponseDialect): ResponseTemplate {
  const base = compileJsonPath(template.base || '$');
  const condition = template.condition ? compileJsonPath(template.condition) : undefined;
  const patterns = template.patterns.map(compileJsonPath);
  const { messageId } = template;
  if (dialect === '1.0') {
    for (const path of [base, ...(condition === undefined ? [] : [condition]), ...patterns])
      if (!path.isPlain) throw new JsonPathError('list', path.text);
    return { messageId, rowsOf: (value, budget) => rowsOfElements({ base, condition, patterns }, value, budget) };
  }
  const paths = patterns.map((pattern) => joinPaths(base, pattern));
  return {
    messageId,
    rowsOf: (value, budget) =>
      condition === undefined || isAt(condition, value, budget) ? [valuesOf(paths, value, budget)] : [],
  };
}

/** Elements of a list that a base of 1.0 leads to; a page of REST has at most 2,000. */
const ELEMENTS_MAX = 10_000;

interface OneTemplate {
  readonly base: JsonPath;
  readonly condition: JsonPath | undefined;
  readonly patterns: readonly JsonPath[];
}

function rowsOfElements({ base, condition, patterns }: OneTemplate, value: unknown, budget: PathBudget): string[][] {
  const rows: string[][] = [];
  for (const found of valuesAt(base, value, budget)) {
    const elements: readonly unknown[] = Array.isArray(found) ? found : [found];
    if (elements.length > ELEMENTS_MAX)
      throw new JsonPathError(
        'bound',
        `${base.text} has ${elements.length} elements; at most ${ELEMENTS_MAX} become rows`,
      );
    for (const element of elements) {
      budget.visit(base);
      if (condition === undefined || isAt(condition, element, budget)) rows.push(valuesOf(patterns, element, budget));
    }
  }
  return rows;
}

function valuesOf(paths: readonly JsonPath[], value: unknown, budget: PathBudget): string[] {
  const values: string[] = [];
  for (const path of paths) {
    // A path without steps visits nothing itself.
    budget.visit(path);
    const found = valuesAt(path, value, budget);
    if (found.length === 0) values.push('');
    for (const member of found) {
      const text = rowText(member);
      budget.found(path, text.length);
      values.push(text);
    }
  }
  return values;
}
