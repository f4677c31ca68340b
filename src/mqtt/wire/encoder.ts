/** Packets from the server to a client. Pure: every function returns a new buffer that belongs to the caller. */
import mqttPacket from 'mqtt-packet';
import type { IConnackPacket } from 'mqtt-packet';
import { PACKET_TYPE } from './fixed-header.ts';
import { connackReturnCode } from './reason-codes.ts';

/** Reason strings beyond this are cut: they may repeat what a client sent. */
const REASON_STRING_LENGTH_MAX = 200;

export interface ConnackContent {
  readonly version: 3 | 4 | 5;
  readonly reasonCode: number;
  readonly reason?: string;
  readonly isSessionPresent: boolean;
  readonly properties?: NonNullable<IConnackPacket['properties']>;
  /** The client's Maximum Packet Size; a reason string that does not fit is left out [MQTT-3.2.2-19]. */
  readonly packetBytesMax: number;
}

export function encodeConnack(content: ConnackContent): Buffer {
  const sessionPresent = content.isSessionPresent;
  if (content.version !== 5) {
    // 3.1 has no session present flag: its byte is reserved.
    return Buffer.from([
      PACKET_TYPE.CONNACK << 4,
      2,
      sessionPresent && content.version === 4 ? 1 : 0,
      connackReturnCode(content.reasonCode),
    ]);
  }
  const { reasonCode, reason, properties } = content;
  const withReason = { ...properties, ...(reason ? { reasonString: cut(reason) } : {}) };
  const packet = mqttPacket.generate(
    { cmd: 'connack', reasonCode, sessionPresent, properties: withReason },
    { protocolVersion: 5 },
  );
  if (packet.length <= content.packetBytesMax || reason === undefined) return packet;
  return mqttPacket.generate(
    { cmd: 'connack', reasonCode, sessionPresent, properties: properties ?? {} },
    { protocolVersion: 5 },
  );
}

/** DISCONNECT exists from server to client in 5.0 only. */
export function encodeDisconnect(reasonCode: number, reason: string, packetBytesMax: number): Buffer {
  const packet = mqttPacket.generate(
    { cmd: 'disconnect', reasonCode, properties: { reasonString: cut(reason) } },
    { protocolVersion: 5 },
  );
  // [MQTT-3.14.2-3]
  return packet.length <= packetBytesMax ? packet : Buffer.from([PACKET_TYPE.DISCONNECT << 4, 1, reasonCode]);
}

/** PUBACK or PUBREC with a reason: 5.0 only. A reason string that does not fit is left out [MQTT-3.4.2-2]. */
export function encodeRefusal(
  type: number,
  packetId: number,
  { reasonCode, reason }: { readonly reasonCode: number; readonly reason: string },
  packetBytesMax: number,
): Buffer {
  const packet = mqttPacket.generate(
    {
      cmd: type === PACKET_TYPE.PUBREC ? 'pubrec' : 'puback',
      messageId: packetId,
      reasonCode,
      properties: { reasonString: cut(reason) },
    },
    { protocolVersion: 5 },
  );
  if (packet.length <= packetBytesMax) return packet;
  return Buffer.from([type << 4, 3, packetId >> 8, packetId & 0xff, reasonCode]);
}

/** @param codes one per filter of the SUBSCRIBE, in its order [MQTT-3.8.4-5]. */
export function encodeSuback(version: 3 | 4 | 5, packetId: number, codes: readonly number[]): Buffer {
  return withCodes(PACKET_TYPE.SUBACK, version, packetId, codes);
}

/** @param codes one per filter; 3.1 and 3.1.1 send none. */
export function encodeUnsuback(version: 3 | 4 | 5, packetId: number, codes: readonly number[]): Buffer {
  return withCodes(PACKET_TYPE.UNSUBACK, version, packetId, version === 5 ? codes : []);
}

function withCodes(type: number, version: 3 | 4 | 5, packetId: number, codes: readonly number[]): Buffer {
  const propertiesBytes = version === 5 ? [0] : [];
  const body = [packetId >> 8, packetId & 0xff, ...propertiesBytes, ...codes];
  return Buffer.from([type << 4, ...remainingLength(body.length), ...body]);
}

/** @param packetId 0 for QoS 0. */
export function encodePublish(
  message: { readonly topic: string; readonly payload: Uint8Array },
  options: { version: 3 | 4 | 5; qos: number; packetId: number; isDuplicate: boolean },
): Buffer {
  const { version, qos, packetId, isDuplicate } = options;
  const topicBytes = Buffer.byteLength(message.topic);
  const remaining = 2 + topicBytes + (qos > 0 ? 2 : 0) + (version === 5 ? 1 : 0) + message.payload.length;
  const lengthBytes = remainingLength(remaining);
  const packet = Buffer.allocUnsafe(1 + lengthBytes.length + remaining);
  packet[0] = (PACKET_TYPE.PUBLISH << 4) | (isDuplicate ? 0x08 : 0) | (qos << 1);
  let at = 1;
  for (const byte of lengthBytes) packet[at++] = byte;
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(message.topic, at);
  if (qos > 0) at = packet.writeUInt16BE(packetId, at);
  if (version === 5) packet[at++] = 0;
  packet.set(message.payload, at);
  return packet;
}

function remainingLength(length: number): number[] {
  const bytes: number[] = [];
  let rest = length;
  do {
    const byte = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? byte | 0x80 : byte);
  } while (rest > 0);
  return bytes;
}

function cut(reason: string): string {
  return reason.length > REASON_STRING_LENGTH_MAX ? `${reason.slice(0, REASON_STRING_LENGTH_MAX)}…` : reason;
}
