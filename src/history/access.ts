/**
 * What a user without a global role may reach, as conditions (docs/spec/login.md#rights): what he owns, and what he has
 * an inventory role or a device permission for, at it or above it.
 */
import { isByTypeAlone } from '../model/access/inventory-access.ts';
import type { WantedAccess } from '../model/access/inventory-grant.ts';
import type { HistoryReader } from '../ports/history-reader.ts';
import type { HistoryFilter } from './filter.ts';
import { belowSql } from './objects-below.ts';

/** As a value that can be stored. */
export interface Access {
  readonly owner: string;
  readonly scope: WantedAccess['scope'];
  /** Absent from changes of many alarms that an older version began. */
  readonly permission?: WantedAccess['permission'];
  readonly grants: readonly { readonly type: string; readonly root: number }[];
}

/** What a list shows. */
export interface Reach {
  readonly access: Access;
  /** Objects below the device that asks: a list shows them beside what it owns. */
  readonly children: readonly number[];
}

/**
 * How a permission for one type is written for a table where columns of type and fragments do not tell.
 * A measurement is several rows, one of which has the fragment.
 * @param place of the type. @param below condition on the managed object.
 */
const TYPED: Readonly<Record<string, (place: string, below: string) => string>> = {
  MEASUREMENT: (place, below) =>
    `(type = ${place} OR (source, time, id) IN ` +
    `(SELECT source, time, id FROM measurements WHERE tenant = {tenant:UInt32} AND fragment = ${place} AND ${below}))`,
  OPERATION: (place) => `has(fragments, ${place})`,
};

function typedCondition({ scope, permission = 'READ' }: Access, place: string, below: string): string {
  if (isByTypeAlone({ scope, permission })) return `type = ${place}`;
  return TYPED[scope]?.(place, below) ?? `(type = ${place} OR has(fragments, ${place}))`;
}

/**
 * Holds for rows of managed objects that the user owns or has a permission for. Follows the links of managed objects
 * downwards inside of the statement.
 * @param column the managed object. @param isInventory whether the rows are the managed objects themselves.
 */
export function conditionOfAccess(access: Access, filter: HistoryFilter, column: string, isInventory = false): string {
  const owner = filter.bind('String', access.owner);
  filter.reads('managed_objects');
  const conditions = [
    isInventory
      ? `owner = ${owner}`
      : `${column} IN (SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND owner = ${owner})`,
  ];
  const rootsOfType = new Map<string, number[]>();
  for (const { type, root } of access.grants) rootsOfType.set(type, [...(rootsOfType.get(type) ?? []), root]);
  for (const [type, roots] of rootsOfType) {
    const below = `${column} IN (${belowSql(filter.bind('Array(UInt64)', [...new Set(roots)]))})`;
    const place = type === '*' ? '' : filter.bind('String', type);
    conditions.push(type === '*' ? below : `(${below} AND ${typedCondition(access, place, below)})`);
  }
  return `(${conditions.join(' OR ')})`;
}

/** The same, and what is below the device that asks. */
function conditionOfReach(
  { access, children }: Reach,
  filter: HistoryFilter,
  column: string,
  isInventory = false,
): string {
  const condition = conditionOfAccess(access, filter, column, isInventory);
  return children.length === 0 ? condition : `(${condition} OR ${column} IN ${filter.bind('Array(UInt64)', children)})`;
}

/** Limits a list to data of managed objects that `reach` has; undefined has everything. */
export function limitSources(filter: HistoryFilter, reach: Reach | undefined, column = 'source'): void {
  if (reach !== undefined) filter.ofPart(conditionOfReach(reach, filter, column));
}

/** The same for the managed objects themselves. */
export function limitObjects(filter: HistoryFilter, reach: Reach | undefined): void {
  if (reach !== undefined) filter.ofPart(conditionOfReach(reach, filter, 'id', true));
}

/**
 * Objects without parents. For a user who sees a part of the inventory alone an object is a root when he sees none of
 * its parents.
 */
export function addRoots(filter: HistoryFilter, reach: Reach | undefined): void {
  if (reach === undefined) return void filter.add('empty(parents)');
  const objects = 'managed_objects FINAL WHERE tenant = {tenant:UInt32}';
  const seen = `SELECT id FROM ${objects} AND ${conditionOfReach(reach, filter, 'id', true)}`;
  filter.add(
    `(empty(parents) OR id NOT IN (SELECT id FROM (SELECT id, arrayJoin(parents) AS parent FROM ${objects}) WHERE parent IN (${seen})))`,
  );
}

/** Whether a user owns any managed object. */
export async function ownsObjects(history: HistoryReader, tenant: number, owner: string): Promise<boolean> {
  const sql = 'SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND owner = {owner:String} LIMIT 1';
  return (await history.query({ sql, params: { owner }, tables: ['managed_objects'], tenant })).length > 0;
}
