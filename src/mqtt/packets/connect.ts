/** CONNECT (3.1.1 and 5.0 section 3.1): credentials, session, takeover, CONNACK (docs/spec/mqtt.md#names). */
import type { X509Certificate } from 'node:crypto';
import { NO_ADDRESS } from '../../model/access/client-address.ts';
import type { LoginCaller, Principal } from '../../model/access/principal.ts';
import type { IConnectPacket } from 'mqtt-packet';
import type { Connection } from '../connections/connection.ts';
import { STATE } from '../connections/connection.ts';
import { encodeConnack } from '../wire/encoder.ts';
import type { ConnackContent } from '../wire/encoder.ts';
import { fixedHeaderEnd } from '../wire/fixed-header.ts';
import { LIMIT } from '../wire/limits.ts';
import { PacketError } from '../wire/packet-error.ts';
import { isKnownProtocol } from '../wire/decoder.ts';
import { REASON } from '../wire/reason-codes.ts';
import type { Session } from '../sessions/session.ts';
import { isTopicNameText } from '../wire/topic.ts';
import { isWellFormed } from '../wire/well-formed.ts';
import { Will } from '../sessions/will.ts';

/** Of the name in the log; no user has a longer one. */
const USER_NAME_SHOWN_MAX = 254;
/** How often credentials are checked whose user changes each time meanwhile. */
const CHECKS_MAX = 3;
/** Receive Maximum when CONNECT has none [MQTT-3.1.2.11.3]. */
const RECEIVE_MAXIMUM_DEFAULT = 65_535;

/** Connections whose password is being checked, and what ends the wait. */
const leaving = new WeakMap<Connection, () => void>();

/** The connection has ended: its check is not needed any more. */
export function leave(connection: Connection): void {
  leaving.get(connection)?.();
  leaving.delete(connection);
}

/** @throws PacketError for a second CONNECT [MQTT-3.1.0-2] and for one that is not well-formed. */
export function receiveConnect(connection: Connection, frame: Buffer): void {
  if (connection.state !== STATE.AWAITING_CONNECT) throw new PacketError(REASON.PROTOCOL_ERROR, 'a second CONNECT');
  if (!isKnownProtocol(frame, fixedHeaderEnd(frame, 0))) {
    connection.connecting();
    // [MQTT-3.1.2-2] In the form of 3.1.1: a client of an unknown version knows that one rather than 5.0.
    refuse(connection, REASON.UNSUPPORTED_PROTOCOL_VERSION, 'the protocol level is not supported');
    return;
  }
  const packet = connection.context.decoder.decodeConnect(frame) as IConnectPacket;
  checkConnect(packet, frame);
  applyConnect(connection, packet);
  connection.connecting();
  if (connection.will !== undefined && connection.will.payloadBytes > connection.context.limits.payloadBytes)
    return refuseWill(connection);
  connect(connection, packet).catch((error) => connection.fail(error));
}

function checkConnect(packet: IConnectPacket, frame: Buffer): void {
  const { will, properties } = packet;
  for (const text of [packet.clientId, packet.username ?? '', will?.topic ?? '']) {
    if (!isWellFormed(text, frame))
      throw new PacketError(REASON.MALFORMED_PACKET, 'CONNECT has text with NUL or invalid UTF-8');
  }
  // [MQTT-3.1.2-22] until 5.0, which allows it.
  if (packet.protocolVersion !== 5 && packet.username === undefined && packet.password !== undefined) {
    throw new PacketError(REASON.MALFORMED_PACKET, 'CONNECT has a password and no user name');
  }
  if (will !== undefined) {
    // [MQTT-3.1.2-14]
    if ((will.qos ?? 0) > 2) throw new PacketError(REASON.MALFORMED_PACKET, 'the QoS of the will is 3');
    if (!isTopicNameText(will.topic))
      throw new PacketError(REASON.TOPIC_NAME_INVALID, 'the topic of the will is empty or has a wildcard');
  }
  if (properties?.receiveMaximum === 0 || properties?.maximumPacketSize === 0) {
    throw new PacketError(REASON.PROTOCOL_ERROR, 'Receive Maximum or Maximum Packet Size is 0');
  }
}

