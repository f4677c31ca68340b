/** The points of a chart as a table, newest first, in pages. */
import type { ReadonlySignal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { fullTime } from '../../core/time/time.ts';
import { common } from '../../core/text/common.ts';
import { Button } from '../button.tsx';
import { PAGE_SIZE } from '../list/list.ts';
import { Empty } from '../states.tsx';
import { Table } from '../list/table.tsx';
import type { Column } from '../list/column.ts';
import { valueText } from './model.ts';
import type { ChartSeries } from './model.ts';
import { words as chartWords } from './text.ts';
import type { Span } from './use-series.ts';

interface Row {
  readonly ms: number;
  /** By the place of the series. */
  readonly points: readonly (number | undefined)[];
}

/** One row for each time; a point is its index in its series. */
function tableRows(series: readonly ChartSeries[]): readonly Row[] {
  const rows = new Map<number, (number | undefined)[]>();
  for (const [place, { data }] of series.entries())
    for (const [index, ms] of data.times.entries()) {
      const points = rows.get(ms) ?? new Array<number | undefined>(series.length).fill(undefined);
      points[place] = index;
      rows.set(ms, points);
    }
  return [...rows].map(([ms, points]) => ({ ms, points })).sort((left, right) => right.ms - left.ms);
}

export interface ChartTableProps {
  readonly label: string;
  readonly series: readonly ChartSeries[];
  readonly span: ReadonlySignal<Span>;
  /** Single values: minimum and maximum are the value. */
  readonly isSingle: boolean;
}

export function ChartTable({ label, series, span, isSingle }: ChartTableProps) {
  const words = chartWords();
  const [page, setPage] = useState(0);
  const rows = useMemo(() => tableRows(series), [series, span.value]);
  const first = Math.min(page, Math.max(Math.ceil(rows.length / PAGE_SIZE) - 1, 0)) * PAGE_SIZE;
  const shown = rows.slice(first, first + PAGE_SIZE);
  const columns: readonly Column<Row>[] = [
    { id: 'time', title: words.time, isHeading: true, isNarrow: true, cell: ({ ms }) => fullTime(ms) },
    ...series.flatMap(({ key, name, data }, place): Column<Row>[] => {
      const of = (values: readonly number[], title: string, id: string): Column<Row> => ({
        id: `${key} ${id}`,
        title,
        isEnd: true,
        cell: ({ points }) => (points[place] === undefined ? '' : valueText(values[points[place]])),
      });
      const title = data.unit === '' ? name : `${name} (${data.unit})`;
      if (isSingle) return [of(data.averages, title, 'value')];
      return [
        of(data.averages, `${title} ${words.average}`, 'avg'),
        of(data.minima, words.minimum, 'min'),
        of(data.maxima, words.maximum, 'max'),
      ];
    }),
  ];
  if (rows.length === 0) return <Empty title={words.noValues} />;
  return (
    <>
      <Table
        hasFile={false}
        label={words.tableOf(label)}
        columns={columns}
        rows={shown}
        keyOf={({ ms }) => String(ms)}
      />
      <div class="table-foot">
        <span role="status">
          {common().rows(first + 1, first + shown.length)} {common().ofTotal(rows.length)}
        </span>
        {rows.length > PAGE_SIZE && (
          <span class="table-foot-end">
            <Button onClick={() => setPage(Math.max(page - 1, 0))}>{words.later}</Button>
            <Button onClick={() => first + PAGE_SIZE < rows.length && setPage(page + 1)}>{words.earlier}</Button>
          </span>
        )}
      </div>
    </>
  );
}
