/**
 * Pages of lists from the engine: by the order that it keeps, with versions, tombstones and filters, compared with the
 * plain statement.
 */
import t from 'tap';
import type { Test } from 'tap';
import { documentPage } from '../../../src/history/page.ts';
import type { DocumentPage } from '../../../src/history/page.ts';
import { HistoryFilter } from '../../../src/history/filter.ts';
import type { MutableTable } from '../../../src/history/filter.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { ClickHouseHistoryReader } from '../../../src/store/clickhouse/reader.ts';
import { addProjections } from '../../../src/store/clickhouse/projections.ts';
import { documentBatches } from '../../../src/history/batches.ts';
import type { ExportReaders } from '../../../src/history/readers.ts';
import type { HistoryStatement } from '../../../src/ports/history-reader.ts';
import { TotalCache } from '../../../src/history/total-cache.ts';
import { PROJECTIONS } from '../../../src/store/clickhouse/schema.ts';
import { checkStatement } from '../../helpers/history-statement.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';

const EVENTS = 40_000;
const START = Date.UTC(2026, 0, 1);
const { client, writer } = await openClickHouse(t);
const reader = new ClickHouseHistoryReader(client, writer, async () => undefined, { warn: () => undefined });
const asked: string[] = [];
const counted: string[] = [];
/** Texts that the documents have, by id. */
const documents = new Map<string, string>();
const history = {
  query: <Row>(statement: HistoryStatement) => {
    checkStatement(statement);
    asked.push(statement.sql);
    return reader.query<Row>(statement);
  },
  stream: () => Promise.reject(new Error('not a part of these tests')),
};
const readers: ExportReaders = {
  tenant: 1,
  history,
  later: history,
  inTurn: (run) => run(),
  documents: {
    getMany: (_collection: string, _tenant: number, ids: readonly string[]) => ids.map((id) => documents.get(id)),
  } as unknown as ExportReaders['documents'],
  refusals: { count: (limit: string) => void counted.push(limit) },
  totals: new TotalCache(Date.now),
  textBytesMax: 1024 * 1024,
};

const statementOf = (sql: string): HistoryStatement => ({ sql, params: {}, tables: [], tenant: undefined });

const page = (size: number, current = 1, wantsTotal = false) => ({
  size,
  current,
  offset: (current - 1) * size,
  wantsTotal,
});

/** Three events have each time; a third of all is changed later, a seventh deleted, one in two thousand is rare. */
async function insertEvents(): Promise<void> {
  const common = `1 AS tenant, toUInt64(1000 + number) AS id, toUInt64(1 + number % 10) AS source,
    fromUnixTimestamp64Milli(toInt64(${START} + intDiv(number * 7919 % ${EVENTS}, 3) * 1000), 'UTC') AS time, time AS creation_time, time AS last_updated`;
  const columns =
    'tenant, id, source, time, creation_time, last_updated, type, fragments, doc, version, deleted, shard, seq';
  const insert = (rest: string, where: string): Promise<void> =>
    client.command(
      `INSERT INTO events (${columns}) SELECT ${columns} FROM (SELECT ${common}, ${rest}, 0 AS shard, 1 AS seq FROM numbers(${EVENTS}) WHERE ${where})`,
    );
  await insert(
    "if(number % 2000 = 1, 'rare', 'common') AS type, ['a'] AS fragments, concat('{\"n\":', toString(number), '}') AS doc, 1 AS version, 0 AS deleted",
    '1',
  );
  await insert(
    "if(number % 2000 = 1, 'rare', 'common') AS type, ['b'] AS fragments, concat('{\"m\":', toString(number), '}') AS doc, 2 AS version, 0 AS deleted",
    'number % 3 = 0',
  );
  await insert("'' AS type, [] AS fragments, '{}' AS doc, 3 AS version, 1 AS deleted", 'number % 7 = 0');
}

async function compare(
  t: Test,
  table: MutableTable,
  make: () => HistoryFilter,
  size: number,
  current: number,
  isDescending: boolean,
): Promise<DocumentPage> {
  const filter = make();
  const direction = isDescending ? ' DESC' : '';
  const wanted = await client.query<{ entityId: string; doc: string }>(
    `SELECT toString(id) AS entityId, doc FROM ${table} FINAL WHERE ${filter.where} ` +
      `ORDER BY time${direction}, id${direction} LIMIT ${size} OFFSET ${(current - 1) * size}`,
    filter.params,
  );
  const found = await documentPage(readers, table, make(), { isDescending }, page(size, current, true));
  t.strictSame(found.rows, wanted);
  const total = make();
  const [{ all }] = await client.query<{ all: number }>(
    `SELECT count() AS all FROM ${table} FINAL WHERE ${total.where}`,
    total.params,
  );
  t.equal(found.total, all);
  return found;
}

