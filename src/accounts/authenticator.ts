/** Checks passwords, slowly once and then from a cache (design, rules of the hot path). */
import { createHmac, randomBytes } from 'node:crypto';
import type { StoredUser } from '../actors/user.ts';
import type { DocumentReader } from '../model/command.ts';
import { refusedBy } from '../model/errors.ts';
import { verifyPassword } from '../model/password.ts';
import type { Authenticator, Principal } from '../model/principal.ts';
import type { Refusals } from '../model/refusals.ts';
import type { Tenants } from './tenants.ts';

/** Credentials remembered at once. */
const CACHE_SIZE_MAX = 20_000;
const CACHE_AGE_MAX_MS = 10 * 60_000;
/** Slow checks under way at once; more are refused until one ends. Each takes 16 MiB. */
const CHECKS_MAX = 8;
/** Checks that wait for one of these; above it nobody knows whether a password is right. */
const CHECKS_WAITING_MAX = 10_000;
const CHECKS_WAITING = 'authentication/checks-waiting';

interface Cached { readonly principal: Principal; readonly expiresAt: number; readonly user: string }

export class CachingAuthenticator implements Authenticator {
  /** Grows whenever a user changes: whoever cached a principal forgets it. */
  generation = 0;
  readonly #documents: DocumentReader;
  readonly #tenants: Tenants;
  readonly #refusals: Refusals;
  readonly #now: () => number;
  readonly #checksWaitingMax: number;
  /** Keyed by a secret of this process: a memory dump gives no password hash that can be tried elsewhere. */
  readonly #secret = randomBytes(32);
  readonly #cache = new Map<string, Cached>();
  readonly #underWay = new Map<string, Promise<Principal | undefined>>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: { documents: DocumentReader; tenants: Tenants; refusals: Refusals; now: () => number; checksWaitingMax?: number }) {
    this.#documents = options.documents;
    this.#tenants = options.tenants;
    this.#refusals = options.refusals;
    this.#now = options.now;
    this.#checksWaitingMax = options.checksWaitingMax ?? CHECKS_WAITING_MAX;
  }

  /** @throws PlatformError `general/busy` (as a rejection) when too many passwords are being checked. */
  authenticate(userName: string, password: string): Principal | undefined | Promise<Principal | undefined> {
    const slash = userName.indexOf('/');
    const tenant = slash < 0 ? this.#tenants.default : this.#tenants.byId(userName.slice(0, slash));
    const name = userName.slice(slash + 1);
    if (!tenant || name === '') return undefined;
    const key = createHmac('sha256', this.#secret).update(`${tenant.number} ${name.length} ${name}${password}`).digest('base64');
    const cached = this.#cache.get(key);
    if (cached && cached.expiresAt > this.#now()) return cached.principal;
    // A fleet that connects with one account waits for one check, not for thousands.
    let check = this.#underWay.get(key);
    if (!check) {
      const started = this.#check(tenant.number, tenant.id, name, password, key)
        .finally(() => { if (this.#underWay.get(key) === started) this.#underWay.delete(key); });
      this.#underWay.set(key, started);
      check = started;
    }
    return check;
  }

  /** A user changed: its cached credentials end. */
  forget(tenantNumber: number, userName: string): void {
    this.generation += 1;
    // Nobody joins a check that began before the change.
    this.#underWay.clear();
    for (const [key, cached] of this.#cache) if (cached.user === `${tenantNumber}/${userName}`) this.#cache.delete(key);
  }

  async #check(number: number, tenant: string, name: string, password: string, key: string): Promise<Principal | undefined> {
    // Before the user is read: a change after that must not leave old rights in the cache.
    const { generation } = this;
    const text = await this.#documents.get('user', number, name);
    const user = text === undefined ? undefined : JSON.parse(text) as StoredUser;
    if (this.#running >= CHECKS_MAX) {
      if (this.#waiting.length >= this.#checksWaitingMax) {
        this.#refusals.count(CHECKS_WAITING);
        throw refusedBy(CHECKS_WAITING);
      }
      await new Promise<void>((resolve) => { this.#waiting.push(resolve); });
    }
    this.#running += 1;
    let isRight: boolean;
    try {
      // An unknown user costs as much time as a wrong password.
      isRight = await verifyPassword(password, user?.password ?? `scrypt$${'A'.repeat(22)}==$${'A'.repeat(43)}=`);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
    if (!isRight || !user?.enabled) return undefined;
    const principal: Principal = { tenant, tenantNumber: number, userName: name, roles: new Set(user.roles) };
    if (this.#cache.size >= CACHE_SIZE_MAX) {
      const oldest = this.#cache.keys().next().value;
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
    if (generation === this.generation) this.#cache.set(key, { principal, expiresAt: this.#now() + CACHE_AGE_MAX_MS, user: `${number}/${name}` });
    return principal;
  }
}
