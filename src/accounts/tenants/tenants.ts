/** The tenants of this server, held in memory and in the documents (docs/spec/tenants.md). */
import type { Documents } from '../../ports/stores/documents.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { SERVER_WIDE } from '../../model/commands/keys.ts';

export const TENANT_STATUSES = ['ACTIVE', 'SUSPENDED'] as const;
export type TenantStatus = (typeof TENANT_STATUSES)[number];

/** As stored in the collection `tenant` of the whole server, by its id. */
export interface Tenant {
  readonly id: string;
  /** Compact key of journal records and rows; never reused. */
  readonly number: number;
  readonly domain?: string;
  /** Whether another tenant than the management tenant chose the domain; absent when an older server stored it. */
  readonly isDomainOfTenant?: boolean;
  readonly parent?: string;
  /** Its number, as its id may be given again; absent in records of older servers. */
  readonly parentNumber?: number;
  readonly allowCreateTenants?: boolean;
  /** ACTIVE when absent. */
  readonly status?: TenantStatus;
  readonly company?: string;
  readonly adminName?: string;
  readonly adminEmail?: string;
  readonly contactName?: string;
  readonly contactPhone?: string;
  /** Bytes. */
  readonly storageLimitPerDevice?: number;
  /** JSON text of an object. */
  readonly customProperties?: string;
  /** ISO 8601. */
  readonly creationTime?: string;
}

export const MANAGEMENT_TENANT = 'management';
/** Of a server: a start reads all of them. */
export const TENANTS_MAX = 100_000;

/** Who allocates a number or a domain changes this record, so that two of them never give the same. */
export const REGISTRY = { collection: 'job', id: 'tenants' } as const;
export interface TenantRegistry {
  readonly nextNumber: number;
  /** Grows with each change of an id or a domain. */
  readonly version: number;
}

export class Tenants {
  readonly #byId = new Map<string, Tenant>();
  readonly #byNumber = new Map<number, Tenant>();
  readonly #byDomain = new Map<string, Tenant>();
  readonly domainSuffix: string | undefined;
  readonly ownHost: string | undefined;
  readonly #defaultId: string;
  #admins: ReadonlyMap<string, string> = new Map();

  /**
   * @param hosts.domainSuffix tenants are reached at `<domain>.<suffix>`; undefined: no host means a tenant.
   * @param hosts.baseUrl of the server itself.
   */
  constructor(
    defaultId: string,
    hosts: { readonly domainSuffix?: string | undefined; readonly baseUrl?: string | undefined } = {},
  ) {
    const { domainSuffix, baseUrl } = hosts;
    this.#defaultId = defaultId;
    this.ownHost = baseUrl === undefined || baseUrl === '' ? undefined : new URL(baseUrl).hostname;
    this.domainSuffix = domainSuffix;
  }

