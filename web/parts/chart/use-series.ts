/** The points of several series over a range of time, with what comes live at its end. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLoaded } from '../../core/api/request.ts';
import type { Loaded } from '../../core/api/request.ts';
import { changeOf, useLive } from '../../core/live/live.ts';
import { appendValue, dropBefore, readSeries, seriesKey, valueIn } from '../../core/server/series.ts';
import type { SeriesData, SeriesRef } from '../../core/server/series.ts';
import { now } from '../../core/time/clock.ts';
import { intervalMs } from '../../core/time/intervals.ts';
import { resolveTime } from '../../core/time/range.ts';
import type { TimeRange } from '../../core/time/range.ts';

/** Requests under way at a time: browsers keep six connections. */
const AT_ONCE = 4;

export interface SeriesView {
  /** By `seriesKey`. */
  readonly loaded: Loaded<ReadonlyMap<string, SeriesData>>;
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

/** Runs the jobs, at most `AT_ONCE` at a time, in their order. */
async function inTurn<Job, Result>(jobs: readonly Job[], run: (job: Job) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < jobs.length; at += AT_ONCE)
    results.push(...(await Promise.all(jobs.slice(at, at + AT_ONCE).map(run))));
  return results;
}

export function useSeries({ refs, range, interval }: SeriesQuery): SeriesView {
  const { from, to } = range;
  const isLive = to === '' || to === 'now';
  const keys = refs.map(seriesKey).join(' ');
  const [version, setVersion] = useState(0);
  const loaded = useLoaded<ReadonlyMap<string, SeriesData>>(
    interval === undefined
      ? undefined
      : async (signal) => {
          const [fromMs, toMs] = [resolveTime(from) ?? 0, resolveTime(to) ?? Date.now()];
          const read = await inTurn(refs, (ref) => readSeries({ ...ref, fromMs, toMs, interval }, signal));
          return new Map(refs.map((ref, index) => [seriesKey(ref), read[index]]));
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
          const data = latest.current?.get(seriesKey(ref));
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
    for (const data of loaded.data?.values() ?? []) dropBefore(data, fromMs - intervalMs(interval ?? ''));
  }, [fromMs, loaded.data]);
  return { loaded, version, fromMs, toMs, isLive };
}
