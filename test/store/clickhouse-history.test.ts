/** The history store on ClickHouse: the contract. */
import t from 'tap';
import { historyWriterContract } from '../ingest/history-writer-contract.ts';
import { openClickHouse } from '../helpers/clickhouse.ts';

const { client, writer } = await openClickHouse(t);

historyWriterContract(t, 'ClickHouse', async () => {
  for (const table of ['measurements', 'events']) await client.command(`TRUNCATE TABLE ${table}`);
  const values = async (): Promise<number[]> =>
    (await client.query<{ value: number }>('SELECT value FROM measurements ORDER BY value', {})).map(({ value }) => value);
  return { writer, values };
});
