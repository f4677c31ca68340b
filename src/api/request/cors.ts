/** Cross-origin requests of browsers (docs/spec/conventions.md#cross-origin-requests). */
import type { ApiRequest } from './request.ts';
import { tenantMeant } from './login-host.ts';
import { originRules } from './origin-rules.ts';
import type { OriginRule } from './origin-rules.ts';
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
  'Location',
  'Content-Disposition',
  'Content-Range',
  'Accept-Ranges',
  'ETag',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Millrace-Requested-At',
].join(', ');

/** How long a browser may keep the answer to its preflight. */
const PREFLIGHT_AGE_SECONDS = 86_400;
/** Longer origins are not echoed. */
const ORIGIN_LENGTH_MAX = 300;

/** Texts of options that are kept parsed. */
const PARSED_MAX = 1_000;
const ALLOW_ORIGIN_DEFAULT = '*';

/**
 * By the option of the tenant that the request is of: that of its user, before that is known of its host, else the
 * default one.
 */
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
    return (tenantMeant(tenants, calledHost) ?? tenants.default).number;
  }
}

/**
 * Decides by the option `access.control/allow.origin`: domains or origins, comma separated; `*` stands for any text.
 * Origins that are allowed by name are answered with credentials; what only an entry for any host allows is answered
 * with `*` and without them (docs/spec/conventions.md#cross-origin-requests): pages there send an Authorization header,
 * but the browser adds no cookie and no remembered password.
 */
export class Cors {
  private readonly named: readonly OriginRule[];
  private readonly open: readonly OriginRule[];

  constructor(allowOrigin: string) {
    const rules = originRules(allowOrigin);
    this.named = rules.filter(({ isAnyHost }) => !isAnyHost);
    this.open = rules.filter(({ isAnyHost }) => isAnyHost);
  }

  /** Whether an entry names this origin: then its pages may use cookies and remembered passwords. */
  isNamed(origin: string): boolean {
    return isOrigin(origin) && matches(this.named, origin);
  }

  /** @returns names and values in turn for an answer to this origin; empty when it is not allowed. */
  headers(origin: string): readonly string[] {
    if (!isOrigin(origin)) return ['Vary', 'Origin'];
    const isNamed = matches(this.named, origin);
    if (!isNamed && !matches(this.open, origin)) return ['Vary', 'Origin'];
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
    const headers = this.headers(origin);
    if (headers[0] === 'Vary') return headers;
    return [
      ...headers,
      'Access-Control-Allow-Methods',
      'GET, POST, PUT, DELETE, OPTIONS, HEAD',
      'Access-Control-Allow-Headers',
      ALLOWED_HEADERS,
      'Access-Control-Max-Age',
      String(PREFLIGHT_AGE_SECONDS),
    ];
  }
}

const isOrigin = (text: string): boolean => text.length <= ORIGIN_LENGTH_MAX && /^[\x21-\x7e]+$/.test(text);

function matches(rules: readonly OriginRule[], origin: string): boolean {
  const lower = origin.toLowerCase();
  return rules.some((rule) => rule.matches(lower));
}
