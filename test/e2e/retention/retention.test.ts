/** Retention rules and runs (docs/spec/retention.md) against a running server. */
import t from 'tap';
import { CLUSTER_NODES, PASSWORD, Rest, eventually, startServer } from '../../helpers/running/server.ts';

const RULES = '/retention/retentions';
const RUNS = '/retention/runs';
const DAY_MS = 86_400_000;
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();

const server = await startServer(t, { flags: ['--retention-default-days', '60'] });
const { rest } = server;

/** Waits for the end of a run. */
const ended = (id: string, client = rest): Promise<any> =>
  eventually(
    'the run is over',
    async () => {
      const run = await client.read(`${RUNS}/${id}`);
      return run.status !== 'RUNNING' && run;
    },
    60_000,
  );
const runNow = async (body: object = {}): Promise<any> => ended((await rest.create(RUNS, body)).id);
async function onlyRules(rules: readonly object[]): Promise<string[]> {
  for (const { id } of (await rest.read(`${RULES}?pageSize=2000`)).retentionRules) await rest.delete(`${RULES}/${id}`);
  const ids: string[] = [];
  for (const rule of rules) ids.push((await rest.create(RULES, rule)).id);
  return ids;
}

t.test('a tenant begins with one rule for everything, which can be changed and deleted', async (t) => {
  const { retentionRules } = await rest.read(RULES);
  t.same(retentionRules, [
    {
      id: '1',
      self: `${server.url}${RULES}/1`,
      dataType: '*',
      fragmentType: '*',
      type: '*',
      source: '*',
      maximumAge: 60,
      editable: true,
    },
  ]);
  t.match((await rest.put(`${RULES}/1`, { maximumAge: 90 })).json, { id: '1', dataType: '*', maximumAge: 90 });
  t.match(await rest.read(`${RULES}/1`), { maximumAge: 90 });
  t.equal((await rest.delete(`${RULES}/1`)).status, 204);
  t.equal((await rest.delete(`${RULES}/1`)).status, 404);
  t.equal((await rest.put(`${RULES}/1`, { maximumAge: 9 })).status, 404);
  t.same((await rest.read(RULES)).retentionRules, []);
  t.match((await rest.get(`${RULES}/1`)).json, { error: 'retention/Not Found', message: 'Retention rule not found' });
});

t.test('rules are created, read, changed and deleted', async (t) => {
  const answer = await rest.post(RULES, {
    dataType: 'EVENT',
    type: 'c8y_Door',
    source: '77',
    fragmentType: 'c8y_Position',
    maximumAge: 3650,
    id: '5',
    self: 'x',
    editable: false,
    other: 1,
  });
  t.equal(answer.status, 201);
  const rule = answer.json;
  t.same(rule, {
    id: rule.id,
    self: `${server.url}${RULES}/${rule.id}`,
    dataType: 'EVENT',
    type: 'c8y_Door',
    source: '77',
    fragmentType: 'c8y_Position',
    maximumAge: 3650,
    editable: true,
  });
  t.equal(answer.headers.get('location'), rule.self);
  t.same(await rest.read(`${RULES}/${rule.id}`), rule);
  const changed = await rest.put(`${RULES}/${rule.id}`, { source: null, maximumAge: 1, dataType: 'ALARM' });
  t.same(changed.json, { ...rule, source: '*', maximumAge: 1, dataType: 'ALARM' });
  t.match((await rest.read(RULES)).retentionRules, [{ id: rule.id }]);
  const branded = await rest.request('GET', RULES, {
    headers: { accept: 'application/vnd.com.nsn.cumulocity.retentionRuleCollection+json' },
  });
  t.match(
    branded.headers.get('content-type'),
    /^application\/vnd\.com\.nsn\.cumulocity\.retentionRuleCollection\+json/,
  );
  t.equal((await rest.delete(`${RULES}/${rule.id}`)).status, 204);
  t.equal((await rest.get(`${RULES}/${rule.id}`)).status, 404);
  for (const dataType of ['ALARM', 'AUDIT', 'BULK_OPERATION', 'EVENT', 'MEASUREMENT', 'OPERATION', '*']) {
    const { id, fragmentType, type, source } = await rest.create(RULES, { dataType, maximumAge: 365 });
    t.same([fragmentType, type, source], ['*', '*', '*'], dataType);
    await rest.delete(`${RULES}/${id}`);
  }
});

