import t from 'tap';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import type { RecordsChange } from '../../../src/model/commands/records.ts';
import { DEVICE, basic, startApi } from '../helpers/api.ts';

const TIME = '2024-05-02T10:00:00.000Z';

t.test('events', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', { name: 'Pump', type: 'acme' });
  const body = { source: { id: '1' }, type: 'a', text: 'b', time: TIME, f: {}, creationTime: 'x', id: '3' };
  const created = await api.call('POST', '/event/events/', { body });
  const { id } = created.json;
  t.match(created, {
    status: 201,
    json: {
      self: `${api.url}/event/events/${id}`,
      type: 'a',
      f: {},
      time: TIME,
      source: { id: '1', name: 'Pump', type: 'acme', self: `${api.url}/inventory/managedObjects/1` },
    },
  });
  t.match(api.fake.sent[0], {
    kind: COMMAND.EVENT_CREATE,
    tenant: 2,
    key: 1,
    body: { id, type: 'a', time: Date.parse(TIME) },
  });
  t.equal((await api.call('GET', `/event/events/${id}`)).text, created.text);
  t.equal(
    (
      await api.call('PUT', `/event/events/${id}`, {
        body: { text: 'c', time: '2024-05-02T12:00:00+02:00', type: 'a', source: { id: 1 }, f: null },
      })
    ).status,
    200,
    'fixed fields that are the same are no change',
  );
  t.match(api.fake.sent.at(-1), { body: { doc: '{"text":"c","f":null}' } });
  for (const change of [
    { type: 'z' },
    { time: '2024-05-02T10:00:01Z' },
    { source: { id: '2' } },
    { creationTime: 'y' },
    { text: 5 },
    { 'a.b': 1 },
  ]) {
    t.equal((await api.call('PUT', `/event/events/${id}`, { body: change })).status, 422, JSON.stringify(change));
  }
  for (const wrong of [
    { time: 'x' },
    { time: 5 },
    { time: '1700-01-01T00:00:00Z' },
    { source: 1 },
    { source: { id: 'x' } },
    { source: { id: {} } },
    { text: null },
    { type: '' },
  ]) {
    t.equal(
      (await api.call('POST', '/event/events', { body: { ...body, ...wrong } })).status,
      422,
      JSON.stringify(wrong),
    );
  }
  t.match(await api.call('POST', '/event/events', { body: { source: {} } }), {
    json: {
      error: 'undefined/validationError',
      message: 'Following mandatory fields should be included: source.id,text,time,type',
    },
  });
  t.equal((await api.call('DELETE', `/event/events/${id}`)).status, 204);
  for (const id of ['x', '9'])
    t.match(await api.call('GET', `/event/events/${id}`), { status: 404, json: { error: 'event/Not Found' } }, id);
  t.equal((await api.call('DELETE', '/event/events?source=1&type=a&dateFrom=2024-05-02')).status, 204);
  t.match(api.fake.sent.at(-1), {
    key: 't',
    body: { table: 'events', filter: { source: '1', type: 'a', dateFrom: '2024-05-02T00:00:00.000Z' } },
  });
  const sent = api.fake.sent.length;
  t.equal((await api.call('DELETE', '/event/events?source=x')).status, 204);
  t.equal(api.fake.sent.length, sent, 'what is no id selects nothing');
});

t.test('lists below a hierarchy', async (t) => {
  const api = await startApi(t);
  for (const [parent, kind, child] of [
    ['1', 'childDevices', '2'],
    ['2', 'childAssets', '3'],
    ['3', 'childDevices', '1'],
  ]) {
    api.fake.put('children', `${parent}\n${kind}\n${child}`, '1');
  }
  api.fake.addManagedObject('2', { c8y_IsDevice: {} });
  api.fake.addManagedObject('3', {});
  const sources = async (query: string): Promise<unknown> => {
    await api.call('GET', `/alarm/alarms?${query}`);
    return [Object.values(api.fake.asked.at(-1)?.params ?? {})[1]].flat().sort();
  };
  t.strictSame(await sources('source=1'), [1]);
  t.strictSame(await sources('source=1&withSourceDevices=true'), [1, 2]);
  t.strictSame(await sources('source=1&withSourceAssets=true'), [1, 3], 'below a device too');
  t.strictSame(await sources('source=1&withSourceChildren=true'), [1, 2, 3]);
  t.strictSame(await sources('source=1&withSourceChildren=false'), [1]);
  t.strictSame(
    await sources('source=1&withSourceDevices=true&withSourceAssets=true'),
    [1, 2, 3],
    'also around a cycle',
  );
});

