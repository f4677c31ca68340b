/**
 * PUBACK, PUBREC and PUBCOMP from the client (sections 3.4, 3.5, 3.7): what becomes of the messages that were sent to
 * it.
 */
import type { Connection } from '../connections/connection.ts';
import { PACKET_TYPE } from '../wire/fixed-header.ts';
import { REASON } from '../wire/reason-codes.ts';

export function receivePuback(connection: Connection, packetId: number): void {
  connection.session!.acknowledged(packetId);
}

export function receivePubrec(connection: Connection, packetId: number, reasonCode: number): void {
  const session = connection.session!;
  if (reasonCode >= REASON.UNSPECIFIED) {
    // [MQTT-4.3.3-4] An error ends the exchange without PUBREL.
    session.acknowledged(packetId);
    return;
  }
  const answer = session.receivedByClient(packetId);
  if (answer === 'wait') return;
  // [MQTT-4.3.3-5] An unknown packet id is answered too, or the client would wait for ever.
  if (answer === 'unknown' && connection.protocolVersion === 5) {
    connection.addAcknowledgementWithReason(PACKET_TYPE.PUBREL, packetId, REASON.PACKET_IDENTIFIER_NOT_FOUND);
  } else {
    connection.addAcknowledgement(PACKET_TYPE.PUBREL, packetId);
  }
}

export function receivePubcomp(connection: Connection, packetId: number): void {
  connection.session!.completed(packetId);
}
