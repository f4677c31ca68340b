/**
 * Creates the operations of bulk operations, one every `creationRamp` seconds from `startDate` on
 * (docs/spec/bulk-operations.md). Everything is driven by the records: a batch is planned with its ids in one compare
 * and set, created, and ticked off in another one. What a crash leaves planned is created again under the same ids,
 * which has no effect for those that are there: each device gets its operation exactly once.
 */
import { bulkTargets, GroupError, GroupTooLarge } from '../../history/group-members.ts';
import { BackgroundLoop } from '../../pacing/background-loop.ts';
import {
  BULK_ACTIVE_PREFIX,
  BULK_CHUNK_DEVICES,
  BULK_DEVICES_LIMIT,
  BULK_DEVICES_MAX,
  BULK_OPERATIONS,
  BULK_PREFIX,
  bulkActiveKey,
  bulkChunkKey,
  bulkChunkPrefix,
  bulkIdOfKey,
  bulkKey,
  bulkWatchedKey,
  dueOperations,
} from '../../model/entities/bulk-operation.ts';
import type { StoredBulkOperation } from '../../model/entities/bulk-operation.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { OperationCreate } from '../../model/commands/entities.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, splitMembers } from '../../model/documents/json-document.ts';
import type { Log } from '../../ports/log.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { BulkDueTimes, bulkIdsWith } from './due-times.ts';
import { BulkOperationWatch } from './watch.ts';
import { changeRecords, isChangedMeanwhile } from '../../records/records.ts';

/**
 * Operations of one batch. All that are due in a step share it, each has its least part: so steps stay short, and no
 * ramp waits for another one.
 */
const BATCH_MAX = 200;
const BATCH_MIN = 10;
/**
 * Bulk operations that go on in one step: of one tenant, and at the same time. Those that are due longest come first.
 */
const TENANT_STEP_MAX = 20;
const LANES = 8;
/** Tenants whose lists are read in one step. */
const LOOKS_MAX = 200;
/** Between two steps, at least: the tenants share them, and a step's own changes wake it. */
const PAUSE_MS_MIN = 20;
/** After it everything is looked at again, spread over as long a time: shards may have come from another node. */
const PASS_MS = 60_000;
/** Until something that failed is tried again. */
const RETRY_MS = 1_000;

export interface BulkSchedulerOptions {
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  readonly history: HistoryReader;
  readonly ids: IdSource;
  readonly refusals: Refusals;
  readonly log: Log;
  /** Numbers of the tenants. */
  readonly tenants: () => Iterable<number>;
  /** Whether this process owns the records of the tenant. */
  readonly isMine: (tenant: number) => boolean;
  /** ms since 1970. */
  readonly now: () => number;
}

export class BulkOperationScheduler {
  /** Operations that were created. */
  createdCount = 0;
  /** What goes on when the last operation is created. */
  readonly watch: BulkOperationWatch;
  readonly #options: BulkSchedulerOptions;
  /**
   * When each bulk operation has something to do, ms since 1970, by tenant; those that are absent have nothing to do.
   */
  readonly #dueTimes = new BulkDueTimes();
  /** Those whose records were changed, by tenant. */
  #changed = new Map<number, Set<string>>();
  /** Tenants whose lists this pass has still to read. */
  #unlooked: number[] = [];
  #passAt = 0;
  readonly #loop = new BackgroundLoop();

  constructor(options: BulkSchedulerOptions) {
    this.#options = options;
    this.watch = new BulkOperationWatch(options);
  }

