/** The route table of the server: every resource, and the description of the table itself. */
import { alarmRoutes } from './alarms.ts';
import { applicationBinaryRoutes } from './application-binaries.ts';
import { applicationRoutes } from './applications.ts';
import { auditRoutes } from './audits.ts';
import { binaryRoutes } from './binaries.ts';
import { bulkOperationRoutes } from './bulk-operations.ts';
import { bulkRegistrationRoutes } from './bulk-registration.ts';
import { childRoutes } from './children.ts';
import { currentApplicationRoutes } from './current-application.ts';
import { deviceRegistrationRoutes } from './device-registration.ts';
import { eventBinaryRoutes } from './event-binaries.ts';
import { eventRoutes } from './events.ts';
import { hostedApplicationRoutes } from './hosted-applications.ts';
import { identityRoutes } from './identity.ts';
import { managedObjectDeviceRoutes } from './managed-object-device.ts';
import { managedObjectListRoutes } from './managed-object-list.ts';
import { managedObjectRoutes } from './managed-objects.ts';
import { measurementListRoutes } from './measurement-list.ts';
import { measurementSeriesRoutes } from './measurement-series.ts';
import { measurementRoutes } from './measurements.ts';
import { JSON_TYPE } from './media-types.ts';
import { openApiDocument } from './openapi.ts';
import { openApiPage } from './openapi-page.ts';
import { notificationSubscriptionRoutes } from './notification-subscriptions.ts';
import { operationRoutes } from './operations.ts';
import { optionRoutes } from './options.ts';
import { withExport } from './page-export.ts';
import { retentionRoutes } from './retention.ts';
import { rootRoutes } from './roots.ts';
import type { Route } from './route.ts';
import { Fragments, Text, open } from './schema-parts.ts';
import { SERVICE_USERS } from './service-users.ts';
import { smartRestOneRoutes } from './smartrest-one.ts';
import { statisticsFileRoutes } from './statistics-files.ts';
import { subscriptionRoutes } from './subscriptions.ts';
import { subtenantRoutes, tenantOf } from './subtenants.ts';
import { systemRoutes } from './system.ts';
import { tenantStatisticsRoutes } from './tenant-statistics.ts';
import { tenantRoutes } from './tenants.ts';
import { currentUserRoutes } from './current-user.ts';
import { deviceAccessTokenRoutes } from './device-access-token.ts';
import { devicePermissionRoutes } from './device-permissions.ts';
import { groupRoutes } from './groups.ts';
import { inventoryRoleRoutes } from './inventory-roles.ts';
import { loginOptionRoutes } from './login-options.ts';
import { loginRoutes } from './login.ts';
import { userPasswordRoutes } from './user-passwords.ts';
import { userRoleRoutes } from './user-roles.ts';
import { userTotpRoutes } from './user-totp.ts';
import { revocationRoutes } from './revocations.ts';
import { securityOptionRoutes } from './security-options.ts';
import { trustedCertificateRoutes } from './trusted-certificates.ts';
import { userRoutes } from './users.ts';

const HTML_TYPE = 'text/html;charset=UTF-8';
/** Nothing but the page itself may be loaded or run. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** What stands in the table at the place of the tenant of `/user/{tenant}/…`. */
function fixedSegments(routes: readonly Route[]): Set<string> {
  return new Set(routes.map(({ path }) => /^\/user\/([^/{]+)/.exec(path)?.[1]).filter((segment) => segment !== undefined));
}

/** @param further routes of other parts of the server, for instance Bayeux. */
export function apiRoutes(further: readonly Route[] = []): Route[] {
  const routes: Route[] = [
    ...rootRoutes(),
    ...measurementRoutes(),
    ...measurementSeriesRoutes(),
    ...measurementListRoutes(),
    ...managedObjectRoutes(),
    ...managedObjectListRoutes(),
    ...managedObjectDeviceRoutes(),
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
    ...groupRoutes(),
    ...userRoleRoutes(),
    ...inventoryRoleRoutes(),
    ...devicePermissionRoutes(),
    ...loginRoutes(),
    ...loginOptionRoutes(),
    ...tenantRoutes(),
    ...subtenantRoutes(() => fixedSegments(routes)),
    ...subscriptionRoutes(SERVICE_USERS, tenantOf),
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
    ...systemRoutes(),
    ...further,
  ].map(withExport);
  routes.push(
    {
      method: 'GET',
      path: '/openapi.json',
      area: 'system',
      access: 'public',
      summary: 'This API as OpenAPI 3.1',
      produces: ['json', 'vendor', 'html'],
      answers: [{ status: 200, description: 'OpenAPI document', contentTypes: ['application/json'],
        json: open({ openapi: Text, info: Fragments, paths: Fragments }), example: { openapi: '3.1.0', info: {}, paths: {} } }],
      handle: (request) => ({
        status: 200,
        contentType: JSON_TYPE,
        text: JSON.stringify(openApiDocument(routes, request.baseUrl, request.platform.config.version ?? '0.0.0')),
      }),
    },
    {
      // Where somebody arrives who opens the server's URL in a browser.
      method: 'GET',
      path: '/',
      area: 'system',
      access: 'public',
      summary: 'Leads to this API as a page',
      produces: ['html', 'vendor', 'json', 'text', 'csv', 'other'],
      answers: [{ status: 302, description: 'To /openapi' }],
      handle: (request) => ({ status: 302, text: '', headers: ['Location', `${request.baseUrl}/openapi`] }),
    },
    {
      method: 'GET',
      path: '/openapi',
      area: 'system',
      access: 'public',
      summary: 'This API as a page',
      produces: ['html', 'vendor', 'json', 'text'],
      answers: [{ status: 200, description: 'A page', contentTypes: ['text/html'] }],
      handle: (request) => ({
        status: 200,
        contentType: HTML_TYPE,
        text: openApiPage(routes, request.platform.config.version ?? '0.0.0'),
        headers: ['Content-Security-Policy', PAGE_POLICY],
      }),
    },
  );
  return routes;
}
