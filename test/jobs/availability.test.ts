/**
 * Availability and alarm counters on real actors, with a clock (docs/spec/availability.md,
 * docs/spec/alarms.md#counters).
 */
import t from 'tap';
import type { Test } from 'tap';
import { AvailabilityMonitor } from '../../src/jobs/availability/monitor.ts';
import { requiredInterval, statusOf } from '../../src/model/entities/availability.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { joinMembers, splitMembers } from '../../src/model/documents/json-document.ts';
import { NOW, TENANT, openPlatform, silentLog } from '../actors/platform.ts';
import type { Platform } from '../actors/platform.ts';
import { until } from '../helpers/until.ts';

const MINUTE_MS = 60_000;
const ALARM_TYPE = 'c8y_UnavailabilityAlarm';

interface Clock {
  now: number;
}

function monitorOf(
  platform: Platform,
  clock: Clock,
  more: {
    connected?: Set<number>;
    isMine?: boolean;
    ownedSince?: () => number | undefined;
    stepDevices?: number;
    heardMax?: number;
  } = {},
) {
  let id = 1_000_000;
  const counted: string[] = [];
  const next = (): number => {
    id += 1;
    return id;
  };
  const monitor = new AvailabilityMonitor({
    commands: platform.commands,
    documents: platform.documents,
    ids: { next, peek: next, nextBeside: next } as never,
    tenants: () => [TENANT],
    isMine: () => more.isMine ?? true,
    isConnected: (_tenant, device) => more.connected?.has(device) ?? false,
    refusals: { count: (limit) => void counted.push(limit) },
    log: silentLog,
    now: () => clock.now,
    ...(more.ownedSince === undefined ? {} : { ownedSince: more.ownedSince }),
    ...(more.stepDevices === undefined ? {} : { stepDevices: more.stepDevices }),
    ...(more.heardMax === undefined ? {} : { heardMax: more.heardMax }),
  });
  /** The rest of the pass under way, and a whole one. */
  const pass = async (): Promise<void> => {
    for (let ends = 0; ends < 2; ends += (await monitor.step()) ? 1 : 0);
  };
  return { monitor, counted, pass };
}

const required = (minutes: unknown): string =>
  JSON.stringify({ c8y_IsDevice: {}, c8y_RequiredAvailability: { responseInterval: minutes } });
const update = (platform: Platform, id: string, doc: object, at = NOW) =>
  platform.request({
    kind: COMMAND.MANAGED_OBJECT_UPDATE,
    key: Number(id),
    receivedAt: at,
    body: { doc: JSON.stringify(doc), mayChangeOwner: false },
  });
const object = (platform: Platform, id: string): any => platform.get('managedObject', id);
const alarmsOf = (platform: Platform, id: string): any[] =>
  platform
    .ids('alarm')
    .map((alarm) => platform.get('alarm', alarm) as any)
    .filter(({ source }) => source.id === id);

t.test('the interval and the states', async (t) => {
  const interval = (value: string, want: number | undefined, written = value): void => {
    const members = splitMembers(`{"c8y_RequiredAvailability":${value}}`);
    t.equal(requiredInterval(members), want, value);
    t.equal(members.get('c8y_RequiredAvailability'), written);
  };
  interval('{"responseInterval":30}', 30);
  interval('{"responseInterval":"30"}', 30);
  interval('{"responseInterval":-1,"x":1.0}', -1);
  interval('{"responseInterval":40000,"x":1.0}', 32_767, '{"responseInterval":32767,"x":1.0}');
  interval('{"responseInterval":"-99999"}', -32_768, '{"responseInterval":-32768}');
  for (const none of ['{}', '5', 'null', '[]', '{"responseInterval":"x"}', '{"responseInterval":true}'])
    interval(none, undefined);
  const state = (more: object): Parameters<typeof statusOf>[0] => ({ lastMessage: 0, isSilent: false, ...more });
  t.equal(statusOf(state({}), true), 'UNAVAILABLE');
  t.equal(statusOf(state({ interval: 0, isSilent: true }), true), 'MAINTENANCE');
  t.equal(statusOf(state({ interval: -5 }), false), 'MAINTENANCE');
  t.equal(statusOf(state({ interval: 5 }), false), 'AVAILABLE');
  t.equal(statusOf(state({ interval: 5, isSilent: true }), false), 'UNAVAILABLE');
  t.equal(statusOf(state({ interval: 5 }), true), 'UNAVAILABLE');
  t.equal(joinMembers([]), '{}');
});

