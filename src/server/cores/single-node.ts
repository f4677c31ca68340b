/** One node with embedded engines: LMDB, the in-process bus, ClickHouse's engine in a child process. */
import { join, resolve } from 'node:path';
import { CachingAuthenticator } from '../../accounts/login/authenticator.ts';
import type { LoginAudit } from '../../accounts/login/audit.ts';
import type { SecondFactor } from '../../accounts/login/second-factor.ts';
import type { NotificationTokens } from '../../accounts/login/notification-tokens.ts';
import { Tokens } from '../../accounts/login/tokens.ts';
import { PasswordHashes } from '../../accounts/passwords/hashes.ts';
import { createFirstAccounts } from '../../accounts/first-start.ts';
import { MANAGEMENT_TENANT, Tenants } from '../../accounts/tenants/tenants.ts';
import { ActorSystem } from '../../actors/actor-system.ts';
import type { ChangedUser } from '../../actors/runtime/context.ts';
import { DataDeletion } from '../../ingest/projector/data-deletion.ts';
import { ProjectorMemory } from '../../actors/projector-memory.ts';
import type { Config } from '../../config/config.ts';
import { CommandBus } from '../../ingest/journal/command-bus.ts';
import { reserveBytesOf } from '../../ingest/journal/freeing-commands.ts';
import { GroupCommit } from '../../ingest/journal/group-commit.ts';
import { entryOfCommand } from '../../ingest/journal/set-aside.ts';
import { STREAM, oneStream } from '../../ingest/projector/one-stream.ts';
import { Projector } from '../../ingest/projector/projector.ts';
import { Sources } from '../../ingest/measurements/sources.ts';
import { DistantMonths } from '../../ingest/measurements/distant-months.ts';
import type { Log } from '../../ports/log.ts';
import type { Turns } from '../../pacing/turns.ts';
import {
  BLOBS_DIRECTORY,
  CLICKHOUSE_DIRECTORY,
  QUARANTINE_NAME,
  RunningBackups,
} from '../../operate/backup/running.ts';
import type { BlobReferences } from '../../jobs/files/blob-sweeper.ts';
import { finishRestore } from '../../operate/backup/restore-files.ts';
import { endOrphan } from '../../store/embedded-clickhouse/orphan.ts';
import { DOCUMENTS_DIRECTORY, makeDataDirectory } from '../../operate/data-directory.ts';
import { DataLock } from '../../operate/data-lock.ts';
import { DiskGuard } from '../../operate/disk-guard.ts';
import { WatchedDocuments } from '../../operate/documents-watch.ts';
import { healthOf, registerParts, singleNodeParts } from '../../operate/health.ts';
import { Metrics } from '../../operate/metrics.ts';
import { SecretsFile } from '../../operate/secrets-file.ts';
import { InProcessLiveBus } from '../../realtime/bus/live-bus.ts';
import { DocumentHierarchy } from '../../realtime/bayeux/document-hierarchy.ts';
import { Forwarding } from '../../realtime/notifications/forwarding.ts';
import { RecentAnswers } from '../../ingest/recent/answers.ts';
import { DeletionsLook } from '../../ingest/recent/deletions-look.ts';
import { RecentMeasurements } from '../../ingest/recent/measurements.ts';
import { ClickHouse } from '../../store/clickhouse/adapter.ts';
import { ClickHouseHistoryReader } from '../../store/clickhouse/reader.ts';
import { ClickHouseHistoryWriter } from '../../store/clickhouse/writer.ts';
import { EmbeddedClickHouse } from '../../store/embedded-clickhouse/supervisor.ts';
import { FileBlobs } from '../../store/files/blobs.ts';
import { READ_SESSIONS, historyBounds } from '../../store/clickhouse/history-bounds.ts';
import { IdBlocks } from '../../store/id-blocks.ts';
import { LmdbDocuments } from '../../store/lmdb/documents.ts';
import { openLmdb } from '../../store/lmdb/environment.ts';
import { LmdbJournal } from '../../store/lmdb/journal.ts';
import { LmdbTopics } from '../../store/lmdb/topics.ts';
import { QuarantineFile } from '../../store/files/quarantine.ts';
import { repairJournal } from '../../store/lmdb/journal-repair.ts';
import { VERSION_DOCUMENTS, withVersions } from '../../store/schema-version.ts';
import { syncDirectory } from '../../store/files/sync-directory.ts';
import type { HealthReport } from '../../api/request/platform.ts';
import type { ObservedPart } from '../../operate/health.ts';
import { VERSION } from '../../config/project.ts';
import { CoreEvents, loginParts, recordsChanged } from './core.ts';
import type { ServerCore } from './core.ts';

