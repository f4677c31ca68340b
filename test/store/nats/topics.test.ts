/** Topics of Notifications 2.0 on a real JetStream: parts, copies, and what is too large. */
import t from 'tap';
import type { TopicRef } from '../../../src/model/entities/notifications/topic.ts';
import { MESSAGE_BYTES } from '../../../src/realtime/notifications/parts.ts';
import { NatsConnection } from '../../../src/store/nats/connection.ts';
import { NatsTopics } from '../../../src/store/nats/topics.ts';
import { silentLog, startNats } from '../../helpers/stores/nats-server.ts';
import { missing } from '../../helpers/tools.ts';

const REF: TopicRef = { tenant: 1, topic: 'a' };
const message = (id: number, chars: number): string =>
  `/t1/events/1\nCREATE\n\n{"id":"${id}","x":"${'x'.repeat(chars)}"}`;

t.test('large notifications', { skip: missing('nats-server') }, async (t) => {
  const server = await startNats(t);
  const connection = await NatsConnection.open({ servers: server.url, name: 'topics' }, { log: silentLog });
  t.teardown(() => connection.close());
  const counted: string[] = [];
  let hasSubscriber = false;
  const topics = new NatsTopics({
    connection,
    prefix: 'test',
    replicas: 1,
    ageMaxMs: 60_000,
    documents: { list: () => (hasSubscriber ? [{ id: 'a', value: '' }] : []) },
    refusals: { count: (limit) => void counted.push(limit) },
    log: silentLog,
  });
  await topics.open(REF, 0);
  const large = [message(1, 500_000), message(2, 500_000), message(3, 500_000)];
  const stored = await topics.store(REF, { seq: 7, at: 5, messages: large });
  t.equal(stored.length, 3, 'a part for each');
  const read = await topics.read(REF, 0, 10);
  t.same(
    read.flatMap(({ messages }) => messages),
    large,
    'in order, whole',
  );
  await topics.store(REF, { seq: 7, at: 6, messages: large });
  t.equal((await topics.open(REF, 0)).count, 3, 'what is stored again is there once');
  await topics.store(REF, { seq: 7, at: 6, messages: [large[0], message(4, 10)] });
  t.equal((await topics.open(REF, 0)).count, 4, 'other messages of the same group are not taken for a copy');
  await topics.store(REF, { seq: 8, at: 7, messages: [message(5, 2_000_000)] });
  t.same((await topics.read(REF, 4, 1))[0].messages, ['/t1/events/1\nCREATE\n\n{"id":"5"}'], 'shortened');
  t.same(counted.splice(0), [MESSAGE_BYTES]);

  await connection.manager.streams.update('TEST_TOPIC_1_a', { max_msg_size: 1_000 });
  t.same(await topics.store(REF, { seq: 9, at: 8, messages: [message(6, 5_000)] }), [], 'refused, and not tried again');
  t.same(counted, [MESSAGE_BYTES]);
  t.equal((await topics.store(REF, { seq: 10, at: 9, messages: [message(7, 10)] })).length, 1);

  const kept: TopicRef[] = [];
  for await (const ref of topics.kept()) kept.push(ref);
  t.same(kept, [REF]);
  await topics.close(REF);
  counted.length = 0;
  const chunk = { seq: 11, at: 9, messages: [message(8, 10)] };
  t.same(await topics.store(REF, chunk), []);
  t.same(counted, [], 'of a topic that has ended nothing is lost');
  hasSubscriber = true;
  t.same(await topics.store(REF, chunk), []);
  t.same(counted, ['notifications/no-stream'], 'one that was removed is missed');
  const bounds = { through: 0, before: 0, excess: 0, lastSeq: 0 };
  t.match(await topics.trim(REF, bounds), { isGone: true });
  t.match(await topics.open(REF, 0), { lastSeq: 0, lost: undefined }, 'nothing was read of it');
  const again = { ...chunk, seq: 1 };
  t.same(await topics.store(REF, chunk), [again]);
  counted.length = 0;
  t.match(await topics.trim(REF, { ...bounds, through: 500, lastSeq: 500 }), { removed: [], isGone: true });
  t.match(await topics.open(REF, 500), { lastSeq: 1, count: 1, lost: { keptFrom: 1, keptThrough: 1 } });
  t.same(counted, ['notifications/no-stream'], 'it had more');
  t.same(await topics.read(REF, 0, 10), [again], 'what it has stays');
  // As the one before, and it grows past what was read while it is looked at.
  counted.length = 0;
  const trimmed = topics.trim(REF, { ...bounds, through: 3, lastSeq: 3 });
  // Behind its first look; it waits for more.
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  });
  for (let id = 12; id < 16; id += 1) await topics.store(REF, { seq: id, at: id, messages: [message(id, 10)] });
  t.match(await trimmed, { isGone: true });
  t.match(await topics.open(REF, 3), { lastSeq: 5, count: 5, lost: { keptFrom: 1, keptThrough: 1 } });
  t.same(counted, ['notifications/no-stream']);
  t.match(await topics.open(REF, 3), { lastSeq: 5, lost: undefined }, 'told once');
});
