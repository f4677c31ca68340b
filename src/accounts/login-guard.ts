/**
 * Holds up guessing of passwords (document 4 section 3.7): too many wrong ones lock an account, and the address that they come from, for a while that
 * doubles each time. A password that was right before from the same address is taken meanwhile, so that a stranger who guesses keeps no user out.
 * Each node counts for itself, in tables of bounded size.
 */
import type { Log } from '../model/log.ts';
import type { ClientAddress } from '../model/client-address.ts';
import { PlatformError } from '../model/errors.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { Refusals } from '../model/refusals.ts';

/** Accounts, and addresses, that are watched at once; the one that failed longest ago is forgotten first. */
const WATCHED_MAX = 20_000;
/** Pairs of account and address whose password was right; the oldest is forgotten first. */
const FAMILIAR_MAX = 50_000;
/** The longest pause, unless the first one is longer. */
const PAUSE_MS_MAX = 3_600_000;
/** Without a wrong password for this long, the next pause is the shortest again. */
const FORGOTTEN_MS = 24 * 3_600_000;
/** Refused passwords during a lock, of an account from an address that it was used from: then passwords from there are refused that are right. */
const FAMILIAR_REFUSED_MAX = 100;
/** Names of the limits in answers, log and counters. */
export const ACCOUNT_LOCKED = 'accounts/login-failures';
export const ADDRESS_LOCKED = 'accounts/login-failures-of-address';

interface Failures { count: number; since: number; lastAt: number; lockedUntil: number; locks: number; refused: number }

export interface LoginGuardOptions {
  /** Wrong passwords within `windowMs` that lock an account; 0 never does. */
  readonly failuresMax: number;
  /** The same of one address, for all accounts. */
  readonly addressFailuresMax: number;
  readonly windowMs: number;
  /** The first pause. */
  readonly lockMs: number;
  readonly log: Log;
  readonly refusals: Refusals;
  readonly now: () => number;
}

/** Who fails, by name: of an account or of an address. */
class Locks {
  readonly #kind: 'account' | 'address';
  readonly #failuresMax: number;
  readonly #code: ErrorCode;
  readonly #limit: string;
  readonly #options: LoginGuardOptions;
  readonly #watched = new Map<string, Failures>();
  #lockedUntil = 0;

  constructor(options: LoginGuardOptions, { kind, failuresMax, code, limit }:
    { readonly kind: 'account' | 'address'; readonly failuresMax: number; readonly code: ErrorCode; readonly limit: string }) {
    this.#kind = kind;
    this.#options = options;
    this.#failuresMax = failuresMax;
    this.#code = code;
    this.#limit = limit;
  }

  get count(): number { return this.#watched.size; }
  get isAny(): boolean { return this.#lockedUntil > this.#options.now(); }

  /** @returns the time until the end of the lock; 0 without one. */
  leftMs(name: string): number {
    const now = this.#options.now();
    if (!this.isAny) return 0;
    return Math.max(0, (this.#watched.get(name)?.lockedUntil ?? 0) - now);
  }

  /** @returns the error while it is locked. */
  refusal(name: string): PlatformError | undefined {
    const leftMs = this.leftMs(name);
    if (leftMs === 0) return undefined;
    this.#options.refusals.count(this.#limit);
    return new PlatformError(this.#code, { seconds: Math.ceil(leftMs / 1_000), limit: this.#limit });
  }

  /** @returns how many were refused since the lock began. */
  countRefused(name: string): number {
    const failures = this.#watched.get(name);
    if (failures === undefined) return 0;
    failures.refused += 1;
    return failures.refused;
  }

  failed(name: string): void {
    if (this.#failuresMax === 0) return;
    const { windowMs, lockMs, log } = this.#options;
    const now = this.#options.now();
    const failures = this.#watched.get(name) ?? { count: 0, since: now, lastAt: now, lockedUntil: 0, locks: 0, refused: 0 };
    if (now - failures.since >= windowMs) {
      failures.count = 0;
      failures.since = now;
    }
    if (now - failures.lastAt >= FORGOTTEN_MS) failures.locks = 0;
    failures.lastAt = now;
    failures.count += 1;
    this.#watched.delete(name);
    if (this.#watched.size >= WATCHED_MAX) this.#watched.delete(this.#watched.keys().next().value as string);
    this.#watched.set(name, failures);
    if (failures.count < this.#failuresMax) return;
    const pauseMs = Math.min(lockMs * 2 ** failures.locks, Math.max(lockMs, PAUSE_MS_MAX));
    failures.count = 0;
    failures.since = now;
    failures.lockedUntil = now + pauseMs;
    failures.locks += 1;
    failures.refused = 0;
    this.#lockedUntil = Math.max(this.#lockedUntil, failures.lockedUntil);
    log.warn({ [this.#kind]: name, failures: this.#failuresMax, pauseMs, limit: this.#limit }, 'logins are locked for a while after too many wrong passwords');
  }

  /** A lock is not ended by a success: it may be of somebody else. */
  succeeded(name: string): void {
    if (this.leftMs(name) === 0) this.#watched.delete(name);
  }
}

export class LoginGuard {
  readonly #accounts: Locks;
  readonly #addresses: Locks;
  readonly #familiar = new Set<string>();

  constructor(options: LoginGuardOptions) {
    this.#accounts = new Locks(options, { kind: 'account', failuresMax: options.failuresMax, code: 'login/locked', limit: ACCOUNT_LOCKED });
    this.#addresses = new Locks(options, { kind: 'address', failuresMax: options.addressFailuresMax, code: 'login/address-locked', limit: ADDRESS_LOCKED });
  }

  /**
   * Before a slow check, and again behind its queue.
   * @param account `<tenant>/<user>`.
   * @throws PlatformError `login/locked`, `login/address-locked`, also for the right password.
   */
  check(account: string, address: ClientAddress): void {
    const refusal = this.#accounts.refusal(account) ?? (address.isOfClient ? this.#addresses.refusal(address.key) : undefined);
    if (refusal === undefined) return;
    const pair = pairOf(account, address);
    if (this.#familiar.has(pair) && this.#accounts.countRefused(account) > FAMILIAR_REFUSED_MAX) this.#familiar.delete(pair);
    throw refusal;
  }

  /** Whether a password that was right before is taken now, from this address; then the address is familiar. */
  takesKnown(account: string, address: ClientAddress): boolean {
    if (this.#accounts.leftMs(account) > 0 || (address.isOfClient && this.#addresses.leftMs(address.key) > 0)) {
      return this.#familiar.has(pairOf(account, address));
    }
    this.#seen(account, address);
    return true;
  }

  failed(account: string, address: ClientAddress): void {
    this.#accounts.failed(account);
    if (address.isOfClient) this.#addresses.failed(address.key);
  }

  succeeded(account: string, address: ClientAddress): void {
    this.#accounts.succeeded(account);
    this.#seen(account, address);
  }

  #seen(account: string, address: ClientAddress): void {
    const pair = pairOf(account, address);
    if (this.#familiar.has(pair)) return;
    if (this.#familiar.size >= FAMILIAR_MAX) this.#familiar.delete(this.#familiar.values().next().value as string);
    this.#familiar.add(pair);
  }

  /** Whether anything is locked now. */
  get hasLocks(): boolean { return this.#accounts.isAny || this.#addresses.isAny; }

  /** Accounts that are watched. */
  get accountCount(): number { return this.#accounts.count; }
}

const pairOf = (account: string, { key }: ClientAddress): string => `${account}\n${key}`;
