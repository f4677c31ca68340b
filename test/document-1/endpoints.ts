/** Document 1, "Endpoints": the rows of its tables, in their order, with the columns Path, Response and Role. */
import { MANIFEST, microserviceZip } from '../helpers/zip.ts';
import { Rest } from '../helpers/running/server.ts';
import type { Call, EndpointRow, EndpointTable } from './rows.ts';
import type { World } from './world.ts';

const at = (path: string, body?: object): Call => ({ path, ...(body === undefined ? {} : { body }) });
const APPS = '/application/applications';
const TENANTS = '/tenant/tenants';
const OBJECTS = '/inventory/managedObjects';
const COLLECTION = ['self', 'statistics'];
const BOUNDARY = 'mill-boundary';

/** A form with one file, as text. */
function form(content: Buffer, name: string): Call {
  const body = Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    content,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
  return { body, headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } };
}

const child = async (world: World): Promise<object> => ({ managedObject: { id: await world.ownedDevice() } });
const binary = { 'content-type': 'text/plain' };

async function eventWithBinary(world: World): Promise<string> {
  const { id } = await world.event();
  const { status, text } = await world.rest.request('POST', `/event/events/${id}/binaries`, {
    body: 'content',
    headers: binary,
  });
  if (status !== 201) throw new Error(text);
  return id;
}

async function subscribed(world: World): Promise<{ tenant: string; application: string }> {
  const [{ id: tenant }, { id: application }] = [await world.tenant(), await world.application()];
  await world.management.create(`${TENANTS}/${tenant}/applications`, { application: { id: application } });
  return { tenant, application };
}

type Check = NonNullable<EndpointRow['check']>;
/** What was deleted is not there any more. */
const isGone: Check = async (t, { rest, sent }) => t.equal((await rest.get(sent.path ?? '')).status, 404, 'it is gone');
/** What a PUT has sent is read afterwards, from the path of the call or another. */
const isChanged =
  (path?: string): Check =>
  async (t, { rest, sent }) =>
    t.match(await rest.read(path ?? sent.path ?? ''), sent.body as object, 'it is changed');
/** What a POST has sent is in the answer. */
const isAnswered: Check = async (t, { sent, reply }) =>
  t.match(reply.json, sent.body as object, 'what was sent is in the answer');
/** A list has an entity with these members. */
const lists =
  (name: string, make: (world: World, rest: Rest) => Promise<object> | object): Check =>
  async (t, { world, rest, sent }) => {
    const wanted = await make(world, rest);
    const path = (sent.path ?? '').split('?')[0];
    const found = (await rest.read(`${path}?pageSize=2000`))[name] as object[];
    t.ok(
      found.some((one) =>
        Object.entries(wanted).every(
          ([member, value]) => JSON.stringify((one as any)[member]) === JSON.stringify(value),
        ),
      ),
      `${name}: ${JSON.stringify(wanted)}`,
    );
  };
const idOf = async (made: Promise<any>): Promise<{ id: string }> => ({ id: (await made).id });

/** One service user for each subscribed tenant. */
const usersOfTenants: Check = async (t, { world, rest, sent }) => {
  const { id } = await world.service();
  const { id: tenant } = await world.tenant();
  for (const one of ['t1', tenant])
    await world.management.post(`${TENANTS}/${one}/applications`, { application: { id } });
  const { users } = await rest.read(sent.path ?? '');
  const { references } = await world.management.read(`${TENANTS}/${tenant}/applications`);
  t.equal(references.length, 1);
  t.equal(users.filter((one: any) => one.tenant === tenant).length, 1, 'one for the tenant');
  t.equal(users.filter((one: any) => one.tenant === 't1').length, 1, 'one for the other');
  for (const one of users)
    t.match(await new Rest(world.server.url, `${one.tenant}/${one.name}`, one.password).read('/user/currentUser'), {
      userName: one.name,
    });
};