t.test('a device falls silent and speaks again', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', required(5));
  t.match(object(platform, '1').c8y_Availability, { status: 'AVAILABLE', lastMessage: new Date(NOW).toISOString() });
  const { lastUpdated } = object(platform, '1');
  const { monitor, pass } = monitorOf(platform, clock);
  clock.now += 5 * MINUTE_MS;
  await pass();
  t.equal(object(platform, '1').c8y_Availability.status, 'AVAILABLE', 'exactly the interval');
  clock.now += 1;
  await pass();
  await pass();
  t.equal(object(platform, '1').c8y_Availability.status, 'UNAVAILABLE');
  t.match(alarmsOf(platform, '1'), [
    {
      type: ALARM_TYPE,
      severity: 'MAJOR',
      status: 'ACTIVE',
      count: 1,
      text: 'No data received from the device within required interval.',
    },
  ]);
  t.match(object(platform, '1').c8y_ActiveAlarmsStatus, { critical: 0, major: 1, minor: 0, warning: 0 });
  t.equal(object(platform, '1').lastUpdated, lastUpdated, 'no change of the object');
  clock.now += MINUTE_MS;
  monitor.heard(TENANT, 1, clock.now);
  await monitor.step();
  t.match(object(platform, '1').c8y_Availability, {
    status: 'AVAILABLE',
    lastMessage: new Date(clock.now).toISOString(),
  });
  t.match(alarmsOf(platform, '1'), [{ status: 'CLEARED' }]);
  t.equal(object(platform, '1').c8y_ActiveAlarmsStatus.major, 0);
  clock.now += 6 * MINUTE_MS;
  await pass();
  t.equal(alarmsOf(platform, '1').length, 2, 'silent again: another alarm');
  const statuses = platform.notifications
    .filter(({ area, action }) => area === 'managedobjects' && action === 'UPDATE')
    .map(({ text }) => JSON.parse(text).c8y_Availability.status);
  t.same([...new Set(statuses)].sort(), ['AVAILABLE', 'UNAVAILABLE']);
});

t.test('the alarm about silence ends with the monitoring', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  const { monitor, pass } = monitorOf(platform, clock);
  for (const [id, end] of [
    ['1', { responseInterval: 0 }],
    ['2', null],
  ] as const) {
    await platform.create(id, required(5));
    clock.now += 6 * MINUTE_MS;
    await pass();
    t.match(alarmsOf(platform, id), [{ status: 'ACTIVE' }]);
    await update(platform, id, { c8y_RequiredAvailability: end }, clock.now);
    t.match(alarmsOf(platform, id), [{ status: 'CLEARED' }]);
    t.equal(object(platform, id).c8y_ActiveAlarmsStatus.major, 0);
    await update(platform, id, { c8y_RequiredAvailability: { responseInterval: 5 } }, clock.now);
    monitor.heard(TENANT, Number(id), clock.now);
    await pass();
    t.equal(object(platform, id).c8y_Availability.status, 'AVAILABLE');
    clock.now += 6 * MINUTE_MS;
    await pass();
    t.same(
      alarmsOf(platform, id)
        .map(({ status }) => status)
        .sort(),
      ['ACTIVE', 'CLEARED'],
      'silent again: another one',
    );
  }
});

t.test('times of messages are written sparsely', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', required(60));
  const { monitor, pass } = monitorOf(platform, clock);
  const rows = platform.rows.length;
  for (let minute = 1; minute < 10; minute += 1) {
    clock.now += MINUTE_MS;
    monitor.heard(TENANT, 1, clock.now);
    await pass();
  }
  t.equal(platform.rows.length, rows);
  t.equal(monitor.lastHeard(1), clock.now);
  clock.now += MINUTE_MS;
  monitor.heard(TENANT, 1, clock.now);
  await pass();
  t.equal(object(platform, '1').c8y_Availability.lastMessage, new Date(clock.now).toISOString());
  t.equal(platform.rows.length, rows + 1);
});

