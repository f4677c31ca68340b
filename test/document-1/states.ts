/** Document 1, "States and transitions" and "Events": the rows of its tables, in their order. */
import type { Test } from 'tap';
import { PASSWORD, TENANT, eventually } from '../helpers/running/server.ts';
import { BayeuxSocket } from '../helpers/running/bayeux.ts';
import { checkTransition } from './transitions.ts';
import type { RuleTable } from './rows.ts';
import { TIME } from './world.ts';
import type { World } from './world.ts';

const OPERATION_STATUS: RuleTable = {
  heading: 'Operation status',
  rows: [
    {
      row: '(none), POST: PENDING, 201, Location',
      check: async (t, world) => {
        const reply = await world.rest.post('/devicecontrol/operations', { deviceId: world.device, c8y_Restart: {} });
        t.match(reply, { status: 201, json: { status: 'PENDING' } });
        t.equal(reply.headers.get('location'), reply.json.self);
      },
    },
    { row: 'PENDING, PUT: EXECUTING', check: (t, world) => checkTransition(t, world, ['EXECUTING']) },
    { row: 'EXECUTING, PUT: SUCCESSFUL', check: (t, world) => checkTransition(t, world, ['EXECUTING', 'SUCCESSFUL']) },
    {
      row: 'EXECUTING, PUT: FAILED with failureReason',
      check: async (t, world) => {
        const id = await checkTransition(t, world, ['EXECUTING', 'FAILED'], { failureReason: 'why' });
        t.equal((await world.rest.read(`/devicecontrol/operations/${id}`)).failureReason, 'why');
      },
    },
    {
      row: 'failureReason: with FAILED only',
      check: async (t, world) => {
        const id = await checkTransition(t, world, ['EXECUTING', 'SUCCESSFUL'], { failureReason: 'why' });
        t.equal((await world.rest.read(`/devicecontrol/operations/${id}`)).failureReason, undefined);
      },
    },
    {
      row: 'after a restart: EXECUTING ones are found, PENDING ones after the subscription',
      check: async (t, world) => {
        const agent = await world.ownedDevice();
        const [executing, pending] = [
          await world.operation({ deviceId: agent }),
          await world.operation({ deviceId: agent }),
        ];
        await world.rest.put(`/devicecontrol/operations/${executing.id}`, { status: 'EXECUTING' });
        for (const [status, { id }] of [
          ['EXECUTING', executing],
          ['PENDING', pending],
        ] as const) {
          t.same(
            (
              await world.rest.read(`/devicecontrol/operations?agentId=${agent}&status=${status}&pageSize=2000`)
            ).operations.map((found: any) => found.id),
            [id],
          );
        }
      },
      heldBy: [
        [
          'e2e/operations/operations',
          'a device that comes back gets what is PENDING once, and what is set to PENDING again',
        ],
      ],
    },
  ],
};

const BULK_STATUS: RuleTable = {
  heading: 'Bulk operation status',
  rows: [
    {
      row: '(none), POST: ACTIVE',
      check: async (t, world) => {
        const reply = await world.rest.post('/devicecontrol/bulkoperations', await world.bulkBody());
        t.match(reply, { status: 201, json: { status: 'ACTIVE', progress: { all: 1 } } });
        t.equal((await world.rest.read(reply.headers.get('location') ?? '')).status, 'ACTIVE');
        t.equal(
          (
            await world.rest.post('/devicecontrol/bulkoperations', {
              ...(await world.bulkBody()),
              creationRamp: undefined,
            })
          ).status,
          422,
          'of a valid body only',
        );
      },
    },
    {
      row: 'ACTIVE, all operations created: COMPLETED',
      check: async (t, world) => {
        const { id } = await world.bulk({ startDate: TIME });
        const path = `/devicecontrol/bulkoperations/${id}`;
        const done = await eventually('it is completed', async () => {
          const found = await world.rest.read(path);
          return found.status === 'COMPLETED' && found;
        });
        t.match(done.progress, { pending: 1, all: 1 });
      },
    },
    {
      row: 'ACTIVE, DELETE: DELETED, hidden unless withDeleted',
      check: async (t, world) => {
        const { id } = await world.bulk();
        t.equal((await world.rest.delete(`/devicecontrol/bulkoperations/${id}`)).status, 204);
        const listed = async (query: string): Promise<any> =>
          (await world.rest.read(`/devicecontrol/bulkoperations?pageSize=2000${query}`)).bulkOperations.find(
            (found: any) => found.id === id,
          )?.status;
        t.equal(await listed(''), undefined);
        t.equal(await listed('&withDeleted=false'), undefined);
        t.equal(await listed('&withDeleted=true'), 'DELETED');
      },
      heldBy: [['e2e/operations/bulk-operations', 'DELETE cancels: what is not yet created never is']],
    },
    {
      row: 'ACTIVE (started), PUT: cancelled, and a new one',
      heldBy: [
        [
          'e2e/operations/bulk-operations',
          'PUT changes what has not started; what has is cancelled and scheduled anew',
        ],
      ],
    },
  ],
};

