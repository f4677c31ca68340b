/**
 * Projections of the tables: the engine keeps them with every insert and merge. Tables that are older than a projection
 * get it here: parts without it are read as before until the engine has made theirs, which it does beside its other
 * work.
 */
import type { ClickHouse } from './adapter.ts';
import type { DeletingStatement } from './mutations.ts';
import type { Projection } from './schema.ts';
import { PROJECTIONS } from './schema.ts';

/**
 * Without them a table whose rows are replaced or deleted can have no projection: servers before 24.8, where lists are
 * slower. A DELETE FROM drops the projection of the parts that it touches, which are read as before then: `rebuild`
 * leaves the deleted rows in it (seen with 26.7).
 */
const SETTINGS: Readonly<Record<string, string>> = {
  deduplicate_merge_projection_mode: 'rebuild',
  lightweight_mutation_projection_mode: 'drop',
};

/** Adds what is missing. Repeatable, by several nodes at once too; does not wait for the work on old parts. */
export async function addProjections(clickHouse: ClickHouse): Promise<void> {
  const known = await countOf(clickHouse, 'merge_tree_settings WHERE name IN {names:Array(String)}', {
    names: Object.keys(SETTINGS),
  });
  if (known < Object.keys(SETTINGS).length) return;
  for (const projection of PROJECTIONS) await addProjection(clickHouse, projection);
}

async function addProjection(clickHouse: ClickHouse, { table, name, columns, order }: Projection): Promise<void> {
  const params = { table, name };
  const ofTable = 'WHERE database = currentDatabase() AND table = {table:String}';
  if ((await countOf(clickHouse, `projections ${ofTable} AND name = {name:String}`, params)) === 0) {
    const settings = Object.entries(SETTINGS)
      .map(([setting, value]) => `${setting} = '${value}'`)
      .join(', ');
    await clickHouse.command(`ALTER TABLE ${table} MODIFY SETTING ${settings}`);
    await clickHouse.command(
      `ALTER TABLE ${table} ADD PROJECTION IF NOT EXISTS ${name} (SELECT ${columns.join(', ')} ORDER BY ${order.join(', ')})`,
    );
  }
  const withoutIt = await countOf(
    clickHouse,
    `parts ${ofTable} AND active AND rows > 0 AND NOT has(projections, {name:String})`,
    params,
  );
  if (withoutIt === 0) return;
  const underWay = await countOf(
    clickHouse,
    `mutations ${ofTable} AND NOT is_done AND position(command, {name:String}) > 0`,
    params,
  );
  if (underWay > 0) return;
  await clickHouse.command(`ALTER TABLE ${table} MATERIALIZE PROJECTION ${name}`, {}, { mutations_sync: '0' });
}

/** How rows are deleted so that the other rows keep their projections: parts with deleted rows are written again. */
export function deletingHead(table: string): Pick<DeletingStatement, 'table' | 'head'> {
  const isProjected = PROJECTIONS.some((projection) => projection.table === table);
  return { table, head: isProjected ? `ALTER TABLE ${table} DELETE WHERE` : `DELETE FROM ${table} WHERE` };
}

async function countOf(
  clickHouse: ClickHouse,
  from: string,
  params: Readonly<Record<string, unknown>>,
): Promise<number> {
  const [{ found }] = await clickHouse.query<{ found: number }>(`SELECT count() AS found FROM system.${from}`, params);
  return Number(found);
}
