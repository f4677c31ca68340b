/**
 * Writes a ZIP archive anew with some files replaced or added; what stays is copied as it is. Without ZIP64: archives
 * are far below 4 GiB.
 */
import { promisify } from 'node:util';
import { crc32, deflateRaw } from 'node:zlib';
import { rawContent } from './zip-archive.ts';
import type { Archive, ArchiveSource } from './zip-archive.ts';

const deflate = promisify<Buffer, Buffer>(deflateRaw);
const VERSION_NEEDED = 20;
/** Names are UTF-8. */
const FLAGS = 0x0800;
const STORED = 0;
const DEFLATED = 8;
/** 1980-01-01, the first day that the format knows. */
const FIRST_DAY = 0x0021;
const LOCAL_SIGNATURE = 0x04034b50;
const DIRECTORY_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;

interface Written {
  readonly name: Buffer;
  readonly method: number;
  readonly crc32: number;
  readonly compressedBytes: number;
  readonly bytes: number;
}

/** The fields that a local header and an entry of the directory share. */
function common({ name, method, crc32: sum, compressedBytes, bytes }: Written): Buffer {
  const buffer = Buffer.alloc(26);
  buffer.writeUInt16LE(VERSION_NEEDED, 0);
  buffer.writeUInt16LE(FLAGS, 2);
  buffer.writeUInt16LE(method, 4);
  buffer.writeUInt16LE(FIRST_DAY, 8);
  buffer.writeUInt32LE(sum, 10);
  buffer.writeUInt32LE(compressedBytes, 14);
  buffer.writeUInt32LE(bytes, 18);
  buffer.writeUInt16LE(name.length, 22);
  return buffer;
}

function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
}

const localHeader = (entry: Written): Buffer => Buffer.concat([uint32(LOCAL_SIGNATURE), common(entry), entry.name]);

function directoryEntry(entry: Written, offset: number): Buffer {
  const versionMadeBy = Buffer.from([VERSION_NEEDED, 0]);
  // No comment, disk 0, no attributes.
  return Buffer.concat([
    uint32(DIRECTORY_SIGNATURE),
    versionMadeBy,
    common(entry),
    Buffer.alloc(10),
    uint32(offset),
    entry.name,
  ]);
}

function endRecord(count: number, bytes: number, offset: number): Buffer {
  const buffer = Buffer.alloc(22);
  buffer.writeUInt32LE(END_SIGNATURE, 0);
  buffer.writeUInt16LE(count, 8);
  buffer.writeUInt16LE(count, 10);
  buffer.writeUInt32LE(bytes, 12);
  buffer.writeUInt32LE(offset, 16);
  return buffer;
}

/** @param replaced content by path. */
export async function* rewritten(
  source: ArchiveSource,
  archive: Archive,
  replaced: ReadonlyMap<string, Buffer>,
): AsyncIterable<Uint8Array> {
  const directory: Buffer[] = [];
  let offset = 0;
  const begun = (entry: Written): Buffer => {
    const header = localHeader(entry);
    directory.push(directoryEntry(entry, offset));
    offset += header.length + entry.compressedBytes;
    return header;
  };
  for (const entry of archive.values()) {
    if (replaced.has(entry.name)) continue;
    yield begun({ ...entry, name: Buffer.from(entry.name), method: entry.isDeflated ? DEFLATED : STORED });
    yield* await rawContent(source, entry);
  }
  for (const [name, content] of replaced) {
    const compressed = await deflate(content);
    yield begun({
      name: Buffer.from(name),
      method: DEFLATED,
      crc32: crc32(content),
      compressedBytes: compressed.length,
      bytes: content.length,
    });
    yield compressed;
  }
  const bytes = Buffer.concat(directory);
  yield bytes;
  yield endRecord(directory.length, bytes.length, offset);
}