const REFUSED: readonly (readonly [body: object, message: string])[] = [
  [{ maximumAge: 1 }, 'Following mandatory fields should be included: dataType'],
  [{ dataType: 'EVENT' }, 'Following mandatory fields should be included: maximumAge'],
  [{}, 'Following mandatory fields should be included: dataType,maximumAge'],
  [{ dataType: 'FILE', maximumAge: 1 }, 'The field dataType has the value "FILE"'],
  [{ dataType: 'EVENT', maximumAge: 0 }, 'The field maximumAge has the value 0'],
  [{ dataType: 'EVENT', maximumAge: 3651 }, 'The field maximumAge has the value 3651'],
  [{ dataType: 'EVENT', maximumAge: 1.5 }, 'The field maximumAge has the value 1.5'],
  [{ dataType: 'EVENT', maximumAge: '7' }, 'The field maximumAge has the value "7"'],
  [{ dataType: 'EVENT', maximumAge: 7, type: '' }, 'The field type has the value ""'],
  [{ dataType: 'EVENT', maximumAge: 7, source: 5 }, 'The field source has the value 5'],
  [{ dataType: 'EVENT', maximumAge: 7, fragmentType: 'x'.repeat(257) }, 'The field fragmentType has the value'],
];

t.test('what is no rule is refused', async (t) => {
  for (const [body, message] of REFUSED) {
    const { status, json } = await rest.post(RULES, body);
    t.equal(status, 422, message);
    t.ok(json.message.startsWith(message), `${json.message} begins with ${message}`);
  }
  const { id } = await rest.create(RULES, { dataType: 'EVENT', maximumAge: 7 });
  t.equal((await rest.put(`${RULES}/${id}`, { maximumAge: 0 })).status, 422);
  t.equal((await rest.put(`${RULES}/${id}`, {})).status, 200, 'nothing to change');
  await rest.delete(`${RULES}/${id}`);
  for (const id of ['0', '-1', 'x', '99999999', '1e3', '9'.repeat(30), '%00'])
    t.equal((await rest.get(`${RULES}/${id}`)).status, 404, id);
  for (const id of ['0', 'x', '99999999', '9'.repeat(30)]) t.equal((await rest.get(`${RUNS}/${id}`)).status, 404, id);
});

t.test('who has which role', async (t) => {
  const as = async (name: string, roles: string[]): Promise<Rest> => {
    await rest.create('/user/t1/users', { userName: name, password: PASSWORD, email: `${name}@example.com` });
    for (const role of roles)
      await rest.create(`/user/t1/users/${name}/roles`, { role: { self: `${server.url}/user/roles/${role}` } });
    return new Rest(server.url, `t1/${name}`, PASSWORD);
  };
  const { id } = await rest.create(RULES, { dataType: 'EVENT', maximumAge: 700 });
  const [nobody, reader, writer] = [
    await as('nobody', []),
    await as('reader', ['ROLE_RETENTION_RULE_READ']),
    await as('writer', ['ROLE_RETENTION_RULE_ADMIN']),
  ];
  const rows: readonly (readonly [
    method: string,
    path: string,
    body: object | undefined,
    reader: number,
    writer: number,
  ])[] = [
    ['GET', RULES, undefined, 200, 403],
    ['POST', RULES, { dataType: 'EVENT', maximumAge: 900 }, 403, 201],
    ['GET', `${RULES}/${id}`, undefined, 200, 403],
    ['PUT', `${RULES}/${id}`, { maximumAge: 800 }, 403, 200],
    ['DELETE', `${RULES}/${id}`, undefined, 403, 204],
    ['GET', RUNS, undefined, 200, 403],
    ['POST', RUNS, { dryRun: true }, 403, 201],
    ['PUT', `${RULES}/${id}/editable`, { editable: false }, 403, 403],
  ];
  for (const [method, path, body, forReader, forWriter] of rows) {
    const status = async (client: Rest): Promise<number> =>
      (await client.request(method, path, body === undefined ? {} : { body })).status;
    t.equal(await status(nobody), 403, `${method} ${path}, nobody`);
    t.equal(await status(reader), forReader, `${method} ${path}, reader`);
    t.equal(await status(writer), forWriter, `${method} ${path}, writer`);
  }
  const [{ id: run }] = (await rest.read(RUNS)).retentionRuns;
  await ended(run);
});