const isChild: Check = async (t, { rest, sent, reply }) => {
  const {
    managedObject: { id },
  } = sent.body as { managedObject: { id: string } };
  t.match(reply.json, { managedObject: { id, name: 'Owned', self: /^http/ }, self: new RegExp(`${sent.path}/${id}$`) });
  t.equal((await rest.get(`${sent.path}/${id}`)).status, 200, 'it is a child');
};

const APPLICATION_ROWS: readonly EndpointRow[] = [
  {
    method: 'POST',
    path: '/application/applications',
    status: 201,
    hasLocation: true,
    answer: 'application',
    has: ['id', 'self', 'key', 'name', 'type', 'requiredRoles', 'roles'],
    call: (world) =>
      at(APPS, world.applicationBody({ requiredRoles: ['ROLE_INVENTORY_READ'], roles: ['ROLE_MILL_READ'] })),
    check: isAnswered,
  },
  {
    method: 'GET',
    path: '/application/applicationsByName/<application_name>',
    status: 200,
    answer: 'applicationCollection',
    has: ['applications', 'self'],
    call: async (world) => at(`/application/applicationsByName/${(await world.application()).name}`),
    check: async (t, { sent, reply }) =>
      t.same(
        reply.json.applications.map(({ name }: any) => name),
        [sent.path?.split('/').pop()],
      ),
  },
  {
    method: 'PUT',
    path: '/application/applications/<application_id>',
    status: 200,
    answer: 'application',
    has: ['id', 'name'],
    call: async (world) => {
      const { id, key, name, type } = await world.application();
      return at(`${APPS}/${id}`, {
        key: `${key}-2`,
        name: `${name}-2`,
        type,
        requiredRoles: ['ROLE_ALARM_READ'],
        roles: ['ROLE_MILL_ADMIN'],
      });
    },
    check: async (t, answered) => {
      await isAnswered(t, answered);
      await isChanged()(t, answered);
    },
  },
  {
    method: 'POST',
    path: '/application/applications/<application_id>/binaries',
    status: 201,
    call: async (world) => {
      const { id, name } = await world.application();
      return {
        path: `${APPS}/${id}/binaries`,
        ...form(await microserviceZip({ ...MANIFEST, name, contextPath: name }, 'platform.json'), 'app.zip'),
      };
    },
    check: async (t, { rest, sent }) => t.equal((await rest.read(sent.path ?? '')).attachments.length, 1),
  },
  {
    method: 'GET',
    path: '/application/applications/<application_id>/bootstrapUser',
    status: 200,
    answer: 'user',
    has: ['tenant', 'name', 'password'],
    call: async (world) => at(`${APPS}/${(await world.application()).id}/bootstrapUser`),
    check: async (t, { world, sent, reply: { json } }) => {
      t.match(
        await new Rest(world.server.url, `${json.tenant}/${json.name}`, json.password).read('/user/currentUser'),
        { userName: json.name },
      );
      for (const by of [(await world.family()).stranger, world.owner])
        t.ok([403, 404].includes((await by.get(sent.path ?? '')).status), 'nobody but the service provider');
    },
  },
  {
    method: 'GET',
    path: '/application/currentApplication',
    by: 'serviceBootstrap',
    status: 200,
    answer: 'application',
    has: ['id', 'name'],
    check: async (t, { world, reply }) => t.equal(reply.json.id, (await world.service()).id, 'the one of the user'),
  },
  {
    method: 'PUT',
    path: '/application/currentApplication',
    by: 'serviceBootstrap',
    status: 200,
    call: () => at('/application/currentApplication', { description: 'x' }),
    check: isChanged(),
  },
  {
    method: 'GET',
    path: '/application/currentApplication/subscription',
    by: 'serviceBootstrap',
    status: 200,
    check: usersOfTenants,
  },
  {
    method: 'GET',
    path: '/application/currentApplication/subscriptions',
    by: 'serviceBootstrap',
    status: 200,
    answer: 'applicationUserCollection',
    has: ['users', 'self'],
    check: usersOfTenants,
  },
  {
    method: 'GET',
    path: '/application/currentApplication/settings',
    by: 'serviceBootstrap',
    status: 200,
    check: async (t, { world, rest, sent }) => {
      const { id, name, contextPath = name } = await world.rest.read(`${APPS}/${(await world.service()).id}`);
      await world.rest.post('/tenant/options', { category: contextPath, key: 'speed', value: '7' });
      t.strictSame(await rest.read(sent.path ?? ''), { speed: '7' }, 'a flat map');
      const [{ tenant, name: user, password }] = (await rest.read('/application/currentApplication/subscriptions'))
        .users;
      t.strictSame(
        await new Rest(world.server.url, `${tenant}/${user}`, password).read(sent.path ?? ''),
        { speed: '7' },
        `a service user of ${id} too`,
      );
    },
  },
  {
    method: 'GET',
    path: '/tenant/currentTenant',
    by: 'serviceBootstrap',
    status: 200,
    answer: 'currentTenant',
    has: ['name', 'domainName', 'allowCreateTenants', 'customProperties'],
    // ROLE_SYSTEM is given to nobody. Clients ask for their tenant before anything else, with any user: nobody is
    // refused.
    roles: ['ROLE_USER_MANAGEMENT_OWN_READ', 'ROLE_SYSTEM'],
    isForEverybody: true,
    check: async (t, { reply }) =>
      t.match(reply.json, { name: 't1', domainName: String, allowCreateTenants: false, customProperties: Object }),
  },
  { method: 'GET', path: '/user/currentUser', by: 'serviceBootstrap', status: 200, has: ['userName'] },
];

