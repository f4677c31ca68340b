/** Alarms on a running server: docs/spec/alarms.md. */
import t from 'tap';
import { Rest, TENANT, eventually, startServer } from '../../helpers/running/server.ts';
import type { Reply } from '../../helpers/running/server.ts';
import { BayeuxSocket } from '../../helpers/running/bayeux.ts';

const server = await startServer(t);
const { rest } = server;
const TIME = '2024-05-02T10:00:00.000Z';
const at = (minute: number): string => `2024-05-02T10:${String(minute).padStart(2, '0')}:00.000Z`;
const DAY_MS = 86_400_000;

const alarmOf = (source: string, type: string, more: object = {}): object => ({
  source: { id: source },
  type,
  text: `text of ${type}`,
  time: TIME,
  severity: 'MAJOR',
  ...more,
});
const raise = (source: string, type: string, more: object = {}): Promise<any> =>
  rest.create('/alarm/alarms', alarmOf(source, type, more));
const change = (id: string, body: object): Promise<Reply> => rest.put(`/alarm/alarms/${id}`, body);
const typesOf = async (query: string): Promise<string[]> =>
  ((await rest.read(`/alarm/alarms?pageSize=100&${query}`)).alarms as { type: string }[]).map(({ type }) => type);
/** A user with these roles only. */
async function userWith(name: string, roles: readonly string[]): Promise<Rest> {
  await rest.create(`/user/${TENANT}/users`, {
    userName: name,
    password: 'secret-Pass-1',
    roles: { references: roles.map((id) => ({ role: { id } })) },
  });
  return new Rest(server.url, `${TENANT}/${name}`, 'secret-Pass-1');
}

t.test('queries: conditions and orders (docs/spec/alarms.md#queries)', async (t) => {
  const device = await rest.createDevice('Queried');
  const other = await rest.createDevice('Other');
  await raise(device, 'q_a', { severity: 'WARNING', time: at(1), text: 'cold' });
  const acknowledged = await raise(device, 'q_b', {
    severity: 'CRITICAL',
    time: at(2),
    text: 'hot',
    q_Room: { floor: 2 },
  });
  await change(acknowledged.id, { status: 'ACKNOWLEDGED' });
  const cleared = await raise(device, 'q_c', { severity: 'MAJOR', time: at(3), text: 'hot' });
  await change(cleared.id, { status: 'CLEARED' });
  await raise(device, 'q_d', { severity: 'CRITICAL', time: at(4), text: 'cold' });
  await raise(other, 'q_e', { severity: 'MINOR', time: at(5) });
  const select = (query: string): string => `source=${device}&query=${encodeURIComponent(query)}`;
  for (const [query, want] of [
    ['$orderby=status asc,severity asc,time.date desc,text asc', 'q_d q_a q_b q_c'],
    ['$orderby=severity asc,time.date desc,text asc', 'q_d q_b q_c q_a'],
    ['$orderby=time.date asc,text asc', 'q_a q_b q_c q_d'],
    ['$orderby=text desc, type', 'q_b q_c q_a q_d'],
    ['$filter=(status eq ACTIVE)', 'q_d q_a'],
    ["$filter=(text eq 'h*' and not(status eq 'CLEARED')) $orderby=id", 'q_b'],
    [`time gt '${at(2)}'`, 'q_d q_c'],
    ['has(q_Room) and q_Room.floor ge 2', 'q_b'],
    ["type eq 'q_a' or count eq 7", 'q_a'],
  ] as const)
    t.equal((await typesOf(select(query))).join(' '), want, query);
  t.same(await typesOf(`${select('severity eq CRITICAL')}&status=ACTIVE`), ['q_d'], 'beside other filters');
  t.equal(await rest.read(`/alarm/alarms/count?${select('severity eq CRITICAL')}`), 2);
  for (const query of ['bygroupid(1)', 'isinhierarchyof(1)', 'status eq', '$orderby=,'])
    t.equal((await rest.get(`/alarm/alarms?${select(query)}`)).status, 422, query);
  const many = `/alarm/alarms?${select('severity eq CRITICAL')}`;
  t.equal((await rest.put(many, { status: 'CLEARED' })).status, 422, 'it would change more than it selects');
  t.equal((await rest.delete(many)).status, 422);
});

