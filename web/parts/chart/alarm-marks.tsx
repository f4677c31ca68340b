/** Alarms as the shapes of their severity below the axis of a chart, each a link to its alarm. */
import type { ReadonlySignal } from '@preact/signals';
import { fullTime } from '../../core/time/time.ts';
import { common } from '../../core/text/common.ts';
import { SEVERITIES } from '../../core/server/alarm.ts';
import { SeverityShape } from '../badge.tsx';
import type { ChartAlarm } from './model.ts';
import type { PlotArea } from './plot.ts';
import { words as chartWords } from './text.ts';

/** Marks closer than this become one. */
const APART_PX = 24;

interface Mark {
  readonly x: number;
  /** The worst of them. */
  readonly alarm: ChartAlarm;
  readonly count: number;
}

/** @param alarms in any order. @returns marks from left to right. */
function marksOf(alarms: readonly ChartAlarm[], placeOf: (ms: number) => number): readonly Mark[] {
  const marks: Mark[] = [];
  for (const alarm of [...alarms].sort((left, right) => left.ms - right.ms)) {
    const x = placeOf(alarm.ms);
    const last = marks[marks.length - 1];
    if (last === undefined || x - last.x >= APART_PX) marks.push({ x, alarm, count: 1 });
    else {
      const isWorse = SEVERITIES.indexOf(alarm.severity) < SEVERITIES.indexOf(last.alarm.severity);
      marks[marks.length - 1] = { x: last.x, alarm: isWorse ? alarm : last.alarm, count: last.count + 1 };
    }
  }
  return marks;
}

export interface AlarmMarksProps {
  readonly alarms: readonly ChartAlarm[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly area: ReadonlySignal<PlotArea>;
}

export function AlarmMarks({ alarms, fromMs, toMs, area }: AlarmMarksProps) {
  const words = chartWords();
  const shown = alarms.filter(({ ms }) => ms >= fromMs && ms <= toMs);
  if (shown.length === 0 || area.value.width === 0) return null;
  const { left, width } = area.value;
  const marks = marksOf(shown, (ms) => left + ((ms - fromMs) / (toMs - fromMs)) * width);
  return (
    <ul class="chart-alarms" aria-label={words.alarms}>
      {marks.map(({ x, alarm, count }) => {
        const what = `${common().severities[alarm.severity]} ${fullTime(alarm.ms)} ${alarm.text}`;
        const text = count === 1 ? what : words.alarmsHere(count, what);
        return (
          <li key={alarm.id} style={{ left: `${x}px` }}>
            <a class={`chart-alarm severity-text-${alarm.severity}`} href={alarm.href} title={text} aria-label={text}>
              <SeverityShape severity={alarm.severity} />
            </a>
          </li>
        );
      })}
    </ul>
  );
}
