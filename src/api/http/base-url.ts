/**
 * The start of all links (docs/spec/paging.md#links): by configuration, or what the client called, as its proxy tells:
 * X-Forwarded-Host, -Proto, -Port and -Prefix, each also alone, or Forwarded (RFC 7239) in place of the first two.
 */

import { valueOfHop } from '../../config/trusted-proxies.ts';

/** What a host may look like: anything else would be written into links and headers. */
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;
const PORT = /^[1-9]\d{0,4}$/;
const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]{1,100}){1,10}\/?$/;
const PORT_MAX = 65_535;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

export interface CalledAs {
  readonly host: string;
  readonly forwardedHost: string;
  readonly forwardedProto: string;
  /** The connection has TLS; counts where no proxy tells the protocol. */
  readonly isSecure: boolean;
  readonly forwardedPort?: string;
  readonly forwardedPrefix?: string;
}

/**
 * @param told all lines of a header of proxies, comma separated.
 * @param hops which value of each counts, see TrustedProxies: without a trusted proxy (0) none, since a client could
 * tell anything.
 */
export function calledAs(told: (name: string) => string, hops: number, isSecure: boolean): CalledAs {
  const host = told('host');
  if (hops === 0) return { host, forwardedHost: '', forwardedProto: '', isSecure };
  const header = hops === Infinity ? told : (name: string): string => valueOfHop(told(name), hops);
  const [forwardedHost, forwardedProto] = [header('x-forwarded-host'), header('x-forwarded-proto')];
  // Forwarded knows neither.
  const forwardedPort = header('x-forwarded-port');
  const forwardedPrefix = header('x-forwarded-prefix');
  const forwarded = forwardedHost === '' && forwardedProto === '' ? header('forwarded') : '';
  if (forwarded === '') return { host, forwardedHost, forwardedProto, forwardedPort, forwardedPrefix, isSecure };
  return {
    host,
    forwardedHost: elementOf(forwarded, 'host'),
    forwardedProto: elementOf(forwarded, 'proto'),
    forwardedPort,
    forwardedPrefix,
    isSecure,
  };
}

/** The host that the client called, first of several that proxies tell: it names the tenant. */
export const hostCalled = ({ host, forwardedHost }: Pick<CalledAs, 'host' | 'forwardedHost'>): string =>
  firstOf(forwardedHost) || host;

/** @param configured without a slash at the end. @returns for instance `https://iot.example.com`. */
export function baseUrlOf(configured: string | undefined, called: CalledAs): string {
  if (configured !== undefined && configured !== '') return configured;
  // Links of a WebSocket begin like those of HTTP.
  const forwardedProto = firstOf(called.forwardedProto) || (called.isSecure ? 'https' : '');
  const proto = /^(?:https|wss)$/i.test(forwardedProto) ? 'https' : 'http';
  const forwarded = firstOf(called.forwardedHost);
  const host = isHost(forwarded) ? forwarded : isHost(called.host) ? called.host : 'localhost';
  const prefix = firstOf(called.forwardedPrefix ?? '');
  return `${proto}://${withPort(host, firstOf(called.forwardedPort ?? ''), proto)}${PREFIX.test(prefix) ? prefix.replace(/\/$/, '') : ''}`;
}

const isHost = (text: string): boolean => HOST.test(text) && Number(/:(\d+)$/.exec(text)?.[1] ?? 0) <= PORT_MAX;

/** A host that names its port is right already. */
function withPort(host: string, port: string, proto: string): string {
  const isKnown = PORT.test(port) && Number(port) <= PORT_MAX && Number(port) !== DEFAULT_PORTS[proto];
  return isKnown && !/:\d+$/.test(host) ? `${host}:${port}` : host;
}

/** A parameter of the first element of Forwarded, that of the proxy which the client called; '' when it has none. */
function elementOf(header: string, name: string): string {
  for (const pair of firstOf(header).split(';')) {
    const [key, value = ''] = pair.split('=', 2).map((part) => part.trim());
    if (key.toLowerCase() === name)
      return value.startsWith('"') && value.endsWith('"') && value.length > 1 ? value.slice(1, -1) : value;
  }
  return '';
}

/** Several proxies append theirs: the first is the one the client called. */
function firstOf(header: string): string {
  const comma = header.indexOf(',');
  return (comma === -1 ? header : header.slice(0, comma)).trim();
}
