/**
 * A cluster of server processes on one machine: a nats-server, a redis-server and a ClickHouse of its own, nodes on
 * free ports, and a proxy that gives each new connection to the next node, so that who knows one server meets all of
 * them. Everything is ended by its process id.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConnectionProxy } from '../proxies/connection-proxy.ts';
import { startNats, startNatsCluster } from '../stores/nats-server.ts';
import type { NatsServer } from '../stores/nats-server.ts';
import { startRedisCluster, startRedisWithin } from '../stores/redis-server.ts';
import type { RedisServer } from '../stores/redis-server.ts';
import { cleanEnvironment, until } from '../setup-command.ts';
import { DIST } from '../root.ts';
import { PATIENCE } from '../until.ts';

/** The server that was built. */
export const MAIN = join(DIST, 'src', 'main.js');
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000 * PATIENCE;
const OUTPUT_MAX = 2_000_000;
const CLICKHOUSE_BYTES_MAX = 2 ** 30;
const SHARDS = 64;
const REPORT_TIMEOUT_MS = 5_000;
const REPORT_LINES = 12;
/** JetStream reserves it: startNats allows 4 GB in all. */
const JOURNAL_BYTES_MAX = 2 ** 30;

interface Teardown {
  teardown(action: () => unknown): void;
}

export interface ClusterPasswords {
  readonly admin: string;
  readonly management: string;
}

/** What all nodes of a test's cluster have in common, as environment. */
export const clusterSettings = (
  urls: { nats: string; redis: string; clickHouse: string },
  passwords: ClusterPasswords,
): Record<string, string> => ({
  MILLRACE_NATS: urls.nats,
  MILLRACE_REDIS: urls.redis,
  MILLRACE_CLICKHOUSE: urls.clickHouse,
  MILLRACE_ADMIN_PASSWORD: passwords.admin,
  MILLRACE_MANAGEMENT_PASSWORD: passwords.management,
  MILLRACE_BOOTSTRAP_PASSWORD: 'mill-Race-9',
  // What nats-server does by itself is enough where processes are killed.
  MILLRACE_ACCEPT_POWER_LOSS: 'yes',
  MILLRACE_METRICS_ACCESS: 'everyone',
  MILLRACE_JOURNAL_MAX_BYTES: String(JOURNAL_BYTES_MAX),
  MILLRACE_SECRET_KEY: 'one-key-for-all-nodes-of-this-test-cluster',
});

