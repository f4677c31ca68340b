/**
 * What retention removes, by kind: rows of the history, entities through commands to their actors, records of the
 * tenant.
 */
import { BULK_OPERATIONS, BULK_PREFIX, bulkIdOfKey } from '../../model/entities/bulk-operation.ts';
import type { StoredBulkOperation } from '../../model/entities/bulk-operation.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { ANY } from '../../model/entities/retention.ts';
import type { IsWanted, RetentionChunk, RetentionStore, RetentionTarget } from '../../model/entities/retention.ts';
import type { EntityKind, RetentionHistory } from '../../ports/stores/retention-history.ts';
import { idsUnderWay, keepCounts } from '../bulk-operations/changes.ts';
import { changeRecords } from '../../records/records.ts';

/** Entities of one part: the history is asked once for as many. */
const PART_ENTITIES = 20_000;
/** Commands under way at once; between two lots it may stop. */
const LOT = 64;
/** Bulk operations of one part, removed by one command. */
const PART_RECORDS = 200;
const DELETE = {
  EVENT: COMMAND.EVENT_DELETE,
  ALARM: COMMAND.ALARM_DELETE,
  OPERATION: COMMAND.OPERATION_DELETE,
} as const;

export interface RetentionRemovalOptions {
  readonly history: RetentionHistory;
  /** Counts the operations of bulk operations. Has to see all that was acknowledged. */
  readonly counted: HistoryReader;
  /** Resolves when what was acknowledged can be queried. */
  readonly visible: () => Promise<void>;
  readonly commands: CommandPort;
  readonly documents: DocumentReader;
  readonly refusals: Refusals;
  /**
   * @throws PlatformError `general/disk-full` when so little is free that only what takes no space goes on. Never when
   * absent.
   */
  readonly requireRoom?: () => void;
  /** ms since 1970. */
  readonly now: () => number;
}

export class RetentionRemoval implements RetentionStore {
  readonly #options: RetentionRemovalOptions;

  constructor(options: RetentionRemovalOptions) {
    this.#options = options;
  }

