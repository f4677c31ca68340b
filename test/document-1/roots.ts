/**
 * Document 1, API resources of operations, alarms, events and identity: each template by its name; and the collections
 * that have no entity of their own.
 */
import type { Test } from 'tap';
import type { RuleTable } from './rows.ts';
import { vendor } from './world.ts';
import type { World } from './world.ts';
import type { Reply } from '../helpers/running/server.ts';

/** `dateFrom` and `dateTo` of a template for a time or a date. */
const DATES = ['dateFrom', 'dateTo'];
const query = (path: string, names: readonly string[]): string =>
  `${path}?${names.map((name) => `${name}={${name}}`).join('&')}`;

/**
 * Names of the templates over the query parameters of a collection, as the document lists them: words between `And`
 * mean parameters.
 */
function templates(
  prefix: string,
  path: string,
  words: Readonly<Record<string, readonly string[]>>,
  names: string,
): Record<string, string> {
  return Object.fromEntries(
    names.split(' ').map((name) => [
      `${prefix}${name}`,
      query(
        path,
        name.split('And').flatMap((word) => words[word]),
      ),
    ]),
  );
}

const ROOTS: Readonly<
  Record<string, { readonly collections: readonly string[]; readonly templates: Readonly<Record<string, string>> }>
> = {
  '/devicecontrol': {
    collections: ['operations'],
    templates: templates(
      'operationsBy',
      '/devicecontrol/operations',
      { Status: ['status'], AgentId: ['agentId'], DeviceId: ['deviceId'] },
      'Status AgentId AgentIdAndStatus DeviceId DeviceIdAndStatus',
    ),
  },
  '/alarm': {
    collections: ['alarms'],
    templates: templates(
      'alarmsFor',
      '/alarm/alarms',
      { Status: ['status'], Source: ['source'], Time: DATES },
      'Status Source SourceAndStatus Time StatusAndTime SourceAndTime SourceAndStatusAndTime',
    ),
  },
  '/event': {
    collections: ['events'],
    templates: templates(
      'eventsFor',
      '/event/events',
      { Type: ['type'], Source: ['source'], Time: DATES, Date: DATES, FragmentType: ['fragmentType'] },
      'Type Source Time FragmentType SourceAndType SourceAndTime SourceAndFragmentType DateAndFragmentType FragmentTypeAndType TimeAndType ' +
        'SourceAndDateAndFragmentType SourceAndDateAndFragmentTypeAndType SourceAndFragmentTypeAndType SourceAndTimeAndType DateAndFragmentTypeAndType',
    ),
  },
  '/identity': {
    collections: [],
    templates: {
      externalId: '/identity/externalIds/{type}/{externalId}',
      externalIdsOfGlobalId: '/identity/globalIds/{globalId}/externalIds',
    },
  },
};

/** Collections beside those of entities: path, name of the array, how many are made for a second page. */
const COLLECTIONS: readonly (readonly [path: string, name: string, make: (world: World) => Promise<unknown>])[] = [
  ['/application/applications', 'applications', (world) => world.application()],
  ['/tenant/options', 'options', (world) => world.option()],
  ['/devicecontrol/bulkoperations', 'bulkOperations', (world) => world.bulk()],
];

