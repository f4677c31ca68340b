/** MQTT 3.1.1 packets of the generators, built once before the load. */

export const PINGREQ = Buffer.from([0xc0, 0]);
export const DISCONNECT = Buffer.from([0xe0, 0]);
export const CONNACK = 0x20;
export const PUBACK = 0x40;
export const PINGRESP = 0xd0;
export const PUBLISH = 0x30;

/** Topic of SmartREST messages from a device. */
export const UPSTREAM_TOPIC = 's/us';
/** Bytes of a PUBLISH before its packet identifier: fixed header 2, topic length 2, topic. */
export const PACKET_ID_OFFSET = packetIdOffset(UPSTREAM_TOPIC);
/** What a load publishes: two rows in turn, in which the digit behind the last point is patched. */
export interface Published {
  topic: string;
  rows: readonly [string, string];
}
const STANDARD: Published = { topic: UPSTREAM_TOPIC, rows: ['211,21.5', '200,c8y_Temperature,T,21.5,C'] };

/** Bytes of a short PUBLISH before its packet identifier. */
export function packetIdOffset(topic: string): number {
  return 4 + topic.length;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

function packet(header: number, body: Buffer): Buffer {
  if (body.length > 127)
    return Buffer.concat([Buffer.from([header, (body.length & 0x7f) | 0x80, body.length >> 7]), body]);
  return Buffer.concat([Buffer.from([header, body.length]), body]);
}

/** CONNECT with clean session, user name and password; keep alive 10 minutes, so that no ping disturbs. */
export function connectPacket(clientId: string, userName: string, password: string): Buffer {
  const variable = Buffer.concat([text('MQTT'), Buffer.from([4, 0xc2, 600 >> 8, 600 & 0xff])]);
  return packet(0x10, Buffer.concat([variable, text(clientId), text(userName), text(password)]));
}

export function subscribePacket(packetId: number, topicFilter: string): Buffer {
  return packet(
    0x82,
    Buffer.concat([Buffer.from([packetId >> 8, packetId & 0xff]), text(topicFilter), Buffer.from([0])]),
  );
}

/** @param packetId 0 for QoS 0. */
export function publishPacket(payload: string, packetId: number, topic = UPSTREAM_TOPIC): Buffer {
  const id = packetId === 0 ? Buffer.alloc(0) : Buffer.from([packetId >> 8, packetId & 0xff]);
  return packet(packetId === 0 ? PUBLISH : PUBLISH | 2, Buffer.concat([text(topic), id, Buffer.from(payload)]));
}

/** `count` PUBLISH packets in one buffer, with the place of each. */
export interface PublishRun {
  bytes: Buffer;
  /** Start of each packet and, last, the end of all. */
  starts: number[];
  /** Place of the last digit of each value. */
  digits: number[];
}

/** Alternates the two rows, beginning with row `first` (0 or 1). */
export function publishRun(count: number, first: number, qos: 0 | 1, { topic, rows } = STANDARD): PublishRun {
  const packets: Buffer[] = [];
  const starts: number[] = [];
  const digits: number[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    const one = publishPacket(rows[(first + index) % 2]!, qos === 0 ? 0 : 1, topic);
    starts.push(at);
    digits.push(at + one.lastIndexOf('.') + 1);
    packets.push(one);
    at += one.length;
  }
  starts.push(at);
  return { bytes: Buffer.concat(packets), starts, digits };
}
