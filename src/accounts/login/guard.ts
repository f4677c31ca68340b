/**
 * Slows down the guessing of passwords (docs/spec/login.md#wrong-passwords). Too many wrong passwords lock the account
 * for the address that they come from, the address for all accounts, and, at ten times the number, the account for all
 * addresses that are not familiar. Each further lock lasts twice as long. A familiar address is one from which a
 * password of the account was right on this node. From there a password that was right before passes each lock. The
 * account with which new devices register is never locked for all addresses: its password is in every new device, and
 * the owner of one could lock all. Each node counts for itself, in tables of bounded size.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { upTo } from '../../pacing/lru-bound.ts';
import type { Log } from '../../ports/log.ts';
import type { ClientAddress } from '../../model/access/client-address.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { Refusals, Refused } from '../../ports/refusals.ts';
import { BOOTSTRAP_USER } from '../../model/access/roles.ts';
import { MANAGEMENT_TENANT } from '../tenants/tenants.ts';

/**
 * Accounts, addresses and pairs of them that are watched at once, each; the one that failed longest ago is forgotten
 * first.
 */
const WATCHED_MAX = 20_000;
/** Pairs of account and address whose password was right. */
const FAMILIAR_MAX = 50_000;
/** The longest pause, unless the first one is longer. */
const PAUSE_MS_MAX = 3_600_000;
/** Without a wrong password for this long, the next pause is the shortest again. */
const FORGOTTEN_MS = 24 * 3_600_000;
/**
 * Refused passwords of an account from a familiar address during a lock: after them the address is not familiar any
 * more.
 */
const FAMILIAR_REFUSED_MAX = 100;
/**
 * All new devices of all tenants share it. It opens nothing but the registration of a device that its owner has
 * announced.
 */
const BOOTSTRAP_ACCOUNT = `${MANAGEMENT_TENANT}/${BOOTSTRAP_USER}`;
/** Names of the limits in answers, log and counters. */
const ACCOUNT_LOCKED = 'accounts/login-failures';
const ACCOUNT_LOCKED_EVERYWHERE = 'accounts/login-failures-everywhere';
const ADDRESS_LOCKED = 'accounts/login-failures-of-address';

/** The account is locked for all addresses at this multiple of the wrong passwords that lock it for one. */
const EVERYWHERE_FACTOR = 10;
/**
 * Wrong passwords of an account that are remembered: a client that repeats an old password guesses nothing. The one
 * used longest ago goes first.
 */
const KNOWN_WRONG_MAX = 8;

interface Failures {
  count: number;
  since: number;
  lastAt: number;
  lockedUntil: number;
  locks: number;
  refused: number;
  knownWrong: string[];
}

export interface LoginGuardOptions {
  /** Wrong passwords within `windowMs` that lock an account for the address that they come from; 0 never does. */
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

interface Kind {
  readonly failuresMax: number;
  readonly code: ErrorCode;
  readonly limit: string;
  /** Of a name, for the log. */
  readonly details: (name: string) => Partial<Record<'account' | 'address', string>>;
}

/** Failures by name: of an account, of an address, or of a pair of them. */
class Locks {
  readonly #kind: Kind;
  readonly #options: LoginGuardOptions;
  readonly #watched = new LRUCache<string, Failures>(upTo(WATCHED_MAX));
  #lockedUntil = 0;

  constructor(options: LoginGuardOptions, kind: Kind) {
    this.#options = options;
    this.#kind = kind;
  }

  get count(): number {
    return this.#watched.size;
  }
  get isAny(): boolean {
    return this.#lockedUntil > this.#options.now();
  }

