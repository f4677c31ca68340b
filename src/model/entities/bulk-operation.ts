/**
 * Bulk operations (docs/spec/bulk-operations.md): what is stored of one, and what follows from it. Everything that the
 * ramp needs is in the record, so that it goes on where it was after a crash.
 */
import type { OperationStatus } from './operation.ts';

export const BULK_OPERATIONS = 'bulkOperation';
/** Operations are created until it is COMPLETED. */
const BULK_STATUSES = ['ACTIVE', 'COMPLETED', 'DELETED'] as const;
export type BulkStatus = (typeof BULK_STATUSES)[number];
export const BULK_GENERAL_STATUSES = [
  'SCHEDULED',
  'EXECUTING',
  'EXECUTING_WITH_ERRORS',
  'SUCCESSFUL',
  'FAILED',
  'CANCELED',
] as const;
export type BulkGeneralStatus = (typeof BULK_GENERAL_STATUSES)[number];

/** Devices of one bulk operation; larger groups are refused. */
export const BULK_DEVICES_MAX = 100_000;
export const BULK_DEVICES_LIMIT = 'bulk-operations/devices';
/** Those of one tenant that are not over: the ramps of all of them are kept in memory. */
export const BULK_ACTIVE_MAX = 1_000;
export const BULK_ACTIVE_LIMIT = 'bulk-operations/active';
/** Those of one tenant whose operations are counted until they are over; of more the oldest are given up. */
export const BULK_WATCHED_MAX = 10_000;
export const BULK_WATCHED_LIMIT = 'bulk-operations/watched';
/** UTF-8 bytes of a prototype, and of all further members: each operation, and each page of a list, has them. */
export const BULK_TEXT_BYTES_MAX = 64 * 1024;
export const BULK_TEXT_LIMIT = 'bulk-operations/text-bytes';
/** Devices of one record of the list. */
export const BULK_CHUNK_DEVICES = 1_000;

export interface StoredBulkOperation {
  readonly id: string;
  /** Who made it: the user of its operations. */
  readonly owner: string;
  readonly groupId?: string;
  readonly failedParentId?: string;
  /** As sent. */
  readonly startDate: string;
  /** ms since 1970. */
  readonly startsAt: number;
  /** Seconds between two operations. */
  readonly creationRamp: number;
  /** JSON text. */
  readonly prototype: string;
  /** JSON text of an object: `note` and further members. */
  readonly fragments: string;
  readonly status: BulkStatus;
  /** Devices: those of the group now, until it starts; then the length of the list. */
  readonly targets: number;
  /** When the next operation is due, ms since 1970. Undefined until the list of devices is made. */
  readonly nextAt?: number;
  /** Devices of the list that are done. */
  readonly done: number;
  /** Those of them that were deleted before their operation was created. */
  readonly missing: number;
  /**
   * The operations that are being created: devices and ids. After a crash the same ones are created again, which has no
   * effect.
   */
  readonly planned?: readonly (readonly [device: string, operation: string])[];
  /** Why it has no list: the group was deleted, or is too large. */
  readonly failure?: string;
  /**
   * What became of its operations when they were counted last: those that are deleted afterwards stay in the progress.
   */
  readonly counts?: OperationCounts;
}

export interface BulkProgress {
  readonly pending: number;
  readonly failed: number;
  readonly executing: number;
  readonly successful: number;
  readonly all: number;
}

const ID_DIGITS = 16;
const CHUNK_DIGITS = 6;
export const BULK_PREFIX = 'o\n';
/** Those that have something to do. */
export const BULK_ACTIVE_PREFIX = 'a\n';
/** Those of which no operation is created any more, while some are not over: their counts are kept up to date. */
export const BULK_WATCHED_PREFIX = 'w\n';
/**
 * The id of the one that was made last: each new one changes it, so that two at once cannot both be the last that there
 * is room for.
 */
export const BULK_LAST_KEY = 'last';
const padded = (id: string): string => id.padStart(ID_DIGITS, '0');
export const bulkKey = (id: string): string => `${BULK_PREFIX}${padded(id)}`;
export const bulkActiveKey = (id: string): string => `${BULK_ACTIVE_PREFIX}${padded(id)}`;
export const bulkWatchedKey = (id: string): string => `${BULK_WATCHED_PREFIX}${padded(id)}`;
export const bulkIdOfKey = (key: string): string => String(Number(key.slice(key.indexOf('\n') + 1)));
/** A part of the list of devices. */
export const bulkChunkPrefix = (id: string): string => `d\n${padded(id)}\n`;
export const bulkChunkKey = (id: string, chunk: number): string =>
  `${bulkChunkPrefix(id)}${String(chunk).padStart(CHUNK_DIGITS, '0')}`;

export type OperationCounts = Readonly<Partial<Record<OperationStatus, number>>>;

