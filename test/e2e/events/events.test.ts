/** Events and their binaries on a running server: docs/spec/events.md. */
import t from 'tap';
import { Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import type { Reply, RequestOptions } from '../../helpers/running/server.ts';
import { BayeuxSocket } from '../../helpers/running/bayeux.ts';

const server = await startServer(t);
const { rest } = server;
const TIME = '2024-05-02T10:00:00.000Z';
const at = (minute: number): string => `2024-05-02T10:${String(minute).padStart(2, '0')}:00.000Z`;
const DAY_MS = 86_400_000;
const MIB = 1_048_576;

const eventOf = (source: string, type: string, more: object = {}): object => ({
  source: { id: source },
  type,
  text: `text of ${type}`,
  time: TIME,
  ...more,
});
const create = (source: string, type: string, more: object = {}): Promise<any> =>
  rest.create('/event/events', eventOf(source, type, more));
const typesOf = async (query: string): Promise<string> =>
  ((await rest.read(`/event/events?pageSize=100&${query}`)).events as { type: string }[])
    .map(({ type }) => type)
    .join('');
async function userWith(name: string, roles: readonly string[]): Promise<Rest> {
  await rest.create(`/user/${TENANT}/users`, {
    userName: name,
    password: 'secret-Pass-1',
    roles: { references: roles.map((id) => ({ role: { id } })) },
  });
  return new Rest(server.url, `${TENANT}/${name}`, 'secret-Pass-1');
}

t.test('fields (docs/spec/events.md#fields)', async (t) => {
  const device = await rest.createDevice('Door');
  const reply = await rest.post('/event/events/', {
    ...eventOf(device, 'opened'),
    id: '1',
    creationTime: 'x',
    lastUpdated: 'x',
    c8y_Extra: [1],
  });
  const event = reply.json;
  t.match(reply, { status: 201 });
  t.equal(reply.headers.get('location'), event.self);
  t.match(event, {
    self: `${server.url}/event/events/${event.id}`,
    type: 'opened',
    text: 'text of opened',
    time: TIME,
    c8y_Extra: [1],
    source: { id: device, name: 'Door', self: `${server.url}/inventory/managedObjects/${device}` },
  });
  t.ok(Math.abs(Date.parse(event.creationTime) - Date.now()) < 60_000);
  t.same(await rest.read(`/event/events/${event.id}`), event);
  const path = `/event/events/${event.id}`;
  t.match(
    (
      await rest.put(path, {
        text: 'new',
        c8y_Extra: null,
        c8y_More: {},
        type: 'opened',
        time: '2024-05-02T12:00:00+02:00',
      })
    ).json,
    { text: 'new', c8y_Extra: undefined, c8y_More: {} },
  );
  for (const body of [
    { type: 'y' },
    { time: at(1) },
    { source: { id: '1' } },
    { creationTime: at(1) },
    { id: '5' },
    { text: 5 },
    { text: null },
  ]) {
    t.equal((await rest.put(path, body)).status, 422, JSON.stringify(body));
  }
  t.match(await rest.post('/event/events', {}), {
    status: 422,
    json: { message: 'Following mandatory fields should be included: source,text,time,type' },
  });
  t.equal((await rest.post('/event/events', eventOf('999999', 'x'))).status, 422);
  t.equal((await rest.delete(path)).status, 204);
  for (const method of ['GET', 'DELETE']) {
    t.match(
      await rest.request(method, path),
      { status: 404, json: { error: 'event/Not Found', message: /^Finding event from database failed/ } },
      method,
    );
  }
  t.match(await rest.put(path, { text: 'x' }), { status: 404 });
});

t.test('filters of the list, the count and DELETE (docs/spec/events.md#lists)', async (t) => {
  const [device, child] = [await rest.createDevice('Root'), await rest.createDevice('Child')];
  const asset = (await rest.create('/inventory/managedObjects', { name: 'Asset' })).id as string;
  await rest.post(`/inventory/managedObjects/${device}/childDevices`, { managedObject: { id: child } });
  await rest.post(`/inventory/managedObjects/${device}/childAssets`, { managedObject: { id: asset } });
  await create(device, 'a', { time: at(1), c8y_F: 'text', 'od"d\\': 'x', status: 'open', name: 'n', count: 1 });
  await create(device, 'b', { time: at(2), c8y_F: 5 });
  await create(device, 'c', { time: at(3), c8y_F: { x: true } });
  await create(child, 'd', { time: at(4) });
  await create(asset, 'e', { time: at(5) });
  const yesterday = new Date(Date.now() - DAY_MS).toISOString();
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString();
  const source = `source=${device}`;
  const range = 'dateFrom=2024-05-01&dateTo=2024-05-03';
  const cases: [string, string][] = [
    [source, 'cba'],
    [`${source}&revert=true`, 'cba'],
    [`${source}&${range}`, 'cba'],
    [`${source}&${range}&revert=true`, 'abc'],
    [`${source}&dateFrom=${at(2)}&revert=true`, 'bc'],
    [`${source}&dateTo=${at(2)}`, 'ba'],
    [`${source}&type=b`, 'b'],
    [`${source}&type=a,b`, ''],
    [`${source}&fragmentType=c8y_F`, 'cba'],
    [`${source}&fragmentType=c8y_G`, ''],
    [`${source}&fragmentType=od%22d%5C&fragmentValue=x`, 'a'],
    [`${source}&fragmentType=c8y_F&fragmentValue=text`, 'a'],
    [`${source}&fragmentType=status&fragmentValue=open`, 'a'],
    [`${source}&fragmentType=name`, 'a'],
    [`${source}&fragmentType=count&fragmentValue=1`, 'a'],
    [`${source}&fragmentType=text`, ''],
    [`${source}&fragmentType=c8y_F&fragmentValue=5`, 'b'],
    [`${source}&fragmentType=c8y_F&fragmentValue=TEXT`, ''],
    [`${source}&createdFrom=${yesterday}&createdTo=${tomorrow}`, 'cba'],
    [`${source}&createdFrom=${tomorrow}`, ''],
    [`${source}&lastUpdatedFrom=${yesterday}&lastUpdatedTo=${tomorrow}`, 'cba'],
    [`${source}&lastUpdatedTo=${yesterday}`, ''],
    [`${source}&withSourceDevices=true`, 'dcba'],
    [`${source}&withSourceAssets=true`, 'ecba'],
    [`${source}&withSourceAssets=true&withSourceDevices=true`, 'edcba'],
    ['source=x', ''],
  ];
  for (const [query, want] of cases) {
    t.equal(await typesOf(query), want, query);
    t.equal((await rest.get(`/event/events/count?${query}`)).text, String(want.length), `count of ${query}`);
  }
  for (const wrong of ['fragmentValue=x', 'dateFrom=x', 'revert=1', 'pageSize=-1'])
    t.equal((await rest.get(`/event/events?${wrong}`)).status, 422, wrong);
  t.equal(
    (await rest.delete(`/event/events?${source}&fragmentValue=x`)).status,
    422,
    'a filter that would be passed over',
  );
  const page = await rest.read(`/event/events?${source}&pageSize=2&withTotalPages=true`);
  t.match(page, { events: [{ type: 'c' }, { type: 'b' }], statistics: { currentPage: 1, pageSize: 2, totalPages: 2 } });
  t.match(await rest.read(page.next), { events: [{ type: 'a' }], prev: page.self, next: undefined });
  const all = `${source}&withSourceAssets=true&withSourceDevices=true`;
  for (const [query, left] of [
    ['fragmentType=c8y_F&fragmentValue=5', 'edca'],
    [`type=a&dateTo=${at(1)}`, 'edc'],
    [`createdFrom=${yesterday}`, 'ed'],
    ['withSourceDevices=true', 'e'],
  ]) {
    t.equal((await rest.delete(`/event/events?${source}&${query}`)).status, 204, query);
    await eventually(`only ${left} after ${query}`, async () => (await typesOf(all)) === left);
  }
});

t.test('roles (docs/spec/events.md#roles)', async (t) => {
  const users: Record<string, Rest> = {
    reader: await userWith('event-reader', ['ROLE_EVENT_READ']),
    admin: await userWith('event-admin', ['ROLE_EVENT_ADMIN']),
    owner: await userWith('event-owner', []),
  };
  const device = await rest.createDevice('Owned', { owner: 'event-owner' });
  const other = await rest.createDevice('Not owned');
  const [own, strange] = [(await create(device, 'own')).id, (await create(other, 'strange')).id];
  const raw: RequestOptions = { body: 'abc', headers: { 'content-type': 'text/plain' } };
  const cases: [string, string, RequestOptions, Record<string, number>][] = [
    ['GET', `/event/events/${own}`, {}, { reader: 200, admin: 403, owner: 200 }],
    ['GET', `/event/events/${strange}`, {}, { reader: 200, owner: 403 }],
    ['POST', '/event/events', { body: eventOf(device, 'x') }, { reader: 403, admin: 201, owner: 201 }],
    ['POST', '/event/events', { body: eventOf(other, 'x') }, { reader: 403, admin: 201, owner: 403 }],
    ['PUT', `/event/events/${own}`, { body: { text: 'x' } }, { reader: 403, admin: 200, owner: 200 }],
    ['PUT', `/event/events/${strange}`, { body: { text: 'x' } }, { reader: 403, admin: 200, owner: 403 }],
    ['DELETE', '/event/events?type=none', {}, { reader: 403, admin: 204, owner: 403 }],
    ['POST', `/event/events/${own}/binaries`, raw, { reader: 403, owner: 201 }],
    ['POST', `/event/events/${strange}/binaries`, raw, { reader: 403, owner: 403, admin: 201 }],
    ['GET', `/event/events/${own}/binaries`, {}, { reader: 200, owner: 200, admin: 403 }],
    ['GET', `/event/events/${strange}/binaries`, {}, { owner: 403 }],
    ['PUT', `/event/events/${own}/binaries`, raw, { reader: 403, owner: 201, admin: 201 }],
    ['DELETE', `/event/events/${own}/binaries`, {}, { reader: 403, owner: 204 }],
    ['DELETE', `/event/events/${strange}`, {}, { reader: 403, owner: 403, admin: 204 }],
    ['GET', '/event', {}, { reader: 200 }],
  ];
  for (const [method, path, options, want] of cases) {
    for (const [name, status] of Object.entries(want))
      t.equal((await users[name].request(method, path, options)).status, status, `${method} ${path} as ${name}`);
  }
});

const authorization = `Basic ${Buffer.from(`${TENANT}/admin:mill-Race-7`).toString('base64')}`;

/** Bodies of bytes. */
async function send(
  method: string,
  path: string,
  body: string | Uint8Array<ArrayBuffer> | FormData | undefined,
  headers: Record<string, string> = {},
): Promise<Reply & { bytes: Buffer }> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization, accept: 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  return {
    status: response.status,
    headers: response.headers,
    text,
    bytes,
    get json() {
      return JSON.parse(text);
    },
  } as Reply & { bytes: Buffer };
}
const bytesOf = (length: number): Buffer => Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 7) % 251));

