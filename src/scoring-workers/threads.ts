/** How many threads score where no setting says it. */
import { availableParallelism, totalmem } from 'node:os';

const GIB = 1_073_741_824;
/** Of the machine for each thread: parsing and records take memory beside the models (`HEAP_SPARE_BYTES` of pool.ts). */
const MACHINE_BYTES = 2 * GIB;
/** Part of `scoring-memory-max-bytes` for each thread: a larger model is refused. */
const PART_BYTES = 33_554_432;

export interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
}

/** As far as the process may use it: a container may have less than its machine. */
export function thisMachine(): Machine {
  // 0, or more than there is, without a bound.
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return { cores: availableParallelism(), memoryBytes: Math.min(constrained, totalmem()) };
}

/**
 * One for each core, as far as memory allows; a thread more is there beside them.
 * @param memoryBytesMax for compiled models of all threads
 */
export function defaultThreads({ cores, memoryBytes }: Machine, memoryBytesMax: number): number {
  const ofMachine = Math.floor(memoryBytes / MACHINE_BYTES);
  const ofModels = Math.floor(memoryBytesMax / PART_BYTES) - 1;
  return Math.max(1, Math.min(cores, ofMachine, ofModels));
}
