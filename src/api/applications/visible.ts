/** Which applications a request may see and change. */
import { findApplication, isAvailableTo, notFound } from '../../accounts/applications/applications.ts';
import type { Loaded } from '../../accounts/applications/applications.ts';
import { MANAGEMENT_TENANT, isParentOf } from '../../accounts/tenants/tenants.ts';
import type { StoredApplication } from '../../model/entities/application.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';

/** Whether a tenant may know of it without having it: offered to all, or by a tenant above to those below. */
export function isOffered(request: ApiRequest, { availability, ownerNumber }: StoredApplication): boolean {
  if (request.principal.tenant === MANAGEMENT_TENANT || availability === 'MARKET') return true;
  if (availability !== 'SHARED') return false;
  const { tenants } = request.platform;
  const seen = new Set<string>();
  for (let tenant = tenants.byId(request.principal.tenant); tenant?.parent !== undefined && !seen.has(tenant.id); ) {
    seen.add(tenant.id);
    const parent = tenants.byId(tenant.parent);
    if (parent === undefined || !isParentOf(parent, tenant)) return false;
    if (parent.number === ownerNumber) return true;
    tenant = parent;
  }
  return false;
}

/** @throws PlatformError 404 for one that the tenant may not know of. */
export async function loadVisible(request: ApiRequest, id: string): Promise<Loaded> {
  const found = await findApplication(request.platform, id);
  if (found === undefined) throw notFound(id);
  const isVisible =
    (await isAvailableTo(request.platform, { number: request.tenant }, found.application)) ||
    (request.isPrivileged && isOffered(request, found.application));
  if (!isVisible) throw notFound(id);
  return found;
}

/** To be changed: by its owner, or the management tenant. @throws PlatformError 404, 403. */
export async function loadOwn(request: ApiRequest, id: string): Promise<Loaded> {
  const found = await loadVisible(request, id);
  if (found.application.ownerNumber !== request.tenant && request.principal.tenant !== MANAGEMENT_TENANT)
    throw new PlatformError('security/forbidden');
  return found;
}
