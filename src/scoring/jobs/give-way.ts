/** A job has time: it pauses where messages and requests wait for the event loop. */
import { setTimeout as sleep } from 'node:timers/promises';

/** A timer of this time tells by how much the event loop is late. */
const LOOK_MS = 1;
const LATE_MS = 5;
/** A part that took longer was held up by others: the pause behind it is no longer than this. */
const PAUSE_MS_MAX = 500;

export interface Timing {
  /** Monotonic, in ms. */
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

const TIMING: Timing = { clock: () => performance.now(), sleep };

/**
 * Behind a part of the work: resolves at once where the event loop is on time, else after as long as the part took.
 * @param workedMs time that the part took
 */
export async function giveWay(workedMs: number, { clock, sleep }: Timing = TIMING): Promise<void> {
  const begun = clock();
  await sleep(LOOK_MS);
  if (clock() - begun - LOOK_MS >= LATE_MS) await sleep(Math.min(workedMs, PAUSE_MS_MAX));
}
