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
