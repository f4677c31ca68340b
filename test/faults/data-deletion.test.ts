/**
 * DELETE by filters: other tenants' lists do not wait for that of many events, and kill -9 in the middle leaves nothing
 * half done, or half kept.
 */
import t from 'tap';
import { MANAGEMENT_PASSWORD, PASSWORD, Rest, TENANT, eventually, startServer } from '../helpers/running/server.ts';
import { scratchDirectory } from '../helpers/setup-command.ts';

const EVENTS = 15_000;
const TIME = '2024-05-02T10:00:00.000Z';

const post = async (rest: Rest, device: string, count: number): Promise<void> => {
  for (let start = 0; start < count; start += 400) {
    await Promise.all(
      Array.from({ length: Math.min(400, count - start) }, () =>
        rest.request('POST', '/event/events', {
          headers: { accept: '' },
          body: { source: { id: device }, type: 'many', text: 't', time: TIME },
        }),
      ),
    );
  }
};
const eventsOf = async (rest: Rest, device: string): Promise<number> =>
  (await rest.read(`/event/events?source=${device}&pageSize=1&withTotalElements=true`)).statistics
    .totalElements as number;

t.test('a DELETE of many events, and of the device that has them', async (t) => {
  const data = scratchDirectory(t);
  const server = await startServer(t, { data });
  const { rest } = server;
  const other = new Rest(server.url, 'management/admin', MANAGEMENT_PASSWORD);
  const [many, few, whole] = await Promise.all(['Many', 'Few', 'Whole'].map((name) => rest.createDevice(name)));
  await post(rest, many, EVENTS);
  await post(rest, few, 300);
  await post(rest, whole, 1_100);
  t.equal(await eventsOf(rest, many), EVENTS);

  t.equal((await rest.delete(`/event/events?source=${few}`)).status, 204);
  t.equal(await eventsOf(rest, few), 0, 'few are gone for whoever asks then');

  const deleted = await Promise.all(
    [`/event/events?source=${many}`, `/inventory/managedObjects/${whole}`].map((path) => rest.delete(path)),
  );
  t.same(
    deleted.map(({ status }) => status),
    [204, 204],
  );
  const begunAt = performance.now();
  const lists = await Promise.all(
    [
      '/alarm/alarms?pageSize=1',
      '/inventory/managedObjects?pageSize=1&type=x',
      '/devicecontrol/operations?pageSize=1',
      '/event/events?pageSize=1',
    ].map((path) => other.get(path)),
  );
  t.same(
    lists.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  const tookMs = performance.now() - begunAt;
  t.comment(`lists of another tenant: ${Math.round(tookMs)} ms`);
  t.ok((await eventsOf(rest, many)) > 1, 'it is still under way, and these did not wait for it');
  const later = (await rest.create('/event/events', { source: { id: many }, type: 'later', text: 't', time: TIME }))
    .id as string;
  let left = EVENTS;
  await eventually('a part is gone', async () => (left = await eventsOf(rest, many)) < EVENTS);
  await server.stop('SIGKILL');
  t.comment(`${left} left before the kill`);
  t.ok(left > 1, 'killed in the middle');

  const again = await startServer(t, { data });
  const reader = new Rest(again.url, `${TENANT}/admin`, PASSWORD);
  await eventually(
    'the rest is gone',
    async () => (await eventsOf(reader, many)) === 1 && (await eventsOf(reader, whole)) === 0,
    60_000,
  );
  t.equal(
    (await reader.read(`/event/events?source=${many}`)).events[0].id,
    later,
    'but for what came behind the DELETE',
  );
  t.equal(await again.stop(), 0);
});

t.test(
  'a DELETE of measurements, killed at any moment: what was before it goes, what came behind it stays',
  async (t) => {
    const data = scratchDirectory(t);
    let server = await startServer(t, { data });
    const device = await server.rest.createDevice('Measured');
    const valuesOf = async (rest: Rest): Promise<number[]> =>
      (await rest.read(`/measurement/measurements?source=${device}&pageSize=2000&dateFrom=2024-01-01`)).measurements
        .map(({ f }: { f: { s: { value: number } } }) => f.s.value)
        .sort((a: number, b: number) => a - b);
    for (let round = 1; round <= 3; round += 1) {
      const { rest } = server;
      const measurement = (value: number, time = TIME) => ({
        source: { id: device },
        type: 'T',
        time,
        f: { s: { value } },
      });
      // In the block that the DELETE ends, or in one before it.
      await rest.create('/measurement/measurements', {
        measurements: Array.from({ length: 1_000 }, (_, index) => measurement(index)),
      });
      if (round % 2 === 0) await valuesOf(rest);
      t.equal(
        (await rest.delete(`/measurement/measurements?source=${device}&dateTo=2024-12-31T00:00:00.000Z`)).status,
        204,
      );
      const value = 10_000 + round;
      await rest.create('/measurement/measurements', measurement(value));
      await new Promise((resolve) => {
        setTimeout(resolve, Math.random() * 150);
      });
      await server.stop('SIGKILL');
      server = await startServer(t, { data });
      // What is kept goes with the next round's DELETE.
      await eventually(
        `round ${round}`,
        async () => JSON.stringify(await valuesOf(server.rest)) === JSON.stringify([value]),
        60_000,
      );
    }
    t.equal(await server.stop(), 0);
  },
);
