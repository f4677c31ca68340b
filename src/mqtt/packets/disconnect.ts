/** DISCONNECT from the client (section 3.14): no will, unless 5.0 asks for it. */
import type { IDisconnectPacket } from 'mqtt-packet';
import type { Connection } from '../connections/connection.ts';
import { PacketError } from '../wire/packet-error.ts';
import { REASON } from '../wire/reason-codes.ts';

export function receiveDisconnect(connection: Connection, packet: IDisconnectPacket): void {
  const session = connection.session!;
  const expirySeconds = packet.properties?.sessionExpiryInterval;
  if (expirySeconds !== undefined) {
    // [MQTT-3.14.2-2]
    if (session.expirySeconds === 0 && expirySeconds > 0) {
      throw new PacketError(
        REASON.PROTOCOL_ERROR,
        'the session was to end with the connection, its expiry cannot be set now',
      );
    }
    session.expirySeconds = Math.min(expirySeconds, connection.context.limits.sessionExpirySeconds);
  }
  const { log } = connection.context;
  if (log.isLevelEnabled('debug')) {
    const { clientId, transport } = connection;
    log.debug(
      { clientId, remoteAddress: transport.remoteAddress, reasonCode: packet.reasonCode ?? 0 },
      'mqtt client disconnected',
    );
  }
  // [MQTT-3.14.4-3] Only a normal disconnection discards the will; an error code of the client keeps it.
  connection.end((packet.reasonCode ?? REASON.SUCCESS) === REASON.SUCCESS);
}
