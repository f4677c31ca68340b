/** Document 1: what is no table row of fields, endpoints or states, in the document's order and with its numbers. */
import { LIMITS } from './limits.ts';
import { API_RESOURCES } from './roots.ts';
import type { RuleRow, RuleTable } from './rows.ts';
import { FUTURE, TIME } from './world.ts';
import type { World } from './world.ts';
import { BayeuxSocket } from '../helpers/running-server-bayeux.ts';
import { PASSWORD, Rest, eventually } from '../helpers/running-server.ts';
import type { Reply } from '../helpers/running-server.ts';

const vendor = (name: string): string => `application/vnd.com.nsn.platform.${name}+json`;
const OBJECTS = '/inventory/managedObjects';

/** Collections under the root, with the way to one of each. */
const SHAPES: Readonly<Record<string, (world: World) => string | Promise<string>>> = {
  application: async (world) => `/application/applications/${(await world.application()).id}`,
  applicationReferenceCollection: () => '/tenant/tenants/t1/applications',
  tenant: async (world) => `/tenant/tenants/${(await world.tenant()).id}`,
  tenantCollection: () => '/tenant/tenants',
  currenttenant: () => '/tenant/currentTenant',
  option: async (world) => {
    const { category, key } = await world.option();
    return `/tenant/options/${category}/${key}`;
  },
  optionCollection: () => '/tenant/options',
  managedobject: (world) => `${OBJECTS}/${world.device}`,
  managedobjectcollection: () => OBJECTS,
  measurementcollection: () => '/measurement/measurements',
  operation: async (world) => `/devicecontrol/operations/${(await world.operation()).id}`,
  operationCollection: () => '/devicecontrol/operations',
  devicecontrolApi: () => '/devicecontrol',
  bulkOperation: async (world) => `/devicecontrol/bulkoperations/${(await world.bulk()).id}`,
  bulkOperationCollection: () => '/devicecontrol/bulkoperations',
  alarmApi: () => '/alarm',
  alarm: async (world) => `/alarm/alarms/${(await world.alarm()).id}`,
  alarmCollection: () => '/alarm/alarms',
  eventApi: () => '/event',
  event: async (world) => `/event/events/${(await world.event()).id}`,
  eventCollection: () => '/event/events',
  identityApi: () => '/identity',
  externalId: async (world) => {
    const { type, externalId } = await world.externalId();
    return `/identity/externalIds/${type}/${externalId}`;
  },
  externalIdCollection: (world) => `/identity/globalIds/${world.device}/externalIds`,
  user: async (world) => `/application/applications/${(await world.application()).id}/bootstrapUser`,
};
const OF_MANAGEMENT = ['tenant', 'tenantCollection', 'applicationReferenceCollection'];

const COLLECTIONS: Readonly<Record<string, string>> = { managedObjects: OBJECTS, events: '/event/events', alarms: '/alarm/alarms', operations: '/devicecontrol/operations',
  measurements: '/measurement/measurements' };

/** POST bodies of what takes fragments. */
const bodies = (world: World): Record<string, any> => ({ [OBJECTS]: { name: 'n' }, '/devicecontrol/operations': { deviceId: world.device }, '/alarm/alarms': world.alarmBody(),
  '/event/events': world.eventBody(), '/measurement/measurements': { source: { id: world.device }, type: 'm', time: TIME } });

const ROOTS: RuleTable = { heading: 'What the service does', rows: [
  { row: 'GET /platform: links to all interfaces; of the inventory templates', check: async (t, world) => {
    const { inventory, ...others } = await world.rest.read('/platform');
    const { url } = world.server;
    t.match(inventory, { managedObjects: { references: [], self: `${url}${OBJECTS}` }, managedObjectsForFragmentType: `${url}${OBJECTS}?fragmentType={fragmentType}`,
      managedObjectsForListOfIds: `${url}${OBJECTS}?ids={ids}`, managedObjectsForType: `${url}${OBJECTS}?type={type}`, self: `${url}/inventory` });
    for (const name of ['alarm', 'audit', 'deviceControl', 'event', 'identity', 'measurement', 'tenant', 'user']) t.match(others[name].self, url, name);
  } },
] };

