/** Events, alarms, operations, sessions and users. */
import t from 'tap';
import { messageKey } from '../../src/actors/handlers/sessions/session.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { CommandKind } from '../../src/model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import type { Platform, Sent } from './platform.ts';
import { NOW, TENANT, openPlatform, until } from './platform.ts';

const TIME = new Date(NOW).toISOString();
const LATER = NOW + 60_000;

async function withDevice(platform: Platform): Promise<Platform> {
  await platform.create('5', '{"com_cumulocity_model_Agent":{}}');
  platform.notifications.length = 0;
  platform.rows.length = 0;
  return platform;
}
const parsed = ({ doc }: { doc: string }): Record<string, unknown> => JSON.parse(doc) as Record<string, unknown>;

t.test('events', async (t) => {
  const platform = await withDevice(openPlatform(t));
  const create = (id: string, doc: string, extra: Partial<Sent> = {}) =>
    platform.request({ kind: COMMAND.EVENT_CREATE, key: 5, body: { id, type: 'T', time: NOW, doc }, ...extra });
  const { doc } = await create(
    '700',
    '{"10":1.0,"type":"T","time":"2024-05-02","id":"1","source":{"id":"9"},"lastUpdated":"x","x":{}}',
  );
  t.equal(
    doc,
    `{"id":"700","source":{"id":"5"},"10":1.0,"type":"T","time":"2024-05-02T00:00:00.000Z","x":{},` +
      `"creationTime":"${TIME}","lastUpdated":"${TIME}"}`,
  );
  t.equal(platform.stored.get('event', 1, '700'), doc);
  t.match(JSON.parse(platform.rows[0].text), {
    id: 700,
    source: 5,
    type: 'T',
    time: '2024-05-02 00:00:00.000',
    fragments: ['10', 'x'],
    doc,
    deleted: 0,
  });
  await t.rejects(create('701', '{}', { key: 6 }), { code: 'source/not-found' });
  const update = (id: string, doc: string) =>
    platform.request({ kind: COMMAND.EVENT_UPDATE, key: 5, receivedAt: LATER, body: { id, doc } });
  t.match(parsed(await update('700', '{"text":"new","x":null,"id":"8","source":{"id":"6"}}')), {
    id: '700',
    text: 'new',
    source: { id: '5' },
    x: undefined,
    lastUpdated: new Date(LATER).toISOString(),
  });
  const before = platform.notifications.length;
  await update('700', '{"text":"new"}');
  t.equal(platform.notifications.length, before);
  await t.rejects(update('799', '{}'), { code: 'event/not-found' });
  await create('702', '{"type":"T"}', { mode: PROCESSING_MODE.TRANSIENT });
  await create('703', '{"type":"T"}', { mode: PROCESSING_MODE.QUIESCENT });
  await create('704', '{"type":"T"}', { mode: PROCESSING_MODE.CEP });
  t.same(platform.ids('event'), ['700', '703']);
  t.same(
    platform.notifications
      .filter(({ action }) => action === 'CREATE')
      .map(({ text }) => (JSON.parse(text) as { id: string }).id),
    ['700', '702'],
  );
  await create('705', '{"type":"T"}', {
    body: { id: '705', type: 'T', time: NOW, doc: '{"type":"T"}', managedObjectDoc: '{"c8y_Position":{"lat":1.50}}' },
  });
  t.match(platform.stored.get('managedObject', 1, '5'), '"c8y_Position":{"lat":1.50}', 'done when the answer comes');
  await platform.request({ kind: COMMAND.EVENT_DELETE, key: 5, body: { id: '700' } });
  t.same(platform.ids('event'), ['703', '705']);
  await t.rejects(platform.request({ kind: COMMAND.EVENT_DELETE, key: 5, body: { id: '700' } }), {
    code: 'event/not-found',
  });
});

t.test('a member that is null at the creation is none; inside of members null stays', async (t) => {
  const platform = await withDevice(openPlatform(t));
  const doc = '{"type":"T","time":"2024-05-02","n":null,"o":{"p":null}}';
  const create = (kind: 'EVENT_CREATE' | 'ALARM_CREATE' | 'OPERATION_CREATE', id: string, body: object) =>
    platform.request<{ doc: string }>({ kind: COMMAND[kind], key: 5, body: { id, doc, user: 'ada', ...body } });
  for (const [collection, created] of [
    ['event', await create('EVENT_CREATE', '700', { type: 'T', time: NOW })],
    ['alarm', await create('ALARM_CREATE', '701', { type: 'T', severity: 'MAJOR', status: 'ACTIVE' })],
    ['operation', await create('OPERATION_CREATE', '702', {})],
  ] as const) {
    t.notOk('n' in parsed(created), collection);
    t.match(created.doc, '"o":{"p":null}', collection);
    t.equal(platform.stored.get(collection, 1, String(parsed(created)['id'])), created.doc, collection);
  }
});

