/**
 * What the explorer shows, in its address: in the query, or behind `#` when the list of series is long. What is behind
 * `#` is not sent, and so it meets no limit of a server or proxy.
 */
import { useLocation } from 'preact-iso';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { SeriesRef } from '../../core/server/series.ts';
import { flagParameter, readState, textParameter, writeState } from '../../core/url-state.ts';
import type { StateOf } from '../../core/url-state.ts';

const SHAPE = {
  s: textParameter(),
  from: textParameter('now-6h'),
  to: textParameter(),
  agg: textParameter(),
  table: flagParameter,
};
export type ExploreState = StateOf<typeof SHAPE>;

/** Path and query up to this length; the list of series goes behind `#` when it would be more. */
const QUERY_BYTES_MAX = 1_000;
const HASH = '#s=';

/** `42:c8y_Water.T,43:c8y_Water.T`; commas and percent signs of names are encoded. */
export const seriesText = (refs: readonly SeriesRef[]): string =>
  refs.map(({ source, series }) => `${source}:${series.replace(/[%,]/g, encodeURIComponent)}`).join();

/** What is not of that form is left out. */
export function seriesOf(text: string): readonly SeriesRef[] {
  return text.split(',').flatMap((one) => {
    const colon = one.indexOf(':');
    if (colon < 1 || colon === one.length - 1) return [];
    try {
      return [{ source: one.slice(0, colon), series: decodeURIComponent(one.slice(colon + 1)) }];
    } catch {
      // A percent sign that begins no character: a link that was cut off.
      return [];
    }
  });
}

/** The state of an address. */
function stateOf(search: string, hash: string): ExploreState {
  const state = readState(SHAPE, search);
  if (!hash.startsWith(HASH)) return state;
  return { ...state, s: new URLSearchParams(hash.slice(1)).get('s') ?? '' };
}

/** The address of the state, without its path. */
export function addressOf(search: string, state: ExploreState): string {
  const short = writeState(SHAPE, search, state);
  if (short.length <= QUERY_BYTES_MAX) return short;
  return `${writeState(SHAPE, search, { ...state, s: '' })}#${new URLSearchParams({ s: state.s })}`;
}

/** The state, and how to change it; Back returns to the one before. */
export function useExploreState(): readonly [ExploreState, (changes: Partial<ExploreState>) => void] {
  const { url, route } = useLocation();
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = (): void => setHash(location.hash);
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, []);
  const state = useMemo(() => stateOf(location.search, location.hash), [url, hash]);
  const set = useCallback(
    (changes: Partial<ExploreState>) => {
      const next = { ...stateOf(location.search, location.hash), ...changes };
      route(location.pathname + addressOf(location.search, next));
      setHash(location.hash);
    },
    [route],
  );
  return [state, set];
}
