/**
 * What the distribution costs: the same loads on one embedded node, on one node over NATS, Redis and ClickHouse, and on
 * three of them. CPU time of all processes by kind counts, from the first connection until everything is stored: all of
 * them share one core here.
 */
import type { HttpClosedJob, MqttClosedJob } from '../generator/job.ts';
import { Generator } from '../generators.ts';
import { loadRound } from '../load-round.ts';
import { readUsage } from '../process-figures.ts';
import type { Context, Scenario } from '../scenario.ts';
import { clusterMissing } from '../subjects/cluster.ts';
import type { Subject, SubjectName } from '../subjects/subject.ts';
import { makeSources } from './http-rates.ts';

const EMBEDDED = 'millrace';
const SUBJECTS: readonly SubjectName[] = [EMBEDDED, 'millrace-distributed', 'millrace-3'];
const KINDS = ['node', 'nats', 'redis', 'clickHouse'] as const;
const SOURCES = 96;
const HTTP_CONNECTIONS = 256;
/** Rows of created objects are not waited for one by one. */
const ROWS_SETTLE_MS = 1_000;
const SETTLE_MS = 2_000;
/** More of them than one generator's descriptors hold beside others are not needed for a mean. */
const IDLE_MAX = 10_000;

const LOADS: Record<string, (subject: Subject, context: Context) => Promise<MqttClosedJob | HttpClosedJob>> = {
  'qos1 100x16': async (subject, context) => ({
    kind: 'mqtt-closed',
    target: subject.mqtt,
    connections: 100,
    inFlight: 16,
    pids: subject.pids(),
    ...times(context),
  }),
  'qos1 1000x1': async (subject, context) => ({
    kind: 'mqtt-closed',
    target: subject.mqtt,
    connections: 1_000,
    inFlight: 1,
    pids: subject.pids(),
    ...times(context),
  }),
  'POST of one': async (subject, context) => ({
    kind: 'http-closed',
    target: subject.http,
    connections: HTTP_CONNECTIONS,
    measurementsPerBody: 1,
    sources: await makeSources(subject, SOURCES),
    firstTimeMs: Date.now(),
    stepMs: 1,
    pids: subject.pids(),
    ...times(context),
  }),
  'POST of an object': async (subject, context) => ({
    kind: 'http-closed',
    target: subject.http,
    connections: HTTP_CONNECTIONS,
    measurementsPerBody: 1,
    sources: [],
    entity: 'managedObject',
    firstTimeMs: 0,
    stepMs: 0,
    pids: subject.pids(),
    ...times(context),
  }),
};

const times = ({ options: { warmUpMs, measureMs } }: Context): { warmUpMs: number; measureMs: number } => ({
  warmUpMs,
  measureMs,
});

interface Reading {
  cpuSeconds: Record<string, number>;
  residentBytes: Record<string, number>;
  diskBytes: Record<string, number>;
  traffic: Record<string, number>;
}

/** Sums of the processes of each kind. */
async function read(subject: Subject): Promise<Reading> {
  const kinds = subject.kinds!();
  const { each } = readUsage(subject.pids());
  const reading: Reading = {
    cpuSeconds: {},
    residentBytes: {},
    diskBytes: {},
    traffic: (await subject.traffic?.()) ?? {},
  };
  for (const value of ['cpuSeconds', 'residentBytes', 'diskBytes'] as const) {
    for (const [index, kind] of kinds.entries())
      reading[value][kind] = (reading[value][kind] ?? 0) + each[index]![value];
  }
  return reading;
}

/** What `count` messages or connections took, each. */
function costs(before: Reading, after: Reading, count: number): Record<string, number> {
  const values: Record<string, number> = { cpuMicros: 0 };
  for (const kind of KINDS.filter((one) => after.cpuSeconds[one] !== undefined)) {
    const micros = (1e6 * (after.cpuSeconds[kind]! - before.cpuSeconds[kind]!)) / count;
    values[`${kind}Micros`] = micros;
    values['cpuMicros']! += micros;
    values[`${kind}DiskBytes`] = (after.diskBytes[kind]! - before.diskBytes[kind]!) / count;
  }
  for (const [name, bytes] of Object.entries(after.traffic))
    values[`${name}Bytes`] = (bytes - before.traffic[name]!) / count;
  return values;
}