/** Of the time for a stop, for the last rows to reach the history; the journal keeps what does not. */
const FLUSH_SHARE = 1 / 3;

/** What holds the history of one node. */
export interface HistoryEngine extends Pick<EmbeddedClickHouse, 'start' | 'stop' | 'state' | 'restartsCount'> {
  /** Default `default`. */
  readonly database?: string;
}

/** Makes the engine, which is started later. @param directory for its data. */
export type OpenEngine = (config: Config, directory: string, log: Log) => HistoryEngine;

const embeddedEngine: OpenEngine = (config, directory, log) =>
  new EmbeddedClickHouse({
    directory,
    log,
    readSessions: READ_SESSIONS,
    memoryBytesMax: config.clickhouseMemoryMaxBytes,
  });

export class SingleNode implements ServerCore {
  readonly config: Config;
  readonly log: Log;
  readonly data: string;
  readonly metrics: Metrics;
  readonly environment;
  readonly journal;
  readonly journalTime: number | undefined;
  readonly documents;
  readonly watchedDocuments;
  readonly engine;
  readonly clickHouse;
  readonly bus;
  readonly forwarding: Forwarding;
  readonly topics: LmdbTopics;
  readonly tenants;
  readonly disk;
  readonly actors: ActorSystem;
  readonly intake: GroupCommit;
  readonly commands: CommandBus;
  readonly projector: Projector;
  readonly #progress: ProjectorMemory;
  readonly deletion: DataDeletion;
  readonly quarantine: QuarantineFile;
  readonly historyReader: ClickHouseHistoryReader;
  readonly historyAsIs: ClickHouseHistoryReader;
  readonly historyTurns: Turns;
  readonly authenticator: CachingAuthenticator;
  readonly hashes: PasswordHashes;
  readonly tokens: Tokens;
  readonly notificationTokens: NotificationTokens;
  readonly secondFactor: SecondFactor;
  readonly loginAudit: LoginAudit;
  readonly sources: Sources;
  readonly distantMonths: DistantMonths;
  ids!: IdBlocks;
  blobs!: FileBlobs;
  readonly filesRoom = undefined;
  /** Where keys of content are kept: what none of them names is removed. A part that stores content adds one. */
  readonly blobReferences: BlobReferences[] = [];
  readonly events = new CoreEvents();
  readonly recent = new RecentMeasurements(Date.now);
  readonly known = new RecentAnswers();
  readonly sessions = undefined;
  readonly receivers = undefined;
  readonly receipts = undefined;
  readonly cluster = undefined;
  readonly isGateway = true;
  readonly secrets: SecretsFile;
  accounts!: Awaited<ReturnType<typeof createFirstAccounts>>;
  /** Sequence that has been handled by the actors: what is acknowledged. */
  handledSeq = 0;
  readonly #writer: ClickHouseHistoryWriter;
  readonly #deletionsLook: DeletionsLook;
  readonly #lock: DataLock;
  readonly backups: RunningBackups;

