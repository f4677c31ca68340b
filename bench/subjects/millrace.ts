/** Starts Millrace as its users do, reads its counters, stops or kills it. */
import type { ChildProcess } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Target } from '../generator/job.ts';
import { descendants, isAlive } from '../process-figures.ts';
import { endProcess, freePort, hasEnded, SERVER_CORE, startProcess } from '../processes.ts';
import type { ProcessKind, Subject } from './subject.ts';

const DEFAULT_ENTRY = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const PASSWORD = 'bench-only-password';
const USER = 't1/admin';
const READY_LIMIT_MS = 60_000;
const KILL_LIMIT_MS = 5_000;
const ROWS_METRIC = 'millrace_rows_inserted_total';

export interface MillraceOptions {
  directory: string;
  /** Cores of the server, and of its engine where that has none of its own; undefined: that of all servers. */
  core?: string | undefined;
  /** Core of the database engine's process; undefined: the server's. */
  engineCore: string | undefined;
  /** Another build of the server. */
  entry: string | undefined;
  /** A node of a cluster: where its servers are, and what all nodes have to agree on. */
  environment?: Readonly<Record<string, string>>;
}

export class Millrace implements Subject {
  readonly name = 'millrace';
  readonly mqtt: Target;
  readonly http: Target;
  /** From the start of the process until /health/ready answered 200. */
  readyAfterMs = 0;
  private readonly options: MillraceOptions;
  private child: ChildProcess | undefined;

  private constructor(options: MillraceOptions, mqttPort: number, httpPort: number) {
    this.options = options;
    this.mqtt = { host: '127.0.0.1', port: mqttPort, userName: USER, password: PASSWORD };
    this.http = { ...this.mqtt, port: httpPort };
  }

  /** @returns a server that is ready, with its data in `<directory>/data`. */
  static async start(options: MillraceOptions): Promise<Millrace> {
    const entry = options.entry ?? DEFAULT_ENTRY;
    if (!existsSync(entry)) throw new Error(`${entry} is missing: run npm run build`);
    mkdirSync(join(options.directory, 'data'), { recursive: true });
    const millrace = new Millrace(options, await freePort(), await freePort());
    try {
      await millrace.startProcess();
    } catch (error) {
      await millrace.stop();
      throw error;
    }
    return millrace;
  }

  /** Starts the process on the same data and ports. */
  async startProcess(): Promise<void> {
    const begunMs = performance.now();
    this.child = startProcess({
      command: process.execPath,
      core: this.options.core ?? SERVER_CORE,
      logFile: join(this.options.directory, 'millrace.log'),
      args: [
        this.options.entry ?? DEFAULT_ENTRY,
        'serve',
        '--host',
        '127.0.0.1',
        '--http-port',
        String(this.http.port),
        '--mqtt-port',
        String(this.mqtt.port),
        '--data',
        join(this.options.directory, 'data'),
      ],
      env: {
        MILLRACE_ADMIN_PASSWORD: PASSWORD,
        MILLRACE_METRICS_ACCESS: 'everyone',
        NODE_ENV: 'production',
        ...this.options.environment,
      },
    });
    await this.untilReady(begunMs);
    this.readyAfterMs = performance.now() - begunMs;
    this.placeEngine();
  }

  /** Directory of its data. */
  get data(): string {
    return join(this.options.directory, 'data');
  }

  pids(): number[] {
    const pid = this.child?.pid;
    return pid === undefined ? [] : [pid, ...descendants(pid)];
  }

  kinds(): ProcessKind[] {
    return this.pids().map((_, index) => (index === 0 ? 'node' : 'clickHouse'));
  }

  /** @returns the value of a metric without labels. */
  async metric(name: string): Promise<number> {
    const text = await (await this.fetch('/metrics')).text();
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  }

