/**
 * Writes .tap/api-types.d.ts: the types of all routes of the server, which the console calls it by. They are made of the
 * OpenAPI document of the route table, by the built sources in dist-test/. bin/setup.mjs runs this when a source has changed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { root } from './setup.mjs';

const built = (path) => import(join(root, 'dist-test', 'src', path));
const [{ apiRoutes }, { openApiDocument }, { realtimeRoutes }, { BAYEUX_URLS }] = await Promise.all(
  ['api/routes.js', 'api/openapi/openapi.js', 'api/realtime/realtime.js', 'realtime/bayeux/channel.js'].map(built),
);
const document = openApiDocument(apiRoutes(realtimeRoutes({ urls: BAYEUX_URLS })), '');
mkdirSync(join(root, '.tap'), { recursive: true });
writeFileSync(join(root, '.tap', 'api-types.d.ts'), astToString(await openapiTS(document, { silent: true })));
