/** Checks passwords, slowly once and then from a cache (design, rules of the hot path). */
import { createHmac, randomBytes } from 'node:crypto';
import type { StoredUser } from '../actors/user.ts';
import type { DocumentReader, RecordChange } from '../model/command.ts';
import { refusedBy } from '../model/errors.ts';
import { verifyPassword } from '../model/password.ts';
import type { Authenticator, LoginPlace, Principal } from '../model/principal.ts';
import type { Refusals } from '../model/refusals.ts';
import { principalOf } from './effective-rights.ts';
import { optionKey } from './options.ts';
import { TFA_CATEGORY, changesNeed, secondFactorError } from './second-factor.ts';
import type { SecondFactor } from './second-factor.ts';
import type { LoginGuard } from './login-guard.ts';
import { isActive, isAdmitted } from './tenants.ts';
import type { Tenant, Tenants } from './tenants.ts';

/** Credentials remembered at once. */
const CACHE_SIZE_MAX = 20_000;
const CACHE_AGE_MAX_MS = 10 * 60_000;
/** Slow checks under way at once; more are refused until one ends. Each takes 16 MiB. */
const CHECKS_MAX = 8;
/** Checks that wait for one of these; above it nobody knows whether a password is right. */
const CHECKS_WAITING_MAX = 10_000;
const CHECKS_WAITING = 'authentication/checks-waiting';
/** Users whose names begin so have no alias (document 1 Authentication 3). */
const DEVICE_USER_PREFIX = 'device_';
/** Records that decide about rights; a change of one may concern many users of the tenant. */
const SHARED_RIGHTS: ReadonlySet<string> = new Set(['group', 'inventoryRole']);
const TFA_OPTIONS = optionKey(TFA_CATEGORY, '');

interface Cached { readonly principal: Principal; readonly expiresAt: number; readonly user: string }

