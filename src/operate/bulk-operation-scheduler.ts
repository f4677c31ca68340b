/**
 * Creates the operations of bulk operations, one every `creationRamp` seconds from `startDate` on (document 1 Bulk operation). Everything is
 * driven by the records: a batch is planned with its ids in one compare and set, created, and ticked off in another one. What a crash leaves
 * planned is created again under the same ids, which has no effect for those that are there: each device gets its operation exactly once.
 */
import { bulkTargets, GroupError, GroupTooLarge } from '../inventory/group-members.ts';
import { BackgroundLoop } from '../model/background-loop.ts';
import {
  BULK_ACTIVE_PREFIX, BULK_CHUNK_DEVICES, BULK_DEVICES_LIMIT, BULK_DEVICES_MAX, BULK_OPERATIONS, bulkActiveKey, bulkChunkKey, bulkChunkPrefix,
  bulkIdOfKey, bulkKey, dueOperations,
} from '../model/bulk-operation.ts';
import type { StoredBulkOperation } from '../model/bulk-operation.ts';
import { COMMAND } from '../model/command.ts';
import type { CommandPort, DocumentReader, HistoryReader, IdSource, OperationCreate, RecordChange } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { joinMembers, splitMembers } from '../model/json-document.ts';
import type { Log } from '../model/log.ts';
import { PROCESSING_MODE } from '../model/processing-mode.ts';
import type { Refusals } from '../model/refusals.ts';

