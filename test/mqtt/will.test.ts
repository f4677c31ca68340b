import t from 'tap';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import { Harness, settle } from './helpers/harness.ts';

const will = (properties?: object) => ({
  will: {
    topic: 's/us',
    payload: Buffer.from('400,gone'),
    qos: 1,
    retain: true,
    ...(properties ? { properties } : {}),
  },
});
const kept = { clean: false, properties: { sessionExpiryInterval: 100 } };

t.test('a will is published before the link closes, unless DISCONNECT came', async (t) => {
  const harness = new Harness();
  (await harness.connected('c1', 4, will())).drop();
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false']);
  t.match(harness.received, [{ qos: 1, packetId: 0 }]);
  harness.events.length = 0;
  const clean = await harness.connected('c1', 4, will());
  clean.send({ cmd: 'disconnect' });
  clean.drop();
  t.same(harness.events, ['open', 'closed true']);
  harness.events.length = 0;
  const asked = await harness.connected('c1', 5, will());
  asked.send({ cmd: 'disconnect', reasonCode: 4 });
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false']);
  harness.events.length = 0;
  (await harness.connected('c1', 4, will())).raw([0xff, 0]);
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false'], 'after a protocol error');
  harness.events.length = 0;
  await harness.connected('c1', 4, will());
  await harness.connected('c1', 4);
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false', 'open'], 'after a takeover');
});

t.test('a will that the application cannot take yet, or refuses', async (t) => {
  const harness = new Harness();
  harness.onPublish = () => PUBLISH_RESULT.BUSY;
  (await harness.connected('c1', 4, will())).drop();
  t.same(harness.events, ['open']);
  harness.onPublish = () => PUBLISH_RESULT.PENDING;
  harness.link('c1').connection.resume();
  harness.link('c1').connection.resume();
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false']);
  harness.onPublish = () => PUBLISH_RESULT.REFUSED;
  (await harness.connected('c2', 4, will())).drop();
  t.same(harness.events.slice(3), ['open', 'closed false']);
  harness.onPublish = () => PUBLISH_RESULT.BUSY;
  (await harness.connected('c3', 4, will())).drop();
  t.equal(harness.link('c3').closedWith, undefined);
  harness.link('c3').connection.disconnect(0x87, 'the device may not be created');
  t.equal(harness.link('c3').closedWith, false, 'refused after it was busy');
});

t.test('no will for a user whose rights have ended, also while the will was waiting', async (t) => {
  const harness = new Harness();
  const delayed = { ...will({ willDelayInterval: 10 }), ...kept };
  for (const answer of [
    () => false,
    () => Promise.resolve(false),
    () => Promise.reject(new Error('the store is away')),
  ]) {
    harness.stillHolds = () => true;
    const client = await harness.connected('c1', 5, delayed);
    client.drop();
    harness.events.length = 0;
    harness.stillHolds = answer;
    harness.advance(10);
    await settle();
    t.same(harness.events, ['closed false']);
  }
  t.equal(harness.counts.get('mqtt/will-rights'), 2, "counted but for the store's fault");
  harness.stillHolds = () => Promise.resolve(true);
  harness.events.length = 0;
  (await harness.connected('c2', 4, will())).drop();
  t.same(harness.events, ['open']);
  harness.link('c2').connection.resume();
  await settle();
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false'], 'once');
});

t.test('will delay of 5.0', async (t) => {
  const harness = new Harness();
  const delayed = { ...will({ willDelayInterval: 10 }), ...kept };
  (await harness.connected('c1', 5, delayed)).drop();
  harness.advance(9);
  t.same(harness.events, ['open']);
  harness.advance(1);
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false']);
  harness.events.length = 0;
  (await harness.connected('c1', 5, delayed)).drop();
  await harness.connected('c1', 5, kept);
  t.same(harness.events, ['open', 'closed false', 'open'], 'the client came back in time');
  harness.advance(20);
  t.equal(harness.received.length, 1);
  harness.events.length = 0;
  (await harness.connected('c2', 5, delayed)).drop();
  await harness.connected('c2', 5, { clean: true });
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false', 'open'], 'a clean start ends the session');
  harness.events.length = 0;
  (await harness.connected('c3', 5, will({ willDelayInterval: 10 }))).drop();
  t.same(harness.events, ['open', 'publish s/us 400,gone', 'closed false'], 'no session, no delay');
  (await harness.connected('c4', 5, delayed)).drop();
  await settle();
  await harness.server.close(0);
  t.same(harness.events.slice(-2), ['publish s/us 400,gone', 'closed false'], 'when the server stops');
});

t.test('wills that are not well-formed', async (t) => {
  const harness = new Harness({ payloadBytes: 10 });
  for (const topic of ['a/+', 'a/#', 'a\0']) {
    const client = await harness.connect('c1', 4, {
      will: { topic, payload: Buffer.from('x'), qos: 0, retain: false },
    });
    t.ok(client.isEnded);
  }
});

t.test('a will with too large a payload is refused with the limit; 3.1.1 has no return code for it', async (t) => {
  const harness = new Harness({ payloadBytes: 10 });
  const large = { will: { topic: 'a', payload: Buffer.alloc(11), qos: 0, retain: false } };
  const client = await harness.connect('c1', 5, large);
  t.match(client.take(), [
    {
      cmd: 'connack',
      reasonCode: 0x95,
      properties: { reasonString: /11 bytes, more than 10 \(mqtt\/payload-bytes\)/ },
    },
  ]);
  t.ok(client.isEnded);
  t.equal(harness.counts.get('mqtt/payload-bytes'), 1);
  const old = await harness.connect('c1', 4, large);
  t.ok(old.isEnded);
  t.same(old.take(), []);
  t.equal(harness.counts.get('mqtt/payload-bytes'), 2);
  t.same(harness.events, [], 'no will is executed');
});
