/** Metrics of predictions, names, and results that wait (docs/spec/scoring.md). */
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { safeName, stemOf } from '../../src/model/entities/scoring/names.ts';
import { Shares } from '../../src/pacing/shares.ts';
import { Predictions } from '../../src/scoring/predictions.ts';
import { Spool } from '../../src/scoring/spool.ts';

t.test('classes are counted, and numbers summed up', async (t) => {
  const predictions = new Predictions();
  t.equal(predictions.of('m'), undefined);
  predictions.add('m', { classes: [['a', 2]], numbers: new Float64Array() });
  predictions.add('m', {
    classes: [
      ['a', 1],
      ['__proto__', 1],
    ],
    numbers: new Float64Array(),
  });
  t.same(
    [...(predictions.of('m')?.classes ?? [])],
    [
      ['a', 3],
      ['__proto__', 1],
    ],
  );
  predictions.add('n', { classes: [], numbers: Float64Array.of(5, 1, 4, 2, 3) });
  t.same(predictions.of('n')?.numbers, {
    count: 5,
    minimum: 1,
    firstQuartile: 2,
    median: 3,
    thirdQuartile: 4,
    maximum: 5,
  });
  predictions.forget('n');
  t.equal(predictions.of('n'), undefined);
});

t.test('beyond what is kept the quartiles are those of a sample', async (t) => {
  let seed = 7;
  const predictions = new Predictions(() => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647);
  predictions.add('n', { classes: [], numbers: Float64Array.from({ length: 100_001 }, (_, index) => index) });
  const { count, minimum, median, maximum } = predictions.of('n')?.numbers ?? {};
  t.same([count, minimum, maximum], [100_001, 0, 100_000]);
  t.ok(Math.abs((median ?? 0) - 50_000) < 2_500, String(median));
});

t.test('names', async (t) => {
  const names: [string, string][] = [
    ['Iris model-1.2_b', 'Iris model-1.2_b'],
    ['a/b\\c:d*"<>', 'a_b_c_d____'],
    ['größe', 'größe'],
    ['..', '__'],
    ['', '_'],
    [' a\nb ', 'a_b'],
    ['x'.repeat(300), 'x'.repeat(200)],
  ];
  for (const [sent, name] of names) t.equal(safeName(sent), name);
  t.equal(stemOf('C:\\models\\iris.pmml.zip'), 'iris');
  t.equal(stemOf('iris.xml'), 'iris');
});

t.test('classes beyond the bound are counted together', async (t) => {
  const predictions = new Predictions();
  const classes = Array.from({ length: 1_002 }, (_, index): [string, number] => [`c${index}`, 2]);
  predictions.add('m', { classes, numbers: new Float64Array() });
  predictions.add('m', { classes: [['c0', 1]], numbers: new Float64Array() });
  const counted = predictions.of('m')?.classes;
  t.equal(counted?.size, 1_001);
  t.equal(counted?.get('others'), 4);
  t.equal(counted?.get('c0'), 3);
});

t.test('results wait in memory, then in a file without a name', async (t) => {
  const directory = join(mkdtempSync(join(tmpdir(), 'spool-')), 'scoring');
  const counted: string[] = [];
  let limit: string | undefined;
  const shares = new Shares('scoring/spool-bytes', 100_000_000);
  const place = {
    directory,
    shares,
    refusals: { count: (name: string) => counted.push(name) },
    refusal: () => limit,
  };
  const spool = new Spool(place, { tenant: 1, user: 'ada' });
  const piece = Buffer.alloc(300_000, 'abc');
  for (let index = 0; index < 10; index += 1) await spool.write(piece);
  t.same(readdirSync(directory), []);
  const read: Uint8Array[] = [];
  for await (const one of spool.read()) read.push(one);
  t.ok(Buffer.concat(read).equals(Buffer.concat(Array(10).fill(piece))));
  t.equal(shares.used, 3_000_000);
  limit = 'disk/free-bytes';
  await t.rejects(spool.write(piece), { name: 'Error', message: /disk/ });
  t.same(counted, ['disk/free-bytes']);
  await spool.close();
  t.equal(shares.used, 0);
});