  private constructor(
    config: Config,
    log: Log,
    data: string,
    engine: HistoryEngine,
    clickHouse: ClickHouse,
    lock: DataLock,
    quarantine: QuarantineFile,
  ) {
    this.quarantine = quarantine;
    this.#lock = lock;
    this.config = config;
    this.log = log;
    this.metrics = new Metrics(log);
    this.data = data;
    this.secrets = new SecretsFile(join(data, 'secrets.json'));
    this.engine = engine;
    this.clickHouse = clickHouse;
    this.environment = openLmdb(join(data, DOCUMENTS_DIRECTORY), { mapSizeBytes: config.documentsMapSizeBytes });
    this.backups = new RunningBackups({
      data,
      version: VERSION,
      environment: this.environment,
      engine,
      refusals: this.metrics,
      log,
      freeBytesMin: config.diskFreeMinBytes,
    });
    this.journal = new LmdbJournal(this.environment);
    this.journalTime = this.journal.timeAtOpening;
    this.documents = new LmdbDocuments(this.environment);
    this.watchedDocuments = new WatchedDocuments(this.documents);
    this.bus = new InProcessLiveBus({ log });
    this.tenants = new Tenants(config.tenant, config);
    this.metrics.nameTenants((number) => this.tenants.byNumber(number)?.id);
    this.topics = new LmdbTopics(this.documents);
    this.forwarding = new Forwarding({
      documents: this.documents,
      hierarchy: new DocumentHierarchy(this.documents),
      tenantId: (tenant) => this.tenants.byNumber(tenant)?.id,
      refusals: this.metrics,
      log,
      now: Date.now,
    });
    this.disk = new DiskGuard({ path: data, freeBytesMin: config.diskFreeMinBytes, log });
    this.#writer = new ClickHouseHistoryWriter(clickHouse, this.recent);
    const deleting = (): Promise<ReadonlySet<number> | undefined> => this.#writer.deletingTenants();
    this.#deletionsLook = new DeletionsLook({ recent: this.recent, deleting, log });
    const fatal = (error: Error): void => {
      log.error(
        { err: error, freeBytes: this.disk.freeBytes },
        `the documents could not be committed (${error.message}); ending: the journal has what was acknowledged`,
      );
      throw error;
    };
    this.actors = new ActorSystem({
      documents: this.watchedDocuments,
      bus: this.bus,
      log,
      onCommitFailed: fatal,
      append: (command, pendingId) => this.commands.appendFollowUp(command, pendingId),
      usage: {
        count: (tenant, counter) => this.events.usage?.count(tenant, counter),
        changed: (notification) => this.events.usage?.changed(notification),
      },
      onUserChanged: (tenant, changed) => this.#userChanged(tenant, changed),
      onObjectChanged: (id) => this.#objectChanged(id),
      onLinksEnded: () => this.events.onLinksEnded?.(),
      onRecordsChanged: (tenant, changes) => recordsChanged(this, tenant, changes),
      forwarder: this.forwarding,
      measurements: () => this.events.measurements,
      onSetAside: (command, error) => {
        this.quarantine.add(entryOfCommand(command, error, this.actors.committedSeq)).catch((failure: Error) => {
          log.error(
            { seq: command.seq, error: failure.message },
            'a command that failed could not be written into the quarantine; the log has it',
          );
        });
      },
      onDecided: ({ firstSeq, lastSeq, records, rows, isReplay }) => {
        if (isReplay) return;
        this.recent.take(records);
        this.known.take(records, rows);
        this.projector.offer(STREAM, { firstSeq, lastSeq, afterSeq: firstSeq - 1, records, rows });
      },
    });
    this.intake = new GroupCommit({
      journal: this.journal,
      journalBytesMax: config.journalMaxBytes,
      refusal: () => this.disk.refusal,
      onDurable: (firstSeq, records) => this.#handle(firstSeq, records),
      onCommitted: (recordCount, durationMs) => this.metrics.commitLatency.observe(durationMs / 1_000, recordCount),
      onError: (error) => log.error({ err: error }, `the journal could not be written: ${error.message}`),
    });
    this.commands = new CommandBus({ intake: this.intake, replies: this.actors, refusals: this.metrics });
    this.deletion = new DataDeletion({
      history: this.#writer,
      commands: this.commands,
      bus: this.bus,
      isDiskFull: () => this.disk.freeBytes < reserveBytesOf(config.diskFreeMinBytes),
    });
    this.#progress = new ProjectorMemory(this.documents, this.actors);
    this.projector = new Projector({
      ...oneStream(this.journal, this.#progress),
      history: this.#writer,
      log,
      quarantine: {
        has: (key) => this.quarantine.has(key),
        add: (entry) => {
          this.recent.setAside(entry);
          return this.quarantine.add(entry);
        },
      },
      rowsMax: config.projectorBatchRows,
      intervalMs: config.projectorIntervalMs,
      runDeletion: (command) => this.deletion.run(command),
      isPaused: () => this.backups.isEngineStopped,
      onPosition: (position) => this.journal.trim(Math.min(position, this.actors.committedSeq)),
      onInserted: (table, rows) =>
        this.metrics
          .counter('millrace_rows_inserted_total', 'Rows in the history store', ['table'])
          .inc({ table }, rows),
    });
    const isPaused = (): boolean => this.backups.isEngineStopped;
    const bounds = historyBounds('embedded', config.historyQueryMaxMs, this.metrics, isPaused);
    this.historyTurns = bounds.turns;
    this.historyReader = new ClickHouseHistoryReader(
      clickHouse,
      this.#writer,
      async (timeoutMs, query) => {
        await this.projector.visible(STREAM, this.handledSeq, timeoutMs, query);
        await this.deletion.settled(query);
      },
      log,
      bounds,
    );
    this.historyAsIs = new ClickHouseHistoryReader(clickHouse, this.#writer, () => Promise.resolve(), log, bounds);
    this.hashes = new PasswordHashes({ refusals: this.metrics, cost: config.passwordCost });
    const { authenticator, tokens, notificationTokens, secondFactor, loginAudit } = loginParts(this);
    this.authenticator = authenticator;
    this.tokens = tokens;
    this.notificationTokens = notificationTokens;
    this.secondFactor = secondFactor;
    this.loginAudit = loginAudit;
    this.sources = new Sources(this.documents);
    this.distantMonths = new DistantMonths();
  }

  /** Ready for requests when it resolves. Rejects when something cannot be opened; then nothing stays open. */
  static async open(config: Config, log: Log, openEngine = embeddedEngine): Promise<SingleNode> {
    const data = resolve(config.data);
    await makeDataDirectory(data);
    const lock = await DataLock.take(data);
    try {
      if (await finishRestore(data, () => endOrphan(join(data, CLICKHOUSE_DIRECTORY), log)))
        log.info({ data }, 'a restored backup was put in place');
    } catch (error) {
      await lock.release();
      throw error;
    }
    const engine = openEngine(config, join(data, CLICKHOUSE_DIRECTORY), log);
    try {
      const url = await engine.start();
      const quarantine = await QuarantineFile.open(join(data, QUARANTINE_NAME));
      for (const fact of await repairJournal(join(data, DOCUMENTS_DIRECTORY), quarantine)) {
        log.error({ quarantine: join(data, QUARANTINE_NAME) }, `${fact}; they were set aside`);
      }
      const clickHouse = new ClickHouse({ url, log, ...(engine.database && { database: engine.database }) });
      const core = new SingleNode(config, log, data, engine, clickHouse, lock, quarantine);
      await core.#start();
      return core;
    } catch (error) {
      await engine.stop();
      await lock.release();
      throw error;
    }
  }

  async #start(): Promise<void> {
    await withVersions({
      documents: this.documents,
      place: 'the data directory',
      makeTables: () => this.#recover(),
      save: () => this.documents.commit(VERSION_DOCUMENTS, undefined),
    });
    // What was made by this start has its name on disk before anything is acknowledged.
    for (const path of [join(this.data, DOCUMENTS_DIRECTORY), this.data]) await syncDirectory(path);
    await this.projector.attach(STREAM, this.#progress, this.journal.lastSeq);
    await this.actors.resumeFollowUps();
  }

  async #recover(): Promise<void> {
    await this.disk.start();
    this.blobs = await FileBlobs.open(join(this.data, BLOBS_DIRECTORY), { refusal: () => this.disk.refusal });
    const { tenant, adminUser, managementUser } = this.config;
    await this.tenants.open(
      this.documents,
      new Map([
        [tenant, adminUser],
        [MANAGEMENT_TENANT, managementUser],
      ]),
    );
    this.ids = await IdBlocks.open(this.documents, (error) => {
      throw error;
    });
    await this.#accounts();
    await this.forwarding.load(this.tenants.numbers);
    await this.#replay();
    await this.#writer.createTables();
    this.#deletionsLook.start();
  }

  /** Recovery: what the journal has beyond the committed state is handled again (design 6). */
  async #replay(): Promise<void> {
    const from = await this.documents.position();
    this.actors.committedSeq = from;
    for (let seq = from + 1; seq <= this.journal.lastSeq; ) {
      const batch = this.journal.read(seq);
      if (!batch) break;
      const lastSeq = this.actors.handleGroup(batch.firstSeq, batch.records, from);
      await this.actors.settled();
      seq = lastSeq + 1;
    }
    this.handledSeq = this.journal.lastSeq;
    if (this.journal.lastSeq > from) this.log.info({ from, through: this.journal.lastSeq }, 'journal replayed');
  }

