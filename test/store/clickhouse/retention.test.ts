/**
 * Removal of rows on the real engine: whole parts are dropped, also when there is no room; what has to be written anew
 * then waits.
 */
import t from 'tap';
import { refusedBy } from '../../../src/model/errors.ts';
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
