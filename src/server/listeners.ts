/** What the outside reaches, and what runs by the clock, over a core of any kind. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { LogMailer } from '../accounts/mail/mailer.ts';
import type { MailResult, Mailer } from '../accounts/mail/mailer.ts';
import { RightsWatch } from '../accounts/login/rights-watch.ts';
import { DeviceRegistration, logTokenPolicies } from '../accounts/registration/registration.ts';
import { TOKEN_POLICY } from '../accounts/options/options.ts';
import { STATISTICS_FILES, StatisticsFiles, statisticsFileBlobs } from '../accounts/tenants/statistics-files.ts';
import { SmtpMailer } from '../accounts/mail/smtp.ts';
import { ApiServer } from '../api/api-server.ts';
import { tenantOfHost } from '../api/request/login-host.ts';
import type { HttpEngine } from '../api/http/engines/engine.ts';
import { addressBehind } from '../api/request/login-caller.ts';
import { realtimeRoutes, registerRealtimeSockets } from '../api/realtime/realtime.ts';
import { BulkAlarmChanges } from '../api/alarms/bulk-changes.ts';
import { apiRoutes } from '../api/routes.ts';
import { Exports } from '../history/exports.ts';
import { TotalCache } from '../history/total-cache.ts';
import { systemRoutes } from '../api/system/system.ts';
import { passwordSearches } from '../api/users/passwords.ts';
import type { WebSocketChannel } from '../api/http/web-socket.ts';
import { removeApplicationsOf } from '../api/applications/service-users.ts';
import { AvailabilityRelay } from '../cluster/peers/availability-relay.ts';
import { PollRelay } from '../cluster/peers/poll-relay.ts';
import { UsageFlush } from '../cluster/peers/usage-flush.ts';
import { AvailabilityMonitor } from '../jobs/availability/monitor.ts';
import { FreeingCommands, reserveBytesOf } from '../ingest/journal/freeing-commands.ts';
import { JsonMeasurementIntake } from '../ingest/measurements/intake.ts';
import type { BinaryRecord, Command } from '../model/commands/command.ts';
import { DeviceApplication } from '../mqtt/devices/application.ts';
import { DEFAULT_LIMITS, limitsOfPayload } from '../mqtt/wire/limits.ts';
import { MqttServer } from '../mqtt/server.ts';
import { SessionDocuments } from '../mqtt/devices/session-documents.ts';
import { SessionSweeper } from '../mqtt/sessions/sweeper.ts';
import { mqttWebSocketHandlers } from '../mqtt/web-socket-transport.ts';
import { applicationBlobs } from '../model/entities/application.ts';
import { DATA_DELETION_PREFIX } from '../model/commands/data-deletion-jobs.ts';
import { refusedBy } from '../model/errors.ts';
import { eventBinaryKeys } from '../model/entities/event-binary.ts';
import type { ConnectedUsers } from '../model/access/principal.ts';
import { PacedAction } from '../pacing/paced-action.ts';
import { TenantJobs } from '../pacing/tenant-jobs.ts';
import { BlobSweeper, documentReferences } from '../jobs/files/blob-sweeper.ts';
import type { RunningBackups } from '../operate/backup/running.ts';
import { BulkOperationScheduler } from '../jobs/bulk-operations/scheduler.ts';
import { ControlSocket } from '../operate/control-socket.ts';
import type { ControlHandler } from '../operate/control-socket.ts';
import { RetentionRemoval } from '../jobs/retention/store.ts';
import { TrustedProxies } from '../config/trusted-proxies.ts';
import { ClockTrust, machineClock } from '../operate/clock-trust.ts';
import { RetentionRunner, newestRetentionDay } from '../jobs/retention/runner.ts';
import { RetiredBlobs } from '../jobs/files/retired-blobs.ts';
import { OpsServer } from '../operate/ops-server.ts';
import { connectionBounds, descriptorsMax, processLimits } from '../operate/descriptors.ts';
import { registerServerMetrics } from '../operate/server-metrics.ts';
import { TenantFiles } from '../jobs/files/tenant-files.ts';
import { TenantServices, endConnections } from './tenant-services.ts';
import { BAYEUX_URLS } from '../realtime/bayeux/channel.ts';
import { BayeuxServer } from '../realtime/bayeux/server.ts';
import { DocumentHierarchy, OwnerAccess } from '../realtime/bayeux/document-hierarchy.ts';
import { ClickHouseRetention } from '../store/clickhouse/retention.ts';
import { COLLECTIONS } from '../store/lmdb/documents.ts';
import { VERSION } from '../version.ts';
import { SERVER_WIDE, TENANT_KEY } from './core.ts';
import { TlsRenewal } from './tls-renewal.ts';
import type { ServerCore } from './core.ts';

/** Time for answers under way and for connections to read their last packets. */
const DRAIN_MS = 500;
/** What runs by the clock may wait for a store that stands still: it goes on from stored state at the next start. */
const BACKGROUND_MS = 400;
/** Between two looks at what links between objects have opened, while many of them end. */
const LINKS_PAUSE_MS = 250;
/** Retention waits this long for what was acknowledged before. */
const RETENTION_VISIBLE_MS = 60_000;