  start(): void {
    this.#loop.repeat(
      RETRY_MS,
      async () => (await this.step()) - this.#options.now(),
      (error) => {
        this.#options.log.warn(
          { err: error, retryMs: RETRY_MS },
          'the due bulk operations could not be read; trying again',
        );
      },
      PAUSE_MS_MIN,
    );
    this.watch.start();
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.watch.stop()]);
  }

  /** To be told of all changed records. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    const ids = changes
      .filter(({ collection, id }) => collection === BULK_OPERATIONS && id.startsWith(BULK_PREFIX))
      .map(({ id }) => bulkIdOfKey(id));
    if (ids.length === 0) return;
    const changed = this.#changed.get(tenant) ?? new Set();
    for (const id of ids) changed.add(id);
    this.#changed.set(tenant, changed);
    this.#loop.wake();
  }

  /**
   * Does what is due now, for each bulk operation at most one batch. @returns when there is something to do again, ms
   * since 1970.
   */
  async step(): Promise<number> {
    const { tenants, now } = this.#options;
    const startAt = now();
    if (startAt >= this.#passAt) {
      this.#unlooked = [...tenants()];
      this.#dueTimes.keep(new Set(this.#unlooked));
      this.#passAt = startAt + PASS_MS;
    }
    for (const tenant of this.#unlooked.splice(0, LOOKS_MAX)) await this.#look(tenant, startAt);
    this.#markChanged(startAt);
    const due = this.#dueNow(startAt);
    const batch = Math.max(BATCH_MIN, Math.floor(BATCH_MAX / Math.max(1, due.length)));
    const lane = async (): Promise<void> => {
      for (let next = due.shift(); next !== undefined && !this.#loop.isStopped; next = due.shift()) {
        this.#dueTimes.set(next.tenant, next.id, await this.#guarded(next.tenant, next.id, batch));
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return this.#unlooked.length > 0 ? startAt : this.#dueTimes.next(this.#passAt);
  }

  /** Which of the tenant have something to do. */
  async #look(tenant: number, startAt: number): Promise<void> {
    const known = this.#dueTimes.take(tenant);
    if (!this.#options.isMine(tenant)) return;
    const active = await bulkIdsWith(this.#options.documents, tenant, BULK_ACTIVE_PREFIX, () => this.#loop.isStopped);
    const spread = (index: number): number => startAt + Math.floor((index * PASS_MS) / active.length);
    for (const [index, id] of active.entries())
      this.#dueTimes.set(tenant, id, Math.min(known?.get(id) ?? startAt, spread(index)));
  }

  #markChanged(startAt: number): void {
    const changed = this.#changed;
    this.#changed = new Map();
    for (const [tenant, ids] of changed) {
      if (!this.#options.isMine(tenant)) continue;
      for (const id of ids)
        this.#dueTimes.set(tenant, id, Math.min(this.#dueTimes.get(tenant, id) ?? startAt, startAt));
    }
  }

  /** Those of this step, longest due first. */
  #dueNow(startAt: number): { tenant: number; id: string; dueAt: number }[] {
    const due: { tenant: number; id: string; dueAt: number }[] = [];
    for (const { tenant, due: own } of this.#dueTimes.due(startAt, TENANT_STEP_MAX, this.#options.isMine))
      due.push(...own.map((one) => ({ tenant, ...one })));
    return due.sort((one, other) => one.dueAt - other.dueAt);
  }

  /** One that fails does not hold up the others. */
  async #guarded(tenant: number, id: string, batch: number): Promise<number> {
    try {
      return await this.#advance(tenant, id, batch);
    } catch (error) {
      // Another writer changed it meanwhile: the next step reads it again.
      if (isChangedMeanwhile(error)) return this.#options.now();
      this.#options.log.warn(
        { err: error, tenant, id, retryMs: RETRY_MS },
        'a bulk operation could not create its operations; trying again',
      );
      return this.#options.now() + RETRY_MS;
    }
  }

  /** @param batch operations at most. @returns when it has something to do again, Infinity for never. */
  async #advance(tenant: number, id: string, batch: number): Promise<number> {
    const text = await this.#options.documents.get(BULK_OPERATIONS, tenant, bulkKey(id));
    const stored = text === undefined ? undefined : (JSON.parse(text) as StoredBulkOperation);
    if (text === undefined || stored === undefined) return this.#forget(tenant, id, false);
    if (stored.status !== 'ACTIVE') return this.#forget(tenant, id, stored.nextAt !== undefined);
    const now = this.#options.now();
    if (stored.nextAt === undefined) return stored.startsAt > now ? stored.startsAt : this.#begin(tenant, stored, text);
    if (stored.planned !== undefined) return this.#create(tenant, stored, text, stored.planned);
    if (stored.done >= stored.targets) return this.#save(tenant, stored, text, stored.nextAt);
    const { count, nextAt } = dueOperations(stored, now, Math.min(batch, stored.targets - stored.done));
    if (count === 0) return nextAt;
    const devices = await this.#devices(tenant, stored, count);
    const ids = await this.#options.ids.nextBesideInOrder(tenant, devices.map(Number));
    const planned = devices.map((device, index) => [device, String(ids[index])] as const);
    const next: StoredBulkOperation = { ...stored, nextAt, planned };
    await changeRecords(this.#options, tenant, [
      { collection: BULK_OPERATIONS, id: bulkKey(id), expected: text, value: JSON.stringify(next) },
    ]);
    return this.#create(tenant, next, JSON.stringify(next), planned);
  }

  /** Makes the list of devices: the group's members now. */
  async #begin(tenant: number, stored: StoredBulkOperation, text: string): Promise<number> {
    const { id } = stored;
    const now = this.#options.now();
    let devices: readonly string[];
    try {
      devices = await bulkTargets(
        { tenant, documents: this.#options.documents, history: this.#options.history },
        stored,
      );
    } catch (error) {
      const isItsOwn = error instanceof GroupError || (error instanceof PlatformError && error.status < 500);
      if (!isItsOwn) throw error;
      if (error instanceof GroupTooLarge)
        this.#options.refusals.count(BULK_DEVICES_LIMIT, { tenant, reason: error.message });
      const failed: StoredBulkOperation = { ...stored, targets: 0, nextAt: now, failure: (error as Error).message };
      return this.#save(tenant, failed, text, now);
    }
    const changes: RecordChange[] = [];
    for (let chunk = 0; chunk * BULK_CHUNK_DEVICES < devices.length; chunk += 1) {
      const value = devices.slice(chunk * BULK_CHUNK_DEVICES, (chunk + 1) * BULK_CHUNK_DEVICES).join(',');
      changes.push({ collection: BULK_OPERATIONS, id: bulkChunkKey(id, chunk), expected: undefined, value });
    }
    const begun: StoredBulkOperation = { ...stored, targets: devices.length, nextAt: now };
    return this.#save(tenant, begun, text, now, changes);
  }

  /** Creates what is planned, and ticks it off. */
  async #create(
    tenant: number,
    stored: StoredBulkOperation,
    text: string,
    planned: NonNullable<StoredBulkOperation['planned']>,
  ): Promise<number> {
    const members = splitMembers(stored.prototype);
    members.set('bulkOperationId', JSON.stringify(stored.id));
    const doc = joinMembers(members);
    const isCreated = await Promise.all(
      planned.map(([device, id]) => this.#createOne(tenant, device, { id, doc, user: stored.owner, isOfBulk: true })),
    );
    const missing = isCreated.filter((is) => !is).length;
    this.createdCount += planned.length - missing;
    const { planned: _, ...others } = stored;
    const next: StoredBulkOperation = {
      ...others,
      done: stored.done + planned.length,
      missing: stored.missing + missing,
    };
    return this.#save(tenant, next, text, next.nextAt ?? this.#options.now());
  }

  /** @returns false when the device is gone. */
  async #createOne(tenant: number, device: string, body: OperationCreate): Promise<boolean> {
    try {
      await this.#options.commands.request({
        kind: COMMAND.OPERATION_CREATE,
        tenant,
        key: Number(device),
        mode: PROCESSING_MODE.PERSISTENT,
        receivedAt: this.#options.now(),
        body,
      });
      return true;
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'source/not-found') return false;
      throw error;
    }
  }

  /** Stores the next state; with the last device it is COMPLETED and its list goes. */
  async #save(
    tenant: number,
    next: StoredBulkOperation,
    expected: string,
    nextAt: number,
    further: readonly RecordChange[] = [],
  ): Promise<number> {
    const isOver = next.done >= next.targets;
    const value = JSON.stringify(isOver ? { ...next, status: 'COMPLETED' } : next);
    const changes: RecordChange[] = [
      { collection: BULK_OPERATIONS, id: bulkKey(next.id), expected, value },
      ...further,
    ];
    await changeRecords(this.#options, tenant, changes);
    return isOver ? this.#options.now() : nextAt;
  }

  /**
   * Removes everything but the record itself. @param isWatched its operations are to be counted until they are over.
   */
  async #forget(tenant: number, id: string, isWatched: boolean): Promise<number> {
    const { documents } = this.#options;
    const removal = ({ id: key, value }: { id: string; value: string }): RecordChange => ({
      collection: BULK_OPERATIONS,
      id: key,
      expected: value,
      value: undefined,
    });
    const active = await documents.get(BULK_OPERATIONS, tenant, bulkActiveKey(id));
    const watched = await documents.get(BULK_OPERATIONS, tenant, bulkWatchedKey(id));
    const changes: RecordChange[] = [];
    const isNew = active !== undefined && isWatched && watched === undefined;
    if (active !== undefined) {
      changes.push(removal({ id: bulkActiveKey(id), value: active }));
      const chunks = await documents.list(BULK_OPERATIONS, tenant, bulkChunkPrefix(id), {
        limit: BULK_DEVICES_MAX / BULK_CHUNK_DEVICES,
      });
      changes.push(...chunks.map(removal));
      if (isNew) changes.push({ collection: BULK_OPERATIONS, id: bulkWatchedKey(id), expected: undefined, value: '1' });
    }
    if (!isWatched && watched !== undefined) changes.push(removal({ id: bulkWatchedKey(id), value: watched }));
    if (changes.length > 0) await changeRecords(this.#options, tenant, changes);
    if (isNew) this.watch.add(tenant, id);
    return Infinity;
  }

  /** The next devices of the list. */
  async #devices(tenant: number, stored: StoredBulkOperation, count: number): Promise<string[]> {
    const first = Math.floor(stored.done / BULK_CHUNK_DEVICES);
    const last = Math.floor((stored.done + count - 1) / BULK_CHUNK_DEVICES);
    const keys = Array.from({ length: last - first + 1 }, (_, index) => bulkChunkKey(stored.id, first + index));
    const texts = await this.#options.documents.getMany(BULK_OPERATIONS, tenant, keys);
    const devices = texts.flatMap((text, index) => {
      if (text === undefined) throw new Error(`the devices ${keys[index]} of a bulk operation are missing`);
      return text.split(',');
    });
    return devices.slice(stored.done - first * BULK_CHUNK_DEVICES).slice(0, count);
  }
}