const ADMIN = 'ROLE_TENANT_MANAGEMENT_ADMIN';
const READ = 'ROLE_TENANT_MANAGEMENT_READ';
const UPDATE = 'ROLE_TENANT_MANAGEMENT_UPDATE';
const TENANT_ROWS: readonly EndpointRow[] = [
  {
    method: 'GET',
    path: '/tenant/tenants',
    by: 'management',
    status: 200,
    answer: 'tenantCollection',
    has: [...COLLECTION, 'tenants'],
    roles: [READ],
    check: lists('tenants', (world) => idOf(world.tenant())),
  },
  {
    method: 'POST',
    path: '/tenant/tenants',
    by: 'management',
    status: 201,
    hasLocation: true,
    answer: 'tenant',
    has: ['id', 'self'],
    call: (world) =>
      at(
        TENANTS,
        world.tenantBody({ contactName: 'c', contactPhone: '1', customProperties: {}, sendPasswordResetEmail: false }),
      ),
    roles: [ADMIN, 'ROLE_TENANT_MANAGEMENT_CREATE'],
    check: async (t, { sent, reply }) => {
      const { adminPass, sendPasswordResetEmail: _, ...shown } = sent.body as Record<string, unknown>;
      t.match(reply.json, shown);
      t.notMatch(reply.text, new RegExp(`adminPass|${String(adminPass)}`), 'without the password');
    },
  },
  {
    method: 'GET',
    path: '/tenant/tenants/<tenant_id>',
    by: 'management',
    status: 200,
    answer: 'tenant',
    has: ['id', 'self', 'status', 'domain', 'company', 'parent'],
    call: async (world) => at(`${TENANTS}/${(await world.tenant()).id}`),
    roles: [READ],
  },
  {
    method: 'PUT',
    path: '/tenant/tenants/<tenant_id>',
    by: 'management',
    status: 200,
    answer: 'tenant',
    has: ['id'],
    call: async (world) => at(`${TENANTS}/${(await world.tenant()).id}`, { company: 'Changed' }),
    roles: [ADMIN, UPDATE],
    check: isChanged(),
  },
  {
    method: 'DELETE',
    path: '/tenant/tenants/<tenant_id>',
    by: 'management',
    status: 204,
    call: async (world) => at(`${TENANTS}/${(await world.tenant()).id}`),
    roles: [ADMIN],
    check: isGone,
  },
  {
    method: 'POST',
    path: '/tenant/tenants/<tenant_id>/applications',
    by: 'management',
    status: 201,
    call: async (world) =>
      at(`${TENANTS}/${(await world.tenant()).id}/applications`, {
        application: { id: (await world.application()).id },
      }),
    roles: [ADMIN, UPDATE],
    check: async (t, { rest, sent }) =>
      t.match(await rest.read(sent.path ?? ''), { references: [sent.body as object] }),
  },
  {
    method: 'GET',
    path: '/tenant/tenants/<tenant_id>/applications',
    by: 'management',
    status: 200,
    answer: 'applicationReferenceCollection',
    has: [...COLLECTION, 'references'],
    call: async (world) => at(`${TENANTS}/${(await subscribed(world)).tenant}/applications`),
    roles: [READ],
    furtherRoles: ['ROLE_TENANT_ADMIN'],
    check: async (t, { reply }) =>
      t.match(reply.json.references, [{ self: /^http/, application: { id: /^\d+$/, self: /^http/ } }]),
  },
  {
    method: 'DELETE',
    path: '/tenant/tenants/<tenant_id>/applications/<application_id>',
    by: 'management',
    status: 204,
    call: async (world) => {
      const { tenant, application } = await subscribed(world);
      return at(`${TENANTS}/${tenant}/applications/${application}`);
    },
    roles: [ADMIN],
    check: async (t, { rest, sent }) =>
      t.same((await rest.read((sent.path ?? '').replace(/\/\d+$/, ''))).references, []),
  },
  {
    method: 'GET',
    path: '/tenant/options',
    status: 200,
    answer: 'optionCollection',
    has: [...COLLECTION, 'options'],
    roles: ['ROLE_OPTION_MANAGEMENT_READ'],
    check: lists('options', (world) => world.option()),
  },
  {
    method: 'POST',
    path: '/tenant/options',
    status: 200,
    answer: 'option',
    has: ['category', 'key', 'value', 'self'],
    call: (world) => at('/tenant/options', { category: world.name('category'), key: 'k', value: 'v' }),
    roles: ['ROLE_OPTION_MANAGEMENT_ADMIN'],
    check: async (t, answered) => {
      await isAnswered(t, answered);
      await isChanged(answered.reply.json.self)(t, answered);
    },
  },
];

