/** Ticks of the axis of time: round times of the wall in the shown zone, also where clocks are put forward or back. */
import { fullTime, offsetMinutes } from '../../core/time/time.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR_MS),
  ...[1, 2, 7, 14].map((count) => count * DAY_MS),
];
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120];
const MONTH_MS = 30 * DAY_MS;

/** The instant of a time of the wall, given as if it were UTC. Of a time that happens twice it is the first. */
function instantOfWall(wall: number, zone: string): number {
  const early = wall - offsetMinutes(wall - DAY_MS, zone) * MINUTE_MS;
  if (early + offsetMinutes(early, zone) * MINUTE_MS === wall) return early;
  return wall - offsetMinutes(wall + DAY_MS, zone) * MINUTE_MS;
}

const wallOf = (ms: number, zone: string): number => ms + offsetMinutes(ms, zone) * MINUTE_MS;

export interface Ticks {
  readonly times: readonly number[];
  readonly stepMs: number;
}

/** @param countMax ticks that have room. */
export function timeTicks(fromMs: number, toMs: number, { countMax, zone }: { countMax: number; zone: string }): Ticks {
  const least = (toMs - fromMs) / Math.max(countMax, 1);
  const inRange = (times: readonly number[]): number[] => [
    ...new Set(times.filter((ms) => ms >= fromMs && ms <= toMs)),
  ];
  const stepMs = STEPS_MS.find((step) => step >= least);
  const first = wallOf(fromMs, zone);
  if (stepMs !== undefined) {
    const times: number[] = [];
    const begin = Math.floor(first / stepMs) * stepMs;
    if (stepMs < HOUR_MS) {
      // Clocks change by half an hour or more: shorter steps go on, through both of two same hours.
      for (let ms = begin - (first - fromMs); ms <= toMs; ms += stepMs) times.push(ms);
    } else {
      // Where clocks are put back in the range, its first part has later times of the wall.
      const end = Math.max(wallOf(toMs, zone), toMs + first - fromMs);
      for (let wall = begin; wall <= end; wall += stepMs) times.push(instantOfWall(wall, zone));
    }
    return { times: inRange(times), stepMs };
  }
  const months = MONTH_STEPS.find((count) => count * MONTH_MS >= least) ?? MONTH_STEPS[MONTH_STEPS.length - 1];
  const begin = new Date(first);
  const month = Math.floor((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / months) * months;
  const times: number[] = [];
  for (let at = month; times.length <= countMax + 2; at += months)
    times.push(instantOfWall(Date.UTC(Math.floor(at / 12), at % 12, 1), zone));
  return { times: inRange(times), stepMs: months * MONTH_MS };
}

/** `14:00`, and below it the day where it begins. */
export function tickTexts({ times, stepMs }: Ticks, zone: string): readonly string[] {
  let day = '';
  return times.map((ms) => {
    const [today, time] = fullTime(ms, zone).split(' ');
    const isNew = today !== day;
    day = today;
    if (stepMs >= MONTH_MS) return today.slice(0, 7);
    if (stepMs >= DAY_MS) return today.slice(5);
    const text = time.slice(0, stepMs < MINUTE_MS ? 8 : 5);
    return isNew ? `${text}\n${today}` : text;
  });
}
