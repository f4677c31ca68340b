/**
 * What the listeners of a server need of what keeps its state, whether it is one node with embedded engines or a node
 * of a cluster.
 */
import type { FirstAccounts } from '../../accounts/first-start.ts';
import { CachingAuthenticator } from '../../accounts/login/authenticator.ts';
import { LoginAudit } from '../../accounts/login/audit.ts';
import { NotificationTokens } from '../../accounts/login/notification-tokens.ts';
import { LoginGuard } from '../../accounts/login/guard.ts';
import type { PasswordHashes } from '../../accounts/passwords/hashes.ts';
import { SecondFactor } from '../../accounts/login/second-factor.ts';
import { SigningKey } from '../../accounts/login/signing-key.ts';
import type { Tenant, Tenants } from '../../accounts/tenants/tenants.ts';
import { Tokens } from '../../accounts/login/tokens.ts';
import type { Usage } from '../../accounts/tenants/usage.ts';
import type { HealthReport } from '../../api/request/platform.ts';
import type { DataDeletion } from '../../ingest/projector/data-deletion.ts';
import type { Config } from '../../config/config.ts';
import type { DeviceCommands } from '../../ingest/journal/command-bus.ts';
import type { RecordIntake } from '../../ingest/journal/record-intake.ts';
import type { Sources } from '../../ingest/measurements/sources.ts';
import type { DistantMonths } from '../../ingest/measurements/distant-months.ts';
import type { Blobs } from '../../ports/blobs.ts';
import type { ActorKey, Command } from '../../model/commands/command.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { BytesReader, HistoryReader } from '../../ports/history-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { LiveBus } from '../../ports/live-bus.ts';
import type { TopicLog } from '../../ports/stores/topic-log.ts';
import type { Forwarding } from '../../realtime/notifications/forwarding.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import type { RecordCollection } from '../../model/commands/collections.ts';
import { userPut, type UserPut } from '../../model/commands/users.ts';
import type { Log } from '../../ports/log.ts';
import type { MeasurementListener } from '../../ports/measurement-listener.ts';
import type { Turns } from '../../pacing/turns.ts';
import type { RecentAnswers } from '../../ingest/recent/answers.ts';
import type { RecentMeasurements } from '../../ingest/recent/measurements.ts';
import type { SessionsElsewhere } from '../../mqtt/sessions/registry.ts';
import type { RunningBackups } from '../../operate/backup/running.ts';
import type { BlobReferences } from '../../jobs/files/blob-sweeper.ts';
import type { Metrics } from '../../operate/metrics.ts';
import type { SecretsFile } from '../../operate/secrets-file.ts';
import type { NodeMessages } from '../../ports/cluster/node-messages.ts';
import type { OperationReceivers } from '../../cluster/gateway/operation-receivers.ts';
import type { SessionReceipts } from '../../cluster/gateway/session-receipts.ts';
import type { LocalSessions } from '../../cluster/gateway/session-takeover.ts';
import type { TopicRelay } from '../../cluster/peers/topic-relay.ts';
import type { ShardLeases } from '../../ports/cluster/leases.ts';
import type { ClickHouse } from '../../store/clickhouse/adapter.ts';

export type RecordListener = (tenant: number, changes: readonly RecordChange[]) => void;