const ALARM_STATUS: RuleTable = {
  heading: 'Alarm status',
  rows: [
    {
      row: '(none), POST without status: ACTIVE',
      check: async (t, world) => t.equal((await world.alarm()).status, 'ACTIVE'),
    },
    {
      row: '(none), POST with status: that',
      check: async (t, world) => {
        for (const status of ['ACTIVE', 'ACKNOWLEDGED', 'CLEARED'])
          t.equal((await world.alarm({ status })).status, status);
      },
    },
    {
      row: 'ACTIVE or ACKNOWLEDGED, POST of the same source and type: count + 1, nothing else',
      check: async (t, world) => {
        for (const status of ['ACTIVE', 'ACKNOWLEDGED']) {
          const first = await world.alarm({ status });
          const before = await world.rest.read(`/alarm/alarms/${first.id}`);
          const again = await world.alarm({
            type: first.type,
            severity: 'CRITICAL',
            status: 'CLEARED',
            text: 'other',
            time: '2024-05-02T11:00:00.000Z',
          });
          t.match(again, { id: first.id, count: 2, status, severity: 'MAJOR', text: 'text', firstOccurenceTime: TIME });
          const after = await world.rest.read(`/alarm/alarms/${first.id}`);
          t.same(after.history.auditRecords.length, before.history.auditRecords.length, 'the history is as it was');
        }
      },
    },
    {
      row: 'any, PUT with status: that, an audit record, a notification',
      check: async (t, world) => {
        const { id } = await world.alarm();
        const live = await BayeuxSocket.open(t, world.server, '/cep/realtime');
        await live.subscribe(`/alarms/${world.device}`);
        for (const status of ['ACKNOWLEDGED', 'CLEARED', 'ACTIVE']) {
          t.match(await world.rest.put(`/alarm/alarms/${id}`, { status }), { status: 200, json: { status } });
          await live.message(
            ({ data }) =>
              data[0].realtimeAction === 'UPDATE' && data[0].data.id === id && data[0].data.status === status,
          );
        }
        const { auditRecords } = (await world.rest.read(`/alarm/alarms/${id}`)).history;
        t.same(auditRecords.map(({ type }: any) => type).sort(), [
          'com_platform_model_alarm_AlarmChanged',
          'com_platform_model_alarm_AlarmChanged',
          'com_platform_model_alarm_AlarmChanged',
          'com_platform_model_alarm_AlarmRaised',
        ]);
      },
    },
  ],
};

const TENANT_STATUS: RuleTable = {
  heading: 'Tenant status',
  rows: [
    {
      row: 'ACTIVE, SUSPENDED: by who is above it',
      heldBy: [['e2e/tenants/tenants', 'suspension ends all access at once, activation gives it back']],
      check: async (t, world) => {
        const { id, above, own, stranger } = await world.family();
        const path = `/tenant/tenants/${id}`;
        for (const [by, status] of [
          [own, 403],
          [stranger, 404],
        ] as const)
          t.equal((await by.put(path, { status: 'SUSPENDED' })).status, status, 'nobody else');
        for (const by of [above, world.management]) {
          t.match(await by.put(path, { status: 'SUSPENDED' }), { status: 200, json: { status: 'SUSPENDED' } });
          t.equal((await own.get('/user/currentUser')).status, 401, 'no access');
          t.match(await by.put(path, { status: 'ACTIVE' }), { status: 200, json: { status: 'ACTIVE' } });
          t.equal((await own.get('/user/currentUser')).status, 200);
        }
        t.match(
          await above.put(path, { status: 'GONE' }),
          { status: 422, json: { message: /status/ } },
          'there is no other',
        );
      },
    },
  ],
};

interface Channel {
  readonly path?: string;
  readonly channel: (device: string) => string;
  readonly role: string;
  readonly act: (world: World, device: string) => Promise<string[]>;
}

/** Who has the role alone gets `actions`; who has all others may not subscribe. */
async function checkChannel(
  t: Test,
  world: World,
  { path = '/cep/realtime', channel, role, act }: Channel,
): Promise<void> {
  const name = role.toLowerCase();
  await world.only(role);
  await world.lacking([role]);
  const token = (user: string): string => Buffer.from(`${TENANT}/${user}:${PASSWORD}`).toString('base64');
  const device = await world.ownedDevice();
  const refused = await BayeuxSocket.open(t, world.server, path, token(`lacks-${name}`));
  t.match(await refused.ask({ channel: '/meta/subscribe', subscription: channel(device) }), {
    successful: false,
    error: /^403/,
  });
  const live = await BayeuxSocket.open(t, world.server, path, token(`only-${name}`));
  await live.subscribe(channel(device));
  const isAgent = path !== '/cep/realtime';
  const actions = await act(world, device);
  for (const action of actions) {
    const { data } = await live.message((message) => isAgent || message['data'][0].realtimeAction === action);
    if (isAgent) continue;
    t.ok(Array.isArray(data), 'data is an array');
    if (action === 'DELETE')
      t.match(JSON.stringify(data[0].data), /^("\d+"|\{"id":"\d+"\})$/, 'of what is deleted the id alone');
    else t.match(data[0].data, { id: /^\d+$/ }, 'the resource');
  }
}

