/**
 * Holds up guessing of passwords: after too many wrong ones within a time an account is locked for a while (document 4 section 3.7). Counted
 * by each node for itself, in a table of bounded size. Without a limit (the default of the API) nobody is locked out.
 */
import type { Log } from '../model/log.ts';
import { PlatformError } from '../model/errors.ts';
import type { Refusals } from '../model/refusals.ts';

/** Accounts that are watched at once; the one that failed longest ago is forgotten first. */
const ACCOUNTS_MAX = 20_000;
const LOCKED = 'accounts/login-failures';

interface Failures { count: number; since: number; lockedUntil: number }

export interface LoginGuardOptions {
  /** Wrong passwords within `windowMs` that lock; 0 never does. */
  readonly failuresMax: number;
  readonly windowMs: number;
  readonly lockMs: number;
  readonly log: Log;
  readonly refusals: Refusals;
  readonly now: () => number;
}

export class LoginGuard {
  readonly #options: LoginGuardOptions;
  readonly #accounts = new Map<string, Failures>();

  constructor(options: LoginGuardOptions) {
    this.#options = options;
  }

  /** Before a password is checked. @throws PlatformError `login/locked`, also for the right password. */
  check(account: string): void {
    const failures = this.#accounts.get(account);
    const leftMs = failures === undefined ? 0 : failures.lockedUntil - this.#options.now();
    if (leftMs <= 0) return;
    this.#options.refusals.count(LOCKED);
    throw new PlatformError('login/locked', { seconds: Math.ceil(leftMs / 1_000), limit: LOCKED });
  }

  failed(account: string): void {
    const { failuresMax, windowMs, lockMs, now, log } = this.#options;
    if (failuresMax === 0) return;
    const known = this.#accounts.get(account);
    const failures = known !== undefined && now() - known.since < windowMs ? known : { count: 0, since: now(), lockedUntil: 0 };
    failures.count += 1;
    this.#accounts.delete(account);
    if (this.#accounts.size >= ACCOUNTS_MAX) this.#accounts.delete(this.#accounts.keys().next().value as string);
    this.#accounts.set(account, failures);
    if (failures.count < failuresMax) return;
    failures.count = 0;
    failures.since = now();
    failures.lockedUntil = now() + lockMs;
    log.warn({ account, failures: failuresMax, lockMs, limit: LOCKED }, 'an account is locked for a while after too many wrong passwords');
  }

  succeeded(account: string): void {
    this.#accounts.delete(account);
  }

  get accountCount(): number {
    return this.#accounts.size;
  }
}