t.test('the management tenant makes rules fixed', async (t) => {
  const { id } = await rest.create(RULES, { dataType: 'EVENT', maximumAge: 700 });
  const fix = (editable: boolean | string, tenant = 't1') =>
    server.management.put(`${RULES}/${id}/editable?tenant=${tenant}`, { editable });
  t.match((await fix(false)).json, { id, editable: false });
  t.match(await rest.read(`${RULES}/${id}`), { editable: false });
  for (const reply of [await rest.put(`${RULES}/${id}`, { maximumAge: 1 }), await rest.delete(`${RULES}/${id}`)]) {
    t.match([reply.status, reply.json.error], [403, 'retention/Forbidden']);
  }
  t.equal((await fix(true, 'nowhere')).status, 404);
  t.equal(
    (await server.management.put(`${RULES}/${id}/editable`, { editable: true })).status,
    404,
    'it is none of the own tenant',
  );
  t.match((await fix('true')).json, { editable: true });
  t.equal((await rest.delete(`${RULES}/${id}`)).status, 204);
});

const TEMPERATURE = { c8y_T: { T: { value: 1, unit: 'C' } } };

/** Data of both ages, for two devices. Texts and types name what is to become of them. */
async function seed(): Promise<{ one: string; two: string }> {
  const [one, two] = [await rest.createDevice('one'), await rest.createDevice('two')];
  const rows = [
    [one, 'old', 100, {}],
    [one, 'new', 1, {}],
    [two, 'old', 100, {}],
    [one, 'marked', 100, { my_Mark: {} }],
    [one, 'edge', 29, {}],
  ] as const;
  await Promise.all(
    rows.map(async ([source, type, days, fragments]) => {
      const common = { source: { id: source }, time: daysAgo(days), type, ...fragments };
      await rest.create('/event/events', { ...common, text: type });
      await rest.create('/measurement/measurements', { ...common, ...TEMPERATURE });
      await rest.create('/alarm/alarms', { ...common, type: `open-${type}`, text: 'open', severity: 'MINOR' });
      const alarm = await rest.create('/alarm/alarms', {
        ...common,
        type: `over-${type}`,
        text: 'over',
        severity: 'MINOR',
      });
      await rest.put(`/alarm/alarms/${alarm.id}`, { status: 'CLEARED' });
      await rest.create('/audit/auditRecords', { ...common, activity: 'test', text: type });
    }),
  );
  return { one, two };
}
const types = (list: any[]): string[] => list.map(({ type, source }) => `${type}@${source.name ?? source.id}`).sort();
async function remaining(devices: { one: string; two: string }): Promise<Record<string, string[]>> {
  const read = async (path: string, name: string): Promise<string[]> => {
    const all = [];
    for (const source of Object.values(devices))
      all.push(...(await rest.read(`${path}?pageSize=2000&source=${source}`))[name]);
    // What the server has written itself about the devices is not of the seed.
    const seeded = all.filter(({ activity = 'test' }: any) => activity === 'test');
    return types(
      seeded.map((entity: any) => ({ ...entity, source: { name: entity.source.id === devices.one ? 'one' : 'two' } })),
    );
  };
  return {
    events: await read('/event/events', 'events'),
    measurements: await read('/measurement/measurements', 'measurements'),
    alarms: await read('/alarm/alarms', 'alarms'),
    audits: await read('/audit/auditRecords', 'auditRecords'),
  };
}
const ALL = ['edge@one', 'marked@one', 'new@one', 'old@one', 'old@two'];
const ALARMS = [...ALL.map((name) => `open-${name}`), ...ALL.map((name) => `over-${name}`)];