export const API_RESOURCES: RuleTable = {
  heading: 'API resources and collections',
  rows: [
    ...Object.entries(ROOTS).map(([path, wanted]) => ({
      row: `${path}: self, collections, templates`,
      check: async (t: Test, world: World) => {
        const { url } = world.server;
        const found = await world.rest.read(path);
        t.equal(found.self, `${url}${path}`);
        for (const name of wanted.collections) t.match(found[name], { self: `${url}${path}/${name}` });
        for (const [name, template] of Object.entries(wanted.templates))
          t.equal(found[name], `${url}${template}`, name);
      },
    })),
    {
      row: 'templates that are filled in lead to lists',
      check: async (t, world) => {
        const values: Readonly<Record<string, string>> = {
          source: world.device,
          deviceId: world.device,
          agentId: world.device,
          type: 'none',
          status: 'PENDING',
          fragmentType: 'none',
          dateFrom: '2024-01-01',
          dateTo: '2025-01-01',
        };
        for (const [path, { templates: all }] of Object.entries(ROOTS)) {
          const found = await world.rest.read(path);
          for (const name of Object.keys(all)) {
            if (path === '/identity') continue;
            const target = (found[name] as string).replace(/\{(\w+)\}/g, (_, parameter: string) =>
              path === '/alarm' && parameter === 'status' ? 'ACTIVE' : values[parameter],
            );
            t.equal((await world.rest.get(target)).status, 200, target);
          }
        }
      },
    },
    {
      row: 'collections of applications, options and bulk operations: self, next, prev, statistics',
      check: async (t, world) => {
        for (const [path, name, make] of COLLECTIONS) {
          for (let count = 0; count < 3; count += 1) await make(world);
          const page = await world.rest.read(`${path}?pageSize=1&currentPage=2&withTotalPages=true`);
          t.match(
            page,
            {
              self: /pageSize=1/,
              next: /currentPage=3/,
              prev: /currentPage=1/,
              statistics: { currentPage: 2, pageSize: 1, totalPages: Number },
              [name]: { length: 1 },
            },
            path,
          );
        }
      },
    },
    {
      row: 'tenants and references: self, next, prev, statistics',
      check: async (t, world) => {
        const { id } = await world.tenant();
        await world.tenant();
        t.match(await world.management.read('/tenant/tenants?pageSize=1&currentPage=2'), {
          self: /pageSize=1/,
          next: /currentPage=3/,
          prev: /currentPage=1/,
          statistics: { currentPage: 2, pageSize: 1 },
          tenants: { length: 1 },
        });
        for (let count = 0; count < 2; count += 1) {
          await world.management.create(`/tenant/tenants/${id}/applications`, {
            application: { id: (await world.application()).id },
          });
        }
        t.match(await world.management.read(`/tenant/tenants/${id}/applications?pageSize=1`), {
          self: /pageSize=1/,
          next: /currentPage=2/,
          statistics: { currentPage: 1, pageSize: 1 },
          references: [{ self: /^http/, application: { id: /^\d+$/, self: /^http/ } }],
        });
        t.match(
          await world.management.read(
            `/tenant/tenants/${id}/applications?pageSize=1&currentPage=2&withTotalPages=true`,
          ),
          {
            prev: /currentPage=1/,
            statistics: { currentPage: 2, pageSize: 1, totalPages: 2 },
            references: { length: 1 },
          },
        );
      },
    },
    {
      row: 'external IDs: externalIds, self, next, prev',
      check: async (t, world) => {
        const id = await world.ownedDevice();
        const path = `/identity/globalIds/${id}/externalIds`;
        const names = ['a', 'b', 'c'].map((name) => world.name(name));
        for (const externalId of names) await world.rest.create(path, { type: 'c8y_Serial', externalId });
        const { self, externalIds } = await world.rest.read(path);
        t.equal(self, `${world.server.url}${path}`);
        t.same(
          externalIds.map((one: any) => [one.type, one.externalId, one.managedObject.id]),
          names.map((name) => ['c8y_Serial', name, id]),
        );
        const page = await world.rest.read(`${path}?pageSize=1&currentPage=2`);
        const at = async (link: string): Promise<string[]> =>
          (await world.rest.read(link)).externalIds.map((one: any) => one.externalId);
        t.same(
          [await at(page.prev), page.externalIds.map((one: any) => one.externalId), await at(page.next)],
          names.map((name) => [name]),
        );
      },
    },
    {
      row: 'media types of references, users of applications and device credentials',
      check: async (t, world) => {
        const { rest, management } = world;
        const child = await world.ownedDevice();
        await rest.create(`/inventory/managedObjects/${world.device}/childDevices`, { managedObject: { id: child } });
        const { id: tenant } = await world.tenant();
        const application = await world.application();
        const bootstrap = await world.serviceBootstrap(application);
        const check = async (name: string, send: (accept: string) => Promise<Reply>): Promise<void> => {
          for (const accept of [vendor(name), vendor(name.toUpperCase()), `${vendor(name)};ver=0.9`]) {
            const reply = await send(accept);
            t.ok(reply.status < 300, `${accept}: ${reply.status} ${reply.text.slice(0, 100)}`);
            t.match(reply.headers.get('content-type')?.toLowerCase() ?? '', vendor(name).toLowerCase());
          }
        };
        await check('managedObjectReference', (accept) =>
          rest.request('GET', `/inventory/managedObjects/${world.device}/childDevices/${child}`, {
            headers: { accept },
          }),
        );
        await check('applicationUserCollection', (accept) =>
          bootstrap.request('GET', '/application/currentApplication/subscriptions', { headers: { accept } }),
        );
        const credentials = async (accept: string): Promise<Reply> => {
          const id = world.name('typed');
          const poll = (): Promise<Reply> =>
            world.bootstrap.request('POST', '/devicecontrol/deviceCredentials', {
              body: { id },
              headers: { accept, 'content-type': vendor('devicecredentials') },
            });
          await rest.create('/devicecontrol/newDeviceRequests', { id });
          await poll();
          await rest.put(`/devicecontrol/newDeviceRequests/${id}`, { status: 'ACCEPTED' });
          return poll();
        };
        await check('deviceCredentials', credentials);
        await check('applicationReference', async (accept) =>
          management.request('POST', `/tenant/tenants/${tenant}/applications`, {
            body: { application: { id: (await world.application()).id } },
            headers: { accept, 'content-type': `${vendor('applicationReference')};ver=0.9;charset=UTF-8` },
          }),
        );
      },
    },
  ],
};
