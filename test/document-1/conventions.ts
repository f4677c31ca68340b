/** Document 1, "What the service does" and "Conventions": each sentence that says what holds. */
import { request } from 'node:http';
import type { RuleRow, RuleTable } from './rows.ts';
import { FUTURE, TIME, vendor } from './world.ts';
import type { World } from './world.ts';
import { MANAGEMENT_PASSWORD, PASSWORD, TENANT, eventually } from '../helpers/running/server.ts';

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

const COLLECTIONS: Readonly<Record<string, string>> = {
  managedObjects: OBJECTS,
  events: '/event/events',
  alarms: '/alarm/alarms',
  operations: '/devicecontrol/operations',
  measurements: '/measurement/measurements',
};

/** POST bodies of what takes fragments. */
const bodies = (world: World): Record<string, any> => ({
  [OBJECTS]: { name: 'n' },
  '/devicecontrol/operations': { deviceId: world.device },
  '/alarm/alarms': world.alarmBody(),
  '/event/events': world.eventBody(),
  '/measurement/measurements': { source: { id: world.device }, type: 'm', time: TIME },
});

export const SERVICE: RuleTable = {
  heading: 'What the service does',
  rows: [
    {
      row: 'GET /platform: links to all interfaces; of the inventory templates',
      check: async (t, world) => {
        const { inventory, ...others } = await world.rest.read('/platform');
        const { url } = world.server;
        t.match(inventory, {
          managedObjects: { references: [], self: `${url}${OBJECTS}` },
          managedObjectsForFragmentType: `${url}${OBJECTS}?fragmentType={fragmentType}`,
          managedObjectsForListOfIds: `${url}${OBJECTS}?ids={ids}`,
          managedObjectsForType: `${url}${OBJECTS}?type={type}`,
          self: `${url}/inventory`,
        });
        for (const name of ['alarm', 'audit', 'deviceControl', 'event', 'identity', 'measurement', 'tenant', 'user'])
          t.match(others[name].self, url, name);
      },
    },
  ],
};

/** Bodies in each media type of the document: where they are sent, with what. */
const SENT: Readonly<Record<string, (world: World) => Promise<readonly [method: string, path: string, body: object]>>> =
  {
    application: async (world) => ['POST', '/application/applications', world.applicationBody()],
    applicationreference: async (world) => [
      'POST',
      `/tenant/tenants/${(await world.tenant()).id}/applications`,
      { application: { id: (await world.application()).id } },
    ],
    tenant: async (world) => ['POST', '/tenant/tenants', world.tenantBody()],
    option: async (world) => ['POST', '/tenant/options', { category: world.name('category'), key: 'k', value: 'v' }],
    managedobject: async () => ['POST', OBJECTS, { name: 'n' }],
    managedobjectreference: async (world) => [
      'POST',
      `${OBJECTS}/${world.device}/childDevices`,
      { managedObject: { id: await world.ownedDevice() } },
    ],
    operation: async (world) => ['POST', '/devicecontrol/operations', { deviceId: world.device }],
    bulkOperation: async (world) => ['POST', '/devicecontrol/bulkoperations', await world.bulkBody()],
    alarm: async (world) => ['POST', '/alarm/alarms', world.alarmBody()],
    event: async (world) => ['POST', '/event/events', world.eventBody()],
    externalId: async (world) => [
      'POST',
      `/identity/globalIds/${world.device}/externalIds`,
      { type: 'c8y_Serial', externalId: world.name('serial') },
    ],
    user: async (world) => ['POST', `/user/${TENANT}/users`, { userName: world.name('user'), password: PASSWORD }],
  };
const ofManagement = (name: string): boolean => OF_MANAGEMENT.includes(name) || name === 'applicationreference';

