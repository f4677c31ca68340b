/** Files in the inventory over HTTP (docs/spec/binaries.md). */
import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import t from 'tap';
import { attachmentHeader, byteRangeOf, isMediaType } from '../../../src/api/http/byte-range.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { until } from '../../helpers/until.ts';
import { ADMIN, DEVICE, basic, startApi } from '../helpers/api.ts';
import type { Api } from '../helpers/api.ts';

const PATH = '/inventory/binaries';
const BOUNDARY = 'x-boundary-7';

interface Part {
  readonly name: string;
  readonly fileName?: string;
  readonly type?: string;
  readonly content: string | Buffer;
}

function multipart(parts: readonly Part[]): Buffer {
  const pieces = parts.flatMap(({ name, fileName, type, content }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${fileName === undefined ? '' : `; filename="${fileName}"`}\r\n` +
      `${type === undefined ? '' : `Content-Type: ${type}\r\n`}\r\n`,
    content,
    '\r\n',
  ]);
  return Buffer.concat([...pieces, `--${BOUNDARY}--\r\n`].map((piece) => Buffer.from(piece as string)));
}

async function send(
  api: Api,
  method: string,
  path: string,
  body: Buffer | string | undefined,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: ADMIN, accept: 'application/json', ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const content = Buffer.from(await response.arrayBuffer());
  const text = content.toString();
  // A file with random bytes may begin with a brace.
  const isJson = content.length < 100_000 && text.startsWith('{"');
  return {
    status: response.status,
    headers: response.headers,
    content,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
const upload = (api: Api, parts: readonly Part[], headers: Record<string, string> = {}) =>
  send(api, 'POST', PATH, multipart(parts), { ...FORM, ...headers });

t.test('upload, download, replace, delete', async (t) => {
  const api = await startApi(t);
  const content = randomBytes(300_000);
  const posted = await upload(api, [
    { name: 'object', content: '{"name":"a.log","type":"text/plain","acme_X":{"a":1.0}}' },
    { name: 'filesize', content: '300000' },
    { name: 'file', fileName: 'other.bin', type: 'application/octet-stream', content },
  ]);
  t.equal(posted.status, 201, posted.text);
  const { id } = posted.json;
  t.match(posted.json, {
    self: `${api.url}${PATH}/${id}`,
    name: 'a.log',
    type: 'text/plain',
    contentType: 'text/plain',
    length: 300_000,
    c8y_IsBinary: {},
    owner: 'admin',
    acme_X: { a: 1 },
  });
  t.match(posted.text, '"acme_X":{"a":1.0}');
  t.equal(posted.headers.get('location'), `${api.url}${PATH}/${id}`);
  const read = await send(api, 'GET', `${PATH}/${id}`, undefined, { accept: '*/*' });
  t.equal(read.status, 200);
  t.ok(read.content.equals(content));
  t.match(Object.fromEntries(read.headers), {
    'content-type': 'text/plain',
    'content-length': '300000',
    'content-disposition': 'attachment; filename="a.log"',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  const object = await api.call('GET', `/inventory/managedObjects/${id}`);
  t.match(object.json, { self: `${api.url}/inventory/managedObjects/${id}`, length: 300_000 });
  t.match(await send(api, 'PUT', `${PATH}/${id}`, 'new text', { 'content-type': 'text/csv' }), {
    status: 201,
    json: { id, contentType: 'text/csv', length: 8, name: 'a.log' },
  });
  t.match(api.fake.sent.at(-1), {
    kind: COMMAND.MANAGED_OBJECT_UPDATE,
    body: { binary: { bytes: 8, contentType: 'text/csv' }, mayChangeOwner: false },
  });
  const removed = await send(api, 'DELETE', `${PATH}/${id}`, undefined);
  t.equal(removed.status, 204);
  t.equal(api.fake.sent.at(-1)?.kind, COMMAND.MANAGED_OBJECT_DELETE);
});

t.test('parts in any order, with and without what is optional', async (t) => {
  const api = await startApi(t);
  const check = async (title: string, parts: readonly Part[], want: object): Promise<void> => {
    const reply = await upload(api, parts);
    t.equal(reply.status, 201, `${title}: ${reply.text}`);
    t.match(reply.json, want, title);
  };
  await check(
    'file first',
    [
      { name: 'file', fileName: 'b', content: 'x' },
      { name: 'object', content: '{"name":"n","type":"image/png"}' },
    ],
    { name: 'n', contentType: 'image/png', length: 1 },
  );
  await check('no object', [{ name: 'file', fileName: 'c.png', type: 'image/png', content: 'xy' }], {
    name: 'c.png',
    type: 'image/png',
    contentType: 'image/png',
    length: 2,
  });
  await check('no file name', [{ name: 'file', content: 'xyz' }], { contentType: 'text/plain', length: 3 });
  await check('an empty file', [{ name: 'file', fileName: 'e', type: 'a/b', content: '' }], { length: 0 });
  await check(
    'a type that is no media type',
    [
      { name: 'object', content: '{"type":"c8y_Firmware"}' },
      { name: 'file', fileName: 'f', type: 'application/zip', content: 'z' },
    ],
    { type: 'c8y_Firmware', contentType: 'application/zip' },
  );
  await check(
    'members of the server',
    [
      { name: 'object', content: '{"id":"1","self":"x","length":7,"contentType":"x","c8y_IsBinary":5,"owner":"bob"}' },
      { name: 'file', fileName: 'f', content: '' },
    ],
    { length: 0, c8y_IsBinary: {}, owner: 'bob' },
  );
  const quiet = await upload(api, [{ name: 'file', fileName: 'q', content: 'x' }], { accept: '' });
  t.ok(quiet.status === 201);
});

t.test('a download is taken as its own type, whatever it is', async (t) => {
  const api = await startApi(t);
  for (const type of [
    'application/x-ndjson',
    'application/vnd.apache.parquet',
    'application/jsonl',
    'application/json',
    'text/csv',
    'text/html',
    'image/png',
    'application/json-stream',
    'application/vnd.com.nsn.cumulocity.event+json',
  ]) {
    const posted = await upload(api, [{ name: 'file', fileName: 'f', type, content: 'x' }]);
    const { status, headers } = await send(api, 'GET', `${PATH}/${posted.json.id}`, undefined, { accept: type });
    t.same([status, headers.get('content-type')], [200, type], type);
  }
  const routes = api.server.router.routes.filter(
    ({ produces, answers, hasErrorList }) =>
      // Those of scoring answer with what they have, whatever is accepted.
      hasErrorList !== true &&
      (produces?.[0] === 'other' || answers.some(({ contentTypes }) => contentTypes?.includes('*/*'))),
  );
  t.equal(routes.length, 20);
  for (const { path, produces = [] } of routes)
    t.ok(
      ['ndjson', 'parquet', 'csv', 'html', 'other'].every((kind) => (produces as readonly string[]).includes(kind)),
      path,
    );
});

t.test('refused uploads', async (t) => {
  const api = await startApi(t, { config: { fileMaxBytes: 1_000 } });
  const file: Part = { name: 'file', fileName: 'f', content: 'x' };
  const check = async (
    title: string,
    reply: { status: number; text: string },
    status: number,
    message: RegExp,
  ): Promise<void> => {
    t.equal(reply.status, status, `${title}: ${reply.text}`);
    t.match(reply.text, message, title);
    t.notOk(
      api.fake.sent.some(({ kind }) => kind === COMMAND.MANAGED_OBJECT_CREATE),
      title,
    );
  };
  await check('no file', await upload(api, [{ name: 'object', content: '{}' }]), 400, /no part with a file/);
  await check('two files', await upload(api, [file, { ...file, name: 'file2' }]), 400, /more than one file/);
  await check('bad JSON', await upload(api, [{ name: 'object', content: '{' }, file]), 400, /not readable JSON/);
  await check(
    'no object',
    await upload(api, [{ name: 'object', content: '[]' }, file]),
    422,
    /an array; it takes an object/,
  );
  await check(
    'a name that is no text',
    await upload(api, [{ name: 'object', content: '{"name":5}' }, file]),
    422,
    /name/,
  );
  await check('a refused fragment', await upload(api, [{ name: 'object', content: '{"a.b":5}' }, file]), 422, /a\.b/);
  await check(
    'a long field',
    await upload(api, [{ name: 'object', content: `{"a":"${'x'.repeat(30_000)}"}` }, file]),
    400,
    /a field has more than/,
  );
  await check(
    'many fields',
    await upload(api, [...Array.from({ length: 40 }, (_, index) => ({ name: `f${index}`, content: '' })), file]),
    400,
    /more than 2\d (fields|parts)/,
  );
  await check('too large', await upload(api, [{ ...file, content: 'x'.repeat(1_001) }]), 413, /1000 bytes/);
  await check('much too large', await upload(api, [{ ...file, content: Buffer.alloc(4_000_000) }]), 413, /1000 bytes/);
  t.same(api.fake.counted.filter((limit) => limit === 'files/max.size').length, 2);
  await check('cut off', await send(api, 'POST', PATH, multipart([file]).subarray(0, 60), FORM), 400, /multipart/);
  await check(
    'no boundary',
    await send(api, 'POST', PATH, 'x', { 'content-type': 'multipart/form-data' }),
    400,
    /oundary/,
  );
  await check(
    'another boundary',
    await send(api, 'POST', PATH, multipart([file]), { 'content-type': 'multipart/form-data; boundary=y' }),
    400,
    /multipart/,
  );
  await check(
    'no multipart',
    await send(api, 'POST', PATH, '{}', { 'content-type': 'application/json' }),
    415,
    /application\/json/,
  );
  t.equal((await upload(api, [{ ...file, content: 'x'.repeat(1_000) }])).status, 201, 'exactly the limit');
  api.fake.put('option', 'files\nmax.size', '{"value":"10"}');
  t.equal((await upload(api, [{ ...file, content: 'x'.repeat(11) }])).status, 413, 'the tenant takes less');
  const id = (await upload(api, [{ ...file, content: 'x'.repeat(10) }])).json.id as string;
  t.equal((await send(api, 'PUT', `${PATH}/${id}`, 'x'.repeat(11))).status, 413);
  t.equal((await send(api, 'PUT', `${PATH}/${id}`, 'x'.repeat(10))).status, 201);
  t.same(api.fake.failures, []);
});

t.test('the same limit holds for binaries of events, and for their chunks', async (t) => {
  const api = await startApi(t, { config: { fileMaxBytes: 1_000 } });
  api.fake.put('event', '700', '{"id":"700","source":{"id":"5"},"type":"T"}');
  const path = '/event/events/700/binaries';
  const check = async (
    title: string,
    body: Buffer | string,
    limit: number,
    headers: Record<string, string> = {},
  ): Promise<void> => {
    t.match(
      await send(api, 'POST', path, body, headers),
      { status: 413, json: { message: `The body has more than ${limit} bytes` } },
      title,
    );
  };
  const file: Part = { name: 'file', fileName: 'f', content: 'x'.repeat(1_001) };
  await check('the content', 'x'.repeat(1_001), 1_000);
  await check('a form', multipart([file]), 1_000, FORM);
  await check('the announced length', 'x'.repeat(10), 1_000, { 'content-range': '0-9/1001' });
  await check('the end of a chunk', 'x'.repeat(10), 1_000, { 'content-range': '991-1000/*' });
  api.fake.put('option', 'files\nmax.size', '{"value":"10"}');
  await check('the tenant takes less', 'x'.repeat(11), 10);
  t.equal(api.fake.counted.filter((limit) => limit === 'events/binary-bytes').length, 5);
  t.notOk(api.fake.sent.some(({ kind }) => kind === COMMAND.EVENT_BINARY_CHANGE));
});

t.test('who may', async (t) => {
  const api = await startApi(t);
  const roles = {
    read: 'ROLE_BINARY_READ',
    create: 'ROLE_BINARY_CREATE',
    admin: 'ROLE_BINARY_ADMIN',
    device: 'ROLE_DEVICE',
    inventory: 'ROLE_INVENTORY_READ',
    nobody: 'ROLE_ALARM_ADMIN',
  };
  for (const [user, role] of Object.entries(roles)) api.fake.addUser(user, [role]);
  const file: Part = { name: 'file', fileName: 'f', content: 'x' };
  const { id } = (await upload(api, [file])).json;
  const as = (user: string): Record<string, string> => ({
    authorization: user === 'owner' ? ADMIN : basic(`t1/${user}`),
  });
  const rows: [string, string, Record<string, number>][] = [
    ['POST', PATH, { create: 201, admin: 201, read: 403, device: 403, inventory: 403, nobody: 403 }],
    ['GET', `${PATH}/${id}`, { read: 200, inventory: 200, device: 200, create: 403, nobody: 403 }],
    ['PUT', `${PATH}/${id}`, { admin: 201, create: 403, read: 403, device: 403, nobody: 403 }],
    ['GET', PATH, { read: 200, inventory: 200, nobody: 200 }],
    ['DELETE', `${PATH}/${id}`, { create: 403, device: 403, admin: 204 }],
  ];
  for (const [method, path, wants] of rows) {
    for (const [user, want] of Object.entries(wants)) {
      const reply =
        method === 'POST'
          ? await upload(api, [file], as(user))
          : await send(api, method, path, method === 'PUT' ? 'y' : undefined, as(user));
      t.equal(reply.status, want, `${method} ${path} as ${user}: ${reply.text}`);
    }
  }
  const own = await upload(api, [file], as('create'));
  t.equal((await send(api, 'GET', `${PATH}/${own.json.id}`, undefined, as('create'))).status, 200, 'its own');
  t.equal((await send(api, 'PUT', `${PATH}/${own.json.id}`, 'z', as('create'))).status, 201);
  t.equal((await send(api, 'DELETE', `${PATH}/${own.json.id}`, undefined, as('create'))).status, 204);
  t.equal((await send(api, 'POST', PATH, multipart([file]), { ...FORM, authorization: 'Basic eDp5' })).status, 401);
  t.equal((await fetch(`${api.url}${PATH}`, { method: 'POST', body: multipart([file]), headers: FORM })).status, 401);
  void DEVICE;
});

t.test('what is no file', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('7', { c8y_IsBinary: {} });
  for (const method of ['GET', 'PUT', 'DELETE']) {
    t.equal((await send(api, method, `${PATH}/7`, method === 'PUT' ? 'x' : undefined)).status, 404, method);
    t.equal((await send(api, method, `${PATH}/8`, method === 'PUT' ? 'x' : undefined)).status, 404, method);
  }
});

t.test('ranges', async (t) => {
  const table: [string, number, string][] = [
    ['', 10, 'whole'],
    ['bytes=0-3', 10, '0-3'],
    ['bytes=0-0', 10, '0-0'],
    ['bytes=4-', 10, '4-9'],
    ['bytes=-3', 10, '7-9'],
    ['bytes=-30', 10, '0-9'],
    ['bytes=8-100', 10, '8-9'],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=5-3', 10, 'whole'],
    ['bytes=-', 10, 'whole'],
    ['bytes=0-1,3-4', 10, 'whole'],
    ['lines=0-1', 10, 'whole'],
    ['BYTES=1-2', 10, '1-2'],
    ['bytes=x-', 10, 'whole'],
  ];
  for (const [header, length, want] of table) {
    const range = byteRangeOf(header, length);
    t.equal(
      range === undefined ? 'whole' : range === 'unsatisfiable' ? range : `${range.from}-${range.through}`,
      want,
      header,
    );
  }
  const api = await startApi(t);
  const { id } = (await upload(api, [{ name: 'file', fileName: 'f', content: '0123456789' }])).json;
  const part = await send(api, 'GET', `${PATH}/${id}`, undefined, { range: 'bytes=2-4' });
  t.match(
    {
      status: part.status,
      text: part.text,
      range: part.headers.get('content-range'),
      length: part.headers.get('content-length'),
    },
    { status: 206, text: '234', range: 'bytes 2-4/10', length: '3' },
  );
  const beyond = await send(api, 'GET', `${PATH}/${id}`, undefined, { range: 'bytes=10-' });
  t.match({ status: beyond.status, range: beyond.headers.get('content-range') }, { status: 416, range: 'bytes */10' });
  const head = await send(api, 'HEAD', `${PATH}/${id}`, undefined);
  t.match({ status: head.status, length: head.headers.get('content-length') }, { status: 200, length: '10' });
});

t.test('a download that is resumed is of one content', async (t) => {
  const api = await startApi(t);
  const { id } = (await upload(api, [{ name: 'file', fileName: 'f', content: '0123456789' }])).json;
  const get = (headers: Record<string, string>) => send(api, 'GET', `${PATH}/${id}`, undefined, headers);
  const tag = (await get({})).headers.get('etag') as string;
  t.match(tag, /^"[\w-]{22}"$/);
  t.match(await get({ range: 'bytes=2-4', 'if-range': tag }), { status: 206, text: '234' });
  t.match(await get({ range: 'bytes=2-4', 'if-range': '"other"' }), { status: 200, text: '0123456789' });
  t.match(
    await get({ range: 'bytes=20-', 'if-range': `W/${tag}` }),
    { status: 200, text: '0123456789' },
    'a weak tag is none',
  );
  const same = await get({ 'if-none-match': `"other", ${tag}` });
  t.match({ status: same.status, text: same.text, tag: same.headers.get('etag') }, { status: 304, text: '', tag });
  await send(api, 'PUT', `${PATH}/${id}`, 'abcdefghij', { 'content-type': 'text/plain' });
  t.match(
    await get({ range: 'bytes=2-4', 'if-range': tag }),
    { status: 200, text: 'abcdefghij' },
    'replaced meanwhile',
  );
  t.match(await get({ 'if-none-match': tag }), { status: 200 });
});

t.test('headers', async (t) => {
  for (const [name, want] of [
    ['a.log', 'attachment; filename="a.log"'],
    ['a"b\\c', 'attachment; filename="a_b_c"; filename*=UTF-8\'\'a%22b_c'],
    ['ä\r\nX: y', 'attachment; filename="___X: y"; filename*=UTF-8\'\'%C3%A4__X%3A%20y'],
    ['../etc/passwd', 'attachment; filename=".._etc_passwd"'],
    [
      `${'a'.repeat(300)}.log`,
      `attachment; filename="${'a'.repeat(99)}_${'a'.repeat(96)}.log"; filename*=UTF-8''${'a'.repeat(99)}%E2%80%A6${'a'.repeat(96)}.log`,
    ],
    ["it's (1)", 'attachment; filename="it\'s (1)"'],
  ])
    t.equal(attachmentHeader(name), want);
  for (const type of [
    'text/plain',
    'text/plain; charset=utf-8',
    'text/plain;charset="UTF-8"',
    'application/vnd.ms-excel',
    'a/b+json;v=0.9',
  ])
    t.ok(isMediaType(type), type);
  for (const type of ['', 'text', 'a/b\r\nX: y', 'a b/c', 'a/b;', '/', 'c8y_Firmware', 'a/b; c="\n"'])
    t.notOk(isMediaType(type), type);
});

t.test('a list has the filters of its own', async (t) => {
  const api = await startApi(t);
  api.fake.put('managedObject', '5', '{"id":"5","name":"f","c8y_IsBinary":{}}');
  api.fake.rows = [[{ entityId: '5' }]];
  const { json } = await api.call(
    'GET',
    `${PATH}?type=text/plain&owner=admin&ids=5,6&text=f&childAssetId=9&pageSize=2`,
  );
  t.match(json, { managedObjects: [{ id: '5', self: `${api.url}${PATH}/5` }], statistics: { pageSize: 2 } });
  const [{ sql }] = api.fake.asked;
  for (const condition of ['has(fragments', 'type =', 'owner =', 'id IN', 'startsWith'])
    t.ok(sql.includes(condition), condition);
  await api.call('GET', `${PATH}?ids=`);
  t.match(api.fake.asked.at(-1)?.sql, / 0 /, 'no ids: none');
});

t.test('a large file goes through in pieces, at the pace of its reader', async (t) => {
  const api = await startApi(t, { config: { fileMaxBytes: 30_000_000, bodiesBytesMax: 12_000_000 } });
  const content = randomBytes(20_000_000);
  let most = 0;
  const { blobs } = api.fake;
  const put = blobs.put.bind(blobs);
  blobs.put = (pieces, limit) =>
    put(
      (async function* slowly() {
        for await (const piece of pieces) {
          most = Math.max(most, api.server.bodies.bytes);
          if (Math.random() < 0.05)
            await new Promise((resolve) => {
              setTimeout(resolve, 2);
            });
          yield piece;
        }
      })(),
      limit,
    );
  const posted = await upload(api, [{ name: 'file', fileName: 'large', content }]);
  t.equal(posted.status, 201, posted.text);
  t.equal(posted.json.length, content.length);
  // The library goes on reading what the kernel has already received after it was told to pause.
  t.ok(most < 12_000_000, `at most ${most} bytes waited`);
  t.equal(api.server.bodies.bytes, 0);
  // The client reads slowly: the answer waits.
  const read = await new Promise<Buffer>((resolve, reject) => {
    httpRequest(`${api.url}${PATH}/${posted.json.id}`, { headers: { authorization: ADMIN } }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => {
        pieces.push(piece);
        if (pieces.length % 40 !== 0) return;
        response.pause();
        setTimeout(() => response.resume(), 3);
      });
      response.on('end', () => resolve(Buffer.concat(pieces)));
    })
      .on('error', reject)
      .end();
  });
  t.ok(read.equals(content));
  t.equal(api.server.requestCount, 0);
});

t.test('a client that goes leaves nothing behind', async (t) => {
  const api = await startApi(t);
  await new Promise<void>((resolve) => {
    const request = httpRequest(`${api.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: ADMIN, ...FORM, 'content-length': '1000000' },
    });
    request.on('error', () => resolve());
    request.write(multipart([{ name: 'file', fileName: 'f', content: 'x'.repeat(1_000) }]).subarray(0, 900));
    setTimeout(() => request.destroy(new Error('gone')), 50);
  });
  await until('no request is under way', () => api.server.requestCount === 0);
  t.equal(api.server.bodies.bytes, 0);
  t.equal(api.fake.blobs.contents.size, 0);
  t.same(api.fake.failures, []);
});