t.test('a binary in one piece (docs/spec/events.md#binaries)', async (t) => {
  const live = await BayeuxSocket.open(t, server, '/cep/realtime');
  const device = await rest.createDevice('Camera');
  const event = await create(device, 'picture');
  const path = `/event/events/${event.id}/binaries`;
  const self = `${server.url}${path}`;
  await live.subscribe(`/events/${device}`, `/eventsWithChildren/${device}`);
  t.match(await send('GET', path, undefined), {
    status: 404,
    json: { error: 'Not Found', message: 'Attachment not found' },
  });
  t.match(await send('PUT', path, 'x'), { status: 404, json: { message: 'Attachment not found' } });
  t.match(await send('DELETE', path, undefined), { status: 404 });
  const content = bytesOf(300_000);
  const posted = await send('POST', path, new Uint8Array(content), { 'content-type': 'image/png' });
  t.equal(posted.status, 201);
  t.same(posted.json, { self, type: 'image/png', source: event.id, length: 300_000 });
  t.equal(posted.headers.get('location'), self);
  t.match(await rest.read(`/event/events/${event.id}`), {
    c8y_IsBinary: { name: event.id, type: 'image/png', length: 300_000 },
    c8y_IsIncompleteBinary: undefined,
  });
  const got = await send('GET', path, undefined, { accept: '*/*' });
  t.equal(got.status, 200);
  t.ok(got.bytes.equals(content));
  t.equal(got.headers.get('content-type'), 'image/png');
  t.equal(got.headers.get('content-disposition'), `attachment; filename="${event.id}"`);
  t.equal(got.headers.get('content-length'), '300000');
  t.match(await send('POST', path, 'again'), {
    status: 409,
    json: { error: 'Duplicate', message: 'Attachment already exists' },
  });
  t.match(await send('POST', path, 'again', { 'content-range': 'bytes 0-4/5' }), { status: 409 });
  const replaced = await send('PUT', path, 'other', {
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': 'attachment; filename="a \\"b\\".txt"',
  });
  t.match(replaced, {
    status: 201,
    json: { self, name: 'a "b".txt', type: 'text/plain; charset=utf-8', source: event.id, length: 5 },
  });
  t.match(await send('GET', path, undefined), { status: 200, text: 'other' });
  t.match(await rest.read(`/event/events/${event.id}`), { c8y_IsBinary: { name: 'a "b".txt', length: 5 } });
  t.match(await rest.read(`/event/events?source=${device}&fragmentType=c8y_IsBinary`), { events: [{ id: event.id }] });
  t.equal((await send('DELETE', path, undefined)).status, 204);
  t.equal((await send('GET', path, undefined)).status, 404);
  t.equal((await send('DELETE', path, undefined)).status, 404);
  t.equal((await rest.read(`/event/events/${event.id}`)).c8y_IsBinary, undefined);
  t.equal((await send('POST', path, '', {})).json.length, 0, 'an empty one');
  t.match(await send('GET', path, undefined), { status: 200, text: '' });
  await rest.delete(`/event/events/${event.id}`);
  for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
    t.match(
      await send(method, path, method.startsWith('P') ? 'x' : undefined),
      { status: 404, json: { error: 'event/Not Found' } },
      `${method} without the event`,
    );
  }
  await live.message((message) => message['data'][0].realtimeAction === 'DELETE');
  const seen = (channel: string): string =>
    live.messages
      .filter((message) => message['channel'] === channel)
      .map((message) => message['data'][0].realtimeAction[0])
      .join('');
  t.equal(seen(`/events/${device}`), 'UUUUD');
  t.equal(seen(`/eventsWithChildren/${device}`), 'UUUUD');
});

