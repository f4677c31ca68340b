/**
 * Times as all screens show them: ISO order, 24 hours, in one zone. Every picker, axis and tooltip formats with these
 * functions, so they cannot disagree.
 */
import { ZONE_PARAMETER, linkedZone, preferences, tenantSettings } from '../preferences.ts';
import { locale } from '../text/language.ts';

let zoneOfBrowser: string | undefined;

/** The zone of the browser when the page was opened: every time on it is asked for it. */
export const browserZone = (): string => (zoneOfBrowser ??= new Intl.DateTimeFormat().resolvedOptions().timeZone);

/** Of those who have chosen none. */
export const usualZone = (): string => tenantSettings.value.zone || browserZone();

/** The zone that times are shown in. */
export const shownZone = (): string => linkedZone.value || preferences.value.zone || usualZone();

/** The address with the zone of its times. */
export function withZone(address: string): string {
  const url = new URL(address);
  url.searchParams.set(ZONE_PARAMETER, shownZone());
  return url.href;
}

const QUARTER_MS = 900_000;
/** Of a year that a person looks through by the hour there are fewer. */
const OFFSETS_MAX = 20_000;

const formats = new Map<string, Intl.DateTimeFormat>();
/** By zone and quarter of an hour, where zones change their offset: to ask the browser takes 10 µs, and axes ask for each tick. */
const offsets = new Map<string, number>();

function readOffset(ms: number, zone: string): number {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
    formats.set(zone, format);
  }
  const text = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  // `GMT` alone is UTC; before railways zones had seconds.
  const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(text) ?? [];
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * (sign === '-' ? -1_000 : 1_000);
}

/** Milliseconds that the zone is ahead of UTC at that time. */
function offsetMs(ms: number, zone: string): number {
  const quarter = Math.floor(ms / QUARTER_MS);
  const key = `${zone} ${quarter}`;
  let offset = offsets.get(key);
  if (offset === undefined) {
    if (offsets.size >= OFFSETS_MAX) offsets.clear();
    offset = readOffset(quarter * QUARTER_MS, zone);
    offsets.set(key, offset);
  }
  return offset;
}

interface Parts {
  readonly date: string;
  readonly time: string;
  readonly millis: string;
}

function partsOf(ms: number, zone: string): Parts {
  const [date, time] = new Date(ms + offsetMs(ms, zone)).toISOString().split('T');
  return { date, time: time.slice(0, 8), millis: time.slice(9, 12) };
}

/** @param time ISO text or milliseconds. @returns milliseconds, or undefined for a text that is not a time. */
export function millisOf(time: string | number | undefined | null): number | undefined {
  if (time === undefined || time === null) return undefined;
  const ms = typeof time === 'number' ? time : Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

/** `14:03:07` of today, `2026-11-21 14:03` of other days. */
export function shortTime(ms: number, { zone = shownZone(), now = Date.now() } = {}): string {
  const { date, time } = partsOf(ms, zone);
  return date === partsOf(now, zone).date ? time : `${date} ${time.slice(0, 5)}`;
}

/** `2026-11-21 14:03:07.250`, without the fraction where it is 0. */
export function fullTime(ms: number, zone = shownZone()): string {
  const { date, time, millis } = partsOf(ms, zone);
  return `${date} ${time}${millis === '000' ? '' : `.${millis}`}`;
}

/** `2026-11-21 14:03`, as fields take it. */
export function fieldTime(ms: number, zone = shownZone()): string {
  const { date, time } = partsOf(ms, zone);
  return `${date} ${time.slice(0, 5)}`;
}

/** `2026-11-21`. */
export const dayOf = (ms: number, zone = shownZone()): string => partsOf(ms, zone).date;

/** Minutes that the zone is ahead of UTC at that time. */
export const offsetMinutes = (ms: number, zone: string): number => Math.round(offsetMs(ms, zone) / 60_000);

/** `UTC+01:00`. */
export function offsetText(ms: number, zone = shownZone()): string {
  const minutes = offsetMinutes(ms, zone);
  if (minutes === 0) return 'UTC';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '−' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

const WALL_TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?))?$/;

/**
 * The instant of a time on the wall, `2026-11-21 14:03`, or of an ISO text with its offset.
 * Of a time that happens twice the first counts; one that a zone skips is as much later as the clock is put forward.
 * @returns undefined when the text is not a time.
 */
export function instantOf(text: string, zone = shownZone()): number | undefined {
  const wall = WALL_TIME.exec(text.trim());
  if (wall === null) return /[Zz]|[+-]\d{2}:?\d{2}$/.test(text) ? millisOf(text.trim()) : undefined;
  const utc = Date.parse(`${wall[1]}T${wall[2] ?? '00:00'}Z`);
  if (Number.isNaN(utc)) return undefined;
  const candidates = [utc - 86_400_000, utc + 86_400_000].map((near) => utc - offsetMinutes(near, zone) * 60_000);
  const right = candidates.filter((ms) => ms + offsetMinutes(ms, zone) * 60_000 === utc);
  return right.length > 0 ? Math.min(...right) : candidates[0];
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** `3 min. ago`. */
export function ageText(ms: number, now = Date.now()): string {
  const [unit, length] = UNITS.find(([, size]) => Math.abs(now - ms) >= size) ?? UNITS[UNITS.length - 1];
  const format = new Intl.RelativeTimeFormat(locale(), { style: 'narrow', numeric: 'auto' });
  return format.format(Math.trunc((ms - now) / length), unit);
}
