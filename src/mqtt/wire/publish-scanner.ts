/**
 * Reads PUBLISH out of a socket's chunk without allocating. One scanner serves all connections: its fields hold the
 * last packet and are overwritten by the next scan, so a caller takes what it needs before it calls anything else.
 */
import { isUtf8 } from 'node:buffer';
import { LENGTH_INCOMPLETE, LENGTH_MALFORMED, packetLength } from './fixed-header.ts';
import type { PublishedMessage } from './published-message.ts';

export const SCAN = {
  /** A whole PUBLISH; the fields describe it. */
  PUBLISH: 0,
  /** The packet reaches beyond the end of the chunk. */
  INCOMPLETE: 1,
  /** Longer than the limit; known from the fixed header, before the packet has arrived. */
  TOO_LARGE: 2,
  /** Flags, lengths or packet id are wrong. */
  MALFORMED: 3,
  /** The topic is empty, or has a wildcard, NUL or invalid UTF-8. */
  TOPIC_INVALID: 4,
} as const;
export type ScanResult = (typeof SCAN)[keyof typeof SCAN];

const PLUS = 0x2b;
const HASH = 0x23;

export class PublishScanner implements PublishedMessage {
  chunk: Buffer = Buffer.alloc(0);
  topicStart = 0;
  topicEnd = 0;
  payloadStart = 0;
  /** The end of the packet too. */
  payloadEnd = 0;
  qos = 0;
  packetId = 0;
  isDuplicate = false;
  /** Bytes of the properties of 5.0; 0 for the others. Their content is not checked here. */
  propertiesBytes = 0;

  /**
   * @param offset of a byte whose upper half is 3 (PUBLISH).
   * @param packetBytesMax longest packet that is taken.
   */
  scan(chunk: Buffer, offset: number, end: number, isVersion5: boolean, packetBytesMax: number): ScanResult {
    const first = chunk[offset];
    const qos = (first >> 1) & 3;
    // [MQTT-3.3.1-4] QoS 3, [MQTT-3.3.1-2] DUP with QoS 0.
    if (qos === 3 || (first & 0x0e) === 0x08) return SCAN.MALFORMED;
    const second = offset + 1 < end ? chunk[offset + 1] : 0x80;
    let position = offset + 2;
    let packetEnd: number;
    if (second < 0x80) {
      packetEnd = position + second;
    } else {
      const length = packetLength(chunk, offset, end);
      if (length === LENGTH_INCOMPLETE) return SCAN.INCOMPLETE;
      if (length === LENGTH_MALFORMED) return SCAN.MALFORMED;
      while (chunk[position - 1] >= 0x80) position++;
      packetEnd = offset + length;
    }
    if (packetEnd - offset > packetBytesMax) return SCAN.TOO_LARGE;
    if (packetEnd > end) return SCAN.INCOMPLETE;
    if (position + 2 > packetEnd) return SCAN.MALFORMED;
    const topicStart = position + 2;
    const topicEnd = topicStart + ((chunk[position] << 8) | chunk[position + 1]);
    if (topicEnd > packetEnd) return SCAN.MALFORMED;
    position = topicEnd;
    this.packetId = 0;
    if (qos > 0) {
      if (position + 2 > packetEnd) return SCAN.MALFORMED;
      this.packetId = (chunk[position] << 8) | chunk[position + 1];
      // [MQTT-2.3.1-1]
      if (this.packetId === 0) return SCAN.MALFORMED;
      position += 2;
    }
    this.propertiesBytes = 0;
    if (isVersion5) {
      position = this.#skipProperties(chunk, position, packetEnd);
      if (position < 0) return SCAN.MALFORMED;
    }
    this.chunk = chunk;
    this.payloadEnd = packetEnd;
    this.topicStart = topicStart;
    this.topicEnd = topicEnd;
    this.payloadStart = position;
    this.qos = qos;
    this.isDuplicate = (first & 0x08) !== 0;
    if (isTopicName(chunk, topicStart, topicEnd)) return SCAN.PUBLISH;
    // [MQTT-3.3.2-8] An empty topic with a topic alias: the properties say more than the topic does.
    return topicStart === topicEnd && this.propertiesBytes > 0 ? SCAN.PUBLISH : SCAN.TOPIC_INVALID;
  }

  /** @returns the offset behind the properties, or -1. */
  #skipProperties(chunk: Buffer, start: number, packetEnd: number): number {
    let value = 0;
    let multiplier = 1;
    for (let index = 0; index < 4; index++) {
      if (start + index >= packetEnd) return -1;
      const byte = chunk[start + index];
      value += (byte & 0x7f) * multiplier;
      if (byte < 0x80) {
        const end = start + index + 1 + value;
        this.propertiesBytes = value;
        return end > packetEnd ? -1 : end;
      }
      multiplier *= 128;
    }
    return -1;
  }
}

/** A topic name: not empty, no wildcard, no NUL, UTF-8 [MQTT-4.7.3-1] [MQTT-3.3.2-2] [MQTT-1.5.4-1] [MQTT-1.5.4-2]. */
function isTopicName(bytes: Buffer, start: number, end: number): boolean {
  if (start === end) return false;
  let seen = 0;
  for (let index = start; index < end; index++) {
    const byte = bytes[index];
    if (byte === PLUS || byte === HASH || byte === 0) return false;
    seen |= byte;
  }
  return seen < 0x80 || isUtf8(bytes.subarray(start, end));
}
