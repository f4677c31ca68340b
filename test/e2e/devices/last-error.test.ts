/** The last error of a device over MQTT, read by REST (on whichever node). */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { Rest, eventually, startServer } from '../../helpers/running/server.ts';

t.test('a device that sends a wrong row, then a wrong JSON message', async (t) => {
  const server = await startServer(t);
  const { rest } = server;
  const device = await connectDevice(t, server, 'faulty-1');
  await device.subscribe('s/e', 'error');
  await device.publish('s/us', '100,faulty,kiln');
  const { id } = await rest.deviceOf('faulty-1');
  const path = `/inventory/managedObjects/${id}/lastError`;
  const self = `${server.url}${path}`;
  t.same(await rest.read(path), { self, count: 0 });
  await device.publish('s/us/a/b', '211,1');
  await device.row('s/e', /^41,/);
  // Each request of a cluster meets the next node.
  const known = (count: number): Promise<true> =>
    eventually(`error ${count} on every node`, async () => {
      for (let node = 0; node < 3; node += 1) if ((await rest.read(path)).count !== count) return false;
      return true;
    });
  await known(1);
  t.match(await rest.read(path), { self, protocol: 'smartrest', code: '41', message: /./, time: /^\d{4}-/ });
  await device.publish('event/events/create', '{');
  await known(2);
  t.match(await rest.read(path), { count: 2, protocol: 'json', code: /^\w+\/[\w-]+$/ });
  t.equal((await rest.get('/inventory/managedObjects/99999999/lastError')).status, 404);
  const stranger = { userName: 'reader', password: 'Reader-Pass-1' };
  await rest.create('/user/t1/users', stranger);
  t.equal(
    (await new Rest(server.url, 't1/reader', stranger.password).get(path)).status,
    403,
    'the rights of the object',
  );
});