t.test('only the server says that an event has a binary', async (t) => {
  const platform = await withDevice(openPlatform(t));
  const forged = '"c8y_IsBinary":{"name":"f"},"c8y_IsIncompleteBinary":{"range":"0-1/2"}';
  const made = await platform.request({
    kind: COMMAND.EVENT_CREATE,
    key: 5,
    body: { id: '700', type: 'T', time: NOW, doc: `{"type":"T",${forged}}` },
  });
  t.match(parsed(made), { type: 'T', c8y_IsBinary: undefined, c8y_IsIncompleteBinary: undefined });
  const marks = '{"c8y_IsBinary":{"name":"real"},"c8y_IsIncompleteBinary":null}';
  await platform.request({
    kind: COMMAND.EVENT_BINARY_CHANGE,
    key: 5,
    body: { id: '700', expected: undefined, value: '{"parts":[]}', marks },
  });
  for (const doc of [`{${forged}}`, '{"c8y_IsBinary":null}']) {
    const changed = await platform.request({ kind: COMMAND.EVENT_UPDATE, key: 5, body: { id: '700', doc } });
    t.match(parsed(changed), { c8y_IsBinary: { name: 'real' }, c8y_IsIncompleteBinary: undefined }, doc);
  }
});

t.test('times at the edges of the calendar make rows that the history takes', async (t) => {
  const platform = await withDevice(openPlatform(t));
  for (const [index, time] of [
    '9999-12-31T23:59:59-18:00',
    '0000-01-01T00:00:00+18:00',
    '0001-01-01',
    '9999-12-31',
  ].entries()) {
    await platform.request({
      kind: COMMAND.EVENT_CREATE,
      key: 5,
      body: { id: String(800 + index), type: 'T', time: 0, doc: `{"type":"T","time":"${time}"}` },
    });
    const row = JSON.parse(platform.rows.at(-1)?.text ?? '') as { time: string };
    t.match(row.time, /^(19|2[0-2])\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/, `${time} became ${row.time}`);
  }
});

t.test('what no column can hold does not hold up the history', async (t) => {
  const platform = await withDevice(openPlatform(t));
  for (const [index, [text, want]] of (
    [
      ['-5', 0],
      ['1.5', 0],
      ['x', 0],
      ['1e30', 0],
      ['', 0],
      ['12', 12],
    ] as const
  ).entries()) {
    await platform.request({
      kind: COMMAND.OPERATION_CREATE,
      key: 5,
      body: { id: String(910 + index), user: 'a', doc: `{"bulkOperationId":"${text}"}` },
    });
    t.equal((JSON.parse(platform.rows.at(-1)?.text ?? '') as { bulk: number }).bulk, want, text);
  }
  const doc = '{"type":"T\\ud800","\\udc00x":1,"text":"\\ud83d\\ude00"}';
  await platform.request({ kind: COMMAND.EVENT_CREATE, key: 5, body: { id: '901', type: 'T', time: NOW, doc } });
  const row = JSON.parse(platform.rows.at(-1)?.text ?? '') as { type: string; fragments: string[]; doc: string };
  t.same([row.type, row.fragments], ['T\ufffd', ['\ufffdx']]);
  t.match(row.doc, '"type":"T\\ud800","\\udc00x":1', 'the document keeps what was sent');
});

const alarm = (
  platform: Platform,
  id: string,
  extra: { type?: string; doc?: string; status?: string; key?: number; mode?: 0 | 1 | 2 | 3; at?: number } = {},
) =>
  platform.request({
    kind: COMMAND.ALARM_CREATE,
    key: extra.key ?? 5,
    mode: extra.mode ?? 0,
    receivedAt: extra.at ?? NOW,
    body: {
      id,
      type: extra.type ?? 'A',
      time: NOW,
      severity: 'MAJOR',
      status: extra.status ?? 'ACTIVE',
      user: 'ada',
      doc: extra.doc ?? `{"type":"${extra.type ?? 'A'}","text":"t","time":"2024-05-02","severity":"MAJOR"}`,
    },
  });
const alarmUpdate = (platform: Platform, id: string, doc: string) =>
  platform.request({ kind: COMMAND.ALARM_UPDATE, key: 5, receivedAt: LATER, body: { id, doc, user: 'ada' } });

