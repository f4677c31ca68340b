/** Amounts with their units. */
import { numberText } from './language.ts';

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `3.2 MiB`. */
export function bytesText(bytes: number): string {
  const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), BYTE_UNITS.length - 1);
  const value = bytes / 1_024 ** step;
  return `${numberText(value, { maximumFractionDigits: value < 10 && step > 0 ? 1 : 0 })} ${BYTE_UNITS[step]}`;
}

const DURATIONS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** The two largest units: `3 days 4 hr`. */
export function durationText(seconds: number): string {
  const first = Math.max(
    DURATIONS.findIndex(([, length]) => seconds >= length),
    0,
  );
  const start = seconds < 1 ? DURATIONS.length - 1 : first;
  let rest = Math.floor(seconds);
  return DURATIONS.slice(start, start + 2)
    .map(([unit, length]) => {
      const count = Math.floor(rest / length);
      rest -= count * length;
      return numberText(count, { style: 'unit', unit, unitDisplay: 'short' });
    })
    .join(' ');
}
