/** Who is connected, on whatever node: to be seen by the administrators of the tenant. */
import t from 'tap';
import { connectDevice } from '../../helpers/running/mqtt.ts';
import { eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest, management } = server;
const path = '/millrace/connections?pageSize=2000&withTotalElements=true';

t.test('connections of the tenant come and go', async (t) => {
  const devices = [];
  for (const clientId of ['pump-1', 'pump-2', 'valve-1'])
    devices.push(await connectDevice(t, server, clientId, { protocolVersion: clientId === 'valve-1' ? 5 : 4 }));
  const [first] = devices;
  await first.publish('s/us', '100,Pump 1,x_Pump');
  await first.subscribe('s/ds');
  const read = async (query = ''): Promise<any[]> => (await rest.read(`${path}${query}`)).connections;
  const rows = await eventually('all are shown', async () => {
    const found = await read();
    if (found.length !== 3) throw new Error(JSON.stringify(found));
    return found;
  });
  t.same(rows.map(({ clientId }) => clientId).sort(), ['pump-1', 'pump-2', 'valve-1']);
  t.match(
    rows.find(({ clientId }) => clientId === 'pump-1'),
    {
      user: 'admin',
      source: { id: await rest.idOf('pump-1') },
      address: '127.0.0.1',
      transport: 'tcp',
      protocolVersion: '3.1.1',
      subscriptions: 1,
      inFlight: 0,
    },
  );
  t.match(await read('&text=valve'), [{ clientId: 'valve-1', protocolVersion: '5.0' }]);
  const pages = await Promise.all(
    [1, 2, 3].map((page) => rest.read(`/millrace/connections?pageSize=1&currentPage=${page}`)),
  );
  t.equal(new Set(pages.map(({ connections }) => connections[0].clientId)).size, 3, 'each on one page');
  t.same((await management.read(path)).connections, [], 'of another tenant none');
  await first.end();
  await eventually('one has gone', async () => (await read()).length === 2);
});
