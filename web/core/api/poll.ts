/** Asking again and again where the server has no channel: only while the page is seen. */
import { useEffect, useRef } from 'preact/hooks';

/** Calls `run` every `ms` while the component is on a page that is seen; `undefined` pauses. */
export function usePoll(ms: number, run: (() => void) | undefined): void {
  const latest = useRef(run);
  latest.current = run;
  const isOn = run !== undefined;
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) latest.current?.();
    }, ms);
    return () => clearInterval(timer);
  }, [ms, isOn]);
}
