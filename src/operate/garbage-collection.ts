/**
 * How V8 collects garbage in this process: as on a server of few cores, where messages wait for each pause.
 *
 * Room for messages and bodies on their way: V8 counts their bytes, which lie beside its heap, as growth of the heap, and
 * collects the garbage of all of a small heap behind 15 MB of them, for 10 to 25 ms each time. With this room a job
 * beside 5,000 messages a second has 7 of these collections in place of 158, and POSTs of 1,000 measurements take a
 * seventh less CPU (2026-11-27).
 *
 * Young objects are collected by one thread where cores are few: V8 takes five, whatever there is. On two cores they
 * wait for one another and for whatever else runs: beside a job the longest 1 % of the times to the PUBACK were 4.5 to
 * 7.3 × those without it (three rounds), and 1.7 to 3.3 × with one thread (six, 2026-11-28). On a single core it gained
 * nothing, and cost 3 to 5 % of the rate of QoS 1.
 */
import { availableParallelism } from 'node:os';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

const ROOM_BYTES = 64 * 1_048_576;
const LOOK_MS = 5_000;
/** Threads that collect young objects at a time, with the one that waits for them: Node's own number. */
const COLLECTORS = 5;
/** For a larger heap the rule of V8 gives as much. */
const PERCENT_MIN = 100;

/** Of the heap, by which it may grow until all of it is collected; 0: by the rule of V8. */
export function growthPercent(heapBytes: number): number {
  const percent = Math.round((100 * ROOM_BYTES) / heapBytes);
  return percent < PERCENT_MIN ? 0 : percent;
}

/** Sets the growth of the heaps of this process as the main thread's becomes larger and smaller. */
export class GarbageCollection {
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    const cores = availableParallelism();
    if (cores > 1 && cores < COLLECTORS) setFlagsFromString('--no-parallel-scavenge');
    this.#look();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    setFlagsFromString(`--heap-growing-percent=${growthPercent(getHeapStatistics().used_heap_size)}`);
  }
}
