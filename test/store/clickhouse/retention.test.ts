/**
 * Removal of rows on the real engine: whole parts are dropped, also when there is no room; what has to be written anew
 * then waits.
 */
import t from 'tap';
import { refusedBy } from '../../../src/model/errors.ts';
import type { ClickHouse } from '../../../src/store/clickhouse/adapter.ts';
import { ClickHouseRetention } from '../../../src/store/clickhouse/retention.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';

const OLD = { dataType: 'AUDIT', fragmentType: '*', type: '*', source: '*', before: Date.UTC(2024, 5, 1) } as const;

t.test('with no room whole parts go, and the rest stays until there is some', async (t) => {
  const { client } = await openClickHouse(t);
  await client.command('SYSTEM STOP MERGES audits');
  // The second part is of two tenants.
  for (const [first, tenants] of [
    [0, '2'],
    [100, 'if(number % 2 = 0, 2, 3)'],
  ]) {
    await client.command(`INSERT INTO audits (tenant, id, source, type, time, creation_time, doc, version)
      SELECT ${tenants}, number + ${first}, '7', 'Event', toDateTime64('2024-01-05', 3, 'UTC'), toDateTime64('2024-01-05', 3, 'UTC'), '{}', 1 FROM numbers(100)`);
  }
  const counts = (): Promise<{ tenant: number; rows: number }[]> =>
    client.query('SELECT tenant, count() AS rows FROM audits GROUP BY tenant ORDER BY tenant');
  const retention = new ClickHouseRetention(client);
  await t.rejects(
    retention.removeMonth('AUDIT', 2, OLD, '202401', () => {
      throw refusedBy('disk/free-bytes');
    }),
    { code: 'general/disk-full' },
  );
  t.same(await counts(), [
    { tenant: 2, rows: 50 },
    { tenant: 3, rows: 50 },
  ]);
  await client.command('SYSTEM START MERGES audits');
  let asked = 0;
  await retention.removeMonth('AUDIT', 2, OLD, '202401', () => {
    asked += 1;
  });
  await retention.removeMonth('AUDIT', 2, OLD, '202401', () => {
    asked += 1;
  });
  t.same([await counts(), asked], [[{ tenant: 3, rows: 50 }], 1], 'nobody asks for room when nothing is left');
});

t.test('who keeps measurements in memory is told from the first look at the rows to the end', async (t) => {
  const told: string[] = [];
  const tell =
    (what: string) =>
    (tenant: number, deletion: string): void =>
      void told.push(`${what} ${tenant} ${deletion}`);
  const watch = { hold: tell('hold'), leave: tell('leave'), release: tell('release') };
  let answer = (): Promise<unknown[]> => Promise.resolve([]);
  const query = (): Promise<unknown[]> => {
    told.push('query');
    return answer();
  };
  const retention = new ClickHouseRetention({ query } as unknown as ClickHouse, watch);
  await retention.removeMonth('MEASUREMENT', 2, OLD, '202401');
  t.same(told.splice(0), ['hold 2 retention/2/202401', 'query', 'query', 'release 2 retention/2/202401']);
  answer = () => Promise.reject(new Error('away'));
  await t.rejects(retention.removeMonth('MEASUREMENT', 2, OLD, '202401'), { message: 'away' });
  t.same(told.splice(0), ['hold 2 retention/2/202401', 'query', 'leave 2 retention/2/202401']);
  await t.rejects(retention.removeMonth('AUDIT', 2, OLD, '202401'), { message: 'away' });
  t.same(told, ['query']);
});
