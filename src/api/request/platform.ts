/** The port of src/api: what the HTTP resources need from the rest of the server. The composition root provides it. */
import type { AvailabilityPort } from '../../ports/availability.ts';
import type { DeviceConnections } from '../../ports/device-connections.ts';
import type { DeviceErrors } from '../../ports/device-errors.ts';
import type { Blobs, RetiredContents } from '../../ports/blobs.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { LiveBus } from '../../ports/live-bus.ts';
import type { Log } from '../../ports/log.ts';
import type { NodeStates } from '../../ports/node-states.ts';
import type { Authenticator, PasswordConfirmation } from '../../model/access/principal.ts';
import type { TokenPolicy } from '../../model/entities/device-request.ts';
import type { ConsumerClaims } from '../../model/entities/notifications/token.ts';
import type { NotificationTokens } from '../../accounts/login/notification-tokens.ts';
import type { BulkOperationPort } from '../../ports/bulk-operations.ts';
import type { Refusals } from '../../ports/refusals.ts';
import type { TrustedProxies } from '../../config/trusted-proxies.ts';
import type { JsonMeasurementIntake } from '../../ingest/measurements/intake.ts';
import type { RetentionPort } from '../../ports/retention.ts';
import type { Exports } from '../../history/exports.ts';
import type { KnownAnswers } from '../../ports/known-answers.ts';
import type { RecentReader } from '../../ports/recent-measurements.ts';
import type { TotalCache } from '../../history/total-cache.ts';
import type { BasicRestrictions } from '../../accounts/login/options.ts';
import type { CertificateLogins } from '../../accounts/certificates/login.ts';
import type { Mailer } from '../../accounts/mail/mailer.ts';
import type { TextCipher } from '../../accounts/options/cipher.ts';
import type { PasswordHashes } from '../../accounts/passwords/hashes.ts';
import type { RequestRates } from '../../accounts/login/request-rates.ts';
import type { SecondFactor } from '../../accounts/login/second-factor.ts';
import type { StatisticsFiles } from '../../accounts/tenants/statistics-files.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import type { Usage } from '../../accounts/tenants/usage.ts';
import type { Tokens } from '../../accounts/login/tokens.ts';
import type { LiveBindings } from '../../scoring/bindings/live-bindings.ts';
import type { OnnxScoring } from '../../scoring/onnx/onnx-scoring.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { Trainings } from '../../scoring/training/trainings.ts';
import type { Backlog } from '../../ports/backlogs.ts';
import type { Turns } from '../../pacing/turns.ts';
import type { Collections } from '../../smartrest/one/collections.ts';

/** A tenant as the resources see it. */
export type TenantInfo = Tenant;

export interface Tenants {
  byNumber(number: number): TenantInfo | undefined;
  byId(id: string): TenantInfo | undefined;
  /** Tenants are reached at `<domain>.<suffix>`; undefined: no host means a tenant. */
  readonly domainSuffix?: string | undefined;
  /** Host of the server itself, lower case; undefined when the configuration does not say it. */
  readonly ownHost?: string | undefined;
  /** @param domain lower case. */
  byDomain(domain: string): TenantInfo | undefined;
  readonly all: Iterable<TenantInfo>;
  /** The tenant of credentials without a tenant prefix. */
  readonly default: TenantInfo;
}

/** What logins and the care of users need besides passwords. */
export interface Accounts {
  readonly certificateLogins: Pick<CertificateLogins, 'login'>;
  readonly tokens: Pick<Tokens, 'issue' | 'authenticate' | 'revoke' | 'revokeAll'>;
  readonly mailer: Pick<Mailer, 'send'>;
  /** Of accounts/passwords/people-search.ts; the user of a turn is the address of a client. */
  readonly passwordSearches: Turns;
  readonly secondFactor: Pick<
    SecondFactor,
    'read' | 'isForced' | 'begin' | 'activate' | 'revoke' | 'useCode' | 'issueToken' | 'takesToken'
  >;
}

export interface HealthReport {
  /** Whether requests can be served now. */
  readonly ready: boolean;
  /** By part: journal, documents, history, … with the lag of each stage where it has one. */
  readonly parts: Readonly<Record<string, { readonly ready: boolean; readonly [detail: string]: unknown }>>;
}