t.test('a binary in chunks that is replaced, or goes with its event, during a download', async (t) => {
  const device = await rest.createDevice('Slow reader');
  const whole = 4 * 5 * MIB;
  for (const end of ['PUT', 'DELETE', 'event'] as const) {
    const event = await create(device, 'picture');
    const path = `/event/events/${event.id}/binaries`;
    const chunk = new Uint8Array(bytesOf(5 * MIB));
    for (let start = 0; start < whole; start += 5 * MIB) {
      const { status } = await send('POST', path, chunk, {
        'content-range': `bytes ${start}-${start + 5 * MIB - 1}/${whole}`,
      });
      t.equal(status, start + 5 * MIB === whole ? 201 : 200);
    }
    const { body } = await fetch(server.url + path, { headers: { authorization, accept: '*/*' } });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    let bytes = (await reader.read()).value?.length ?? 0;
    if (end === 'event') t.equal((await rest.delete(`/event/events/${event.id}`)).status, 204);
    else t.equal((await send(end, path, end === 'PUT' ? 'other' : undefined)).status, end === 'PUT' ? 201 : 204);
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) bytes += piece.value.length;
    t.equal(bytes, whole, end);
  }
});

t.test('a binary as a form (docs/spec/events.md#binaries)', async (t) => {
  const device = await rest.createDevice('Form');
  const forms: [string, (form: FormData) => void, object | undefined][] = [
    [
      'object and file',
      (form) => {
        form.append('object', '{"name":"log.txt","type":"text/x-log"}');
        form.append('file', new Blob(['content'], { type: 'text/plain' }), 'f.bin');
      },
      { name: 'log.txt', type: 'text/x-log', length: 7 },
    ],
    [
      'file and object',
      (form) => {
        form.append('file', new Blob(['content'], { type: 'text/plain' }), 'f.bin');
        form.append('object', '{"name":"log.txt"}');
      },
      { name: 'log.txt', type: 'text/plain', length: 7 },
    ],
    [
      'a file alone',
      (form) => form.append('file', new Blob(['content']), 'ä.bin'),
      { name: 'ä.bin', type: 'application/octet-stream', length: 7 },
    ],
    [
      'a file by another name',
      (form) => form.append('picture', new Blob(['content'], { type: 'image/png' }), 'p.png'),
      { name: 'p.png', type: 'image/png' },
    ],
    ['no file', (form) => form.append('object', '{}'), undefined],
    [
      'two files',
      (form) => {
        form.append('file', new Blob(['a']), 'a');
        form.append('file2', new Blob(['b']), 'b');
      },
      undefined,
    ],
    [
      'an object that is no JSON',
      (form) => {
        form.append('object', '{');
        form.append('file', new Blob(['a']), 'a');
      },
      undefined,
    ],
  ];
  for (const [what, fill, want] of forms) {
    const { id } = await create(device, 'form');
    const form = new FormData();
    fill(form);
    const reply = await send('POST', `/event/events/${id}/binaries`, form);
    if (want === undefined) {
      t.match(reply, { status: 400, json: { error: 'general/Bad Request' } }, what);
      t.equal((await send('GET', `/event/events/${id}/binaries`, undefined)).status, 404);
      continue;
    }
    t.match(reply, { status: 201, json: { ...want, source: id } }, what);
    t.match(await send('GET', `/event/events/${id}/binaries`, undefined), { status: 200, text: 'content' }, what);
  }
});

