/**
 * The history store: a thin adapter over @clickhouse/client, for a ClickHouse server and for the embedded one alike.
 */
import { Agent } from 'node:https';
import { Readable } from 'node:stream';
import { ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import type { ClickHouseClient, ClickHouseSettings, Logger } from '@clickhouse/client';
import type { Log } from '../../ports/log.ts';
import { tlsOptionsOf } from '../../config/tls-files.ts';
import type { TlsFiles } from '../../config/tls-files.ts';

export interface ClickHouseOptions {
  /** Credentials in it count before the two below. */
  readonly url: string;
  /** Certificates for `https://`. */
  readonly tls?: TlsFiles;
  readonly log: Log;
  /** Default `default`. */
  readonly database?: string;
  /** Default `default`. */
  readonly username?: string;
  /** Default empty. */
  readonly password?: string;
  /** Requests at one time; more wait in the client. Default 32. */
  readonly connectionsMax?: number;
  /** Without any answer for this long a request fails; the statement may go on. Default 60,000. */
  readonly requestTimeoutMs?: number;
}

/** Values of `{name:Type}` in a statement. A Date has milliseconds; null needs a Nullable type. */
export type QueryParams = Readonly<Record<string, unknown>>;

export interface InsertSettings {
  /** An insert with a token that the table has seen is dropped: the same token must mean the same rows. */
  readonly insert_deduplication_token?: string;
  readonly [name: string]: string | number | undefined;
}

/**
 * Below the shortest keep-alive of the servers that we may meet (3 s before 23.11), else "socket hang up"
 * (clickhouse-js#150).
 */
const IDLE_SOCKET_MS = 2_500;
const CONNECTIONS_MAX = 32;
/** Not above: the client then advises progress headers at every start, meant for load balancers. */
const REQUEST_TIMEOUT_MS = 60_000;
/**
 * One JSON array, parsed at once, costs the server a tenth of a millisecond less than rows from a stream. The end is
 * waited for, so that an error of the engine comes as a status, not behind rows that were sent already.
 */
const WHOLE_RESULT: ClickHouseSettings = { output_format_json_array_of_rows: 1, wait_end_of_query: 1 };
/** Makes the embedded child stream; a server ignores it. */
const STREAM_HEADERS = { 'x-millrace-stream': '1' };

const NO_ROOM = new Uint8Array();

/** A result that is held whole is longer than it may be. */
export class ResultTooLong extends Error {
  override readonly name = 'ResultTooLong';
}

/** Every method rejects with ClickHouseError when the server refuses, with a system error when it cannot be reached. */
export class ClickHouse {
  readonly #client: ClickHouseClient;
  /** Ends inserts and statements that are under way. */
  #writes = new AbortController();
  #isClosed = false;

  constructor(options: ClickHouseOptions) {
    const { log } = options;
    const connectionsMax = options.connectionsMax ?? CONNECTIONS_MAX;
    this.#client = createClient({
      url: options.url,
      ...(options.tls === undefined || !options.url.startsWith('https:')
        ? {}
        : { http_agent: agentOf(options.tls, connectionsMax) }),
      database: options.database ?? 'default',
      ...(options.username === undefined ? {} : { username: options.username }),
      ...(options.password === undefined ? {} : { password: options.password }),
      max_open_connections: connectionsMax,
      request_timeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      // By the clock, too: the timers of a process that is short of CPU come late.
      keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_MS, eagerly_destroy_stale_sockets: true },
      compression: { request: false, response: false },
      // Ids stay below 2^53, so that they can be JSON numbers.
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
      log: { level: ClickHouseLogLevel.WARN, LoggerClass: loggerOver(log, () => this.#isClosed) },
    });
  }

  /**
   * All rows of a SELECT, without a FORMAT clause. For results that are bounded by their LIMIT.
   * @param signal closes the connection of the query, with which the embedded engine ends it; rejects.
   */
  async query<Row>(
    sql: string,
    params: QueryParams = {},
    settings: ClickHouseSettings = {},
    signal?: AbortSignal,
  ): Promise<Row[]> {
    return this.#query<Row>(sql, params, settings, signal);
  }

  /** A query on which a write depends: `abortWrites` ends it. */
  async queryForWrite<Row>(sql: string, params: QueryParams = {}): Promise<Row[]> {
    return this.#query<Row>(sql, params, {}, this.#writes.signal);
  }

  async #query<Row>(
    sql: string,
    params: QueryParams,
    settings: ClickHouseSettings,
    signal?: AbortSignal,
  ): Promise<Row[]> {
    const result = await this.#client.query({
      query: sql,
      query_params: params,
      clickhouse_settings: { ...settings, ...WHOLE_RESULT },
      format: 'JSONEachRow',
      ...(signal === undefined ? {} : { abort_signal: signal }),
    });
    return JSON.parse(await result.text()) as Row[];
  }

  /**
   * The whole result of a SELECT in RowBinary, in `room` where it fits, else in memory of its own. The end is waited for, so that an error of the
   * engine comes as a status.
   * @param signal closes the connection of the query, with which the embedded engine ends it; rejects.
   * @throws ResultTooLong
   */
  async bytes(
    sql: string,
    params: QueryParams,
    {
      bytesMax,
      room = NO_ROOM,
      signal,
    }: { readonly bytesMax: number; readonly room?: Uint8Array; readonly signal?: AbortSignal | undefined },
  ): Promise<Uint8Array> {
    const { stream } = await this.#client.exec({
      query: `${sql}\nFORMAT RowBinary`,
      query_params: params,
      clickhouse_settings: { wait_end_of_query: 1 },
      ...(signal === undefined ? {} : { abort_signal: signal }),
    });
    let inRoom = 0;
    const pieces: Uint8Array[] = [];
    let length = 0;
    // Leaving the loop closes the connection.
    for await (const piece of stream as AsyncIterable<Uint8Array>) {
      length += piece.length;
      if (length > bytesMax) throw new ResultTooLong(`its result has more than ${bytesMax} bytes`);
      if (length <= room.length) {
        room.set(piece, inRoom);
        inRoom = length;
      } else {
        pieces.push(piece);
      }
    }
    if (pieces.length === 0) return room.subarray(0, inRoom);
    const result = new Uint8Array(length);
    result.set(room.subarray(0, inRoom));
    let at = inRoom;
    for (const piece of pieces) {
      result.set(piece, at);
      at += piece.length;
    }
    return result;
  }

  /**
   * Rows of a SELECT as they arrive, some at a time. Read it to its end or leave the loop: both free the connection.
   */
  async *streamRows<Row>(
    sql: string,
    params: QueryParams = {},
    settings: ClickHouseSettings = {},
  ): AsyncGenerator<Row[]> {
    const result = await this.#client.query({
      query: sql,
      query_params: params,
      clickhouse_settings: settings,
      format: 'JSONEachRow',
      http_headers: STREAM_HEADERS,
    });
    try {
      for await (const rows of result.stream<Row>()) yield rows.map((row) => row.json());
    } finally {
      result.close();
    }
  }

  /**
   * The bytes of a result, as they arrive. The caller must read them to the end or destroy the stream.
   * @param format ours, never input: for instance CSVWithNames, JSONEachRow, Parquet. The embedded engine makes JSON
   * and Parquet
   *   as a whole before the first byte; the others in pieces.
   */
  async stream(sql: string, params: QueryParams, format: string, settings: ClickHouseSettings = {}): Promise<Readable> {
    const query = `${sql}\nFORMAT ${format}`;
    const result = await this.#client.exec({
      query,
      query_params: params,
      clickhouse_settings: settings,
      http_headers: STREAM_HEADERS,
    });
    return result.stream;
  }

  /** A statement without a result: definitions, mutations, INSERT … SELECT. */
  async command(sql: string, params: QueryParams = {}, settings: ClickHouseSettings = {}): Promise<void> {
    await this.#client.command({
      query: sql,
      query_params: params,
      clickhouse_settings: settings,
      abort_signal: this.#writes.signal,
    });
  }

  /**
   * Inserts one block of `encodeNative`. Resolves when the rows are stored; on a rejection without an answer they may
   * be.
   * @param table and columns are ours, never input: names are not quoted.
   * @param body must not change until the promise settles.
   */
  async insertNative(
    table: string,
    columns: readonly string[],
    body: Buffer,
    settings: InsertSettings = {},
  ): Promise<void> {
    await this.#insert(`INSERT INTO ${table} (${columns.join(', ')}) FORMAT Native`, body, settings);
  }

  /**
   * Inserts rows in a text format, with the columns that they name. Without a token nothing is dropped as a repetition.
   * @param format ours, never input: for instance JSONEachRow
   */
  async insertText(table: string, format: string, text: string | Buffer, settings: InsertSettings = {}): Promise<void> {
    await this.#insert(
      `INSERT INTO ${table} FORMAT ${format}`,
      typeof text === 'string' ? Buffer.from(text) : text,
      settings,
    );
  }

  async #insert(query: string, body: Buffer, settings: InsertSettings): Promise<void> {
    const values = Readable.from([body], { objectMode: true });
    const result = await this.#client.exec({
      query,
      values,
      clickhouse_settings: settings as ClickHouseSettings,
      abort_signal: this.#writes.signal,
    });
    // The answer is empty; reading it to its end frees the connection.
    for await (const chunk of result.stream) void chunk;
  }

  async ping(): Promise<boolean> {
    return (await this.#client.ping()).success;
  }

  /** Resolves when the server has answered. @throws Error when it does not within the time limit of a request. */
  async ask(): Promise<void> {
    const result = await this.#client.ping();
    if (!result.success) throw result.error;
  }

  /**
   * Inserts and commands under way fail at once, as if their answers had been lost: for when the network was cut, and
   * their connections would be waited for until their time limit.
   */
  abortWrites(): void {
    const former = this.#writes;
    this.#writes = new AbortController();
    former.abort(new Error('the connection to ClickHouse was given up'));
  }

  /** What is under way fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.close();
  }
}

/**
 * Not the client's own option `tls`: with a certificate of the client it asks the server for a login by certificate,
 * which is refused beside a password. Node ends idle sockets when the server's Keep-Alive header says so.
 */
function agentOf(files: TlsFiles, connectionsMax: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: connectionsMax, ...tlsOptionsOf(files) });
}

/** ClickHouse's number of an exception, or undefined when the error is of another kind (for instance no connection). */
export function exceptionCodeOf(error: unknown): number | undefined {
  return error instanceof ClickHouseError ? Number(error.code) : undefined;
}

/** Begin of the warning about a result that was not read to its end. */
const LEFT_EARLY = 'Exec: socket was closed or ended before the response was fully read';

/** @param isClosed what `close` breaks off is not an error of the server. */
function loggerOver(log: Log, isClosed: () => boolean): new () => Logger {
  return class implements Logger {
    trace(): void {}
    debug(): void {}
    info(): void {}
    warn({ message, err, module }: { message: string; err?: Error; module?: string }): void {
      // We leave a result when our own client has left: nothing that anybody has to do something about.
      const level = isClosed() || message.startsWith(LEFT_EARLY) ? 'debug' : 'warn';
      log[level]({ module, error: err?.message }, message);
    }
    error({ message, err, module }: { message: string; err?: Error; module?: string }): void {
      // The caller gets the same error and decides what it means.
      log.debug({ module, error: err?.message }, message);
    }
  };
}
