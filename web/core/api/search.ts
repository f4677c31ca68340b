/** A search while a person types: what is found for an earlier text is shown meanwhile, but Enter waits for the answer. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, isAborted } from './error.ts';
import { asApiError, useLoaded } from './request.ts';

/** Keys that follow each other faster are asked for together; the first one at once. */
const PAUSE_MS = 80;

export interface Search<Found> {
  readonly typed: string;
  readonly setTyped: (text: string) => void;
  /** Also a part of the answer. undefined while nothing is typed, and until the first answer. */
  readonly found: Found | undefined;
  readonly error: ApiError | undefined;
  /** The answer to what is typed is not there yet. */
  readonly isPending: boolean;
  /** Calls `onFirst` when the answer to what is typed is there. */
  readonly takeFirst: () => void;
}

/** @param find may `show` parts of its answer before it is whole. */
export function useSearch<Found>(
  find: (text: string, signal: AbortSignal, show: (part: Found) => void) => Promise<Found>,
  onFirst: () => void,
): Search<Found> {
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  const [part, setPart] = useState<{ readonly asked: string; readonly found: Found }>();
  const [isWanted, setWanted] = useState(false);
  const keyMs = useRef(0);
  const text = typed.trim();
  // What failed is the answer to its text alone.
  const outcomeOf = async (asked: string, signal: AbortSignal) => {
    try {
      const show = (found: Found): void => {
        if (!signal.aborted) setPart({ asked, found });
      };
      return { asked, found: await find(asked, signal, show), error: undefined };
    } catch (error) {
      if (isAborted(error)) throw error;
      return { asked, found: undefined, error: asApiError(error) };
    }
  };
  useLayoutEffect(() => {
    const isFirst = Date.now() - keyMs.current >= PAUSE_MS;
    keyMs.current = Date.now();
    if (isFirst) {
      setAsked(text);
      return undefined;
    }
    const timer = setTimeout(() => setAsked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data } = useLoaded(asked === '' ? undefined : (signal) => outcomeOf(asked, signal), [asked]);
  const wholeOf = (wanted: string): Found | undefined => (data?.asked === wanted ? data.found : undefined);
  const isPending = text !== '' && data?.asked !== text;
  const latest = useRef(onFirst);
  latest.current = onFirst;
  useEffect(() => {
    if (!isWanted || isPending) return;
    setWanted(false);
    latest.current();
  }, [isWanted, isPending]);
  return {
    typed,
    setTyped: (next) => {
      setWanted(false);
      setTyped(next);
    },
    // What a way has found stays when a slower one fails.
    found: text === '' ? undefined : part?.asked === asked ? (wholeOf(asked) ?? part.found) : data?.found,
    error: data?.error,
    isPending,
    takeFirst: () => setWanted(true),
  };
}
