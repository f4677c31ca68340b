/** PUBREL from the client (section 3.6): a QoS 2 message is over, its packet id may be used again. */
import type { Connection } from '../connections/connection.ts';
import { PACKET_TYPE } from '../wire/fixed-header.ts';
import { PacketError } from '../wire/packet-error.ts';
import { REASON } from '../wire/reason-codes.ts';

export function receivePubrel(connection: Connection, packetId: number): void {
  const session = connection.session!;
  const waiter = session.received?.get(packetId);
  if (waiter === undefined && !session.isReleasing(packetId)) {
    // Sent again after PUBCOMP was lost: answered, or the client would wait for ever [MQTT-4.3.3-11].
    if (connection.protocolVersion === 5) {
      connection.addAcknowledgementWithReason(PACKET_TYPE.PUBCOMP, packetId, REASON.PACKET_IDENTIFIER_NOT_FOUND);
    } else {
      connection.addAcknowledgement(PACKET_TYPE.PUBCOMP, packetId);
    }
    return;
  }
  if (waiter != null) throw new PacketError(REASON.PROTOCOL_ERROR, `PUBREL ${packetId} before its PUBREC`);
  // Otherwise PUBCOMP follows when the release is durable: it allows the client to use the id again.
  if (session.release(packetId, connection)) connection.addAcknowledgement(PACKET_TYPE.PUBCOMP, packetId);
}
