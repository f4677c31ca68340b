/** REST, live data and MQTT over WebSocket on the HTTP port. */
import { hostname } from 'node:os';
import { ApiServer } from '../../api/api-server.ts';
import type { HttpEngine } from '../../api/http/engines/engine.ts';
import type { WebSocketChannel } from '../../api/http/web-socket.ts';
import { registerTunnelSockets } from '../../api/remote-access/sockets.ts';
import { realtimeRoutes, registerRealtimeSockets } from '../../api/realtime/realtime.ts';
import { registerConsumerSockets } from '../../api/realtime/notification-consumers.ts';
import { addressBehind } from '../../api/request/login-caller.ts';
import type { Platform, ServerFacts } from '../../api/request/platform.ts';
import { apiRoutes } from '../../api/routes.ts';
import { entityViews } from '../../api/smartrest/views.ts';
import { tunnelledRows } from '../../api/smartrest/row-port.ts';
import { systemRoutes } from '../../api/system/system.ts';
import { passwordSearches } from '../../accounts/passwords/people-search.ts';
import { TrustedProxies } from '../../config/trusted-proxies.ts';
import { Exports } from '../../history/exports.ts';
import { TotalCache } from '../../history/total-cache.ts';
import { BulkOperationChanges } from '../../jobs/bulk-operations/changes.ts';
import { FreeingCommands, reserveBytesOf } from '../../ingest/journal/freeing-commands.ts';
import { JsonMeasurementIntake } from '../../ingest/measurements/intake.ts';
import { mqttWebSocketHandlers } from '../../mqtt/web-socket-transport.ts';
import type { ConnectionBounds } from '../../operate/descriptors.ts';
import { BAYEUX_URLS } from '../../realtime/bayeux/channel.ts';
import { VERSION } from '../../config/project.ts';
import type { ServerCore } from '../cores/core.ts';
import type { AccountsPart } from './accounts.ts';
import type { AvailabilityPart } from './availability.ts';
import type { DevicesPart } from './devices.ts';
import type { FilesPart } from './files.ts';
import type { StatisticsPart } from './jobs.ts';
import { nodeStates } from './nodes.ts';
import type { NotificationsPart } from './notifications.ts';
import type { OnnxPart } from './onnx.ts';
import type { BindingsPart } from './bindings.ts';
import type { RealtimePart } from './realtime.ts';
import type { RemoteAccessPart } from './remote-access.ts';
import type { RetentionPart } from './retention.ts';
import type { ScoringPart } from './scoring.ts';
import type { SmartRestPart } from './smartrest.ts';

