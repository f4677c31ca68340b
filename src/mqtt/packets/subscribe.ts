/** SUBSCRIBE (section 3.8). The application grants; a filter that is refused does not end the connection. */
import type { ISubscribePacket, ISubscription } from 'mqtt-packet';
import type { Connection } from '../connections/connection.ts';
import { STATE } from '../connections/connection.ts';
import { encodeSuback } from '../wire/encoder.ts';
import { LIMIT } from '../wire/limits.ts';
import { PacketError } from '../wire/packet-error.ts';
import { REASON } from '../wire/reason-codes.ts';
import { storeFailed } from '../connections/store-failure.ts';
import { isTopicFilter } from '../wire/topic.ts';
import { isWellFormed } from '../wire/well-formed.ts';

const SHARED_PREFIX = '$share/';

export function receiveSubscribe(connection: Connection, packet: ISubscribePacket, frame: Buffer): void {
  const { subscriptions } = packet;
  const packetId = packet.messageId ?? 0;
  // [MQTT-2.2.1-3] [MQTT-3.8.3-2]
  if (packetId <= 0) throw new PacketError(REASON.MALFORMED_PACKET, 'SUBSCRIBE has no packet identifier');
  if (subscriptions.length === 0) throw new PacketError(REASON.PROTOCOL_ERROR, 'SUBSCRIBE has no topic filter');
  if (packet.properties?.subscriptionIdentifier !== undefined) {
    throw new PacketError(REASON.SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED, 'subscription identifiers are not supported');
  }
  for (const { topic } of subscriptions) {
    if (!isWellFormed(topic, frame))
      throw new PacketError(REASON.MALFORMED_PACKET, 'a topic filter has NUL or invalid UTF-8');
  }
  const codes: number[] = [];
  const granted: string[] = [];
  const session = connection.session!;
  let hasChanged = false;
  for (const subscription of subscriptions) {
    const before = session.subscriptions?.get(subscription.topic);
    const code = subscribe(connection, subscription);
    if (code < REASON.UNSPECIFIED) {
      granted.push(subscription.topic);
      hasChanged ||= code !== before;
    }
    // 3.1.1 knows one code of refusal [MQTT-3.9.3-2].
    codes.push(code >= REASON.UNSPECIFIED && connection.protocolVersion !== 5 ? REASON.UNSPECIFIED : code);
  }
  const answer = (): void => {
    if (connection.state !== STATE.OPEN) return;
    connection.write(encodeSuback(connection.protocolVersion, packetId, codes));
    for (const filter of granted) connection.link?.subscribed(filter);
  };
  const { sessions } = connection.context;
  let saved: Promise<void> | undefined;
  if (granted.length > 0 && session.isDurable)
    saved = hasChanged ? sessions.saved(session) : sessions.lastSaved(session);
  if (saved === undefined) {
    answer();
    return;
  }
  saved
    .then(answer, (error: unknown) => storeFailed(connection, error))
    .catch((error: unknown) => connection.fail(error));
}

/** @returns the granted QoS or a reason code of refusal. */
function subscribe(connection: Connection, { topic, qos }: ISubscription): number {
  const { limits } = connection.context;
  const session = connection.session!;
  if (topic.startsWith(SHARED_PREFIX)) return REASON.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED;
  if (!isTopicFilter(topic)) return REASON.TOPIC_FILTER_INVALID;
  if (Buffer.byteLength(topic) > limits.topicFilterBytes) {
    connection.context.limitHit(
      LIMIT.TOPIC_FILTER_BYTES,
      `a topic filter has more than ${limits.topicFilterBytes} bytes`,
      session,
    );
    return REASON.QUOTA_EXCEEDED;
  }
  const isNew = session.subscriptions?.has(topic) !== true;
  if (isNew && (session.subscriptions?.size ?? 0) >= limits.subscriptions) {
    connection.context.limitHit(LIMIT.SUBSCRIPTIONS, `more than ${limits.subscriptions} subscriptions`, session);
    return REASON.QUOTA_EXCEEDED;
  }
  const code = connection.link!.subscribe(topic, qos);
  if (code >= REASON.UNSPECIFIED) return code === REASON.UNSPECIFIED ? REASON.NOT_AUTHORIZED : code;
  const granted = Math.min(code, qos) as 0 | 1 | 2;
  (session.subscriptions ??= new Map()).set(topic, granted);
  return granted;
}