const CONVENTIONS: RuleTable = { heading: 'Conventions', rows: [
  { row: '1 bodies are JSON', check: async (t, world) => {
    for (const path of Object.values(COLLECTIONS)) t.type((await world.rest.get(path)).json, 'object');
    t.equal((await world.rest.post(OBJECTS, '<xml/>')).status, 400);
  } },
  ...Object.entries(SHAPES).map(([name, path]): RuleRow => ({ row: `2 media type ${name}, in any letter case, with ver and charset`, check: async (t, world) => {
    const rest = OF_MANAGEMENT.includes(name) ? world.management : world.rest;
    const target = await path(world);
    for (const type of [vendor(name), vendor(name).toLowerCase(), vendor(name.toUpperCase()), `${vendor(name)};ver=0.9;charset=UTF-8`, `${vendor(name)}; charset=utf-8; ver=0.9`]) {
      const reply = await rest.request('GET', target, { headers: { accept: type } });
      t.equal(reply.status, 200, `${type}: ${reply.text.slice(0, 200)}`);
      t.match(reply.headers.get('content-type')?.toLowerCase() ?? '', vendor(name).toLowerCase());
    }
  } })),
  { row: '2 media type error', check: async (t, world) => t.match((await world.rest.get(`${OBJECTS}/1`)).headers.get('content-type'), vendor('error')) },
  { row: '3 POST and PUT without Accept: an empty body', check: async (t, world) => {
    const send = (method: string, path: string, body: object): Promise<Reply> => world.rest.request(method, path, { body, headers: { accept: '' } });
    for (const [path, body] of Object.entries(bodies(world))) t.match(await send('POST', path, body), { status: 201, text: '' }, path);
    t.match(await send('PUT', `${OBJECTS}/${world.device}`, { a: 1 }), { status: 200, text: '' });
    t.match(await send('PUT', `/alarm/alarms/${(await world.alarm()).id}`, { status: 'CLEARED' }), { status: 200, text: '' });
  } },
  { row: '4 timestamps with offset or Z, plain dates', check: async (t, world) => {
    for (const time of ['2024-05-02T10:00:00.000Z', '2024-05-02T12:00:00.000+02:00']) {
      const { id } = await world.event({ time });
      t.equal(Date.parse((await world.rest.read(`/event/events/${id}`)).time), Date.parse(TIME));
    }
    t.ok((await world.rest.read('/event/events?dateFrom=2024-05-02&dateTo=2024-05-03')).events.length > 0);
  } },
  { row: '5 identifiers are strings, self leads to the resource', check: async (t, world) => {
    for (const [name, path] of Object.entries(SHAPES)) {
      if (/Collection|collection|Api|currenttenant|user|option|externalId/.test(name)) continue;
      const rest = OF_MANAGEMENT.includes(name) ? world.management : world.rest;
      const found = await rest.read(await path(world));
      t.type(found.id, 'string', name);
      t.equal((await rest.read(found.self)).id, found.id, name);
    }
  } },
  { row: '6 custom fragments are stored and returned unchanged', check: async (t, world) => {
    const fragments = { c8y_Empty: {}, my_Nested: { b: [1, { c: null }], a: 1.5 }, my_List: [], my_Text: 'ä\u2028"', my_Number: 9007199254740991, my_Flag: false };
    for (const [path, body] of Object.entries(bodies(world))) {
      const { self } = await world.rest.create(path, { ...body, ...fragments });
      const found = await world.rest.read(self);
      for (const [name, value] of Object.entries(fragments)) t.strictSame(found[name], value, `${path} ${name}`);
    }
  }, heldBy: [['e2e/documents-unchanged', 'managed objects'], ['e2e/documents-unchanged', 'measurements with several fragments']] },
  { row: '7 pages: items, self, next, prev, statistics; totalPages on demand', check: async (t, world) => {
    for (let index = 0; index < 5; index += 1) for (const [path, body] of Object.entries(bodies(world))) await world.rest.create(path, { ...body, ...(path.includes('alarm') ? { type: world.name('a') } : {}) });
    for (const [name, path] of Object.entries(COLLECTIONS)) {
      const page = await world.rest.read(`${path}?pageSize=2&currentPage=2`);
      t.equal(page[name].length, 2, path);
      t.match(page, { self: /pageSize=2/, next: /currentPage=3/, prev: /currentPage=1/, statistics: { currentPage: 2, pageSize: 2 } });
      t.equal(page.statistics.totalPages ?? undefined, undefined, 'not asked for');
      const { statistics } = await world.rest.read(`${path}?pageSize=2&withTotalPages=true`);
      t.ok(statistics.totalPages >= 3, `${path}: ${statistics.totalPages}`);
      const ids = (list: any): string[] => list[name].map(({ id }: any) => id);
      t.notSame(ids(await world.rest.read(page.next)), ids(page));
      t.notSame(ids(await world.rest.read(page.prev)), ids(page));
    }
  } },
  { row: '8 DELETE on a collection: the parameters of GET, 204 without body', check: async (t, world) => {
    const device = await world.ownedDevice();
    const source = { id: device };
    const cases: [string, string, object][] = [['events', 'source', world.eventBody({ source })], ['alarms', 'source', world.alarmBody({ source })],
      ['operations', 'deviceId', { deviceId: device }], ['measurements', 'source', { source, type: 'm', time: TIME }]];
    for (const [name, parameter, body] of cases) {
      await world.rest.create(COLLECTIONS[name], body);
      const query = `${COLLECTIONS[name]}?${parameter}=${device}&dateFrom=2024-01-01&dateTo=${FUTURE}`;
      t.equal((await world.rest.read(query))[name].length, 1, name);
      t.match(await world.rest.delete(query), { status: 204, text: '' });
      await eventually(`no ${name}`, async () => (await world.rest.read(query))[name].length === 0);
    }
  } },
] };

