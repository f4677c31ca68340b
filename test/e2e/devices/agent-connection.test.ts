/**
 * `c8y_Connection` of agents that wait for operations over WebSocket or long polling
 * (docs/spec/availability.md#connection).
 */
import t from 'tap';
import { BayeuxSocket } from '../../helpers/running/bayeux.ts';
import { PASSWORD, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const agent = (name: string): Promise<string> => rest.createDevice(name, { com_cumulocity_model_Agent: {} });
const connection = async (id: string): Promise<string | undefined> =>
  (await rest.read(`/inventory/managedObjects/${id}`)).c8y_Connection?.status;
const becomes = (id: string, status: string) =>
  eventually(`${id} ${status}`, async () => (await connection(id)) === status, 20_000);

t.test('WebSocket', async (t) => {
  const id = await agent('socket agent');
  t.equal(await connection(id), undefined);
  const socket = await BayeuxSocket.open(t, server, '/notification/operations');
  await socket.subscribe(`/${id}`);
  await becomes(id, 'CONNECTED');
  const object = await rest.read(`/inventory/managedObjects/${id}`);
  t.equal(object.c8y_Availability, undefined, 'it reads operations: that is no message of a device');
  socket.socket.terminate();
  await becomes(id, 'DISCONNECTED');
});

t.test('long polling, in maintenance meanwhile', async (t) => {
  const id = await agent('polling agent');
  const ask = async (message: object, signal?: AbortSignal): Promise<any> => {
    const answer = await fetch(`${server.url}/devicecontrol/notifications`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify([message]),
      ...(signal === undefined ? {} : { signal }),
    });
    return ((await answer.json()) as object[])[0];
  };
  const { clientId } = await ask({ channel: '/meta/handshake', version: '1.0' });
  await ask({ channel: '/meta/subscribe', clientId, subscription: `/${id}` });
  await ask({ channel: '/meta/connect', clientId, connectionType: 'long-polling' });
  const abort = new AbortController();
  const held = ask({ channel: '/meta/connect', clientId, connectionType: 'long-polling' }, abort.signal).catch(
    (error: Error) => error.name,
  );
  await becomes(id, 'CONNECTED');
  await rest.put(`/inventory/managedObjects/${id}`, { c8y_RequiredAvailability: { responseInterval: -1 } });
  await becomes(id, 'MAINTENANCE');
  await rest.put(`/inventory/managedObjects/${id}`, { c8y_RequiredAvailability: { responseInterval: 10 } });
  await becomes(id, 'CONNECTED');
  abort.abort();
  t.equal(await held, 'AbortError');
  await becomes(id, 'DISCONNECTED');
});