t.test('alarms', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', { name: 'Pump' });
  const body = {
    source: { id: 1 },
    type: 'a',
    text: 'b',
    time: TIME,
    severity: 'MAJOR',
    count: 9,
    firstOccurrence: true,
  };
  const created = await api.call('POST', '/alarm/alarms', { body });
  const { id } = created.json;
  t.notOk('firstOccurrence' in created.json, 'of live updates alone');
  t.match(created, { status: 201, json: { status: 'ACTIVE', count: 1, source: { name: 'Pump' } } });
  t.match((await api.call('GET', `/alarm/alarms/${id}`)).json.history, { auditRecords: [] });
  t.match(await api.call('POST', '/alarm/alarms', { body: { source: { id: '1' } } }), {
    status: 422,
    json: { message: 'Following mandatory fields should be included: severity,text,time,type' },
  });
  t.equal((await api.call('POST', '/alarm/alarms', { body: { ...body, severity: 'minor' } })).status, 422);
  t.match(await api.call('GET', '/alarm/alarms/9'), { status: 404, json: { error: 'alarm/Not Found' } });
  t.equal((await api.call('POST', '/alarm/alarms', { body: { ...body, status: 'OPEN' } })).status, 422);
  t.equal(
    (await api.call('PUT', `/alarm/alarms/${id}`, { body: { status: 'CLEARED', severity: 'MINOR', count: 1 } })).json
      .status,
    'CLEARED',
  );
  const detail = (await api.call('GET', `/alarm/alarms/${id}`)).json;
  t.equal(
    (await api.call('PUT', `/alarm/alarms/${id}`, { body: { ...detail, firstOccurrence: false, status: 'ACTIVE' } }))
      .json.status,
    'ACTIVE',
    'what was read goes back',
  );
  t.strictSame(
    JSON.parse((api.fake.sent.at(-1)?.body as { doc: string }).doc),
    { severity: 'MINOR', status: 'ACTIVE', text: 'b' },
    'without what is not changed by it',
  );
  t.equal((await api.call('PUT', `/alarm/alarms/${id}`, { body: { count: 5 } })).status, 422);
  t.equal((await api.call('PUT', `/alarm/alarms/${id}`, { body: { status: 'X' } })).status, 422);
  const filter = async (query: string): Promise<unknown[]> => {
    t.equal((await api.call('GET', `/alarm/alarms?${query}`)).status, 200, query);
    // Behind the conditions stand the rows to read by time and, for each of two statements, the page.
    return Object.values(api.fake.asked.at(-1)?.params ?? {}).slice(1, -5);
  };
  t.strictSame(await filter('status=ACTIVE,CLEARED&severity=MAJOR&type=a&type=b'), [
    ['ACTIVE', 'CLEARED'],
    ['MAJOR'],
    ['a', 'b'],
  ]);
  t.strictSame(await filter('status=ACTIVE&resolved=true'), [['CLEARED']]);
  t.strictSame(await filter('resolved=false'), [['ACTIVE', 'ACKNOWLEDGED']]);
  t.equal((await api.call('GET', '/alarm/alarms?severity=LOW')).status, 422);
  api.fake.rows = [[{ total: 3 }]];
  const counted = await api.call('GET', '/alarm/alarms/count');
  t.strictSame([counted.status, counted.text], [200, '3']);
  t.equal(
    (await api.call('PUT', '/alarm/alarms', { body: { status: 'CLEARED' } })).status,
    422,
    'a bulk change needs a filter',
  );
  t.equal(
    (await api.call('PUT', '/alarm/alarms?source=1&status=ACTIVE', { body: { status: 'ACKNOWLEDGED' } })).status,
    202,
    'nobody has carried it out',
  );
  const [job] = (api.fake.sent.at(-1)?.body as RecordsChange).changes;
  t.match(job, { collection: 'job', id: /^alarms\/\d{16}$/, expected: undefined });
  t.match(JSON.parse(job.value as string), {
    status: 'ACKNOWLEDGED',
    user: 'admin',
    after: 0,
    selection: { sources: ['1'], statuses: ['ACTIVE'] },
  });
  await api.call('DELETE', '/alarm/alarms?resolved=TRUE&status=ACTIVE&severity=MAJOR');
  t.strictSame(api.fake.sent.at(-1)?.body, {
    table: 'alarms',
    filter: { resolved: 'true', severity: 'MAJOR' },
    askedBy: { user: 'admin' },
  });
});

