/**
 * Live data as rows (docs/spec/smartrest-one.md#live-data): rows 80 to 84 become messages of Bayeux, and the answers to
 * these become rows by the templates of the client's collections. The session keeps which collections these are.
 */
import { PlatformError } from '../../model/errors.ts';
import { JsonPathError } from '../custom/json-path.ts';
import { encodeRow } from '../rows/csv-encode.ts';
import { isJsonObject } from '../rows/json-values.ts';
import { ANSWER_LENGTH_MAX, ANSWER_LIMIT, NO_TEMPLATE } from './answer.ts';
import type { StoredCollection } from './collections.ts';
import { RowFault, UNKNOWN_MESSAGE, WRONG_COUNT } from './fault.ts';
import { readRows, type Row } from './rows.ts';

/** A collection of the client, under the name that it has sent. */
interface NamedCollection extends StoredCollection {
  readonly xid: string;
}

/** Rows of one request. */
const ROWS_MAX = 100;
/** Counter of notifications for which no template of their client is. */
export const UNMATCHED_LIMIT = 'smartrest/unmatched-notifications';
/** A client without templates shall not ask again at once. */
const WITHOUT_TEMPLATES = '86,,10000,retry';
const TOO_LARGE = 413;

export type LiveMessage = Readonly<Record<string, unknown>>;

export interface LivePort {
  find(xid: string): Promise<StoredCollection | undefined>;
  /** Counts a refusal. */
  refused(limit: string): void;
}