/**
 * In the order in which operations that are gone are looked for: those that are over go first, retention deletes no
 * others.
 */
const COUNTED = ['FAILED', 'SUCCESSFUL', 'EXECUTING', 'PENDING'] as const;
const sumOf = (counts: OperationCounts): number => COUNTED.reduce((sum, status) => sum + (counts[status] ?? 0), 0);

/**
 * Counts with the operations that were deleted. How many are gone follows from the number that was created; of which
 * status they were, from what was counted before: one that was not over then has failed, as a device that is gone has.
 * @param live counts of the operations that are there.
 * @param isAllSeen all that were created had been seen by the history when it counted: what was not counted before
 * it was deleted has failed, too.
 */
export function countsWithDeleted(
  { done, missing, counts: before = {} }: Pick<StoredBulkOperation, 'done' | 'missing' | 'counts'>,
  live: OperationCounts,
  isAllSeen = false,
): OperationCounts {
  // Of one that was cancelled more may have been counted than were ticked off.
  let gone = Math.max(0, Math.max(done - missing, sumOf(before)) - sumOf(live));
  if (gone === 0) return live;
  const counts: Partial<Record<OperationStatus, number>> = { ...live };
  for (const status of COUNTED) {
    const deleted = Math.min(gone, Math.max(0, (before[status] ?? 0) - (live[status] ?? 0)));
    const became = status === 'SUCCESSFUL' ? status : 'FAILED';
    if (deleted > 0) counts[became] = (counts[became] ?? 0) + deleted;
    gone -= deleted;
  }
  if (isAllSeen && gone > 0) counts.FAILED = (counts.FAILED ?? 0) + gone;
  return counts;
}

/**
 * Whether no operation is created any more and all are over, as counted.
 * @param isAllSeen all that were created had been seen by the history when it counted: what is missing was deleted
 * before anybody counted it.
 */
export function isOverAsCounted(stored: StoredBulkOperation, counts: OperationCounts, isAllSeen = false): boolean {
  const isAll = isAllSeen || sumOf(counts) >= stored.done - stored.missing;
  return stored.status !== 'ACTIVE' && isAll && (counts.PENDING ?? 0) + (counts.EXECUTING ?? 0) === 0;
}

/**
 * What became of the devices. What is not yet created, or not yet seen, is pending, a device that is gone has failed:
 * the four parts always add up to `all`.
 * @param live counts of the operations that are there; they may be newer than the record. @param isAllSeen as in
 * `countsWithDeleted`.
 */
export function bulkProgress(stored: StoredBulkOperation, live: OperationCounts, isAllSeen = false): BulkProgress {
  const counts = countsWithDeleted(stored, live, isAllSeen);
  const { PENDING = 0, EXECUTING = 0, SUCCESSFUL = 0, FAILED = 0 } = counts;
  const created = Math.max(sumOf(counts), stored.done - stored.missing);
  const remaining = stored.status === 'DELETED' ? 0 : Math.max(0, stored.targets - stored.missing - created);
  const pending = PENDING + created - sumOf(counts) + remaining;
  const failed = FAILED + stored.missing;
  return {
    pending,
    failed,
    executing: EXECUTING,
    successful: SUCCESSFUL,
    all: pending + failed + EXECUTING + SUCCESSFUL,
  };
}

export function bulkGeneralStatus(stored: StoredBulkOperation, progress: BulkProgress): BulkGeneralStatus {
  if (stored.status === 'DELETED') return 'CANCELED';
  if (stored.failure !== undefined) return 'FAILED';
  if (stored.nextAt === undefined) return 'SCHEDULED';
  const isOver = stored.status === 'COMPLETED' && progress.pending + progress.executing === 0;
  if (isOver) return progress.failed > 0 ? 'FAILED' : 'SUCCESSFUL';
  return progress.failed > 0 ? 'EXECUTING_WITH_ERRORS' : 'EXECUTING';
}

/** Someone who is later than this begins a new ramp: no burst after a time in which the server did not run. */
const LATE_MS_MAX = 2_000;

/** How many operations are due, and when the next one is. @param most in one step. */
export function dueOperations(
  stored: Pick<StoredBulkOperation, 'nextAt' | 'creationRamp'>,
  now: number,
  most: number,
): { count: number; nextAt: number } {
  const rampMs = stored.creationRamp * 1_000;
  const sinceAt = stored.nextAt ?? now;
  if (sinceAt > now) return { count: 0, nextAt: sinceAt };
  const fromAt = now - sinceAt > LATE_MS_MAX ? now : sinceAt;
  const count = rampMs <= 0 ? most : Math.min(most, Math.floor((now - fromAt) / rampMs) + 1);
  return { count, nextAt: rampMs <= 0 ? now : fromAt + count * rampMs };
}
