/** Lines of a stream of text: cut anywhere, too long, and broken off. */
import t from 'tap';
import { textLines } from '../../src/model/documents/text-lines.ts';

async function* pieces(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
const lines = async (source: AsyncIterable<Uint8Array>, lengthMax = 100): Promise<string[]> => {
  const all: string[] = [];
  for await (const some of textLines(source, lengthMax)) all.push(...some);
  return all;
};

t.test('a text cut in two at every byte', async (t) => {
  const text = Buffer.from('ä,1\n\n€ 2\r\n𝄞\n');
  for (let cut = 0; cut <= text.length; cut += 1) {
    t.strictSame(
      await lines(pieces(text.subarray(0, cut), text.subarray(cut))),
      ['ä,1', '', '€ 2\r', '𝄞'],
      `cut at ${cut}`,
    );
  }
  t.strictSame(await lines(pieces()), []);
});

t.test('refused: a line without an end, and one that is too long', async (t) => {
  await t.rejects(lines(pieces(Buffer.from('a\nb'))), /ended within a line: b/);
  await t.rejects(lines(pieces(Buffer.from('a'.repeat(60)), Buffer.from('a'.repeat(60)))), /more than 100 characters/);
  t.equal((await lines(pieces(Buffer.from('a\n'.repeat(500))))).length, 500, 'many short ones at once');
});
