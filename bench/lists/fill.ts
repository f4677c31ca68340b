/**
 * Writes the data of the scenario `lists` straight into the stores of a server that is stopped: rows made in the
 * engine, documents read back.
 */
import { join } from 'node:path';
import type { Log } from '../../src/ports/log.ts';
import { ClickHouse } from '../../src/store/clickhouse/adapter.ts';
import { EmbeddedClickHouse } from '../../src/store/embedded-clickhouse/supervisor.ts';
import { openLmdb } from '../../src/store/lmdb/environment.ts';
import type { LmdbEnvironment } from '../../src/store/lmdb/environment.ts';
import { CHUNK, fillStatements } from './data.ts';
import type { Sizes } from './data.ts';

const MEMORY_BYTES_MAX = 2 * 1024 ** 3;
const STATEMENT_MS = 600_000;
/** Documents of a transaction. */
const BATCH = 20_000;
const MAP_BYTES = 64 * 1024 ** 3;
/** Keys of the documents (store/lmdb/documents.ts), by table; audit records have none. */
const CODES: Readonly<Record<string, string>> = { managed_objects: 'M', alarms: 'A', events: 'E', operations: 'O' };

/** Key of the tenant that the suite uses. */
const TENANT_KEY = 'T0/t1';

const report = (details: object, message: string): void =>
  void process.stderr.write(`${message} ${JSON.stringify(details)}\n`);
const log: Log = { debug() {}, info() {}, warn: report, error: report, isLevelEnabled: () => false, child: () => log };

export interface Stores {
  readonly clickHouse: ClickHouse;
  readonly lmdb: LmdbEnvironment;
  /** Number of the tenant that the suite uses. */
  readonly tenant: number;
}

/** @param data directory of the server, which has been started once and stopped. */
export async function withStores(data: string, work: (stores: Stores) => Promise<void>): Promise<void> {
  const engine = new EmbeddedClickHouse({ directory: join(data, 'clickhouse'), log, memoryBytesMax: MEMORY_BYTES_MAX });
  const clickHouse = new ClickHouse({ url: await engine.start(), log, requestTimeoutMs: STATEMENT_MS });
  const lmdb = openLmdb(join(data, 'documents'), { mapSizeBytes: MAP_BYTES });
  try {
    const { number: tenant } = JSON.parse(lmdb.documents.get(TENANT_KEY)!) as { number: number };
    await work({ clickHouse, lmdb, tenant });
  } finally {
    await lmdb.close();
    await clickHouse.close();
    await engine.stop();
  }
}

/** @param data as for `withStores`. @param endMs the latest time of the data. */
export function fill(data: string, sizes: Sizes, endMs: number, progress: (text: string) => void): Promise<void> {
  return withStores(data, async ({ clickHouse, lmdb, tenant }) => {
    for (const { table, from, rows, firstId, sql } of fillStatements(sizes, endMs, tenant)) {
      progress(`lists: ${table} ${from + rows}`);
      await clickHouse.command(sql);
      await copyDocuments(clickHouse, lmdb, { tenant, table, first: firstId + from });
    }
  });
}

/** Of the rows with ids from `first` on, a chunk of them; of objects also their links. */
async function copyDocuments(
  clickHouse: ClickHouse,
  lmdb: LmdbEnvironment,
  { tenant, table, first }: { tenant: number; table: string; first: number },
): Promise<void> {
  const code = CODES[table];
  if (code === undefined) return;
  const parents = table === 'managed_objects' ? 'parents' : '[] AS parents';
  let batch: { id: number; doc: string; parents: number[] }[] = [];
  const write = async (): Promise<void> => {
    const rows = batch;
    batch = [];
    await lmdb.documents.batch(() => {
      for (const row of rows) {
        void lmdb.documents.put(`${code}${tenant}/${row.id}`, row.doc);
        for (const parent of row.parents) {
          void lmdb.documents.put(`P${tenant}/${row.id}\nchildAssets\n${parent}`, '');
          void lmdb.documents.put(`C${tenant}/${parent}\nchildAssets\n${row.id}`, '');
        }
      }
    });
  };
  const rows = clickHouse.streamRows<{ id: number; doc: string; parents: number[] }>(
    `SELECT id, doc, ${parents} FROM ${table} WHERE tenant = ${tenant} AND id >= ${first} AND id < ${first + CHUNK} ORDER BY id`,
  );
  for await (const some of rows) {
    batch.push(...some);
    if (batch.length >= BATCH) await write();
  }
  await write();
}