const removed = async (world: World, path: string): Promise<void> => {
  const { status, text } = await world.rest.delete(path);
  if (status !== 204) throw new Error(text);
};
async function operations(world: World, device: string): Promise<string[]> {
  const { id } = await world.operation({ deviceId: device });
  await world.rest.put(`/devicecontrol/operations/${id}`, { status: 'EXECUTING' });
  await removed(world, `/devicecontrol/operations?deviceId=${device}`);
  return ['CREATE', 'UPDATE', 'DELETE'];
}
async function alarms(world: World, device: string): Promise<string[]> {
  const { id } = await world.alarm({ source: { id: device } });
  await world.rest.put(`/alarm/alarms/${id}`, { status: 'CLEARED' });
  await removed(world, `/alarm/alarms?source=${device}`);
  return ['CREATE', 'UPDATE', 'DELETE'];
}
async function events(world: World, device: string): Promise<string[]> {
  const { id } = await world.event({ source: { id: device } });
  await world.rest.put(`/event/events/${id}`, { text: 'changed' });
  await removed(world, `/event/events/${id}`);
  return ['CREATE', 'UPDATE', 'DELETE'];
}

const CHANNELS: RuleTable = {
  heading: 'Events',
  rows: [
    {
      row: 'operations for an agent: /devicecontrol/notifications, /<agent_id>',
      check: (t, world) =>
        checkChannel(t, world, {
          path: '/devicecontrol/notifications',
          channel: (device) => `/${device}`,
          role: 'ROLE_DEVICE_CONTROL_READ',
          act: async (_, deviceId) => {
            await world.operation({ deviceId });
            return ['CREATE'];
          },
        }),
    },
    {
      row: 'operations for a device: /operations/<device_id>',
      check: (t, world) =>
        checkChannel(t, world, {
          channel: (device) => `/operations/${device}`,
          role: 'ROLE_DEVICE_CONTROL_READ',
          act: operations,
        }),
    },
    {
      row: '/operations/*',
      check: (t, world) =>
        checkChannel(t, world, { channel: () => '/operations/*', role: 'ROLE_DEVICE_CONTROL_READ', act: operations }),
    },
    // The document writes ROLE_ALARMS_READ here and ROLE_ALARM_READ everywhere else.
    {
      row: 'alarms: /alarms/<device_id>',
      check: (t, world) =>
        checkChannel(t, world, { channel: (device) => `/alarms/${device}`, role: 'ROLE_ALARM_READ', act: alarms }),
    },
    {
      row: '/alarms/*',
      check: (t, world) => checkChannel(t, world, { channel: () => '/alarms/*', role: 'ROLE_ALARM_READ', act: alarms }),
    },
    {
      row: 'events: /events/<device_id>',
      check: (t, world) =>
        checkChannel(t, world, { channel: (device) => `/events/${device}`, role: 'ROLE_EVENT_READ', act: events }),
    },
    {
      row: '/events/*',
      check: (t, world) => checkChannel(t, world, { channel: () => '/events/*', role: 'ROLE_EVENT_READ', act: events }),
    },
    {
      row: 'alarm updates: firstOccurrence and count',
      check: async (t, world) => {
        const device = await world.ownedDevice();
        const live = await BayeuxSocket.open(t, world.server, '/cep/realtime');
        await live.subscribe(`/alarms/${device}`);
        const { type } = await world.alarm({ source: { id: device } });
        await world.alarm({ source: { id: device }, type });
        const { data } = await live.message((message) => message['data'][0].realtimeAction === 'UPDATE');
        t.match(data[0].data, { count: 2, firstOccurrence: false });
        const [{ id }] = (await world.rest.read(`/alarm/alarms?source=${device}`)).alarms;
        await world.rest.put(`/alarm/alarms/${id}`, { status: 'CLEARED' });
        const {
          data: [cleared],
        } = await live.message((message) => message['data'][0].data.status === 'CLEARED');
        t.match(cleared, { realtimeAction: 'UPDATE', data: { count: 2, firstOccurrence: Boolean } }, 'of a PUT too');
      },
    },
    {
      row: 'alarms: nothing for a PUT that changes nothing',
      heldBy: [['e2e/alarms/alarms', 'notifications (docs/spec/realtime.md#effects)']],
      check: async (t, world) => {
        const device = await world.ownedDevice();
        const { id } = await world.alarm({ source: { id: device } });
        const live = await BayeuxSocket.open(t, world.server, '/cep/realtime');
        await live.subscribe(`/alarms/${device}`);
        for (const body of [{ text: 'text' }, { status: 'ACTIVE', severity: 'MAJOR' }, { mill_Extra: 1 }])
          t.equal((await world.rest.put(`/alarm/alarms/${id}`, body)).status, 200);
        await live.message(({ data }) => data[0].data.mill_Extra === 1);
        t.equal(live.messages.length, 1, 'that of the change alone');
      },
    },
  ],
};

export const STATES: readonly RuleTable[] = [OPERATION_STATUS, BULK_STATUS, ALARM_STATUS, TENANT_STATUS, CHANNELS];
