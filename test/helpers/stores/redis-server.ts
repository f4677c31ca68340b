/**
 * Redis servers of the tests' own, and a proxy that breaks connections. Everything is ended by its process id when the
 * test is over.
 */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import type { Log } from '../../../src/ports/log.ts';
import { until } from '../until.ts';

export interface Teardown {
  teardown(run: () => unknown): void;
}

export const quiet: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  isLevelEnabled: () => false,
  child: () => quiet,
};

const START_TIMEOUT_MS = 10_000;
const START_ATTEMPTS = 3;
const OUTPUT_MAX = 4_000;
const CLUSTER_TIMEOUT_MS = 20_000;
const MEET_INTERVAL_MS = 3_000;

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

export class RedisServer {
  readonly port: number;
  readonly directory: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  /** @param within the directory of its own one. */
  constructor(port: number, args: readonly string[], within = tmpdir()) {
    this.port = port;
    this.directory = mkdtempSync(join(within, 'millrace-redis-'));
    this.#args = args;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const args = [
      '--port',
      String(this.port),
      '--bind',
      '127.0.0.1',
      '--dir',
      this.directory,
      '--save',
      '',
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
      // A rewrite is a process of its own, which would outlive the killed server and go on writing.
      '--auto-aof-rewrite-percentage',
      '0',
      ...this.#args,
    ];
    const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child = child;
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-OUTPUT_MAX);
    });
    await until(
      `redis-server on ${this.port}`,
      () => {
        if (child.exitCode !== null)
          throw new Error(`redis-server ended with ${child.exitCode}: ${args.join(' ')}\n${output}`);
        // Not of another server that has the port.
        return this.cli('INFO', 'server').includes(`process_id:${child.pid}\r`);
      },
      START_TIMEOUT_MS,
    );
  }

  /**
   * As deploy/compose does before each start: a power cut may leave an end of the AOF that Redis does not load.
   * @returns what it did.
   */
  repair(): string {
    const manifest = join(this.directory, 'appendonlydir', 'appendonly.aof.manifest');
    return existsSync(manifest)
      ? spawnSync('redis-check-aof', ['--fix', manifest], { encoding: 'utf8', input: 'y\n' }).stdout
      : '';
  }

  /** kill -9, or another signal. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => {
      child.once('exit', resolve);
    });
    child.kill(signal);
    // Stopped ones do not hear anything else.
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await ended;
  }

  /** Holds it (it keeps its connections and answers nothing) until `proceed`. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }
  proceed(): void {
    this.#child?.kill('SIGCONT');
  }

  cli(...args: readonly string[]): string {
    return spawnSync('redis-cli', ['-p', String(this.port), ...args], { encoding: 'utf8' }).stdout.trim();
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** @param args further arguments of redis-server; `--appendfsync always` unless they say otherwise. */
export function startRedis(t: Teardown, ...args: readonly string[]): Promise<RedisServer> {
  return startRedisWithin(tmpdir(), t, ...args);
}

/** @param within the directory of its own one. */
export async function startRedisWithin(within: string, t: Teardown, ...args: readonly string[]): Promise<RedisServer> {
  for (let attempt = 1; ; attempt += 1) {
    const server = new RedisServer(await freePort(), args, within);
    t.teardown(() => server.end());
    try {
      await server.start();
      return server;
    } catch (error) {
      // Somebody else has taken the port, or that of the cluster's bus.
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

export interface RedisCluster {
  readonly url: string;
  readonly servers: readonly RedisServer[];
}

/** Three masters without replicas. */
export async function startRedisCluster(t: Teardown, ...args: readonly string[]): Promise<RedisCluster> {
  const clusterArgs = [
    '--cluster-enabled',
    'yes',
    '--cluster-config-file',
    'nodes.conf',
    '--cluster-node-timeout',
    '2000',
    '--cluster-require-full-coverage',
    'no',
    ...args,
  ];
  const servers = await Promise.all([0, 1, 2].map(() => startRedis(t, ...clusterArgs)));
  const bounds = [0, 5_461, 10_923, 16_384];
  for (const [index, server] of servers.entries()) {
    server.cli('CLUSTER', 'ADDSLOTSRANGE', String(bounds[index]), String(bounds[index + 1] - 1));
    server.cli('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  }
  let metAt = -Infinity;
  await until(
    'the cluster',
    async () => {
      // A handshake that takes too long on a busy machine is given up, and not begun again.
      if (performance.now() - metAt > MEET_INTERVAL_MS) {
        for (const server of servers)
          for (const other of servers)
            if (server !== other) server.cli('CLUSTER', 'MEET', '127.0.0.1', String(other.port));
        metAt = performance.now();
      }
      await sleep(100);
      return servers.every((server) => {
        const info = server.cli('CLUSTER', 'INFO');
        return (
          info.includes('cluster_state:ok') &&
          info.includes('cluster_slots_assigned:16384') &&
          info.includes('cluster_known_nodes:3')
        );
      });
    },
    CLUSTER_TIMEOUT_MS,
  );
  return { servers, url: servers.map(({ url }) => url).join(',') };
}

/** Passes connections on to a port, and does to them what the network does. */
export class Proxy {
  readonly #server = createServer((socket) => {
    this.#accept(socket);
  });
  readonly #sockets = new Set<Socket>();
  readonly #target: number;
  /** Called with what a client sends. `drop-answer`: it is passed on, and the connection ends before its answer. */
  onRequest: (chunk: Buffer) => 'pass' | 'drop-answer' | 'drop' = () => 'pass';
  isDown = false;
  port = 0;

  constructor(target: number) {
    this.#target = target;
  }

  async listen(t: Teardown): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    this.port = (this.#server.address() as AddressInfo).port;
    t.teardown(() => {
      this.breakAll();
      this.#server.close();
    });
    return this;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  breakAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    if (this.isDown) return void socket.destroy();
    const upstream = connect(this.#target, '127.0.0.1');
    let isDropping = false;
    const end = (): void => {
      socket.destroy();
      // What was passed on arrives: the server sees an orderly end behind it.
      upstream.end();
      this.#sockets.delete(socket);
    };
    this.#sockets.add(socket);
    socket.on('data', (chunk: Buffer) => {
      const fate = isDropping ? 'drop' : this.onRequest(chunk);
      if (fate === 'drop') return end();
      upstream.write(chunk);
      if (fate === 'drop-answer') isDropping = true;
    });
    upstream.on('data', (chunk: Buffer) => {
      if (isDropping) end();
      else socket.write(chunk);
    });
    for (const side of [socket, upstream]) {
      side.on('error', end);
      side.on('close', end);
    }
  }
}
