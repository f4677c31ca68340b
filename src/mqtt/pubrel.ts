/** PUBREL from the client (section 3.6): a QoS 2 message is over, its packet id may be used again. */
import type { Connection } from './connection.ts';
import { STATE } from './connection.ts';
import { PACKET_TYPE } from './fixed-header.ts';
import { LIMIT } from './limits.ts';
import { PacketError } from './packet-error.ts';
import { REASON } from './reason-codes.ts';

export function receivePubrel(connection: Connection, packetId: number): void {
  const { context } = connection;
  const session = connection.session!;
  const waiter = session.received?.get(packetId);
  if (waiter === undefined) {
    // Sent again after PUBCOMP was lost: answered, or the client would wait for ever [MQTT-4.3.3-11].
    if (connection.protocolVersion === 5) {
      connection.addAcknowledgementWithReason(PACKET_TYPE.PUBCOMP, packetId, REASON.PACKET_IDENTIFIER_NOT_FOUND);
    } else {
      connection.addAcknowledgement(PACKET_TYPE.PUBCOMP, packetId);
    }
    return;
  }
  if (waiter !== null) throw new PacketError(REASON.PROTOCOL_ERROR, `PUBREL ${packetId} before its PUBREC`);
  session.received!.delete(packetId);
  if (session.received!.size === 0) session.received = undefined;
  if (!session.isDurable) {
    connection.addAcknowledgement(PACKET_TYPE.PUBCOMP, packetId);
    return;
  }
  // PUBCOMP allows the client to use the id again: first it must be certain that a restart does not bring it back.
  context.store.release(session.tenantNumber, session.key, packetId).then(() => {
    if (connection.state !== STATE.OPEN) return;
    connection.addAcknowledgement(PACKET_TYPE.PUBCOMP, packetId);
    connection.flush();
  }, (error: Error) => {
    context.limitHit(LIMIT.SESSION_STORE, `a packet identifier could not be released: ${error.message}`, session);
    connection.close(REASON.UNSPECIFIED, 'the session store does not answer', LIMIT.SESSION_STORE);
  });
}
