/** An embedded ClickHouse with the server's tables, in a scratch directory, for tests of queries. */
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Log } from '../../../src/ports/log.ts';
import { ClickHouse } from '../../../src/store/clickhouse/adapter.ts';
import { ClickHouseHistoryWriter } from '../../../src/store/clickhouse/writer.ts';
import { EmbeddedClickHouse } from '../../../src/store/embedded-clickhouse/supervisor.ts';
import { DIST } from '../root.ts';
import { scratchDirectory } from '../setup-command.ts';

const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => silent };

export interface OpenClickHouse {
  readonly client: ClickHouse;
  readonly writer: ClickHouseHistoryWriter;
  readonly url: string;
  readonly embedded: EmbeddedClickHouse;
  /** Where the engine keeps its tables. */
  readonly data: string;
}

/** Ended with the test. */
export async function openClickHouse(
  t: Test,
  options: { readonly readSessions?: number; readonly memoryBytesMax?: number } = {},
): Promise<OpenClickHouse> {
  const directory = scratchDirectory(t);
  const data = join(directory, 'data');
  const embedded = new EmbeddedClickHouse({
    directory: data,
    log: silent,
    readSessions: 2,
    waitingMax: 8,
    childPath: join(DIST, 'src/store/embedded-clickhouse/child.js'),
    ...options,
  });
  const url = await embedded.start();
  const client = new ClickHouse({ url, log: silent });
  t.teardown(async () => {
    await client.close();
    await embedded.stop();
  });
  const writer = new ClickHouseHistoryWriter(client);
  await writer.createTables();
  return { client, writer, url, embedded, data };
}
