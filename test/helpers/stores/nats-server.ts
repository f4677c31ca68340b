/**
 * Private nats-server processes with JetStream for tests: one, or a cluster of three. Ports of their own, stores in
 * temporary directories.
 */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import type { Log } from '../../../src/ports/log.ts';
import type { Teardown } from '../running/server.ts';
import { PATIENCE } from '../until.ts';

const START_TIMEOUT_MS = 15_000 * PATIENCE;

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  isLevelEnabled: () => false,
  child: () => silentLog,
};

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      socket.destroy();
      resolve(false);
    });
  });
}

/** One server that can be killed and started again on the same port and store. */
export class NatsServer {
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  readonly #configFile: string;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #output = '';

  constructor(port: number, directory: string, config: string) {
    this.port = port;
    this.url = `nats://127.0.0.1:${port}`;
    this.directory = directory;
    this.#configFile = join(directory, 'nats.conf');
    writeFileSync(this.#configFile, config, { flush: true });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const child = spawn('nats-server', ['-c', this.#configFile], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('close', () => resolve());
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-20_000);
      });
    for (const deadline = Date.now() + START_TIMEOUT_MS; !(await canConnect(this.port)); ) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`nats-server did not start: ${this.#output}`);
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
  }

  /** As kill -9. Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
  }

  /** Stops the process for now, as a machine that hangs. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }
}

/**
 * `within`: the directory of its own one. `config`, `jetStream`: more lines of its configuration and of the block
 * `jetstream`.
 */
export interface NatsOptions {
  readonly config?: string;
  readonly jetStream?: string;
  readonly storageBytes?: number;
  readonly within?: string;
}

/** Since 2.10 JetStream can synchronise each message before it acknowledges it (`sync_interval: always`). */
export function canSyncAlways(): boolean {
  const [, major, minor] =
    /v(\d+)\.(\d+)/.exec(spawnSync('nats-server', ['--version'], { encoding: 'utf8' }).stdout ?? '') ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 10);
}

/** One server, started; ended and removed at teardown. */
export async function startNats(t: Teardown, options: NatsOptions = {}): Promise<NatsServer> {
  const directory = mkdtempSync(join(options.within ?? tmpdir(), 'millrace-nats-'));
  const port = await freePort();
  const server = new NatsServer(
    port,
    directory,
    `
    listen: "127.0.0.1:${port}"
    jetstream { store_dir: "${directory}", max_file_store: ${options.storageBytes ?? '4GB'}, max_memory_store: 256MB, ${options.jetStream ?? ''} }
    ${options.config ?? ''}`,
  );
  t.teardown(async () => {
    await server.kill();
    rmSync(directory, { recursive: true, force: true });
  });
  await server.start();
  return server;
}

/**
 * Three servers that replicate to each other; JetStream is ready when a leader is there, which clients wait for.
 * @param options.within the directory of each one's own. `jetStream`: more lines of the block `jetstream`.
 */
export async function startNatsCluster(
  t: Teardown,
  options: { readonly within?: readonly string[]; readonly jetStream?: string } = {},
): Promise<{ readonly servers: readonly NatsServer[]; readonly urls: string }> {
  const ports = [await freePort(), await freePort(), await freePort()];
  const clusterPorts = [await freePort(), await freePort(), await freePort()];
  const routes = clusterPorts.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
  const servers = ports.map((port, index) => {
    const directory = mkdtempSync(join(options.within?.[index] ?? tmpdir(), 'millrace-nats-'));
    return new NatsServer(
      port,
      directory,
      `
      listen: "127.0.0.1:${port}"
      server_name: "n${index}"
      jetstream { store_dir: "${directory}", max_file_store: 4GB, max_memory_store: 256MB, ${options.jetStream ?? ''} }
      cluster { name: "millrace-test", listen: "127.0.0.1:${clusterPorts[index]}", routes: [${routes}] }`,
    );
  });
  t.teardown(async () => {
    for (const server of servers) {
      await server.kill();
      rmSync(server.directory, { recursive: true, force: true });
    }
  });
  await Promise.all(servers.map((server) => server.start()));
  return { servers, urls: servers.map(({ url }) => url).join(',') };
}

/** A TCP proxy in front of a server: cuts connections, holds back or drops what the server sends. */
export interface NatsProxy {
  readonly url: string;
  /**
   * What the server sends is thrown away from now on; the clients' bytes still arrive. `false` cuts the connections
   * that lost bytes.
   */
  dropAnswers(isDropping: boolean): void;
  /** Refuses connections and cuts those there are, until called with false. */
  cut(isCut: boolean): void;
}

export async function startNatsProxy(t: Teardown, target: NatsServer): Promise<NatsProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isDropping = false;
  let isCut = false;
  const end = (pair: readonly [Socket, Socket]): void => {
    pairs.delete(pair);
    for (const socket of pair) socket.destroy();
  };
  const endAll = (): void => {
    for (const pair of [...pairs]) end(pair);
  };
  const proxy = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const server = createConnection(target.port, '127.0.0.1');
    const pair = [client, server] as const;
    pairs.add(pair);
    client.on('data', (chunk) => {
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (!isDropping) client.write(chunk);
    });
    for (const socket of pair) {
      socket.on('error', () => end(pair));
      socket.on('close', () => end(pair));
    }
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    endAll();
    proxy.close();
  });
  return {
    url: `nats://127.0.0.1:${(proxy.address() as { port: number }).port}`,
    dropAnswers: (isOn) => {
      isDropping = isOn;
      if (!isOn) endAll();
    },
    cut: (isOn) => {
      isCut = isOn;
      if (isOn) endAll();
    },
  };
}
