/**
 * What tenants set of their ways to log in (docs/spec/login.md#options), and who may not use Basic: asked with each
 * request, so it is in memory.
 */
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import { readRecord, updateRecord } from '../../records/records.ts';
import type { RecordPorts, RecordReader } from '../../records/records.ts';

/** The ways that there are; single sign-on is not among them. */
export const LOGIN_TYPES = ['OAUTH2_INTERNAL', 'BASIC'] as const;
export type LoginType = (typeof LOGIN_TYPES)[number];
/** The only kind of client that can be named. */
export const WEB_BROWSERS = 'WEB_BROWSERS';

export interface AuthenticationRestrictions {
  readonly forbiddenClients: readonly string[];
  /** Parts of the header User-Agent. */
  readonly forbiddenUserAgents: readonly string[];
  /** Of clients that are let through whatever else is forbidden. */
  readonly trustedUserAgents: readonly string[];
}

/** In the collection `loginOption` of the tenant, by type; a tenant that has set nothing has none. */
export interface StoredLoginOption {
  readonly visibleOnLoginPage?: boolean;
  readonly providerName?: string;
  readonly buttonName?: string;
  /** Only the management tenant changes it. */
  readonly onlyManagementTenantAccess?: boolean;
  /** Of BASIC. */
  readonly authenticationRestrictions?: AuthenticationRestrictions;
  /** Of OAUTH2_INTERNAL: how long its tokens are good, ms. */
  readonly absoluteTimeoutMillis?: number;
}

const parsed = (text: string | undefined): StoredLoginOption | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as StoredLoginOption);

/** @returns undefined for a tenant that has set nothing. */
export const readLoginOption = async (
  ports: RecordReader,
  tenant: number,
  type: LoginType,
): Promise<StoredLoginOption | undefined> => parsed(await readRecord(ports, tenant, 'loginOption', type));

/** @param decide throws to refuse; undefined takes back what the tenant has set. */
export async function changeLoginOption(
  ports: RecordPorts,
  tenant: number,
  type: LoginType,
  decide: (old: StoredLoginOption | undefined) => StoredLoginOption | undefined,
  audit: AuditEntry,
): Promise<void> {
  const next = (text: string | undefined): string | undefined => {
    const decided = decide(parsed(text));
    return decided && JSON.stringify(decided);
  };
  await updateRecord(ports, tenant, 'loginOption', type, next, [audit]);
}

/** What browsers call themselves; programs that pretend to be one are taken for one. */
const BROWSER = /\b(?:mozilla|opera)\/\d/i;

/** @returns whether a client with this header User-Agent may log in with Basic. */
function mayUseBasic(restrictions: AuthenticationRestrictions, userAgent: string): boolean {
  const has = (parts: readonly string[]): boolean => parts.some((part) => userAgent.includes(part));
  if (has(restrictions.trustedUserAgents)) return true;
  if (has(restrictions.forbiddenUserAgents)) return false;
  return !(restrictions.forbiddenClients.includes(WEB_BROWSERS) && BROWSER.test(userAgent));
}

export class BasicRestrictions {
  readonly #byTenant = new Map<number, AuthenticationRestrictions>();

  async open(documents: DocumentReader, tenants: Iterable<number>): Promise<void> {
    for (const tenant of tenants) this.#set(tenant, await documents.get('loginOption', tenant, 'BASIC'));
  }

  recordsChanged(tenant: number, changes: readonly RecordChange[]): void {
    for (const { collection, id, value } of changes)
      if (collection === 'loginOption' && id === 'BASIC') this.#set(tenant, value);
  }

  /** A tenant is gone. */
  forgetTenant(tenant: number): void {
    this.#byTenant.delete(tenant);
  }

  /** Whether any tenant has some: otherwise the header need not be looked at. */
  get isAny(): boolean {
    return this.#byTenant.size > 0;
  }

  mayUseBasic(tenant: number, userAgent: string): boolean {
    const restrictions = this.#byTenant.get(tenant);
    return restrictions === undefined || mayUseBasic(restrictions, userAgent);
  }

  #set(tenant: number, text: string | undefined): void {
    const restrictions = parsed(text)?.authenticationRestrictions;
    if (restrictions === undefined) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, restrictions);
  }
}
