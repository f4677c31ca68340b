/** The live bus over three nodes. */
import t from 'tap';
import type { Notification } from '../../../src/ports/live-bus.ts';
import { NatsConnection } from '../../../src/store/nats/connection.ts';
import { NatsLiveBus } from '../../../src/store/nats/live-bus.ts';
import { NatsNodeMessages } from '../../../src/store/nats/node-messages.ts';
import { eventually } from '../../cluster/contracts/shard-journal.ts';
import { silentLog, startNats, startNatsProxy } from '../../helpers/stores/nats-server.ts';
import { missing } from '../../helpers/tools.ts';
import { PATIENCE } from '../../helpers/until.ts';
import { liveBusContract } from '../../realtime/live-bus-contract.ts';

const skip = missing('nats-server');

interface BusNode {
  readonly bus: NatsLiveBus;
  readonly connection: NatsConnection;
  readonly refusals: Map<string, number>;
  close(): Promise<void>;
}

async function open(nodeId: string, url: string): Promise<BusNode> {
  const connection = await NatsConnection.open({ servers: url, name: nodeId }, { log: silentLog });
  const messages = new NatsNodeMessages({ connection, prefix: 'test', nodeId, log: silentLog });
  const refusals = new Map<string, number>();
  const bus = new NatsLiveBus({
    connection,
    messages,
    prefix: 'test',
    log: silentLog,
    refusals: {
      count: (limit) => {
        refusals.set(limit, (refusals.get(limit) ?? 0) + 1);
      },
    },
  });
  return {
    bus,
    connection,
    refusals,
    close: async () => {
      bus.close();
      messages.close();
      await connection.close();
    },
  };
}

liveBusContract(
  t,
  'a node of a cluster',
  async (t) => {
    const node = await open('a', (await startNats(t)).url);
    t.teardown(() => node.close());
    return { from: node.bus, to: node.bus };
  },
  skip,
);

liveBusContract(
  t,
  'from one node to another',
  async (t) => {
    const { url } = await startNats(t);
    const [from, to] = [await open('a', url), await open('b', url)];
    t.teardown(() => Promise.all([from.close(), to.close()]));
    return { from: from.bus, to: to.bus };
  },
  skip,
);

let texts = 0;
const notification = (n: number, options: Partial<Notification> = {}, body = ''): Notification => ({
  tenant: 1,
  area: 'alarms',
  source: `1000${n}`,
  action: 'CREATE',
  text: () => {
    texts += 1;
    return `{"n":${n},"x":"ü${body}"}`;
  },
  ...options,
});

