/**
 * `node node-host.js`: runs the nodes of clusters for end-to-end tests in one warm process, for one test process at a
 * time: starting three processes costs more than most of those tests. The nodes share nothing but the process: each has
 * its own connections to NATS and Redis, which are new for each test process, and to a ClickHouse that goes on, with a
 * database of its own. Writes its port to standard output and ends with standard input.
 *
 * A connection speaks lines of JSON: `{do: 'start', data?, flags}`, `{do: 'stop', data}`; answers are `{data, nodes}`
 * or `{error}`, and `{log}` lines come at any time. When it closes, everything that was started for it ends.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type * as config from '../../../src/config/config.ts';
import type { Log } from '../../../src/ports/log.ts';
import type * as servers from '../../../src/server/start.ts';
import type { RunningServer } from '../../../src/server/start.ts';
import type * as clickHouses from '../../../src/store/clickhouse/adapter.ts';
import type * as engines from '../../../src/store/embedded-clickhouse/supervisor.ts';
import { startNats } from '../stores/nats-server.ts';
import { startRedis } from '../stores/redis-server.ts';
import { DIST } from '../root.ts';
import { clusterSettings } from './running.ts';

/** The built server. */
const built = async <Module>(path: string): Promise<Module> => (await import(join(DIST, 'src', path))) as Module;
const { loadConfig } = await built<typeof config>('config/config.js');
const { startServer } = await built<typeof servers>('server/start.js');
const { ClickHouse } = await built<typeof clickHouses>('store/clickhouse/adapter.js');
const { EmbeddedClickHouse } = await built<typeof engines>('store/embedded-clickhouse/supervisor.js');

const CLICKHOUSE_BYTES_MAX = 2 ** 30;
const NODES = Number(process.env['MILLRACE_TEST_CLUSTER'] ?? 3);

/** One node has the engine on `node:http`: clients meet both. */
const engineOf = (index: number): string =>
  process.env['MILLRACE_HTTP_ENGINE'] ?? (index === NODES - 1 ? 'node' : 'uws');

/** What a test process is told of a node. */
export interface HostedNode {
  readonly httpPort: number;
  readonly mqttPort: number;
  readonly mqttTlsPort?: number;
}
export type HostRequest =
  | {
      readonly do: 'start';
      readonly data?: string;
      readonly flags: readonly string[];
      readonly passwords: { admin: string; management: string };
    }
  | { readonly do: 'stop'; readonly data: string };
export type HostAnswer =
  | { readonly data: string; readonly nodes: readonly HostedNode[] }
  | { readonly error: string }
  | { readonly log: string };

/** Lines as pino writes them, from `warn` on; what is below is not made. */
function logTo(write: (line: string) => void): Log {
  const at =
    (level: number) =>
    (details: object, message: string): void => {
      const plain = Object.fromEntries(
        Object.entries(details).map(([name, value]) => [
          name,
          value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value,
        ]),
      );
      write(JSON.stringify({ level, time: new Date().toISOString(), ...plain, msg: message }));
    };
  const log: Log = {
    debug() {},
    info() {},
    warn: at(40),
    error: at(50),
    isLevelEnabled: (level) => level !== 'debug' && level !== 'info',
    child: () => log,
  };
  return log;
}

/** One cluster: NATS, Redis, a database, and the nodes while they run. */
class HostedCluster {
  readonly data = mkdtempSync(join(tmpdir(), 'millrace-hosted-'));
  readonly #database: string;
  readonly #log: Log;
  readonly #closers: (() => unknown)[] = [];
  #environment: Record<string, string> = {};
  #nodes: RunningServer[] = [];