  async next(
    tenant: number,
    target: RetentionTarget,
    after: string,
    others: readonly RetentionTarget[],
  ): Promise<RetentionChunk | undefined> {
    const { dataType } = target;
    if (dataType === 'BULK_OPERATION') return this.#nextRecords(tenant, target, after, others);
    await this.#options.visible();
    if (dataType === 'MEASUREMENT' || dataType === 'AUDIT')
      return this.#options.history.nextMonth(dataType, tenant, target, after, others);
    // A dry run counts all at once.
    if (after === 'all') return undefined;
    if (others.length > 0)
      return { through: 'all', count: await this.#options.history.countEntities(dataType, tenant, target, others) };
    const found = await this.#options.history.entities(dataType, tenant, target, {
      after: after === '' ? '0' : after,
      limit: PART_ENTITIES,
    });
    return found.length === 0 ? undefined : { through: String(found[found.length - 1].id), count: found.length };
  }

  async remove(
    tenant: number,
    target: RetentionTarget,
    after: string,
    through: string,
    isWanted: IsWanted,
  ): Promise<number> {
    const { dataType } = target;
    if (dataType === 'BULK_OPERATION') return this.#removeRecords(tenant, target, { after, through }, isWanted);
    if (dataType !== 'MEASUREMENT' && dataType !== 'AUDIT') {
      return this.#removeEntities(dataType, tenant, target, { after: after === '' ? '0' : after, through }, isWanted);
    }
    const { history, requireRoom } = this.#options;
    if (await isWanted()) {
      await history.removeMonth(dataType, tenant, target, through, requireRoom);
      return 0;
    }
    const left = await history.nextMonth(dataType, tenant, target, after, []);
    return left?.through === through ? left.count : 0;
  }

  async #removeEntities(
    kind: EntityKind,
    tenant: number,
    target: RetentionTarget,
    range: { after: string; through: string },
    isWanted: IsWanted,
  ): Promise<number> {
    await this.#options.visible();
    const found = await this.#options.history.entities(kind, tenant, target, { ...range, limit: PART_ENTITIES });
    if (kind === 'OPERATION' && found.length > 0) await this.#keepCounts(tenant);
    for (let start = 0; start < found.length; start += LOT) {
      if (!(await isWanted())) return found.length - start;
      this.#options.requireRoom?.();
      await Promise.all(
        found.slice(start, start + LOT).map(({ id, source }) => this.#removeEntity(kind, tenant, id, source)),
      );
    }
    return 0;
  }

  /** What became of operations stays in the progress of the bulk operations that are not over. */
  async #keepCounts(tenant: number): Promise<void> {
    const { documents, counted } = this.#options;
    await keepCounts(this.#options, counted, tenant, await idsUnderWay(documents, tenant), (error) => {
      throw error;
    });
  }

  async #removeEntity(kind: EntityKind, tenant: number, id: number, source: number): Promise<void> {
    try {
      await this.#options.commands.request({
        kind: DELETE[kind],
        tenant,
        key: source,
        mode: PROCESSING_MODE.PERSISTENT,
        receivedAt: this.#options.now(),
        body: { id: String(id), onlyWhenOver: true },
      });
    } catch (error) {
      // It is gone already.
      if (!(error instanceof PlatformError) || error.status !== 404) throw error;
    }
  }

  async #records(
    tenant: number,
    target: RetentionTarget,
    range: { after: string; through?: string },
  ): Promise<{ id: string; value: string }[]> {
    const { documents, history } = this.#options;
    const page = await documents.list(BULK_OPERATIONS, tenant, BULK_PREFIX, {
      ...(range.after === '' ? {} : { after: range.after }),
      limit: PART_RECORDS,
    });
    const found = page.filter(
      ({ id, value }) =>
        (range.through === undefined || id <= range.through) &&
        isSelected(JSON.parse(value) as StoredBulkOperation, target),
    );
    if (found.length === 0) return [];
    await this.#options.visible();
    const underWay = await history.bulkOperationsUnderWay(
      tenant,
      found.map(({ id }) => bulkIdOfKey(id)),
    );
    return found.filter(({ id }) => !underWay.has(bulkIdOfKey(id)));
  }

  async #nextRecords(
    tenant: number,
    target: RetentionTarget,
    after: string,
    others: readonly RetentionTarget[],
  ): Promise<RetentionChunk | undefined> {
    const found = await this.#records(tenant, target, { after });
    const options = { ...(after === '' ? {} : { after }), limit: PART_RECORDS };
    const page = await this.#options.documents.list(BULK_OPERATIONS, tenant, BULK_PREFIX, options);
    if (page.length === 0) return undefined;
    const count = found.filter(
      ({ value }) => !others.some((other) => isSelected(JSON.parse(value) as StoredBulkOperation, other)),
    ).length;
    return { through: page[page.length - 1].id, count };
  }

  async #removeRecords(
    tenant: number,
    target: RetentionTarget,
    range: { after: string; through: string },
    isWanted: IsWanted,
  ): Promise<number> {
    const found = await this.#records(tenant, target, range);
    if (found.length === 0) return 0;
    if (!(await isWanted())) return found.length;
    this.#options.requireRoom?.();
    const changes = found.map(
      ({ id, value }) => ({ collection: BULK_OPERATIONS, id, expected: value, value: undefined }) as const,
    );
    await changeRecords(this.#options, tenant, changes);
    return 0;
  }
}

/** Bulk operations have no type; their source is the group, their fragments are those of the prototype. */
function isSelected(stored: StoredBulkOperation, { before, type, source, fragmentType }: RetentionTarget): boolean {
  if (stored.status === 'ACTIVE' || stored.startsAt >= before || type !== ANY) return false;
  if (source !== ANY && stored.groupId !== source) return false;
  return fragmentType === ANY || splitMembers(stored.prototype).has(fragmentType);
}