export function httpServer(
  core: ServerCore,
  engine: HttpEngine,
  bounds: ConnectionBounds,
  portsShown: () => ServerFacts['ports'],
  parts: {
    readonly accounts: AccountsPart;
    readonly devices: DevicesPart;
    readonly realtime: RealtimePart;
    readonly smartRest: SmartRestPart;
    readonly remoteAccess: RemoteAccessPart;
    readonly notifications: NotificationsPart;
    readonly files: FilesPart;
    readonly scoring: ScoringPart;
    readonly onnx: OnnxPart;
    readonly bindings: BindingsPart;
    readonly availability: AvailabilityPart;
    readonly retention: RetentionPart;
    readonly statistics: StatisticsPart;
  },
): ApiServer {
  const { config, log, metrics, commands, documents, ids } = core;
  const {
    accounts: { tenantServices, mailer },
    devices: { device, mqtt, errors, connections },
    realtime: { bayeux },
    notifications,
    files,
    statistics,
  } = parts;
  const { usage } = tenantServices;
  const realtime = { urls: BAYEUX_URLS, handle: bayeux.handle.bind(bayeux), open: bayeux.open.bind(bayeux) };
  const freeing = new FreeingCommands({
    commands,
    intake: core.intake,
    freeBytes: () => core.freeBytes,
    reserveBytes: reserveBytesOf(config.diskFreeMinBytes),
    now: () => performance.now(),
  });
  const unknownParameters = metrics.counter(
    'millrace_unknown_query_parameters_total',
    'Query parameters of requests that their route does not know; they are ignored, and the log has their names',
    ['route'],
  );
  const platform: Platform = {
    commands,
    freeing,
    ids,
    documents,
    history: core.historyReader,
    historyAsIs: core.historyAsIs,
    bus: core.bus,
    notifications: {
      tokens: core.notificationTokens,
      backlogs: (tenant, limit) => notifications.backlogs(tenant, limit),
      unsubscribe: (claims) => notifications.unsubscribe(claims),
      subscriptionChanged: (tenant, id) => notifications.subscriptionChanged(tenant, id),
    },
    authenticator: core.authenticator,
    hashes: core.hashes,
    tokenPolicyDefault: config.deviceTokenPolicy,
    tenants: core.tenants,
    refusals: metrics,
    log,
    accounts: {
      certificateLogins: tenantServices.certificateLogins,
      tokens: core.tokens,
      secondFactor: core.secondFactor,
      mailer,
      passwordSearches: passwordSearches(metrics),
    },
    blobs: files.files,
    scoring: parts.scoring.scoring,
    trainings: parts.scoring.trainings,
    onnx: parts.onnx.onnx,
    bindings: parts.bindings.bindings,
    retiredContents: files.retiredContents,
    rowCollections: parts.smartRest.collections,
    ...tenantServices.platform,
    usage: {
      count: usage.count.bind(usage),
      flush: () => statistics.flush(),
      refreshSizes: (tenant) => usage.refreshSizes(tenant),
    },
    availability: parts.availability.availability,
    deviceErrors: errors,
    connections,
    statisticsFiles: statistics.statisticsFiles,
    totals: new TotalCache(Date.now),
    recent: core.recent,
    known: core.known,
    exports: new Exports(metrics),
    retention: {
      defaultDays: config.retentionDefaultDays,
      begin: (...run) => parts.retention.retention.begin(...run),
    },
    bulkOperations: new BulkOperationChanges({ commands, freeing, documents, refusals: metrics, log, now: Date.now }),
    measurements: new JsonMeasurementIntake({
      intake: core.intake,
      sources: core.sources,
      distantMonths: core.distantMonths,
      ids,
      refusals: metrics,
      now: Date.now,
    }),
    config: {
      ...(config.baseUrl === undefined ? {} : { baseUrl: config.baseUrl }),
      trustedProxies: new TrustedProxies(config.trustProxy),
      trustsProxy: config.trustProxy !== 'no',
      hasOpenMetrics: config.metricsAccess === 'everyone',
      ...(config.deviceCertificateHeader === undefined
        ? {}
        : { deviceCertificateHeader: config.deviceCertificateHeader.toLowerCase() }),
      // Without a URL no mail is sent: this one is in the log, for who runs the server on his own machine.
      mailUrl: config.baseUrl ?? `http://localhost:${config.httpPort}`,
      connectionsMax: bounds.http,
      addressConnectionsMax: bounds.httpAddress,
      jsonBodyMaxBytes: config.jsonBodyMaxBytes,
      bodyMaxBytes: config.bodySizeMaxBytes,
      fileMaxBytes: config.fileMaxBytes,
      version: VERSION,
    },
    facts: () => ({
      node: config.nodeName ?? hostname(),
      shape: core.cluster === undefined ? 'single-node' : 'cluster',
      ports: portsShown(),
      python: config.scoringPython,
      sendsMail: config.smtp !== undefined && config.mailFrom !== undefined,
    }),
    now: Date.now,
    health: () => core.health(),
    metricsText: () => metrics.text(),
    nodes: nodeStates(core, mqtt, config.nodeName ?? hostname()),
    refusalCounts: () => metrics.refusalCounts,
    onUnknownParameter: (route) => unknownParameters.inc({ route }),
    onAnswered: (method, status, durationMs) => {
      metrics.messages.inc({ protocol: 'http', result: `${Math.trunc(status / 100)}xx` });
      if (durationMs !== undefined && method !== 'GET' && status < 300)
        metrics.httpLatency.observe(durationMs / 1_000, 1);
    },
  };
  const api = new ApiServer(
    platform,
    core.isGateway ? apiRoutes(realtimeRoutes(realtime)) : systemRoutes(),
    engine.library,
  );
  if (core.isGateway) {
    device.hooks.answerRows = tunnelledRows(platform, api.inner);
    device.hooks.views = entityViews(platform);
    registerRealtimeSockets(api, realtime);
    registerTunnelSockets(api, {
      documents,
      commands,
      now: Date.now,
      cipher: platform.cipher,
      refusals: metrics,
      log,
      tunnels: parts.remoteAccess.tunnels,
    });
    registerConsumerSockets(api, {
      consumers: notifications.consumers,
      tokens: core.notificationTokens,
      tenants: core.tenants,
      refusals: metrics,
      log,
    });
    api.webSocket(
      '/mqtt',
      mqttWebSocketHandlers(mqtt, (channel: WebSocketChannel) =>
        addressBehind(channel.remoteAddress, (name) => channel.head.headers.get(name) ?? '', api.proxies),
      ),
    );
  }
  return api;
}
