/** The console's files: codings, tags, the page for each screen, the prefix of a proxy, and what a broken build says. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import t from 'tap';
import type { Test } from 'tap';
import { ApiServer } from '../../../src/api/api-server.ts';
import { consoleRoutes } from '../../../src/api/console/routes.ts';
import type { HttpLibrary } from '../../../src/api/http/library.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { ENGINES } from '../helpers/engines.ts';
import { FakePlatform } from '../helpers/fake-platform.ts';
import { rawRequest } from '../helpers/raw-http.ts';

const SCRIPT = `console.log(1);${' '.repeat(2_000)}`;

function folderOf(t: Test, files: Readonly<Record<string, string | Buffer>>): string {
  const folder = scratchDirectory(t);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

async function serve(t: Test, folder: string, library: HttpLibrary): Promise<string> {
  const server = new ApiServer(new FakePlatform().platform(), consoleRoutes(folder), library);
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close(100));
  return `http://127.0.0.1:${port}`;
}

for (const [name, library] of ENGINES) {
  t.test(`files and screens, ${name}`, async (t) => {
    const folder = folderOf(t, {
      'index.html': '<base href="{{base}}"><script src="app-ABCDEFGH.js"></script>',
      'app-ABCDEFGH.js': SCRIPT,
      'app-ABCDEFGH.js.gz': gzipSync(SCRIPT),
      'app-ABCDEFGH.js.br': brotliCompressSync(SCRIPT),
      'plain.txt': 'plain',
    });
    const url = await serve(t, folder, library);
    const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(url + path, { headers, redirect: 'manual' });

    for (const [accepted, coding] of [
      ['br, gzip', 'br'],
      ['gzip', 'gzip'],
    ]) {
      const coded = await get('/console/app-ABCDEFGH.js', { 'accept-encoding': accepted });
      t.equal(coded.headers.get('content-encoding'), coding);
      t.equal(await coded.text(), SCRIPT);
    }
    const script = await get('/console/app-ABCDEFGH.js');
    t.match(script.headers.get('cache-control'), /immutable/);
    t.equal(script.headers.get('vary'), 'Accept-Encoding');
    const whole = await get('/console/app-ABCDEFGH.js', { 'accept-encoding': 'identity' });
    t.equal(whole.headers.get('content-encoding'), null);
    t.equal(whole.headers.get('content-length'), String(SCRIPT.length));
    const tag = String(whole.headers.get('etag'));
    t.equal((await get('/console/app-ABCDEFGH.js', { 'if-none-match': tag })).status, 304);
    t.equal((await get('/console/plain.txt')).headers.get('cache-control'), 'no-cache');

    const limits = await get('/console/limits.md', { 'accept-encoding': 'gzip' });
    t.equal(limits.headers.get('content-encoding'), 'gzip');
    t.match(await limits.text(), '| `journal/bytes` |', 'the page of the documentation');
    const page = await get('/console/devices/4711/alarms?severity=MAJOR');
    t.equal(page.status, 200);
    t.match(await page.text(), '<base href="/console/">');
    const policy = String(page.headers.get('content-security-policy'));
    t.match(policy, /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/);
    t.match(policy, `connect-src 'self' ${url.replace('http', 'ws')};`);
    t.notMatch(policy, 'unsafe');
    t.equal((await get('/console/', { 'if-none-match': String(page.headers.get('etag')) })).status, 304);
    t.match(await (await get('/console/', { 'x-forwarded-prefix': '/iot' })).text(), '<base href="/iot/console/">');
    t.equal((await get('/console')).headers.get('location'), './console/');

    const port = Number(new URL(url).port);
    for (const path of [
      'missing.js',
      '..%2F..%2Fpackage.json',
      'a/%2e%2e/%2e%2e/%2e%2e/package.json',
      'app-ABCDEFGH.js.gz',
    ])
      t.notMatch((await rawRequest(port, 'GET', `/console/${path}`, {})).text, /"millrace"|console\.log/, path);
    t.equal((await get('/console/missing.js')).status, 404);
  });
}

t.test('a console that was not built is a 503 that says why', async (t) => {
  const [, library] = ENGINES[0];
  const textOf = async (folder: string): Promise<[number, string]> => {
    const response = await fetch(`${await serve(t, folder, library)}/console/`);
    return [response.status, await response.text()];
  };
  t.match(await textOf(join(scratchDirectory(t), 'none')), [503, /does not exist: npm run build/]);
  t.match(await textOf(folderOf(t, {})), [503, /index\.html is missing/]);
  t.match(await textOf(folderOf(t, { 'fault.txt': 'web/app.tsx:3:1: Unexpected "}"' })), [503, /web\/app\.tsx:3:1/]);
});
