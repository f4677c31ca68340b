/** Answers of a running server are what its /openapi.json says: status, type and, for JSON, schema. */
import Ajv2020 from 'ajv/dist/2020.js';
import t from 'tap';
import type { Test } from 'tap';
import { startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const document = await rest.read('/openapi.json');
const ajv = new (Ajv2020 as unknown as typeof Ajv2020.default)({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'api', components: document.components });

const device = await rest.createDevice('device');
const common = { source: { id: device }, time: new Date().toISOString(), type: 'x_Type', text: 'x' };
const measurement = await rest.create('/measurement/measurements', { ...common, x_F: { A: { value: 1 } } });
const PARAMETERS: Readonly<Record<string, string>> = {
  tenant: 't1',
  userId: 'admin',
  type: 'x_Serial',
  externalId: 'x-1',
  category: 'access.control',
  key: 'allow.origin',
};
/** Ids by the beginning of their paths. */
const IDS: readonly (readonly [path: string, id: string])[] = [
  ['/event/events', (await rest.create('/event/events', common)).id],
  ['/alarm/alarms', (await rest.create('/alarm/alarms', { ...common, severity: 'MAJOR' })).id],
  ['/measurement', measurement.id],
  ['/devicecontrol/operations', (await rest.create('/devicecontrol/operations', { deviceId: device })).id],
  ['/audit', (await rest.create('/audit/auditRecords', { ...common, activity: 'x' })).id],
  ['/retention/retentions', '1'],
  [
    '/notification2',
    (await rest.create('/notification2/subscriptions', { context: 'mo', source: { id: device }, subscription: 'x' }))
      .id,
  ],
  ['/devicecontrol/newDeviceRequests', (await rest.create('/devicecontrol/newDeviceRequests', { id: 'x-request' })).id],
  ['/user/inventoryroles', '1'],
  ['/user/{tenant}/groups', '1'],
  ['/inventory', device],
  ['/identity', device],
  ['/user/devicePermissions', device],
];
await rest.create(`/identity/globalIds/${device}/externalIds`, { type: 'x_Serial', externalId: 'x-1' });

t.test('every GET that can be called', async (t) => {
  let count = 0;
  for (const [path, item] of Object.entries<any>(document.paths)) {
    if (item.get === undefined || /realtime|\/notification\/|\/notifications/.test(path)) continue;
    const id = IDS.find(([start]) => path.startsWith(start))?.[1];
    const target = path.replace(/\{(\w+)\}/g, (all, name: string) =>
      name === 'id' ? (id ?? all) : (PARAMETERS[name] ?? all),
    );
    if (target.includes('{')) continue;
    const { status, headers, text } = await rest.get(target);
    const answer = item.get.responses[status];
    if (status !== 200 || answer === undefined) {
      t.ok(status < 500, `GET ${target}: ${status}`);
      continue;
    }
    const type = (headers.get('content-type') ?? '').split(';')[0];
    if (text === '') continue;
    const media = answer.content?.[type] ?? answer.content?.['*/*'];
    t.ok(media !== undefined, `GET ${target}: ${type} is documented`);
    if (media?.schema === undefined || type !== 'application/json') continue;
    const reference = (media.schema.$ref as string | undefined)?.slice(1);
    const isRight = reference === undefined ? true : ajv.validate({ $ref: `api#${reference}` }, JSON.parse(text));
    t.ok(isRight, `GET ${target}: ${ajv.errorsText()} ${text.slice(0, 200)}`);
    count += 1;
  }
  t.ok(count > 35, `${count} answers were compared`);
});

/** Plain JSON, and the vendor type when it is named. */
function check(t: Test, path: string, method: string, status: number, value: unknown, vendor?: string): void {
  const { content } = document.paths[path][method].responses[status];
  for (const type of [
    'application/json',
    ...(vendor === undefined ? [] : [`application/vnd.com.nsn.platform.${vendor}+json`]),
  ]) {
    const told = `${method} ${path} ${type}: ${JSON.stringify(value).slice(0, 200)}`;
    t.ok(ajv.validate({ $ref: `api${content[type].schema.$ref}` }, value), `${told}: ${ajv.errorsText()}`);
  }
}

t.test('a count as plain text', async (t) => {
  for (const path of ['/event/events/count', '/alarm/alarms/count', '/inventory/managedObjects/count']) {
    const { status, headers, text } = await rest.request('GET', path, { headers: { accept: 'text/plain' } });
    t.match(
      { status, type: headers.get('content-type'), text },
      { status: 200, type: /^text\/plain/, text: /^\d+$/ },
      path,
    );
    t.match((await rest.get(path)).headers.get('content-type'), /^application\/json/);
    t.ok(document.paths[path].get.responses['200'].content['text/plain']);
  }
});

t.test('what a POST answers', async (t) => {
  const app = await server.management.create('/application/applications', {
    name: 'described',
    key: 'described-key',
    type: 'MICROSERVICE',
  });
  const group = await rest.create('/user/t1/groups', {
    name: 'described',
    devicePermissions: null,
    customProperties: null,
    applications: null,
  });
  t.notHas(group, { devicePermissions: null }, 'null is nothing');
  t.equal((await rest.get(`/user/devicePermissions/${device}`)).status, 200);
  const one = { ...common, x_F: { A: { value: 1 } } };
  const posts: readonly (readonly [path: string, body: object])[] = [
    ['/event/events', common],
    ['/alarm/alarms', { ...common, severity: 'MINOR' }],
    ['/inventory/managedObjects', { name: 'x' }],
    ['/devicecontrol/operations', { deviceId: device }],
    ['/measurement/measurements', one],
  ];
  for (const [path, body] of posts) {
    const stored = await rest.request('POST', path, { body, headers: { accept: 'application/json' } });
    t.equal(stored.status, 201, path);
    check(t, path, 'post', 201, stored.json);
    t.match(document.paths[path].post.responses['201'].description, /has the id null/);
    const { status, json } = await rest.request('POST', path, {
      body,
      headers: { 'x-cumulocity-processing-mode': 'TRANSIENT', accept: 'application/json' },
    });
    t.match({ status, json }, { status: 201, json: { id: null } }, `${path}: not stored`);
    check(t, path, 'post', 201, json);
  }
  check(t, '/user/{tenant}/groups', 'post', 201, group);
  check(
    t,
    '/application/applications/{id}/bootstrapUser',
    'get',
    200,
    await server.management.read(`/application/applications/${app.id}/bootstrapUser`),
  );
  check(t, '/tenant/system/options/{category}', 'get', 200, await rest.read('/tenant/system/options/system'));
});

t.test('answers of another form than the usual one', async (t) => {
  const accept = 'application/json';
  const send = async (
    method: string,
    path: string,
    body: object | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<any> => {
    const { status, json } = await rest.request(method, path, { body, headers: { accept, ...headers } });
    return { status, json };
  };
  const event = await rest.create('/event/events', common);
  const type = 'application/octet-stream';
  const first = await send('POST', `/event/events/${event.id}/binaries`, 'abc', {
    'content-type': type,
    'content-range': '0-2/6',
  });
  t.match(first, { status: 200, json: { range: '0-2/6' } });
  check(t, '/event/events/{id}/binaries', 'post', 200, first.json, 'eventBinary');
  const last = await send('POST', `/event/events/${event.id}/binaries`, 'def', {
    'content-type': 'image/png',
    'content-range': '3-5/6',
  });
  t.match(last, { status: 201, json: { length: 6 } });
  check(t, '/event/events/{id}/binaries', 'post', 201, last.json, 'eventBinary');
  const silent = await rest.create('/inventory/managedObjects', { c8y_RequiredAvailability: { responseInterval: -1 } });
  const suppressed = await send('POST', '/alarm/alarms', { ...common, source: { id: silent.id }, severity: 'MINOR' });
  t.match(suppressed, { status: 201, json: { id: null, self: /null$/ } });
  check(t, '/alarm/alarms', 'post', 201, suppressed.json, 'alarm');
  const one = '/inventory/managedObjects/{id}';
  const heartbeat = await send('PUT', `/inventory/managedObjects/${device}`, {});
  t.match(heartbeat, { status: 200, json: { id: device } });
  t.notOk('creationTime' in heartbeat.json);
  check(t, one, 'put', 200, heartbeat.json, 'managedObject');
  check(t, one, 'put', 200, (await send('PUT', `/inventory/managedObjects/${device}`, { a: 1 })).json, 'managedObject');
  const transient = await send(
    'PUT',
    `/inventory/managedObjects/${device}`,
    { a: 2 },
    { 'x-cumulocity-processing-mode': 'TRANSIENT' },
  );
  check(t, one, 'put', 200, transient.json, 'managedObject');
  for (const kind of ['childAssets', 'childDevices', 'childAdditions']) {
    const children = [await rest.createDevice('child'), await rest.createDevice('child')];
    const path = `/inventory/managedObjects/${device}/${kind}`;
    const answers = [
      ['managedObjectReference', await send('POST', path, { managedObject: { id: children[0] } })],
      [
        'managedObjectReferenceCollection',
        await send('POST', path, { references: children.map((id) => ({ managedObject: { id } })) }),
      ],
      ['managedObject', await send('POST', path, { name: 'new' })],
    ];
    for (const [vendor, { status, json }] of answers) {
      t.equal(status, 201, `${path}: ${JSON.stringify(json)}`);
      check(t, `${one}/${kind}`, 'post', 201, json, vendor);
    }
  }
  const measurements = [{ ...common, x_F: { A: { value: 1 } } }];
  for (const mode of ['PERSISTENT', 'TRANSIENT']) {
    const several = await send(
      'POST',
      '/measurement/measurements',
      { measurements },
      { 'x-cumulocity-processing-mode': mode },
    );
    t.equal(several.json.measurements.length, 1);
    check(t, '/measurement/measurements', 'post', 201, several.json, 'measurementCollection');
  }
});
