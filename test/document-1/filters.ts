/**
 * Document 1, "Endpoints", what the column Request says after "query": each parameter of each collection, in its order.
 * Of each collection one entity is made that all parameters select, and for each parameter one that it alone leaves
 * out.
 */
import type { Test } from 'tap';
import { eventually } from '../helpers/running/server.ts';
import type { RuleTable } from './rows.ts';
import { TIME } from './world.ts';
import type { World } from './world.ts';

/** A value of the parameter, and what makes an entity one that the value does not select. */
interface Parameter {
  readonly value: string;
  readonly other: object;
}

export interface Filtered {
  readonly path: string;
  /** Name of the array. */
  readonly name: string;
  /** With DELETE: "same query as GET". */
  readonly isDeletable: boolean;
  /** Parameters that can be together; `body` is of an entity that they all select. */
  readonly groups: readonly {
    readonly parameters: readonly string[];
    readonly make: (world: World) => Promise<Made>;
  }[];
  /** What the document names beside them, and where it is looked at. */
  readonly elsewhere?: Readonly<Record<string, string>>;
}

interface Made {
  readonly body: object;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly create?: (body: object) => Promise<any>;
}

/** Where pages are looked at. */
const PAGES = '7 pages: items, self, next, prev, statistics; totalPages on demand';
/** One millisecond before and after TIME: both ends of a range belong to it (document 4 section 0.3). */
const BEFORE = '2024-05-02T09:59:59.999Z';
const AFTER = '2024-05-02T10:00:00.001Z';
const RANGE: Readonly<Record<string, Parameter>> = {
  dateFrom: { value: TIME, other: { time: BEFORE } },
  dateTo: { value: TIME, other: { time: AFTER } },
};

async function sources(world: World): Promise<{ readonly source: object; readonly parameter: Parameter }> {
  const [one, other] = [await world.ownedDevice(), await world.ownedDevice()];
  return { source: { id: one }, parameter: { value: one, other: { source: { id: other } } } };
}

/** POST takes no status: it is set afterwards. */
const operation =
  (world: World) =>
  async ({ status, ...body }: any): Promise<any> => {
    const made = await world.rest.create('/devicecontrol/operations', body);
    if (status !== undefined) await world.rest.put(`/devicecontrol/operations/${made.id}`, { status });
    return made;
  };

const OPERATIONS: Filtered = {
  path: '/devicecontrol/operations',
  name: 'operations',
  isDeletable: true,
  groups: [
    {
      parameters: ['agentId', 'status'],
      make: async (world) => {
        const [agent, other] = [await world.ownedDevice(), await world.ownedDevice()];
        const { id: child } = await world.rest.create('/inventory/managedObjects', { name: 'child', c8y_IsDevice: {} });
        await world.rest.create(`/inventory/managedObjects/${agent}/childDevices`, { managedObject: { id: child } });
        return {
          body: { deviceId: child },
          create: operation(world),
          parameters: {
            agentId: { value: agent, other: { deviceId: other } },
            status: { value: 'PENDING', other: { status: 'EXECUTING' } },
          },
        };
      },
    },
    {
      parameters: ['deviceId', 'status'],
      make: async (world) => {
        const [device, other] = [await world.ownedDevice(), await world.ownedDevice()];
        return {
          body: { deviceId: device, status: 'FAILED' },
          create: operation(world),
          parameters: {
            deviceId: { value: device, other: { deviceId: other } },
            status: { value: 'FAILED', other: { status: 'SUCCESSFUL' } },
          },
        };
      },
    },
  ],
};

const ALARMS: Filtered = {
  path: '/alarm/alarms',
  name: 'alarms',
  isDeletable: true,
  groups: [
    {
      parameters: ['source', 'status', 'dateFrom', 'dateTo'],
      make: async (world) => {
        const { source, parameter } = await sources(world);
        // Each of another type: those of one type and source are one alarm.
        const create = (body: object): Promise<any> => world.alarm(body);
        return {
          body: { source, time: TIME, status: 'ACKNOWLEDGED' },
          create,
          parameters: { source: parameter, status: { value: 'ACKNOWLEDGED', other: { status: 'ACTIVE' } }, ...RANGE },
        };
      },
    },
  ],
};

const EVENTS: Filtered = {
  path: '/event/events',
  name: 'events',
  isDeletable: true,
  elsewhere: { revert: 'Events 1: latest first, revert=true: oldest first' },
  groups: [
    {
      parameters: ['type', 'source', 'dateFrom', 'dateTo', 'fragmentType'],
      make: async (world) => {
        const { source, parameter } = await sources(world);
        const [type, fragment] = [world.name('type'), 'mill_Filter'];
        return {
          body: { source, type, text: 'x', time: TIME, [fragment]: {} },
          parameters: {
            type: { value: type, other: { type: world.name('type') } },
            source: parameter,
            ...RANGE,
            fragmentType: { value: fragment, other: { [fragment]: undefined, mill_Other: {} } },
          },
        };
      },
    },
  ],
};