t.test('fields of a new alarm (docs/spec/alarms.md#fields)', async (t) => {
  const device = await rest.createDevice('Pump');
  const sent = {
    ...alarmOf(device, 'fields'),
    id: '1',
    creationTime: 'x',
    count: 7,
    firstOccurrenceTime: 'x',
    history: {},
    c8y_Extra: { a: 1 },
  };
  const reply = await rest.post('/alarm/alarms', sent);
  const alarm = reply.json;
  t.equal(reply.status, 201);
  t.equal(reply.headers.get('location'), alarm.self);
  t.match(alarm, {
    self: `${server.url}/alarm/alarms/${alarm.id}`,
    type: 'fields',
    time: TIME,
    text: 'text of fields',
    status: 'ACTIVE',
    severity: 'MAJOR',
    count: 1,
    source: { id: device, name: 'Pump', self: `${server.url}/inventory/managedObjects/${device}` },
    c8y_Extra: { a: 1 },
  });
  t.not(alarm.id, '1');
  t.ok(Math.abs(Date.parse(alarm.creationTime) - Date.now()) < 60_000);
  t.equal(alarm.firstOccurrenceTime, undefined, 'only with a repeat');
  const { history, ...others } = await rest.read(`/alarm/alarms/${alarm.id}`);
  t.same(others, alarm);
  t.match(history, {
    self: `${server.url}/audit/auditRecords?source=${alarm.id}`,
    auditRecords: [{ type: 'com_platform_model_alarm_AlarmRaised' }],
  });
  for (const status of ['ACTIVE', 'ACKNOWLEDGED', 'CLEARED'])
    t.equal((await raise(device, `with ${status}`, { status })).status, status);
});

t.test('what is refused', async (t) => {
  const device = await rest.createDevice('Refusing');
  const { id } = await raise(device, 'fixed');
  const cases: [string, object, number, string][] = [
    ['no members', {}, 422, 'Following mandatory fields should be included: severity,source,text,time,type'],
    [
      'no id of the source',
      { ...alarmOf(device, 'x'), source: {} },
      422,
      'Following mandatory fields should be included: source.id',
    ],
    ['a severity in lower case', alarmOf(device, 'x', { severity: 'major' }), 422, 'severity'],
    ['an unknown status', alarmOf(device, 'x', { status: 'OPEN' }), 422, 'status'],
    ['no time', alarmOf(device, 'x', { time: 'yesterday' }), 422, 'time'],
    ['a source that does not exist', alarmOf('999999', 'x'), 422, '999999'],
  ];
  for (const [what, body, status, message] of cases)
    t.match(await rest.post('/alarm/alarms', body), { status, text: message }, what);
  const fixed: object[] = [
    { type: 'y' },
    { time: at(1) },
    { source: { id: '1' } },
    { creationTime: at(1) },
    { count: 5 },
    { firstOccurenceTime: at(1) },
    { firstOccurrenceTime: at(1) },
    { id: '5' },
    { status: 'OPEN' },
    { severity: 'x' },
    { text: 5 },
  ];
  for (const body of fixed) t.equal((await change(id, body)).status, 422, JSON.stringify(body));
  t.equal(
    (
      await change(id, {
        type: 'fixed',
        time: '2024-05-02T12:00:00+02:00',
        source: { id: Number(device) },
        severity: 'MINOR',
      })
    ).status,
    200,
  );
  t.match(await change('999999', { status: 'CLEARED' }), {
    status: 404,
    json: { error: 'alarm/Not Found', message: /^Finding alarm from database failed/ },
  });
  t.match(await rest.get('/alarm/alarms/999999'), { status: 404, json: { error: 'alarm/Not Found' } });
  t.equal((await rest.delete(`/alarm/alarms/${id}`)).status, 405);
});

