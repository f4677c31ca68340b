/**
 * Series as charts: one for each unit, small multiples where a chart would have more than six lines; or as tables of
 * the same values.
 */
import { useId, useMemo } from 'preact/hooks';
import type { SeriesRef } from '../../core/server/series.ts';
import { seriesKey } from '../../core/server/series.ts';
import { intervalMs } from '../../core/time/intervals.ts';
import { With } from '../states.tsx';
import { ChartTable } from './chart-table.tsx';
import { CHART_HEIGHT, Chart } from './chart.tsx';
import { STYLES } from './model.ts';
import type { ChartAlarm, ChartSeries } from './model.ts';
import type { SeriesView } from './use-series.ts';

/** Lines of one chart. */
const LINES_MAX = STYLES;
const SMALL_HEIGHT = 140;
const SINGLE_HEIGHT = 320;

export interface ChartsProps {
  readonly view: SeriesView;
  readonly refs: readonly SeriesRef[];
  readonly nameOf: (ref: SeriesRef) => string;
  readonly interval: string;
  readonly isTable: boolean;
  /** Of the box that they are in, where it is known. */
  readonly width?: number;
  readonly alarms?: readonly ChartAlarm[];
  readonly onZoom: (fromMs: number, toMs: number) => void;
}

interface Group {
  readonly unit: string;
  readonly series: readonly ChartSeries[];
}

/** Series with the same unit share a chart, in the order in which units come first. */
function groupsOf(series: readonly ChartSeries[]): readonly Group[] {
  const units = [...new Set(series.map(({ data }) => data.unit))];
  const groups = units.map((unit) => ({ unit, series: series.filter(({ data }) => data.unit === unit) }));
  return groups.flatMap((group) =>
    group.series.length <= LINES_MAX ? [group] : group.series.map((one) => ({ unit: group.unit, series: [one] })),
  );
}

const NO_ALARMS: readonly ChartAlarm[] = [];

export function Charts({ view, refs, nameOf, interval, isTable, width, alarms = NO_ALARMS, onZoom }: ChartsProps) {
  const syncKey = useId();
  const { data } = view.loaded;
  // The same while points and names are the same: a chart draws all anew for others.
  const groups = useMemo(() => {
    const all = refs.flatMap((ref, style): ChartSeries[] => {
      const key = seriesKey(ref);
      const points = data?.points.get(key);
      return points === undefined ? [] : [{ key, name: nameOf(ref), data: points, style }];
    });
    return groupsOf(all);
  }, [data, refs, refs.map(nameOf).join('\n')]);
  return (
    <With loaded={view.loaded}>
      {({ failed }) => {
        const height = groups.length > LINES_MAX ? SMALL_HEIGHT : groups.length === 1 ? SINGLE_HEIGHT : CHART_HEIGHT;
        return (
          <div class={groups.length > LINES_MAX ? 'charts charts-small' : 'charts'}>
            {failed.map(({ ref, error }) => (
              <p key={seriesKey(ref)} class="fault-text" role="alert">
                {`${nameOf(ref)}: ${error.message}`}
              </p>
            ))}
            {groups.map(({ unit, series }) => {
              const label = series.map(({ name }) => name).join(', ');
              return isTable ? (
                <ChartTable
                  key={label}
                  label={label}
                  series={series}
                  span={view.span}
                  isSingle={intervalMs(interval) === 0}
                />
              ) : (
                <Chart
                  key={series.map(({ key }) => key).join(' ')}
                  label={label}
                  unit={unit}
                  series={series}
                  span={view.span}
                  alarms={alarms}
                  {...(width === undefined || groups.length > LINES_MAX ? {} : { width })}
                  height={height}
                  syncKey={syncKey}
                  onZoom={onZoom}
                />
              );
            })}
          </div>
        );
      }}
    </With>
  );
}
