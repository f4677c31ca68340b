/**
 * What /metrics shows: refusals by named limit, latency histograms, and the values that are read from the parts of a
 * server.
 */
import { UNATTRIBUTED } from '../../src/ports/refusals.ts';
import t from 'tap';
import type { Test } from 'tap';
import type { Log } from '../../src/ports/log.ts';
import { Metrics } from '../../src/operate/metrics.ts';
import { registerParts, singleNodeParts } from '../../src/operate/health.ts';
import type { NodeParts } from '../../src/operate/health.ts';
import { registerServerMetrics } from '../../src/operate/server-metrics.ts';
import { silentLog } from '../actors/platform.ts';

function newMetrics(
  t: Test,
  log: Log = silentLog,
): { metrics: Metrics; value(name: string): Promise<number | undefined> } {
  const metrics = new Metrics(log);
  t.teardown(() => {
    metrics.stop();
  });
  const value = async (name: string): Promise<number | undefined> => {
    const line = (await metrics.text()).split('\n').find((text) => text.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  };
  return { metrics, value };
}

t.test('a refusal is counted by the name of its limit each time, and logged once in a while', async (t) => {
  const logged: unknown[] = [];
  const { metrics, value } = newMetrics(t, {
    ...silentLog,
    warn: (details) => {
      logged.push(details);
    },
  });
  for (let round = 0; round < 3; round += 1) metrics.count('journal/bytes', UNATTRIBUTED);
  metrics.count('mqtt/packet-size', UNATTRIBUTED);
  t.equal(await value('millrace_refusals_total{limit="journal/bytes"}'), 3);
  t.equal(await value('millrace_refusals_total{limit="mqtt/packet-size"}'), 1);
  t.equal(await value('millrace_refusals_total{limit="journal/bytes"}'), 3, 'the same when somebody asks again');
  t.same(logged, [
    { limit: 'journal/bytes', count: 1 },
    { limit: 'mqtt/packet-size', count: 1 },
  ]);
});

t.test('a refusal says whose it was, for each tenant', async (t) => {
  const logged: unknown[] = [];
  const { metrics } = newMetrics(t, { ...silentLog, warn: (details) => void logged.push(details) });
  const refused = { user: 'ada', device: 'kiln-7', address: '192.0.2.7', reason: 'too many' };
  for (const tenant of ['t1', 't1', 't2', 't1']) metrics.count('mqtt/rate', { tenant, ...refused });
  metrics.count('mqtt/rate', UNATTRIBUTED);
  t.same(logged, [
    { limit: 'mqtt/rate', count: 1, tenant: 't1', ...refused },
    { limit: 'mqtt/rate', count: 3, tenant: 't2', ...refused },
    { limit: 'mqtt/rate', count: 5 },
  ]);
});

t.test('a tenant that is given by its number is named', async (t) => {
  const logged: unknown[] = [];
  const { metrics } = newMetrics(t, { ...silentLog, warn: (details) => void logged.push(details) });
  metrics.nameTenants((number) => ['management', 't1'][number]);
  for (const tenant of [1, 't1', 7]) metrics.count('exports/of-user', { tenant, user: 'ada' });
  t.same(logged, [
    { limit: 'exports/of-user', count: 1, tenant: 't1', user: 'ada' },
    { limit: 'exports/of-user', count: 3, tenant: 7, user: 'ada' },
  ]);
});

t.test('the latencies are histograms, of MQTT and HTTP apart', async (t) => {
  const { metrics, value } = newMetrics(t);
  metrics.mqttLatency.observe(0.0004, 10);
  metrics.mqttLatency.observe(0.02, 2);
  metrics.mqttLatency.observe(60, 1);
  metrics.httpLatency.observe(0.001, 1);
  metrics.commitLatency.observe(0.003, 7);
  const name = 'millrace_acknowledgement_latency_seconds';
  const buckets = await Promise.all(
    ['0.0005', '0.01', '0.025', '5', '+Inf'].map((bound) => value(`${name}_bucket{protocol="mqtt",le="${bound}"}`)),
  );
  t.same(buckets, [10, 10, 12, 12, 13], 'each bucket has what is below its bound');
  t.same([await value(`${name}_count{protocol="mqtt"}`), await value(`${name}_count{protocol="http"}`)], [13, 1]);
  t.equal(await value(`${name}_bucket{protocol="http",le="0.001"}`), 1);
  const sum = await value(`${name}_sum{protocol="mqtt"}`);
  t.ok(sum !== undefined && Math.abs(sum - 60.044) < 1e-9, `${sum}`);
  t.same(
    [
      await value('millrace_group_commit_latency_seconds_count'),
      await value('millrace_group_commit_latency_seconds_bucket{le="0.005"}'),
    ],
    [7, 7],
  );
});

t.test('of the process: resident memory and the delay of the event loop', async (t) => {
  const { value } = newMetrics(t);
  const bytes = await value('millrace_resident_memory_bytes');
  t.ok(bytes !== undefined && bytes > 10_000_000, `${bytes} bytes`);
  const seconds = await value('millrace_event_loop_delay_p99_seconds');
  t.ok(seconds !== undefined && seconds >= 0 && seconds < 60, `${seconds} s`);
});

t.test('of the listeners and of a single node: each value under its name', async (t) => {
  const { metrics, value } = newMetrics(t);
  registerServerMetrics(metrics, {
    mqtt: { connectionsCount: 1, earlyBytes: 29 },
    sweeper: { expiredCount: 5 },
    api: {
      connectionCount: 2,
      requestCount: 3,
      webSocketCount: 4,
      compression: { plainCount: 9 },
      bodies: { known: { bytes: 9 }, checked: { bytes: 30 }, early: { bytes: 10 } },
    },
    bayeux: { sessionCount: 6, queuedMessageCount: 7, queuedBytes: 8 },
    history: { runningCount: 27, waitingCount: 28 },
  });
  registerParts(
    metrics,
    singleNodeParts({
      journal: { sizeBytes: 11, lastSeq: 100 },
      intake: { openBytes: 12, lastAppendedSeq: 113, groupsCount: 14, recordsCount: 15 },
      actors: { mailboxCount: 16, pendingCount: 17, commandsCount: 18 },
      commands: { underWayCount: 19 },
      projector: { pendingRows: 20, position: () => 60, insertErrorsCount: 21, setAsideCount: 22 },
      quarantine: { count: 23, sizeBytes: 24 },
      engine: { restartsCount: 25 },
      backups: { isEngineStopped: true },
      disk: { freeBytes: 26 },
      handledSeq: () => 99,
    } as unknown as NodeParts),
  );
  const wanted = {
    'millrace_connections{protocol="mqtt"}': 1,
    'millrace_connections{protocol="http"}': 2,
    'millrace_connections{protocol="http-under-way"}': 3,
    'millrace_connections{protocol="websocket"}': 4,
    millrace_mqtt_sessions_expired_total: 5,
    'millrace_connections{protocol="bayeux-session"}': 6,
    'millrace_bayeux_queue_size{queue="messages"}': 7,
    'millrace_bayeux_queue_size{queue="bytes"}': 8,
    'millrace_http_bodies_bytes{sender="known"}': 9,
    'millrace_http_bodies_bytes{sender="in-check"}': 30,
    'millrace_http_bodies_bytes{sender="before-login"}': 10,
    millrace_http_answers_left_plain_total: 9,
    millrace_mqtt_before_login_bytes: 29,
    millrace_journal_size_bytes: 11,
    'millrace_queue_size{queue="group-open-bytes"}': 12,
    millrace_journal_lag_records: 13,
    millrace_group_commits_total: 14,
    millrace_records_total: 15,
    'millrace_queue_size{queue="mailboxes"}': 16,
    'millrace_queue_size{queue="follow-ups"}': 17,
    millrace_commands_total: 18,
    'millrace_queue_size{queue="commands-under-way"}': 19,
    'millrace_queue_size{queue="projector-rows"}': 20,
    millrace_projector_insert_errors_total: 21,
    millrace_projector_set_aside_total: 22,
    millrace_quarantine_entries: 23,
    millrace_quarantine_size_bytes: 24,
    'millrace_history_queries{state="running"}': 27,
    'millrace_history_queries{state="waiting"}': 28,
    millrace_clickhouse_restarts_total: 25,
    millrace_backup_running: 1,
    millrace_disk_free_bytes: 26,
    millrace_projector_lag_records: 39,
    millrace_journal_last_sequence: 100,
  };
  const found: Record<string, number | undefined> = {};
  for (const name of Object.keys(wanted)) found[name] = await value(name);
  t.same(found, wanted);
});