const TENANT_KEY = 't';
/** Operations of one batch, and of one bulk operation in one step. */
const BATCH_MAX = 200;
/** Bulk operations of a page of the active ones. */
const LIST_PAGE = 500;
/** Between two steps, at least. */
const PAUSE_MS_MIN = 20;
/** After it everything is looked at again: shards may have come from another node. */
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
  readonly #options: BulkSchedulerOptions;
  /** When something is to be done for a tenant, ms since 1970; those that are absent have nothing to do. */
  readonly #dueAt = new Map<number, number>();
  /** Tenants whose records were changed. */
  readonly #changed = new Set<number>();
  #passAt = 0;
  readonly #loop = new BackgroundLoop();

  constructor(options: BulkSchedulerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop.start(() => this.#run());
  }

  /** Resolves when nothing is under way any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** To be told of all changed records. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    if (!changes.some(({ collection }) => collection === BULK_OPERATIONS)) return;
    this.#changed.add(tenant);
    this.#loop.wake();
  }

  /** Does what is due now, for each bulk operation one batch. @returns when there is something to do again, ms since 1970. */
  async step(): Promise<number> {
    const { tenants, isMine, now } = this.#options;
    const startAt = now();
    if (startAt >= this.#passAt) {
      this.#dueAt.clear();
      for (const tenant of tenants()) this.#dueAt.set(tenant, 0);
      this.#passAt = startAt + PASS_MS;
    }
    for (const tenant of this.#changed) this.#dueAt.set(tenant, 0);
    this.#changed.clear();
    for (const [tenant, dueAt] of [...this.#dueAt]) {
      if (this.#loop.isStopped) break;
      if (dueAt > startAt) continue;
      const nextAt = isMine(tenant) ? await this.#tenant(tenant) : Infinity;
      if (nextAt === Infinity) this.#dueAt.delete(tenant);
      else this.#dueAt.set(tenant, nextAt);
    }
    return Math.min(this.#passAt, ...this.#dueAt.values());
  }

  async #run(): Promise<void> {
    while (!this.#loop.isStopped) {
      let nextAt = this.#options.now() + RETRY_MS;
      try {
        nextAt = await this.step();
      } catch (error) {
        this.#options.log.warn({ err: error, retryMs: RETRY_MS }, 'the bulk operations could not be looked at');
      }
      if (this.#changed.size > 0) nextAt = 0;
      await this.#loop.pause(Math.max(PAUSE_MS_MIN, nextAt - this.#options.now()), { isIdle: true });
    }
  }

  /** @returns when the next of its operations is due, Infinity when there is none. */
  async #tenant(tenant: number): Promise<number> {
    let nextAt = Infinity;
    for (let after: string | undefined; !this.#loop.isStopped;) {
      const options = after === undefined ? { limit: LIST_PAGE } : { after, limit: LIST_PAGE };
      const page = await this.#options.documents.list(BULK_OPERATIONS, tenant, BULK_ACTIVE_PREFIX, options);
      for (const { id: key } of page) nextAt = Math.min(nextAt, await this.#guarded(tenant, bulkIdOfKey(key)));
      if (page.length < LIST_PAGE) break;
      after = page[page.length - 1].id;
    }
    return nextAt;
  }

  /** One that fails does not hold up the others. */
  async #guarded(tenant: number, id: string): Promise<number> {
    if (this.#loop.isStopped) return Infinity;
    try {
      return await this.#advance(tenant, id);
    } catch (error) {
      // Somebody changed it meanwhile: the next step reads it again.
      if (error instanceof PlatformError && error.code === 'general/changed-meanwhile') return 0;
      this.#options.log.warn({ err: error, tenant, id, retryMs: RETRY_MS }, 'a bulk operation could not go on');
      return this.#options.now() + RETRY_MS;
    }
  }

  async #advance(tenant: number, id: string): Promise<number> {
    const text = await this.#options.documents.get(BULK_OPERATIONS, tenant, bulkKey(id));
    const stored = text === undefined ? undefined : JSON.parse(text) as StoredBulkOperation;
    if (text === undefined || stored?.status !== 'ACTIVE') {
      await this.#forget(tenant, id);
      return Infinity;
    }
    const now = this.#options.now();
    if (stored.nextAt === undefined) return stored.startsAt > now ? stored.startsAt : this.#begin(tenant, stored, text);
    if (stored.planned !== undefined) return this.#create(tenant, stored, text, stored.planned);
    if (stored.done >= stored.targets) return this.#save(tenant, stored, text, stored.nextAt);
    const { count, nextAt } = dueOperations(stored, now, Math.min(BATCH_MAX, stored.targets - stored.done));
    if (count === 0) return nextAt;
    const devices = await this.#devices(tenant, stored, count);
    const ids = await this.#options.ids.nextBesideInOrder(tenant, devices.map(Number));
    const planned = devices.map((device, index) => [device, String(ids[index])] as const);
    const next: StoredBulkOperation = { ...stored, nextAt, planned };
    await this.#change(tenant, [{ collection: BULK_OPERATIONS, id: bulkKey(id), expected: text, value: JSON.stringify(next) }]);
    return this.#create(tenant, next, JSON.stringify(next), planned);
  }

  /** Makes the list of devices: whoever is in the group now. */
  async #begin(tenant: number, stored: StoredBulkOperation, text: string): Promise<number> {
    const { id } = stored;
    const now = this.#options.now();
    let devices: readonly string[];
    try {
      devices = await bulkTargets({ tenant, documents: this.#options.documents, history: this.#options.history }, stored);
    } catch (error) {
      const isItsOwn = error instanceof GroupError || (error instanceof PlatformError && error.status < 500);
      if (!isItsOwn) throw error;
      if (error instanceof GroupTooLarge) this.#options.refusals.count(BULK_DEVICES_LIMIT);
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
  async #create(tenant: number, stored: StoredBulkOperation, text: string, planned: NonNullable<StoredBulkOperation['planned']>): Promise<number> {
    const members = splitMembers(stored.prototype);
    members.set('bulkOperationId', JSON.stringify(stored.id));
    const doc = joinMembers(members);
    const isCreated = await Promise.all(planned.map(([device, id]) => this.#createOne(tenant, device, { id, doc, user: stored.owner, isOfBulk: true })));
    const missing = isCreated.filter((is) => !is).length;
    this.createdCount += planned.length - missing;
    const { planned: _, ...others } = stored;
    const next: StoredBulkOperation = { ...others, done: stored.done + planned.length, missing: stored.missing + missing };
    return this.#save(tenant, next, text, next.nextAt ?? this.#options.now());
  }

  /** @returns false when the device is gone. */
  async #createOne(tenant: number, device: string, body: OperationCreate): Promise<boolean> {
    try {
      await this.#options.commands.request({
        kind: COMMAND.OPERATION_CREATE, tenant, key: Number(device), mode: PROCESSING_MODE.PERSISTENT, receivedAt: this.#options.now(), body,
      });
      return true;
    } catch (error) {
      if (error instanceof PlatformError && error.code === 'source/not-found') return false;
      throw error;
    }
  }

  /** Stores the next state; with the last device it is COMPLETED and its list goes. */
  async #save(tenant: number, next: StoredBulkOperation, expected: string, nextAt: number, further: readonly RecordChange[] = []): Promise<number> {
    const isOver = next.done >= next.targets;
    const value = JSON.stringify(isOver ? { ...next, status: 'COMPLETED' } : next);
    const changes: RecordChange[] = [{ collection: BULK_OPERATIONS, id: bulkKey(next.id), expected, value }, ...further];
    await this.#change(tenant, changes);
    if (!isOver) return nextAt;
    await this.#forget(tenant, next.id);
    return Infinity;
  }

  /** Removes everything but the record itself. */
  async #forget(tenant: number, id: string): Promise<void> {
    const { documents } = this.#options;
    const chunks = await documents.list(BULK_OPERATIONS, tenant, bulkChunkPrefix(id), { limit: BULK_DEVICES_MAX / BULK_CHUNK_DEVICES });
    const active = await documents.get(BULK_OPERATIONS, tenant, bulkActiveKey(id));
    await this.#change(tenant, [{ id: bulkActiveKey(id), value: active }, ...chunks]
      .map(({ id: key, value }) => ({ collection: BULK_OPERATIONS, id: key, expected: value, value: undefined })));
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

  async #change(tenant: number, changes: readonly RecordChange[]): Promise<void> {
    await this.#options.commands.request({
      kind: COMMAND.RECORDS_CHANGE, tenant, key: TENANT_KEY, mode: PROCESSING_MODE.PERSISTENT, receivedAt: this.#options.now(), body: { changes },
    });
  }
}
