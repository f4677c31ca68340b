/**
 * Bounds what one user and one tenant can cost all others by the times of their measurements: the history store writes
 * and synchronises a part for each month of an insert (months.ts). Measurements of about now share a few months. Of
 * months that are far from now a user and a tenant may have a number at once, and then a number a second; a month that
 * comes again within a second is in the same inserts and costs nothing more. A user has less than the tenant, so that
 * one device holds up no other. Each node of a cluster counts for itself.
 */
import { LRUCache } from 'lru-cache';
import { upTo } from '../../pacing/lru-bound.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import { PlatformError } from '../../model/errors.ts';
import { OFFSET_TIME, kindAt, modeAt, nextAt } from '../journal/record-layout.ts';
import { monthOf } from './months.ts';

export const MONTHS_LIMIT = 'measurement/months';
/** Days before and after now whose months are not counted. */
const NEAR_DAYS = 62;
const NEAR_MS = NEAR_DAYS * 86_400_000;
interface Allowance {
  readonly atOnce: number;
  readonly perSecond: number;
}
const OF_USER: Allowance = { atOnce: 24, perSecond: 2 };
const OF_TENANT: Allowance = { atOnce: 60, perSecond: 6 };
const SAME_INSERTS_MS = 1_000;
/** Users, and tenants, that are remembered; one that was forgotten begins anew. */
const ACCOUNTS_MAX = 20_000;

/** @param time, now ms since 1970. */
export const isDistant = (time: number, now: number): boolean => Math.abs(time - now) > NEAR_MS;

class Account {
  readonly #allowance: Allowance;
  #credit: number;
  #filledAt: number;
  /** Months that were taken since `#recentSince`. */
  readonly #recent = new Set<number>();
  #recentSince: number;

  constructor(allowance: Allowance, now: number) {
    this.#allowance = allowance;
    this.#credit = allowance.atOnce;
    this.#filledAt = now;
    this.#recentSince = now;
  }

  /** @returns ms until it has them; then nothing is taken by itself. */
  waitMs(months: ReadonlySet<number>, now: number): number {
    const { atOnce, perSecond } = this.#allowance;
    this.#credit = Math.min(atOnce, this.#credit + (Math.max(0, now - this.#filledAt) * perSecond) / 1_000);
    this.#filledAt = now;
    if (Math.abs(now - this.#recentSince) >= SAME_INSERTS_MS) {
      this.#recent.clear();
      this.#recentSince = now;
    }
    return Math.max(0, Math.ceil(((this.#newOf(months).length - this.#credit) * 1_000) / perSecond));
  }

  take(months: ReadonlySet<number>): void {
    const taken = this.#newOf(months);
    this.#credit -= taken.length;
    for (const month of taken) this.#recent.add(month);
  }

  #newOf(months: ReadonlySet<number>): number[] {
    return [...months].filter((month) => !this.#recent.has(month));
  }
}

export class DistantMonths {
  readonly #users = new LRUCache<string, Account>(upTo(ACCOUNTS_MAX));
  readonly #tenants = new LRUCache<number, Account>(upTo(ACCOUNTS_MAX));

  /**
   * Whether the measurements of one message may be journaled, all or none of them. Nothing is counted of those that may
   * not.
   * @param who tenant number and user name. @param chunks journal records, one behind the other in each. @param now ms
   * since 1970.
   * @returns 0, or ms after which it may be asked again; Infinity: never, they have too many months.
   */
  waitMs(
    who: { readonly tenantNumber: number; readonly userName: string },
    chunks: readonly Buffer[],
    now: number,
  ): number {
    const months = monthsOf(chunks, now);
    if (months.size === 0) return 0;
    if (months.size > OF_USER.atOnce) return Infinity;
    const user = accountOf(this.#users, `${who.tenantNumber}/${who.userName}`, OF_USER, now);
    const tenant = accountOf(this.#tenants, who.tenantNumber, OF_TENANT, now);
    const waitMs = Math.max(user.waitMs(months, now), tenant.waitMs(months, now));
    if (waitMs > 0) return waitMs;
    user.take(months);
    tenant.take(months);
    return 0;
  }
}

/** The refusal of measurements that have to wait. @param waitMs see DistantMonths. */
export const monthsRefusal = (waitMs: number): PlatformError =>
  waitMs === Infinity
    ? new PlatformError('measurement/too-many-months', { maximum: OF_USER.atOnce, days: NEAR_DAYS })
    : new PlatformError(MONTHS_LIMIT, {
        limit: OF_USER.perSecond,
        ofTenant: OF_TENANT.perSecond,
        days: NEAR_DAYS,
        retryAfterSeconds: Math.ceil(waitMs / 1_000),
      });

function accountOf<Key extends string | number>(
  accounts: LRUCache<Key, Account>,
  key: Key,
  allowance: Allowance,
  now: number,
): Account {
  let account = accounts.get(key);
  if (account === undefined) {
    account = new Account(allowance, now);
    accounts.set(key, account);
  }
  return account;
}

/** Distinct months of stored measurements that are distant; at most one more than a message may have. */
function monthsOf(chunks: readonly Buffer[], now: number): Set<number> {
  const months = new Set<number>();
  for (const records of chunks) {
    for (let at = 0; at < records.length && months.size <= OF_USER.atOnce; at = nextAt(records, at)) {
      if (kindAt(records, at) !== COMMAND.MEASUREMENT || !isStored(modeAt(records, at))) continue;
      const time = records.readDoubleLE(at + OFFSET_TIME);
      if (isDistant(time, now)) months.add(monthOf(time));
    }
  }
  return months;
}
