import t from 'tap';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import { Harness, connectPacket, publish, seededRandom, settle, subscribe, until } from './helpers/harness.ts';
import type { TestClient } from './helpers/harness.ts';
import { rounds } from '../helpers/rounds.ts';

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

/** One of each packet that a client sends. */
function conversation(client: TestClient, version: 3 | 4 | 5): Buffer {
  const reason = version === 5 ? { reasonCode: 0 } : {};
  const properties = version === 5 ? { properties: { userProperties: { name: 'value' } } } : {};
  return Buffer.concat(
    [
      subscribe(1, ['s/ds', 1], ['s/dc/#', 2]),
      publish('s/us', 'zero'),
      publish('s/us', 'x'.repeat(300), 1, 2, properties),
      publish('s/us', 'two', 2, 3),
      { cmd: 'pubrel', messageId: 3, ...reason },
      { cmd: 'pingreq' },
      { cmd: 'puback', messageId: 77, ...reason },
      { cmd: 'unsubscribe', messageId: 4, unsubscriptions: ['s/ds'] },
      publish('s/us', 'last', 1, 5),
    ].map((packet) => client.encode(packet)),
  );
}

const expected = ['suback 1', 'puback 2', 'pubrec 3', 'pubcomp 3', 'pingresp', 'unsuback 4', 'puback 5'];

t.test('every packet split at every byte', async (t) => {
  for (const version of [3, 4, 5] as const) {
    const harness = new Harness();
    // Durable at once, because PUBREL is in the same read as its PUBLISH.
    harness.onPublish = (_link, _topic, packetId) => (packetId === 3 ? PUBLISH_RESULT.DONE : PUBLISH_RESULT.PENDING);
    const length = conversation(harness.client(version), version).length;
    const wrong: string[] = [];
    for (let split = 0; split <= length; split++) {
      const client = await harness.connected('c1', version);
      harness.received.length = 0;
      const bytes = conversation(client, version);
      client.raw(bytes.subarray(0, split));
      client.raw(bytes.subarray(split));
      client.send({ cmd: 'disconnect', ...(version === 5 ? { reasonCode: 0 } : {}) });
      const commands = client.takeCommands();
      if (
        JSON.stringify(commands.sort()) !== JSON.stringify([...expected].sort()) ||
        harness.received.length !== 4 ||
        !client.isEnded
      ) {
        wrong.push(`${split}: ${commands}`);
      }
      client.drop();
    }
    t.same(wrong, [], `version ${version}, ${length} splits`);
    const client = harness.client(version);
    const whole = Buffer.concat([
      client.encode(connectPacket('c1', version)),
      conversation(client, version),
      client.encode({ cmd: 'disconnect', ...(version === 5 ? { reasonCode: 0 } : {}) }),
    ]);
    harness.received.length = 0;
    const connectLength = whole[1] + 2;
    for (const [index, byte] of whole.entries()) {
      if (index === connectLength) await until(() => client.packets.length > 0);
      client.raw([byte]);
    }
    await until(() => client.isEnded);
    t.same(client.takeCommands(), ['connack', ...expected], 'byte by byte, CONNECT too');
    t.equal(harness.received.length, 4);
    t.ok(harness.received.every((one, index) => one.payload === ['zero', 'x'.repeat(300), 'two', 'last'][index]));
    t.same(harness.errors, []);
  }
});

