/**
 * The engine inside the child: sessions of chdb on one data directory. One session takes inserts, definitions and
 * mutations in order; others take reads, so that a short read waits behind neither a long one nor an insert. A session
 * runs one call at a time (measured: within a session queries queue inside the library), so each has at most one call
 * and the rest wait here, bounded.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChdbQueryStream, Session } from 'chdb';
import { statementMemoryBytes } from './engine-config.ts';
import { EngineDirectories, TableDirectories } from './engine-durability.ts';
import { ClickHouseException, quoteLiteral } from './protocol.ts';
import type { StatementKind } from './protocol.ts';

export interface EngineOptions {
  readonly directory: string;
  /** Sessions for reads: as many slow queries are needed to delay a fast one. */
  readonly readSessions: number;
  /** Requests that may wait for a session of one kind. */
  readonly waitingMax: number;
  readonly threads: number;
  /** Of the whole engine; a statement may take half of it. */
  readonly memoryBytesMax: number;
}

/** The state in which a statement runs. `label` names it for `cancel`. */
export interface Context {
  readonly label: string;
  readonly params: ReadonlyMap<string, string>;
  readonly settings: ReadonlyMap<string, string>;
  readonly database: string;
  /** Of a read: aborts when no caller waits for its result any more. Without it the statement runs to its end. */
  readonly signal?: AbortSignal;
}

/** Between two requests to end a statement: one may come before the engine has begun it, and then does nothing. */
const CANCEL_AGAIN_MS = 200;
/** A statement that goes on for this long after the first request to cancel is reported. */
const CANCEL_SLOW_MS = 10_000;

/** When the engine's memory is used up, it ends the largest read; an insert waits until there is room. */
const OF_KIND: Readonly<Record<StatementKind, readonly (readonly [string, string])[]>> = {
  read: [],
  write: [
    ['memory_overcommit_ratio_denominator', '0'],
    ['memory_overcommit_ratio_denominator_for_user', '0'],
  ],
};

interface Slot {
  readonly session: Session;
  /** Settings that the session has now. */
  applied: Map<string, string>;
  /** Set after a failure: it is not known which settings took effect, so the next call sets them all. */
  isUncertain: boolean;
  database: string;
}

interface Lane {
  readonly kind: StatementKind;
  readonly idle: Slot[];
  /** In the order in which they came. */
  readonly waiting: Set<(slot: Slot) => void>;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #lanes: Record<StatementKind, Lane>;
  readonly #control: Session;
  readonly #sessions: Session[] = [];
  readonly #base: ReadonlyMap<string, string>;
  readonly #tableDirectories = new TableDirectories((table, database) => this.#directoryOf(table, database));
  readonly #directories: EngineDirectories;
  #settingNames: ReadonlySet<string> = new Set();

