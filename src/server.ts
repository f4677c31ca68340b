/** Composition of the server: makes the parts, wires them by their ports, starts and stops them in order. */
import { readFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CachingAuthenticator } from './accounts/authenticator.ts';
import { createFirstAccounts } from './accounts/first-start.ts';
import { Tenants } from './accounts/tenants.ts';
import { ActorSystem } from './actors/actor-system.ts';
import { DataDeletion } from './actors/data-deletion.ts';
import { ProjectorMemory } from './actors/projector-memory.ts';
import { ApiServer } from './api/api-server.ts';
import { realtimeRoutes, registerRealtimeSockets } from './api/realtime.ts';
import { apiRoutes } from './api/routes.ts';
import type { Config } from './config.ts';
import { CommandBus } from './ingest/command-bus.ts';
import { GroupCommit } from './ingest/group-commit.ts';
import type { HistoryRow } from './ingest/history-writer.ts';
import { JsonMeasurementIntake } from './ingest/measurement-intake.ts';
import { Projector } from './ingest/projector.ts';
import { Sources } from './ingest/sources.ts';
import type { Log } from './model/log.ts';
import { DeviceApplication } from './mqtt/device-application.ts';
import { MqttServer } from './mqtt/server.ts';
import { SessionDocuments } from './mqtt/session-documents.ts';
import { mqttWebSocketHandlers } from './mqtt/web-socket-transport.ts';
import { backupRunning, CLICKHOUSE_DIRECTORY, DOCUMENTS_DIRECTORY } from './operate/backup-running.ts';
import { ControlSocket } from './operate/control-socket.ts';
import { DataLock } from './operate/data-lock.ts';
import { DiskGuard } from './operate/disk-guard.ts';
import { reportHealth } from './operate/health.ts';
import { Metrics } from './operate/metrics.ts';
import { SecretsFile } from './operate/secrets-file.ts';
import { registerServerMetrics } from './operate/server-metrics.ts';
import { BAYEUX_URLS } from './realtime/bayeux-channel.ts';
import { BayeuxServer } from './realtime/bayeux-server.ts';
import { DocumentHierarchy, OwnerAccess } from './realtime/document-hierarchy.ts';
import { InProcessLiveBus } from './realtime/live-bus.ts';
import { ClickHouse } from './store/clickhouse.ts';
import { ClickHouseHistoryReader, ClickHouseHistoryWriter } from './store/clickhouse-history.ts';
import { EmbeddedClickHouse } from './store/embedded-clickhouse/supervisor.ts';
import { IdBlocks } from './store/id-blocks.ts';
import { LmdbDocuments } from './store/lmdb-documents.ts';
import { openLmdb } from './store/lmdb-environment.ts';
import { LmdbJournal } from './store/lmdb-journal.ts';
import { SCHEMA_VERSION } from './store/schema.ts';

/** Time for answers under way and for connections to read their last packets. */
const DRAIN_MS = 500;
/** Time for the last rows to reach the history; the journal keeps what does not. */
const FLUSH_MS = 2_000;

export interface RunningServer {
  readonly httpPort: number;
  readonly mqttPort: number;
  readonly mqttTlsPort?: number;
  /** True when the accounts were created now. */
  readonly firstStart: boolean;
  /** The administrator's password when it was generated now. */
  readonly generatedPassword?: string;
  stop(): Promise<void>;
}

export const VERSION = (JSON.parse(readFileSync(packageFile(), 'utf8')) as { version: string }).version;

/** package.json of the project, from src and from dist/src. */
function packageFile(): URL {
  return new URL(import.meta.url.includes('/dist/') ? '../../package.json' : '../package.json', import.meta.url);
}

