/** The history store on ClickHouse: the contract, and its free space. */
import { statfsSync } from 'node:fs';
import t from 'tap';
import { columnsOf, deleted, historyWriterContract } from '../../ingest/history-writer-contract.ts';
import { openClickHouse } from '../../helpers/stores/clickhouse.ts';
import type { ClickHouse } from '../../../src/store/clickhouse/adapter.ts';
import { synchroniseParts } from '../../../src/store/clickhouse/part-durability.ts';

const { client, writer, data } = await openClickHouse(t);

historyWriterContract(t, 'ClickHouse', async () => {
  for (const table of ['measurements', 'events']) await client.command(`TRUNCATE TABLE ${table}`);
  const values = async (): Promise<number[]> =>
    (await client.query<{ value: number }>('SELECT value FROM measurements ORDER BY value', {})).map(
      ({ value }) => value,
    );
  return { writer, values };
});

t.test('all of a measurement goes when one of its values matches', async (t) => {
  await client.command('TRUNCATE TABLE measurements');
  const at = Date.UTC(2026, 10, 21, 6);
  const values = async (): Promise<number[]> =>
    (await client.query<{ value: number }>('SELECT value FROM measurements ORDER BY value')).map(({ value }) => value);
  await writer.insertMeasurements(
    columnsOf([
      { id: 1, seq: 10, values: [1, -1], time: at },
      { id: 2, seq: 20, values: [2], time: at },
      { id: 3, seq: 30, values: [3], tenant: 2, time: at },
      { id: 4, seq: 40, values: [4], time: at + 1 },
    ]),
    'values',
  );
  await deleted(writer, { tenant: 1, filter: { source: '5', valueFragmentSeries: 's1' }, seq: 100, receivedAt: at });
  t.same(await values(), [2, 3, 4]);
  const time = new Date(at).toISOString();
  await deleted(writer, {
    tenant: 1,
    filter: { type: 'T', dateFrom: time, dateTo: time },
    seq: 100,
    receivedAt: at + 1,
  });
  t.same(await values(), [3, 4]);
});

t.test('free bytes of the disk that has the tables', async (t) => {
  const { bsize, blocks } = statfsSync(data);
  const freeBytes = await writer.freeBytes();
  t.ok(freeBytes > 0 && freeBytes <= blocks * bsize, `${freeBytes} bytes`);
});

t.test('a server whose tables are not synchronised gets the settings for each that lacks them', async (t) => {
  const commands: string[] = [];
  const server = (defaults: readonly { name: string; value: string }[]): ClickHouse =>
    ({
      query: async (sql: string) =>
        sql.includes('merge_tree_settings')
          ? defaults
          : [
              {
                name: 'events',
                definition: 'MergeTree ORDER BY id SETTINGS index_granularity = 8192, fsync_after_insert = 1',
              },
              {
                name: 'alarms',
                definition: 'MergeTree ORDER BY id SETTINGS fsync_after_insert = 1, min_rows_to_fsync_after_merge = 1',
              },
            ],
      command: async (sql: string) => {
        commands.push(sql);
      },
    }) as unknown as ClickHouse;
  await synchroniseParts(
    server([
      { name: 'fsync_after_insert', value: '0' },
      { name: 'min_rows_to_fsync_after_merge', value: '0' },
      { name: 'fsync_part_directory', value: '1' },
    ]),
  );
  t.same(
    commands,
    ['ALTER TABLE events MODIFY SETTING min_rows_to_fsync_after_merge = 1'],
    'what the server does by itself, or does not know, is not set',
  );
});

t.test('the embedded engine synchronises the parts of every table', async (t) => {
  t.same(
    await client.query(
      `SELECT name, value FROM system.merge_tree_settings WHERE name LIKE '%fsync%' AND name NOT LIKE '%fetch' AND name NOT LIKE 'write_ahead%' ORDER BY name`,
    ),
    [
      { name: 'fsync_after_insert', value: '1' },
      { name: 'fsync_part_directory', value: '1' },
      { name: 'min_compressed_bytes_to_fsync_after_merge', value: '1' },
      { name: 'min_rows_to_fsync_after_merge', value: '1' },
    ],
  );
});
