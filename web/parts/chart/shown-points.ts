/** The points of charts as CSV: what the table shows, with all digits. */
import { csvField } from '../../core/server/exports.ts';
import type { ChartSeries } from './model.ts';

/** One row for each point: `time,series,unit,avg,min,max,count`; times in ISO. */
export function shownCsv(series: readonly ChartSeries[]): string {
  const rows = series.flatMap(({ name, data }) =>
    data.times.map((ms, index) =>
      [
        new Date(ms).toISOString(),
        name,
        data.unit,
        data.averages[index],
        data.minima[index],
        data.maxima[index],
        data.counts[index],
      ]
        .map(csvField)
        .join(','),
    ),
  );
  return `${['time,series,unit,avg,min,max,count', ...rows].join('\r\n')}\r\n`;
}
