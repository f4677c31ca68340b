/**
 * Names of keys in Redis (docs/decisions/0003): those of one shard share a hash tag, so that one script on one server
 * covers them.
 */
import type { Collection } from '../../model/commands/collections.ts';

/** UTF-8 bytes of `<tenant>/<id>`; the same ids are refused as by the documents on LMDB. */
const FIELD_BYTES_MAX = 1_899;

/** Where the documents are that belong to no shard (`meta` of the cluster). */
export const CLUSTER_TAG = 'all';

export interface ShardKeys {
  readonly epoch: string;
  /** Hash: who writes (owner, take) and how many commits it has made. */
  readonly writer: string;
  readonly position: string;
  /** Hash `<tenant>/<id>` -> text. */
  documents(collection: Collection): string;
  /** Sorted set of the same fields, all with score 0. */
  index(collection: Collection): string;
}

export function keysOf(prefix: string, shard: number | typeof CLUSTER_TAG): ShardKeys {
  const tag = `{${prefix}:${shard}}`;
  return {
    epoch: `${tag}:epoch`,
    writer: `${tag}:writer`,
    position: `${tag}:position`,
    documents: (collection) => `${tag}:d:${collection}`,
    index: (collection) => `${tag}:i:${collection}`,
  };
}

export const fieldOf = (tenant: number, id: string): string => `${tenant}/${id}`;

/** @throws Error when the id is too long. */
export function checkedField(tenant: number, id: string): string {
  const field = fieldOf(tenant, id);
  if (field.length * 3 > FIELD_BYTES_MAX && Buffer.byteLength(field) > FIELD_BYTES_MAX) {
    throw new Error(`document key of ${Buffer.byteLength(field)} bytes; at most ${FIELD_BYTES_MAX}`);
  }
  return field;
}

/**
 * Byte order of two texts in UTF-8. Units from 0xD800 on are in another order there: surrogates stand for what is
 * behind 0xFFFF.
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    const isLeftSurrogate = left >= 0xd800 && left <= 0xdfff;
    const isRightSurrogate = right >= 0xd800 && right <= 0xdfff;
    return isLeftSurrogate === isRightSurrogate
      ? left - right
      : isLeftSurrogate
        ? right >= 0xe000
          ? 1
          : left - right
        : left >= 0xe000
          ? -1
          : left - right;
  }
  return a.length - b.length;
}

/** Bounds of ZRANGEBYLEX for the ids that begin with `prefix` and lie behind `after`. 0xFF is in no UTF-8 text. */
export function lexBounds(tenant: number, prefix: string, after: string | undefined): { min: string; max: Buffer } {
  const start = fieldOf(tenant, prefix);
  const isBehind = after !== undefined && compareUtf8(after, prefix) >= 0;
  return {
    min: isBehind ? `(${fieldOf(tenant, after)}` : `[${start}`,
    max: Buffer.concat([Buffer.from(`(${start}`), Buffer.of(0xff)]),
  };
}

/** The slot of a Redis Cluster for a key: CRC-16/XMODEM of its hash tag (Redis Cluster specification, "Hash tags"). */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  let crc = 0;
  for (const byte of Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1)
      crc = (crc & 0x8000) !== 0 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc & 16_383;
}
