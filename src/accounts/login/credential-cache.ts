/** Principals by their credentials. A change of one user removes only the entries of that user. */
import { LRUCache } from 'lru-cache';
import { upTo } from '../../pacing/lru-bound.ts';
import type { Principal } from '../../model/access/principal.ts';

const SIZE_MAX = 20_000;

interface Remembered {
  principal: Principal;
  readonly expiresAt: number;
}

export class CredentialCache {
  readonly #entries = new LRUCache<string, Remembered>({
    ...upTo(SIZE_MAX),
    dispose: ({ principal }, key) => {
      this.#unlink(key, principal);
    },
  });
  /** Tenant -> user -> keys of the entries. */
  readonly #keys = new Map<number, Map<string, Set<string>>>();

  get(key: string, now: number): Principal | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAt > now ? entry.principal : undefined;
  }

  /** Updates the principal; the entry expires when it would have. */
  replace(key: string, principal: Principal): void {
    const entry = this.#entries.peek(key);
    if (entry !== undefined) entry.principal = principal;
  }

  set(key: string, principal: Principal, expiresAt: number): void {
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
  }

  forgetTenant(tenant: number): void {
    for (const keys of this.#keys.get(tenant)?.values() ?? []) for (const key of keys) this.#entries.delete(key);
  }

  /** Removes the service users that an owner's microservices have, in all tenants. */
  forgetServicesOf(owner: number): void {
    const keys = [...this.#entries.entries()].filter(([, { principal }]) => principal.serviceOwner === owner);
    for (const [key] of keys) this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  #unlink(key: string, { tenantNumber, userName }: Principal): void {
    const users = this.#keys.get(tenantNumber);
    const keys = users?.get(userName);
    keys?.delete(key);
    if (keys?.size === 0) users?.delete(userName);
    if (users?.size === 0) this.#keys.delete(tenantNumber);
  }
}