t.test('a binary in chunks (docs/spec/events.md#binaries)', async (t) => {
  const device = await rest.createDevice('Chunks');
  const { id } = await create(device, 'chunked');
  const path = `/event/events/${id}/binaries`;
  const self = `${server.url}${path}`;
  const content = bytesOf(1_000);
  const chunk = (range: string, from: number, through: number): ReturnType<typeof send> =>
    send('POST', path, new Uint8Array(content.subarray(from, through + 1)), {
      'content-type': 'application/zip',
      'content-range': range,
    });
  const first = await chunk('0-299/*', 0, 299);
  t.equal(first.status, 200);
  t.same(first.json, { self, type: 'application/zip', source: id, range: '0-299/*' });
  t.match(await rest.read(`/event/events/${id}`), {
    c8y_IsIncompleteBinary: { range: '0-299/*' },
    c8y_IsBinary: undefined,
  });
  t.equal((await send('GET', path, undefined)).status, 404, 'a part is nothing');
  t.equal((await send('PUT', path, 'x')).status, 404);
  const refused: [string, number, number, RegExp][] = [
    ['400-499/*', 400, 499, /the next byte is 300/],
    ['200-399/*', 200, 399, /the next byte is 300/],
    ['300-399/*', 300, 350, /the body has 51 bytes/],
    ['300-299/*', 300, 300, /Content-Range takes/],
    ['300-399/350', 300, 399, /Content-Range takes/],
    ['x', 300, 399, /Content-Range takes/],
  ];
  for (const [range, from, through, message] of refused) {
    t.match(await chunk(range, from, through), { status: 422, json: { error: 'event/Invalid Data', message } }, range);
  }
  t.match(
    await chunk('bytes 300-599/1000', 300, 599),
    { status: 200, json: { range: '300-599/1000' } },
    'with the unit, and the length early',
  );
  t.match(
    await chunk('300-599/1000', 300, 599),
    { status: 200, json: { range: '300-599/1000' } },
    'sent again since the answer was lost',
  );
  t.match(
    await chunk('300-599/1000', 0, 299),
    { status: 422, json: { message: /300-599\/1000.*the next byte is 600/ } },
    'other bytes are no repetition',
  );
  const last = await chunk('600-999/1000', 600, 999);
  t.equal(last.status, 201);
  t.same(last.json, { self, type: 'application/zip', source: id, length: 1_000 });
  t.equal((await chunk('600-999/1000', 600, 999)).status, 201, 'also the last one');
  t.match(
    await chunk('600-999/1000', 1, 400),
    { status: 409, json: { message: 'Attachment already exists' } },
    'with other bytes it is no repetition',
  );
  t.match(await chunk('600-999/1000', 600, 900), { status: 409 }, 'nor with fewer');
  t.match(await rest.read(`/event/events/${id}`), {
    c8y_IsBinary: { type: 'application/zip', length: 1_000 },
    c8y_IsIncompleteBinary: undefined,
  });
  t.ok((await send('GET', path, undefined)).bytes.equals(content));
  t.match(await send('PUT', path, 'x', { 'content-range': '0-0/1' }), {
    status: 422,
    json: { error: 'event/Invalid Data', message: /0-0\/1.*POST/ },
  });
  t.ok((await send('GET', path, undefined)).bytes.equals(content), 'a chunk replaces nothing');
  t.equal((await chunk('0-299/*', 0, 299)).status, 409);
  await send('DELETE', path, undefined);
  await chunk('0-99/*', 0, 99);
  t.equal((await chunk('0-199/*', 0, 199)).status, 200, 'begun anew');
  t.equal((await chunk('200-299/300', 200, 299)).status, 201);
  t.ok((await send('GET', path, undefined)).bytes.equals(content.subarray(0, 300)));
  await send('DELETE', path, undefined);
  await chunk('0-99/*', 0, 99);
  t.equal((await send('DELETE', path, undefined)).status, 204, 'a broken off upload can be given up');
  t.equal((await chunk('0-99/100', 0, 99)).status, 201, 'one chunk that is the last');
  await send('DELETE', path, undefined);
  t.equal((await chunk('0-4/10', 0, 4)).status, 200, 'the length is said once');
  for (const [range, from, through] of [
    ['5-9/11', 5, 9],
    ['5-10/*', 5, 10],
    ['5-8/9', 5, 8],
  ] as const) {
    t.match(
      await chunk(range, from, through),
      { status: 422, json: { message: /an earlier chunk has said 10 bytes/ } },
      range,
    );
  }
  t.match(await chunk('5-9/*', 5, 9), { status: 201, json: { length: 10 } }, 'and ends it');
  t.equal((await chunk('5-9/*', 5, 9)).status, 201, 'repeated');
});

