/** The drawing of a chart: the one file that knows uPlot. Loaded when a chart is shown first. */
import UPlot from 'uplot';
import { shownZone } from '../../core/time/time.ts';
import { DASHES, STYLES, namesPx, scaleOf, valueText } from './model.ts';
import type { Rows } from './model.ts';
import { tickTexts, timeTicks } from './ticks.ts';
import type { Ticks } from './ticks.ts';

const FONT_PX = 12;
/** Room of a label of the axis of time. */
const TICK_PX = 72;
const LINE_PX = 1.5;
/** Rows of uPlot of one series: average, maximum, minimum. */
const PER_SERIES = 3;
const BAND_ALPHA = 0.15;
/** Shorter drags are clicks. */
const DRAG_PX_MIN = 4;
/** Single points are drawn as dots up to this number on the chart. */
const DOTS_MAX = 60;

export interface PlotSeries {
  readonly name: string;
  readonly style: number;
}

/** Where the area of the values lies in its box, CSS pixels. */
export interface PlotArea {
  readonly left: number;
  readonly width: number;
}

export interface PlotOptions {
  readonly series: readonly PlotSeries[];
  readonly width: number;
  readonly height: number;
  /** Charts with the same key share the cursor. */
  readonly syncKey: string | undefined;
  readonly onZoom: (fromMs: number, toMs: number) => void;
  /** The time under the cursor; undefined when it has left. */
  readonly onCursor: (ms: number | undefined) => void;
  readonly onArea: (area: PlotArea) => void;
}

interface Colours {
  readonly series: readonly string[];
  readonly muted: string;
  readonly border: string;
  readonly text: string;
}

function readColours(box: Element): Colours {
  const style = getComputedStyle(box);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return {
    series: Array.from({ length: STYLES }, (_, index) => of(`--series-${index + 1}`)),
    muted: of('--muted'),
    border: of('--border'),
    text: of('--text'),
  };
}

/** A colour of six hexadecimal digits with its opacity. */
const faded = (colour: string): string =>
  colour +
  Math.round(BAND_ALPHA * 255)
    .toString(16)
    .padStart(2, '0');

const FONT = `${FONT_PX}px system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif`;

/** Points with a gap on both sides have no line: they are drawn as dots. */
function lonelyPoints(column: readonly (number | null | undefined)[]): number[] {
  const found: number[] = [];
  let before: number | null = null;
  let last = -1;
  const take = (): void => {
    if (last >= 0) found.push(last);
    last = -1;
  };
  // By `entries()` the first drawing took 0.7 ms a column in place of 0.02 (2026-11-27).
  for (let index = 0; index < column.length; index += 1) {
    const value = column[index];
    if (value === undefined) continue;
    if (value === null) take();
    else last = before === null ? index : -1;
    before = value;
  }
  take();
  return found;
}

export class Plot {
  readonly #plot: UPlot;
  readonly #options: PlotOptions;
  #range: readonly [number, number];
  #rows: Rows;
  #series: readonly PlotSeries[];
  /** Names as they fit beside the chart, until its width is another. */
  readonly #names = new Map<string, string>();

  constructor(box: HTMLElement, rows: Rows, range: readonly [number, number], options: PlotOptions) {
    this.#options = options;
    this.#series = options.series;
    this.#range = range;
    this.#rows = rows;
    this.#plot = new UPlot(this.#uplotOptions(readColours(box)), this.#filled() as UPlot.AlignedData, box);
  }

  /** Draws the rows before the next frame is shown. @param series the same ones, perhaps with other names. */
  update(rows: Rows, range: readonly [number, number], series: readonly PlotSeries[]): void {
    this.#series = series;
    this.#rows = rows;
    this.#range = range;
    this.#plot.setData(this.#filled() as UPlot.AlignedData);
  }

  resize(width: number, height: number): void {
    this.#names.clear();
    this.#plot.setSize({ width, height });
  }

  /** Moves the cursor to the time. */
  showCursor(ms: number): void {
    this.#plot.setCursor({ left: this.#plot.valToPos(ms, 'x'), top: 0 });
  }

  hideCursor(): void {
    this.#plot.setCursor({ left: -10, top: -10 });
  }

  destroy(): void {
    this.#plot.destroy();
  }

