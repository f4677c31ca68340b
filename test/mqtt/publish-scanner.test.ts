import t from 'tap';
import mqttPacket from 'mqtt-packet';
import type { Packet } from 'mqtt-packet';
import { packetLength } from '../../src/mqtt/wire/fixed-header.ts';
import { SCAN, PublishScanner } from '../../src/mqtt/wire/publish-scanner.ts';
import { seededRandom } from './helpers/harness.ts';
import { rounds } from '../helpers/rounds.ts';

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const PACKET_BYTES_MAX = 16_384;

/** What mqtt-packet makes of the bytes: a packet, an error, or nothing yet. */
function parse(bytes: Buffer, version: 4 | 5): { packet?: Packet & Record<string, any>; isError: boolean } {
  const parser = mqttPacket.parser({ protocolVersion: version });
  const result: { packet?: Packet & Record<string, any>; isError: boolean } = { isError: false };
  parser.on('packet', (packet) => {
    result.packet ??= packet as Packet & Record<string, any>;
  });
  parser.on('error', () => {
    result.isError = true;
  });
  try {
    parser.parse(bytes);
  } catch {
    result.isError = true;
  }
  return result;
}

function randomPublish(random: () => number, version: 4 | 5): Buffer {
  const below = (count: number) => Math.floor(random() * count);
  const qos = below(3) as 0 | 1 | 2;
  const topic = ['s/us', 'a', 'measurement/measurements/create', 'ä/ö', '𝄞', 'x'.repeat(1 + below(200))][below(6)];
  const payload = Buffer.from(
    Array.from({ length: [0, 1, below(100), 120 + below(10), below(2_000)][below(5)] }, () => below(256)),
  );
  const hasProperties = version === 5 && below(2) === 0;
  const properties = hasProperties
    ? { userProperties: { a: 'b'.repeat(below(200)) }, messageExpiryInterval: 7 }
    : undefined;
  return mqttPacket.generate(
    {
      cmd: 'publish',
      topic,
      payload,
      qos,
      dup: qos > 0 && below(2) === 0,
      retain: below(2) === 0,
      messageId: 1 + below(65_535),
      ...(properties ? { properties } : {}),
    },
    { protocolVersion: version },
  );
}

t.test(`the scanner reads what mqtt-packet reads (SEED=${seed})`, async (t) => {
  const random = seededRandom(seed);
  const scanner = new PublishScanner();
  let published = 0;
  let refused = 0;
  const differences: string[] = [];
  for (let round = 0; round < rounds(8_000, 30_000); round++) {
    const version = random() < 0.5 ? 4 : 5;
    const frame = randomPublish(random, version);
    const mutations = Math.floor(random() * 3);
    for (let count = 0; count < mutations; count++) {
      // The first bytes decide; the upper half of the first stays PUBLISH.
      const at = Math.floor(random() * Math.min(frame.length, random() < 0.7 ? 12 : frame.length));
      frame[at] = at === 0 ? 0x30 | Math.floor(random() * 16) : Math.floor(random() * 256);
    }
    const before = Math.floor(random() * 5);
    const chunk = Buffer.concat([Buffer.alloc(before, 0xff), frame, Buffer.from([0xc0, 0])]);
    const end = before + frame.length;
    const result = scanner.scan(chunk, before, end, version === 5, PACKET_BYTES_MAX);
    // It reads past the end of a packet whose length was made shorter: it gets no more than the packet.
    const length = packetLength(frame, 0, frame.length);
    const oracle = parse(length > 0 ? frame.subarray(0, length) : frame, version);
    const describe = () => `${version} ${frame.subarray(0, 40).toString('hex')} length ${frame.length}: ${result}`;
    if (result === SCAN.PUBLISH) {
      published++;
      const { packet } = oracle;
      if (packet === undefined) {
        // Properties are checked by mqtt-packet itself when there are any.
        if (!(oracle.isError && scanner.propertiesBytes > 0)) differences.push(describe());
        continue;
      }
      const same =
        packet.cmd === 'publish' &&
        packet.topic === chunk.toString('utf8', scanner.topicStart, scanner.topicEnd) &&
        packet.qos === scanner.qos &&
        packet.dup === scanner.isDuplicate &&
        (scanner.qos === 0 || packet.messageId === scanner.packetId);
      const samePayload =
        Buffer.compare(Buffer.from(packet.payload), chunk.subarray(scanner.payloadStart, scanner.payloadEnd)) === 0;
      // It takes the length of properties that reach beyond its own: then its payload begins elsewhere.
      if (!same || (!samePayload && scanner.propertiesBytes === 0)) differences.push(describe());
    } else if (result === SCAN.INCOMPLETE) {
      if (oracle.packet !== undefined || oracle.isError) differences.push(describe());
    } else {
      refused++;
      if (result !== SCAN.MALFORMED || oracle.isError || oracle.packet === undefined) continue;
      // What mqtt-packet lets pass [MQTT-3.3.1-2] [MQTT-2.2.1-3], and 5.0 properties that are cut off.
      const { packet } = oracle;
      const isKnown = (packet.dup && packet.qos === 0) || (packet.qos > 0 && packet.messageId! <= 0) || version === 5;
      if (!isKnown) differences.push(describe());
    }
  }
  t.same(differences.slice(0, 5), []);
  t.ok(published > 2_500 && refused > 120, `published ${published}, refused ${refused}`);
});

t.test('every prefix of a packet is incomplete', async (t) => {
  const random = seededRandom(seed);
  const scanner = new PublishScanner();
  for (let round = 0; round < 50; round++) {
    const version = round % 2 === 0 ? 4 : 5;
    const frame = randomPublish(random, version);
    let wrong = 0;
    for (let end = 1; end < frame.length; end++) {
      if (scanner.scan(frame, 0, end, version === 5, PACKET_BYTES_MAX) !== SCAN.INCOMPLETE) wrong++;
    }
    if (wrong > 0) t.fail(`${frame.toString('hex')}`);
  }
  t.equal(scanner.scan(Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff]), 0, 5, false, PACKET_BYTES_MAX), SCAN.MALFORMED);
  t.equal(
    scanner.scan(Buffer.from([0x30, 0x80, 0x80, 0x01]), 0, 4, false, PACKET_BYTES_MAX),
    SCAN.TOO_LARGE,
    'before it has arrived',
  );
});
