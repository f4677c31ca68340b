import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import mqttPacket from 'mqtt-packet';
import type { IConnectPacket, ISubscribePacket, Packet } from 'mqtt-packet';
import { readConnect, readSubscribe } from '../../src/mqtt/wire/usual-packets.ts';
import { rounds } from '../helpers/rounds.ts';
import { seededRandom } from './helpers/harness.ts';

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const random = seededRandom(seed);
const below = (count: number): number => Math.floor(random() * count);
const TEXTS = ['s/ds', 'd:device-1:xid', 'ä/ö', '𝄞', '', '+/#', '\ufffd', '\ufeffx', 'x'.repeat(200)];
const text = (): string => TEXTS[below(TEXTS.length)];

/** What mqtt-packet makes of the bytes; undefined for an error, less or more than one packet. */
function parsed(bytes: Buffer): Packet | undefined {
  const parser = mqttPacket.parser({ protocolVersion: 4 });
  const packets: Packet[] = [];
  let isError = false;
  parser.on('packet', (packet) => packets.push(packet));
  parser.on('error', () => {
    isError = true;
  });
  try {
    const rest = parser.parse(bytes);
    return isError || rest !== 0 || packets.length !== 1 ? undefined : packets[0];
  } catch {
    return undefined;
  }
}

const connect = (): Buffer =>
  mqttPacket.generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    clientId: text() || 'x',
    keepalive: below(65_536),
    ...(below(2) === 0 ? { username: text() || 'user', password: Buffer.from(text() || 'secret') } : {}),
    ...(below(3) === 0
      ? { will: { topic: text() || 's/us', payload: Buffer.from(text()), qos: below(3) as 0, retain: below(2) === 0 } }
      : {}),
  });

const subscribe = (): Buffer =>
  mqttPacket.generate({
    cmd: 'subscribe',
    messageId: 1 + below(65_535),
    subscriptions: Array.from({ length: 1 + below(4) }, () => ({ topic: text() || 's/e', qos: below(3) as 0 })),
  });

/** Other bytes, fewer or more of them; mostly the remaining length tells of them. */
function mutated(packet: Buffer): Buffer {
  let bytes = Buffer.from(packet);
  for (let count = 1 + below(3); count > 0; count--) {
    const at = below(bytes.length);
    const choice = below(4);
    if (choice === 0) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(3))]);
    else if (choice === 1)
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from([below(256)]), bytes.subarray(at)]);
    else if (choice === 2) bytes[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)];
    else bytes[at] ^= 1 << below(8);
    if (bytes.length < 2) return bytes;
  }
  const header = bytes[1] < 0x80 ? 2 : 3;
  const length = bytes.length - header;
  if (below(4) === 0 || length < 0) return bytes;
  if (header === 2 && length < 128) bytes[1] = length;
  if (header === 3) [bytes[1], bytes[2]] = [(length & 0x7f) | 0x80, length >> 7];
  return bytes;
}

const fieldsOfConnect = (packet: Packet): object => {
  const { cmd, protocolId, protocolVersion, clean, keepalive, clientId, username, password, will, bridgeMode } =
    packet as IConnectPacket & { bridgeMode?: boolean };
  return { cmd, protocolId, protocolVersion, clean, keepalive, clientId, username, password, will, bridgeMode };
};
const fieldsOfSubscribe = (packet: Packet): object => {
  const { cmd, messageId, subscriptions } = packet as ISubscribePacket;
  return { cmd, messageId, subscriptions };
};

for (const [name, make, read, fieldsOf] of [
  ['CONNECT', connect, readConnect, fieldsOfConnect],
  ['SUBSCRIBE', subscribe, readSubscribe, fieldsOfSubscribe],
] as const)
  t.test(`${name} is read as mqtt-packet reads it (SEED=${seed})`, async (t) => {
    let accepted = 0;
    const check = (bytes: Buffer): boolean => {
      const packet = read(bytes);
      if (packet === undefined) return false;
      const want = parsed(bytes);
      if (want === undefined) t.fail(`mqtt-packet refuses ${bytes.toString('hex')}`);
      else if (!isDeepStrictEqual(fieldsOf(packet), fieldsOf(want)))
        t.strictSame(fieldsOf(packet), fieldsOf(want), bytes.toString('hex'));
      return true;
    };
    for (let round = 0; round < rounds(300, 20_000) && t.passing(); round++) {
      const bytes = make();
      if (!check(bytes)) t.fail(`left to mqtt-packet: ${bytes.toString('hex')}`);
      for (let again = 0; again < 10; again++) if (check(mutated(bytes))) accepted++;
    }
    t.ok(accepted > 0, `${accepted} mutated packets were read, too`);
  });

t.test('what is unusual or wrong is left to mqtt-packet', async (t) => {
  const usual = mqttPacket.generate({ cmd: 'connect', clientId: 'a', protocolVersion: 4, protocolId: 'MQTT' });
  t.ok(readConnect(usual));
  const withByte = (packet: Buffer, at: number, value: number): Buffer =>
    Buffer.from(packet.map((byte, index) => (index === at ? value : byte)));
  for (const [what, bytes] of [
    ['flags of the header', withByte(usual, 0, 0x11)],
    ['MQTT 5', withByte(usual, 8, 5)],
    ['a bridge', withByte(usual, 8, 0x84)],
    ['the reserved flag', withByte(usual, 9, 3)],
    ['QoS of a will without a will', withByte(usual, 9, 0x0a)],
    ['a will with QoS 3', withByte(usual, 9, 0x1e)],
    ['a user name that is not there', withByte(usual, 9, 0x82)],
    ['bytes behind the last field', withByte(Buffer.concat([usual, Buffer.from('x')]), 1, usual[1] + 1)],
    ['a length with a needless byte', Buffer.concat([Buffer.from([0x10, usual[1] | 0x80, 0]), usual.subarray(2)])],
    ['a short packet', Buffer.from([0x10, 0])],
  ] as const)
    t.equal(readConnect(bytes), undefined, what);
  const subscribing = Buffer.from([0x82, 6, 0, 1, 0, 1, 0x61, 1]);
  t.ok(readSubscribe(subscribing));
  t.equal(readSubscribe(withByte(subscribing, 0, 0x80)), undefined, 'flags of SUBSCRIBE');
  t.equal(readSubscribe(withByte(subscribing, 7, 3)), undefined, 'QoS 3');
  t.equal(readSubscribe(Buffer.from([0x82, 2, 0, 1])), undefined, 'no filter');
});
