/** A node of a cluster: NATS, Redis and ClickHouse behind the ports of src/cluster (docs/internals/cluster.md). */
import { join, resolve } from 'node:path';
import type { CachingAuthenticator } from '../../accounts/login/authenticator.ts';
import { PasswordHashes } from '../../accounts/passwords/hashes.ts';
import { createFirstAccounts } from '../../accounts/first-start.ts';
import type { FirstAccounts } from '../../accounts/first-start.ts';
import { checkSecretKey, FINGERPRINT_ID, requireSame } from '../../accounts/options/secret-key-check.ts';
import { MANAGEMENT_TENANT, Tenants } from '../../accounts/tenants/tenants.ts';
import type { LoginAudit } from '../../accounts/login/audit.ts';
import type { SecondFactor } from '../../accounts/login/second-factor.ts';
import type { NotificationTokens } from '../../accounts/login/notification-tokens.ts';
import type { Tokens } from '../../accounts/login/tokens.ts';
import type { HealthReport } from '../../api/request/platform.ts';
import { ClusterNode } from '../../cluster/node.ts';
import { TopicRelay } from '../../cluster/peers/topic-relay.ts';
import { OperationReceivers } from '../../cluster/gateway/operation-receivers.ts';
import { SessionReceipts } from '../../cluster/gateway/session-receipts.ts';
import { SessionTakeover } from '../../cluster/gateway/session-takeover.ts';
import type { Lack, Member } from '../../ports/cluster/leases.ts';
import { StoreWatch } from '../../cluster/peers/store-watch.ts';
import { shardOf } from '../../ingest/journal/command-record.ts';
import { reserveBytesOf } from '../../ingest/journal/freeing-commands.ts';
import { Sources } from '../../ingest/measurements/sources.ts';
import { DistantMonths } from '../../ingest/measurements/distant-months.ts';
import type { ActorKey } from '../../model/commands/command.ts';
import type { Log } from '../../ports/log.ts';
import type { Turns } from '../../pacing/turns.ts';
import type { BlobReferences } from '../../jobs/files/blob-sweeper.ts';
import { makeDataDirectory } from '../../operate/data-directory.ts';
import { DataLock } from '../../operate/data-lock.ts';
import { diskPart, healthOf, historyPart, journalPart, quarantinePart, registerParts } from '../../operate/health.ts';
import type { ObservedPart, PartState } from '../../operate/health.ts';
import { Metrics } from '../../operate/metrics.ts';
import { SecretsFile } from '../../operate/secrets-file.ts';
import type { TopicLog } from '../../ports/stores/topic-log.ts';
import { DocumentHierarchy } from '../../realtime/bayeux/document-hierarchy.ts';
import { Forwarding } from '../../realtime/notifications/forwarding.ts';
import { ClickHouse } from '../../store/clickhouse/adapter.ts';
import { ClickHouseHistoryReader } from '../../store/clickhouse/reader.ts';
import { ClickHouseHistoryWriter } from '../../store/clickhouse/writer.ts';
import { historyBounds } from '../../store/clickhouse/history-bounds.ts';
import { NatsBlobs } from '../../store/nats/blobs.ts';
import { NatsLiveBus } from '../../store/nats/live-bus.ts';
import { NatsTopics } from '../../store/nats/topics.ts';
import { NatsFilesRoom } from '../../store/nats/room.ts';
import { RedisBlocks } from '../../store/redis/blocks.ts';
import { RedisClusterDocuments } from '../../store/redis/cluster-documents.ts';
import { RedisConnectionRegistry } from '../../store/redis/connection-registry.ts';
import { firstStart } from '../../store/redis/first-start.ts';
import type { ChangeOfExisting } from '../../store/redis/first-start.ts';
import { RedisIds } from '../../store/redis/ids.ts';
import { VERSION_DOCUMENTS, checkVersions, withVersions } from '../../store/schema-version.ts';
import { ClusterCaches } from './cluster-caches.ts';
import { ClusterDisks } from './cluster-disks.ts';
import { CoreEvents, loginParts } from './core.ts';
import type { ClusterSessions, ServerCore } from './core.ts';
import { changeRecords } from '../../records/records.ts';
import { Opened, openAdapters, type Adapters, type ClusterConfig } from './node-adapters.ts';
import { rolesOf } from './node-roles.ts';