const INVENTORY_ROWS: readonly EndpointRow[] = [
  {
    method: 'POST',
    path: '/inventory/managedObjects',
    status: 201,
    hasLocation: true,
    answer: 'managedObject',
    has: ['id', 'self', 'name', 'type', 'childAssets', 'childDevices'],
    call: () => at(OBJECTS, { name: 'n', type: 't', c8y_Hardware: { model: 'm' } }),
    check: isAnswered,
  },
  {
    method: 'GET',
    path: '/inventory/managedObjects',
    status: 200,
    answer: 'managedObjectCollection',
    has: [...COLLECTION, 'managedObjects'],
    call: (world) =>
      at(
        `${OBJECTS}?fragmentType=c8y_IsDevice&type=t&ids=${world.device}&withTotalPages=true&pageSize=5&currentPage=1`,
      ),
  },
  {
    method: 'GET',
    path: '/inventory/managedObjects/<id>',
    status: 200,
    answer: 'managedObject',
    has: ['id', 'self', 'lastUpdated', 'owner'],
    call: (world) => at(`${OBJECTS}/${world.device}`),
  },
  {
    method: 'PUT',
    path: '/inventory/managedObjects/<id>',
    status: 200,
    call: (world) => at(`${OBJECTS}/${world.device}`, { c8y_Hardware: { model: 'x' } }),
    check: async (t, answered) => {
      await isChanged()(t, answered);
      t.match(
        await answered.rest.read(answered.sent.path ?? ''),
        { name: 'Owned', type: 'mill_Device', c8y_IsDevice: {} },
        'the other fragments stay',
      );
    },
  },
  {
    method: 'DELETE',
    path: '/inventory/managedObjects/<id>',
    status: 204,
    call: async (world) => at(`${OBJECTS}/${await world.ownedDevice()}`),
    check: isGone,
  },
  {
    method: 'POST',
    path: '/inventory/managedObjects/<id>/childAssets',
    status: 201,
    answer: 'managedObjectReference',
    has: ['managedObject', 'self'],
    call: async (world) => at(`${OBJECTS}/${world.device}/childAssets`, await child(world)),
    check: isChild,
  },
  {
    method: 'POST',
    path: '/inventory/managedObjects/<id>/childDevices',
    status: 201,
    answer: 'managedObjectReference',
    has: ['managedObject', 'self'],
    call: async (world) => at(`${OBJECTS}/${world.device}/childDevices`, await child(world)),
    check: isChild,
  },
  {
    method: 'DELETE',
    path: '/inventory/managedObjects/<id>/childDevices/<child_id>',
    status: 204,
    call: async (world) => {
      const [parent, below] = [await world.ownedDevice(), await world.ownedDevice()];
      await world.rest.create(`${OBJECTS}/${parent}/childDevices`, { managedObject: { id: below } });
      return at(`${OBJECTS}/${parent}/childDevices/${below}`);
    },
    check: async (t, { rest, sent }) => {
      const [parent, child] = (sent.path ?? '').split('/childDevices/');
      t.same((await rest.read(`${parent}/childDevices`)).references, [], 'no child any more');
      t.equal((await rest.get(`${OBJECTS}/${child}`)).status, 200, 'only the reference is removed');
    },
  },
  {
    method: 'GET',
    path: '/measurement/measurements',
    status: 200,
    answer: 'measurementCollection',
    has: [...COLLECTION, 'measurements'],
    call: () => at('/measurement/measurements?dateFrom=2024-01-01&dateTo=2025-01-01&fragmentType=c8y_T'),
  },
];

