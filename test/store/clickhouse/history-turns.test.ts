/**
 * Heavy queries of one user, and of one tenant, leave the engine to the others: turns, the time limit, the memory of
 * the whole engine.
 */
import t from 'tap';
import type { BytesReader, HistoryReader, HistoryStatement } from '../../../src/ports/history-reader.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import { ClickHouseHistoryReader } from '../../../src/store/clickhouse/reader.ts';
import { READ_SESSIONS, historyBounds } from '../../../src/store/clickhouse/history-bounds.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';
import { until } from '../../helpers/until.ts';

const MEMORY_BYTES_MAX = 300 * 1024 * 1024;
/** Never ends by itself. */
const HEAVY = 'SELECT count() AS n FROM system.numbers WHERE sleepEachRow(0.02) = 1 SETTINGS max_block_size = 1';
const QUICK = 'SELECT 1 AS n';

const { client, writer } = await openClickHouse(t, { readSessions: READ_SESSIONS, memoryBytesMax: MEMORY_BYTES_MAX });
const counted: string[] = [];
const logged: object[] = [];
const statementOf = (sql: string): HistoryStatement => ({ sql, params: {}, tables: [], tenant: undefined });

/** @param queryMsMax long, unless the test waits for it. */
function readerOf(queryMsMax = 600_000): {
  reader: HistoryReader & BytesReader;
  bounds: ReturnType<typeof historyBounds>;
} {
  const bounds = historyBounds('embedded', queryMsMax, { count: (limit) => void counted.push(limit) });
  return {
    reader: new ClickHouseHistoryReader(
      client,
      writer,
      async () => undefined,
      { warn: (details: object) => void logged.push(details) },
      bounds,
    ),
    bounds,
  };
}
const heavyUnderWay = async (): Promise<number> =>
  Number(
    (
      await client.query<{ n: number }>(
        "SELECT count() AS n FROM system.processes WHERE query LIKE '%system.numbers%' AND query NOT LIKE '%processes%'",
      )
    )[0].n,
  );
const noneIsLeft = (): Promise<void> => until('heavy queries ended', async () => (await heavyUnderWay()) === 0);

t.test('a user, and a tenant, with heavy queries leave others their turns', async (t) => {
  const { reader, bounds } = readerOf();
  const clients: AbortController[] = [];
  const ask = (tenant: number, user: string): Promise<unknown> => {
    const left = new AbortController();
    clients.push(left);
    return reader.query(statementOf(HEAVY), { tenant, user, signal: left.signal }).catch((error: unknown) => error);
  };
  const ofA = Array.from({ length: 20 }, () => ask(1, 'a'));
  t.same(await reader.query(statementOf(QUICK), { tenant: 1, user: 'b' }), [{ n: 1 }], 'another user of the tenant');
  const ofB = Array.from({ length: 20 }, () => ask(1, 'b'));
  t.same(await reader.query(statementOf(QUICK), { tenant: 2, user: 'a' }), [{ n: 1 }], 'another tenant');
  await until('four heavy queries', async () => (await heavyUnderWay()) === 4);
  t.same([bounds.turns.runningCount, bounds.turns.waitingCount], [4, 36], 'a tenant runs four at once');
  t.same((await client.query('SELECT 2 AS n'))[0], { n: 2 }, "the server's own queries have a session");
  for (const one of clients) one.abort();
  const refused = await Promise.all([...ofA, ...ofB]);
  t.ok(
    refused.every((error) => error instanceof PlatformError && /left/.test(error.message)),
    'their clients have left',
  );
  await noneIsLeft();
  t.same([bounds.turns.runningCount, bounds.turns.waitingCount], [0, 0]);
  t.same(counted, []);
});

t.test('rows that are read as bytes have a bound, and end with their signal', async (t) => {
  const { reader, bounds } = readerOf();
  const numbers = (count: number): HistoryStatement => statementOf(`SELECT number FROM numbers(${count})`);
  t.equal((await reader.bytes(numbers(10), { bytesMax: 80 })).length, 80);
  await t.rejects(reader.bytes(numbers(11), { bytesMax: 80 }), {
    code: 'general/query-too-large',
    message: /more than 80 bytes/,
  });
  const end = new AbortController();
  const asker = { tenant: 1, user: '', signal: end.signal };
  const ended = t.rejects(reader.bytes(statementOf(HEAVY), { asker, bytesMax: 80 }), {
    code: 'general/history-unavailable',
  });
  await until('it runs', async () => (await heavyUnderWay()) === 1);
  end.abort();
  await ended;
  await noneIsLeft();
  t.equal(bounds.turns.runningCount, 0);
});

t.test('a query ends at its time limit, in the engine too', async (t) => {
  const { reader } = readerOf(1_000);
  await t.rejects(reader.query(statementOf(HEAVY), { tenant: 7, user: 'a' }), {
    code: 'general/query-too-large',
    status: 413,
    message: /history\/query-time.*--history-query-max-ms.*dateFrom and dateTo/,
  });
  t.same(counted.splice(0), ['history/query-time']);
  t.match(logged.at(-1), { code: 159, tenant: 7, user: 'a' });
  await noneIsLeft();
  t.same(await reader.query(statementOf(QUICK), { tenant: 7, user: 'a' }), [{ n: 1 }]);
});

t.test('a wait for a turn ends at the same limit', async (t) => {
  const { reader, bounds } = readerOf(1_000);
  for (let index = 0; index < 3; index += 1) void bounds.turns.begin(7, 'a');
  await t.rejects(reader.query(statementOf(QUICK), { tenant: 7, user: 'a' }), {
    code: 'general/busy',
    status: 503,
    message: /history\/queries-wait .*dateFrom and dateTo/,
  });
  t.same(counted.splice(0), ['history/queries-wait']);
});

t.test('the memory setting is that of the whole engine', async (t) => {
  const { reader } = readerOf();
  const [{ n }] = await reader.query<{ n: string }>(
    statementOf("SELECT value AS n FROM system.server_settings WHERE name = 'max_server_memory_usage'"),
  );
  t.equal(Number(n), MEMORY_BYTES_MAX);
  const large = 'SELECT length(groupArray(number)) AS n FROM numbers(100000000)';
  await t.rejects(
    reader.query(statementOf(large)),
    { code: 'general/query-too-large', message: /history\/query-memory/ },
    'one statement may take half',
  );
  await t.rejects(reader.query(statementOf(`${large} SETTINGS max_memory_usage = 0`)), {
    code: 'general/history-unavailable',
    message: /all memory/,
  });
  t.same(await reader.query(statementOf(QUICK)), [{ n: 1 }]);
});
