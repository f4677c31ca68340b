/**
 * Every packet but PUBLISH and the short acknowledgements: the usual CONNECT and SUBSCRIBE from their bytes, all others by
 * mqtt-packet. It is given complete packets only (it has no size limit of its own), so one parser per version serves all
 * connections and none belongs to a connection.
 */
import mqttPacket from 'mqtt-packet';
import type { Packet, Parser } from 'mqtt-packet';
import { packetLength } from './fixed-header.ts';
import { checkProperties } from './properties.ts';
import { PacketError } from './packet-error.ts';
import { REASON } from './reason-codes.ts';
import { readConnect, readSubscribe } from './usual-packets.ts';

/** The parser holds the packet of its last event only for the time of the call. */
interface Slot {
  parser: Parser;
  packet: Packet | undefined;
  error: Error | undefined;
}

/** First bytes of CONNECT behind the fixed header: `MQTT` and `MQIsdp` with their lengths, then the level. */
const PROTOCOL_NAMES = [
  { bytes: Buffer.from('\0\x04MQTT', 'latin1'), levels: [4, 5] },
  { bytes: Buffer.from('\0\x06MQIsdp', 'latin1'), levels: [3] },
];
/** Bridges set the highest bit of the level (mosquitto's try_private); it changes nothing here. */
const BRIDGE_BIT = 0x80;

export class PacketDecoder {
  #version3: Slot | undefined;
  #version5: Slot | undefined;

  /**
   * @param frame exactly one packet; what the result holds of it may alias it.
   * @throws PacketError for anything that is not a packet of this version.
   */
  decode(frame: Buffer, version: 3 | 4 | 5): Packet {
    const usual = version === 5 ? undefined : readSubscribe(frame);
    if (usual !== undefined) return usual;
    const slot = version === 5 ? (this.#version5 ??= createSlot(5)) : (this.#version3 ??= createSlot(4));
    try {
      return parse(slot, frame);
    } catch (error) {
      // After an error it would drop bytes of the next packet: a new one is made.
      if (version === 5) this.#version5 = undefined;
      else this.#version3 = undefined;
      throw error;
    }
  }

  /** CONNECT changes its parser's settings and stays referenced by them (with the password): it gets one of its own. */
  decodeConnect(frame: Buffer): Packet {
    return readConnect(frame) ?? parse(createSlot(4), frame);
  }
}

/**
 * @returns whether the frame is a CONNECT of a protocol that is spoken here; false if only the level is unknown.
 * @throws PacketError when it is not MQTT at all.
 */
export function isKnownProtocol(frame: Buffer, start: number): boolean {
  for (const { bytes, levels } of PROTOCOL_NAMES) {
    const level = start + bytes.length;
    if (frame.length <= level || bytes.compare(frame, start, level) !== 0) continue;
    return levels.includes(frame[level] & ~BRIDGE_BIT);
  }
  // [MQTT-3.1.2-1]
  throw new PacketError(REASON.UNSUPPORTED_PROTOCOL_VERSION, 'the protocol name of CONNECT is neither MQTT nor MQIsdp');
}

function createSlot(protocolVersion: 4 | 5): Slot {
  const parser = mqttPacket.parser({ protocolVersion });
  const slot: Slot = { parser, packet: undefined, error: undefined };
  parser.on('packet', (packet) => {
    slot.packet = packet;
  });
  parser.on('error', (error: Error) => {
    slot.error = error;
  });
  return slot;
}

function parse(slot: Slot, frame: Buffer): Packet {
  slot.packet = undefined;
  slot.error = undefined;
  let rest: number;
  try {
    rest = slot.parser.parse(frame);
  } catch (error) {
    // It reads past the end of some short packets (mqtt-packet#162).
    throw new PacketError(REASON.MALFORMED_PACKET, `malformed packet: ${(error as Error).message}`);
  }
  const failure = slot.error as Error | undefined;
  if (failure !== undefined) throw new PacketError(REASON.MALFORMED_PACKET, `malformed packet: ${failure.message}`);
  const packet = slot.packet as Packet | undefined;
  slot.packet = undefined;
  if (packet === undefined || rest !== 0 || packetLength(frame, 0, frame.length) !== frame.length) {
    throw new PacketError(REASON.MALFORMED_PACKET, 'malformed packet: its length is wrong');
  }
  checkProperties(packet);
  return packet;
}
