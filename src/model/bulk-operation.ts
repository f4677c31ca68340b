/**
 * Bulk operations (document 1 Bulk operation; document 4 section 5.2): what is stored of one, and what follows from it. Everything that the
 * ramp needs is in the record, so that it goes on where it was after a crash.
 */
import type { OperationStatus } from './operation.ts';

export const BULK_OPERATIONS = 'bulkOperation';
/** Operations are created until it is COMPLETED. */
export const BULK_STATUSES = ['ACTIVE', 'COMPLETED', 'DELETED'] as const;
export type BulkStatus = (typeof BULK_STATUSES)[number];
export const BULK_GENERAL_STATUSES = ['SCHEDULED', 'EXECUTING', 'EXECUTING_WITH_ERRORS', 'SUCCESSFUL', 'FAILED', 'CANCELED'] as const;
export type BulkGeneralStatus = (typeof BULK_GENERAL_STATUSES)[number];

/** Devices of one bulk operation; larger groups are refused. */
export const BULK_DEVICES_MAX = 100_000;
export const BULK_DEVICES_LIMIT = 'bulk-operations/devices';
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
  /** The operations that are being created: devices and ids. After a crash the same ones are created again, which has no effect. */
  readonly planned?: readonly (readonly [device: string, operation: string])[];
  /** Why it has no list: the group was deleted, or is too large. */
  readonly failure?: string;
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
const padded = (id: string): string => id.padStart(ID_DIGITS, '0');
export const bulkKey = (id: string): string => `${BULK_PREFIX}${padded(id)}`;
export const bulkActiveKey = (id: string): string => `${BULK_ACTIVE_PREFIX}${padded(id)}`;
export const bulkIdOfKey = (key: string): string => String(Number(key.slice(key.indexOf('\n') + 1)));
/** A part of the list of devices. */
export const bulkChunkPrefix = (id: string): string => `d\n${padded(id)}\n`;
export const bulkChunkKey = (id: string, chunk: number): string => `${bulkChunkPrefix(id)}${String(chunk).padStart(CHUNK_DIGITS, '0')}`;

export type OperationCounts = Readonly<Partial<Record<OperationStatus, number>>>;

/**
 * What became of the devices. What is not yet created is pending, a device that is gone has failed: the four parts always add up to `all`.
 * @param counts of the operations of the bulk operation; they may be newer than the record.
 */
export function bulkProgress(stored: StoredBulkOperation, counts: OperationCounts): BulkProgress {
  const { PENDING = 0, EXECUTING = 0, SUCCESSFUL = 0, FAILED = 0 } = counts;
  const seen = Math.max(PENDING + EXECUTING + SUCCESSFUL + FAILED, stored.done - stored.missing);
  const remaining = stored.status === 'DELETED' ? 0 : Math.max(0, stored.targets - stored.missing - seen);
  const pending = PENDING + remaining;
  const failed = FAILED + stored.missing;
  return { pending, failed, executing: EXECUTING, successful: SUCCESSFUL, all: pending + failed + EXECUTING + SUCCESSFUL };
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
export function dueOperations(stored: Pick<StoredBulkOperation, 'nextAt' | 'creationRamp'>, now: number, most: number): { count: number; nextAt: number } {
  const rampMs = stored.creationRamp * 1_000;
  const sinceAt = stored.nextAt ?? now;
  if (sinceAt > now) return { count: 0, nextAt: sinceAt };
  const fromAt = now - sinceAt > LATE_MS_MAX ? now : sinceAt;
  const count = rampMs <= 0 ? most : Math.min(most, Math.floor((now - fromAt) / rampMs) + 1);
  return { count, nextAt: rampMs <= 0 ? now : fromAt + count * rampMs };
}
