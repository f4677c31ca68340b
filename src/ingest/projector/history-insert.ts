/**
 * Inserts into the history store, past what it refuses: a refused batch is halved until the measurement, row or DELETE
 * that is at fault stands alone, which goes into the quarantine. What fails for another reason is repeated until it
 * succeeds.
 */
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { Log } from '../../ports/log.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import { shardAt } from '../journal/record-layout.ts';
import type { BegunBlock, MayRestore } from './begun-block.ts';
import { entryOfDamaged } from '../measurements/damaged.ts';
import type { DamagedMeasurement } from '../measurements/damaged.ts';
import { HistoryRefusal } from '../../ports/stores/history-writer.ts';
import type { HistoryRow, HistoryWriter } from '../../ports/stores/history-writer.ts';
import type { MeasurementColumns } from '../measurements/columns.ts';
import { decodeMeasurement } from '../measurements/record.ts';
import { columnsOf } from '../measurements/range.ts';
import type { FoundMeasurement } from '../measurements/range.ts';
import { QuarantineFullError } from '../../ports/stores/quarantine.ts';
import type { Quarantine, QuarantineEntry, QuarantineKey } from '../../ports/stores/quarantine.ts';

/** Wait before what failed is tried again: doubles from first to last. */
const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 2_000;
/** An uncertain refusal is taken for the data's when it was given this many times in a row: about half a minute. */
const UNCERTAIN_TRIES = 20;
/**
 * Rows that are not there after this many inserts that were answered: the store does not show what it stores. Each stands
 * for a kill -9 of it.
 */
const AGAIN_MAX = 20;

/** The insert must not go on: another node, or the next start, inserts the rest. */
export class GivenUp extends Error {}

/** For whom something is inserted. */
export interface InsertScope {
  /** Nothing more of it is tried again. */
  readonly isOver: () => boolean;
  /** Of the projector in the shard of an entry, which tells where it was found. */
  readonly positionOf: (shard: number) => number;
}

/** Measurements that go into the history store together. */
export interface MeasurementsInsert {
  readonly columns: MeasurementColumns;
  readonly token: string;
  /** This is the first try to insert them. */
  readonly isFresh: boolean;
  /** Asked before each try but the first of what is fresh; false: another node inserts them. */
  readonly mayInsert?: () => Promise<boolean>;
  readonly mayRestore?: MayRestore;
}

export interface HistoryInsertOptions {
  readonly history: HistoryWriter;
  readonly quarantine: Pick<Quarantine, 'has' | 'add'>;
  readonly log: Log;
  /** Default UNCERTAIN_TRIES. */
  readonly uncertainTries?: number;
  /** Whether the store is stopped on purpose and comes back by itself: what fails meanwhile does not count as an error. */
  readonly isPaused?: () => boolean;
}

/** Every method rejects with GivenUp when its scope is over. */
export class HistoryInsert {
  insertErrorsCount = 0;
  lastError: string | undefined;
  /** What was set aside since the start. */
  setAsideCount = 0;
  readonly #options: HistoryInsertOptions;
  readonly #uncertainTries: number;

  constructor(options: HistoryInsertOptions) {
    this.#options = options;
    this.#uncertainTries = options.uncertainTries ?? UNCERTAIN_TRIES;
  }

