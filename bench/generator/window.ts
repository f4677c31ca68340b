/** The measured window of a closed or open loop: warm-up, two edges, drain. */
import { readUsage } from '../process-figures.ts';
import { answer, sleep } from './channel.ts';
import type { WindowResult } from './job.ts';

/** After the end of the window, how long to wait for what is still unanswered. */
const DRAIN_LIMIT_MS = 20_000;
/** Until each connection has its first answer, devices created by it included. */
const FIRST_ANSWERS_LIMIT_MS = 60_000;

/** The counters of a load, read at the edges and changed in the loop. */
export interface Load {
  sent: number;
  counted: number;
  failed: number;
  /** Messages still without an answer. */
  outstanding(): number;
  start(): void;
  /** Sends nothing more. */
  stop(): void;
  /** Everything that happens only once has happened (devices are created): the warm-up may begin. */
  isWarm?(): boolean;
  /** The warm-up is over: forget latencies. */
  reset?(): void;
}

/** Runs the load through warm-up and window; tells the suite both edges. */
export async function measure(
  load: Load,
  times: { warmUpMs: number; measureMs: number; pids: number[] },
): Promise<WindowResult> {
  load.start();
  const deadline = performance.now() + FIRST_ANSWERS_LIMIT_MS;
  while (load.isWarm !== undefined && !load.isWarm()) {
    if (performance.now() > deadline)
      throw new Error(`not every connection was answered within ${FIRST_ANSWERS_LIMIT_MS} ms`);
    await sleep(5);
  }
  await sleep(times.warmUpMs);
  load.reset?.();
  const cpuBefore = process.cpuUsage();
  const before = readUsage(times.pids);
  const countBefore = load.counted;
  answer({ kind: 'window-start' });
  await sleep(times.measureMs);
  const countAfter = load.counted;
  const after = readUsage(times.pids);
  const cpu = process.cpuUsage(cpuBefore);
  answer({ kind: 'window-end' });
  load.stop();
  await drain(load);
  return {
    measuredMs: after.timeMs - before.timeMs,
    windowCount: countAfter - countBefore,
    totalCount: load.counted,
    totalSent: load.sent,
    failed: load.failed,
    generatorCpuSeconds: (cpu.user + cpu.system) / 1e6,
    before,
    after,
  };
}

async function drain(load: Load): Promise<void> {
  const deadline = performance.now() + DRAIN_LIMIT_MS;
  while (load.outstanding() > 0 && performance.now() < deadline) await sleep(5);
}