const RESOURCES: RuleTable = { heading: 'Resources without a table', rows: [
  { row: 'application reference: by id or self', check: async (t, world) => {
    const { id: tenant } = await world.tenant();
    for (const name of ['id', 'self']) {
      const application = await world.application();
      const path = `/tenant/tenants/${tenant}/applications`;
      const reply = await world.management.post(path, { application: { [name]: application[name] } });
      t.match(reply, { status: 201, json: { self: /^http/, application: { id: application.id, key: application.key, name: application.name, type: 'MICROSERVICE', owner: {}, self: /^http/ } } });
    }
  } },
  { row: 'ownedApplications: MARKET only', check: async (t, world) => {
    const { id } = await world.tenant();
    const by = new Rest(world.server.url, `${id}/boss`, PASSWORD);
    for (const availability of ['MARKET', 'PRIVATE']) await by.create('/application/applications', { key: availability, name: availability.toLowerCase(), type: 'EXTERNAL', availability });
    const { ownedApplications } = await world.management.read(`/tenant/tenants/${id}`);
    t.same(ownedApplications.references.map(({ application }: any) => application.name), ['market']);
  } },
  { row: 'option access.control/allow.origin: default *, predefined keys only', heldBy: [['e2e/options', 'categories with predefined keys take no others'], ['e2e/options', 'CORS follows the option']],
    check: async (t, world) => {
      t.equal((await world.rest.read('/tenant/options/access.control/allow.origin')).value, '*');
      t.ok((await world.rest.post('/tenant/options', { category: 'access.control', key: 'other', value: 'x' })).status >= 400);
    } },
  { row: 'option alarm.type.mapping/<alarm_type>', check: async (t, world) => {
    const { type } = world.alarmBody() as { type: string };
    t.equal((await world.rest.post('/tenant/options', { category: 'alarm.type.mapping', key: type, value: 'CRITICAL|mapped' })).status, 200);
    t.match(await world.alarm({ type }), { severity: 'CRITICAL', text: 'mapped' });
  } },
  { row: 'managed object reference: by id or self', check: async (t, world) => {
    for (const make of [(id: string) => ({ id }), (id: string) => ({ self: `${world.server.url}${OBJECTS}/${id}` })]) {
      const child = await world.ownedDevice();
      t.match(await world.rest.create(`${OBJECTS}/${world.device}/childDevices`, { managedObject: make(child) }), { managedObject: { id: child, name: 'Owned', self: /^http/ }, self: /^http/ });
    }
  } },
  { row: 'measurement, read form', check: async (t, world) => {
    const { self } = await world.rest.create('/measurement/measurements', { source: { id: world.device }, type: 'c8y_T', time: TIME, c8y_T: { T: { value: 21.5, unit: 'C' } } });
    t.match(await world.rest.read(self), { id: /^\d+$/, self, source: { id: world.device, self: /^http/ }, time: TIME, type: 'c8y_T', c8y_T: { T: { value: 21.5, unit: 'C' } } });
  } },
  { row: 'deviceExternalIDs: type and externalId of the device', check: async (t, world) => {
    const deviceId = await world.ownedDevice();
    await world.rest.create(`/identity/globalIds/${deviceId}/externalIds`, { type: 'c8y_Serial', externalId: 'of-operation' });
    await world.operation({ deviceId });
    // Document 4 (section 5.1): where an agent asks for its operations.
    const { operations: [found] } = await world.rest.read(`/devicecontrol/operations?agentId=${deviceId}`);
    t.match(found.deviceExternalIDs, { externalIds: [{ type: 'c8y_Serial', externalId: 'of-operation' }] });
  } },
  { row: 'SMS: the device or the operation has the marker', heldBy: [['e2e/operations', 'fields of POST and PUT']] },
  { row: 'audit record', check: async (t, world) => {
    const { id } = await world.alarm();
    await world.rest.put(`/alarm/alarms/${id}`, { severity: 'MINOR' });
    const { auditRecords } = (await world.rest.read(`/alarm/alarms/${id}`)).history;
    const changed = auditRecords.find(({ type }: any) => type === 'com_platform_model_alarm_AlarmChanged');
    t.match(changed, { id: /^\d+$/, self: /^http/, creationTime: /Z$/, time: /Z$/, text: /./, user: 'admin', activity: /./, severity: /./, source: { id },
      changes: [{ attribute: 'severity', newValue: 'MINOR', previousValue: 'MAJOR', type: /./ }] });
  } },
  { row: 'event binary: c8y_IsBinary, c8y_IsIncompleteBinary', heldBy: [['e2e/events', 'a binary in one piece'], ['e2e/events', 'a binary in chunks']] },
  { row: 'device credentials: id, self, tenantId, username, password', heldBy: [['e2e/device-registration', 'over HTTP: announced, asked, accepted']] },
  { row: 'error body: error, message, info', check: async (t, world) => t.match((await world.rest.get(`${OBJECTS}/1`)).json, { error: /^\w+\/\w+/, message: /./, info: /^http/ }) },
] };

