/** The tenants of this server, held in memory and in the documents (document 1, Tenant). */
import type { Documents } from '../actors/documents.ts';

export interface Tenant {
  readonly id: string;
  /** Compact key of journal records and rows; never reused. */
  readonly number: number;
  readonly domain?: string;
  readonly parent?: string;
  readonly allowCreateTenants?: boolean;
}

export const MANAGEMENT_TENANT = 'management';

export class Tenants {
  readonly #byId = new Map<string, Tenant>();
  readonly #byNumber = new Map<number, Tenant>();
  readonly #defaultId: string;

  constructor(defaultId: string) {
    this.#defaultId = defaultId;
  }

  /** Loads the tenants and adds those of the first start: the management tenant and the default one. */
  async open(documents: Documents): Promise<void> {
    for (const { value } of await documents.list('tenant', 0, '', { limit: 100_000 })) this.#add(JSON.parse(value) as Tenant);
    for (const id of [MANAGEMENT_TENANT, this.#defaultId]) {
      if (this.#byId.has(id)) continue;
      const number = Math.max(0, ...this.#byNumber.keys()) + 1;
      const tenant: Tenant = id === MANAGEMENT_TENANT ? { id, number, allowCreateTenants: true } : { id, number, parent: MANAGEMENT_TENANT };
      await documents.commit([{ collection: 'tenant', tenant: 0, id, value: JSON.stringify(tenant) }], undefined);
      this.#add(tenant);
    }
  }

  byId(id: string): Tenant | undefined { return this.#byId.get(id); }
  byNumber(number: number): Tenant | undefined { return this.#byNumber.get(number); }
  get all(): Iterable<Tenant> { return this.#byId.values(); }

  get default(): Tenant {
    const tenant = this.#byId.get(this.#defaultId);
    if (!tenant) throw new Error('tenants are not open');
    return tenant;
  }

  #add(tenant: Tenant): void {
    this.#byId.set(tenant.id, tenant);
    this.#byNumber.set(tenant.number, tenant);
  }
}
