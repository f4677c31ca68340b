/**
 * Lists of measurements: pages with one and with many values, the same whether they are read in one pass (first page of a source) or not; filters, of
 * DELETE too.
 */
import t from 'tap';
import { startServer } from '../helpers/running-server.ts';

const server = await startServer(t);
const { rest } = server;
const BASE = Date.parse('2024-05-02T10:00:00Z');

t.test('pages of one source follow each other without a gap, in both directions', async (t) => {
  for (const valuesOf of [() => 1, () => 2, (index: number) => 1 + index % 5]) {
    const id = await rest.createDevice('Pages');
    const measurements = Array.from({ length: 23 }, (_, index) => ({
      source: { id }, type: 't', time: new Date(BASE + Math.floor(index / 2) * 1_000).toISOString(),
      f: Object.fromEntries(Array.from({ length: valuesOf(index) }, (_none, series) => [`s${series}`, { value: index + series / 10 }])),
    }));
    t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
    for (const [revert, order] of [['', 1], ['&revert=true', -1]] as const) {
      const all = (await rest.read(`/measurement/measurements?source=${id}&pageSize=2000${revert}`)).measurements as { id: string; f: object; time: string }[];
      t.equal(all.length, 23);
      const sorted = [...all].sort((a, b) => order * (Date.parse(a.time) - Date.parse(b.time) || Number(a.id) - Number(b.id)));
      t.same(all.map((entry) => entry.id), sorted.map((entry) => entry.id), `in order ${revert}`);
      const values = (entry: { f: object }): number => Object.keys(entry.f).length;
      t.equal(all.reduce((sum, entry) => sum + values(entry), 0), measurements.reduce((sum, entry) => sum + values(entry), 0), 'every value');
      for (const size of [1, 2, 5, 22, 23]) {
        const paged: { id: string; f: object }[] = [];
        for (let page = 1; page <= Math.ceil(23 / size); page += 1) {
          paged.push(...(await rest.read(`/measurement/measurements?source=${id}&pageSize=${size}&currentPage=${page}${revert}`)).measurements);
        }
        t.same(paged, all, `pages of ${size}${revert}`);
      }
    }
  }
});

t.test('filters of the list and of DELETE (document 4 section 1.3)', async (t) => {
  const at = (minute: number): string => new Date(BASE + minute * 60_000).toISOString();
  /** A device with the measurements a, b and c. */
  const filled = async (): Promise<string> => {
    const id = await rest.createDevice('Filtered');
    const measurement = (type: string, minute: number, more: object): object => ({ source: { id }, type, time: at(minute), ...more });
    const measurements = [measurement('a', 1, { f: { x: { value: 1 } } }), measurement('b', 2, { f: { y: { value: 2 } }, note: 'n' }),
      measurement('c', 3, { g: { x: { value: 3 }, y: { value: 4 } } })];
    t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
    return id;
  };
  const list = async (query: string): Promise<{ types: string; total: number }> => {
    const { measurements, statistics } = await rest.read(`/measurement/measurements?${query}&withTotalElements=true`);
    return { types: (measurements as { type: string }[]).map(({ type }) => type).join(''), total: statistics.totalElements };
  };
  const [id, other] = [await filled(), await filled()];
  const cases: [query: string, types: string][] = [
    ['type=b', 'b'], ['type=d', ''], ['valueFragmentType=f', 'ab'], ['valueFragmentType=f&valueFragmentSeries=x', 'a'],
    ['valueFragmentType=g&valueFragmentSeries=x', 'c'], ['fragmentType=f', 'ab'], ['fragmentType=note', 'b'], ['fragmentType=n', ''],
    [`dateFrom=${at(2)}`, 'bc'], [`dateTo=${at(2)}`, 'ab'], [`dateFrom=${at(2)}&dateTo=${at(2)}`, 'b'], [`dateFrom=${at(1)}&dateTo=${at(2)}&type=a`, 'a'],
  ];
  for (const [query, types] of cases) {
    t.same(await list(`source=${id}&${query}`), { types, total: types.length }, query);
    t.same(await list(`source=${id}&${query}&revert=true`), { types: [...types].reverse().join(''), total: types.length }, `${query}, newest first`);
    const emptied = await filled();
    t.equal((await rest.delete(`/measurement/measurements?source=${emptied}&${query}`)).status, 204);
    t.equal((await list(`source=${emptied}`)).types, [...'abc'].filter((type) => !types.includes(type)).join(''), `left by DELETE with ${query}`);
  }
  t.same(await list(`source=${id}`), { types: 'abc', total: 3 });
  t.equal((await rest.delete(`/measurement/measurements?source=${id}`)).status, 204);
  t.same([(await list(`source=${id}`)).types, (await list(`source=${other}`)).types], ['', 'abc']);
});
