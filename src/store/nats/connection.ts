/**
 * The connection to NATS that the adapters of this folder share: made once, kept for ever. What is wrong with it is a
 * value (`unavailable`); adapters repeat what they were doing when it is back (`onReconnected`).
 */
import { readFileSync } from 'node:fs';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamClient, JetStreamManager, StreamConfig } from '@nats-io/jetstream';
import { credsAuthenticator, nanos, tokenAuthenticator, usernamePasswordAuthenticator } from '@nats-io/nats-core';
import type { Authenticator, ConnectionOptions, NatsConnection as Core } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { Log } from '../../ports/log.ts';
import { natsUrlsOf, serverNames } from '../../config/nats.ts';
import type { NatsSettings } from '../../config/nats.ts';

/**
 * Between attempts to connect to one server: doubled up to the largest, each with up to half of it added at random.
 * Small, because leases run out meanwhile.
 */
const RECONNECT_MIN_MS = 50;
const RECONNECT_MAX_MS = 500;
const CONNECT_TIMEOUT_MS = 4_000;
/** A connection on which two PINGs in a row are not answered is given up: 4 to 6 s after the network fell silent. */
const PING_INTERVAL_MS = 2_000;
const PINGS_OUT_MAX = 2;
/** An API request of JetStream; its own elections take about as long. */
export const API_TIMEOUT_MS = 2_500;
const LOG_INTERVAL_MS = 10_000;

/** JetStream API: a stream of this name exists with another configuration. */
const STREAM_NAME_IN_USE = 10058;

export class NatsConnection {
  /** The library's connection. */
  readonly core: Core;
  readonly jetstream: JetStreamClient;
  /** JetStream's management API. */
  readonly manager: JetStreamManager;
  readonly #log: Log;
  readonly #reconnected = new Set<() => void>();
  #isConnected = true;
  #isClosing = false;
  readonly #attempts: Attempts;

  private constructor(core: Core, manager: JetStreamManager, log: Log, attempts: Attempts) {
    this.core = core;
    this.manager = manager;
    this.jetstream = jetstream(core, { timeout: API_TIMEOUT_MS });
    this.#log = log;
    this.#attempts = attempts;
    void this.#watch();
  }

