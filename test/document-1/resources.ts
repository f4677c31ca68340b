/** Document 1, "Resources and their fields": what stands beside the tables of fields, and what fields do. */
import type { RuleTable } from './rows.ts';
import { TIME } from './world.ts';
import type { World } from './world.ts';
import { PASSWORD, Rest, TENANT, eventually } from '../helpers/running/server.ts';
import type { Reply } from '../helpers/running/server.ts';

const OBJECTS = '/inventory/managedObjects';
const APPS = '/application/applications';

async function subscribe(world: World, tenant: string, application: string): Promise<void> {
  const reply = await world.management.post(`/tenant/tenants/${tenant}/applications`, {
    application: { id: application },
  });
  if (reply.status !== 201) throw new Error(reply.text);
}

/** A tenant and its administrator. */
async function tenantWith(world: World, more: object = {}): Promise<{ readonly id: string; readonly admin: Rest }> {
  const { id } = await world.tenant(more);
  return { id, admin: new Rest(world.server.url, `${id}/boss`, PASSWORD) };
}

const APPLICATIONS: RuleTable = {
  heading: 'Application, beside its fields',
  rows: [
    {
      row: 'Application: activeVersionId',
      heldBy: [['e2e/applications/application-binaries', 'another archive is taken into use']],
      check: async (t, world) => {
        const { id } = await world.application();
        t.match(
          await world.rest.put(`${APPS}/${id}`, { activeVersionId: '999999999' }),
          { status: 422, json: { message: /activeVersionId/ } },
          'an archive that is not there',
        );
        t.equal((await world.rest.read(`${APPS}/${id}`)).activeVersionId, undefined);
      },
    },
    {
      row: 'Application: requiredRoles, roles',
      check: async (t, world) => {
        const role = `ROLE_${world.name('MILL').toUpperCase().replace('-', '')}_READ`;
        const { id } = await world.application({
          requiredRoles: ['ROLE_INVENTORY_READ', 'ROLE_INVENTORY_ADMIN'],
          roles: [role],
        });
        const bootstrap = await world.serviceBootstrap({ id });
        const { id: tenant, admin } = await tenantWith(world);
        const known = async (): Promise<boolean> =>
          (await admin.read('/user/roles?pageSize=2000')).roles.some((one: any) => one.id === role);
        await admin.create(`/user/${tenant}/users`, { userName: 'ada', password: PASSWORD });
        const grant = (): Promise<Reply> => admin.post(`/user/${tenant}/users/ada/roles`, { role: { id: role } });
        t.notOk(await known(), 'not before the subscription');
        t.equal((await grant()).status, 404);
        await subscribe(world, tenant, id);
        t.ok(await known(), 'after it');
        t.equal((await grant()).status, 201, 'an administrator may grant it');
        const granted = (
          await new Rest(world.server.url, `${tenant}/ada`, PASSWORD).read('/user/currentUser')
        ).effectiveRoles.map((one: any) => one.id);
        t.ok(granted.includes(role), 'who has it then');
        const [user] = (await bootstrap.read('/application/currentApplication/subscriptions')).users.filter(
          (one: any) => one.tenant === tenant,
        );
        const service = new Rest(world.server.url, `${tenant}/${user.name}`, user.password);
        t.equal((await service.post(OBJECTS, { name: 'of the service' })).status, 201, 'what requiredRoles give');
        t.equal(
          (await service.post('/tenant/options', { category: 'c', key: 'k', value: 'v' })).status,
          403,
          'and nothing else',
        );
      },
    },
    {
      row: 'service user: tenant, name, password',
      check: async (t, world) => {
        const { id, bootstrap } = await world.service();
        const user = await world.rest.read(`${APPS}/${id}/bootstrapUser`);
        t.strictSame(Object.keys(user).sort(), ['name', 'password', 'tenant']);
        for (const value of Object.values(user)) t.type(value, 'string');
        const { id: tenant } = await world.tenant();
        await subscribe(world, tenant, id);
        const { users, self } = await bootstrap.read('/application/currentApplication/subscriptions');
        t.match(self, world.server.url);
        for (const one of users) t.match(one, { tenant: String, name: String, password: String });
        t.ok(users.length > 0);
      },
    },
    {
      row: 'application reference: by id or self',
      check: async (t, world) => {
        const { id: tenant } = await world.tenant();
        const path = `/tenant/tenants/${tenant}/applications`;
        for (const name of ['id', 'self']) {
          const application = await world.application();
          const reply = await world.management.post(path, { application: { [name]: application[name] } });
          t.match(reply, {
            status: 201,
            json: {
              self: /^http/,
              application: {
                id: application.id,
                key: application.key,
                name: application.name,
                type: 'MICROSERVICE',
                owner: { tenant: { id: TENANT } },
                self: /^http/,
              },
            },
          });
        }
        for (const body of [{}, { application: {} }])
          t.match(
            await world.management.post(path, body),
            { status: 422, json: { message: /application/ } },
            'neither',
          );
        const { references } = await world.management.read(`${path}?pageSize=2`);
        t.match(references, { length: 2, 0: { self: /^http/, application: { id: /^\d+$/, self: /^http/ } } });
      },
    },
  ],
};

