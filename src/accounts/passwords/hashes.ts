/**
 * Every hash of a password in this process: who waits takes turns, and as many are computed at once as there are
 * threads for it. A flood of wrong passwords therefore takes no time of the journal, and delays the accounts that it
 * names more than others.
 */
import { availableParallelism } from 'node:os';
import { timingSafeEqual } from 'node:crypto';
import { DEVICE_USER_PREFIX } from '../../model/entities/device-request.ts';
import {
  hashGenerated,
  isSameCost,
  newScrypt,
  parseScrypt,
  scryptText,
  workOf,
} from '../../model/access/password-hash.ts';
import type { ScryptCost, ScryptHash } from '../../model/access/password-hash.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { BOOTSTRAP_USER } from '../../model/access/roles.ts';
import { Turns } from '../../pacing/turns.ts';
import { PasswordThreads } from './threads.ts';
import type { KeyDerivation } from './threads.ts';

/** Hashes that wait for their turn; further ones are refused unchecked. */
const WAITING_MAX = 10_000;
/**
 * Of one account, or of one address whose names mean no account. Clients that send the same password wait for one check
 * together.
 */
const WAITING_OF_ACCOUNT_MAX = 100;
const CHECKS_WAITING = 'authentication/checks-waiting';
const CHECKS_OF_ACCOUNT = 'authentication/checks-of-account';
/**
 * One thread for two cores leaves the other to the journal and the engine; four take 512 MiB at the cost that is
 * recommended.
 */
const CORES_OF_THREAD = 2;
const THREADS_MAX = 4;
/** The tenant in whose turns names are checked that mean no account: all of them together wait like one tenant. */
const STRANGERS = -1;
/**
 * Passwords of devices that come from a file are random texts that no person remembers. 10,000 devices that come back
 * at once are checked in minutes.
 */
const DEVICE_COST: ScryptCost = { ln: 14, r: 8, p: 1 };

/**
 * - `chosen`: by a person, also for a device: the cost of the setting.
 * - `device`: of a device, from a file with devices or the configuration: less.
 * - `generated`: by this server, from at least 128 random bits: a fast hash.
 */
export type PasswordKind = 'chosen' | 'device' | 'generated';

/** In whose turn a hash is computed: numbers of tenants, and names. */
export interface HashTurn {
  readonly tenant: number;
  readonly account: string;
  /** Ends the wait: the hash is not needed any more. */
  readonly signal?: AbortSignal | undefined;
}

export interface PasswordHashesOptions {
  readonly refusals: Refusals;
  /** Binary logarithm of scrypt's N for chosen passwords; the setting `password-cost`. */
  readonly cost: number;
  readonly waitingMax?: number | undefined;
  /** For tests; otherwise threads of its own. */
  readonly keys?: KeyDerivation;
  readonly threads?: number;
}

/**
 * The kind that a name may have, for names that mean no user too: a device, or the user with whom devices ask for their
 * credentials, may also have a password that a person has chosen.
 */
export const kindOfName = (userName: string): 'chosen' | 'device' =>
  userName.startsWith(DEVICE_USER_PREFIX) || userName === BOOTSTRAP_USER ? 'device' : 'chosen';

/** The kind with which a stored password is hashed again: none becomes cheaper to guess. */
export function kindOfStored(userName: string, stored: string): PasswordKind {
  const hash = parseScrypt(stored);
  return hash !== undefined && workOf(hash) > workOf(DEVICE_COST) ? 'chosen' : kindOfName(userName);
}

/** What may be computed within a turn, one after the other. */
export class SlowHashes {
  readonly #keys: KeyDerivation;
  readonly #cost: ScryptCost;

  constructor(keys: KeyDerivation, cost: ScryptCost) {
    this.#keys = keys;
    this.#cost = cost;
  }

