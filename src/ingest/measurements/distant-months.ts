/**
 * Bounds what one tenant can cost all others by the times of its measurements: the history store writes and synchronises
 * a part for each month of an insert (months.ts). Measurements of about now share a few months. Of measurements
 * far from now a tenant may send a number of months at once, and then a number a second; a month that comes again within
 * a second is in the same inserts and costs nothing more. Each node of a cluster counts for itself.
 */
import { LRUCache } from 'lru-cache';
import { COMMAND } from '../../model/commands/kinds.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { OFFSET_TIME, kindAt, modeAt, nextAt } from '../journal/record-layout.ts';
import { monthOf } from './months.ts';

export const MONTHS_LIMIT = 'measurement/months';
/** Days before and after now whose months are not counted. */
const NEAR_DAYS = 62;
const NEAR_MS = NEAR_DAYS * 86_400_000;
const MONTHS_AT_ONCE = 240;
const MONTHS_PER_SECOND = 10;
const SAME_INSERTS_MS = 1_000;
/** Tenants that are remembered; one that was forgotten begins anew. */
const TENANTS_MAX = 20_000;

interface Account {
  /** Months that the tenant still has; below 0 when one body took more than it had. */
  credit: number;
  filledAt: number;
  readonly recent: Set<number>;
  recentSince: number;
}

/** @param time, now ms since 1970. */
export const isDistant = (time: number, now: number): boolean => Math.abs(time - now) > NEAR_MS;

export class DistantMonths {
  readonly #refusals: Refusals;
  readonly #accounts = new LRUCache<number, Account>({ max: TENANTS_MAX });

  constructor(refusals: Refusals) {
    this.#refusals = refusals;
  }

  /**
   * Whether measurements may be journaled. What is admitted is taken from the tenant's months, as a whole.
   * @param chunks journal records of the tenant, one behind the other in each. @param now ms since 1970.
   * @returns 0, or ms after which it may be asked again; then the refusal is counted.
   */
  waitMs(tenant: number, chunks: readonly Buffer[], now: number): number {
    let account: Account | undefined;
    for (const records of chunks) {
      for (let at = 0; at < records.length; at = nextAt(records, at)) {
        const time = distantTimeAt(records, at, now);
        if (time === undefined) continue;
        if (account === undefined) {
          account = this.#accountAt(tenant, now);
          if (account.credit <= 0) {
            this.#refusals.count(MONTHS_LIMIT);
            return Math.ceil(((1 - account.credit) * 1_000) / MONTHS_PER_SECOND);
          }
        }
        const month = monthOf(time);
        if (account.recent.has(month)) continue;
        account.recent.add(month);
        account.credit -= 1;
      }
    }
    return 0;
  }

  /** The same for a sender that is told. @throws PlatformError `measurement/months`. */
  require(tenant: number, chunks: readonly Buffer[], now: number): void {
    const waitMs = this.waitMs(tenant, chunks, now);
    if (waitMs > 0)
      throw new PlatformError(MONTHS_LIMIT, {
        limit: String(MONTHS_PER_SECOND),
        days: String(NEAR_DAYS),
        retryAfterSeconds: String(Math.ceil(waitMs / 1_000)),
      });
  }

  #accountAt(tenant: number, now: number): Account {
    let account = this.#accounts.get(tenant);
    if (account === undefined) {
      account = { credit: MONTHS_AT_ONCE, filledAt: now, recent: new Set(), recentSince: now };
      this.#accounts.set(tenant, account);
    }
    const filled = (Math.max(0, now - account.filledAt) * MONTHS_PER_SECOND) / 1_000;
    account.credit = Math.min(MONTHS_AT_ONCE, account.credit + filled);
    account.filledAt = now;
    if (Math.abs(now - account.recentSince) >= SAME_INSERTS_MS) {
      account.recent.clear();
      account.recentSince = now;
    }
    return account;
  }
}

/** @returns the time of the record at `at` where it is a stored measurement's, and distant. */
function distantTimeAt(records: Buffer, at: number, now: number): number | undefined {
  if (kindAt(records, at) !== COMMAND.MEASUREMENT || !isStored(modeAt(records, at))) return undefined;
  const time = records.readDoubleLE(at + OFFSET_TIME);
  return isDistant(time, now) ? time : undefined;
}
