/** Who makes a request: the tenant, the user and the user's effective roles (document 1, Authentication). */

export interface Principal {
  /** Tenant id, for instance `t1`. */
  readonly tenant: string;
  /** The tenant's number: the compact key that journal records and rows carry instead of the id. */
  readonly tenantNumber: number;
  readonly userName: string;
  readonly roles: ReadonlySet<string>;
}

/** Checks credentials. Results are cached by a keyed hash; a changed user drops its entries. */
export interface Authenticator {
  /**
   * @param userName `<tenant>/<user>` or the user alone (then the default tenant).
   * @returns the principal, or undefined when tenant, user or password is wrong. Synchronous when cached.
   */
  authenticate(userName: string, password: string): Principal | undefined | Promise<Principal | undefined>;
}
