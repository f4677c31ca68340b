/**
 * Records of a tenant (options, applications, groups, …) as the resources read and change them: read, decide, compare
 * and set.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { COMMAND } from '../model/commands/kinds.ts';
import type { AuditEntry, RecordChange, RecordsChange, RecordsTotal } from '../model/commands/records.ts';
import type { RecordCollection } from '../model/commands/collections.ts';
import { PlatformError, refusedBy } from '../model/errors.ts';
import type { Principal } from '../model/access/principal.ts';
import { PROCESSING_MODE } from '../model/commands/processing-mode.ts';
import { withDigest } from '../model/commands/record-change.ts';
import { TENANT_KEY } from '../api/lists/data-delete.ts';
import type { Platform } from '../api/request/platform.ts';

/** Tenant number of records that belong to the whole server: tenants, applications. */
export const SERVER_WIDE = 0;
/**
 * How often a change is tried when somebody else was faster each time, with random pauses between them: about four
 * seconds in all.
 */
const TRIES_MAX = 40;
const PAUSE_FIRST_MS = 2;
const PAUSE_MAX_MS = 250;
const RETRIES_LIMIT = 'records/changes-at-once';
export const LIST_MAX = 100_000;

export interface StoredRecord {
  readonly id: string;
  readonly value: string;
}

/** In whose name records are read and changed: a request, or what goes on behind one. */
export interface Acting {
  readonly platform: Pick<Platform, 'documents' | 'commands' | 'tenants' | 'blobs' | 'now' | 'refusals'>;
  readonly principal: Pick<Principal, 'userName'>;
}

export async function readRecord(
  request: Acting,
  tenant: number,
  collection: RecordCollection,
  id: string,
): Promise<string | undefined> {
  return request.platform.documents.get(collection, tenant, id);
}

/** Records whose id begins with `prefix`, in byte order. */
export async function listRecords(
  request: Acting,
  tenant: number,
  collection: RecordCollection,
  prefix = '',
): Promise<StoredRecord[]> {
  return request.platform.documents.list(collection, tenant, prefix, { limit: LIST_MAX });
}

/** Whether somebody else has changed a record since it was read. */
export const isChangedMeanwhile = (error: unknown): boolean =>
  error instanceof PlatformError && error.code === 'general/changed-meanwhile';

/**
 * Runs `change`, which reads, decides and stores, again when somebody else changed one of its records meanwhile. The
 * pauses grow and are random, so that many who change the same record get out of each other's way.
 * @throws PlatformError 503 `records/changes-at-once`, never 409: nothing of what was sent is in conflict.
 */
export async function retried<Result>({ platform }: Acting, change: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change();
    } catch (error) {
      if (!isChangedMeanwhile(error)) throw error;
    }
    if (tries >= TRIES_MAX) {
      platform.refusals.count(RETRIES_LIMIT);
      throw refusedBy(RETRIES_LIMIT);
    }
    await pause(Math.random() * Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** tries));
  }
}

/**
 * The command has all new texts: together with its other members they may have 4 MiB, in a cluster 900 KiB.
 * @param totals sums that the change adds to, with their bounds.
 * @throws PlatformError `general/changed-meanwhile` when one of the records is not as expected, or that of a bound, or
 * 413 for more than a command takes; then nothing is changed.
 */
export async function changeRecords(
  { platform }: Acting,
  tenant: number,
  changes: readonly RecordChange[],
  audits: readonly AuditEntry[] = [],
  totals: readonly RecordsTotal[] = [],
): Promise<void> {
  const body: RecordsChange = {
    changes: changes.map(withDigest),
    ...(audits.length > 0 ? { audits } : {}),
    ...(totals.length > 0 ? { totals } : {}),
  };
  try {
    await platform.commands.request({
      kind: COMMAND.RECORDS_CHANGE,
      tenant,
      key: TENANT_KEY,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: platform.now(),
      body,
    });
  } catch (error) {
    const bounds = totals.flatMap((total) => Object.values(total.bounds));
    const bound = error instanceof PlatformError ? bounds.find((one) => one.error === error.code) : undefined;
    if (bound !== undefined) platform.refusals.count(bound.limit);
    throw error;
  }
}

/**
 * Reads one record, lets `decide` make the next text (undefined deletes) and stores it; again when somebody else
 * changed it meanwhile. `decide` may throw PlatformError to refuse. @returns what was stored.
 */
export function updateRecord(
  request: Acting,
  tenant: number,
  collection: RecordCollection,
  id: string,
  decide: (current: string | undefined) => string | undefined | Promise<string | undefined>,
  audits: readonly AuditEntry[] = [],
): Promise<string | undefined> {
  return retried(request, async () => {
    const expected = await readRecord(request, tenant, collection, id);
    const value = await decide(expected);
    if (value !== expected) await changeRecords(request, tenant, [{ collection, id, expected, value }], audits);
    return value;
  });
}