  /**
   * Inserts measurements exactly once, whenever the store ends. After a power cut it may hold rows whose token it no
   * longer knows, so a repetition sends only rows that it does not hold. A store that was killed may know the token of
   * rows that it does not hold, and drops them when they come again: behind a repetition they are looked for, and what
   * is missing is inserted with another token.
   * @returns `left` when another node inserts them, or the refusal.
   */
  async measurements(
    insert: MeasurementsInsert,
    scope: InsertScope,
    knownCode?: number,
  ): Promise<HistoryRefusal | 'left' | undefined> {
    const { columns, token, isFresh, mayInsert, mayRestore } = insert;
    let tries = isFresh ? 0 : 1;
    let isLeft = false;
    const refusal = await this.attempt(
      async () => {
        isLeft = tries > 0 && mayInsert !== undefined && !(await mayInsert());
        if (isLeft) return;
        // With the same token: an earlier insert that is still under way has it.
        const rest =
          tries === 0 ? columns : withoutStored(columns, await this.#options.history.storedMeasurements(columns));
        tries += 1;
        if (rest.rowCount > 0) await this.#options.history.insertMeasurements(rest, token);
      },
      scope,
      knownCode,
    );
    if (refusal !== undefined) return refusal;
    if (isLeft) return 'left';
    if (tries === 1) return undefined;
    const missing = await this.#missing(columns, mayRestore, scope);
    if (mayRestore === undefined) return this.#restore(missing, token, undefined, scope);
    // Each shard has tokens of its own: nodes that have different ones of a block must not drop each other's rows.
    for (const shard of new Set(missing.shard.subarray(0, missing.rowCount))) {
      const mine = missing.where((row) => missing.shard[row] === shard);
      const refused = await this.#restore(mine, `${token}/${shard}`, () => mayRestore(shard), scope);
      if (refused !== undefined) return refused;
    }
    return undefined;
  }

  /**
   * Inserts rows that the store has lost with the token `<name>/again-<n>`, the first that it does not know. Each
   * node takes the same tokens for the same rows, so that several may. @returns the refusal.
   */
  async #restore(
    missing: MeasurementColumns,
    name: string,
    mayRestore: (() => Promise<boolean>) | undefined,
    scope: InsertScope,
  ): Promise<HistoryRefusal | undefined> {
    const { history, log } = this.#options;
    for (let [rest, again] = [missing, 1]; rest.rowCount > 0; again += 1) {
      if (scope.isOver()) throw new GivenUp();
      const details = { token: `${name}/again-${again}`, rows: rest.rowCount };
      if (again > AGAIN_MAX) {
        // To go on would be to insert them for ever.
        this.insertErrorsCount += 1;
        this.lastError = `the history store acknowledges ${rest.rowCount} rows of ${name} and does not show them`;
        log.error(details, `projector: ${this.lastError}`);
        await new Promise((resolve) => {
          setTimeout(resolve, RETRY_LAST_MS);
        });
      } else {
        log.warn(
          details,
          'projector: the history store ended within an insert and drops its repetition; inserting with the next token',
        );
        const columns = rest;
        const refusal = await this.attempt(async () => {
          if (mayRestore === undefined || (await mayRestore()))
            await history.insertMeasurements(columns, details.token);
        }, scope);
        if (refusal !== undefined) return refusal;
      }
      rest = await this.#missing(rest, mayRestore, scope);
    }
    this.lastError = undefined;
    return undefined;
  }

