/** A ZIP archive of files that come in pieces, one after the other. */
import { Readable, pipeline } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import { Zip, type ZipInputFile } from 'fflate';

const DEFLATED = 8;
/** Most of the gain of the default for half of its time. */
const LEVEL = 3;
/** The first day that the format knows. */
const MODIFIED = new Date(1980, 0, 1);

export interface ZippedFile {
  readonly name: string;
  readonly pieces: AsyncIterable<Uint8Array>;
}

export async function* zipped(files: AsyncIterable<ZippedFile> | Iterable<ZippedFile>): AsyncGenerator<Uint8Array> {
  const written: Uint8Array[] = [];
  const zip = new Zip((error, bytes) => {
    if (error !== null) throw error;
    written.push(bytes);
  });
  for await (const { name, pieces } of files) {
    const file: ZipInputFile = { filename: name, crc: 0, size: 0, compression: DEFLATED, mtime: MODIFIED };
    zip.add(file);
    for await (const piece of deflated(counted(pieces, file))) {
      file.ondata?.(null, new Uint8Array(piece), false);
      yield* written.splice(0);
    }
    file.ondata?.(null, new Uint8Array(), true);
    yield* written.splice(0);
  }
  zip.end();
  yield* written;
}

/** Length and checksum stand behind the content. */
async function* counted(pieces: AsyncIterable<Uint8Array>, file: ZipInputFile): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    file.crc = crc32(piece, file.crc);
    file.size += piece.length;
    yield piece;
  }
}

function deflated(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const deflate = createDeflateRaw({ level: LEVEL });
  // Errors of the pieces reach the code that iterates.
  pipeline(Readable.from(pieces), deflate, () => undefined);
  return deflate as AsyncIterable<Uint8Array>;
}
