/** How long a list and a series query take among many stored measurements while more arrive. */
import { generate } from '../generators.ts';
import type { QueryJob, QueryResult } from '../generator/job.ts';
import { backgroundLoad } from '../load-round.ts';
import type { Scenario } from '../scenario.ts';
import type { Millrace } from '../subjects/millrace.ts';
import { makeSources } from './http-rates.ts';

/** Devices of the stored measurements; each body has one measurement of each. */
const DEVICES = 1_000;
/** Time between two measurements of a device. */
const STEP_MS = 10_000;
const LOAD_CONNECTIONS = 16;
/** Messages a second that arrive over MQTT during the queries. */
const INGEST_RATE = 5_000;
const HOUR_MS = 3_600_000;
/** Different devices asked in turn. */
const ASKED = 200;

function queriesFor(sources: readonly string[], endMs: number, spanMs: number): QueryJob['queries'] {
  const queries: QueryJob['queries'] = [];
  for (let index = 0; index < ASKED; index++) {
    const source = sources[(index * 7) % sources.length]!;
    const dateFrom = new Date(endMs - spanMs).toISOString();
    const dateTo = new Date(endMs + STEP_MS).toISOString();
    queries.push({
      name: 'list',
      path: `/measurement/measurements?source=${source}&dateFrom=${dateFrom}&dateTo=${dateTo}&revert=true&pageSize=100`,
    });
    const hourEndMs = endMs - (((index * HOUR_MS) / 10) % Math.max(1, spanMs - HOUR_MS));
    queries.push({
      name: 'series',
      path:
        `/measurement/measurements/series?source=${source}&dateFrom=${new Date(hourEndMs - HOUR_MS).toISOString()}` +
        `&dateTo=${new Date(hourEndMs).toISOString()}&series=c8y_Temperature.T`,
    });
  }
  return queries;
}

export const queries: Scenario = {
  name: 'queries',
  standard: true,
  question:
    'Last 100 values of one device, and one hour of one series, among the stored measurements, ' +
    `beside ${INGEST_RATE} new ones a second`,
  columns: ['p99Ms', 'p50Ms', 'maximumMs', 'queries', 'failed', 'smallestAnswerBytes'],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = (await context.start('millrace')) as Millrace;
    const requests = Math.ceil(context.options.storedMeasurements / DEVICES);
    const endMs = Math.floor(Date.now() / STEP_MS) * STEP_MS;
    const sources = await makeSources(subject, DEVICES);
    context.progress(`queries: storing ${requests * DEVICES} measurements`);
    const stored = await generate<{ totalCount: number; elapsedMs: number }>({
      kind: 'http-closed',
      target: subject.http,
      connections: LOAD_CONNECTIONS,
      sources,
      measurementsPerBody: DEVICES,
      requests,
      firstTimeMs: endMs - requests * STEP_MS,
      stepMs: STEP_MS,
      warmUpMs: 0,
      measureMs: 600_000,
      pids: [],
    });
    while ((await subject.rows()) < stored.totalCount) await new Promise((resolve) => setTimeout(resolve, 100));
    context.note(`queries: ${stored.totalCount} measurements were stored in ${(stored.elapsedMs / 1000).toFixed(1)} s`);
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`queries: round ${round}`);
      const measureMs = context.options.measureMs * 2;
      const background = backgroundLoad(subject, INGEST_RATE, measureMs * 4);
      try {
        await background.connected();
        const result = await generate<QueryResult>({
          kind: 'query',
          target: subject.http,
          warmUpMs: 500,
          measureMs,
          queries: queriesFor(sources, endMs, requests * STEP_MS),
        });
        for (const [name, latency] of Object.entries(result.latencies)) {
          context.record({
            scenario: 'queries',
            subject: name,
            round,
            values: {
              p99Ms: latency.p99Ms,
              p50Ms: latency.p50Ms,
              maximumMs: latency.maximumMs,
              queries: latency.count,
              failed: result.failed,
              smallestAnswerBytes: result.smallestAnswerBytes,
            },
          });
        }
      } finally {
        await background.kill();
      }
    }
    await subject.stop();
  },
};
