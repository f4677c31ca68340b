/**
 * Batches of the journal that cannot be read. Their records go into the quarantine, and records without effect take
 * their sequences, so that the rest of the journal is handled. Without this a damaged batch ends the process at every
 * start.
 */
import { parseProgress, PROGRESS_KEY } from '../../actors/projector-memory.ts';
import {
  OFFSET_KIND,
  OFFSET_LENGTH,
  OFFSET_MODE,
  OFFSET_RECEIVED_AT,
  RECORD_HEADER_BYTES,
  lengthAt,
  nextAt,
  receivedAtAt,
} from '../../ingest/journal/record-layout.ts';
import type { InsertIntent } from '../../ingest/projector/progress.ts';
import type { Quarantine } from '../../ports/stores/quarantine.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { LmdbDocuments } from './documents.ts';
import { openLmdb } from './environment.ts';
import type { LmdbEnvironment } from './environment.ts';

/**
 * Sequences that one damaged range may take: 300 MB of records without effect. More means that a key of the journal is
 * damaged.
 */
const LOST_MAX = 10_000_000;
/** Records without effect of one batch. */
const BATCH_RECORDS = 100_000;

export interface DamagedBatch {
  /** Key of the batch in the journal. */
  readonly batchSeq: number;
  /** Sequences of the records that cannot be read; what came before them in the batch can. */
  readonly from: number;
  readonly through: number;
  readonly readable: Buffer;
  /** What stands in the place of these records. */
  readonly bytes: Buffer;
}

/** Sets aside what cannot be read, before anything else opens the journal. @returns it in words. */
export async function repairJournal(directory: string, quarantine: Quarantine): Promise<string[]> {
  const environment = openLmdb(directory);
  try {
    const damaged = await damagedBatches(environment);
    await setDamagedAside(environment, damaged, quarantine);
    return damaged.map(describeDamage);
  } finally {
    await environment.close();
  }
}

/** Batches whose records do not reach the next one, oldest first. Reads the whole journal. */
export async function damagedBatches(environment: LmdbEnvironment): Promise<DamagedBatch[]> {
  const found: DamagedBatch[] = [];
  let last: { batchSeq: number; value: Buffer } | undefined;
  const look = (nextSeq: number | undefined, knownSeq: number): void => {
    if (last === undefined) return;
    const { batchSeq, value } = last;
    const { count, end } = readableRecords(value, nextSeq === undefined ? Infinity : nextSeq - batchSeq);
    const through =
      nextSeq === undefined ? Math.max(batchSeq + count - (end < value.length ? 0 : 1), knownSeq) : nextSeq - 1;
    if (end === value.length && batchSeq + count - 1 >= through) return;
    found.push({
      batchSeq,
      from: batchSeq + count,
      through,
      readable: Buffer.from(value.subarray(0, end)),
      bytes: Buffer.from(value.subarray(end)),
    });
  };
  for (const { key, value } of environment.journal.getRange({ snapshot: false })) {
    look(key, 0);
    last = { batchSeq: key, value: Buffer.from(value) };
  }
  look(undefined, await knownSequence(environment));
  return found;
}

/**
 * Sets the batches aside and makes the journal readable. Repeatable at any point. @throws Error when a range is too
 * large, or the quarantine is full.
 */
async function setDamagedAside(
  environment: LmdbEnvironment,
  damaged: readonly DamagedBatch[],
  quarantine: Quarantine,
): Promise<void> {
  for (const batch of damaged) {
    const { from, through, bytes } = batch;
    const lost = through - from + 1;
    if (lost > LOST_MAX)
      throw new Error(`the journal has no records ${from} to ${through}, more than ${LOST_MAX}: restore a backup`);
    await quarantine.add({
      kind: 'batch',
      table: 'journal',
      seq: from,
      shard: 0,
      id: through,
      position: from - 1,
      code: 0,
      error: describeDamage(batch),
      row: { from, through, bytes: bytes.toString('base64') },
    });
    await replace(environment, batch);
  }
}

export const describeDamage = ({ batchSeq, from, through, bytes }: DamagedBatch): string =>
  `records ${from} to ${through} of the journal (${bytes.length} bytes in batch ${batchSeq}) cannot be read`;

/** In one transaction: the journal never lacks a sequence. */
async function replace(
  { journal }: LmdbEnvironment,
  { batchSeq, from, through, readable }: DamagedBatch,
): Promise<void> {
  const receivedAt = lastReceivedAt(readable);
  await journal.batch(() => {
    for (let first = from; first <= through; first += BATCH_RECORDS) {
      const records = withoutEffect(Math.min(BATCH_RECORDS, through - first + 1), receivedAt);
      if (first === from && readable.length > 0) void journal.put(batchSeq, Buffer.concat([readable, records]));
      else void journal.put(first, records);
    }
    // More than the next batch leaves room for: only what is readable stays.
    if (through < from) void journal.put(batchSeq, readable);
  });
}

/** Measurements that are not stored: handled by nothing. */
function withoutEffect(count: number, receivedAt: number): Buffer {
  const records = Buffer.alloc(count * RECORD_HEADER_BYTES);
  for (let at = 0; at < records.length; at += RECORD_HEADER_BYTES) {
    records.writeUInt32LE(RECORD_HEADER_BYTES, at + OFFSET_LENGTH);
    records[at + OFFSET_KIND] = COMMAND.MEASUREMENT;
    records[at + OFFSET_MODE] = PROCESSING_MODE.TRANSIENT;
    records.writeDoubleLE(receivedAt, at + OFFSET_RECEIVED_AT);
  }
  return records;
}

function lastReceivedAt(records: Buffer): number {
  let receivedAt = 0;
  for (let at = 0; at < records.length; at = nextAt(records, at)) receivedAt = receivedAtAt(records, at);
  return receivedAt;
}

/** Whole records from the beginning, at most `most`, and where they end. */
function readableRecords(batch: Buffer, most: number): { count: number; end: number } {
  let count = 0;
  let end = 0;
  while (count < most && end + RECORD_HEADER_BYTES <= batch.length) {
    const length = lengthAt(batch, end);
    if (length < RECORD_HEADER_BYTES || end + length > batch.length) break;
    end += length;
    count += 1;
  }
  return { count, end };
}

/** The last sequence that the documents know: numbering must not go back behind it. */
async function knownSequence(environment: LmdbEnvironment): Promise<number> {
  const documents = new LmdbDocuments(environment);
  const { position, intent } = parseProgress<InsertIntent>(documents.get('meta', 0, PROGRESS_KEY));
  return Math.max(documents.position(), position, intent?.lastSeq ?? 0);
}