t.test('three nodes', { skip }, async (t) => {
  const server = await startNats(t);
  const [a, b, c] = [await open('a', server.url), await open('b', server.url), await open('c', server.url)];
  const heard: string[] = [];
  const hear =
    (name: string) =>
    (one: Notification): void => {
      heard.push(`${name} ${one.tenant} ${one.area} ${one.source} ${one.action} ${one.text()}`);
    };
  t.notOk(a.bus.hasSubscribers(1, 'alarms'));
  a.bus.publish(notification(0));
  t.equal(texts, 0, 'nobody listens: no text is made');

  const ends = [
    a.bus.subscribe(1, 'alarms', hear('a')),
    b.bus.subscribe(1, 'alarms', hear('b1')),
    b.bus.subscribe(1, 'alarms', hear('b2')),
    c.bus.subscribe(2, 'events', hear('c')),
  ];
  await eventually(
    'interest',
    () => a.bus.hasSubscribers(2, 'events') && c.bus.hasSubscribers(1, 'alarms') && b.bus.hasSubscribers(2, 'events'),
  );
  t.notOk(a.bus.hasSubscribers(1, 'events'));
  t.notOk(a.bus.hasSubscribers(2, 'alarms'));
  a.bus.publish(notification(1));
  t.same(heard, ['a 1 alarms 10001 CREATE {"n":1,"x":"ü"}'], 'here at once');
  a.bus.publish(notification(2, { action: 'DELETE', text: () => '"5"' }));
  a.bus.publish(notification(3, { tenant: 2, area: 'events' }));
  await eventually('there', () => heard.length === 7);
  t.equal(texts, 2, 'the text of each is made once');
  t.same(heard.filter((entry) => !entry.startsWith('a')).sort(), [
    'b1 1 alarms 10001 CREATE {"n":1,"x":"ü"}',
    'b1 1 alarms 10002 DELETE "5"',
    'b2 1 alarms 10001 CREATE {"n":1,"x":"ü"}',
    'b2 1 alarms 10002 DELETE "5"',
    'c 2 events 10003 CREATE {"n":3,"x":"ü"}',
  ]);

  // A node that comes later learns at once what the others listen to: before they repeat it, each second.
  const d = await open('d', server.url);
  await eventually(
    'asked',
    () => d.bus.hasSubscribers(1, 'alarms') && d.bus.hasSubscribers(2, 'events'),
    700 / PATIENCE,
  );
  heard.length = 0;
  const before = a.connection.core.stats().outMsgs;
  for (let n = 0; n < 1_000; n += 1) d.bus.publish(notification(n));
  await eventually('all', () => heard.length === 3_000);
  t.same(
    heard.filter((entry) => entry.startsWith('b2')).map((entry) => Number(/"n":(\d+)/.exec(entry)![1])),
    Array.from({ length: 1_000 }, (_, n) => n),
    'in order',
  );
  t.ok(d.connection.core.stats().outMsgs < 40 && a.connection.core.stats().outMsgs - before < 20, 'in few messages');

  ends[1]();
  ends[1]();
  ends[0]();
  await new Promise((resolve) => {
    setTimeout(resolve, 30);
  });
  t.ok(d.bus.hasSubscribers(1, 'alarms'), 'one of two listeners is left');
  ends[2]();
  await eventually('nobody', () => !d.bus.hasSubscribers(1, 'alarms') && !a.bus.hasSubscribers(1, 'alarms'));
  t.ok(d.bus.hasSubscribers(2, 'events'));
  // Killed: not heard any more.
  await c.connection.close();
  await eventually('forgotten', () => !d.bus.hasSubscribers(2, 'events'), 8_000);
  for (const node of [a, b, d]) {
    t.same([...node.refusals], []);
    await node.close();
  }
  c.bus.close();
});

t.test('large, too large, too many, without a connection', { skip }, async (t) => {
  const server = await startNats(t);
  const proxy = await startNatsProxy(t, server);
  const [a, b] = [await open('a', proxy.url), await open('b', server.url)];
  let count = 0;
  let bytes = 0;
  b.bus.subscribe(7, 'measurements', (one) => {
    count += 1;
    bytes += one.text().length;
  });
  await eventually('interest', () => a.bus.hasSubscribers(7, 'measurements'));
  const options = { tenant: 7, area: 'measurements' as const };
  for (let n = 0; n < 10; n += 1) a.bus.publish(notification(n, options, 'x'.repeat(300_000)));
  a.bus.publish(notification(10, options, 'x'.repeat(1_000_000)));
  await eventually('split over messages', () => count === 11);
  t.ok(bytes > 4_000_000);
  a.bus.publish(notification(11, options, 'x'.repeat(1_100_000)));
  t.same([...a.refusals], [['live-bus/too-large', 1]]);
  // What was sent before counts until the server has confirmed it.
  for (let round = 0; round < 3; round += 1) await a.connection.core.flush();
  for (let n = 0; n < 100; n += 1) a.bus.publish(notification(n, options, 'x'.repeat(200_000)));
  const dropped = a.refusals.get('live-bus/dropped')!;
  t.ok(dropped > 50 && dropped < 70, `${dropped} of 100: 8 MiB may be on their way`);
  await eventually('the others', () => count === 11 + 100 - dropped);
  a.bus.publish(notification(1, options));
  await eventually('goes on', () => count === 12 + 100 - dropped);
  proxy.cut(true);
  await eventually('noticed', () => !a.connection.isConnected);
  a.bus.publish(notification(2, options));
  t.equal(a.refusals.get('live-bus/dropped'), dropped + 1);
  proxy.cut(false);
  await eventually('back', () => a.connection.isConnected);
  a.bus.publish(notification(3, options));
  await eventually('goes on', () => count === 13 + 100 - dropped);
  await a.close();
  await b.close();
});
