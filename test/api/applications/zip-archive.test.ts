/** Archives in the blobs: what is refused by which limit, and the content of entries. */
import t from 'tap';
import { ArchiveCache } from '../../../src/api/applications/archive-cache.ts';
import { entryContent, openArchive, readEntry } from '../../../src/api/applications/zip-archive.ts';
import type { ArchiveSource } from '../../../src/api/applications/zip-archive.ts';
import { zipOf } from '../../helpers/zip.ts';
import type { ZipFiles } from '../../helpers/zip.ts';
import { MemoryBlobs } from '../helpers/memory-blobs.ts';

const blobs = new MemoryBlobs();
const counted: string[] = [];
const limits = {
  bytesMax: 13 * 1_048_576,
  bytesLimit: 'files/x',
  refusals: { count: (limit: string) => void counted.push(limit) },
};
async function stored(zip: Buffer): Promise<ArchiveSource> {
  const { key, bytes } = await blobs.put([zip], 1e9);
  return { blobs, key, bytes };
}
const storedZip = async (files: ZipFiles): Promise<ArchiveSource> => stored(await zipOf(files));

t.test('entries and their content', async (t) => {
  const long = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  const source = await storedZip({
    'a.txt': 'hello',
    'b/long.bin': long,
    'plain.bin': { content: long, compress: false },
    empty: '',
  });
  const archive = await openArchive(source, limits);
  t.same([...archive.keys()], ['a.txt', 'b/long.bin', 'plain.bin', 'empty']);
  for (const [name, content] of [
    ['a.txt', Buffer.from('hello')],
    ['b/long.bin', long],
    ['plain.bin', long],
    ['empty', Buffer.alloc(0)],
  ] as const) {
    t.ok((await readEntry(source, archive.get(name)!, 1e6)).equals(content), name);
  }
  await t.rejects(readEntry(source, archive.get('a.txt')!, 4), { code: 'applications/bad-archive' });
});

t.test('bounds are named and counted', async (t) => {
  const zeros = Buffer.alloc(12 * 1_048_576);
  const plain = { content: zeros.subarray(0, 5 * 1_048_576), compress: false };
  const cases: [files: ZipFiles, limit: string][] = [
    [{ a: plain, b: plain, c: plain }, 'files/x'],
    [{ zeros }, 'applications/archive-ratio'],
    [
      Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [index, { content: '', compress: false }])),
      'applications/archive-entries',
    ],
  ];
  for (const [files, limit] of cases) {
    counted.length = 0;
    await t.rejects(openArchive(await storedZip(files), limits), {
      code: 'applications/bad-archive',
      message: new RegExp(limit),
    });
    t.same(counted, [limit]);
  }
  t.equal(
    (await openArchive(await storedZip({ small: Buffer.alloc(1_048_576) }), limits)).size,
    1,
    'a small one may have any ratio',
  );
});

t.test('an entry that says less than it has', async (t) => {
  const zip = await zipOf({ a: Buffer.alloc(1_000_000) });
  for (
    let at = zip.indexOf(Buffer.from([0x40, 0x42, 0x0f, 0]));
    at >= 0;
    at = zip.indexOf(Buffer.from([0x40, 0x42, 0x0f, 0]), at + 1)
  )
    zip.writeUInt32LE(10, at);
  const source = await stored(zip);
  const archive = await openArchive(source, limits);
  let bytes = 0;
  await t.rejects(async () => {
    for await (const piece of entryContent(source, archive.get('a')!)) bytes += piece.length;
  }, /more than the 10 bytes/);
  t.equal(bytes, 0, 'nothing of it is given out');
});

t.test('entries that share their content', async (t) => {
  const zip = await zipOf({
    a: { content: Buffer.alloc(5_000, 'x'), compress: false },
    b: { content: '', compress: false },
  });
  const directory = zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
  const second = zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]), directory + 4);
  for (const offset of [16, 20, 24, 42]) zip.copy(zip, second + offset, directory + offset, directory + offset + 4);
  await t.rejects(openArchive(await stored(zip), limits), /overlap/);
});

t.test('lists in memory are bounded', async (t) => {
  const cache = new ArchiveCache(5);
  const sources = await Promise.all(['a', 'b', 'c'].map((name) => storedZip({ [name]: '', [`${name}2`]: '' })));
  const [first, again] = await Promise.all([cache.open(sources[0], limits), cache.open(sources[0], limits)]);
  t.equal(first, again, 'read once');
  await cache.open(sources[1], limits);
  t.equal(await cache.open(sources[0], limits), first);
  await cache.open(sources[2], limits);
  t.equal(cache.entryCount, 4);
  t.equal(await cache.open(sources[0], limits), first, 'the one that was used stays');
});