t.test(`random chunks, with a platform that is busy at random (SEED=${seed})`, async (t) => {
  const random = seededRandom(seed);
  const harness = new Harness();
  harness.onPublish = () =>
    random() < 0.3 ? PUBLISH_RESULT.BUSY : random() < 0.5 ? PUBLISH_RESULT.DONE : PUBLISH_RESULT.PENDING;
  for (let round = 0; round < rounds(6, 20); round++) {
    const client = await harness.connected('c1', round % 2 === 0 ? 4 : 5);
    harness.received.length = 0;
    const count = 200;
    const packets = Array.from({ length: count }, (_, index) => {
      const qos = (index % 3) as 0 | 1 | 2;
      return client.encode(
        publish('s/us', `${index} ${'x'.repeat(Math.floor(random() * 200))}`, qos, qos === 0 ? undefined : index),
      );
    });
    const bytes = Buffer.concat(packets);
    for (let offset = 0; offset < bytes.length; ) {
      const size = 1 + Math.floor(random() * 700);
      client.raw(bytes.subarray(offset, offset + size));
      offset += size;
      if (random() < 0.5) harness.link('c1').connection.resume();
    }
    while (harness.received.length < count && !client.isEnded) harness.link('c1').connection.resume();
    t.same(
      harness.received.map((one) => Number(one.payload.split(' ')[0])),
      Array.from({ length: count }, (_, index) => index),
    );
    t.equal(client.connection!.heldBytes, 0);
    t.equal(client.isPaused, false);
    client.drop();
  }
  t.same(harness.errors, []);
});

t.test(`garbage and mutated packets close the connection and nothing else (SEED=${seed})`, async (t) => {
  const random = seededRandom(seed);
  const below = (count: number) => Math.floor(random() * count);
  const harness = new Harness();
  let ended = 0;
  for (let round = 0; round < rounds(500, 6_000); round++) {
    const version = ([3, 4, 5] as const)[below(3)];
    const client = harness.client(version);
    // What the server writes may belong to another version than this client thinks, after a mutated CONNECT.
    client.write = () => true;
    const connect = client.encode(
      connectPacket(`c${below(5)}`, version, {
        clean: below(2) === 0,
        keepalive: below(100),
        ...(below(2) === 0 ? { will: { topic: 's/us', payload: Buffer.from('w'), qos: below(3), retain: false } } : {}),
      }),
    );
    const kind = below(4);
    if (kind === 0) {
      client.raw(Array.from({ length: below(60) }, () => below(256)));
    } else {
      const bytes = Buffer.concat([connect, conversation(client, version)]);
      const first = kind === 1 ? 0 : connect.length;
      for (let count = 1 + below(4); count > 0; count--) bytes[first + below(bytes.length - first)] = below(256);
      const cut = below(bytes.length);
      client.raw(bytes.subarray(0, cut));
      if (below(2) === 0) await settle();
      client.raw(bytes.subarray(cut));
      if (kind === 3) await settle();
      client.raw(Array.from({ length: below(40) }, () => below(256)));
    }
    if (client.isEnded) ended++;
    if (below(3) > 0) client.drop();
    if (below(50) === 0) harness.advance(below(20));
  }
  await settle();
  harness.advance(1_000);
  await settle();
  t.same(harness.errors, []);
  t.ok(ended > 80, `${ended} were closed`);
  const healthy = await harness.connected('healthy');
  healthy.send(publish('s/us', 'still here', 1, 1));
  t.same(healthy.takeCommands(), ['puback 1']);
});

t.test('what was wrong with the packet of one client is not left over for another', async (t) => {
  const harness = new Harness();
  for (const [version, wrong] of [
    [4, [0x82, 6, 0, 1, 0, 1, 97, 97]],
    [5, [0x82, 6, 0, 1, 0, 0, 9, 97]],
  ] as const) {
    const other = await harness.connected('c2', version);
    const client = await harness.connected('c1', version);
    client.raw([...wrong]);
    t.ok(client.isEnded);
    other.send(subscribe(1, ['s/ds', 1]));
    t.same(other.takeCommands(), ['suback 1']);
    other.drop();
  }
});

t.test('a fault of the application closes one connection', async (t) => {
  const harness = new Harness();
  const other = await harness.connected('c2');
  const client = await harness.connected('c1', 5);
  harness.onPublish = () => {
    throw new Error('bug');
  };
  client.send(publish('a', 'x', 1, 1));
  t.match(client.take(), [{ cmd: 'disconnect', reasonCode: 0x80 }]);
  t.equal(harness.errors.length, 1);
  t.equal(harness.counts.get('mqtt/internal-error'), 1);
  t.notOk(other.isEnded);
});
