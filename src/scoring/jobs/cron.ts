/** Schedules as Quartz writes them: `0 0/5 * * * ?` (docs/spec/scoring.md#jobs). */
import { Cron } from 'croner';

const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const;
/** Highest value of seconds, minutes, hours, days of the month, months; a step from a number goes up to it. */
const HIGHEST = [59, 59, 23, 31, 12] as const;
const DAY_OF_WEEK = 5;
const YEAR = 6;
const YEAR_HIGHEST = 2_099;

/** Why an expression is none, to be shown to its author. */
export class CronError extends Error {
  override readonly name = 'CronError';
}

export interface Schedule {
  /** The first time after another one, ms since 1970; undefined: never again. */
  next(after: number): number | undefined;
}

/**
 * @param timeZone of the IANA database, or an offset that the machine's Intl knows
 * @throws CronError
 */
export function parseSchedule(expression: string, timeZone: string): Schedule {
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== 6 && fields.length !== 7)
    throw new CronError(`it has ${fields.length} fields; a Quartz expression has 6, or 7 with a year`);
  if (fields[3] !== '?' && fields[DAY_OF_WEEK] !== '?' && fields[3] !== '*' && fields[DAY_OF_WEEK] !== '*')
    throw new CronError("one of day-of-month and day-of-week is '?'");
  checkTimeZone(timeZone);
  const pattern = fields
    .map((field, index) => (index === DAY_OF_WEEK ? daysOfWeek(field) : steps(field, index)))
    .join(' ');
  let cron: Cron;
  try {
    cron = new Cron(pattern, { timezone: timeZone, paused: true });
  } catch (error) {
    throw new CronError((error as Error).message.replace(/^CronPattern: /, ''));
  }
  return { next: (after) => cron.nextRun(new Date(after))?.getTime() };
}

/** @throws CronError */
export function checkTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
  } catch {
    throw new CronError(`'${timeZone}' is not a time zone`);
  }
}

/** `0/5` of Quartz is `0-59/5`. */
function steps(field: string, index: number): string {
  const highest = index === YEAR ? YEAR_HIGHEST : HIGHEST[index];
  return field.replace(
    /(^|,)(\d+)\/(\d+)/g,
    (_, before: string, first: string, step: string) => `${before}${first}-${highest}/${step}`,
  );
}

/** Quartz counts days from 1, Sunday; here they are names. */
function daysOfWeek(field: string): string {
  if (field === 'L') return 'SAT';
  const step = /^([1-7])\/([1-7])$/.exec(field);
  if (step !== null)
    return DAYS.filter((_, i) => i + 1 >= Number(step[1]) && (i + 1 - Number(step[1])) % Number(step[2]) === 0).join(
      ',',
    );
  return field.replace(/(?<![#/\d])\d+/g, (number) => {
    const day = DAYS[Number(number) - 1];
    if (day === undefined) throw new CronError(`'${number}' is not a day of the week; they are 1 (Sunday) to 7`);
    return day;
  });
}
