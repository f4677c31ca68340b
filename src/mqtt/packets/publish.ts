/** PUBLISH from the client (section 3.3), QoS 0, 1 and 2. The hot path: nothing is allocated for QoS 0 and 1. */
import { PUBLISH_RESULT } from '../sessions/application.ts';
import type { PublishResult } from '../sessions/application.ts';
import type { Connection } from '../connections/connection.ts';
import { BLOCK } from '../connections/connection.ts';
import { PACKET_TYPE } from '../wire/fixed-header.ts';
import { LIMIT } from '../wire/limits.ts';
import { PacketError } from '../wire/packet-error.ts';
import type { PublishScanner } from '../wire/publish-scanner.ts';
import { REASON } from '../wire/reason-codes.ts';

/**
 * Hands the PUBLISH that the scanner has just read to the application.
 * @returns false when it has to be offered again: the application is busy, or the rate is exceeded.
 * @throws PacketError
 */
export function receivePublish(connection: Connection, chunk: Buffer, offset: number): boolean {
  const { scanner, limits, receivedCounts } = connection.context;
  // The application may make another connection read within this call, so nothing is read of the scanner behind it.
  const { topicStart, topicEnd, payloadStart, payloadEnd, qos, packetId } = scanner;
  if (payloadEnd - payloadStart > limits.payloadBytes) {
    throw new PacketError(
      REASON.PACKET_TOO_LARGE,
      `the payload has more than ${limits.payloadBytes} bytes`,
      LIMIT.PAYLOAD_BYTES,
    );
  }
  if (scanner.propertiesBytes > 0)
    checkPublishProperties(connection, chunk.subarray(offset, payloadEnd), topicStart === topicEnd);
  const rate = connection.rate;
  if (rate !== undefined && !rate.take(connection.context.now())) {
    connection.context.metrics.count(LIMIT.RATE_DELAYED, connection.refused('its messages a second'));
    connection.block(BLOCK.RATE);
    connection.context.throttle(connection);
    return false;
  }
  const result = qos === 2 ? offerQos2(connection, scanner) : offer(connection, scanner);
  switch (result) {
    case PUBLISH_RESULT.PENDING:
      break;
    case PUBLISH_RESULT.DONE:
      if (qos === 1) connection.addAcknowledgement(PACKET_TYPE.PUBACK, packetId);
      break;
    case PUBLISH_RESULT.BUSY:
      rate?.giveBack();
      connection.block(BLOCK.BUSY);
      return false;
    default: {
      const refusal = connection.link?.refusal;
      connection.disconnect(refusal?.reasonCode ?? REASON.UNSPECIFIED, refusal?.reason ?? 'the message was refused');
    }
  }
  receivedCounts[qos]++;
  const { traffic } = connection.context;
  if (traffic?.isWatched === true)
    traffic.message('in', connection, {
      topic: chunk.subarray(topicStart, topicEnd),
      payload: chunk.subarray(payloadStart, payloadEnd),
      qos,
    });
  return true;
}

function offer(connection: Connection, message: PublishScanner): PublishResult {
  const { qos, packetId } = message;
  if (qos === 1) {
    const received = connection.session!.received;
    if (received !== undefined && received.has(packetId)) reuse(connection, received, packetId);
    if (connection.protocolVersion === 5) checkReceiveMaximum(connection);
    // Before it is offered: what needs no commit is acknowledged within the call.
    connection.unacknowledged++;
    connection.awaitAcknowledgement();
  }
  const result = connection.link!.publish(message);
  if (qos === 1 && result !== PUBLISH_RESULT.PENDING) {
    connection.unacknowledged--;
    connection.forgetAwaited();
  }
  return result;
}

/**
 * Exactly once (section 4.3.3, method B): the packet id is kept until PUBREL, and a second PUBLISH with it goes no
 * further.
 */
function offerQos2(connection: Connection, message: PublishScanner): PublishResult {
  const { packetId, isDuplicate } = message;
  const { limits } = connection.context;
  const session = connection.session!;
  // The id is of an older message until the store has forgotten that: `resume` follows.
  if (session.isReleasing(packetId)) return PUBLISH_RESULT.BUSY;
  const received = (session.received ??= new Map());
  const waiter = received.get(packetId);
  if (waiter !== undefined) {
    // [MQTT-4.3.3-10] Known: PUBREC at once if durable, else when it is.
    if (waiter === null) connection.addAcknowledgement(PACKET_TYPE.PUBREC, packetId);
    else received.set(packetId, connection);
    return PUBLISH_RESULT.PENDING;
  }
  if (connection.protocolVersion === 5) checkReceiveMaximum(connection);
  if (session.takenIdentifiers >= limits.receivedIdentifiers) {
    throw new PacketError(
      REASON.QUOTA_EXCEEDED,
      `more than ${limits.receivedIdentifiers} QoS 2 messages are not released`,
      LIMIT.RECEIVED_IDENTIFIERS,
    );
  }
  // Another message: the client has given up the one that is there in part, whose receipts must not count for this one.
  // `resume` follows.
  if (!isDuplicate && session.partly?.has(packetId) === true && !session.release(packetId)) return PUBLISH_RESULT.BUSY;
  received.set(packetId, connection);
  connection.awaitAcknowledgement();
  const result = connection.link!.publish(message);
  if (result === PUBLISH_RESULT.DONE) {
    received.set(packetId, null);
    connection.addAcknowledgement(PACKET_TYPE.PUBREC, packetId);
  } else if (result !== PUBLISH_RESULT.PENDING) {
    received.delete(packetId);
  }
  if (result !== PUBLISH_RESULT.PENDING) connection.forgetAwaited();
  return result;
}

/** A QoS 1 message has the packet id of a QoS 2 one: the client has lost its state, which ends the older message. */
function reuse(connection: Connection, received: Map<number, unknown>, packetId: number): void {
  if (received.get(packetId) !== null) {
    throw new PacketError(REASON.PACKET_IDENTIFIER_IN_USE, `the packet identifier ${packetId} is in use`);
  }
  connection.session!.release(packetId);
}

/** [MQTT-3.3.4-9] */
function checkReceiveMaximum(connection: Connection): void {
  const { receiveMaximum } = connection.context.limits;
  if (connection.unacknowledged + connection.session!.takenIdentifiers < receiveMaximum) return;
  throw new PacketError(
    REASON.RECEIVE_MAXIMUM_EXCEEDED,
    `more than ${receiveMaximum} messages are not acknowledged`,
    LIMIT.RECEIVE_MAXIMUM,
  );
}

/** The properties are checked and otherwise without effect: nothing of them reaches the platform. */
function checkPublishProperties(connection: Connection, frame: Buffer, isTopicEmpty: boolean): void {
  const packet = connection.context.decoder.decode(frame, 5);
  if (packet.cmd !== 'publish') throw new PacketError(REASON.MALFORMED_PACKET, 'the packet is not a PUBLISH');
  // [MQTT-3.3.2-9] Topic Alias Maximum is 0.
  if (packet.properties?.topicAlias !== undefined) {
    throw new PacketError(REASON.TOPIC_ALIAS_INVALID, 'a topic alias was sent and Topic Alias Maximum is 0');
  }
  if (isTopicEmpty) throw new PacketError(REASON.PROTOCOL_ERROR, 'the topic is empty and has no topic alias');
}