t.test('alarm status: repeats and moves (docs/spec/alarms.md#status)', async (t) => {
  const device = await rest.createDevice('Repeating');
  const first = await raise(device, 'again');
  const second = await raise(device, 'again', {
    time: at(1),
    text: 'other',
    severity: 'CRITICAL',
    status: 'CLEARED',
    more: 1,
  });
  t.match(second, {
    id: first.id,
    count: 2,
    time: at(1),
    text: first.text,
    severity: 'MAJOR',
    status: 'ACTIVE',
    firstOccurrenceTime: TIME,
    firstOccurenceTime: TIME,
  });
  t.equal(second.more, undefined);
  await change(first.id, { status: 'ACKNOWLEDGED' });
  t.match(await raise(device, 'again', { time: at(2) }), {
    id: first.id,
    count: 3,
    status: 'ACKNOWLEDGED',
    firstOccurenceTime: TIME,
  });
  t.equal(
    (await rest.read(`/alarm/alarms/${first.id}`)).history.auditRecords.length,
    2,
    'repeats are not in the history',
  );
  await change(first.id, { status: 'CLEARED' });
  const fresh = await raise(device, 'again');
  t.not(fresh.id, first.id);
  t.equal(fresh.count, 1);
  t.not((await raise(await rest.createDevice('Other'), 'again')).id, fresh.id, 'of another source');
  const moved = (await raise(device, 'moving')).id as string;
  const statuses = ['ACTIVE', 'ACKNOWLEDGED', 'CLEARED'];
  for (const from of statuses) {
    for (const to of statuses) {
      await change(moved, { status: from });
      t.match((await change(moved, { status: to })).json, { id: moved, status: to }, `${from} to ${to}`);
    }
  }
});

t.test('history: who changed what (docs/spec/alarms.md#history)', async (t) => {
  const device = await rest.createDevice('Remembering');
  const { id } = await rest
    .request('POST', '/alarm/alarms', {
      body: alarmOf(device, 'h', { c8y_A: 1 }),
      headers: { 'X-Platform-Application-Key': 'app-1' },
    })
    .then((reply) => reply.json);
  t.equal((await change(id, { status: 'ACTIVE', severity: 'MAJOR', c8y_A: 1 })).status, 200, 'equal data');
  t.equal(
    (await rest.request('PUT', `/alarm/alarms/${id}`, { body: '{"c8y_A":1.0,"status":"\\u0041CTIVE"}' })).status,
    200,
    'equal data in other words',
  );
  await rest.request('PUT', `/alarm/alarms/${id}`, {
    body: { status: 'ACKNOWLEDGED', c8y_A: null, c8y_B: { x: 'y' } },
    headers: { 'X-Cumulocity-Application-Key': 'app-2' },
  });
  const { history } = await rest.read(`/alarm/alarms/${id}`);
  t.equal(history.auditRecords.length, 2);
  const [raised, changed] = history.auditRecords;
  t.match(raised, {
    type: 'com_platform_model_alarm_AlarmRaised',
    activity: 'Alarm raised',
    text: 'Alarm raised: text of h',
    user: 'admin',
    application: 'app-1',
    severity: 'MAJOR',
    source: { id, self: `${server.url}/alarm/alarms/${id}` },
    self: `${server.url}/audit/auditRecords/${raised.id}`,
  });
  t.match(changed, {
    type: 'com_platform_model_alarm_AlarmChanged',
    activity: 'Alarm updated',
    user: 'admin',
    application: 'app-2',
  });
  t.equal(changed.text, 'Alarm updated: c8y_A removed, status changed from ACTIVE to ACKNOWLEDGED, c8y_B added');
  t.same(changed.changes, [
    { attribute: 'c8y_A', type: 'Number', changeType: 'REMOVED', previousValue: 1 },
    { attribute: 'status', type: 'String', changeType: 'REPLACED', previousValue: 'ACTIVE', newValue: 'ACKNOWLEDGED' },
    { attribute: 'c8y_B', type: 'Object', changeType: 'ADDED', newValue: { x: 'y' } },
  ]);
  t.ok(Date.parse(raised.time) <= Date.parse(changed.creationTime));
  const branded = await rest.request('GET', `/alarm/alarms/${id}`, {
    headers: { accept: 'application/vnd.com.nsn.cumulocity.alarm+json' },
  });
  t.equal(branded.json.history.auditRecords[0].type, 'com_cumulocity_model_alarm_AlarmRaised');
  const listed = await rest.read(`/audit/auditRecords?source=${id}`);
  t.same(
    listed.auditRecords.map((record: any) => [record.id, record.type]),
    [
      [changed.id, 'Alarm'],
      [raised.id, 'Alarm'],
    ],
    'in the log: newest first',
  );
  const posted = { source: { id }, type: 'Alarm', activity: 'Alarm updated', text: 'x', time: TIME, user: 'another' };
  await rest.create('/audit/auditRecords', posted);
  t.same((await rest.read(`/alarm/alarms/${id}`)).history, history, 'without what a client posted');
});