  constructor(database: string, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  async start(
    clickHouseUrl: string,
    { flags, passwords }: HostRequest & { do: 'start' },
  ): Promise<readonly HostedNode[]> {
    if (this.#closers.length === 0) {
      const later = {
        teardown: (close: () => unknown): void => {
          this.#closers.push(close);
        },
      };
      const nats = await startNats(later);
      const redis = await startRedis(later, '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction');
      this.#environment = {
        ...clusterSettings({ nats: nats.url, redis: redis.url, clickHouse: clickHouseUrl }, passwords),
        MILLRACE_CLICKHOUSE_DATABASE: this.#database,
      };
    }
    const given = Object.fromEntries(
      flags.flatMap((flag, index) => (index % 2 === 0 ? [[flag.slice(2), flags[index + 1]]] : [])),
    );
    const started = await Promise.allSettled(
      Array.from({ length: NODES }, (_, index) => {
        const name = `node-${index + 1}`;
        const { config } = loadConfig({
          flags: {
            host: '127.0.0.1',
            'http-port': '0',
            'mqtt-port': '0',
            'mqtt-tls-port': '0',
            'https-port': '0',
            data: join(this.data, name),
            ...given,
          },
          environment: {
            ...this.#environment,
            MILLRACE_NODE_NAME: name,
            MILLRACE_HTTP_ENGINE: engineOf(index),
            MILLRACE_PASSWORD_COST: '14',
          },
        });
        return startServer(config, this.#log);
      }),
    );
    this.#nodes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    for (const one of started) if (one.status === 'rejected') throw one.reason;
    return this.#nodes.map(({ httpPort, mqttPort, mqttTlsPort }) => ({
      httpPort,
      mqttPort: mqttPort ?? 0,
      ...(mqttTlsPort === undefined ? {} : { mqttTlsPort }),
    }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.splice(0).map((node) => node.stop()));
  }

  async end(clickHouse: clickHouses.ClickHouse): Promise<void> {
    await this.stop();
    for (const close of this.#closers.reverse()) await close();
    await clickHouse.command(`DROP DATABASE IF EXISTS ${this.#database}`);
    rmSync(this.data, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Host {
  #client: Socket | undefined;
  #clusters = new Map<string, HostedCluster>();
  #count = 0;
  #work: Promise<unknown> = Promise.resolve();
  readonly #clickHouseUrl: string;
  readonly #clickHouse: clickHouses.ClickHouse;

  constructor(clickHouseUrl: string, log: Log) {
    this.#clickHouseUrl = clickHouseUrl;
    this.#clickHouse = new ClickHouse({ url: clickHouseUrl, log });
  }

  /** A second test process is sent away: it asks another host. */
  accept(socket: Socket): void {
    if (this.#client !== undefined) {
      socket.end();
      return;
    }
    this.#client = socket;
    const say = (answer: HostAnswer): void => {
      if (socket.writable) socket.write(`${JSON.stringify(answer)}\n`);
    };
    const log = logTo((line) => say({ log: line }));
    socket.write('{}\n');
    socket.on('error', () => socket.destroy());
    createInterface({ input: socket })
      .on('error', () => socket.destroy())
      .on('line', (line) => {
        this.#work = this.#work.then(async () => {
          try {
            say(await this.#do(JSON.parse(line) as HostRequest, log));
          } catch (error) {
            say({ error: (error as Error).stack ?? String(error) });
          }
        });
      });
    socket.on('close', () => {
      this.#work = this.#work
        .then(() => this.clear())
        .finally(() => {
          this.#client = undefined;
        });
    });
  }

  async clear(): Promise<void> {
    const clusters = [...this.#clusters.values()];
    this.#clusters.clear();
    for (const cluster of clusters) {
      await cluster.end(this.#clickHouse).catch((error: unknown) => {
        process.stderr.write(`a cluster did not end in order: ${String(error)}\n`);
      });
    }
  }

  async close(): Promise<void> {
    await this.#work;
    await this.clear();
    await this.#clickHouse.close();
  }

  async #do(request: HostRequest, log: Log): Promise<HostAnswer> {
    let cluster = request.data === undefined ? undefined : this.#clusters.get(request.data);
    if (request.do === 'stop') {
      await cluster?.stop();
      return { data: request.data, nodes: [] };
    }
    if (cluster === undefined) {
      this.#count += 1;
      cluster = new HostedCluster(`hosted_${this.#count}`, log);
      this.#clusters.set(cluster.data, cluster);
    }
    return { data: cluster.data, nodes: await cluster.start(this.#clickHouseUrl, request) };
  }
}

const silent = logTo(() => undefined);
const directory = mkdtempSync(join(tmpdir(), 'millrace-host-'));
mkdirSync(join(directory, 'clickhouse'));
const engine = new EmbeddedClickHouse({
  directory: join(directory, 'clickhouse'),
  log: silent,
  memoryBytesMax: CLICKHOUSE_BYTES_MAX,
});
const host = new Host(await engine.start(), silent);
const server = createServer((socket) => host.accept(socket));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.stdin.resume().once('end', () => {
  server.close();
  void host.close().then(async () => {
    await engine.stop();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    process.exit(0);
  });
});
