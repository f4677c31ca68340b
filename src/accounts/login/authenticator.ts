/** Checks passwords, slowly once, then from a cache and by what was right before (design, rules of the hot path). */
import { createHmac, randomBytes } from 'node:crypto';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { DEVICE_USER_PREFIX, isDeviceUser } from '../../model/entities/device-request.ts';
import { NO_ADDRESS } from '../../model/access/client-address.ts';
import type { ClientAddress } from '../../model/access/client-address.ts';
import type { Log } from '../../ports/log.ts';
import { isOfOldGenerated, matchesGenerated, parseScrypt } from '../../model/access/password-hash.ts';
import type {
  ConfirmationPlace,
  DeviceAuthenticator,
  LoginCaller,
  LoginPlace,
  PasswordConfirmation,
  Principal,
} from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { isStillTrusted } from '../certificates/certificates.ts';
import { ChangedUsers } from '../users/changed-users.ts';
import { CredentialCache } from './credential-cache.ts';
import { isReadScope } from '../users/device-scope.ts';
import { principalOf } from '../users/effective-rights.ts';
import { optionKey } from '../options/options.ts';
import { TFA_CATEGORY, changesNeed, secondFactorError } from './second-factor.ts';
import type { SecondFactor } from './second-factor.ts';
import { grantText } from '../users/lost-rights.ts';
import type { LoginGuard } from './guard.ts';
import { kindOfName, kindOfStored } from '../passwords/hashes.ts';
import type { PasswordHashes, SlowHashes } from '../passwords/hashes.ts';
import { ProvenPasswords } from './proven-passwords.ts';
import type { ProvenPassword } from './proven-passwords.ts';
import { isActive, isAdmitted, suspendedError } from '../tenants/tenants.ts';
import type { Tenant, Tenants } from '../tenants/tenants.ts';

const CACHE_AGE_MAX_MS = 10 * 60_000;
/** How often a login is checked whose password changes each time meanwhile; then it counts as wrong. */
const CHECKS_OF_LOGIN_MAX = 3;
/** Why a check is not done: all who asked for it have left. */
const LEFT = new Error('the client has left');
/** Records that decide about rights; a change of one may concern many users of the tenant. */
const SHARED_RIGHTS: ReadonlySet<string> = new Set(['group', 'inventoryRole']);
const TFA_OPTIONS = optionKey(TFA_CATEGORY, '');

interface Login {
  readonly name: string;
  readonly password: string;
  readonly takesAlias: boolean;
  readonly address: ClientAddress;
}

/** The user as read after the check of the password, and the generation of changes before that. */
interface Checked {
  readonly user: StoredUser | undefined;
  readonly isRight: boolean;
  readonly asOf: number;
  readonly isOutdated?: boolean;
  /** The hash that the password was checked against; undefined when the user has another one by now. */
  readonly against?: string;
}

/** A password that is right is stored with another hash, unless it was changed. */
export interface HashRenewal {
  readonly userName: string;
  readonly from: string;
  readonly to: string;
}

/** A check on its way, for all who come with the same credentials. */
interface UnderWay {
  answer: Promise<Principal | undefined>;
  /**
   * Whose record it looks at for the last time, and since when. Absent while the password is being checked: what
   * changes until then is seen.
   */
  last: { readonly userName: string; readonly asOf: number; readonly owner?: number | undefined } | undefined;
  /** Clients that wait; those that cannot leave always do. */
  clients: number;
  readonly leaving: AbortController;
}

export class CachingAuthenticator implements DeviceAuthenticator, PasswordConfirmation {
  /** Code that reads users to identify one takes the generation before. */
  readonly changed = new ChangedUsers();
  readonly #documents: DocumentReader;
  readonly #tenants: Tenants;
  readonly #refusals: Refusals;
  readonly #now: () => number;
  readonly #hashes: PasswordHashes;
  readonly #log: Log | undefined;
  readonly #renewHash: ((tenant: number, renewal: HashRenewal) => Promise<boolean>) | undefined;
  readonly #renewing = new Set<string>();
  readonly #guard: LoginGuard | undefined;
  readonly #onChecked: ((tenant: number, userName: string, isRight: boolean) => void) | undefined;
  readonly #ageMaxMs: number;
  readonly #secondFactor: SecondFactor | undefined;
  /** Keyed by a secret of this process: a memory dump gives no password hash that can be tried elsewhere. */
  readonly #secret = randomBytes(32);
  readonly #cache = new CredentialCache();
  readonly #proven = new ProvenPasswords();
  readonly #underWay = new Map<string, UnderWay>();

