/** What connections tell of their messages while somebody watches, and that they tell nothing otherwise. */
import t from 'tap';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import type { TrafficTap } from '../../src/ports/traffic.ts';
import { Harness, publish } from './helpers/harness.ts';

t.test('messages in both directions, and why a connection ends', async (t) => {
  const told: string[] = [];
  const tap = {
    isWatched: false as boolean,
    message: (kind, { clientId, principal }, { topic, payload, qos }) =>
      void told.push(
        `${kind} ${principal.tenantNumber} ${clientId} ${topic.toString()} ${Buffer.from(payload)} ${qos}`,
      ),
    error: ({ clientId }, { code, message }) => void told.push(`${clientId} ${code} ${message}`),
  } satisfies TrafficTap;
  const harness = new Harness({ payloadBytes: 10 }, tap);
  const client = await harness.connected('c1');
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 's/ds', qos: 1 }] });
  client.send(publish('s/us', '200,a'));
  t.same(told, [], 'nobody watches');
  tap.isWatched = true;
  client.send(publish('s/us', '200,b', 1, 7));
  harness.link('c1').connection.deliver({ topic: 's/ds', payload: Buffer.from('510,c1'), qos: 2 });
  harness.link('c1').connection.deliver({ topic: 'not/subscribed', payload: Buffer.from('x'), qos: 0 });
  harness.onPublish = () => PUBLISH_RESULT.BUSY;
  client.send(publish('s/us', '200,c', 1, 8));
  harness.onPublish = () => PUBLISH_RESULT.PENDING;
  harness.link('c1').connection.resume();
  client.send(publish('s/us', 'x'.repeat(11)));
  const [fault] = told.splice(3);
  t.same(told, ['in 1 c1 s/us 200,b 1', 'out 1 c1 s/ds 510,c1 1', 'in 1 c1 s/us 200,c 1']);
  t.match(fault, /^c1 mqtt\/\S+ the payload has more than 10 bytes$/);
  tap.isWatched = false;
});
