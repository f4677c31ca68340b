/**
 * Requests a second of a tenant and of a user: token buckets. The tenant's number is set by who made it
 * (`customProperties` `limit.http.requests`, with `limit.http.queue` more at once), the user's by an option of the
 * tenant; otherwise the configuration decides. Each node of a cluster counts for itself.
 */
import { splitMembers } from '../../model/documents/json-document.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { WatchedOptions } from '../options/options.ts';
import type { Tenant, Tenants } from '../tenants/tenants.ts';

/**
 * Buckets at once, of requests and of logins; the one used longest ago is evicted first, and begins full when it comes
 * back. Plain maps hold them: each request takes from two.
 */
const BUCKETS_MAX = 20_000;
export const USER_RATE_OPTION = { category: 'limit', key: 'http.requests.user' } as const;
const TENANT_LIMIT = 'http/tenant-rate';
const USER_LIMIT = 'http/user-rate';

export interface RateDecision {
  readonly isAllowed: boolean;
  /** Name of the limit that is nearest, or was hit. */
  readonly name: string;
  /** Requests a second. */
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until a request is allowed again. */
  readonly retryAfterSeconds: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}
type Buckets = Map<string, Bucket>;
interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface RequestRatesOptions {
  readonly tenants: Pick<Tenants, 'byNumber'>;
  readonly options: Pick<WatchedOptions, 'get'>;
  /** Requests a second; 0 for no limit. */
  readonly tenantRate: number;
  readonly userRate: number;
  readonly refusals: Refusals;
  readonly now: () => number;
}

/** Without a user: all of the tenant. */
interface Holder {
  readonly tenant: number;
  readonly user?: string;
}

export class RequestRates {
  readonly #options: RequestRatesOptions;
  readonly #buckets: Buckets = new Map();
  /** Of logins, whose names anybody may invent: they push out none of the others. */
  readonly #loginBuckets: Buckets = new Map();
  /** Read once for each version of a tenant. */
  readonly #tenantRates = new WeakMap<Tenant, Rate | undefined>();

  constructor(options: RequestRatesOptions) {
    this.#options = options;
  }

  /** Takes a token of each limit that holds for the user. @returns undefined when there is none. */
  take({ tenantNumber, userName }: Pick<Principal, 'tenantNumber' | 'userName'>): RateDecision | undefined {
    return this.#take(this.#buckets, tenantNumber, userName);
  }

  /**
   * The same for a login that is still to be checked, in buckets of its own: who guesses the password of a user takes
   * nothing away from what he does.
   * @param name as it was sent.
   */
  takeLogin(tenantNumber: number, name: string): RateDecision | undefined {
    return this.#take(this.#loginBuckets, tenantNumber, name);
  }

  #take(buckets: Buckets, tenantNumber: number, userName: string): RateDecision | undefined {
    const tenantRate = this.#tenantRate(tenantNumber);
    const userRate = this.#userRate(tenantNumber);
    if (tenantRate === undefined && userRate === undefined) return undefined;
    const ofUser =
      userRate === undefined
        ? undefined
        : this.#decide(buckets, USER_LIMIT, userRate, { tenant: tenantNumber, user: userName });
    if (ofUser?.isAllowed === false) return ofUser;
    const ofTenant =
      tenantRate === undefined ? undefined : this.#decide(buckets, TENANT_LIMIT, tenantRate, { tenant: tenantNumber });
    if (ofTenant === undefined || ofUser === undefined) return ofTenant ?? ofUser;
    return !ofTenant.isAllowed || ofTenant.remaining < ofUser.remaining ? ofTenant : ofUser;
  }

  get bucketCount(): number {
    return this.#buckets.size + this.#loginBuckets.size;
  }

  #decide(buckets: Buckets, name: string, { perSecond, burst }: Rate, holder: Holder): RateDecision {
    const key = holder.user === undefined ? String(holder.tenant) : `${holder.tenant}/${holder.user}`;
    const now = this.#options.now();
    const bucket = buckets.get(key) ?? { tokens: burst, filledAt: now };
    bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, now - bucket.filledAt) * perSecond) / 1_000);
    bucket.filledAt = now;
    const isAllowed = bucket.tokens >= 1;
    if (isAllowed) bucket.tokens -= 1;
    else this.#options.refusals.count(name, holder);
    keep(buckets, key, bucket);
    const retryAfterSeconds = isAllowed ? 0 : Math.ceil((1 - bucket.tokens) / perSecond);
    return { isAllowed, name, limit: perSecond, remaining: Math.floor(bucket.tokens), retryAfterSeconds };
  }

  #tenantRate(number: number): Rate | undefined {
    const tenant = this.#options.tenants.byNumber(number);
    if (tenant === undefined) return undefined;
    if (!this.#tenantRates.has(tenant)) this.#tenantRates.set(tenant, tenantRateOf(tenant, this.#options.tenantRate));
    return this.#tenantRates.get(tenant);
  }

  #userRate(tenant: number): Rate | undefined {
    const { options, userRate } = this.#options;
    const perSecond = positive(options.get(tenant, USER_RATE_OPTION.category, USER_RATE_OPTION.key)) ?? userRate;
    return perSecond > 0 ? { perSecond, burst: Math.max(1, perSecond) } : undefined;
  }
}

function keep(buckets: Buckets, key: string, bucket: Bucket): void {
  buckets.delete(key);
  if (buckets.size >= BUCKETS_MAX) buckets.delete(buckets.keys().next().value as string);
  buckets.set(key, bucket);
}

/** @param otherwise 0 for no limit. */
function tenantRateOf(tenant: Tenant, otherwise: number): Rate | undefined {
  const perSecond = tenantLimit(tenant, 'limit.http.requests') ?? otherwise;
  return perSecond > 0
    ? { perSecond, burst: Math.max(1, perSecond) + (tenantLimit(tenant, 'limit.http.queue') ?? 0) }
    : undefined;
}

/** A number of `customProperties`, as text or as number; undefined for anything else. */
export function tenantLimit({ customProperties }: Tenant, name: string): number | undefined {
  const text = splitMembers(customProperties ?? '{}').get(name);
  return text === undefined ? undefined : positive(text.startsWith('"') ? (JSON.parse(text) as string) : text);
}

/** @returns undefined for anything but a number above 0. */
function positive(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}
