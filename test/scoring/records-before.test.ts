/** Records that a model looks back to go in front of the next slice of a file (docs/internals/scoring.md#batches). */
import t from 'tap';
import { openBatch } from '../../src/scoring/batches.ts';
import { RecordsBefore } from '../../src/scoring/records-before.ts';
import type { RecordFormat } from '../../src/scoring-workers/protocol.ts';
import { slicerOf } from '../../src/scoring-workers/records/slices.ts';

function led(format: RecordFormat, text: string, lookBack: number): [string, number, number, number][] {
  const slicer = slicerOf(format, { recordsMax: 2, bytesMax: 1e9, recordBytesMax: 1e9, hasEnds: lookBack > 0 });
  const before = new RecordsBefore(format, { name: 'm', lookBack });
  const slices = [...slicer.write(Buffer.from(text)), ...slicer.end()].map((slice) => before.lead(slice));
  return slices.map((slice) => [slice.bytes.toString(), slice.before, slice.count, slice.line]);
}

t.test('lines of CSV, with the line where the first of them begins', async (t) => {
  t.same(led('csv', '1\n\n"2\n"\n3\n4\n5', 3), [
    ['1\n\n"2\n"\n', 0, 2, 1],
    ['1\n\n"2\n"\n3\n4\n', 2, 2, 1],
    ['\n"2\n"\n3\n4\n5', 3, 1, 2],
  ]);
  t.same(
    led('csv', '1\n2\n3\n', 0).map(([text]) => text),
    ['1\n2\n', '3\n'],
    'a model that looks nowhere',
  );
});

t.test('elements of JSON', async (t) => {
  t.same(
    led('json', '[{"x":1} ,\n{"x":2}, {"x":3},{"x":4},{"x":5}]', 1).map(([text, before]) => [
      JSON.parse(`[${text}]`).map(({ x }: { x: number }) => x),
      before,
    ]),
    [
      [[1, 2], 0],
      [[2, 3, 4], 1],
      [[4, 5], 1],
    ],
  );
});

t.test('they are bounded', async (t) => {
  const long = `"${'x'.repeat(1_500_000)}"\n`;
  t.throws(() => led('csv', long.repeat(4), 5), {
    code: 'scoring/model-refused',
    message: /it looks back over 5 records, which have 6000012 bytes here; it may be 4194304/,
  });
});

t.test('of several slices with faults the first record is told, also when a later slice is faster', async (t) => {
  const runs = {
    run: async (_asker: unknown, _model: unknown, { input }: { readonly input: Uint8Array }) => {
      if (Buffer.from(input).toString().startsWith('1')) await new Promise((done) => void setTimeout(done, 20));
      return { kind: 'bad-record', record: 1, reason: 'wrong', isRefused: false };
    },
  };
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('x\n1\n2\n3\n4\n5\n6\n');
  }
  const { pieces } = await openBatch(
    runs as never,
    { count: () => undefined },
    { tenant: 1, user: 'u' },
    { name: 'm', blob: 'm', bytes: 1, compiledBytes: 1, isActive: true, createdAt: 0 },
    { content: content(), fileName: 'a.csv' },
    { threadsMax: 2, recordsMax: 2, output: undefined, outputs: ['y'], version: 'test' },
  );
  const read = async (): Promise<void> => {
    for await (const _piece of pieces);
  };
  await t.rejects(read(), { code: 'scoring/bad-record', message: /at record 1\./ });
});
