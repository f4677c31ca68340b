/**
 * The embedded ClickHouse in a process of its own, for a cluster on a machine without a ClickHouse server:
 * `<directory>` → message `{ url }`.
 */
import { EmbeddedClickHouse } from '../../src/store/embedded-clickhouse/supervisor.ts';
import type { Log } from '../../src/ports/log.ts';

const MEMORY_BYTES_MAX = 1024 ** 3;

const report = (details: object, message: string): void =>
  void process.stderr.write(`${message} ${JSON.stringify(details)}\n`);
const log: Log = { debug() {}, info() {}, warn: report, error: report, isLevelEnabled: () => false, child: () => log };

const engine = new EmbeddedClickHouse({ directory: process.argv[2]!, log, memoryBytesMax: MEMORY_BYTES_MAX });
process.on('SIGTERM', () => void engine.stop().finally(() => process.exit(0)));
process.send!({ url: await engine.start() });