/** What the listeners are told. Set before the listeners open. */
export class CoreEvents {
  /** Ends what listeners hold for users. */
  onUsersEnded: ((tenant: number, userNames: ReadonlySet<string>) => void) | undefined;
  onObjectChanged: ((id: number) => void) | undefined;
  /** Objects are no longer below others. */
  onLinksEnded: (() => void) | undefined;
  /** Ends what is connected for tenants that were suspended or deleted. */
  onTenantsEnded: ((ended: readonly Tenant[]) => void) | undefined;
  /** Told of changed records after their commit, before the answer: caches. */
  readonly recordListeners: RecordListener[] = [];
  /** Records that caches keep, and the ids that they have: read again when changes may have been missed. */
  readonly watched: ((tenant: number) => readonly (readonly [RecordCollection, readonly string[]])[])[] = [];
  /**
   * Changes of users and of objects may have been missed: who is connected is looked at again, as far as the shard of
   * the actor `isOf`.
   */
  onMissed: ((isOf: (tenant: number, key: ActorKey) => boolean) => Promise<void>) | undefined;
  /**
   * A shard is in service here, which another node may have had: what runs by the clock for its tenants goes on here.
   */
  onShardTaken: (() => void) | undefined;
  /** Counts what tenants use, as soon as the listeners are there. */
  usage: Usage | undefined;
  /** Told of measurements while something scores them. */
  measurements: MeasurementListener | undefined;
}

/** The sessions of other nodes, and the answer to what they ask for. */
export interface ClusterSessions extends SessionsElsewhere {
  start(local: LocalSessions): void;
  isInMemory(tenantNumber: number, key: string): Promise<boolean>;
}

export interface ServerCore {
  readonly config: Config;
  readonly log: Log;
  /** Absolute path of the data directory. */
  readonly data: string;
  readonly metrics: Metrics;
  readonly events: CoreEvents;
  /** Absent in a cluster, where a node does not see all that is stored. */
  readonly recent?: RecentMeasurements | undefined;
  /** As `recent`. */
  readonly known?: RecentAnswers | undefined;
  readonly secrets: SecretsFile;
  readonly accounts: FirstAccounts;
  readonly tenants: Tenants;
  readonly authenticator: CachingAuthenticator;
  readonly tokens: Tokens;
  readonly notificationTokens: NotificationTokens;
  readonly secondFactor: SecondFactor;
  /** A core that closes flushes it first. */
  readonly loginAudit: LoginAudit;
  /** Computes every hash of a password. */
  readonly hashes: PasswordHashes;
  readonly sources: Sources;
  readonly distantMonths: DistantMonths;
  readonly commands: DeviceCommands & {
    /** As `request`; not refused while the journal is at its bound: for what frees it. */
    requestBeyondBound<Answer>(command: Command): Promise<Answer>;
  };
  readonly intake: RecordIntake;
  /** Deletions by filters that go on behind the projector. */
  readonly deletion: Pick<DataDeletion, 'page' | 'giveUp'>;
  readonly documents: DocumentReader;
  readonly ids: IdSource;
  readonly bus: LiveBus;
  /** Notifications 2.0: what goes to topics, and what these keep. */
  readonly forwarding: Forwarding;
  readonly topics: TopicLog;
  readonly historyReader: HistoryReader & BytesReader;
  readonly historyAsIs: HistoryReader;
  readonly historyTurns: Pick<Turns, 'runningCount' | 'waitingCount'>;
  readonly clickHouse: ClickHouse;
  readonly tenantRows: { has(tenant: number): Promise<boolean>; remove(tenant: number): Promise<void> };
  readonly blobs: Blobs;
  /** What NATS still takes of files; undefined on a single node, whose files lie on the data disk. */
  readonly filesRoom: { readonly freeBytes: number; look(bytes: number): Promise<void> | undefined } | undefined;
  /** Where keys of content are kept: what none of them names is removed. A part that stores content adds one. */
  readonly blobReferences: BlobReferences[];
  /** Takes devices and requests. */
  readonly isGateway: boolean;
  /** Undefined on a single node. */
  readonly sessions: ClusterSessions | undefined;
  /** Devices that are connected to other nodes; undefined on a single node. */
  readonly receivers: OperationReceivers | undefined;
  /** Receipts of QoS 2 messages in other shards than their sessions; undefined on a single node. */
  readonly receipts: SessionReceipts | undefined;
  /** What the parts of a cluster's nodes tell each other, and who owns what; undefined on a single node. */
  readonly cluster:
    | { readonly messages: NodeMessages; readonly leases: ShardLeases; readonly topicRelay: TopicRelay }
    | undefined;
  /** ms since 1970: of the newest record that the journal had when it was opened; undefined when it had none. */
  readonly journalTime: number | undefined;
  /** What a running server can be asked for over its control socket; undefined on a node of a cluster. */
  readonly backups: Pick<RunningBackups, 'make' | 'stage' | 'isEngineStopped'> | undefined;
  /** On the disk that has least of those that refuse writes; Infinity while it is not known. */
  readonly freeBytes: number;
  /** On the disk of the history, which retention frees. */
  readonly historyFreeBytes: number;
  /** Whether the actor of `key` is of this process: schedules and sweeps for it run here. */
  isMine(tenant: number, key: ActorKey): boolean;
  /** Another number each time that the actor of `key` comes to this process, which may have been elsewhere meanwhile. */
  termOf(tenant: number, key: ActorKey): number;
  insertUsage(table: string, texts: readonly string[]): Promise<void>;
  /** Resolves when everything that was acknowledged before the call can be queried. */
  visible(timeoutMs: number): Promise<void>;
  health(): HealthReport;
  registerMetrics(): void;
  /** Ends everything, in order; what was acknowledged is kept. */
  close(): Promise<void>;
}

