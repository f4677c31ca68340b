/** UNSUBSCRIBE (section 3.10). */
import type { IUnsubscribePacket } from 'mqtt-packet';
import type { Connection } from '../connections/connection.ts';
import { STATE } from '../connections/connection.ts';
import { encodeUnsuback } from '../wire/encoder.ts';
import { PacketError } from '../wire/packet-error.ts';
import { REASON } from '../wire/reason-codes.ts';
import { storeFailed } from '../connections/store-failure.ts';
import { isWellFormed } from '../wire/well-formed.ts';

export function receiveUnsubscribe(connection: Connection, packet: IUnsubscribePacket, frame: Buffer): void {
  const { unsubscriptions } = packet;
  const packetId = packet.messageId ?? 0;
  // [MQTT-2.2.1-3] [MQTT-3.10.3-2]
  if (packetId <= 0) throw new PacketError(REASON.MALFORMED_PACKET, 'UNSUBSCRIBE has no packet identifier');
  if (unsubscriptions.length === 0) throw new PacketError(REASON.PROTOCOL_ERROR, 'UNSUBSCRIBE has no topic filter');
  const session = connection.session!;
  const codes: number[] = [];
  let hasChanged = false;
  for (const filter of unsubscriptions) {
    if (!isWellFormed(filter, frame))
      throw new PacketError(REASON.MALFORMED_PACKET, 'a topic filter has NUL or invalid UTF-8');
    const existed = session.subscriptions?.delete(filter) === true;
    if (existed) connection.link!.unsubscribe(filter);
    hasChanged ||= existed;
    codes.push(existed ? REASON.SUCCESS : REASON.NO_SUBSCRIPTION_EXISTED);
  }
  if (session.subscriptions?.size === 0) session.subscriptions = undefined;
  const answer = (): void => {
    if (connection.state === STATE.OPEN) connection.write(encodeUnsuback(connection.protocolVersion, packetId, codes));
  };
  if (!hasChanged || !session.isDurable) {
    answer();
    return;
  }
  connection.context.sessions
    .saved(session)
    .then(answer, (error: unknown) => storeFailed(connection, error))
    .catch((error: unknown) => connection.fail(error));
}
