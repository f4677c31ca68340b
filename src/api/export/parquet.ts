/**
 * Writes Apache Parquet row group by row group, so that a file of any length needs the memory of one: mandatory
 * columns, plain encoding, gzip. Names and numbers are those of the format's description (parquet.thrift), its metadata
 * in Thrift's compact protocol.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const compress = promisify(gzip);

export type ParquetType = 'string' | 'integer' | 'number' | 'time';
export interface ParquetColumn {
  readonly name: string;
  readonly type: ParquetType;
}

const MAGIC = Buffer.from('PAR1');
const CREATED_BY = 'millrace';
/** Physical type and converted type (absent for plain numbers). */
const TYPES: Readonly<Record<ParquetType, readonly [physical: number, converted?: number]>> = {
  string: [6, 0],
  integer: [2],
  number: [5],
  time: [2, 9],
};
const [ENCODING_PLAIN, ENCODING_RLE, CODEC_GZIP, REQUIRED, DATA_PAGE] = [0, 3, 2, 0, 0];

/** Thrift's compact protocol, as far as it is needed. */
class Thrift {
  readonly #bytes: number[] = [];
  #last = 0;

  get bytes(): Buffer {
    return Buffer.from([...this.#bytes, 0]);
  }

  #varint(value: bigint): void {
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) this.#bytes.push(Number(rest & 0x7fn) | 0x80);
    this.#bytes.push(Number(rest));
  }

  #field(id: number, type: number): void {
    this.#bytes.push(((id - this.#last) << 4) | type);
    this.#last = id;
  }

  #listHead(size: number, type: number): void {
    this.#bytes.push((Math.min(size, 15) << 4) | type);
    if (size >= 15) this.#varint(BigInt(size));
  }

  #push(bytes: Uint8Array): void {
    for (const byte of bytes) this.#bytes.push(byte);
  }

  #text(value: string): void {
    const bytes = Buffer.from(value);
    this.#varint(BigInt(bytes.length));
    this.#push(bytes);
  }

  i32(id: number, value: number): this {
    this.#field(id, 5);
    this.#varint(BigInt(value) << 1n);
    return this;
  }
  i64(id: number, value: number): this {
    this.#field(id, 6);
    this.#varint(BigInt(value) << 1n);
    return this;
  }
  text(id: number, value: string): this {
    this.#field(id, 8);
    this.#text(value);
    return this;
  }
  struct(id: number, value: Thrift): this {
    this.#field(id, 12);
    this.#push(value.bytes);
    return this;
  }

  structs(id: number, values: readonly Buffer[]): this {
    this.#field(id, 9);
    this.#listHead(values.length, 12);
    for (const value of values) this.#push(value);
    return this;
  }

  texts(id: number, values: readonly string[]): this {
    this.#field(id, 9);
    this.#listHead(values.length, 8);
    for (const value of values) this.#text(value);
    return this;
  }

  i32s(id: number, values: readonly number[]): this {
    this.#field(id, 9);
    this.#listHead(values.length, 5);
    for (const value of values) this.#varint(BigInt(value) << 1n);
    return this;
  }
}

function plain(type: ParquetType, values: readonly (string | number)[]): Buffer {
  if (type === 'string') {
    const parts: Buffer[] = [];
    for (const value of values) {
      const bytes = Buffer.from(String(value));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      parts.push(length, bytes);
    }
    return Buffer.concat(parts);
  }
  const bytes = Buffer.alloc(values.length * 8);
  values.forEach((value, index) => {
    if (type === 'number') bytes.writeDoubleLE(Number(value), index * 8);
    else bytes.writeBigInt64LE(BigInt(Math.trunc(Number(value))), index * 8);
  });
  return bytes;
}

export class ParquetWriter {
  readonly #columns: readonly ParquetColumn[];
  readonly #groups: Buffer[] = [];
  #rowCount = 0;
  #offset = MAGIC.length;

  constructor(columns: readonly ParquetColumn[]) {
    this.#columns = columns;
  }

  /** The first bytes of the file. */
  get head(): Buffer {
    return MAGIC;
  }

  /** @param rows values in the order of the columns. @returns the next bytes of the file. */
  async rowGroup(rows: readonly (readonly (string | number)[])[]): Promise<Buffer> {
    const pieces: Buffer[] = [];
    const chunks: Buffer[] = [];
    let totalBytes = 0;
    for (const [index, { name, type }] of this.#columns.entries()) {
      const values = plain(
        type,
        rows.map((row) => row[index]),
      );
      const data = await compress(values);
      const page = new Thrift()
        .i32(1, DATA_PAGE)
        .i32(2, values.length)
        .i32(3, data.length)
        .struct(
          5,
          new Thrift().i32(1, rows.length).i32(2, ENCODING_PLAIN).i32(3, ENCODING_RLE).i32(4, ENCODING_RLE),
        ).bytes;
      const meta = new Thrift()
        .i32(1, TYPES[type][0])
        .i32s(2, [ENCODING_PLAIN, ENCODING_RLE])
        .texts(3, [name])
        .i32(4, CODEC_GZIP)
        .i64(5, rows.length)
        .i64(6, page.length + values.length)
        .i64(7, page.length + data.length)
        .i64(9, this.#offset);
      chunks.push(new Thrift().i64(2, this.#offset).struct(3, meta).bytes);
      pieces.push(page, data);
      totalBytes += page.length + values.length;
      this.#offset += page.length + data.length;
    }
    this.#groups.push(new Thrift().structs(1, chunks).i64(2, totalBytes).i64(3, rows.length).bytes);
    this.#rowCount += rows.length;
    return Buffer.concat(pieces);
  }

  /** The last bytes of the file. */
  get tail(): Buffer {
    const root = new Thrift().text(4, 'schema').i32(5, this.#columns.length).bytes;
    const columns = this.#columns.map(({ name, type }) => {
      const [physical, converted] = TYPES[type];
      const element = new Thrift().i32(1, physical).i32(3, REQUIRED).text(4, name);
      return (converted === undefined ? element : element.i32(6, converted)).bytes;
    });
    const meta = new Thrift()
      .i32(1, 1)
      .structs(2, [root, ...columns])
      .i64(3, this.#rowCount)
      .structs(4, this.#groups)
      .text(6, CREATED_BY).bytes;
    const length = Buffer.alloc(4);
    length.writeUInt32LE(meta.length);
    return Buffer.concat([meta, length, MAGIC]);
  }
}
