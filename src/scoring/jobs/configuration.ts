/** What a job is told to do, and the rules for it (docs/spec/scoring.md#jobs). */
import { parseSchedule } from './cron.ts';
import { zoneOf } from './time-zones.ts';
import { parseTime } from '../../model/documents/iso-time.ts';

export interface PeriodicSchedule {
  readonly frequency: 'periodic';
  readonly cronExpression: string;
  readonly dataFromPreviousNSeconds: number;
  readonly timeZone: string;
}

export interface OnceSchedule {
  readonly frequency: 'once';
  /** As they were sent: ISO 8601 with milliseconds and offset. */
  readonly scheduleAt: string;
  readonly dataFrom: string;
  readonly dataTo: string;
}

export interface JobConfiguration {
  readonly jobName: string;
  readonly jobDescription: string;
  readonly groupOrDeviceId: string;
  readonly modelOrGroup: string;
  readonly applyAllModels: boolean;
  /** Input of the model → `<measurementType>.<seriesName>.value`. */
  readonly modelToDeviceMappings: Readonly<Record<string, string>>;
  readonly jobSchedule: PeriodicSchedule | OnceSchedule;
}

/** What is wrong with a configuration: the text of the answer 400. */
export class JobConfigurationError extends Error {
  override readonly name = 'JobConfigurationError';
}

const SECONDS_MAX = 86_400;
const NAME_CHARACTERS_MAX = 200;
const DESCRIPTION_CHARACTERS_MAX = 2_000;
const MAPPINGS_MAX = 1_000;
/** Of the mappings of one job. */
const MAPPINGS_CHARACTERS_MAX = 65_536;
const PATH_CHARACTERS_MAX = 1_000;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * @param now ms since 1970: a job that runs once does so later
 * @throws JobConfigurationError
 */
export function readJobConfiguration(body: unknown, now: number): JobConfiguration {
  const job = objectOf(body, 'The job');
  const groupOrDeviceId = idOf(job.groupOrDeviceId);
  return {
    jobName: safe(textOf(job, 'jobName', NAME_CHARACTERS_MAX)),
    jobDescription: safe(
      job.jobDescription === undefined || job.jobDescription === null || job.jobDescription === ''
        ? ''
        : textOf(job, 'jobDescription', DESCRIPTION_CHARACTERS_MAX),
    ),
    groupOrDeviceId,
    modelOrGroup: textOf(job, 'modelOrGroup', NAME_CHARACTERS_MAX),
    applyAllModels: flagOf(job.applyAllModels),
    modelToDeviceMappings: mappingsOf(job.modelToDeviceMappings),
    jobSchedule: scheduleOf(objectOf(job.jobSchedule, 'jobSchedule'), now),
  };
}

/** A measurement path of a mapping: what is before the last two parts, and the series. */
export function pathOf(path: string): { readonly type: string; readonly series: string } | undefined {
  const parts = path.split('.');
  if (parts.length < 3 || parts.at(-1) !== 'value' || parts.some((part) => part === '')) return undefined;
  return { type: parts.slice(0, -2).join('.'), series: parts.at(-2) as string };
}

export type Body = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown, name: string): Body {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  throw new JobConfigurationError(value === undefined ? `${name} is mandatory.` : `${name} must be a JSON object.`);
}

export function textOf(body: Body, name: string, charactersMax: number): string {
  const value = body[name];
  if (value === undefined || value === null || value === '') throw new JobConfigurationError(`${name} is mandatory.`);
  if (typeof value !== 'string') throw new JobConfigurationError(`${name} must be a string.`);
  if (value.length > charactersMax)
    throw new JobConfigurationError(`${name} has ${value.length} characters, at most ${charactersMax} are allowed.`);
  return value;
}

/** Unsafe characters become underscores. */
export function safe(text: string): string {
  return text.replace(/[^\p{L}\p{N} _.,:;()+-]/gu, '_');
}

export function idOf(value: unknown): string {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : undefined;
  if (text === undefined) throw new JobConfigurationError('groupOrDeviceId is mandatory.');
  if (!/^\d{1,18}$/.test(text)) throw new JobConfigurationError(`groupOrDeviceId must be a number, but is '${text}'.`);
  return text;
}

function flagOf(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw new JobConfigurationError('applyAllModels must be true or false.');
  return value;
}

export function mappingsOf(value: unknown): Readonly<Record<string, string>> {
  const given = objectOf(value, 'modelToDeviceMappings');
  const names = Object.keys(given);
  if (names.length === 0) throw new JobConfigurationError('modelToDeviceMappings is mandatory.');
  if (names.length > MAPPINGS_MAX)
    throw new JobConfigurationError(
      `modelToDeviceMappings has ${names.length} members, at most ${MAPPINGS_MAX} are allowed.`,
    );
  let characters = 0;
  const mappings = Object.create(null) as Record<string, string>;
  for (const name of names) {
    const path = given[name];
    if (typeof path !== 'string' || path.length > PATH_CHARACTERS_MAX || pathOf(path) === undefined)
      throw new JobConfigurationError(
        `modelToDeviceMappings of '${name}' must have the form <measurementType>.<seriesName>.value, but is '${String(path).slice(0, 200)}'.`,
      );
    mappings[name] = path;
    characters += name.length + path.length;
  }
  if (characters > MAPPINGS_CHARACTERS_MAX)
    throw new JobConfigurationError(
      `modelToDeviceMappings has ${characters} characters, at most ${MAPPINGS_CHARACTERS_MAX} are allowed.`,
    );
  return mappings;
}