function applyConnect(connection: Connection, packet: IConnectPacket): void {
  const { limits } = connection.context;
  const { will, properties } = packet;
  connection.protocolVersion = packet.protocolVersion as 3 | 4 | 5;
  connection.clientId = packet.clientId;
  connection.claimedUser = packet.username?.slice(0, USER_NAME_SHOWN_MAX);
  connection.keepAliveSeconds = packet.keepalive ?? 0;
  connection.clientPacketBytesMax = properties?.maximumPacketSize ?? Infinity;
  connection.inFlightMax = Math.min(limits.inFlightMessages, properties?.receiveMaximum ?? RECEIVE_MAXIMUM_DEFAULT);
  if (will === undefined) return;
  connection.will = new Will({
    topic: will.topic,
    payload: will.payload as Buffer,
    qos: will.qos ?? 0,
    delaySeconds: will.properties?.willDelayInterval ?? 0,
  });
}

function refuseWill(connection: Connection): void {
  const { limits } = connection.context;
  const reason = `the payload of the will has ${connection.will!.payloadBytes} bytes, more than ${limits.payloadBytes}`;
  connection.will = undefined;
  // No return code of 3.1.1 says it: then CONNACK is left out [MQTT-3.2.2-6].
  if (connection.protocolVersion === 5) refuse(connection, REASON.PACKET_TOO_LARGE, reason, LIMIT.PAYLOAD_BYTES);
  else connection.close(REASON.PACKET_TOO_LARGE, reason, LIMIT.PAYLOAD_BYTES);
}

async function connect(connection: Connection, packet: IConnectPacket): Promise<void> {
  const { context } = connection;
  if (connection.isOverLimit)
    return refuse(connection, REASON.QUOTA_EXCEEDED, overLimit(connection), LIMIT.CONNECTIONS);
  if (packet.properties?.authenticationMethod !== undefined) {
    return refuse(connection, REASON.BAD_AUTHENTICATION_METHOD, 'no authentication method is supported');
  }
  const isClean = packet.clean ?? false;
  const isVersion5 = connection.protocolVersion === 5;
  const certificates = packet.password === undefined ? (connection.transport.certificates ?? []) : [];
  if (!isVersion5 && !isClean && packet.clientId === '' && certificates.length === 0) {
    // [MQTT-3.1.3-8]
    return refuse(connection, REASON.CLIENT_IDENTIFIER_NOT_VALID, 'a session that is kept needs a client identifier');
  }
  // A cached answer comes without a promise: then CONNECT is checked within the read that brought it.
  const answered = identify(connection, packet, certificates);
  const identity = answered instanceof Promise ? await answered : answered;
  if (identity === undefined) return;
  const { principal, deviceId } = identity;
  if (deviceId !== undefined && packet.clientId === '') connection.clientId = deviceId;
  const { clientId } = connection;
  let key: string;
  let mayConnect: boolean;
  try {
    key = context.application.sessionKey(principal, clientId);
    const answer = context.application.mayConnect(principal, clientId);
    mayConnect = answer instanceof Promise ? await answer : answer;
  } catch (error) {
    if (connection.state === STATE.CONNECTING) refuseFor(connection, error, REASON.UNSPECIFIED);
    return;
  }
  if (connection.state !== STATE.CONNECTING) return;
  if (deviceId !== undefined && key !== deviceId) {
    return refuse(
      connection,
      REASON.NOT_AUTHORIZED,
      `the client id is not ${deviceId}, the common name of the certificate`,
    );
  }
  if (!mayConnect) return refuse(connection, REASON.NOT_AUTHORIZED, 'the user may not connect');
  // Who takes over the connection of its session needs no second one.
  const { tenantNumber, userName } = principal;
  const limit = context.sessions.isConnected(tenantNumber, key)
    ? undefined
    : context.shares.refusal(tenantNumber, userName);
  if (limit !== undefined) {
    const reason =
      limit === LIMIT.CONNECTIONS
        ? overLimit(connection)
        : `the ${limit === LIMIT.CONNECTIONS_OF_USER ? 'user' : 'tenant'} has its share of ${context.shares.maximum} connections`;
    return refuse(connection, REASON.QUOTA_EXCEEDED, reason, limit);
  }
  context.shares.add(tenantNumber, userName);
  context.counted.add(connection);
  await openSession(connection, {
    key,
    isClean,
    requestedSeconds: expiryOf(packet),
    hasClientId: packet.clientId !== '',
  });
}