  async rows(): Promise<number> {
    const text = await (await this.fetch('/metrics')).text();
    let rows = Number.NaN;
    for (const line of text.split('\n')) {
      if (!line.startsWith(`${ROWS_METRIC}{`) || !line.includes('table="measurements"')) continue;
      rows =
        (Number.isNaN(rows) ? 0 : rows) +
        Number(
          line
            .slice(line.lastIndexOf('}') + 1)
            .trim()
            .split(' ')[0],
        );
    }
    return Number.isNaN(rows) ? 0 : rows;
  }

  /** @returns the measurements that a query finds, without a flush of what is not yet visible. */
  async visibleMeasurements(): Promise<number> {
    const response = await this.fetch('/measurement/measurements?pageSize=1&withTotalElements=true', {
      headers: { accept: 'application/json', 'X-Millrace-No-Flush': 'true' },
    });
    const body = (await response.json()) as { statistics?: { totalElements?: number } };
    if (body.statistics?.totalElements === undefined)
      throw new Error(`no totalElements: ${JSON.stringify(body).slice(0, 300)}`);
    return body.statistics.totalElements;
  }

  /** Creates a device over REST. @returns its id. */
  async createDevice(name: string): Promise<string> {
    const response = await this.fetch('/inventory/managedObjects', {
      method: 'POST',
      body: JSON.stringify({ name, type: 'c8y_Bench', c8y_IsDevice: {} }),
      headers: { accept: 'application/json', 'content-type': 'application/json' },
    });
    if (response.status !== 201)
      throw new Error(`POST managedObjects: ${response.status} ${(await response.text()).slice(0, 300)}`);
    return ((await response.json()) as { id: string }).id;
  }

  /** Merges fragments into an object. @returns whether it was answered with 200. */
  async updateObject(id: string, fragments: object): Promise<boolean> {
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const response = await this.fetch(`/inventory/managedObjects/${id}`, {
      method: 'PUT',
      body: JSON.stringify(fragments),
      headers,
    });
    await response.text();
    return response.status === 200;
  }

  /** Halts the database engine's processes (or lets them go on), so that the journal fills. */
  signalEngine(signal: 'SIGSTOP' | 'SIGCONT'): number {
    const engines = this.pids().slice(1);
    for (const pid of engines) process.kill(pid, signal);
    return engines.length;
  }

  /** kill -9 of the server and of its engine, which may be halted and could not end by itself. */
  async kill(): Promise<void> {
    const engines = this.pids().slice(1);
    await endProcess(this.child!, 'SIGKILL');
    const deadline = performance.now() + KILL_LIMIT_MS;
    for (const pid of engines) {
      while (isAlive(pid) && performance.now() < deadline) {
        process.kill(pid, 'SIGKILL');
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }

  async stop(): Promise<void> {
    await endProcess(this.child!);
  }

  /** POST of JSON. @throws unless it is taken. */
  async send(path: string, body: object): Promise<void> {
    const response = await this.fetch(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${(await response.text()).slice(0, 300)}`);
  }

  private fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
    return fetch(`http://127.0.0.1:${this.http.port}${path}`, {
      ...init,
      headers: { authorization, ...(init.headers as Record<string, string>) },
      signal: AbortSignal.timeout(READY_LIMIT_MS),
    });
  }

  private async untilReady(begunMs: number): Promise<void> {
    while (performance.now() - begunMs < READY_LIMIT_MS) {
      if (hasEnded(this.child!))
        throw new Error(`millrace ended at its start; see ${join(this.options.directory, 'millrace.log')}`);
      const ready = await this.fetch('/health/ready').then(
        (response) => response.status === 200,
        () => false,
      );
      if (ready) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(
      `millrace is not ready after ${READY_LIMIT_MS} ms; see ${join(this.options.directory, 'millrace.log')}`,
    );
  }

  private placeEngine(): void {
    const core = this.options.engineCore;
    if (core === undefined) return;
    for (const pid of this.pids().slice(1))
      execFileSync('taskset', ['-a', '-p', '-c', core, String(pid)], { stdio: 'ignore' });
  }
}
