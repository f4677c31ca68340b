/** Bodies of commands that delete. */
import type { Collection } from './collections.ts';

/** Documents of one actor, of a tenant that exists no more. Repeatable. */
export interface DocumentsRemove {
  readonly collection: Exclude<Collection, 'pending' | 'meta'>;
  readonly ids: readonly string[];
}

/** `onlyWhenOver` leaves an alarm that is not cleared and an operation that is not over (retention). */
export interface EntityDelete {
  readonly id: string;
  readonly onlyWhenOver?: boolean;
}
/** All measurements, events, alarms, operations and subscriptions of a managed object. */
export interface SourceDelete {
  readonly source: string;
}
/**
 * `sources` of a filter are ids, comma separated: those of a hierarchy, its root first. `ids` are those of measurements
 * that are deleted together.
 */
export interface DataDelete {
  readonly table: 'measurements' | 'events' | 'alarms' | 'operations';
  readonly filter: Readonly<Record<string, string>>;
}

/** @returns the only sources whose data a DELETE takes; undefined where it may take that of others. */
export function sourcesOf({ source, sources }: DataDelete['filter']): readonly number[] | undefined {
  const ids = source ?? sources;
  return ids === undefined ? undefined : ids.split(',').map(Number);
}

/** Of a hierarchy, from its root, or of children. */
const SOURCES_SHOWN = 10;

/** Ids for the audit log, the first of many. */
export const someOf = (ids: readonly string[]): string =>
  ids.length <= SOURCES_SHOWN ? ids.join(',') : `${ids.slice(0, SOURCES_SHOWN).join(',')},… (${ids.length})`;

/** Of a DELETE, for the audit log. */
export function describeFilter(filter: DataDelete['filter']): string {
  const filters = Object.entries(filter)
    .map(([name, value]) => `${name}=${name === 'sources' || name === 'ids' ? someOf(value.split(',')) : value}`)
    .join(', ');
  return filters === '' ? 'all' : filters;
}
