/**
 * Protocol buffers as bytes: fields are read one by one and copied unseen, so that a model of hundreds of MB is looked
 * through without a second copy of it. docs/spec/scoring.md#onnx-models
 */

/** The bytes are not what they claim to be. */
export class WireError extends Error {}

/** Wire types: 0 and 2 are the ones that ONNX reads here; 1 and 5 have a fixed length. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

/** A 64-bit number takes at most this many bytes. */
const VARINT_BYTES_MAX = 10;

export interface Field {
  readonly number: number;
  readonly type: number;
  /** The whole field, tag and length included: what is copied when the field stays as it is. */
  readonly start: number;
  readonly end: number;
  /** Where the content of a field with a length begins; `end` ends it. */
  readonly contentStart: number;
  /** Of a varint; 0 for other types. */
  readonly value: bigint;
}

/** Reads the fields of one message, which lies between two places of `bytes`. The fields alias it. */
export class WireReader {
  readonly bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** The next field, in order; undefined at the end. @throws WireError where the bytes end within a field. */
  next(): Field | undefined {
    if (this.#at >= this.#end) return undefined;
    const start = this.#at;
    const tag = this.#varint();
    const number = Number(tag >> 3n);
    const type = Number(tag & 7n);
    if (number < 1 || number > 0x1fffffff) throw new WireError(`field ${number} at byte ${start}`);
    let value = 0n;
    let contentStart = this.#at;
    if (type === VARINT) value = this.#varint();
    else if (type === LENGTH) {
      const length = Number(this.#varint());
      contentStart = this.#at;
      this.#at += length;
    } else if (type === FIXED64) this.#at += 8;
    else if (type === FIXED32) this.#at += 4;
    else throw new WireError(`wire type ${type} at byte ${start}`);
    if (this.#at > this.#end) throw new WireError(`the field at byte ${start} ends behind its message`);
    return { number, type, start, end: this.#at, contentStart, value };
  }

  #varint(): bigint {
    const first = this.#at;
    // Nearly all are one or two bytes: lengths and tags.
    let low = 0;
    for (let index = 0; index < 4; index++) {
      const byte = this.#byte(first);
      low |= (byte & 0x7f) << (7 * index);
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (let index = 4; index < VARINT_BYTES_MAX; index++) {
      const byte = this.#byte(first);
      value |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new WireError(`the number at byte ${first} has more than ${VARINT_BYTES_MAX} bytes`);
  }

  #byte(first: number): number {
    if (this.#at >= this.#end) throw new WireError(`the number at byte ${first} ends behind its message`);
    return this.bytes[this.#at++];
  }
}

const decoder = new TextDecoder();

/** Everything below takes the message or the bytes of a field with a length. @throws WireError for another wire type. */
export function contentOf(bytes: Uint8Array, field: Field): WireReader {
  requireLength(field);
  return new WireReader(bytes, field.contentStart, field.end);
}

export function textOf(bytes: Uint8Array, field: Field): string {
  requireLength(field);
  return decoder.decode(bytes.subarray(field.contentStart, field.end));
}

/** A signed 64-bit number. */
export function intOf(field: Field): bigint {
  if (field.type !== VARINT) throw new WireError(`field ${field.number} at byte ${field.start} is not a number`);
  return BigInt.asIntN(64, field.value);
}

/** Numbers of a repeated field, packed into one or each in a field of its own. */
export function intsOf(bytes: Uint8Array, field: Field): bigint[] {
  if (field.type === VARINT) return [intOf(field)];
  requireLength(field);
  const values: bigint[] = [];
  const end = field.end;
  for (let at = field.contentStart; at < end; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= end || shift >= 70n) throw new WireError(`numbers at byte ${field.start} are cut off`);
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    values.push(BigInt.asIntN(64, value));
  }
  return values;
}

function requireLength(field: Field): void {
  if (field.type !== LENGTH) throw new WireError(`field ${field.number} at byte ${field.start} has no length`);
}

/** A message that is put together from parts; nothing is copied before `join`. */
export class WireWriter {
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;

  get parts(): readonly Uint8Array[] {
    return this.#parts;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes as they are: whole fields of another message. */
  raw(part: Uint8Array): this {
    this.#parts.push(part);
    this.#bytes += part.length;
    return this;
  }

  int(number: number, value: number): this {
    return this.raw(Uint8Array.from([...varint(number * 8 + VARINT), ...varint(value)]));
  }

  text(number: number, text: string): this {
    return this.#withLength(number, [new TextEncoder().encode(text)]);
  }

  message(number: number, message: WireWriter): this {
    return this.#withLength(number, message.parts);
  }

  join(): Uint8Array {
    return Buffer.concat(this.#parts, this.#bytes);
  }

  #withLength(number: number, parts: readonly Uint8Array[]): this {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    this.raw(Uint8Array.from([...varint(number * 8 + LENGTH), ...varint(length)]));
    for (const part of parts) this.raw(part);
    return this;
  }
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  while (left > 0x7f) {
    bytes.push((left % 0x80) | 0x80);
    left = Math.floor(left / 0x80);
  }
  bytes.push(left);
  return bytes;
}
