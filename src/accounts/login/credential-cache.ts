/**
 * Principals by their credentials, and by the user who gave them: a change of one user costs the entries of that user.
 */
import type { Principal } from '../../model/access/principal.ts';

/** Credentials remembered at once; the oldest go first. */
const SIZE_MAX = 20_000;

interface Remembered {
  readonly principal: Principal;
  readonly expiresAt: number;
}

export class CredentialCache {
  readonly #entries = new Map<string, Remembered>();
  /** Tenant -> user -> keys of the entries. */
  readonly #keys = new Map<number, Map<string, Set<string>>>();

  get(key: string, now: number): Principal | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAt > now ? entry.principal : undefined;
  }

  /** The entry stays as old as it is. */
  replace(key: string, principal: Principal): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#entries.set(key, { ...entry, principal });
  }

  set(key: string, principal: Principal, expiresAt: number): void {
    this.#remove(key);
    if (this.#entries.size >= SIZE_MAX) this.#remove(this.#entries.keys().next().value as string);
    this.#entries.set(key, { principal, expiresAt });
    const { tenantNumber, userName } = principal;
    let users = this.#keys.get(tenantNumber);
    if (users === undefined) this.#keys.set(tenantNumber, (users = new Map()));
    const keys = users.get(userName);
    if (keys === undefined) users.set(userName, new Set([key]));
    else keys.add(key);
  }

  forgetUser(tenant: number, userName: string): void {
    for (const key of this.#keys.get(tenant)?.get(userName) ?? []) this.#entries.delete(key);
    this.#keys.get(tenant)?.delete(userName);
  }

  forgetTenant(tenant: number): void {
    for (const keys of this.#keys.get(tenant)?.values() ?? []) for (const key of keys) this.#entries.delete(key);
    this.#keys.delete(tenant);
  }

  /** Users of microservices of a tenant, in all tenants. */
  forgetServicesOf(owner: number): void {
    for (const [key, { principal }] of this.#entries) if (principal.serviceOwner === owner) this.#remove(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#keys.clear();
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const { tenantNumber, userName } = entry.principal;
    const users = this.#keys.get(tenantNumber);
    const keys = users?.get(userName);
    keys?.delete(key);
    if (keys?.size === 0) users?.delete(userName);
    if (users?.size === 0) this.#keys.delete(tenantNumber);
  }
}
