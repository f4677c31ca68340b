/**
 * The whole server, in its own data directory, and a plain HTTP client for what tests look up. It is a process of its
 * own, or runs in a host where `npm test` has started one (test/helpers/cluster/hosted.ts). With
 * MILLRACE_TEST_CLUSTER=3 it is a cluster of three nodes instead (test/helpers/cluster/running.ts) behind one port, and
 * each request meets the next node.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { exchange } from '../exchange.ts';
import { HostedServer, hasHosts } from '../cluster/hosted.ts';
import { RunningCluster } from '../cluster/running.ts';
import { cleanEnvironment, scratchDirectory, until } from '../setup-command.ts';
import { DIST } from '../root.ts';
import { PATIENCE } from '../until.ts';

const MAIN = join(DIST, 'src', 'main.js');

/** Nodes of the cluster that stands for the server; 0 for a single process. */
export const CLUSTER_NODES = Number(process.env['MILLRACE_TEST_CLUSTER'] ?? 0);

/** For `{ skip: notInCluster('reads the files of the data directory') }`: what only a single process is. */
export const notInCluster = (reason: string): string | false =>
  CLUSTER_NODES > 0 ? `only a single node: ${reason}` : false;

export const TENANT = 't1';
export const PASSWORD = 'mill-Race-7';
export const MANAGEMENT_PASSWORD = 'mill-Race-8';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 15_000 * PATIENCE;
/** Warnings that stores or other nodes did not answer in time: a machine that is too slow for a cluster has them. */
const OF_BUSY_MACHINE =
  /could not be renewed in time|a server is not reached|is disturbed|no answer in time|does not answer|has not answered|has another owner|still waits for a store/;

/** A test, or the file's root. */
export interface Teardown {
  teardown(action: () => unknown): void;
}

/** One answer, with its text as it came. */
export class Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;

  constructor(status: number, headers: Headers, text: string) {
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  /** The body as JSON; tests look into it freely. */
  get json(): any {
    return JSON.parse(this.text);
  }
}

export interface RequestOptions {
  /** An object is sent as JSON, a text or bytes as they are. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** HTTP requests of one user. */
export class Rest {
  readonly url: string;
  readonly #authorization: string;

  /** @param user `<tenant>/<user>` or the user alone. */
  constructor(url: string, user: string, password: string) {
    this.url = url;
    this.#authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Reply> {
    const { body } = options;
    const headers = new Headers({
      authorization: this.#authorization,
      accept: 'application/json',
      // So that the next request comes to another node.
      ...(CLUSTER_NODES > 0 ? { connection: 'close' } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    });
    const sent = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const reply = await exchange(path.startsWith('http') ? path : this.url + path, { method, headers, body: sent });
    return new Reply(reply.status, reply.headers, reply.text);
  }

  get(path: string): Promise<Reply> {
    return this.request('GET', path);
  }
  post(path: string, body: object | string): Promise<Reply> {
    return this.request('POST', path, { body });
  }
  put(path: string, body: object | string): Promise<Reply> {
    return this.request('PUT', path, { body });
  }
  delete(path: string): Promise<Reply> {
    return this.request('DELETE', path);
  }

  /** JSON of a GET. @throws when the status is not 200. */
  async read(path: string): Promise<any> {
    const reply = await this.get(path);
    if (reply.status !== 200) throw new Error(`GET ${path}: ${reply.status} ${reply.text}`);
    return reply.json;
  }

  /** JSON of a POST. @throws when the status is not 201. */
  async create(path: string, body: object | string): Promise<any> {
    const reply = await this.post(path, body);
    if (reply.status !== 201) throw new Error(`POST ${path}: ${reply.status} ${reply.text}`);
    return reply.json;
  }

  /** Id of the managed object of a serial; undefined when there is none. */
  async idOf(serial: string): Promise<string | undefined> {
    const reply = await this.get(`/identity/externalIds/c8y_Serial/${encodeURIComponent(serial)}`);
    return reply.status === 200 ? (reply.json.managedObject.id as string) : undefined;
  }

  /** The managed object of a serial. @throws when there is none. */
  async deviceOf(serial: string): Promise<any> {
    const id = await this.idOf(serial);
    if (id === undefined) throw new Error(`no device ${serial}`);
    return this.read(`/inventory/managedObjects/${id}`);
  }

  /** A new object with agent and device markers. @returns its id. */
  async createDevice(name: string, fragments: object = {}): Promise<string> {
    return (
      await this.create('/inventory/managedObjects', {
        name,
        c8y_IsDevice: {},
        com_cumulocity_model_Agent: {},
        ...fragments,
      })
    ).id as string;
  }
}

export class RunningServer {
  readonly data: string;
  readonly url: string;
  readonly httpPort: number;
  readonly mqttPort: number;
  readonly mqttTlsPort: number | undefined;
  readonly rest: Rest;
  readonly management: Rest;
  readonly #started: Started;