/** Rules, and what they remove of the kind. Sources are named. */
const SELECTIONS: readonly (readonly [rules: readonly any[], removed: Readonly<Record<string, readonly string[]>>])[] =
  [
    [[{ dataType: 'EVENT', maximumAge: 30 }], { events: ['marked@one', 'old@one', 'old@two'] }],
    [[{ dataType: 'EVENT', maximumAge: 28 }], { events: ['edge@one', 'marked@one', 'old@one', 'old@two'] }],
    [[{ dataType: 'EVENT', maximumAge: 30, type: 'old' }], { events: ['old@one', 'old@two'] }],
    [[{ dataType: 'EVENT', maximumAge: 30, type: 'old', source: 'two' }], { events: ['old@two'] }],
    [[{ dataType: 'EVENT', maximumAge: 30, fragmentType: 'my_Mark' }], { events: ['marked@one'] }],
    [[{ dataType: 'EVENT', maximumAge: 30, source: '123' }], {}],
    [[{ dataType: 'MEASUREMENT', maximumAge: 30 }], { measurements: ['marked@one', 'old@one', 'old@two'] }],
    [[{ dataType: 'MEASUREMENT', maximumAge: 30, type: 'old' }], { measurements: ['old@one', 'old@two'] }],
    [[{ dataType: 'MEASUREMENT', maximumAge: 30, source: 'two' }], { measurements: ['old@two'] }],
    [[{ dataType: 'MEASUREMENT', maximumAge: 30, fragmentType: 'my_Mark' }], { measurements: ['marked@one'] }],
    [
      [{ dataType: 'MEASUREMENT', maximumAge: 30, fragmentType: 'c8y_T', source: 'one' }],
      { measurements: ['marked@one', 'old@one'] },
    ],
    [[{ dataType: 'ALARM', maximumAge: 30 }], { alarms: ['over-marked@one', 'over-old@one', 'over-old@two'] }],
    [[{ dataType: 'ALARM', maximumAge: 30, type: 'over-old', source: 'one' }], { alarms: ['over-old@one'] }],
    [[{ dataType: 'AUDIT', maximumAge: 30, source: 'two' }], { audits: ['old@two'] }],
    [[{ dataType: 'AUDIT', maximumAge: 30, type: 'old' }], { audits: ['old@one', 'old@two'] }],
    [[{ dataType: 'AUDIT', maximumAge: 30, fragmentType: 'my_Mark' }], { audits: ['marked@one'] }],
    // Rules apply each by itself: the shorter age wins.
    [
      [
        { dataType: 'EVENT', maximumAge: 200 },
        { dataType: 'EVENT', maximumAge: 30, type: 'old' },
      ],
      { events: ['old@one', 'old@two'] },
    ],
    [
      [
        { dataType: 'EVENT', maximumAge: 30 },
        { dataType: 'EVENT', maximumAge: 200, type: 'old' },
      ],
      { events: ['marked@one', 'old@one', 'old@two'] },
    ],
    [
      [{ dataType: '*', maximumAge: 30, type: 'old', source: 'one' }],
      { events: ['old@one'], measurements: ['old@one'], audits: ['old@one'] },
    ],
  ];

/** The conditions are the same in a cluster: one row for each kind of data is enough there. */
const selections =
  CLUSTER_NODES === 0
    ? SELECTIONS
    : SELECTIONS.filter(
        ([rules], index) =>
          index ===
          SELECTIONS.findIndex(
            ([others]) =>
              others.map(({ dataType }) => dataType).join() === rules.map(({ dataType }) => dataType).join(),
          ),
      );