t.test('filters of the list, the count, the bulk change and DELETE (docs/spec/alarms.md#lists)', async (t) => {
  const [device, child] = [await rest.createDevice('Root'), await rest.createDevice('Child')];
  const asset = (await rest.create('/inventory/managedObjects', { name: 'Asset' })).id as string;
  const grandchild = await rest.createDevice('Grandchild');
  await rest.post(`/inventory/managedObjects/${device}/childDevices`, { managedObject: { id: child } });
  await rest.post(`/inventory/managedObjects/${device}/childAssets`, { managedObject: { id: asset } });
  await rest.post(`/inventory/managedObjects/${child}/childDevices`, { managedObject: { id: grandchild } });
  await raise(device, 'a', { time: at(1), severity: 'CRITICAL' });
  await raise(device, 'b', { time: at(2), severity: 'MINOR', status: 'ACKNOWLEDGED' });
  await raise(device, 'c', { time: at(3), severity: 'WARNING', status: 'CLEARED' });
  await raise(child, 'd', { time: at(4) });
  await raise(asset, 'e', { time: at(5) });
  await raise(grandchild, 'f', { time: at(6) });
  const yesterday = new Date(Date.now() - DAY_MS).toISOString();
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString();
  const source = `source=${device}`;
  const cases: [string, string][] = [
    [source, 'cba'],
    [`${source}&revert=true`, 'abc'],
    [`${source}&revert=false`, 'cba'],
    [`${source}&revert=None`, 'cba'],
    [`${source}&withSourceDevices=true`, 'fdcba'],
    [`${source}&withSourceAssets=true`, 'ecba'],
    [`${source}&withSourceAssets=true&withSourceDevices=true`, 'fedcba'],
    [`${source}&status=ACTIVE`, 'a'],
    [`${source}&status=ACTIVE,ACKNOWLEDGED`, 'ba'],
    [`${source}&status=ACTIVE&status=CLEARED`, 'ca'],
    [`${source}&severity=CRITICAL,MINOR`, 'ba'],
    [`${source}&type=a,c`, 'ca'],
    [`${source}&type=nothing`, ''],
    [`${source}&resolved=true`, 'c'],
    [`${source}&resolved=false`, 'ba'],
    [`${source}&resolved=true&status=ACTIVE`, 'c'],
    [`${source}&dateFrom=${at(2)}`, 'cb'],
    [`${source}&dateTo=${at(2)}`, 'ba'],
    [`${source}&dateFrom=${at(2)}&dateTo=${at(2)}`, 'b'],
    [`${source}&dateFrom=2024-05-02&dateTo=2024-05-03`, 'cba'],
    [`${source}&dateFrom=2024-05-02T12:02:00.000 02:00`, 'cb'],
    [`${source}&createdFrom=${yesterday}&createdTo=${tomorrow}`, 'cba'],
    [`${source}&createdFrom=${tomorrow}`, ''],
    [`${source}&createdTo=${yesterday}`, ''],
    [`${source}&lastUpdatedFrom=${yesterday}&lastUpdatedTo=${tomorrow}`, 'cba'],
    [`${source}&lastUpdatedTo=${yesterday}`, ''],
    [`${source}&unknown=parameter`, 'cba'],
    ['source=999999', ''],
    ['source=x', ''],
  ];
  for (const [query, want] of cases) {
    t.equal((await typesOf(query)).join(''), want, query);
    t.equal((await rest.get(`/alarm/alarms/count?${query}`)).text, String(want.length), `count of ${query}`);
  }
  for (const wrong of [
    'status=OPEN',
    'severity=LOW',
    'resolved=maybe',
    'dateFrom=x',
    'pageSize=0',
    'withSourceAssets=1',
  ]) {
    t.equal((await rest.get(`/alarm/alarms?${wrong}`)).status, 422, wrong);
  }
  const page = await rest.read(`/alarm/alarms?${source}&pageSize=2&withTotalPages=true&withTotalElements=true`);
  t.match(page, {
    alarms: [{ type: 'c' }, { type: 'b' }],
    statistics: { currentPage: 1, pageSize: 2, totalPages: 2, totalElements: 3 },
    prev: undefined,
  });
  t.match(await rest.read(page.next), {
    alarms: [{ type: 'a' }],
    statistics: { currentPage: 2 },
    prev: page.self,
    next: undefined,
  });

  const put = (query: string, body: object = { status: 'CLEARED' }): Promise<Reply> =>
    rest.put(`/alarm/alarms?${query}`, body);
  t.match(await put('', {}), { status: 422 });
  t.match(await rest.put('/alarm/alarms', { status: 'CLEARED' }), { status: 422 }, 'without a filter');
  t.match(await put(`${source}&status=OPEN`), { status: 422 });
  t.match(await put(source, { status: 'OPEN' }), { status: 422 });
  t.match(await put(source, { status: 'CLEARED', severity: 'MAJOR' }), { status: 422 }, 'only status');
  t.match(await put(`${source}&status=ACTIVE`), { status: 200, text: '' });
  t.equal((await typesOf(`${source}&resolved=true`)).join(''), 'ca');
  t.match(await put(`${source}&severity=MINOR`, { status: 'ACTIVE' }), { status: 200 });
  t.equal((await typesOf(`${source}&status=ACTIVE`)).join(''), 'b');
  t.match(await put(`${source}&withSourceDevices=true`, { status: 'ACKNOWLEDGED' }), { status: 200 });
  t.equal((await typesOf(`${source}&withSourceDevices=true&status=ACKNOWLEDGED`)).join(''), 'fdcba');

  for (const [query, left] of [
    ['severity=WARNING', 'fedba'],
    [`type=a&dateTo=${at(1)}`, 'fedb'],
    ['withSourceDevices=true&status=ACKNOWLEDGED', 'e'],
  ]) {
    t.equal((await rest.delete(`/alarm/alarms?${source}&${query}`)).status, 204, query);
    await eventually(
      `only ${left} after ${query}`,
      async () => (await typesOf(`${source}&withSourceAssets=true&withSourceDevices=true`)).join('') === left,
    );
  }
});