t.test('alarms: one open alarm of a type', async (t) => {
  const platform = await withDevice(openPlatform(t));
  await platform.create('6');
  const first = await alarm(platform, '700');
  t.equal(
    first.doc,
    `{"id":"700","source":{"id":"5"},"type":"A","text":"t","time":"2024-05-02T00:00:00.000Z","severity":"MAJOR",` +
      `"status":"ACTIVE","count":1,` +
      `"creationTime":"${TIME}","lastUpdated":"${TIME}"}`,
  );
  const repeat = parsed(
    await alarm(platform, '701', {
      at: LATER,
      status: 'CLEARED',
      doc: '{"type":"A","text":"other","time":"2024-06-01","severity":"MINOR","x":1}',
    }),
  );
  t.match(repeat, {
    id: '700',
    count: 2,
    text: 't',
    severity: 'MAJOR',
    status: 'ACTIVE',
    time: '2024-06-01',
    firstOccurrenceTime: '2024-05-02T00:00:00.000Z',
    firstOccurenceTime: '2024-05-02T00:00:00.000Z',
    x: undefined,
    creationTime: TIME,
    lastUpdated: new Date(LATER).toISOString(),
  });
  t.match(parsed(await alarm(platform, '702', { doc: '{"type":"A","time":"2024-07-01"}' })), {
    id: '700',
    count: 3,
    firstOccurrenceTime: '2024-05-02T00:00:00.000Z',
  });
  t.match(parsed(await alarm(platform, '703', { type: 'B' })), { id: '703', count: 1 });
  t.match(parsed(await alarm(platform, '704', { key: 6 })), { id: '704', count: 1 });
  await alarmUpdate(platform, '700', '{"status":"ACKNOWLEDGED"}');
  t.match(parsed(await alarm(platform, '705')), { id: '700', count: 4, status: 'ACKNOWLEDGED' });
  await alarmUpdate(platform, '700', '{"status":"CLEARED"}');
  t.match(parsed(await alarm(platform, '706')), { id: '706', count: 1 }, 'after it was cleared: a new one');
  t.same(platform.ids('openAlarm'), ['5\nA', '5\nB', '6\nA']);
  t.match(parsed(await alarm(platform, '707', { type: 'C', status: 'CLEARED' })), { id: '707', status: 'CLEARED' });
  t.match(parsed(await alarm(platform, '708', { type: 'C' })), { id: '708', count: 1 });
  await t.rejects(alarm(platform, '709', { key: 99 }), { code: 'source/not-found' });
  const counts = (id: string): unknown => platform.get('managedObject', id)?.['c8y_ActiveAlarmsStatus'];
  t.same(
    [counts('5'), counts('6')],
    [3, 1].map((major) => ({ critical: 0, major, minor: 0, warning: 0 })),
    'the open ones',
  );
  t.same(
    platform.notifications
      .filter(({ area }) => area === 'alarms')
      .map(({ action }) => action[0])
      .join(''),
    'CUUCCUUUCCC',
  );
});

t.test('alarms: many of a type that are opened again', async (t) => {
  const platform = await withDevice(openPlatform(t));
  const ids = Array.from({ length: 40 }, (_, index) => String(1_000 + index));
  for (const id of ids) await alarm(platform, id, { status: 'CLEARED' });
  await Promise.all(ids.map((id) => alarmUpdate(platform, id, '{"status":"ACTIVE"}')));
  t.match(platform.get('managedObject', '5'), { c8y_ActiveAlarmsStatus: { major: 40 } });
  const stored = [
    ...platform.stored.list('openAlarm', TENANT, '', { limit: 1_000 }),
    ...platform.stored.list('openAlarmLink', TENANT, '', { limit: 1_000 }),
  ];
  t.ok(
    stored.every(({ value }) => value.length < 20),
    'no document grows with their number',
  );
  const repeated = async (): Promise<string> => String(parsed(await alarm(platform, '9999')).id);
  t.equal(await repeated(), '1000', 'a repeat counts for the one that is open for longest');
  await alarmUpdate(platform, '1000', '{"status":"CLEARED"}');
  await alarmUpdate(platform, '1002', '{"status":"CLEARED"}');
  t.equal(await repeated(), '1001');
  await alarmUpdate(platform, '1000', '{"status":"ACKNOWLEDGED"}');
  await alarmUpdate(platform, '1039', '{"status":"CLEARED"}');
  const seen: string[] = [];
  for (let id = await repeated(); id !== '9999' && seen.length < 60; id = await repeated()) {
    seen.push(id);
    await platform.request({ kind: COMMAND.ALARM_DELETE, key: 5, body: { id } });
  }
  t.same(seen, ['1001', ...ids.slice(3, 39), '1000'], 'all of them, in the order in which they were opened');
  t.same([platform.ids('openAlarm'), platform.ids('openAlarmLink')], [['5\nA'], []]);
  t.match(platform.get('managedObject', '5'), { c8y_ActiveAlarmsStatus: { major: 1 } });
});

t.test('alarms: of another type', async (t) => {
  const platform = await withDevice(openPlatform(t));
  await alarm(platform, '700');
  await alarmUpdate(platform, '700', '{"type":"B"}');
  t.same(platform.ids('openAlarm'), ['5\nB']);
  t.match(
    [parsed(await alarm(platform, '701')), parsed(await alarm(platform, '702', { type: 'B' }))],
    [{ id: '701' }, { id: '700', count: 2 }],
  );
});

