/**
 * CONNECT of MQTT 3.1.1 and SUBSCRIBE of 3.1 and 3.1.1 straight from their bytes, in the forms that devices send.
 * mqtt-packet decides on everything else: these functions return undefined where they are not sure. Pure.
 */
import type { IConnectPacket, ISubscribePacket, ISubscription } from 'mqtt-packet';
import { PACKET_TYPE } from './fixed-header.ts';

const CONNECT = PACKET_TYPE.CONNECT << 4;
/** With the flags that SUBSCRIBE must have [MQTT-3.8.1-1]. */
const SUBSCRIBE = (PACKET_TYPE.SUBSCRIBE << 4) | 2;
/** Protocol name of CONNECT with its length, and level 4. */
const PROTOCOL = Buffer.from('\0\x04MQTT\x04', 'latin1');
/** Bits of the flags of CONNECT. */
const FLAG = { RESERVED: 0x01, CLEAN: 0x02, WILL: 0x04, WILL_QOS: 0x18, WILL_RETAIN: 0x20, PASSWORD: 0x40, USER: 0x80 };
const QOS_MAX = 2;

/** Reads fields one behind the other. A field that reaches beyond the end is empty and leaves `isCutOff`. */
class Fields {
  isCutOff = false;
  readonly #frame: Buffer;
  #position: number;

  constructor(frame: Buffer, start: number) {
    this.#frame = frame;
    this.#position = start;
  }

  get isAtEnd(): boolean {
    return this.#position === this.#frame.length;
  }

  byte(): number {
    return this.#take(1) ? this.#frame[this.#position - 1] : 0;
  }

  number(): number {
    return (this.byte() << 8) | this.byte();
  }

  text(): string {
    const length = this.number();
    return this.#take(length) ? this.#frame.toString('utf8', this.#position - length, this.#position) : '';
  }

  /** @returns bytes of the frame, not a copy. */
  bytes(): Buffer {
    const length = this.number();
    return this.#frame.subarray(this.#take(length) ? this.#position - length : this.#position, this.#position);
  }

  #take(length: number): boolean {
    this.isCutOff ||= this.#position + length > this.#frame.length;
    if (!this.isCutOff) this.#position += length;
    return !this.isCutOff;
  }
}

/** @param frame exactly one packet; will and password alias it. */
export function readConnect(frame: Buffer): IConnectPacket | undefined {
  const start = headerEnd(frame);
  const flagsAt = start + PROTOCOL.length;
  if (frame[0] !== CONNECT || start < 0 || frame.length <= flagsAt) return undefined;
  if (PROTOCOL.compare(frame, start, flagsAt) !== 0) return undefined;
  const fields = new Fields(frame, flagsAt);
  const flags = fields.byte();
  const willQos = (flags & FLAG.WILL_QOS) >> 3;
  if ((flags & FLAG.RESERVED) !== 0 || willQos > QOS_MAX) return undefined;
  if ((flags & FLAG.WILL) === 0 && (flags & (FLAG.WILL_QOS | FLAG.WILL_RETAIN)) !== 0) return undefined;
  const packet: IConnectPacket = {
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: (flags & FLAG.CLEAN) !== 0,
    keepalive: fields.number(),
    clientId: fields.text(),
  };
  if ((flags & FLAG.WILL) !== 0)
    packet.will = {
      topic: fields.text(),
      payload: fields.bytes(),
      qos: willQos as 0 | 1 | 2,
      retain: (flags & FLAG.WILL_RETAIN) !== 0,
    };
  if ((flags & FLAG.USER) !== 0) packet.username = fields.text();
  if ((flags & FLAG.PASSWORD) !== 0) packet.password = fields.bytes();
  return fields.isCutOff || !fields.isAtEnd ? undefined : packet;
}

/** @param frame exactly one packet of a version before 5.0. */
export function readSubscribe(frame: Buffer): ISubscribePacket | undefined {
  const start = headerEnd(frame);
  if (frame[0] !== SUBSCRIBE || start < 0) return undefined;
  const fields = new Fields(frame, start);
  const messageId = fields.number();
  const subscriptions: ISubscription[] = [];
  while (!fields.isCutOff && !fields.isAtEnd) {
    const topic = fields.text();
    const qos = fields.byte();
    if (qos > QOS_MAX) return undefined;
    subscriptions.push({ topic, qos: qos as 0 | 1 | 2 });
  }
  if (fields.isCutOff || subscriptions.length === 0) return undefined;
  return { cmd: 'subscribe', messageId, subscriptions };
}

/** @returns the offset behind the remaining length; -1 unless it has one byte, or two that it needs, and is that of the frame. */
function headerEnd(frame: Buffer): number {
  const first = frame[1];
  if (first < 0x80) return frame.length === 2 + first ? 2 : -1;
  const second = frame[2];
  return second > 0 && second < 0x80 && frame.length === 3 + (first & 0x7f) + second * 128 ? 3 : -1;
}