export class CachingAuthenticator implements Authenticator {
  /** Grows whenever a user changes: whoever cached a principal forgets it. */
  generation = 0;
  readonly #documents: DocumentReader;
  readonly #tenants: Tenants;
  readonly #refusals: Refusals;
  readonly #now: () => number;
  readonly #checksWaitingMax: number;
  readonly #guard: LoginGuard | undefined;
  readonly #onChecked: ((tenant: number, userName: string, isRight: boolean) => void) | undefined;
  readonly #ageMaxMs: number;
  readonly #secondFactor: SecondFactor | undefined;
  /** Keyed by a secret of this process: a memory dump gives no password hash that can be tried elsewhere. */
  readonly #secret = randomBytes(32);
  readonly #cache = new Map<string, Cached>();
  readonly #underWay = new Map<string, Promise<Principal | undefined>>();
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: { documents: DocumentReader; tenants: Tenants; refusals: Refusals; now: () => number; checksWaitingMax?: number;
    guard?: LoginGuard;
    /** Without it a password is enough. */
    secondFactor?: SecondFactor;
    /** Told of each check of a password. */
    onChecked?: (tenant: number, userName: string, isRight: boolean) => void;
    /** Shorter where other nodes change users: what they tell of it may get lost. */
    ageMaxMs?: number }) {
    this.#documents = options.documents;
    this.#tenants = options.tenants;
    this.#refusals = options.refusals;
    this.#now = options.now;
    this.#checksWaitingMax = options.checksWaitingMax ?? CHECKS_WAITING_MAX;
    this.#guard = options.guard;
    this.#onChecked = options.onChecked;
    this.#secondFactor = options.secondFactor;
    this.#ageMaxMs = options.ageMaxMs ?? CACHE_AGE_MAX_MS;
  }

  /**
   * @throws PlatformError `general/busy` when too many passwords are being checked, `login/locked`, and `login/tfa-…` for a user who needs a
   * second factor, where the place does not handle it; all as a rejection.
   */
  authenticate(userName: string, password: string, place: LoginPlace = {}): Principal | undefined | Promise<Principal | undefined> {
    const found = this.#byPassword(userName, password, place);
    if (found instanceof Promise) return found.then((principal) => this.#withSecondFactor(principal, place));
    return this.#withSecondFactor(found, place);
  }

  #withSecondFactor(principal: Principal | undefined, place: LoginPlace): Principal | undefined | Promise<Principal | undefined> {
    if (principal?.secondFactor === undefined) return principal;
    const { secondFactor, ...complete } = principal;
    const lacking = (): Principal | Promise<never> =>
      (place.handlesSecondFactor === true ? principal : Promise.reject(secondFactorError(secondFactor)));
    const { tenantNumber, userName } = principal;
    const token = place.tfaToken ?? '';
    if (token === '' || this.#secondFactor === undefined) return lacking();
    return this.#secondFactor.takesToken(tenantNumber, userName, token).then((isRight) => (isRight ? complete : lacking()));
  }

  #byPassword(userName: string, password: string, place: LoginPlace): Principal | undefined | Promise<Principal | undefined> {
    const slash = userName.indexOf('/');
    const tenant = slash >= 0 ? this.#tenants.byId(userName.slice(0, slash))
      : place.tenantNumber === undefined ? this.#tenants.default : this.#tenants.byNumber(place.tenantNumber);
    const name = userName.slice(slash + 1);
    if (!tenant || name === '') return undefined;
    const takesAlias = place.takesAlias === true;
    const key = createHmac('sha256', this.#secret).update(`${tenant.number} ${takesAlias} ${name.length} ${name}${password}`).digest('base64');
    const cached = this.#cache.get(key);
    if (cached && cached.expiresAt > this.#now()) return cached.principal;
    // A fleet that connects with one account waits for one check, not for thousands.
    let check = this.#underWay.get(key);
    if (!check) {
      const started = this.#check(tenant, { name, password, takesAlias }, key)
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

  /** Records of a tenant changed: whoever is concerned is looked at again. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    const isAnyOf = (test: (collection: string) => boolean): boolean => changes.some(({ collection }) => test(collection));
    // Tokens are not cached here, passwords are right as before.
    if (isAnyOf((collection) => collection === 'tokenRevocation')) this.generation += 1;
    if (isAnyOf((collection) => collection === 'tenant')) {
      this.generation += 1;
      this.#cache.clear();
    } else if (isAnyOf((collection) => SHARED_RIGHTS.has(collection)) || changes.some(isOfSecondFactors)) {
      this.generation += 1;
      for (const [key, { user }] of this.#cache) if (user.startsWith(`${tenant}/`)) this.#cache.delete(key);
    }
    for (const { collection, id, expected, value } of changes) {
      if (collection === 'user') this.forget(tenant, id);
      else if (collection === 'totp' && changesNeed(expected, value)) this.forget(tenant, id);
      else if (collection === 'inventoryAssignment') this.forget(tenant, id.slice(0, id.indexOf('\n')));
    }
  }

  /** Changes may have been missed. */
  forgetAll(): void {
    this.generation += 1;
    this.#underWay.clear();
    this.#cache.clear();
  }

  /** @returns the stored user of a name, or of an alias of a person. */
  async #find(tenant: number, name: string, takesAlias: boolean): Promise<StoredUser | undefined> {
    const text = await this.#documents.get('user', tenant, name);
    if (text !== undefined) return JSON.parse(text) as StoredUser;
    const alias = takesAlias ? await this.#documents.get('userAlias', tenant, name) : undefined;
    if (alias === undefined) return undefined;
    const { userName } = JSON.parse(alias) as { userName: string };
    return userName.startsWith(DEVICE_USER_PREFIX) ? undefined : this.#find(tenant, userName, false);
  }

  async #check(tenant: Tenant, login: { readonly name: string; readonly password: string; readonly takesAlias: boolean },
    key: string): Promise<Principal | undefined> {
    const account = `${tenant.id}/${login.name}`;
    this.#guard?.check(account);
    // Before the user is read: a change after that must not leave old rights in the cache.
    const { generation } = this;
    const { number } = tenant;
    const user = await this.#find(number, login.name, login.takesAlias);
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
      isRight = await verifyPassword(login.password, user?.password ?? `scrypt$${'A'.repeat(22)}==$${'A'.repeat(43)}=`);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
    // Looked at after the slow check: it may have been suspended or deleted meanwhile.
    if (!isRight || user === undefined || !isAdmitted(this.#tenants, user) || !isActive(this.#tenants.byNumber(number))) {
      if (!isRight) this.#guard?.failed(account);
      this.#onChecked?.(number, login.name, false);
      return undefined;
    }
    this.#guard?.succeeded(account);
    this.#onChecked?.(number, login.name, true);
    const secondFactor = await this.#secondFactor?.need(number, user);
    const principal: Principal = {
      ...await principalOf(this.#documents, tenant, user, this.#refusals), ...(secondFactor === undefined ? {} : { secondFactor }),
    };
    if (this.#cache.size >= CACHE_SIZE_MAX) {
      const oldest = this.#cache.keys().next().value;
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
    if (generation === this.generation) this.#cache.set(key, { principal, expiresAt: this.#now() + this.#ageMaxMs, user: `${number}/${user.userName}` });
    return principal;
  }
}

/** An option that decides who needs a second factor. */
const isOfSecondFactors = ({ collection, id }: RecordChange): boolean => collection === 'option' && id.startsWith(TFA_OPTIONS);