function scheduleOf(schedule: Body, now: number): JobConfiguration['jobSchedule'] {
  if (schedule.frequency === 'periodic') return periodicOf(schedule, now);
  if (schedule.frequency === 'once') return onceOf(schedule, now);
  throw new JobConfigurationError('frequency can be either once or periodic.');
}

function periodicOf(schedule: Body, now: number): PeriodicSchedule {
  const cronExpression = textOf(schedule, 'cronExpression', NAME_CHARACTERS_MAX);
  const timeZone = textOf(schedule, 'timeZone', NAME_CHARACTERS_MAX);
  const seconds = schedule.dataFromPreviousNSeconds;
  if (seconds === undefined) throw new JobConfigurationError('dataFromPreviousNSeconds is mandatory.');
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > SECONDS_MAX)
    throw new JobConfigurationError(
      `dataFromPreviousNSeconds must be between 1 and ${SECONDS_MAX}, but is ${String(seconds).slice(0, 50)}.`,
    );
  if (zoneOf(timeZone) === undefined) throw new JobConfigurationError(`timeZone '${timeZone}' is not valid.`);
  let next: number | undefined;
  try {
    next = parseSchedule(cronExpression, timeZone).next(now);
  } catch (error) {
    throw new JobConfigurationError(`cronExpression '${cronExpression}' is not valid: ${(error as Error).message}.`);
  }
  if (next === undefined)
    throw new JobConfigurationError(`cronExpression '${cronExpression}' names no time in the future.`);
  return { frequency: 'periodic', cronExpression, dataFromPreviousNSeconds: seconds, timeZone };
}

function onceOf(schedule: Body, now: number): OnceSchedule {
  const [scheduleAt, dataFrom, dataTo] = (['scheduleAt', 'dataFrom', 'dataTo'] as const).map((name) =>
    timeOf(schedule, name),
  ) as [string, string, string];
  if (Date.parse(scheduleAt) <= now)
    throw new JobConfigurationError(`scheduleAt must be in the future, but is ${scheduleAt}.`);
  const window = Date.parse(dataTo) - Date.parse(dataFrom);
  if (window <= 0) throw new JobConfigurationError('dataFrom must be before dataTo.');
  if (window > SECONDS_MAX * 1_000)
    throw new JobConfigurationError('The difference between dataFrom and dataTo must not exceed 24 hours.');
  return { frequency: 'once', scheduleAt, dataFrom, dataTo };
}

function timeOf(schedule: Body, name: string): string {
  const text = textOf(schedule, name, NAME_CHARACTERS_MAX);
  if (!TIME.test(text) || parseTime(text) === undefined)
    throw new JobConfigurationError(`${name} must have the format yyyy-MM-dd'T'HH:mm:ss.SSSXXX, but is '${text}'.`);
  return text;
}

/** The schedule as answers show it: members that do not apply are empty. */
export function shownSchedule(schedule: JobConfiguration['jobSchedule']): object {
  if (schedule.frequency === 'periodic') return schedule;
  return { ...schedule, cronExpression: '', dataFromPreviousNSeconds: 0, timeZone: 'UTC' };
}

/** When a job runs next after a time; undefined: never again. */
export function nextRun(schedule: JobConfiguration['jobSchedule'], after: number): number | undefined {
  if (schedule.frequency === 'once') {
    const at = Date.parse(schedule.scheduleAt);
    return at > after ? at : undefined;
  }
  return parseSchedule(schedule.cronExpression, schedule.timeZone).next(after);
}

/** Times that are counted; a longer absence is told as more than these. */
const LEFT_OUT_MAX = 100;

/** What the author of a job is told of its times between two, both ms since 1970: the later one is part of it. */
export function leftOutTimes(schedule: JobConfiguration['jobSchedule'], after: number, to: number): string | undefined {
  if (schedule.frequency === 'once') return undefined;
  const times = parseSchedule(schedule.cronExpression, schedule.timeZone);
  const first = times.next(after);
  let last = after;
  let count = 0;
  for (let next = first; next !== undefined && next <= to && count <= LEFT_OUT_MAX; next = times.next(next)) {
    last = next;
    count += 1;
  }
  if (first === undefined || count === 0) return undefined;
  const shown = (time: number): string => new Date(time).toISOString();
  if (count > LEFT_OUT_MAX) return `More than ${LEFT_OUT_MAX} times were left out, from ${shown(first)} on.`;
  if (count === 1) return `1 time was left out: ${shown(first)}.`;
  return `${count} times were left out, from ${shown(first)} to ${shown(last)}.`;
}

/** The measurements that a run looks at, ms since 1970: from inclusive, to exclusive. @param at when the run is due */
export function dataWindow(
  schedule: JobConfiguration['jobSchedule'],
  at: number,
): { readonly from: number; readonly to: number } {
  // As the filters of lists: dateTo is part of the window.
  if (schedule.frequency === 'once')
    return { from: Date.parse(schedule.dataFrom), to: Date.parse(schedule.dataTo) + 1 };
  return { from: at - schedule.dataFromPreviousNSeconds * 1_000, to: at };
}