t.test('operations', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', { name: 'Pump', com_platform_model_Agent: {} }, 'device_1');
  api.fake.put('externalIdsOf', '1\nc8y_Serial\nx1', '1');
  const created = await api.call('POST', '/devicecontrol/operations', {
    body: { deviceId: '1', c8y_Restart: {}, status: 'FAILED' },
  });
  const { id } = created.json;
  t.match(created, { status: 201, json: { status: 'PENDING', deviceId: '1', deviceName: 'Pump', c8y_Restart: {} } });
  t.equal(
    (await api.call('POST', '/devicecontrol/operations', { body: {} })).json.message,
    'Following mandatory fields should be included: deviceId',
  );
  t.equal((await api.call('POST', '/devicecontrol/operations', { body: { deviceId: 'x' } })).status, 422);
  const put = (body: object): ReturnType<typeof api.call> =>
    api.call('PUT', `/devicecontrol/operations/${id}`, { body, headers: { authorization: DEVICE } });
  t.equal((await put({})).status, 422);
  t.equal((await put({ status: 'DONE' })).status, 422);
  t.equal((await put({ status: 'EXECUTING', deviceId: '2' })).status, 422);
  t.equal((await put({ status: 'EXECUTING', deviceId: '1', failureReason: 'x' })).json.failureReason, undefined);
  t.equal((await put({ status: 'FAILED', failureReason: 'x' })).json.failureReason, 'x');
  const detail = (await api.call('GET', `/devicecontrol/operations/${id}`)).json;
  t.equal(detail.deviceName, 'Pump');
  t.strictSame(detail.deviceExternalIDs.externalIds, [{ type: 'c8y_Serial', externalId: 'x1' }]);
  t.equal(
    (await put({ ...detail, deviceExternalIDs: { externalIds: [] }, status: 'EXECUTING' })).json.status,
    'EXECUTING',
    'what was read goes back',
  );
  t.notMatch((api.fake.sent.at(-1)?.body as { doc: string }).doc, /deviceName|deviceExternalIDs/);
  const delivered = {
    ...detail,
    agentId: '1',
    delivery: { log: [], status: 'PENDING', time: '2024-05-02T10:00:00.000Z' },
    externalSource: { externalId: 'x1', type: 'c8y_Serial' },
  };
  t.equal((await put({ ...delivered, status: 'SUCCESSFUL' })).status, 200, 'and what was delivered');
  t.notMatch((api.fake.sent.at(-1)?.body as { doc: string }).doc, /agentId|delivery"|externalSource/);
  t.equal((await put({ status: 'EXECUTING' })).status, 200);
  t.match(await api.call('GET', '/devicecontrol/operations/9'), {
    status: 404,
    json: { error: 'devicecontrol/Not Found' },
  });
  api.fake.rows = [[{ entityId: id, doc: api.fake.get('operation', id) }]];
  const list = await api.call('GET', '/devicecontrol/operations?agentId=1&status=PENDING&bulkOperationId=4');
  t.strictSame(list.json.operations[0].deviceExternalIDs.externalIds, [{ type: 'c8y_Serial', externalId: 'x1' }]);
  t.match(api.fake.asked.at(-1)?.sql, /source = .* ORDER BY creation_time, id LIMIT/);
  for (let index = 0; index < 300; index += 1)
    api.fake.put('externalIdsOf', `1\nc8y_Serial\n${String(index).padStart(1000, 'x')}`, '1');
  api.fake.rows = [Array.from({ length: 300 }, () => ({ entityId: id, doc: api.fake.get('operation', id) }))];
  t.match(
    await api.call('GET', '/devicecontrol/operations?agentId=1&pageSize=2000'),
    { status: 422, json: { error: 'general/Page Too Large' } },
    'their external IDs',
  );
  t.equal(api.fake.counted.at(-1), 'lists/page-bytes');
  await api.call('GET', '/devicecontrol/operations?agentId=2');
  t.match(api.fake.asked.at(-1)?.sql, / WHERE 0 ORDER BY/, 'what is no agent has no operations');
  await api.call('DELETE', '/devicecontrol/operations?agentId=1&status=FAILED');
  t.strictSame(api.fake.sent.at(-1)?.body, {
    table: 'operations',
    filter: { source: '1', status: 'FAILED' },
    askedBy: { user: 'admin' },
  });
});