/** Over a plain connection, with no Accept header at all: `fetch` always sends one. */
function withoutAccept(
  world: World,
  method: string,
  path: string,
  body: object,
  user = `${TENANT}/admin:${PASSWORD}`,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Basic ${Buffer.from(user).toString('base64')}`,
      'content-type': 'application/json',
    };
    request(`${world.server.url}${path}`, { method, headers, agent: false }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => {
          text += chunk;
        })
        .on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        .on('error', reject);
    })
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}

export const CONVENTIONS: RuleTable = {
  heading: 'Conventions',
  rows: [
    {
      row: '1 paths are relative to the base URL, bodies are JSON',
      check: async (t, world) => {
        for (const path of Object.values(COLLECTIONS)) t.type((await world.rest.get(path)).json, 'object');
        for (const body of ['<xml/>', '{', '{"a":1}{', ''])
          t.equal((await world.rest.post(OBJECTS, body)).status, 400, JSON.stringify(body));
        // JSON, but no object (document 4 section 0.5).
        for (const body of ['7', '"x"', '[]'])
          t.equal((await world.rest.post(OBJECTS, body)).status, 422, JSON.stringify(body));
        const served = (await world.rest.read(OBJECTS)).self as string;
        t.ok(served.startsWith(`${world.server.url}${OBJECTS}`), served);
      },
    },
    ...Object.entries(SHAPES).map(
      ([name, path]): RuleRow => ({
        row: `2 media type ${name}, in any letter case, with ver and charset`,
        check: async (t, world) => {
          const rest = OF_MANAGEMENT.includes(name) ? world.management : world.rest;
          const target = await path(world);
          for (const type of [
            vendor(name),
            vendor(name).toLowerCase(),
            vendor(name.toUpperCase()),
            `${vendor(name)};ver=0.9;charset=UTF-8`,
            `${vendor(name)}; charset=utf-8; ver=0.9`,
          ]) {
            const reply = await rest.request('GET', target, { headers: { accept: type } });
            t.equal(reply.status, 200, `${type}: ${reply.text.slice(0, 200)}`);
            t.match(reply.headers.get('content-type')?.toLowerCase() ?? '', vendor(name).toLowerCase());
          }
        },
      }),
    ),
    ...Object.entries(SENT).map(
      ([name, make]): RuleRow => ({
        row: `2 bodies of media type ${name}, in any letter case, with ver and charset`,
        check: async (t, world) => {
          const rest = ofManagement(name) ? world.management : world.rest;
          for (const type of [
            vendor(name),
            vendor(name.toUpperCase()),
            `${vendor(name)};ver=0.9;charset=UTF-8`,
            `${vendor(name)}; charset=utf-8; ver=0.9`,
          ]) {
            const [method, path, body] = await make(world);
            const reply = await rest.request(method, path, { body, headers: { 'content-type': type } });
            t.ok(reply.status === 200 || reply.status === 201, `${type}: ${reply.status} ${reply.text.slice(0, 200)}`);
          }
        },
      }),
    ),
    {
      row: '2 media type error',
      check: async (t, world) => {
        for (const accept of [vendor('managedObject'), vendor('error'), vendor('ERROR')]) {
          const reply = await world.rest.request('GET', `${OBJECTS}/1`, { headers: { accept } });
          t.match(reply.headers.get('content-type')?.toLowerCase(), vendor('error'), accept);
        }
      },
    },
    // Each POST and PUT of the tables of endpoints: endpoints.test.ts. Here without any header, and what the tables do
    // not have.
    {
      row: '3 POST and PUT without Accept: an empty body',
      check: async (t, world) => {
        for (const [path, body] of Object.entries(bodies(world)))
          t.match(await withoutAccept(world, 'POST', path, body), { status: 201, text: '' }, `POST ${path}`);
        const { category, key } = await world.option();
        const user = world.name('user');
        t.match(
          await withoutAccept(world, 'POST', `/user/${TENANT}/users`, { userName: user, password: PASSWORD }),
          { status: 201, text: '' },
          'POST user',
        );
        const puts: [string, object][] = [
          [`${OBJECTS}/${world.device}`, { a: 1 }],
          [`/alarm/alarms/${(await world.alarm()).id}`, { status: 'CLEARED' }],
          [`/event/events/${(await world.event()).id}`, { text: 'x' }],
          [`/devicecontrol/operations/${(await world.operation()).id}`, { status: 'EXECUTING' }],
          [`/devicecontrol/bulkoperations/${(await world.bulk()).id}`, { creationRamp: 2 }],
          [`/application/applications/${(await world.application()).id}`, { availability: 'MARKET' }],
          [`/tenant/options/${category}/${key}`, { value: 'x' }],
          [`/tenant/options/${category}`, { [key]: 'y' }],
          [`/user/${TENANT}/users/${user}`, { firstName: 'Ada' }],
        ];
        for (const [path, body] of puts)
          t.match(await withoutAccept(world, 'PUT', path, body), { status: 200, text: '' }, `PUT ${path}`);
        const management = `management/admin:${MANAGEMENT_PASSWORD}`;
        const { id } = await world.tenant();
        t.match(
          await withoutAccept(world, 'PUT', `/tenant/tenants/${id}`, { company: 'x' }, management),
          { status: 200, text: '' },
          'PUT tenant',
        );
        t.match(
          await withoutAccept(world, 'POST', '/tenant/tenants', world.tenantBody(), management),
          { status: 201, text: '' },
          'POST tenant',
        );
        t.match(
          await withoutAccept(
            world,
            'POST',
            `/tenant/tenants/${id}/applications`,
            { application: { id: (await world.application()).id } },
            management,
          ),
          { status: 201, text: '' },
          'POST subscription',
        );
        t.equal((await world.rest.read(`/tenant/options/${category}/${key}`)).value, 'y', 'they have been done');
        t.equal((await world.rest.read(`/user/${TENANT}/users/${user}`)).firstName, 'Ada');
        // What is refused says why, with a body.
        t.match(await withoutAccept(world, 'POST', '/event/events', {}), { status: 422, text: /mandatory fields/ });
      },
    },
    {
      row: '4 timestamps with offset or Z, plain dates',
      check: async (t, world) => {
        const id = await world.ownedDevice();
        const source = { id };
        for (const time of [
          '2024-05-02T10:00:00.000Z',
          '2024-05-02T12:00:00.000+02:00',
          '2024-05-02T05:30:00.000-04:30',
        ]) {
          const { id: event } = await world.event({ time, source });
          const found = await world.rest.read(`/event/events/${event}`);
          t.equal(Date.parse(found.time), Date.parse(TIME));
          for (const name of ['time', 'creationTime'])
            t.match(found[name], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)$/, name);
        }
        const count = async (from: string, to: string): Promise<number> =>
          (await world.rest.read(`/event/events?source=${id}&dateFrom=${from}&dateTo=${to}`)).events.length;
        t.equal(await count('2024-05-02', '2024-05-03'), 3);
        t.equal(await count('2024-05-01', '2024-05-02'), 0);
        t.equal(await count('2024-05-03', '2024-05-04'), 0);
        t.equal(await count(encodeURIComponent('2024-05-02T12:00:00.000+02:00'), '2024-05-02T10:00:00.000Z'), 3);
        t.equal((await world.rest.get('/event/events?dateFrom=yesterday')).status, 422);
      },
    },
    {
      row: '5 identifiers are strings, self leads to the resource',
      check: async (t, world) => {
        for (const [name, path] of Object.entries(SHAPES)) {
          // The user of a microservice is its three texts alone.
          if (name === 'user') continue;
          const rest = OF_MANAGEMENT.includes(name) ? world.management : world.rest;
          const found = await rest.read(await path(world));
          t.match(found.self, new RegExp(`^${world.server.url}/`), `${name} has self`);
          const { statistics: _, ...again } = await rest.read(found.self);
          if (!/collection$/i.test(name)) t.strictSame(again, found, `${name}: self leads to it`);
          if ('id' in found) t.type(found.id, 'string', name);
        }
      },
    },
    {
      row: '6 custom fragments are stored and returned unchanged',
      check: async (t, world) => {
        const fragments = {
          c8y_Empty: {},
          my_Nested: { b: [1, { c: null }], a: 1.5 },
          my_List: [],
          my_Text: 'ä\u2028"',
          my_Number: 9007199254740991,
          my_Flag: false,
        };
        for (const [path, body] of Object.entries(bodies(world))) {
          const { self } = await world.rest.create(path, { ...body, ...fragments });
          const found = await world.rest.read(self);
          for (const [name, value] of Object.entries(fragments)) t.strictSame(found[name], value, `${path} ${name}`);
        }
        for (const path of [
          `${OBJECTS}/${world.device}`,
          `/alarm/alarms/${(await world.alarm()).id}`,
          `/event/events/${(await world.event()).id}`,
        ]) {
          t.equal((await world.rest.put(path, fragments)).status, 200, 'PUT');
          const found = await world.rest.read(path);
          for (const [name, value] of Object.entries(fragments))
            t.strictSame(found[name], value, `PUT ${path} ${name}`);
        }
      },
    },
    {
      row: '7 pages: items, self, next, prev, statistics; totalPages on demand',
      check: async (t, world) => {
        const made = new Map<string, string[]>();
        const source = { id: await world.ownedDevice() };
        const { id: agent } = source;
        for (const [path, body] of Object.entries(bodies(world))) {
          const type = world.name('page');
          const own =
            path === OBJECTS ? { type } : path.includes('operations') ? { deviceId: agent } : { source, type };
          for (let index = 0; index < 5; index += 1) {
            const { id } = await world.rest.create(path, {
              ...body,
              ...own,
              ...(path.includes('alarm') ? { type: `${type}-${index}` } : {}),
            });
            const scope =
              path === OBJECTS ? `type=${type}` : path.includes('operations') ? `deviceId=${agent}` : `source=${agent}`;
            made.set(`${path}?${scope}`, [...(made.get(`${path}?${scope}`) ?? []), id]);
          }
        }
        for (const [scope, ids] of made) {
          const [name] = Object.entries(COLLECTIONS).find(([, path]) => scope.startsWith(`${path}?`)) as [
            string,
            string,
          ];
          const seen: string[] = [];
          const pages: any[] = [];
          for (const current of [1, 2, 3]) {
            const page = await world.rest.read(`${scope}&pageSize=2&currentPage=${current}`);
            t.match(
              page,
              {
                self: new RegExp(`^${world.server.url}/.*currentPage=${current}`),
                statistics: { currentPage: current, pageSize: 2 },
              },
              scope,
            );
            t.notOk(page.statistics.totalPages, 'not asked for');
            t.equal(page.prev !== undefined, current > 1, 'prev');
            seen.push(...page[name].map(({ id }: any) => id));
            pages.push(page);
          }
          t.same([...seen].sort(), [...ids].sort(), `${scope}: three pages have all five, each once`);
          t.same(
            pages.map((page) => page[name].length),
            [2, 2, 1],
          );
          t.match(
            pages.slice(0, 2).map(({ next }) => next),
            [/currentPage=2/, /currentPage=3/],
          );
          const idsOf = (page: any): string[] => page[name].map(({ id }: any) => id);
          for (const [from, link, to] of [
            [0, 'next', 1],
            [1, 'next', 2],
            [1, 'prev', 0],
            [2, 'prev', 1],
          ] as const)
            t.same(idsOf(await world.rest.read(pages[from][link])), idsOf(pages[to]), `${link} of ${from}`);
          t.equal((await world.rest.read(`${scope}&pageSize=2&withTotalPages=true`)).statistics.totalPages, 3, scope);
          t.notOk(
            (await world.rest.read(`${scope}&pageSize=2&withTotalPages=false`)).statistics.totalPages,
            'nor refused',
          );
        }
      },
    },
    // That each parameter selects what is deleted: filters.ts.
    {
      row: '8 DELETE on a collection: the parameters of GET, 204 without body',
      check: async (t, world) => {
        const [device, other] = [await world.ownedDevice(), await world.ownedDevice()];
        const cases: [string, string, (id: string) => object][] = [
          ['events', 'source', (id) => world.eventBody({ source: { id } })],
          ['alarms', 'source', (id) => world.alarmBody({ source: { id } })],
          ['operations', 'deviceId', (deviceId) => ({ deviceId })],
          ['measurements', 'source', (id) => ({ source: { id }, type: 'm', time: TIME })],
        ];
        const paths = (await world.rest.read('/openapi.json')).paths;
        for (const [name, parameter, body] of cases) {
          for (const id of [device, other]) await world.rest.create(COLLECTIONS[name], body(id));
          const query = (id: string): string =>
            `${COLLECTIONS[name]}?${parameter}=${id}&dateFrom=2024-01-01&dateTo=${FUTURE}`;
          t.equal((await world.rest.read(query(device)))[name].length, 1, name);
          t.match(await world.rest.delete(query(device)), { status: 204, text: '' });
          await eventually(`no ${name}`, async () => (await world.rest.read(query(device)))[name].length === 0);
          t.equal((await world.rest.read(query(other)))[name].length, 1, `${name} of another stay`);
          const namesOf = (method: string): string[] =>
            paths[COLLECTIONS[name]][method].parameters
              .filter((one: any) => one.in === 'query')
              .map((one: any) => one.name);
          t.ok(
            ['dateFrom', 'dateTo', parameter].every(
              (one) => namesOf('get').includes(one) && namesOf('delete').includes(one),
            ),
          );
        }
      },
    },
  ],
};