t.test('a table of an older version gets its projection, once, and old parts too', async (t) => {
  const [{ table, name }] = PROJECTIONS;
  await client.command(`ALTER TABLE ${table} DROP PROJECTION ${name}`);
  await insertEvents();
  await addProjections(client);
  const without = (): Promise<{ parts: number }[]> =>
    client.query(
      `SELECT count() AS parts FROM system.parts WHERE table = 'events' AND active AND rows > 0 AND NOT has(projections, '${name}')`,
    );
  while (Number((await without())[0].parts) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const mutations = (): Promise<{ n: number }[]> =>
    client.query("SELECT count() AS n FROM system.mutations WHERE table = 'events'");
  const [before] = await mutations();
  await addProjections(client);
  t.strictSame(await mutations(), [before], 'nothing is left to do');
});

t.test('pages by time are those of the plain statement', async (t) => {
  const make: Record<string, () => HistoryFilter> = {
    all: () => new HistoryFilter(1),
    source: () => new HistoryFilter(1).idIn('source', ['3']),
    sources: () => new HistoryFilter(1).idIn('source', ['3', '8']),
    type: () => new HistoryFilter(1).text('type', 'common'),
    rare: () => new HistoryFilter(1).text('type', 'rare'),
    none: () => new HistoryFilter(1).text('type', 'unknown'),
    'changed since': () => new HistoryFilter(1).fragment('b'),
    'no longer': () => new HistoryFilter(1).fragment('a').idIn('source', ['4']),
    dates: () =>
      new HistoryFilter(1).time('time', START + 1_000_000, START + 3_000_000).time('creation_time', START, undefined),
    document: () => new HistoryFilter(1).add("JSONHas(doc, 'm')"),
    'other tenant': () => new HistoryFilter(9),
  };
  for (const [name, filter] of Object.entries(make)) {
    await t.test(name, async (t) => {
      for (const isDescending of [true, false]) {
        for (const [size, current] of [
          [5, 1],
          [100, 50],
          [2_000, 17],
        ] as const)
          await compare(t, 'events', filter, size, current, isDescending);
      }
    });
  }
});

t.test('rows of deep pages are not verified where reading the table costs less', async (t) => {
  const how = async (make: () => HistoryFilter, current: number): Promise<string[]> => {
    asked.length = 0;
    await documentPage(readers, 'events', make(), { isDescending: true }, page(100, current));
    return asked
      .filter((sql) => !sql.includes('entityId, doc '))
      .map((sql) => (sql.includes('system.parts') ? 'size' : sql.includes('FINAL') ? 'whole' : 'window'));
  };
  const common = (): HistoryFilter => new HistoryFilter(1).text('type', 'common');
  t.strictSame(await how(common, 10), ['window'], 'few rows');
  t.strictSame(await how(common, 200), ['size', 'whole'], '21,100 rows of a table of 60,000');
  t.equal((await how(() => new HistoryFilter(1), 200))[0], 'window', 'nothing has to be verified');
  t.equal((await how(() => new HistoryFilter(1).fragment('none'), 200))[0], 'window', 'a fragment');
  const [{ rows }] = await client.query<{ rows: number }>(
    "SELECT sum(rows) AS rows FROM system.parts WHERE table = 'events' AND active",
  );
  readers.totals.total = async (_key, count) => (await count(), 9_000_000);
  t.teardown(() => {
    delete (readers.totals as Partial<TotalCache>).total;
  });
  t.ok(Number(rows) > 40_000);
  t.strictSame((await how(common, 200)).slice(0, 2), ['size', 'window'], '21,100 rows of a table of 9 million');
});

/** A fifth is repeated at another time, a third cleared, some deleted. */
async function insertAlarms(): Promise<void> {
  const columns =
    'tenant, id, source, time, creation_time, last_updated, type, status, severity, fragments, doc, version, deleted, shard, seq';
  const insert = (time: string, rest: string, where: string): Promise<void> =>
    client.command(`INSERT INTO alarms (${columns}) SELECT ${columns} FROM (SELECT 1 AS tenant, toUInt64(1000 + number) AS id, toUInt64(1 + number % 10) AS source,
      fromUnixTimestamp64Milli(toInt64(${START} + (${time}) * 1000), 'UTC') AS time, time AS creation_time, time AS last_updated, 'a' AS type,
      ['MAJOR', 'MINOR'][1 + number % 2] AS severity, ['f'] AS fragments, ${rest}, 0 AS shard, 1 AS seq FROM numbers(${EVENTS}) WHERE ${where})`);
  const doc = (version: number): string =>
    `concat('{"v":${version},"n":', toString(number), '}') AS doc, ${version} AS version`;
  const first = `intDiv(number * 7919 % ${EVENTS}, 3)`;
  await insert(first, `'ACTIVE' AS status, ${doc(1)}, 0 AS deleted`, '1');
  await insert(`${first} + 20000 - number`, `'ACTIVE' AS status, ${doc(2)}, 0 AS deleted`, 'number % 5 = 0');
  await insert(first, `'CLEARED' AS status, ${doc(3)}, 0 AS deleted`, 'number % 3 = 0');
  await insert('0', `'' AS status, ${doc(4)}, 1 AS deleted`, 'number % 7 = 0');
  // Told twice, as after a crash.
  await insert(first, `'CLEARED' AS status, ${doc(3)}, 0 AS deleted`, 'number % 21 = 3');
}

t.test('pages of what moves in time, too', async (t) => {
  await insertAlarms();
  const make: Record<string, () => HistoryFilter> = {
    all: () => new HistoryFilter(1),
    source: () => new HistoryFilter(1).idIn('source', ['3']),
    ACTIVE: () => new HistoryFilter(1).textIn('status', ['ACTIVE']).textIn('severity', ['MAJOR']),
    CLEARED: () => new HistoryFilter(1).textIn('status', ['CLEARED']),
    dates: () => new HistoryFilter(1).time('time', START + 1_000_000, START + 3_000_000),
    none: () => new HistoryFilter(1).textIn('status', ['ACKNOWLEDGED']),
    document: () => new HistoryFilter(1).add("JSONExtractInt(doc, 'v') = 2"),
  };
  for (const [name, filter] of Object.entries(make)) {
    await t.test(name, async (t) => {
      for (const isDescending of [true, false]) {
        for (const [size, current] of [
          [5, 1],
          [100, 50],
          [2_000, 9],
        ] as const)
          await compare(t, 'alarms', filter, size, current, isDescending);
      }
    });
  }
  asked.length = 0;
  await documentPage(readers, 'alarms', new HistoryFilter(1), { isDescending: true }, page(5));
  t.notMatch(asked[0], /FINAL/);
});

t.test('the first page is read from the order by time, and a page that is not full is counted by itself', async (t) => {
  asked.length = 0;
  await documentPage(readers, 'events', new HistoryFilter(1), { isDescending: true }, page(5));
  const plan = await client.query<{ explain: string }>(`EXPLAIN ${asked[0]}`, { tenant: 1, p0: 1005, p1: 5, p2: 0 });
  t.match(plan.map(({ explain }) => explain).join('\n'), /by_time/);
  asked.length = 0;
  t.match(
    await documentPage(
      readers,
      'events',
      new HistoryFilter(1).text('type', 'rare'),
      { isDescending: true },
      page(100, 1, true),
    ),
    { total: 17, isFull: false },
  );
  t.notMatch(asked.join('\n'), /SELECT count\(\) AS total/);
});

t.test(
  'an export reads pieces of keys without texts, each behind the one before, and batches of texts that are bounded',
  async (t) => {
    asked.length = 0;
    const all = await client.query<{ entityId: string; doc: string }>(
      'SELECT toString(id) AS entityId, doc FROM events FINAL WHERE tenant = 1 ORDER BY source, time, id',
    );
    for (const { entityId, doc } of all.slice(20)) documents.set(entityId, doc);
    const rows: (readonly string[])[] = [];
    for await (const batch of documentBatches(readers, 'events', new HistoryFilter(1))) {
      t.ok(batch.length <= 200);
      rows.push(...batch);
    }
    t.ok(rows.length > 20_000, 'more than a piece');
    t.strictSame(
      rows,
      all.map(({ entityId, doc }) => [entityId, doc]),
    );
    const pieces = asked.filter((sql) => sql.includes('LIMIT 20000'));
    t.equal(pieces.length, 2);
    for (const sql of pieces) t.notMatch(sql, /\bdoc\b/, 'only columns of the key');
    const plan = await client.query<{ explain: string }>(
      `EXPLAIN indexes = 1 SELECT id FROM events WHERE tenant = 1 AND ((source > 5) OR (source = 5 AND id > 0))`,
    );
    t.match(plan.map(({ explain }) => explain).join('\n'), /source/, 'the key is used');
    const some = rows.slice(0, 40).map(([id]) => id);
    for (const id of some) documents.set(id, `{"large":"${'x'.repeat(1024 * 1024)}"}`);
    const sizes: number[] = [];
    for await (const batch of documentBatches(readers, 'events', new HistoryFilter(1).idIn('id', some)))
      sizes.push(batch.length);
    documents.clear();
    t.strictSame(
      sizes,
      Array.from({ length: 10 }, () => 4),
      '4 MiB of texts at a time',
    );
  },
);

t.test('texts come from the documents; those that are missing there from the history; both are bounded', async (t) => {
  const first = await documentPage(readers, 'events', new HistoryFilter(1), { isDescending: true }, page(3));
  documents.set(first.rows[1].entityId, '{"newer":1}');
  const again = await documentPage(readers, 'events', new HistoryFilter(1), { isDescending: true }, page(3));
  t.strictSame(again.rows, [first.rows[0], { entityId: first.rows[1].entityId, doc: '{"newer":1}' }, first.rows[2]]);
  const large = { code: 'general/page-too-large', details: { limit: 64 * 1024 * 1024 } };
  const keys = await documentPage(readers, 'events', new HistoryFilter(1), { isDescending: true }, page(70));
  for (const { entityId } of keys.rows) documents.set(entityId, `{"large":"${'x'.repeat(1024 * 1024)}"}`);
  await t.rejects(
    documentPage(readers, 'events', new HistoryFilter(1), { isDescending: true }, page(70)),
    large,
    'of the documents',
  );
  documents.clear();
  await client.command(
    "INSERT INTO events (tenant, id, source, doc, version) SELECT 2, number, 1, repeat('x', 1000000), 1 FROM numbers(80)",
  );
  await t.rejects(
    documentPage(readers, 'events', new HistoryFilter(2), { isDescending: true }, page(80)),
    large,
    'of the history',
  );
  t.strictSame(counted, ['lists/page-bytes', 'lists/page-bytes']);
  t.equal(
    (await documentPage(readers, 'events', new HistoryFilter(2), { isDescending: true }, page(20))).rows.length,
    20,
    'a smaller page',
  );
  t.ok(new PlatformError('general/page-too-large', { limit: 1 }).message.includes('pageSize'));
});

t.test('rows can still be deleted, and tables merged', async (t) => {
  await writer.deleteTenant(2);
  t.equal(await reader.hasTenant(2), false);
  await client.command('OPTIMIZE TABLE events FINAL');
  await client.command('DELETE FROM events WHERE tenant = 1 AND source = 3');
  const found = await compare(t, 'events', () => new HistoryFilter(1), 100, 3, true);
  t.ok(found.isFull);
  t.strictSame(
    (await documentPage(readers, 'events', new HistoryFilter(1).idIn('source', ['3']), { isDescending: true }, page(5)))
      .rows,
    [],
  );
});

t.test('a query that is too large is refused for what it is, not for the store', async (t) => {
  const slow = 'SELECT count() AS n FROM system.numbers WHERE sipHash64(number) = 1 SETTINGS max_execution_time = 0.05';
  await t.rejects(reader.query(statementOf(slow)), {
    code: 'general/query-too-large',
    status: 413,
    message: /^Query exceeded execution time: .*narrower/,
  });
  const large = 'SELECT length(groupArray(number)) AS n FROM numbers(50000000) SETTINGS max_memory_usage = 10000000';
  await t.rejects(reader.query(statementOf(large)), {
    code: 'general/query-too-large',
    status: 413,
    message: /memory.*narrower/,
  });
  await t.rejects(reader.query(statementOf('SELECT nothing')), { code: 'general/history-unavailable', status: 503 });
});
