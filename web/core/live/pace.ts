/** Work that many messages ask for, at most once in a time: at once, and at the end of that time for those that came in it. */
import { useEffect, useMemo, useRef } from 'preact/hooks';

export interface Pace {
  /** Asks for the work. */
  readonly ask: () => void;
  /** Forgets what was asked for. */
  readonly stop: () => void;
}

interface Clock {
  readonly now: () => number;
  /** @returns cancels it. */
  readonly later: (run: () => void, ms: number) => () => void;
}

const CLOCK: Clock = {
  now: Date.now,
  later: (run, ms) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** @param ms from one run to the next. */
export function paced(run: () => void, ms: number, { now, later }: Clock = CLOCK): Pace {
  let lastMs = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | undefined;
  return {
    ask: () => {
      cancel ??= later(
        () => {
          cancel = undefined;
          lastMs = now();
          run();
        },
        Math.max(lastMs + ms - now(), 0),
      );
    },
    stop: () => {
      cancel?.();
      cancel = undefined;
    },
  };
}

/** Runs behind the next frame: all the time until the one after it is there for it. @returns cancels it. */
export function behindFrame(run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(run);
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

/** For requests that live messages ask for: a device may send by the thousand. */
const SOON_MS = 1_500;

/** Asks for `run` until the component is left. */
export function useSoon(run: () => void, ms = SOON_MS): () => void {
  const latest = useRef(run);
  latest.current = run;
  const pace = useMemo(() => paced(() => latest.current(), ms), [ms]);
  useEffect(() => pace.stop, [pace]);
  return pace.ask;
}
