/**
 * The audit log on a running server: docs/spec/audit.md; and `@c8y/client`, unmodified, for alarms, events and audits.
 */
import { Client, EventBinaryService } from '@c8y/client';
import t from 'tap';
import { CLUSTER_NODES, PASSWORD, Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';

const server = await startServer(t);
const { rest } = server;
const TIME = '2024-05-02T10:00:00.000Z';
const at = (minute: number): string => `2024-05-02T10:${String(minute).padStart(2, '0')}:00.000Z`;
const device = await rest.createDevice('Audited');
const recordOf = (more: object = {}): object => ({
  activity: 'Tested',
  source: { id: device },
  text: 'It was tested',
  time: TIME,
  type: 'Inventory',
  ...more,
});
const listed = async (query: string): Promise<string> =>
  ((await rest.read(`/audit/auditRecords?pageSize=100&${query}`)).auditRecords as { activity: string }[])
    .map(({ activity }) => activity)
    .join('');
/** Each node writes what it sees: the first login of a user, ten failed ones in a minute. */
const logins = async (): Promise<string> => {
  const { auditRecords } = await rest.read('/audit/auditRecords?pageSize=100&type=UserAuthentication&user=admin');
  const activities = auditRecords.map(({ activity }: { activity: string }) => activity);
  return (CLUSTER_NODES > 0 ? [...new Set(activities)].sort() : activities).join('');
};

t.test('fields of a posted record', async (t) => {
  const sent = {
    ...recordOf(),
    id: '1',
    creationTime: 'x',
    severity: 'MINOR',
    c8y_Metadata: { action: 'DEPLOY' },
    changes: [{ attribute: 'a', changeType: 'REPLACED', newValue: 1, previousValue: 0, type: 'Number' }],
  };
  const reply = await rest.request('POST', '/audit/auditRecords', {
    body: sent,
    headers: { 'X-Platform-Application-Key': 'cockpit-key' },
  });
  const record = reply.json;
  t.equal(reply.status, 201);
  t.equal(reply.headers.get('location'), record.self);
  t.match(record, {
    self: `${server.url}/audit/auditRecords/${record.id}`,
    activity: 'Tested',
    text: 'It was tested',
    time: TIME,
    type: 'Inventory',
    severity: 'MINOR',
    user: 'admin',
    application: 'cockpit-key',
    c8y_Metadata: { action: 'DEPLOY' },
    changes: sent.changes,
    source: { id: device, self: `${server.url}/inventory/managedObjects/${device}` },
  });
  t.not(record.id, '1');
  t.ok(Math.abs(Date.parse(record.creationTime) - Date.now()) < 60_000);
  t.same(await rest.read(`/audit/auditRecords/${record.id}`), record);
  t.match(await rest.create('/audit/auditRecords', recordOf({ user: 'somebody', application: 'named' })), {
    user: 'somebody',
    application: 'named',
  });
});

t.test('what is refused, and that nothing can be changed', async (t) => {
  const { id } = await rest.create('/audit/auditRecords', recordOf());
  const cases: [string, object, string][] = [
    ['no members', {}, 'Following mandatory fields should be included: activity,source,text,time,type'],
    ['no id of the source', recordOf({ source: {} }), 'Following mandatory fields should be included: source.id'],
    ['a severity that is none', recordOf({ severity: 'LOUD' }), 'severity'],
    ['no time', recordOf({ time: 'x' }), 'time'],
    [
      'a change of a kind that is none',
      recordOf({ changes: [{ attribute: 'a', changeType: 'TURNED' }] }),
      'changeType',
    ],
  ];
  for (const [what, body, message] of cases)
    t.match(await rest.post('/audit/auditRecords', body), { status: 422, text: message }, what);
  for (const severity of ['CRITICAL', 'MAJOR', 'MINOR', 'WARNING', 'INFORMATION'])
    t.equal((await rest.post('/audit/auditRecords', recordOf({ severity }))).status, 201, severity);
  for (const path of [`/audit/auditRecords/${id}`, '/audit/auditRecords']) {
    for (const method of ['PUT', 'DELETE'])
      t.match(await rest.request(method, path, { body: {} }), { status: 405 }, `${method} ${path}`);
  }
  for (const unknown of ['999999', 'x', '0', '9223372036854775808', '18446744073709551616']) {
    t.match(
      await rest.get(`/audit/auditRecords/${unknown}`),
      { status: 404, json: { error: 'audit/Not Found' } },
      unknown,
    );
  }
});

t.test('optional members that are null are left out', async (t) => {
  const nulls = { user: null, application: null, severity: null, changes: null, name: null };
  const record = await rest.create('/audit/auditRecords', recordOf(nulls));
  t.match(record, { user: 'admin', activity: 'Tested' });
  t.notOk(Object.keys(nulls).some((name) => record[name] === null));
  await rest.create(
    '/audit/auditRecords',
    recordOf({ changes: [{ attribute: 'a', changeType: null, type: null, newValue: null }] }),
  );
});

t.test('filters', async (t) => {
  const records: [string, object][] = [
    ['1', { time: at(1), user: 'u1' }],
    ['2', { time: at(2), application: 'app' }],
    ['3', { time: at(3), type: 'com_cumulocity_model_x_Y' }],
    ['4', { time: at(4), user: 'u1', source: { id: '77' } }],
  ];
  for (const [activity, more] of records)
    await rest.create('/audit/auditRecords', recordOf({ type: 'Filtered', application: 'other', ...more, activity }));
  const cases: [string, string][] = [
    ['type=Filtered', '421'],
    ['type=Filtered&revert=true', '124'],
    ['type=filtered', ''],
    ['type=com_cumulocity_model_x_Y', '3'],
    ['type=com_platform_model_x_Y', '3'],
    ['type=Filtered&user=u1', '41'],
    ['type=Filtered&user=u2', ''],
    ['type=Filtered&application=app', '2'],
    ['type=Filtered&source=77', '4'],
    [`type=Filtered&dateFrom=${at(2)}`, '42'],
    [`type=Filtered&dateTo=${at(2)}`, '21'],
    [`type=Filtered&dateFrom=${at(2)}&dateTo=${at(2)}`, '2'],
    [`type=Filtered&user=u1&application=other&source=77&dateFrom=2024-05-02&dateTo=2024-05-03`, '4'],
  ];
  for (const [query, want] of cases) t.equal(await listed(query), want, query);
  t.equal((await rest.get('/audit/auditRecords?dateFrom=x')).status, 422);
  const page = await rest.read(
    '/audit/auditRecords?type=Filtered&pageSize=2&withTotalPages=true&withTotalElements=true',
  );
  t.match(page, {
    auditRecords: [{ activity: '4' }, { activity: '2' }],
    statistics: { currentPage: 1, pageSize: 2, totalPages: 2, totalElements: 3 },
  });
  t.match(await rest.read(page.next), { auditRecords: [{ activity: '1' }], prev: page.self, next: undefined });
});

t.test('roles', async (t) => {
  const users: Record<string, Rest> = {};
  for (const [name, roles] of Object.entries({
    reader: ['ROLE_AUDIT_READ'],
    admin: ['ROLE_AUDIT_ADMIN'],
    other: ['ROLE_ALARM_ADMIN'],
  })) {
    await rest.create(`/user/${TENANT}/users`, {
      userName: `audit-${name}`,
      password: 'secret-Pass-1',
      roles: { references: roles.map((id) => ({ role: { id } })) },
    });
    users[name] = new Rest(server.url, `${TENANT}/audit-${name}`, 'secret-Pass-1');
  }
  const { id } = await rest.create('/audit/auditRecords', recordOf());
  const cases: [string, string, object | undefined, Record<string, number>][] = [
    ['GET', '/audit/auditRecords', undefined, { reader: 200, admin: 200, other: 200 }],
    ['GET', `/audit/auditRecords/${id}`, undefined, { reader: 200, admin: 200, other: 403 }],
    ['POST', '/audit/auditRecords', recordOf(), { reader: 403, admin: 201, other: 403 }],
  ];
  for (const [method, path, body, want] of cases) {
    for (const [name, status] of Object.entries(want)) {
      t.equal(
        (await users[name].request(method, path, body === undefined ? {} : { body })).status,
        status,
        `${method} ${path} as ${name}`,
      );
    }
  }
  t.same(
    (await users['other'].read('/audit/auditRecords?pageSize=100')).auditRecords,
    [],
    'nothing of what others own',
  );
});

t.test('what the server writes itself', async (t) => {
  const about = async (source: string): Promise<any[]> =>
    (await rest.read(`/audit/auditRecords?source=${source}&revert=true`)).auditRecords;
  const alarm = await rest.create('/alarm/alarms', {
    source: { id: device },
    type: 'a',
    text: 'b',
    time: TIME,
    severity: 'MAJOR',
  });
  await rest.put(`/alarm/alarms/${alarm.id}`, { status: 'CLEARED' });
  t.match(await about(alarm.id), [
    {
      type: 'Alarm',
      activity: 'Alarm raised',
      severity: 'MAJOR',
      user: 'admin',
      source: { self: `${server.url}/alarm/alarms/${alarm.id}` },
    },
    {
      type: 'Alarm',
      activity: 'Alarm updated',
      changes: [{ attribute: 'status', previousValue: 'ACTIVE', newValue: 'CLEARED' }],
    },
  ]);
  const operation = await rest.create('/devicecontrol/operations', {
    deviceId: device,
    description: 'Restart',
    c8y_Restart: {},
  });
  await rest.put(`/devicecontrol/operations/${operation.id}`, { status: 'EXECUTING' });
  const [made, changed] = await about(operation.id);
  t.match(made, { type: 'Operation', activity: 'Operation created', text: /PENDING/, user: 'admin' });
  t.match(changed, {
    type: 'Operation',
    activity: 'Operation updated',
    text: /PENDING.*EXECUTING/,
    changes: [{ attribute: 'status', previousValue: 'PENDING', newValue: 'EXECUTING' }],
  });
  t.ok(BigInt(made.id) > BigInt(Number.MAX_SAFE_INTEGER), 'beyond the ids that are given out');
  t.same(await rest.read(`/audit/auditRecords/${made.id}`), made);
  await eventually('the login of the administrator', async () => (await logins()) === 'Login');
  await new Rest(server.url, `${TENANT}/admin`, 'wrong').get('/inventory/managedObjects');
  await eventually(
    'the failed one',
    async () => (await logins()) === (CLUSTER_NODES > 0 ? 'LoginLogin failed' : 'Login failedLogin'),
  );
  for (let attempt = 0; attempt < 15; attempt += 1)
    await new Rest(server.url, `${TENANT}/nobody`, `wrong ${attempt}`).get('/inventory/managedObjects');
  const written = async (): Promise<number> =>
    (await rest.read('/audit/auditRecords?type=UserAuthentication&user=nobody&pageSize=100')).auditRecords.length;
  await eventually('the first failed one', async () => (await written()) >= 1);
  // Each node writes one for the first and one for all others of its minute, which may have ended between.
  t.ok((await written()) <= 2 * Math.max(1, CLUSTER_NODES), 'the others of the minute are one record');
});

t.test('the inventory, external IDs, events and deletions', async (t) => {
  const about = async (source: string): Promise<any[]> =>
    (await rest.read(`/audit/auditRecords?source=${source}&revert=true&pageSize=100`)).auditRecords;
  const headers = { 'X-Platform-Application-Key': 'cockpit-key' };
  const made = await rest.request('POST', '/inventory/managedObjects', {
    body: { name: 'Pump', c8y_IsDevice: {} },
    headers,
  });
  const { id } = made.json;
  const child = await rest.createDevice('Valve');
  await rest.put(`/inventory/managedObjects/${id}`, { name: 'Pump 7' });
  await rest.put(`/inventory/managedObjects/${id}`, { name: 'Pump 7' });
  await rest.create(`/inventory/managedObjects/${id}/childDevices`, { managedObject: { id: child } });
  await rest.create(`/identity/globalIds/${id}/externalIds`, { type: 'c8y_Serial', externalId: 'audited-7' });
  t.equal((await rest.request('DELETE', '/identity/externalIds/c8y_Serial/audited-7')).status, 204);
  t.equal((await rest.request('DELETE', `/inventory/managedObjects/${id}/childDevices/${child}`)).status, 204);
  t.equal((await rest.request('DELETE', `/measurement/measurements?source=${id}`)).status, 204);
  t.equal((await rest.request('DELETE', `/inventory/managedObjects/${id}`)).status, 204);
  await eventually('all of it', async () => (await about(id)).length === 8);
  const all = await about(id);
  const isOfData = ({ activity }: any): boolean => activity === 'Measurements deleted';
  t.match(all.filter(isOfData), [{ text: `Measurements deleted: source=${id}`, user: 'admin' }]);
  t.match(
    all.filter((record) => !isOfData(record)),
    [
      {
        type: 'Inventory',
        activity: 'Managed object created',
        text: `Managed object created: Pump (${id})`,
        user: 'admin',
        application: 'cockpit-key',
        source: { id, self: `${server.url}/inventory/managedObjects/${id}` },
      },
      {
        activity: 'Managed object updated',
        text: `Managed object updated: Pump 7 (${id}): name changed from Pump to Pump 7`,
        changes: [{ attribute: 'name', previousValue: 'Pump', newValue: 'Pump 7' }],
        application: undefined,
      },
      { activity: 'Child added', text: `Child added: ${child} of the childDevices of ${id}` },
      { activity: 'External ID bound', text: `External ID bound: c8y_Serial audited-7 of ${id}` },
      { activity: 'External ID unbound' },
      { activity: 'Child removed' },
      { activity: 'Managed object deleted', text: `Managed object deleted: Pump 7 (${id})` },
    ],
    'the same again is no change',
  );
  const event = await rest.create('/event/events', { source: { id: child }, type: 'e', text: 'Door open', time: TIME });
  await rest.put(`/event/events/${event.id}`, { text: 'Door closed' });
  t.equal((await rest.request('DELETE', `/event/events/${event.id}`)).status, 204);
  t.match(await about(event.id), [
    {
      type: 'Event',
      activity: 'Event updated',
      text: `Event updated: Door closed (${event.id}): text changed from Door open to Door closed`,
      source: { self: `${server.url}/event/events/${event.id}` },
    },
    { type: 'Event', activity: 'Event deleted' },
  ]);
  await rest.create('/devicecontrol/newDeviceRequests', { id: 'audited-new' });
  t.equal((await rest.request('DELETE', '/devicecontrol/newDeviceRequests/audited-new')).status, 204);
  t.match(
    (await rest.read('/audit/auditRecords?type=Inventory&pageSize=100')).auditRecords.filter(
      ({ text }: { text: string }) => text.endsWith('audited-new'),
    ),
    [
      { activity: 'New device request deleted', user: 'admin' },
      { activity: 'New device request created', user: 'admin' },
    ],
  );
});

t.test('@c8y/client: alarms, events, audits', async (t) => {
  const client: any = await Client.authenticate({ tenant: TENANT, user: 'admin', password: PASSWORD }, server.url);
  const source = { id: await rest.createDevice('Client') };
  const { data: alarm } = await client.alarm.create({ source, type: 'c', text: 't', time: TIME, severity: 'MAJOR' });
  t.match((await client.alarm.update({ id: alarm.id, status: 'ACKNOWLEDGED' })).data, {
    id: alarm.id,
    status: 'ACKNOWLEDGED',
  });
  const { data: detail } = await client.alarm.detail(alarm.id);
  t.equal(detail.history.auditRecords.length, 2);
  t.match(
    (await client.alarm.update({ ...detail, severity: 'MINOR' })).data,
    { status: 'ACKNOWLEDGED', severity: 'MINOR' },
    'as it was read',
  );
  t.equal((await client.alarm.list({ source: source.id, withTotalPages: true })).data.length, 1);
  t.equal((await client.alarm.count({ source: source.id })).data, 1);
  t.match((await client.alarm.updateBulk({ status: 'CLEARED' }, { source: source.id, resolved: false })).status, 200);
  t.equal((await client.alarm.detail(alarm.id)).data.status, 'CLEARED');
  const { data: event } = await client.event.create({ source, type: 'c', text: 't', time: TIME });
  const binaries: any = new EventBinaryService(client.core);
  t.equal((await binaries.upload(Buffer.from('hello'), event.id)).res.status, 201);
  const downloaded = await binaries.download(event.id);
  t.match({ status: downloaded.status, text: await downloaded.text() }, { status: 200, text: 'hello' });
  t.equal((await binaries.delete(event.id)).res.status, 204);
  t.equal((await client.event.list({ source: source.id })).data.length, 1);
  t.equal((await client.event.delete(event.id)).res.status, 204);
  const { data: record } = await client.audit.create({ activity: 'c', source, text: 't', time: TIME, type: 'Client' });
  t.match((await client.audit.detail(record.id)).data, { id: record.id, user: 'admin' });
  t.equal((await client.audit.list({ type: 'Client', pageSize: 10 })).data.length, 1);
});