const PLACES: RuleTable = { heading: 'Endpoints, their rules', rows: [
  { row: 'Applications: the bootstrap user reaches six endpoints and PUT currentApplication', heldBy: [['e2e/microservices', 'it reaches exactly what document 1 lists']] },
  { row: 'Applications: a service user has requiredRoles', heldBy: [['e2e/microservices', 'a service user for each subscribed tenant']] },
  { row: 'Applications: settings are a flat map of the owner\'s options', heldBy: [['e2e/microservices', 'settings: defaults of the manifest']] },
  { row: 'Tenants 1: adminPass and adminEmail change the user, adminName does nothing', check: async (t, world) => {
    const { id } = await world.tenant();
    t.equal((await world.management.put(`/tenant/tenants/${id}`, { adminPass: 'Another-one-2', adminEmail: 'new@example.com' })).status, 200);
    await world.management.put(`/tenant/tenants/${id}`, { adminName: 'chief' });
    t.match(await new Rest(world.server.url, `${id}/boss`, 'Another-one-2').read('/user/currentUser'), { userName: 'boss', email: 'new@example.com' });
    t.equal((await new Rest(world.server.url, `${id}/boss`, PASSWORD).get('/user/currentUser')).status, 401);
    t.equal((await new Rest(world.server.url, `${id}/chief`, 'Another-one-2').get('/user/currentUser')).status, 401);
  } },
  { row: 'Tenants 2: DELETE by the management tenant only', check: async (t, world) => {
    const { id } = await world.tenant({ allowCreateTenants: true });
    const by = new Rest(world.server.url, `${id}/boss`, PASSWORD);
    const { id: below } = await by.create('/tenant/tenants', world.tenantBody());
    t.equal((await by.delete(`/tenant/tenants/${below}`)).status, 403);
    t.equal((await world.management.delete(`/tenant/tenants/${below}`)).status, 204);
    t.equal((await world.management.get(`/tenant/tenants/${below}`)).status, 404);
  } },
  { row: 'Tenants 3: a non-editable option: 403', heldBy: [['e2e/options', 'non-editable options']] },
  // The document gives two answers: this is the one of the microservice description.
  { row: 'Tenants 4: subscribing answers 201', check: async (t, world) => {
    const { id } = await world.tenant();
    t.equal((await world.management.post(`/tenant/tenants/${id}/applications`, { application: { id: (await world.application()).id } })).status, 201);
  } },
  { row: 'Tenants 5: by domain, or by tenant id before the user name', heldBy: [['e2e/tenants', 'the host name says the tenant']] },
  { row: 'option resource: viewable and modifiable', heldBy: [['e2e/options', 'an option through its life']] },
  { row: 'Inventory: GET filters fragmentType, type, ids', check: async (t, world) => {
    const type = world.name('type');
    const { id } = await world.rest.create(OBJECTS, { type, my_Filter: {} });
    for (const query of [`type=${type}`, `type=${type}&fragmentType=my_Filter`, `ids=${id}`]) {
      t.same((await world.rest.read(`${OBJECTS}?${query}`)).managedObjects.map((found: any) => found.id), [id], query);
    }
    t.same((await world.rest.read(`${OBJECTS}?type=${type}&fragmentType=my_Other`)).managedObjects, []);
  } },
  { row: 'Inventory: DELETE also deletes registration, measurements, alarms, events, operations', check: async (t, world) => {
    const id = await world.ownedDevice();
    const source = { id };
    await world.rest.create(`/identity/globalIds/${id}/externalIds`, { type: 'c8y_Serial', externalId: `gone-${id}` });
    await world.alarm({ source });
    await world.event({ source });
    await world.operation({ deviceId: id });
    await world.rest.create('/measurement/measurements', { source, type: 'm', time: TIME });
    t.equal((await world.rest.delete(`${OBJECTS}/${id}`)).status, 204);
    t.equal((await world.rest.get(`/identity/externalIds/c8y_Serial/gone-${id}`)).status, 404);
    for (const [name, query] of Object.entries({ alarms: 'source', events: 'source', measurements: 'source', operations: 'deviceId' })) {
      await eventually(`no ${name}`, async () => {
        const { status, json } = await world.rest.get(`${COLLECTIONS[name]}?${query}=${id}`);
        return status === 404 || json[name].length === 0;
      });
    }
  } },
  { row: 'Inventory: DELETE of a child removes only the reference', check: async (t, world) => {
    const child = await world.ownedDevice();
    await world.rest.create(`${OBJECTS}/${world.device}/childDevices`, { managedObject: { id: child } });
    t.equal((await world.rest.delete(`${OBJECTS}/${world.device}/childDevices/${child}`)).status, 204);
    t.equal((await world.rest.get(`${OBJECTS}/${child}`)).status, 200);
    t.ok([404, 422].includes((await world.rest.get(`${OBJECTS}/${world.device}/childDevices/${child}`)).status));
  } },
  { row: 'Inventory 1, 2: the links of the answer take children', check: async (t, world) => {
    const asset = await world.rest.create(OBJECTS, { name: 'asset' });
    for (const kind of ['childAssets', 'childDevices']) {
      const child = await world.ownedDevice();
      t.equal((await world.rest.post(asset[kind].self, { managedObject: { id: child } })).status, 201);
      t.same((await world.rest.read(asset.self))[kind].references.map(({ managedObject }: any) => managedObject.id), [child]);
      const parents = (await world.rest.read(`${OBJECTS}/${child}?withParents=true`))[kind === 'childAssets' ? 'assetParents' : 'deviceParents'];
      t.same(parents.references.map(({ managedObject }: any) => managedObject.id), [asset.id]);
    }
  } },
  { row: 'Inventory 3: users may edit the name', check: async (t, world) => {
    const id = await world.ownedDevice();
    t.equal((await world.rest.put(`${OBJECTS}/${id}`, { name: 'edited' })).status, 200);
    t.equal((await world.rest.read(`${OBJECTS}/${id}`)).name, 'edited');
  } },
  { row: 'Inventory 4: operations need an agent above the device', heldBy: [['e2e/operations', 'the agent: the device itself or one above it']] },
  { row: 'Inventory 5: external systems: identity, then create or update', heldBy: [['e2e/identity', 'bind, read, list, unbind']] },
  { row: 'Registration 1 to 6', heldBy: [['e2e/device-registration', 'over HTTP: announced, asked, accepted'], ['e2e/device-registration', 'states of a request']] },
  { row: 'Bulk operations: groupId and failedParentId: not both', check: async (t, world) => {
    const { id } = await world.bulk();
    const reply = await world.rest.post('/devicecontrol/bulkoperations', await world.bulkBody({ failedParentId: id }));
    t.equal(reply.status, 422);
  }, heldBy: [['e2e/bulk-operations', 'each device of a static group'], ['e2e/bulk-operations', 'a dynamic group is what its query finds'], ['e2e/bulk-operations', 'the ramp: one after the other']] },
  { row: 'Alarms 1: id and creationTime are the server\'s', check: async (t, world) => {
    const { id, creationTime } = await world.alarm({ id: '1', creationTime: TIME });
    t.not(id, '1');
    t.ok(Math.abs(Date.parse(creationTime) - Date.now()) < 600_000);
  } },
  { row: 'Alarms 2: suppressed in maintenance', heldBy: [['e2e/alarms', 'what is not stored: maintenance']] },
  { row: 'Alarms 3: de-duplication', heldBy: [['e2e/alarms', 'alarm status: repeats and moves']] },
  { row: 'Alarms 4: a PUT that changes is audited with user, one that does not is not', heldBy: [['e2e/alarms', 'history: who changed what']], check: async (t, world) => {
    const alarm = await world.alarm();
    const path = `/alarm/alarms/${alarm.id}`;
    await world.rest.put(path, { status: 'ACTIVE', text: 'text', severity: 'MAJOR' });
    t.equal((await world.rest.read(path)).history.auditRecords.length, 1);
    await (await world.only('ROLE_ALARM_ADMIN')).put(path, { text: 'other' });
    t.ok((await world.rest.read(path)).history.auditRecords.some(({ user }: any) => user === 'only-role_alarm_admin'));
  } },
  { row: 'Alarms 5: CRITICAL makes the source unavailable while it is active', check: async (_t, world) => {
    for (const [monitored, status] of [[{ c8y_RequiredAvailability: { responseInterval: 30 } }, 'AVAILABLE'], [{}, 'NOT_MONITORED']] as const) {
      const id = await world.ownedDevice(monitored);
      await world.event({ source: { id }, time: new Date().toISOString() });
      const alarm = await world.alarm({ source: { id }, severity: 'CRITICAL' });
      const is = (wanted: string): Promise<unknown> =>
        eventually(wanted, async () => (await world.rest.read(`${OBJECTS}/${id}`)).c8y_Availability?.status === wanted);
      await is('UNAVAILABLE');
      await world.rest.put(`/alarm/alarms/${alarm.id}`, { status: 'CLEARED' });
      await is(status);
    }
  } },
  { row: 'Events 1: latest first, revert=true: oldest first', check: async (t, world) => {
    const id = await world.ownedDevice();
    for (const hour of ['10', '12', '11']) await world.event({ source: { id }, time: `2024-05-02T${hour}:00:00.000Z`, text: hour });
    const texts = async (more: string): Promise<string[]> => (await world.rest.read(`/event/events?source=${id}&dateFrom=2024-05-01&dateTo=2024-05-04${more}`)).events.map(({ text }: any) => text);
    t.same(await texts(''), ['12', '11', '10']);
    t.same(await texts('&revert=true'), ['10', '11', '12']);
  } },
  { row: 'Events 2: one binary: 201, 404, 409', heldBy: [['e2e/events', 'a binary in one piece'], ['e2e/events', 'two uploads at once']] },
  { row: 'Events 3: chunks', heldBy: [['e2e/events', 'a binary in chunks']] },
  { row: 'Identity: the object first', check: async (t, world) =>
    t.equal((await world.rest.post('/identity/globalIds/999999999/externalIds', { type: 'c8y_Serial', externalId: 'early' })).status, 404) },
] };

