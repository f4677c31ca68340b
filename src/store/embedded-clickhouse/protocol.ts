/**
 * The part of ClickHouse's HTTP interface that the embedded child speaks, as pure functions: what a request asks, how
 * the text of a statement is divided, how an exception is reported. https://clickhouse.com/docs/interfaces/http
 */

/** What a request asks for. `data` is what follows the statement: the body when the statement is in the URL. */
export interface ParsedRequest {
  readonly query: string;
  /** Names without `param_`; values in the escaped form of the URL, which is TSV's (`\n`, `\\`, `\N` for NULL). */
  readonly params: ReadonlyMap<string, string>;
  readonly settings: ReadonlyMap<string, string>;
  readonly database: string;
  readonly data: Buffer;
}

export type StatementKind = 'read' | 'write';

/** One statement: how it is run, the parameters that it names, the format that its FORMAT clause names. */
export interface Statement {
  readonly kind: StatementKind;
  readonly paramNames: ReadonlySet<string>;
  readonly format: string | undefined;
}

/** An INSERT whose rows are data, not a SELECT. */
export interface InsertStatement {
  readonly table: string;
  /** With parentheses, or empty when the statement has no list. */
  readonly columns: string;
  readonly format: string;
  /** Rows that stood behind the statement in its own text. */
  readonly inlineData: string;
}

export class ClickHouseException extends Error {
  readonly code: number;
  readonly status: number;
  constructor(code: number, name: string, message: string, status = 400) {
    super(`Code: ${code}. DB::Exception: ${message} (${name})`);
    this.code = code;
    this.status = status;
  }
}

/** URL parameters that concern the connection or the account and that the child has no use for. */
const IGNORED = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'session_id',
  'session_timeout',
  'session_check',
  'user',
  'password',
  'role',
  'quota_key',
  'compress',
  'decompress',
  'enable_http_compression',
  'http_zlib_compression_level',
  'wait_end_of_query',
  'buffer_size',
  'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
  'cancel_http_readonly_queries_on_client_close',
  'stacktrace',
  'close_session',
  'http_write_exception_in_output_format',
]);
const NAME = /^[A-Za-z_]\w*$/;
const TABLE_NAME = /^(?:[A-Za-z_]\w*|`[^`\\]+`)(?:\.(?:[A-Za-z_]\w*|`[^`\\]+`))?$/;
/** Literals, quoted names and comments are skipped; each match is then a parameter or a semicolon. */
const TOKENS =
  /'(?:[^'\\]|\\[^]|'')*'|"(?:[^"\\]|\\[^])*"|`(?:[^`\\]|\\[^])*`|--[^\n]*|\/\*[^]*?\*\/|\{\s*([A-Za-z_]\w*)\s*:|(;)/g;
const READING = /^\s*(?:\(\s*)*(?:SELECT|WITH|SHOW|DESCRIBE|DESC|EXISTS|EXPLAIN)\b/i;
const FORMAT_CLAUSE = /\bFORMAT\s+(\w+)\s*$/i;
const INSERT = /^\s*INSERT\s+INTO\s+(?:TABLE\s+)?([\w.`]+)\s*(\([\w\s,`]*\))?\s*(?:(VALUES)|FORMAT\s+(\w+))\s*/i;

/**
 * @param url path and query of the request
 * @throws ClickHouseException 62 without a statement, 36 for a name that is none.
 */
export function parseRequest(url: string, body: Buffer): ParsedRequest {
  const search = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length));
  const params = new Map<string, string>();
  const settings = new Map<string, string>();
  for (const [key, value] of search) {
    if (key.startsWith('param_')) params.set(checkedName(key.slice('param_'.length)), value);
    else if (!IGNORED.has(key)) settings.set(checkedName(key), value);
  }
  const inUrl = search.get('query');
  const query = inUrl ?? body.toString('utf8');
  if (query.trim() === '') throw new ClickHouseException(62, 'SYNTAX_ERROR', 'Empty query');
  return {
    query,
    params,
    settings,
    database: search.get('database') ?? 'default',
    data: inUrl === null ? Buffer.alloc(0) : body,
  };
}

function checkedName(name: string): string {
  if (!NAME.test(name)) throw new ClickHouseException(36, 'BAD_ARGUMENTS', `${JSON.stringify(name)} is not a name`);
  return name;
}

/** @throws ClickHouseException 62 when more than one statement is given: the engine would run them all. */
export function readStatement(query: string): Statement {
  const paramNames = new Set<string>();
  for (const match of query.matchAll(TOKENS)) {
    if (match[1] !== undefined) paramNames.add(match[1]);
    if (match[2] !== undefined && query.slice(match.index + 1).trim() !== '') {
      throw new ClickHouseException(62, 'SYNTAX_ERROR', 'Multi-statements are not allowed');
    }
  }
  return { kind: READING.test(query) ? 'read' : 'write', paramNames, format: FORMAT_CLAUSE.exec(query)?.[1] };
}

/** @returns undefined when the statement is not an INSERT of data, for instance INSERT … SELECT. */
export function readInsert(query: string): InsertStatement | undefined {
  const match = INSERT.exec(query);
  if (match === null || !TABLE_NAME.test(match[1])) return undefined;
  const format = match[3] === undefined ? match[4] : 'Values';
  return { table: match[1], columns: match[2] ?? '', format, inlineData: query.slice(match[0].length) };
}

/** A literal of SQL that stands for exactly this text. */
export function quoteLiteral(text: string): string {
  return `'${text.replace(/[\\'\0\n\r\t]/g, (character) => ESCAPES[character])}'`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '\0': '\\0',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** The code of an exception's text as the engine writes it; 1002 (unknown) when it has none. */
export function exceptionCode(message: string): number {
  const match = /Code: (\d+)\./.exec(message);
  return match === null ? 1002 : Number(match[1]);
}

/** HTTP status of an engine's exception, as ClickHouse maps it (src/Server/HTTP/exceptionCodeToHTTPStatus.cpp). */
export function exceptionStatus(code: number): number {
  switch (code) {
    case 36:
    case 38:
    case 41:
    case 43:
    case 47:
    case 53:
    case 62:
    case 130:
    case 456:
      return 400;
    case 46:
    case 60:
    case 81:
      return 404;
    case 159:
      return 408;
    case 202:
    case 242:
    case 252:
      return 503;
    default:
      return 500;
  }
}

/**
 * What follows a result that broke off, so that a reader of 25.11 or newer finds the reason.
 * @param tag the 16 characters that were announced in X-ClickHouse-Exception-Tag
 */
export function exceptionTrailer(message: string, tag: string): string {
  const text = `${message}\n`;
  return `\r\n__exception__\r\n${tag}\r\n${text}${Buffer.byteLength(text)} ${tag}\r\n__exception__\r\n`;
}