  /**
   * Rows of measurements that the store does not hold, of the shards that may be restored. These are asked for behind
   * the look.
   */
  async #missing(
    columns: MeasurementColumns,
    mayRestore: MayRestore | undefined,
    scope: InsertScope,
  ): Promise<MeasurementColumns> {
    const stored = await this.untilDone(() => this.#options.history.storedMeasurements(columns), scope);
    const missing = withoutStored(columns, stored);
    if (mayRestore === undefined || missing.rowCount === 0) return missing;
    const shards = [...new Set(missing.shard.subarray(0, missing.rowCount))];
    const answers = await this.untilDone(() => Promise.all(shards.map((shard) => mayRestore(shard))), scope);
    const mine = new Set(shards.filter((_shard, index) => answers[index]));
    return missing.where((row) => mine.has(missing.shard[row]));
  }

  /**
   * Inserts the measurements of a begun block exactly once.
   * @param read all of them from the journal, by sequence. @returns the rows that were not set aside.
   */
  async block(
    block: BegunBlock,
    columns: MeasurementColumns,
    read: () => Promise<readonly FoundMeasurement[]>,
    scope: InsertScope,
  ): Promise<number> {
    if (columns.rowCount === 0) return 0;
    const { token, ranges, isFresh, after, mayRestore } = block;
    const mayInsert = async (): Promise<boolean> => (await block.endOf(after)) === undefined;
    const refusal = await this.measurements({ columns, token, isFresh, mayInsert, mayRestore }, scope);
    if (refusal === undefined) return columns.rowCount;
    if (refusal !== 'left') {
      this.#options.log.warn(
        { error: refusal.message, token },
        'projector: a block of measurements is refused; it is inserted in parts',
      );
      // From here on the whole block must never be inserted under its own token: parts of it will be there.
      await this.untilDone(() => block.split(after, Math.max(...ranges.map(({ lastSeq }) => lastSeq))), scope);
    }
    return columns.rowCount - (await this.#parts(block, read, scope));
  }

  /** Inserts a refused block in parts, each with a token of its own. @returns the rows that were set aside. */
  async #parts(
    block: BegunBlock,
    read: () => Promise<readonly FoundMeasurement[]>,
    scope: InsertScope,
  ): Promise<number> {
    const { quarantine } = this.#options;
    let all: readonly FoundMeasurement[] | undefined;
    const { mayRestore } = block;
    let { after } = block;
    let rowsAside = 0;
    let code: number | undefined;
    for (;;) {
      if (scope.isOver()) throw new GivenUp();
      const from = after;
      const through = await this.untilDone(() => block.endOf(from), scope);
      if (through === undefined) return rowsAside;
      all ??= await this.untilDone(read, scope);
      const found = all.filter(({ seq }) => seq > from && seq <= through);
      const [first, last] = [found.at(0), found.at(-1)];
      if (first !== undefined && last !== undefined) {
        const columns = columnsOf(found);
        const isAlone = found.length === 1;
        const entry = entryOf(last);
        let isAside = isAlone && quarantine.has(entry);
        if (!isAside) {
          const token = `${block.token}/${from + 1}-${through}`;
          // Some of them may be there: a block is stored by months, one after the other.
          const rest = await this.#missing(columns, mayRestore, scope);
          const mayInsert = async (): Promise<boolean> => (await block.endOf(from)) === through;
          const refusal =
            rest.rowCount === 0
              ? undefined
              : await this.measurements({ columns: rest, token, isFresh: false, mayInsert, mayRestore }, scope, code);
          // Another node has divided it meanwhile.
          if (refusal === 'left') continue;
          code = refusal?.code ?? code;
          if (refusal !== undefined && !isAlone) {
            const middle = Math.floor((first.seq + last.seq) / 2);
            await this.untilDone(() => block.split(from, middle), scope);
            continue;
          }
          isAside = refusal !== undefined;
          const position = scope.positionOf(entry.shard);
          if (refusal !== undefined)
            await this.#setAside({ ...entry, position, code: refusal.code, error: refusal.message }, scope);
        }
        if (isAside) rowsAside += columns.rowCount;
      }
      after = through;
    }
  }

  /** Inserts rows of a mutable table, at least once. @returns how many were not set aside. */
  async rows(table: string, rows: readonly HistoryRow[], scope: InsertScope, code?: number): Promise<number> {
    const refusal = await this.attempt(
      () =>
        this.#options.history.insertRows(
          table,
          rows.map((row) => row.text),
        ),
      scope,
      code,
    );
    if (refusal === undefined) return rows.length;
    if (scope.isOver()) throw new GivenUp();
    if (rows.length === 1) {
      const [{ seq, text }] = rows;
      const { id, shard } = JSON.parse(text) as { id: number; shard: number };
      const position = scope.positionOf(shard);
      await this.#setAside(
        { kind: 'row', table, seq, shard, id, position, code: refusal.code, error: refusal.message, row: text },
        scope,
      );
      return 0;
    }
    const middle = rows.length >> 1;
    const inserted = await this.rows(table, rows.slice(0, middle), scope, refusal.code);
    return inserted + (await this.rows(table, rows.slice(middle), scope, refusal.code));
  }

  /** @param run carries it out; repeatable. */
  async deletion(command: JournalCommand, run: () => Promise<void>, scope: InsertScope): Promise<void> {
    const refusal = await this.attempt(run, scope);
    if (refusal === undefined) return;
    const { table } = command.body as DataDelete;
    const { seq, shard, tenant, body } = command;
    const where = { kind: 'deletion' as const, table, seq, shard, id: 0, position: scope.positionOf(shard) };
    await this.#setAside({ ...where, code: refusal.code, error: refusal.message, row: { tenant, ...body } }, scope);
  }

  /** Sets aside what was no measurement: repeatable, and before the position moves past it. */
  async damaged(measurements: readonly DamagedMeasurement[], scope: InsertScope): Promise<void> {
    for (const measurement of measurements) {
      const entry = entryOfDamaged(measurement);
      await this.#setAside(
        { ...entry, position: scope.positionOf(entry.shard) },
        scope,
        'a measurement of the journal cannot be decoded',
      );
    }
  }

  /** On disk before anything moves on. */
  async #setAside(
    entry: QuarantineEntry,
    scope: InsertScope,
    cause = `the history store refuses ${nameOf(entry)}`,
  ): Promise<void> {
    const { quarantine, log } = this.#options;
    const isKnown = quarantine.has(entry);
    await this.untilDone(() => quarantine.add(entry), scope);
    if (isKnown) return;
    this.setAsideCount += 1;
    const { row, ...where } = entry;
    log.error(where, `projector: ${cause}; it is set aside in the quarantine`);
  }

  /** Repeats until it succeeds. */
  async untilDone<Value>(action: () => Value | Promise<Value>, scope: Pick<InsertScope, 'isOver'>): Promise<Value> {
    let value: Value | undefined;
    const refusal = await this.attempt(
      async () => {
        value = await action();
      },
      scope,
      undefined,
      Number.POSITIVE_INFINITY,
    );
    if (refusal !== undefined) throw new Error(`refused by what does not refuse: ${refusal.message}`);
    return value as Value;
  }

  /**
   * Repeats until it succeeds or the data are refused.
   * @param knownCode an uncertain refusal with this code has been waited for already.
   * @returns the refusal.
   */
  async attempt(
    action: () => Promise<void>,
    scope: Pick<InsertScope, 'isOver'>,
    knownCode?: number,
    uncertainTries = this.#uncertainTries,
  ): Promise<HistoryRefusal | undefined> {
    let uncertain = 0;
    for (let waitMs = RETRY_FIRST_MS; ; waitMs = Math.min(waitMs * 2, RETRY_LAST_MS)) {
      try {
        if (waitMs > RETRY_FIRST_MS && scope.isOver()) throw new GivenUp();
        await action();
        this.lastError = undefined;
        return undefined;
      } catch (error) {
        if (error instanceof GivenUp) throw error;
        uncertain = error instanceof HistoryRefusal ? uncertain + 1 : 0;
        if (
          error instanceof HistoryRefusal &&
          (error.isCertain || error.code === knownCode || uncertain >= uncertainTries)
        ) {
          this.insertErrorsCount += 1;
          this.lastError = undefined;
          return error;
        }
        if (scope.isOver()) throw new GivenUp();
        this.failed(error as Error, waitMs);
        await new Promise((resolve) => {
          setTimeout(resolve, waitMs);
        });
      }
    }
  }

  /** What failed is tried again. */
  failed(error: Error, retryMs: number): void {
    // The store was stopped for a copy of its files: a wait, not a fault.
    if (this.#options.isPaused?.() === true) return;
    this.insertErrorsCount += 1;
    this.lastError = error.message;
    const level = error instanceof QuarantineFullError ? 'error' : 'warn';
    this.#options.log[level]({ error: this.lastError, retryMs }, 'projector: a store refused; trying again');
  }
}

type UnplacedEntry = Omit<QuarantineEntry, 'position' | 'code' | 'error'>;

function entryOf({ records, at, seq }: FoundMeasurement): UnplacedEntry {
  const row = decodeMeasurement(records, at);
  return { kind: 'measurement', table: 'measurements', seq, shard: shardAt(records, at), id: row.id, row };
}

const nameOf = ({ kind, table, seq }: QuarantineKey): string =>
  kind === 'measurement' ? `measurement ${seq}` : `a ${kind} of ${table}, sequence ${seq}`;

/** Rows by table, for one insert each. */
export function groupByTable(rows: readonly HistoryRow[]): Map<string, HistoryRow[]> {
  const tables = new Map<string, HistoryRow[]>();
  for (const row of rows) {
    const list = tables.get(row.table);
    if (list) list.push(row);
    else tables.set(row.table, [row]);
  }
  return tables;
}

/** Rows of measurements that the store does not hold. @param stored ids by sequence. */
function withoutStored(columns: MeasurementColumns, stored: ReadonlyMap<number, number>): MeasurementColumns {
  return stored.size === 0 ? columns : columns.where((row) => stored.get(columns.seq[row]) !== columns.id[row]);
}
