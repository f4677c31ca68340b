/** What a body of SmartREST 1.0 is answered, over HTTP and MQTT (docs/spec/smartrest-one.md#answers). */
import { PlatformError } from '../../model/errors.ts';
import { parseExact } from '../custom/exact-numbers.ts';
import { JsonPathError } from '../custom/json-path.ts';
import { encodeRow } from '../rows/csv-encode.ts';
import { Collection, compileCollection, isTemplate } from './collection.ts';
import type { StoredCollection } from './collections.ts';
import { RowFault, UNKNOWN_MESSAGE, WRONG_COUNT } from './fault.ts';
import type { FilledRequest } from './request-template.ts';
import { readRows, type Row } from './rows.ts';

/** In quotes (docs/spec/smartrest-one.md#requests). */
export const NO_TEMPLATE = '"No template for this X-ID."';
const SELECTION = '15';
const TOO_LARGE = 413;
const BUSY = 503;
const FAILED_FROM = 300;

/** Characters of all rows that answer one body. */
export const ANSWER_LENGTH_MAX = 4_194_304;
/** Answers of this length count in the room that all bodies share. */
const COUNTED_FROM = 65_536;
export const ANSWER_LIMIT = 'smartrest/answer-bytes';

/** What the request behind a row was answered. */
export interface RequestAnswer {
  readonly status: number;
  /** '' for none. */
  readonly text: string;
}

/** What a body reaches, with the rights of its sender. */
export interface RowPort {
  find(xid: string): Promise<StoredCollection | undefined>;
  /** @returns the id of the new collection's object. @throws RowFault 41; PlatformError. */
  create(xid: string, rows: string): Promise<string>;
  /** Carries out a request on this server. @throws never for what the request is refused for. */
  run(request: FilledRequest): Promise<RequestAnswer>;
  /** The answer to a row of the protocol itself; undefined for a message id that is not one. */
  builtIn(row: Row): Promise<string> | undefined;
  /** Takes room for characters of an answer that is being made; it is given back with the answer. @returns whether there is. */
  hold(length: number): boolean;
  /** Counts a refusal. */
  refused(limit: string): void;
  now(): number;
  /** The sender has gone: no further row is carried out. */
  readonly isOver: boolean;
}

/** Rows with one X-Id: those behind a row 15, or all of a body. */
interface Group {
  /** Of a row 15. */
  readonly selected: string | undefined;
  readonly rows: string[];
}

/**
 * @param body only read, before this returns. @param xid that the sender names beside the body; '' for none.
 * @returns rows with line feeds between them; '' for none.
 */
export function answerBody(body: Buffer, xid: string, port: RowPort): Promise<string> {
  const rows = readRows(body);
  const template = rows.find(isTemplate);
  if (template !== undefined) return register(rows, xid, body.toString('utf8'), port);
  return rows.length === 0 ? check(xid, port) : new BodyAnswer(port, xid).of(rows);
}

async function check(xid: string, port: RowPort): Promise<string> {
  const found = xid === '' ? undefined : await port.find(xid);
  return found === undefined ? `40,${NO_TEMPLATE}` : encodeRow([20, found.id]);
}

async function register(rows: readonly Row[], xid: string, text: string, port: RowPort): Promise<string> {
  const { line } = rows[0];
  if (xid === '') return new RowFault(41, 'Templates need an X-Id').toRow(line);
  const compiled = compileCollection(rows);
  if (!(compiled instanceof Collection)) return compiled.faults.join('\n');
  try {
    return encodeRow([20, await port.create(xid, text)]);
  } catch (error) {
    if (error instanceof RowFault) return error.toRow(line);
    return encodeRow([50, line, statusOf(error)]);
  }
}

/** @throws what is not a PlatformError. */
function statusOf(error: unknown): number {
  if (error instanceof PlatformError) return error.status;
  throw error;
}

class BodyAnswer {
  readonly #port: RowPort;
  readonly #isNamed: boolean;
  readonly #groups: Group[] = [{ selected: undefined, rows: [] }];
  #collection: Promise<StoredCollection | undefined> | undefined;
  #isUnknownTold = false;
  #length = 0;

  constructor(port: RowPort, xid: string) {
    this.#port = port;
    this.#isNamed = xid !== '';
    this.#select(xid);
  }

