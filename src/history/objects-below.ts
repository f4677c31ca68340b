/** Everything below managed objects by links of every kind, found by the history store inside of a statement. */
import type { HistoryFilter } from './filter.ts';

/** What marks a device; every other object is an asset (docs/spec/inventory.md#fragments). */
export const DEVICE_MARKER = 'c8y_IsDevice';

/** One object, and of what is below it all, the devices or the assets. */
export interface ObjectsBelow {
  readonly root: number;
  readonly wanted: 'all' | 'devices' | 'assets';
}

/**
 * SELECT of the ids of the roots and of everything below them. Each step is distinct, so that many paths to one object
 * do not multiply.
 * @param roots place of a bound Array(UInt64).
 */
export function belowSql(roots: string): string {
  return (
    `WITH RECURSIVE reached AS (SELECT arrayJoin(${roots}) AS id, CAST([], 'Array(UInt64)') AS way UNION ALL ` +
    'SELECT link.id AS id, any(arrayPushBack(reached.way, reached.id)) AS way FROM ' +
    '(SELECT id, arrayJoin(parents) AS parent FROM managed_objects FINAL WHERE tenant = {tenant:UInt32}) AS link ' +
    'INNER JOIN reached ON link.parent = reached.id WHERE link.id != reached.id AND NOT has(reached.way, link.id) GROUP BY link.id) SELECT id FROM reached'
  );
}

/** @returns a condition on `column`, an id of managed objects, however many they are. */
function objectsBelowCondition(column: string, { root, wanted }: ObjectsBelow, filter: HistoryFilter): string {
  filter.reads('managed_objects');
  const below = belowSql(filter.bind('Array(UInt64)', [root]));
  if (wanted === 'all') return `${column} IN (${below})`;
  const isWanted = `${wanted === 'devices' ? '' : 'NOT '}has(fragments, ${filter.bind('String', DEVICE_MARKER)})`;
  const found = `SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND ${isWanted} AND id IN (${below})`;
  return `(${column} = ${filter.bind('UInt64', root)} OR ${column} IN (${found}))`;
}

/** What a list is about, as a value that can be stored: some sources, or an object and those below it, or everything. */
export interface SourceSelection {
  readonly sources: readonly string[] | null;
  readonly below?: ObjectsBelow;
}

export function addSources(filter: HistoryFilter, { sources, below }: SourceSelection): void {
  if (sources !== null) filter.idIn('source', sources);
  if (below !== undefined) filter.add(objectsBelowCondition('source', below, filter));
}
