/**
 * Where Redis is: one URL for a server, a comma separated list for a Redis Cluster, `?sentinel=<name>` for servers
 * behind sentinels. Grammar and examples are in docs/internals/redis.md.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { tlsOptionsOf } from './tls-files.ts';
import type { TlsFiles } from './tls-files.ts';

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

/** What a text of the setting `redis` means. */
export interface RedisTarget {
  readonly kind: 'server' | 'cluster' | 'sentinel';
  /** The server, the nodes of the cluster that are asked first, or the sentinels. */
  readonly addresses: readonly RedisAddress[];
  readonly username?: string;
  readonly password?: string;
  /** Number of the database, 0 with a cluster. */
  readonly database: number;
  readonly tls?: ConnectionOptions;
  /** Name of the master that the sentinels watch. */
  readonly master?: string;
  readonly sentinelPassword?: string;
}

const PORT = 6379;
const SENTINEL_PORT = 26_379;
const OPTIONS = ['cluster', 'sentinel', 'sentinel-password', 'ca'];

/**
 * @param files certificates for `rediss://`; `?ca=` in the URL counts before their authorities.
 * @throws Error with what is wrong and what the setting takes; it does not repeat a password.
 */
export function readRedisTarget(text: string, files: TlsFiles = {}): RedisTarget {
  const urls = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(readUrl);
  if (urls.length === 0) throw new Error('no URL of Redis is given; it takes redis://<host>:<port> or rediss://…');
  const [first] = urls;
  const option = (name: string): string | undefined =>
    urls.map(({ searchParams }) => searchParams.get(name)).find((value) => value !== null) ?? undefined;
  const master = option('sentinel');
  const isCluster = master === undefined && (urls.length > 1 || option('cluster') !== undefined);
  if (master === '')
    throw new Error('?sentinel= names no master; it takes the name under which the sentinels watch it');
  if (urls.some(({ protocol }) => protocol !== first.protocol))
    throw new Error('the URLs of Redis mix redis:// and rediss://; they take one of both');
  const database = databaseOf(urls);
  if (isCluster && database !== 0) throw new Error(`a Redis Cluster has only the database 0, not ${database}`);
  const withLogin = urls.find(({ username, password }) => username !== '' || password !== '');
  const ca = option('ca');
  const sentinelPassword = option('sentinel-password');
  return {
    kind: master !== undefined ? 'sentinel' : isCluster ? 'cluster' : 'server',
    addresses: urls.map((url) => ({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (master === undefined ? PORT : SENTINEL_PORT) : Number(url.port),
    })),
    database,
    ...(withLogin && withLogin.username !== '' ? { username: decodeURIComponent(withLogin.username) } : {}),
    ...(withLogin && withLogin.password !== '' ? { password: decodeURIComponent(withLogin.password) } : {}),
    ...(first.protocol === 'rediss:'
      ? { tls: { ...tlsOptionsOf(files), ...(ca === undefined ? {} : { ca: readFileSync(ca) }) } }
      : {}),
    ...(master === undefined ? {} : { master }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
  };
}

/** For logs: no login, no options. */
export function describeRedisTarget({ kind, addresses, master, tls }: RedisTarget): string {
  const places = addresses.map(({ host, port }) => `${host}:${port}`).join(', ');
  return `${kind}${master === undefined ? '' : ` ${master}`} at ${places}${tls === undefined ? '' : ' (TLS)'}`;
}

function readUrl(text: string): URL {
  if (!URL.canParse(text))
    throw new Error('a URL of Redis cannot be read; it takes redis://[<user>[:<password>]@]<host>[:<port>]');
  const url = new URL(text);
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') {
    throw new Error(`a URL of Redis begins with ${url.protocol}//; it takes redis:// or rediss://`);
  }
  if (url.hostname === '') throw new Error('a URL of Redis names no host');
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    throw new Error('user or password in a URL of Redis cannot be decoded: % is written as %25 there');
  }
  for (const name of url.searchParams.keys()) {
    if (!OPTIONS.includes(name))
      throw new Error(`a URL of Redis has the option ${name}; it takes ${OPTIONS.join(', ')}`);
  }
  return url;
}

function databaseOf(urls: readonly URL[]): number {
  const named = urls.map(({ pathname }) => pathname.replace(/^\//, '')).filter((name) => name !== '');
  if (named.length === 0) return 0;
  if (!/^\d{1,5}$/.test(named[0]) || named.some((name) => name !== named[0])) {
    throw new Error(`the database of Redis is ${named.join(', ')}; it takes one number behind the port`);
  }
  return Number(named[0]);
}
