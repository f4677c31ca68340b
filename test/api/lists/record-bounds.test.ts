/** Bounds of what a tenant keeps as records, and lists that read no more of them than they need. */
import t from 'tap';
import { bulkActiveKey, bulkKey } from '../../../src/model/entities/bulk-operation.ts';
import { startApi } from '../helpers/api.ts';

const SERVER_WIDE = 0;
const KIB = 1_024;
const MIB = 1_048_576;
const APPS = '/application/applications';

t.test('options of a tenant have a bound of bytes together', async (t) => {
  const { fake, call } = await startApi(t);
  fake.put('option', 'c\nold', JSON.stringify({ value: 'x'.repeat(1_000) }));
  t.equal((await call('PUT', '/tenant/options/c/new', { body: { value: 'ab' } })).status, 200);
  t.same(
    JSON.parse(fake.get('option', '\ntotal') ?? ''),
    { count: 2, bytes: 1_012 + 14 },
    'with those of an older server',
  );
  t.same((await call('GET', '/tenant/options/c')).json, { old: 'x'.repeat(1_000), new: 'ab' });
  t.same(
    (await call('GET', '/tenant/options?pageSize=10')).json.options.map(({ key }: any) => key),
    ['allow.origin', 'new', 'old'],
    'the sum is no option',
  );
  fake.put('option', '\ntotal', JSON.stringify({ count: 2, bytes: 16 * MIB }));
  const refused = await call('PUT', '/tenant/options/c', { body: { new: 'abc' } });
  t.match(refused, { status: 422, json: { message: /16777216 bytes together \(options\/bytes\)/ } });
  t.equal((await call('PUT', '/tenant/options/c', { body: { new: 'a' } })).status, 200, 'less is taken');
  t.equal((await call('DELETE', '/tenant/options/c/old')).status, 204);
  t.equal((await call('PUT', '/tenant/options/c', { body: { new: 'abc' } })).status, 200);
  fake.put('option', '\ntotal', JSON.stringify({ count: 10_000, bytes: 5 }));
  t.match(await call('POST', '/tenant/options', { body: { category: 'c', key: 'more', value: '' } }), {
    status: 422,
    json: { message: /options\/of-tenant/ },
  });
  t.same(
    fake.counted.filter((limit) => limit.startsWith('options/')),
    ['options/bytes', 'options/of-tenant'],
  );
});

t.test('applications have a bound of bytes each, and of a tenant together', async (t) => {
  const { fake, call } = await startApi(t, { config: { jsonBodyMaxBytes: MIB } });
  const body = { key: 'k', name: 'n', type: 'EXTERNAL' };
  t.match(await call('POST', APPS, { body: { ...body, config: { text: 'x'.repeat(70_000) } } }), {
    status: 422,
    json: { message: /65536 bytes \(applications\/document-bytes\)/ },
  });
  const { id } = (await call('POST', APPS, { body: { ...body, manifest: { text: 'x'.repeat(70_000) } } })).json;
  t.equal((await call('PUT', `${APPS}/${id}`, { body: { config: { text: 'x'.repeat(70_000) } } })).status, 422);
  const total = 'total\n2';
  t.match(JSON.parse(fake.get('application', total, SERVER_WIDE) ?? ''), {
    count: 1,
    bytes: Buffer.byteLength(fake.get('application', String(id), SERVER_WIDE) ?? ''),
  });
  fake.put('application', total, JSON.stringify({ count: 1, bytes: 32 * MIB }), SERVER_WIDE);
  t.match(await call('POST', APPS, { body: { ...body, key: 'k2', name: 'n2' } }), {
    status: 422,
    json: { message: /applications\/bytes/ },
  });
  fake.put('application', total, JSON.stringify({ count: 1_000, bytes: 5 }), SERVER_WIDE);
  t.match(await call('POST', APPS, { body: { ...body, key: 'k2', name: 'n2' } }), {
    status: 422,
    json: { message: /applications\/of-tenant/ },
  });
  t.same(
    fake.counted.filter((limit) => limit.startsWith('app')),
    ['applications/document-bytes', 'applications/document-bytes', 'applications/bytes', 'applications/of-tenant'],
  );
});

