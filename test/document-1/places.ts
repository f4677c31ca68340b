/** Document 1, "Endpoints": the rules below its tables, with their numbers. */
import type { Test } from 'tap';
import type { RuleTable } from './rows.ts';
import { TIME } from './world.ts';
import type { World } from './world.ts';
import { connectDevice } from '../helpers/running/mqtt.ts';
import { PASSWORD, Rest, TENANT, eventually } from '../helpers/running/server.ts';
import type { Reply } from '../helpers/running/server.ts';

const OBJECTS = '/inventory/managedObjects';
const COLLECTIONS: Readonly<Record<string, string>> = {
  events: '/event/events',
  alarms: '/alarm/alarms',
  operations: '/devicecontrol/operations',
  measurements: '/measurement/measurements',
};

/** Steps 1 of registration: announced, asked, accepted. @returns the user of the device. */
async function registered(
  world: World,
  id: string,
): Promise<{ readonly rest: Rest; readonly username: string; readonly password: string }> {
  const poll = (): Promise<Reply> => world.bootstrap.post('/devicecontrol/deviceCredentials', { id });
  await world.rest.create('/devicecontrol/newDeviceRequests', { id });
  await poll();
  await world.rest.put(`/devicecontrol/newDeviceRequests/${id}`, { status: 'ACCEPTED' });
  const { tenantId, username, password } = (await poll()).json;
  return { rest: new Rest(world.server.url, `${tenantId}/${username}`, password), username, password };
}