t.test(
  'the sub-hierarchy: by what an object is, whatever kind its links are, and however many there are',
  async (t) => {
    const made = async (name: string, more: object = {}): Promise<string> =>
      (await rest.create('/inventory/managedObjects', { name, ...more })).id;
    const below = async (parent: string, kind: string, child: string): Promise<string> => {
      await rest.create(`/inventory/managedObjects/${parent}/${kind}`, { managedObject: { id: child } });
      return child;
    };
    const group = await made('Group', { c8y_IsDeviceGroup: {} });
    const subgroup = await below(group, 'childAssets', await made('Subgroup', { c8y_IsDeviceGroup: {} }));
    const device = await below(subgroup, 'childAssets', await rest.createDevice('In a group'));
    const child = await below(device, 'childDevices', await rest.createDevice('Child of it'));
    const service = await below(device, 'childAdditions', await made('Service'));
    for (const [id, type] of [
      [group, 'g'],
      [subgroup, 's'],
      [device, 'd'],
      [child, 'c'],
      [service, 'v'],
    ]) {
      await raise(id, type);
      await rest.create('/event/events', { source: { id }, type, text: 't', time: TIME });
    }
    const cases = [
      ['', 'g'],
      ['&withSourceDevices=true', 'cdg'],
      ['&withSourceAssets=true', 'gsv'],
      ['&withSourceAssets=true&withSourceDevices=true', 'cdgsv'],
    ] as const;
    const check = async (when: string): Promise<void> => {
      for (const [flags, want] of cases) {
        const query = `source=${group}${flags}`;
        t.equal((await typesOf(query)).sort().join(''), want, `${when}: alarms ${flags}`);
        const { events } = await rest.read(`/event/events?pageSize=100&${query}`);
        t.equal(
          events
            .map(({ type }: { type: string }) => type)
            .sort()
            .join(''),
          want,
          `${when}: events ${flags}`,
        );
        for (const count of ['/alarm/alarms/count', '/event/events/count'])
          t.equal((await rest.get(`${count}?${query}`)).text, String(want.length), `${when}: ${count} ${flags}`);
        const page = await rest.read(
          `/alarm/alarms?${query}&type=${want[0]}&status=ACTIVE&pageSize=1&withTotalElements=true`,
        );
        t.match(page, { alarms: [{ type: want[0] }], statistics: { totalElements: 1 } }, `${when}: with other filters`);
      }
    };
    await check('looked up one by one');
    for (let done = 0; done < 1_000; done += 100) {
      await Promise.all(
        Array.from({ length: 100 }, () =>
          rest.post(`/inventory/managedObjects/${subgroup}/childAssets`, { name: 'One of many', c8y_IsDevice: {} }),
        ),
      );
    }
    await check('found by the history');
    t.ok(
      [200, 202].includes(
        (await rest.put(`/alarm/alarms?source=${group}&withSourceDevices=true`, { status: 'CLEARED' })).status,
      ),
    );
    await eventually(
      'the alarms of the devices are cleared',
      async () =>
        (await typesOf(`source=${group}&withSourceAssets=true&withSourceDevices=true&status=CLEARED`))
          .sort()
          .join('') === 'cdg',
    );
    t.equal((await rest.delete(`/alarm/alarms?source=${group}&withSourceAssets=true`)).status, 204);
    await eventually(
      'those of the assets are deleted',
      async () =>
        (await typesOf(`source=${group}&withSourceAssets=true&withSourceDevices=true`)).sort().join('') === 'cd',
    );
  },
);

