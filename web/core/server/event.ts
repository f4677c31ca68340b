/** Events as the console reads them. */
import { sendRaw } from '../api/send.ts';
import { PAGE_SIZE } from './managed-object.ts';

export interface DeviceEvent extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly time: string;
  readonly creationTime?: string;
  readonly source: { readonly id: string; readonly name?: string };
}

/** '' is left out. */
export type EventFilter = Readonly<Record<string, string>>;

const queryOf = (filter: EventFilter, more: EventFilter = {}): string =>
  new URLSearchParams(Object.entries({ ...filter, ...more }).filter(([, value]) => value !== '')).toString();

/** The request of a page of the list, for "Copy as" too. */
export const eventsPath = (filter: EventFilter, page = 1): string =>
  `/event/events?${queryOf(filter, { pageSize: String(PAGE_SIZE), currentPage: page === 1 ? '' : String(page) })}`;

/** @throws ApiError. */
export async function listEvents(
  filter: EventFilter,
  page: number,
  signal: AbortSignal,
): Promise<readonly DeviceEvent[]> {
  const answer = await sendRaw(eventsPath(filter, page), { signal });
  return ((await answer.json()) as { events: DeviceEvent[] }).events;
}

/** @throws ApiError. */
export async function countEvents(filter: EventFilter, signal: AbortSignal): Promise<number> {
  return Number(await (await sendRaw(`/event/events/count?${queryOf(filter)}`, { signal })).text());
}

/** As the server sends it: numbers keep their digits. @throws ApiError. */
export async function readEventText(id: string, signal: AbortSignal): Promise<string> {
  return (await sendRaw(`/event/events/${encodeURIComponent(id)}`, { signal })).text();
}

/** What is told of its file; undefined of an event without one, and while it is not complete. */
export function fileOf(event: DeviceEvent): { readonly name: string; readonly length: number | undefined } | undefined {
  const told = event['c8y_IsBinary'] as { name?: unknown; length?: unknown } | undefined;
  if (typeof told !== 'object' || told === null) return undefined;
  return {
    name: typeof told.name === 'string' && told.name !== '' ? told.name : event.id,
    length: typeof told.length === 'number' ? told.length : undefined,
  };
}

export const filePath = (id: string): string => `/event/events/${encodeURIComponent(id)}/binaries`;