  constructor(data: string, started: Started) {
    this.data = data;
    this.httpPort = started.ports.http;
    this.mqttPort = started.ports.mqtt;
    this.mqttTlsPort = started.ports.mqttTls;
    this.url = `http://127.0.0.1:${this.httpPort}`;
    this.rest = new Rest(this.url, `${TENANT}/admin`, PASSWORD);
    this.management = new Rest(this.url, 'management/admin', MANAGEMENT_PASSWORD);
    this.#started = started;
  }

  /** Lines of the log from level `warn` on, but for those that a busy machine brings about. */
  get complaints(): string[] {
    return this.#started
      .errors()
      .split('\n')
      .filter((line) => line !== '' && !/"level":(10|20|30),/.test(line) && !OF_BUSY_MACHINE.test(line));
  }

  /** The process runs, or all of them. */
  get isRunning(): boolean {
    return this.#started.isRunning();
  }

  /** The metrics; those of all nodes added up. */
  async metricsText(): Promise<string> {
    const texts = await Promise.all(this.#started.urls().map(async (url) => (await fetch(`${url}/metrics`)).text()));
    const sums = new Map<string, number | undefined>();
    for (const line of texts.flatMap((text) => text.split('\n'))) {
      const [, name, value] = /^([^#].*) (\S+)$/.exec(line) ?? [undefined, line, undefined];
      sums.set(name, value === undefined ? undefined : (sums.get(name) ?? 0) + Number(value));
    }
    return Array.from(sums, ([name, value]) => (value === undefined ? name : `${name} ${value}`)).join('\n');
  }

  /** @returns the exit code. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    return this.#started.stop(signal);
  }
}

interface Started {
  readonly ports: { readonly http: number; readonly mqtt: number; readonly mqttTls: number | undefined };
  errors(): string;
  isRunning(): boolean;
  /** Of each process. */
  urls(): string[];
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

interface Spawned {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output(): string;
  errors(): string;
}

function spawnServer(data: string, flags: readonly string[]): Spawned {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is missing: npm run build`);
  const child = spawn(
    process.execPath,
    [
      MAIN,
      'serve',
      '--host',
      '127.0.0.1',
      '--http-port',
      '0',
      '--mqtt-port',
      '0',
      '--https-port',
      '0',
      '--mqtt-tls-port',
      '0',
      '--data',
      data,
      '--log-format',
      'json',
      ...flags,
    ],
    {
      // The tests' proxy sends no chunks: they run on the engine that a server without one has.
      env: cleanEnvironment({
        MILLRACE_HTTP_ENGINE: process.env['MILLRACE_HTTP_ENGINE'] ?? 'uws',
        MILLRACE_ADMIN_PASSWORD: PASSWORD,
        MILLRACE_MANAGEMENT_PASSWORD: MANAGEMENT_PASSWORD,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const ended = new Promise<number | null>((done) => {
    child.on('close', (code) => done(code));
  });
  return { child, ended, output: () => output, errors: () => errors };
}

async function startSingle(t: Teardown, data: string, flags: readonly string[]): Promise<Started> {
  const { child, ended, output, errors } = spawnServer(data, flags);
  const stop = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    const code = await ended;
    clearTimeout(timer);
    return code;
  };
  // Registered before anything can fail: the process never outlives the test.
  t.teardown(() => stop('SIGTERM'));
  await until(
    'the server has started',
    () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${errors()}`);
      return output().includes('curl -u');
    },
    START_TIMEOUT_MS,
  );
  const ports = /URL\s+http:\/\/[^:]+:(\d+)[\s\S]*MQTT port\s+(\d+)(?:, with TLS (\d+))?/.exec(output());
  if (!ports) throw new Error(`no ports in ${output()}`);
  return {
    ports: {
      http: Number(ports[1]),
      mqtt: Number(ports[2]),
      mqttTls: ports[3] === undefined ? undefined : Number(ports[3]),
    },
    errors,
    stop,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    urls: () => [`http://127.0.0.1:${ports[1]}`],
  };
}

/** By the directory that the test knows: a second start there is a start of the nodes of the first. */
const clusters = new Map<string, RunningCluster>();
const hosted = new Map<string, HostedServer>();
const PASSWORDS = { admin: PASSWORD, management: MANAGEMENT_PASSWORD };

async function startCluster(
  t: Teardown,
  data: string | undefined,
  flags: readonly string[],
): Promise<{ data: string; started: Started }> {
  let cluster = data === undefined ? undefined : clusters.get(data);
  if (cluster === undefined) {
    cluster = await RunningCluster.start(t, { nodes: CLUSTER_NODES, flags, passwords: PASSWORDS });
    clusters.set(cluster.data, cluster);
  } else await cluster.startNodes(flags);
  const running = cluster;
  return {
    data: running.data,
    started: {
      ports: { http: running.httpPort, mqtt: running.mqttPort, mqttTls: running.mqttTlsPort },
      errors: () => inOrder(running.nodes.flatMap(({ errors }) => errors.split('\n'))),
      isRunning: () => running.nodes.every(({ isAlive }) => isAlive),
      urls: () => running.nodes.map(({ url }) => url),
      stop: (signal) => running.stop(signal),
    },
  };
}

async function startHosted(
  t: Teardown,
  data: string | undefined,
  flags: readonly string[],
): Promise<{ data: string; started: Started }> {
  let server = data === undefined ? undefined : hosted.get(data);
  if (server === undefined) {
    server = await HostedServer.start(t, { ...(data === undefined ? {} : { data }), flags, passwords: PASSWORDS });
    hosted.set(server.data, server);
  } else await server.startAgain(flags);
  const running = server;
  return {
    data: running.data,
    started: {
      ports: { http: running.httpPort, mqtt: running.mqttPort, mqttTls: running.mqttTlsPort },
      errors: () => running.errors,
      isRunning: () => running.isRunning,
      urls: () => running.urls,
      stop: (signal) => {
        if (signal === 'SIGKILL' && CLUSTER_NODES === 0) throw new Error('a server that is killed needs isKilled');
        return running.stop();
      },
    },
  };
}

/** Lines of the logs of several nodes by their time. */
function inOrder(lines: readonly string[]): string {
  const timeOf = (line: string): string => /"time":"([^"]+)"/.exec(line)?.[1] ?? '';
  return lines
    .map((line) => [timeOf(line), line])
    .sort(([one], [other]) => (one < other ? -1 : Number(one > other)))
    .map(([, line]) => line)
    .join('\n');
}

/** The tests stand for clients and for a proxy before the server. */
const BEHIND_PROXY = ['--trust-proxy', 'yes'];

export interface ServerOptions {
  /** An existing data directory, for a second start. */
  readonly data?: string;
  readonly flags?: readonly string[];
  /** A process of its own, which can be killed, not a host (`bin/test.mjs`). A cluster in hosts only stops. */
  readonly isKilled?: boolean;
}

/** Starts the server and ends it with the test. */
export async function startServer(t: Teardown, options: ServerOptions = {}): Promise<RunningServer> {
  const { flags: wanted = [] } = options;
  // Tenants have their hosts there.
  const inDomain = wanted.includes('--domain-suffix') ? wanted : ['--domain-suffix', 'example.com', ...wanted];
  const flags = wanted.includes('--trust-proxy') ? inDomain : [...BEHIND_PROXY, ...inDomain];
  const isHosted = hasHosts && (CLUSTER_NODES > 0 || options.isKilled !== true);
  if (isHosted || CLUSTER_NODES > 0) {
    const { data, started } = await (isHosted ? startHosted : startCluster)(t, options.data, flags);
    return new RunningServer(data, started);
  }
  const data = options.data ?? scratchDirectory(t);
  return new RunningServer(data, await startSingle(t, data, flags));
}

/** Polls until `read` gives something. @throws after the deadline, with the last value or error. */
export async function eventually<Value>(
  what: string,
  read: () => Value | undefined | false | Promise<Value | undefined | false>,
  timeoutMs = 10_000,
): Promise<Value> {
  let found: Value | undefined | false;
  let failure: unknown;
  await until(
    what,
    async () => {
      try {
        found = await read();
        failure = undefined;
      } catch (error) {
        failure = error;
        return false;
      }
      return found !== undefined && found !== false;
    },
    timeoutMs,
  ).catch((error: Error) => {
    throw failure === undefined ? error : new Error(`${error.message}: ${(failure as Error).message}`);
  });
  return found as Value;
}
