/**
 * Binary form of a command in the journal. Little endian:
 * `u32 length (of all) | u8 shard | u8 kind | u8 mode | u8 flags | u32 tenant | f64 key | f64 receivedAt | [u32 pending
 * id length, text] | [u16 key length, text] | body`. `key` is 0 where the key is text. A MEASUREMENT's body is in
 * ingest/measurements/record.ts, all others are JSON.
 */
import type { Command } from '../../model/commands/command.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import { PlatformError } from '../../model/errors.ts';
import { applicableMode } from '../../model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';

export const SHARD_COUNT = 64;
export const RECORD_HEADER_BYTES = 28;
/** Of all kinds of records. */
const RECEIVED_AT = 20;
const FLAG_TEXT_KEY = 1;
const FLAG_PENDING = 2;
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
  const length = RECORD_HEADER_BYTES + (pending ? 2 + pending.length : 0) + (key ? 2 + key.length : 0) + body.length;
  const record = Buffer.allocUnsafe(length);
  record.writeUInt32LE(length, 0);
  record[4] = shardOf(command.tenant, command.key);
  record[5] = command.kind;
  record[6] = applicableMode(command.kind, command.mode);
  record[7] = (key ? FLAG_TEXT_KEY : 0) | (pending ? FLAG_PENDING : 0);
  record.writeUInt32LE(command.tenant, 8);
  record.writeDoubleLE(typeof command.key === 'number' ? command.key : 0, 12);
  record.writeDoubleLE(command.receivedAt, 20);
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
  const end = at + batch.readUInt32LE(at);
  const flags = batch[at + 7];
  let cursor = at + RECORD_HEADER_BYTES;
  const text = (): string => {
    const length = batch.readUInt16LE(cursor);
    const value = batch.toString('utf8', cursor + 2, cursor + 2 + length);
    cursor += 2 + length;
    return value;
  };
  const pendingId = flags & FLAG_PENDING ? text() : undefined;
  const key = flags & FLAG_TEXT_KEY ? text() : batch.readDoubleLE(at + 12);
  return {
    seq,
    shard: batch[at + 4],
    kind: batch[at + 5] as CommandKind,
    mode: batch[at + 6] as ProcessingMode,
    tenant: batch.readUInt32LE(at + 8),
    key,
    receivedAt: batch.readDoubleLE(at + 20),
    pendingId,
    body: JSON.parse(batch.toString('utf8', cursor, end)) as object,
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
  const record = batch.subarray(at, at + batch.readUInt32LE(at));
  const isPending = (record[7] & FLAG_PENDING) !== 0 && record.length >= RECORD_HEADER_BYTES + 2;
  const pendingEnd = isPending ? RECORD_HEADER_BYTES + 2 + record.readUInt16LE(RECORD_HEADER_BYTES) : 0;
  return {
    seq,
    shard: record[4],
    kind: record[5] as CommandKind,
    mode: record[6] as ProcessingMode,
    tenant: record.readUInt32LE(8),
    key: record.readDoubleLE(12),
    receivedAt: record.readDoubleLE(20),
    pendingId:
      isPending && pendingEnd <= record.length
        ? record.toString('utf8', RECORD_HEADER_BYTES + 2, pendingEnd)
        : undefined,
    body: { record: record.toString('base64') },
  };
}

/**
 * @returns ms since 1970, of a batch whose records can be counted: of measurements too, whose time of arrival is at the
 * same place.
 */
export function newestReceivedAt(batch: Buffer): number {
  let newest = 0;
  for (let at = 0; at < batch.length; at += batch.readUInt32LE(at)) {
    const receivedAt = batch.readDoubleLE(at + RECEIVED_AT);
    if (receivedAt > newest && receivedAt < Infinity) newest = receivedAt;
  }
  return newest;
}

/** Counts the records of a batch. @throws when a length leads out of the batch: the journal is damaged. */
export function countRecords(batch: Buffer): number {
  let count = 0;
  for (let at = 0; at < batch.length; count += 1) {
    const length = batch.readUInt32LE(at);
    if (length < RECORD_HEADER_BYTES || at + length > batch.length)
      throw new Error(`journal record of ${length} bytes at ${at} of ${batch.length}`);
    at += length;
  }
  return count;
}
