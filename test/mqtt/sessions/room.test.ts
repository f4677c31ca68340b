/** What has its own store waits for room in the queue of a session. */
import t from 'tap';
import { Harness, subscribe } from '../helpers/harness.ts';

const message = (topic: string, payload: string, qos: 0 | 1 | 2) => ({ topic, payload: Buffer.from(payload), qos });

t.test('a session tells when half of its queue is free, and what it drops', async (t) => {
  const harness = new Harness({ inFlightMessages: 1, queueMessages: 4 });
  const client = await harness.connected('c1');
  client.send(subscribe(1, ['a', 1]));
  client.take();
  const { connection } = harness.link('c1');
  const session = connection.session!;
  let told = 0;
  const dropped: number[] = [];
  const deliver = (count: number): void =>
    connection.deliver({
      ...message('a', `${count}`, 1),
      onDropped: () => {
        dropped.push(count);
      },
    });
  const acknowledge = (): void => {
    for (const { messageId } of client.take()) client.send({ cmd: 'puback', messageId });
  };
  for (let count = 1; count <= 3; count++) deliver(count);
  t.equal(session.hasRoom, true);
  deliver(4);
  t.equal(session.hasRoom, false);
  session.whenRoom(() => {
    told++;
  });
  for (let count = 5; count <= 7; count++) deliver(count);
  t.same(dropped, [2, 3]);
  acknowledge();
  t.same([told, session.hasRoom], [0, false]);
  acknowledge();
  t.same([told, session.hasRoom], [1, true]);
  acknowledge();
  t.equal(told, 1, 'once');
});