/** Everything that writes and keeps state: ready for requests when `open` resolves. */
class Core {
  readonly config: Config;
  readonly log: Log;
  readonly data: string;
  readonly metrics: Metrics;
  readonly environment;
  readonly journal;
  readonly documents;
  readonly engine;
  readonly clickHouse;
  readonly bus;
  readonly tenants;
  readonly disk;
  readonly actors: ActorSystem;
  readonly group: GroupCommit;
  readonly commands: CommandBus;
  readonly projector: Projector;
  readonly historyReader: ClickHouseHistoryReader;
  readonly historyAsIs: ClickHouseHistoryReader;
  readonly authenticator: CachingAuthenticator;
  readonly sources: Sources;
  ids!: IdBlocks;
  /** Ends what listeners hold for a user. */
  onUserChanged: ((tenant: number, userName: string) => void) | undefined;
  onObjectChanged: ((id: number) => void) | undefined;
  readonly secrets: SecretsFile;
  accounts!: Awaited<ReturnType<typeof createFirstAccounts>>;
  /** Sequence that has been handled by the actors: what is acknowledged. */
  handledSeq = 0;
  readonly #writer: ClickHouseHistoryWriter;
  readonly #lock: DataLock;

  private constructor(config: Config, log: Log, data: string, engine: EmbeddedClickHouse, clickHouse: ClickHouse, lock: DataLock) {
    this.#lock = lock;
    this.config = config;
    this.log = log;
    this.metrics = new Metrics(log);
    this.data = data;
    this.secrets = new SecretsFile(join(data, 'secrets.json'));
    this.engine = engine;
    this.clickHouse = clickHouse;
    this.environment = openLmdb(join(data, DOCUMENTS_DIRECTORY), { mapSizeBytes: config.documentsMapSizeBytes });
    this.journal = new LmdbJournal(this.environment);
    this.documents = new LmdbDocuments(this.environment);
    this.bus = new InProcessLiveBus({ log });
    this.tenants = new Tenants(config.tenant);
    this.disk = new DiskGuard({ path: data, freeBytesMin: config.diskFreeMinBytes, log });
    this.#writer = new ClickHouseHistoryWriter(clickHouse);
    const fatal = (error: Error): void => {
      log.error({ err: error, freeBytes: this.disk.freeBytes },
        `the documents could not be committed (${error.message}); ending: the journal has what was acknowledged`);
      throw error;
    };
    this.actors = new ActorSystem({
      documents: this.documents, bus: this.bus, log, onCommitFailed: fatal,
      append: (command, pendingId) => this.commands.appendFollowUp(command, pendingId),
      onUserChanged: (tenant, userName) => this.#userChanged(tenant, userName), onObjectChanged: (id) => this.#objectChanged(id),
    });
    this.group = new GroupCommit({
      journal: this.journal, journalBytesMax: config.journalMaxBytes, refusal: () => this.disk.refusal,
      onDurable: (firstSeq, records) => this.#handle(firstSeq, records),
      onCommitted: (recordCount, durationMs) => this.metrics.acknowledgementLatency.observe(durationMs / 1_000, recordCount),
      onError: (error) => log.error({ err: error }, `the journal could not be written: ${error.message}`),
    });
    this.commands = new CommandBus({ group: this.group, replies: this.actors, refusals: this.metrics });
    const deletion = new DataDeletion({ history: this.#writer, commands: this.commands });
    this.projector = new Projector({
      journal: this.journal, history: this.#writer, progress: new ProjectorMemory(this.documents, this.actors), log,
      rowsMax: config.projectorBatchRows, intervalMs: config.projectorIntervalMs,
      deleteMutable: (command) => deletion.run(command),
      onPosition: (position) => this.journal.trim(Math.min(position, this.actors.committedSeq)),
      onInserted: (table, rows) => this.metrics.counter('millrace_rows_inserted_total', 'Rows in the history store', ['table']).inc({ table }, rows),
    });
    this.historyReader = new ClickHouseHistoryReader(clickHouse, this.#writer, (timeoutMs, query) =>
      this.projector.visible(this.handledSeq, timeoutMs, query));
    this.historyAsIs = new ClickHouseHistoryReader(clickHouse, this.#writer, () => Promise.resolve());
    this.authenticator = new CachingAuthenticator({ documents: this.documents, tenants: this.tenants, refusals: this.metrics, now: Date.now });
    this.sources = new Sources(this.documents);
  }

  static async open(config: Config, log: Log): Promise<Core> {
    const data = resolve(config.data);
    await mkdir(data, { recursive: true });
    const lock = await DataLock.take(data);
    const engine = new EmbeddedClickHouse({ directory: join(data, CLICKHOUSE_DIRECTORY), log, memoryBytesMax: config.clickhouseMemoryMaxBytes });
    try {
      const url = await engine.start();
      const core = new Core(config, log, data, engine, new ClickHouse({ url, log }), lock);
      await core.#start();
      return core;
    } catch (error) {
      await engine.stop();
      await lock.release();
      throw error;
    }
  }

  async #start(): Promise<void> {
    await this.#checkSchema();
    await this.disk.start();
    await this.tenants.open(this.documents);
    this.ids = await IdBlocks.open(this.documents, (error) => { throw error; });
    await this.#accounts();
    await this.#replay();
    await this.#writer.createTables();
    await this.projector.start();
    await this.actors.resumeFollowUps();
  }

  /** A data directory of a newer version is not touched. */
  async #checkSchema(): Promise<void> {
    const version = Number(await this.documents.get('meta', 0, 'schema') ?? SCHEMA_VERSION);
    if (version > SCHEMA_VERSION) throw new Error(`the data directory has schema ${version}; this version of Millrace knows ${SCHEMA_VERSION}`);
    await this.documents.commit([{ collection: 'meta', tenant: 0, id: 'schema', value: String(SCHEMA_VERSION) }], undefined);
  }

  /** Recovery: what the journal has beyond the committed state is handled again (design 6). */
  async #replay(): Promise<void> {
    const from = await this.documents.position();
    this.actors.committedSeq = from;
    for (let seq = from + 1; seq <= this.journal.lastSeq;) {
      const batch = this.journal.read(seq);
      if (!batch) break;
      const { lastSeq } = this.actors.handleGroup(batch.firstSeq, batch.records, from);
      await this.actors.settled();
      seq = lastSeq + 1;
    }
    this.handledSeq = this.journal.lastSeq;
    if (this.journal.lastSeq > from) this.log.info({ from, through: this.journal.lastSeq }, 'journal replayed');
  }