t.test('lists read the applications that the tenant has, and bound the page', async (t) => {
  const { fake, call } = await startApi(t, { config: { pageBytesMax: 64 * KIB } });
  const add = (id: string, more: object = {}): void => {
    const application = {
      id,
      key: `k${id}`,
      name: `n${id}`,
      type: 'HOSTED',
      availability: 'MARKET',
      owner: 't1',
      ownerNumber: 2,
      doc: '{}',
      manifest: `{"text":"${'x'.repeat(KIB)}"}`,
      ...more,
    };
    fake.put('application', id, JSON.stringify(application), SERVER_WIDE);
    fake.put('application', `name\n${application.ownerNumber}\n${application.name}`, id, SERVER_WIDE);
  };
  for (let id = 100; id < 170; id += 1) add(String(id));
  // Of another tenant: who reads it fails.
  fake.put('application', '99', '{', SERVER_WIDE);
  fake.put('application', 'name\n3\nother', '99', SERVER_WIDE);
  const first = await call('GET', `${APPS}?pageSize=2&withTotalElements=true`);
  t.match(first.json, {
    applications: [{ id: '100' }, { id: '101' }],
    statistics: { totalElements: 70 },
    next: /currentPage=2/,
  });
  t.notOk((await call('GET', `${APPS}?pageSize=10&currentPage=7`)).json.next);
  for (const path of [
    `${APPS}?pageSize=2000`,
    `${APPS}?noPaging=true`,
    '/tenant/tenants/t1',
    '/application/applicationsByOwner/t1?pageSize=100',
  ]) {
    t.match(await call('GET', path), { status: 422, json: { error: 'general/Page Too Large' } }, path);
  }
  t.same(
    fake.counted.filter((limit) => limit.startsWith('lists/')),
    Array(4).fill('lists/page-bytes'),
  );
  for (const path of [
    '/application/applicationsByName/n103',
    '/application/applicationsByTenant/t1?pageSize=3',
    `${APPS}?owner=t1&name=n103`,
  ]) {
    t.equal((await call('GET', path)).status, 200, path);
  }
});

t.test('a server has no more tenants than a start reads', async (t) => {
  const { fake, call } = await startApi(t);
  for (let number = 10; number < 100_010; number += 1)
    fake.put('tenant', `t${number}`, `{"id":"t${number}","number":${number}}`, SERVER_WIDE);
  fake.put('job', 'tenants', '{"nextNumber":200000,"version":1}', SERVER_WIDE);
  fake.put('tenant', 't1', '{"id":"t1","number":2,"allowCreateTenants":true}', SERVER_WIDE);
  const refused = await call('POST', '/tenant/tenants', { body: { company: 'c', domain: 'cc' } });
  t.match(refused, { status: 422, json: { message: 'The server has at most 100000 tenants (tenants/of-server)' } });
  t.same(
    fake.counted.filter((limit) => limit.startsWith('tenants/')),
    ['tenants/of-server'],
  );
});

