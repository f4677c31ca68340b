/** Messages of nodes over NATS core. */
import t from 'tap';
import { NodeUnreachable } from '../../../src/ports/cluster/node-messages.ts';
import { NatsConnection } from '../../../src/store/nats/connection.ts';
import { NatsNodeMessages } from '../../../src/store/nats/node-messages.ts';
import { nodeMessagesContract } from '../../cluster/contracts/node-messages.ts';
import { eventually } from '../../cluster/contracts/shard-journal.ts';
import { silentLog, startNats, startNatsProxy } from '../../helpers/stores/nats-server.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('nats-server');
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

nodeMessagesContract(
  t,
  'NATS',
  async (t) => {
    const { url } = await startNats(t);
    const [a, b] = await Promise.all(
      ['a-1', 'b-2'].map(async (nodeId) => {
        const connection = await NatsConnection.open({ servers: url, name: nodeId }, { log: silentLog });
        const messages = new NatsNodeMessages({ connection, prefix: 'test', nodeId, log: silentLog });
        t.teardown(async () => {
          messages.close();
          await connection.close();
        });
        await connection.core.flush();
        return messages;
      }),
    );
    return { a, b };
  },
  skip,
);

t.test('requests, messages, broadcasts', { skip }, async (t) => {
  const server = await startNats(t);
  const proxy = await startNatsProxy(t, server);
  const open = async (
    nodeId: string,
    url: string,
  ): Promise<{ messages: NatsNodeMessages; connection: NatsConnection }> => {
    const connection = await NatsConnection.open({ servers: url, name: nodeId }, { log: silentLog });
    return { connection, messages: new NatsNodeMessages({ connection, prefix: 'test', nodeId, log: silentLog }) };
  };
  const [a, b] = [await open('a-1', server.url), await open('b-2', proxy.url)];
  await a.connection.core.flush();
  await b.connection.core.flush();
  const heard: string[] = [];
  for (const { messages } of [a, b]) {
    messages.listen('news', (payload, from) => {
      heard.push(`${messages.nodeId} ${from} ${text(payload)}`);
    });
    messages.listen('news', () => {
      throw new Error('a listener that fails keeps no other from being called');
    });
    messages.answer('ask.more', (payload, from) => Buffer.from(`${messages.nodeId} to ${from}: ${text(payload)}`));
    messages.answer('fail', async () => {
      throw new Error('not today');
    });
    messages.answer('never', () => new Promise(() => {}));
    messages.answer('size', (payload) => Buffer.alloc(Number(text(payload)), 1));
  }

  for (const { messages } of [a, b]) {
    for (const to of ['a-1', 'b-2']) {
      t.equal(text(await messages.request(to, 'ask.more', Buffer.from('é'), 1_000)), `${to} to ${messages.nodeId}: é`);
      await t.rejects(messages.request(to, 'fail', Buffer.alloc(0), 1_000), new NodeUnreachable('not today'));
      await t.rejects(messages.request(to, 'unknown', Buffer.alloc(0), 1_000), /does not answer unknown/);
      const begun = performance.now();
      t.ok(
        (await messages.request(to, 'never', Buffer.alloc(0), 100).catch((error: unknown) => error)) instanceof
          NodeUnreachable,
      );
      const tookMs = performance.now() - begun;
      t.ok(tookMs > 90, String(tookMs));
    }
  }
  t.ok(
    (await a.messages
      .request('nobody', 'ask.more', Buffer.alloc(0), 600_000)
      .catch((error: unknown) => error)) instanceof NodeUnreachable,
  );
  t.equal((await a.messages.request('b-2', 'size', Buffer.from('1000000'), 2_000)).length, 1_000_000);
  await t.rejects(a.messages.request('b-2', 'size', Buffer.from('1048577'), 2_000), /1048577 bytes/);
  await t.rejects(a.messages.request('b-2', 'bad subject', Buffer.alloc(0), 100), TypeError);
  await t.rejects(a.messages.request('b.*', 'ask', Buffer.alloc(0), 100), TypeError);
  t.throws(
    () => new NatsNodeMessages({ connection: a.connection, prefix: 'test', nodeId: 'a.b', log: silentLog }),
    TypeError,
  );

  for (let n = 0; n < 100; n += 1) a.messages.send('b-2', 'news', Buffer.from(`one ${n}`));
  a.messages.send('a-1', 'news', Buffer.from('self'));
  b.messages.broadcast('news', Buffer.from('all'));
  await eventually('all', () => heard.length === 103);
  t.same(
    heard.filter((entry) => entry.includes('one')),
    Array.from({ length: 100 }, (_, n) => `b-2 a-1 one ${n}`),
    'in order',
  );
  t.same(
    heard.filter((entry) => !entry.includes('one')).sort(),
    ['a-1 a-1 self', 'a-1 b-2 all', 'b-2 b-2 all'],
    'once each',
  );

  let reconnects = 0;
  b.messages.onReconnected(() => {
    reconnects += 1;
  });
  proxy.cut(true);
  await eventually('noticed', () => !b.messages.isConnected);
  await t.rejects(b.messages.request('a-1', 'ask.more', Buffer.alloc(0), 10_000), /no connection/);
  b.messages.broadcast('news', Buffer.from('alone'));
  await eventually('itself', () => heard.includes('b-2 b-2 alone'));
  proxy.cut(false);
  await eventually('back', () => reconnects === 1 && b.messages.isConnected);
  t.equal(text(await b.messages.request('a-1', 'ask.more', Buffer.from('x'), 1_000)), 'a-1 to b-2: x');
  t.notOk(heard.includes('a-1 b-2 alone'), 'what was sent without a connection is lost');
  for (const { messages, connection } of [a, b]) {
    messages.close();
    await connection.close();
  }
});
