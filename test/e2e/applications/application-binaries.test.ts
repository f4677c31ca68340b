/**
 * Archives of applications (docs/spec/applications.md#archives): uploads, what is refused, versions and tags, files
 * that are served.
 */
import t from 'tap';
import { CLUSTER_NODES, Rest, TENANT, startServer } from '../../helpers/running/server.ts';
import type { Reply } from '../../helpers/running/server.ts';
import {
  MANIFEST,
  archiveForm,
  microserviceZip,
  patched,
  withBrokenDeflate,
  withLength,
  zipOf,
} from '../../helpers/zip.ts';

const server = await startServer(t);
const { rest, management } = server;
const APPS = '/application/applications';
const AUTHORIZATION = `Basic ${btoa(`${TENANT}/admin:mill-Race-7`)}`;
let count = 0;
const create = (type: string, more: object = {}): Promise<any> => {
  count += 1;
  return rest.create(APPS, { key: `k${count}`, name: `n${count}`, type, contextPath: `c${count}`, ...more });
};
async function send(
  path: string,
  form: FormData | string,
  headers: Record<string, string> = {},
): Promise<{ status: number; json: any; headers: Headers }> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    body: form,
    headers: { authorization: AUTHORIZATION, accept: 'application/json', ...headers },
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text), headers: response.headers };
}
const upload = (id: string, zip: Buffer, fields = {}): ReturnType<typeof send> =>
  send(`${APPS}/${id}/binaries`, archiveForm(zip, fields));
const uploadVersion = (id: string, zip: Buffer, version: object): ReturnType<typeof send> =>
  send(
    `${APPS}/${id}/versions`,
    archiveForm(zip, { applicationVersion: JSON.stringify(version) }, 'applicationBinary'),
  );
const page = (text: string): Promise<Buffer> =>
  zipOf({ 'index.html': text, 'cumulocity.json': JSON.stringify({ name: text }) });
const open = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(server.url + path, { redirect: 'manual', headers });

t.test('upload, list, download, delete', async (t) => {
  const app = await create('MICROSERVICE', { contextPath: undefined });
  const zip = await microserviceZip();
  const sent = await upload(app.id, zip);
  t.equal(sent.status, 201);
  const { id } = sent.json;
  const self = `${server.url}${APPS}/${app.id}/binaries/${id}`;
  t.match(sent.json, {
    id,
    binaryId: id,
    name: 'app.zip',
    length: zip.length,
    contextPath: 'hello',
    description: '',
    downloadUrl: self,
    self,
  });
  t.equal(sent.headers.get('location'), self);
  t.match((await rest.read(`${APPS}/${app.id}/binaries`)).attachments, [
    { id, name: 'app.zip', length: zip.length, created: /Z$/ },
  ]);
  const download = await fetch(self, { headers: { authorization: AUTHORIZATION } });
  t.ok(Buffer.from(await download.arrayBuffer()).equals(zip));
  t.equal(download.headers.get('content-type'), 'application/zip');
  t.match(download.headers.get('content-disposition'), /attachment; filename="app.zip"/);
  t.equal((await rest.read(`${APPS}/${app.id}`)).activeVersionId, id);
  t.equal(
    (await upload(app.id, await microserviceZip(MANIFEST, 'platform.json'), { fileName: 'x' })).status,
    201,
    'the other spelling',
  );
  t.equal((await rest.delete(`${APPS}/${app.id}/binaries/${id}`)).status, 204);
  t.equal((await rest.get(`${APPS}/${app.id}/binaries/${id}`)).status, 404);
  t.equal((await rest.delete(`${APPS}/${app.id}/binaries/${id}`)).status, 404);
  t.equal((await rest.get(`${APPS}/999999/binaries`)).status, 404);
});

t.test('what is no upload', async (t) => {
  const [micro, external] = [await create('MICROSERVICE'), await create('EXTERNAL')];
  const path = `${APPS}/${micro.id}/binaries`;
  t.equal((await send(path, 'text', { 'content-type': 'application/json' })).status, 415);
  t.equal((await send(path, 'no form', { 'content-type': 'multipart/form-data; boundary=x' })).status, 400);
  const empty = new FormData();
  empty.append('a', 'b');
  t.equal((await send(path, empty)).status, 400);
  t.equal((await upload(external.id, await microserviceZip())).status, 422);
  t.equal(
    (await send(`${APPS}/${micro.id}/versions`, archiveForm(await microserviceZip()))).status,
    422,
    'without its version',
  );
});