  /** @returns what is stored of a password. */
  async hash(password: string, kind: PasswordKind): Promise<string> {
    if (kind === 'generated') return hashGenerated(password);
    const made = newScrypt(kind === 'device' ? DEVICE_COST : this.#cost);
    return scryptText({ ...made, key: await this.#derive(password, made) });
  }

  /**
   * A wrong password takes as long as one of a user that does not exist, or that has no password yet. So the time does
   * not tell which names mean users.
   * @param stored '' for a user who does not exist. @param kind by the name.
   */
  async verify(password: string, stored: string, kind: PasswordKind): Promise<boolean> {
    const hash = parseScrypt(stored);
    const first = hash ?? newScrypt(kind === 'chosen' ? this.#cost : DEVICE_COST);
    const key = await this.#derive(password, first);
    if (hash !== undefined && timingSafeEqual(key, hash.key)) return true;
    if (workOf(first) < workOf(this.#cost)) await this.#derive(password, newScrypt(this.#cost));
    // As the name of a device that has no user.
    else if (kind === 'device' && !isSameCost(first, DEVICE_COST)) await this.#derive(password, newScrypt(DEVICE_COST));
    return false;
  }

  /** Whether the password is to be hashed again: with another cost than the one that it is stored with. */
  isOutdated(stored: string, kind: PasswordKind): boolean {
    const hash = parseScrypt(stored);
    if (hash === undefined || isSameCost(hash, this.#cost)) return false;
    return kind !== 'device' || !isSameCost(hash, DEVICE_COST);
  }

  async #derive(password: string, { salt, key, ...cost }: ScryptHash): Promise<Buffer> {
    return Buffer.from(await this.#keys.derive(password, salt, cost, key.length));
  }
}

export class PasswordHashes {
  readonly #turns: Turns;
  readonly #keys: KeyDerivation;
  readonly #slow: SlowHashes;
  #strangers = 0;

  constructor({ refusals, cost, waitingMax = WAITING_MAX, threads, keys }: PasswordHashesOptions) {
    const count = threads ?? Math.min(THREADS_MAX, Math.max(1, Math.floor(availableParallelism() / CORES_OF_THREAD)));
    this.#turns = new Turns({
      refusals,
      running: { all: count },
      waiting: { all: waitingMax, ofUser: WAITING_OF_ACCOUNT_MAX },
      limits: { all: CHECKS_WAITING, ofUser: CHECKS_OF_ACCOUNT },
    });
    this.#keys = keys ?? new PasswordThreads(count);
    this.#slow = new SlowHashes(this.#keys, { ln: cost, r: 8, p: 1 });
  }

  /** Hashes that wait for a turn. */
  get waitingCount(): number {
    return this.#turns.waitingCount;
  }

  /** Whether names that mean no account wait for their turn. */
  get hasStrangersWaiting(): boolean {
    return this.#strangers > 0;
  }

  get runningCount(): number {
    return this.#turns.runningCount;
  }

  /** @returns what is stored of a password. @throws PlatformError `general/busy`. */
  async hash(password: string, kind: PasswordKind, turn: HashTurn): Promise<string> {
    return kind === 'generated' ? hashGenerated(password) : this.inTurn(turn, (slow) => slow.hash(password, kind));
  }

  /**
   * Waits for a turn of the account, and does the work in it.
   * @throws PlatformError `general/busy` when too many wait: of this account, or of all, for the newest of the tenant
   * and account that have most.
   */
  async inTurn<Result>(
    { tenant, account, signal }: HashTurn,
    work: (slow: SlowHashes) => Promise<Result>,
  ): Promise<Result> {
    const isStranger = tenant === STRANGERS;
    if (isStranger) this.#strangers += 1;
    try {
      await this.#turns.begin(tenant, account, signal);
    } finally {
      if (isStranger) this.#strangers -= 1;
    }
    try {
      return await work(this.#slow);
    } finally {
      this.#turns.end(tenant, account);
    }
  }

  /** The turn of a name that means no account. @param address where it came from. */
  turnOfStranger(address: string, signal?: AbortSignal): HashTurn {
    return { tenant: STRANGERS, account: address, signal };
  }

  /** Ends what is computed: it fails. */
  stop(): Promise<void> {
    return this.#keys.stop();
  }
}