t.test('what rules remove', async (t) => {
  for (const [rules, removed] of selections) {
    await onlyRules([]);
    const devices = await seed();
    const ids = new Map(Object.entries(devices));
    await onlyRules(
      rules.map((rule) => ({
        ...rule,
        ...(rule.source === undefined ? {} : { source: ids.get(rule.source) ?? rule.source }),
      })),
    );
    const name = JSON.stringify(rules);
    const expected = { events: ALL, measurements: ALL, alarms: ALARMS, audits: ALL };
    const count = Object.values(removed).flat().length;
    // Rules without a source also count what earlier rows of this table have left.
    const dry = await runNow({ dryRun: true });
    if (rules.every(({ source }) => source !== undefined)) t.equal(dry.total, count, `counted: ${name}`);
    t.same(await remaining(devices), expected, `a dry run removes nothing: ${name}`);
    const run = await runNow();
    t.match(
      run,
      {
        status: 'COMPLETED',
        dryRun: false,
        trigger: 'REQUEST',
        user: 'admin',
        total: dry.total,
        self: `${server.url}${RUNS}/${run.id}`,
      },
      name,
    );
    const left = Object.fromEntries(
      Object.entries(expected).map(([kind, all]) => [kind, all.filter((entity) => !removed[kind]?.includes(entity))]),
    );
    t.same(await remaining(devices), left, name);
  }
  t.equal((await runNow()).total, 0, 'nothing is left to remove');
});

t.test('a dry run counts what two rules select once', async (t) => {
  const { two } = await seed();
  await onlyRules([
    { dataType: 'EVENT', maximumAge: 30, source: two },
    { dataType: 'EVENT', maximumAge: 20, source: two, type: 'old' },
    { dataType: 'MEASUREMENT', maximumAge: 30, source: two },
    { dataType: 'MEASUREMENT', maximumAge: 20, source: two },
  ]);
  const run = await runNow({ dryRun: true });
  t.same(
    run.results.map(({ dataType, count }: any) => [dataType, count]),
    [
      ['EVENT', 1],
      ['EVENT', 0],
      ['MEASUREMENT', 1],
      ['MEASUREMENT', 0],
    ],
  );
  t.equal(run.total, 2);
});

t.test('a dry run counts a measurement with fragments of several rules once', async (t) => {
  const device = await rest.createDevice('fragments');
  const measurement = {
    source: { id: device },
    time: daysAgo(100),
    type: 'x_R',
    x_A: { a: { value: 1 } },
    x_B: { b: { value: 2 } },
  };
  await rest.create('/measurement/measurements', measurement);
  await rest.create('/measurement/measurements', { ...measurement, x_A: undefined });
  await onlyRules([
    { dataType: 'MEASUREMENT', maximumAge: 30, fragmentType: 'x_A', source: device },
    { dataType: 'MEASUREMENT', maximumAge: 30, type: 'x_R', source: device },
    { dataType: 'MEASUREMENT', maximumAge: 30, fragmentType: 'x_B', source: device },
  ]);
  const counts = (run: any): unknown => run.results.map(({ count }: any) => count);
  t.same(counts(await runNow({ dryRun: true })), [1, 1, 0]);
  t.same(counts(await runNow()), [1, 1, 0], 'as many are removed');
});

t.test('the history of an alarm that is open stays, as the alarm does', async (t) => {
  const device = await rest.createDevice('history');
  const raise = async (type: string): Promise<string> =>
    (
      await rest.create('/alarm/alarms', {
        source: { id: device },
        type,
        time: daysAgo(100),
        text: 'x',
        severity: 'MAJOR',
        status: 'ACTIVE',
      })
    ).id;
  const [open, over] = [await raise('open'), await raise('over')];
  for (const id of [open, over]) {
    await rest.create('/audit/auditRecords', {
      type: 'Alarm',
      activity: 'Called',
      text: 'x',
      time: daysAgo(100),
      source: { id },
    });
  }
  await rest.put(`/alarm/alarms/${over}`, { status: 'CLEARED' });
  const called = async (id: string): Promise<number> =>
    (await rest.read(`/audit/auditRecords?source=${id}&pageSize=100`)).auditRecords.filter(
      ({ activity }: any) => activity === 'Called',
    ).length;
  t.same([await called(open), await called(over)], [1, 1]);
  await onlyRules([{ dataType: 'AUDIT', maximumAge: 30, type: 'Alarm' }]);
  t.equal((await runNow()).status, 'COMPLETED');
  t.same([await called(open), await called(over)], [1, 0]);
});

