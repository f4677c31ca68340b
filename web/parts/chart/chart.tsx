/**
 * A chart of series over time: lines with the band from minimum to maximum, gaps, alarms below the axis, a cursor for
 * mouse and keyboard, zoom by dragging. The list below it has the same in words.
 */
import { useSignal } from '@preact/signals';
import type { ReadonlySignal, Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SeriesData } from '../../core/server/series.ts';
import { now } from '../../core/time/clock.ts';
import { fullTime, shownZone } from '../../core/time/time.ts';
import { preferences } from '../../core/preferences.ts';
import { language } from '../../core/text/language.ts';
import { AlarmMarks } from './alarm-marks.tsx';
import { loadPlot, plotModule } from './load-plot.ts';
import { DASHES, STYLES, nearest, rangeOf, rowsOf, valueText } from './model.ts';
import type { ChartAlarm, ChartSeries } from './model.ts';
import type { Plot, PlotArea } from './plot.ts';
import { words as chartWords } from './text.ts';
import type { Span } from './use-series.ts';

export const CHART_HEIGHT = 240;
const PAGE_STEP = 10;
/** A value counts for the cursor's time when it is at most this part of the range away. */
const NEAR_PART = 0.02;

export interface ChartProps {
  readonly label: string;
  readonly unit: string;
  readonly series: readonly ChartSeries[];
  readonly span: ReadonlySignal<Span>;
  readonly alarms?: readonly ChartAlarm[];
  /** Of the box, where it is known before the box is. */
  readonly width?: number;
  readonly height?: number;
  readonly syncKey?: string;
  readonly onZoom: (fromMs: number, toMs: number) => void;
}

/** A piece of the series' line, as it is on the chart. */
export function Swatch({ style }: { readonly style: number }) {
  return (
    <svg class={`chart-swatch series-${(style % STYLES) + 1}`} viewBox="0 0 28 8" aria-hidden="true">
      <path d="M0 4h28" stroke="currentColor" stroke-width="2" stroke-dasharray={DASHES[style % STYLES].join(' ')} />
    </svg>
  );
}

interface ReadoutProps {
  readonly series: readonly ChartSeries[];
  readonly unit: string;
  readonly cursor: Signal<number | undefined>;
  /** Another one tells that the points have changed. */
  readonly span: Span;
}

/**
 * The value at the point; an average where the interval has several, but for the newest value of all. No component: the
 * data change in place, and one with the same data would not be drawn again.
 */
function pointValue(data: SeriesData, index: number, isLast: boolean) {
  const { last } = data;
  if (isLast && last !== undefined && last.ms >= data.times[index]) return <strong>{valueText(last.value)}</strong>;
  const isAverage = data.counts[index] > 1;
  return (
    <>
      {isAverage && <abbr title={chartWords().average}>⌀</abbr>} <strong>{valueText(data.averages[index])}</strong>
    </>
  );
}

