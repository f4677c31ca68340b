/** Document 1: what is no table row of fields, endpoints or states, in the document's order and with its numbers. */
import { CONVENTIONS, SERVICE } from './conventions.ts';
import { FILTERS } from './filters.ts';
import { LIMITS } from './limits.ts';
import { PLACES } from './places.ts';
import { BESIDE_FIELDS } from './resources.ts';
import { API_RESOURCES } from './roots.ts';
import type { RuleTable } from './rows.ts';
import { vendor } from './world.ts';
import { BayeuxSocket } from '../helpers/running/bayeux.ts';
import { PASSWORD, TENANT } from '../helpers/running/server.ts';
import type { Reply } from '../helpers/running/server.ts';

const OBJECTS = '/inventory/managedObjects';
const basic = (user: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${user}:${PASSWORD}`).toString('base64')}`,
});
const AUTHENTICATION: RuleTable = {
  heading: 'Authentication',
  rows: [
    {
      row: '1 Basic, with the tenant before the name or without',
      check: async (t, world) => {
        for (const user of ['t1/admin', 'admin'])
          t.match(
            await world.rest.request('GET', '/tenant/currentTenant', { headers: basic(user) }),
            { status: 200, json: { name: 't1' } },
            user,
          );
        const { id, domain } = await world.tenant();
        t.match(await world.rest.request('GET', '/tenant/currentTenant', { headers: basic(`${id}/boss`) }), {
          status: 200,
          json: { name: id },
        });
        t.match(
          await world.rest.request('GET', '/tenant/currentTenant', {
            headers: { ...basic('boss'), 'x-forwarded-host': `${domain}.example.com` },
          }),
          { status: 200, json: { name: id } },
          'by its domain',
        );
        t.equal((await world.rest.request('GET', '/user/currentUser', { headers: basic('t2/admin') })).status, 401);
      },
    },
    {
      row: '2 a tenant id as subdomain: 403; with the tenant in the name it is irrelevant',
      check: async (t, world) => {
        const as = (user: string): Promise<Reply> =>
          world.rest.request('GET', '/user/currentUser', {
            headers: { ...basic(user), 'x-forwarded-host': 't1.example.com' },
          });
        t.equal((await as('admin')).status, 403);
        t.equal((await as('t1/admin')).status, 200);
      },
    },
    {
      row: '3 no aliases for devices',
      heldBy: [['e2e/users/login', 'aliases are for people, over HTTP']],
      check: async (t, world) => {
        const post = (userName: string, alias: string): Promise<Reply> =>
          world.rest.post(`/user/${TENANT}/users`, { userName, password: PASSWORD, alias });
        t.match(await post(world.name('device_one'), world.name('nick')), { status: 422, json: { message: /alias/ } });
        t.match(await post(world.name('person'), world.name('device_two')), {
          status: 422,
          json: { message: /alias/ },
        });
        const alias = world.name('nick');
        t.equal((await post(world.name('person'), alias)).status, 201);
        t.equal(
          (await world.rest.request('GET', '/user/currentUser', { headers: basic(`${TENANT}/${alias}`) })).status,
          200,
          'people have them',
        );
      },
    },
    {
      row: '4 device credentials',
      heldBy: [
        ['document-1/rules', 'device credentials: id, self, tenantId, username, password'],
        [
          'e2e/devices/device-registration',
          'over HTTP the bootstrap user reaches device credentials only, and nobody else does',
        ],
      ],
      check: async (t, world) => {
        const body = { id: world.name('asked-for') };
        t.equal(
          (await world.bootstrap.post('/devicecontrol/deviceCredentials', body)).status,
          404,
          'bootstrap credentials',
        );
        t.equal((await world.rest.post('/devicecontrol/deviceCredentials', body)).status, 403, 'no others');
      },
    },
    {
      row: '5 the bootstrap user of a microservice',
      heldBy: [
        ['e2e/applications/microservices', 'it reaches exactly what is listed (docs/spec/microservices.md#users)'],
        [
          'e2e/applications/microservices',
          'a service user for each subscribed tenant, with exactly the required roles',
        ],
      ],
    },
    // Each role of each endpoint, and the owner where the document says so: endpoints.test.ts.
    {
      row: '6 roles, and the owner of the source',
      heldBy: [['e2e/tenants/tenants-and-roles', 'the owner of an object may use it without roles']],
      check: async (t, world) => {
        const source = { id: world.device };
        for (const by of [world.owner, await world.user(world.name('stranger'), [])]) {
          const isOwner = by === world.owner;
          const made = [
            await by.post('/alarm/alarms', world.alarmBody({ source })),
            await by.post('/event/events', world.eventBody({ source })),
            await by.post('/devicecontrol/operations', { deviceId: source.id }),
          ];
          t.same(
            made.map(({ status }) => status),
            isOwner ? [201, 201, 201] : [403, 403, 403],
            isOwner ? 'the owner creates' : 'nobody else does',
          );
          const puts: [string, object][] = [
            [`/alarm/alarms/${(await world.alarm({ source })).id}`, { status: 'CLEARED' }],
            [`/event/events/${(await world.event({ source })).id}`, { text: 'x' }],
            [
              `/devicecontrol/operations/${(await world.operation({ deviceId: source.id })).id}`,
              { status: 'EXECUTING' },
            ],
          ];
          for (const [path, body] of puts)
            t.equal(
              (await by.put(path, body)).status,
              isOwner ? 200 : 403,
              isOwner ? 'the owner updates' : 'nobody else does',
            );
        }
      },
    },
    {
      row: '7 no credentials: 401 general/internalError',
      check: async (t, world) => {
        for (const [method, path] of [
          ['GET', OBJECTS],
          ['POST', OBJECTS],
          ['PUT', `${OBJECTS}/1`],
          ['DELETE', `${OBJECTS}/1`],
          ['GET', '/tenant/currentTenant'],
          ['GET', '/platform'],
          ['GET', '/nothing/here'],
        ]) {
          const response = await fetch(`${world.server.url}${path}`, { method });
          t.equal(response.status, 401, `${method} ${path}`);
          t.match(await response.json(), { error: 'general/internalError', message: /./ });
        }
        t.match(
          await world.rest.request('GET', OBJECTS, { headers: { authorization: 'Basic d3Jvbmc6d3Jvbmc=' } }),
          { status: 401, json: { error: 'security/Unauthorized' } },
          'wrong ones are another error',
        );
      },
    },
  ],
};

