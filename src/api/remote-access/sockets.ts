/** The WebSockets of tunnels: of clients and of devices (docs/spec/remote-access.md#tunnels). */
import { PlatformError } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { TrustedProxies } from '../../config/trusted-proxies.ts';
import { loadConfiguration } from '../../remote-access/configurations.ts';
import type { RecordReader } from '../../records/records.ts';
import type { Tunnel, TunnelEnd, TunnelSide } from '../../remote-access/tunnel.ts';
import type { TunnelTarget } from '../../remote-access/tunnels.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { Admitted, UpgradeHead, UpgradeRefusal, WebSocketChannel, WebSocketHandlers } from '../http/web-socket.ts';
import { isFromOwnPage } from '../request/authentication.ts';
import { addressBehind } from '../request/login-caller.ts';
import type { Upgrades } from '../request/upgrades.ts';
import { REMOTE_ACCESS_ROLE } from './configurations.ts';

const CLIENT_PATH = '/service/remoteaccess/client/';
const DEVICE_PATH = '/service/remoteaccess/device/';
const PROTOCOL = 'binary';
/** Longest message of an end; a stream has no need of long ones. */
const MESSAGE_BYTES_MAX = 1_048_576;
/** What the library keeps for an end that reads slowly. */
const BUFFERED_BYTES = 65_536;
/** A page cannot set headers of a WebSocket: it has its credentials in the query. */
const QUERY_TOKEN = 'token';
const QUERY_XSRF = 'XSRF-TOKEN';
const QUERY_KEY = 'connectionKey';
const BUSY_PAUSE_SECONDS = '10';

/** What the sockets need of the HTTP server. */
export interface TunnelHost {
  readonly proxies: TrustedProxies;
  readonly upgrades: Pick<Upgrades, 'identify' | 'called'>;
  webSocket(path: string, handlers: WebSocketHandlers): void;
}

export interface TunnelSocketParts extends RecordReader {
  readonly refusals: Refusals;
  readonly log: Log;
  readonly tunnels: {
    /** @throws PlatformError */
    begin(principal: Principal, target: TunnelTarget): Promise<Tunnel>;
    /** @throws PlatformError */
    serve(principal: Principal, connectionKey: string): Promise<Tunnel>;
  };
}

/** Registers both; before `listen`. */
export function registerTunnelSockets(host: TunnelHost, parts: TunnelSocketParts): void {
  const { tunnels } = parts;
  register(host, parts, 'client', async (client) => {
    const { path, queryText } = client.head;
    const match = /^(\d{1,16})\/configurations\/([^/]+)\/?$/.exec(path.slice(CLIENT_PATH.length));
    if (match === null) throw new PlatformError('remote-access/path', { path });
    const query = new URLSearchParams(queryText);
    const principal = await identified(host, client, query);
    if (!principal.roles.has(REMOTE_ACCESS_ROLE)) throw new PlatformError('security/forbidden');
    const [, device, id] = match;
    const { tenantNumber } = principal;
    if ((await parts.documents.get('managedObject', tenantNumber, device)) === undefined)
      throw new PlatformError('inventory/not-found', { id: device });
    const { hostname, port, name } = await loadConfiguration(parts, tenantNumber, device, id);
    const connectionKey = query.get(QUERY_KEY);
    return tunnels.begin(principal, {
      device,
      hostname,
      port,
      name,
      ...(connectionKey === null || connectionKey === '' ? {} : { connectionKey }),
    });
  });
  register(host, parts, 'device', async (client) => {
    const { path } = client.head;
    const key = decoded(path.slice(DEVICE_PATH.length));
    if (key === undefined || key === '') throw new PlatformError('remote-access/path', { path });
    return tunnels.serve(await identified(host, client, new URLSearchParams()), key);
  });
}