  async of(rows: readonly Row[]): Promise<string> {
    // Such a body asks which collections there are.
    const asksOnly = rows.every(({ fields }) => fields[0] === SELECTION);
    for (const row of rows) {
      if (this.#port.isOver) break;
      await this.#answer(row, asksOnly);
    }
    return this.#groups.flatMap(textOf).join('\n');
  }

  async #answer(row: Row, asksOnly: boolean): Promise<void> {
    try {
      for (const text of await this.#rowsFor(row, asksOnly)) this.#add(text, row.line);
    } catch (error) {
      if (error instanceof RowFault) this.#add(error.toRow(row.line), row.line);
      else this.#add(encodeRow([50, row.line, statusOf(error)]), row.line);
    }
  }

  async #rowsFor(row: Row, asksOnly: boolean): Promise<readonly string[]> {
    if (row.fault !== undefined) throw row.fault;
    const { line, fields } = row;
    const answer = this.#port.builtIn(row);
    if (answer !== undefined) return [await answer];
    const [messageId, ...values] = fields;
    if (messageId === SELECTION) return this.#selectBy(values, line, asksOnly);
    const found = await this.#collection;
    if (found === undefined) return this.#unknownRows(line);
    const template = found.collection.requests.get(messageId);
    if (template === undefined) throw new RowFault(43, UNKNOWN_MESSAGE);
    return this.#carryOut(template.fill(values, this.#port.now()), found.collection, line);
  }

  /** An X-Id beside the body is told once, the one of a row 15 for each of its lines. */
  #unknownRows(line: number): readonly string[] {
    if (this.#groups.length > 1) return [`40,${line},${NO_TEMPLATE}`];
    if (!this.#isNamed) throw new RowFault(43, UNKNOWN_MESSAGE);
    if (this.#isUnknownTold) return [];
    this.#isUnknownTold = true;
    return [`40,${NO_TEMPLATE}`];
  }

  async #selectBy(values: readonly string[], line: number, asksOnly: boolean): Promise<readonly string[]> {
    if (this.#isNamed) throw new RowFault(45, 'A body whose request has an X-Id takes no row 15');
    const [xid = ''] = values;
    if (xid === '' || values.slice(1).some((value) => value !== '')) throw new RowFault(45, WRONG_COUNT);
    this.#select(xid);
    if (!asksOnly) this.#groups.push({ selected: xid, rows: [] });
    const found = await this.#collection;
    if (found === undefined) return [`40,${line},${NO_TEMPLATE}`];
    return asksOnly ? [encodeRow([20, line, found.id])] : [];
  }

  #select(xid: string): void {
    this.#collection = xid === '' ? undefined : this.#port.find(xid);
    // Awaited by the rows that follow.
    this.#collection?.catch(() => undefined);
  }

  async #carryOut(request: FilledRequest, collection: Collection, line: number): Promise<readonly string[]> {
    const { status, text } = await this.#port.run(request);
    if (status >= FAILED_FROM) return [encodeRow([50, line, status])];
    const value = text === '' ? undefined : parsed(text);
    if (value === undefined) return [];
    try {
      return collection.rowsOf(value, line);
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      this.#port.refused(ANSWER_LIMIT);
      return [encodeRow([50, line, TOO_LARGE])];
    }
  }

  /** What has no room is told as a row of its own. */
  #add(text: string, line: number): void {
    const { rows } = this.#groups[this.#groups.length - 1];
    const length = this.#length + text.length;
    const isTooLong = length > ANSWER_LENGTH_MAX;
    if (!isTooLong && (length < COUNTED_FROM || this.#port.hold(text.length))) {
      this.#length = length;
      rows.push(text);
      return;
    }
    const refusal = encodeRow([50, line, isTooLong ? TOO_LARGE : BUSY]);
    if (rows.at(-1) === refusal) return;
    if (isTooLong) this.#port.refused(ANSWER_LIMIT);
    rows.push(refusal);
  }
}

/** @returns undefined for an answer that is not JSON: no template fits it. */
function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

/** The answers to rows behind a row 15 begin with their number. */
function textOf({ selected, rows }: Group): readonly string[] {
  return selected === undefined || rows.length === 0 ? rows : [encodeRow([87, rows.length, selected]), ...rows];
}