t.test('alarms: updates', async (t) => {
  const platform = await withDevice(openPlatform(t));
  await alarm(platform, '700');
  const before = platform.notifications.length;
  const { doc } = await alarmUpdate(platform, '700', '{"status":"ACTIVE","severity":"MAJOR"}');
  t.match(doc, `"lastUpdated":"${TIME}"`);
  t.equal(platform.notifications.length, before, 'the same data: no notification');
  t.same(
    platform.rows.map(({ table }) => table),
    ['audits', 'managed_objects', 'alarms'],
    'nor another row',
  );
  t.match(
    parsed(
      await alarmUpdate(
        platform,
        '700',
        '{"id":"1","self":"x","count":99,"creationTime":null,"lastUpdated":"x","source":{"id":"6"},"text":"n"}',
      ),
    ),
    { id: '700', count: 1, source: { id: '5' }, creationTime: TIME, text: 'n', self: undefined },
  );
  await alarmUpdate(platform, '700', '{"status":"CLEARED"}');
  await alarmUpdate(platform, '700', '{"status":"ACTIVE"}');
  t.match(parsed(await alarm(platform, '701')), { id: '700', count: 2 }, 'reopened: repeats are its own');
  const ofType = (type: string, doc: string) =>
    platform.request({ kind: COMMAND.ALARM_OF_TYPE_UPDATE, key: 5, body: { type, doc, user: 'a' } });
  await ofType('A', '{"severity":"CRITICAL"}');
  t.match(platform.get('alarm', '700'), { severity: 'CRITICAL' });
  await ofType('A', '{"status":"CLEARED"}');
  await t.rejects(ofType('A', '{"status":"CLEARED"}'), { code: 'alarm/not-found' });
  await t.rejects(alarmUpdate(platform, '799', '{}'), { code: 'alarm/not-found' });
  await alarm(platform, '702', { mode: PROCESSING_MODE.TRANSIENT, type: 'X' });
  t.same(platform.ids('alarm'), ['700']);
  await alarm(platform, '703', { mode: PROCESSING_MODE.CEP });
  t.same(platform.ids('alarm'), ['700', '703'], 'alarms know no CEP: nobody else would hear of it');
  await platform.request({ kind: COMMAND.ALARM_DELETE, key: 5, body: { id: '703' } });
  t.same([platform.ids('alarm'), platform.ids('openAlarm')], [['700'], []]);
  const long = await alarm(platform, '704', { type: 'x'.repeat(3_000) }).then(
    () => 'taken',
    (error: { code: string }) => error.code,
  );
  t.equal(long, 'validation/invalid-field', 'a type that no key can hold is refused, the server goes on');
  await alarm(platform, '705');
});

