import t from 'tap';
import { createWorld, deliveriesOf, PollingClient, SocketClient, TestNotification } from '../helpers.ts';

const UNKNOWN = { successful: false, error: '402::Unknown client', advice: { interval: 0, reconnect: 'handshake' } };

t.test('the first connect is answered at once, the second is held for the default time', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  await client.handshake();
  t.same((await client.connect({ id: '1' })).messages, [
    {
      id: '1',
      channel: '/meta/connect',
      clientId: client.clientId,
      successful: true,
      advice: { interval: 0, timeout: 5_400_000, reconnect: 'retry' },
    },
  ]);
  const poll = await client.connect();
  world.clock.advance(5_399_999);
  t.equal(poll.messages, undefined);
  world.clock.advance(1);
  t.match(poll.messages, [{ channel: '/meta/connect', successful: true }]);
});

t.test('a connect names its own time, at most the maximum; the handshake that of all', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  const answer = await client.handshake({ advice: { timeout: 30_000, interval: 1_000 } });
  t.equal(answer.successful, true);
  t.match(
    (await client.connect({ advice: { timeout: 9_000 } })).messages,
    [{ advice: { timeout: 30_000, interval: 1_000 } }],
    'the first returns at once all the same',
  );
  const check = async (advice: unknown, waitMs: number): Promise<void> => {
    const poll = await client.connect({ advice });
    if (waitMs > 0) {
      world.clock.advance(waitMs - 1);
      t.equal(poll.messages, undefined, JSON.stringify(advice));
      world.clock.advance(1);
    }
    t.equal(poll.messages?.length, 1, JSON.stringify(advice));
  };
  await check(undefined, 30_000);
  await check({ timeout: 0 }, 0);
  await check({ timeout: 100 }, 100);
  await check({ timeout: 99_000_000 }, 7_200_000);
  await check({ timeout: -1 }, 30_000);
  await check({ timeout: 'soon' }, 30_000);
  await check(7, 30_000);
});

t.test('the time of a handshake is bounded; 0 there does not mean polling without a pause', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  await client.handshake({ advice: { timeout: 99_000_000, interval: 99_000_000 } });
  t.match((await client.connect()).messages, [{ advice: { timeout: 7_200_000, interval: 600_000 } }]);
  await client.handshake({ advice: { timeout: 0 } });
  t.match((await client.connect()).messages, [{ advice: { timeout: 5_400_000, interval: 0 } }]);
});

t.test('a blank keeps an idle long poll open every 10 minutes; a WebSocket needs none', async (t) => {
  const world = createWorld();
  const poll = await new PollingClient(world).watch('/alarms/1');
  const socket = new SocketClient(world);
  await socket.watch('/alarms/1');
  world.clock.advance(599_999);
  t.equal(poll.blanks, 0);
  world.clock.advance(1);
  t.equal(poll.blanks, 1);
  world.clock.advance(1_800_000);
  t.equal(poll.blanks, 4);
  t.equal(poll.messages, undefined);
  t.same(socket.channel.take(), []);
  world.bus.publish(new TestNotification('alarms', '1', '{}'));
  world.clock.turn();
  t.equal(deliveriesOf(poll.messages).length, 1);
  world.clock.advance(600_000);
  t.equal(poll.blanks, 4);
});

t.test("a WebSocket's connect is answered when its time is over", async (t) => {
  const world = createWorld();
  const socket = new SocketClient(world);
  await socket.handshake({ advice: { timeout: 10_000 } });
  t.equal((await socket.connect()).length, 1);
  t.equal((await socket.connect({ id: '5' })).length, 0);
  world.clock.advance(10_000);
  t.match(socket.channel.take(), [{ id: '5', channel: '/meta/connect', successful: true }]);
});

t.test('a session without a connect ends after its interval and 60 s; until then its messages wait', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  const poll = await client.watch('/alarms/1');
  world.clock.advance(300_000);
  t.equal(world.server.sessionCount, 1, 'a held connect keeps it');
  poll.abort();
  world.bus.publish(new TestNotification('alarms', '1', '1'));
  world.clock.advance(59_999);
  t.equal(deliveriesOf((await client.connect()).messages).length, 1);
  world.bus.publish(new TestNotification('alarms', '1', '2'));
  world.clock.advance(60_000);
  t.equal(world.server.sessionCount, 0);
  t.equal(world.server.queuedBytes, 0);
  t.equal(world.bus.hasSubscribers(1, 'alarms'), false);
  t.match((await client.connect()).messages, [UNKNOWN]);
  t.match(await client.subscribe('/alarms/1'), UNKNOWN);
  t.equal(world.clock.timerCount, 0);
});

t.test('a session that never connects ends too; a longer interval makes it live longer', async (t) => {
  const world = createWorld();
  await new PollingClient(world).handshake();
  await new PollingClient(world).handshake({ advice: { interval: 10_000 } });
  world.clock.advance(60_000);
  t.equal(world.server.sessionCount, 1);
  world.clock.advance(10_000);
  t.equal(world.server.sessionCount, 0);
});

t.test('a lost WebSocket starts the same clock', async (t) => {
  const world = createWorld();
  const socket = new SocketClient(world);
  await socket.watch('/alarms/1');
  world.clock.advance(600_000);
  socket.socket.closed();
  socket.socket.message('[{"channel":"/nothing"}]');
  socket.socket.drained();
  world.clock.advance(59_999);
  t.equal(world.server.sessionCount, 1);
  world.clock.advance(1);
  t.equal(world.server.sessionCount, 0);
});

t.test('a second connect answers the first, with a pause so that two do not chase each other', async (t) => {
  const world = createWorld();
  const client = new PollingClient(world);
  const first = await client.watch('/alarms/1');
  const second = await client.connect();
  t.match(first.messages, [
    { channel: '/meta/connect', successful: true, advice: { interval: 2_000, reconnect: 'retry' } },
  ]);
  world.bus.publish(new TestNotification('alarms', '1', '1'));
  world.clock.turn();
  t.equal(deliveriesOf(second.messages).length, 1);
  first.abort();
  const third = await client.connect();
  second.abort();
  world.bus.publish(new TestNotification('alarms', '1', '2'));
  world.clock.turn();
  t.equal(deliveriesOf(third.messages).length, 1, 'the end of an earlier poll does not touch the later one');
});
