/** Bulk operations that are created, changed and cancelled, and the counts that they keep of deleted operations. */
import { bulkOperationsOf, countsToKeep, operationCounts } from '../../history/bulk-counts.ts';
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import {
  BULK_ACTIVE_LIMIT,
  BULK_ACTIVE_MAX,
  BULK_ACTIVE_PREFIX,
  BULK_LAST_KEY,
  BULK_OPERATIONS,
  BULK_WATCHED_PREFIX,
  bulkActiveKey,
  bulkKey,
} from '../../model/entities/bulk-operation.ts';
import type { StoredBulkOperation } from '../../model/entities/bulk-operation.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { PlatformError } from '../../model/errors.ts';
import type { BulkOperationChange, BulkOperationPort, BulkOperationUser } from '../../ports/bulk-operations.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { Log } from '../../ports/log.ts';
import { withChanges } from '../../records/audit-changes.ts';
import { changeRecords, readRecord, retried } from '../../records/records.ts';
import type { Counting, RecordWriter } from '../../records/records.ts';
import { bulkIdsWith } from './due-times.ts';

/** Bulk operations that one query counts. */
const COUNTED_AT_ONCE = 200;
/** Bulk operations of a deleted device whose counts are kept: the newest. */
const OF_DEVICE_MAX = 100;

export interface BulkOperationChangesOptions extends RecordWriter, Counting {
  readonly documents: DocumentReader;
  /** Takes what frees space also while the disk is nearly full. */
  readonly freeing: RecordWriter['commands'];
  readonly log: Log;
}

const auditOf = (user: string, id: string, activity: string): AuditEntry => ({
  type: 'BulkOperation',
  activity,
  text: `${activity}: ${id}`,
  user,
  source: id,
});

/** The records of a new one. */
const additions = (stored: StoredBulkOperation): RecordChange[] => [
  { collection: BULK_OPERATIONS, id: bulkKey(stored.id), expected: undefined, value: JSON.stringify(stored) },
  { collection: BULK_OPERATIONS, id: bulkActiveKey(stored.id), expected: undefined, value: '1' },
];
const replacement = (expected: string, changed: StoredBulkOperation): RecordChange => ({
  collection: BULK_OPERATIONS,
  id: bulkKey(changed.id),
  expected,
  value: JSON.stringify(changed),
});

export class BulkOperationChanges implements BulkOperationPort {
  readonly #options: BulkOperationChangesOptions;

  constructor(options: BulkOperationChangesOptions) {
    this.#options = options;
  }

