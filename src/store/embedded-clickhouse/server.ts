/** The HTTP side of the child: one request is one statement. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { Context, Engine } from './engine.ts';
import type { InsertStatement, ParsedRequest } from './protocol.ts';
import {
  ClickHouseException,
  exceptionCode,
  exceptionStatus,
  exceptionTrailer,
  parseRequest,
  quoteLiteral,
  readInsert,
  readStatement,
} from './protocol.ts';
import type { Spool } from './spool.ts';

/** Parameters come in the URL; ClickHouse's own limit (http_max_uri_size) is the same. */
const HEADER_BYTES_MAX = 1 << 20;
/** A streamed result ends when its client takes nothing for this long, since it holds a session. */
const STALLED_STREAM_MS = 60_000;
/** Longer than any `idle_socket_ttl` of a client, so that the client closes first. */
const KEEP_ALIVE_MS = 65_000;
/** Formats of which the pieces that the engine yields make up one text. */
const STREAMABLE = new Set(['JSONEachRow', 'JSONCompactEachRow', 'CSV', 'TSV', 'TabSeparated', 'Native', 'RowBinary']);
/** Bodies of Native from which on they are selected from their file; 10,000 measurements have as much. */
const SELECTED_BYTES_MIN = 524_288;
/** The same, but every piece begins with a line of names. */
const STREAMABLE_WITH_NAMES = new Set(['CSVWithNames', 'TSVWithNames', 'TabSeparatedWithNames']);
/** Asks for the result in pieces as they are made. A ClickHouse server ignores the header and always streams. */
const STREAM_HEADER = 'x-millrace-stream';

export interface ServerOptions {
  readonly engine: Engine;
  readonly spool: Spool;
  readonly bodyBytesMax: number;
  /** Password of the user `default`: loopback is open to every user of the machine. */
  readonly password: string;
}

export function createHttpServer(options: ServerOptions): Server {
  let requestsCount = 0;
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      requestsCount++;
      handle(options, request, response, `millrace-${process.pid}-${requestsCount}`).catch((error: unknown) =>
        sendError(response, error),
      );
    },
  );
  server.requestTimeout = 0;
  return server;
}

async function handle(
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  label: string,
): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0];
  if (path === '/ping') {
    response.end('Ok.\n');
    return;
  }
  if (path !== '/') throw new ClickHouseException(36, 'BAD_ARGUMENTS', `Unknown path ${path}`, 404);
  if (!isAuthorized(request.headers.authorization, options.password)) {
    throw new ClickHouseException(
      516,
      'AUTHENTICATION_FAILED',
      'default: Authentication failed: password is incorrect',
      403,
    );
  }
  const parsed = parseRequest(request.url ?? '/', await readBody(request, options.bodyBytesMax));
  options.engine.checkSettings(parsed.settings);
  const insert = readInsert(parsed.query);
  if (insert !== undefined) {
    await runInsert(options, parsed, insert, label);
    response.writeHead(200, { 'content-type': 'text/plain; charset=UTF-8', 'x-clickhouse-summary': '{}' }).end();
    return;
  }
  await runQuery(options, parsed, { request, response, label });
}

function isAuthorized(header: string | undefined, password: string): boolean {
  const expected = Buffer.from(`Basic ${Buffer.from(`default:${password}`).toString('base64')}`);
  const given = Buffer.from(header ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > bytesMax)
      throw new ClickHouseException(307, 'TOO_MANY_BYTES', `The body has more than ${bytesMax} bytes`, 413);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, sizeBytes);
}

async function runInsert(
  options: ServerOptions,
  parsed: ParsedRequest,
  insert: InsertStatement,
  label: string,
): Promise<void> {
  const body = insert.inlineData === '' ? parsed.data : Buffer.concat([Buffer.from(insert.inlineData), parsed.data]);
  if (body.length === 0) return;
  const settings = new Map([...deduplication(parsed.settings), ...parsed.settings]);
  const path = await options.spool.write(body);
  try {
    const sql = insertFromFile(insert, path, body.length);
    await options.engine.run('write', sql, 'TSV', { label, params: new Map(), settings, database: parsed.database });
    await options.engine.syncTable(insert.table, parsed.database);
  } finally {
    await options.spool.remove(path);
  }
}

/**
 * Without a token FROM INFILE would drop a batch that equals an earlier one byte by byte. With a token it must not
 * depend on what the engine thinks of the SELECT: its default drops repetitions only "when possible" and doubles the
 * rows otherwise.
 */
function deduplication(settings: ReadonlyMap<string, string>): [string, string][] {
  const hasToken = (settings.get('insert_deduplication_token') ?? '') !== '';
  return [
    ['deduplicate_insert', hasToken ? 'enable' : 'disable'],
    ['deduplicate_insert_select', hasToken ? 'force_enable' : 'disable'],
  ];
}