  constructor(options: {
    documents: DocumentReader;
    tenants: Tenants;
    refusals: Refusals;
    now: () => number;
    hashes: PasswordHashes;
    log?: Log;
    guard?: LoginGuard;
    /** Without it a password is enough. */
    secondFactor?: SecondFactor;
    /** Told of each check of a password. */
    onChecked?: (tenant: number, userName: string, isRight: boolean) => void;
    /**
     * Stores another hash of the same password; false when the password was changed meanwhile. Without it hashes stay
     * as they are.
     */
    renewHash?: (tenant: number, renewal: HashRenewal) => Promise<boolean>;
    /** Shorter where other nodes change users: what they tell of it may get lost. */
    ageMaxMs?: number;
  }) {
    this.#documents = options.documents;
    this.#tenants = options.tenants;
    this.#refusals = options.refusals;
    this.#now = options.now;
    this.#hashes = options.hashes;
    this.#log = options.log;
    this.#renewHash = options.renewHash;
    this.#guard = options.guard;
    this.#onChecked = options.onChecked;
    this.#secondFactor = options.secondFactor;
    this.#ageMaxMs = options.ageMaxMs ?? CACHE_AGE_MAX_MS;
  }

  /**
   * @throws PlatformError `general/busy` when too many passwords are being checked, `login/locked`,
   * `login/tenant-suspended` for a right password, and `login/tfa-…` for a user who needs a second factor, where the
   * place does not handle it; all as a rejection.
   */
  authenticate(
    userName: string,
    password: string,
    place: LoginPlace = {},
  ): Principal | undefined | Promise<Principal | undefined> {
    const found = this.#byPassword(userName, password, place);
    if (found instanceof Promise) return found.then((principal) => this.#withSecondFactor(principal, place));
    return this.#withSecondFactor(found, place);
  }

  #withSecondFactor(
    principal: Principal | undefined,
    place: LoginPlace,
  ): Principal | undefined | Promise<Principal | undefined> {
    if (principal?.secondFactor === undefined) return principal;
    const { secondFactor, ...complete } = principal;
    const lacking = (): Principal | Promise<never> =>
      place.handlesSecondFactor === true ? principal : Promise.reject(secondFactorError(secondFactor));
    const { tenantNumber, userName } = principal;
    const token = place.tfaToken ?? '';
    if (token === '' || this.#secondFactor === undefined) return lacking();
    return this.#secondFactor
      .takesToken(tenantNumber, userName, token)
      .then((isRight) => (isRight ? complete : lacking()));
  }

  #byPassword(
    userName: string,
    password: string,
    place: LoginPlace,
  ): Principal | undefined | Promise<Principal | undefined> {
    const slash = userName.indexOf('/');
    const tenant =
      slash >= 0
        ? this.#tenants.byId(userName.slice(0, slash))
        : place.tenantNumber === undefined
          ? this.#tenants.default
          : this.#tenants.byNumber(place.tenantNumber);
    const name = userName.slice(slash + 1);
    if (!tenant || name === '') return undefined;
    const takesAlias = place.takesAlias === true;
    const key = createHmac('sha256', this.#secret)
      .update(`${tenant.number} ${takesAlias} ${name.length} ${name}${password}`)
      .digest('base64');
    const cached = this.#cache.get(key, this.#now());
    const address = place.caller?.address ?? NO_ADDRESS;
    // Elsewhere a quick answer would tell a stranger which guess is right.
    if (cached !== undefined && this.#takesKnown(`${tenant.id}/${cached.userName}`, address))
      return this.#asOfNow(key, cached);
    // A fleet that connects with one account waits for one check, not for thousands.
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined && this.#sees(tenant.number, underWay)) return this.#join(key, underWay, place.caller);
    return this.#begin(tenant, { name, password, takesAlias, address }, key, place.caller);
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

  #begin(tenant: Tenant, login: Login, key: string, caller: LoginCaller | undefined): Promise<Principal | undefined> {
    const underWay: UnderWay = {
      answer: Promise.resolve(undefined),
      last: undefined,
      clients: 0,
      leaving: new AbortController(),
    };
    this.#underWay.set(key, underWay);
    underWay.answer = this.#check(tenant, login, { key, underWay })
      .catch((error: unknown) => {
        if (error === LEFT) return undefined;
        throw error;
      })
      .finally(() => this.#ended(key, underWay));
    return this.#join(key, underWay, caller);
  }

  /** A check whose clients have all left gives its place in the queue to others. */
  #join(key: string, underWay: UnderWay, caller: LoginCaller | undefined): Promise<Principal | undefined> {
    underWay.clients += 1;
    caller?.onLeft(() => {
      underWay.clients -= 1;
      if (underWay.clients > 0) return;
      this.#ended(key, underWay);
      underWay.leaving.abort(LEFT);
    });
    return underWay.answer;
  }

  #ended(key: string, underWay: UnderWay): void {
    if (this.#underWay.get(key) === underWay) this.#underWay.delete(key);
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
    const user = text === undefined ? undefined : (JSON.parse(text) as StoredUser);
    if (user === undefined || !isAdmitted(this.#tenants, user)) return false;
    // A new password ends what the old one has opened.
    if ((user.tokenGeneration ?? 0) !== (principal.tokenGeneration ?? 0)) return false;
    if (session !== undefined && session.expiresAt <= this.#now()) return false;
    if (
      certificate !== undefined &&
      !(await isStillTrusted(this.#documents, tenantNumber, certificate, certificateSerials))
    )
      return false;
    const now = await principalOf(this.#documents, tenant, user, this.#refusals);
    const grants = new Set((now.grants ?? []).map(grantText));
    return (
      [...principal.roles].every((role) => now.roles.has(role)) &&
      (principal.grants ?? []).every((grant) => grants.has(grantText(grant)))
    );
  }

  /** A user changed: its cached credentials end. */
  forget(tenantNumber: number, userName: string): void {
    this.changed.userChanged(tenantNumber, userName);
    this.#cache.forgetUser(tenantNumber, userName);
  }

  /** Records of a tenant changed: affected users are read again. */
  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    if (
      changes.some((change) => SHARED_RIGHTS.has(change.collection) || isOfSecondFactors(change) || isReadScope(change))
    ) {
      this.changed.tenantChanged(tenant);
      this.#cache.forgetTenant(tenant);
    }
    for (const { collection, id, expected, value } of changes) {
      if (collection === 'tenant')
        this.#tenantsChanged([this.#tenants.byId(id)?.number, numberOf(expected), numberOf(value)]);
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
    // Devices have no alias (docs/spec/login.md#basic).
    return userName.startsWith(DEVICE_USER_PREFIX) ? undefined : this.#find(tenant, userName, false);
  }

  async #check(
    tenant: Tenant,
    login: Login,
    { key, underWay }: { key: string; underWay: UnderWay },
  ): Promise<Principal | undefined> {
    const { number } = tenant;
    const { user, isRight, asOf } = await this.#checkLogin(tenant, login, { key, underWay });
    const account = accountOf(tenant, user, login);
    if (isRight && user !== undefined) this.#proven.set(key, { userName: user.userName, hash: user.password });
    // Looked at after the slow check: it may have been suspended or deleted meanwhile.
    if (
      !isRight ||
      user === undefined ||
      !isAdmitted(this.#tenants, user) ||
      !isActive(this.#tenants.byNumber(number))
    ) {
      this.#onChecked?.(number, login.name, false);
      const current = this.#tenants.byNumber(number);
      const isSuspended =
        isRight && user !== undefined && isAdmitted(this.#tenants, user) && current !== undefined && !isActive(current);
      if (isSuspended) throw suspendedError(tenant, this.#refusals);
      return undefined;
    }
    this.#guard?.succeeded(account, login.address);
    this.#onChecked?.(number, login.name, true);
    const secondFactor = await this.#secondFactor?.need(number, user);
    const principal: Principal = {
      ...(await principalOf(this.#documents, tenant, user, this.#refusals)),
      asOf,
      ...(secondFactor === undefined ? {} : { secondFactor }),
    };
    // What was read before a change must not stay.
    if (!this.changed.hasChanged(number, user.userName, asOf, user.service?.owner))
      this.#cache.set(key, principal, this.#now() + this.#ageMaxMs);
    return principal;
  }

  /**
   * At once for a password that the server has generated, and from a familiar address for one that was right before;
   * otherwise in turn.
   */
  async #checkLogin(
    tenant: Tenant,
    login: Login,
    { key, underWay }: { key: string; underWay: UnderWay },
  ): Promise<Checked> {
    const proven = this.#proven.get(key);
    const asOf = this.changed.generation;
    underWay.last = { userName: proven?.userName ?? login.name, asOf };
    const user = await this.#find(tenant.number, login.name, login.takesAlias);
    underWay.last = { userName: user?.userName ?? login.name, asOf, owner: user?.service?.owner };
    if (user !== undefined) {
      // It cannot be guessed: no lock keeps a device with such a password out.
      if (matchesGenerated(login.password, user.password)) return { user, isRight: true, asOf };
      if (!isProven(proven, user)) this.#proven.delete(key);
      else if (this.#takesKnown(accountOf(tenant, user, login), login.address)) return { user, isRight: true, asOf };
    }
    underWay.last = undefined;
    return this.#inTurn(tenant, login, { user, key, underWay });
  }

  /**
   * Names that mean no account wait behind each other, not before users; a wrong password of a user that has overtaken
   * them waits with them, so that the time does not tell which names there are. A password that was right before takes
   * no hash, but waits like a wrong one: a client that guesses could leave the queue and try the next one.
   * @throws PlatformError `general/busy`, `login/locked`, `login/address-locked`.
   */
  async #inTurn(
    tenant: Tenant,
    login: Login,
    { user, key, underWay }: { user: StoredUser | undefined; key: string; underWay: UnderWay },
  ): Promise<Checked> {
    const { number } = tenant;
    const account = accountOf(tenant, user, login);
    const guess = this.#guard?.guessOf(login.password, user?.password ?? '');
    const mayPass = (): void => this.#guard?.check(account, login.address, guess);
    const { generation } = this.changed;
    mayPass();
    // The client repeats a password that was wrong against this hash: at once, for names without an account too, so
    // that the time tells nothing.
    if (guess !== undefined && this.#guard?.isKnownWrong(account, guess) === true)
      return { user, isRight: false, asOf: generation };
    const { signal } = underWay.leaving;
    const kind = kindOfName(user?.userName ?? login.name);
    const asStranger = this.#hashes.turnOfStranger(login.address.key, signal);
    const isStranger = user === undefined || parseScrypt(user.password) === undefined;
    const checked = await this.#hashes.inTurn(
      isStranger ? asStranger : { tenant: number, account: user.userName, signal },
      async (slow) => {
        // Others may have failed meanwhile; what fails counts before the next turn begins.
        mayPass();
        const found = await this.#checkPassword(slow, { number, login, user, key, underWay });
        if (found.isRight) this.#guard?.check(account, login.address);
        else
          this.#guard?.failed(
            account,
            login.address,
            found.against === undefined ? undefined : this.#guard.guessOf(login.password, found.against),
          );
        return found;
      },
    );
    if (!checked.isRight && !isStranger && this.#hashes.hasStrangersWaiting) {
      await this.#hashes.inTurn(asStranger, (slow) => slow.verify(login.password, '', kind));
    }
    if (checked.isRight && checked.isOutdated === true)
      this.#renew(number, login, { user: checked.user as StoredUser, key });
    return checked;
  }

  /**
   * Checks the password, slowly, and reads the user again: it may have been changed, or one of that name made,
   * meanwhile.
   */
  async #checkPassword(
    slow: SlowHashes,
    {
      number,
      login,
      user: before,
      key,
      underWay,
    }: { number: number; login: Login; user: StoredUser | undefined; key: string; underWay: UnderWay },
  ): Promise<Checked> {
    const proven = this.#proven.get(key);
    let user = before;
    for (let tries = 1; ; tries += 1) {
      underWay.last = undefined;
      const kind = kindOfName(user?.userName ?? login.name);
      const stored = user?.password ?? '';
      const isRight =
        isProven(proven, user) ||
        matchesGenerated(login.password, stored) ||
        (await slow.verify(login.password, stored, kind));
      const asOf = this.changed.generation;
      underWay.last = { userName: user?.userName ?? login.name, asOf };
      const after = await this.#find(number, login.name, login.takesAlias);
      underWay.last = { ...underWay.last, owner: after?.service?.owner };
      if (after?.userName === user?.userName && after?.password === user?.password) {
        // The hash of a microservice is in a second record, too: it stays.
        const isOutdated =
          isRight &&
          after !== undefined &&
          after.service === undefined &&
          (slow.isOutdated(stored, kind) || isForFastHash(after, login.password));
        return { user: after, isRight, asOf, isOutdated, against: stored };
      }
      if (tries >= CHECKS_OF_LOGIN_MAX) return { user: after, isRight: false, asOf };
      user = after;
    }
  }

  /** Stores the password with the cost of now, behind the login. When it fails, the next login tries again. */
  #renew(tenant: number, { password }: Login, { user, key }: { user: StoredUser; key: string }): void {
    const { userName } = user;
    const id = `${tenant}/${userName}`;
    if (this.#renewHash === undefined || this.#renewing.has(id)) return;
    this.#renewing.add(id);
    this.#hashes
      .hash(password, isForFastHash(user, password) ? 'generated' : kindOfStored(userName, user.password), {
        tenant,
        account: userName,
      })
      .then(async (hash) => {
        if ((await this.#renewHash?.(tenant, { userName, from: user.password, to: hash })) !== false)
          this.#proven.set(key, { userName, hash });
      })
      .catch((error: Error) => {
        this.#log?.warn(
          { tenant, userName, reason: error.message },
          'a password keeps the hash of older parameters until the next login',
        );
      })
      .finally(() => this.#renewing.delete(id));
  }

  async confirm(
    { tenantNumber, userName }: Principal,
    password: string,
    { address, signal }: ConfirmationPlace,
  ): Promise<boolean> {
    const tenant = this.#tenants.byNumber(tenantNumber);
    const user = await this.#find(tenantNumber, userName, false);
    if (tenant === undefined || user === undefined) return false;
    if (matchesGenerated(password, user.password)) return true;
    const account = `${tenant.id}/${userName}`;
    const guess = this.#guard?.guessOf(password, user.password);
    // Before the turn and in it: an equal password may be found wrong meanwhile.
    const isKnownWrong = (): boolean => {
      this.#guard?.check(account, address, guess);
      return guess !== undefined && this.#guard?.isKnownWrong(account, guess) === true;
    };
    const isRight =
      !isKnownWrong() &&
      (await this.#hashes.inTurn({ tenant: tenantNumber, account: userName, signal }, async (slow) => {
        if (isKnownWrong()) return false;
        const found = await slow.verify(password, user.password, kindOfName(userName));
        if (found) this.#guard?.check(account, address);
        else this.#guard?.failed(account, address, guess);
        return found;
      }));
    if (!isRight) this.#onChecked?.(tenantNumber, userName, false);
    return isRight;
  }

  get dependsOnAddress(): boolean {
    return this.#underWay.size > 0 || this.#guard?.hasLocks === true;
  }

  #takesKnown(account: string, address: ClientAddress): boolean {
    return this.#guard?.takesKnown(account, address) !== false;
  }
}

const isProven = (proven: ProvenPassword | undefined, user: StoredUser | undefined): boolean =>
  proven !== undefined && proven.userName === user?.userName && proven.hash === user.password;

/** Under the user's own name: an alias gives no further guesses. */
const accountOf = (tenant: Tenant, user: StoredUser | undefined, { name }: Login): string =>
  `${tenant.id}/${user?.userName ?? name}`;

/** Fleets of older servers: after one login each device needs no slow check any more, also after a restart. */
const isForFastHash = ({ userName, password: stored }: StoredUser, password: string): boolean =>
  isDeviceUser(userName) && isOfOldGenerated(password, stored);

/** An option that decides who needs a second factor. */
const isOfSecondFactors = ({ collection, id }: RecordChange): boolean =>
  collection === 'option' && id.startsWith(TFA_OPTIONS);

/** Of the text of a tenant; what other nodes tell may leave it out. */
const numberOf = (text: string | undefined): number | undefined =>
  text === undefined || text === '' ? undefined : (JSON.parse(text) as { readonly number?: number }).number;