  async read(tenant: number, id: string): Promise<StoredBulkOperation> {
    return (await this.#load(tenant, id)).stored;
  }

  create({ tenant, user }: BulkOperationUser, stored: StoredBulkOperation): Promise<void> {
    const audit = withChanges(auditOf(user, stored.id, 'Bulk operation created'), undefined, stored);
    return retried(this.#options, async () => {
      const expected = await this.#requireRoom(tenant, user);
      const mark: RecordChange = { collection: BULK_OPERATIONS, id: BULK_LAST_KEY, expected, value: stored.id };
      await changeRecords(this.#options, tenant, [mark, ...additions(stored)], [audit]);
    });
  }

  update(
    { tenant, user }: BulkOperationUser,
    id: string,
    decide: (stored: StoredBulkOperation) => Promise<BulkOperationChange>,
  ): Promise<StoredBulkOperation> {
    return retried(this.#options, async () => {
      const { text, stored } = await this.#load(tenant, id);
      const { changed, next } = await decide(stored);
      const changes = [replacement(text, changed)];
      const audits = [withChanges(auditOf(user, id, 'Bulk operation updated'), stored, changed)];
      if (next !== undefined) {
        changes.push(...additions(next));
        audits.push(withChanges(auditOf(user, next.id, 'Bulk operation created'), undefined, next));
      }
      await changeRecords(this.#options, tenant, changes, audits);
      return next ?? changed;
    });
  }

  cancel({ tenant, user }: BulkOperationUser, id: string): Promise<void> {
    return retried(this.#options, async () => {
      const { text, stored } = await this.#load(tenant, id);
      if (stored.status === 'DELETED') return;
      const cancelled: StoredBulkOperation = { ...stored, status: 'DELETED' };
      const audit = withChanges(auditOf(user, id, 'Bulk operation cancelled'), stored, cancelled);
      await changeRecords(this.#options, tenant, [replacement(text, cancelled)], [audit]);
    });
  }

  async keepCounts(tenant: number, history: HistoryReader, id: string | undefined): Promise<void> {
    const ids = id === undefined ? await idsUnderWay(this.#options.documents, tenant) : [id].filter(isEntityId);
    const { freeing: commands, documents, refusals, now } = this.#options;
    await keepCounts({ commands, documents, refusals, now }, history, tenant, ids, (error) => {
      // The deletion gives space back; it does not wait until there is some for the counts.
      if (!(error instanceof PlatformError) || error.status !== 503) throw error;
    });
  }

  async keepCountsOfObject(tenant: number, history: HistoryReader, id: string, withOthers: boolean): Promise<void> {
    const { documents, log } = this.#options;
    const first = (prefix: string) => documents.list(BULK_OPERATIONS, tenant, prefix, { limit: 1 });
    if ((await Promise.all([first(BULK_ACTIVE_PREFIX), first(BULK_WATCHED_PREFIX)])).flat().length === 0) return;
    try {
      if (withOthers) return await this.keepCounts(tenant, history, undefined);
      for (const bulkId of await bulkOperationsOf(history, tenant, id, OF_DEVICE_MAX))
        await this.keepCounts(tenant, history, bulkId);
    } catch (error) {
      // The deletion does not wait for the history: then what was counted last counts.
      if (!(error instanceof PlatformError) || error.status !== 503) throw error;
      log.warn({ err: error, id }, 'the counts of bulk operations could not be kept before an object was deleted');
    }
  }

  /** @throws PlatformError 404. */
  async #load(tenant: number, id: string): Promise<{ readonly text: string; readonly stored: StoredBulkOperation }> {
    const text = isEntityId(id) ? await readRecord(this.#options, tenant, BULK_OPERATIONS, bulkKey(id)) : undefined;
    if (text === undefined) throw new PlatformError('devicecontrol/bulk-not-found', { id });
    return { text, stored: JSON.parse(text) as StoredBulkOperation };
  }

  /** @returns which one was made last: while it is that, there is room for one more. @throws PlatformError 422. */
  async #requireRoom(tenant: number, user: string): Promise<string | undefined> {
    const last = await readRecord(this.#options, tenant, BULK_OPERATIONS, BULK_LAST_KEY);
    const active = await this.#options.documents.list(BULK_OPERATIONS, tenant, BULK_ACTIVE_PREFIX, {
      limit: BULK_ACTIVE_MAX,
    });
    if (active.length < BULK_ACTIVE_MAX) return last;
    this.#options.refusals.count(BULK_ACTIVE_LIMIT, { tenant, user });
    throw new PlatformError('devicecontrol/bulk-too-many', { maximum: BULK_ACTIVE_MAX, limit: BULK_ACTIVE_LIMIT });
  }
}

/** Of a tenant: those whose counts may still change. */
export async function idsUnderWay(documents: DocumentReader, tenant: number): Promise<string[]> {
  const idsOf = (prefix: string) => bulkIdsWith(documents, tenant, prefix, () => false);
  return [...(await idsOf(BULK_ACTIVE_PREFIX)), ...(await idsOf(BULK_WATCHED_PREFIX))];
}

/**
 * Keeps what became of the operations in the progress of these bulk operations.
 * @param failed told of one that could not be stored; may throw to give up.
 */
export async function keepCounts(
  ports: RecordWriter & Counting & { readonly documents: DocumentReader },
  history: HistoryReader,
  tenant: number,
  ids: readonly string[],
  failed: (error: unknown) => void,
): Promise<void> {
  for (let start = 0; start < ids.length; start += COUNTED_AT_ONCE) {
    const some = ids.slice(start, start + COUNTED_AT_ONCE);
    const live = await operationCounts(history, tenant, some);
    for (const id of some) {
      await retried(ports, async () => {
        const changes = await countsToKeep(ports.documents, tenant, id, live.get(id) ?? {});
        if (changes.length > 0) await changeRecords(ports, tenant, changes);
      }).catch(failed);
    }
  }
}