t.test('operations', async (t) => {
  const platform = await withDevice(openPlatform(t));
  await platform.create('6');
  await platform.create('7');
  await platform.request({ kind: COMMAND.CHILD_ADD, key: 5, body: { kind: 'childDevices', child: '6', parent: '5' } });
  const create = (id: string, fragment: string, key = 5) =>
    platform.request({
      kind: COMMAND.OPERATION_CREATE,
      key,
      body: { id, user: 'ada', doc: `{"deviceId":"${key}","${fragment}":{"n":1.0},"status":"FAILED","id":"1"}` },
    });
  t.equal(
    (await create('700', 'c8y_Restart')).doc,
    `{"id":"700","deviceId":"5","status":"PENDING","creationTime":"${TIME}","c8y_Restart":{"n":1.0}}`,
  );
  const told = (): unknown => JSON.parse(platform.notifications.at(-1)!.text);
  t.match(told(), { id: '700', deviceExternalIDs: { externalIds: [] } });
  const bound = { type: 't', externalId: 'e\\1', managedObject: '5' };
  await platform.request({ kind: COMMAND.EXTERNAL_ID_BIND, key: 'x:t\ne\\1', body: bound });
  await until(() => platform.ids('externalIdsOf').length > 0);
  await platform.request({ kind: COMMAND.MANAGED_OBJECT_UPDATE, key: 5, body: { doc: '{"name":"Pump \\"7\\""}' } });
  await create('1701', 'c8y_Restart');
  t.match(
    told(),
    { id: '1701', deviceName: 'Pump "7"', deviceExternalIDs: { externalIds: [{ type: 't', externalId: 'e\\1' }] } },
    'live data has what is read beside an operation',
  );
  t.notMatch(platform.get('operation', '1701'), { deviceName: String }, 'which is not stored');
  await create('702', 'c8y_Command');
  t.match(parsed(await create('703', 'c8y_Restart', 6)), { deviceId: '6' });
  await t.rejects(create('704', 'x', 7), { code: 'devicecontrol/no-agent' });
  await t.rejects(create('704', 'x', 99), { code: 'source/not-found' });
  const update = (body: object) =>
    platform.request({ kind: COMMAND.OPERATION_UPDATE, key: 5, body: { doc: '{}', user: 'a', ...body } });
  const next = (fragment: string, fromStatus: string, doc: string) => update({ fragment, fromStatus, doc });
  t.match(
    parsed(await next('c8y_Restart', 'PENDING', '{"status":"EXECUTING"}')),
    { id: '700' },
    'the oldest, by number',
  );
  t.match(parsed(await next('c8y_Restart', 'PENDING', '{"status":"EXECUTING"}')), { id: '1701' });
  await t.rejects(next('c8y_Restart', 'PENDING', '{}'), { code: 'devicecontrol/no-operation' });
  t.match(parsed(await next('c8y_Restart', 'EXECUTING', '{"status":"FAILED","failureReason":"r"}')), {
    id: '700',
    failureReason: 'r',
  });
  t.same(
    platform.ids('openOperation', '5\n').map((id) => Number(id.slice(2))),
    [702, 1701],
  );
  t.match(parsed(await update({ id: '700', doc: '{"status":"SUCCESSFUL"}' })), {
    status: 'SUCCESSFUL',
    failureReason: undefined,
  });
  const before = platform.notifications.length;
  await update({ id: '700', doc: '{"status":"SUCCESSFUL"}' });
  t.equal(platform.notifications.length, before);
  await update({ all: true, fromStatus: 'EXECUTING', doc: '{"status":"FAILED","failureReason":"restarted"}' });
  t.same(platform.ids('openOperation'), ['5\n0000000000000702', '6\n0000000000000703']);
  t.match(
    parsed(await update({ id: '702', doc: '{"id":"9","deviceId":"9","creationTime":"x","status":"EXECUTING"}' })),
    { id: '702', deviceId: '5', creationTime: TIME },
  );
  await update({ id: '703', doc: '{"status":"EXECUTING"}' });
  t.match(platform.get('operation', '703'), { status: 'EXECUTING' }, "a child's operation, named by its id");
  const entry = () => platform.documents.get('openOperation', 1, '5\n0000000000000702');
  await update({ id: '702', doc: '{"status":"PENDING"}' });
  const first = await entry();
  t.match(first, /^PENDING \d+$/, 'PENDING again');
  await update({ id: '702', doc: '{"note":1}' });
  t.equal(await entry(), first, 'still PENDING');
  t.match(parsed(await next('c8y_Command', 'PENDING', '{"status":"EXECUTING"}')), { id: '702' });
  t.equal(await entry(), 'EXECUTING');
  await update({ id: '702', doc: '{"status":"PENDING"}' });
  t.match(await entry(), /^PENDING \d+$/);
  t.not(await entry(), first, 'and again');
  await update({ id: '702', doc: '{"status":"SUCCESSFUL"}', parameters: ['out'] });
  t.match(platform.get('operation', '702'), { c8y_Command: { result: 'out' } });
  await platform.request({ kind: COMMAND.OPERATION_DELETE, key: 6, body: { id: '703' } });
  t.same([platform.ids('openOperation'), platform.ids('operation')], [[], ['1701', '700', '702']]);
  await t.rejects(update({ id: '799' }), { code: 'devicecontrol/not-found' });
});

t.test('what devices say about operations (docs/spec/smartrest.md#operation-templates)', async (t) => {
  const platform = await withDevice(openPlatform(t));
  const create = (id: string, fragments: string) =>
    platform.request({ kind: COMMAND.OPERATION_CREATE, key: 5, body: { id, user: 'ada', doc: `{${fragments}}` } });
  const send = (body: object) =>
    platform.request({ kind: COMMAND.OPERATION_UPDATE, key: 5, body: { user: 'ada', ...body } });
  const begin = (fragment: string) => send({ fragment, fromStatus: 'PENDING', doc: '{"status":"EXECUTING"}' });
  const done = (fragment: string, ...parameters: string[]) =>
    send({ fragment, fromStatus: 'EXECUTING', doc: '{"status":"SUCCESSFUL"}', parameters });
  const profile = (body: object) => platform.request({ kind: COMMAND.DEVICE_PROFILE_SET, key: 5, body });
  const device = () => platform.get('managedObject', '5');

  await create('700', '"c8y_DownloadConfigFile":{"url":"u","c8y_ConfigurationDump.id":"9"}');
  await begin('c8y_DownloadConfigFile');
  await t.rejects(done('c8y_DownloadConfigFile', 'tomorrow'), { code: 'validation/invalid-field' });
  t.match(platform.get('operation', '700'), { status: 'EXECUTING' }, 'a wrong time changes nothing');
  await done('c8y_DownloadConfigFile');
  t.same(device()?.['c8y_ConfigurationDump'], { id: '9', time: TIME }, 'the time of arrival');

  await t.rejects(profile({ isExecuted: true }), { code: 'devicecontrol/no-operation' });
  await create('701', '"profileName":"P","profileId":"31","c8y_DeviceProfile":{}');
  await t.rejects(profile({ isExecuted: true }), { code: 'devicecontrol/no-operation' }, 'one that is PENDING');
  await begin('c8y_DeviceProfile');
  await profile({ isExecuted: false });
  t.same(device()?.['c8y_Profile'], { profileName: 'P', profileId: '31', profileExecuted: false });
  await done('c8y_DeviceProfile');
  await profile({ isExecuted: true, profileId: '31' });
  t.same(device()?.['c8y_Profile'], { profileName: 'P', profileId: '31', profileExecuted: true }, 'its name stays');
  await profile({ isExecuted: true, profileId: '32' });
  t.same(device()?.['c8y_Profile'], { profileId: '32', profileExecuted: true }, 'of another one it is not known');

  await create('702', '"c8y_SoftwareUpdate":[]');
  t.match(parsed(await begin('c8y_SoftwareList')), { id: '702' }, 'it came to the device as a list');
  t.match(parsed(await done('c8y_SoftwareList')), { id: '702', status: 'SUCCESSFUL' });
  await create('703', '"c8y_SoftwareUpdate":[]');
  await platform.request({
    kind: COMMAND.MANAGED_OBJECT_UPDATE,
    key: 5,
    body: { doc: '{"c8y_SupportedOperations":["c8y_SoftwareUpdate"]}' },
  });
  await t.rejects(begin('c8y_SoftwareList'), { code: 'devicecontrol/no-operation' }, 'to this one as an update');
  t.match(parsed(await begin('c8y_SoftwareUpdate')), { id: '703' });
});