const TENANTS: RuleTable = {
  heading: 'Tenant, beside its fields',
  rows: [
    {
      row: 'Tenant: company and domain are required, the others are not',
      check: async (t, world) => {
        const domain = world.name('domain');
        t.match(await world.management.post('/tenant/tenants', {}), {
          status: 422,
          json: { message: 'Following mandatory fields should be included: company,domain' },
        });
        t.match(await world.management.post('/tenant/tenants', { company: 'c', domain }), {
          status: 201,
          json: { company: 'c', domain },
        });
      },
      heldBy: [
        ['e2e/tenants/tenants', 'what belongs together'],
        ['e2e/tenants/tenants', 'an id or a domain is given once'],
        ['e2e/tenants/tenants', 'an id is generated when there is none, of the form t<number>'],
      ],
    },
    {
      row: 'Tenant: allowCreateTenants',
      check: async (t, world) => {
        for (const [allowCreateTenants, status] of [
          [true, 201],
          [false, 403],
        ] as const) {
          t.equal(
            (await (await tenantWith(world, { allowCreateTenants })).admin.post('/tenant/tenants', world.tenantBody()))
              .status,
            status,
            String(allowCreateTenants),
          );
        }
      },
    },
    {
      row: 'Tenant: sendPasswordResetEmail',
      check: async (t, world) => {
        const linkFor = (address: string): string | undefined =>
          /token=[^\s\\"]+/.exec(world.server.complaints.findLast((line) => line.includes(address)) ?? '')?.[0];
        const [first, second, third] = ['first', 'second', 'third'].map((one) => `${world.name(one)}@example.com`);
        const { adminPass: _, ...body } = world.tenantBody();
        await world.management.create('/tenant/tenants', { ...body, adminEmail: first, sendPasswordResetEmail: true });
        t.ok(await eventually('a link for the administrator', () => linkFor(first)));
        const { id } = await world.tenant({ adminEmail: third, sendPasswordResetEmail: false });
        t.equal(
          (await world.management.put(`/tenant/tenants/${id}`, { adminEmail: third, sendPasswordResetEmail: false }))
            .status,
          200,
        );
        t.equal(
          (await world.management.put(`/tenant/tenants/${id}`, { adminEmail: second, sendPasswordResetEmail: true }))
            .status,
          200,
        );
        t.ok(await eventually('one with a PUT', () => linkFor(second)));
        t.equal(linkFor(third), undefined, 'false sends none');
      },
    },
    {
      row: 'Tenant: applications, ownedApplications',
      check: async (t, world) => {
        const { id, admin } = await tenantWith(world);
        for (const availability of ['MARKET', 'PRIVATE'])
          await admin.create(
            APPS,
            world.applicationBody({ availability, name: `${id}-${availability.toLowerCase()}` }),
          );
        const { id: application } = await world.application();
        await subscribe(world, id, application);
        const found = await world.management.read(`/tenant/tenants/${id}`);
        t.same(
          found.ownedApplications.references.map((one: any) => one.application.name),
          [`${id}-market`],
          'those that are MARKET',
        );
        t.same(
          found.applications.references.map((one: any) => one.application.id),
          [application],
          'those that it is subscribed to',
        );
        t.match(found, {
          applications: { self: /^http/, references: [{ self: /^http/ }] },
          ownedApplications: { self: /^http/, references: [{ self: /^http/ }] },
        });
      },
    },
    {
      row: 'Tenant: parent',
      check: async (t, world) => {
        const { id, admin } = await tenantWith(world, { allowCreateTenants: true });
        t.equal((await admin.create('/tenant/tenants', world.tenantBody())).parent, id, 'the tenant that created it');
      },
    },
    {
      row: 'current tenant: name, domainName, allowCreateTenants, customProperties',
      check: async (t, world) => {
        const customProperties = { language: 'en' };
        const body = world.tenantBody({ allowCreateTenants: true, customProperties });
        const { id, domain } = await world.management.create('/tenant/tenants', body);
        t.match(await new Rest(world.server.url, `${id}/boss`, PASSWORD).read('/tenant/currentTenant'), {
          name: id,
          domainName: domain,
          allowCreateTenants: true,
          customProperties,
        });
      },
    },
  ],
};

const OPTIONS: RuleTable = {
  heading: 'Option, beside its fields',
  rows: [
    {
      row: 'option: new keys or predefined ones',
      check: async (t, world) => {
        t.equal(
          (
            await world.rest.post('/tenant/options', {
              category: world.name('mine'),
              key: world.name('key'),
              value: 'x',
            })
          ).status,
          200,
        );
        t.match(await world.rest.post('/tenant/options', { category: 'access.control', key: 'other', value: 'x' }), {
          status: 422,
          json: { message: /other/ },
        });
      },
    },
    {
      row: 'option: the management tenant marks any of any tenant',
      heldBy: [['e2e/tenants/options', 'non-editable options']],
    },
    {
      row: 'option access.control/allow.origin: default *, predefined keys only',
      heldBy: [
        [
          'e2e/tenants/options',
          'categories with predefined keys take no others; their defaults hold until something else is set',
        ],
        ['e2e/tenants/options', 'CORS follows the option access.control/allow.origin of the tenant, at once'],
      ],
      check: async (t, world) => {
        t.equal((await world.rest.read('/tenant/options/access.control/allow.origin')).value, '*');
        t.equal(
          (await world.rest.post('/tenant/options', { category: 'access.control', key: 'other', value: 'x' })).status,
          422,
        );
        t.equal((await world.rest.put('/tenant/options/access.control/other', { value: 'x' })).status, 422);
        const origin = async (sent: string): Promise<string | null> =>
          (await world.rest.request('GET', OBJECTS, { headers: { origin: sent } })).headers.get(
            'access-control-allow-origin',
          );
        t.equal(await origin('https://any.example'), '*', 'the default');
        await world.rest.put('/tenant/options/access.control/allow.origin', {
          value: 'https://one.example, https://*.two.example',
        });
        t.same(await Promise.all(['https://one.example', 'https://a.two.example', 'https://any.example'].map(origin)), [
          'https://one.example',
          'https://a.two.example',
          null,
        ]);
        await world.rest.delete('/tenant/options/access.control/allow.origin');
      },
    },
    {
      row: 'option alarm.type.mapping/<alarm_type>: new keys, no default',
      check: async (t, world) => {
        const { type } = world.alarmBody() as { type: string };
        t.equal((await world.rest.get(`/tenant/options/alarm.type.mapping/${type}`)).status, 404, 'no default');
        t.equal(
          (
            await world.rest.post('/tenant/options', {
              category: 'alarm.type.mapping',
              key: type,
              value: 'CRITICAL|mapped',
            })
          ).status,
          200,
        );
        t.match(await world.alarm({ type }), { severity: 'CRITICAL', text: 'mapped' });
        t.match(await world.alarm(), { severity: 'MAJOR', text: 'text' }, 'no other type');
      },
    },
  ],
};

const OBJECT_ROWS: RuleTable = {
  heading: 'Managed object and measurement, beside their fields',
  rows: [
    {
      row: 'managed object: parents and children are references',
      check: async (t, world) => {
        const [parent, child] = [await world.ownedDevice(), await world.ownedDevice()];
        for (const [kind, parents] of [
          ['childAssets', 'assetParents'],
          ['childDevices', 'deviceParents'],
        ]) {
          await world.rest.create(`${OBJECTS}/${parent}/${kind}`, { managedObject: { id: child } });
          const reference = (id: string): object => ({
            self: /^http/,
            managedObject: { id, name: 'Owned', self: new RegExp(`${OBJECTS}/${id}$`) },
          });
          t.match(
            (await world.rest.read(`${OBJECTS}/${parent}`))[kind],
            { self: new RegExp(`${OBJECTS}/${parent}/${kind}$`), references: [reference(child)] },
            kind,
          );
          t.match(
            (await world.rest.read(`${OBJECTS}/${child}?withParents=true`))[parents],
            { self: /^http/, references: [reference(parent)] },
            parents,
          );
        }
      },
    },
    {
      row: 'managed object: lastUpdated',
      check: async (t, world) => {
        const id = await world.ownedDevice();
        const { lastUpdated } = await world.rest.read(`${OBJECTS}/${id}`);
        await eventually('a later time', async () => Date.now() > Date.parse(lastUpdated));
        await world.rest.put(`${OBJECTS}/${id}`, { a: 1 });
        t.ok(
          Date.parse((await world.rest.read(`${OBJECTS}/${id}`)).lastUpdated) > Date.parse(lastUpdated),
          'the time of the last change',
        );
      },
    },
    {
      row: 'managed object reference: by id or self',
      check: async (t, world) => {
        for (const make of [
          (id: string) => ({ id }),
          (id: string) => ({ self: `${world.server.url}${OBJECTS}/${id}` }),
        ]) {
          const child = await world.ownedDevice();
          t.match(await world.rest.create(`${OBJECTS}/${world.device}/childDevices`, { managedObject: make(child) }), {
            managedObject: { id: child, name: 'Owned', self: /^http/ },
            self: /^http/,
          });
        }
        const headers = { 'content-type': 'application/vnd.com.nsn.platform.managedobjectreference+json' };
        for (const body of [{}, { managedObject: {} }])
          t.equal(
            (await world.rest.request('POST', `${OBJECTS}/${world.device}/childDevices`, { body, headers })).status,
            422,
            'neither',
          );
      },
    },
    {
      row: 'measurement, read form',
      check: async (t, world) => {
        const make = (series: object): Promise<Reply> =>
          world.rest.post('/measurement/measurements', {
            source: { id: world.device },
            type: 'c8y_T',
            time: TIME,
            c8y_T: series,
          });
        const { self, id } = (await make({ T: { value: 21.5, unit: 'C' }, h: { value: 3 } })).json;
        const wanted = {
          id: /^\d+$/,
          self,
          source: { id: world.device, self: /^http/ },
          time: TIME,
          type: 'c8y_T',
          c8y_T: { T: { value: 21.5, unit: 'C' }, h: { value: 3 } },
        };
        t.match(await world.rest.read(self), wanted);
        t.match(
          (await world.rest.read(`/measurement/measurements?source=${world.device}&pageSize=2000`)).measurements.find(
            (one: any) => one.id === id,
          ),
          wanted,
          'in the list too',
        );
        for (const wrong of [{ T: { value: 'warm' } }, { T: { value: true } }, { T: { value: [1] } }]) {
          const reply = await make(wrong);
          // What is no number is no series: it is kept as it was sent, or refused.
          if (reply.status === 201)
            t.notMatch(
              JSON.stringify(
                (
                  await world.rest.read(
                    `/measurement/measurements/series?source=${world.device}&dateFrom=2024-01-01&dateTo=2025-01-01`,
                  )
                ).values,
              ),
              /warm|true/,
            );
          else t.equal(reply.status, 422, JSON.stringify(wrong));
        }
      },
    },
  ],
};

const CONTROL: RuleTable = {
  heading: 'Operation and bulk operation, beside their fields',
  rows: [
    {
      row: 'Operation: deviceName, bulkOperationId',
      check: async (t, world) => {
        const device = await world.ownedDevice();
        const { id } = await world.bulk({ groupId: await world.group(device), startDate: TIME });
        const [operation] = await eventually('the operation', async () => {
          const { operations } = await world.rest.read(`/devicecontrol/operations?deviceId=${device}`);
          return operations.length > 0 && operations;
        });
        t.match(operation, {
          deviceId: device,
          deviceName: 'Owned',
          bulkOperationId: id,
          status: 'PENDING',
          c8y_Restart: {},
        });
        t.equal((await world.operation()).bulkOperationId, undefined, 'of no bulk operation');
      },
    },
    {
      row: 'Operation: deviceExternalIDs',
      check: async (t, world) => {
        const deviceId = await world.ownedDevice();
        const externalId = world.name('of-operation');
        await world.rest.create(`/identity/globalIds/${deviceId}/externalIds`, { type: 'c8y_Serial', externalId });
        await world.operation({ deviceId });
        const {
          operations: [found],
        } = await world.rest.read(`/devicecontrol/operations?deviceId=${deviceId}`);
        t.match(found.deviceExternalIDs, { externalIds: [{ type: 'c8y_Serial', externalId }] });
      },
    },
    {
      row: 'SMS: the device or the operation has the marker',
      check: async (t, world) => {
        const deviceId = await world.ownedDevice({ c8y_CommunicationMode: { mode: 'SMS' } });
        t.match(await world.rest.read(`${OBJECTS}/${deviceId}`), { c8y_CommunicationMode: { mode: 'SMS' } });
        const { id } = await world.operation({ deviceId, deliveryType: 'SMS' });
        const {
          operations: [listed],
        } = await world.rest.read(`/devicecontrol/operations?agentId=${deviceId}&status=PENDING`);
        for (const found of [listed, await world.rest.read(`/devicecontrol/operations/${id}`)])
          t.match(found, { id, deliveryType: 'SMS', status: 'PENDING' });
      },
      heldBy: [['e2e/operations/operations', 'fields of POST and PUT (docs/spec/operations.md#fields)']],
    },
  ],
};

const ALARMS: RuleTable = {
  heading: 'Alarm and event, beside their fields',
  rows: [
    {
      row: 'alarm: count, firstOccurenceTime',
      check: async (t, world) => {
        const first = await world.alarm();
        t.equal(first.firstOccurenceTime, undefined, 'it occurred once');
        for (const count of [2, 3]) {
          const again = await world.alarm({ type: first.type, time: `2024-05-02T1${count}:00:00.000Z` });
          t.match(again, { id: first.id, count, firstOccurenceTime: TIME });
        }
        t.match(await world.rest.read(`/alarm/alarms/${first.id}`), { count: 3, firstOccurenceTime: TIME });
      },
    },
    {
      row: 'audit record',
      check: async (t, world) => {
        const headers = { 'X-Platform-Application-Key': 'mill-app' };
        const { id } = (await world.rest.request('POST', '/alarm/alarms', { body: world.alarmBody(), headers })).json;
        await world.rest.request('PUT', `/alarm/alarms/${id}`, { body: { severity: 'MINOR' }, headers });
        const { auditRecords, self } = (await world.rest.read(`/alarm/alarms/${id}`)).history;
        t.match(self, world.server.url);
        const common = {
          id: /^\d+$/,
          self: /^http/,
          creationTime: /Z$/,
          time: /Z$/,
          text: /./,
          user: 'admin',
          application: 'mill-app',
          activity: /./,
          severity: /^(MAJOR|MINOR)$/,
          source: { id },
        };
        t.equal(auditRecords.length, 2);
        const of = (name: string): any =>
          auditRecords.find(({ type }: any) => type === `com_platform_model_alarm_${name}`);
        t.match(of('AlarmRaised'), common);
        t.equal(of('AlarmRaised').changes, undefined, 'no changes');
        t.match(of('AlarmChanged'), {
          ...common,
          changes: [{ attribute: 'severity', newValue: 'MINOR', previousValue: 'MAJOR', type: 'String' }],
        });
        t.equal(of('AlarmChanged').changes.length, 1);
      },
    },
    {
      row: 'event binary: name of forms only; c8y_IsBinary, c8y_IsIncompleteBinary',
      check: async (t, world) => {
        const { id } = await world.event();
        const path = `/event/events/${id}/binaries`;
        const send = (body: string, range?: string): Promise<Reply> =>
          world.rest.request('POST', path, {
            body,
            headers: { 'content-type': 'text/plain', ...(range === undefined ? {} : { 'content-range': range }) },
          });
        const fragments = async (): Promise<any> => world.rest.read(`/event/events/${id}`);
        t.strictSame(
          (await send('abc', '0-2/*')).json,
          { self: `${world.server.url}${path}`, type: 'text/plain', source: id, range: '0-2/*' },
          'a chunk in progress',
        );
        t.match(await fragments(), { c8y_IsIncompleteBinary: { range: '0-2/*' }, c8y_IsBinary: undefined });
        t.strictSame(
          (await send('de', '3-4/5')).json,
          { self: `${world.server.url}${path}`, type: 'text/plain', source: id, length: 5 },
          'the whole of it',
        );
        t.match(await fragments(), { c8y_IsBinary: { type: 'text/plain' }, c8y_IsIncompleteBinary: undefined });
        const { id: other } = await world.event();
        const form = new FormData();
        form.append('file', new Blob(['content'], { type: 'text/plain' }), 'log.txt');
        const sent = await fetch(
          new Request(`${world.server.url}/event/events/${other}/binaries`, {
            method: 'POST',
            body: form,
            headers: {
              authorization: `Basic ${Buffer.from(`${TENANT}/admin:${PASSWORD}`).toString('base64')}`,
              accept: 'application/json',
            },
          }),
        );
        t.match(await sent.json(), { type: 'text/plain', name: 'log.txt', source: other, length: 7 });
      },
      heldBy: [
        ['e2e/events/events', 'a binary in one piece (docs/spec/events.md#binaries)'],
        ['e2e/events/events', 'a binary in chunks (docs/spec/events.md#binaries)'],
      ],
    },
    {
      row: 'device credentials: id, self, tenantId, username, password',
      check: async (t, world) => {
        const { bootstrap, rest } = world;
        const id = world.name('serial');
        const poll = (body: object = { id }): Promise<Reply> =>
          bootstrap.request('POST', '/devicecontrol/deviceCredentials', {
            body,
            headers: { accept: 'application/json' },
          });
        t.equal((await poll({})).status, 422, 'without an id');
        await rest.create('/devicecontrol/newDeviceRequests', { id });
        t.equal((await poll()).status, 404, 'not yet accepted');
        t.equal((await rest.put(`/devicecontrol/newDeviceRequests/${id}`, { status: 'ACCEPTED' })).status, 200);
        const { status, json } = await poll();
        t.match(
          { status, json },
          { status: 200, json: { id, self: /^http/, tenantId: TENANT, username: `device_${id}`, password: String } },
        );
        t.match(
          await new Rest(world.server.url, `${json.tenantId}/${json.username}`, json.password).read(
            '/user/currentUser',
          ),
          { userName: json.username },
        );
      },
    },
    {
      row: 'error body: error, message, info',
      check: async (t, world) => {
        const { rest, owner } = world;
        const errors: readonly (readonly [
          status: number,
          send: (headers: Record<string, string>) => Promise<Reply>,
        ])[] = [
          [400, (headers) => rest.request('POST', OBJECTS, { body: '{', headers })],
          [403, (headers) => owner.request('GET', '/tenant/options', { headers })],
          [404, (headers) => rest.request('GET', `${OBJECTS}/1`, { headers })],
          [405, (headers) => rest.request('DELETE', '/platform', { headers })],
          [422, (headers) => rest.request('POST', '/event/events', { body: {}, headers })],
        ];
        for (const [status, send] of errors) {
          const reply = await send({ accept: 'application/vnd.com.nsn.platform.error+json' });
          t.equal(reply.status, status, reply.text);
          t.match(reply.json, { error: /^\w+\/[\w ]+$/, message: /./, info: /^http/ }, String(status));
          t.match(
            reply.headers.get('content-type'),
            /^application\/vnd\.com\.nsn\.platform\.error\+json/,
            String(status),
          );
        }
      },
    },
  ],
};

export const BESIDE_FIELDS: readonly RuleTable[] = [APPLICATIONS, TENANTS, OPTIONS, OBJECT_ROWS, CONTROL, ALARMS];