const MEASUREMENTS: Filtered = {
  path: '/measurement/measurements',
  name: 'measurements',
  isDeletable: false,
  groups: [
    {
      parameters: ['dateFrom', 'dateTo', 'fragmentType'],
      make: async (world) => {
        const [source, fragment] = [{ id: await world.ownedDevice() }, world.name('mill_Fragment').replace('-', '')];
        return {
          body: { source, type: 'm', time: TIME, [fragment]: { T: { value: 1, unit: 'C' } } },
          parameters: {
            ...RANGE,
            fragmentType: { value: fragment, other: { [fragment]: undefined, mill_Other: { T: { value: 1 } } } },
          },
        };
      },
    },
  ],
};

const OBJECTS: Filtered = {
  path: '/inventory/managedObjects',
  name: 'managedObjects',
  isDeletable: false,
  elsewhere: {
    ids: '/inventory/managedObjects: ids selects',
    withTotalPages: PAGES,
    pageSize: PAGES,
    currentPage: PAGES,
  },
  groups: [
    {
      parameters: ['fragmentType', 'type'],
      make: async (world) => {
        const [type, fragment] = [world.name('type'), world.name('mill_Fragment').replace('-', '')];
        return {
          body: { type, [fragment]: {} },
          parameters: {
            type: { value: type, other: { type: world.name('type') } },
            fragmentType: { value: fragment, other: { [fragment]: undefined } },
          },
        };
      },
    },
  ],
};

const BULK: Filtered = {
  path: '/devicecontrol/bulkoperations',
  name: 'bulkOperations',
  isDeletable: false,
  groups: [],
  elsewhere: { withDeleted: 'ACTIVE, DELETE: DELETED, hidden unless withDeleted' },
};

export const FILTERED: readonly Filtered[] = [OBJECTS, MEASUREMENTS, OPERATIONS, BULK, ALARMS, EVENTS];

const query = (path: string, parameters: readonly (readonly [string, Parameter])[], more = ''): string =>
  `${path}?${parameters.map(([name, { value }]) => `${name}=${encodeURIComponent(value)}`).join('&')}${more}`;

async function checkGroup(
  t: Test,
  world: World,
  { path, name, isDeletable }: Filtered,
  { body, parameters, create }: Made,
): Promise<void> {
  const make = async (change: object): Promise<string> =>
    (await (create?.({ ...body, ...change }) ?? world.rest.create(path, { ...body, ...change }))).id;
  const all = Object.entries(parameters);
  const wanted = await make({});
  const others = new Map<string, string>();
  for (const [parameter, { other }] of all) others.set(parameter, await make(other));
  const made = [wanted, ...others.values()];
  /** Of those that were made here. */
  const found = async (asked: typeof all): Promise<string[]> =>
    (await world.rest.read(query(path, asked, '&pageSize=2000')))[name]
      .map(({ id }: any) => id)
      .filter((id: string) => made.includes(id))
      .sort();
  t.same(await found(all), [wanted], 'all parameters together');
  for (const one of all) {
    const [parameter] = one;
    const left = others.get(parameter) as string;
    t.same(
      await found(all.filter((each) => each !== one)),
      [wanted, left].sort(),
      `without ${parameter} what it leaves out is there`,
    );
    t.same(await found([one]), made.filter((id) => id !== left).sort(), `${parameter} alone leaves out nothing else`);
  }
  if (!isDeletable) return;
  t.match(await world.rest.delete(query(path, all)), { status: 204, text: '' });
  const rest = [...others.values()].sort();
  await eventually('what all parameters select is gone', async () => (await found([])).join() === rest.join());
  for (const one of all) {
    const left = others.get(one[0]) as string;
    // Beside all but one parameter what this one leaves out is the only one.
    t.equal(
      (
        await world.rest.delete(
          query(
            path,
            all.filter((each) => each !== one),
          ),
        )
      ).status,
      204,
    );
    rest.splice(rest.indexOf(left), 1);
    await eventually(`${one[0]} makes the difference`, async () => (await found([])).join() === rest.join());
  }
}

export const FILTERS: RuleTable = {
  heading: 'Query parameters',
  rows: [
    ...FILTERED.flatMap((filtered) =>
      filtered.groups.map(({ parameters, make }) => ({
        row: `${filtered.path}: ${parameters.join(', ')} select${filtered.isDeletable ? ', also for DELETE' : ''}`,
        check: async (t: Test, world: World): Promise<void> => {
          const made = await make(world);
          t.same(Object.keys(made.parameters).sort(), [...parameters].sort());
          await checkGroup(t, world, filtered, made);
        },
      })),
    ),
    {
      row: '/inventory/managedObjects: ids selects',
      check: async (t, world) => {
        const [one, two, other] = [await world.ownedDevice(), await world.ownedDevice(), await world.ownedDevice()];
        const ids = (await world.rest.read(`${OBJECTS.path}?ids=${one},${two}&pageSize=2000`)).managedObjects.map(
          ({ id }: any) => id,
        );
        t.same(ids.sort(), [one, two].sort());
        t.notOk(ids.includes(other));
      },
    },
  ],
};