t.test(
  'bulk operations: lists read to the end of their page and bound it; a tenant has room for so many',
  async (t) => {
    const { fake, call } = await startApi(t, { config: { pageBytesMax: 64 * KIB } });
    const path = '/devicecontrol/bulkoperations';
    const add = (id: number, more: object = {}): void =>
      fake.put(
        'bulkOperation',
        bulkKey(String(id)),
        JSON.stringify({
          id: String(id),
          owner: 'ada',
          groupId: '1',
          startDate: 'x',
          startsAt: id,
          creationRamp: 1,
          prototype: `{"text":"${'x'.repeat(KIB)}"}`,
          fragments: '{}',
          status: 'ACTIVE',
          targets: 1,
          done: 0,
          missing: 0,
          ...more,
        }),
      );
    for (let id = 1; id <= 120; id += 1) add(id, id % 2 === 0 ? { status: 'DELETED' } : {});
    // Behind the page: who reads it fails.
    fake.put('bulkOperation', bulkKey('200'), '{');
    const ids = async (query: string): Promise<number[]> =>
      (await call('GET', `${path}?${query}`)).json.bulkOperations.map(({ id }: any) => Number(id));
    t.same(await ids('pageSize=3&currentPage=2'), [7, 9, 11]);
    t.same(await ids('pageSize=3&withDeleted=true'), [1, 2, 3]);
    t.same(await ids('pageSize=2&generalStatus=CANCELED&withDeleted=true&currentPage=2'), [6, 8]);
    t.match(await call('GET', `${path}?pageSize=2000&withDeleted=true`), {
      status: 422,
      json: { error: 'general/Page Too Large' },
    });
    add(200, { status: 'DELETED' });
    t.equal(
      (await call('GET', `${path}?pageSize=5&currentPage=12&withTotalElements=true`)).json.statistics.totalElements,
      60,
    );
    t.same(await ids('pageSize=5&currentPage=12'), [111, 113, 115, 117, 119]);
    t.same(await ids('pageSize=5&currentPage=13'), []);
    fake.put('managedObject', '1', '{"type":"c8y_DeviceGroup","c8y_IsDeviceGroup":{}}');
    for (let id = 1; id < 1_000; id += 1) fake.put('bulkOperation', bulkActiveKey(String(id)), '1');
    const body = { groupId: '1', startDate: '2200-01-01T00:00:00.000Z', creationRamp: 1, operationPrototype: {} };
    const answers = await Promise.all([1, 2].map(() => call('POST', path, { body })));
    t.same(answers.map(({ status }) => status).sort(), [201, 422], 'of two at once one is the last');
    t.match(
      answers.find(({ status }) => status === 422),
      { json: { message: /at most 1000 bulk operations.*\(bulk-operations\/active\)/ } },
    );
    t.same(
      fake.counted.filter((limit) => limit.startsWith('bulk') || limit.startsWith('lists/')),
      ['lists/page-bytes', 'bulk-operations/active'],
    );
  },
);

t.test(
  'of requests at once, those beyond the bound are refused: changes of alarms, assignments, revocations',
  async (t) => {
    const { fake, call } = await startApi(t);
    const check = async (message: RegExp, status: number, calls: readonly (() => ReturnType<typeof call>)[]) => {
      const answers = await Promise.all(calls.map((one) => one()));
      t.equal(answers.filter((answer) => answer.status < 300).length, 1, String(message));
      t.match(
        answers.find((answer) => answer.status >= 300),
        { status, json: { message } },
      );
    };
    for (let index = 1; index < 50; index += 1) fake.put('job', `alarms/${index}`, '{}');
    const clear = () => call('PUT', '/alarm/alarms?status=ACTIVE', { body: { status: 'CLEARED' } });
    await check(/alarms\/bulk-changes/, 503, [clear, clear]);

    fake.put('user', 'ada', JSON.stringify({ userName: 'ada', password: 'x', roles: [], enabled: true, doc: '{}' }));
    fake.put('inventoryRole', '1', JSON.stringify({ id: 1, name: 'r', description: '', permissions: [] }));
    fake.addManagedObject('251');
    for (let id = 1; id < 200; id += 1) fake.put('inventoryAssignment', `ada\n${id}`, '{}');
    const body = { managedObject: '251', roles: [{ id: 1 }] };
    const assign = () => call('POST', '/user/t1/users/ada/roles/inventory', { body });
    await check(/at most 200 inventory assignments \(users\/inventory-assignments\)/, 422, [assign, assign]);

    for (let serial = 1; serial < 5_000; serial += 1) fake.put('revocation', `f${serial}`, '{}');
    const revoke = (serialNumberInHex: string) => () =>
      call('PUT', '/tenant/trusted-certificates/settings/crl', { body: { crls: [{ serialNumberInHex }] } });
    await check(/at most 5000 revoked certificates/, 422, [revoke('1'), revoke('2')]);
    t.same(
      fake.counted.filter((limit) => !limit.startsWith('http')),
      ['alarms/bulk-changes', 'users/inventory-assignments', 'certificates/revocations'],
    );
  },
);
