/** Checks passwords, slowly once, then from a cache and by what was right before (design, rules of the hot path). */
import { createHmac, randomBytes } from 'node:crypto';
import type { StoredUser } from '../actors/user.ts';
import type { DocumentReader, RecordChange } from '../model/command.ts';
import { DEVICE_USER_PREFIX } from '../model/device-request.ts';
import { verifyPassword } from '../model/password.ts';
import type { DeviceAuthenticator, LoginPlace, Principal } from '../model/principal.ts';
import type { Refusals } from '../model/refusals.ts';
import { isStillTrusted } from './certificates.ts';
import { ChangedUsers } from './changed-users.ts';
import { CheckTurns } from './check-turns.ts';
import { CredentialCache } from './credential-cache.ts';
import { isReadScope } from './device-scope.ts';
import { principalOf } from './effective-rights.ts';
import { optionKey } from './options.ts';
import { TFA_CATEGORY, changesNeed, secondFactorError } from './second-factor.ts';
import type { SecondFactor } from './second-factor.ts';
import { grantText } from './lost-rights.ts';
import type { LoginGuard } from './login-guard.ts';
import { ProvenPasswords } from './proven-passwords.ts';
import { isActive, isAdmitted, suspendedError } from './tenants.ts';
import type { Tenant, Tenants } from './tenants.ts';

const CACHE_AGE_MAX_MS = 10 * 60_000;
/** How often a login is checked whose password changes each time meanwhile; then it counts as wrong. */
const CHECKS_OF_LOGIN_MAX = 3;
/** Takes the time of a right one, for users that do not exist. */
const NO_PASSWORD = `scrypt$${'A'.repeat(22)}==$${'A'.repeat(43)}=`;
/** Records that decide about rights; a change of one may concern many users of the tenant. */
const SHARED_RIGHTS: ReadonlySet<string> = new Set(['group', 'inventoryRole']);
const TFA_OPTIONS = optionKey(TFA_CATEGORY, '');

interface Login { readonly name: string; readonly password: string; readonly takesAlias: boolean }

/** The user as read after the check of the password, and the generation of changes before that. */
interface Checked { readonly user: StoredUser | undefined; readonly isRight: boolean; readonly asOf: number }

/** A check on its way, for all who come with the same credentials. */
interface UnderWay {
  answer: Promise<Principal | undefined>;
  /** Whose record it looks at for the last time, and since when. Absent while the password is being checked: what changes until then is seen. */
  last: { readonly userName: string; readonly asOf: number; readonly owner?: number | undefined } | undefined;
}