  async #accounts(): Promise<void> {
    this.accounts = await createFirstAccounts(this.documents, this.tenants, this.config, this.hashes, (generated) =>
      this.secrets.add(generated),
    );
  }

  #handle(firstSeq: number, records: Buffer): void {
    this.handledSeq = this.actors.handleGroup(firstSeq, records);
  }

  #userChanged(tenant: number, { userName, keepsConnections }: ChangedUser): void {
    this.authenticator.forget(tenant, userName);
    if (!keepsConnections) this.events.onUsersEnded?.(tenant, new Set([userName]));
  }

  insertUsage(table: string, texts: readonly string[]): Promise<void> {
    return this.#writer.insertRows(table, texts);
  }

  get tenantRows(): { has(tenant: number): Promise<boolean>; remove(tenant: number): Promise<void> } {
    return {
      has: (tenant) => this.historyReader.hasTenant(tenant),
      remove: (tenant) => this.#writer.deleteTenant(tenant),
    };
  }

  #objectChanged(id: number): void {
    this.sources.forget(id);
    this.events.onObjectChanged?.(id);
  }

  isMine(): boolean {
    return true;
  }
  termOf(): number {
    return 0;
  }
  get freeBytes(): number {
    return this.disk.freeBytes;
  }
  get historyFreeBytes(): number {
    return this.disk.freeBytes;
  }

  visible(timeoutMs: number): Promise<void> {
    return this.projector.visible(STREAM, this.handledSeq, timeoutMs);
  }

  health(): HealthReport {
    return healthOf(this.#parts);
  }

  registerMetrics(): void {
    const { metrics, recent, known } = this;
    registerParts(metrics, this.#parts);
    metrics.gauge(
      'millrace_recent_measurements_bytes',
      'Memory of the newest measurements that are asked for',
      () => recent.bytes,
    );
    metrics.total(
      'millrace_recent_measurements_answered_total',
      'Pages and totals of measurements that were answered from memory',
      () => recent.answeredCount,
    );
    metrics.total(
      'millrace_recent_measurements_asked_total',
      'Pages and totals of the newest measurements for which the history was asked',
      () => recent.askedCount,
    );
    metrics.gauge('millrace_known_answers_bytes', 'Memory of pages and totals of lists', () => known.bytes);
    metrics.total(
      'millrace_known_answers_answered_total',
      'Pages and totals of lists in which nothing had changed, answered from memory',
      () => known.answeredCount,
    );
    metrics.total(
      'millrace_known_answers_asked_total',
      'Pages and totals of lists for which the history was asked',
      () => known.askedCount,
    );
  }

  get #parts(): readonly ObservedPart[] {
    const { journal, intake, actors, projector, quarantine, watchedDocuments, disk, engine, commands, backups } = this;
    const handledSeq = (): number => this.handledSeq;
    return singleNodeParts({
      journal,
      intake,
      actors,
      projector,
      quarantine,
      watchedDocuments,
      disk,
      engine,
      handledSeq,
      commands,
      backups,
    });
  }

  async close(): Promise<void> {
    this.loginAudit.flush();
    await this.intake.drained();
    const looked = this.#deletionsLook.stop();
    await this.actors.settled();
    await this.projector
      .visible(STREAM, this.handledSeq, this.config.shutdownTimeoutMs * FLUSH_SHARE)
      .catch(async (error: Error) => {
        this.log.warn(
          { error: error.message },
          'not everything is in the history yet; the journal keeps it for the next start',
        );
        // Breaks off an insert under way, for which the projector would wait: it is repeated at the next start.
        await this.clickHouse.close();
      });
    await this.projector.stop();
    await this.clickHouse.close();
    await looked;
    await this.engine.stop();
    await this.hashes.stop();
    this.disk.stop();
    this.metrics.stop();
    await this.environment.close();
    await this.#lock.release();
  }
}
