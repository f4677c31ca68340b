/** What the outside reaches, and what runs by the clock, over a core of any kind: a list of parts. */
import type { ApiServer } from '../api/api-server.ts';
import type { HttpEngine } from '../api/http/engines/engine.ts';
import type { ServerFacts } from '../api/request/platform.ts';
import { TrustedProxies } from '../config/trusted-proxies.ts';
import type { MqttServer } from '../mqtt/server.ts';
import { registerServerMetrics } from '../operate/server-metrics.ts';
import { GarbageCollection } from '../operate/garbage-collection.ts';
import { accountsPart } from './parts/accounts.ts';
import { availabilityPart } from './parts/availability.ts';
import { bindingsPart } from './parts/bindings.ts';
import { boundsOf, devicesPart } from './parts/devices.ts';
import { filesPart } from './parts/files.ts';
import { httpServer } from './parts/http.ts';
import { bulkOperationsPart, statisticsPart, tenantJobsPart } from './parts/jobs.ts';
import { notificationsPart } from './parts/notifications.ts';
import { operatorDoors } from './parts/operator.ts';
import type { OperatorDoors } from './parts/operator.ts';
import type { Part } from './parts/part.ts';
import { realtimePart, rightsPart } from './parts/realtime.ts';
import { remoteAccessPart } from './parts/remote-access.ts';
import { clockOf, retentionPart } from './parts/retention.ts';
import { onnxPart } from './parts/onnx.ts';
import { scoringPart } from './parts/scoring.ts';
import { smartRestPart } from './parts/smartrest.ts';
import { tlsPart } from './parts/tls.ts';
import type { TlsPart } from './parts/tls.ts';
import type { ServerCore } from './cores/core.ts';

/** Time for answers under way and for connections to read their last packets. */
const DRAIN_MS = 500;
/** What runs by the clock may wait for a store that stands still: it goes on from stored state at the next start. */
const BACKGROUND_MS = 400;

export interface RunningServer {
  readonly httpPort: number;
  /** Absent on a node without the role gateway. */
  readonly mqttPort?: number;
  readonly mqttTlsPort?: number;
  readonly httpsPort?: number;
  /** Where an operator's port is opened. */
  readonly opsPort?: number;
  /** What serves HTTP, and why. */
  readonly httpEngine: string;
  /** True when the accounts were created now. */
  readonly firstStart: boolean;
  /** The administrator's password when it was generated now. */
  readonly generatedPassword?: string;
  /** True when a configured password of the administrator has replaced another one now. */
  readonly replacedPassword?: boolean;
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
  const accounts = await accountsPart(core);
  const bounds = boundsOf(core);
  const clock = clockOf(core);
  const smartRest = smartRestPart(core);
  const devices = devicesPart(core, accounts, clock, bounds.mqtt, smartRest);
  const realtime = realtimePart(core, accounts, devices);
  const remoteAccess = remoteAccessPart(core);
  const notifications = await notificationsPart(core);
  const files = filesPart(core);
  const scoring = scoringPart(core, files, clock);
  const onnx = onnxPart(core, files);
  const bindings = bindingsPart(core, scoring, onnx);
  const availability = availabilityPart(core, devices, realtime);
  const retention = retentionPart(core, clock);
  const statistics = statisticsPart(core, accounts, files);
  const parts: readonly Part[] = [
    accounts,
    rightsPart(core, accounts, devices, realtime, smartRest, remoteAccess, notifications, bindings),
    devices,
    realtime,
    smartRest,
    remoteAccess,
    notifications,
    files,
    bindings,
    availability,
    tenantJobsPart(core),
    bulkOperationsPart(core),
    retention,
    statistics,
    new GarbageCollection(),
  ];
  for (const { recordsChanged } of parts)
    if (recordsChanged !== undefined) core.events.recordListeners.push(recordsChanged);
  let opened: OpenPorts | undefined;
  const api = httpServer(core, engine, bounds, () => portsShown(opened), {
    accounts,
    devices,
    realtime,
    smartRest,
    remoteAccess,
    notifications,
    files,
    scoring,
    onnx,
    bindings,
    availability,
    retention,
    statistics,
  });
  const { mqtt, sweeper } = devices;
  const { bayeux } = realtime;
  core.registerMetrics();
  registerServerMetrics(metrics, { mqtt, api, bayeux, sweeper, history: core.historyTurns });
  const tls = await tlsPart(core, mqtt);
  let httpPort = config.httpPort;
  const doors = operatorDoors(core, () => localUrl(config.host, httpPort));
  const ports = await openPorts(core, { doors, mqtt, api, tls }).catch(async (error: unknown) => {
    // Devices that came meanwhile would keep the rest from ending.
    await Promise.all([mqtt.close(0), doors.control.close(), doors.ops.close()]);
    bayeux.close();
    throw error;
  });
  ({ httpPort } = ports);
  opened = ports;
  // Also one that was generated by a start that could not show it, for instance because a port was taken.
  const generatedPassword = await core.secrets.take(`${config.tenant}/${config.adminUser}`);
  for (const part of parts) part.start?.();
  return {
    ...ports,
    httpEngine: engine.description,
    firstStart: core.accounts.isFirstStart,
    ...(generatedPassword === undefined ? {} : { generatedPassword }),
    replacedPassword: core.accounts.replaced.has(`${config.tenant}/${config.adminUser}`),
    staged: doors.staged,
    reload: async () => {
      await tls?.reload();
    },
    async stop() {
      tls?.stop?.();
      api.stopListening();
      bayeux.close();
      const background = Promise.all(parts.map((part) => part.stop?.()));
      await Promise.all([mqtt.close(DRAIN_MS), api.close(DRAIN_MS), endsWithin(background, BACKGROUND_MS, log)]);
      await Promise.all([doors.control.close(), doors.ops.close()]);
      await core.close();
    },
  };
}

