/** The fixed header: packet type, flags and remaining length (MQTT 3.1.1 and 5.0, section 2). Pure. */

export const PACKET_TYPE = {
  CONNECT: 1,
  CONNACK: 2,
  PUBLISH: 3,
  PUBACK: 4,
  PUBREC: 5,
  PUBREL: 6,
  PUBCOMP: 7,
  SUBSCRIBE: 8,
  SUBACK: 9,
  UNSUBSCRIBE: 10,
  UNSUBACK: 11,
  PINGREQ: 12,
  PINGRESP: 13,
  DISCONNECT: 14,
  AUTH: 15,
} as const;

/** More bytes are needed to know the length. */
export const LENGTH_INCOMPLETE = 0;
/** The remaining length has a fifth byte [MQTT-1.5.5]. */
export const LENGTH_MALFORMED = -1;

/** A fixed header has at most this many bytes. */
export const FIXED_HEADER_BYTES_MAX = 5;

/**
 * @returns the length of the packet that starts at `offset` in bytes, fixed header included; LENGTH_INCOMPLETE or
 * LENGTH_MALFORMED. The packet itself may reach beyond `end`.
 */
export function packetLength(bytes: Buffer, offset: number, end: number): number {
  let remaining = 0;
  let multiplier = 1;
  for (let index = 1; index < FIXED_HEADER_BYTES_MAX; index++) {
    if (offset + index >= end) return LENGTH_INCOMPLETE;
    const byte = bytes[offset + index];
    remaining += (byte & 0x7f) * multiplier;
    if (byte < 0x80) return 1 + index + remaining;
    multiplier *= 128;
  }
  return LENGTH_MALFORMED;
}

/** @returns the offset behind the remaining length; only for a header that `packetLength` has accepted. */
export function fixedHeaderEnd(bytes: Buffer, offset: number): number {
  let index = offset + 1;
  while (bytes[index] >= 0x80) index++;
  return index + 1;
}