t.test('limits: 50 MiB, 5 MiB a chunk (docs/spec/events.md#limits)', async (t) => {
  const device = await rest.createDevice('Large');
  const { id } = await create(device, 'large');
  const path = `/event/events/${id}/binaries`;
  const large = new Uint8Array(50 * MIB + 1);
  t.match(await send('POST', path, large), {
    status: 413,
    json: { message: `The body has more than ${50 * MIB} bytes` },
  });
  const form = new FormData();
  form.append('file', new Blob([large]), 'f');
  t.match(await send('POST', path, form), { status: 413 });
  const ranges: [string, number][] = [
    [`0-${5 * MIB}/*`, 5],
    [`0-9/${50 * MIB + 1}`, 50],
    [`${50 * MIB}-${50 * MIB + 9}/*`, 50],
  ];
  for (const [range, limit] of ranges) {
    t.match(
      await send('POST', path, 'x', { 'content-range': range }),
      { status: 413, json: { message: `The body has more than ${limit * MIB} bytes` } },
      range,
    );
  }
  t.match(
    await send('POST', path, large.subarray(0, 5 * MIB + 1), { 'content-range': `0-${5 * MIB - 1}/*` }),
    { status: 413 },
    'more than announced',
  );
  const fits = await send('POST', path, large.subarray(0, 50 * MIB));
  t.match(fits, { status: 201, json: { length: 50 * MIB } });
  t.equal((await send('GET', path, undefined)).bytes.length, 50 * MIB);
  const metrics = await server.metricsText();
  t.match(metrics, /millrace_refusals_total\{limit="events\/binary-bytes"\} [6-9]/);
});

t.test('two uploads at once: one of them', async (t) => {
  const { id } = await create(await rest.createDevice('Race'), 'race');
  const path = `/event/events/${id}/binaries`;
  const replies = await Promise.all(Array.from({ length: 6 }, (_, index) => send('POST', path, `content ${index}`)));
  t.same(replies.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
  t.equal((await send('GET', path, undefined)).text, `content ${replies.findIndex(({ status }) => status === 201)}`);
});
