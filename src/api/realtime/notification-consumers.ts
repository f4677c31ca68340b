/**
 * The WebSocket of consumers of Notifications 2.0, `/notification2/consumer` (docs/spec/notifications.md#consumers). The
 * token in the query decides who it is; what is wrong with it is told before the upgrade.
 */
import { topicName, NAME_LENGTH_MAX, NAME_PATTERN } from '../../model/entities/notifications/subscription.ts';
import type { ConsumerClaims } from '../../model/entities/notifications/token.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { Upgraded, UpgradeHead, UpgradeRefusal, WebSocketChannel, WebSocketHandlers } from '../http/web-socket.ts';
import { isActive } from '../../accounts/tenants/tenants.ts';
import { tenantOfHost } from '../request/login-host.ts';
import type { TenantInfo, Tenants } from '../request/platform.ts';

const CONSUMER_PATHS = ['/notification2/consumer', '/notifications2/consumer'];
/** Of what clients send: ids of messages, and one text. */
const PAYLOAD_BYTES_MAX = 4_096;
/** What waits for a client before the consumer stops sending; sixteen times as much ends the connection. */
const BUFFERED_BYTES_MAX = 1_048_576;
const CONSUMER_NAME = new RegExp(NAME_PATTERN);

/** Whom a connection is for. */
interface Identity {
  readonly tenant: number;
  readonly topic: string;
  readonly subscriber: string;
  readonly isShared: boolean;
  readonly consumer: string | undefined;
}

interface Socket {
  message(text: string): void;
  drained(): void;
  closed(): void;
}

/** What the endpoint needs of the topics. */
export interface ConsumerPort {
  refusal(identity: Identity): PlatformError | undefined;
  open(
    identity: Identity,
    channel: {
      send(text: string): boolean;
      cork(callback: () => void): void;
      end(code: number, reason: string): void;
    },
    baseUrl: string,
  ): Socket;
}

export interface ConsumerEndpoint {
  readonly consumers: ConsumerPort;
  readonly tokens: { verify(token: string): Promise<ConsumerClaims | undefined> };
  readonly tenants: Tenants;
  readonly refusals: Refusals;
  readonly log: Log;
}

/** What the endpoint needs of the HTTP server. */
export interface ConsumerHost {
  readonly upgrades: { called(upgraded: Upgraded): { readonly baseUrl: string; readonly host: string } };
  webSocket(path: string, handlers: WebSocketHandlers): void;
}

/** @param called the tenant of the host. @throws PlatformError 403. */
export function requireServed(called: TenantInfo | undefined, tenant: TenantInfo): void {
  if ((called !== undefined && called.number !== tenant.number) || !isActive(tenant))
    throw new PlatformError('notifications/other-tenant');
}

/** Rejects with PlatformError 401, 403, 422. */
async function identityOf({ tokens, tenants }: ConsumerEndpoint, host: string, queryText: string): Promise<Identity> {
  const query = new URLSearchParams(queryText);
  const claims = await tokens.verify(query.get('token') ?? '');
  const tenant = claims === undefined ? undefined : tenants.byNumber(claims.tenantNumber);
  if (claims === undefined || tenant === undefined) throw new PlatformError('notifications/bad-token');
  requireServed(tenantOfHost(tenants, host), tenant);
  const consumer = query.get('consumer') ?? undefined;
  if (consumer !== undefined && (consumer.length > NAME_LENGTH_MAX || !CONSUMER_NAME.test(consumer)))
    throw new PlatformError('validation/invalid-field', {
      area: 'reliable-notification',
      name: 'consumer',
      value: consumer,
      limit: `letters and digits, at most ${NAME_LENGTH_MAX}`,
    });
  return {
    tenant: tenant.number,
    topic: topicName(claims.subscription, claims.isVolatile),
    subscriber: claims.subscriber,
    isShared: claims.isShared,
    consumer: claims.isShared ? consumer : undefined,
  };
}

const refusedAs = ({ status, error, message }: PlatformError): UpgradeRefusal => ({
  status,
  text: JSON.stringify({ error, message }),
});

/** Registers the WebSocket; before `listen`. */
export function registerConsumerSockets(host: ConsumerHost, endpoint: ConsumerEndpoint): void {
  const { consumers, refusals, log } = endpoint;
  const sockets = new Map<WebSocketChannel, Socket>();
  /** Of clients that were admitted and are not open yet. */
  const admitted = new WeakMap<UpgradeHead, Identity>();
  const identify = (upgraded: Upgraded): Promise<Identity> =>
    identityOf(endpoint, host.upgrades.called(upgraded).host, upgraded.head.queryText);
  const handlers: WebSocketHandlers = {
    maxPayloadBytes: PAYLOAD_BYTES_MAX,
    bufferedBytesMax: BUFFERED_BYTES_MAX,
    async admit(client) {
      try {
        const identity = await identify(client);
        admitted.set(client.head, identity);
        const refusal = consumers.refusal(identity);
        return refusal === undefined ? undefined : refusedAs(refusal);
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        if (error.status === 401 || error.status === 403)
          refusals.count(`http/${error.status}`, {
            address: client.remoteAddress,
            reason: `WebSocket ${client.head.path}: ${error.message}`,
          });
        log.debug({ code: error.code, address: client.remoteAddress }, 'a consumer of notifications was refused');
        return refusedAs(error);
      }
    },
    open(channel) {
      const socket = consumers.open(
        admitted.get(channel.head) as Identity,
        {
          send: (text) => channel.send(text, false),
          cork: (callback) => channel.cork(callback),
          end: (code, reason) => channel.end(code, reason),
        },
        host.upgrades.called(channel).baseUrl,
      );
      if (channel.isOpen) sockets.set(channel, socket);
      else socket.closed();
    },
    message(channel, data) {
      sockets.get(channel)?.message(data.toString('utf8').trim());
    },
    drain(channel) {
      sockets.get(channel)?.drained();
    },
    close(channel) {
      sockets.get(channel)?.closed();
      sockets.delete(channel);
    },
  };
  for (const path of CONSUMER_PATHS) host.webSocket(path, handlers);
}
