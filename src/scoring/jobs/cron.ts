/**
 * Schedules as Quartz writes them: `0 0/5 * * * ?` (docs/spec/scoring.md#jobs). Ranges and steps become lists of numbers,
 * since those of Quartz may pass the end of their field (`FRI-MON`, `22-2`); croner finds the times.
 */
import { Cron } from 'croner';
import { zoneOf } from './time-zones.ts';

interface Field {
  readonly name: string;
  readonly lowest: number;
  readonly highest: number;
  /** Names of its values, from the lowest on. */
  readonly names?: readonly string[];
}

const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const;
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'] as const;
const FIELDS: readonly Field[] = [
  { name: 'second', lowest: 0, highest: 59 },
  { name: 'minute', lowest: 0, highest: 59 },
  { name: 'hour', lowest: 0, highest: 23 },
  { name: 'day of the month', lowest: 1, highest: 31 },
  { name: 'month', lowest: 1, highest: 12, names: MONTHS },
  { name: 'day of the week', lowest: 1, highest: 7, names: DAYS },
  { name: 'year', lowest: 1_970, highest: 2_099 },
];
const [DAY, MONTH, DAY_OF_WEEK, YEAR] = [3, 4, 5, 6] as const;
const FIELDS_MIN = 6;

/** Why an expression is none, to be shown to its author. */
class CronError extends Error {
  override readonly name = 'CronError';
}

export interface Schedule {
  /** The first time after another one, ms since 1970; undefined: never again. */
  next(after: number): number | undefined;
}

/**
 * @param timeZone of the IANA database, an offset (`GMT+05:30`), or a short name of Java (`PST`)
 * @throws CronError
 */
export function parseSchedule(expression: string, timeZone: string): Schedule {
  const fields = expression.trim().toUpperCase().split(/\s+/);
  if (fields.length !== FIELDS_MIN && fields.length !== FIELDS.length)
    throw new CronError(`it has ${fields.length} fields; a Quartz expression has 6, or 7 with a year`);
  const [day, dayOfWeek] = [fields[DAY], fields[DAY_OF_WEEK]] as [string, string];
  if (day !== '?' && dayOfWeek !== '?' && day !== '*' && dayOfWeek !== '*')
    throw new CronError("one of day-of-month and day-of-week is '?'");
  const zone = zoneOf(timeZone);
  if (zone === undefined) throw new CronError(`'${timeZone}' is not a time zone`);
  const listed = fields.map((field, index) => listOf(field, FIELDS[index] as Field, index));
  const crons = patternsOf(listed).map((pattern) => {
    try {
      return new Cron(pattern, { ...zone, paused: true });
    } catch (error) {
      throw new CronError((error as Error).message.replace(/^CronPattern: /, ''));
    }
  });
  return {
    next: (after) => {
      const times = crons.flatMap((cron) => cron.nextRun(new Date(after))?.getTime() ?? []);
      return times.length === 0 ? undefined : Math.min(...times);
    },
  };
}

/** A field as croner takes it. @throws CronError */
function listOf(field: string, rules: Field, index: number): string {
  if (field === '*' || field === '?') return '*';
  if (index === DAY && /^(L(-\d+W?)?|LW|\d+W)$/.test(field)) return field;
  if (index === DAY_OF_WEEK) {
    if (field === 'L') return 'SAT';
    // The third Friday, the last Friday.
    const nth = /^([A-Z]{3}|\d+)(#[1-5]|L)$/.exec(field);
    if (nth !== null) return `${DAYS[valueOf(nth[1] as string, rules) - 1]}${nth[2]}`;
  }
  const values = new Set(field.split(',').flatMap((part) => valuesOf(part, rules)));
  const sorted = [...values].sort((a, b) => a - b);
  return (index === DAY_OF_WEEK ? sorted.map((value) => DAYS[value - 1]) : sorted).join(',');
}

/** Values of `a`, `a-b`, `a/step`, `a-b/step`, `*` and `/step`. @throws CronError */
function valuesOf(part: string, rules: Field): number[] {
  const { name, lowest, highest } = rules;
  const [, range = '', stepText] = /^([^/]*)(?:\/(\d+))?$/.exec(part) ?? [];
  const bad = new CronError(`Invalid value for ${name}: ${part}`);
  if (range === '' && stepText === undefined) throw bad;
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step < 1 || step > highest) throw bad;
  const [from, to, more] = range === '*' || range === '' ? [String(lowest), String(highest)] : range.split('-');
  if (more !== undefined || from === undefined || from === '' || to === '') throw bad;
  const first = valueOf(from, rules);
  const last = to === undefined ? (stepText === undefined ? first : highest) : valueOf(to, rules);
  // Of a range that passes the end of its field.
  const size = highest - lowest + 1;
  const end = last < first ? last + size : last;
  const values: number[] = [];
  for (let value = first; value <= end; value += step) values.push(value > highest ? value - size : value);
  return values;
}

/** @throws CronError */
function valueOf(text: string, { name, lowest, highest, names }: Field): number {
  const named = names?.indexOf(text) ?? -1;
  if (named !== -1) return lowest + named;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= lowest && value <= highest) return value;
  if (names === DAYS) throw new CronError(`'${text}' is not a day of the week; they are 1 (Sunday) to 7`);
  throw new CronError(`Invalid value for ${name}: ${text}`);
}

/** Months by their length; February has two, by the year. */
const LENGTHS: readonly { readonly days: number; readonly months: readonly number[]; readonly isLeap?: boolean }[] = [
  { days: 31, months: [1, 3, 5, 7, 8, 10, 12] },
  { days: 30, months: [4, 6, 9, 11] },
  { days: 28, months: [2], isLeap: false },
  { days: 29, months: [2], isLeap: true },
];
const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

/** Some days before the last one of the month (`L-3`, of working days `L-3W`) are a pattern for each length of months. @throws CronError */
function patternsOf(fields: readonly string[]): string[] {
  const [, before, weekday = ''] = /^L-(\d+)(W?)$/.exec(fields[DAY] as string) ?? [];
  if (before === undefined) return [fields.join(' ')];
  const rules = FIELDS as readonly [Field, Field, Field, Field, Field, Field, Field];
  if (Number(before) >= rules[DAY].highest) throw new CronError(`Invalid value for ${rules[DAY].name}: L-${before}`);
  const numbersOf = (field: string | undefined, { lowest, highest }: Field): number[] =>
    field === undefined || field === '*'
      ? Array.from({ length: highest - lowest + 1 }, (_, index) => lowest + index)
      : field.split(',').map(Number);
  const months = numbersOf(fields[MONTH], rules[MONTH]);
  const years = numbersOf(fields[YEAR], rules[YEAR]);
  return LENGTHS.flatMap(({ days, months: ofLength, isLeap: wanted }) => {
    const day = days - Number(before);
    const ofPattern = months.filter((month) => ofLength.includes(month));
    const inYears = years.filter((year) => wanted === undefined || isLeap(year) === wanted);
    if (day < 1 || ofPattern.length === 0 || inYears.length === 0) return [];
    const [second, minute, hour] = fields;
    return [[second, minute, hour, `${day}${weekday}`, ofPattern.join(','), '*', inYears.join(',')].join(' ')];
  });
}
