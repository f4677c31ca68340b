/** What a job over a day of many devices takes, and what it costs the messages that arrive meanwhile. */
import { DEVICES, fillDay, GROUP, MODEL, SERIES, VALUES_OF_SERIES } from '../jobs/fill.ts';
import { generate } from '../generators.ts';
import type { WindowResult } from '../generator/job.ts';
import { RestClient } from '../generator/rest.ts';
import { readUsage } from '../process-figures.ts';
import type { Scenario } from '../scenario.ts';
import { untilQuiet, type Subject } from '../subjects/subject.ts';
import type { Millrace } from '../subjects/millrace.ts';

/** Messages a second that arrive over MQTT. */
const INGEST_RATE = 5_000;
const CONNECTIONS = 100;
/** The job runs this long after it is created. */
const BEGIN_MS = 4_000;
/** A run that takes longer is a failure of the scenario. */
const RUN_MS_MAX = 300_000;
const DAY_MS = 86_400_000;
const PERIOD_MS = DAY_MS / VALUES_OF_SERIES;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const scoringJob: Scenario = {
  name: 'scoring-job',
  standard: false,
  question: `A job over ${DEVICES} devices with ${VALUES_OF_SERIES} values of ${SERIES.length} series each, both cores, beside ${INGEST_RATE} messages a second: its time, and time to the PUBACK with and without it`,
  columns: [
    'seconds',
    'p99Ms',
    'p50Ms',
    'maximumMs',
    'acknowledgedPerSecond',
    'lateBursts',
    'recordsPerSecond',
    'serverCpuSeconds',
    'engineCpuSeconds',
    'machineCpuSeconds',
    'serverMebibytes',
  ],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = (await context.start('millrace', { cores: '0,1' })) as Millrace;
    await subject.stop();
    const endMs = Math.floor(Date.now() / PERIOD_MS) * PERIOD_MS;
    const begunMs = performance.now();
    await fillDay(subject.data, endMs - DAY_MS, PERIOD_MS, context.progress);
    context.note(`scoring-job: the values were stored in ${((performance.now() - begunMs) / 1000).toFixed(0)} s`);
    await subject.startProcess();
    const rest = new RestClient(subject.http);
    await upload(subject);
    await untilQuiet(subject, 30_000);
    for (let round = 1; round <= context.rounds; round++) {
      context.progress(`scoring-job: round ${round}, without the job`);
      const alone = await paced(subject, 'alone', round, 10_000);
      context.record({ scenario: 'scoring-job', subject: 'without', round, values: windowValues(alone) });
      context.progress(`scoring-job: round ${round}, with the job`);
      // The window is that of the job of the round before, or a first guess.
      const known = context.samples.findLast(
        ({ scenario, subject: name }) => scenario === 'scoring-job' && name === 'job',
      );
      const windowMs = known === undefined ? 30_000 : Math.max(5_000, (known.values['seconds'] as number) * 900);
      const job = runJob(rest, endMs);
      const load = paced(subject, 'beside', round, windowMs, BEGIN_MS + 500);
      const before = readUsage(subject.pids());
      const seconds = await job;
      const after = readUsage(subject.pids());
      const beside = await load;
      const values = {
        seconds,
        recordsPerSecond: (DEVICES * VALUES_OF_SERIES) / seconds,
        serverCpuSeconds: after.serverCpuSeconds - before.serverCpuSeconds,
        engineCpuSeconds: after.childCpuSeconds - before.childCpuSeconds,
        machineCpuSeconds: after.machineCpuSeconds - before.machineCpuSeconds,
      };
      context.record({ scenario: 'scoring-job', subject: 'job', round, values });
      context.record({ scenario: 'scoring-job', subject: 'beside', round, values: windowValues(beside) });
      await untilQuiet(subject, 30_000);
    }
    rest.close();
    await subject.stop();
  },
};

async function upload({ http }: Subject): Promise<void> {
  const { userName, password, host, port } = http;
  const authorization = `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`;
  const response = await fetch(`http://${host}:${port}/service/scoring/model?file=${MODEL.name}.pmml`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/octet-stream' },
    body: MODEL.document,
  });
  if (response.status !== 201) throw new Error(`POST model: ${response.status} ${await response.text()}`);
}

/** @returns how long the run took, in seconds. @throws when it did not succeed. */
async function runJob(rest: RestClient, endMs: number): Promise<number> {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const made = await rest.post('/service/scoring/job', {
    jobName: 'bench',
    groupOrDeviceId: GROUP,
    modelOrGroup: MODEL.name,
    modelToDeviceMappings: Object.fromEntries(SERIES.map((name) => [name, `bench_Machine.${name}.value`])),
    jobSchedule: {
      frequency: 'once',
      scheduleAt: iso(Date.now() + BEGIN_MS),
      dataFrom: iso(endMs - DAY_MS),
      dataTo: iso(endMs),
    },
  });
  if (made.status !== 201) throw new Error(`POST job: ${made.status} ${made.body}`);
  const { jobId } = JSON.parse(made.body) as { jobId: number };
  for (const deadline = performance.now() + RUN_MS_MAX; performance.now() < deadline; await sleep(250)) {
    const { body } = await rest.get(`/service/scoring/job/${jobId}/status`);
    const { jobExecutionStatus: status, jobExecutionDuration: ms } = JSON.parse(body) as Record<string, string | null>;
    if (status === null || status === 'Running') continue;
    if (status !== 'Success')
      throw new Error(
        `the job ended with ${status}: ${(await rest.get(`/service/scoring/job/${jobId}/history/1`)).body}`,
      );
    const { body: page } = await rest.get(`/service/scoring/job/${jobId}/history/1/inferences`);
    const { statistics } = JSON.parse(page) as { statistics: { totalPages: number; numberOfDevices: number } };
    if (statistics.numberOfDevices !== DEVICES || statistics.totalPages !== (DEVICES * VALUES_OF_SERIES) / 2_000)
      throw new Error(`the job has found ${JSON.stringify(statistics)}`);
    return Number(ms) / 1_000;
  }
  throw new Error(`the job was not over after ${RUN_MS_MAX} ms`);
}

function paced(
  subject: Subject,
  name: string,
  round: number,
  measureMs: number,
  warmUpMs = 2_000,
): Promise<WindowResult> {
  return generate<WindowResult>({
    kind: 'mqtt-paced',
    target: subject.mqtt,
    connections: CONNECTIONS,
    ratePerSecond: INGEST_RATE,
    burst: 1,
    sharesCores: true,
    clientPrefix: `bench-${name}-${round}-`,
    warmUpMs,
    measureMs,
    pids: subject.pids(),
  });
}

function windowValues({
  before,
  after,
  latency,
  windowCount,
  measuredMs,
  lateBursts = 0,
}: WindowResult): Record<string, number> {
  if (latency === undefined) throw new Error('the load has no latencies');
  const { p50Ms, p99Ms, maximumMs } = latency;
  return {
    p50Ms,
    p99Ms,
    maximumMs,
    lateBursts,
    acknowledgedPerSecond: (1000 * windowCount) / measuredMs,
    serverCpuSeconds: after.serverCpuSeconds - before.serverCpuSeconds,
    engineCpuSeconds: after.childCpuSeconds - before.childCpuSeconds,
    machineCpuSeconds: after.machineCpuSeconds - before.machineCpuSeconds,
    serverMebibytes: after.serverBytes / 1_048_576,
  };
}