function register(
  host: TunnelHost,
  parts: TunnelSocketParts,
  side: TunnelSide,
  begin: (client: Admitted) => Promise<Tunnel>,
): void {
  /** Of admitted clients that are not open yet. */
  const admitted = new WeakMap<UpgradeHead, Tunnel>();
  const open = new Map<WebSocketChannel, Tunnel>();
  host.webSocket(`${side === 'client' ? CLIENT_PATH : DEVICE_PATH}*`, {
    protocols: [PROTOCOL],
    maxPayloadBytes: MESSAGE_BYTES_MAX,
    bufferedBytesMax: BUFFERED_BYTES,
    async admit(client) {
      let tunnel: Tunnel | undefined;
      let isLeft = false;
      client.onLeft(() => {
        isLeft = true;
        tunnel?.ended(side, `the ${side} has left`);
      });
      try {
        tunnel = await begin(client);
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        return refusalOf(host, parts, client, error);
      }
      admitted.set(client.head, tunnel);
      if (isLeft) tunnel.ended(side, `the ${side} has left`);
      return undefined;
    },
    open(channel) {
      const tunnel = admitted.get(channel.head) as Tunnel;
      open.set(channel, tunnel);
      tunnel.attach(side, endOf(channel));
    },
    message(channel, data) {
      open.get(channel)?.received(side, data);
    },
    drain(channel) {
      open.get(channel)?.drained(side);
    },
    close(channel, code, reason) {
      const tunnel = open.get(channel);
      open.delete(channel);
      const told = reason === '' ? `code ${code}` : `code ${code}, ${reason}`;
      tunnel?.ended(side, `the ${side} has closed its connection (${told})`);
    },
  });
}

const endOf = (channel: WebSocketChannel): TunnelEnd => ({
  send: (bytes) => channel.send(bytes, true),
  pause: () => channel.pause(),
  resume: () => channel.resume(),
  end: (code, reason) => channel.end(code, reason),
  destroy: () => channel.destroy(),
});

/** @throws PlatformError 401, 403. */
async function identified(host: TunnelHost, client: Admitted, query: URLSearchParams): Promise<Principal> {
  const shown = withQueryToken(client, query.get(QUERY_TOKEN) ?? '');
  const { head, remoteAddress } = client;
  const opener = host.upgrades.identify(shown, {
    address: addressBehind(remoteAddress, (name) => head.headers.get(name) ?? '', host.proxies),
    onLeft: (callback) => client.onLeft(callback),
  });
  if (opener === undefined) throw new PlatformError('general/no-credentials');
  const principal = await opener.principal;
  if (principal === undefined) throw new PlatformError('security/unauthorized');
  if (opener.isOfCookie && !isFromOwnPage(principal, query.get(QUERY_XSRF) ?? ''))
    throw new PlatformError('security/unauthorized');
  return principal;
}

/**
 * The client with the token of its query as its header, as in a Bayeux handshake: base64 of user and password, or a
 * JWT. Whatever page it comes from: no browser adds it by itself.
 */
function withQueryToken(client: Admitted, token: string): Pick<Admitted, 'head' | 'remoteAddress'> {
  if (token === '' || client.head.headers.has('authorization')) return client;
  const bare = token.replace(/^(basic|bearer)\s+/i, '');
  const headers = new Map(client.head.headers);
  for (const name of ['origin', 'referer', 'sec-fetch-site']) headers.delete(name);
  headers.set('authorization', `${bare.includes('.') ? 'Bearer' : 'Basic'} ${bare}`);
  return { head: { ...client.head, headers }, remoteAddress: client.remoteAddress };
}

function refusalOf(
  host: TunnelHost,
  { refusals, log }: TunnelSocketParts,
  client: Admitted,
  error: PlatformError,
): UpgradeRefusal {
  const { status, code, message } = error;
  const { path } = client.head;
  if (status === 401 || status === 403)
    refusals.count(`http/${status}`, { address: client.remoteAddress, reason: `WebSocket ${path}: ${message}` });
  if (log.isLevelEnabled('debug')) log.debug({ path, code, reason: message }, 'a tunnel was refused');
  const text = JSON.stringify({ error: error.error, message, info: `${host.upgrades.called(client).baseUrl}/openapi` });
  return { status, text, headers: status === 503 ? ['Retry-After', BUSY_PAUSE_SECONDS] : [] };
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined; // Not an escape.
  }
}
