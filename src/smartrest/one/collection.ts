/**
 * A collection of templates of SmartREST 1.0: what a body with rows 10 and 11 says, compiled
 * (docs/spec/smartrest-one.md#request-templates).
 */
import type { Members } from '../../model/documents/json-document.ts';
import { TEMPLATES_1 } from '../../model/entities/managed-object.ts';
import { PlatformError } from '../../model/errors.ts';
import { collectionOf } from '../custom/collection.ts';
import { TemplateError } from '../custom/definition.ts';
import { JsonPathError } from '../custom/json-path.ts';
import { PathBudget } from '../custom/path-values.ts';
import { compileResponseTemplate, type ResponseTemplate } from '../custom/response-template.ts';
import { encodeRow } from '../rows/csv-encode.ts';
import { RowFault } from './fault.ts';
import { RequestTemplate } from './request-template.ts';
import { readRows, type Row } from './rows.ts';

/** Templates of one collection. */
export const TEMPLATES_MAX = 1_000;
/** Bytes of their rows. */
export const COLLECTION_BYTES_MAX = 131_072;
/** Rows that one value becomes. */
const ROWS_OF_VALUE_MAX = 10_000;

const REQUEST = '10';
const RESPONSE = '11';
/** Message ids that have their meaning already. */
const BUILT_IN: ReadonlySet<string> = new Set(['10', '11', '15', '61', '80', '81', '82', '83', '84']);

/** With one of them a body registers templates (docs/spec/smartrest-one.md#rows). */
export const isTemplate = ({ fields }: Row): boolean => fields[0] === REQUEST || fields[0] === RESPONSE;

export class Collection {
  readonly requests: ReadonlyMap<string, RequestTemplate>;
  readonly #responses: readonly ResponseTemplate[];

  constructor(requests: ReadonlyMap<string, RequestTemplate>, responses: readonly ResponseTemplate[]) {
    this.requests = requests;
    this.#responses = responses;
  }

  /**
   * The rows of all response templates that fit a value, without line breaks.
   * @param value of `parseExact`. @param line of the request; 1 for what is pushed.
   * @throws JsonPathError `bound` for a value in which they would find too much.
   */
  rowsOf(value: unknown, line: number): string[] {
    const budget = new PathBudget();
    const rows: string[] = [];
    for (const template of this.#responses) {
      const found = template.rowsOf(value, budget);
      if (rows.length + found.length > ROWS_OF_VALUE_MAX)
        throw new JsonPathError('bound', `more than ${ROWS_OF_VALUE_MAX} rows`);
      for (const values of found) rows.push(encodeRow([template.messageId, line, ...values]));
    }
    return rows;
  }
}

/** What a body of templates makes: a collection, or rows that tell what is wrong. */
export type Compiled = Collection | { readonly faults: readonly string[] };

/** @param rows of a body in which one is a template. */
export function compileCollection(rows: readonly Row[]): Compiled {
  const faults: string[] = [];
  const requests = new Map<string, RequestTemplate>();
  const responses = new Map<string, ResponseTemplate>();
  for (const row of rows.slice(0, TEMPLATES_MAX)) {
    try {
      if (row.fault !== undefined) throw row.fault;
      if (row.fields[0] === REQUEST) addNew(requests, new RequestTemplate(row.fields));
      else if (row.fields[0] === RESPONSE) addNew(responses, responseTemplate(row.fields));
      else throw new RowFault(41, 'Not a valid message identifier for template creation');
    } catch (error) {
      if (!(error instanceof RowFault)) throw error;
      faults.push(error.toRow(row.line));
    }
  }
  if (rows.length > TEMPLATES_MAX) {
    const { line } = rows[TEMPLATES_MAX];
    faults.push(
      new RowFault(41, `A collection has at most ${TEMPLATES_MAX} templates, not ${rows.length}`).toRow(line),
    );
  }
  return faults.length > 0 ? { faults } : new Collection(requests, [...responses.values()]);
}

/** @param text as it is stored. @returns undefined for what cannot be compiled. */
export function compileStored(text: string): Collection | undefined {
  const compiled = compileRows(text);
  return compiled instanceof Collection ? compiled : undefined;
}

function compileRows(text: string): Compiled {
  const bytes = Buffer.byteLength(text);
  if (bytes > COLLECTION_BYTES_MAX)
    return { faults: [`a collection has at most ${COLLECTION_BYTES_MAX} bytes, not ${bytes}`] };
  return compileCollection(readRows(Buffer.from(text)));
}

/** @param text of the fragment of a managed object. @returns its rows; undefined for a fragment that has none. */
export function rowsOfFragment(text: string): string | undefined {
  const { rows } = Object(JSON.parse(text)) as { rows?: unknown };
  return typeof rows === 'string' ? rows : undefined;
}

/**
 * Of the body of a managed object, whichever way it came: templates of both versions in it have to be such as can be
 * used.
 * @throws PlatformError `smartrest/bad-collection`.
 */
export function requireTemplates(members: Members): void {
  try {
    collectionOf(members);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new PlatformError('smartrest/bad-collection', { reason: error.message });
  }
  const fragment = members.get(TEMPLATES_1);
  if (fragment === undefined || fragment === 'null') return;
  const rows = rowsOfFragment(fragment);
  const compiled = rows === undefined ? { faults: ['it is a text with rows 10 and 11'] } : compileRows(rows);
  if (compiled instanceof Collection) return;
  throw new PlatformError('smartrest/bad-collection', { reason: `${TEMPLATES_1}.rows: ${compiled.faults[0]}` });
}

function addNew<Template extends { readonly messageId: string }>(
  templates: Map<string, Template>,
  template: Template,
): void {
  const { messageId } = template;
  if (templates.has(messageId)) throw new RowFault(41, 'Duplicate message identifiers are not allowed');
  if (BUILT_IN.has(messageId)) throw new RowFault(41, 'Not a valid message identifier for template creation');
  templates.set(messageId, template);
}

/** @throws RowFault 41. */
function responseTemplate(fields: readonly string[]): ResponseTemplate {
  const [, messageId = '', base, condition, ...columns] = fields;
  // A comma at the end is none of them.
  const patterns = columns.slice(0, columns.findLastIndex((column) => column !== '') + 1);
  if (!/^\d{1,9}$/.test(messageId)) throw new RowFault(41, 'Not a valid message identifier for template creation');
  if (patterns.length === 0 || patterns.includes('')) throw new RowFault(41, 'Bad response template definition');
  try {
    return compileResponseTemplate({ messageId, base, condition, patterns }, '1.0');
  } catch (error) {
    if (error instanceof JsonPathError) throw new RowFault(41, error.text);
    throw error;
  }
}
