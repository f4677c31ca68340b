/** Alarms of the devices of a chart, for the line below its axis. */
import { useMemo } from 'preact/hooks';
import { useLoaded } from '../../core/api/request.ts';
import { settledInLots } from '../../core/at-once.ts';
import { useLive } from '../../core/live/live.ts';
import { useSoon } from '../../core/live/pace.ts';
import { href } from '../../core/route.ts';
import { listAlarms } from '../../core/server/alarm.ts';
import { rangeQuery } from '../../core/time/range.ts';
import type { TimeRange } from '../../core/time/range.ts';
import type { ChartAlarm } from './model.ts';

/** Of each device, the latest. */
const ALARMS_SHOWN = 200;

/**
 * @param sources at most as many as a chart has series: each is a request. Those that cannot be read have none.
 * @param isWaiting they are not asked for yet: the points come first
 */
export function useAlarms(sources: readonly string[], range: TimeRange, isWaiting: boolean): readonly ChartAlarm[] {
  const { from, to } = range;
  const loaded = useLoaded(
    isWaiting
      ? undefined
      : (signal) =>
          settledInLots(sources, (source) =>
            listAlarms({ source, ...rangeQuery(range) }, { pageSize: ALARMS_SHOWN, signal }),
          ),
    [sources.join(), from, to],
  );
  const reload = useSoon(loaded.reload);
  useLive(isWaiting ? [] : sources.map((source) => `/alarms/${source}`), { onMessages: reload, onGap: reload });
  return useMemo(
    () =>
      (loaded.data ?? []).flatMap((one) =>
        (one.status === 'fulfilled' ? one.value : []).map(({ id, time, severity, text }) => ({
          id,
          ms: Date.parse(time),
          severity,
          text,
          href: href('/alarms/:id', { id }),
        })),
      ),
    [loaded.data],
  );
}