t.test('users', async (t) => {
  const api = await startApi(t);
  const body = {
    userName: 'ada',
    password: 'secret12',
    firstName: 'Ada',
    roles: { references: [{ role: { id: 'ROLE_INVENTORY_READ' } }] },
  };
  const created = await api.call('POST', '/user/t1/users', { body });
  t.match(created, {
    status: 201,
    json: {
      id: 'ada',
      userName: 'ada',
      firstName: 'Ada',
      enabled: true,
      self: `${api.url}/user/t1/users/ada`,
      roles: { references: [{ role: { id: 'ROLE_INVENTORY_READ' } }] },
    },
  });
  t.notMatch(created.text, /"password"|secret12/);
  const sent = api.fake.sent.at(-1)?.body as { password: string };
  t.match(sent, {
    userName: 'ada',
    mustBeNew: true,
    roles: ['ROLE_INVENTORY_READ'],
    doc: '{"firstName":"Ada"}',
    password: /^\$scrypt\$ln=17,r=8,p=1\$/,
  });
  await api.call('POST', '/user/t1/users', { body: { userName: 'device_by-hand', password: 'secret12' } });
  t.match(api.fake.sent.at(-1)?.body, { userName: 'device_by-hand', password: /^\$scrypt\$ln=17,r=8,p=1\$/ });
  t.equal((await api.call('PUT', '/user/t1/users/ada', { body: { enabled: false, email: null } })).json.enabled, false);
  t.strictSame((await api.call('GET', '/user/t1/userByName/ada')).json.roles.references.length, 1);
  t.strictSame(
    (await api.call('GET', '/user/t1/users?username=a')).json.users.map((user: { id: string }) => user.id),
    ['ada', 'admin'],
  );
  t.strictSame(
    (await api.call('GET', '/user/t1/users?onlyDevices=true')).json.users.map((user: { id: string }) => user.id),
    ['device_1', 'device_by-hand'],
  );
  for (const wrong of [
    { userName: 'a b' },
    { userName: 'a/b' },
    { password: 'short' },
    { roles: ['ROLE_NONE'] },
    { password: undefined },
  ]) {
    t.equal(
      (await api.call('POST', '/user/t1/users', { body: { ...body, ...wrong } })).status,
      422,
      JSON.stringify(wrong),
    );
  }
  t.equal((await api.call('GET', '/user/t2/users')).status, 403, 'of another tenant');
  t.equal((await api.call('DELETE', '/user/t1/users/ada')).status, 204);
  t.equal((await api.call('DELETE', '/user/t1/users/ada')).status, 404);
  t.equal((await api.call('DELETE', '/user/t1/users/admin')).status, 403, 'not oneself');
  const current = await api.call('GET', '/user/currentUser', { headers: { accept: '*/*' } });
  t.match(current.headers.get('content-type'), /currentUser\+json/);
  t.ok(current.json.effectiveRoles.some((role: { id: string }) => role.id === 'ROLE_INVENTORY_ADMIN'));
  api.fake.addUser('clerk', ['ROLE_USER_MANAGEMENT_ADMIN']);
  t.equal(
    (await api.call('POST', '/user/t1/users', { body, headers: { authorization: basic('clerk') } })).status,
    403,
    'nobody gives more than he has',
  );
});

