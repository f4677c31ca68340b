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

/** @param ms from one run to the next, as it is when a run is asked for. */
export function paced(run: () => void, ms: number | (() => number), { now, later }: Clock = CLOCK): Pace {
  const msNow = typeof ms === 'number' ? () => ms : ms;
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
        Math.max(lastMs + msNow() - now(), 0),
      );
    },
    stop: () => {
      cancel?.();
      cancel = undefined;
    },
  };
}

/** Runs behind the next frame: all the time until the one after it is there for it. @returns cancels it. */
export function behindFrame(run: (frameMs: number) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame((frameMs) => {
    timer = setTimeout(run, 0, frameMs);
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

/** From one drawing of live values to the next: while none costs a frame, and at most. */
const DRAW_MS = 200;
const DRAW_MS_MAX = 600;
const DRAW_LONGER = 1.5;
const DRAW_SHORTER = 0.95;
/** Two frames at 60 a second, with some play: a frame is missing where the second one behind a drawing's comes later. */
const TWO_FRAMES_MS = 42;

/** @param ms from the drawing before to this one. @returns from this one to the next. */
export const drawAgainMs = (ms: number, twoFramesMs: number): number =>
  twoFramesMs > TWO_FRAMES_MS ? Math.min(ms * DRAW_LONGER, DRAW_MS_MAX) : Math.max(ms * DRAW_SHORTER, DRAW_MS);

/** Draws behind a frame; less often where a drawing has cost a frame. @returns asks for it, until the component is left. */
export function useDrawing(draw: () => void): () => void {
  const ms = useRef(DRAW_MS);
  return useSoon(
    () =>
      behindFrame((frameMs) => {
        draw();
        const second = (nowMs: number): void => void (ms.current = drawAgainMs(ms.current, nowMs - frameMs));
        requestAnimationFrame(() => requestAnimationFrame(second));
      }),
    () => ms.current,
  );
}

/** For requests that live messages ask for: a device may send by the thousand. */
const SOON_MS = 1_500;

/** Asks for `run` until the component is left. */
export function useSoon(run: () => void, ms: number | (() => number) = SOON_MS): () => void {
  const latest = useRef(run);
  latest.current = run;
  const pace = useMemo(() => paced(() => latest.current(), ms), []);
  useEffect(() => pace.stop, [pace]);
  return pace.ask;
}
