import t from 'tap';
import { readSeries } from '../../../src/scoring-workers/training/series-text.ts';
import { trainClusters } from '../../../src/scoring-workers/training/clustering.ts';
import { generator } from '../../../src/scoring-workers/pmml/math/random.ts';

/** Series around some shapes, by name `<shape>-<i>`. */
function around(shapes: Readonly<Record<string, (i: number) => number>>, each: number, lengths: readonly number[]) {
  const random = generator(7);
  const series = new Map<string, number[]>();
  for (let i = 0; i < each; i++)
    for (const [name, shape] of Object.entries(shapes)) {
      const length = lengths[i % lengths.length] as number;
      series.set(
        `${name}-${i}`,
        Array.from({ length }, (_, at) => shape((at / (length - 1)) * 20) + (random() - 0.5) / 10),
      );
    }
  return series;
}

const SHAPES = { sine: Math.sin, line: (x: number) => x / 5, flat: () => -2 };

const groups = (clusters: readonly { readonly members: readonly string[] }[]): string[][] =>
  clusters.map(({ members }) => [...new Set(members.map((name) => name.split('-')[0] as string))]);

t.test('finds how many shapes there are, of equal and of unequal length', async (t) => {
  t.same(groups(trainClusters(around(SHAPES, 12, [21]))), [['sine'], ['line'], ['flat']]);
  t.same(groups(trainClusters(around(SHAPES, 12, [21, 34, 55]))), [['sine'], ['line'], ['flat']]);
});

t.test('what does not fall apart is one cluster', async (t) => {
  const clusters = trainClusters(new Map([['only', [1, 2, 3]]]));
  t.same(clusters, [{ centroid: [1, 2, 3], members: ['only'] }]);
  t.equal(
    trainClusters(
      new Map([
        ['a', [1, 2]],
        ['b', [1, 2]],
        ['c', [1, 2]],
      ]),
    ).length,
    1,
    'the same series again',
  );
});

t.test('the same series give the same result', async (t) => {
  const series = around(SHAPES, 5, [10, 12]);
  t.same(trainClusters(series), trainClusters(series));
});

t.test('what cannot be clustered is told', async (t) => {
  t.throws(() => readSeries('{"data":{"a":[1,1e999]}}'), {
    name: 'TrainingError',
    message: "value 2 of the series 'a' is Infinity, which is not a finite number",
  });
  t.throws(() => trainClusters(new Map()), { name: 'TrainingError', message: 'the data holds no series' });
  t.throws(() => trainClusters(new Map([['a', []]])), { message: "the series 'a' is empty" });
  t.throws(() => trainClusters(new Map([['a', new Array<number>(10_001).fill(0)]])), {
    message: 'a series has 10001 values; at most 10000 are clustered',
  });
});
