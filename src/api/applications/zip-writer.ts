/**
 * Writes a ZIP archive anew with some files replaced or added; what stays is copied as it is. Without ZIP64: archives
 * are far below 4 GiB.
 */
import { promisify } from 'node:util';
import { Readable, pipeline } from 'node:stream';
import { crc32, createDeflateRaw, deflateRaw } from 'node:zlib';
import { Zip } from 'fflate';
import type { ZipInputFile } from 'fflate';
import { rawContent } from './zip-archive.ts';
import type { Archive, ArchiveEntry, ArchiveSource } from './zip-archive.ts';

const deflate = promisify<Buffer, Buffer>(deflateRaw);
const DEFLATED = 8;
/** The first day that the format knows. */
const MODIFIED = new Date(1980, 0, 1);

/** @param replaced content by path. */
export async function* rewritten(
  source: ArchiveSource,
  archive: Archive,
  replaced: ReadonlyMap<string, Buffer>,
): AsyncIterable<Uint8Array> {
  const written: Uint8Array[] = [];
  const zip = new Zip((error, bytes) => {
    if (error !== null) throw error;
    written.push(bytes);
  });
  for (const entry of archive.values()) {
    if (replaced.has(entry.name)) continue;
    const add = added(zip, { filename: entry.name, crc: entry.crc32, size: entry.bytes });
    for await (const piece of await deflatedContent(source, entry)) {
      add(piece);
      yield* written.splice(0);
    }
    add();
  }
  for (const [name, content] of replaced) {
    const add = added(zip, { filename: name, crc: crc32(content), size: content.length });
    add(await deflate(content));
    add();
    yield* written.splice(0);
  }
  zip.end();
  yield* written;
}

/** Begins an entry. @returns what takes its deflated content, and nothing at its end. */
function added(zip: Zip, about: Pick<ZipInputFile, 'filename' | 'crc' | 'size'>): (piece?: Uint8Array) => void {
  const file: ZipInputFile = { ...about, compression: DEFLATED, mtime: MODIFIED };
  zip.add(file);
  return (piece) => file.ondata?.(null, new Uint8Array(piece ?? []), piece === undefined);
}

/**
 * Stored content becomes blocks of deflate that are not compressed either: its length stands behind it here, and
 * readers of streams (Java's ZipInputStream) then take deflated entries only.
 */
async function deflatedContent(
  source: ArchiveSource,
  entry: ArchiveEntry,
): Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>> {
  const pieces = await rawContent(source, entry);
  if (entry.isDeflated) return pieces;
  const stored = createDeflateRaw({ level: 0 });
  // Errors reach the code that iterates.
  pipeline(Readable.from(pieces), stored, () => undefined);
  return stored as AsyncIterable<Uint8Array>;
}