const overLimit = ({ context }: Connection): string => `more than ${context.limits.connections} connections`;

interface Identity {
  readonly principal: Principal;
  /** The client id that the certificate asks for. */
  readonly deviceId?: string;
}

/**
 * Finds out who connects, and makes the connection the user's: from then on a change of the user ends it. A change
 * while the credentials were being checked has found no connection, so they are checked again. @returns undefined when
 * the connection was refused or is gone.
 */
function identify(
  connection: Connection,
  packet: IConnectPacket,
  certificates: readonly X509Certificate[],
  tries = 1,
): Identity | undefined | Promise<Identity | undefined> {
  const { context } = connection;
  const { application } = context;
  const isWaiting = (): boolean => connection.state === STATE.CONNECTING;
  const checked = (identity: Identity | undefined): ReturnType<typeof identify> => {
    if (!isWaiting()) return undefined;
    if (identity === undefined)
      return refuse(connection, REASON.BAD_USER_NAME_OR_PASSWORD, 'the user name or the password is wrong');
    if (!application.isCurrent(identity.principal)) {
      if (tries < CHECKS_MAX) return identify(connection, packet, certificates, tries + 1);
      return refuse(connection, REASON.SERVER_UNAVAILABLE, 'the user is being changed');
    }
    connection.principal = identity.principal;
    connection.claimedUser = undefined;
    leaving.delete(connection);
    context.known(connection);
    return identity;
  };
  const failed = (error: unknown): undefined => {
    if (isWaiting()) refuseFor(connection, error, REASON.SERVER_UNAVAILABLE);
  };
  const answer = check(connection, packet, certificates);
  if (!(answer instanceof Promise)) return checked(answer);
  context.waits(connection, (connection.transport.clientAddress ?? NO_ADDRESS).key);
  return answer.then(checked, failed);
}

function check(
  connection: Connection,
  packet: IConnectPacket,
  certificates: readonly X509Certificate[],
): Identity | undefined | Promise<Identity | undefined> {
  const { application } = connection.context;
  const userName = packet.username ?? '';
  if (certificates.length > 0 && application.authenticateCertificate !== undefined)
    return application.authenticateCertificate(certificates, userName);
  const identityOf = (principal: Principal | undefined): Identity | undefined =>
    principal === undefined ? undefined : { principal };
  const caller: LoginCaller = {
    address: connection.transport.clientAddress ?? NO_ADDRESS,
    onLeft: (callback) => {
      leaving.set(connection, callback);
    },
  };
  const answer = application.authenticate(userName, packet.password?.toString() ?? '', caller);
  return answer instanceof Promise ? answer.then(identityOf) : identityOf(answer);
}

/** @returns seconds that the client wants its session to be kept. */
function expiryOf(packet: IConnectPacket): number {
  if (packet.protocolVersion === 5) return packet.properties?.sessionExpiryInterval ?? 0;
  return packet.clean ? 0 : Infinity;
}

