/** The route table of the server: every resource, and the description of the table itself. */
import { alarmRoutes } from './alarms.ts';
import { childRoutes } from './children.ts';
import { eventRoutes } from './events.ts';
import { identityRoutes } from './identity.ts';
import { managedObjectListRoutes } from './managed-object-list.ts';
import { managedObjectRoutes } from './managed-objects.ts';
import { measurementListRoutes } from './measurement-list.ts';
import { measurementSeriesRoutes } from './measurement-series.ts';
import { measurementRoutes } from './measurements.ts';
import { JSON_TYPE } from './media-types.ts';
import { openApiDocument } from './openapi.ts';
import { openApiPage } from './openapi-page.ts';
import { operationRoutes } from './operations.ts';
import { rootRoutes } from './roots.ts';
import type { Route } from './route.ts';
import { systemRoutes } from './system.ts';
import { tenantRoutes } from './tenants.ts';
import { userRoutes } from './users.ts';

const HTML_TYPE = 'text/html;charset=UTF-8';
/** Nothing but the page itself may be loaded or run. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** @param further routes of other parts of the server, for instance Bayeux. */
export function apiRoutes(further: readonly Route[] = []): Route[] {
  const routes: Route[] = [
    ...rootRoutes(),
    ...measurementRoutes(),
    ...measurementSeriesRoutes(),
    ...measurementListRoutes(),
    ...managedObjectRoutes(),
    ...managedObjectListRoutes(),
    ...childRoutes(),
    ...identityRoutes(),
    ...eventRoutes(),
    ...alarmRoutes(),
    ...operationRoutes(),
    ...userRoutes(),
    ...tenantRoutes(),
    ...systemRoutes(),
    ...further,
  ];
  routes.push(
    {
      method: 'GET',
      path: '/openapi.json',
      area: 'system',
      access: 'public',
      summary: 'This API as OpenAPI 3.1',
      produces: ['json', 'vendor', 'html'],
      answers: [{ status: 200, description: 'OpenAPI document', contentTypes: ['application/json'] }],
      handle: (request) => ({
        status: 200,
        contentType: JSON_TYPE,
        text: JSON.stringify(openApiDocument(routes, request.baseUrl, request.platform.config.version ?? '0.0.0')),
      }),
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
