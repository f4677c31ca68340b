/** MQTT over WebSocket (docs/spec/mqtt.md#connection), over a WebSocket in memory. */
import t from 'tap';
import mqttPacket from 'mqtt-packet';
import type { Packet } from 'mqtt-packet';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import { mqttWebSocketHandlers } from '../../src/mqtt/web-socket-transport.ts';
import type { MqttWebSocket } from '../../src/mqtt/web-socket-transport.ts';
import { Harness, connectPacket, publish, until } from './helpers/harness.ts';

class Socket implements MqttWebSocket {
  readonly remoteAddress = 'memory';
  readonly packets: (Packet & Record<string, any>)[] = [];
  closedWith: number | undefined;
  isDestroyed = false;
  readonly #parser = mqttPacket.parser({ protocolVersion: 5 });
  readonly #handlers: ReturnType<typeof mqttWebSocketHandlers<Socket>>;

  constructor(handlers: ReturnType<typeof mqttWebSocketHandlers<Socket>>) {
    this.#handlers = handlers;
    this.#parser.on('packet', (packet) => {
      this.packets.push(packet);
    });
    handlers.open(this);
  }

  send(data: Uint8Array): boolean {
    this.#parser.parse(Buffer.from(data));
    return true;
  }

  end(code: number): void {
    if (this.closedWith !== undefined) return;
    this.closedWith = code;
    this.#handlers.close(this, code, '');
  }

  destroy(): void {
    this.isDestroyed = true;
    this.end(1006);
  }

  frame(...packets: object[]): void {
    this.raw(Buffer.concat(packets.map((packet) => encode(packet))));
  }

  raw(bytes: Buffer): void {
    this.#handlers.message(this, bytes, true);
  }
}

const encode = (packet: object): Buffer => mqttPacket.generate(packet as Packet, { protocolVersion: 5 });
const commands = (socket: Socket): string[] =>
  socket.packets.splice(0).map(({ cmd, messageId }) => (messageId === undefined ? cmd : `${cmd} ${messageId}`));

async function connected(harness: Harness) {
  const handlers = mqttWebSocketHandlers<Socket>(harness.server);
  const socket = new Socket(handlers);
  socket.frame(connectPacket('c1', 5));
  await until(() => socket.packets.length > 0);
  if (socket.packets.shift()?.reasonCode !== 0) throw new Error('not connected');
  return { handlers, socket };
}

t.test('the sub-protocols, and packets in frames: one by one, joined, split', async (t) => {
  const { handlers, socket } = await connected(new Harness());
  t.same(handlers.protocols, ['mqtt', 'mqttv3.1']);
  socket.frame(publish('a', '1', 1, 1));
  socket.frame(publish('a', '2', 1, 2), publish('a', '3', 1, 3));
  const bytes = encode(publish('a', '4', 1, 4));
  for (const byte of bytes) socket.raw(Buffer.from([byte]));
  t.same(commands(socket), ['puback 1', 'puback 2', 'puback 3', 'puback 4']);
  socket.raw(Buffer.concat([encode(publish('a', '5', 1, 5)), bytes.subarray(0, 5)]));
  socket.raw(bytes.subarray(5));
  t.same(commands(socket), ['puback 5', 'puback 4']);
});

t.test('packets come in binary frames', async (t) => {
  const harness = new Harness();
  const { handlers, socket } = await connected(harness);
  handlers.message(socket, encode(publish('a', '1', 1, 1)), false);
  t.equal(socket.closedWith, 1003);
  t.same(harness.received, []);
  t.equal(harness.server.connectionsCount, 0);
});

t.test('what comes while the platform is busy waits, in order and within a bound', async (t) => {
  const harness = new Harness({ heldBytes: 1_000 });
  const { socket } = await connected(harness);
  harness.onPublish = () => PUBLISH_RESULT.BUSY;
  for (const id of [1, 2, 3]) socket.frame(publish('a', `${id}`, 1, id));
  harness.onPublish = () => PUBLISH_RESULT.PENDING;
  harness.link('c1').connection.resume();
  t.same(commands(socket), ['puback 1', 'puback 2', 'puback 3']);
  t.same(
    harness.received.map(({ payload }) => payload),
    ['1', '2', '3'],
  );
  harness.onPublish = () => PUBLISH_RESULT.BUSY;
  for (let id = 4; id < 100 && socket.closedWith === undefined; id++)
    socket.frame(publish('a', 'x'.repeat(100), 1, id));
  t.match(socket.packets, [{ cmd: 'disconnect', reasonCode: 0x97, properties: { reasonString: /mqtt\/held-bytes/ } }]);
});

t.test('a message beyond the bound, which the library cuts off, is counted', async (t) => {
  const harness = new Harness({ heldBytes: 1_000 });
  const { handlers, socket } = await connected(harness);
  t.equal(handlers.maxPayloadBytes, 1_000);
  handlers.close(socket, 1006, 'Received too big message');
  t.equal(harness.counts.get('mqtt/frame-bytes'), 1);
  t.equal(harness.server.connectionsCount, 0);
  const other = await connected(harness);
  other.handlers.close(other.socket, 1006, '');
  t.equal(harness.counts.get('mqtt/frame-bytes'), 1, 'not for another end');
});

t.test('the library holds little of WebSockets before login', async (t) => {
  const harness = new Harness({ connectTimeoutSeconds: 1_000 });
  t.equal(mqttWebSocketHandlers<Socket>(harness.server).maxPayloadBytes, 16_384 + 65_536, 'a packet and 64 KiB');
  let address = '';
  const handlers = mqttWebSocketHandlers<Socket>(harness.server, () => ({ key: address, isOfClient: true }));
  const overTcp = Array.from({ length: 300 }, () => harness.client());
  const silent = Array.from({ length: 300 }, () => new Socket(handlers));
  t.equal(harness.server.connectionsCount, 556, '256 WebSockets beside the others');
  t.ok(silent[43].isDestroyed && !silent[44].isDestroyed, 'the oldest went, and at once');
  t.equal(harness.counts.get('mqtt/connections-before-login'), 44);
  t.notOk(overTcp.some(({ isDestroyed }) => isDestroyed));
  const { socket } = await connected(harness);
  t.equal(silent[44].isDestroyed, true);

  harness.authenticate = () => new Promise(() => undefined);
  const check = (at: string, count: number): Socket[] => {
    address = at;
    return Array.from({ length: count }, (_, index) => {
      const one = new Socket(handlers);
      one.frame(connectPacket(`${at}-${index}`, 5));
      return one;
    });
  };
  const few = check('198.51.100.7', 20);
  const many = check('203.0.113.9', 300);
  t.ok(
    silent.every(({ isDestroyed }) => isDestroyed),
    'silent ones go first',
  );
  t.notOk(few.some(({ isDestroyed }) => isDestroyed));
  const gone = many.filter(({ isDestroyed }) => isDestroyed);
  t.equal(gone.length, 64, 'then the newest of the address with most');
  t.match(gone[0].packets, [
    { cmd: 'connack', reasonCode: 0x89, properties: { reasonString: /mqtt\/connections-before-login/ } },
  ]);
  t.notOk(socket.isDestroyed, 'who has logged in counts no more');
});