const CONTROL_ADMIN = ['ROLE_DEVICE_CONTROL_ADMIN'];
const CONTROL_READ = ['ROLE_DEVICE_CONTROL_READ'];
const BULK_ADMIN = ['ROLE_BULK_OPERATION_ADMIN'];
const BULK_READ = ['ROLE_BULK_OPERATION_READ'];
const BULK = '/devicecontrol/bulkoperations';
const OPERATIONS = '/devicecontrol/operations';
const OPERATION_ROWS: readonly EndpointRow[] = [
  {
    method: 'GET',
    path: '/devicecontrol',
    status: 200,
    answer: 'devicecontrolApi',
    roles: CONTROL_READ,
    has: [
      'self',
      'operations',
      'operationsByStatus',
      'operationsByAgentId',
      'operationsByAgentIdAndStatus',
      'operationsByDeviceId',
      'operationsByDeviceIdAndStatus',
    ],
  },
  {
    method: 'GET',
    path: '/devicecontrol/operations',
    status: 200,
    answer: 'operationCollection',
    has: [...COLLECTION, 'operations'],
    roles: CONTROL_READ,
    call: (world) => at(`${OPERATIONS}?agentId=${world.device}&deviceId=${world.device}&status=PENDING&pageSize=2000`),
  },
  {
    method: 'POST',
    path: '/devicecontrol/operations',
    status: 201,
    hasLocation: true,
    answer: 'operation',
    has: ['id', 'self', 'status', 'deviceId', 'creationTime'],
    roles: CONTROL_ADMIN,
    orOwner: true,
    call: (world) => at(OPERATIONS, { deviceId: world.device, c8y_Restart: {} }),
    check: isAnswered,
  },
  {
    method: 'DELETE',
    path: '/devicecontrol/operations',
    status: 204,
    roles: CONTROL_ADMIN,
    call: async (world) => {
      const { deviceId } = await world.operation({ deviceId: await world.ownedDevice() });
      return at(`${OPERATIONS}?deviceId=${deviceId}`);
    },
  },
  {
    method: 'GET',
    path: '/devicecontrol/operations/<operation_id>',
    status: 200,
    answer: 'operation',
    has: ['id', 'deviceName'],
    roles: CONTROL_READ,
    call: async (world) => at(`${OPERATIONS}/${(await world.operation()).id}`),
  },
  {
    method: 'PUT',
    path: '/devicecontrol/operations/<operation_id>',
    status: 200,
    roles: CONTROL_ADMIN,
    orOwner: true,
    call: async (world) => at(`${OPERATIONS}/${(await world.operation()).id}`, { status: 'EXECUTING' }),
    check: isChanged(),
  },
  {
    method: 'POST',
    path: '/devicecontrol/bulkoperations',
    status: 201,
    hasLocation: true,
    answer: 'bulkOperation',
    has: ['id', 'self', 'status', 'progress'],
    roles: BULK_ADMIN,
    call: async (world) => at(BULK, await world.bulkBody()),
    check: async (t, answered) => {
      await isAnswered(t, answered);
      t.match(answered.reply.json, { status: 'ACTIVE', progress: { all: 1 } });
    },
  },
  {
    method: 'GET',
    path: '/devicecontrol/bulkoperations',
    status: 200,
    answer: 'bulkOperationCollection',
    has: [...COLLECTION, 'bulkOperations'],
    roles: BULK_READ,
    call: () => at(`${BULK}?withDeleted=true&pageSize=5`),
  },
  {
    method: 'GET',
    path: '/devicecontrol/bulkoperations/<id>',
    status: 200,
    answer: 'bulkOperation',
    has: ['id', 'progress'],
    roles: BULK_READ,
    call: async (world) => at(`${BULK}/${(await world.bulk()).id}`),
  },
  {
    method: 'PUT',
    path: '/devicecontrol/bulkoperations/<id>',
    status: 200,
    answer: 'bulkOperation',
    has: ['id'],
    roles: BULK_ADMIN,
    call: async (world) => at(`${BULK}/${(await world.bulk()).id}`, { creationRamp: 30 }),
    check: async (t, answered) => {
      await isAnswered(t, answered);
      await isChanged()(t, answered);
    },
  },
  {
    method: 'DELETE',
    path: '/devicecontrol/bulkoperations/<id>',
    status: 204,
    roles: BULK_ADMIN,
    call: async (world) => at(`${BULK}/${(await world.bulk()).id}`),
    check: async (t, { rest, sent }) => t.match(await rest.read(sent.path ?? ''), { status: 'DELETED' }),
  },
];

