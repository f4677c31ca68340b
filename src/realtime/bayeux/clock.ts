/** Time as the real-time code needs it, passed in so that tests move it by hand. */

export interface Clock {
  /** Milliseconds that only grow. */
  now(): number;
  /** @returns a handle for `clearTimeout`. The timer does not keep the process alive. */
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
  /** Calls back once, after the input and output of this turn of the event loop. */
  setImmediate(callback: () => void): void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs).unref(),
  clearTimeout: (handle) => clearTimeout(handle as NodeJS.Timeout),
  setImmediate: (callback) => void setImmediate(callback),
};
