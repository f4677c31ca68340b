/** JAR files with functions of Java: they are kept and listed; this server runs none of them. */
import { ContentTooLong } from '../content/byte-reader.ts';
import { listEntries } from './archive.ts';

/** The list of entries is in these last bytes. */
const NAMES_MAX = 1_000;
const END_BYTES_MAX = 32 * 1_048_576;

/** Names of the classes, without those within others; the first 1,000. @throws ContentError. */
export async function classesOf(content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string[]> {
  let end: Uint8Array[] = [];
  let [bytes, held] = [0, 0];
  for await (const piece of content) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new ContentTooLong(bytesMax);
    end.push(piece);
    held += piece.length;
    if (held > 2 * END_BYTES_MAX) {
      end = [Buffer.concat(end).subarray(-END_BYTES_MAX)];
      held = END_BYTES_MAX;
    }
  }
  const entries = await listEntries(Buffer.concat(end), bytes);
  return entries
    .map(({ fileName }) => fileName)
    .filter((name) => name.endsWith('.class') && !name.includes('$') && !name.startsWith('META-INF/'))
    .map((name) => name.slice(0, -'.class'.length).replaceAll('/', '.'))
    .filter((name) => !name.endsWith('-info'))
    .slice(0, NAMES_MAX);
}