/** Accounts and tenants are made by one node; the others wait. */
const FIRST_START_TIMEOUT_MS = 60_000;
/** Entries of caches are as old as this at most: what other nodes tell may get lost. */
const CACHE_AGE_MAX_MS = 60_000;
const DAY_MS = 86_400_000;

export class ClusterCore implements ServerCore {
  readonly config: ClusterConfig;
  readonly log: Log;
  readonly data: string;
  readonly metrics: Metrics;
  readonly events = new CoreEvents();
  readonly secrets: SecretsFile;
  accounts!: FirstAccounts;
  readonly tenants: Tenants;
  readonly authenticator: CachingAuthenticator;
  readonly hashes: PasswordHashes;
  readonly tokens: Tokens;
  readonly notificationTokens: NotificationTokens;
  readonly secondFactor: SecondFactor;
  readonly loginAudit: LoginAudit;
  readonly sources: Sources;
  readonly distantMonths: DistantMonths;
  readonly documents;
  readonly ids: RedisIds;
  readonly bus: NatsLiveBus;
  readonly forwarding: Forwarding;
  readonly topics: TopicLog;
  readonly topicRelay: TopicRelay;
  readonly historyReader: ClickHouseHistoryReader;
  readonly historyAsIs: ClickHouseHistoryReader;
  readonly historyTurns: Turns;
  readonly clickHouse: ClickHouse;
  readonly blobs: NatsBlobs;
  readonly filesRoom: NatsFilesRoom;
  readonly blobReferences: BlobReferences[] = [];
  readonly sessions: ClusterSessions;
  readonly receivers: OperationReceivers;
  readonly receipts: SessionReceipts;
  /** Copies of a cluster are made of its servers (docs/internals/cluster.md). */
  readonly backups = undefined;
  readonly isGateway: boolean;
  readonly journalTime: number | undefined;
  readonly node: ClusterNode;
  readonly #adapters: Adapters;
  readonly #disks: ClusterDisks;
  readonly #writer: ClickHouseHistoryWriter;
  readonly #stored: RedisClusterDocuments;
  readonly #redisWatch: StoreWatch;
  readonly #caches = new ClusterCaches(this);
  readonly #clickHouseWatch: StoreWatch;