t.test('a change of many alarms goes on behind the answer', async (t) => {
  const device = await rest.createDevice('Many');
  const count = 3_000;
  for (let start = 0; start < count; start += 200) {
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        rest.request('POST', '/alarm/alarms', {
          body: alarmOf(device, `many ${start + index}`),
          headers: { accept: '' },
        }),
      ),
    );
  }
  const answer = await rest.put(`/alarm/alarms?source=${device}&status=ACTIVE`, { status: 'CLEARED' });
  t.match([200, 202].includes(answer.status), true, String(answer.status));
  await eventually(
    'all are cleared',
    async () => (await rest.get(`/alarm/alarms/count?source=${device}&status=CLEARED`)).text === String(count),
  );
  t.equal((await raise(device, 'many 0')).count, 1, 'none of them is open');
});

t.test('roles: owner of the source, and others (docs/spec/alarms.md#roles)', async (t) => {
  const reader = await userWith('alarm-reader', ['ROLE_ALARM_READ']);
  const admin = await userWith('alarm-admin', ['ROLE_ALARM_ADMIN']);
  const owner = await userWith('alarm-owner', []);
  const device = await rest.createDevice('Owned', { owner: 'alarm-owner' });
  const other = await rest.createDevice('Not owned');
  const { id } = await raise(device, 'owned');
  const strange = (await raise(other, 'strange')).id as string;
  const cases: [string, string, string, object | undefined, Record<string, number>][] = [
    ['read one', 'GET', `/alarm/alarms/${id}`, undefined, { reader: 200, admin: 403, owner: 200 }],
    ['read one of others', 'GET', `/alarm/alarms/${strange}`, undefined, { reader: 200, owner: 403 }],
    ['create', 'POST', '/alarm/alarms', alarmOf(device, 'new'), { reader: 403, admin: 201, owner: 201 }],
    ['create at others', 'POST', '/alarm/alarms', alarmOf(other, 'new'), { reader: 403, admin: 201, owner: 403 }],
    ['change', 'PUT', `/alarm/alarms/${id}`, { status: 'CLEARED' }, { reader: 403, admin: 200, owner: 200 }],
    [
      'change of others',
      'PUT',
      `/alarm/alarms/${strange}`,
      { status: 'CLEARED' },
      { reader: 403, admin: 200, owner: 403 },
    ],
    ['bulk change', 'PUT', '/alarm/alarms?type=none', { status: 'CLEARED' }, { reader: 403, admin: 200, owner: 200 }],
    ['delete', 'DELETE', '/alarm/alarms?type=none', undefined, { reader: 403, admin: 204, owner: 403 }],
    ['the root', 'GET', '/alarm', undefined, { reader: 200 }],
  ];
  const users: Record<string, Rest> = { reader, admin, owner };
  for (const [what, method, path, body, want] of cases) {
    for (const [name, status] of Object.entries(want)) {
      t.equal(
        (await users[name].request(method, path, body === undefined ? {} : { body })).status,
        status,
        `${what} as ${name}`,
      );
    }
  }
  t.same(
    (await owner.read(`/alarm/alarms?source=${device}&pageSize=100`)).alarms
      .map((alarm: any) => alarm.source.id)
      .filter((found: string) => found !== device),
    [],
  );
  t.equal((await owner.get('/alarm/alarms/count')).text, '2');
  await rest.put(`/alarm/alarms/${strange}`, { status: 'ACTIVE' });
  t.equal((await owner.put('/alarm/alarms?status=ACTIVE', { status: 'ACKNOWLEDGED' })).status, 200);
  t.match(await typesOf(`source=${device}&status=ACKNOWLEDGED`), ['new'], 'an owner changes his alarms by filters');
  t.equal((await rest.read(`/alarm/alarms/${strange}`)).status, 'ACTIVE', 'and no others');
});