t.test('operations that are not over stay, and bulk operations that have such', async (t) => {
  await onlyRules([{ dataType: 'EVENT', maximumAge: 30, source: '5' }]);
  const device = await rest.createDevice('operated');
  for (const status of ['PENDING', 'EXECUTING', 'SUCCESSFUL', 'FAILED']) {
    const { id } = await rest.create('/devicecontrol/operations', { deviceId: device, c8y_Restart: {} });
    if (status !== 'PENDING') await rest.put(`/devicecontrol/operations/${id}`, { status });
  }
  await onlyRules([
    { dataType: 'OPERATION', maximumAge: 1, source: device },
    { dataType: 'BULK_OPERATION', maximumAge: 1 },
  ]);
  t.equal((await runNow()).total, 0, 'they were created today');
});

t.test('a bulk operation goes when all its operations are over', async (t) => {
  const group = (await rest.create('/inventory/managedObjects', { type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} }))
    .id as string;
  for (const name of ['one', 'two'])
    await rest.create(`/inventory/managedObjects/${group}/childAssets`, {
      managedObject: { id: await rest.createDevice(name) },
    });
  const bulk = { groupId: group, startDate: daysAgo(100), creationRamp: 0.05, operationPrototype: { c8y_Restart: {} } };
  const { id } = await rest.create('/devicecontrol/bulkoperations', bulk);
  const path = `/devicecontrol/bulkoperations/${id}`;
  await eventually('its operations are created', async () => (await rest.read(path)).status === 'COMPLETED');
  await onlyRules([{ dataType: 'BULK_OPERATION', maximumAge: 1 }]);
  t.match(await runNow(), { status: 'COMPLETED', total: 0 }, 'they are not over');
  t.equal((await rest.read(path)).id, id);
  const { operations } = await rest.read(`/devicecontrol/operations?bulkOperationId=${id}`);
  for (const operation of operations)
    await rest.put(`/devicecontrol/operations/${operation.id}`, { status: 'SUCCESSFUL' });
  t.match(await runNow(), { status: 'COMPLETED', total: 1 });
  t.equal((await rest.get(path)).status, 404);
});

t.test('runs are listed, and each that removes has an audit record', async (t) => {
  const { one } = await seed();
  await onlyRules([{ dataType: 'EVENT', maximumAge: 30, source: one }]);
  const run = await runNow();
  t.equal(run.total, 2);
  const { retentionRuns } = await rest.read(`${RUNS}?pageSize=2&withTotalElements=true`);
  t.equal(retentionRuns.length, 2);
  t.same(retentionRuns[0], run, 'newest first');
  const [record] = (await rest.read('/audit/auditRecords?type=SYSTEM&pageSize=1')).auditRecords;
  t.match(record, {
    activity: 'Retention run',
    user: 'admin',
    text: 'the retention run has removed 2 events',
    source: { id: run.id },
  });
  const [rule] = (await rest.read('/audit/auditRecords?type=SYSTEM&pageSize=20')).auditRecords.filter(
    ({ activity }: any) => activity === 'Retention rule created',
  );
  t.match(rule, {
    user: 'admin',
    text: `Retention rule created: EVENT of type *, source ${one}, fragment *, kept for 30 days`,
  });
});

