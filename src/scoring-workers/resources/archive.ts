/** ZIP archives in memory: their list of entries, and the content of one, both bounded. */
import yauzl from 'yauzl';
import type { Entry, ZipFile } from 'yauzl';
import { ContentError, ContentTooLong } from '../content/byte-reader.ts';

const ENTRIES_MAX = 100_000;

/** Of an archive of which the first bytes are not held: the list of entries is at its end. */
class EndReader extends yauzl.RandomAccessReader {
  readonly #end: Buffer;
  readonly #start: number;

  constructor(end: Buffer, start: number) {
    super();
    this.#end = end;
    this.#start = start;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const from = position - this.#start;
    const isHeld = from >= 0 && this.#end.copy(buffer, offset, from, from + length) === length;
    setImmediate(callback, isHeld ? null : new Error('the list of its entries is too long, or broken'));
  }
}

/** @param end its last bytes. @param bytes of the whole. @throws ContentError. */
export async function listEntries(end: Buffer, bytes: number): Promise<Entry[]> {
  try {
    const zip = await yauzl.fromRandomAccessReaderPromise(new EndReader(end, bytes - end.length), bytes, {
      lazyEntries: true,
      autoClose: false,
    });
    return await entriesOf(zip);
  } catch (error) {
    throw error instanceof ContentError
      ? error
      : new ContentError(`it is not a ZIP archive: ${(error as Error).message}`);
  }
}

async function entriesOf(zip: ZipFile): Promise<Entry[]> {
  if (zip.entryCount > ENTRIES_MAX) throw new ContentError(`it has more than ${ENTRIES_MAX} entries`);
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) entries.push(entry);
  return entries;
}

/** An archive that is held whole. */
export class HeldArchive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(zip: ZipFile, entries: readonly Entry[]) {
    this.#zip = zip;
    this.#entries = new Map(entries.map((entry) => [entry.fileName, entry]));
  }

  /** @throws ContentError. */
  static async open(bytes: Buffer): Promise<HeldArchive> {
    try {
      const zip = await yauzl.fromBufferPromise(bytes, { lazyEntries: true });
      return new HeldArchive(zip, await entriesOf(zip));
    } catch (error) {
      throw error instanceof ContentError
        ? error
        : new ContentError(`it is not a ZIP archive: ${(error as Error).message}`);
    }
  }

  /** Texts of an entry in pieces; none where the archive has no such entry. @throws ContentError. */
  async *texts(name: string, bytesMax: number): AsyncGenerator<string> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const decoder = new TextDecoder();
    let bytes = 0;
    try {
      for await (const piece of await this.#zip.openReadStreamPromise(entry)) {
        bytes += (piece as Buffer).length;
        if (bytes > bytesMax) throw new ContentTooLong(bytesMax);
        yield decoder.decode(piece as Buffer, { stream: true });
      }
    } catch (error) {
      throw error instanceof ContentError ? error : new ContentError(`${name}: ${(error as Error).message}`);
    }
    yield decoder.decode();
  }
}
