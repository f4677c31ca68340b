/** Totals of large collections are kept for 10 s, those of small ones are not (docs/spec/paging.md#totals). */
import t from 'tap';
import { KEPT_FROM, KEPT_MS, TotalCache } from '../../src/history/total-cache.ts';
import { startApi } from '../api/helpers/api.ts';

/** Counts what it is told to; `counted` tells how often. */
function counter(): { total: number; counted: number; count: () => Promise<number> } {
  const self = {
    total: 0,
    counted: 0,
    count: () => {
      self.counted += 1;
      return Promise.resolve(self.total);
    },
  };
  return self;
}

t.test('a small total is counted each time, a large one after 10 s', async (t) => {
  let now = 1_000;
  const cache = new TotalCache(() => now);
  const small = counter();
  for (const total of [3, 4, KEPT_FROM - 1]) {
    small.total = total;
    t.equal(await cache.total('small', small.count), total);
  }
  const large = counter();
  large.total = KEPT_FROM;
  t.equal(await cache.total('large', large.count), KEPT_FROM);
  large.total += 1;
  now += KEPT_MS - 1;
  t.equal(await cache.total('large', large.count), KEPT_FROM);
  t.equal(await cache.total('others', small.count), KEPT_FROM - 1, 'by its key');
  now += 1;
  t.equal(await cache.total('large', large.count), KEPT_FROM + 1);
  large.total = 5;
  now += KEPT_MS;
  t.equal(await cache.total('large', large.count), 5, 'what has become small');
  t.equal(cache.size, 0);
});

t.test('a count under way is shared by those who want the same, when it is large', async (t) => {
  const cache = new TotalCache(() => 0);
  for (const [total, counts] of [
    [KEPT_FROM, 1],
    [7, 2],
  ] as const) {
    let finish = (_: number): void => undefined;
    let counted = 0;
    const slow = (): Promise<number> => {
      counted += 1;
      return new Promise((resolve) => {
        finish = resolve;
      });
    };
    const first = cache.total(`of ${total}`, slow);
    const second = cache.total(`of ${total}`, () => {
      counted += 1;
      return Promise.resolve(total);
    });
    finish(total);
    t.same([await first, await second, counted], [total, total, counts]);
  }
  const failing = cache.total('failing', () => Promise.reject(new Error('away')));
  const other = cache.total('failing', () => Promise.resolve(1));
  await t.rejects(failing, { message: 'away' });
  t.equal(await other, 1, 'the failure is that of who asked');
});

t.test('it keeps the latest thousand', async (t) => {
  const cache = new TotalCache(() => 0, 3);
  const large = counter();
  large.total = KEPT_FROM;
  for (const key of ['a', 'b', 'c', 'd']) await cache.total(key, large.count);
  t.equal(cache.size, 3);
  await cache.total('b', large.count);
  t.equal(large.counted, 4, 'known');
  await cache.total('a', large.count);
  t.equal(large.counted, 5, 'the one counted longest ago is gone');
});

t.test('pages of operations and measurements ask for it, by tenant and conditions', async (t) => {
  const api = await startApi(t);
  const { fake } = api;
  /** @param counted what the history counts, if it is asked. */
  const totals = async (path: string, counted?: number): Promise<number> => {
    const count = counted === undefined ? [] : [[{ total: counted }]];
    fake.rows.push(...(path.startsWith('/measurement') ? count : [[{ entityId: '1', at: 1 }], ...count]));
    return (await api.call('GET', path)).json.statistics.totalElements;
  };
  for (const path of [
    '/devicecontrol/operations?pageSize=1&withTotalElements=true',
    '/measurement/measurements?pageSize=1&withTotalElements=true',
  ]) {
    t.equal(await totals(`${path}&status=PENDING&type=a`, KEPT_FROM), KEPT_FROM, path);
    t.equal(await totals(`${path}&status=PENDING&type=a`), KEPT_FROM, 'known');
    t.equal(await totals(`${path}&status=FAILED&type=b`, KEPT_FROM + 5), KEPT_FROM + 5, 'other conditions');
  }
});