export class CachingAuthenticator implements DeviceAuthenticator {
  /** Whoever reads users to identify somebody takes its generation before. */
  readonly changed = new ChangedUsers();
  readonly #documents: DocumentReader;
  readonly #tenants: Tenants;
  readonly #refusals: Refusals;
  readonly #now: () => number;
  readonly #turns: CheckTurns;
  readonly #guard: LoginGuard | undefined;
  readonly #onChecked: ((tenant: number, userName: string, isRight: boolean) => void) | undefined;
  readonly #ageMaxMs: number;
  readonly #secondFactor: SecondFactor | undefined;
  /** Keyed by a secret of this process: a memory dump gives no password hash that can be tried elsewhere. */
  readonly #secret = randomBytes(32);
  readonly #cache = new CredentialCache();
  readonly #proven = new ProvenPasswords();
  readonly #underWay = new Map<string, UnderWay>();

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
    this.#turns = new CheckTurns({ refusals: options.refusals, waitingMax: options.checksWaitingMax });
    this.#guard = options.guard;
    this.#onChecked = options.onChecked;
    this.#secondFactor = options.secondFactor;
    this.#ageMaxMs = options.ageMaxMs ?? CACHE_AGE_MAX_MS;
  }

  /**
   * @throws PlatformError `general/busy` when too many passwords are being checked, `login/locked`, `login/tenant-suspended` for a right password, and
   * `login/tfa-…` for a user who needs a second factor, where the place does not handle it; all as a rejection.
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
    const cached = this.#cache.get(key, this.#now());
    if (cached !== undefined) return this.#asOfNow(key, cached);
    // A fleet that connects with one account waits for one check, not for thousands.
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined && this.#sees(tenant.number, underWay)) return underWay.answer;
    return this.#begin(tenant, { name, password, takesAlias }, key);
  }

  /** What is cached ends with each change that concerns it. */
  #asOfNow(key: string, cached: Principal): Principal {
    const { generation } = this.changed;
    if (cached.asOf === generation) return cached;
    const principal = { ...cached, asOf: generation };
    this.#cache.replace(key, principal);
    return principal;
  }

  /** Whether a check that is under way sees, or has seen, everything that has changed until now. */
  #sees(tenant: number, { last }: UnderWay): boolean {
    return last === undefined || !this.changed.hasChanged(tenant, last.userName, last.asOf, last.owner);
  }

  #begin(tenant: Tenant, login: Login, key: string): Promise<Principal | undefined> {
    const underWay: UnderWay = { answer: Promise.resolve(undefined), last: undefined };
    this.#underWay.set(key, underWay);
    underWay.answer = this.#check(tenant, login, { key, underWay })
      .finally(() => { if (this.#underWay.get(key) === underWay) this.#underWay.delete(key); });
    return underWay.answer;
  }

  current(principal: Principal): Principal | undefined {
    const { tenantNumber, userName, asOf, serviceOwner } = principal;
    const { generation } = this.changed;
    if (asOf === generation) return principal;
    if (asOf === undefined || this.changed.hasChanged(tenantNumber, userName, asOf, serviceOwner)) return undefined;
    return { ...principal, asOf: generation };
  }

  async stillHolds(principal: Principal): Promise<boolean> {
    const { tenantNumber, userName, certificate, certificateSerials = [], session } = principal;
    const tenant = this.#tenants.byNumber(tenantNumber);
    if (tenant === undefined || !isActive(tenant)) return false;
    const text = await this.#documents.get('user', tenantNumber, userName);
    const user = text === undefined ? undefined : JSON.parse(text) as StoredUser;
    if (user === undefined || !isAdmitted(this.#tenants, user)) return false;
    // A new password ends what the old one has opened.
    if ((user.tokenGeneration ?? 0) !== (principal.tokenGeneration ?? 0)) return false;
    if (session !== undefined && session.expiresAt <= this.#now()) return false;
    if (certificate !== undefined && !await isStillTrusted(this.#documents, tenantNumber, certificate, certificateSerials)) return false;
    const now = await principalOf(this.#documents, tenant, user, this.#refusals);
    const grants = new Set((now.grants ?? []).map(grantText));
    return [...principal.roles].every((role) => now.roles.has(role)) && (principal.grants ?? []).every((grant) => grants.has(grantText(grant)));
  }

  /** A user changed: its cached credentials end. */
  forget(tenantNumber: number, userName: string): void {
    this.changed.userChanged(tenantNumber, userName);
    this.#cache.forgetUser(tenantNumber, userName);
  }

  /** Records of a tenant changed: whoever is concerned is looked at again. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    if (changes.some((change) => SHARED_RIGHTS.has(change.collection) || isOfSecondFactors(change) || isReadScope(change))) {
      this.changed.tenantChanged(tenant);
      this.#cache.forgetTenant(tenant);
    }
    for (const { collection, id, expected, value } of changes) {
      if (collection === 'tenant') this.#tenantsChanged([this.#tenants.byId(id)?.number, numberOf(expected), numberOf(value)]);
      else if (collection === 'user') this.forget(tenant, id);
      else if (collection === 'totp' && changesNeed(expected, value)) this.forget(tenant, id);
      else if (collection === 'inventoryAssignment') this.forget(tenant, id.slice(0, id.indexOf('\n')));
      else if (collection === 'tokenRevocation') this.#tokensEnded(tenant, id);
      // Tokens were given for some; passwords are right as before.
      else if (collection === 'certificate' || collection === 'revocation') this.changed.tenantChanged(tenant);
    }
  }

  /** Tenants that exist no more or are suspended: those who were remembered meanwhile are forgotten too. */
  tenantsEnded(tenants: readonly Tenant[]): void {
    this.#tenantsChanged(tenants.map(({ number }) => number));
  }

  #tenantsChanged(numbers: readonly (number | undefined)[]): void {
    for (const number of new Set(numbers)) {
      if (number === undefined) continue;
      this.changed.tenantRecordChanged(number);
      this.#cache.forgetTenant(number);
      this.#cache.forgetServicesOf(number);
    }
  }

  /** Tokens are not cached here, passwords are right as before. */
  #tokensEnded(tenant: number, id: string): void {
    const end = id.indexOf('\n');
    if (end < 0) this.changed.tenantChanged(tenant);
    else this.changed.userChanged(tenant, id.slice(0, end));
  }

  /** Changes may have been missed. */
  forgetAll(): void {
    this.changed.allChanged();
    this.#cache.clear();
  }

  /** @returns the stored user of a name, or of an alias of a person. */
  async #find(tenant: number, name: string, takesAlias: boolean): Promise<StoredUser | undefined> {
    const text = await this.#documents.get('user', tenant, name);
    if (text !== undefined) return JSON.parse(text) as StoredUser;
    const alias = takesAlias ? await this.#documents.get('userAlias', tenant, name) : undefined;
    if (alias === undefined) return undefined;
    const { userName } = JSON.parse(alias) as { userName: string };
    // Devices have no alias (document 1 Authentication 3).
    return userName.startsWith(DEVICE_USER_PREFIX) ? undefined : this.#find(tenant, userName, false);
  }

  async #check(tenant: Tenant, login: Login, { key, underWay }: { key: string; underWay: UnderWay }): Promise<Principal | undefined> {
    const account = `${tenant.id}/${login.name}`;
    this.#guard?.check(account);
    const { number } = tenant;
    const { user, isRight, asOf } = await this.#asBefore(number, login, { key, underWay }) ?? await this.#inTurn(number, login, underWay);
    if (isRight && user !== undefined) this.#proven.set(key, { userName: user.userName, hash: user.password });
    // Looked at after the slow check: it may have been suspended or deleted meanwhile.
    if (!isRight || user === undefined || !isAdmitted(this.#tenants, user) || !isActive(this.#tenants.byNumber(number))) {
      if (!isRight) this.#guard?.failed(account);
      this.#onChecked?.(number, login.name, false);
      const current = this.#tenants.byNumber(number);
      const isSuspended = isRight && user !== undefined && isAdmitted(this.#tenants, user) && current !== undefined && !isActive(current);
      if (isSuspended) throw suspendedError(tenant, this.#refusals);
      return undefined;
    }
    this.#guard?.succeeded(account);
    this.#onChecked?.(number, login.name, true);
    const secondFactor = await this.#secondFactor?.need(number, user);
    const principal: Principal = {
      ...await principalOf(this.#documents, tenant, user, this.#refusals), asOf, ...(secondFactor === undefined ? {} : { secondFactor }),
    };
    // What was read before a change must not stay.
    if (!this.changed.hasChanged(number, user.userName, asOf, user.service?.owner)) this.#cache.set(key, principal, this.#now() + this.#ageMaxMs);
    return principal;
  }

  /** @returns undefined when only a slow check can tell. */
  async #asBefore(tenant: number, login: Login, { key, underWay }: { key: string; underWay: UnderWay }): Promise<Checked | undefined> {
    const proven = this.#proven.get(key);
    if (proven === undefined) return undefined;
    const asOf = this.changed.generation;
    underWay.last = { userName: proven.userName, asOf };
    const user = await this.#find(tenant, login.name, login.takesAlias);
    underWay.last = { ...underWay.last, owner: user?.service?.owner };
    if (user !== undefined && user.userName === proven.userName && user.password === proven.hash) return { user, isRight: true, asOf };
    underWay.last = undefined;
    this.#proven.delete(key);
    return undefined;
  }

  /** @throws PlatformError `general/busy`. */
  async #inTurn(tenant: number, login: Login, underWay: UnderWay): Promise<Checked> {
    await this.#turns.begin(tenant, login.name);
    try {
      return await this.#checkPassword(tenant, login, underWay);
    } finally {
      this.#turns.end(tenant, login.name);
    }
  }

  /** Checks the password, slowly, and reads the user again: it may have been changed, or one of that name made, meanwhile. */
  async #checkPassword(tenant: number, login: Login, underWay: UnderWay): Promise<Checked> {
    let user = await this.#find(tenant, login.name, login.takesAlias);
    for (let tries = 1; ; tries += 1) {
      underWay.last = undefined;
      // An unknown user costs as much time as a wrong password.
      const isRight = await verifyPassword(login.password, user?.password ?? NO_PASSWORD);
      const asOf = this.changed.generation;
      underWay.last = { userName: user?.userName ?? login.name, asOf };
      const after = await this.#find(tenant, login.name, login.takesAlias);
      underWay.last = { ...underWay.last, owner: after?.service?.owner };
      if (after?.userName === user?.userName && after?.password === user?.password) return { user: after, isRight, asOf };
      if (tries >= CHECKS_OF_LOGIN_MAX) return { user: after, isRight: false, asOf };
      user = after;
    }
  }
}

/** An option that decides who needs a second factor. */
const isOfSecondFactors = ({ collection, id }: RecordChange): boolean => collection === 'option' && id.startsWith(TFA_OPTIONS);

/** Of the text of a tenant; what other nodes tell may leave it out. */
const numberOf = (text: string | undefined): number | undefined =>
  (text === undefined || text === '' ? undefined : (JSON.parse(text) as { readonly number?: number }).number);
