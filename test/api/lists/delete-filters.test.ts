/**
 * The filters that DELETE routes put into a command are known to the store: an unknown one would stop the projector for
 * good.
 */
import t from 'tap';
import type { DataDelete } from '../../../src/model/commands/deletion.ts';
import type { RecordsChange } from '../../../src/model/commands/records.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { DATA_DELETIONS_MAX, DATA_DELETION_PREFIX } from '../../../src/model/commands/data-deletion-jobs.ts';
import { ClickHouseHistoryWriter } from '../../../src/store/clickhouse/writer.ts';
import { startApi } from '../helpers/api.ts';

const RANGE = 'dateFrom=2024-05-02&dateTo=2024-05-03';
const CREATED = 'createdFrom=2024-05-02&createdTo=2024-05-03';
const UPDATED = 'lastUpdatedFrom=2024-05-02&lastUpdatedTo=2024-05-03';

t.test('every filter of every DELETE', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', { com_platform_model_Agent: {} }, 'device_1');
  for (const child of ['2', '3']) api.fake.put('children', `1\nchildDevices\n${child}`, '1');
  const where: string[] = [];
  const writer = new ClickHouseHistoryWriter({
    command: async (sql: string) => void where.push(sql),
    query: async (sql: string) => {
      where.push(sql);
      return sql.includes('FROM system.') ? [{ found: 0 }] : [];
    },
    queryForWrite: async () => [],
  } as never);
  const check = async (path: string, row?: object): Promise<void> => {
    api.fake.rows = row === undefined ? [] : [[row]];
    t.equal((await api.call('DELETE', path)).status, 204, path);
    const command = api.fake.sent.at(-1);
    t.equal(command?.kind, COMMAND.DATA_DELETE);
    const { table, filter } = command?.body as DataDelete;
    where.length = 0;
    const run: Promise<unknown> =
      table === 'measurements'
        ? writer.deleteMeasurements({ tenant: 2, filter, seq: 1, receivedAt: 1 }, false)
        : writer.select(2, table, filter, 0);
    await t.resolves(run, path);
    // A filter that is passed over would delete more than was asked for.
    const conditions = (where.at(-1) ?? '').split('seq <=')[0].split(' AND ').length;
    const names = Object.keys(filter);
    const asked = [...new URLSearchParams(path.split('?')[1]).keys()]
      .filter((name) => !name.startsWith('withSource'))
      .map((name) => (name === 'agentId' || (name === 'source' && 'sources' in filter) ? 'sources' : name));
    t.strictSame(
      asked.filter((name) => !names.includes(name)),
      [],
      `${path}: all of its filters are in the command`,
    );
    t.ok(conditions > names.length, `${path}: each of ${names.join()} is a condition in ${where.at(-1)}`);
  };
  await check(
    `/measurement/measurements?source=1&type=a&fragmentType=b&valueFragmentType=c&valueFragmentSeries=d&${RANGE}`,
  );
  await check('/measurement/measurements/7', {
    entityId: '7',
    sourceId: '1',
    timeMs: '1714600000000',
    type: 'a',
    fragment: '',
    series: '',
    value: 0,
    unit: '',
    doc: '',
  });
  await check(`/event/events?source=1&type=a&fragmentType=b&fragmentValue=c&${RANGE}&${CREATED}&${UPDATED}`);
  await check(`/alarm/alarms?source=1&type=a&severity=MAJOR,MINOR&status=ACTIVE&${RANGE}&${CREATED}&${UPDATED}`);
  await check('/alarm/alarms?resolved=true&withSourceDevices=true&source=1');
  await check(
    `/devicecontrol/operations?agentId=1&deviceId=2&status=PENDING&fragmentType=c8y_Restart&bulkOperationId=3&${RANGE}`,
  );
});

const COLLECTIONS = ['/measurement/measurements', '/event/events', '/alarm/alarms', '/devicecontrol/operations'];

t.test('DELETE takes every filter that GET takes', async (t) => {
  const api = await startApi(t);
  const { paths } = (await api.call('GET', '/openapi.json')).json;
  const names = (path: string, method: string): string[] =>
    (paths[path][method].parameters ?? [])
      .filter(({ in: place }: { in: string }) => place === 'query')
      .map(({ name }: { name: string }) => name);
  // A query is refused in a DELETE (docs/spec/alarms.md#lists), and never passed over.
  const ofLists = ['query', 'revert', 'pageSize', 'currentPage', 'withTotalPages', 'withTotalElements', 'format'];
  for (const path of COLLECTIONS) {
    t.strictSame(
      names(path, 'get')
        .filter((name) => !ofLists.includes(name))
        .sort(),
      names(path, 'delete').sort(),
      path,
    );
  }
  t.equal((await api.call('DELETE', '/alarm/alarms?status=CLEARED&query=has(a)')).status, 422);
});

t.test('the sources of a hierarchy are one command', async (t) => {
  const api = await startApi(t);
  api.fake.addManagedObject('1', { com_platform_model_Agent: {} }, 'device_1');
  for (const kind of ['childDevices', 'childAdditions', 'childAssets']) {
    api.fake.addManagedObject(String(kind.length), kind === 'childDevices' ? { c8y_IsDevice: {} } : {});
    api.fake.put('children', `1\n${kind}\n${kind.length}`, '1');
  }
  const sent = async (path: string): Promise<unknown[]> => {
    const before = api.fake.sent.length;
    t.equal((await api.call('DELETE', path)).status, 204, path);
    return api.fake.sent.slice(before).map(({ body }) => (body as DataDelete).filter);
  };
  t.strictSame(await sent('/event/events?source=1&withSourceDevices=true&type=a'), [{ type: 'a', sources: '1,12' }]);
  t.strictSame(await sent('/alarm/alarms?source=1&withSourceAssets=true&withSourceDevices=true'), [
    { sources: '1,12,11,14' },
  ]);
  t.strictSame(await sent('/alarm/alarms?source=1&withSourceAssets=true'), [{ sources: '1,11,14' }]);
  t.strictSame(await sent('/event/events?source=1'), [{ source: '1' }]);
  t.strictSame(
    await sent('/devicecontrol/operations?agentId=1'),
    [{ sources: '1,12,14' }],
    'an agent: devices and services',
  );
  t.strictSame(await sent('/devicecontrol/operations?agentId=12'), [], 'no agent: nothing to delete');
});