t.test('maintenance', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', required(5));
  const connected = new Set([1]);
  const { monitor, pass } = monitorOf(platform, clock, { connected });
  await pass();
  t.same(object(platform, '1').c8y_Connection, { status: 'CONNECTED' });
  await update(platform, '1', { c8y_RequiredAvailability: { responseInterval: 0 } });
  t.match(object(platform, '1'), {
    c8y_Availability: { status: 'MAINTENANCE' },
    c8y_Connection: { status: 'MAINTENANCE' },
  });
  clock.now += 100 * MINUTE_MS;
  await pass();
  t.same(alarmsOf(platform, '1'), []);
  await update(platform, '1', { c8y_RequiredAvailability: { responseInterval: 5 } }, clock.now);
  t.match(object(platform, '1'), {
    c8y_Availability: { status: 'AVAILABLE' },
    c8y_Connection: { status: 'CONNECTED' },
  });
  await pass();
  t.equal(object(platform, '1').c8y_Availability.status, 'UNAVAILABLE', 'it has been silent all the time');
  connected.delete(1);
  monitor.lookAt(TENANT, 1);
  await monitor.step();
  t.same(object(platform, '1').c8y_Connection, { status: 'DISCONNECTED' });
});

t.test('connections of devices that are not monitored', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', '{"c8y_IsDevice":{}}');
  const connected = new Set([1, 2]);
  const { monitor, pass } = monitorOf(platform, clock, { connected });
  monitor.lookAt(TENANT, 1);
  monitor.lookAt(TENANT, 2);
  await pass();
  t.same(object(platform, '1').c8y_Connection, { status: 'CONNECTED' });
  t.equal(object(platform, '1').c8y_Availability, undefined);
  t.same(platform.ids('availability'), ['1'], 'nothing is kept of objects that do not exist');
  const next = await platform.crash();
  await next.recover();
  const after = monitorOf(next, clock);
  await after.pass();
  t.same(object(next, '1').c8y_Connection, { status: 'DISCONNECTED' }, 'its connection ended with the process');
});

t.test('a critical alarm makes its source unavailable while it is open', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', required(5));
  const alarm = (id: string, severity: string, status = 'ACTIVE') =>
    platform.request({
      kind: COMMAND.ALARM_CREATE,
      key: 1,
      body: {
        id,
        type: `t${id}`,
        time: NOW,
        severity,
        status,
        user: 'ada',
        doc: JSON.stringify({ type: `t${id}`, text: 'x', time: new Date(NOW).toISOString() }),
      },
    });
  const change = (id: string, doc: object) =>
    platform.request({ kind: COMMAND.ALARM_UPDATE, key: 1, body: { id, doc: JSON.stringify(doc), user: 'ada' } });
  await alarm('10', 'CRITICAL');
  t.equal(object(platform, '1').c8y_Availability.status, 'UNAVAILABLE');
  await monitorOf(platform, clock).pass();
  t.equal(object(platform, '1').c8y_Availability.status, 'UNAVAILABLE', 'also when the device speaks');
  await change('10', { status: 'ACKNOWLEDGED' });
  t.equal(object(platform, '1').c8y_Availability.status, 'UNAVAILABLE');
  await change('10', { severity: 'MINOR' });
  t.equal(object(platform, '1').c8y_Availability.status, 'AVAILABLE');
  t.same(alarmsOf(platform, '1').length, 1, 'no alarm about it');
});