/** Until each of the nodes sees all of them, and all shards have an owner. @param owners nodes that own shards. */
export async function untilComplete(urls: readonly string[], owners = urls.length): Promise<void> {
  let seen: unknown;
  await until(
    'every node knows all nodes and has its shards',
    async () => {
      const states = await Promise.all(
        urls.map(async (url) => {
          const { parts } = (await (await fetch(`${url}/health/ready`)).json()) as {
            parts: { cluster: { nodes: string[]; shards: number } };
          };
          return parts.cluster;
        }),
      ).catch(() => []);
      seen = states;
      return (
        states.length === urls.length &&
        states.every(({ nodes }) => nodes.length === urls.length) &&
        states.filter(({ shards }) => shards > 0).length === owners &&
        states.reduce((sum, { shards }) => sum + shards, 0) === SHARDS
      );
    },
    START_TIMEOUT_MS,
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(seen)}`);
  });
}

/** Ended with this process at the latest: a test that runs into its time limit does not come to its teardown. */
const pids = new Set<number>();
process.once('exit', () => {
  for (const pid of pids) send(pid, 'SIGKILL');
});

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    /* gone already */
  }
}

/** One node; can be killed and started again on its data directory, on other ports. */
export class ClusterNodeProcess {
  readonly name: string;
  readonly data: string;
  httpPort = 0;
  mqttPort = 0;
  mqttTlsPort: number | undefined;
  output = '';
  errors = '';
  /** Stopped by SIGSTOP: its port is open and nobody answers. */
  isPaused = false;
  flags: readonly string[];
  /** What it runs from its next launch on: the server that was built, or another version of it. */
  main = MAIN;
  #child: ChildProcess | undefined;
  #ended: Promise<number | null> = Promise.resolve(null);
  readonly #environment: Record<string, string>;

  constructor(name: string, data: string, environment: Record<string, string>, flags: readonly string[]) {
    this.name = name;
    this.data = data;
    this.flags = flags;
    this.#environment = environment;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }
  get ownsShards(): boolean {
    return this.#environment.MILLRACE_ROLES !== 'gateway';
  }
  get url(): string {
    return `http://127.0.0.1:${this.httpPort}`;
  }
  get isAlive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }
  get isListening(): boolean {
    return this.isAlive && this.httpPort > 0;
  }

  launch(): void {
    const child = spawn(
      process.execPath,
      [
        this.main,
        'serve',
        '--host',
        '127.0.0.1',
        '--http-port',
        '0',
        '--mqtt-port',
        '0',
        '--mqtt-tls-port',
        '0',
        '--data',
        this.data,
        '--log-format',
        'json',
        // An older version has no HTTPS.
        ...(this.flags.includes('--tls-key') ? ['--https-port', '0'] : []),
        ...this.flags,
      ],
      {
        env: cleanEnvironment({ ...this.#environment, MILLRACE_NODE_NAME: this.name }),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) pids.add(pid);
    [this.httpPort, this.mqttPort, this.mqttTlsPort] = [0, 0, undefined];
    this.output = '';
    this.errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      this.output += chunk.toString();
      const ports =
        /URL\s+http:\/\/[^:]+:(\d+)[\s\S]*MQTT port\s+(\d+|none)(?:, with TLS (\d+))?[\s\S]*administrator/.exec(
          this.output,
        );
      if (!ports || this.httpPort > 0) return;
      [this.httpPort, this.mqttPort, this.mqttTlsPort] = [
        Number(ports[1]),
        ports[2] === 'none' ? 0 : Number(ports[2]),
        ports[3] === undefined ? undefined : Number(ports[3]),
      ];
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.errors = (this.errors + chunk.toString()).slice(-OUTPUT_MAX);
    });
    this.#ended = new Promise((done) => {
      child.on('close', (code) => {
        if (pid !== undefined) pids.delete(pid);
        done(code);
      });
    });
  }

  /** Until it shows its ports. @throws with the log when it ends before. */
  async listening(): Promise<void> {
    await until(
      `${this.name} shows its ports`,
      () => {
        if (!this.isAlive) throw new Error(`${this.name} ended while it started:\n${this.errors.slice(-4_000)}`);
        return this.isListening;
      },
      START_TIMEOUT_MS,
    );
  }

  signal(name: NodeJS.Signals): void {
    if (!this.isAlive) return;
    this.isPaused = name === 'SIGSTOP' || (this.isPaused && name !== 'SIGCONT');
    send(this.pid, name);
  }

  /** @returns the exit code; null after kill -9. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (!this.isAlive) return this.#ended;
    this.signal(signal);
    const timer = setTimeout(() => this.signal('SIGKILL'), STOP_TIMEOUT_MS);
    const code = await this.#ended;
    clearTimeout(timer);
    this.isPaused = false;
    return code;
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.stop('SIGKILL');
  }
}

export interface ClusterOptions {
  readonly nodes: number;
  readonly passwords: ClusterPasswords;
  /** For every node. */
  readonly flags?: readonly string[];
  /** What the nodes run at first, where it is another version than the one that was built. */
  readonly main?: string;
  readonly environment?: Record<string, string>;
  /** Three servers of NATS, with three copies of everything, and three masters of Redis Cluster. */
  readonly areServersClustered?: boolean;
  /**
   * Where the data lie: those of NATS, and all others. Without it in directories for temporary files. Of three
   * directories each has a server of NATS.
   */
  readonly within?: { readonly nats: string | readonly string[]; readonly others?: string };
  /** Of Redis; `everysec` by default. */
  readonly appendfsync?: 'always' | 'everysec';
  /** More lines of NATS' block `jetstream`. */
  readonly jetStream?: string;
  /** For one node, beside that: it may reach the servers by another way. */
  readonly environmentOf?: (
    index: number,
    servers: { readonly nats: NatsServer; readonly redis: RedisServer; readonly clickHouseUrl: string },
  ) => Promise<Record<string, string>>;
}

interface Engine {
  start(): Promise<string>;
  stop(): Promise<void>;
  readonly pid: number | undefined;
  readonly state: string;
}
interface Servers {
  readonly nats: readonly NatsServer[];
  readonly redis: readonly RedisServer[];
  readonly engine: Engine;
  readonly clickHouseUrl: string;
}
interface Client {
  query<Row>(sql: string): Promise<Row[]>;
  close(): Promise<void>;
}

