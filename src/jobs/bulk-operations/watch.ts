/**
 * Keeps the counts of bulk operations of which no operation is created any more, until all their operations are over. A
 * loop of its own: what it asks of the history may take long, or fail, and the ramps go on meanwhile (scheduler.ts).
 * Driven by the records `BULK_WATCHED_PREFIX`.
 */
import { keptCountsOf, operationCounts } from '../../history/bulk-counts.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import {
  BULK_OPERATIONS,
  BULK_WATCHED_LIMIT,
  BULK_WATCHED_MAX,
  BULK_WATCHED_PREFIX,
  bulkKey,
  bulkWatchedKey,
} from '../../model/entities/bulk-operation.ts';
import type { OperationCounts, StoredBulkOperation } from '../../model/entities/bulk-operation.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { BulkDueTimes, bulkIdsWith } from './due-times.ts';
import { changeRecords, isChangedMeanwhile } from '../../records/records.ts';

/** Bulk operations that one query counts. */
const COUNTED_AT_ONCE = 50;
/** Records of one command that ends watching. */
const ENDED_AT_ONCE = 500;
/** Tenants whose lists are read in one step. */
const LOOKS_MAX = 200;
const PAUSE_MS_MIN = 20;
/** After it the lists are read again, spread over as long a time: shards may have come from another node. */
const PASS_MS = 60_000;
/**
 * Until operations that are not yet over are counted again: a tenth of the time since the last one was created, within
 * these bounds.
 */
const WATCH_MS_MIN = 10_000;
const WATCH_MS_MAX = 3_600_000;
/** Until what failed is tried again. */
const RETRY_MS = 10_000;

export interface BulkWatchOptions {
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  /** Has to see all that was acknowledged: what is not there then was deleted. */
  readonly history: HistoryReader;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Numbers of the tenants. */
  readonly tenants: () => Iterable<number>;
  /** Whether this process owns the records of the tenant. */
  readonly isMine: (tenant: number) => boolean;
  /** ms since 1970. */
  readonly now: () => number;
}

export class BulkOperationWatch {
  readonly #options: BulkWatchOptions;
  /**
   * When each is counted again, ms since 1970, by tenant; at most BULK_WATCHED_MAX of each, and those that were added
   * since the last pass.
   */
  readonly #dueTimes = new BulkDueTimes();
  /** Tenants whose lists this pass has still to read. */
  #unlooked: number[] = [];
  #passAt = 0;
  readonly #loop = new BackgroundLoop();

  constructor(options: BulkWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.repeat(
      RETRY_MS,
      async () => (await this.step()) - this.#options.now(),
      (error) => {
        this.#options.log.warn(
          { err: error, retryMs: RETRY_MS },
          'the operations of bulk operations could not be counted',
        );
      },
      PAUSE_MS_MIN,
    );
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Counts it soon; it has its record. */
  add(tenant: number, id: string): void {
    this.#dueTimes.set(tenant, id, this.#options.now());
    this.#loop.wake();
  }

  /**
   * Counts what is due, of each tenant at most what one query counts. @returns when there is something to do again, ms
   * since 1970.
   */
  async step(): Promise<number> {
    const { tenants, isMine, now } = this.#options;
    const startAt = now();
    if (startAt >= this.#passAt) {
      this.#unlooked = [...tenants()];
      this.#dueTimes.keep(new Set(this.#unlooked));
      this.#passAt = startAt + PASS_MS;
    }
    for (const tenant of this.#unlooked.splice(0, LOOKS_MAX)) await this.#look(tenant, startAt);
    for (const { tenant, due } of this.#dueTimes.due(startAt, COUNTED_AT_ONCE, isMine)) {
      if (this.#loop.isStopped) break;
      if (due.length > 0)
        await this.#guarded(
          tenant,
          due.map(({ id }) => id),
        );
    }
    return this.#unlooked.length > 0 ? startAt : this.#dueTimes.next(this.#passAt);
  }

  /** Which of the tenant are watched: the latest ones, when there are too many. */
  async #look(tenant: number, startAt: number): Promise<void> {
    const known = this.#dueTimes.take(tenant);
    if (!this.#options.isMine(tenant)) return;
    const ids = await bulkIdsWith(this.#options.documents, tenant, BULK_WATCHED_PREFIX, () => this.#loop.isStopped);
    const watched = ids.slice(-BULK_WATCHED_MAX);
    await this.#drop(tenant, ids.slice(0, ids.length - watched.length));
    for (const [index, id] of watched.entries())
      this.#dueTimes.set(tenant, id, known?.get(id) ?? startAt + Math.floor((index * PASS_MS) / watched.length));
  }

  /** Their counts stay as they are. */
  async #drop(tenant: number, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    this.#options.refusals.count(BULK_WATCHED_LIMIT, { tenant });
    this.#options.log.warn(
      { tenant, count: ids.length, maximum: BULK_WATCHED_MAX, limit: BULK_WATCHED_LIMIT },
      'operations of the oldest bulk operations are no longer counted: those that are deleted later leave their progress',
    );
    for (let start = 0; start < ids.length; start += ENDED_AT_ONCE)
      await changeRecords(this.#options, tenant, ids.slice(start, start + ENDED_AT_ONCE).map(endOfWatch));
  }

  /** What fails at one tenant does not hold up the others. */
  async #guarded(tenant: number, ids: readonly string[]): Promise<void> {
    try {
      const live = await operationCounts(this.#options.history, tenant, ids);
      for (const id of ids) this.#dueTimes.set(tenant, id, await this.#keep(tenant, id, live.get(id) ?? {}));
    } catch (error) {
      this.#options.log.warn(
        { err: error, tenant, count: ids.length, retryMs: RETRY_MS },
        'the operations of bulk operations could not be counted',
      );
      for (const id of ids) this.#dueTimes.set(tenant, id, this.#options.now() + RETRY_MS);
    }
  }

  /** @returns when it is counted again, Infinity for never. */
  async #keep(tenant: number, id: string, live: OperationCounts): Promise<number> {
    const { documents, now } = this.#options;
    const [text, watched] = await documents.getMany(BULK_OPERATIONS, tenant, [bulkKey(id), bulkWatchedKey(id)]);
    if (watched === undefined) return Infinity;
    const stored = text === undefined ? undefined : (JSON.parse(text) as StoredBulkOperation);
    try {
      if (text === undefined || stored?.nextAt === undefined) {
        await changeRecords(this.#options, tenant, [endOfWatch(id)]);
        return Infinity;
      }
      const { changes, isOver } = keptCountsOf(text, true, live, { isAllSeen: true });
      if (changes.length > 0) await changeRecords(this.#options, tenant, changes);
      return isOver ? Infinity : now() + Math.min(WATCH_MS_MAX, Math.max(WATCH_MS_MIN, (now() - stored.nextAt) / 10));
    } catch (error) {
      // Another writer changed it meanwhile: it is read again.
      if (isChangedMeanwhile(error)) return now();
      throw error;
    }
  }
}

const endOfWatch = (id: string): RecordChange => ({
  collection: BULK_OPERATIONS,
  id: bulkWatchedKey(id),
  expected: '1',
  value: undefined,
});
