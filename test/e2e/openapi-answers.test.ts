/** Answers of a running server are what its /openapi.json says: status, type and, for JSON, schema. */
import Ajv2020 from 'ajv/dist/2020.js';
import t from 'tap';
import { startServer } from '../helpers/running-server.ts';

const server = await startServer(t);
const { rest } = server;
const document = await rest.read('/openapi.json');
const ajv = new (Ajv2020 as unknown as typeof Ajv2020.default)({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'api', components: document.components });

const device = await rest.createDevice('device');
const common = { source: { id: device }, time: new Date().toISOString(), type: 'x_Type', text: 'x' };
const measurement = await rest.create('/measurement/measurements', { ...common, x_F: { A: { value: 1 } } });
const PARAMETERS: Readonly<Record<string, string>> = { tenant: 't1', userId: 'admin', type: 'x_Serial', externalId: 'x-1', category: 'access.control', key: 'allow.origin' };
/** Ids by the beginning of their paths. */
const IDS: readonly (readonly [path: string, id: string])[] = [
  ['/event/events', (await rest.create('/event/events', common)).id], ['/alarm/alarms', (await rest.create('/alarm/alarms', { ...common, severity: 'MAJOR' })).id],
  ['/measurement', measurement.id], ['/devicecontrol/operations', (await rest.create('/devicecontrol/operations', { deviceId: device })).id],
  ['/audit', (await rest.create('/audit/auditRecords', { ...common, activity: 'x' })).id], ['/retention/retentions', '1'],
  ['/notification2', (await rest.create('/notification2/subscriptions', { context: 'mo', source: { id: device }, subscription: 'x' })).id],
  ['/devicecontrol/newDeviceRequests', (await rest.create('/devicecontrol/newDeviceRequests', { id: 'x-request' })).id],
  ['/user/inventoryroles', '1'], ['/user/{tenant}/groups', '1'], ['/inventory', device], ['/identity', device], ['/user/devicePermissions', device],
];
await rest.create(`/identity/globalIds/${device}/externalIds`, { type: 'x_Serial', externalId: 'x-1' });

t.test('every GET that can be called', async (t) => {
  let count = 0;
  for (const [path, item] of Object.entries<any>(document.paths)) {
    if (item.get === undefined || /realtime|\/notification\/|\/notifications/.test(path)) continue;
    const id = IDS.find(([start]) => path.startsWith(start))?.[1];
    const target = path.replace(/\{(\w+)\}/g, (all, name: string) => (name === 'id' ? id ?? all : PARAMETERS[name] ?? all));
    if (target.includes('{')) continue;
    const { status, headers, text } = await rest.get(target);
    const answer = item.get.responses[status];
    if (status !== 200 || answer === undefined) {
      t.ok(status < 500, `GET ${target}: ${status}`);
      continue;
    }
    const type = (headers.get('content-type') ?? '').split(';')[0];
    if (text === '') continue;
    const media = answer.content?.[type];
    t.ok(media !== undefined, `GET ${target}: ${type} is documented`);
    if (media?.schema === undefined || type !== 'application/json') continue;
    const reference = (media.schema.$ref as string | undefined)?.slice(1);
    const isRight = reference === undefined ? true : ajv.validate({ $ref: `api#${reference}` }, JSON.parse(text));
    t.ok(isRight, `GET ${target}: ${ajv.errorsText()} ${text.slice(0, 200)}`);
    count += 1;
  }
  t.ok(count > 35, `${count} answers were compared`);
});

t.test('what a POST answers', async (t) => {
  const app = await server.management.create('/application/applications', { name: 'described', key: 'described-key', type: 'MICROSERVICE' });
  const group = await rest.create('/user/t1/groups', { name: 'described', devicePermissions: null, customProperties: null, applications: null });
  t.notHas(group, { devicePermissions: null }, 'null is nothing');
  t.equal((await rest.get(`/user/devicePermissions/${device}`)).status, 200);
  const one = { ...common, x_F: { A: { value: 1 } } };
  const posts: readonly (readonly [path: string, body: object])[] = [
    ['/event/events', common], ['/alarm/alarms', { ...common, severity: 'MINOR' }], ['/inventory/managedObjects', { name: 'x' }],
    ['/devicecontrol/operations', { deviceId: device }], ['/measurement/measurements', one],
  ];
  const check = (path: string, method: string, status: number, value: unknown): void => {
    const { schema } = document.paths[path][method].responses[status].content['application/json'];
    t.ok(ajv.validate({ $ref: `api${schema.$ref}` }, value), `${method} ${path}: ${ajv.errorsText()} ${JSON.stringify(value).slice(0, 200)}`);
  };
  for (const [path, body] of posts) {
    const stored = await rest.request('POST', path, { body, headers: { accept: 'application/json' } });
    t.equal(stored.status, 201, path);
    check(path, 'post', 201, stored.json);
    t.match(document.paths[path].post.responses['201'].description, /has the id null/);
    const { status, json } = await rest.request('POST', path, { body, headers: { 'x-cumulocity-processing-mode': 'TRANSIENT', accept: 'application/json' } });
    t.match({ status, json }, { status: 201, json: { id: null } }, `${path}: not stored`);
  }
  check('/user/{tenant}/groups', 'post', 201, group);
  check('/application/applications/{id}/bootstrapUser', 'get', 200, await server.management.read(`/application/applications/${app.id}/bootstrapUser`));
  check('/tenant/system/options/{category}', 'get', 200, await rest.read('/tenant/system/options/system'));
});
