/**
 * Subscriptions of tenants to applications (docs/spec/tenants.md#subscriptions): how they begin, which roles the tenant
 * agrees to, and how they end. A record in `subscription` of the tenant, by the id of the application; applications are
 * records of the whole server.
 */
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { Principal } from '../../model/access/principal.ts';
import { ROLES } from '../../model/access/roles.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import type { StoredApplication, StoredSubscription } from '../../model/entities/application.ts';
import { changeRecords, readRecord, retried, tryChange } from '../../records/records.ts';
import type { Tenant } from '../tenants/tenants.ts';
import type { ApplicationParts } from './applications.ts';
import { subscribed, unsubscribed, waitingRoles } from './service-users.ts';
import type { ServiceParts } from './service-users.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';

/** By whom subscriptions are changed, for audit records. */
type By = Pick<Principal, 'userName'>;

const auditOf = (by: By, activity: string, name: string): AuditEntry => ({
  type: 'Application',
  activity,
  text: `${activity}: ${name}`,
  user: by.userName,
});

const duplicate = (tenant: Tenant, id: string): PlatformError =>
  new PlatformError('applications/already-subscribed', { id, tenant: tenant.id });

export const notSubscribed = (tenant: Tenant, id: string): PlatformError =>
  new PlatformError('applications/not-subscribed', { id, tenant: tenant.id });

/**
 * Begins a subscription; a microservice gets its user in the tenant.
 * @param application that the caller may give to the tenant. @throws PlatformError 409 when the tenant has it.
 */
export async function subscribe(
  parts: ServiceParts,
  by: By,
  tenant: Tenant,
  application: StoredApplication,
): Promise<void> {
  const { id, contextPath: trusted = application.name } = application;
  const granted = application.type === 'MICROSERVICE' ? { granted: [...new Set(application.requiredRoles ?? [])] } : {};
  const value: StoredSubscription = { application: id, since: formatTime(parts.now()), trusted, ...granted };
  if ((await readRecord(parts, tenant.number, 'subscription', id)) !== undefined) throw duplicate(tenant, id);
  const change = { collection: 'subscription' as const, id, expected: undefined, value: JSON.stringify(value) };
  const audit = auditOf(by, 'Application subscribed', application.name ?? id);
  if (!(await tryChange(parts, tenant.number, [change], [audit]))) throw duplicate(tenant, id);
  await subscribed(parts, by, tenant, id);
}

/**
 * Those of the roles that wait for the tenant's consent and are the platform's: you can grant only those that you hold.
 * @throws PlatformError 422 for a role that the application does not require.
 */
export async function rolesToGrant(
  parts: ApplicationParts,
  tenant: Tenant,
  application: StoredApplication,
  roles: readonly string[],
): Promise<string[]> {
  const stranger = roles.find((role) => application.requiredRoles?.includes(role) !== true);
  if (stranger !== undefined) {
    const limit = 'roles that the application requires';
    throw new PlatformError('validation/invalid-field', {
      area: 'tenants',
      name: 'grantedRoles',
      value: stranger,
      limit,
    });
  }
  const waiting = await waitingRoles(parts, tenant, application);
  return roles.filter((role) => waiting.includes(role) && ROLES.includes(role));
}

/**
 * The tenant agrees to required roles; those that are left out end. The user of the microservice gets them.
 * @param roles of `rolesToGrant` the caller has to hold. @throws PlatformError 404.
 */
export async function grantRoles(
  parts: ServiceParts,
  by: By,
  tenant: Tenant,
  { id, name }: StoredApplication,
  roles: readonly string[],
): Promise<void> {
  await retried(parts, async () => {
    const expected = await readRecord(parts, tenant.number, 'subscription', id);
    if (expected === undefined) throw notSubscribed(tenant, id);
    const value: StoredSubscription = {
      ...(JSON.parse(expected) as StoredSubscription),
      granted: [...new Set(roles)],
    };
    const audit = auditOf(by, 'Application roles granted', `${name}, ${roles.join(' ')}`);
    await changeRecords(
      parts,
      tenant.number,
      [{ collection: 'subscription', id, expected, value: JSON.stringify(value) }],
      [audit],
    );
  });
  await subscribed(parts, by, tenant, id);
}

/** Ends a subscription, and first the user of the microservice. @throws PlatformError 404. */
export function unsubscribe(parts: ServiceParts, by: By, tenant: Tenant, id: string): Promise<void> {
  return retried(parts, async () => {
    const expected = isEntityId(id) ? await readRecord(parts, tenant.number, 'subscription', id) : undefined;
    if (expected === undefined) throw notSubscribed(tenant, id);
    // First the user, so that none stays when this is interrupted and tried again.
    await unsubscribed(parts, by, tenant, id);
    const change = { collection: 'subscription' as const, id, expected, value: undefined };
    await changeRecords(parts, tenant.number, [change], [auditOf(by, 'Application unsubscribed', id)]);
  });
}
