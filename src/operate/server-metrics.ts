/** The values of /metrics that are read from the parts of a running server. */
import type { HealthParts } from './health.ts';
import type { Metrics } from './metrics.ts';

export interface MeteredServer {
  readonly mqtt: { readonly connectionsCount: number; readonly earlyBytes: number };
  readonly api: {
    readonly connectionCount: number; readonly requestCount: number; readonly webSocketCount: number;
    readonly bodies: { readonly known: { readonly bytes: number }; readonly early: { readonly bytes: number } };
  };
  readonly history: { readonly runningCount: number; readonly waitingCount: number };
  readonly sweeper: { readonly expiredCount: number };
  readonly bayeux: { readonly sessionCount: number; readonly queuedMessageCount: number; readonly queuedBytes: number };
}

/** Of the listeners. */
export function registerServerMetrics(metrics: Metrics, { mqtt, api, bayeux, history, sweeper }: MeteredServer): void {
  metrics.gauges('millrace_connections', 'Open connections', 'protocol', () => [
    ['mqtt', mqtt.connectionsCount], ['http', api.connectionCount], ['websocket', api.webSocketCount], ['http-under-way', api.requestCount],
    ['bayeux-session', bayeux.sessionCount]]);
  metrics.gauges('millrace_http_bodies_bytes', 'Bytes held of request bodies, by whether their sender is known', 'sender', () => [
    ['known', api.bodies.known.bytes], ['before-login', api.bodies.early.bytes]]);
  metrics.gauge('millrace_mqtt_before_login_bytes', 'Bytes held of MQTT connections whose CONNECT is not answered', () => mqtt.earlyBytes);
  metrics.gauges('millrace_bayeux_queue_size', 'What waits for subscribers', 'queue', () => [
    ['messages', bayeux.queuedMessageCount], ['bytes', bayeux.queuedBytes]]);
  metrics.gauges('millrace_history_queries', 'Queries of the history that run, and that wait for their turn', 'state', () => [
    ['running', history.runningCount], ['waiting', history.waitingCount]]);
  metrics.total('millrace_mqtt_sessions_expired_total', 'Stored MQTT sessions that were removed because their time was over', () => sweeper.expiredCount);
}

/** Of a single node. */
export function registerNodeMetrics(metrics: Metrics, core: HealthParts & { readonly commands: { readonly underWayCount: number } }): void {
  metrics.gauges('millrace_queue_size', 'What waits, by queue', 'queue', () => [
    ['group-open-bytes', core.group.openBytes], ['projector-rows', core.projector.pendingRows], ['commands-under-way', core.commands.underWayCount],
    ['mailboxes', core.actors.mailboxCount], ['follow-ups', core.actors.pendingCount]]);
  metrics.gauge('millrace_journal_size_bytes', 'Bytes of the journal', () => core.journal.sizeBytes);
  metrics.gauge('millrace_journal_last_sequence', 'Last durable sequence', () => core.journal.lastSeq);
  metrics.gauge('millrace_journal_lag_records', 'Records appended and not yet durable', () => core.group.lastAppendedSeq - core.journal.lastSeq);
  metrics.gauge('millrace_projector_lag_records', 'Records handled and not yet in the history', () => core.handledSeq() - core.projector.position);
  metrics.total('millrace_projector_insert_errors_total', 'Inserts that failed and were tried again', () => core.projector.insertErrorsCount);
  metrics.total('millrace_projector_set_aside_total', 'Measurements, rows and DELETEs that the history refused', () => core.projector.setAsideCount);
  metrics.gauge('millrace_quarantine_entries', 'Lines of the quarantine file', () => core.quarantine.count);
  metrics.gauge('millrace_quarantine_size_bytes', 'Bytes of the quarantine file', () => core.quarantine.sizeBytes);
  metrics.total('millrace_group_commits_total', 'Group commits', () => core.group.groupsCount);
  metrics.total('millrace_records_total', 'Records committed', () => core.group.recordsCount);
  metrics.total('millrace_commands_total', 'Commands that actors handled', () => core.actors.commandsCount);
  metrics.total('millrace_clickhouse_restarts_total', 'Restarts of the embedded ClickHouse', () => core.engine.restartsCount);
  metrics.gauge('millrace_disk_free_bytes', 'Free space of the data directory', () => core.disk.freeBytes);
}
