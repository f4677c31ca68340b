import { type Expression, numberFrom, ofNumbers, ofValues, textFrom } from '../../fields/expression.ts';
import { InvalidRecord, type Row } from '../../fields/row.ts';
import { castText, type DataType, daysBefore, SECONDS_OF_DAY, yearOf } from '../../fields/types.ts';
import type { BuiltIn } from './built-in.ts';
import { formatDate } from './date-format.ts';

/** A moment as seconds since 1970; of a time of the day as seconds since midnight. NaN where it is missing. */
function secondsFrom(expression: Expression): (row: Row) => number {
  const { type, number, value } = expression;
  if (type === 'date') return (row) => number(row) * SECONDS_OF_DAY;
  if (type === 'dateTime' || type === 'time' || type === 'timeSeconds') return number;
  if (type?.startsWith('dateDaysSince')) {
    const days = daysBefore(yearOf(type));
    return (row) => (number(row) + days) * SECONDS_OF_DAY;
  }
  if (type?.startsWith('dateTimeSecondsSince')) {
    const seconds = daysBefore(yearOf(type)) * SECONDS_OF_DAY;
    return (row) => number(row) + seconds;
  }
  return (row) => {
    const given = value(row);
    if (given === undefined) return Number.NaN;
    if (typeof given === 'string')
      for (const [as, unit] of MOMENTS) {
        const found = castText(given, as);
        if (typeof found === 'number') return found * unit;
      }
    throw new InvalidRecord(`'${String(given)}' is not a date or time`);
  };
}

const MOMENTS: readonly (readonly [DataType, number])[] = [
  ['date', SECONDS_OF_DAY],
  ['dateTime', 1],
  ['time', 1],
];

function sinceYear(unit: number): BuiltIn {
  return {
    min: 2,
    max: 2,
    compile: ({ args }) => {
      const [moment, year] = [secondsFrom(args[0]), numberFrom(args[1])];
      return ofNumbers('integer', (row) => {
        const [seconds, from] = [moment(row), year(row)];
        if (Number.isNaN(seconds) || Number.isNaN(from)) return Number.NaN;
        return Math.floor((seconds - daysBefore(from) * SECONDS_OF_DAY) / unit);
      });
    },
  };
}

const sinceMidnight: BuiltIn = {
  min: 1,
  max: 1,
  compile: ({ args }) => {
    const moment = secondsFrom(args[0]);
    return ofNumbers('integer', (row) => {
      const seconds = Math.floor(moment(row));
      return seconds - Math.floor(seconds / SECONDS_OF_DAY) * SECONDS_OF_DAY;
    });
  },
};

const format: BuiltIn = {
  min: 2,
  max: 2,
  compile: ({ args }) => {
    const [moment, pattern] = [secondsFrom(args[0]), textFrom(args[1])];
    return ofValues('string', (row) => {
      const [seconds, shape] = [moment(row), pattern(row)];
      if (Number.isNaN(seconds) || shape === undefined) return undefined;
      const text = formatDate(seconds, shape);
      if (text === undefined) throw new InvalidRecord(`formatDatetime: '${shape}' is not a pattern for dates`);
      return text;
    });
  },
};

export const DATES: ReadonlyMap<string, BuiltIn> = new Map([
  ['dateDaysSinceYear', sinceYear(SECONDS_OF_DAY)],
  ['dateSecondsSinceYear', sinceYear(1)],
  ['dateSecondsSinceMidnight', sinceMidnight],
  ['formatDatetime', format],
]);