/** Whether a body of the URLs of Bayeux has rows. */
export const isOfRows = (text: string): boolean => /^\s*[^\s[{]/.test(text);

export class LiveRows {
  /** What the rows ask; `id` is the line. Empty when none of them can be asked. */
  readonly messages: readonly LiveMessage[];
  /** Rows of their own, by line. */
  readonly #faults = new Map<number, string>();

  /** @param xid of the request's header; '' for none. */
  constructor(text: string, xid: string) {
    const xids = xid === '' ? [] : [xid];
    const messages = readRows(Buffer.from(text)).flatMap((row, index): LiveMessage[] => {
      try {
        if (index >= ROWS_MAX) throw new RowFault(42, `A request has at most ${ROWS_MAX} rows`);
        return [{ ...messageOf(row, xids), id: String(row.line) }];
      } catch (error) {
        if (!(error instanceof RowFault)) throw error;
        if (this.#faults.size <= ROWS_MAX) this.#faults.set(row.line, error.toRow(row.line));
        return [];
      }
    });
    // Faults are told at once.
    this.messages = this.#faults.size === 0 ? messages : messages.map(withoutWaiting);
  }

  /**
   * @param answers to the messages, and what is delivered with them, of `parseExact`.
   * @returns rows in the order of those that asked, the answer to a row 83 last.
   */
  async rowsOf(answers: readonly LiveMessage[], port: LivePort): Promise<string> {
    const byLine = new Map<number, readonly string[]>(Array.from(this.#faults, ([line, row]) => [line, [row]]));
    const delivered = answers.filter(({ channel }) => !isMeta(channel));
    let last: readonly string[] = [];
    for (const answer of answers.filter(({ channel }) => isMeta(channel))) {
      const line = Number(answer.id);
      if (answer.channel === '/meta/connect') last = await connectRows(answer, delivered, line, port);
      else byLine.set(line, answerRows(answer, line));
    }
    const lines = [...byLine.keys()].sort((one, other) => one - other);
    return [...lines.flatMap((line) => byLine.get(line) ?? []), ...last].join('\n');
  }
}

/** Of messages that name no collection. */
const OF_ROWS = { smartrest: {} } as const;

const withoutWaiting = (message: LiveMessage): LiveMessage =>
  message['channel'] === '/meta/connect' ? { ...message, advice: { timeout: 0 } } : message;

const isMeta = (channel: unknown): boolean => typeof channel === 'string' && channel.startsWith('/meta/');

/** @throws RowFault. */
function messageOf({ fields, fault }: Row, xids: readonly string[]): LiveMessage {
  if (fault !== undefined) throw fault;
  const values = fields.slice(1, fields.findLastIndex((field) => field !== '') + 1);
  const [clientId, subscription, ...further] = values;
  const take = (count: number): void => {
    if (values.length !== count || values.includes('')) throw new RowFault(45, WRONG_COUNT);
  };
  const ext = { smartrest: { xids } };
  switch (fields[0]) {
    case '80':
      take(0);
      return { channel: '/meta/handshake', version: '1.0', ext };
    case '81':
      take(Math.max(values.length, 2));
      return {
        channel: '/meta/subscribe',
        clientId,
        subscription,
        ext: { smartrest: { xids: [...xids, ...further] } },
      };
    case '82':
      take(2);
      return { channel: '/meta/unsubscribe', clientId, subscription, ext: OF_ROWS };
    case '83':
      take(1);
      return { channel: '/meta/connect', connectionType: 'smartrest-long-polling', clientId, ext };
    case '84':
      take(1);
      return { channel: '/meta/disconnect', clientId, ext: OF_ROWS };
    default:
      throw new RowFault(43, UNKNOWN_MESSAGE);
  }
}

/** Of all but a row 83. */
function answerRows(answer: LiveMessage, line: number): readonly string[] {
  if (answer.successful !== true) return failureRows(answer, line);
  return answer.channel === '/meta/handshake' ? [String(answer.clientId)] : [];
}

function failureRows({ error, advice }: LiveMessage, line: number): readonly string[] {
  const status = Number.parseInt(String(error), 10) || 500;
  const advised = isJsonObject(advice) ? [adviceRow(advice)] : [];
  // An unknown client is told to begin anew.
  return status === 402 && advised.length > 0 ? advised : [encodeRow([50, line, status]), ...advised];
}

function adviceRow({ timeout, interval, reconnect }: LiveMessage): string {
  return encodeRow([86, ...[timeout, interval, reconnect].map((value) => (value === undefined ? '' : String(value)))]);
}

async function connectRows(
  answer: LiveMessage,
  delivered: readonly LiveMessage[],
  line: number,
  port: LivePort,
): Promise<readonly string[]> {
  // The client is told to begin anew, or to go; what came with that is of no session.
  if (answer.successful !== true) return failureRows(answer, line);
  const xids = xidsOf(answer);
  const rows: string[] = [];
  const collections: NamedCollection[] = [];
  if (xids.length === 0) rows.push(`40,${NO_TEMPLATE}`);
  for (const xid of xids) {
    try {
      const found = await port.find(xid);
      if (found === undefined) rows.push(`40,${NO_TEMPLATE}`);
      else collections.push({ ...found, xid });
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      rows.push(encodeRow([50, line, error.status]));
    }
  }
  const rowsOf = (entity: unknown): string[] =>
    collections.flatMap(({ xid, collection }) => {
      const made = collection.rowsOf(entity, 1);
      return xids.length > 1 && made.length > 0 ? [encodeRow([87, made.length, xid]), ...made] : made;
    });
  rows.push(...notificationRows(delivered, rowsOf, line, port));
  if (collections.length === 0) return [...rows, WITHOUT_TEMPLATES];
  return isJsonObject(answer.advice) ? [...rows, adviceRow(answer.advice)] : rows;
}

/** The answer to a connect names the collections of the session. */
function xidsOf({ ext }: LiveMessage): readonly string[] {
  const smartrest = isJsonObject(ext) ? ext.smartrest : undefined;
  const xids = isJsonObject(smartrest) ? smartrest.xids : undefined;
  return Array.isArray(xids) ? xids.filter((xid) => typeof xid === 'string') : [];
}

function notificationRows(
  delivered: readonly LiveMessage[],
  rowsOf: (entity: unknown) => readonly string[],
  line: number,
  port: LivePort,
): readonly string[] {
  const rows: string[] = [];
  let length = 0;
  for (const entity of delivered.flatMap(entitiesOf)) {
    let made: readonly string[];
    try {
      // Of what was deleted there is the id alone.
      made = isJsonObject(entity) ? rowsOf(entity) : [];
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      made = [encodeRow([50, line, TOO_LARGE])];
      port.refused(ANSWER_LIMIT);
    }
    if (made.length === 0) port.refused(UNMATCHED_LIMIT);
    for (const row of made) length += row.length;
    if (length > ANSWER_LENGTH_MAX) {
      port.refused(ANSWER_LIMIT);
      return [...rows, encodeRow([50, line, TOO_LARGE])];
    }
    rows.push(...made);
  }
  return rows;
}

/** What notifications of a message are about, as the URL delivers them: one, or a list. Of a deleted one the id. */
function entitiesOf({ data }: LiveMessage): unknown[] {
  return (Array.isArray(data) ? data : [data]).flatMap((notification) =>
    isJsonObject(notification) && 'data' in notification ? [notification.data] : [],
  );
}