const basic = (user: string): Record<string, string> => ({ authorization: `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}` });
const AUTHENTICATION: RuleTable = { heading: 'Authentication', rows: [
  { row: '1 Basic, with the tenant before the name or without', check: async (t, world) => {
    for (const user of ['t1/admin', 'admin']) t.equal((await world.rest.request('GET', '/user/currentUser', { headers: basic(user) })).status, 200, user);
    t.equal((await world.rest.request('GET', '/user/currentUser', { headers: basic('t2/admin') })).status, 401);
  } },
  { row: '2 a tenant id as subdomain: 403; with the tenant in the name it is irrelevant', check: async (t, world) => {
    const as = (user: string): Promise<Reply> => world.rest.request('GET', '/user/currentUser', { headers: { ...basic(user), 'x-forwarded-host': 't1.example.com' } });
    t.equal((await as('admin')).status, 403);
    t.equal((await as('t1/admin')).status, 200);
  } },
  { row: '3 no aliases for devices', heldBy: [['e2e/login', 'aliases are for people, over HTTP']] },
  { row: '4 device credentials', heldBy: [['e2e/device-registration', 'over HTTP: announced, asked, accepted']] },
  { row: '5 the bootstrap user of a microservice', heldBy: [['e2e/microservices', 'it reaches exactly what document 1 lists']] },
  { row: '6 roles, and the owner', heldBy: [['e2e/tenants-and-roles', 'the owner of an object may use it without roles']] },
  { row: '7 no credentials: 401 general/internalError', check: async (t, world) => {
    const response = await fetch(`${world.server.url}${OBJECTS}`);
    t.equal(response.status, 401);
    t.match(await response.json(), { error: 'general/internalError' });
  } },
] };

