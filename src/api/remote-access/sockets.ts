/** The WebSockets of tunnels: of clients, of SSH sessions and of devices (docs/spec/remote-access.md#tunnels). */
import { PlatformError } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { TrustedProxies } from '../../config/trusted-proxies.ts';
import { keepHostKey, loadConfiguration, loadWithSecrets } from '../../remote-access/configurations.ts';
import type { ConfigurationParts } from '../../remote-access/configurations.ts';
import { SshSession } from '../../remote-access/ssh-session.ts';
import type { Tunnel, TunnelEnd, TunnelSide } from '../../remote-access/tunnel.ts';
import type { TunnelTarget } from '../../remote-access/tunnels.ts';
import type { Log } from '../../ports/log.ts';
import type { Admitted, UpgradeHead, UpgradeRefusal, WebSocketChannel, WebSocketHandlers } from '../http/web-socket.ts';
import { isFromOwnPage } from '../request/authentication.ts';
import { addressBehind } from '../request/login-caller.ts';
import type { Upgrades } from '../request/upgrades.ts';
import { REMOTE_ACCESS_ROLE } from './configurations.ts';

const PATHS = {
  client: '/service/remoteaccess/client/',
  device: '/service/remoteaccess/device/',
  ssh: '/service/remoteaccess/ssh/',
} as const;
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

export interface TunnelSocketParts extends ConfigurationParts {
  readonly log: Log;
  readonly tunnels: {
    /** @throws PlatformError */
    begin(principal: Principal, target: TunnelTarget): Promise<Tunnel>;
    /** @throws PlatformError */
    serve(principal: Principal, connectionKey: string): Promise<Tunnel>;
  };
}

/** What an open WebSocket is to its tunnel. */
interface Speaker {
  message(data: Buffer, isBinary: boolean): void;
  drained(): void;
  closed(reason: string): void;
}

/** A client that is admitted. */
interface Entrance {
  readonly tunnel: Tunnel;
  open(channel: WebSocketChannel): Speaker;
}

/** Registers all; before `listen`. */
export function registerTunnelSockets(host: TunnelHost, parts: TunnelSocketParts): void {
  const { tunnels } = parts;
  register(host, parts, 'client', async (client) => {
    const { principal, place, id, query } = await wanted(host, parts, client, PATHS.client);
    const { hostname, port, name } = await loadConfiguration(parts, place.tenant, place.device, id);
    const connectionKey = query.get(QUERY_KEY);
    const tunnel = await tunnels.begin(principal, {
      device: place.device,
      hostname,
      port,
      name,
      ...(connectionKey === null || connectionKey === '' ? {} : { connectionKey }),
    });
    return bare(tunnel, 'client');
  });
  register(host, parts, 'ssh', async (client) => {
    const { principal, place, id } = await wanted(host, parts, client, PATHS.ssh);
    const { configuration, secrets } = await loadWithSecrets(parts, place, id);
    const { hostname, port, name, protocol, credentials } = configuration;
    if (protocol !== 'SSH') throw new PlatformError('remote-access/not-ssh', { id, protocol });
    const tunnel = await tunnels.begin(principal, { device: place.device, hostname, port, name });
    const { type, username } = credentials ?? {};
    const login = {
      username,
      password: type === 'NONE' ? undefined : secrets.password,
      privateKey: type === 'NONE' || type === 'USER_PASS' ? undefined : secrets.privateKey,
    };
    return {
      tunnel,
      open: (channel) =>
        new SshSession({
          page: endOf(channel),
          tunnel,
          login,
          keepHostKey: (fingerprint) => keepHostKey(parts, place, configuration, fingerprint),
        }),
    };
  });
  register(host, parts, 'device', async (client) => {
    const { path } = client.head;
    const key = decoded(path.slice(PATHS.device.length));
    if (key === undefined || key === '') throw new PlatformError('remote-access/path', { path });
    return bare(await tunnels.serve(await identified(host, client, new URLSearchParams()), key), 'device');
  });
}

/** @returns the configuration that a client names, once its user may. @throws PlatformError 401, 403, 404. */
async function wanted(host: TunnelHost, parts: TunnelSocketParts, client: Admitted, start: string) {
  const { path, queryText } = client.head;
  const match = /^(\d{1,16})\/configurations\/([^/]+)\/?$/.exec(path.slice(start.length));
  if (match === null) throw new PlatformError('remote-access/path', { path });
  const query = new URLSearchParams(queryText);
  const principal = await identified(host, client, query);
  if (!principal.roles.has(REMOTE_ACCESS_ROLE)) throw new PlatformError('security/forbidden');
  const [, device, id] = match;
  const { tenantNumber: tenant, userName } = principal;
  if ((await parts.documents.get('managedObject', tenant, device)) === undefined)
    throw new PlatformError('inventory/not-found', { id: device });
  return { principal, place: { tenant, userName, device }, id, query };
}

/** The bytes of the WebSocket are those of the tunnel. */
const bare = (tunnel: Tunnel, side: TunnelSide): Entrance => ({
  tunnel,
  open(channel) {
    tunnel.attach(side, endOf(channel));
    return {
      message: (data) => tunnel.received(side, data),
      drained: () => tunnel.drained(side),
      closed: (reason) => tunnel.ended(side, reason),
    };
  },
});

function register(
  host: TunnelHost,
  parts: TunnelSocketParts,
  kind: keyof typeof PATHS,
  begin: (client: Admitted) => Promise<Entrance>,
): void {
  const side: TunnelSide = kind === 'device' ? 'device' : 'client';
  /** Of admitted clients that are not open yet. */
  const admitted = new WeakMap<UpgradeHead, Entrance>();
  const speakers = new Map<WebSocketChannel, Speaker>();
  host.webSocket(`${PATHS[kind]}*`, {
    protocols: [PROTOCOL],
    maxPayloadBytes: MESSAGE_BYTES_MAX,
    bufferedBytesMax: BUFFERED_BYTES,
    async admit(client) {
      let entrance: Entrance | undefined;
      let isLeft = false;
      client.onLeft(() => {
        isLeft = true;
        entrance?.tunnel.ended(side, `the ${side} has left`);
      });
      try {
        entrance = await begin(client);
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        return refusalOf(host, parts, client, error);
      }
      admitted.set(client.head, entrance);
      if (isLeft) entrance.tunnel.ended(side, `the ${side} has left`);
      return undefined;
    },
    open(channel) {
      speakers.set(channel, (admitted.get(channel.head) as Entrance).open(channel));
    },
    message(channel, data, binary) {
      speakers.get(channel)?.message(data, binary);
    },
    drain(channel) {
      speakers.get(channel)?.drained();
    },
    close(channel, code, reason) {
      const speaker = speakers.get(channel);
      speakers.delete(channel);
      const told = reason === '' ? `code ${code}` : `code ${code}, ${reason}`;
      speaker?.closed(`the ${side} has closed its connection (${told})`);
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