const ALARM_ADMIN = ['ROLE_ALARM_ADMIN'];
const ALARM_READ = ['ROLE_ALARM_READ'];
const ALARMS = '/alarm/alarms';
const ALARM_ROWS: readonly EndpointRow[] = [
  {
    method: 'GET',
    path: '/alarm',
    status: 200,
    answer: 'alarmApi',
    roles: ALARM_READ,
    has: [
      'self',
      'alarms',
      'alarmsForStatus',
      'alarmsForSource',
      'alarmsForSourceAndStatus',
      'alarmsForTime',
      'alarmsForStatusAndTime',
      'alarmsForSourceAndTime',
      'alarmsForSourceAndStatusAndTime',
    ],
  },
  {
    method: 'GET',
    path: '/alarm/alarms',
    status: 200,
    answer: 'alarmCollection',
    has: [...COLLECTION, 'alarms'],
    roles: ALARM_READ,
    call: (world) =>
      at(`${ALARMS}?source=${world.device}&status=ACTIVE&dateFrom=2024-01-01&dateTo=2025-01-01&pageSize=5`),
  },
  {
    method: 'POST',
    path: '/alarm/alarms',
    status: 201,
    hasLocation: true,
    answer: 'alarm',
    has: ['id', 'self', 'status', 'count', 'creationTime'],
    roles: ALARM_ADMIN,
    orOwner: true,
    call: (world) => at(ALARMS, world.alarmBody()),
    check: isAnswered,
  },
  {
    method: 'DELETE',
    path: '/alarm/alarms',
    status: 204,
    roles: ALARM_ADMIN,
    call: async (world) => at(`${ALARMS}?type=${(await world.alarm()).type}`),
  },
  {
    method: 'GET',
    path: '/alarm/alarms/<alarm_id>',
    status: 200,
    answer: 'alarm',
    has: ['id', 'history'],
    roles: ALARM_READ,
    call: async (world) => at(`${ALARMS}/${(await world.alarm()).id}`),
    check: async (t, { reply }) =>
      t.match(reply.json.history, { self: /^http/, auditRecords: [{ type: 'com_platform_model_alarm_AlarmRaised' }] }),
  },
  {
    method: 'PUT',
    path: '/alarm/alarms/<alarm_id>',
    status: 200,
    answer: 'alarm',
    has: ['id', 'status'],
    roles: ALARM_ADMIN,
    orOwner: true,
    call: async (world) => at(`${ALARMS}/${(await world.alarm()).id}`, { status: 'ACKNOWLEDGED' }),
    check: isChanged(),
  },
];