t.test('what a TRANSIENT row asks of another actor is told and not stored', async (t) => {
  const platform = await withDevice(openPlatform(t));
  await platform.create('6');
  await platform.request({ kind: COMMAND.CHILD_ADD, key: 5, body: { kind: 'childDevices', child: '6', parent: '5' } });
  const bound = { type: 'c8y_Serial', externalId: 'service', managedObject: '6' };
  await platform.request({ kind: COMMAND.EXTERNAL_ID_BIND, key: 'x:c8y_Serial\nservice', body: bound });
  for (const [id, key] of [
    ['700', 5],
    ['701', 6],
  ] as const) {
    const doc = '{"status":"EXECUTING"}';
    await platform.request({
      kind: COMMAND.OPERATION_CREATE,
      key,
      body: { id, user: 'ada', doc: '{"c8y_RelayArray":["CLOSED"]}' },
    });
    await platform.request({ kind: COMMAND.OPERATION_UPDATE, key, body: { id, doc, user: 'ada' } });
  }
  await platform.settled();
  const before = platform.snapshot();
  const told = platform.notifications.length;
  const send = (kind: CommandKind, key: string | number, body: object) =>
    platform.request({ kind, key, body, mode: PROCESSING_MODE.TRANSIENT });
  const done = { user: 'ada', doc: '{"status":"SUCCESSFUL"}' };
  const relays = { fragment: 'c8y_RelayArray', fromStatus: 'EXECUTING', parameters: ['OPEN'] };
  await send(COMMAND.OPERATION_UPDATE, 5, { ...done, ...relays });
  await send(COMMAND.OPERATION_UPDATE, 5, { ...done, id: '701' });
  await send(COMMAND.DEVICE_PROFILE_SET, 5, { isExecuted: true, profileId: '31' });
  const change = { doc: '{"status":"down"}', updateExisting: true, mayUpdate: '6', owner: 'ada', id: '99' };
  await send(COMMAND.DEVICE_ENSURE, 'x:c8y_Serial\nservice', { ...bound, ...change });
  t.same(platform.snapshot(), before);
  t.match(
    platform.notifications.slice(told).map(({ area, source, isUnstored }) => [area, source, isUnstored]),
    [
      ['operations', '5', true],
      ['managedobjects', '5', true],
      ['operations', '6', true],
      ['managedobjects', '5', true],
      ['managedobjects', '6', true],
    ],
  );
});

t.test('parameters of a device that are known (docs/spec/smartrest.md#data-templates)', async (t) => {
  const platform = await withDevice(openPlatform(t));
  let id = 800;
  /** @returns how many events there are. */
  const tell = async (parameters: object, more: object = {}, mode = 0): Promise<number> => {
    const type = 'c8y_ParameterUpdate';
    const doc = JSON.stringify({ type, time: TIME, text: 'x', ...parameters });
    const body = { id: String((id += 1)), type, time: NOW, doc, unlessKnown: true, ...more };
    await platform.request({ kind: COMMAND.EVENT_CREATE, key: 5, body, mode: mode as 0 });
    return platform.ids('event').length;
  };
  const before = platform.ids('event').length;
  const check = async (count: number, ...about: Parameters<typeof tell>): Promise<void> => {
    t.equal((await tell(...about)) - before, count, JSON.stringify(about).slice(0, 100));
  };
  await check(0, { p: { a: 1 } }, {}, 1);
  await check(1, { p: { a: 1, b: { c: 'x' } } });
  await check(1, { p: { a: 1.0 } });
  await check(1, { p: { b: { c: 'x' } } });
  await check(2, { p: { b: { c: 'y' } } });
  await check(2, { p: { a: 1, b: { c: 'y' } } }, {}, 0);
  await check(3, { p: { a: 1 }, q: 5 });
  await check(3, { q: 5 });
  await check(4, { q: 5 }, { unlessKnown: false });
  await check(5, { q: 5 }, { time: NOW - 1 });
  await check(6, { q: 4 }, { time: NOW - 1 });
  await check(6, { q: 5 });
  await check(7, { large: 'x'.repeat(70_000) });
  await check(8, { large: 'x'.repeat(70_000) });
  await check(8, { q: 5 });
  await check(9, {});
  await platform.request({ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 5, body: {} });
  t.same(platform.ids('parameterState'), []);
});

