/** The points of several series over a range of time, with what comes live at its end. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../core/api/error.ts';
import { asApiError, useLoaded } from '../../core/api/request.ts';
import type { Loaded } from '../../core/api/request.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { appendValue, dropBefore, readSeries, seriesKey, valueIn } from '../../core/server/series.ts';
import type { SeriesData, SeriesRef, SeriesRequest } from '../../core/server/series.ts';
import { now } from '../../core/time/clock.ts';
import { intervalMs } from '../../core/time/intervals.ts';
import { resolveTime } from '../../core/time/range.ts';
import type { TimeRange } from '../../core/time/range.ts';

/** Requests under way at a time: browsers keep six connections. */
const AT_ONCE = 4;

/** What was read: one that fails keeps none of the others back. */
export interface SeriesRead {
  /** By `seriesKey`. */
  readonly points: ReadonlyMap<string, SeriesData>;
  readonly failed: readonly { readonly ref: SeriesRef; readonly error: ApiError }[];
}

export interface SeriesView {
  readonly loaded: Loaded<SeriesRead>;
  /** Changes with every change of the points, which stay in their arrays. */
  readonly version: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly isLive: boolean;
}

export interface SeriesQuery {
  readonly refs: readonly SeriesRef[];
  readonly range: TimeRange;
  /** `30s`; '' for single values; undefined until the width of the chart is known. */
  readonly interval: string | undefined;
}

/** What comes while the server answers may be missing in its answer: it is asked once more after this time. */
const AGAIN_MS = 1_000;

/** At most `AT_ONCE` at a time, in their order. @throws ApiError when none can be read. */
async function readAll(requests: readonly SeriesRequest[], signal: AbortSignal): Promise<SeriesRead> {
  const points = new Map<string, SeriesData>();
  const failed: SeriesRead['failed'][number][] = [];
  for (let at = 0; at < requests.length; at += AT_ONCE) {
    const part = requests.slice(at, at + AT_ONCE);
    const read = await Promise.allSettled(part.map((request) => readSeries(request, signal)));
    for (const [index, one] of read.entries()) {
      if (one.status === 'fulfilled') points.set(seriesKey(part[index]), one.value);
      else failed.push({ ref: part[index], error: asApiError(one.reason) });
    }
  }
  if (points.size === 0 && failed.length > 0) throw failed[0].error;
  return { points, failed };
}

export function useSeries({ refs, range, interval }: SeriesQuery): SeriesView {
  const { from, to } = range;
  const isLive = to === '' || to === 'now';
  const keys = refs.map(seriesKey).join(' ');
  const [version, setVersion] = useState(0);
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
      if (isChanged) setVersion((before) => before + 1);
    },
    onGap: loaded.reload,
  });
  useEffect(() => {
    if (loaded.isLoading || !isMissing.current) return undefined;
    isMissing.current = false;
    const timer = setTimeout(loaded.reload, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [loaded.isLoading]);
  const moment = isLive ? Math.max(now.value, Date.now()) : now.value;
  const fromMs = resolveTime(from, moment) ?? 0;
  const toMs = resolveTime(to, moment) ?? moment;
  useEffect(() => {
    for (const data of loaded.data?.points.values() ?? []) dropBefore(data, fromMs - intervalMs(interval ?? ''));
  }, [fromMs, loaded.data]);
  return { loaded, version, fromMs, toMs, isLive };
}
