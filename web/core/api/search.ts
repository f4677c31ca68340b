/** A search while a person types: what is found for an earlier text is shown meanwhile, but Enter waits for the answer. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from './error.ts';
import { useLoaded } from './request.ts';

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
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, error } = useLoaded(
    asked === '' ? undefined : async (signal) => ({ asked, found: await find(asked, signal) }),
    [asked],
  );
  const isPending = text !== '' && data?.asked !== text && (asked !== text || error === undefined);
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
    error,
    isPending,
    takeFirst: () => setWanted(true),
  };
}
