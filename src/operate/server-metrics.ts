/** The values of /metrics that are read from the parts of a running server. */
import type { HealthParts } from './health.ts';
import type { Metrics } from './metrics.ts';

export interface MeteredServer {
  readonly core: HealthParts & { readonly commands: { readonly underWayCount: number } };
  readonly mqtt: { readonly connectionsCount: number };
  readonly api: { readonly requestCount: number; readonly webSocketCount: number };
  readonly bayeux: { readonly sessionCount: number; readonly queuedMessageCount: number; readonly queuedBytes: number };
}

export function registerServerMetrics(metrics: Metrics, { core, mqtt, api, bayeux }: MeteredServer): void {
  metrics.gauges('millrace_connections', 'Open connections', 'protocol', () => [
    ['mqtt', mqtt.connectionsCount], ['websocket', api.webSocketCount], ['http-under-way', api.requestCount], ['bayeux-session', bayeux.sessionCount]]);
  metrics.gauges('millrace_queue_size', 'What waits, by queue', 'queue', () => [
    ['group-open-bytes', core.group.openBytes], ['projector-rows', core.projector.pendingRows], ['commands-under-way', core.commands.underWayCount],
    ['mailboxes', core.actors.mailboxCount], ['follow-ups', core.actors.pendingCount], ['bayeux-messages', bayeux.queuedMessageCount],
    ['bayeux-bytes', bayeux.queuedBytes]]);
  metrics.gauge('millrace_journal_size_bytes', 'Bytes of the journal', () => core.journal.sizeBytes);
  metrics.gauge('millrace_journal_last_sequence', 'Last durable sequence', () => core.journal.lastSeq);
  metrics.gauge('millrace_journal_lag_records', 'Records appended and not yet durable', () => core.group.lastAppendedSeq - core.journal.lastSeq);
  metrics.gauge('millrace_projector_lag_records', 'Records handled and not yet in the history', () => core.handledSeq - core.projector.position);
  metrics.total('millrace_projector_insert_errors_total', 'Inserts that failed and were tried again', () => core.projector.insertErrorsCount);
  metrics.total('millrace_group_commits_total', 'Group commits', () => core.group.groupsCount);
  metrics.total('millrace_records_total', 'Records committed', () => core.group.recordsCount);
  metrics.total('millrace_commands_total', 'Commands that actors handled', () => core.actors.commandsCount);
  metrics.total('millrace_clickhouse_restarts_total', 'Restarts of the embedded ClickHouse', () => core.engine.restartsCount);
  metrics.gauge('millrace_disk_free_bytes', 'Free space of the data directory', () => core.disk.freeBytes);
}
