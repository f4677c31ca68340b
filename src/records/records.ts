/**
 * Records of a tenant (options, applications, groups, …): read them, decide, and store with compare and set. Every
 * writer of records uses this file.
 */
import { UNATTRIBUTED } from '../ports/refusals.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from '../model/commands/command.ts';
import { COMMAND } from '../model/commands/kinds.ts';
import type { AuditEntry, PrefixBound, RecordChange, RecordsChange, RecordsTotal } from '../model/commands/records.ts';
import type { RecordCollection } from '../model/commands/collections.ts';
import { PlatformError, refusedBy } from '../model/errors.ts';
import { PROCESSING_MODE } from '../model/commands/processing-mode.ts';
import { withDigest } from '../model/commands/record-change.ts';
import type { DocumentReader } from '../ports/document-reader.ts';
import type { Refusals } from '../ports/refusals.ts';
import { TENANT_KEY } from '../model/commands/keys.ts';

/** Tries of a change that others overtake each time, with random pauses in between: about 4 s in all. */
const TRIES_MAX = 40;
const PAUSE_FIRST_MS = 2;
const PAUSE_MAX_MS = 250;
const RETRIES_LIMIT = 'records/changes-at-once';
export const LIST_MAX = 100_000;

export interface StoredRecord {
  readonly id: string;
  readonly value: string;
}

/** What reads records. */
export interface RecordReader {
  readonly documents: Pick<DocumentReader, 'get' | 'list'>;
}

/** What changes records. */
export interface RecordWriter {
  readonly commands: { request(command: Command): Promise<unknown> };
  /** Milliseconds since 1970. */
  now(): number;
}

/** What counts the changes that a bound refuses. */
export interface Counting {
  readonly refusals: Refusals;
}

/** What reads records, decides and stores them again. */
export type RecordPorts = RecordReader & RecordWriter & Counting;

export async function readRecord(
  { documents }: RecordReader,
  tenant: number,
  collection: RecordCollection,
  id: string,
): Promise<string | undefined> {
  return documents.get(collection, tenant, id);
}

/** Records whose id begins with `prefix`, in byte order. */
export async function listRecords(
  { documents }: RecordReader,
  tenant: number,
  collection: RecordCollection,
  prefix = '',
): Promise<StoredRecord[]> {
  return documents.list(collection, tenant, prefix, { limit: LIST_MAX });
}

/** Whether another writer has changed a record since it was read. */
export const isChangedMeanwhile = (error: unknown): boolean =>
  error instanceof PlatformError && error.code === 'general/changed-meanwhile';

/**
 * Runs `change`, which reads, decides and stores, again when another writer changed one of its records meanwhile. The
 * pauses grow and are random, so that many writers of one record get out of each other's way.
 * @param wait resolves after the ms of a pause.
 * @throws PlatformError 503 `records/changes-at-once`, never 409: nothing of what was sent is in conflict.
 */
export async function retried<Result>(
  { refusals }: Counting,
  change: () => Promise<Result>,
  wait: (ms: number) => Promise<unknown> = pause,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change();
    } catch (error) {
      if (!isChangedMeanwhile(error)) throw error;
    }
    if (tries >= TRIES_MAX) {
      refusals.count(RETRIES_LIMIT, UNATTRIBUTED);
      throw refusedBy(RETRIES_LIMIT);
    }
    await wait(Math.random() * Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** tries));
  }
}

/**
 * The command has all new texts: together with its other members they may have 4 MiB, in a cluster 900 KiB.
 * @param totals sums that the change adds to, with their bounds (records/totals.ts). @param prefixes bounds that it
 * holds to besides.
 * @throws PlatformError `general/changed-meanwhile` when one of the records is not as expected, or that of a bound, or
 * 413 for more than a command takes; then nothing is changed.
 */
export async function changeRecords(
  ports: RecordWriter,
  tenant: number,
  changes: readonly RecordChange[],
  audits: readonly AuditEntry[] = [],
  totals: readonly RecordsTotal[] = [],
  prefixes: readonly PrefixBound[] = [],
): Promise<void> {
  const body: RecordsChange = {
    changes: changes.map(withDigest),
    ...(audits.length > 0 ? { audits } : {}),
    ...(totals.length > 0 ? { totals } : {}),
    ...(prefixes.length > 0 ? { prefixes } : {}),
  };
  await ports.commands.request({
    kind: COMMAND.RECORDS_CHANGE,
    tenant,
    key: TENANT_KEY,
    mode: PROCESSING_MODE.PERSISTENT,
    receivedAt: ports.now(),
    body,
  });
}

/** An entry of the audit log about what changes no record. */
export const writeAudit = (ports: RecordWriter, tenant: number, entry: AuditEntry): Promise<void> =>
  changeRecords(ports, tenant, [], [entry]);

/** As `changeRecords`. @returns false when another writer was faster; then nothing is changed. */
export async function tryChange(...change: Parameters<typeof changeRecords>): Promise<boolean> {
  try {
    await changeRecords(...change);
    return true;
  } catch (error) {
    if (!isChangedMeanwhile(error)) throw error;
    return false;
  }
}

/**
 * Reads one record, lets `decide` make the next text (undefined deletes) and stores it; again when another writer
 * changed it meanwhile. `decide` may throw PlatformError to refuse. @returns what was stored.
 */
export function updateRecord(
  ports: RecordPorts,
  tenant: number,
  collection: RecordCollection,
  id: string,
  decide: (current: string | undefined) => string | undefined | Promise<string | undefined>,
  audits: readonly AuditEntry[] = [],
): Promise<string | undefined> {
  return retried(ports, async () => {
    const expected = await readRecord(ports, tenant, collection, id);
    const value = await decide(expected);
    if (value !== expected) await changeRecords(ports, tenant, [{ collection, id, expected, value }], audits);
    return value;
  });
}
