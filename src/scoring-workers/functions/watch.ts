/** The time that the functions of one task take together, and which of them runs. */
import { performance } from 'node:perf_hooks';

export interface FunctionTimes {
  /** Of all calls of one task: a batch hands over some thousand records at once. */
  readonly taskMsMax: number;
  /** Of one call. */
  readonly callMsMax: number;
  /** Of the statements of a file. */
  readonly startMsMax: number;
}

const FUNCTION_TIMES: FunctionTimes = { taskMsMax: 2_000, callMsMax: 500, startMsMax: 1_000 };
/** Less than this is as good as nothing. */
const LEFT_MS_MIN = 1;
/** Of a name that is shared; a longer one is cut. */
const NAME_BYTES_MAX = 255;
/** A length, and the name behind it. */
const MARK_BYTES = 1 + NAME_BYTES_MAX;

/** Memory that a thread shares, so that the name of the function outlives a thread that is ended in the middle of it. */
export const newMark = (): Uint8Array => new Uint8Array(new SharedArrayBuffer(MARK_BYTES));

/** @returns undefined: no function is running. @param mark of `newMark` */
export function markedName(mark: Uint8Array): string | undefined {
  const length = mark[0] as number;
  // A decoder takes no shared memory.
  return length === 0 ? undefined : Buffer.from(mark.slice(1, 1 + length)).toString();
}

/** A name as `FunctionWatch` writes it. */
export const markBytes = (name: string): Uint8Array => Buffer.from(name).subarray(0, NAME_BYTES_MAX);

export class FunctionWatch {
  readonly times: FunctionTimes;
  #spentMs = 0;
  #mark: Uint8Array | undefined;

  constructor(times: FunctionTimes = FUNCTION_TIMES) {
    this.times = times;
  }

  /** A task begins. @param mark of `newMark`, where the server wants to know which function runs */
  begin(mark: Uint8Array | undefined): void {
    this.#spentMs = 0;
    this.#mark = mark;
  }

  /** 0: none. A call that was ended at its deadline may be counted with some µs less. */
  get leftMs(): number {
    const ms = this.times.taskMsMax - this.#spentMs;
    return ms < LEFT_MS_MIN ? 0 : ms;
  }

  /** Counts the time of a call. @param name of `markBytes` */
  during<Result>(name: Uint8Array, work: () => Result): Result {
    const mark = this.#mark;
    if (mark !== undefined) {
      mark.set(name, 1);
      mark[0] = name.length;
    }
    const began = performance.now();
    try {
      return work();
    } finally {
      this.#spentMs += performance.now() - began;
      if (mark !== undefined) mark[0] = 0;
    }
  }
}
