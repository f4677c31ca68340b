/**
 * Requests that a page of another site makes with what the browser adds by itself: a remembered password (Basic) or a
 * cookie. A browser asks before most requests of other origins (CORS preflight); what it sends without asking is
 * recognised by `Sec-Fetch-Site`, and in browsers that do not send it, as on plain HTTP, by `Origin` and `Referer`.
 * Other programs send none of them.
 */
import { PlatformError } from '../../model/errors.ts';
import { hostCalled, type CalledAs } from '../http/base-url.ts';
import type { ContentType } from '../http/media-types.ts';
import type { ApiConfig } from './platform.ts';
import type { ApiRequest } from './request.ts';

/** Name of the refusal in counters. */
export const CROSS_SITE_LIMIT = 'http/cross-site';

/** Content types that a page sends without a preflight. */
const SIMPLE_TYPE = /^\s*(?:text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)\s*(?:;|$)/i;
/** A page that sends one of these headers was asked for by a preflight. */
const PREFLIGHTED_HEADERS = ['usexbasic', 'x-xsrf-token', 'tfatoken', 'x-id', 'x-http-method', 'x-requested-with'];
/** `same-site` is another origin: hosts below one domain may belong to different tenants. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);
const DEFAULT_PORT = { 'http:': '80', 'https:': '443' } as Readonly<Record<string, string>>;

type Header = (lowerCaseName: string) => string;

/**
 * Whether a browser sends such a body to other origins without asking first. @param contentType of POST, PUT and
 * DELETE.
 */
export const isSimpleType = ({ kind, text }: ContentType): boolean =>
  kind !== 'json' && kind !== 'vendor' && (kind === 'none' || SIMPLE_TYPE.test(text ?? ''));

/** @param host as it was called, with or without its port. */
function isSameHost(url: string, host: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, port } = new URL(url);
  const called = host.toLowerCase();
  return (
    called === hostname + (port === '' ? '' : `:${port}`) ||
    (port === '' && called === `${hostname}:${DEFAULT_PORT[protocol] ?? ''}`)
  );
}

/** Names of the server in the URLs of its pages: as the client and its proxy tell, and as it is set. */
export function ownHosts({ baseUrl }: ApiConfig, called: CalledAs): string[] {
  return [called.host, hostCalled(called), ...(baseUrl === undefined ? [] : [new URL(baseUrl).host])];
}

/** @param hosts names under which the server is called. @returns whether a page of another origin sends the request. */
export function isOfOtherOrigin(header: Header, hosts: readonly string[]): boolean {
  const site = header('sec-fetch-site').trim().toLowerCase();
  if (site !== '') return !OWN_SITES.has(site);
  const source = header('origin') || header('referer');
  return source !== '' && !hosts.some((host) => isSameHost(source, host));
}

/**
 * The origin of a page that may have sent this without a preflight, `null` where it does not tell; undefined for all
 * other requests.
 */
export function crossSiteOrigin(header: Header, hosts: readonly string[]): string | undefined {
  if (!isOfOtherOrigin(header, hosts) || PREFLIGHTED_HEADERS.some((name) => header(name) !== '')) return undefined;
  return header('origin') || 'null';
}

/** @throws PlatformError 403, unless the option `access.control/allow.origin` names the origin. */
export function refuseCrossSite(origin: string, isNamed: boolean, request: Pick<ApiRequest, 'refused'>): void {
  if (isNamed) return;
  request.refused(CROSS_SITE_LIMIT, origin);
  throw new PlatformError('security/cross-site', { origin, limit: CROSS_SITE_LIMIT });
}