t.test('sessions: subscriptions, queued messages, packet ids of QoS 2', async (t) => {
  const platform = openPlatform(t);
  const send = (kind: Sent['kind'], body: { session: string; [name: string]: unknown }) =>
    platform.request({ kind, key: `s:${body.session}`, body });
  await send(COMMAND.SESSION_SAVE, {
    session: 'a',
    subscriptions: [['s/ds', 1]],
    expirySeconds: 60,
    disconnectedAt: 0,
  });
  await send(COMMAND.SESSION_RECEIVE, { session: 'a', id: 7 });
  await send(COMMAND.SESSION_RECEIVE, { session: 'a', id: 7 });
  await send(COMMAND.SESSION_RECEIVE, { session: 'a', id: 65_535 });
  await send(COMMAND.SESSION_SAVE, { session: 'a', subscriptions: [], expirySeconds: 9, disconnectedAt: 5 });
  t.same(platform.get('session', 'a'), {
    subscriptions: [],
    expirySeconds: 9,
    disconnectedAt: 5,
    received: [7, 65_535],
  });
  await send(COMMAND.SESSION_RELEASE, { session: 'a', id: 7 });
  await send(COMMAND.SESSION_RELEASE, { session: 'a', id: 8 });
  t.same(platform.get('session', 'a')?.received, [65_535]);
  const message = { topic: 't', payload: 'aGk=', qos: 1 };
  for (const [session, id] of [
    ['a', 2],
    ['a', 10],
    ['a', 1],
    ['a\nb', 3],
    ['ab', 4],
  ] as const)
    await send(COMMAND.SESSION_MESSAGE_ADD, { session, id, ...message });
  t.same(
    platform.ids('sessionMessage', 'a\n0').map((key) => Number(key.slice(2))),
    [1, 2, 10],
  );
  await send(COMMAND.SESSION_MESSAGE_ADD, { session: 'a', id: 1, ...message, isReleased: true });
  t.same(
    [1, 10].map((id) => platform.get('sessionMessage', messageKey('a', id))),
    [{ ...message, isReleased: true }, message],
    'PUBREC has come',
  );
  await send(COMMAND.SESSION_MESSAGE_REMOVE, { session: 'a', id: 2 });
  await send(COMMAND.SESSION_REMOVE, { session: 'a' });
  t.same(platform.ids('session'), []);
  t.same(
    platform.ids('sessionMessage'),
    ['a\nb\n0000000000000003', 'ab\n0000000000000004'],
    'those of other sessions stay',
  );
});

