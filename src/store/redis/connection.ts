/**
 * The connection to Redis, of every kind. It reconnects for ever, and queues nothing while it is away. The caller decides
 * whether to repeat (RedisDocuments does) or to refuse (the reader does).
 */
import { createHash } from 'node:crypto';
import { Cluster, Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import type { Log } from '../../ports/log.ts';
import { describeRedisTarget } from '../../config/redis.ts';
import type { RedisTarget } from '../../config/redis.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_MIN_MS = 50;
const RECONNECT_MAX_MS = 2_000;
/** Redirections and repetitions inside of a cluster before the sender hears of it. */
const REDIRECTIONS_MAX = 6;
/** Problems are logged when they begin and then this often. */
const LOG_INTERVAL_MS = 30_000;
/** Messages of ioredis for a command that found no connection or lost it. */
const CONNECTION_LOST =
  /max retries|Connection is closed|isn't writeable|connection close|ECONN|None of startup nodes|Too many Cluster redir/i;

type ClientOptions = RedisOptions & { replyMapping?: 'legacy' };

export interface RedisConnectionOptions {
  readonly target: RedisTarget;
  readonly log: Log;
  /** Shown by CLIENT LIST. */
  readonly name: string;
  /**
   * A command without an answer fails after this time; it may have been carried out. Default 15 s: the largest commit
   * takes some seconds.
   */
  readonly commandTimeoutMs?: number;
  /** Puts commands of one turn of the event loop into one packet: more a second, each a little later. */
  readonly autoPipelining?: boolean;
}

/** A Lua script, sent by its digest; the text only to a server that does not know it. */
export class RedisScript {
  readonly lua: string;
  readonly sha: string;

  constructor(lua: string) {
    this.lua = lua;
    this.sha = createHash('sha1').update(lua).digest('hex');
  }
}

export class RedisConnection {
  readonly client: Redis | Cluster;
  readonly target: RedisTarget;
  readonly #log: Log;
  readonly #listeners = new Set<() => void>();
  #problem: string | undefined = 'not connected yet';
  #loggedAt = -Infinity;
  #isClosed = false;

  /** Begins to connect and does not wait for it. */
  constructor(options: RedisConnectionOptions) {
    const { target, log, commandTimeoutMs = 15_000, name, autoPipelining = false } = options;
    this.target = target;
    this.#log = log;
    const retry = (times: number): number | null =>
      this.#isClosed
        ? null
        : Math.min(RECONNECT_MIN_MS * 2 ** Math.min(times, 10), RECONNECT_MAX_MS) * (0.5 + Math.random() / 2);
    const shared: ClientOptions = {
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: commandTimeoutMs,
      socketTimeout: commandTimeoutMs + 1_000,
      keepAlive: 10_000,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      connectionName: name,
      // A replica that was a master: the next connection finds the new one.
      reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 1 : false),
      ...(target.username === undefined ? {} : { username: target.username }),
      ...(target.password === undefined ? {} : { password: target.password }),
      ...(target.tls === undefined ? {} : { tls: target.tls }),
    };
    this.client = this.#open(shared, retry, autoPipelining);
    this.client.on('ready', () => {
      // A client of Redis Cluster that is closed while it connects goes on (seen, ioredis 6.0.0, 2026-11-28).
      if (this.#isClosed) this.client.disconnect();
      else this.#ready();
    });
    this.client.on('error', (error: Error) => {
      this.#failed(error.message);
    });
    this.client.on('close', () => {
      this.#failed('the connection was closed');
    });
  }

  /** `'legacy'` stands here and this is a method of its own: to infer types that are as large takes a tenth of the type check. */
  #open(shared: ClientOptions, retry: (times: number) => number | null, autoPipelining: boolean): Redis | Cluster {
    const { target } = this;
    if (target.kind === 'cluster') {
      const cluster = new Cluster<'legacy'>(
        target.addresses.map(({ host, port }) => ({ host, port })),
        {
          redisOptions: shared,
          enableOfflineQueue: false,
          enableAutoPipelining: autoPipelining,
          clusterRetryStrategy: retry,
          maxRedirections: REDIRECTIONS_MAX,
          retryDelayOnFailover: 100,
          retryDelayOnClusterDown: 100,
          retryDelayOnTryAgain: 50,
          slotsRefreshTimeout: 2_000,
          slotsRefreshInterval: 3_000,
          // Names in certificates are those of the hosts, which the cluster announces.
          ...(target.tls === undefined
            ? {}
            : {
                dnsLookup: (address, callback) => {
                  callback(null, address);
                },
              }),
        },
      );
      cluster.on('+node', (node: Redis) => {
        node.on('ready', () => {
          this.#ready();
        });
      });
      cluster.on('node error', (error: Error, node: string) => {
        this.#failed(`${node}: ${error.message}`);
      });
      return cluster;
    }
    return new Redis<'legacy'>({
      ...shared,
      db: target.database,
      enableOfflineQueue: false,
      retryStrategy: retry,
      enableAutoPipelining: autoPipelining,
      ...(target.kind === 'server'
        ? target.addresses[0]
        : {
            sentinels: target.addresses.map((address) => ({ ...address })),
            name: target.master as string,
            sentinelRetryStrategy: retry,
            ...(target.sentinelPassword === undefined ? {} : { sentinelPassword: target.sentinelPassword }),
            ...(target.tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: target.tls }),
          }),
    });
  }

  /** Undefined while Redis answers; otherwise what is wrong. */
  get unavailable(): string | undefined {
    return this.client.status === 'ready'
      ? undefined
      : `Redis ${describeRedisTarget(this.target)}: ${this.#problem ?? this.client.status}`;
  }

  /**
   * Resolves when every server that takes writes has answered, over the connections of the commits and behind them.
   * @throws Error otherwise.
   */
  async ask(): Promise<void> {
    if (this.unavailable !== undefined) throw new Error(this.#problem ?? this.client.status);
    try {
      await Promise.all(Array.from(this.masters().values(), (master) => master.ping()));
    } catch (error) {
      throw new Error(redisProblem(error), { cause: error });
    }
  }

  /** Resolves when it is connected. @throws Error after `timeoutMs`. */
  async ready(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    while (this.unavailable !== undefined) {
      if (performance.now() > end || this.#isClosed) throw new Error(this.unavailable);
      await new Promise((resolve) => {
        setTimeout(resolve, 10);
      });
    }
  }

  /**
   * Calls `listener` whenever the connection to a server was made: it may have been started anew, or be another one,
   * and its data older.
   * @returns a function that ends it.
   */
  onConnected(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Runs a script on the server of its keys, which share a hash tag. May have been carried out when it throws. */
  async run(script: RedisScript, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<unknown> {
    try {
      // As one array: there may be more arguments than a call of JavaScript takes.
      return await this.client.call('evalsha', [script.sha, keys.length, ...keys].concat(args as string[]));
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return this.client.call('eval', [script.lua, keys.length, ...keys].concat(args as string[]));
    }
  }

  /** HMGET, also of more fields than a call of JavaScript takes. */
  fieldsOf(key: string, fields: readonly string[]): Promise<(string | null)[]> {
    return this.client.call('hmget', [key].concat(fields)) as Promise<(string | null)[]>;
  }

  /** One client for each server that takes writes, by `host:port`. Do not close them. */
  masters(): Map<string, Redis> {
    const nodes = this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
    return new Map(nodes.map((node) => [this.#nameOf(node), node]));
  }

  /** Key in `masters` of the server that holds `slot`; undefined while it is not known. */
  nodeOfSlot(slot: number): string | undefined {
    if (this.client instanceof Cluster) return this.client.slots[slot]?.[0];
    return this.#nameOf(this.client);
  }

  /** Ends the connection at once; what is under way fails. */
  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.client.disconnect();
  }

  #nameOf({ options }: Redis): string {
    return this.target.master ?? `${options.host ?? ''}:${options.port ?? 0}`;
  }

  #ready(): void {
    if (this.#problem !== undefined) this.#log.info({ redis: describeRedisTarget(this.target) }, 'connected to Redis');
    this.#problem = undefined;
    this.#loggedAt = -Infinity;
    for (const listener of this.#listeners) listener();
  }

  #failed(problem: string): void {
    if (this.#isClosed) return;
    this.#problem = problem;
    const now = performance.now();
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#loggedAt = now;
    this.#log.warn(
      { redis: describeRedisTarget(this.target), problem },
      'the connection to Redis is disturbed; it is tried again',
    );
  }
}

/** What the error of a command means for a user: connection and server messages of ioredis in plain words. */
export function redisProblem(error: unknown): string {
  const { message } = error as Error;
  if (/Command timed out/.test(message)) return 'Redis did not answer in time';
  return CONNECTION_LOST.test(message) ? 'Redis is not connected' : message;
}