  /**
   * Loads the tenants and adds those of the first start: the management tenant and the default one.
   * @param admins names of administrators that the configuration decides, by tenant.
   */
  async open(documents: Documents, admins: ReadonlyMap<string, string> = new Map()): Promise<void> {
    for (const { value } of await documents.list('tenant', SERVER_WIDE, '', { limit: TENANTS_MAX }))
      this.#add(JSON.parse(value) as Tenant);
    const text = await documents.get(REGISTRY.collection, SERVER_WIDE, REGISTRY.id);
    let { nextNumber, version } =
      text === undefined ? { nextNumber: 1, version: 0 } : (JSON.parse(text) as TenantRegistry);
    nextNumber = Math.max(nextNumber, 1, ...Array.from(this.#byNumber.keys(), (number) => number + 1));
    for (const id of [MANAGEMENT_TENANT, this.#defaultId]) {
      if (this.#byId.has(id)) continue;
      const creationTime = formatTime(Date.now());
      const tenant: Tenant =
        id === MANAGEMENT_TENANT
          ? { id, number: nextNumber, allowCreateTenants: true, creationTime }
          : { id, number: nextNumber, parent: MANAGEMENT_TENANT, creationTime };
      nextNumber += 1;
      version += 1;
      const registry: TenantRegistry = { nextNumber, version };
      await documents.commit(
        [
          { collection: 'tenant', tenant: SERVER_WIDE, id, value: JSON.stringify(tenant) },
          { collection: REGISTRY.collection, tenant: SERVER_WIDE, id: REGISTRY.id, value: JSON.stringify(registry) },
        ],
        undefined,
      );
      this.#add(tenant);
    }
    this.#admins = admins;
    for (const id of admins.keys()) this.#add(this.#byId.get(id) as Tenant);
  }

  /** Records were changed, here or on another node. @returns the tenants that exist no more or are suspended now. */
  recordsChanged(tenantNumber: number, changes: readonly RecordChange[]): Tenant[] {
    if (tenantNumber !== SERVER_WIDE) return [];
    const ended: Tenant[] = [];
    for (const { collection, id, value } of changes) {
      if (collection !== 'tenant') continue;
      const old = this.#byId.get(id);
      if (old !== undefined) this.#remove(old);
      const tenant = value === undefined ? undefined : (JSON.parse(value) as Tenant);
      if (tenant !== undefined) this.#add(tenant);
      if (old !== undefined && (tenant === undefined || tenant.number !== old.number || tenant.status === 'SUSPENDED'))
        ended.push(old);
    }
    return ended;
  }

  byId(id: string): Tenant | undefined {
    return this.#byId.get(id);
  }
  byNumber(number: number): Tenant | undefined {
    return this.#byNumber.get(number);
  }
  /** @param domain lower case. */
  byDomain(domain: string): Tenant | undefined {
    return this.#byDomain.get(domain);
  }
  get all(): Iterable<Tenant> {
    return this.#byId.values();
  }
  get numbers(): number[] {
    return Array.from(this.#byId.values(), ({ number }) => number);
  }
  /** Whether there is none beside the first two: the management tenant and the default one. */
  get isOnlyOne(): boolean {
    return this.#byId.size <= 2;
  }

  get default(): Tenant {
    const tenant = this.#byId.get(this.#defaultId);
    if (!tenant) throw new Error('tenants are not open');
    return tenant;
  }

  #add(stored: Tenant): void {
    const adminName = this.#admins.get(stored.id);
    const tenant = adminName === undefined ? stored : { ...stored, adminName };
    this.#byId.set(tenant.id, tenant);
    this.#byNumber.set(tenant.number, tenant);
    if (tenant.domain !== undefined) this.#byDomain.set(tenant.domain, tenant);
  }

  #remove(tenant: Tenant): void {
    this.#byId.delete(tenant.id);
    this.#byNumber.delete(tenant.number);
    if (tenant.domain !== undefined && this.#byDomain.get(tenant.domain)?.number === tenant.number)
      this.#byDomain.delete(tenant.domain);
  }
}

/** Whether it is the parent itself, not another tenant that got its id later. */
export const isParentOf = (parent: Pick<Tenant, 'id' | 'number'>, tenant: Tenant): boolean =>
  tenant.parent === parent.id && tenant.id !== parent.id && (tenant.parentNumber ?? parent.number) === parent.number;

/** Whether a tenant administrates the other: as its parent, or as the management tenant. */
export const isAbove = (by: { readonly tenant: string; readonly tenantNumber: number }, tenant: Tenant): boolean =>
  by.tenant === MANAGEMENT_TENANT || isParentOf({ id: by.tenant, number: by.tenantNumber }, tenant);

/** A suspended tenant's requests are all answered with 401 (docs/spec/tenants.md#suspension). */
export const isActive = (tenant: Tenant | undefined): tenant is Tenant =>
  tenant !== undefined && tenant.status !== 'SUSPENDED';

/** Name of the limit in counters. */
const SUSPENDED = 'tenants/suspended';

/**
 * For callers with right credentials of one of its users: to all others a suspended tenant looks like one that there
 * is not (docs/spec/tenants.md#suspension).
 */
export function suspendedError({ id }: Pick<Tenant, 'id'>, refusals: Refusals): PlatformError {
  refusals.count(SUSPENDED, { tenant: id });
  return new PlatformError('login/tenant-suspended', { id });
}

/** Whether the user may log in: neither disabled nor of a microservice whose owner is suspended or gone. */
export function isAdmitted(
  tenants: Pick<Tenants, 'byNumber'>,
  user: { readonly enabled: boolean; readonly service?: { readonly owner: number } },
): boolean {
  return user.enabled && (user.service === undefined || isActive(tenants.byNumber(user.service.owner)));
}
