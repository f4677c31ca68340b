/** What dashboards ask of measurements again and again: the newest ones, totals, the last hours; at rest and beside a load. */
import { generate } from '../generators.ts';
import type { QueryJob, QueryResult } from '../generator/job.ts';
import { MEASURED_DEVICES, MEASURED_FIRST, fillMeasured } from '../lists/measured.ts';
import { withStores } from '../lists/fill.ts';
import { backgroundLoad } from '../load-round.ts';
import type { Context, Scenario } from '../scenario.ts';
import { Histogram } from '../statistics.ts';
import type { LatencySummary } from '../statistics.ts';
import type { Millrace } from '../subjects/millrace.ts';

/** Messages a second that arrive over MQTT, of other devices. */
const INGEST_RATE = 5_000;
const HOUR_MS = 3_600_000;
const PATH = '/measurement/measurements';
/** Questions to ClickHouse itself in a round, of each kind. */
const DIRECT = 100;

const at = (ms: number): string => new Date(ms).toISOString();

/** Each question of each device, devices in turn. */
function questions(endMs: number): QueryJob['queries'] {
  const ofTenant = `${PATH}?revert=true&pageSize=100`;
  const queries: QueryJob['queries'] = [];
  for (let index = 0; index < MEASURED_DEVICES; index++) {
    const source = `source=${MEASURED_FIRST + index}`;
    const hours = `${source}&dateFrom=${at(endMs - 2 * HOUR_MS)}&dateTo=${at(endMs)}`;
    queries.push(
      { name: 'last 100 of a device', path: `${PATH}?${source}&revert=true&pageSize=100` },
      {
        name: 'last 100 by date',
        path: `${PATH}?${source}&dateFrom=1970-01-01T00:00:00Z&dateTo=${at(endMs + HOUR_MS)}&revert=true&pageSize=100`,
      },
      { name: 'first 100 of a device', path: `${PATH}?${source}&pageSize=100` },
      { name: 'newest 100 of the tenant', path: ofTenant },
      { name: 'total of a device', path: `${PATH}?${source}&pageSize=1&withTotalElements=true` },
      { name: 'two hours, raw', path: `${PATH}/series?${hours}&series=c8y_Temperature.T` },
      {
        name: 'two hours, by minute',
        path: `${PATH}/series?${hours}&series=c8y_Temperature.T&aggregationType=MINUTELY`,
      },
    );
  }
  const all = Array.from({ length: MEASURED_DEVICES }, (_, index) => MEASURED_FIRST + index).join();
  queries.push({
    name: 'latest, one series missing',
    path: `${PATH}/latest?source=${all}&series=c8y_Temperature.T,c8y_Temperature.X`,
  });
  return queries;
}

function record(
  context: Context,
  subject: string,
  round: number,
  { p99Ms, p50Ms, maximumMs, count }: LatencySummary,
  others: Record<string, number> = {},
): void {
  context.record({
    scenario: 'recent',
    subject,
    round,
    values: { p99Ms, p50Ms, maximumMs, queries: count, ...others },
  });
}

/** The same of the engine alone, over its HTTP: what a server that reads it cannot do faster. */
async function askDirectly(context: Context, data: string): Promise<void> {
  const of = `tenant = {tenant:UInt32} AND source = {source:UInt64}`;
  const columns = 'id, source, time, type, fragment, series, value, unit, doc, form';
  const statements = {
    'last 100 of a device': `SELECT ${columns} FROM measurements WHERE ${of} ORDER BY time DESC, id DESC LIMIT 100`,
    'newest 100 of the tenant': `SELECT ${columns} FROM measurements WHERE tenant = {tenant:UInt32} ORDER BY time DESC, id DESC LIMIT 100`,
    'total of a device': `SELECT count() FROM measurements WHERE ${of} AND part = 0`,
  };
  await withStores(data, async ({ clickHouse, tenant }) => {
    for (let round = 1; round <= context.rounds; round++) {
      for (const [name, sql] of Object.entries(statements)) {
        const histogram = new Histogram();
        for (let index = 0; index < DIRECT; index++) {
          const begunMs = performance.now();
          await clickHouse.query(sql, { tenant, source: MEASURED_FIRST + (index % MEASURED_DEVICES) });
          histogram.add((performance.now() - begunMs) * 1000);
        }
        record(context, `ClickHouse: ${name}`, round, histogram.summary());
      }
    }
  });
}

export const recent: Scenario = {
  name: 'recent',
  standard: false,
  question: `The newest measurements, totals and last hours of ${MEASURED_DEVICES} devices, at rest and beside ${INGEST_RATE} new ones a second of others`,
  columns: ['p99Ms', 'p50Ms', 'maximumMs', 'cpuMsEach', 'queries', 'failed'],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = (await context.start('millrace')) as Millrace;
    await subject.stop();
    const endMs = Date.now();
    await fillMeasured(subject.data, context.options.recentMeasurements, endMs, context.progress);
    if (!context.options.noPeers) await askDirectly(context, subject.data);
    await subject.startProcess();
    const ask = async (round: number, where: string): Promise<void> => {
      for (const name of new Set(questions(endMs).map((query) => query.name))) {
        const queries = questions(endMs).filter((query) => query.name === name);
        const measureMs = context.options.measureMs * 2;
        const { latencies, before, after, failed } = await generate<QueryResult>({
          kind: 'query',
          target: subject.http,
          warmUpMs: 0,
          measureMs,
          queries,
          pids: subject.pids(),
        });
        const latency = latencies[name]!;
        const seconds =
          after.serverCpuSeconds + after.childCpuSeconds - before.serverCpuSeconds - before.childCpuSeconds;
        record(context, `${name}, ${where}`, round, latency, { failed, cpuMsEach: (1000 * seconds) / latency.count });
      }
    };
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`recent: round ${round}`);
      await ask(round, 'at rest');
      const background = backgroundLoad(subject, INGEST_RATE, context.options.measureMs * 40);
      try {
        await background.connected();
        await ask(round, 'beside load');
      } finally {
        await background.kill();
      }
    }
    await subject.stop();
  },
};
