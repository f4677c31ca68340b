/**
 * Pages of measurements with one and with many values: the same whether they are read in one pass (first page of a
 * source) or not.
 */
import t from 'tap';
import { startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const BASE = Date.parse('2024-05-02T10:00:00Z');

t.test('pages of one source follow each other without a gap, in both directions', async (t) => {
  for (const valuesOf of [() => 1, () => 2, (index: number) => 1 + (index % 5)]) {
    const id = await rest.createDevice('Pages');
    const measurements = Array.from({ length: 23 }, (_, index) => ({
      source: { id },
      type: 't',
      time: new Date(BASE + Math.floor(index / 2) * 1_000).toISOString(),
      f: Object.fromEntries(
        Array.from({ length: valuesOf(index) }, (_none, series) => [`s${series}`, { value: index + series / 10 }]),
      ),
    }));
    t.equal((await rest.post('/measurement/measurements', { measurements })).status, 201);
    for (const [revert, order] of [
      ['', 1],
      ['&revert=true', -1],
    ] as const) {
      const all = (await rest.read(`/measurement/measurements?source=${id}&pageSize=2000${revert}`)).measurements as {
        id: string;
        f: object;
        time: string;
      }[];
      t.equal(all.length, 23);
      const sorted = [...all].sort(
        (a, b) => order * (Date.parse(a.time) - Date.parse(b.time) || Number(a.id) - Number(b.id)),
      );
      t.same(
        all.map((entry) => entry.id),
        sorted.map((entry) => entry.id),
        `in order ${revert}`,
      );
      const values = (entry: { f: object }): number => Object.keys(entry.f).length;
      t.equal(
        all.reduce((sum, entry) => sum + values(entry), 0),
        measurements.reduce((sum, entry) => sum + values(entry), 0),
        'every value',
      );
      for (const size of [1, 2, 5, 22, 23]) {
        const paged: { id: string; f: object }[] = [];
        for (let page = 1; page <= Math.ceil(23 / size); page += 1) {
          paged.push(
            ...(await rest.read(`/measurement/measurements?source=${id}&pageSize=${size}&currentPage=${page}${revert}`))
              .measurements,
          );
        }
        t.same(paged, all, `pages of ${size}${revert}`);
      }
    }
  }
});

t.test('what was asked for before is told as it is now', async (t) => {
  const id = await rest.createDevice('Recent');
  const other = await rest.createDevice('Another');
  const now = Date.now();
  const post = async (source: string, time: number, mode?: string): Promise<string> => {
    const made = await rest.request('POST', '/measurement/measurements', {
      body: {
        source: { id: source },
        type: 't',
        time: new Date(time).toISOString(),
        'f-x': { s: { value: time, unit: 'é' }, z: { value: 1 } },
        more: { a: [1] },
      },
      headers: mode === undefined ? {} : { 'x-cumulocity-processing-mode': mode },
    });
    t.equal(made.status, 201);
    return made.json.id;
  };
  const ask = async (query: string): Promise<{ ids: string[]; total: number; measurements: object[] }> => {
    const { measurements, statistics } = await rest.read(
      `/measurement/measurements?pageSize=3&withTotalElements=true&${query}`,
    );
    const ids = (measurements as { id: string }[]).map((measurement) => measurement.id);
    return { ids, total: statistics.totalElements, measurements };
  };
  const first = await post(id, now - 5_000);
  t.same((await ask(`source=${id}&revert=true`)).ids, [first]);
  const late = await post(id, now - 86_400_000);
  const second = await post(id, now - 4_000);
  await post(id, now, 'TRANSIENT');
  await post(other, now - 1_000);
  const third = await post(id, now - 3_000);
  const known = await ask(`source=${id}&revert=true`);
  t.same(known.ids, [third, second, first]);
  t.equal(known.total, 4);
  t.same((await ask(`source=${id}`)).ids, [late, first, second], 'oldest first');
  t.same((await ask(`source=${id}&revert=true&currentPage=2`)).ids, [late]);
  t.same((await ask(`source=${id}&revert=true&dateTo=${new Date(now - 4_000).toISOString()}`)).ids, [
    second,
    first,
    late,
  ]);
  const hours = `dateFrom=${new Date(now - 7_200_000).toISOString()}&dateTo=${new Date(now + 60_000).toISOString()}`;
  // Another filter is answered by the history, and brings all into it.
  await rest.read(`/measurement/measurements?source=${id}&type=t`);
  for (const path of [
    `/measurement/measurements?source=${id}&revert=true&pageSize=3&withTotalElements=true`,
    `/measurement/measurements?source=${id}&${hours}&revert=true&pageSize=3`,
    `/measurement/measurements/series?source=${id}&${hours}`,
    `/measurement/measurements/series?source=${id}&${hours}&revert=true&series=f-x.s`,
    `/measurement/measurements/series?source=${id}&${hours}&aggregationType=MINUTELY&aggregationFunction=count,max`,
    `/measurement/measurements/series?source=${id}&${hours}&aggregationInterval=2s&aggregationFunction=avg`,
  ]) {
    const told = await rest.read(path);
    const fromHistory = await rest.request('GET', path, { headers: { 'x-millrace-no-flush': 'true' } });
    t.same(told, fromHistory.json, path);
  }
  const [byId] = known.measurements;
  t.same(byId, await rest.read(`/measurement/measurements/${third}`), 'the same text as from the history');
  t.equal((await rest.delete(`/measurement/measurements/${second}`)).status, 204);
  for (const [revert, want] of [
    ['&revert=true', [third, first, late]],
    ['', [late, first, third]],
  ] as const) {
    const { ids, total } = await ask(`source=${id}${revert}`);
    t.same(ids, want);
    t.equal(total, 3);
  }
  t.equal((await rest.delete(`/inventory/managedObjects/${id}`)).status, 204);
  t.same((await ask(`source=${id}&revert=true`)).ids, []);
});
