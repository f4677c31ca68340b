/** The bar above charts: range of time, a step back or forward, wider, and the interval of the points. */
import { ChevronLeft, ChevronRight, ZoomOut } from 'lucide';
import { INTERVALS, fits } from '../../core/time/intervals.ts';
import { resolveTime } from '../../core/time/range.ts';
import type { TimeRange } from '../../core/time/range.ts';
import { IconButton } from '../button.tsx';
import { SelectField } from '../fields.tsx';
import { TimeRangeField } from '../time-range.tsx';
import { zoneText } from '../time.tsx';
import { words as chartWords } from './text.ts';

/** The whole range, moved or made wider around its middle; it never goes beyond now. */
function movedRange({ from, to }: TimeRange, { by = 0, times = 1 }, now = Date.now()): TimeRange {
  const [first, last] = [resolveTime(from, now) ?? 0, resolveTime(to, now) ?? now];
  const size = (last - first) * times;
  const middle = (first + last) / 2 + (last - first) * by;
  const end = Math.min(middle + size / 2, now);
  return { from: new Date(end - size).toISOString(), to: end === now ? '' : new Date(end).toISOString() };
}

export interface RangeBarProps {
  readonly range: TimeRange;
  readonly onRange: (range: TimeRange) => void;
  /** '' is chosen by the width of the chart; `raw` are single values. */
  readonly interval: string;
  readonly onInterval: (interval: string) => void;
  /** What '' means now. */
  readonly chosen: string | undefined;
}

export function RangeBar({ range, onRange, interval, onInterval, chosen }: RangeBarProps) {
  const words = chartWords();
  const now = Date.now();
  const size = (resolveTime(range.to, now) ?? now) - (resolveTime(range.from, now) ?? 0);
  const nameOf = (one: string): string => (one === '' ? words.singleValues : words.every(one));
  return (
    <>
      <TimeRangeField value={range} onChange={onRange} />
      <div class="row chart-moves">
        <IconButton icon={ChevronLeft} label={words.back} onClick={() => onRange(movedRange(range, { by: -0.5 }))} />
        <IconButton icon={ChevronRight} label={words.forward} onClick={() => onRange(movedRange(range, { by: 0.5 }))} />
        <IconButton icon={ZoomOut} label={words.wider} onClick={() => onRange(movedRange(range, { times: 2 }))} />
      </div>
      <SelectField
        label={words.points}
        value={interval}
        onChange={onInterval}
        options={[
          { value: '', text: chosen === undefined ? words.automatic : words.automaticNow(nameOf(chosen)) },
          { value: 'raw', text: words.singleValues },
          ...INTERVALS.filter(([name]) => fits(name, size) || name === interval).map(([name]) => ({
            value: name,
            text: nameOf(name),
          })),
        ]}
      />
      <span class="muted chart-zone">{zoneText()}</span>
    </>
  );
}
