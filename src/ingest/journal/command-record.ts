/**
 * Commands as records of the journal (record-layout.ts) and back. A MEASUREMENT is written and read by
 * ingest/measurements/record.ts, all others have JSON as their body.
 */
import type { Command } from '../../model/commands/command.ts';
import { PlatformError } from '../../model/errors.ts';
import { applicableMode } from '../../model/commands/processing-mode.ts';
import {
  FLAG_PENDING,
  FLAG_TEXT_KEY,
  OFFSET_FLAGS,
  OFFSET_KEY,
  OFFSET_KIND,
  OFFSET_LENGTH,
  OFFSET_MODE,
  OFFSET_RECEIVED_AT,
  OFFSET_SHARD,
  OFFSET_TENANT,
  RECORD_HEADER_BYTES,
  TEXT_LENGTH_BYTES,
  flagsAt,
  keyAt,
  kindAt,
  lengthAt,
  modeAt,
  nextAt,
  receivedAtAt,
  shardAt,
  tenantAt,
} from './record-layout.ts';

export const SHARD_COUNT = 64;
/** Text keys have a length of 16 bits. */
const KEY_BYTES_MAX = 0xffff;

/**
 * `shard = hash(tenant, source) mod 64`, a fixed number (design 1). Knuth's multiplicative hash on both halves of the
 * id.
 */
export function shardOfId(tenant: number, id: number): number {
  const low = id >>> 0;
  const high = (id / 0x100000000) >>> 0;
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b) ^ Math.imul(tenant, 0xc2b2ae35), 0x9e3779b1);
  return (mixed >>> 26) & (SHARD_COUNT - 1);
}

export function shardOfText(tenant: number, key: string): number {
  let hash = 0x811c9dc5 ^ tenant;
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return (hash >>> 26) & (SHARD_COUNT - 1);
}

export const shardOf = (tenant: number, key: number | string): number =>
  typeof key === 'number' ? shardOfId(tenant, key) : shardOfText(tenant, key);

/** A text key whose actor is of the shard, for what concerns a shard and no entity. */
export function textKeyIn(tenant: number, shard: number): string {
  for (let number = 0; ; number += 1) if (shardOfText(tenant, `q:${number}`) === shard) return `q:${number}`;
}

/** A command read from the journal. */
export interface JournalCommand extends Command {
  readonly seq: number;
  readonly shard: number;
  /** Set where another command sent this one: its entry in `pending` (see actors/runtime/follow-ups.ts). */
  readonly pendingId: string | undefined;
}

/** Encodes a JSON command. @param pendingId see JournalCommand. @throws PlatformError when the key is too long. */
export function encodeCommand(command: Command, pendingId?: string): Buffer {
  const body = Buffer.from(JSON.stringify(command.body));
  const pending = pendingId === undefined ? undefined : Buffer.from(pendingId);
  const key = typeof command.key === 'string' ? Buffer.from(command.key) : undefined;
  if (key && key.length > KEY_BYTES_MAX) {
    const limit = `at most ${KEY_BYTES_MAX} bytes`;
    throw new PlatformError('validation/invalid-field', {
      area: 'general',
      name: 'id',
      value: command.key as string,
      limit,
    });
  }
  const length =
    RECORD_HEADER_BYTES +
    (pending ? TEXT_LENGTH_BYTES + pending.length : 0) +
    (key ? TEXT_LENGTH_BYTES + key.length : 0) +
    body.length;
  const record = Buffer.allocUnsafe(length);
  record.writeUInt32LE(length, OFFSET_LENGTH);
  record[OFFSET_SHARD] = shardOf(command.tenant, command.key);
  record[OFFSET_KIND] = command.kind;
  record[OFFSET_MODE] = applicableMode(command.kind, command.mode);
  record[OFFSET_FLAGS] = (key ? FLAG_TEXT_KEY : 0) | (pending ? FLAG_PENDING : 0);
  record.writeUInt32LE(command.tenant, OFFSET_TENANT);
  record.writeDoubleLE(typeof command.key === 'number' ? command.key : 0, OFFSET_KEY);
  record.writeDoubleLE(command.receivedAt, OFFSET_RECEIVED_AT);
  let at = RECORD_HEADER_BYTES;
  for (const text of [pending, key]) {
    if (!text) continue;
    at = record.writeUInt16LE(text.length, at);
    at += text.copy(record, at);
  }
  body.copy(record, at);
  return record;
}

