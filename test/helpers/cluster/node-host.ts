/**
 * `node node-host.js`: runs servers for end-to-end tests in one warm process, for one test process at a time: starting
 * the processes costs more than most of those tests. A server is one node with embedded engines, or with
 * MILLRACE_TEST_CLUSTER=3 a cluster of three. Nodes share nothing but the process: each has its own LMDB, or its own
 * connections to NATS and Redis, which are new for each test process, and to a ClickHouse that goes on, with a
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
import type { HistoryEngine } from '../../../src/server/cores/single-node.ts';
import type { RunningServer } from '../../../src/server/start.ts';
import type * as clickHouses from '../../../src/store/clickhouse/adapter.ts';
import type * as historyBounds from '../../../src/store/clickhouse/history-bounds.ts';
import type * as clickHouseEngines from '../../../src/store/embedded-clickhouse/supervisor.ts';
import { startNats } from '../stores/nats-server.ts';
import { startRedis } from '../stores/redis-server.ts';
import { DIST } from '../root.ts';
import type { HostAnswer, HostRequest, HostedNode, StartRequest } from './host-messages.ts';
import { clusterSettings } from './running.ts';

/** The built server. */
const built = async <Module>(path: string): Promise<Module> => (await import(join(DIST, 'src', path))) as Module;
const { loadConfig } = await built<typeof config>('config/config.js');
const { startServer } = await built<typeof servers>('server/start.js');
const { ClickHouse } = await built<typeof clickHouses>('store/clickhouse/adapter.js');
const { READ_SESSIONS } = await built<typeof historyBounds>('store/clickhouse/history-bounds.js');
const { EmbeddedClickHouse } = await built<typeof clickHouseEngines>('store/embedded-clickhouse/supervisor.js');

const CLICKHOUSE_BYTES_MAX = 2 ** 30;
/** 0 for one node with embedded engines. */
const NODES = Number(process.env['MILLRACE_TEST_CLUSTER'] ?? 0);
// As `millrace serve` has it.
process.umask(0o077);

/** One node has the engine on `node:http`: clients meet both. */
const engineOf = (index: number): string =>
  process.env['MILLRACE_HTTP_ENGINE'] ?? (index === NODES - 1 ? 'node' : 'uws');

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

/** One server: its data, a database, and its nodes while they run. */
abstract class HostedServer {
  readonly data: string;
  protected readonly database: string;
  protected readonly log: Log;
  #nodes: readonly RunningServer[] = [];

  /** @param data a directory; by default a new one, which is removed at the end. */
  constructor(database: string, log: Log, data?: string) {
    this.database = database;
    this.log = log;
    this.data = data ?? mkdtempSync(join(tmpdir(), 'millrace-hosted-'));
  }

  protected abstract startNodes(request: StartRequest): Promise<readonly RunningServer[]>;

  async start(request: StartRequest): Promise<readonly HostedNode[]> {
    this.#nodes = await this.startNodes(request);
    return this.#nodes.map(({ httpPort, mqttPort, mqttTlsPort }) => ({
      httpPort,
      mqttPort: mqttPort ?? 0,
      ...(mqttTlsPort === undefined ? {} : { mqttTlsPort }),
    }));
  }

  async stop(): Promise<void> {
    const nodes = this.#nodes;
    this.#nodes = [];
    await Promise.all(nodes.map((node) => node.stop()));
  }

  async end(clickHouse: clickHouses.ClickHouse): Promise<void> {
    await this.stop();
    // At once: each table that is left makes all that comes after slower.
    await clickHouse.command(`DROP DATABASE IF EXISTS ${this.database} SYNC`);
    rmSync(this.data, { recursive: true, force: true, maxRetries: 5 });
  }

  protected configOf({ flags }: StartRequest, data: string, environment: Record<string, string>): config.Config {
    const given = Object.fromEntries(
      flags.flatMap((flag, index) => (index % 2 === 0 ? [[flag.slice(2), flags[index + 1]]] : [])),
    );
    return loadConfig({
      flags: {
        host: '127.0.0.1',
        'http-port': '0',
        'mqtt-port': '0',
        'mqtt-tls-port': '0',
        'https-port': '0',
        data,
        ...given,
      },
      environment: { MILLRACE_PASSWORD_COST: '14', ...environment },
    }).config;
  }
}

/** NATS, Redis and three nodes. */
class HostedCluster extends HostedServer {
  readonly #clickHouseUrl: string;
  readonly #closers: (() => unknown)[] = [];
  #environment: Record<string, string> = {};

  constructor(database: string, log: Log, clickHouseUrl: string) {
    super(database, log);
    this.#clickHouseUrl = clickHouseUrl;
  }