/** What the server is and where it listens, as its composition knows it. */
export interface ServerFacts {
  /** As in logs and metrics. */
  readonly node: string;
  readonly shape: 'single-node' | 'cluster';
  /** Those that are open: of a server with `--http-port 0` the port that it was given. */
  readonly ports: Readonly<Partial<Record<'http' | 'https' | 'mqtt' | 'mqttTls', number>>>;
  /** What runs the scripts of pipelines; `off`: nothing. */
  readonly python: 'off' | 'pyodide' | 'system';
  /** Whether mails leave the server, for instance links to set a password. */
  readonly sendsMail: boolean;
}

export interface ApiConfig {
  /** Start of all links, without a slash at the end; derived from the request when absent. */
  readonly baseUrl?: string;
  /** Start of the links in mails, without a slash at the end; no request has a say in it. */
  readonly mailUrl: string;
  /** Whose X-Forwarded-* and Forwarded count; by default of no proxy. */
  readonly trustedProxies?: TrustedProxies;
  /** A proxy may be in front of the server, which may find the end of a body in chunks elsewhere. */
  readonly trustsProxy?: boolean;
  /**
   * Header, in lower case, in which a proxy hands over the certificate of a device whose key it has checked; absent: no
   * certificate is taken.
   */
  readonly deviceCertificateHeader?: string;
  /** Whether /metrics and the details of /health/ready need no credentials. Default false. */
  readonly hasOpenMetrics?: boolean;
  /** Limit of a JSON body; 413 above. */
  readonly jsonBodyMaxBytes: number;
  /** Limit of a body with many entities (a measurement collection); 413 above. */
  readonly bodyMaxBytes: number;
  /** Limit of an uploaded file; 413 above. Default 50 MiB. */
  readonly fileMaxBytes?: number;
  /**
   * Bytes of all bodies under way; 503 `http/bodies-bytes` above. Default 128 MiB, or one body of `bodyMaxBytes` when
   * that is more.
   */
  readonly bodiesBytesMax?: number;
  /** Bodies of which a part has come, at once; 503 `http/bodies` above. Default 10,000. */
  readonly bodiesMax?: number;
  /** The same of bodies whose sender is not known yet; 503 `http/bodies-before-login-bytes` above. Default 32 MiB. */
  readonly bodiesEarlyBytesMax?: number;
  /** And their number, and that of those that wait; 503 `http/bodies-before-login` above. Default 1,000. */
  readonly bodiesEarlyMax?: number;
  /**
   * How long a large body waits to be read on before it is known who sends it; then 503
   * `http/bodies-before-login-bytes`. Default 10,000.
   */
  readonly bodiesPausedMsMax?: number;
  /** Requests of known users at once; 503 `http/requests` above. Default 20,000. */
  readonly requestsMax?: number;
  /** Bytes of large answers on their way; 503 `http/answers-bytes` above. Default 256 MiB. */
  readonly answersBytesMax?: number;
  /**
   * A client that takes nothing of its answer for this long is cut off; counted as `http/stalled-answers`. Default
   * 60,000.
   */
  readonly answerStalledMsMax?: number;
  /** Characters of the records of a page; 422 `lists/page-bytes` above. Default 64 MiB. */
  readonly pageBytesMax?: number;
  /** A WebSocket of live data without a handshake is closed then; `realtime/handshake-time`. Default 10,000. */
  readonly handshakeMsMax?: number;
  /**
   * Open HTTP connections, in all and of one address; 503 `http/connections` and `http/connections-of-address` above.
   * Default: no bound.
   */
  readonly connectionsMax?: number | undefined;
  readonly addressConnectionsMax?: number | undefined;
  /** Origins that browsers may call from: comma separated, `*` stands for any text. Default `*`. */
  readonly allowOrigin?: string;
  /** Shown in /openapi.json. */
  readonly version?: string;
}

