/** A job has time: it pauses where messages and requests wait for the event loop. */
import { setTimeout as sleep } from 'node:timers/promises';

/** A timer of this time tells by how much the event loop is late. */
const LOOK_MS = 1;
const LATE_MS = 5;
/** The pause, against the time that the part took: a job takes at most half as long again for it. */
const PAUSE_SHARE = 0.5;
/** The longest pause. A slow part was held up by other work, and says little about the job. */
const PAUSE_MS_MAX = 250;

export interface Timing {
  /** Monotonic, in ms. */
  readonly clock: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

const TIMING: Timing = { clock: () => performance.now(), sleep };

/**
 * Behind a part of the work: resolves at once where the event loop is on time, else after half as long as the part took.
 * @param workedMs time that the part took
 */
export async function giveWay(workedMs: number, { clock, sleep }: Timing = TIMING): Promise<void> {
  const begun = clock();
  await sleep(LOOK_MS);
  if (clock() - begun - LOOK_MS >= LATE_MS) await sleep(Math.min(PAUSE_SHARE * workedMs, PAUSE_MS_MAX));
}
