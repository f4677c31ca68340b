/** How long a message takes: to its acknowledgement at half load, to a live subscriber, to a query. */
import { Generator } from '../generators.ts';
import type { ProbeResult } from '../generator/job.ts';
import { backgroundLoad, loadRound } from '../load-round.ts';
import { valuesOf, type Context, type Scenario } from '../scenario.ts';
import { median } from '../statistics.ts';
import type { Subject, SubjectName } from '../subjects/subject.ts';

const CONNECTIONS = 100;
/** Messages of one connection that are due at the same time. */
const BURST = 4;
/** Messages a second of other devices while the probes of the second scenario run. */
const BACKGROUND_RATE = 5_000;
const LIVE_RATE = 200;
const VISIBLE_PROBES = 4;

/** @returns the highest rate measured in this run, or in a short load made for the purpose. */
async function highestRate(context: Context, subject: Subject): Promise<number> {
  const known = median(valuesOf(context.samples, 'qos1-100x16', subject.name, 'ratePerSecond'));
  if (!Number.isNaN(known)) return known;
  context.progress(`latency: highest rate of ${subject.name}`);
  const values = await loadRound(subject, {
    kind: 'mqtt-closed',
    target: subject.mqtt,
    connections: CONNECTIONS,
    inFlight: 16,
    pids: subject.pids(),
    warmUpMs: context.options.warmUpMs,
    measureMs: context.options.measureMs,
  });
  return values['ratePerSecond']!;
}

export const acknowledgement: Scenario = {
  name: 'latency',
  standard: true,
  question:
    'Time from the moment a QoS 1 message is due to its PUBACK, at half of the highest rate (open loop, 100 connections)',
  columns: [
    'p99Ms',
    'p50Ms',
    'maximumMs',
    'acknowledgedPerSecond',
    'lateBursts',
    'serverCpuPercent',
    'engineCpuPercent',
    'generatorCpuPercent',
    'othersCpuPercent',
  ],
  run: async (context) => {
    const subjects: { subject: Subject; ratePerSecond: number }[] = [];
    for (const name of context.chosen(['millrace', 'mosquitto'] satisfies SubjectName[])) {
      const subject = await context.start(name);
      subjects.push({ subject, ratePerSecond: Math.max(1, Math.round((await highestRate(context, subject)) / 2)) });
    }
    for (let round = 1; round <= context.rounds; round++) {
      for (const { subject, ratePerSecond } of subjects) {
        context.progress(`latency: round ${round}, ${subject.name}, ${ratePerSecond} a second`);
        const values = await loadRound(subject, {
          kind: 'mqtt-paced',
          target: subject.mqtt,
          connections: CONNECTIONS,
          ratePerSecond,
          burst: BURST,
          clientPrefix: 'bench-',
          pids: subject.pids(),
          warmUpMs: context.options.warmUpMs,
          measureMs: context.options.measureMs,
        });
        context.record({ scenario: 'latency', subject: subject.name, round, values });
      }
    }
    for (const { subject } of subjects) await subject.stop();
  },
};

function probeValues(result: ProbeResult): Record<string, number> {
  const { p50Ms, p99Ms, maximumMs, count } = result.latency;
  return { p99Ms, p50Ms, maximumMs, probes: count, lost: result.lost };
}

export const liveAndVisible: Scenario = {
  name: 'live',
  standard: true,
  question: `Time from publication to a WebSocket subscriber, and to a query without a flush, beside ${BACKGROUND_RATE} messages a second`,
  columns: ['p99Ms', 'p50Ms', 'maximumMs', 'probes', 'lost'],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = await context.start('millrace');
    const measureMs = context.options.measureMs * 2;
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`live: round ${round}`);
      const background = backgroundLoad(subject, BACKGROUND_RATE, measureMs * 4);
      try {
        await background.connected();
        const target = subject.mqtt;
        const httpPort = subject.http.port;
        const live = new Generator({
          kind: 'live',
          target,
          httpPort,
          measureMs,
          ratePerSecond: LIVE_RATE,
          clientId: `bench-live-${round}-`,
        });
        const visible = new Generator({
          kind: 'visible',
          target,
          httpPort,
          measureMs,
          probes: VISIBLE_PROBES,
          clientPrefix: `bench-visible-${round}-`,
        });
        const [liveResult, visibleResult] = await Promise.all([
          live.result<ProbeResult>(),
          visible.result<ProbeResult>(),
        ]);
        context.record({ scenario: 'live', subject: 'to subscriber', round, values: probeValues(liveResult) });
        context.record({ scenario: 'live', subject: 'to query', round, values: probeValues(visibleResult) });
      } finally {
        await background.kill();
      }
    }
    await subject.stop();
  },
};