/** Where a program on this machine reaches the listener. */
function localUrl(host: string, port: number): string {
  const reached = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

type OpenPorts = Pick<RunningServer, 'httpPort' | 'httpsPort' | 'mqttPort' | 'mqttTlsPort' | 'opsPort'>;

/** Those for devices and users, by protocol. */
function portsShown(opened: OpenPorts | undefined): ServerFacts['ports'] {
  if (opened === undefined) return {};
  const { httpPort, httpsPort, mqttPort, mqttTlsPort } = opened;
  return {
    http: httpPort,
    ...(httpsPort === undefined ? {} : { https: httpsPort }),
    ...(mqttPort === undefined ? {} : { mqtt: mqttPort }),
    ...(mqttTlsPort === undefined ? {} : { mqttTls: mqttTlsPort }),
  };
}

async function openPorts(
  { config, isGateway }: ServerCore,
  {
    doors: { control, ops },
    mqtt,
    api,
    tls,
  }: {
    readonly doors: OperatorDoors;
    readonly mqtt: MqttServer;
    readonly api: ApiServer;
    readonly tls: TlsPart | undefined;
  },
): Promise<OpenPorts> {
  const { host } = config;
  await control.listen();
  const opsPort = config.opsPort === 0 ? undefined : await ops.listen(config.opsHost, config.opsPort);
  const from = {
    host,
    ...(config.mqttProxyProtocol === 'yes' ? { proxies: new TrustedProxies(config.trustProxy) } : {}),
  };
  const mqttPort = isGateway ? (await mqtt.listen({ ...from, port: config.mqttPort })).port : undefined;
  const mqttTlsPort = tls ? (await mqtt.listen({ ...from, port: config.mqttTlsPort, tls: tls.pair })).port : undefined;
  const httpsPort = tls ? await api.listenSecurely(tls.library, { host, port: config.httpsPort }) : undefined;
  // Last: a client that reads there that the server is ready may connect anywhere.
  const httpPort = await api.listen({ host, port: config.httpPort });
  const mqttPorts = {
    ...(mqttPort === undefined ? {} : { mqttPort }),
    ...(mqttTlsPort === undefined ? {} : { mqttTlsPort }),
    ...(httpsPort === undefined ? {} : { httpsPort }),
  };
  return { httpPort, ...(opsPort === undefined ? {} : { opsPort }), ...mqttPorts };
}

/** Waits for the end of background work, and no longer than `limitMs`. */
async function endsWithin(work: Promise<unknown>, limitMs: number, log: ServerCore['log']): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), limitMs);
  });
  const ended = work.catch((error: Error) =>
    log.warn({ error: error.message }, 'background work failed while it was stopped; it goes on at the next start'),
  );
  if ((await Promise.race([ended, late])) === 'late')
    log.warn({ limitMs }, 'background work still waits for a store; it goes on at the next start');
  clearTimeout(timer);
}
