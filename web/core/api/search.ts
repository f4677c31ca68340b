/** A search while a person types: what is found for an earlier text is shown meanwhile, but Enter waits for the answer. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, isAborted } from './error.ts';
import { asApiError, useLoaded } from './request.ts';

const PAUSE_MS = 80;

export interface Search<Found> {
  readonly typed: string;
  readonly setTyped: (text: string) => void;
  /** undefined while nothing is typed, and until the first answer. */
  readonly found: Found | undefined;
  readonly error: ApiError | undefined;
  /** The answer to what is typed is not there yet. */
  readonly isPending: boolean;
  /** Calls `onFirst` when the answer to what is typed is there. */
  readonly takeFirst: () => void;
}

export function useSearch<Found>(
  find: (text: string, signal: AbortSignal) => Promise<Found>,
  onFirst: () => void,
): Search<Found> {
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  const [isWanted, setWanted] = useState(false);
  const text = typed.trim();
  // What failed is the answer to its text alone.
  const outcomeOf = async (asked: string, signal: AbortSignal) => {
    try {
      return { asked, found: await find(asked, signal), error: undefined };
    } catch (error) {
      if (isAborted(error)) throw error;
      return { asked, found: undefined, error: asApiError(error) };
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data } = useLoaded(asked === '' ? undefined : (signal) => outcomeOf(asked, signal), [asked]);
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
    found: text === '' ? undefined : data?.found,
    error: data?.error,
    isPending,
    takeFirst: () => setWanted(true),
  };
}
