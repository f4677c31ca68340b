/** The whole server as a process: started on free ports, spoken to, killed by pid, started again on the same data. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cleanEnvironment, until } from '../setup-command.ts';
import { DIST } from '../root.ts';

export const PASSWORD = 'fault-Password-1';
export const USER = 't1/admin';
export const AUTHORIZATION = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;

const START_TIMEOUT_MS = 60_000;
const OUTPUT_MAX = 200_000;

interface Test {
  teardown(action: () => void | Promise<void>): void;
  comment(...text: unknown[]): void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  json<T>(): T;
}

export interface LaunchOptions {
  readonly args?: readonly string[];
  readonly environment?: Record<string, string>;
}

/** Data directory that is gone after the test; every server process of it is killed before. */
export class ServerProcess {
  readonly data: string;
  httpPort = 0;
  mqttPort = 0;
  stderr = '';
  /** The test is over: who sends stops. */
  isDisposed = false;
  exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }> = Promise.resolve({ code: null, signal: null });
  #child: ChildProcess | undefined;
  #args: readonly string[];
  #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  /** ClickHouse children that were seen: a server killed with -9 cannot end a stopped one. */
  readonly #clickHousePids = new Set<number>();

  constructor(t: Test, options: { args?: readonly string[]; data?: string } = {}) {
    this.#args = options.args ?? [];
    this.data = options.data ?? mkdtempSync(join(tmpdir(), 'millrace-fault-'));
    t.teardown(async () => {
      this.isDisposed = true;
      for (const pid of [this.clickHousePid(), ...this.#clickHousePids])
        if (pid !== undefined && isClickHouse(pid, this.data)) signal(pid, 'SIGKILL');
      await this.kill();
      this.#agent.destroy();
      if (options.data === undefined) rmSync(this.data, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }
  get isAlive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts and waits for the screen with the ports. @throws with the log when the process ends before. */
  async start(options: LaunchOptions = {}): Promise<this> {
    this.launch(options);
    await this.listening();
    return this;
  }

  /** Starts without waiting. */
  launch(options: LaunchOptions = {}): void {
    if (options.args) this.#args = options.args;
    const child = spawn(
      process.execPath,
      [
        join(DIST, 'src', 'main.js'),
        'serve',
        '--host',
        '127.0.0.1',
        '--http-port',
        '0',
        '--mqtt-port',
        '0',
        '--data',
        this.data,
        ...this.#args,
      ],
      {
        env: cleanEnvironment({ MILLRACE_ADMIN_PASSWORD: PASSWORD, ...options.environment }),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#child = child;
    this.httpPort = 0;
    this.mqttPort = 0;
    let stdout = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      this.httpPort ||= Number(/URL\s+http:\/\/[^:\s]+:(\d+)/.exec(stdout)?.[1] ?? 0);
      this.mqttPort ||= Number(/MQTT port\s+(\d+)/.exec(stdout)?.[1] ?? 0);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString()).slice(-OUTPUT_MAX);
    });
    this.exit = new Promise((done) => {
      child.on('exit', (code, reason) => done({ code, signal: reason }));
    });
  }

  async listening(): Promise<void> {
    await until(
      'the server shows its ports',
      () => {
        if (!this.isAlive) throw new Error(`the server ended while it started:\n${this.stderr.slice(-4_000)}`);
        return this.httpPort > 0 && this.mqttPort > 0;
      },
      START_TIMEOUT_MS,
    );
    const clickHouse = this.clickHousePid();
    if (clickHouse !== undefined) this.#clickHousePids.add(clickHouse);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    if (!this.isAlive) return;
    signal(this.pid, 'SIGKILL');
    await this.exit;
  }

  /** @returns the exit code and how long it took. */
  async terminate(): Promise<{ code: number | null; signal: NodeJS.Signals | null; durationMs: number }> {
    const startMs = Date.now();
    signal(this.pid, 'SIGTERM');
    const ended = await this.exit;
    return { ...ended, durationMs: Date.now() - startMs };
  }

  /** The child process that hosts ClickHouse, undefined between two. */
  clickHousePid(): number | undefined {
    return childrenOf(this.pid).find((pid) => isClickHouse(pid, this.data));
  }

  get rssBytes(): number {
    const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))?.[1];
    return Number(kib) * 1_024;
  }

  /** With the administrator's credentials unless the headers have others. Rejects when there is no answer. */
  http(
    method: string,
    path: string,
    body?: string | object,
    headers: Record<string, string> = {},
  ): Promise<HttpAnswer> {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    return new Promise((done, fail) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.httpPort,
          method,
          path,
          agent: this.#agent,
          timeout: 60_000,
          headers: {
            authorization: AUTHORIZATION,
            ...(text === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', fail);
          response.on('end', () => {
            const answer = Buffer.concat(chunks).toString();
            done({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: answer,
              json: <T>() => JSON.parse(answer) as T,
            });
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer within 60 s`)));
      sent.on('error', fail);
      sent.end(text);
    });
  }

  /** @returns the id of a new device. */
  async createDevice(name: string): Promise<string> {
    const answer = await this.http(
      'POST',
      '/inventory/managedObjects',
      { name, c8y_IsDevice: {} },
      { accept: 'application/json' },
    );
    if (answer.status !== 201) throw new Error(`POST managedObjects: ${answer.status} ${answer.text}`);
    return answer.json<{ id: string }>().id;
  }

  /** @returns the managed object with this serial, undefined when there is none. */
  async deviceOf(serial: string): Promise<string | undefined> {
    const answer = await this.http('GET', `/identity/externalIds/c8y_Serial/${encodeURIComponent(serial)}`);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw new Error(`GET externalIds: ${answer.status} ${answer.text}`);
    return answer.json<{ managedObject: { id: string } }>().managedObject.id;
  }

  /** Value of a metric by its name with labels. 0 when it is not there. */
  async metric(name: string): Promise<number> {
    const { text } = await this.http('GET', '/metrics');
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1) ?? 0,
    );
  }

  async ready(): Promise<{
    status: number;
    ready: boolean;
    parts: Record<string, { ready: boolean; [detail: string]: unknown }>;
  }> {
    const answer = await this.http('GET', '/health/ready');
    const { ready, parts } = answer.json<{ ready: boolean; parts: Record<string, { ready: boolean }> }>();
    return { status: answer.status, ready, parts };
  }

  /** Waits until everything acknowledged is in the history store. */
  async caughtUp(timeoutMs = 60_000): Promise<void> {
    await until(
      'the projector has caught up',
      async () => {
        const { parts } = await this.ready();
        return parts['clickhouse'].ready && parts['clickhouse']['lagRecords'] === 0;
      },
      timeoutMs,
    );
  }
}

/** Rows of a SELECT on the data directory of a server that does not run. */
export async function readHistory<Row>(data: string, sql: string): Promise<Row[]> {
  const load = async (path: string): Promise<Record<string, unknown>> =>
    (await import(pathToFileURL(join(DIST, 'src', 'store', path)).href)) as Record<string, unknown>;
  type Engine = { start(): Promise<string>; stop(): Promise<void> };
  type Client = { query<R>(sql: string): Promise<R[]>; close(): Promise<void> };
  const { EmbeddedClickHouse } = (await load('embedded-clickhouse/supervisor.js')) as {
    EmbeddedClickHouse: new (options: object) => Engine;
  };
  const { ClickHouse } = (await load('clickhouse/adapter.js')) as { ClickHouse: new (options: object) => Client };
  const log = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, () => undefined]));
  const engine = new EmbeddedClickHouse({ directory: join(data, 'clickhouse'), log });
  const client = new ClickHouse({ url: await engine.start(), log });
  try {
    return await client.query<Row>(sql);
  } finally {
    await client.close();
    await engine.stop();
  }
}

/** Sends a signal; a process that is gone is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    /* gone already */
  }
}

function childrenOf(parent: number): number[] {
  if (parent === 0) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
}

function isClickHouse(pid: number, data: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes('embedded-clickhouse') && command.includes(data);
  } catch {
    return false;
  }
}

/** Pseudo-random numbers in [0, 1) from a printed seed (mulberry32). `MILLRACE_TEST_SEED` repeats a run. */
export function seeded(t: Test): () => number {
  let state = Number(process.env['MILLRACE_TEST_SEED'] ?? Date.now() % 2 ** 31);
  t.comment(`seed ${state} (repeat with MILLRACE_TEST_SEED=${state})`);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** For random moments of kills, which are no waiting for a condition. */
export const delay = (ms: number): Promise<void> =>
  new Promise((done) => {
    setTimeout(done, ms);
  });
