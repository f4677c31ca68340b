/** From a complete packet to the handler of its type. PUBLISH of an open connection does not come here. */
import type { IDisconnectPacket, ISubscribePacket, IUnsubscribePacket, Packet } from 'mqtt-packet';
import { receiveConnect } from './connect.ts';
import type { Connection } from '../connections/connection.ts';
import { receiveDisconnect } from './disconnect.ts';
import { PACKET_TYPE } from '../wire/fixed-header.ts';
import { PacketError } from '../wire/packet-error.ts';
import { receivePuback, receivePubcomp, receivePubrec } from './puback.ts';
import { receivePubrel } from './pubrel.ts';
import { REASON } from '../wire/reason-codes.ts';
import { receiveSubscribe } from './subscribe.ts';
import { receiveUnsubscribe } from './unsubscribe.ts';

/** An acknowledgement without reason code has this length in every version. */
const SHORT_ACKNOWLEDGEMENT_BYTES = 4;
/** Flags that are fixed for these types [MQTT-2.2.2-1] [MQTT-3.6.1-1]. */
const PUBREL_FLAGS = 2;

/**
 * @param chunk `[start, end)` is one complete packet.
 * @throws PacketError
 */
export function dispatchPacket(connection: Connection, chunk: Buffer, start: number, end: number): void {
  const type = chunk[start] >> 4;
  switch (type) {
    case PACKET_TYPE.PUBACK:
    case PACKET_TYPE.PUBREC:
    case PACKET_TYPE.PUBREL:
    case PACKET_TYPE.PUBCOMP:
      return dispatchAcknowledgement(connection, type, chunk, start, end);
    case PACKET_TYPE.PINGREQ:
      if (chunk[start] !== PACKET_TYPE.PINGREQ << 4 || end - start !== 2)
        throw malformed('PINGREQ has flags or content');
      return connection.addEmptyPacket(PACKET_TYPE.PINGRESP);
    case PACKET_TYPE.CONNECT:
      return receiveConnect(connection, chunk.subarray(start, end));
    case PACKET_TYPE.SUBSCRIBE:
    case PACKET_TYPE.UNSUBSCRIBE:
    case PACKET_TYPE.DISCONNECT:
      return dispatchDecoded(connection, chunk.subarray(start, end));
    default:
      throw new PacketError(REASON.PROTOCOL_ERROR, `packet type ${type} is not one that a client sends here`);
  }
}

function dispatchDecoded(connection: Connection, frame: Buffer): void {
  const { decoder } = connection.context;
  const packet: Packet = decoder.decode(frame, connection.protocolVersion);
  switch (packet.cmd as string) {
    case 'subscribe':
      return receiveSubscribe(connection, packet as ISubscribePacket, frame);
    case 'unsubscribe':
      return receiveUnsubscribe(connection, packet as IUnsubscribePacket, frame);
    default:
      // [MQTT-3.14.1-1] Before 5.0 there is nothing behind the header.
      if (connection.protocolVersion !== 5 && frame.length !== 2) throw malformed('DISCONNECT has content');
      return receiveDisconnect(connection, packet as IDisconnectPacket);
  }
}

/** The short form is read here: with many messages in flight there is one for each PUBLISH. */
function dispatchAcknowledgement(
  connection: Connection,
  type: number,
  chunk: Buffer,
  start: number,
  end: number,
): void {
  const flags = chunk[start] & 0x0f;
  if (flags !== (type === PACKET_TYPE.PUBREL ? PUBREL_FLAGS : 0))
    throw malformed('the flags of an acknowledgement are wrong');
  let packetId: number;
  let reasonCode = 0;
  if (end - start === SHORT_ACKNOWLEDGEMENT_BYTES && chunk[start + 1] === 2) {
    packetId = (chunk[start + 2] << 8) | chunk[start + 3];
  } else {
    if (connection.protocolVersion !== 5) throw malformed('an acknowledgement has the wrong length');
    const packet = connection.context.decoder.decode(chunk.subarray(start, end), 5) as Packet & { reasonCode?: number };
    packetId = packet.messageId ?? 0;
    reasonCode = packet.reasonCode ?? 0;
  }
  if (packetId <= 0) throw malformed('an acknowledgement has no packet identifier');
  switch (type) {
    case PACKET_TYPE.PUBACK:
      return receivePuback(connection, packetId);
    case PACKET_TYPE.PUBREC:
      return receivePubrec(connection, packetId, reasonCode);
    case PACKET_TYPE.PUBREL:
      return receivePubrel(connection, packetId);
    default:
      return receivePubcomp(connection, packetId);
  }
}

function malformed(message: string): PacketError {
  return new PacketError(REASON.MALFORMED_PACKET, message);
}
