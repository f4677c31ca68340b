const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

const two = (number: number): string => String(number).padStart(2, '0');
const blank = (number: number): string => String(number).padStart(2, ' ');
const hour12 = (date: Date): number => date.getUTCHours() % 12 || 12;

const DAY_MS = 86_400_000;

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY_MS) + 1;
}

/** Week of the year whose weeks begin at a day of the week; days before the first one are in week 0. */
function weekOf(date: Date, firstDay: number): number {
  return Math.floor((dayOfYear(date) + 6 - ((date.getUTCDay() - firstDay + 7) % 7)) / 7);
}

/** Year and week of ISO 8601: the week belongs to the year of its Thursday. */
function isoWeek(date: Date): readonly [year: number, week: number] {
  const thursday = new Date(date.getTime() + (3 - ((date.getUTCDay() + 6) % 7)) * DAY_MS);
  return [thursday.getUTCFullYear(), Math.ceil(dayOfYear(thursday) / 7)];
}

/** Conversions of strftime in the POSIX locale. */
const CONVERSIONS = new Map<string, (date: Date) => string>([
  ['a', (date) => DAYS[date.getUTCDay()].slice(0, 3)],
  ['A', (date) => DAYS[date.getUTCDay()]],
  ['b', (date) => MONTHS[date.getUTCMonth()].slice(0, 3)],
  ['h', (date) => MONTHS[date.getUTCMonth()].slice(0, 3)],
  ['B', (date) => MONTHS[date.getUTCMonth()]],
  ['C', (date) => two(Math.floor(date.getUTCFullYear() / 100))],
  ['d', (date) => two(date.getUTCDate())],
  ['e', (date) => blank(date.getUTCDate())],
  ['g', (date) => two(isoWeek(date)[0] % 100)],
  ['G', (date) => String(isoWeek(date)[0])],
  ['H', (date) => two(date.getUTCHours())],
  ['I', (date) => two(hour12(date))],
  ['j', (date) => String(dayOfYear(date)).padStart(3, '0')],
  ['k', (date) => blank(date.getUTCHours())],
  ['l', (date) => blank(hour12(date))],
  ['m', (date) => two(date.getUTCMonth() + 1)],
  ['M', (date) => two(date.getUTCMinutes())],
  ['n', () => '\n'],
  ['p', (date) => (date.getUTCHours() < 12 ? 'AM' : 'PM')],
  ['s', (date) => String(Math.floor(date.getTime() / 1000))],
  ['S', (date) => two(date.getUTCSeconds())],
  ['t', () => '\t'],
  ['u', (date) => String(date.getUTCDay() || 7)],
  ['U', (date) => two(weekOf(date, 0))],
  ['V', (date) => two(isoWeek(date)[1])],
  ['w', (date) => String(date.getUTCDay())],
  ['W', (date) => two(weekOf(date, 1))],
  ['y', (date) => two(date.getUTCFullYear() % 100)],
  ['Y', (date) => String(date.getUTCFullYear())],
  ['z', () => '+0000'],
  ['Z', () => 'UTC'],
  ['%', () => '%'],
]);

/** Conversions that stand for several. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ['c', '%a %b %e %H:%M:%S %Y'],
  ['D', '%m/%d/%y'],
  ['F', '%Y-%m-%d'],
  ['r', '%I:%M:%S %p'],
  ['R', '%H:%M'],
  ['T', '%H:%M:%S'],
  ['x', '%m/%d/%y'],
  ['X', '%H:%M:%S'],
]);

/**
 * A moment, in seconds since 1970, in the style of strftime.
 *
 * @returns undefined where the pattern has an unknown conversion, or the moment is beyond the calendar
 */
export function formatDate(seconds: number, pattern: string): string | undefined {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return undefined;
  let isKnown = true;
  const long = pattern.replace(/%[EO]?(.)/gs, (whole, letter: string) => SHORT.get(letter) ?? whole);
  const text = long.replace(/%[EO]?(.?)/gs, (whole, letter: string) => {
    const convert = CONVERSIONS.get(letter);
    if (convert === undefined) isKnown = false;
    return convert?.(date) ?? whole;
  });
  return isKnown ? text : undefined;
}
