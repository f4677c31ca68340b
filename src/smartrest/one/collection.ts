/**
 * A collection of templates of SmartREST 1.0: what a body with rows 10 and 11 says, compiled
 * (docs/spec/smartrest-one.md#request-templates).
 */
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
   * @param value parsed JSON. @param line of the request; 1 for what is pushed.
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
  if (Buffer.byteLength(text) > COLLECTION_BYTES_MAX) return undefined;
  const compiled = compileCollection(readRows(Buffer.from(text)));
  return compiled instanceof Collection ? compiled : undefined;
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