  /**
   * Connects, and tries again for ever unless `timeoutMs` is given (0: each server is tried once).
   * @throws TypeError for settings that cannot be understood; the last error of connecting after `timeoutMs`.
   */
  static async open(
    settings: NatsSettings,
    options: { log: Log; timeoutMs?: number; signal?: AbortSignal },
  ): Promise<NatsConnection> {
    const attempts = new Attempts();
    const connectionOptions = { ...connectionOptionsOf(settings), reconnectDelayHandler: () => attempts.delayMs };
    const deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    for (let loggedAt = Number.NEGATIVE_INFINITY; ; ) {
      try {
        const core = await connect(connectionOptions);
        const manager = await jetstreamManager(core, { checkAPI: false, timeout: API_TIMEOUT_MS });
        attempts.succeeded();
        return new NatsConnection(core, manager, options.log, attempts);
      } catch (error) {
        options.signal?.throwIfAborted();
        attempts.begin();
        const { delayMs } = attempts;
        if (performance.now() + delayMs > deadline) throw error;
        if (performance.now() - loggedAt > LOG_INTERVAL_MS) {
          loggedAt = performance.now();
          options.log.warn({ err: error, servers: serverNames(settings) }, 'NATS is not reachable; trying again');
        }
        await sleep(delayMs);
      }
    }
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Undefined while connected, else what is wrong. */
  get unavailable(): string | undefined {
    return this.#isConnected ? undefined : 'nats/unreachable';
  }

  /** Largest message that the server takes, with its headers. */
  get payloadBytesMax(): number {
    return this.core.info?.max_payload ?? 1024 * 1024;
  }

  /** Called each time the connection was lost and is back. @returns a function that ends it. */
  onReconnected(handler: () => void): () => void {
    this.#reconnected.add(handler);
    return () => {
      this.#reconnected.delete(handler);
    };
  }

  /**
   * Makes the stream, or changes the one there is to what is wanted. Tries again for `timeoutMs` while JetStream has no
   * leader yet.
   */
  async ensureStream(config: Partial<StreamConfig> & { name: string }, timeoutMs = 30_000): Promise<void> {
    for (const deadline = performance.now() + timeoutMs; ; ) {
      try {
        await this.#addOrUpdate(config);
        return;
      } catch (error) {
        if (performance.now() > deadline || isFinal(error)) throw error;
        await sleep(250);
      }
    }
  }

  /** Sends what is buffered, then closes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    // The connection may be away: then nothing can be flushed.
    if (this.#isConnected) await Promise.race([this.core.flush().catch(() => undefined), sleep(1_000)]);
    this.#isConnected = false;
    await this.core.close();
  }

  async #addOrUpdate(config: Partial<StreamConfig> & { name: string }): Promise<void> {
    try {
      await this.manager.streams.add(config);
    } catch (error) {
      if ((error as { code?: number }).code !== STREAM_NAME_IN_USE) throw error;
      await this.manager.streams.update(config.name, config);
    }
  }

  async #watch(): Promise<void> {
    for await (const status of this.core.status()) {
      if (status.type === 'disconnect') {
        if (this.#isConnected && !this.#isClosing)
          this.#log.warn({ server: status.server }, 'the connection to NATS is lost');
        this.#isConnected = false;
      } else if (status.type === 'reconnect') {
        this.#isConnected = true;
        this.#attempts.succeeded();
        this.#log.info({ server: status.server }, 'connected to NATS again');
        for (const handler of [...this.#reconnected]) handler();
      } else if (status.type === 'reconnecting') {
        this.#attempts.begin();
      } else if (status.type === 'error') {
        this.#log.error({ err: status.error }, 'NATS refused a request');
      }
    }
    this.#isConnected = false;
    if (!this.#isClosing)
      this.#log.error(
        { err: await this.core.closed() },
        'the library has closed the connection to NATS and does not try again',
      );
  }
}

/** Delays that double while attempts fail. */
class Attempts {
  #count = 0;
  delayMs = RECONNECT_MIN_MS;

  begin(): void {
    this.delayMs = Math.round(
      Math.min(RECONNECT_MAX_MS, RECONNECT_MIN_MS * 2 ** Math.min(this.#count, 10)) * (1 + Math.random() / 2),
    );
    this.#count += 1;
  }

  succeeded(): void {
    this.#count = 0;
    this.delayMs = RECONNECT_MIN_MS;
  }
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Configurations that JetStream will never take, and what this user may not do. */
function isFinal(error: unknown): boolean {
  const { code, name } = error as { code?: number; name?: string };
  return name === 'PermissionViolationError' || (code !== undefined && code >= 10052 && code <= 10056);
}

/** @throws TypeError for settings that contradict each other or name files that cannot be read. */
export function connectionOptionsOf(settings: NatsSettings): ConnectionOptions {
  const urls = natsUrlsOf(settings);
  // The certificates may be meant for Redis and ClickHouse: a server without TLS stays one.
  const isTls = urls[0].protocol === 'tls:';
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port === '' ? 4222 : port}`),
    name: settings.name,
    authenticator: authenticatorOf(urls[0], settings),
    ...(isTls
      ? { tls: { caFile: settings.caFile, certFile: settings.certificateFile, keyFile: settings.keyFile } }
      : {}),
    // Broadcasts reach this process without NATS: what comes back is traffic for nothing.
    noEcho: true,
    noAsyncTraces: true,
    ignoreAuthErrorAbort: true,
    maxReconnectAttempts: -1,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: PINGS_OUT_MAX,
    timeout: CONNECT_TIMEOUT_MS,
  };
}

function authenticatorOf(url: URL, settings: NatsSettings): Authenticator | undefined {
  if (settings.credentialsFile !== undefined) {
    const { credentialsFile } = settings;
    let credentials = readFileSync(credentialsFile);
    return (nonce) => {
      try {
        // Read again at each connection: credentials are renewed by writing the file.
        credentials = readFileSync(credentialsFile);
      } catch {
        // Being replaced: an error here would end the connection for ever, and the former ones may still do.
      }
      return credsAuthenticator(credentials)(nonce);
    };
  }
  if (url.username === '') return undefined;
  const user = decodeURIComponent(url.username);
  return url.password === ''
    ? tokenAuthenticator(user)
    : usernamePasswordAuthenticator(user, decodeURIComponent(url.password));
}

export const seconds = (count: number): number => nanos(count * 1_000);