t.test('tenant, options, roots, health', async (t) => {
  const api = await startApi(t);
  t.match((await api.call('GET', '/tenant/currentTenant')).json, {
    name: 't1',
    domainName: 'acme',
    allowCreateTenants: false,
    customProperties: {},
  });
  const login = (await api.call('GET', '/tenant/loginOptions', { headers: { authorization: undefined } })).json;
  t.match(login.loginOptions, [
    { type: 'OAUTH2_INTERNAL', initRequest: /tenant_id=t1$/ },
    { type: 'BASIC', initRequest: /tenant_id=t1$/ },
  ]);
  t.match((await api.call('GET', '/tenant/system/options/system/version')).json, {
    category: 'system',
    key: 'version',
    value: '1017.0.0',
  });
  t.equal((await api.call('GET', '/tenant/system/options/__proto__/constructor')).status, 404);
  for (const [category, key, value, inForce = value] of [
    ['password', 'enforce.strength', 'true'],
    ['password', 'green.min-length', '12'],
    ['password', 'green.min-length', '4', '8'],
    ['password', 'limit.validity', '30'],
    ['two-factor-authentication', 'enforced', 'true'],
    ['two-factor-authentication', 'enforced.group', 'admins'],
    ['files', 'max.size', '1000'],
    ['device-control', 'bulkoperation.creationramp', '7'],
    ['console', 'time.zone', 'Asia/Kolkata'],
    ['system', 'version', '1', '1017.0.0'],
  ]) {
    api.fake.put('option', `${category}\n${key}`, JSON.stringify({ value }));
    t.equal((await api.call('GET', `/tenant/system/options/${category}/${key}`)).json.value, inForce, key);
  }
  const platform = (await api.call('GET', '/platform')).json;
  t.strictSame(Object.keys(platform).sort(), [
    'alarm',
    'audit',
    'deviceControl',
    'event',
    'identity',
    'inventory',
    'measurement',
    'self',
    'tenant',
    'user',
  ]);
  for (const [name, parameter] of [
    ['Type', 'type'],
    ['FragmentType', 'fragmentType'],
    ['ListOfIds', 'ids'],
  ]) {
    t.equal(
      platform.inventory[`managedObjectsFor${name}`],
      `${api.url}/inventory/managedObjects?${parameter}={${parameter}}`,
    );
  }
  t.strictSame(platform.inventory.managedObjects, { self: `${api.url}/inventory/managedObjects`, references: [] });
  t.equal(
    platform.event.eventsForSourceAndDateAndFragmentTypeAndType,
    `${api.url}/event/events?source={source}&dateFrom={dateFrom}&dateTo={dateTo}&fragmentType={fragmentType}&type={type}`,
  );
  for (const root of ['measurement', 'inventory', 'event', 'alarm', 'identity', 'devicecontrol', 'user', 'tenant']) {
    t.equal((await api.call('GET', `/${root}`)).json.self, `${api.url}/${root}`, root);
  }
  t.match(await api.call('GET', '/health/ready'), {
    status: 200,
    json: { status: 'UP', parts: { journal: { lag: 3 } } },
  });
  api.fake.isReady = false;
  t.match(await api.call('GET', '/health/ready'), { status: 503, json: { status: 'DOWN' } });
  t.equal(
    (await api.call('GET', '/metrics', { headers: { accept: 'application/openmetrics-text, */*' } })).text,
    'millrace_up 1\n',
  );
});

t.test('audit records tell where their sources are', async (t) => {
  const api = await startApi(t);
  const selfOf = async (type: string): Promise<string | undefined> => {
    const doc = JSON.stringify({ activity: 'a', text: 'b', time: TIME, type, source: { id: '7' } });
    api.fake.rows.push([{ entityId: '5', at: 0 }], [{ entityId: '5', doc }]);
    return (await api.call('GET', '/audit/auditRecords/5')).json.source.self?.slice(api.url.length);
  };
  for (const [type, self] of [
    ['Alarm', '/alarm/alarms/7'],
    ['TenantAuthConfig', '/tenant/loginOptions/7'],
    ['User', '/user/t1/users/7'],
    ['SYSTEM', undefined],
    ['Inventory', '/inventory/managedObjects/7'],
    ['constructor', '/inventory/managedObjects/7'],
  ] as const)
    t.equal(await selfOf(type), self, type);
});