t.test('a run goes on after a kill, and counts what it removes once', async (t) => {
  const COUNT = 1_500;
  const own = await startServer(t, { isKilled: true });
  const device = await own.rest.createDevice('many');
  for (let start = 0; start < COUNT; start += 100) {
    await Promise.all(
      Array.from({ length: 100 }, () =>
        own.rest.create('/event/events', { source: { id: device }, time: daysAgo(100), type: 'old', text: 'x' }),
      ),
    );
  }
  await own.rest.create('/event/events', { source: { id: device }, time: daysAgo(1), type: 'new', text: 'x' });
  await own.rest.post('/measurement/measurements', {
    measurements: Array.from({ length: 50 }, (_, index) => ({
      source: { id: device },
      time: daysAgo(100 + index),
      type: 'old',
      ...TEMPERATURE,
    })),
  });
  const { id } = await own.rest.create(RUNS, {});
  t.match((await own.rest.post(RUNS, {})).json, {
    error: 'retention/Conflict',
    message: `The retention run ${id} is under way`,
  });
  await eventually('some are gone', async () => {
    const { statistics } = await own.rest.read('/event/events?pageSize=1&withTotalElements=true');
    return statistics.totalElements < COUNT;
  });
  await own.stop('SIGKILL');
  const again = await startServer(t, { data: own.data, isKilled: true });
  const run = await ended(id, again.rest);
  t.match(run, { status: 'COMPLETED', total: COUNT + 50 });
  t.match(await again.rest.read('/event/events?pageSize=5&withTotalElements=true'), {
    events: [{ type: 'new' }],
    statistics: { totalElements: 1 },
  });
  t.same((await again.rest.read('/measurement/measurements')).measurements, []);
  t.equal(
    (await again.rest.read('/audit/auditRecords?type=SYSTEM&pageSize=20')).auditRecords.filter(
      ({ activity }: any) => activity === 'Retention run',
    ).length,
    1,
  );
});

t.test('a run can be ended', async (t) => {
  await onlyRules([{ dataType: 'EVENT', maximumAge: 30, source: '5' }]);
  const { id } = await rest.create(RUNS, {});
  t.equal((await rest.delete(`${RUNS}/${id}`)).status, 204);
  t.match((await ended(id)).status, /CANCELED|COMPLETED/);
  await eventually('another one may begin', async () => (await rest.post(RUNS, { dryRun: true })).status === 201);
});

t.test('a run that is ended removes nothing further, and says what it has removed', async (t) => {
  const COUNT = 1_000;
  const device = await rest.createDevice('canceled');
  for (let start = 0; start < COUNT; start += 100) {
    await Promise.all(
      Array.from({ length: 100 }, () =>
        rest.create('/event/events', { source: { id: device }, time: daysAgo(100), type: 'old', text: 'x' }),
      ),
    );
  }
  const left = async (): Promise<number> =>
    (await rest.read(`/event/events?source=${device}&pageSize=1&withTotalElements=true`)).statistics.totalElements;
  await eventually(
    'no run is under way',
    async () => (await rest.read(`${RUNS}?pageSize=1`)).retentionRuns[0].status !== 'RUNNING',
  );
  await onlyRules([{ dataType: 'EVENT', maximumAge: 30, source: device }]);
  const { id } = await rest.create(RUNS, {});
  await eventually('some are gone', async () => (await left()) < COUNT);
  t.equal((await rest.delete(`${RUNS}/${id}`)).status, 204);
  await eventually('another one may begin', async () => (await rest.post(RUNS, { dryRun: true })).status === 201);
  const run = await rest.read(`${RUNS}/${id}`);
  t.equal(run.total, COUNT - (await left()), `${run.status}: the record says what is gone`);
  const [record] = (await rest.read('/audit/auditRecords?type=SYSTEM&pageSize=20')).auditRecords.filter(
    ({ activity }: any) => activity === 'Retention run',
  );
  t.match(record, { source: { id }, text: new RegExp(`removed ${run.total} events`) });
});
t.test('nothing was complained about', async (t) =>
  t.same(
    server.complaints.filter((line) => !line.includes('http/403')),
    [],
  ),
);