t.test('what is not stored: maintenance, mapped types, processing modes', async (t) => {
  const live = await BayeuxSocket.open(t, server, '/cep/realtime');
  const device = await rest.createDevice('Maintained', { c8y_RequiredAvailability: { responseInterval: -1 } });
  await live.subscribe(`/alarms/${device}`);
  const post = (type: string, headers: Record<string, string> = {}): Promise<Reply> =>
    rest.request('POST', '/alarm/alarms', { body: alarmOf(device, type), headers });
  const suppressed = await post('in maintenance');
  t.match(suppressed, {
    status: 201,
    json: { self: `${server.url}/alarm/alarms/null`, id: null, type: 'in maintenance', source: { id: device } },
  });
  t.equal(suppressed.headers.get('location'), null);
  t.same(await typesOf(`source=${device}`), []);
  for (const responseInterval of [0, '0', -32768]) {
    await rest.put(`/inventory/managedObjects/${device}`, { c8y_RequiredAvailability: { responseInterval } });
    t.match((await post('still')).json, { id: null }, String(responseInterval));
  }
  await rest.put(`/inventory/managedObjects/${device}`, { c8y_RequiredAvailability: { responseInterval: 5 } });
  await post('after maintenance');
  for (const [key, value] of [
    ['exact', 'CRITICAL|mapped text'],
    ['pre*', 'MINOR'],
    ['prefix*', '|longest'],
    ['gone', 'NONE'],
    ['odd', 'LOUD|'],
  ]) {
    const option = await rest.post('/tenant/options', { category: 'alarm.type.mapping', key, value });
    t.equal(option.status, 200, key);
  }
  const mapped: [string, object][] = [
    ['exact', { severity: 'CRITICAL', text: 'mapped text' }],
    ['exact2', { severity: 'MAJOR', text: 'text of exact2' }],
    ['pre', { severity: 'MINOR', text: 'text of pre' }],
    ['prefixed', { severity: 'MAJOR', text: 'longest' }],
    ['gone', { id: null }],
    ['odd', { severity: 'MAJOR', text: 'text of odd' }],
  ];
  for (const [type, want] of mapped) t.match((await post(type)).json, want, type);
  t.match(await post('transient', { 'X-Platform-Processing-Mode': 'TRANSIENT' }), { status: 201, json: { id: null } });
  t.equal(
    await typesOf(`source=${device}`).then((types) => types.sort().join()),
    'after maintenance,exact,exact2,odd,pre,prefixed',
  );
  await live.message((message) => message['data']?.[0]?.data?.type === 'transient');
  t.notOk(
    live.messages.some(
      (message) =>
        /maintenance|still|gone/.test(message['data'][0].data.type) && !/after/.test(message['data'][0].data.type),
    ),
  );
});

