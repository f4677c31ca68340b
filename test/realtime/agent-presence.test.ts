/**
 * An agent is connected while its owner's session holds its channel of the operations' URLs
 * (docs/spec/availability.md#connection).
 */
import t from 'tap';
import { AGENTS_URL, createWorld, PollingClient, principal, SocketClient, TestNotification } from './helpers.ts';
import type { World } from './helpers.ts';

const access = {
  mayRead: () => true,
  watchedFor: async (_who: object, id: string) => [id],
  isOwner: (who: { userName: string }) => who.userName === 'device',
};

function watched(): World & { changes: string[] } {
  const world = createWorld({ access });
  const changes: string[] = [];
  world.server.presence.onChanged = (tenant, agent) => {
    changes.push(`${tenant}/${agent} ${world.server.presence.isConnected(tenant, agent) ? 'connected' : 'gone'}`);
  };
  return { ...world, changes };
}

const device = { principal: principal('device'), urlForm: AGENTS_URL };

t.test(
  'long polling: connected from the first connect on, also between two polls, until the poll breaks off',
  async (t) => {
    const world = watched();
    const client = new PollingClient(world, device);
    await client.handshake();
    await client.subscribe('/42');
    t.same(world.changes, [], 'not before a connect');
    await client.connect();
    t.same(world.changes.splice(0), ['1/42 connected']);
    const poll = await client.connect();
    world.bus.publish(new TestNotification('operations', '42', '{}'));
    await client.one({ channel: '/meta/unsubscribe', clientId: client.clientId, subscription: '/alarms/1' });
    t.same(world.changes, []);
    poll.abort();
    t.same(world.changes.splice(0), ['1/42 gone']);
    await client.connect();
    t.same(world.changes.splice(0), ['1/42 connected'], 'it is back');
    world.clock.advance(60_000);
    t.same(world.changes.splice(0), ['1/42 gone'], 'no connect came until the session ended');
  },
);

t.test('WebSocket: until the socket closes; unsubscribe and disconnect end it too', async (t) => {
  const world = watched();
  const socket = new SocketClient(world, device);
  await socket.watch('/42');
  t.same(world.changes.splice(0), ['1/42 connected']);
  socket.socket.closed();
  t.same(world.changes.splice(0), ['1/42 gone']);
  const other = new SocketClient(world, device);
  await other.watch('/42', '/43');
  t.same(world.changes.splice(0), ['1/42 connected', '1/43 connected']);
  await other.ask({ channel: '/meta/unsubscribe', subscription: '/42' });
  t.same(world.changes.splice(0), ['1/42 gone']);
  await other.ask({ channel: '/meta/disconnect' });
  t.same(world.changes.splice(0), ['1/43 gone']);
});

t.test('the last of several sessions counts, and the end of the user', async (t) => {
  const world = watched();
  const poll = await new PollingClient(world, device).watch('/42');
  await new PollingClient(world, device).watch('/42');
  t.same(world.changes.splice(0), ['1/42 connected']);
  poll.abort();
  t.same(world.changes, [], 'the other is still there');
  world.server.endUser('t1', 'device');
  t.same(world.changes, ['1/42 gone']);
});

t.test("who is not the owner watches only, and so does a channel that is not the agent's", async (t) => {
  const world = watched();
  await new PollingClient(world, { principal: principal('admin'), urlForm: AGENTS_URL }).watch('/42');
  await new PollingClient(world, device).watch('/operations/42', '/alarms/42');
  t.same(world.changes, []);
});
