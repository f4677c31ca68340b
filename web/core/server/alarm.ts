/** Alarms as the console reads and changes them. */
import { sendRaw } from '../api/send.ts';
import { PAGE_SIZE } from './managed-object.ts';

export const ALARM_STATUSES = ['ACTIVE', 'ACKNOWLEDGED', 'CLEARED'] as const;
export type AlarmStatus = (typeof ALARM_STATUSES)[number];
/** The worst first. */
export const SEVERITIES = ['CRITICAL', 'MAJOR', 'MINOR', 'WARNING'] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface Alarm {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly severity: Severity;
  readonly status: AlarmStatus;
  readonly time: string;
  readonly lastUpdated?: string;
  readonly creationTime?: string;
  readonly firstOccurrenceTime?: string;
  readonly count?: number;
  readonly source: { readonly id: string; readonly name?: string };
}

/** Filters of lists, counts and changes of many; '' is left out. */
export type AlarmFilter = Readonly<Record<string, string>>;

const queryOf = (filter: AlarmFilter, more: AlarmFilter = {}): string =>
  new URLSearchParams(Object.entries({ ...filter, ...more }).filter(([, value]) => value !== '')).toString();

/** The request of a page of the list, for "Copy as" too. */
export const alarmsPath = (filter: AlarmFilter, page = 1, pageSize = PAGE_SIZE): string =>
  `/alarm/alarms?${queryOf(filter, { pageSize: String(pageSize), currentPage: page === 1 ? '' : String(page) })}`;

/** @throws ApiError. */
export async function listAlarms(
  filter: AlarmFilter,
  { page = 1, pageSize = PAGE_SIZE, signal }: { page?: number; pageSize?: number; signal: AbortSignal },
): Promise<readonly Alarm[]> {
  const answer = await sendRaw(alarmsPath(filter, page, pageSize), { signal });
  return ((await answer.json()) as { alarms: Alarm[] }).alarms;
}

/** @throws ApiError. */
export async function countAlarms(filter: AlarmFilter, signal?: AbortSignal): Promise<number> {
  return Number(await (await sendRaw(`/alarm/alarms/count?${queryOf(filter)}`, signal ? { signal } : {})).text());
}

export type AlarmCounts = Readonly<Record<Severity, number>>;

/** How many there are of each severity. @throws ApiError. */
export async function countBySeverity(filter: AlarmFilter, signal: AbortSignal): Promise<AlarmCounts> {
  const counts = await Promise.all(
    SEVERITIES.map(async (severity) => [severity, await countAlarms({ ...filter, severity }, signal)] as const),
  );
  return Object.fromEntries(counts) as AlarmCounts;
}

/** The alarm as the server sends it, with its history: numbers keep their digits. @throws ApiError. */
export async function readAlarmText(id: string, signal?: AbortSignal): Promise<string> {
  return (await sendRaw(`/alarm/alarms/${encodeURIComponent(id)}`, signal ? { signal } : {})).text();
}

const JSON_BODY = { 'Content-Type': 'application/json', Accept: 'application/json' };

/** @returns the changed alarm. @throws ApiError. */
export async function setAlarmStatus(id: string, status: AlarmStatus): Promise<Alarm> {
  const init = { method: 'PUT', headers: JSON_BODY, body: JSON.stringify({ status }) };
  return (await (await sendRaw(`/alarm/alarms/${encodeURIComponent(id)}`, init)).json()) as Alarm;
}

export interface ChangeOfMany {
  /** By the server's clock: alarms that were raised later stay as they are. */
  readonly requestedAt: string;
  /** False where it goes on behind the answer. */
  readonly isDone: boolean;
}

/** Changes all that match (docs/spec/alarms.md#changes-of-many). @throws ApiError. */
export async function setStatusOfMany(filter: AlarmFilter, status: AlarmStatus): Promise<ChangeOfMany> {
  const init = { method: 'PUT', headers: JSON_BODY, body: JSON.stringify({ status }) };
  const answer = await sendRaw(`/alarm/alarms?${queryOf(filter)}`, init);
  return { requestedAt: answer.headers.get('x-millrace-requested-at') ?? '', isDone: answer.status !== 202 };
}
