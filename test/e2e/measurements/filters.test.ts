/**
 * Filters of lists of measurements on the engine, and that DELETE takes what the list with the same filters shows.
 * Bodies up to a configured length.
 */
import t from 'tap';
import { eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t, { flags: ['--body-size-max-bytes', '64KiB'] });
const { rest } = server;
const BASE = Date.parse('2024-05-02T10:00:00Z');

t.test('filters of the list and of DELETE (docs/spec/measurements.md#filters)', async (t) => {
  const at = (minute: number): string => new Date(BASE + minute * 60_000).toISOString();
  /** A device with the measurements a, b and c. */
  const filled = async (): Promise<string> => {
    const id = await rest.createDevice('Filtered');
    const measurement = (type: string, minute: number, more: object): object => ({
      source: { id },
      type,
      time: at(minute),
      ...more,
    });
    const measurements = [
      measurement('a', 1, { f: { x: { value: 1 }, z: { value: 0 } }, h: { y: { value: 5 } } }),
      measurement('b', 2, { f: { y: { value: 2 } } }),
      measurement('c', 3, { g: { x: { value: 3 }, y: { value: 4 } }, note: 'n' }),
    ];
    t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
    return id;
  };
  const list = async (query: string): Promise<{ types: string; total: number }> => {
    const { measurements, statistics } = await rest.read(`/measurement/measurements?${query}&withTotalElements=true`);
    return {
      types: (measurements as { type: string }[]).map(({ type }) => type).join(''),
      total: statistics.totalElements,
    };
  };
  const [id, other] = [await filled(), await filled()];
  const cases: [query: string, types: string][] = [
    ['type=b', 'b'],
    ['type=d', ''],
    ['valueFragmentType=f', 'ab'],
    ['valueFragmentType=f&pageSize=2', 'ab'],
    ['valueFragmentType=f&valueFragmentSeries=x', 'a'],
    ['valueFragmentType=f&valueFragmentSeries=y', 'b'],
    ['valueFragmentType=g&valueFragmentSeries=x', 'c'],
    ['fragmentType=f', 'ab'],
    ['fragmentType=note', 'c'],
    ['fragmentType=n', ''],
    ['fragmentType=note&valueFragmentType=g&valueFragmentSeries=y', 'c'],
    ['fragmentType=f&valueFragmentType=h', 'a'],
    ['fragmentType=note&valueFragmentType=f', ''],
    [`dateFrom=${at(2)}`, 'bc'],
    [`dateTo=${at(2)}`, 'ab'],
    [`dateFrom=${at(2)}&dateTo=${at(2)}`, 'b'],
    [`dateFrom=${at(1)}&dateTo=${at(2)}&type=a`, 'a'],
  ];
  for (const [query, types] of cases) {
    t.same(await list(`source=${id}&${query}`), { types, total: types.length }, query);
    t.same(
      await list(`source=${id}&${query}&revert=true`),
      { types: [...types].reverse().join(''), total: types.length },
      `${query}, newest first`,
    );
    const emptied = await filled();
    // What deletes takes no pages.
    const selecting = query.replace('&pageSize=2', '');
    t.equal((await rest.delete(`/measurement/measurements?source=${emptied}&${selecting}`)).status, 204);
    // A reader waits two seconds for a deletion; on a busy machine it may take longer.
    const left = [...'abc'].filter((type) => !types.includes(type)).join('');
    await eventually(
      `${left} is left by DELETE with ${selecting}`,
      async () => (await list(`source=${emptied}`)).types === left,
    );
  }
  t.same(await list(`source=${id}`), { types: 'abc', total: 3 });
  t.equal((await rest.delete(`/measurement/measurements?source=${id}`)).status, 204);
  await eventually('all of the device is gone', async () => (await list(`source=${id}`)).types === '');
  t.equal((await list(`source=${other}`)).types, 'abc');
});

t.test('measurements in a body up to the length of the configuration', async (t) => {
  const id = await rest.createDevice('Limited');
  const measurement = (length: number): object => ({
    source: { id },
    type: 't',
    time: '2024-05-02T10:00:00Z',
    filling: 'x'.repeat(length),
  });
  t.equal((await rest.post('/measurement/measurements', measurement(65_000))).status, 201);
  t.match(await rest.post('/measurement/measurements', measurement(65_536)), {
    status: 413,
    json: { error: 'general/Payload Too Large', message: /65536 bytes/ },
  });
});