  /** Without points it is given the ends of its range, else it draws no axis. */
  #filled(): Rows {
    return this.#rows[0].length > 0
      ? this.#rows
      : [[...this.#range], ...this.#rows.slice(1).map(() => [undefined, undefined])];
  }

  #uplotOptions(colours: Colours): UPlot.Options {
    const { series, width, height, syncKey, onZoom, onCursor, onArea } = this.#options;
    const strokeOf = (style: number): string => colours.series[style % STYLES];
    return {
      width,
      height,
      ms: 1,
      padding: [8, namesPx(width), 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, range: () => [...this.#range] },
        y: { range: (_, min, max) => scaleOf(min, max) },
      },
      axes: [this.#timeAxis(colours), valueAxis(colours)],
      cursor: {
        drag: { x: true, y: false, setScale: false },
        y: false,
        points: { size: (_, index) => ((index - 1) % PER_SERIES === 0 ? 8 : 0) },
        ...(syncKey === undefined ? {} : { sync: { key: syncKey, scales: ['x', null] } }),
      },
      series: [
        {},
        ...series.flatMap(({ style }): UPlot.Series[] => [
          {
            stroke: strokeOf(style),
            width: LINE_PX,
            dash: [...DASHES[style % STYLES]],
            spanGaps: false,
            points: {
              size: 5,
              fill: strokeOf(style),
              show: (plot, index) => plot.data[index].length <= DOTS_MAX,
              filter: (plot, index, isShown) => (isShown ? null : lonelyPoints(plot.data[index] as number[])),
            },
          },
          { points: { show: false } },
          { points: { show: false } },
        ]),
      ],
      bands: series.map(({ style }, index) => ({
        series: [index * PER_SERIES + 2, index * PER_SERIES + 3],
        fill: faded(strokeOf(style)),
      })),
      hooks: {
        setSelect: [
          (plot) => {
            const { left, width: dragged } = plot.select;
            if (dragged < DRAG_PX_MIN) return;
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            onZoom(plot.posToVal(left, 'x'), plot.posToVal(left + dragged, 'x'));
          },
        ],
        setCursor: [(plot) => onCursor(plot.cursor.idx == null ? undefined : plot.data[0][plot.cursor.idx])],
        draw: [
          (plot) => {
            this.#drawNow(plot, colours);
            this.#drawNames(plot, strokeOf);
            const ratio = UPlot.pxRatio;
            onArea({ left: plot.bbox.left / ratio, width: plot.bbox.width / ratio });
          },
        ],
      },
    };
  }

  #timeAxis({ muted, border }: Colours): UPlot.Axis {
    let ticks: Ticks = { times: [], stepMs: 0 };
    return {
      stroke: muted,
      font: FONT,
      size: 44,
      grid: { stroke: border, width: 1 },
      ticks: { stroke: border, width: 1, size: 4 },
      splits: (plot, _, from, to) => {
        const countMax = Math.floor(plot.bbox.width / UPlot.pxRatio / TICK_PX);
        ticks = timeTicks(from, to, { countMax, zone: shownZone() });
        return [...ticks.times];
      },
      // Asked for behind its splits.
      values: (_, times) => [...tickTexts({ times, stepMs: ticks.stepMs }, shownZone())],
    };
  }

  #drawNow(plot: UPlot, { muted }: Colours): void {
    const now = Date.now();
    if (now < this.#range[0] || now > this.#range[1]) return;
    const x = Math.round(plot.valToPos(now, 'x', true));
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = muted;
    ctx.lineWidth = UPlot.pxRatio;
    ctx.setLineDash([4 * UPlot.pxRatio, 4 * UPlot.pxRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }

  /** The name of each series at the height of its last point, as far apart as their text is high. */
  #drawNames(plot: UPlot, strokeOf: (style: number) => string): void {
    const { ctx, bbox } = plot;
    const high = (FONT_PX + 2) * UPlot.pxRatio;
    const names = this.#series.flatMap(({ name, style }, index) => {
      const column = plot.data[index * PER_SERIES + 1] as readonly (number | null | undefined)[];
      const last = column.findLast((value) => value != null);
      return last == null ? [] : [{ name, style, y: plot.valToPos(last, 'y', true) }];
    });
    names.sort((left, right) => left.y - right.y);
    const end = bbox.top + bbox.height - high / 2;
    for (const [index, one] of names.entries())
      one.y = Math.max(one.y, index === 0 ? bbox.top : names[index - 1].y + high);
    for (let index = names.length - 1; index >= 0; index -= 1)
      names[index].y = Math.min(names[index].y, index === names.length - 1 ? end : names[index + 1].y - high);
    ctx.save();
    ctx.font = FONT.replace(String(FONT_PX), String(FONT_PX * UPlot.pxRatio));
    ctx.textAlign = 'left';
    ctx.textBaseline = 'middle';
    const left = bbox.left + bbox.width + 6 * UPlot.pxRatio;
    const room = plot.width * UPlot.pxRatio - left;
    for (const { name, style, y } of names) {
      ctx.fillStyle = strokeOf(style);
      const text = this.#names.get(name) ?? shortened(ctx, name, room);
      this.#names.set(name, text);
      ctx.fillText(text, left, y);
    }
    ctx.restore();
  }
}

function valueAxis({ muted, border }: Colours): UPlot.Axis {
  return {
    stroke: muted,
    font: FONT,
    size: (_, values) => 16 + Math.max(...(values ?? ['']).map((text) => text.length), 3) * FONT_PX * 0.6,
    grid: { stroke: border, width: 1 },
    ticks: { show: false },
    space: 36,
    values: (_, splits) => splits.map(valueText),
  };
}

/** The end of a name says most: its beginning goes first. */
function shortened(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (ctx.measureText(text).width <= room) return text;
  let rest = text;
  while (rest.length > 1 && ctx.measureText(`…${rest}`).width > room) rest = rest.slice(1);
  return `…${rest}`;
}