  /** @returns the time until the end of the lock; 0 without one. */
  leftMs(name: string): number {
    const now = this.#options.now();
    if (!this.isAny) return 0;
    return Math.max(0, (this.#watched.peek(name)?.lockedUntil ?? 0) - now);
  }

  /** @returns the error while it is locked. */
  refusal(name: string): PlatformError | undefined {
    const leftMs = this.leftMs(name);
    if (leftMs === 0) return undefined;
    const { code, limit } = this.#kind;
    this.#options.refusals.count(limit, refusedOf(this.#kind.details(name)));
    return new PlatformError(code, { seconds: Math.ceil(leftMs / 1_000), limit });
  }

  /** @returns how many were refused since the lock began. */
  countRefused(name: string): number {
    const failures = this.#latest(name);
    failures.refused += 1;
    return failures.refused;
  }

  failed(name: string): void {
    const { failuresMax, limit, details } = this.#kind;
    if (failuresMax === 0) return;
    const { windowMs, lockMs, log } = this.#options;
    const now = this.#options.now();
    const failures = this.#latest(name);
    if (now - failures.since >= windowMs) {
      failures.count = 0;
      failures.since = now;
    }
    if (now - failures.lastAt >= FORGOTTEN_MS) failures.locks = 0;
    failures.lastAt = now;
    failures.count += 1;
    if (failures.count < failuresMax) return;
    const pauseMs = Math.min(lockMs * 2 ** failures.locks, Math.max(lockMs, PAUSE_MS_MAX));
    failures.count = 0;
    failures.since = now;
    failures.lockedUntil = now + pauseMs;
    failures.locks += 1;
    failures.refused = 0;
    this.#lockedUntil = Math.max(this.#lockedUntil, failures.lockedUntil);
    log.warn(
      { ...details(name), failures: failuresMax, pauseMs, limit },
      'logins are locked for a while after too many wrong passwords',
    );
  }

  /** @returns the entry of the name, which is forgotten last. */
  #latest(name: string): Failures {
    const now = this.#options.now();
    const known = this.#watched.get(name);
    if (known !== undefined) return known;
    const failures: Failures = {
      count: 0,
      since: now,
      lastAt: now,
      lockedUntil: 0,
      locks: 0,
      refused: 0,
      knownWrong: [],
    };
    this.#watched.set(name, failures);
    return failures;
  }

  isKnownWrong(name: string, guess: string): boolean {
    return this.#watched.peek(name)?.knownWrong.includes(guess) === true;
  }

  rememberWrong(name: string, guess: string): void {
    if (this.#kind.failuresMax === 0) return;
    const failures = this.#latest(name);
    failures.knownWrong = [...failures.knownWrong.filter((known) => known !== guess), guess].slice(-KNOWN_WRONG_MAX);
  }

  /** A lock is not ended by a success: it may come from another user. */
  succeeded(name: string): void {
    if (this.leftMs(name) === 0) this.#watched.delete(name);
  }
}

export class LoginGuard {
  readonly #pairs: Locks;
  readonly #accounts: Locks;
  readonly #addresses: Locks;
  readonly #familiar = new LRUCache<string, true>(upTo(FAMILIAR_MAX));
  /** Of this process: what is remembered of a password tells nothing elsewhere. */
  readonly #secret = randomBytes(32);

  constructor(options: LoginGuardOptions) {
    const { failuresMax, addressFailuresMax } = options;
    this.#pairs = new Locks(options, { failuresMax, code: 'login/locked', limit: ACCOUNT_LOCKED, details: partsOf });
    this.#accounts = new Locks(options, {
      failuresMax: failuresMax * EVERYWHERE_FACTOR,
      code: 'login/locked',
      limit: ACCOUNT_LOCKED_EVERYWHERE,
      details: (account) => ({ account }),
    });
    this.#addresses = new Locks(options, {
      failuresMax: addressFailuresMax,
      code: 'login/address-locked',
      limit: ADDRESS_LOCKED,
      details: (address) => ({ address }),
    });
  }

  /** @returns what stands for a password that was checked against a stored hash: 128 bits of a keyed hash. */
  guessOf(password: string, stored: string): string {
    return createHmac('sha256', this.#secret).update(`${stored}\n${password}`).digest('base64').slice(0, 22);
  }

  /**
   * Before a slow check, and again behind its queue.
   * @param account `<tenant>/<user>`. @param guess of `guessOf`; undefined for a password that is right.
   * @throws PlatformError `login/locked`, `login/address-locked`, also for the right password.
   */
  check(account: string, address: ClientAddress, guess?: string): void {
    const pair = pairOf(account, address);
    const isFamiliar = this.#familiar.has(pair);
    const refusal =
      this.#pairs.refusal(pair) ??
      (isFamiliar ? undefined : this.#accounts.refusal(account)) ??
      (address.isOfClient ? this.#addresses.refusal(address.key) : undefined);
    if (refusal === undefined) return;
    if (isFamiliar && !this.#isKnown(account, guess) && this.#pairs.countRefused(pair) > FAMILIAR_REFUSED_MAX)
      this.#familiar.delete(pair);
    throw refusal;
  }

  /**
   * Whether a password that was right before is taken at once from this address. From others it waits for its turn, in
   * which locks count.
   */
  takesKnown(account: string, address: ClientAddress): boolean {
    const pair = pairOf(account, address);
    if (this.#familiar.has(pair)) return true;
    // Each new device comes from a new address.
    return (
      account === BOOTSTRAP_ACCOUNT &&
      this.#pairs.leftMs(pair) === 0 &&
      !(address.isOfClient && this.#addresses.leftMs(address.key) > 0)
    );
  }

  /**
   * Whether the password was found wrong against the same stored hash not long ago: it needs no check and does not
   * count again.
   */
  isKnownWrong(account: string, guess: string): boolean {
    if (!this.#isKnown(account, guess)) return false;
    this.#accounts.rememberWrong(account, guess);
    return true;
  }

  failed(account: string, address: ClientAddress, guess?: string): void {
    if (guess !== undefined && this.isKnownWrong(account, guess)) return;
    this.#pairs.failed(pairOf(account, address));
    if (account !== BOOTSTRAP_ACCOUNT) this.#accounts.failed(account);
    if (address.isOfClient) this.#addresses.failed(address.key);
    if (guess !== undefined) this.#accounts.rememberWrong(account, guess);
  }

  /** The account keeps its count: guesses elsewhere do not come from the user with the password. */
  succeeded(account: string, address: ClientAddress): void {
    const pair = pairOf(account, address);
    this.#pairs.succeeded(pair);
    this.#seen(pair);
  }

  #isKnown(account: string, guess: string | undefined): boolean {
    return guess !== undefined && this.#accounts.isKnownWrong(account, guess);
  }

  #seen(pair: string): void {
    this.#familiar.set(pair, true);
  }

  /** Whether anything is locked now. */
  get hasLocks(): boolean {
    return this.#pairs.isAny || this.#accounts.isAny || this.#addresses.isAny;
  }

  /** Accounts that are watched. */
  get accountCount(): number {
    return this.#accounts.count;
  }
}

const pairOf = (account: string, { key }: ClientAddress): string => `${account}\n${key}`;

/** The last line feed: names of users may have some. */
function partsOf(pair: string): { readonly account: string; readonly address: string } {
  const end = pair.lastIndexOf('\n');
  return { account: pair.slice(0, end), address: pair.slice(end + 1) };
}

/** @param account of a tenant id and the name of a user. */
function refusedOf({ account, address }: { readonly account?: string; readonly address?: string }): Refused {
  const end = account?.indexOf('/') ?? 0;
  return { tenant: account?.slice(0, end), user: account?.slice(end + 1), address };
}
