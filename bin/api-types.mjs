/**
 * Writes .tap/api-types.d.ts: the types of all routes of the server, which the console calls it by. They are made of the
 * OpenAPI document of the route table, by the built sources in dist-test/. bin/setup.mjs runs this when a source has
 * changed. The first line is the digest of the document: most changes leave it as it is, and the types with it.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup.mjs';

const path = join(root, '.tap', 'api-types.d.ts');
const built = (name) => import(join(root, 'dist-test', 'src', name));
const [{ apiRoutes }, { openApiDocument }, { realtimeRoutes }, { BAYEUX_URLS }] = await Promise.all(
  ['api/routes.js', 'api/openapi/openapi.js', 'api/realtime/realtime.js', 'realtime/bayeux/channel.js'].map(built),
);
const document = openApiDocument(apiRoutes(realtimeRoutes({ urls: BAYEUX_URLS })), '');
const hash = createHash('sha256').update(JSON.stringify(document));
// The package that makes the types, and what goes before them.
for (const name of ['package-lock.json', 'bin/api-types.mjs']) hash.update(readFileSync(join(root, name)));
const line = `// ${hash.digest('hex')}\n`;
if (!existsSync(path) || !readFileSync(path, 'utf8').startsWith(line)) {
  // Half of the CPU time of this script is the loading of it.
  const { default: openapiTS, astToString } = await import('openapi-typescript');
  mkdirSync(join(root, '.tap'), { recursive: true });
  writeFileSync(path, line + astToString(await openapiTS(document, { silent: true })));
}