  /** Opens the data directory, which exists. Throws when another process has it open. */
  constructor(options: EngineOptions) {
    this.#options = options;
    this.#directories = new EngineDirectories(options.directory);
    this.#base = new Map([
      ['max_threads', String(options.threads)],
      ['max_insert_threads', '1'],
      ['max_memory_usage', String(statementMemoryBytes(options.memoryBytesMax))],
      ['output_format_json_quote_64bit_integers', '0'],
      // A block of the file stays one block of the table, and so one part and one entry of the deduplication log.
      ['min_insert_block_size_rows', '0'],
      ['min_insert_block_size_bytes', '0'],
      ['max_insert_block_size', '1048576'],
      ['query_profiler_real_time_period_ns', '0'],
      ['query_profiler_cpu_time_period_ns', '0'],
      ['mutations_sync', '1'],
    ]);
    this.#lanes = {
      write: { kind: 'write', idle: this.#openSlots(1), waiting: new Set() },
      read: { kind: 'read', idle: this.#openSlots(options.readSessions), waiting: new Set() },
    };
    this.#control = this.#open();
    const names = this.#control.query('SELECT name FROM system.settings', 'TSV');
    this.#settingNames = new Set(names.split('\n'));
  }

  #open(): Session {
    // Loaded here, not at the head: loading the library takes 0.1 s and 200 MB, which only the child should pay.
    const { Session: Constructor } = createRequire(import.meta.url)('chdb') as typeof import('chdb');
    const session = new Constructor(this.#options.directory);
    this.#sessions.push(session);
    return session;
  }

  #openSlots(count: number): Slot[] {
    return Array.from({ length: count }, () => ({
      session: this.#open(),
      applied: new Map(),
      isUncertain: false,
      database: 'default',
    }));
  }

  /**
   * @throws ClickHouseException 115: checked here, because a SET that fails in a session would spoil its next calls.
   */
  checkSettings(settings: ReadonlyMap<string, string>): void {
    for (const name of settings.keys()) {
      if (!this.#settingNames.has(name))
        throw new ClickHouseException(115, 'UNKNOWN_SETTING', `Unknown setting '${name}'`, 404);
    }
  }

  /** Resolves when the parts that inserts have added to the table have their names on disk. */
  syncTable(table: string, database: string): Promise<void> {
    return this.#tableDirectories.sync(table, database);
  }

  /** Resolves when all that statements have made beside parts (tables, mutations) has its name on disk. */
  syncDirectories(): Promise<void> {
    return this.#directories.sync();
  }

  async #directoryOf(table: string, database: string): Promise<string> {
    const name = table.replaceAll('`', '').split('.');
    const [ofDatabase, ofTable] = [name.length > 1 ? name[0] : database, name.at(-1) ?? ''].map(quoteLiteral);
    const sql = `SELECT data_paths[1] FROM system.tables WHERE database = ${ofDatabase} AND name = ${ofTable}`;
    const found = await this.#control.queryAsync(sql, { format: 'TSVRaw' });
    const path = Buffer.from(found.bytes()).toString('utf8').trimEnd();
    if (path === '')
      throw new ClickHouseException(60, 'UNKNOWN_TABLE', `Table ${database}.${table} does not exist`, 404);
    return resolve(this.#options.directory, path);
  }

  /** Runs one statement and returns its whole result. */
  async run(kind: StatementKind, sql: string, format: string, context: Context): Promise<Uint8Array> {
    const slot = await this.#acquire(kind, context.signal);
    const finish = this.#endWhenAborted(context);
    let isUncertain = true;
    try {
      const result = await slot.session.queryAsync(this.#prefix(kind, slot, context) + sql, { format });
      isUncertain = false;
      return result.bytes();
    } finally {
      finish();
      await this.#release(kind, slot, isUncertain);
    }
  }

  /**
   * Runs one read and yields its result in pieces, each a complete text of the format. Holds a session until it ends.
   * The library plans it on the thread of all requests: not for statements with slow sub-selects (IN, scalar), which it
   * runs then.
   */
  async *stream(sql: string, format: string, context: Context): AsyncGenerator<Uint8Array> {
    const slot = await this.#acquire('read', context.signal);
    const finish = this.#endWhenAborted(context);
    let stream: ChdbQueryStream | undefined;
    let isUncertain = true;
    try {
      const prefix = this.#prefix('read', slot, context);
      if (prefix !== '') await slot.session.queryAsync(prefix, { format: 'TSV' });
      stream = slot.session.queryStream(sql, { format });
      for await (const chunk of stream) yield chunk.raw();
      isUncertain = false;
    } finally {
      stream?.cancel();
      finish();
      await this.#release('read', slot, isUncertain);
    }
  }

  /**
   * Ends the statement when its client goes. An answer to KILL says nothing, so it is repeated until the statement has
   * ended.
   * @returns to be called when the statement has ended.
   */
  #endWhenAborted({ signal, label }: Context): () => void {
    if (signal === undefined) return () => undefined;
    let isFinished = false;
    const end = async (): Promise<void> => {
      const slowMs = Date.now() + CANCEL_SLOW_MS;
      for (let isReported = false; !isFinished; await delay(CANCEL_AGAIN_MS)) {
        // A failure leaves what would have been without it: the statement runs on.
        await this.#cancel(label).catch(() => undefined);
        if (isReported || Date.now() < slowMs) continue;
        isReported = true;
        process.stderr.write(`${label} goes on ${CANCEL_SLOW_MS} ms after it was to end\n`);
      }
    };
    const onAbort = (): void => void end();
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    return () => {
      isFinished = true;
      signal.removeEventListener('abort', onAbort);
    };
  }

  /** Asks the engine to end the statements that run under this label; returns before they have ended. */
  async #cancel(label: string): Promise<void> {
    await this.#control.queryAsync(`KILL QUERY WHERE Settings['log_comment'] = ${quoteLiteral(label)} ASYNC`, {
      format: 'TSV',
    });
  }

  close(): void {
    for (const session of this.#sessions) session.close();
  }

  get waitingCount(): number {
    return this.#lanes.read.waiting.size + this.#lanes.write.waiting.size;
  }

  #acquire(kind: StatementKind, signal: AbortSignal | undefined): Promise<Slot> | Slot {
    if (signal?.aborted) throw abandoned();
    const { idle, waiting } = this.#lanes[kind];
    const slot = idle.pop();
    if (slot !== undefined) return slot;
    const limit = this.#options.waitingMax;
    if (waiting.size >= limit) {
      const message = `Too many simultaneous queries: ${waiting.size} wait for a ${kind} session, the limit is ${limit}`;
      throw new ClickHouseException(202, 'TOO_MANY_SIMULTANEOUS_QUERIES', message, 503);
    }
    return new Promise((resolve, reject) => {
      const take = (free: Slot): void => {
        signal?.removeEventListener('abort', leave);
        resolve(free);
      };
      const leave = (): void => {
        waiting.delete(take);
        reject(abandoned());
      };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.add(take);
    });
  }

  /**
   * A session keeps a statement that failed (also by KILL or a time limit) or was left until its next call, with its
   * memory, its hold on tables (a DROP waits for it) and its entry in `system.processes`. So it gets a call at once:
   * SET, as an empty one does nothing.
   */
  async #release(kind: StatementKind, slot: Slot, isUncertain: boolean): Promise<void> {
    if (isUncertain) {
      slot.isUncertain = true;
      await slot.session.queryAsync('SET max_threads = 1', { format: 'TSV' }).catch(() => {
        /* It may fail again: that it was called is what frees the session. */
      });
    }
    const { idle, waiting } = this.#lanes[kind];
    const [next] = waiting;
    if (next === undefined) {
      idle.push(slot);
      return;
    }
    waiting.delete(next);
    next(slot);
  }

  /** Statements that bring the session from the state of its last call to that of this one. */
  #prefix(kind: StatementKind, slot: Slot, context: Context): string {
    const wanted = new Map([...this.#base, ...OF_KIND[kind], ...context.settings, ['log_comment', context.label]]);
    const assignments: string[] = [];
    for (const [name, value] of wanted) {
      if (slot.isUncertain || slot.applied.get(name) !== value) assignments.push(`${name} = ${quoteLiteral(value)}`);
    }
    let sql = '';
    for (const name of slot.applied.keys()) if (!wanted.has(name)) sql += `SET ${name} = DEFAULT; `;
    for (const [name, value] of context.params) assignments.push(`param_${name} = ${quoteLiteral(value)}`);
    if (assignments.length > 0) sql += `SET ${assignments.join(', ')}; `;
    if (slot.isUncertain || slot.database !== context.database)
      sql += `USE \`${context.database.replace(/[`\\]/g, '\\$&')}\`; `;
    slot.applied = wanted;
    slot.database = context.database;
    slot.isUncertain = false;
    return sql;
  }
}

function abandoned(): ClickHouseException {
  return new ClickHouseException(394, 'QUERY_WAS_CANCELLED', 'The client has gone');
}