const EVENT_ADMIN = ['ROLE_EVENT_ADMIN'];
const EVENT_READ = ['ROLE_EVENT_READ'];
const EVENTS = '/event/events';
const hasBinary =
  (content: string): Check =>
  async (t, { rest, sent, reply }) => {
    const path = sent.path ?? '';
    t.match(reply.json, {
      self: new RegExp(`${path}$`),
      type: 'text/plain',
      source: path.split('/')[3],
      length: content.length,
    });
    t.equal((await rest.get(path)).text, content);
  };
const EVENT_ROWS: readonly EndpointRow[] = [
  {
    method: 'GET',
    path: '/event',
    status: 200,
    answer: 'eventApi',
    roles: EVENT_READ,
    has: [
      'self',
      'events',
      'eventsForType',
      'eventsForSource',
      'eventsForTime',
      'eventsForFragmentType',
      'eventsForSourceAndType',
      'eventsForSourceAndTime',
      'eventsForSourceAndFragmentType',
      'eventsForDateAndFragmentType',
      'eventsForFragmentTypeAndType',
      'eventsForTimeAndType',
      'eventsForSourceAndDateAndFragmentType',
      'eventsForSourceAndDateAndFragmentTypeAndType',
      'eventsForSourceAndFragmentTypeAndType',
      'eventsForSourceAndTimeAndType',
      'eventsForDateAndFragmentTypeAndType',
    ],
  },
  {
    method: 'GET',
    path: '/event/events',
    status: 200,
    answer: 'eventCollection',
    has: [...COLLECTION, 'events'],
    roles: EVENT_READ,
    call: (world) =>
      at(
        `${EVENTS}?type=none&source=${world.device}&dateFrom=2024-01-01&dateTo=2025-01-01&fragmentType=c8y_X&revert=true&pageSize=5`,
      ),
  },
  {
    method: 'POST',
    path: '/event/events',
    status: 201,
    hasLocation: true,
    answer: 'event',
    has: ['id', 'self', 'creationTime'],
    roles: EVENT_ADMIN,
    orOwner: true,
    call: (world) => at(EVENTS, world.eventBody()),
    check: isAnswered,
  },
  {
    method: 'DELETE',
    path: '/event/events',
    status: 204,
    roles: EVENT_ADMIN,
    call: async (world) => at(`${EVENTS}?type=${(await world.event()).type}`),
  },
  {
    method: 'GET',
    path: '/event/events/<event_id>',
    status: 200,
    answer: 'event',
    has: ['id', 'source'],
    roles: EVENT_READ,
    call: async (world) => at(`${EVENTS}/${(await world.event()).id}`),
  },
  {
    method: 'PUT',
    path: '/event/events/<event_id>',
    status: 200,
    answer: 'event',
    has: ['id', 'text'],
    roles: EVENT_ADMIN,
    orOwner: true,
    call: async (world) => at(`${EVENTS}/${(await world.event()).id}`, { text: 'changed' }),
    check: isChanged(),
  },
  {
    method: 'DELETE',
    path: '/event/events/<event_id>',
    status: 204,
    roles: EVENT_ADMIN,
    orOwner: true,
    call: async (world) => at(`${EVENTS}/${(await world.event()).id}`),
    check: isGone,
  },
  {
    method: 'GET',
    path: '/event/events/<event_id>/binaries',
    status: 200,
    roles: EVENT_READ,
    call: async (world) => at(`${EVENTS}/${await eventWithBinary(world)}/binaries`),
    check: async (t, { reply }) => {
      t.equal(reply.text, 'content');
      t.match(reply.headers.get('content-disposition'), /^attachment\b/);
    },
  },
  {
    method: 'POST',
    path: '/event/events/<event_id>/binaries',
    status: 201,
    answer: 'eventBinary',
    has: ['self', 'type', 'source', 'length'],
    roles: EVENT_ADMIN,
    call: async (world) => ({
      path: `${EVENTS}/${(await world.event()).id}/binaries`,
      body: 'content',
      headers: binary,
    }),
    check: hasBinary('content'),
  },
  {
    method: 'PUT',
    path: '/event/events/<event_id>/binaries',
    status: 201,
    answer: 'eventBinary',
    has: ['self', 'type', 'source', 'length'],
    roles: EVENT_ADMIN,
    call: async (world) => ({
      path: `${EVENTS}/${await eventWithBinary(world)}/binaries`,
      body: 'other content',
      headers: binary,
    }),
    check: hasBinary('other content'),
  },
  {
    method: 'DELETE',
    path: '/event/events/<event_id>/binaries',
    status: 204,
    roles: EVENT_ADMIN,
    call: async (world) => at(`${EVENTS}/${await eventWithBinary(world)}/binaries`),
    check: async (t, answered) => {
      await isGone(t, answered);
      for (const path of [answered.sent.path, `${EVENTS}/999999999/binaries`])
        t.equal((await answered.rest.delete(path ?? '')).status, 404, 'no binary, no event');
    },
  },
];

