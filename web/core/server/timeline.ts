/** What happened to a device, of all kinds in one order: alarms, events, operations, audit records. */
import { sendRaw } from '../api/send.ts';

export const TIMELINE_KINDS = ['alarm', 'event', 'operation', 'audit'] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

export interface TimelineEntry {
  readonly kind: TimelineKind;
  readonly id: string;
  readonly ms: number;
  readonly text: string;
  readonly type: string;
  /** The status of alarms and operations. */
  readonly state: string;
  /** Who did what an audit record tells. */
  readonly user: string;
  /** Of alarms. */
  readonly severity: string;
}

export interface TimelinePage {
  /** Newest first. */
  readonly entries: readonly TimelineEntry[];
  /** Older entries are asked for with this time; undefined when there are none. */
  readonly olderMs: number | undefined;
}

/** Entries of each kind in one request. */
const PER_KIND = 50;

type Entity = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** @param entity as the server lists it. */
function entryOf(kind: TimelineKind, entity: Entity): TimelineEntry {
  const time = kind === 'operation' ? entity['creationTime'] : entity['time'];
  const fragment = Object.keys(entity).find((name) => /^(?:c8y|com)_/.test(name)) ?? '';
  return {
    kind,
    id: textOf(entity['id']),
    ms: Date.parse(textOf(time)),
    text: textOf(kind === 'operation' ? entity['description'] : entity['text']) || fragment,
    type: textOf(entity['type']) || (kind === 'operation' ? fragment : ''),
    state: kind === 'alarm' || kind === 'operation' ? textOf(entity['status']) : '',
    user: kind === 'audit' ? textOf(entity['user']) : '',
    severity: kind === 'alarm' ? textOf(entity['severity']) : '',
  };
}

/**
 * One page of the lists. A list that is full may have more before its last entry: what is older than that in the other
 * lists waits for the next page, so that nothing is out of order or left out.
 */
function mergedPage(lists: readonly (readonly TimelineEntry[])[], perKind = PER_KIND): TimelinePage {
  const ends = lists.filter((list) => list.length >= perKind).map((list) => list[list.length - 1].ms);
  const end = ends.length === 0 ? undefined : Math.max(...ends);
  const entries = lists
    .flat()
    .filter(({ ms }) => end === undefined || ms >= end)
    .sort((left, right) => right.ms - left.ms);
  // Entries of the last millisecond are read again with the next page; one that holds nothing else goes on before it.
  return { entries, olderMs: end !== undefined && entries[0].ms === end ? end - 1 : end };
}

const LISTS: Readonly<Record<TimelineKind, { readonly path: string; readonly member: string }>> = {
  alarm: { path: '/alarm/alarms?source=', member: 'alarms' },
  event: { path: '/event/events?source=', member: 'events' },
  operation: { path: '/devicecontrol/operations?revert=true&deviceId=', member: 'operations' },
  audit: { path: '/audit/auditRecords?source=', member: 'auditRecords' },
};

/** Requests of a page, one for each kind. @param beforeMs entries up to this time; undefined for the newest. */
export function timelinePaths(
  device: string,
  kinds: readonly TimelineKind[],
  beforeMs: number | undefined,
): readonly string[] {
  const until =
    beforeMs === undefined ? '' : `&dateFrom=1970-01-01T00:00:00Z&dateTo=${new Date(beforeMs + 1).toISOString()}`;
  return kinds.map((kind) => `${LISTS[kind].path}${encodeURIComponent(device)}&pageSize=${PER_KIND}${until}`);
}

/**
 * @param beforeMs entries up to this time; undefined for the newest.
 * @throws ApiError.
 */
export async function readTimeline(
  device: string,
  kinds: readonly TimelineKind[],
  { beforeMs, signal }: { readonly beforeMs: number | undefined; readonly signal: AbortSignal },
): Promise<TimelinePage> {
  const paths = timelinePaths(device, kinds, beforeMs);
  const lists = await Promise.all(
    kinds.map(async (kind, at) => {
      const answer = await sendRaw(paths[at], { signal });
      const entities = ((await answer.json()) as Readonly<Record<string, Entity[]>>)[LISTS[kind].member];
      return entities.map((entity) => entryOf(kind, entity));
    }),
  );
  return mergedPage(lists);
}
