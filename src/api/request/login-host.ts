/**
 * Which tenant a host name means (docs/spec/login.md#hosts): that of the domain, when the host is `<domain>.<suffix>`
 * with the suffix of the configuration. Other names mean none: a user who may make tenants could claim the name of
 * the server otherwise. For the same reason a name that a tenant has chosen means nothing where it may be the server's: its
 * own host, and every host while the configuration does not say its own. An id counts only when its tenant has it as a
 * domain, too.
 */
import { isIP } from 'node:net';
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from './request.ts';
import { hostCalled } from '../http/base-url.ts';
import type { TenantInfo, Tenants } from './platform.ts';

/** `<label>.<domain>.<top level>` */
const SUBDOMAIN_LABELS_MIN = 3;

/**
 * @param host as in the header Host, with or without a port. @returns lower case, without the port and the dot of the
 * root.
 */
export const hostName = (host: string): string =>
  host
    .trim()
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/\.$/, '');

/** @returns the label of a host directly below the suffix. */
function labelBelow(suffix: string | undefined, host: string): string | undefined {
  const name = hostName(host);
  if (suffix === undefined || !name.endsWith(`.${suffix}`)) return undefined;
  const label = name.slice(0, -suffix.length - 1);
  return label === '' || label.includes('.') ? undefined : label;
}

/**
 * @returns the tenant whose domain is directly below the suffix; undefined when the host says nothing.
 * @throws PlatformError 403 when the id of a tenant is there.
 */
export function tenantOfHost(tenants: Tenants, host: string): TenantInfo | undefined {
  if (tenants.domainSuffix === undefined) {
    refuseTenantId(tenants, host);
    return undefined;
  }
  const label = labelBelow(tenants.domainSuffix, host);
  if (label === undefined) return undefined;
  const mayBeOwn = tenants.ownHost === undefined || tenants.ownHost === hostName(host);
  const found = tenants.byDomain(label);
  if (found !== undefined) return mayBeOwn && isChosenByTenant(found, found.isDomainOfTenant) ? undefined : found;
  const named = tenants.byId(label);
  if (named !== undefined && !(mayBeOwn && isChosenByTenant(named)))
    throw new PlatformError('login/tenant-id-as-subdomain', { id: label });
  return undefined;
}

/** As `tenantOfHost` where it only chooses; a host that is refused means none here: the login refuses it. */
export function tenantMeant(tenants: Tenants, host: string): TenantInfo | undefined {
  try {
    return tenantOfHost(tenants, host);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return undefined;
  }
}

/**
 * Without a suffix no host means a tenant, but for the id of one of the operator's in front of a domain that is not the
 * server's own.
 */
function refuseTenantId(tenants: Tenants, host: string): void {
  const name = hostName(host);
  const labels = name.split('.');
  if (labels.length < SUBDOMAIN_LABELS_MIN || isIP(name) !== 0 || tenants.ownHost === name) return;
  const named = tenants.byId(labels[0]);
  if (named !== undefined && !isChosenByTenant(named))
    throw new PlatformError('login/tenant-id-as-subdomain', { id: labels[0] });
}

/** @param isChosen what the record says; of one without it only names of tenants of the operator are the operator's. */
const isChosenByTenant = (
  { parent = MANAGEMENT_TENANT }: TenantInfo,
  isChosen = parent !== MANAGEMENT_TENANT,
): boolean => isChosen;

/**
 * @returns the tenant of the host that was called. @throws PlatformError 403 when the host begins with the id of a
 * tenant.
 */
export const tenantCalled = ({ called, platform }: Pick<ApiRequest, 'called' | 'platform'>): TenantInfo | undefined =>
  tenantOfHost(platform.tenants, hostCalled(called));