  async #accounts(): Promise<void> {
    this.accounts = await createFirstAccounts(this.documents, this.tenants, this.config, (generated) => this.secrets.add(generated));
  }

  #handle(firstSeq: number, records: Buffer): void {
    const { lastSeq, rows } = this.actors.handleGroup(firstSeq, records);
    this.handledSeq = lastSeq;
    this.projector.offer(firstSeq, lastSeq, records, rows as HistoryRow[]);
  }

  #userChanged(tenant: number, userName: string): void {
    this.authenticator.forget(tenant, userName);
    this.onUserChanged?.(tenant, userName);
  }

  #objectChanged(id: number): void {
    this.sources.forget(id);
    this.onObjectChanged?.(id);
  }

  async close(): Promise<void> {
    await this.group.drained();
    await this.actors.settled();
    await this.projector.visible(this.handledSeq, FLUSH_MS).catch(async (error: Error) => {
      this.log.warn({ error: error.message }, 'not everything is in the history yet; the journal keeps it for the next start');
      // Breaks off an insert under way, for which the projector would wait: it is repeated at the next start.
      await this.clickHouse.close();
    });
    await this.projector.stop();
    await this.clickHouse.close();
    await this.engine.stop();
    this.disk.stop();
    this.metrics.stop();
    await this.environment.close();
    await this.#lock.release();
  }
}

/** Starts the server. Rejects when it cannot; then everything that was started is stopped. */
export async function startServer(config: Config, log: Log): Promise<RunningServer> {
  const core = await Core.open(config, log);
  try {
    return await startListeners(core);
  } catch (error) {
    await core.close();
    throw error;
  }
}

