/** The values of /metrics that are read from what clients reach; those of the stores: health.ts. */
import type { Metrics } from './metrics.ts';

export interface MeteredServer {
  readonly mqtt: { readonly connectionsCount: number; readonly earlyBytes: number };
  readonly api: {
    readonly connectionCount: number;
    readonly requestCount: number;
    readonly webSocketCount: number;
    readonly compression: { readonly plainCount: number };
    readonly bodies: {
      readonly known: { readonly bytes: number };
      readonly checked: { readonly bytes: number };
      readonly early: { readonly bytes: number };
    };
  };
  readonly history: { readonly runningCount: number; readonly waitingCount: number };
  readonly sweeper: { readonly expiredCount: number };
  readonly bayeux: { readonly sessionCount: number; readonly queuedMessageCount: number; readonly queuedBytes: number };
}

export function registerServerMetrics(metrics: Metrics, { mqtt, api, bayeux, history, sweeper }: MeteredServer): void {
  metrics.gauges('millrace_connections', 'Open connections', 'protocol', () => [
    ['mqtt', mqtt.connectionsCount],
    ['http', api.connectionCount],
    ['websocket', api.webSocketCount],
    ['http-under-way', api.requestCount],
    ['bayeux-session', bayeux.sessionCount],
  ]);
  metrics.gauges(
    'millrace_http_bodies_bytes',
    'Bytes held of request bodies, by whether their sender is known',
    'sender',
    () => [
      ['known', api.bodies.known.bytes],
      ['in-check', api.bodies.checked.bytes],
      ['before-login', api.bodies.early.bytes],
    ],
  );
  metrics.total(
    'millrace_http_answers_left_plain_total',
    'Answers that their clients take compressed, sent plain since enough others were being compressed',
    () => api.compression.plainCount,
  );
  metrics.gauge(
    'millrace_mqtt_before_login_bytes',
    'Bytes held of MQTT connections whose CONNECT is not answered',
    () => mqtt.earlyBytes,
  );
  metrics.gauges('millrace_bayeux_queue_size', 'What waits for subscribers', 'queue', () => [
    ['messages', bayeux.queuedMessageCount],
    ['bytes', bayeux.queuedBytes],
  ]);
  metrics.gauges(
    'millrace_history_queries',
    'Queries of the history that run, and that wait for their turn',
    'state',
    () => [
      ['running', history.runningCount],
      ['waiting', history.waitingCount],
    ],
  );
  metrics.total(
    'millrace_mqtt_sessions_expired_total',
    'Stored MQTT sessions that were removed because their time was over',
    () => sweeper.expiredCount,
  );
}