export interface Platform {
  readonly commands: CommandPort;
  /** The same for what gives space back: a few are taken although the disk is nearly full. */
  readonly freeing: CommandPort;
  readonly ids: IdSource;
  readonly documents: DocumentReader;
  readonly history: HistoryReader;
  /** The same without waiting for what was just acknowledged. */
  readonly historyAsIs?: HistoryReader;
  readonly bus: LiveBus;
  /** Consumers of Notifications 2.0. */
  readonly notifications: {
    readonly tokens: Pick<NotificationTokens, 'issue' | 'verify'>;
    /** Of a tenant's consumers on this node, the largest topics first. */
    backlogs(tenant: number, limit: number): readonly Backlog[];
    /** Removes the subscriber with its backlog. @returns whether there was one. */
    unsubscribe(claims: ConsumerClaims): Promise<boolean>;
    /** A subscription was stored: resolves when it counts everywhere. @param id of its record. */
    subscriptionChanged(tenant: number, id: string): Promise<void>;
  };
  /**
   * Large binary content. A part that keeps keys tells the sweep of them (`core.blobReferences` in src/server/start.ts).
   */
  readonly blobs: Blobs;
  readonly retiredContents: RetiredContents;
  readonly totals: TotalCache;
  /** The newest measurements in memory; absent in a cluster. */
  readonly recent?: RecentReader | undefined;
  /** Pages and totals in memory; absent in a cluster. */
  readonly known?: KnownAnswers | undefined;
  readonly exports: Exports;
  readonly availability: AvailabilityPort;
  /** What the protocols of devices noted; without it none is known. */
  readonly deviceErrors?: DeviceErrors;
  readonly connections: DeviceConnections;
  readonly retention: RetentionPort;
  readonly bulkOperations: BulkOperationPort;
  readonly statisticsFiles: Pick<StatisticsFiles, 'list' | 'get' | 'ofMonth' | 'read' | 'createTest'>;
  readonly authenticator: Authenticator & PasswordConfirmation;
  readonly hashes: Pick<PasswordHashes, 'hash'>;
  readonly accounts: Accounts;
  readonly tenants: Tenants;
  /** Counts requests, and writes down what was counted. */
  readonly usage?: Pick<Usage, 'count' | 'flush' | 'refreshSizes'>;
  /** Requests a second of tenants and users. */
  readonly rates?: Pick<RequestRates, 'take' | 'takeLogin'>;
  /** Who may not log in with Basic. */
  readonly basicRestrictions?: Pick<BasicRestrictions, 'isAny' | 'mayUseBasic'>;
  /** For what is secret at rest. */
  readonly cipher: TextCipher;
  /** Collections of templates of SmartREST 1.0. */
  readonly rowCollections: Pick<Collections, 'find' | 'create'>;
  /** The origins that a tenant's option allows; undefined for those of the configuration. */
  readonly allowedOrigins?: (tenantNumber: number) => string | undefined;
  /** The hot path of measurements. */
  readonly measurements: Pick<JsonMeasurementIntake, 'post'>;
  /** Models; absent on a node without the role gateway. */
  readonly scoring?: Scoring;
  readonly trainings?: Trainings;
  /** ONNX models and pipelines; absent as `scoring`. */
  readonly onnx?: OnnxScoring;
  /** Models that score measurements as they come in; absent as `scoring`. */
  readonly bindings?: Pick<LiveBindings, 'countsOf' | 'stateOf'>;
  readonly refusals: Refusals;
  /** As in RegistrationParts. */
  readonly tokenPolicyDefault?: TokenPolicy;
  readonly log: Log;
  readonly config: ApiConfig;
  facts(): ServerFacts;
  /** Milliseconds since 1970. */
  now(): number;
  health(): HealthReport | Promise<HealthReport>;
  /** Prometheus text. */
  metricsText(): Promise<string>;
  readonly nodes: NodeStates;
  /** What was refused since the start, by limit. */
  refusalCounts(): ReadonlyMap<string, number>;
  /**
   * Called with every answer when present, for counters: must be cheap. `durationMs` is the time from the whole request
   * to the written answer; undefined for an answer that is still being sent, or that was held back on purpose.
   */
  readonly onAnswered?: (method: string, status: number, durationMs: number | undefined) => void;
  /** Called with the path of the route for each query parameter that it does not know, when present: for a counter. */
  readonly onUnknownParameter?: (route: string) => void;
}
