/** Who makes a request: the tenant, the user and the user's effective roles (docs/spec/login.md). */
import type { ClientAddress } from './client-address.ts';
import type { InventoryGrant } from './inventory-grant.ts';

/** What a user lacks whose password is right: a one-time code, or the secret that makes them. */
export type SecondFactorNeed = 'CODE' | 'SETUP';

export interface Principal {
  /** Tenant id, for instance `t1`. */
  readonly tenant: string;
  /** The tenant's number: the compact key that journal records and rows carry instead of the id. */
  readonly tenantNumber: number;
  readonly userName: string;
  /** Direct ones and those of the user's groups. */
  readonly roles: ReadonlySet<string>;
  /**
   * Roles of a registered device that count for what it owns and for the devices and additions below that; absent for
   * all other users.
   */
  readonly ownRoles?: ReadonlySet<string>;
  /** Rights over parts of the inventory; absent for most users. */
  readonly grants?: readonly InventoryGrant[];
  /** Of a user of a microservice: number of the tenant whose application it is. */
  readonly serviceOwner?: number;
  /** Of a request with a token. */
  readonly session?: TokenSession;
  /**
   * Still to be shown: until then nothing but what leads to it is allowed. Only for who asked with
   * `handlesSecondFactor`.
   */
  readonly secondFactor?: SecondFactorNeed;
  /** Fingerprint of the trusted certificate, of a device that came with one of its own instead of a password. */
  readonly certificate?: string;
  /** Serial numbers of that device's chain, see accounts/certificates/certificates.ts. */
  readonly certificateSerials?: readonly string[];
  /** The generation of the user's tokens (StoredUser) when the credentials were checked. */
  readonly tokenGeneration?: number;
  /** The generation of changes on this node (accounts/users/changed-users.ts) before the user was read. */
  readonly asOf?: number;
}

/** Without rights over parts of the inventory: SmartREST knows global roles and ownership (docs/spec/smartrest.md#rights). */
export function withoutGrants({ grants: _notCounted, ...principal }: Principal): Principal {
  return principal;
}

/** Of a request without credentials on a public route. It has no role and no tenant has its number. */
export const ANONYMOUS: Principal = { tenant: '', tenantNumber: 0, userName: '', roles: new Set() };

/** Whether the principal's access ends with that of the tenant. */
export const dependsOn = ({ tenantNumber, serviceOwner }: Principal, tenant: number): boolean =>
  tenantNumber === tenant || serviceOwner === tenant;

export interface TokenSession {
  readonly id: string;
  /** ms since 1970. */
  readonly expiresAt: number;
  /** What a request with the token in a cookie has to repeat in a header. */
  readonly xsrfToken: string;
}

/** The client that asks for a login. */
export interface LoginCaller {
  readonly address: ClientAddress;
  /** Registers what happens when the client leaves; called at most once, before or after it has left. */
  onLeft(callback: () => void): void;
}

/** How the tenant of a name without a tenant prefix is found, and who may use an alias. */
export interface LoginPlace {
  /** Of the host that was called; the default tenant otherwise. */
  readonly tenantNumber?: number;
  /** Aliases are for people: not over MQTT. */
  readonly takesAlias?: boolean;
  /** Shown beside the password by users with two-factor authentication; '' for none. */
  readonly tfaToken?: string;
  /** The caller looks at `secondFactor` of the principal. Without it such a login is refused. */
  readonly handlesSecondFactor?: boolean;
  /** Absent for one that stays and has no address. */
  readonly caller?: LoginCaller;
}

/** Checks credentials. Results are cached by a keyed hash; a changed user drops its entries. */
export interface Authenticator {
  /**
   * @param userName `<tenant>/<user>` or the user alone (then the tenant of `place`, or the default one).
   * @returns the principal, or undefined when tenant, user or password is wrong. Synchronous when cached.
   */
  authenticate(
    userName: string,
    password: string,
    place?: LoginPlace,
  ): Principal | undefined | Promise<Principal | undefined>;
  /**
   * Asked by code that keeps a principal, or has waited since the check: of a live session, in the same turn as it
   * becomes one that a change ends.
   * @returns the principal with its present rights; undefined when the user may have changed since it was read: then
   * the credentials are checked again.
   */
  current(principal: Principal): Principal | undefined;
  /**
   * Whether passwords are being checked or logins are locked: then the answer depends on the address, also for what is
   * remembered.
   */
  readonly dependsOnAddress?: boolean;
}

export interface ConfirmationPlace {
  readonly address: ClientAddress;
  /** Aborts when the client leaves: its check leaves the queue. */
  readonly signal?: AbortSignal;
}

export interface PasswordConfirmation {
  /**
   * Checks the password of a user who is logged in, for a change that asks for it again. Wrong ones count as those of
   * logins.
   * @throws PlatformError `general/busy`, `login/locked`, `login/address-locked`; the reason of the signal.
   */
  confirm(principal: Principal, password: string, place: ConfirmationPlace): Promise<boolean>;
}

export interface DeviceAuthenticator extends Authenticator {
  /**
   * Reads the user. @returns whether the credentials that were shown still count, and give all rights of the principal.
   */
  stillHolds(principal: Principal): Promise<boolean>;
}

/** Who is connected: by number of the tenant and name, with the rights that each connection has. */
export type ConnectedUsers = Map<number, Map<string, Set<Principal>>>;

/** Adds who is connected. */
export function addUser(users: ConnectedUsers, principal: Principal): void {
  const { tenantNumber, userName } = principal;
  let ofTenant = users.get(tenantNumber);
  if (ofTenant === undefined) users.set(tenantNumber, (ofTenant = new Map()));
  const principals = ofTenant.get(userName);
  if (principals === undefined) ofTenant.set(userName, new Set([principal]));
  else principals.add(principal);
}