/** What the nodes share, the nodes, and the ports where all of them are met. */
export class RunningCluster {
  /** The first of each; the others are there where they are clustered. */
  readonly nats: NatsServer;
  readonly redis: RedisServer;
  readonly natsServers: readonly NatsServer[];
  readonly redisServers: readonly RedisServer[];
  readonly engine: Engine;
  readonly data: string;
  readonly nodes: readonly ClusterNodeProcess[];
  readonly #clickHouseUrl: string;
  readonly #environment: Record<string, string>;
  readonly #http: ConnectionProxy;
  readonly #mqtt: ConnectionProxy;
  readonly #mqttTls: ConnectionProxy;

  private constructor(
    data: string,
    servers: Servers,
    options: ClusterOptions,
    environments: readonly Record<string, string>[],
  ) {
    this.data = data;
    [this.natsServers, this.redisServers] = [servers.nats, servers.redis];
    [this.nats] = servers.nats;
    [this.redis] = servers.redis;
    this.engine = servers.engine;
    this.#clickHouseUrl = servers.clickHouseUrl;
    const listOf = (list: readonly { readonly url: string }[]): string => list.map(({ url }) => url).join(',');
    const urls = { nats: listOf(servers.nats), redis: listOf(servers.redis), clickHouse: servers.clickHouseUrl };
    const environment = {
      ...clusterSettings(urls, options.passwords),
      MILLRACE_NATS_REPLICAS: String(servers.nats.length),
      ...options.environment,
    };
    this.#environment = environment;
    this.nodes = Array.from(
      { length: options.nodes },
      (_, index) =>
        new ClusterNodeProcess(
          `node-${index + 1}`,
          join(data, `node-${index + 1}`),
          { ...environment, ...environments[index] },
          options.flags ?? [],
        ),
    );
    for (const node of this.nodes) node.main = options.main ?? MAIN;
    const proxy = (portOf: (node: ClusterNodeProcess) => number | undefined): ConnectionProxy =>
      new ConnectionProxy(() =>
        this.nodes
          .filter((node) => node.isListening && !node.isPaused)
          .map(portOf)
          .filter((port) => port !== undefined),
      );
    this.#http = proxy((node) => node.httpPort);
    this.#mqtt = proxy((node) => node.mqttPort);
    this.#mqttTls = proxy((node) => node.mqttTlsPort);
  }