async function startListeners(core: Core): Promise<RunningServer> {
  const { config, log, metrics } = core;
  const { commands, group, documents, ids, bus, authenticator } = core;
  const device = new DeviceApplication({ authenticator, commands, group, documents, ids, bus, refusals: metrics, log, now: Date.now });
  const messages = metrics.counter('millrace_messages_total', 'Messages by protocol and result', ['protocol', 'result']);
  const mqtt = new MqttServer({
    application: device, store: new SessionDocuments({ commands, documents, now: Date.now }), log,
    metrics: {
      count: (limit) => metrics.count(limit),
      // Read from the server when somebody asks.
      connections: () => undefined,
      messages: (direction, qos, count) => messages.inc({ protocol: `mqtt-qos${qos}`, result: direction === 'in' ? 'received' : 'sent' }, count),
    },
    limits: {
      connections: config.mqttConnectionsMax, payloadBytes: config.mqttPayloadMaxBytes, packetBytes: config.mqttPayloadMaxBytes + 200,
      rateMessagesPerSecond: config.mqttRateMax, rateQueueMessages: config.mqttRateQueueMax,
    },
  });
  const bayeux = new BayeuxServer({
    bus, hierarchy: new DocumentHierarchy(documents), access: new OwnerAccess(documents), authenticator, log, refusals: metrics,
  });
  core.onObjectChanged = (id) => device.objectDeleted(id);
  core.onUserChanged = (tenant, userName) => {
    mqtt.disconnectUser(tenant, userName);
    bayeux.endUser(core.tenants.byNumber(tenant)?.id ?? '', userName);
  };
  device.onResult = (result) => { messages.inc({ protocol: 'mqtt', result }); };
  const realtime = { urls: BAYEUX_URLS, handle: bayeux.handle.bind(bayeux), open: bayeux.open.bind(bayeux) };
  const api = new ApiServer({
    commands, ids, documents, history: core.historyReader, historyAsIs: core.historyAsIs, bus, authenticator, tenants: core.tenants, refusals: metrics, log,
    measurements: new JsonMeasurementIntake({ group, sources: core.sources, ids, refusals: metrics, now: Date.now }),
    config: {
      ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }), jsonBodyMaxBytes: config.jsonBodyMaxBytes,
      bodyMaxBytes: config.bodySizeMaxBytes, version: VERSION,
    },
    now: Date.now, health: () => reportHealth(core), metricsText: () => metrics.text(),
    onAnswered: (_method, status) => { messages.inc({ protocol: 'http', result: `${Math.trunc(status / 100)}xx` }); },
  }, apiRoutes(realtimeRoutes(realtime)));
  registerRealtimeSockets(api, realtime, authenticator);
  api.webSocket('/mqtt', mqttWebSocketHandlers(mqtt));
  registerServerMetrics(metrics, { core, mqtt, api, bayeux });
  const httpPort = await api.listen({ host: config.host, port: config.httpPort });
  const mqttPort = (await mqtt.listen({ host: config.host, port: config.mqttPort })).port;
  const tls = config.tlsKey === undefined || config.tlsCertificate === undefined ? undefined
    : { key: await readFile(config.tlsKey), cert: await readFile(config.tlsCertificate) };
  const tlsPort = tls ? (await mqtt.listen({ host: config.host, port: config.mqttTlsPort, tls })).port : undefined;
  const control = new ControlSocket(join(core.data, 'control.sock'), new Map([
    ['backup', (request) => backupRunning({ data: core.data, to: String(request.to), version: VERSION, environment: core.environment, engine: core.engine })],
  ]), log);
  await control.listen();
  // Also one that was generated by a start that could not show it, for instance because a port was taken.
  const generatedPassword = await core.secrets.take(`${config.tenant}/${config.adminUser}`);
  return {
    httpPort, mqttPort, ...(tlsPort === undefined ? {} : { mqttTlsPort: tlsPort }), firstStart: core.accounts.isFirstStart,
    ...(generatedPassword === undefined ? {} : { generatedPassword }),
    async stop() {
      api.stopListening();
      bayeux.close();
      await Promise.all([mqtt.close(DRAIN_MS), api.close(DRAIN_MS)]);
      await control.close();
      await core.close();
    },
  };
}

export type { Core };