const IDENTITY_ADMIN = ['ROLE_IDENTITY_ADMIN'];
const IDENTITY_READ = ['ROLE_IDENTITY_READ'];
const byName = async (world: World): Promise<Call> => {
  const { type, externalId } = await world.externalId();
  return at(`/identity/externalIds/${type}/${externalId}`);
};
const IDENTITY_ROWS: readonly EndpointRow[] = [
  {
    method: 'GET',
    path: '/identity',
    status: 200,
    answer: 'identityApi',
    has: ['self', 'externalId', 'externalIdsOfGlobalId'],
    roles: IDENTITY_READ,
    furtherRoles: ['ROLE_DEVICE'],
  },
  {
    method: 'POST',
    path: '/identity/globalIds/<global_id>/externalIds',
    status: 201,
    hasLocation: true,
    answer: 'externalId',
    has: ['externalId', 'type', 'managedObject', 'self'],
    roles: IDENTITY_ADMIN,
    call: (world) =>
      at(`/identity/globalIds/${world.device}/externalIds`, { externalId: world.name('serial'), type: 'c8y_Serial' }),
    check: async (t, answered) => {
      await isAnswered(t, answered);
      t.match(answered.reply.json, { managedObject: { id: answered.world.device, self: /^http/ } });
    },
  },
  {
    method: 'GET',
    path: '/identity/globalIds/<global_id>/externalIds',
    status: 200,
    answer: 'externalIdCollection',
    has: ['self', 'externalIds'],
    roles: IDENTITY_READ,
    call: (world) => at(`/identity/globalIds/${world.device}/externalIds`),
  },
  {
    method: 'GET',
    path: '/identity/externalIds/<type>/<external_id>',
    status: 200,
    answer: 'externalId',
    has: ['externalId', 'type', 'managedObject', 'self'],
    roles: IDENTITY_READ,
    call: byName,
  },
  {
    method: 'DELETE',
    path: '/identity/externalIds/<type>/<external_id>',
    status: 204,
    roles: IDENTITY_ADMIN,
    call: byName,
    check: isGone,
  },
];

export const ENDPOINTS: readonly EndpointTable[] = [
  { heading: 'Applications and microservices', rows: APPLICATION_ROWS },
  { heading: 'Tenants, subscriptions, options', rows: TENANT_ROWS },
  { heading: 'Inventory and assets', rows: INVENTORY_ROWS },
  { heading: 'Operations and bulk operations', rows: OPERATION_ROWS },
  { heading: 'Alarms', rows: ALARM_ROWS },
  { heading: 'Events and binaries', rows: EVENT_ROWS },
  { heading: 'Identity', rows: IDENTITY_ROWS },
];
