/** Archives with some files replaced: what is kept, replaced and added comes back, for readers of streams too. */
import t from 'tap';
import { openArchive, readEntry } from '../../../src/api/applications/zip-archive.ts';
import type { ArchiveSource } from '../../../src/api/applications/zip-archive.ts';
import { rewritten } from '../../../src/api/applications/zip-writer.ts';
import { zipOf } from '../../helpers/zip.ts';
import { MemoryBlobs } from '../helpers/memory-blobs.ts';

const blobs = new MemoryBlobs();
const limits = { bytesMax: 1e8, bytesLimit: 'files/x', refusals: { count: () => undefined } };
async function stored(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<ArchiveSource> {
  const { key, bytes } = await blobs.put(pieces, 1e9);
  return { blobs, key, bytes };
}

t.test('kept, replaced and added files', async (t) => {
  const long = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  const source = await stored([
    await zipOf({
      'a.txt': 'hello',
      'b/long.bin': long,
      'stored.bin': { content: long, compress: false },
      empty: { content: '', compress: false },
      'größe.txt': 'old',
    }),
  ]);
  const replaced = new Map([
    ['größe.txt', Buffer.from('new')],
    ['new.txt', Buffer.from('added')],
  ]);
  const copy = await stored(rewritten(source, await openArchive(source, limits), replaced));
  const archive = await openArchive(copy, limits);
  t.same([...archive.keys()], ['a.txt', 'b/long.bin', 'stored.bin', 'empty', 'größe.txt', 'new.txt']);
  for (const [name, content] of [
    ['a.txt', Buffer.from('hello')],
    ['b/long.bin', long],
    ['stored.bin', long],
    ['empty', Buffer.alloc(0)],
    ['größe.txt', Buffer.from('new')],
    ['new.txt', Buffer.from('added')],
  ] as const) {
    t.ok((await readEntry(copy, archive.get(name)!, 1e6)).equals(content), name);
    t.ok(archive.get(name)!.isDeflated, `${name}: a stored entry with its length behind it stops readers of streams`);
  }
  const again = await stored(rewritten(copy, archive, new Map()));
  t.equal((await openArchive(again, limits)).size, 6, 'and once more');
});

t.test('content that is missing fails the archive', async (t) => {
  const source = await stored([await zipOf({ 'a.txt': 'hello' })]);
  const archive = await openArchive(source, limits);
  await blobs.remove(source.key);
  await t.rejects(stored(rewritten(source, archive, new Map())), /missing/);
});
