/** Which tenant a host name means (document 1 Authentication 1 and 2): that of the domain; an id is none, unless its tenant has it for a domain too. */
import { PlatformError } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { hostCalled } from './base-url.ts';
import type { TenantInfo, Tenants } from './platform.ts';

const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[.*\])$/;

/** @param host as in the header Host, with or without a port. @returns lower case, without the port. */
export const hostName = (host: string): string => host.trim().toLowerCase().replace(/:\d+$/, '');

/**
 * @returns the tenant whose domain is the host or the first label of it; undefined when the host says nothing.
 * @throws PlatformError 403 when the first label is the id of a tenant.
 */
export function tenantOfHost(tenants: Tenants, host: string): TenantInfo | undefined {
  const name = hostName(host);
  if (name === '' || ADDRESS.test(name)) return undefined;
  const dot = name.indexOf('.');
  const label = dot < 0 ? name : name.slice(0, dot);
  const found = tenants.byDomain(name) ?? tenants.byDomain(label);
  if (found !== undefined || dot < 0) return found;
  if (tenants.byId(label) !== undefined) throw new PlatformError('login/tenant-id-as-subdomain', { id: label });
  return undefined;
}

/** @returns the tenant of the host that was called. @throws PlatformError 403 when the host begins with the id of a tenant. */
export const tenantCalled = ({ called, platform }: Pick<ApiRequest, 'called' | 'platform'>): TenantInfo | undefined =>
  (called === undefined ? undefined : tenantOfHost(platform.tenants, hostCalled(called)));