export interface RunningServer {
  readonly httpPort: number;
  /** Absent on a node that is no gateway. */
  readonly mqttPort?: number;
  readonly mqttTlsPort?: number;
  /** Where an operator's port is opened. */
  readonly opsPort?: number;
  /** What serves HTTP, and why. */
  readonly httpEngine: string;
  /** True when the accounts were created now. */
  readonly firstStart: boolean;
  /** The administrator's password when it was generated now. */
  readonly generatedPassword?: string;
  /** Resolves when a backup waits beside the data: the next start is on it. */
  readonly staged: Promise<void>;
  /** Reads again what may have been renewed: key and certificate of TLS. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/** Opens what the outside reaches: MQTT, HTTP, WebSocket, control socket; and what runs by the clock. */
export async function startListeners(core: ServerCore, engine: HttpEngine): Promise<RunningServer> {
  const { config, log, metrics } = core;
  log[engine.isFallback ? 'warn' : 'info']({ engine: engine.name }, `HTTP is served by ${engine.description}`);
  const { commands, intake: group, documents, ids, bus, authenticator, events } = core;
  const numbers = (): number[] => Array.from(core.tenants.all, ({ number }) => number);
  /** What runs by the clock runs on one node for each tenant. */
  const isMine = (tenant: number): boolean => core.isMine(tenant, TENANT_KEY);
  const isServersMine = (): boolean => isMine(SERVER_WIDE);
  const tenantServices = await TenantServices.open({
    tenants: core.tenants, documents, commands, changed: authenticator.changed,
    secrets: core.secrets, secretKey: config.secretKey, collections: COLLECTIONS, rows: core.tenantRows,
    removeApplications: (tenant, by) => removeApplicationsOf(
      { platform: { documents, commands, tenants: core.tenants, blobs: core.blobs, now: Date.now, refusals: metrics }, principal: { userName: by } }, tenant),
    tenantRate: config.httpTenantRateMax, userRate: config.httpUserRateMax, history: core.historyReader,
    insertUsage: (table, texts) => core.insertUsage(table, texts), refusals: metrics, isMine: isServersMine, log, now: Date.now,
  });
  events.usage = tenantServices.usage;
  events.recordListeners.push((tenant, changes) => tenantServices.recordsChanged(tenant, changes));
  tenantServices.registerMetrics(metrics);
  const tokenPolicyDefault = config.deviceTokenPolicy;
  logTokenPolicies(tokenPolicyDefault, Array.from(numbers(), (tenant) => tenantServices.options.get(tenant, TOKEN_POLICY.category, TOKEN_POLICY.key)), log);
  const registration = new DeviceRegistration({ commands, documents, hashes: core.hashes, tenants: core.tenants, refusals: metrics,
    tokenPolicyDefault, now: Date.now });
  const device = new DeviceApplication({
    authenticator, certificateLogins: tenantServices.certificateLogins, registration, commands, group, documents, ids, bus, refusals: metrics, log,
    now: Date.now, ...(core.receivers === undefined ? {} : { receivers: core.receivers }),
    ...(core.receipts === undefined ? {} : { receipts: core.receipts }),
  });
  core.receivers?.start(device.isPushed.bind(device));
  const descriptors = descriptorsMax(processLimits());
  const bounds = connectionBounds(descriptors, config);
  if (bounds.mqtt < config.mqttConnectionsMax) {
    // The default is as many as there is room for.
    const level = config.mqttConnectionsMax === DEFAULT_LIMITS.connections ? 'info' : 'warn';
    log[level]({ descriptors, mqttConnectionsMax: config.mqttConnectionsMax, limit: bounds.mqtt },
      'fewer MQTT connections than are set are taken, since the process has too few file descriptors; raise ulimit -n');
  }
  // Not refused while the journal is at its bound or the disk is nearly full: retention is what frees it. Below the reserve it only drops whole parts.
  const removing = { request: <Answer>(command: Command): Promise<Answer> => commands.requestBeyondBound<Answer>(command) };
  const clock = new ClockTrust({
    commands: removing, documents, now: Date.now, steady: machineClock(), refusals: metrics, log, differenceMaxMs: config.retentionClockDifferenceMaxMs,
    settleMs: config.retentionClockSettleMs, newestKnown: () => newestRetentionDay(documents, numbers(), core.journalTime),
  });
  const messages = metrics.counter('millrace_messages_total', 'Messages by protocol and result', ['protocol', 'result']);
  const mqtt = new MqttServer({
    application: device, log, clock,
    store: new SessionDocuments({ commands, documents, now: Date.now, ...(core.receipts === undefined ? {} : { receipts: core.receipts }) }),
    rateOf: (tenant) => tenantServices.streamRate(tenant), isOnlyTenant: () => core.tenants.isOnlyOne,
    ...(core.sessions === undefined ? {} : { elsewhere: core.sessions }),
    metrics: {
      count: (limit) => metrics.count(limit),
      // Read from the server when somebody asks.
      connections: () => undefined,
      received: (tenant, count) => {
        tenantServices.usage.count(tenant, 'requests', count);
        tenantServices.usage.count(tenant, 'device_requests', count);
      },
      acknowledged: (durationMs, count) => metrics.mqttLatency.observe(durationMs / 1_000, count),
      messages: (direction, qos, count) => messages.inc({ protocol: `mqtt-qos${qos}`, result: direction === 'in' ? 'received' : 'sent' }, count),
    },
    limits: {
      connections: bounds.mqtt, ...limitsOfPayload(config.mqttPayloadMaxBytes),
      rateMessagesPerSecond: config.mqttRateMax, rateQueueMessages: config.mqttRateQueueMax,
    },
  });
  core.sessions?.start(mqtt.sessions);
  const pollRelay = core.cluster === undefined ? undefined : new PollRelay({ ...core.cluster, refusals: metrics, log });
  const bayeux = new BayeuxServer({
    bus, hierarchy: new DocumentHierarchy(documents), access: new OwnerAccess(documents), authenticator, log, refusals: metrics,
    tokenAuthenticator: { authenticateToken: (token) => core.tokens.authenticate(token) },
    placeOf: (host) => {
      const called = tenantOfHost(core.tenants, host);
      return called === undefined ? {} : { tenantNumber: called.number };
    },
    mayUseBasic: (tenant, userAgent) => tenantServices.basicRestrictions.mayUseBasic(tenant, userAgent), elsewhere: pollRelay,
  });
  const linksEnded = new PacedAction(() => {
    device.linksEnded();
    bayeux.checkObjects();
  }, LINKS_PAUSE_MS);
  events.onTenantsEnded = (ended) => {
    for (const { number } of ended) if (core.tenants.byNumber(number) === undefined) tenantServices.forgetTenant(number);
    endConnections({ mqtt, bayeux }, ended);
  };
  tenantServices.onCertificateEnded = (tenant, fingerprint) => mqtt.disconnectCertificate(tenant, fingerprint);
  tenantServices.onRevoked = (tenant, serials) => mqtt.disconnectRevoked(tenant, serials);
  const tenantId = (tenant: number): string => core.tenants.byNumber(tenant)?.id ?? '';
  const rights = new RightsWatch({
    authenticator, documents, refusals: metrics, log, endUsers: (tenant, userNames) => events.onUsersEnded?.(tenant, userNames),
    endTokenSessions: (tenant, userName) => bayeux.endTokenSessions(tenantId(tenant), userName),
    endDeviceSessions: (tenant) => bayeux.endDeviceSessions(tenant),
  });
  events.recordListeners.push((tenant, changes) => rights.recordsChanged(tenant, changes));
  events.watched = (tenant) => tenantServices.watched(tenant);
  events.onMissed = async (isOf) => {
    const connected: ConnectedUsers = new Map();
    mqtt.addConnectedUsers(connected);
    bayeux.addConnectedUsers(connected);
    await rights.recheck(new Map([...connected].filter(([tenant]) => isOf(tenant, TENANT_KEY))));
    await device.objectsMissed(isOf);
    linksEnded.note();
  };
  const mails = metrics.counter('millrace_mails_total', 'Mails to users by what became of them; logged: no mail server is configured', ['result']);
  const countMail = (result: MailResult): void => { mails.inc({ result }); };
  const mailer: Mailer = config.smtp === undefined || config.mailFrom === undefined ? new LogMailer(log, countMail)
    : new SmtpMailer({ url: config.smtp, tls: config.smtpTls, from: config.mailFrom, count: countMail, refusals: metrics, log, now: Date.now });
  const sweeper = new SessionSweeper({
    commands, documents, log, clock, isMine: (tenant, key) => core.isMine(tenant, `s:${key}`),
    isInMemory: (tenant, key) => core.sessions?.isInMemory(tenant, key) ?? mqtt.sessions.isInMemory(tenant, key),
    tenants: numbers,
  });
  core.blobReferences.push(documentReferences(documents, numbers, 'binary',
    (value) => [(JSON.parse(value) as BinaryRecord).key]));
  core.blobReferences.push(documentReferences(documents, numbers, 'eventBinary', eventBinaryKeys));
  core.blobReferences.push(documentReferences(documents, () => [0], 'application', applicationBlobs));
  core.blobReferences.push(documentReferences(documents, () => [0], STATISTICS_FILES, statisticsFileBlobs));
  const alarmChanges = new BulkAlarmChanges({
    documents, history: core.historyReader, commands, refusals: metrics, log, now: Date.now, isMine,
    tenants: numbers,
  });
  const jobs = [alarmChanges.jobs, new TenantJobs({
    prefix: DATA_DELETION_PREFIX, name: 'a deletion by filters', documents, tenants: numbers, isMine, log,
    page: (tenant, job, isStopped) => core.deletion.page(tenant, job, isStopped),
    giveUp: (tenant, job, error, failures) => core.deletion.giveUp(tenant, job, error, failures),
  })];
  events.recordListeners.push((tenant, changes) => { for (const one of jobs) one.recordsChanged(tenant, changes); });
  metrics.total('millrace_jobs_failures_total', 'Pages of DELETEs by filters and of changes of many alarms that failed and are tried again',
    () => jobs.reduce((sum, one) => sum + one.failuresCount, 0));
  metrics.total('millrace_jobs_given_up_total', 'DELETEs by filters that were ended, since the history store failed at them again and again',
    () => jobs.reduce((sum, one) => sum + one.givenUpCount, 0));
  events.onShardTaken = () => { for (const one of jobs) one.lookAtAll(); };
  const isConnectedHere = (tenant: number, source: number): boolean => device.isPushed(tenant, source) || bayeux.presence.isConnected(tenant, source);
  // Whoever holds a device's connection tells the node that watches the tenant.
  const relay = core.cluster === undefined ? undefined
    : new AvailabilityRelay({ ...core.cluster, isConnectedHere, refusals: metrics, log, now: Date.now });
  const availability = new AvailabilityMonitor({
    commands, documents, ids, tenants: numbers, refusals: metrics, log, now: Date.now,
    ...(relay === undefined ? { isMine, isConnected: isConnectedHere }
      : { isMine: relay.isMine, isConnected: relay.isConnected, ownedSince: relay.ownedSince }),
  });
  relay?.start(availability);
  device.onHeard = relay?.heard ?? availability.heard;
  const pushChanged = relay?.pushChanged ?? ((tenant: number, source: number) => availability.lookAt(tenant, source));
  device.onPushChanged = pushChanged;
  bayeux.presence.onChanged = pushChanged;
  const { filesRoom } = core;
  const files = new TenantFiles({
    blobs: core.blobs, bytesMax: config.tenantFilesMaxBytes, refusals: metrics, log, now: () => performance.now(),
    ...(filesRoom === undefined ? { freeBytes: () => core.freeBytes - config.diskFreeMinBytes }
      // In NATS they lie beside the journal: no tenant may take what that needs.
      : { freeBytes: () => filesRoom.freeBytes, look: (bytes) => filesRoom.look(bytes), smallBytes: 0 }),
  });
  metrics.gauge('millrace_files_size_bytes', 'Bytes of files of tenants, as last counted', () => files.bytes);
  const blobSweeper = new BlobSweeper({ blobs: files, references: core.blobReferences, isMine: isServersMine, log, now: Date.now });
  const retiredContents = new RetiredBlobs({ blobs: files, log });
  const bulkOperations = new BulkOperationScheduler({
    commands, documents, ids, history: core.historyReader, refusals: metrics, log, now: Date.now, isMine,
    tenants: numbers,
  });
  events.recordListeners.push((tenant, changes) => bulkOperations.recordsChanged(tenant, changes));
  const retention = new RetentionRunner({
    commands: removing, clock, documents, ids, refusals: metrics, log, now: Date.now, isMine, hour: config.retentionHour,
    defaultDays: config.retentionDefaultDays, tenants: numbers,
    disk: { freeBytes: () => core.historyFreeBytes, warnBytes: config.diskFreeWarnBytes, isEarly: config.retentionEarly === 'yes' },
    store: new RetentionRemoval({
      history: new ClickHouseRetention(core.clickHouse), counted: core.historyReader, commands: removing, documents, now: Date.now,
      visible: () => core.visible(RETENTION_VISIBLE_MS),
      requireRoom: () => {
        if (core.historyFreeBytes >= reserveBytesOf(config.diskFreeMinBytes)) return;
        throw refusedBy(core.cluster === undefined ? 'disk/free-bytes' : 'clickhouse/free-bytes');
      },
    }),
  });
  events.recordListeners.push((_tenant, changes) => retention.recordsChanged(changes));
  events.onObjectChanged = (id) => {
    device.objectChanged(id);
    bayeux.objectChanged(id);
  };
  events.onLinksEnded = () => linksEnded.note();
  events.onUsersEnded = (tenant, userNames) => {
    mqtt.disconnectUsers(tenant, userNames);
    for (const userName of userNames) bayeux.endUser(tenantId(tenant), userName);
  };
  device.onResult = (result) => { messages.inc({ protocol: 'mqtt', result }); };
  const { usage } = tenantServices;
  const usageFlush = core.cluster === undefined ? usage : new UsageFlush(usage, { ...core.cluster, log });
  const statisticsFiles = new StatisticsFiles({
    documents, commands, history: core.historyReader, blobs: files, ids, tenants: core.tenants, flush: () => usageFlush.flush(), isMine: isServersMine,
    refusals: metrics, log, now: Date.now,
  });
  const realtime = { urls: BAYEUX_URLS, handle: bayeux.handle.bind(bayeux), open: bayeux.open.bind(bayeux) };
  const freeing = new FreeingCommands({
    commands, intake: group, freeBytes: () => core.freeBytes, reserveBytes: reserveBytesOf(config.diskFreeMinBytes), now: () => performance.now(),
  });
  const api = new ApiServer({
    commands, freeing, ids, documents, history: core.historyReader, historyAsIs: core.historyAsIs, bus, authenticator,
    hashes: core.hashes, tokenPolicyDefault,
    tenants: core.tenants, refusals: metrics, log,
    accounts: { certificateLogins: tenantServices.certificateLogins, tokens: core.tokens, secondFactor: core.secondFactor, mailer,
      passwordSearches: passwordSearches(metrics) },
    blobs: files, retiredContents,
    ...tenantServices.platform,
    usage: { count: usage.count.bind(usage), flush: () => usageFlush.flush(), refreshSizes: (tenant) => usage.refreshSizes(tenant) },
    availability: relay ?? availability,
    statisticsFiles,
    totals: new TotalCache(Date.now), exports: new Exports(metrics),
    retention: { defaultDays: config.retentionDefaultDays, begin: retention.begin.bind(retention) },
    measurements: new JsonMeasurementIntake({ group, sources: core.sources, ids, refusals: metrics, now: Date.now }),
    config: {
      ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }), trustedProxies: new TrustedProxies(config.trustProxy),
      trustsProxy: config.trustProxy !== 'no',
      hasOpenMetrics: config.metricsAccess === 'everyone',
      ...(config.deviceCertificateHeader === undefined ? {} : { deviceCertificateHeader: config.deviceCertificateHeader.toLowerCase() }),
      // Without a URL no mail is sent: this one is in the log, for who runs the server on his own machine.
      mailUrl: config.baseUrl ?? `http://localhost:${config.httpPort}`,
      connectionsMax: bounds.http, addressConnectionsMax: bounds.httpAddress, jsonBodyMaxBytes: config.jsonBodyMaxBytes,
      bodyMaxBytes: config.bodySizeMaxBytes, fileMaxBytes: config.fileMaxBytes, version: VERSION,
    },
    now: Date.now, health: () => core.health(), metricsText: () => metrics.text(),
    onAnswered: (method, status, durationMs) => {
      messages.inc({ protocol: 'http', result: `${Math.trunc(status / 100)}xx` });
      if (durationMs !== undefined && method !== 'GET' && status < 300) metrics.httpLatency.observe(durationMs / 1_000, 1);
    },
  }, core.isGateway ? apiRoutes(realtimeRoutes(realtime)) : systemRoutes(), engine.library);
  if (core.isGateway) {
    registerRealtimeSockets(api, realtime);
    api.webSocket('/mqtt', mqttWebSocketHandlers(mqtt, (channel: WebSocketChannel) =>
      addressBehind(channel.remoteAddress, (name) => channel.head.headers.get(name) ?? '', api.proxies)));
  }
  if (pollRelay !== undefined) {
    metrics.gauges('millrace_realtime_relayed_polls', 'Long polls between nodes: of clients of this node, of sessions of this node', 'of', () => [
      ['clients', pollRelay.counts.waiting], ['sessions', pollRelay.counts.answering]]);
  }
  metrics.gauge('millrace_retention_waits_for_clock',
    '1 while retention and the end of MQTT sessions wait since the clock differs from the newest time in the journal', () => (clock.isWaiting ? 1 : 0));
  metrics.total('millrace_retention_removed_total', 'Measurements, entities and records that retention removed', () => retention.removedCount);
  core.registerMetrics();
  registerServerMetrics(metrics, { mqtt, api, bayeux, sweeper, history: core.historyTurns });
  const tls = !core.isGateway || config.tlsKey === undefined || config.tlsCertificate === undefined ? undefined
    : await TlsRenewal.open({ keyFile: config.tlsKey, certificateFile: config.tlsCertificate, log, apply: (pair) => mqtt.renewTls(pair) });
  if (tls !== undefined) {
    metrics.gauge('millrace_tls_certificate_expiry_seconds', 'End of the certificate of MQTT over TLS, Unix time', () => tls.renewal.notAfterMs / 1_000);
    metrics.total('millrace_tls_renewal_failures_total', 'Keys and certificates that could not be used', () => tls.renewal.failuresCount);
  }
  const run = randomUUID();
  let onStaged = (): void => undefined;
  const staged = new Promise<void>((resolve) => { onStaged = resolve; });
  const control = new ControlSocket(join(core.data, 'control.sock'), new Map<string, ControlHandler>([
    ['backup', async (request) => backupsOf(core).make(String(request.to))],
    ['restore', async (request) => {
      const answer = await backupsOf(core).stage(String(request.from));
      onStaged();
      return answer;
    }],
    ['state', () => Promise.resolve({ run })],
  ]), log);
  const ops = new OpsServer({ health: () => core.health(), metricsText: () => metrics.text(), log });
  const open = async (): Promise<Pick<RunningServer, 'httpPort' | 'mqttPort' | 'mqttTlsPort' | 'opsPort'>> => {
    await control.listen();
    const opsPort = config.opsPort === 0 ? undefined : await ops.listen(config.opsHost, config.opsPort);
    const mqttPort = core.isGateway ? (await mqtt.listen({ host: config.host, port: config.mqttPort })).port : undefined;
    const mqttTlsPort = tls ? (await mqtt.listen({ host: config.host, port: config.mqttTlsPort, tls: tls.pair })).port : undefined;
    // Last: whoever reads there that the server is ready may connect anywhere.
    const httpPort = await api.listen({ host: config.host, port: config.httpPort });
    const mqttPorts = { ...(mqttPort === undefined ? {} : { mqttPort }), ...(mqttTlsPort === undefined ? {} : { mqttTlsPort }) };
    return { httpPort, ...(opsPort === undefined ? {} : { opsPort }), ...mqttPorts };
  };
  const ports = await open().catch(async (error: unknown) => {
    // Devices that came meanwhile would keep the rest from ending.
    await Promise.all([mqtt.close(0), control.close(), ops.close()]);
    bayeux.close();
    throw error;
  });
  // Also one that was generated by a start that could not show it, for instance because a port was taken.
  const generatedPassword = await core.secrets.take(`${config.tenant}/${config.adminUser}`);
  sweeper.start();
  blobSweeper.start();
  files.start();
  bulkOperations.start();
  availability.start();
  for (const one of jobs) one.start();
  retention.start();
  statisticsFiles.start();
  tenantServices.start();
  return {
    ...ports, httpEngine: engine.description, firstStart: core.accounts.isFirstStart,
    ...(generatedPassword === undefined ? {} : { generatedPassword }),
    staged,
    reload: async () => { await tls?.renewal.look(); },
    async stop() {
      tls?.renewal.stop();
      api.stopListening();
      retiredContents.stop();
      linksEnded.stop();
      bayeux.close();
      const background = Promise.all([tenantServices.stop(), mailer.stop(), sweeper.stop(), blobSweeper.stop(), files.stop(),
        availability.stop(), relay?.stop(),
        ...jobs.map((one) => one.stop()), bulkOperations.stop(), retention.stop(), statisticsFiles.stop()]);
      await Promise.all([mqtt.close(DRAIN_MS), api.close(DRAIN_MS), endsWithin(background, BACKGROUND_MS, log)]);
      await Promise.all([control.close(), ops.close()]);
      await core.close();
    },
  };
}

/** @throws Error on a node of a cluster. */
function backupsOf({ backups }: ServerCore): Pick<RunningBackups, 'make' | 'stage'> {
  if (backups === undefined) throw new Error('a node of a cluster keeps its data in NATS, Redis and ClickHouse; docs/cluster.md says how these are copied');
  return backups;
}

/** Waits for the end of background work, and no longer than `limitMs`. */
async function endsWithin(work: Promise<unknown>, limitMs: number, log: ServerCore['log']): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => { timer = setTimeout(() => resolve('late'), limitMs); });
  const ended = work.catch((error: Error) => log.warn({ error: error.message }, 'background work did not end in order; it goes on at the next start'));
  if (await Promise.race([ended, late]) === 'late') log.warn({ limitMs }, 'background work still waits for a store; it goes on at the next start');
  clearTimeout(timer);
}
