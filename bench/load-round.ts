/** One round of a load on one subject: window, stored rows, CPU time per message, memory. */
import { generate, Generator } from './generators.ts';
import type { HttpClosedJob, MqttClosedJob, MqttFloodJob, MqttPacedJob, WindowResult } from './generator/job.ts';
import { untilQuiet, type Subject } from './subjects/subject.ts';

/** How long rows may take to become visible after the last acknowledgement. */
const CATCH_UP_LIMIT_MS = 60_000;
const MEBIBYTE = 1024 * 1024;

type LoadJob = MqttClosedJob | MqttFloodJob | HttpClosedJob | MqttPacedJob;

/**
 * Runs the job and returns the values of a sample. `ratePerSecond` is the figure: what was acknowledged in the window,
 * or, of a server that stores, the rows that became visible in it if those were fewer.
 * @param caughtUp called when all is stored, before anything else is waited for.
 */
export async function loadRound(
  subject: Subject,
  job: LoadJob,
  caughtUp?: () => unknown,
): Promise<Record<string, number>> {
  const countsRows =
    subject.rows !== undefined &&
    !(job.kind === 'mqtt-closed' && job.isEntity === true) &&
    !(job.kind === 'http-closed' && (job.entity !== undefined || job.get !== undefined));
  const rowsBefore = countsRows ? await subject.rows!() : undefined;
  const edges: Promise<{ rows: number; timeMs: number }>[] = [];
  const mark = (): void => {
    if (!countsRows) return;
    const edge = subject.rows!().then((rows) => ({ rows, timeMs: performance.now() }));
    edge.catch(() => {}); // awaited below, unless the load itself fails first
    edges.push(edge);
  };
  const result = await generate<WindowResult>(job, { windowStart: mark, windowEnd: mark });
  const values = windowValues(result);
  if (rowsBefore !== undefined) {
    const [first, last] = await Promise.all(edges);
    values['storedPerSecond'] = (1000 * (last!.rows - first!.rows)) / (last!.timeMs - first!.timeMs);
    const begunMs = performance.now();
    const stored = (await rowsAfter(subject, rowsBefore + result.totalCount)) - rowsBefore;
    values['catchUpMs'] = performance.now() - begunMs;
    values['missingRows'] = Math.max(0, result.totalCount - stored);
    values['surplusRows'] = Math.max(0, stored - result.totalSent);
    values['ratePerSecond'] = Math.min(values['acknowledgedPerSecond']!, values['storedPerSecond']);
  } else values['ratePerSecond'] = values['acknowledgedPerSecond']!;
  await caughtUp?.();
  await untilQuiet(subject);
  return values;
}

function windowValues(result: WindowResult): Record<string, number> {
  const { before, after, windowCount, measuredMs } = result;
  const serverSeconds = after.serverCpuSeconds - before.serverCpuSeconds;
  const childSeconds = after.childCpuSeconds - before.childCpuSeconds;
  const others =
    after.machineCpuSeconds - before.machineCpuSeconds - serverSeconds - childSeconds - result.generatorCpuSeconds;
  const values: Record<string, number> = {
    acknowledgedPerSecond: (1000 * windowCount) / measuredMs,
    serverCpuPercent: (100_000 * serverSeconds) / measuredMs,
    engineCpuPercent: (100_000 * childSeconds) / measuredMs,
    generatorCpuPercent: (100_000 * result.generatorCpuSeconds) / measuredMs,
    othersCpuPercent: (100_000 * Math.max(0, others)) / measuredMs,
    serverMicrosPerMessage: (1e6 * serverSeconds) / windowCount,
    engineMicrosPerMessage: (1e6 * childSeconds) / windowCount,
    serverMebibytes: after.serverBytes / MEBIBYTE,
    engineMebibytes: after.childBytes / MEBIBYTE,
    failed: result.failed,
    totalCount: result.totalCount,
  };
  if (result.latency !== undefined) {
    values['p50Ms'] = result.latency.p50Ms;
    values['p99Ms'] = result.latency.p99Ms;
    values['maximumMs'] = result.latency.maximumMs;
    values['lateBursts'] = result.lateBursts ?? 0;
  }
  return values;
}

/** Waits until `wanted` rows are visible. @returns the rows seen last. */
async function rowsAfter(subject: Subject, wanted: number): Promise<number> {
  const deadline = performance.now() + CATCH_UP_LIMIT_MS;
  for (;;) {
    const rows = await subject.rows!();
    if (rows >= wanted || performance.now() > deadline) return rows;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A moderate load beside a probe; ended by `kill`. */
export function backgroundLoad(subject: Subject, ratePerSecond: number, measureMs: number): Generator {
  return new Generator({
    kind: 'mqtt-paced',
    target: subject.mqtt,
    connections: 100,
    ratePerSecond,
    burst: 1,
    clientPrefix: 'bench-',
    warmUpMs: 0,
    measureMs,
    pids: [],
  });
}