/** Decodes the JSON command at `at`. Copies what it keeps. Not for MEASUREMENT. */
export function decodeCommand(batch: Buffer, at: number, seq: number): JournalCommand {
  const flags = flagsAt(batch, at);
  let cursor = at + RECORD_HEADER_BYTES;
  const text = (): string => {
    const length = batch.readUInt16LE(cursor);
    const start = cursor + TEXT_LENGTH_BYTES;
    cursor = start + length;
    return batch.toString('utf8', start, cursor);
  };
  const pendingId = flags & FLAG_PENDING ? text() : undefined;
  const key = flags & FLAG_TEXT_KEY ? text() : keyAt(batch, at);
  return {
    seq,
    shard: shardAt(batch, at),
    kind: kindAt(batch, at),
    mode: modeAt(batch, at),
    tenant: tenantAt(batch, at),
    key,
    receivedAt: receivedAtAt(batch, at),
    pendingId,
    body: JSON.parse(batch.toString('utf8', cursor, nextAt(batch, at))) as object,
  };
}

/**
 * As decodeCommand; undefined for one that cannot be decoded. For projectors: the actors have set it aside, and a
 * DELETE deletes nothing.
 */
export function readableCommand(batch: Buffer, at: number, seq: number): JournalCommand | undefined {
  try {
    return decodeCommand(batch, at, seq);
  } catch {
    // Told of by the actors.
    return undefined;
  }
}

/**
 * What stands for a command that cannot be decoded, so that it can be set aside: its header, and the whole record as
 * the body. `pendingId` where it can be read.
 */
export function undecodable(batch: Buffer, at: number, seq: number): JournalCommand {
  const record = batch.subarray(at, nextAt(batch, at));
  const pendingStart = RECORD_HEADER_BYTES + TEXT_LENGTH_BYTES;
  const isPending = (flagsAt(record, 0) & FLAG_PENDING) !== 0 && record.length >= pendingStart;
  const pendingEnd = isPending ? pendingStart + record.readUInt16LE(RECORD_HEADER_BYTES) : 0;
  return {
    seq,
    shard: shardAt(record, 0),
    kind: kindAt(record, 0),
    mode: modeAt(record, 0),
    tenant: tenantAt(record, 0),
    key: keyAt(record, 0),
    receivedAt: receivedAtAt(record, 0),
    pendingId: isPending && pendingEnd <= record.length ? record.toString('utf8', pendingStart, pendingEnd) : undefined,
    body: { record: record.toString('base64') },
  };
}

/**
 * @returns ms since 1970, of a batch whose records can be counted: of measurements too, whose time of arrival is at the
 * same place.
 */
export function newestReceivedAt(batch: Buffer): number {
  let newest = 0;
  for (let at = 0; at < batch.length; at = nextAt(batch, at)) {
    const receivedAt = receivedAtAt(batch, at);
    if (receivedAt > newest && receivedAt < Infinity) newest = receivedAt;
  }
  return newest;
}

/** Counts the records of a batch. @throws when a length leads out of the batch: the journal is damaged. */
export function countRecords(batch: Buffer): number {
  let count = 0;
  for (let at = 0; at < batch.length; count += 1) {
    const length = lengthAt(batch, at);
    if (length < RECORD_HEADER_BYTES || at + length > batch.length)
      throw new Error(`journal record of ${length} bytes at ${at} of ${batch.length}`);
    at += length;
  }
  return count;
}
