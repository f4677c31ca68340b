/** Devices over MQTT: the listener, what topics mean, and the end of sessions whose time is over. */
import { hostname } from 'node:os';
import { deviceToken } from '../../accounts/login/device-tokens.ts';
import { measurementSearch } from '../../history/measurements/rows.ts';
import { eventSearch } from '../../history/newest-event.ts';
import { TotalCache } from '../../history/total-cache.ts';
import { ConnectionPages } from '../../cluster/peers/connection-pages.ts';
import { DeviceErrorsRelay } from '../../cluster/peers/device-errors.ts';
import { TrafficRelay } from '../../cluster/peers/traffic-relay.ts';
import { LastErrors } from '../../mqtt/devices/last-errors.ts';
import type { ConnectionPage, ConnectionQuery, DeviceConnections } from '../../ports/device-connections.ts';
import type { DeviceErrors } from '../../ports/device-errors.ts';
import type { TrafficWatching } from '../../ports/traffic.ts';
import { DeviceApplication } from '../../mqtt/devices/application.ts';
import { SessionDocuments } from '../../mqtt/devices/session-documents.ts';
import { MqttServer } from '../../mqtt/server.ts';
import { SessionSweeper } from '../../mqtt/sessions/sweeper.ts';
import { DEFAULT_LIMITS, limitsOfPayload } from '../../mqtt/wire/limits.ts';
import type { ClockTrust } from '../../operate/clock-trust.ts';
import { Traffic } from '../../realtime/traffic/traffic.ts';
import { connectionBounds, descriptorsMax, processLimits } from '../../operate/descriptors.ts';
import type { ConnectionBounds } from '../../operate/descriptors.ts';
import type { ServerCore } from '../cores/core.ts';
import type { AccountsPart } from './accounts.ts';
import type { Part } from './part.ts';
import type { SmartRestPart } from './smartrest.ts';

export interface DevicesPart extends Part {
  readonly device: DeviceApplication;
  readonly mqtt: MqttServer;
  readonly sweeper: SessionSweeper;
  /** The last error of each device. */
  readonly errors: DeviceErrors;
  /** Of all nodes. */
  readonly connections: DeviceConnections;
  /** Of all nodes. */
  readonly traffic: TrafficWatching;
}

/** @returns how many connections MQTT and HTTP may have, with a line in the log where that is less than what is set. */
export function boundsOf({ config, log }: ServerCore): ConnectionBounds {
  const descriptors = descriptorsMax(processLimits());
  const bounds = connectionBounds(descriptors, config);
  if (bounds.mqtt < config.mqttConnectionsMax) {
    // The default is as many as there is room for.
    const level = config.mqttConnectionsMax === DEFAULT_LIMITS.connections ? 'info' : 'warn';
    log[level](
      { descriptors, mqttConnectionsMax: config.mqttConnectionsMax, limit: bounds.mqtt },
      'fewer MQTT connections than are set are taken, since the process has too few file descriptors; raise ulimit -n',
    );
  }
  return bounds;
}

export function devicesPart(
  core: ServerCore,
  { tenantServices, registration }: AccountsPart,
  clock: ClockTrust,
  connectionsMax: number,
  { collections }: SmartRestPart,
): DevicesPart {
  const { config, log, metrics, commands, documents } = core;
  const { usage } = tenantServices;
  const now = Date.now;
  const receipts = core.receipts === undefined ? {} : { receipts: core.receipts };
  const errors = new LastErrors(now);
  const relay = core.cluster === undefined ? undefined : new DeviceErrorsRelay(errors, core.cluster.messages);
  const node = config.nodeName ?? hostname();
  const traffic = new Traffic({ node, now, later: (run, ms) => void setTimeout(run, ms).unref() });
  const trafficRelay = core.cluster === undefined ? undefined : new TrafficRelay(traffic, core.cluster.messages);
  const device = new DeviceApplication({
    authenticator: core.authenticator,
    certificateLogins: tenantServices.certificateLogins,
    registration,
    commands,
    intake: core.intake,
    distantMonths: core.distantMonths,
    documents,
    ids: core.ids,
    bus: core.bus,
    rowCollections: collections,
    refusals: metrics,
    events: eventSearch({
      history: core.historyReader,
      documents,
      totals: new TotalCache(now),
      refusals: metrics,
      textBytesMax: config.jsonBodyMaxBytes,
    }),
    storedMeasurements: measurementSearch(core.historyReader),
    tokenFor: (principal) => deviceToken(core, principal, principal.tenant),
    errors,
    traffic,
    log,
    now,
    ...(core.receivers === undefined ? {} : { receivers: core.receivers }),
    ...receipts,
  });
  device.hooks.onResult = (result) => {
    metrics.messages.inc({ protocol: 'mqtt', result });
  };
  core.receivers?.start(device.isPushed.bind(device));
  const mqtt = new MqttServer({
    application: device,
    traffic,
    log,
    clock,
    store: new SessionDocuments({ commands, documents, now, ...receipts }),
    rateOf: (tenant) => tenantServices.streamRate(tenant),
    isOnlyTenant: () => core.tenants.isOnlyOne,
    ...(core.sessions === undefined ? {} : { elsewhere: core.sessions }),
    metrics: {
      count: (limit, refused) => metrics.count(limit, refused),
      // Read from the server when it is asked for.
      connections: () => undefined,
      received: (tenant, count) => {
        usage.count(tenant, 'requests', count);
        usage.count(tenant, 'device_requests', count);
      },
      acknowledged: (durationMs, count) => metrics.mqttLatency.observe(durationMs / 1_000, count),
      messages: (direction, qos, count) =>
        metrics.messages.inc({ protocol: `mqtt-qos${qos}`, result: direction === 'in' ? 'received' : 'sent' }, count),
    },
    limits: {
      connections: connectionsMax,
      ...limitsOfPayload(config.mqttPayloadMaxBytes),
      rateMessagesPerSecond: config.mqttRateMax,
      rateQueueMessages: config.mqttRateQueueMax,
    },
  });
  core.sessions?.start(mqtt.sessions);
  tenantServices.onCertificateEnded = (tenant, fingerprint) => mqtt.disconnectCertificate(tenant, fingerprint);
  tenantServices.onRevoked = (tenant, serials) => mqtt.disconnectRevoked(tenant, serials);
  const local = (tenant: number, query: ConnectionQuery): ConnectionPage => mqtt.pageOf(tenant, query, node);
  const connections: DeviceConnections =
    core.cluster === undefined
      ? { page: async (tenant, query) => ({ ...local(tenant, query), silentNodes: [] }) }
      : new ConnectionPages({ ...core.cluster, local });
  const sweeper = new SessionSweeper({
    commands,
    documents,
    log,
    clock,
    isMine: (tenant, key) => core.isMine(tenant, `s:${key}`),
    isInMemory: (tenant, key) => core.sessions?.isInMemory(tenant, key) ?? mqtt.sessions.isInMemory(tenant, key),
    tenants: () => core.tenants.numbers,
  });
  return {
    device,
    mqtt,
    sweeper,
    errors,
    connections,
    traffic,
    start: () => sweeper.start(),
    stop: () => {
      relay?.stop();
      trafficRelay?.stop();
      return sweeper.stop();
    },
  };
}