/** Name, value under the cursor or last value, and range of each series. */
function Readout({ series, unit, cursor, span }: ReadoutProps) {
  const words = chartWords();
  const ms = cursor.value;
  return (
    <table class="chart-readout">
      <thead>
        <tr>
          <th scope="col">{words.series}</th>
          <th scope="col" class="chart-time">
            {ms === undefined ? words.last : fullTime(ms)}
          </th>
          <th scope="col">{words.minimum}</th>
          <th scope="col">{words.maximum}</th>
        </tr>
      </thead>
      <tbody>
        {series.map(({ key, name, style, data }) => {
          const index = ms === undefined ? data.times.length - 1 : nearest(data.times, ms);
          const isNear = ms === undefined || Math.abs(data.times[index] - ms) <= (span.toMs - span.fromMs) * NEAR_PART;
          const range = rangeOf(data);
          return (
            <tr key={key}>
              <th scope="row">
                <Swatch style={style} />
                {name}
              </th>
              <td>
                {isNear ? pointValue(data, index, ms === undefined) : '–'} {unit}
              </td>
              <td>{valueText(range?.min)}</td>
              <td>{valueText(range?.max)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Width that the page has for its content, before what it will show is there; 0 before the page is. */
export function pageWidth(): number {
  const page = document.getElementById('content');
  if (page === null) return 0;
  const { paddingLeft, paddingRight } = getComputedStyle(page);
  return Math.floor(page.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
}

/** Width of the box in CSS pixels. `first` is shown at once; where it is not that of the box, the right one comes before the paint. */
export function useWidth<T extends HTMLElement>(first = () => 0): readonly [RefObject<T | null>, number] {
  const box = useRef<T>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    if (box.current === null) return undefined;
    // The page is laid out for it now, and again for what is then drawn.
    if (width === 0) setWidth(Math.floor(box.current.getBoundingClientRect().width));
    const observer = new ResizeObserver(([{ contentRect }]) => setWidth(Math.floor(contentRect.width)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

/** True while the system or the person has dark colours. */
function useIsDark(): boolean {
  const system = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), []);
  const [isDark, setDark] = useState(system.matches);
  useEffect(() => {
    const change = (): void => setDark(system.matches);
    system.addEventListener('change', change);
    return () => system.removeEventListener('change', change);
  }, [system]);
  const { theme } = preferences.value;
  return theme === 'system' ? isDark : theme === 'dark';
}

export function Chart(props: ChartProps) {
  const { label, unit, series, alarms = [], height = CHART_HEIGHT, syncKey } = props;
  const span = props.span.value;
  const { fromMs, toMs } = span;
  const words = chartWords();
  const [box, width] = useWidth<HTMLDivElement>(() => props.width ?? 0);
  const [module, setModule] = useState(plotModule);
  const plot = useRef<Plot>(undefined);
  const cursor = useSignal<number | undefined>(undefined);
  const [told, setTold] = useState('');
  // Of the marks alone: the chart itself need not render again.
  const area = useSignal<PlotArea>({ left: 0, width: 0 });
  const anchor = useRef<number>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const isDark = useIsDark();
  const id = useId();
  const rows = useMemo(() => rowsOf(series.map(({ data }) => data)), [series, span]);

  useEffect(() => {
    let isHere = true;
    void loadPlot().then((loaded) => isHere && setModule(loaded));
    return () => {
      isHere = false;
    };
  }, []);

  const lookKey = [
    series.map(({ key, style }) => `${key} ${style}`).join(),
    syncKey,
    isDark,
    shownZone(),
    language.value,
  ];
  useLayoutEffect(() => {
    if (module === undefined || box.current === null || width === 0) return undefined;
    const made = new module.Plot(box.current, rows, [fromMs, toMs], {
      series,
      width,
      height,
      syncKey,
      onZoom: (from, to) => latest.current.onZoom(from, to),
      onCursor: (ms) => {
        cursor.value = ms;
      },
      onArea: (next) => {
        const { left, width } = area.peek();
        if (left !== next.left || width !== next.width) area.value = next;
      },
    });
    plot.current = made;
    return () => {
      plot.current = undefined;
      made.destroy();
    };
  }, [module, width === 0, ...lookKey]);
  useLayoutEffect(() => {
    if (width > 0) plot.current?.resize(width, height);
  }, [width, height]);
  // In the frame that the values come with. The line of the moment moves too.
  useLayoutEffect(() => plot.current?.update(rows, [fromMs, toMs], series), [rows, now.value]);

  const tell = (ms: number): void => {
    plot.current?.showCursor(ms);
    cursor.value = ms;
    const values = series.map(
      ({ name, data }) => `${name} ${valueText(data.averages[nearest(data.times, ms)])} ${unit}`,
    );
    setTold(`${words.at(fullTime(ms))}: ${values.join(', ')}`);
  };
  const leave = (): void => {
    anchor.current = undefined;
    plot.current?.hideCursor();
    cursor.value = undefined;
    setTold('');
  };
  const onKey = (event: KeyboardEvent): void => {
    const times = rows[0];
    if (times.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = cursor.value === undefined ? times.length - 1 : nearest(times, cursor.value);
    const move = ({ ArrowLeft: -1, ArrowRight: 1, PageUp: -PAGE_STEP, PageDown: PAGE_STEP } as Record<string, number>)[
      event.key
    ];
    const ends = ({ Home: 0, End: times.length - 1 } as Record<string, number>)[event.key];
    if (event.key === 'Escape' && cursor.value !== undefined) leave();
    else if (event.key === 'Enter') {
      const begin = anchor.current;
      if (begin === undefined || begin === times[here]) {
        anchor.current = times[here];
        setTold(words.rangeBegins(fullTime(times[here])));
      } else {
        leave();
        props.onZoom(Math.min(begin, times[here]), Math.max(begin, times[here]));
      }
    } else if (move !== undefined || ends !== undefined)
      tell(times[Math.min(Math.max(ends ?? here + (cursor.value === undefined ? 0 : move), 0), times.length - 1)]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <figure class="chart">
      <figcaption class="chart-title">
        {label}
        {unit !== '' && <span class="muted"> {unit}</span>}
      </figcaption>
      <div
        class="chart-box"
        role="application"
        tabIndex={0}
        aria-label={label}
        aria-describedby={`${id}-keys`}
        onKeyDown={onKey}
        onBlur={() => told !== '' && leave()}
      >
        <div ref={box} class="chart-plot" style={{ minHeight: `${height}px` }} />
        {rows[0].length === 0 && <p class="chart-empty muted">{words.noValues}</p>}
      </div>
      <AlarmMarks alarms={alarms} fromMs={fromMs} toMs={toMs} area={area} />
      <Readout series={series} unit={unit} cursor={cursor} span={span} />
      <p class="visually-hidden" id={`${id}-keys`}>
        {words.keys}
      </p>
      <p class="visually-hidden" role="status">
        {told}
      </p>
      {series.some(({ data }) => data.isTruncated) && <p class="note">{words.truncated}</p>}
    </figure>
  );
}