const ERRORS: RuleTable = { heading: 'Errors', rows: [
  { row: '200, 201, 204', heldBy: [['document-1/endpoints', '${row.method} ${row.path}']] },
  { row: '404 unknown resource', check: async (t, world) => t.match(await world.rest.get('/nothing/here'), { status: 404, json: { error: /./, message: /./ } }) },
  { row: '404 not yet accepted', check: async (t, world) => t.equal((await world.bootstrap.post('/devicecontrol/deviceCredentials', { id: 'nobody' })).status, 404) },
  { row: '404 identity/Not Found', check: async (t, world) => t.match(await world.rest.get('/identity/externalIds/c8y_Serial/none'), { status: 404, json: { error: 'identity/Not Found' } }) },
  { row: '404 missing event binary', check: async (t, world) => t.equal((await world.rest.get(`/event/events/${(await world.event()).id}/binaries`)).status, 404) },
  { row: '409 event binary exists', check: async (t, world) => {
    const path = `/event/events/${(await world.event()).id}/binaries`;
    const send = (): Promise<Reply> => world.rest.request('POST', path, { body: 'x', headers: { 'content-type': 'text/plain' } });
    t.equal((await send()).status, 201);
    t.equal((await send()).status, 409);
  } },
] };

const VERSIONING: RuleTable = { heading: 'Versioning', rows: [
  { row: 'ver is optional, answers show ver=0.9', check: async (t, world) => {
    const reply = await world.rest.request('GET', `${OBJECTS}/${world.device}`, { headers: { accept: vendor('managedObject') } });
    t.match(reply.headers.get('content-type'), /ver=0\.9/);
  } },
  { row: 'Events, message shape', check: async (t, world) => {
    const live = await BayeuxSocket.open(t, world.server, '/cep/realtime');
    await live.subscribe(`/events/${world.device}`);
    await world.event();
    t.match(await live.message(() => true), { channel: `/events/${world.device}`, data: [{ realtimeAction: 'CREATE', data: { id: /^\d+$/ } }] });
  } },
] };

export const RULES: readonly RuleTable[] = [ROOTS, CONVENTIONS, RESOURCES, API_RESOURCES, PLACES, AUTHENTICATION, ERRORS, LIMITS, VERSIONING];