  protected async startNodes(request: StartRequest): Promise<readonly RunningServer[]> {
    if (this.#closers.length === 0) {
      const later = {
        teardown: (close: () => unknown): void => {
          this.#closers.push(close);
        },
      };
      const nats = await startNats(later);
      const redis = await startRedis(later, '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction');
      const urls = { nats: nats.url, redis: redis.url, clickHouse: this.#clickHouseUrl };
      this.#environment = {
        ...clusterSettings(urls, request.passwords),
        MILLRACE_CLICKHOUSE_DATABASE: this.database,
      };
    }
    const started = await Promise.allSettled(
      Array.from({ length: NODES }, (_, index) => {
        const name = `node-${index + 1}`;
        const environment = {
          ...this.#environment,
          MILLRACE_NODE_NAME: name,
          MILLRACE_HTTP_ENGINE: engineOf(index),
        };
        return startServer(this.configOf(request, join(this.data, name), environment), this.log);
      }),
    );
    const nodes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = started.find((one) => one.status === 'rejected');
    if (failed === undefined) return nodes;
    await Promise.all(nodes.map((node) => node.stop()));
    throw failed.reason;
  }

  override async end(clickHouse: clickHouses.ClickHouse): Promise<void> {
    await this.stop();
    for (const close of this.#closers.reverse()) await close();
    await super.end(clickHouse);
  }
}

/** One node with its own LMDB, and a database of the engine that the host has. */
class HostedNodeAlone extends HostedServer {
  readonly #engine: clickHouseEngines.EmbeddedClickHouse;
  readonly #clickHouse: clickHouses.ClickHouse;

  constructor(
    database: string,
    log: Log,
    hosts: { engine: clickHouseEngines.EmbeddedClickHouse; clickHouse: clickHouses.ClickHouse },
    data?: string,
  ) {
    super(database, log, data);
    this.#engine = hosts.engine;
    this.#clickHouse = hosts.clickHouse;
  }

  protected async startNodes(request: StartRequest): Promise<readonly RunningServer[]> {
    const environment = {
      MILLRACE_HTTP_ENGINE: process.env['MILLRACE_HTTP_ENGINE'] ?? 'uws',
      MILLRACE_ADMIN_PASSWORD: request.passwords.admin,
      MILLRACE_MANAGEMENT_PASSWORD: request.passwords.management,
      MILLRACE_METRICS_ACCESS: 'everyone',
    };
    return [await startServer(this.configOf(request, this.data, environment), this.log, () => this.#shared())];
  }

  #shared(): HistoryEngine {
    const engine = this.#engine;
    const { database } = this;
    return {
      database,
      start: async () => {
        await this.#clickHouse.command(`CREATE DATABASE IF NOT EXISTS ${database}`);
        return engine.url;
      },
      stop: () => Promise.resolve(),
      get state() {
        return engine.state;
      },
      get restartsCount() {
        return engine.restartsCount;
      },
    };
  }
}

class Host {
  #client: Socket | undefined;
  readonly #servers = new Map<string, HostedServer>();
  #count = 0;
  #work: Promise<unknown> = Promise.resolve();
  readonly #engine: clickHouseEngines.EmbeddedClickHouse;
  readonly #clickHouse: clickHouses.ClickHouse;

  /** @param engine has been started. */
  constructor(engine: clickHouseEngines.EmbeddedClickHouse, log: Log) {
    this.#engine = engine;
    this.#clickHouse = new ClickHouse({ url: engine.url, log });
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
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    for (const server of servers) {
      await server.end(this.#clickHouse).catch((error: unknown) => {
        process.stderr.write(`a server did not end in order: ${String(error)}\n`);
      });
    }
  }

  async close(): Promise<void> {
    await this.#work;
    await this.clear();
    await this.#clickHouse.close();
  }

  async #do(request: HostRequest, log: Log): Promise<HostAnswer> {
    const known = request.data === undefined ? undefined : this.#servers.get(request.data);
    if (request.do === 'stop') {
      await known?.stop();
      return { data: request.data, nodes: [] };
    }
    const server = known ?? this.#make(request.data, log);
    return { data: server.data, nodes: await server.start(request) };
  }

  #make(data: string | undefined, log: Log): HostedServer {
    this.#count += 1;
    const database = `hosted_${this.#count}`;
    const server =
      NODES > 0
        ? new HostedCluster(database, log, this.#engine.url)
        : new HostedNodeAlone(database, log, { engine: this.#engine, clickHouse: this.#clickHouse }, data);
    this.#servers.set(server.data, server);
    return server;
  }
}

const silent = logTo(() => undefined);
const directory = mkdtempSync(join(tmpdir(), 'millrace-host-'));
mkdirSync(join(directory, 'clickhouse'));
const engine = new EmbeddedClickHouse({
  directory: join(directory, 'clickhouse'),
  log: silent,
  readSessions: READ_SESSIONS,
  memoryBytesMax: CLICKHOUSE_BYTES_MAX,
});
await engine.start();
const host = new Host(engine, silent);
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
