/** The points of several series over a range of time, with what comes live at its end. */
import { computed, useSignal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { ApiError } from '../../core/api/error.ts';
import { asApiError, useLoaded } from '../../core/api/request.ts';
import type { Loaded } from '../../core/api/request.ts';
import { settledInLots } from '../../core/at-once.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { useDrawing } from '../../core/live/pace.ts';
import {
  appendValue,
  dropBefore,
  readNewest,
  readSeries,
  seriesKey,
  takeNewest,
  valueIn,
} from '../../core/server/series.ts';
import type { SeriesData, SeriesRef, SeriesRequest } from '../../core/server/series.ts';
import { now } from '../../core/time/clock.ts';
import { intervalMs } from '../../core/time/intervals.ts';
import { resolveTime } from '../../core/time/range.ts';
import type { TimeRange } from '../../core/time/range.ts';
import { loadPlot } from './load-plot.ts';

/** What was read: one that fails keeps none of the others back. */
export interface SeriesRead {
  /** By `seriesKey`. */
  readonly points: ReadonlyMap<string, SeriesData>;
  readonly failed: readonly { readonly ref: SeriesRef; readonly error: ApiError }[];
}

/** The range as it is now. Another one tells that the points have changed, which stay in their arrays. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface SeriesView {
  readonly loaded: Loaded<SeriesRead>;
  /** Changes two to five times a second while values come: only what draws points reads it, others `peek`. */
  readonly span: ReadonlySignal<Span>;
}

export interface SeriesQuery {
  readonly refs: readonly SeriesRef[];
  readonly range: TimeRange;
  /** `30s`; '' for single values; undefined until the width of the chart is known. */
  readonly interval: string | undefined;
}

/** What comes while the server answers may be missing in its answer: it is asked once more after this time. */
const AGAIN_MS = 1_000;

/** @throws ApiError when none can be read. */
async function readAll(requests: readonly SeriesRequest[], signal: AbortSignal): Promise<SeriesRead> {
  const points = new Map<string, SeriesData>();
  const failed: SeriesRead['failed'][number][] = [];
  const read = await settledInLots(requests, (request) => readSeries(request, signal));
  for (const [index, one] of read.entries()) {
    if (one.status === 'fulfilled') points.set(seriesKey(requests[index]), one.value);
    else failed.push({ ref: requests[index], error: asApiError(one.reason) });
  }
  if (points.size === 0 && failed.length > 0) throw failed[0].error;
  return { points, failed };
}

export function useSeries({ refs, range, interval }: SeriesQuery): SeriesView {
  const { from, to } = range;
  const isLive = to === '' || to === 'now';
  const keys = refs.map(seriesKey).join(' ');
  const drawnMs = useSignal(0);
  const draw = useDrawing(() => (drawnMs.value = Date.now()));
  const loaded = useLoaded<SeriesRead>(
    interval === undefined
      ? undefined
      : async (signal) => {
          const [fromMs, toMs] = [resolveTime(from) ?? 0, resolveTime(to) ?? Date.now()];
          const requests = refs.map((ref) => ({ ...ref, fromMs, toMs, interval }));
          return readAll(requests, signal);
        },
    [keys, from, to, interval],
  );
  useLayoutEffect(() => void loadPlot(), []);
  const isMissing = useRef(false);
  const latest = useRef(loaded.data);
  latest.current = loaded.data;
  const sources = useMemo(() => [...new Set(refs.map(({ source }) => source))], [keys]);
  useLive(isLive ? sources.map((source) => `/measurements/${source}`) : [], {
    onMessages: (messages) => {
      if (loaded.isLoading) isMissing.current = true;
      let isChanged = false;
      for (const message of messages) {
        const change = changeOf(message);
        if (change?.realtimeAction !== 'CREATE') continue;
        const source = message.channel.slice(message.channel.lastIndexOf('/') + 1);
        for (const ref of refs) {
          if (ref.source !== source) continue;
          const data = latest.current?.points.get(seriesKey(ref));
          const found = data === undefined ? undefined : valueIn(change.data, ref.series);
          if (data !== undefined && found !== undefined)
            isChanged = appendValue(data, found.ms, found.value, intervalMs(interval ?? '')) || isChanged;
        }
      }
      if (isChanged) draw();
    },
    onGap: loaded.reload,
  });
  useEffect(() => {
    if (loaded.isLoading || !isMissing.current) return undefined;
    isMissing.current = false;
    const timer = setTimeout(loaded.reload, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [loaded.isLoading]);
  // The chart is there first. Single values have their newest one already.
  useEffect(() => {
    const { data } = loaded;
    if (data === undefined || !isLive || interval === '') return undefined;
    const left = new AbortController();
    const timer = setTimeout(() => {
      readNewest(refs, left.signal).then(
        (newest) => {
          for (const [key, value] of newest) {
            const points = data.points.get(key);
            if (points !== undefined) takeNewest(points, value);
          }
          draw();
        },
        // The average of the last interval stays, with its sign.
        () => undefined,
      );
    });
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [loaded.data]);
  const span = useMemo(() => {
    const readMs = Date.now();
    return computed<Span>(() => {
      const moment = isLive ? Math.max(now.value, drawnMs.value, readMs) : now.value;
      return { fromMs: resolveTime(from, moment) ?? 0, toMs: resolveTime(to, moment) ?? moment };
    });
  }, [from, to, loaded.data]);
  const { value: tick } = now;
  useEffect(() => {
    const { fromMs } = span.peek();
    for (const data of loaded.data?.points.values() ?? []) dropBefore(data, fromMs - intervalMs(interval ?? ''));
  }, [tick, span, loaded.data]);
  return { loaded, span };
}
