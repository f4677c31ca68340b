/** The route table of the server: every resource, and the description of the table itself. */
import { alarmRoutes } from './alarms/alarms.ts';
import { applicationBinaryRoutes } from './applications/binaries.ts';
import { applicationRoutes } from './applications/applications.ts';
import { auditRoutes } from './audits/audits.ts';
import { binaryRoutes } from './inventory/binaries.ts';
import { bulkOperationRoutes } from './operations/bulk-operations.ts';
import { bulkRegistrationRoutes } from './devices/bulk-registration.ts';
import { childRoutes } from './inventory/children.ts';
import { consoleRoutes } from './console/routes.ts';
import { currentApplicationRoutes } from './applications/current-application.ts';
import { deviceRegistrationRoutes } from './devices/registration.ts';
import { eventBinaryRoutes } from './events/binaries.ts';
import { eventRoutes } from './events/events.ts';
import { hostedApplicationRoutes } from './applications/hosted-applications.ts';
import { identityRoutes } from './identity/identity.ts';
import { kpiRoutes } from './inventory/kpis.ts';
import { managedObjectDeviceRoutes } from './inventory/device.ts';
import { managedObjectListRoutes } from './inventory/list.ts';
import { managedObjectRoutes } from './inventory/managed-objects.ts';
import { measurementListRoutes } from './measurements/list.ts';
import { latestMeasurementRoutes } from './measurements/latest.ts';
import { measurementSeriesRoutes } from './measurements/series.ts';
import { measurementRoutes } from './measurements/measurements.ts';
import { openApiRoutes } from './openapi/routes.ts';
import { notificationTokenRoutes } from './realtime/notification-tokens.ts';
import { notificationSubscriptionRoutes } from './realtime/notification-subscriptions.ts';
import { operationRoutes } from './operations/operations.ts';
import { optionRoutes } from './options/options.ts';
import { withExport } from './page-export.ts';
import { remoteAccessRoutes } from './remote-access/configurations.ts';
import { retentionRoutes } from './retention/retention.ts';
import { rootRoutes } from './system/roots.ts';
import type { Route } from './request/route.ts';
import { onnxRoutes } from './scoring/onnx/routes.ts';
import { scoringRoutes } from './scoring/routes.ts';
import { softwareRoutes } from './inventory/software.ts';
import { smartRestOneRoutes } from './smartrest/one.ts';
import { statisticsFileRoutes } from './tenants/statistics-files.ts';
import { subscriptionRoutes } from './applications/subscriptions.ts';
import { subtenantRoutes, tenantOf } from './tenants/subtenants.ts';
import { aboutRoutes } from './system/about.ts';
import { connectionRoutes } from './system/connections.ts';
import { featureRoutes } from './system/features.ts';
import { frontPageRoutes } from './system/front-page.ts';
import { statusRoutes } from './system/status.ts';
import { systemRoutes } from './system/system.ts';
import { tenantStatisticsRoutes } from './tenants/statistics.ts';
import { tenantRoutes } from './tenants/tenants.ts';
import { currentUserRoutes } from './users/current-user.ts';
import { deviceAccessTokenRoutes } from './devices/access-token.ts';
import { devicePermissionRoutes } from './users/device-permissions.ts';
import { effectiveRightsRoutes } from './users/effective-rights.ts';
import { groupRoutes } from './users/groups.ts';
import { inventoryRoleRoutes } from './users/inventory-roles.ts';
import { loginOptionRoutes } from './users/login-options.ts';
import { loginRoutes } from './users/login.ts';
import { userPasswordRoutes } from './users/passwords.ts';
import { userRoleRoutes } from './users/roles.ts';
import { userTotpRoutes } from './users/totp.ts';
import { revocationRoutes } from './tenants/revocations.ts';
import { securityOptionRoutes } from './options/security-options.ts';
import { trustedCertificateRoutes } from './tenants/trusted-certificates.ts';
import { userRoutes } from './users/users.ts';

/** What stands in the table at the place of the tenant of `/user/{tenant}/…`. */
function fixedSegments(routes: readonly Route[]): Set<string> {
  return new Set(
    routes.map(({ path }) => /^\/user\/([^/{]+)/.exec(path)?.[1]).filter((segment) => segment !== undefined),
  );
}

/** @param further routes of other parts of the server, for instance Bayeux. */
export function apiRoutes(further: readonly Route[] = []): Route[] {
  const routes: Route[] = [
    ...rootRoutes(),
    ...measurementRoutes(),
    ...measurementSeriesRoutes(),
    ...latestMeasurementRoutes(),
    ...measurementListRoutes(),
    ...managedObjectRoutes(),
    ...managedObjectListRoutes(),
    ...managedObjectDeviceRoutes(),
    ...kpiRoutes(),
    ...softwareRoutes(),
    ...childRoutes(),
    ...binaryRoutes(),
    ...identityRoutes(),
    ...eventRoutes(),
    ...eventBinaryRoutes(),
    ...alarmRoutes(),
    ...auditRoutes(),
    ...operationRoutes(),
    ...bulkOperationRoutes(),
    ...deviceRegistrationRoutes(),
    ...bulkRegistrationRoutes(),
    ...deviceAccessTokenRoutes(),
    ...smartRestOneRoutes(),
    ...userRoutes(),
    ...userPasswordRoutes(),
    ...userTotpRoutes(),
    ...currentUserRoutes(),
    ...effectiveRightsRoutes(),
    ...groupRoutes(),
    ...userRoleRoutes(),
    ...inventoryRoleRoutes(),
    ...devicePermissionRoutes(),
    ...loginRoutes(),
    ...loginOptionRoutes(),
    ...tenantRoutes(),
    ...subtenantRoutes(() => fixedSegments(routes)),
    ...subscriptionRoutes(tenantOf),
    ...applicationRoutes(),
    ...applicationBinaryRoutes(),
    ...currentApplicationRoutes(),
    ...hostedApplicationRoutes(),
    ...optionRoutes(),
    ...securityOptionRoutes(),
    ...trustedCertificateRoutes(),
    ...revocationRoutes(),
    ...tenantStatisticsRoutes(),
    ...statisticsFileRoutes(),
    ...retentionRoutes(),
    ...notificationSubscriptionRoutes(),
    ...remoteAccessRoutes(),
    ...scoringRoutes(),
    ...onnxRoutes(),
    ...notificationTokenRoutes(),
    ...systemRoutes(),
    ...aboutRoutes(),
    ...connectionRoutes(),
    ...statusRoutes(),
    ...featureRoutes(),
    ...frontPageRoutes(),
    ...consoleRoutes(),
    ...further,
  ].map(withExport);
  routes.push(...openApiRoutes(routes));
  return routes;
}
