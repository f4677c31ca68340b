/**
 * Servers in a host process (node-host.ts), as a test process asks for them: MILLRACE_TEST_NODE_HOSTS has the hosts'
 * ports.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { ConnectionProxy } from '../proxies/connection-proxy.ts';
import type { HostAnswer, HostRequest, HostedNode } from './host-messages.ts';
import { untilComplete } from './running.ts';
import type { ClusterPasswords } from './running.ts';
import { PATIENCE } from '../until.ts';

const HOSTS = (process.env['MILLRACE_TEST_NODE_HOSTS'] ?? '')
  .split(',')
  .filter((port) => port !== '')
  .map(Number);
const RETRY_MS = 100;
const BUSY_MAX_MS = 120_000 * PATIENCE;

export const hasHosts = HOSTS.length > 0;

/** The host that takes this process; kept until the process ends, which ends what it runs. */
class HostConnection {
  readonly #socket: Socket;
  /** In the order of the requests. */
  readonly #waiting: { resolve(answer: HostAnswer): void; reject(error: Error): void }[] = [];
  readonly log: string[] = [];

  private constructor(socket: Socket, onHello: () => void) {
    this.#socket = socket;
    createInterface({ input: socket })
      .on('error', () => socket.destroy())
      .on('line', (line) => {
        const answer = JSON.parse(line) as HostAnswer | Record<string, never>;
        if ('log' in answer) this.log.push(answer.log);
        else if ('error' in answer) this.#waiting.shift()?.reject(new Error(answer.error));
        else if ('data' in answer) this.#waiting.shift()?.resolve(answer as HostAnswer);
        else onHello();
      });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the host of the nodes has ended'));
    });
  }

  /** Asks one after the other until one is free. */
  static async open(): Promise<HostConnection> {
    for (const deadlineMs = Date.now() + BUSY_MAX_MS; Date.now() < deadlineMs; ) {
      for (const port of HOSTS) {
        const found = await HostConnection.#try(port);
        if (found !== undefined) return found;
      }
      await new Promise((done) => {
        setTimeout(done, RETRY_MS);
      });
    }
    throw new Error(`no host of nodes is free at ${HOSTS.join(', ')}`);
  }

  static #try(port: number): Promise<HostConnection | undefined> {
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1');
      const connection = new HostConnection(socket, () => resolve(connection));
      socket.once('close', () => resolve(undefined));
    });
  }

  async ask(request: HostRequest): Promise<HostAnswer & { nodes: readonly HostedNode[] }> {
    this.#socket.ref();
    try {
      return await new Promise((resolve, reject) => {
        if (this.#socket.destroyed) reject(new Error('the host of the nodes has ended'));
        this.#waiting.push({ resolve: resolve as (answer: HostAnswer) => void, reject });
        this.#socket.write(`${JSON.stringify(request)}\n`);
      });
    } finally {
      // The test process may end.
      if (this.#waiting.length === 0) this.#socket.unref();
    }
  }
}

let connection: Promise<HostConnection> | undefined;

/** One node, or three and ports where all of them are met. */
export class HostedServer {
  readonly data: string;
  isRunning = false;
  #nodes: readonly HostedNode[] = [];
  readonly #host: HostConnection;
  readonly #passwords: ClusterPasswords;
  /** Absent before a single node. */
  #proxies:
    | { readonly http: ConnectionProxy; readonly mqtt: ConnectionProxy; readonly mqttTls: ConnectionProxy }
    | undefined;

  private constructor(data: string, host: HostConnection, passwords: ClusterPasswords) {
    this.data = data;
    this.#host = host;
    this.#passwords = passwords;
  }

  static async start(
    t: { teardown(action: () => unknown): void },
    options: { readonly data?: string; readonly flags: readonly string[]; readonly passwords: ClusterPasswords },
  ): Promise<HostedServer> {
    const host = await (connection ??= HostConnection.open());
    const { data, nodes } = (await host.ask({ do: 'start', ...options })) as {
      data: string;
      nodes: readonly HostedNode[];
    };
    const server = new HostedServer(data, host, options.passwords);
    t.teardown(() => server.#end());
    await server.#started(nodes);
    return server;
  }

  get httpPort(): number {
    return this.#proxies?.http.port ?? this.#nodes[0]?.httpPort ?? 0;
  }
  get mqttPort(): number {
    return this.#proxies?.mqtt.port ?? this.#nodes[0]?.mqttPort ?? 0;
  }
  get mqttTlsPort(): number | undefined {
    const port = this.#nodes.find(({ mqttTlsPort }) => mqttTlsPort !== undefined)?.mqttTlsPort;
    return port === undefined ? undefined : (this.#proxies?.mqttTls.port ?? port);
  }
  get urls(): string[] {
    return this.#nodes.map(({ httpPort }) => `http://127.0.0.1:${httpPort}`);
  }
  /** Lines of the log. */
  get errors(): string {
    return this.#host.log.join('\n');
  }

  /** The nodes once more, on what they left. */
  async startAgain(flags: readonly string[]): Promise<void> {
    const { nodes } = await this.#host.ask({ do: 'start', data: this.data, flags, passwords: this.#passwords });
    await this.#started(nodes);
  }

  async stop(): Promise<number> {
    if (this.isRunning) await this.#host.ask({ do: 'stop', data: this.data });
    this.isRunning = false;
    this.#nodes = [];
    return 0;
  }

  async #started(nodes: readonly HostedNode[]): Promise<void> {
    this.#nodes = nodes;
    this.isRunning = true;
    if (nodes.length === 1) return;
    this.#proxies ??= await this.#listen();
    await untilComplete(this.urls);
  }

  async #listen(): Promise<{ http: ConnectionProxy; mqtt: ConnectionProxy; mqttTls: ConnectionProxy }> {
    const proxies = {
      http: new ConnectionProxy(() => this.#nodes.map(({ httpPort }) => httpPort)),
      mqtt: new ConnectionProxy(() => this.#nodes.map(({ mqttPort }) => mqttPort)),
      mqttTls: new ConnectionProxy(() =>
        this.#nodes.map(({ mqttTlsPort }) => mqttTlsPort).filter((port) => port !== undefined),
      ),
    };
    for (const proxy of Object.values(proxies)) await proxy.listen();
    return proxies;
  }

  async #end(): Promise<void> {
    await this.stop();
    for (const proxy of Object.values(this.#proxies ?? {})) proxy.close();
  }
}
