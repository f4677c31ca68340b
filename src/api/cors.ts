/** Cross-origin requests of browsers (document 4 section 0.7). */
import { PlatformError } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { tenantOfHost } from './login-host.ts';
import type { Platform } from './platform.ts';

const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'UseXBasic',
  'X-XSRF-TOKEN',
  'TFAToken',
  'X-Id',
  'X-HTTP-METHOD',
  'X-Platform-Processing-Mode',
  'X-Platform-Application-Key',
  'X-Platform-System-Of-Units',
  'X-Cumulocity-Processing-Mode',
  'X-Cumulocity-Application-Key',
  'X-Cumulocity-System-Of-Units',
  'Range',
  'Content-Range',
].join(', ');

/** What scripts of other origins may read of an answer, beside what they always may. */
const EXPOSED_HEADERS = [
  'Location', 'Content-Disposition', 'Content-Range', 'Accept-Ranges', 'ETag', 'Retry-After', 'WWW-Authenticate',
  'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset',
].join(', ');

/** How long a browser may keep the answer to its preflight. */
const PREFLIGHT_AGE_SECONDS = 86_400;
/** Longer origins are not echoed. */
const ORIGIN_LENGTH_MAX = 300;

/** Texts of options that are kept parsed. */
const PARSED_MAX = 1_000;
const ALLOW_ORIGIN_DEFAULT = '*';

/** By the option of the tenant that the request is of: that of its user, before that is known of its host, else the default one. */
export class TenantCors {
  private readonly platform: Pick<Platform, 'tenants' | 'allowedOrigins' | 'config'>;
  private readonly parsed = new Map<string, Cors>();

  constructor(platform: Pick<Platform, 'tenants' | 'allowedOrigins' | 'config'>) {
    this.platform = platform;
  }

  of(request: Pick<ApiRequest, 'principal' | 'calledHost'>): Cors {
    const { allowedOrigins, config } = this.platform;
    const text = allowedOrigins?.(this.tenantNumber(request)) ?? config.allowOrigin ?? ALLOW_ORIGIN_DEFAULT;
    const known = this.parsed.get(text);
    if (known !== undefined) return known;
    if (this.parsed.size >= PARSED_MAX) this.parsed.clear();
    const cors = new Cors(text);
    this.parsed.set(text, cors);
    return cors;
  }

  private tenantNumber({ principal, calledHost }: Pick<ApiRequest, 'principal' | 'calledHost'>): number {
    const { tenants } = this.platform;
    if (principal.tenantNumber !== 0) return principal.tenantNumber;
    try {
      return (tenantOfHost(tenants, calledHost) ?? tenants.default).number;
    } catch (error) {
      // The id of a tenant as subdomain: the request itself is refused for it.
      if (!(error instanceof PlatformError)) throw error;
      return tenants.default.number;
    }
  }
}

/** An entry of the option. One without scheme is a domain: any scheme and port of it. */
function patternOf(entry: string): RegExp {
  const text = entry.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^\\s]*');
  if (entry === '*' || entry.includes('://')) return new RegExp(`^${text}$`, 'i');
  return new RegExp(`^[a-z][a-z0-9+.-]*://${text}${/:\d+$/.test(entry) ? '' : '(:\\d+)?'}$`, 'i');
}

/** An entry with any host, as `*` and `https://*:8443`: it names nobody who could be trusted with cookies. */
const isAnyHost = (entry: string): boolean => /^(?:[^/]*:\/\/)?\*+(?::[\d*]+)?$/.test(entry);

/**
 * Decides by the option `access.control/allow.origin`: domains or origins, comma separated (document 1 Option); `*` stands for any text. Origins that
 * are allowed by name are answered with credentials; what only an entry for any host allows is answered with `*` and without them (document 4
 * section 0.7): pages there send an Authorization header, but the browser adds no cookie and no remembered password.
 */
export class Cors {
  private readonly named: readonly RegExp[];
  private readonly open: readonly RegExp[];

  constructor(allowOrigin: string) {
    const entries = allowOrigin.split(',').map((text) => text.trim()).filter((text) => text !== '');
    this.named = entries.filter((entry) => !isAnyHost(entry)).map(patternOf);
    this.open = entries.filter(isAnyHost).map(patternOf);
  }

  /** @returns names and values in turn for an answer to this origin; empty when it is not allowed. */
  headers(origin: string): readonly string[] {
    if (!this.isAllowed(origin)) return ['Vary', 'Origin'];
    const isNamed = this.named.some((pattern) => pattern.test(origin));
    return [
      'Access-Control-Allow-Origin',
      ...(isNamed ? [origin, 'Access-Control-Allow-Credentials', 'true'] : ['*']),
      'Access-Control-Expose-Headers',
      EXPOSED_HEADERS,
      'Vary',
      'Origin',
    ];
  }

  preflightHeaders(origin: string): readonly string[] {
    if (origin === '' || !this.isAllowed(origin)) return ['Vary', 'Origin'];
    return [
      ...this.headers(origin),
      'Access-Control-Allow-Methods',
      'GET, POST, PUT, DELETE, OPTIONS, HEAD',
      'Access-Control-Allow-Headers',
      ALLOWED_HEADERS,
      'Access-Control-Max-Age',
      String(PREFLIGHT_AGE_SECONDS),
    ];
  }

  private isAllowed(origin: string): boolean {
    return origin.length <= ORIGIN_LENGTH_MAX && /^[\x21-\x7e]+$/.test(origin) && [...this.named, ...this.open].some((pattern) => pattern.test(origin));
  }
}