const ERRORS: RuleTable = {
  heading: 'Errors',
  rows: [
    // Each status of each endpoint: endpoints.test.ts.
    {
      row: '200, 201, 204',
      check: async (t, world) => {
        const made = await world.rest.post('/event/events', world.eventBody());
        t.equal(made.status, 201);
        const path = `/event/events/${made.json.id}`;
        t.same(
          [
            (await world.rest.get(path)).status,
            (await world.rest.put(path, { text: 'x' })).status,
            (await world.rest.delete(path)).status,
          ],
          [200, 200, 204],
        );
      },
    },
    {
      row: '401 no credentials',
      check: async (t, world) => {
        const response = await fetch(`${world.server.url}${OBJECTS}`, { headers: { accept: vendor('error') } });
        t.equal(response.status, 401);
        t.match(await response.json(), { error: 'general/internalError', message: /./, info: /^http/ });
        t.match(response.headers.get('content-type'), vendor('error'));
      },
    },
    {
      row: '403 tenant ID as subdomain',
      check: async (t, world) => {
        const { id, domain } = await world.tenant();
        const at = (host: string, user: string): Promise<Reply> =>
          world.rest.request('GET', '/tenant/currentTenant', { headers: { ...basic(user), 'x-forwarded-host': host } });
        t.match(await at(`${id}.example.com`, 'boss'), {
          status: 403,
          json: { error: /./, message: /./, info: /^http/ },
        });
        t.match(
          await at(`${id}.example.com`, `${id}/boss`),
          { status: 200, json: { name: id } },
          'with the tenant in the name the subdomain is irrelevant',
        );
        t.match(await at(`${domain}.example.com`, 'boss'), { status: 200, json: { name: id } }, 'its domain');
        t.match(await at(`${domain}.example.com`, 't1/admin'), { status: 200, json: { name: 't1' } });
        const login = await fetch(`${world.server.url}/tenant/oauth/token?tenant_id=${id}`, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'PASSWORD', username: 'boss', password: PASSWORD }),
        });
        const { access_token: token } = (await login.json()) as { access_token: string };
        const withToken = (host: string): Promise<Reply> =>
          world.rest.request('GET', '/tenant/currentTenant', {
            headers: { authorization: `Bearer ${token}`, 'x-forwarded-host': host },
          });
        t.equal((await withToken(`${id}.example.com`)).status, 403, 'a token has no tenant before the name');
        t.match(await withToken(`${domain}.example.com`), { status: 200, json: { name: id } });
      },
    },
    {
      row: '403 PUT and DELETE on a non-editable option',
      check: async (t, world) => {
        const { category, key } = await world.option();
        const path = `/tenant/options/${category}/${key}`;
        await world.management.put(`${path}/editable?tenant=${TENANT}`, { editable: 'false' });
        for (const reply of [await world.rest.put(path, { value: 'x' }), await world.rest.delete(path)])
          t.match(reply, {
            status: 403,
            json: { error: /./, message: new RegExp(`${category}.*${key}`), info: /^http/ },
          });
        t.equal((await world.rest.get(path)).status, 200, 'it may be read');
      },
    },
    {
      row: '404 unknown resource',
      check: async (t, world) => {
        const paths = [
          '/nothing/here',
          `${OBJECTS}/999999999`,
          '/event/events/999999999',
          '/alarm/alarms/999999999',
          '/devicecontrol/operations/999999999',
          '/devicecontrol/bulkoperations/999999999',
          '/application/applications/999999999',
          '/tenant/options/none/none',
          '/measurement/measurements/999999999',
          '/identity/globalIds/999999999/externalIds',
        ];
        for (const path of paths)
          t.match(
            await world.rest.get(path),
            { status: 404, json: { error: /Not Found$/, message: /./, info: /^http/ } },
            path,
          );
        t.match(await world.management.get('/tenant/tenants/none'), { status: 404, json: { error: /Not Found$/ } });
      },
    },
    {
      row: '404 not yet accepted',
      check: async (t, world) => {
        const id = world.name('waiting');
        const poll = (): Promise<Reply> => world.bootstrap.post('/devicecontrol/deviceCredentials', { id });
        t.match(await poll(), { status: 404, json: { error: 'devicecontrol/Not Found' } }, 'unknown');
        await world.rest.create('/devicecontrol/newDeviceRequests', { id });
        for (let times = 0; times < 2; times += 1)
          t.match(await poll(), { status: 404, json: { error: 'devicecontrol/Not Found' } }, 'waiting');
      },
    },
    {
      row: '404 identity/Not Found',
      check: async (t, world) =>
        t.match(await world.rest.get('/identity/externalIds/c8y_Serial/none'), {
          status: 404,
          json: { error: 'identity/Not Found' },
        }),
    },
    {
      row: '404 missing event binary',
      check: async (t, world) => {
        const path = `/event/events/${(await world.event()).id}/binaries`;
        for (const reply of [
          await world.rest.get(path),
          await world.rest.delete(path),
          await world.rest.get('/event/events/999999999/binaries'),
        ])
          t.match(reply, { status: 404, json: { error: /Not Found$/ } });
      },
    },
    {
      row: '409 event binary exists',
      check: async (t, world) => {
        const path = `/event/events/${(await world.event()).id}/binaries`;
        const send = (): Promise<Reply> =>
          world.rest.request('POST', path, { body: 'x', headers: { 'content-type': 'text/plain' } });
        t.equal((await send()).status, 201);
        t.match(await send(), { status: 409, json: { error: 'Duplicate', message: /./, info: /^http/ } });
      },
    },
  ],
};