/** Opens connections, holds them, and lets them go. @returns what one of them costs to open and, in memory, to keep. */
async function holdConnections(subject: Subject, count: number): Promise<Record<string, number>> {
  await settle(SETTLE_MS);
  const before = await read(subject);
  const held = new Generator({ kind: 'mqtt-idle', target: subject.mqtt, count, clientPrefix: 'bench-held-' });
  await held.connected();
  const opened = await read(subject);
  await settle(SETTLE_MS);
  const after = await read(subject);
  held.finish();
  const { open } = await held.result<{ open: number }>();
  const values = { ...costs(before, opened, count), connections: count, openAtEnd: open };
  for (const kind of KINDS) {
    if (after.residentBytes[kind] === undefined) continue;
    values[`${kind}Bytes` as keyof typeof values] = (after.residentBytes[kind] - before.residentBytes[kind]!) / count;
  }
  return values;
}

const settle = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function runLoads(context: Context, name: SubjectName, round: number): Promise<void> {
  const record = (load: string, values: Record<string, number>): void => {
    const embedded = context.samples.find(
      (sample) => sample.scenario === 'cluster' && sample.round === round && sample.subject === `${load}, ${EMBEDDED}`,
    );
    const base = embedded?.values ?? (name === EMBEDDED ? values : undefined);
    if (base?.['ratePerSecond'] !== undefined) values['rateRatio'] = values['ratePerSecond']! / base['ratePerSecond'];
    if (base !== undefined) values['cpuRatio'] = values['cpuMicros']! / base['cpuMicros']!;
    context.record({ scenario: 'cluster', subject: `${load}, ${name}`, round, values });
  };
  const subject = await context.start(name);
  const count = Math.min(IDLE_MAX, context.options.idleConnections);
  context.progress(`cluster: round ${round}, ${count} connections, ${name}`);
  // First: memory that loads have left free would hide what connections take.
  record('connection', await holdConnections(subject, count));
  for (const [load, makeJob] of Object.entries(LOADS)) {
    context.progress(`cluster: round ${round}, ${load}, ${name}`);
    const job = await makeJob(subject, context);
    const before = await read(subject);
    let after = before;
    const values = await loadRound(subject, job, async () => {
      if (job.kind === 'http-closed' && job.entity !== undefined) await settle(ROWS_SETTLE_MS);
      after = await read(subject);
    });
    record(load, { ...values, ...costs(before, after, values['totalCount']!) });
  }
  await subject.stop();
}

export const cluster: Scenario = {
  name: 'cluster',
  standard: false,
  columns: [
    'cpuMicros',
    'cpuRatio',
    'ratePerSecond',
    'rateRatio',
    'nodeMicros',
    'natsMicros',
    'redisMicros',
    'clickHouseMicros',
    'natsInBytes',
    'natsOutBytes',
    'redisInBytes',
    'redisOutBytes',
    'nodeDiskBytes',
    'natsDiskBytes',
    'redisDiskBytes',
    'clickHouseDiskBytes',
    'nodeBytes',
    'natsBytes',
    'redisBytes',
    'clickHouseBytes',
    'missingRows',
    'surplusRows',
    'failed',
    'generatorCpuPercent',
  ],
  question:
    'What the distribution costs: CPU µs of all processes for each message (or connection), and as a ratio to one embedded node in the same round',
  run: async (context) => {
    const missing = clusterMissing();
    if (missing !== undefined) throw new Error(missing);
    context.note(
      'cluster: nodes, NATS, Redis and ClickHouse share one core, so the rate of a cluster here is that of one core divided by the CPU time of ' +
        'a message: it says what distribution costs, not what three machines do.',
    );
    for (let round = 1; round <= context.rounds; round++) {
      for (const name of context.chosen(SUBJECTS)) await runLoads(context, name, round);
    }
  },
};