  private constructor(config: ClusterConfig, log: Log, data: string, adapters: Adapters, metrics: Metrics) {
    this.config = config;
    this.isGateway = rolesOf(config).includes('gateway');
    this.journalTime = adapters.journal.timeAtOpening;
    this.log = log;
    this.data = data;
    this.metrics = metrics;
    this.#adapters = adapters;
    const { nats, owners, gateways, journal, leases, messages, durability, clickHouse, opened } = adapters;
    const prefix = config.clusterPrefix;
    this.secrets = new SecretsFile(join(data, 'secrets.json'));
    this.clickHouse = clickHouse;
    this.ids = adapters.ids;
    this.blobs = adapters.blobs;
    this.filesRoom = adapters.filesRoom;
    this.#disks = adapters.disks;
    this.#writer = adapters.writer;
    const documents = new RedisClusterDocuments({ owners, gateways, prefix, owner: messages.nodeId, durability, log });
    this.#stored = documents;
    const awayMs = config.leaseTimeMs;
    this.#redisWatch = opened.add(
      new StoreWatch({
        ask: () => owners.ask(),
        awayMs,
        onChanged: () => this.#reachChanged('Redis', this.#redisWatch),
      }),
      (watch) => watch.stop(),
    );
    this.#clickHouseWatch = opened.add(
      new StoreWatch({
        ask: () => adapters.clickHouseProbe.ask(),
        awayMs,
        onChanged: () => {
          // Away: their connections are dead. Back: what was begun meanwhile would wait for its time limit.
          clickHouse.abortWrites();
          this.#reachChanged('ClickHouse', this.#clickHouseWatch);
        },
      }),
      (watch) => watch.stop(),
    );
    this.documents = documents.reader;
    this.bus = opened.add(new NatsLiveBus({ connection: nats, messages, prefix, log, refusals: this.metrics }), (bus) =>
      bus.close(),
    );
    this.tenants = new Tenants(config.tenant, config);
    this.metrics.nameTenants((number) => this.tenants.byNumber(number)?.id);
    this.forwarding = new Forwarding({
      documents: this.documents,
      hierarchy: new DocumentHierarchy(this.documents),
      tenantId: (tenant) => this.tenants.byNumber(tenant)?.id,
      store: (chunks) => this.topicRelay.store(chunks),
      refusals: this.metrics,
      log,
      now: Date.now,
    });
    const topics = new NatsTopics({
      connection: nats,
      prefix,
      replicas: config.natsReplicas,
      ageMaxMs: config.topicMaxAgeDays * DAY_MS,
      documents: this.documents,
      refusals: this.metrics,
      log,
    });
    this.topics = topics;
    this.topicRelay = new TopicRelay({
      messages,
      leases,
      documents: this.documents,
      forwarding: () => this.forwarding,
      store: (topic, chunk) => topics.store(topic, chunk),
      refusals: this.metrics,
      log,
    });
    this.sources = new Sources(this.documents);
    this.distantMonths = new DistantMonths();
    this.node = new ClusterNode({
      messages,
      leases,
      journal,
      documents,
      blocks: new RedisBlocks(owners, prefix),
      history: this.#writer,
      bus: this.bus,
      log,
      refusals: this.metrics,
      quarantine: adapters.quarantine,
      caches: this.#caches,
      forwarder: this.forwarding,
      measurements: () => this.events.measurements,
      usage: {
        count: (tenant, counter) => this.events.usage?.count(tenant, counter),
        changed: (notification) => this.events.usage?.changed(notification),
      },
      onShardTaken: () => this.events.onShardTaken?.(),
      isHistoryAway: () => this.#clickHouseWatch.isAway,
      refusal: () => this.#disks.refusal,
      isDiskFull: () => this.#disks.historyFreeBytes < reserveBytesOf(config.diskFreeMinBytes),
      journalBytesMax: config.journalMaxBytes,
      answerTimeoutMs: config.answerTimeoutMs,
      projectorRowsMax: config.projectorBatchRows,
      projectorIntervalMs: config.projectorIntervalMs,
      onInserted: (table, rows) =>
        this.metrics
          .counter('millrace_rows_inserted_total', 'Rows in the history store', ['table'])
          .inc({ table }, rows),
      onCommitted: (recordCount, durationMs) => this.metrics.commitLatency.observe(durationMs / 1_000, recordCount),
    });
    const bounds = historyBounds('server', config.historyQueryMaxMs, this.metrics);
    this.historyTurns = bounds.turns;
    this.historyReader = new ClickHouseHistoryReader(
      clickHouse,
      this.#writer,
      (timeoutMs, query) => this.node.visible(timeoutMs, query),
      log,
      bounds,
    );
    this.historyAsIs = new ClickHouseHistoryReader(clickHouse, this.#writer, () => Promise.resolve(), log, bounds);
    this.hashes = opened.add(new PasswordHashes({ refusals: this.metrics, cost: config.passwordCost }), (hashes) =>
      hashes.stop(),
    );
    const { authenticator, tokens, notificationTokens, secondFactor, loginAudit } = loginParts(this, CACHE_AGE_MAX_MS);
    this.authenticator = authenticator;
    this.tokens = tokens;
    this.notificationTokens = notificationTokens;
    this.secondFactor = secondFactor;
    this.loginAudit = loginAudit;
    const registry = new RedisConnectionRegistry(gateways, prefix);
    const isMember = (nodeId: string): boolean => leases.members.some((member) => member.nodeId === nodeId);
    this.sessions = opened.add(new SessionTakeover({ registry, messages, log, isMember }), (sessions) =>
      sessions.stop(),
    );
    this.receivers = new OperationReceivers({ registry, messages, log, isMember });
    this.receipts = new SessionReceipts(this.commands, Date.now);
  }

  get commands() {
    return this.node.commands;
  }
  get intake() {
    return this.node.intake;
  }
  get deletion() {
    return this.node.deletion;
  }
  get cluster(): NonNullable<ServerCore['cluster']> {
    const { messages, leases } = this.#adapters;
    return { messages, leases, topicRelay: this.topicRelay };
  }
  get nodeId(): string {
    return this.#adapters.messages.nodeId;
  }
  get freeBytes(): number {
    return this.#disks.freeBytes;
  }
  get historyFreeBytes(): number {
    return this.#disks.historyFreeBytes;
  }

  /**
   * Connects to the three servers and joins. Rejects with what is wrong, and where, when one of them does not answer.
   */
  static async open(config: ClusterConfig, log: Log): Promise<ClusterCore> {
    const data = resolve(config.data);
    await makeDataDirectory(data);
    const opened = new Opened();
    try {
      opened.add(await DataLock.take(data), (lock) => lock.release());
      const metrics = opened.add(new Metrics(log), (all) => all.stop());
      const adapters = await openAdapters(config, data, log, opened);
      const core = new ClusterCore(config, log, data, adapters, metrics);
      await core.#start();
      return core;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const { config, log } = this;
    const { opened } = this.#adapters;
    let toChange: ChangeOfExisting[] = [];
    await withVersions({
      documents: this.documents,
      place: 'the cluster',
      makeTables: () => this.#writer.createTables(),
      save: async () => {
        opened.add(this.#disks, (disks) => disks.stop());
        await this.#disks.start();
        toChange = await this.#firstStart();
      },
    });
    this.#caches.start();
    for (const { change, expected } of toChange) {
      // Another node was faster, while this one held its lock for too long.
      if (change.id === FINGERPRINT_ID) requireSame(change.value as string, expected);
    }
    await this.forwarding.load(this.tenants.numbers);
    await this.node.start();
    log.info({ node: this.nodeId, roles: config.roles }, 'joined the cluster');
    await this.#changeExisting(toChange);
  }

  /**
   * Tenants, accounts and the version of the schema. @returns what is stored otherwise than the configuration wants it.
   */
  async #firstStart(): Promise<ChangeOfExisting[]> {
    const { config } = this;
    // Configured, as a cluster's has to be (config/config.ts).
    const secretKey = config.secretKey as string;
    const { gateways, messages } = this.#adapters;
    const admins = new Map([
      [config.tenant, config.adminUser],
      [MANAGEMENT_TENANT, config.managementUser],
    ]);
    const toChange = await firstStart(
      {
        connection: gateways,
        reader: this.documents,
        prefix: config.clusterPrefix,
        nodeId: messages.nodeId,
        timeoutMs: FIRST_START_TIMEOUT_MS,
      },
      async (documents) => {
        // A newer node may have started meanwhile.
        await checkVersions(documents, 'the cluster');
        await documents.commit(VERSION_DOCUMENTS, undefined);
        await checkSecretKey(documents, secretKey);
        await this.tenants.open(documents, admins);
        this.accounts = await createFirstAccounts(documents, this.tenants, config, this.hashes, (generated) =>
          this.secrets.add(generated),
        );
      },
    );
    // The first start writes only what is not there yet.
    for (const version of VERSION_DOCUMENTS) await this.documents.raise(version);
    return toChange;
  }

  /**
   * What the configuration wants otherwise than it is stored, decided by its actors; a change in the meantime was
   * faster.
   */
  async #changeExisting(toChange: readonly ChangeOfExisting[]): Promise<void> {
    for (const { change, expected } of toChange) {
      if (change.collection !== 'user') continue;
      const { id, value } = change;
      await changeRecords({ commands: this.commands, now: Date.now }, change.tenant, [
        { collection: 'user', id, expected, value },
      ]).catch((error: Error) => {
        this.log.warn(
          { user: change.id, error: error.message },
          'the configured password could not be set; the stored one counts',
        );
      });
    }
  }

  isMine(tenant: number, key: ActorKey): boolean {
    return this.#adapters.leases.owned.has(shardOf(tenant, key));
  }

  termOf(tenant: number, key: ActorKey): number {
    return this.#adapters.leases.owned.get(shardOf(tenant, key)) ?? 0;
  }

  get tenantRows(): ServerCore['tenantRows'] {
    return {
      has: (tenant) => this.historyReader.hasTenant(tenant),
      remove: (tenant) => this.#writer.deleteTenant(tenant),
    };
  }

  insertUsage(table: string, texts: readonly string[]): Promise<void> {
    return this.#writer.insertRows(table, texts);
  }

  visible(timeoutMs: number): Promise<void> {
    return this.node.visible(timeoutMs);
  }

  /** Others take the shards of a node that lacks what they have (cluster/shards/fitness.ts). */
  #reachChanged(name: string, watch: StoreWatch): void {
    const shards = this.#adapters.leases.owned.size;
    if (watch.isAway)
      this.log.warn(
        { server: name, problem: watch.problem, shards },
        "a server is not reached; nodes that reach it take this one's shards",
      );
    else this.log.info({ server: name }, 'a server is reached again');
    this.#adapters.leases.lack(this.#lacks);
  }

  get #lacks(): Lack | undefined {
    if (this.#redisWatch.isAway) return 'documents';
    return this.#clickHouseWatch.isAway ? 'history' : undefined;
  }

  /** Whether another node has what this one lacks: then clients should go there. */
  #isBetterElsewhere(members: readonly Member[], what: Lack): boolean {
    return members.some(
      ({ nodeId, lacks }) =>
        nodeId !== this.nodeId && (lacks === undefined || (what === 'documents' && lacks === 'history')),
    );
  }

  /**
   * One master of several that is away, or full, for all nodes takes none of them out of service: the shards of the
   * others are served.
   */
  #documentsState(members: readonly Member[]): { ready: boolean; [detail: string]: unknown } {
    const { owners } = this.#adapters;
    const { problem } = this.#redisWatch;
    const { refused } = this.#stored;
    const isPart =
      owners.target.kind === 'cluster' && (problem === undefined || !this.#isBetterElsewhere(members, 'documents'));
    if (problem !== undefined && !isPart) return { ready: false, problem: `Redis: ${problem}` };
    if (owners.unavailable !== undefined) return { ready: false, problem: owners.unavailable };
    const found = problem ?? refused?.problem;
    if (found === undefined) return { ready: true };
    const isReady = isPart && refused?.isAll !== true;
    return { ready: isReady, [isReady ? 'away' : 'problem']: `Redis: ${found}` };
  }

  /** What is so for all nodes, ClickHouse away or its disk nearly full, takes none of them out of service. */
  #clickHouseState(members: readonly Member[]): { ready: boolean; [detail: string]: unknown } {
    const { projector } = this.node;
    const { problem } = this.#clickHouseWatch;
    const isWorse = problem !== undefined && this.#isBetterElsewhere(members, 'history');
    const disk = this.#disks.history;
    return {
      ...disk,
      ready: !isWorse,
      ...(problem === undefined ? {} : { [isWorse ? 'problem' : 'away']: `ClickHouse: ${problem}` }),
      ...(projector.lastError === undefined ? {} : { lastError: projector.lastError }),
      pendingRows: projector.pendingRows,
      lagGroups: this.node.lagGroups,
    };
  }

  health(): HealthReport {
    return healthOf(this.#parts);
  }

  registerMetrics(): void {
    registerParts(this.metrics, this.#parts);
    this.metrics.gauges(
      'millrace_cluster_server_reached',
      'Whether this node reaches the server (1) or not (0)',
      'server',
      () => [
        ['redis', this.#redisWatch.isAway ? 0 : 1],
        ['clickhouse', this.#clickHouseWatch.isAway ? 0 : 1],
        ['nats', this.#adapters.nats.isConnected ? 1 : 0],
      ],
    );
  }

  get #parts(): readonly ObservedPart[] {
    const { nats, journal, leases, quarantine } = this.#adapters;
    const { projector, intake, commands, owners } = this.node;
    const part = (problem: string | undefined, details: object): PartState => ({
      ready: problem === undefined,
      ...(problem === undefined ? {} : { problem }),
      ...details,
    });
    const sumOf = (read: (owner: (typeof owners)[number]) => number): number =>
      owners.reduce((sum, owner) => sum + read(owner), 0);
    return [
      journalPart(journal, intake, () => {
        const { refusal } = intake;
        return part(
          this.#disks.isFullForAll && refusal === this.#disks.refusal ? undefined : (refusal ?? journal.unavailable),
          { sizeBytes: journal.sizeBytes, ...(refusal === undefined ? {} : { refusal }) },
        );
      }),
      {
        name: 'documents',
        state: () => this.#documentsState(leases.members),
        metrics: [
          ['queue', 'commands-under-way', () => commands.underWayCount],
          ['queue', 'groups-under-way', () => sumOf((owner) => owner.underWayCount)],
          ['queue', 'follow-ups', () => sumOf((owner) => owner.pendingCount)],
        ],
      },
      // Behind, and not wrong: the journal has what is not there yet.
      historyPart(projector, () => this.#clickHouseState(leases.members)),
      quarantinePart(quarantine),
      diskPart(
        () => this.#disks.localFreeBytes,
        () => this.#disks.local,
      ),
      {
        name: 'cluster',
        state: () =>
          part(nats.unavailable ?? problemOf(leases.members), {
            node: this.nodeId,
            shards: leases.owned.size,
            nodes: leases.members.map(({ nodeId }) => nodeId),
            ...(this.node.watch.unserved.length === 0 ? {} : { unservedShards: this.node.watch.unserved }),
          }),
        metrics: [
          [
            'gauge',
            'millrace_projector_lag_groups',
            'Groups of the journal between what is decided and what is in the history, of the shard that is most behind',
            () => this.node.lagGroups,
          ],
          ['gauge', 'millrace_cluster_shards', 'Shards that this node owns', () => leases.owned.size],
          [
            'gauge',
            'millrace_cluster_unserved_shards',
            'Shards that have handled no command for 30 s for want of an owner or a take-over, as this node sees it',
            () => this.node.watch.unserved.length,
          ],
          ['gauge', 'millrace_cluster_nodes', 'Nodes of the cluster as this one sees it', () => leases.members.length],
          [
            'gauge',
            'millrace_clickhouse_disk_free_bytes',
            'Free space that ClickHouse has',
            () => this.#disks.historyFreeBytes,
          ],
        ],
      },
    ];
  }

  async close(): Promise<void> {
    this.loginAudit.flush();
    await this.node.stop();
    await this.#adapters.opened.close();
  }
}

const problemOf = (members: readonly Member[]): string | undefined =>
  members.some(({ roles }) => roles.includes('shard')) ? undefined : 'no node has the role shard';