const VERSIONING: RuleTable = {
  heading: 'Versioning',
  rows: [
    {
      row: 'ver is optional, answers show ver=0.9',
      check: async (t, world) => {
        for (const accept of [
          vendor('managedObject'),
          `${vendor('managedObject')};ver=0.9`,
          `${vendor('managedObject')};ver=<version>`,
          `${vendor('managedObject')};ver=7`,
        ]) {
          const reply = await world.rest.request('GET', `${OBJECTS}/${world.device}`, { headers: { accept } });
          t.equal(reply.status, 200, accept);
          t.match(reply.headers.get('content-type'), /ver=0\.9/, accept);
        }
      },
    },
  ],
};

const MESSAGES: RuleTable = {
  heading: 'Events, their messages',
  rows: [
    {
      row: 'Events: delivered at /cep/realtime and /devicecontrol/notifications',
      check: async (t, world) => {
        const device = await world.ownedDevice();
        const live = await BayeuxSocket.open(t, world.server, '/cep/realtime');
        await live.subscribe(`/operations/${device}`);
        const agent = await BayeuxSocket.open(t, world.server, '/devicecontrol/notifications');
        await agent.subscribe(`/${device}`);
        const { id } = await world.operation({ deviceId: device });
        for (const one of [live, agent])
          t.match(JSON.stringify((await one.message(() => true))['data']), `"id":"${id}"`);
      },
    },
    {
      row: 'Events, message shape',
      check: async (t, world) => {
        const live = await BayeuxSocket.open(t, world.server, '/cep/realtime');
        const subscribed = await live.ask({ channel: '/meta/subscribe', subscription: `/events/${world.device}` });
        t.match(subscribed, { channel: '/meta/subscribe', successful: true, clientId: live.clientId });
        t.match(
          await live.ask({ channel: '/meta/subscribe', subscription: '/no such/channel/at/all' }),
          { channel: '/meta/subscribe', successful: false, error: String },
          'error is a text',
        );
        const event = await world.event();
        const { channel, data } = await live.message(() => true);
        t.equal(channel, `/events/${world.device}`);
        t.ok(Array.isArray(data) && data.length === 1);
        t.match(
          data[0],
          {
            realtimeAction: 'CREATE',
            data: { id: event.id, type: event.type, text: 'text', source: { id: world.device } },
          },
          'data is the resource',
        );
      },
    },
  ],
};

export const RULES: readonly RuleTable[] = [
  SERVICE,
  CONVENTIONS,
  ...BESIDE_FIELDS,
  API_RESOURCES,
  FILTERS,
  PLACES,
  AUTHENTICATION,
  MESSAGES,
  ERRORS,
  LIMITS,
  VERSIONING,
];