/**
 * Large Native: SELECT by name, with about a tenth less CPU than FROM INFILE; a small one is planned as long as it
 * runs, and INFILE takes a millisecond of 8 less. Both give a token the same meaning. Other formats need what INSERT
 * knows of the table's structure.
 */
function insertFromFile(insert: InsertStatement, path: string, bytes: number): string {
  const target = `INSERT INTO ${insert.table} ${insert.columns}`;
  if (insert.format !== 'Native' || bytes < SELECTED_BYTES_MIN)
    return `${target} FROM INFILE ${quoteLiteral(path)} FORMAT ${insert.format}`;
  const columns = insert.columns === '' ? '*' : insert.columns.slice(1, -1);
  return `${target} SELECT ${columns} FROM file(${quoteLiteral(path)}, 'Native')`;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly label: string;
}

async function runQuery(
  { engine }: ServerOptions,
  parsed: ParsedRequest,
  { request, response, label }: Exchange,
): Promise<void> {
  const statement = readStatement(parsed.query);
  for (const name of statement.paramNames) {
    // The session may still hold another request's value under this name.
    if (!parsed.params.has(name))
      throw new ClickHouseException(456, 'UNKNOWN_QUERY_PARAMETER', `Substitution \`${name}\` is not set`);
  }
  const sql = parsed.data.length === 0 ? parsed.query : `${parsed.query}\n${parsed.data.toString('utf8')}`;
  const signal = statement.kind === 'read' ? closeSignal(response) : undefined;
  const context: Context = {
    label,
    params: parsed.params,
    settings: parsed.settings,
    database: parsed.database,
    signal,
  };
  const format = statement.format ?? 'TabSeparated';
  const isStreamed = request.headers[STREAM_HEADER] !== undefined && statement.kind === 'read';
  if (isStreamed && (STREAMABLE.has(format) || STREAMABLE_WITH_NAMES.has(format))) {
    await sendStream(response, engine.stream(sql, format, context), format);
    return;
  }
  const bytes = await engine.run(statement.kind, sql, format, context);
  if (statement.kind === 'write') await engine.syncDirectories();
  response.writeHead(200, { ...resultHeaders(format), 'content-length': bytes.length }).end(bytes);
}

/** Aborts when the client has gone, which it may have before the body was read. */
function closeSignal(response: ServerResponse): AbortSignal {
  const abort = new AbortController();
  if (response.destroyed) abort.abort();
  else response.once('close', () => abort.abort());
  return abort.signal;
}

function resultHeaders(format: string): Record<string, string> {
  return {
    'content-type': contentType(format),
    'x-clickhouse-format': format,
    'x-clickhouse-summary': '{}',
    'x-clickhouse-timezone': 'UTC',
  };
}

function contentType(format: string): string {
  if (format.startsWith('JSON')) return 'application/json; charset=UTF-8';
  if (format.startsWith('CSV')) return 'text/csv; charset=UTF-8';
  return format.startsWith('T') ? 'text/tab-separated-values; charset=UTF-8' : 'application/octet-stream';
}

async function sendStream(response: ServerResponse, pieces: AsyncGenerator<Uint8Array>, format: string): Promise<void> {
  const tag = randomBytes(8).toString('hex');
  let isFirst = true;
  try {
    for await (const piece of pieces) {
      if (response.destroyed) return;
      if (isFirst) response.writeHead(200, { ...resultHeaders(format), 'x-clickhouse-exception-tag': tag });
      const bytes = isFirst || !STREAMABLE_WITH_NAMES.has(format) ? piece : piece.subarray(piece.indexOf(0x0a) + 1);
      isFirst = false;
      if (!response.write(bytes)) await drained(response);
    }
  } catch (error) {
    if (isFirst) throw error;
    const message = error instanceof Error ? error.message : String(error);
    response.write(exceptionTrailer(message, tag), () => response.destroy());
    return;
  }
  if (isFirst) response.writeHead(200, resultHeaders(format));
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  const timer = setTimeout(() => response.destroy(), STALLED_STREAM_MS);
  const abort = new AbortController();
  const onClose = (): void => abort.abort();
  response.once('close', onClose);
  try {
    if (!response.destroyed) await once(response, 'drain', { signal: abort.signal });
  } catch {
    // Closed: the loop that called sees `destroyed`.
  } finally {
    clearTimeout(timer);
    response.off('close', onClose);
  }
}

function sendError(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof ClickHouseException ? error.code : exceptionCode(message);
  const status = error instanceof ClickHouseException ? error.status : exceptionStatus(code);
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const text = `${message.startsWith('Code:') ? message : `Code: ${code}. DB::Exception: ${message} (UNKNOWN_EXCEPTION)`}\n`;
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=UTF-8', 'x-clickhouse-exception-code': String(code) })
    .end(text);
}
