/**
 * Where each part of a record of the journal lies: the only file that knows the places. Little endian.
 *
 * Header of all kinds: `u32 length (of all) | u8 shard | u8 kind | u8 mode | u8 flags | u32 tenant | f64 key |
 * f64 receivedAt`. `key` is 0 where the key is text.
 *
 * JSON command: `header | [u16 pending id length, text] | [u16 key length, text] | body`.
 *
 * MEASUREMENT, whose key is the source: `header | f64 id | f64 time | u16 value count | u16 type length (0xffff: the
 * type is the first fragment) | u32 document length | type | document | values | [f64 form]`, a value being `f64 value |
 * u16 fragment length | u16 series length | u16 unit length | fragment | series | unit`.
 *
 * Records lie one behind the other. To visit them without allocating:
 * `for (let at = 0; at < records.length; at = nextAt(records, at))`.
 */
import type { CommandKind } from '../../model/commands/kinds.ts';
import type { ProcessingMode } from '../../model/commands/processing-mode.ts';

export const OFFSET_LENGTH = 0;
export const OFFSET_SHARD = 4;
export const OFFSET_KIND = 5;
export const OFFSET_MODE = 6;
export const OFFSET_FLAGS = 7;
export const OFFSET_TENANT = 8;
export const OFFSET_KEY = 12;
export const OFFSET_RECEIVED_AT = 20;
export const RECORD_HEADER_BYTES = 28;

/** Flags of a JSON command. */
export const FLAG_TEXT_KEY = 1;
export const FLAG_PENDING = 2;
/** Before each text of a JSON command. */
export const TEXT_LENGTH_BYTES = 2;

/** The flag of a MEASUREMENT that ends with its form. */
export const FLAG_FORM = 1;
export const FORM_BYTES = 8;
export const TYPE_IS_FRAGMENT = 0xffff;
export const OFFSET_ID = RECORD_HEADER_BYTES;
export const OFFSET_TIME = RECORD_HEADER_BYTES + 8;
export const OFFSET_COUNT = RECORD_HEADER_BYTES + 16;
export const OFFSET_TYPE_LENGTH = RECORD_HEADER_BYTES + 18;
export const OFFSET_DOCUMENT_LENGTH = RECORD_HEADER_BYTES + 20;
export const OFFSET_TEXTS = RECORD_HEADER_BYTES + 24;

/** In a value of a MEASUREMENT; its number comes first. */
export const VALUE_FRAGMENT_LENGTH = 8;
export const VALUE_SERIES_LENGTH = 10;
export const VALUE_UNIT_LENGTH = 12;
/** Before the texts of one value. */
export const VALUE_HEADER_BYTES = 14;

/** Of the record at `at`, with its header. */
export const lengthAt = (records: Buffer, at: number): number => records.readUInt32LE(at + OFFSET_LENGTH);
/** The offset behind the record at `at`. */
export const nextAt = (records: Buffer, at: number): number => at + records.readUInt32LE(at + OFFSET_LENGTH);
export const shardAt = (records: Buffer, at: number): number => records[at + OFFSET_SHARD];
export const kindAt = (records: Buffer, at: number): CommandKind => records[at + OFFSET_KIND] as CommandKind;
export const modeAt = (records: Buffer, at: number): ProcessingMode => records[at + OFFSET_MODE] as ProcessingMode;
export const flagsAt = (records: Buffer, at: number): number => records[at + OFFSET_FLAGS];
export const tenantAt = (records: Buffer, at: number): number => records.readUInt32LE(at + OFFSET_TENANT);
/** The key where it is a number: the source of a MEASUREMENT. */
export const keyAt = (records: Buffer, at: number): number => records.readDoubleLE(at + OFFSET_KEY);
/** ms since 1970. */
export const receivedAtAt = (records: Buffer, at: number): number => records.readDoubleLE(at + OFFSET_RECEIVED_AT);
/** Rows that the MEASUREMENT record at `at` makes: one without a value has a row too. */
export const rowCountAt = (records: Buffer, at: number): number => Math.max(1, records.readUInt16LE(at + OFFSET_COUNT));
