/**
 * Parts of a pool that all tenants share. A user may hold up to four times what is free, a tenant up to nine times: one
 * that is alone gets 80 and 90 hundredths of the pool, and the nearer the pool is to its end, the more of the rest is
 * for those that hold little. Where the server has one tenant only, there is hardly anybody to leave room to: 95 and 99
 * hundredths.
 */

/** Of what is free, times this. */
const FACTORS = { user: 4, tenant: 9 } as const;
const FACTORS_OF_ONLY_TENANT = { user: 19, tenant: 99 } as const;
/** Entries of holders with nothing are kept up to this many: most take again soon, and messages need no new entries. */
const KEPT_MAX = 1_000;

interface OfUser {
  held: number;
}
interface OfTenant {
  held: number;
  readonly users: Map<string, OfUser>;
}

export class Shares {
  readonly maximum: number;
  /** Names of the limits: of the pool, and with `-of-tenant` and `-of-user`. */
  readonly #limits: { readonly all: string; readonly ofTenant: string; readonly ofUser: string };
  readonly #tenants = new Map<number, OfTenant>();
  readonly #isOnlyTenant: () => boolean;
  #used = 0;

  /**
   * @param limit the pool's name, for instance `mqtt/connections`. @param isOnlyTenant whether the server has one
   * tenant, beside its operator's.
   */
  constructor(limit: string, maximum: number, isOnlyTenant = (): boolean => false) {
    this.#isOnlyTenant = isOnlyTenant;
    this.#limits = { all: limit, ofTenant: `${limit}-of-tenant`, ofUser: `${limit}-of-user` };
    this.maximum = maximum;
  }

  get used(): number {
    return this.#used;
  }

  heldBy(tenant: number, user: string): number {
    return this.#tenants.get(tenant)?.users.get(user)?.held ?? 0;
  }

  /** @returns the limit that is in the way; undefined when there is room. */
  refusal(tenant: number, user: string, amount = 1): string | undefined {
    const free = this.maximum - this.#used;
    if (amount > free) return this.#limits.all;
    const ofTenant = this.#tenants.get(tenant);
    if (ofTenant === undefined) return undefined;
    const factors = this.#isOnlyTenant() ? FACTORS_OF_ONLY_TENANT : FACTORS;
    if ((ofTenant.users.get(user)?.held ?? 0) >= free * factors.user) return this.#limits.ofUser;
    return ofTenant.held >= free * factors.tenant ? this.#limits.ofTenant : undefined;
  }

  /** Takes a part; `give` returns it. @returns the limit that is in the way: then nothing was taken. */
  take(tenant: number, user: string, amount = 1): string | undefined {
    const limit = this.refusal(tenant, user, amount);
    if (limit === undefined) this.add(tenant, user, amount);
    return limit;
  }

  /** As `take`, beyond every bound. */
  add(tenant: number, user: string, amount = 1): void {
    let ofTenant = this.#tenants.get(tenant);
    if (ofTenant === undefined) this.#tenants.set(tenant, (ofTenant = { held: 0, users: new Map() }));
    let ofUser = ofTenant.users.get(user);
    if (ofUser === undefined) ofTenant.users.set(user, (ofUser = { held: 0 }));
    this.#used += amount;
    ofTenant.held += amount;
    ofUser.held += amount;
  }

  /** Returns what the same tenant and user have taken. */
  give(tenant: number, user: string, amount = 1): void {
    const ofTenant = this.#tenants.get(tenant) as OfTenant;
    const ofUser = ofTenant.users.get(user) as OfUser;
    this.#used -= amount;
    ofTenant.held -= amount;
    ofUser.held -= amount;
    if (ofUser.held === 0 && ofTenant.users.size > KEPT_MAX) ofTenant.users.delete(user);
    if (ofTenant.held === 0 && this.#tenants.size > KEPT_MAX) this.#tenants.delete(tenant);
  }
}
