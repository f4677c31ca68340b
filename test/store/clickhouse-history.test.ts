/** The history store on ClickHouse: the contract, and its free space. */
import { statfsSync } from 'node:fs';
import t from 'tap';
import { columnsOf, deleted, historyWriterContract } from '../ingest/history-writer-contract.ts';
import { openClickHouse } from '../helpers/clickhouse.ts';

const { client, writer, data } = await openClickHouse(t);

historyWriterContract(t, 'ClickHouse', async () => {
  for (const table of ['measurements', 'events']) await client.command(`TRUNCATE TABLE ${table}`);
  const values = async (): Promise<number[]> =>
    (await client.query<{ value: number }>('SELECT value FROM measurements ORDER BY value', {})).map(({ value }) => value);
  return { writer, values };
});

t.test('all of a measurement goes when one of its values matches', async (t) => {
  await client.command('TRUNCATE TABLE measurements');
  const at = Date.UTC(2026, 10, 21, 6);
  const values = async (): Promise<number[]> => (await client.query<{ value: number }>('SELECT value FROM measurements ORDER BY value')).map(({ value }) => value);
  await writer.insertMeasurements(columnsOf([{ id: 1, seq: 10, values: [1, -1], time: at }, { id: 2, seq: 20, values: [2], time: at },
    { id: 3, seq: 30, values: [3], tenant: 2, time: at }, { id: 4, seq: 40, values: [4], time: at + 1 }]), 'values');
  await deleted(writer, { tenant: 1, filter: { source: '5', valueFragmentSeries: 's1' }, seq: 100, receivedAt: at });
  t.same(await values(), [2, 3, 4]);
  const time = new Date(at).toISOString();
  await deleted(writer, { tenant: 1, filter: { type: 'T', dateFrom: time, dateTo: time }, seq: 100, receivedAt: at + 1 });
  t.same(await values(), [3, 4]);
});

t.test('free bytes of the disk that has the tables', async (t) => {
  const { bsize, blocks } = statfsSync(data);
  const freeBytes = await writer.freeBytes();
  t.ok(freeBytes > 0 && freeBytes <= blocks * bsize, `${freeBytes} bytes`);
});