t.test('users', async (t) => {
  const platform = openPlatform(t);
  const put = (body: object) =>
    platform.request({ kind: COMMAND.USER_PUT, key: 't', body: { userName: 'eve', ...body } });
  await put({ password: 'hash', roles: ['R'], doc: '{"email":"e","10":1}', mustBeNew: true });
  await t.rejects(put({ password: 'other', mustBeNew: true }), { code: 'users/duplicate' });
  const first = {
    userName: 'eve',
    password: 'hash',
    roles: ['R'],
    groups: [],
    enabled: true,
    shouldResetPassword: false,
  };
  t.match(platform.get('user', 'eve'), { ...first, doc: '{"email":"e","10":1}', lastPasswordChange: /\d+/ });
  const generation = (): number => (platform.get('user', 'eve') as { tokenGeneration: number }).tokenGeneration;
  const ends = async (body: object, does: boolean): Promise<void> => {
    const before = generation();
    await put(body);
    t.equal(generation() !== before, does, JSON.stringify(body));
  };
  await ends({ enabled: false, doc: '{"email":null,"phone":"1"}' }, true);
  t.match(platform.get('user', 'eve'), { ...first, enabled: false, doc: '{"10":1,"phone":"1"}' });
  await ends({ enabled: false }, false);
  await ends({ enabled: true }, false);
  await ends({ password: 'hash2', passwordStrength: 'RED' }, true);
  await ends({ endsTokens: true }, true);
  await ends({ shouldResetPassword: true, addRoles: ['S', 'R'], removeRoles: ['T'] }, false);
  t.match(platform.get('user', 'eve'), { roles: ['R', 'S'], shouldResetPassword: true, passwordStrength: 'RED' });
  const change = (changes: object[]) => platform.request({ kind: COMMAND.RECORDS_CHANGE, key: 't', body: { changes } });
  await change([{ collection: 'group', id: '7', value: '{}' }]);
  await t.rejects(put({ addGroups: [8] }), { code: 'groups/not-found' });
  await put({ addGroups: [7], alias: 'nick' });
  t.ok(platform.get('groupMember', '7\neve'));
  await t.rejects(put({ userName: 'nick' }), { code: 'users/alias-duplicate' });
  await put({ userName: 'ann' });
  for (const alias of ['ann', 'eve', 'nick'])
    await t.rejects(put({ userName: 'ann', alias: alias === 'ann' ? 'eve' : alias }), {
      code: 'users/alias-duplicate',
    });
  await t.rejects(put({ userName: 'nobody', mustExist: true }), { code: 'users/not-found' });
  await change([
    { collection: 'inventoryAssignment', id: 'eve\n1', value: '{}' },
    { collection: 'inventoryAssignment', id: 'eve2\n1', value: '{}' },
  ]);
  await platform.request({ kind: COMMAND.USER_DELETE, key: 't', body: { userName: 'ann' } });
  await platform.request({ kind: COMMAND.USER_DELETE, key: 't', body: { userName: 'eve' } });
  for (const [collection, id] of [
    ['groupMember', '7\neve'],
    ['userAlias', 'nick'],
    ['inventoryAssignment', 'eve\n1'],
  ] as const) {
    t.notOk(platform.get(collection, id), `${collection} goes with the user`);
  }
  t.ok(platform.get('inventoryAssignment', 'eve2\n1'));
  await t.rejects(platform.request({ kind: COMMAND.USER_DELETE, key: 't', body: { userName: 'eve' } }), {
    code: 'users/not-found',
  });
  t.same(
    [...new Set(platform.usersChanged)],
    ['1/eve stays', '1/eve', '1/ann stays', '1/ann'],
    'whoever caches users is told; of what was refused nobody is',
  );
});

t.test('which changes of a user end connections', async (t) => {
  const platform = openPlatform(t);
  const put = (body: object) =>
    platform.request({ kind: COMMAND.USER_PUT, key: 't', body: { userName: 'eve', ...body } });
  await put({ password: 'hash', roles: ['R'] });
  await platform.request({
    kind: COMMAND.RECORDS_CHANGE,
    key: 't',
    body: { changes: [{ collection: 'group', id: '7', value: '{}' }] },
  });
  const told = async (body: object): Promise<string[]> => {
    platform.usersChanged.length = 0;
    await put(body).catch(() => undefined);
    return platform.usersChanged;
  };
  for (const body of [
    { doc: '{"customProperties":{"a":1},"firstName":"E"}' },
    { doc: '{"devicePermissions":null}' },
    { shouldResetPassword: true },
    { roles: ['R'], enabled: true },
  ]) {
    t.same(await told(body), ['1/eve stays'], JSON.stringify(body));
  }
  for (const body of [
    { roles: [] },
    { addGroups: [7] },
    { removeGroups: [7] },
    { alias: 'nick' },
    { password: 'other' },
    { endsTokens: true },
    { enabled: false },
    { enabled: true },
    { doc: '{"devicePermissions":{"5":["ALARM:*:READ"]}}' },
    { doc: '{"devicePermissions":{}}' },
  ]) {
    t.same(await told(body), ['1/eve'], JSON.stringify(body));
  }
  for (const body of [{ mustBeNew: true }, { addGroups: [8] }, { userName: 'nobody', mustExist: true }])
    t.same(await told(body), [], JSON.stringify(body));
});

t.test('an alarm that is opened again beside a newer one of its type', async (t) => {
  const platform = await withDevice(openPlatform(t));
  const create = (id: string) =>
    platform.request({
      kind: COMMAND.ALARM_CREATE,
      key: 5,
      body: {
        id,
        type: 'A',
        time: NOW,
        severity: 'MAJOR',
        status: 'ACTIVE',
        doc: '{"type":"A","text":"x"}',
        user: 'admin',
      },
    });
  const put = (id: string, status: string) =>
    platform.request({
      kind: COMMAND.ALARM_UPDATE,
      key: 5,
      body: { id, doc: `{"status":"${status}"}`, user: 'admin' },
    });
  await create('800');
  await put('800', 'CLEARED');
  await create('801');
  await put('800', 'ACTIVE');
  await put('800', 'CLEARED');
  t.match(parsed(await create('802')), { id: '801', count: 2 }, 'the one that stayed open is counted');
  await put('801', 'CLEARED');
  t.match(parsed(await create('803')), { id: '803', count: 1 }, 'none is open: a new one');
});