t.test('notifications (docs/spec/realtime.md#effects)', async (t) => {
  const live = await BayeuxSocket.open(t, server, '/cep/realtime');
  const [top, parent, device] = [
    await rest.createDevice('Top'),
    await rest.createDevice('Parent'),
    await rest.createDevice('Loud'),
  ];
  await rest.post(`/inventory/managedObjects/${top}/childAssets`, { managedObject: { id: parent } });
  await rest.post(`/inventory/managedObjects/${parent}/childDevices`, { managedObject: { id: device } });
  await live.subscribe(
    `/alarms/${device}`,
    '/alarms/*',
    `/alarmsWithChildren/${top}`,
    `/alarmsWithChildren/${parent}`,
    `/alarmsWithChildren/${device}`,
  );
  const { id } = await raise(device, 'loud');
  await raise(device, 'loud', { time: at(1) });
  await change(id, { status: 'ACTIVE' });
  await change(id, { status: 'ACKNOWLEDGED' });
  await rest.put(`/alarm/alarms?source=${device}`, { status: 'CLEARED' });
  // A change of many goes on behind its answer where the server is busy.
  await eventually('cleared', async () => (await rest.read(`/alarm/alarms/${id}`)).status === 'CLEARED');
  await rest.delete(`/alarm/alarms?source=${device}`);
  const channels = [
    `/alarms/${device}`,
    `/alarmsWithChildren/${device}`,
    `/alarmsWithChildren/${parent}`,
    `/alarmsWithChildren/${top}`,
  ];
  for (const channel of channels) {
    await live.message((message) => message['channel'] === channel && message['data'][0].realtimeAction === 'DELETE');
    const seen = live.messages.filter((message) => message['channel'] === channel).map((message) => message['data'][0]);
    t.equal(seen.map(({ realtimeAction }: any) => realtimeAction[0]).join(''), 'CUUUD', channel);
    t.match(seen[0].data, { id, count: 1, status: 'ACTIVE', source: { id: device } });
    t.match(seen[1].data, { id, count: 2, firstOccurrence: false, time: at(1), firstOccurenceTime: TIME });
    t.match(
      seen.slice(2, 4).map(({ data }: any) => data.status),
      ['ACKNOWLEDGED', 'CLEARED'],
    );
    t.match(JSON.stringify(seen[4].data), id);
  }
});
