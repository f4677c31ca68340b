/** Contents as clients pack them (docs/spec/scoring.md#packing), and the way of contents to a worker. */
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { receiveContent, sendContent } from '../../src/scoring-workers/content/source-port.ts';
import { SERIALIZED_MARK, unpacked } from '../../src/scoring-workers/content/unpacked.ts';
import { zipped } from '../../src/scoring/zip-output.ts';
import { withBrokenDeflate, zipOf } from '../helpers/zip.ts';

const RULES = { bytesMax: 100_000, version: '1' };

async function* inPieces(bytes: Buffer, step: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  for await (const piece of pieces) read.push(piece);
  return Buffer.concat(read).toString();
}

const read = async (bytes: Buffer, rules = RULES, step = 10): Promise<[string, string | undefined, string]> => {
  const { packing, fileName, pieces } = await unpacked(inPieces(bytes, step), rules);
  return [packing, fileName, await textOf(pieces)];
};

t.test('what packs a content is seen by its first bytes', async (t) => {
  const text = 'a,b\n1,2\n';
  t.same(await read(Buffer.from(text)), ['plain', undefined, text]);
  t.same(await read(Buffer.alloc(0)), ['plain', undefined, '']);
  t.same(await read(gzipSync(text)), ['gzip', undefined, text]);
  const zip = await zipOf({ '__MACOSX/._data.csv': 'x', 'in/data.csv': text, 'other.csv': 'x' });
  for (const step of [1, 7, 10_000]) t.same(await read(zip, RULES, step), ['zip', 'in/data.csv', text]);
  t.same(await read(await zipOf({ 'data.csv': { content: text, compress: false } })), ['zip', 'data.csv', text]);
  const serialized = Buffer.concat([Buffer.from(`${SERIALIZED_MARK}1\n`), gzipSync(text)]);
  t.same(await read(serialized), ['serialized', undefined, text]);
  await t.rejects(read(serialized, { ...RULES, version: '2' }), /by version '1'; this server has version 2/);
});

t.test('what cannot be unpacked is refused, and bombs end at the bound', async (t) => {
  await t.rejects(read(gzipSync(Buffer.alloc(1_000_000))), { name: 'ContentError', message: /more than 100000 bytes/ });
  await t.rejects(read(await zipOf({ a: Buffer.alloc(1_000_000) })), {
    name: 'ContentError',
    message: /more than 100000 bytes/,
  });
  await t.rejects(read(gzipSync('a').subarray(0, 12)), { name: 'ContentError' });
  await t.rejects(read(await zipOf({})), /has no file/);
  await t.rejects(read((await zipOf({ a: 'b' })).subarray(0, 20)), /ends too early/);
  await t.rejects(read(withBrokenDeflate(await zipOf({ a: 'text '.repeat(50) }), 'a')), { name: 'ContentError' });
});

t.test('results in ZIP', async (t) => {
  const files = [
    { name: 'a.csv', pieces: inPieces(Buffer.from('1,2\n'.repeat(1_000)), 100) },
    { name: 'b.csv', pieces: inPieces(Buffer.from('3'), 1) },
  ];
  const written: Uint8Array[] = [];
  for await (const piece of zipped(files)) written.push(piece);
  t.same(await read(Buffer.concat(written)), ['zip', 'a.csv', '1,2\n'.repeat(1_000)]);
});

t.test('a content on its way to a worker', async (t) => {
  const bytes = Buffer.alloc(1_000, 'abc');
  const { port } = sendContent(inPieces(bytes, 7));
  t.equal(await textOf(receiveContent(port)), bytes.toString());
  let isEnded = false;
  const endless = (async function* () {
    try {
      for (;;) yield Buffer.from('x');
    } finally {
      isEnded = true;
    }
  })();
  const left = sendContent(endless);
  for await (const _ of receiveContent(left.port)) break;
  left.close();
  while (!isEnded) await new Promise(setImmediate);
  const failing = sendContent(
    // biome-ignore lint/correctness/useYield: it fails before the first piece
    (async function* () {
      throw new Error('the store is away');
    })(),
  );
  await t.rejects(textOf(receiveContent(failing.port)), /the store is away/);
});