t.test('counters of open alarms', async (t) => {
  const platform = openPlatform(t);
  await platform.create(
    '1',
    '{"c8y_ActiveAlarmsStatus":{"critical":9},"c8y_Availability":{"status":"x"},"c8y_Connection":{}}',
  );
  t.same(
    ['c8y_ActiveAlarmsStatus', 'c8y_Availability', 'c8y_Connection'].filter((name) => name in object(platform, '1')),
    [],
    'only the server writes them',
  );
  const body = (id: string, type: string, severity: string, status: string) => ({
    id,
    type,
    time: NOW,
    severity,
    status,
    user: 'ada',
    doc: JSON.stringify({ type, text: 'x' }),
  });
  const counts = (): string => JSON.stringify(object(platform, '1').c8y_ActiveAlarmsStatus ?? null);
  const steps: [string, Parameters<Platform['request']>[0], string][] = [
    [
      'a new one',
      { kind: COMMAND.ALARM_CREATE, key: 1, body: body('10', 'a', 'MAJOR', 'ACTIVE') },
      '{"critical":0,"major":1,"minor":0,"warning":0}',
    ],
    [
      'the same again',
      { kind: COMMAND.ALARM_CREATE, key: 1, body: body('11', 'a', 'CRITICAL', 'ACTIVE') },
      '{"critical":0,"major":1,"minor":0,"warning":0}',
    ],
    [
      'another',
      { kind: COMMAND.ALARM_CREATE, key: 1, body: body('12', 'b', 'WARNING', 'ACKNOWLEDGED') },
      '{"critical":0,"major":1,"minor":0,"warning":1}',
    ],
    [
      'a cleared one',
      { kind: COMMAND.ALARM_CREATE, key: 1, body: body('13', 'c', 'MINOR', 'CLEARED') },
      '{"critical":0,"major":1,"minor":0,"warning":1}',
    ],
    [
      'another severity',
      { kind: COMMAND.ALARM_UPDATE, key: 1, body: { id: '10', doc: '{"severity":"MINOR"}', user: 'ada' } },
      '{"critical":0,"major":0,"minor":1,"warning":1}',
    ],
    [
      'acknowledged',
      { kind: COMMAND.ALARM_UPDATE, key: 1, body: { id: '10', doc: '{"status":"ACKNOWLEDGED"}', user: 'ada' } },
      '{"critical":0,"major":0,"minor":1,"warning":1}',
    ],
    [
      'cleared',
      { kind: COMMAND.ALARM_UPDATE, key: 1, body: { id: '10', doc: '{"status":"CLEARED"}', user: 'ada' } },
      '{"critical":0,"major":0,"minor":0,"warning":1}',
    ],
    [
      'opened again',
      {
        kind: COMMAND.ALARM_UPDATE,
        key: 1,
        body: { id: '10', doc: '{"status":"ACTIVE","severity":"CRITICAL"}', user: 'ada' },
      },
      '{"critical":1,"major":0,"minor":0,"warning":1}',
    ],
    [
      'cleared by its type',
      { kind: COMMAND.ALARM_OF_TYPE_UPDATE, key: 1, body: { type: 'b', doc: '{"status":"CLEARED"}', user: 'ada' } },
      '{"critical":1,"major":0,"minor":0,"warning":0}',
    ],
    [
      'deleted',
      { kind: COMMAND.ALARM_DELETE, key: 1, body: { id: '10' } },
      '{"critical":0,"major":0,"minor":0,"warning":0}',
    ],
    [
      'not stored',
      { kind: COMMAND.ALARM_CREATE, key: 1, mode: 1, body: body('14', 'd', 'MAJOR', 'ACTIVE') },
      '{"critical":0,"major":0,"minor":0,"warning":0}',
    ],
    [
      'written by a client',
      {
        kind: COMMAND.MANAGED_OBJECT_UPDATE,
        key: 1,
        body: { doc: '{"c8y_ActiveAlarmsStatus":null}', mayChangeOwner: true },
      },
      '{"critical":0,"major":0,"minor":0,"warning":0}',
    ],
  ];
  t.equal(counts(), 'null', 'not before the first alarm');
  for (const [title, command, want] of steps) {
    await platform.request(command);
    t.equal(counts(), want, title);
  }
});

