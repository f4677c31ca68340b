/** DELETE by filters of many events: other tenants' lists do not wait for it, and kill -9 in the middle leaves nothing half done. */
import t from 'tap';
import { MANAGEMENT_PASSWORD, PASSWORD, Rest, TENANT, eventually, startServer } from '../helpers/running-server.ts';
import { scratchDirectory } from '../helpers/setup-command.ts';

t.setTimeout(400_000);
const EVENTS = 15_000;
const TIME = '2024-05-02T10:00:00.000Z';

const post = async (rest: Rest, device: string, count: number): Promise<void> => {
  for (let start = 0; start < count; start += 400) {
    await Promise.all(Array.from({ length: Math.min(400, count - start) }, () => rest.request('POST', '/event/events', { headers: { accept: '' },
      body: { source: { id: device }, type: 'many', text: 't', time: TIME } })));
  }
};
const eventsOf = async (rest: Rest, device: string): Promise<number> =>
  (await rest.read(`/event/events?source=${device}&pageSize=1&withTotalElements=true`)).statistics.totalElements as number;

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

  t.equal((await rest.delete(`/event/events?source=${many}`)).status, 204);
  const begunAt = performance.now();
  const lists = await Promise.all(['/alarm/alarms?pageSize=1', '/inventory/managedObjects?pageSize=1&type=x', '/devicecontrol/operations?pageSize=1',
    '/event/events?pageSize=1'].map((path) => other.get(path)));
  t.same(lists.map(({ status }) => status), [200, 200, 200, 200]);
  const tookMs = performance.now() - begunAt;
  t.comment(`lists of another tenant: ${Math.round(tookMs)} ms`);
  t.ok(await eventsOf(rest, many) > 1, 'it is still under way, and these did not wait for it');
  const later = (await rest.create('/event/events', { source: { id: many }, type: 'later', text: 't', time: TIME })).id as string;
  t.equal((await rest.delete(`/inventory/managedObjects/${whole}`)).status, 204);
  await eventually('a part is gone', async () => await eventsOf(rest, many) < EVENTS);
  await server.stop('SIGKILL');

  const again = await startServer(t, { data });
  const reader = new Rest(again.url, `${TENANT}/admin`, PASSWORD);
  const left = await eventsOf(reader, many);
  t.comment(`${left} left after the restart`);
  t.ok(left > 1, 'killed in the middle');
  await eventually('the rest is gone', async () => await eventsOf(reader, many) === 1 && await eventsOf(reader, whole) === 0, 60_000);
  t.equal((await reader.read(`/event/events?source=${many}`)).events[0].id, later, 'but for what came behind the DELETE');
  t.equal(await again.stop(), 0);
});