t.test('archives that are refused', async (t) => {
  const [micro, hosted] = [await create('MICROSERVICE'), await create('HOSTED')];
  const manifest = JSON.stringify(MANIFEST);
  const many = Object.fromEntries(
    Array.from({ length: 10_001 }, (_, index) => [`f${index}`, { content: '', compress: false }]),
  );
  const good = await zipOf({ 'index.html': 'hello hello hello hello hello' });
  const damaged = Buffer.from(await zipOf({ 'index.html': { content: 'hello hello', compress: false } }));
  damaged.write('jello', damaged.indexOf('hello'));
  const zeros = await zipOf({ 'cumulocity.json': manifest, 'image.tar': Buffer.alloc(20 * 1_048_576) });
  const text = await zipOf({
    'cumulocity.json': manifest,
    'image.tar': 'hello '.repeat(1_000),
    'other.txt': 'hello '.repeat(1_000),
  });
  /** What is wrong, archive, in the message. */
  const cases: [what: string, id: string, zip: Buffer, message: RegExp][] = [
    ['no ZIP', micro.id, Buffer.from('not a zip at all'), /archive cannot be used/],
    ['empty', micro.id, Buffer.alloc(0), /archive cannot be used/],
    ['cut off', hosted.id, good.subarray(0, good.length - 30), /archive cannot be used/],
    ['no manifest', micro.id, await zipOf({ 'image.tar': 'x' }), /no platform.json or cumulocity.json/],
    ['no image', micro.id, await zipOf({ 'cumulocity.json': manifest }), /no image.tar/],
    [
      'manifest elsewhere',
      micro.id,
      await zipOf({ 'a/cumulocity.json': manifest, 'image.tar': 'x' }),
      /no platform.json/,
    ],
    ['manifest no JSON', micro.id, await zipOf({ 'cumulocity.json': '{', 'image.tar': 'x' }), /not readable JSON/],
    ['manifest no object', hosted.id, await zipOf({ 'cumulocity.json': '[]' }), /not a JSON object/],
    ['path outside', hosted.id, patched(await zipOf({ 'aa/evil': 'x' }), 'aa/evil', '../evil'), /\.\.\/evil/],
    ['absolute path', hosted.id, patched(await zipOf({ 'a/evil': 'x' }), 'a/evil', '//evil'), /absolute path/],
    [
      'drive',
      hosted.id,
      patched(await zipOf({ 'aaa/evil': 'x' }), 'aaa/evil', 'C:\\/evil'),
      /invalid characters|absolute/,
    ],
    ['backslash', hosted.id, patched(await zipOf({ 'a-b': 'x' }), 'a-b', 'a\\b'), /invalid characters/],
    ['dot', hosted.id, patched(await zipOf({ 'a/x/b': 'x' }), 'a/x/b', 'a/./b'), /not a file name/],
    ['twice', hosted.id, patched(await zipOf({ aa: 'x', bb: 'y' }), 'bb', 'aa'), /twice/],
    ['link', hosted.id, await zipOf({ link: { content: '/etc/passwd', mode: 0o120777 } }), /link/],
    ['device', hosted.id, await zipOf({ null: { content: '', mode: 0o020666 } }), /special file/],
    ['too many', hosted.id, await zipOf(many), /more than 10000 .*applications\/archive-entries/],
    ['bomb', hosted.id, await zipOf({ zeros: Buffer.alloc(20 * 1_048_576) }), /applications\/archive-ratio/],
    ['damaged', hosted.id, damaged, /index.html is damaged/],
    ['bomb as an image', micro.id, zeros, /applications\/archive-ratio/],
    [
      'bomb that says it is short',
      micro.id,
      withLength(zeros, 'image.tar', 100),
      /image.tar has more than the 100 bytes .*applications\/archive-entry-bytes/,
    ],
    ['image shorter than it says', micro.id, withLength(text, 'image.tar', 10_000), /image.tar is damaged/],
    ['broken deflate', micro.id, withBrokenDeflate(text, 'image.tar'), /image.tar is damaged/],
    ['broken deflate beside the image', micro.id, withBrokenDeflate(text, 'other.txt'), /other.txt is damaged/],
    [
      'wrong manifest',
      micro.id,
      await microserviceZip({ ...MANIFEST, isolation: 'NONE', replicas: 9, provider: {} }),
      /wrong fields: .*provider\.name/,
    ],
  ];
  for (const [what, id, zip, message] of cases) {
    const { status, json } = await upload(id, zip);
    t.equal(status, 422, what);
    t.match(json.message, message, what);
  }
  t.same((await rest.read(`${APPS}/${micro.id}/binaries`)).attachments, []);
  t.notOk('manifest' in (await rest.read(`${APPS}/${micro.id}`)));
  t.notOk('activeVersionId' in (await rest.read(`${APPS}/${micro.id}`)));
  t.match(await server.metricsText(), /millrace_refusals_total\{[^}]*applications\/archive-entry-bytes[^}]*\} 1/);
});