t.test('what means several in a list means them in a DELETE', async (t) => {
  const api = await startApi(t);
  const filterOf = async (path: string): Promise<unknown> => {
    t.equal((await api.call('DELETE', path)).status, 204, path);
    return (api.fake.sent.at(-1)?.body as DataDelete).filter;
  };
  t.strictSame(await filterOf('/alarm/alarms?type=r1&type=r2,%20r3'), { type: 'r1,r2,r3' });
  t.strictSame(await filterOf('/alarm/alarms?severity=MAJOR&severity=MINOR&status=ACTIVE,CLEARED'), {
    severity: 'MAJOR,MINOR',
    status: 'ACTIVE,CLEARED',
  });
  t.strictSame(await filterOf('/event/events?type=a,b&type=c'), { type: 'a,b' }, 'the first one, as in the list');
  t.strictSame(
    await filterOf('/devicecontrol/operations?status=PENDING&status=FAILED'),
    { status: 'PENDING' },
    'the first one, as in the list',
  );
});

t.test('filters without effect select nothing rather than everything', async (t) => {
  const api = await startApi(t);
  const isRefused = async (method: string, path: string, message: RegExp): Promise<void> => {
    const reply = await api.call(method, path, method === 'PUT' ? { body: { status: 'CLEARED' } } : {});
    t.equal(reply.status, 422, `${method} ${path}`);
    t.match(reply.json.message, message, `${method} ${path}`);
  };
  for (const path of COLLECTIONS)
    await isRefused(
      'DELETE',
      `${path}?dateFrom=2024-05-02&dateTo=`,
      /parameter dateTo .* an empty filter would select everything/,
    );
  for (const path of COLLECTIONS.slice(0, 3)) await isRefused('DELETE', `${path}?source=`, /parameter source /);
  for (const name of ['deviceId', 'agentId', 'bulkOperationId', 'fragmentType'])
    await isRefused('DELETE', `/devicecontrol/operations?${name}`, new RegExp(`parameter ${name} `));
  await isRefused('DELETE', '/alarm/alarms?source=&source=1', /parameter source /);
  await isRefused('DELETE', '/measurement/measurements?valueFragmentSeries=T', /valueFragmentType/);
  for (const method of ['DELETE', 'PUT']) {
    await isRefused(
      method,
      '/alarm/alarms?withSourceDevices=true',
      /parameter withSourceDevices has the value true; it takes effect only together with source/,
    );
    await isRefused(method, '/alarm/alarms?severity=,&status=ACTIVE', /parameter severity /);
    await isRefused(method, '/alarm/alarms?source=&status=ACTIVE', /parameter source /);
  }
  t.strictSame(api.fake.sent, []);
  t.equal((await api.call('DELETE', '/event/events')).status, 204, 'nothing that was passed over: everything is meant');
});

t.test('a hierarchy that is too large for one DELETE is refused as a whole; lists and changes take it', async (t) => {
  const api = await startApi(t);
  for (let child = 2; child <= 10_001; child += 1) api.fake.put('children', `1\nchildDevices\n${child}`, '1');
  const query = 'source=1&withSourceDevices=true';
  for (const path of ['/event/events', '/alarm/alarms']) {
    const reply = await api.call('DELETE', `${path}?${query}`);
    t.match(
      reply,
      {
        status: 422,
        json: {
          error: 'general/Invalid Data',
          message: /hierarchy of 1 has more than 10000 objects \(http\/hierarchy-objects\)/,
        },
      },
      path,
    );
  }
  t.strictSame(api.fake.sent, [], 'nothing was deleted');
  t.strictSame(
    api.fake.counted,
    Array.from({ length: 2 }, () => 'http/hierarchy-objects'),
  );
  for (const path of ['/event/events', '/event/events/count', '/alarm/alarms', '/alarm/alarms/count']) {
    t.equal((await api.call('GET', `${path}?${query}`)).status, 200, path);
    t.match(api.fake.asked.at(-1), { sql: /RECURSIVE/ }, path);
    t.ok(
      Object.values(api.fake.asked.at(-1)?.params ?? {}).every((value) => [value].flat().length < 10),
      'none of them is bound',
    );
  }
  t.equal((await api.call('PUT', `/alarm/alarms?${query}`, { body: { status: 'CLEARED' } })).status, 202);
  const [job] = (api.fake.sent.at(-1)?.body as RecordsChange).changes;
  t.match(JSON.parse(job.value as string), { selection: { sources: null, below: { root: 1, wanted: 'devices' } } });
});

t.test('so many deletions of much data at once in a tenant', async (t) => {
  const api = await startApi(t);
  for (let index = 0; index < DATA_DELETIONS_MAX; index += 1)
    api.fake.put('job', `${DATA_DELETION_PREFIX}${index}`, '{}');
  t.match(await api.call('DELETE', '/event/events?type=a'), { status: 503, json: { message: /deletions\/under-way/ } });
  t.ok(api.fake.counted.includes('deletions/under-way'));
  t.equal(api.fake.sent.length, 0);
});