/** Wrong passwords that are longer ago do not count. */
const LOGIN_FAILURES_WINDOW_MS = 300_000;

/** Who checks passwords and tokens, the same for every kind of core. @param ageMaxMs see CachingAuthenticator. */
export function loginParts(
  core: Pick<ServerCore, 'config' | 'log' | 'metrics' | 'tenants' | 'documents' | 'commands' | 'hashes'>,
  ageMaxMs?: number,
): Pick<ServerCore, 'authenticator' | 'tokens' | 'notificationTokens' | 'secondFactor' | 'loginAudit'> {
  const { config, log, metrics, tenants, documents, commands, hashes } = core;
  const now = Date.now;
  const guard = new LoginGuard({
    failuresMax: config.loginFailuresMax,
    addressFailuresMax: config.loginAddressFailuresMax,
    windowMs: LOGIN_FAILURES_WINDOW_MS,
    lockMs: config.loginLockMs,
    log,
    refusals: metrics,
    now: () => performance.now(),
  });
  const loginAudit = new LoginAudit({ commands, refusals: metrics, log, now });
  const key = new SigningKey({ documents, commands, now, secretKey: config.secretKey });
  const secondFactor = new SecondFactor({ documents, commands, key, refusals: metrics, log, now });
  const authenticator = new CachingAuthenticator({
    documents,
    tenants,
    refusals: metrics,
    now,
    guard,
    secondFactor,
    hashes,
    log,
    renewHash: async (tenant, { userName, from, to }) => {
      const body: UserPut = { userName, password: to, renews: from };
      const command = userPut(tenant, now(), body);
      return (await commands.request<{ isRenewed: boolean }>(command)).isRenewed;
    },
    onChecked: (tenant, userName, isRight) => loginAudit.attempted(tenant, userName, isRight),
    ...(ageMaxMs === undefined ? {} : { ageMaxMs }),
  });
  const tokens = new Tokens({
    documents,
    commands,
    tenants,
    refusals: metrics,
    now,
    key,
    changed: authenticator.changed,
  });
  return {
    authenticator,
    tokens,
    notificationTokens: new NotificationTokens({ documents, tenants, key, now }),
    secondFactor,
    loginAudit,
  };
}

/** The tenants hear of changed records first: the other listeners ask them. */
export function recordsChanged(
  core: Pick<ServerCore, 'tenants' | 'authenticator' | 'events' | 'forwarding'>,
  tenant: number,
  changes: readonly RecordChange[],
): void {
  core.forwarding.recordsChanged(tenant, changes);
  const ended = core.tenants.recordsChanged(tenant, changes);
  if (ended.length > 0) {
    core.authenticator.tenantsEnded(ended);
    core.events.onTenantsEnded?.(ended);
  }
  for (const listener of core.events.recordListeners) listener(tenant, changes);
}