t.test('pages, and devices of other processes', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  for (let id = 1; id <= 7; id += 1) await platform.create(String(id), required(1));
  const other = monitorOf(platform, clock, { isMine: false });
  const own = monitorOf(platform, clock, { stepDevices: 3 });
  clock.now += 2 * MINUTE_MS;
  own.monitor.heard(TENANT, 4, clock.now);
  await other.pass();
  t.equal(platform.ids('alarm').length, 0);
  await own.pass();
  t.same(
    Array.from(
      { length: 7 },
      (_, index) => object(platform, String(index + 1)).c8y_Availability.status === 'AVAILABLE',
    ),
    [false, false, false, true, false, false, false],
  );
});

t.test('a device that connects before its new owner judges, and of which nothing is stored', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', JSON.stringify({ c8y_IsDevice: {} }));
  const options = { connected: new Set([1]), isMine: false, ownedSince: (): number | undefined => NOW };
  const owner = monitorOf(platform, clock, options);
  const other = monitorOf(platform, clock, { ...options, ownedSince: () => undefined });
  for (const { monitor, pass } of [owner, other]) {
    monitor.lookAt(TENANT, 1);
    await pass();
    t.equal(object(platform, '1').c8y_Connection, undefined, 'not yet');
  }
  options.isMine = true;
  await owner.pass();
  t.match(object(platform, '1').c8y_Connection, { status: 'CONNECTED' });
});

t.test('a restart', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', required(5));
  await platform.create('2', required(5));
  const first = monitorOf(platform, clock);
  clock.now += 4 * MINUTE_MS;
  first.monitor.heard(TENANT, 1, clock.now);
  clock.now += 2 * MINUTE_MS;
  await first.pass();
  t.equal(object(platform, '2').c8y_Availability.status, 'UNAVAILABLE');
  clock.now += 60 * MINUTE_MS;
  const next = await platform.crash();
  await next.recover();
  const second = monitorOf(next, clock);
  await second.pass();
  t.equal(object(next, '1').c8y_Availability.status, 'AVAILABLE', 'the time without a server does not count');
  t.equal(object(next, '2').c8y_Availability.status, 'UNAVAILABLE');
  t.equal(alarmsOf(next, '2').length, 1);
  second.monitor.heard(TENANT, 2, clock.now);
  await second.monitor.step();
  t.equal(object(next, '2').c8y_Availability.status, 'AVAILABLE');
  clock.now += 5 * MINUTE_MS + 1;
  await second.pass();
  t.equal(object(next, '1').c8y_Availability.status, 'UNAVAILABLE', 'silent since the start');
});

t.test('a deleted device, and one that is not monitored any more', async (t) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', required(5));
  await platform.create('2', required(5));
  await platform.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 1, body: {} });
  await update(platform, '2', { c8y_RequiredAvailability: null });
  t.same(platform.ids('availability'), ['2']);
  t.equal(object(platform, '2').c8y_Availability.status, 'NOT_MONITORED');
  clock.now += 10 * MINUTE_MS;
  await monitorOf(platform, clock).pass();
  t.same(platform.ids('alarm'), []);
});

t.test('memory is bounded', async (t) => {
  const platform = openPlatform(t);
  const { monitor, counted } = monitorOf(platform, { now: NOW }, { heardMax: 20 });
  for (let device = 1; device <= 100; device += 1) monitor.heard(TENANT, device, NOW + device);
  t.equal(monitor.lastHeard(100), NOW + 100);
  t.equal(monitor.lastHeard(91), NOW + 91);
  t.equal(monitor.lastHeard(1), undefined);
  t.same([...new Set(counted)], ['availability/heard']);
});

t.test('runs by itself and stops', async (t: Test) => {
  const platform = openPlatform(t);
  const clock = { now: NOW };
  await platform.create('1', required(5));
  clock.now += 1;
  const connected = new Set<number>();
  const { monitor } = monitorOf(platform, clock, { connected });
  monitor.start();
  connected.add(1);
  monitor.lookAt(TENANT, 1);
  await until('it has looked', () => object(platform, '1').c8y_Connection !== undefined);
  t.same(object(platform, '1').c8y_Connection, { status: 'CONNECTED' });
  await monitor.stop();
});