t.test('an archive above the limit of its kind', async (t) => {
  const hosted = await create('HOSTED');
  const { status } = await upload(hosted.id, Buffer.alloc(51 * 1_048_576));
  t.equal(status, 413);
  const metrics = await server.metricsText();
  t.match(metrics, /millrace_refusals_total\{[^}]*files\/webapp\.zipped\.max\.size[^}]*\} 1/);
});

t.test('web applications: served to tenants that have them', async (t) => {
  const app = await create('HOSTED', { contextPath: 'web', availability: 'MARKET' });
  t.equal((await open('/apps/web/')).status, 404, 'nothing was uploaded yet');
  const zip = await zipOf({
    'index.html': '<h1>hello</h1>',
    'a/b.js': 'let a;',
    'a/index.html': 'sub',
    'style.css': 'a{}',
    'pic.PNG': Buffer.from([1, 2]),
    'data.bin': 'x',
    'empty.txt': '',
    'ä b.json': '{}',
    'cumulocity.json': '{"name":"web"}',
  });
  t.equal((await upload(app.id, zip)).status, 201);
  t.match(
    await rest.read(`${APPS}/${app.id}`),
    { activeVersionId: /\d+/, manifest: { name: 'web' } },
    'the first one is used at once',
  );
  /** Path, status, content type, content. */
  const cases: [path: string, status: number, type: string | null, content?: string][] = [
    ['/apps/web/', 200, 'text/html;charset=UTF-8', '<h1>hello</h1>'],
    ['/apps/web/index.html', 200, 'text/html;charset=UTF-8', '<h1>hello</h1>'],
    ['/apps/web/a/b.js', 200, 'text/javascript;charset=UTF-8', 'let a;'],
    ['/apps/web/a/', 200, 'text/html;charset=UTF-8', 'sub'],
    ['/apps/web/style.css', 200, 'text/css;charset=UTF-8', 'a{}'],
    ['/apps/web/pic.PNG', 200, 'image/png'],
    ['/apps/web/data.bin', 200, 'application/octet-stream', 'x'],
    ['/apps/web/empty.txt', 200, 'text/plain;charset=UTF-8', ''],
    ['/apps/web/%C3%A4%20b.json', 200, 'application/json;charset=UTF-8', '{}'],
    ['/apps/web/cumulocity.json?nocache=1', 200, 'application/json;charset=UTF-8', '{"name":"web"}'],
    ['/apps/web', 302, null],
    ['/apps/web/a', 404, null],
    ['/apps/web/none.html', 404, null],
    ['/apps/web/..%2F..%2Fetc%2Fpasswd', 404, null],
    ['/apps/web/a/..%2findex.html', 404, null],
    ['/apps/web/constructor', 404, null],
    ['/apps/none/', 404, null],
    ['/apps/web@1.0/', 404, null],
  ];
  for (const [path, status, type, content] of cases) {
    const response = await open(path);
    t.equal(response.status, status, path);
    if (type !== null) t.equal(response.headers.get('content-type'), type, path);
    if (content !== undefined) t.equal(await response.text(), content, path);
  }
  t.equal((await open('/apps/web')).headers.get('location'), `${server.url}/apps/web/`);
  const first = await open('/apps/web/');
  t.match(Object.fromEntries(first.headers), {
    'x-content-type-options': 'nosniff',
    'content-security-policy': /frame-ancestors 'self'/,
    'referrer-policy': 'same-origin',
    'cache-control': 'no-cache',
  });
  const etag = first.headers.get('etag') ?? '';
  t.match(etag, /^"[\w-]+"$/);
  const known = await open('/apps/web/', { 'if-none-match': `"other", W/${etag}` });
  t.equal(known.status, 304);
  t.equal(known.headers.get('etag'), etag);
  await rest.put(`${APPS}/${app.id}`, { contentSecurityPolicy: "default-src 'none'" });
  t.equal((await open('/apps/web/')).headers.get('content-security-policy'), "default-src 'none'");
  const head = await fetch(`${server.url}/apps/web/`, { method: 'HEAD' });
  t.equal(head.headers.get('content-length'), '14');

  await management.create('/tenant/tenants', {
    id: 'acme',
    company: 'a',
    domain: 'acme-domain',
    adminName: 'ada',
    adminEmail: 'a@b',
    adminPass: 'Analytical-1',
  });
  const acme = new Rest(server.url, 'acme/ada', 'Analytical-1');
  t.equal((await acme.get('/apps/web/')).status, 404, 'not subscribed');
  await management.create('/tenant/tenants/acme/applications', { application: { id: app.id } });
  t.equal((await acme.get('/apps/web/')).text, '<h1>hello</h1>');
  t.equal((await open('/apps/web/', { 'x-forwarded-host': 'acme-domain.example.com' })).status, 200, 'by the host');
  t.equal(
    (await open('/apps/web/', { 'x-forwarded-host': 'acme-domain.example.com, inner' })).status,
    200,
    'the first of several proxies',
  );
  const own = await acme.create(APPS, { key: 'o', name: 'o', type: 'HOSTED', contextPath: 'web' });
  const form = archiveForm(await page('own'));
  await fetch(`${server.url}${APPS}/${own.id}/binaries`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Basic ${btoa('acme/ada:Analytical-1')}` },
  });
  t.equal((await acme.get('/apps/web/')).text, 'own', 'an own one before a subscribed one');
  t.equal((await rest.get('/apps/web/')).text, '<h1>hello</h1>');
  t.equal((await new Rest(server.url, `${TENANT}/admin`, 'wrong').get('/apps/web/')).status, 401);
});

t.test('another archive is taken into use', async (t) => {
  const app = await create('HOSTED', { contextPath: 'swap' });
  const [one, two] = [(await upload(app.id, await page('one'))).json, (await upload(app.id, await page('two'))).json];
  t.equal((await rest.get('/apps/swap/')).text, 'one');
  const etag = (await open('/apps/swap/')).headers.get('etag') ?? '';
  t.equal((await rest.put(`${APPS}/${app.id}`, { activeVersionId: two.id })).json.manifest.name, 'two');
  const changed = await open('/apps/swap/', { 'if-none-match': etag });
  t.equal(await changed.text(), 'two');
  t.equal((await send(`${APPS}/${app.id}/refresh`, '')).status, 200);
  const clone = await rest.create(`${APPS}/${app.id}/clone`, '');
  t.equal((await rest.get('/apps/cloneswap/')).text, 'two', 'a clone has the content');
  t.equal((await rest.delete(`${APPS}/${app.id}/binaries/${two.id}`)).status, 204);
  t.notOk('activeVersionId' in (await rest.read(`${APPS}/${app.id}`)));
  t.equal((await rest.get('/apps/swap/')).status, 404);
  t.equal((await send(`${APPS}/${app.id}/refresh`, '')).status, 422);
  t.equal((await rest.get('/apps/cloneswap/')).text, 'two', 'of its own');
  t.equal((await rest.delete(`${APPS}/${clone.id}`)).status, 204);
  t.equal((await rest.put(`${APPS}/${app.id}`, { activeVersionId: one.id })).status, 200);
});

t.test('versions and tags', async (t) => {
  const app = await create('HOSTED', { contextPath: 'vers' });
  const path = `${APPS}/${app.id}/versions`;
  const first = await uploadVersion(app.id, await page('1'), { version: '1.0.0', tags: ['latest', 'stable'] });
  t.equal(first.status, 201);
  t.match(first.json, { version: '1.0.0', binaryId: /^\d+$/, tag: ['latest', 'stable'] });
  t.equal((await uploadVersion(app.id, await page('2'), { version: '2.0.0' })).status, 201);
  const form = archiveForm(await page('0'), {}, 'applicationBinary');
  form.append('applicationVersion', new Blob(['{"version":"0.9.0"}'], { type: 'application/json' }));
  const asFile = await send(path, form);
  t.match(asFile, { status: 201, json: { version: '0.9.0' } }, 'JSON that comes with a file name, as a Blob does');
  t.equal((await rest.delete(`${path}?version=0.9.0`)).status, 204);
  const statuses: [version: object, status: number][] = [
    [{ version: '1.0.0' }, 409],
    [{ version: '3.0.0', tags: ['stable'] }, 409],
    [{}, 422],
    [{ version: 'a b' }, 422],
    [{ version: '3', tags: ['x/y'] }, 422],
    [{ version: 3 }, 422],
  ];
  for (const [version, status] of statuses)
    t.equal((await uploadVersion(app.id, await page('x'), version)).status, status, JSON.stringify(version));
  t.equal((await rest.read(`${APPS}/${app.id}/binaries`)).attachments.length, 2, 'nothing is left of what was refused');
  t.match((await rest.read(path)).applicationVersions, [
    { version: '1.0.0', tags: ['latest', 'stable'] },
    { version: '2.0.0', tags: [] },
  ]);
  t.match((await rest.read(`${APPS}/${app.id}`)).applicationVersions, [{ version: '1.0.0' }, { version: '2.0.0' }]);
  t.same(
    (await rest.read(`${APPS}?hasVersions=true`)).applications.map(({ id }: any) => id),
    [app.id],
  );
  const reads: [query: string, status: number, version?: string][] = [
    ['version=2.0.0', 200, '2.0.0'],
    ['tag=stable', 200, '1.0.0'],
    ['tag=none', 404],
    ['version=9', 404],
    ['version=1.0.0&tag=latest', 422],
  ];
  for (const [query, status, version] of reads) {
    const reply: Reply = await rest.get(`${path}?${query}`);
    t.equal(reply.status, status, query);
    if (version !== undefined) t.equal(reply.json.version, version, query);
  }
  const served: [path: string, text: string][] = [
    ['vers', '1'],
    ['vers@1.0.0', '1'],
    ['vers@2.0.0', '2'],
    ['vers@stable', '1'],
  ];
  for (const [where, text] of served) t.equal((await rest.get(`/apps/${where}/`)).text, text, where);
  t.equal((await rest.delete(`${path}?tag=latest`)).status, 409);
  t.equal((await rest.delete(`${path}?version=1.0.0`)).status, 409, 'tagged latest');
  t.equal((await rest.delete(`${path}?version=1.0.0&tag=x`)).status, 422);
  t.equal((await rest.delete(path)).status, 422);
  const moved = await rest.put(`${path}/2.0.0`, { tag: ['latest'] });
  t.equal(moved.status, 201);
  t.match(moved.json, { version: '2.0.0', tag: ['latest'], tags: ['latest'] });
  t.match((await rest.read(path)).applicationVersions, [{ version: '1.0.0', tags: ['stable'] }, { tags: ['latest'] }]);
  t.equal((await rest.get('/apps/vers/')).text, '2', 'the latest is used');
  t.equal((await rest.put(`${path}/9`, { tag: [] })).status, 404);
  t.equal((await rest.put(`${path}/2.0.0`, {})).status, 422, 'without tags');
  t.equal(
    (await rest.put(`${path}/2.0.0`, { tags: ['other'] })).status,
    409,
    'latest goes to another version, it does not end',
  );
  t.same((await rest.put(`${path}/2.0.0`, { tags: ['latest', 'other'] })).json.tags, ['latest', 'other']);
  t.equal((await rest.delete(`${path}?version=2.0.0`)).status, 409);
  t.equal((await rest.delete(`${path}?version=1.0.0`)).status, 204);
  t.equal((await rest.delete(`${path}?version=1.0.0`)).status, 404);
  t.equal((await rest.read(`${APPS}/${app.id}/binaries`)).attachments.length, 1);
});

t.test('files of the active archive are replaced', async (t) => {
  const app = await create('HOSTED', { contextPath: 'files' });
  const fields = (entries: Record<string, string>): FormData => {
    const form = new FormData();
    for (const [name, text] of Object.entries(entries)) form.append(name, text);
    return form;
  };
  const path = `${APPS}/${app.id}/binaries/files`;
  t.equal((await send(path, fields({ a: 'b' }))).status, 422, 'nothing was uploaded');
  const first = (
    await uploadVersion(
      app.id,
      await zipOf({
        'index.html': 'i',
        'a.txt': { content: 'plain', compress: false },
        'cumulocity.json': '{"name":"1"}',
      }),
      { version: '1.0.0' },
    )
  ).json;
  const sent = await send(path, fields({ 'cumulocity.json': '{"name":"2"}', 'neu/ä.txt': 'ü'.repeat(5_000) }));
  t.equal(sent.status, 201);
  t.match(await rest.read(`${APPS}/${app.id}`), {
    activeVersionId: sent.json.id,
    manifest: { name: '2' },
    applicationVersions: [{ version: '1.0.0', binaryId: sent.json.id }],
  });
  for (const [file, text] of [
    ['', 'i'],
    ['a.txt', 'plain'],
    ['cumulocity.json', '{"name":"2"}'],
    ['neu/%C3%A4.txt', 'ü'.repeat(5_000)],
  ]) {
    t.equal((await rest.get(`/apps/files/${file}`)).text, text, file);
  }
  t.equal((await rest.get(`${APPS}/${app.id}/binaries/${first.binaryId}`)).status, 404);
  for (const name of ['../x', '/x', 'a\\b', 'a/./b'])
    t.equal((await send(path, fields({ [name]: 'x' }))).status, 422, name);
  t.equal((await send(path, fields({ 'cumulocity.json': '[' }))).status, 422);
  t.equal((await send(path, fields({}))).status, 400);
  t.equal((await send(path, archiveForm(Buffer.from('x')))).status, 413, 'files of other kinds are not taken');
  t.equal((await rest.read(`${APPS}/${app.id}/binaries`)).attachments.length, 1);
  t.equal((await rest.get('/apps/files/')).text, 'i');
});

t.test('manifests', async (t) => {
  const app = await create('HOSTED', { contextPath: 'mani' });
  await upload(app.id, await page('m'));
  for (const id of ['mani', app.id])
    t.match(await rest.read(`${APPS}/${id}/manifest`), { application: { id: app.id, manifest: { name: 'm' } } });
  t.equal((await rest.get(`${APPS}/nothing/manifest`)).status, 404);
});

t.test('with large manifests: deleted whole, one by one, and with its tenant', async (t) => {
  await management.create('/tenant/tenants', {
    id: 'large',
    company: 'l',
    domain: 'large-d',
    adminName: 'ada',
    adminEmail: 'a@b',
    adminPass: 'Analytical-1',
  });
  const admin = new Rest(server.url, 'large/ada', 'Analytical-1');
  // In a cluster a command has at most 900 KiB, and the one of an upload has its manifest twice; together they are
  // beyond it in any case.
  const zip = await zipOf({
    'index.html': 'x',
    'cumulocity.json': JSON.stringify({ name: 'n'.repeat(CLUSTER_NODES > 1 ? 400_000 : 900_000) }),
  });
  const filled = async (name: string): Promise<string> => {
    const { id } = await admin.create(APPS, { key: name, name, type: 'HOSTED', contextPath: name });
    for (let index = 0; index < 5; index += 1) {
      const authorization = `Basic ${btoa('large/ada:Analytical-1')}`;
      t.equal((await send(`${APPS}/${id}/binaries`, archiveForm(zip), { authorization })).status, 201);
    }
    return id;
  };
  const id = await filled('whole');
  t.equal((await admin.delete(`${APPS}/${id}`)).status, 204);
  t.equal((await admin.get(`${APPS}/${id}`)).status, 404);
  await filled('with-its-tenant');
  t.equal((await management.delete('/tenant/tenants/large')).status, 204);
});

t.test('nothing was wrong meanwhile', async (t) => {
  t.same(
    server.complaints.filter((line) => !line.includes('refused by the limit')),
    [],
  );
});