/** The own PUT of the name, as an administrator or a user, holds. */
async function isNamed(t: Test, world: World, id: string, name: string, what: string): Promise<void> {
  t.equal((await world.rest.read(`${OBJECTS}/${id}`)).name, name, what);
}
export const PLACES: RuleTable = {
  heading: 'Endpoints, their rules',
  rows: [
    {
      row: 'Applications: the bootstrap user reaches six endpoints and PUT currentApplication',
      heldBy: [
        ['e2e/applications/microservices', 'it reaches exactly what is listed (docs/spec/microservices.md#users)'],
      ],
    },
    {
      row: 'Applications: a service user has requiredRoles',
      heldBy: [
        [
          'e2e/applications/microservices',
          'a service user for each subscribed tenant, with exactly the required roles',
        ],
      ],
    },
    {
      row: "Applications: settings are a flat map of the owner's options",
      check: async (t, world) => {
        const { bootstrap } = await world.service();
        const { contextPath, name } = await bootstrap.read('/application/currentApplication');
        const { name: plain, id } = await world.application({ contextPath: world.name('path') });
        const own = await world.serviceBootstrap({ id });
        const { contextPath: path } = await own.read('/application/currentApplication');
        t.equal(contextPath, undefined);
        t.not(path, plain);
        for (const category of [name, plain, path])
          await world.rest.post('/tenant/options', { category, key: 'of', value: category });
        t.strictSame(
          await bootstrap.read('/application/currentApplication/settings'),
          { ...(await world.rest.read(`/tenant/options/${name}`)) },
          'the name where there is no context path',
        );
        t.strictSame(
          await own.read('/application/currentApplication/settings'),
          { of: path },
          'the context path where there is one',
        );
      },
      heldBy: [
        [
          'e2e/applications/microservices',
          'settings: defaults of the manifest, options of the owner, those of the tenant; secrets decrypted',
        ],
      ],
    },
    {
      row: 'Tenants 1: adminPass and adminEmail change the user, adminName does nothing',
      check: async (t, world) => {
        const { id } = await world.tenant();
        t.match(
          await world.management.put(`/tenant/tenants/${id}`, {
            adminPass: 'Another-one-2',
            adminEmail: 'new@example.com',
          }),
          { status: 200, json: { adminEmail: 'new@example.com' } },
        );
        t.match(await world.management.put(`/tenant/tenants/${id}`, { adminName: 'chief' }), {
          status: 200,
          json: { adminName: 'boss' },
        });
        t.match(await new Rest(world.server.url, `${id}/boss`, 'Another-one-2').read('/user/currentUser'), {
          userName: 'boss',
          email: 'new@example.com',
        });
        t.equal((await new Rest(world.server.url, `${id}/boss`, PASSWORD).get('/user/currentUser')).status, 401);
        t.equal(
          (await new Rest(world.server.url, `${id}/chief`, 'Another-one-2').get('/user/currentUser')).status,
          401,
        );
      },
    },
    {
      row: 'Tenants 2: DELETE by the management tenant only',
      check: async (t, world) => {
        const { id } = await world.tenant({ allowCreateTenants: true });
        const isIrreversible = async (tenant: string): Promise<void> => {
          t.equal((await world.management.get(`/tenant/tenants/${tenant}`)).status, 404);
          t.equal(
            (await world.management.put(`/tenant/tenants/${tenant}`, { status: 'ACTIVE' })).status,
            404,
            'it cannot be reverted',
          );
          t.equal((await new Rest(world.server.url, `${tenant}/boss`, PASSWORD).get('/user/currentUser')).status, 401);
        };
        const by = new Rest(world.server.url, `${id}/boss`, PASSWORD);
        const { id: below } = await by.create('/tenant/tenants', world.tenantBody());
        t.equal((await by.delete(`/tenant/tenants/${below}`)).status, 403);
        t.equal((await world.management.delete(`/tenant/tenants/${below}`)).status, 204);
        await isIrreversible(below);
      },
    },
    {
      row: 'Tenants 3: a non-editable option: 403',
      heldBy: [['e2e/tenants/options', 'non-editable options']],
      check: async (t, world) => {
        const { category, key } = await world.option();
        const path = `/tenant/options/${category}/${key}`;
        const attempts = async (): Promise<Reply[]> => [
          await world.rest.put(path, { value: 'other' }),
          await world.rest.delete(path),
        ];
        t.equal((await world.management.put(`${path}/editable?tenant=${TENANT}`, { editable: 'false' })).status, 200);
        for (const reply of await attempts())
          t.match(reply, { status: 403, json: { error: /./, message: new RegExp(key) } });
        t.equal((await world.rest.read(path)).value, 'value', 'it is as it was');
        t.equal((await world.management.put(`${path}/editable?tenant=${TENANT}`, { editable: 'true' })).status, 200);
        t.same(
          (await attempts()).map(({ status }) => status),
          [200, 204],
          'editable again',
        );
      },
    },
    // The document gives two answers: this is the one of the microservice description.
    {
      row: 'Tenants 4: subscribing answers 201',
      check: async (t, world) => {
        const { id } = await world.tenant();
        const { id: application, key, name } = await world.application();
        const reply = await world.management.post(`/tenant/tenants/${id}/applications`, {
          application: { id: application },
        });
        t.match(reply, {
          status: 201,
          json: {
            self: /^http/,
            application: {
              id: application,
              key,
              name,
              owner: { tenant: { id: TENANT } },
              self: /^http/,
              type: 'MICROSERVICE',
            },
          },
        });
      },
    },
    {
      row: 'Tenants 5: by domain, or by tenant id before the user name',
      heldBy: [['e2e/tenants/tenants', 'the host name says the tenant when the user name does not']],
    },
    {
      row: 'option resource: viewable and modifiable',
      heldBy: [['e2e/tenants/options', 'an option through its life']],
      check: async (t, world) => {
        const { category, key } = await world.option();
        const path = `/tenant/options/${category}/${key}`;
        t.match(await world.rest.read(path), { category, key, value: 'value', self: `${world.server.url}${path}` });
        t.match(await world.rest.put(path, { value: 'other' }), {
          status: 200,
          json: { category, key, value: 'other' },
        });
        t.equal((await world.rest.read(path)).value, 'other');
      },
    },
    {
      row: 'Inventory: DELETE also deletes registration, measurements, alarms, events, operations',
      check: async (t, world) => {
        const [id, other] = [await world.ownedDevice(), await world.ownedDevice()];
        for (const one of [other, id]) {
          await world.rest.create('/event/events', world.eventBody({ source: { id: one } }));
          await world.rest.create(`/identity/globalIds/${one}/externalIds`, {
            type: 'c8y_Serial',
            externalId: `too-${one}`,
          });
        }
        const source = { id };
        await world.rest.create(`/identity/globalIds/${id}/externalIds`, {
          type: 'c8y_Serial',
          externalId: `gone-${id}`,
        });
        await world.alarm({ source });
        await world.event({ source });
        await world.operation({ deviceId: id });
        await world.rest.create('/measurement/measurements', { source, type: 'm', time: TIME });
        t.equal((await world.rest.delete(`${OBJECTS}/${id}`)).status, 204);
        t.equal((await world.rest.get(`/identity/externalIds/c8y_Serial/gone-${id}`)).status, 404);
        for (const [name, query] of Object.entries({
          alarms: 'source',
          events: 'source',
          measurements: 'source',
          operations: 'deviceId',
        })) {
          await eventually(`no ${name}`, async () => {
            const { status, json } = await world.rest.get(`${COLLECTIONS[name]}?${query}=${id}`);
            return status === 404 || json[name].length === 0;
          });
        }
        t.equal((await world.rest.get(`/identity/externalIds/c8y_Serial/too-${id}`)).status, 404, 'each registration');
        t.equal(
          (await world.rest.get(`/identity/externalIds/c8y_Serial/too-${other}`)).status,
          200,
          "no other object's",
        );
        t.equal((await world.rest.read(`/event/events?source=${other}`)).events.length, 1);
      },
    },
    {
      row: 'Inventory: DELETE of a child removes only the reference',
      check: async (t, world) => {
        const child = await world.ownedDevice();
        await world.rest.create(`${OBJECTS}/${world.device}/childDevices`, { managedObject: { id: child } });
        t.equal((await world.rest.delete(`${OBJECTS}/${world.device}/childDevices/${child}`)).status, 204);
        t.equal((await world.rest.get(`${OBJECTS}/${child}`)).status, 200);
        t.ok([404, 422].includes((await world.rest.get(`${OBJECTS}/${world.device}/childDevices/${child}`)).status));
      },
    },
    {
      row: 'Inventory 1, 2: the links of the answer take children',
      check: async (t, world) => {
        const asset = await world.rest.create(OBJECTS, { name: 'asset' });
        for (const kind of ['childAssets', 'childDevices']) {
          const child = await world.ownedDevice();
          t.equal((await world.rest.post(asset[kind].self, { managedObject: { id: child } })).status, 201);
          t.same(
            (await world.rest.read(asset.self))[kind].references.map(({ managedObject }: any) => managedObject.id),
            [child],
          );
          const parents = (await world.rest.read(`${OBJECTS}/${child}?withParents=true`))[
            kind === 'childAssets' ? 'assetParents' : 'deviceParents'
          ];
          t.same(
            parents.references.map(({ managedObject }: any) => managedObject.id),
            [asset.id],
          );
        }
      },
    },
    // The sentence binds agents: the API cannot tell a device user that obeys a user of his from one that does not.
    // What the server does in an agent's name keeps to it.
    {
      row: 'Inventory 3: users may edit the name, an agent that registers again does not',
      check: async (t, world) => {
        const serial = world.name('named');
        const { rest: agent, username, password } = await registered(world, serial);
        const announce = async (name: string): Promise<void> => {
          const link = await connectDevice(t, world.server, serial, { username: `${TENANT}/${username}`, password });
          await link.publish('s/us', `100,${name},mill_Type`);
          await link.client.endAsync();
        };
        await announce('first');
        const {
          managedObject: { id },
        } = await eventually('the device', async () => {
          const reply = await world.rest.get(`/identity/externalIds/c8y_Serial/${serial}`);
          return reply.status === 200 && reply.json;
        });
        await isNamed(t, world, id, 'first', 'named by its agent when it is registered');
        const clerk = await world.user(world.name('clerk'), ['ROLE_INVENTORY_ADMIN', 'ROLE_INVENTORY_READ']);
        t.equal((await clerk.put(`${OBJECTS}/${id}`, { name: 'edited' })).status, 200);
        await isNamed(t, world, id, 'edited', 'a user may edit it');
        await announce('second');
        await agent.put(`${OBJECTS}/${id}`, { c8y_Hardware: { model: 'x' } });
        await eventually(
          "the agent's own change",
          async () => (await world.rest.read(`${OBJECTS}/${id}`)).c8y_Hardware !== undefined,
        );
        await isNamed(t, world, id, 'edited', 'and it stays when the agent registers and updates its device');
      },
    },
    {
      row: 'Inventory 4: operations need an agent above the device',
      heldBy: [
        [
          'e2e/operations/operations',
          'the agent: the device itself or one above it, by childDevices or as its service',
        ],
      ],
      check: async (t, world) => {
        const plain = async (): Promise<string> =>
          (await world.rest.create(OBJECTS, { name: 'plain', c8y_IsDevice: {} })).id;
        const post = (deviceId: string): Promise<Reply> =>
          world.rest.post('/devicecontrol/operations', { deviceId, c8y_Restart: {} });
        const [alone, child, asset] = [await plain(), await plain(), await plain()];
        t.equal((await post(alone)).status, 422, 'no agent');
        const { id: agent } = await world.rest.create(OBJECTS, { name: 'agent', com_platform_model_Agent: {} });
        await world.rest.create(`${OBJECTS}/${agent}/childAssets`, { managedObject: { id: asset } });
        t.equal((await post(asset)).status, 422, 'childAssets are another hierarchy');
        await world.rest.create(`${OBJECTS}/${agent}/childDevices`, { managedObject: { id: child } });
        const grandchild = await plain();
        await world.rest.create(`${OBJECTS}/${child}/childDevices`, { managedObject: { id: grandchild } });
        for (const deviceId of [child, grandchild]) {
          const {
            status,
            json: { id },
          } = await post(deviceId);
          t.equal(status, 201);
          t.equal((await world.rest.put(`/devicecontrol/operations/${id}`, { status: 'EXECUTING' })).status, 200);
          t.same(
            (await world.rest.read(`/devicecontrol/operations?agentId=${agent}&deviceId=${deviceId}`)).operations.map(
              (one: any) => one.id,
            ),
            [id],
          );
        }
      },
    },
    {
      row: 'Inventory 5: external systems: identity, then create or update',
      heldBy: [['e2e/inventory/identity', 'bind, read, list, unbind: whatever the texts are']],
      check: async (t, world) => {
        const externalId = world.name('erp');
        const path = `/identity/externalIds/mill_Erp/${externalId}`;
        t.equal((await world.rest.get(path)).status, 404, 'new: it is created');
        const { id } = await world.rest.create(OBJECTS, { name: 'synchronised' });
        await world.rest.create(`/identity/globalIds/${id}/externalIds`, { type: 'mill_Erp', externalId });
        t.equal((await world.rest.read(path)).managedObject.id, id, 'known: it is updated');
        t.equal((await world.rest.put(`${OBJECTS}/${id}`, { name: 'renamed' })).json.name, 'renamed');
      },
    },
    {
      row: 'Registration 1 to 6',
      heldBy: [
        ['e2e/devices/device-registration', 'over HTTP: announced, asked, accepted, credentials once, then data'],
        ['e2e/devices/device-registration', 'states of a request (docs/spec/device-registration.md#requests)'],
      ],
      check: async (t, world) => {
        const [id, type] = [world.name('flow'), 'c8y_Serial'];
        const poll = (): Promise<Reply> =>
          world.bootstrap.request('POST', '/devicecontrol/deviceCredentials', {
            body: { id },
            headers: {
              'content-type': 'application/vnd.com.nsn.platform.devicecredentials+json',
              accept: 'application/vnd.com.nsn.platform.devicecredentials+json',
            },
          });
        await world.rest.create('/devicecontrol/newDeviceRequests', { id });
        for (const what of ['1: not accepted', '1: repeated']) t.equal((await poll()).status, 404, what);
        await world.rest.put(`/devicecontrol/newDeviceRequests/${id}`, { status: 'ACCEPTED' });
        const {
          status,
          json: { tenantId, username, password },
        } = await poll();
        t.equal(status, 200, '1: accepted');
        const device = new Rest(world.server.url, `${tenantId}/${username}`, password);
        t.equal((await device.get(`/identity/externalIds/${type}/${id}`)).status, 404, '2: not registered');
        const object = await device.create(OBJECTS, {
          name: id,
          c8y_IsDevice: {},
          com_platform_model_Agent: {},
          c8y_SupportedOperations: ['c8y_Restart'],
        });
        t.match(
          object,
          { c8y_IsDevice: {}, com_platform_model_Agent: {}, c8y_SupportedOperations: ['c8y_Restart'] },
          '3',
        );
        t.equal(
          (await device.post(`/identity/globalIds/${object.id}/externalIds`, { type, externalId: id })).status,
          201,
          '4',
        );
        t.match(
          await device.read(`/identity/externalIds/${type}/${id}`),
          { managedObject: { id: object.id, self: object.self } },
          '2: registered',
        );
        t.equal((await device.put(`${OBJECTS}/${object.id}`, { c8y_Hardware: { model: 'x' } })).status, 200, '5');
        t.match(await device.read(`${OBJECTS}/${object.id}`), {
          c8y_Hardware: { model: 'x' },
          c8y_SupportedOperations: ['c8y_Restart'],
        });
        const child = await device.create(OBJECTS, { name: 'child', c8y_IsDevice: {} });
        t.equal(
          (await device.post(`${OBJECTS}/${object.id}/childDevices`, { managedObject: { id: child.id } })).status,
          201,
          '6',
        );
        t.equal(
          (await world.rest.post('/devicecontrol/operations', { deviceId: child.id, c8y_Restart: {} })).status,
          201,
          '6: without an agent of its own',
        );
      },
    },
    {
      row: 'Bulk operations: groupId or failedParentId, not both',
      check: async (t, world) => {
        const failed = await world.failedBulk();
        const post = async (more: object): Promise<Reply> =>
          world.rest.post('/devicecontrol/bulkoperations', await world.bulkBody(more));
        t.match(await post({ failedParentId: failed }), { status: 422, json: { message: /failedParentId/ } }, 'both');
        t.match(await post({ groupId: undefined }), { status: 422, json: { message: /groupId/ } }, 'neither');
        const again = await post({ groupId: undefined, failedParentId: failed, startDate: TIME });
        t.match(again, { status: 201, json: { failedParentId: failed, status: 'ACTIVE', progress: { all: 1 } } });
        t.equal(again.json.groupId, undefined);
        const operations = async (id: string): Promise<string[]> =>
          (await world.rest.read(`/devicecontrol/operations?bulkOperationId=${id}`)).operations.map(
            (one: any) => one.deviceId,
          );
        await eventually(
          'on the devices whose operation failed',
          async () => (await operations(again.json.id)).length === 1,
        );
        t.same(await operations(again.json.id), await operations(failed), 'the same devices');
      },
      heldBy: [
        [
          'e2e/operations/bulk-operations',
          'each device of a static group, with its subgroups, gets the operation once',
        ],
        ['e2e/operations/bulk-operations', 'a dynamic group is what its query finds when it starts'],
        ['e2e/operations/bulk-operations', 'the ramp: one after the other'],
        ['e2e/operations/bulk-operations', 'what is refused'],
        ['e2e/operations/bulk-operations', 'progress and general status follow the operations and always add up'],
        ['jobs/bulk-operation-scheduler', 'one after the other, from startDate on'],
      ],
    },
    {
      row: "Alarms 1: id and creationTime are the server's",
      check: async (t, world) => {
        const { id, creationTime } = await world.alarm({ id: '1', creationTime: TIME });
        t.not(id, '1');
        t.ok(Math.abs(Date.parse(creationTime) - Date.now()) < 600_000);
      },
    },
    {
      row: 'Alarms 2: suppressed in maintenance',
      heldBy: [['e2e/alarms/alarms', 'what is not stored: maintenance, mapped types, processing modes']],
      check: async (t, world) => {
        const id = await world.ownedDevice({ c8y_RequiredAvailability: { responseInterval: -1 } });
        const source = { id };
        t.match(await world.rest.post('/alarm/alarms', world.alarmBody({ source })), {
          status: 201,
          json: { id: null },
        });
        t.same((await world.rest.read(`/alarm/alarms?source=${id}`)).alarms, [], 'not created');
        await world.rest.put(`${OBJECTS}/${id}`, { c8y_RequiredAvailability: { responseInterval: 5 } });
        t.match((await world.alarm({ source })).id, /^\d+$/);
        t.equal((await world.rest.read(`/alarm/alarms?source=${id}`)).alarms.length, 1);
      },
    },
    {
      row: 'Alarms 3: de-duplication',
      heldBy: [['e2e/alarms/alarms', 'alarm status: repeats and moves (docs/spec/alarms.md#status)']],
      check: async (t, world) => {
        const first = await world.alarm();
        const again = (more: object): Promise<any> =>
          world.alarm({ type: first.type, time: '2024-05-02T11:00:00.000Z', ...more });
        t.match(await again({}), { id: first.id, count: 2, firstOccurenceTime: TIME });
        t.not((await again({ source: { id: await world.ownedDevice() } })).id, first.id, 'of another source');
        t.not((await world.alarm()).id, first.id, 'of another type');
        await world.rest.put(`/alarm/alarms/${first.id}`, { status: 'CLEARED' });
        t.not((await again({})).id, first.id, 'when it is cleared');
      },
    },
    {
      row: 'Alarms 4: a PUT that changes is audited with user, one that does not is not',
      heldBy: [
        ['e2e/alarms/alarms', 'history: who changed what (docs/spec/alarms.md#history)'],
        ['e2e/alarms/alarms', 'notifications (docs/spec/realtime.md#effects)'],
      ],
      check: async (t, world) => {
        const alarm = await world.alarm();
        const path = `/alarm/alarms/${alarm.id}`;
        await world.rest.put(path, { status: 'ACTIVE', text: 'text', severity: 'MAJOR' });
        t.equal((await world.rest.read(path)).history.auditRecords.length, 1);
        const by = await world.only('ROLE_ALARM_ADMIN');
        for (const [index, body] of [
          { status: 'ACKNOWLEDGED' },
          { severity: 'MINOR' },
          { mill_Extra: 1 },
          { mill_Extra: null },
        ].entries()) {
          await by.request('PUT', path, { body, headers: { 'X-Platform-Application-Key': 'mill-app' } });
          const { auditRecords } = (await world.rest.read(path)).history;
          t.equal(auditRecords.length, index + 2, 'one more');
          t.equal(
            auditRecords.filter(
              ({ user, application }: any) => user === 'only-role_alarm_admin' && application === 'mill-app',
            ).length,
            index + 1,
            'with user and application',
          );
          await by.put(path, body);
          t.equal((await world.rest.read(path)).history.auditRecords.length, index + 2, 'not for the same again');
        }
      },
    },
    {
      row: 'Alarms 5: CRITICAL makes the source unavailable while it is active',
      check: async (_t, world) => {
        for (const [monitored, status] of [
          [{ c8y_RequiredAvailability: { responseInterval: 30 } }, 'AVAILABLE'],
          [{}, 'NOT_MONITORED'],
        ] as const) {
          const id = await world.ownedDevice(monitored);
          await world.event({ source: { id }, time: new Date().toISOString() });
          const alarm = await world.alarm({ source: { id }, severity: 'CRITICAL' });
          const is = (wanted: string): Promise<unknown> =>
            eventually(
              wanted,
              async () => (await world.rest.read(`${OBJECTS}/${id}`)).c8y_Availability?.status === wanted,
            );
          await is('UNAVAILABLE');
          await world.rest.put(`/alarm/alarms/${alarm.id}`, { status: 'CLEARED' });
          await is(status);
        }
      },
    },
    {
      row: 'Events 1: latest first, revert=true: oldest first',
      check: async (t, world) => {
        const id = await world.ownedDevice();
        for (const hour of ['10', '12', '11'])
          await world.event({ source: { id }, time: `2024-05-02T${hour}:00:00.000Z`, text: hour });
        const texts = async (more: string): Promise<string[]> =>
          (await world.rest.read(`/event/events?source=${id}&dateFrom=2024-05-01&dateTo=2024-05-04${more}`)).events.map(
            ({ text }: any) => text,
          );
        t.same(await texts(''), ['12', '11', '10']);
        t.same(await texts('&revert=true'), ['10', '11', '12']);
      },
    },
    {
      row: 'Events 2: one binary: 201, 404, 409',
      heldBy: [
        ['e2e/events/events', 'a binary in one piece (docs/spec/events.md#binaries)'],
        ['e2e/events/events', 'two uploads at once: one of them'],
      ],
      check: async (t, world) => {
        const { id } = await world.event();
        const path = `/event/events/${id}/binaries`;
        const send = (to: string): Promise<Reply> =>
          world.rest.request('POST', to, { body: 'content', headers: { 'content-type': 'image/png' } });
        const reply = await send(path);
        t.equal(reply.status, 201);
        t.strictSame(reply.json, { self: `${world.server.url}${path}`, type: 'image/png', source: id, length: 7 });
        t.equal((await send(path)).status, 409);
        t.equal((await send('/event/events/999999999/binaries')).status, 404);
      },
    },
    {
      row: 'Events 3: chunks',
      heldBy: [['e2e/events/events', 'a binary in chunks (docs/spec/events.md#binaries)']],
      check: async (t, world) => {
        const path = `/event/events/${(await world.event()).id}/binaries`;
        const send = (body: string, range: string): Promise<Reply> =>
          world.rest.request('POST', path, { body, headers: { 'content-type': 'text/plain', 'content-range': range } });
        t.match(await send('abc', '1-3/*'), { status: 422 }, 'start is from 0');
        t.match(await send('abc', '0-2/*'), { status: 200, json: { range: '0-2/*' } });
        t.match(await send('de', '3-5/*'), { status: 422 }, 'stop is inclusive');
        t.match(await send('de', '3-4/*'), { status: 200, json: { range: '3-4/*' } });
        t.equal((await world.rest.get(path)).status, 404, 'a partial upload is nothing yet');
        const last = await send('f', '5-5/6');
        t.match(last, { status: 201, json: { length: 6 } });
        t.notOk('range' in last.json);
        t.equal((await world.rest.get(path)).text, 'abcdef');
      },
    },
    {
      row: 'Identity: the object first',
      check: async (t, world) => {
        const [type, externalId] = ['c8y_Serial', world.name('early')];
        t.equal((await world.rest.post('/identity/globalIds/999999999/externalIds', { type, externalId })).status, 404);
        t.equal(
          (await world.rest.get(`/identity/externalIds/${type}/${externalId}`)).status,
          404,
          'nothing was registered',
        );
        t.equal(
          (await world.rest.post(`/identity/globalIds/${world.device}/externalIds`, { type, externalId })).status,
          201,
        );
      },
    },
  ],
};
