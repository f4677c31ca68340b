/**
 * Nodes over a NATS server, a Redis server and the embedded ClickHouse in a process of its own, all on the server's
 * core.
 */
import { spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Target } from '../generator/job.ts';
import { descendants } from '../process-figures.ts';
import { endProcess, freePort, SERVER_CORE, startProcess } from '../processes.ts';
import { Millrace, type MillraceOptions } from './millrace.ts';
import { untilListening, type ProcessKind, type Subject, type SubjectName } from './subject.ts';

const START_LIMIT_MS = 20_000;
const SHARDS = 64;
const CLICKHOUSE_ENTRY = fileURLToPath(new URL('../peers/clickhouse.js', import.meta.url));
/** What the nodes of a cluster have to agree on. */
const SHARED = {
  MILLRACE_MANAGEMENT_PASSWORD: 'bench-only-password',
  MILLRACE_BOOTSTRAP_PASSWORD: 'bench-only-password',
  MILLRACE_SECRET_KEY: 'bench-only-key-0123456789-0123456789-0123456789',
};

/** Reason why no cluster can be started here; undefined when one can. */
export function clusterMissing(): string | undefined {
  const absent = ['nats-server', 'redis-server'].find(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
  );
  return absent === undefined ? undefined : `${absent} is not installed`;
}

export async function startCluster(name: SubjectName, nodeCount: number, options: MillraceOptions): Promise<Subject> {
  const cluster = new Cluster(name, options);
  try {
    await cluster.start(nodeCount);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

export class Cluster implements Subject {
  readonly name: string;
  private readonly options: MillraceOptions;
  readonly nodes: Millrace[] = [];
  private readonly servers: [ProcessKind, ChildProcess][] = [];
  private monitorPort = 0;
  private redisPort = 0;

  constructor(name: string, options: MillraceOptions) {
    this.name = name;
    this.options = options;
  }

  get mqtt(): Target {
    const [first, ...others] = this.nodes.map(({ mqtt }) => mqtt);
    return { ...first!, otherPorts: others.map(({ port }) => port) };
  }

  get http(): Target {
    const [first, ...others] = this.nodes.map(({ http }) => http);
    return { ...first!, otherPorts: others.map(({ port }) => port) };
  }

  async start(nodeCount: number): Promise<void> {
    const environment = { ...SHARED, ...(await this.startServers()) };
    for (let index = 1; index <= nodeCount; index++) {
      const directory = join(this.options.directory, `node-${index}`);
      this.nodes.push(
        await Millrace.start({
          ...this.options,
          directory,
          environment: { ...environment, MILLRACE_NODE_NAME: `bench-${index}` },
        }),
      );
    }
    await this.untilShared();
  }

  pids(): number[] {
    return this.processes().map(([, pid]) => pid);
  }

  kinds(): ProcessKind[] {
    return this.processes().map(([kind]) => kind);
  }

  /** As `Millrace.rows`: a row is counted by the node that inserted it. */
  async rows(): Promise<number> {
    const rows = await Promise.all(this.nodes.map((node) => node.rows()));
    return rows.reduce((sum, count) => sum + count, 0);
  }

  createDevice(name: string): Promise<string> {
    return this.nodes[0]!.createDevice(name);
  }

  /** Counted by NATS (payloads and subjects of clients) and by Redis (bytes of its sockets). */
  async traffic(): Promise<Record<string, number>> {
    const nats = (await (await fetch(`http://127.0.0.1:${this.monitorPort}/varz`)).json()) as {
      in_bytes: number;
      out_bytes: number;
    };
    const redis = await redisInfo(this.redisPort);
    const counter = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(redis)?.[1]);
    return {
      natsIn: nats.in_bytes,
      natsOut: nats.out_bytes,
      redisIn: counter('total_net_input_bytes'),
      redisOut: counter('total_net_output_bytes'),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.splice(0).map((node) => node.stop()));
    for (const [, child] of this.servers.splice(0).reverse()) await endProcess(child);
  }

  /** The first node first: figures that know one server process take that. */
  private processes(): [ProcessKind, number][] {
    const found: [ProcessKind, number][] = this.nodes.flatMap((node) => node.pids()).map((pid) => ['node', pid]);
    for (const [kind, child] of this.servers)
      for (const pid of [child.pid!, ...descendants(child.pid!)]) found.push([kind, pid]);
    return found;
  }

  private async startServers(): Promise<Record<string, string>> {
    const { directory } = this.options;
    mkdirSync(directory, { recursive: true });
    const [natsPort, redisPort] = [await freePort(), await freePort()];
    this.monitorPort = await freePort();
    this.redisPort = redisPort;
    await this.startServer('nats', natsPort, 'nats-server', [
      '-js',
      '-sd',
      join(directory, 'nats'),
      '-a',
      '127.0.0.1',
      '-p',
      String(natsPort),
      '-m',
      String(this.monitorPort),
    ]);
    await this.startServer('redis', redisPort, 'redis-server', [
      '--port',
      String(redisPort),
      '--bind',
      '127.0.0.1',
      '--dir',
      directory,
      '--appendonly',
      'yes',
      '--appendfsync',
      'everysec',
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
    ]);
    return {
      MILLRACE_NATS: `nats://127.0.0.1:${natsPort}`,
      MILLRACE_REDIS: `redis://127.0.0.1:${redisPort}`,
      MILLRACE_CLICKHOUSE: await this.startClickHouse(),
    };
  }

  private async startServer(kind: ProcessKind, port: number, command: string, args: string[]): Promise<void> {
    const child = startProcess({
      command,
      args,
      core: SERVER_CORE,
      logFile: join(this.options.directory, `${kind}.log`),
    });
    this.servers.push([kind, child]);
    await untilListening(port, START_LIMIT_MS, child);
  }

  private async startClickHouse(): Promise<string> {
    const { directory } = this.options;
    const child = startProcess({
      command: process.execPath,
      args: [CLICKHOUSE_ENTRY, join(directory, 'clickhouse')],
      core: SERVER_CORE,
      channel: true,
      logFile: join(directory, 'clickhouse.log'),
    });
    this.servers.push(['clickHouse', child]);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error('the embedded ClickHouse did not start in time')),
        START_LIMIT_MS,
      );
      child.once('message', (message) => {
        clearTimeout(timer);
        resolve((message as { url: string }).url);
      });
      child.once('exit', () =>
        reject(new Error(`the embedded ClickHouse ended; see ${join(directory, 'clickhouse.log')}`)),
      );
    });
  }

  /** Every shard has an owner, and the nodes (those that run) have about equally many. */
  async untilShared(nodes: readonly Millrace[] = this.nodes): Promise<void> {
    const most = Math.ceil(SHARDS / nodes.length);
    const deadline = performance.now() + START_LIMIT_MS;
    for (;;) {
      const owned = await Promise.all(nodes.map((node) => node.metric('millrace_cluster_shards')));
      if (owned.reduce((sum, count) => sum + count, 0) === SHARDS && Math.max(...owned) <= most) return;
      if (performance.now() > deadline) throw new Error(`the shards are not shared out: ${owned.join(', ')}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** INFO stats, in Redis' own protocol: the suite needs no client for one command. */
function redisInfo(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = new Socket();
    socket
      .setEncoding('utf8')
      .once('error', reject)
      .connect(port, '127.0.0.1', () => socket.write('INFO stats\r\nQUIT\r\n'));
    socket
      .on('data', (chunk: string) => {
        text += chunk;
      })
      .once('close', () => resolve(text));
  });
}