  /** All nodes are members when it resolves; everything ends with the test. */
  static async start(t: Teardown, options: ClusterOptions): Promise<RunningCluster> {
    const { within = { nats: tmpdir() }, jetStream = '' } = options;
    const { others = tmpdir() } = within;
    const data = mkdtempSync(join(others, 'millrace-cluster-'));
    const closers: (() => unknown)[] = [];
    // One teardown, in a fixed order: the nodes end while what they need is there.
    t.teardown(async () => {
      for (const close of closers.reverse()) await close();
    });
    const later: Teardown = {
      teardown: (close) => {
        closers.push(close);
      },
    };
    later.teardown(() => rmSync(data, { recursive: true, force: true, maxRetries: 5 }));
    const redisArgs = ['--appendfsync', options.appendfsync ?? 'everysec', '--maxmemory-policy', 'noeviction'];
    const isClustered = options.areServersClustered === true;
    const nats =
      typeof within.nats === 'string' && !isClustered
        ? [await startNats(later, { within: within.nats, jetStream })]
        : (
            await startNatsCluster(later, {
              jetStream,
              ...(typeof within.nats === 'string' ? {} : { within: within.nats }),
            })
          ).servers;
    const redis = isClustered
      ? (await startRedisCluster(later, ...redisArgs)).servers
      : [await startRedisWithin(others, later, ...redisArgs)];
    for (const { pid } of [...nats, ...redis]) if (pid !== undefined) pids.add(pid);
    const { EmbeddedClickHouse } = (await load('embedded-clickhouse/supervisor.js')) as {
      EmbeddedClickHouse: new (options: object) => Engine;
    };
    const log = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, () => undefined]));
    mkdirSync(join(data, 'clickhouse'));
    const engine = new EmbeddedClickHouse({
      directory: join(data, 'clickhouse'),
      log,
      memoryBytesMax: CLICKHOUSE_BYTES_MAX,
    });
    later.teardown(() => engine.stop());
    process.once('exit', () => {
      if (engine.pid !== undefined) send(engine.pid, 'SIGKILL');
    });
    const clickHouseUrl = await engine.start();
    const environments = await Promise.all(
      Array.from(
        { length: options.nodes },
        async (_, index) =>
          (await options.environmentOf?.(index, { nats: nats[0], redis: redis[0], clickHouseUrl })) ?? {},
      ),
    );
    const cluster = new RunningCluster(data, { nats, redis, engine, clickHouseUrl }, options, environments);
    later.teardown(() => cluster.stop());
    for (const proxy of [cluster.#http, cluster.#mqtt, cluster.#mqttTls]) {
      await proxy.listen();
      later.teardown(() => proxy.close());
    }
    await cluster.startNodes();
    return cluster;
  }

  get httpPort(): number {
    return this.#http.port;
  }
  get mqttPort(): number {
    return this.#mqtt.port;
  }
  get mqttTlsPort(): number | undefined {
    return this.nodes.some(({ mqttTlsPort }) => mqttTlsPort !== undefined) ? this.#mqttTls.port : undefined;
  }

  /** A node beside the others; whoever starts it stops it. */
  further(name: string, flags: readonly string[]): ClusterNodeProcess {
    return new ClusterNodeProcess(name, join(this.data, name), this.#environment, flags);
  }

  /** Starts the nodes that do not run, and waits until each sees all and owns its part. */
  async startNodes(flags?: readonly string[]): Promise<void> {
    const started = this.nodes.filter((node) => !node.isAlive);
    for (const node of started) {
      if (flags !== undefined) node.flags = flags;
      node.launch();
    }
    await Promise.all(started.map((node) => node.listening()));
    await this.complete();
  }

  /** Until every node that runs sees all that run, and all shards have an owner. */
  async complete(): Promise<void> {
    const running = this.nodes.filter(({ isAlive, isPaused }) => isAlive && !isPaused);
    await untilComplete(
      running.map(({ url }) => url),
      running.filter(({ ownsShards }) => ownsShards).length,
    );
  }

  /** @returns 0, or the exit code of a node that failed. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const codes = await Promise.all(this.nodes.map((node) => node.stop(signal)));
    return codes.find((code) => code !== 0) ?? 0;
  }

  /** For a test that fails: what the nodes say of themselves, and the newest warnings of each. */
  async report(): Promise<string[]> {
    return (
      await Promise.all(
        this.nodes.map(async ({ name, url, errors, isListening }) => {
          const health = isListening
            ? await fetch(`${url}/health`, { signal: AbortSignal.timeout(REPORT_TIMEOUT_MS) }).then(
                (answer) => answer.text(),
                (error: Error) => error.message,
              )
            : 'does not run';
          const warnings = errors
            .split('\n')
            .filter((line) => /"level":"?(4|5|6|warn|error|fatal)/.test(line))
            .slice(-REPORT_LINES);
          return [`${name}: ${health}`, ...warnings.map((line) => `${name}: ${line}`)];
        }),
      )
    ).flat();
  }

  /** kill -9 of the ClickHouse process; its supervisor starts it again. */
  killClickHouse(): void {
    if (this.engine.pid !== undefined) send(this.engine.pid, 'SIGKILL');
  }

  /** kill -9 and start again on the same store. */
  async restart(server: NatsServer | RedisServer, awayMs: number): Promise<void> {
    await server.kill();
    await new Promise((done) => {
      setTimeout(done, awayMs);
    });
    await server.start();
    if (server.pid !== undefined) pids.add(server.pid);
  }

  /** Ends everything at once, as a power cut does; what runs then is started by `powerOn`. */
  async powerOff(): Promise<void> {
    const stopped = this.engine.stop().catch(() => undefined /* It cannot write to a disk without power. */);
    this.killClickHouse();
    const killed = [...this.nodes, ...this.natsServers, ...this.redisServers].map((one) => one.kill());
    await Promise.all([stopped, ...killed]);
  }

  /** Starts everything, servers first; resolves when the cluster is complete. */
  async powerOn(): Promise<void> {
    const servers = [...this.natsServers, ...this.redisServers];
    for (const redis of this.redisServers) redis.repair();
    await Promise.all([this.engine.start(), ...servers.map((one) => one.start())]);
    for (const { pid } of servers) if (pid !== undefined) pids.add(pid);
    await this.startNodes();
  }

  /** Rows of the shared history, as it is. */
  async query<Row>(sql: string): Promise<Row[]> {
    const { ClickHouse } = (await load('clickhouse/adapter.js')) as { ClickHouse: new (options: object) => Client };
    const log = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, () => undefined]));
    const client = new ClickHouse({ url: this.#clickHouseUrl, log, database: 'millrace' });
    try {
      return await client.query<Row>(sql);
    } finally {
      await client.close();
    }
  }
}

async function load(path: string): Promise<Record<string, unknown>> {
  return (await import(pathToFileURL(join(DIST, 'src', 'store', path)).href)) as Record<string, unknown>;
}