async function openSession(
  connection: Connection,
  request: { key: string; isClean: boolean; requestedSeconds: number; hasClientId: boolean },
): Promise<void> {
  const { context } = connection;
  const { key, isClean, requestedSeconds } = request;
  const expirySeconds = Math.min(requestedSeconds, context.limits.sessionExpirySeconds);
  let opened: Awaited<ReturnType<typeof context.sessions.open>>;
  try {
    opened = await context.sessions.open(connection, {
      tenantNumber: connection.principal.tenantNumber,
      key,
      isClean,
      expirySeconds,
    });
  } catch (error) {
    // A limit that refuses writes: the client is told which one.
    if ((error as { mqttReason?: number }).mqttReason !== undefined)
      return refuseFor(connection, error, REASON.SERVER_UNAVAILABLE);
    context.log.error({ err: error, clientId: connection.clientId }, 'mqtt session could not be opened');
    return refuse(connection, REASON.SERVER_UNAVAILABLE, 'the session store does not answer', LIMIT.SESSION_STORE);
  }
  if (opened === undefined) return;
  const { session, isPresent } = opened;
  if (connection.state !== STATE.CONNECTING) {
    // It went while the session was read: the session has no connection after all.
    context.sessions.detach(session, connection);
    return;
  }
  connection.session = session;
  try {
    connection.link = context.application.open(connection);
  } catch (error) {
    return refuseFor(connection, error, REASON.SERVER_UNAVAILABLE);
  }
  const restored = restoreSubscriptions(connection, session);
  if ((connection.state as number) !== STATE.CONNECTING) return;
  connection.rate = context.rateBucket(connection.principal.tenantNumber);
  const lowered = expirySeconds < requestedSeconds && connection.protocolVersion === 5;
  connection.write(
    encodeConnack({
      version: connection.protocolVersion,
      reasonCode: REASON.SUCCESS,
      isSessionPresent: isPresent,
      packetBytesMax: connection.clientPacketBytesMax,
      properties: {
        ...(lowered ? { sessionExpiryInterval: expirySeconds } : {}),
        ...(request.hasClientId ? {} : { assignedClientIdentifier: key }),
        ...serverProperties(connection),
      },
    }),
  );
  connection.state = STATE.OPEN;
  connection.connectedAt = connection.context.now();
  logOpen(connection, isPresent);
  for (const filter of restored) connection.link?.subscribed(filter);
  session.resend();
  connection.opened();
}

function serverProperties(connection: Connection): NonNullable<ConnackContent['properties']> {
  const { limits } = connection.context;
  return {
    receiveMaximum: limits.receiveMaximum,
    maximumPacketSize: limits.packetBytes,
    retainAvailable: false,
    subscriptionIdentifiersAvailable: false,
    sharedSubscriptionAvailable: false,
  };
}

/** The link learns of the subscriptions that the session has; what it refuses now is not one any more. */
function restoreSubscriptions(connection: Connection, session: Session): string[] {
  const restored: string[] = [];
  for (const [filter, qos] of session.subscriptions ?? []) {
    const granted = connection.link!.subscribe(filter, qos);
    if (granted < REASON.UNSPECIFIED) restored.push(filter);
    else session.subscriptions!.delete(filter);
  }
  return restored;
}

/** Closes with CONNACK; no session is present [MQTT-3.2.2-4]. */
export function refuse(connection: Connection, reasonCode: number, reason: string, limit?: string): undefined {
  const { protocolVersion } = connection;
  const named = limit === undefined ? reason : `${reason} (${limit})`;
  connection.will = undefined;
  connection.write(
    encodeConnack({
      version: protocolVersion,
      reasonCode,
      reason: named,
      isSessionPresent: false,
      packetBytesMax: connection.clientPacketBytesMax,
    }),
  );
  connection.close(reasonCode, reason, limit ?? `mqtt/connack-0x${reasonCode.toString(16)}`);
}

/** Refuses with the reason of the application's error, if it has one. */
function refuseFor(connection: Connection, error: unknown, fallback: number): void {
  const { mqttReason, message } = error as { mqttReason?: number; message?: string };
  if (mqttReason === undefined)
    connection.context.log.error({ err: error, clientId: connection.clientId }, 'mqtt connect failed');
  const isPublic = mqttReason !== undefined && message !== undefined;
  refuse(connection, mqttReason ?? fallback, isPublic ? message : 'the connection could not be opened');
}

function logOpen(connection: Connection, isPresent: boolean): void {
  const { log } = connection.context;
  if (!log.isLevelEnabled('debug')) return;
  const { clientId, protocolVersion, principal, transport } = connection;
  log.debug(
    {
      clientId,
      tenant: principal.tenant,
      user: principal.userName,
      protocolVersion,
      sessionPresent: isPresent,
      remoteAddress: transport.remoteAddress,
    },
    'mqtt connection opened',
  );
}
