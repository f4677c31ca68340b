/** Everything below managed objects by links of every kind, found by the history store inside of a statement. */
import type { ParameterBinder } from './inventory-query/sql.ts';

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
export function objectsBelowCondition(column: string, { root, wanted }: ObjectsBelow, binder: ParameterBinder): string {
  const below = belowSql(binder.bind('Array(UInt64)', [root]));
  if (wanted === 'all') return `${column} IN (${below})`;
  const isWanted = `${wanted === 'devices' ? '' : 'NOT '}has(fragments, ${binder.bind('String', DEVICE_MARKER)})`;
  const found = `SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND ${isWanted} AND id IN (${below})`;
  return `(${column} = ${binder.bind('UInt64', root)} OR ${column} IN (${found}))`;
}
