/**
 * The functions of a query that ask for the hierarchy, looked up before the query runs
 * (docs/spec/queries.md#functions).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChildKind } from '../../model/commands/links.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Expression } from './parser.ts';
import type { ParameterBinder } from './sql.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';

/** Objects that are bound into one query: with more, the query is refused. */
const BOUND_MAX = 20_000;
/** Levels of a hierarchy. */
const LEVELS_MAX = 1_000;
/** Lists of links that are read at once; then it is the turn of others, whose store may answer at once. */
const LISTS_AT_ONCE = 100;
const KINDS: readonly ChildKind[] = ['childAssets', 'childDevices', 'childAdditions'];

/** Children of some objects that have children themselves. */
const PARENTS_BELOW =
  'SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND hasAny(parents, {level:Array(UInt64)}) ' +
  'AND id IN (SELECT arrayJoin(parents) FROM managed_objects FINAL WHERE tenant = {tenant:UInt32}) LIMIT {limit:UInt32}';

export interface HierarchyReaders {
  readonly tenant: number;
  readonly documents: DocumentReader;
  readonly history: HistoryReader;
}

const idsOf = (texts: readonly string[]): number[] => texts.filter(isEntityId).map(Number);

/**
 * @returns conditions of all such functions. @throws PlatformError `inventory/invalid-query` for hierarchies that are
 * too large.
 */
export async function lookUpHierarchy(
  expression: Expression | undefined,
  readers: HierarchyReaders,
  binder: ParameterBinder,
): Promise<Map<Expression, string>> {
  const conditions = new Map<Expression, string>();
  const visit = async (part: Expression): Promise<void> => {
    if (part.kind === 'not') await visit(part.operand);
    else if (part.kind === 'and' || part.kind === 'or') for (const operand of part.operands) await visit(operand);
    else if (part.kind === 'bygroupid')
      conditions.set(part, await childrenCondition(idsOf(part.ids), KINDS, readers, binder));
    else if (part.kind === 'isinhierarchyof')
      conditions.set(part, await hierarchyCondition(idsOf(part.ids), readers, binder));
  };
  if (expression !== undefined) await visit(expression);
  return conditions;
}

/**
 * Direct children of some parents by links of `kinds`. The rows know all parents of an object but not the kind of the
 * link: children of the other kinds are left out by their ids.
 */
export async function childrenCondition(
  parents: readonly number[],
  kinds: readonly ChildKind[],
  readers: HierarchyReaders,
  binder: ParameterBinder,
): Promise<string> {
  if (parents.length === 0) return '0';
  const others = new Set<string>();
  const otherKinds = KINDS.filter((kind) => !kinds.includes(kind));
  const prefixes = [...new Set(parents)].flatMap((parent) => otherKinds.map((kind) => `${parent}\n${kind}\n`));
  await inTurns(prefixes, async (prefix) => {
    for (const id of await otherEnds(readers, 'children', prefix)) others.add(id);
    if (others.size > BOUND_MAX) tooLarge();
  });
  const known = new Set(parents.map(String));
  const linked = [...others].flatMap((child) => kinds.map((kind) => ({ child, kind })));
  await inTurns(linked, async ({ child, kind }) => {
    // By its own links: it has few parents, and the query may have named many.
    const found = await otherEnds(readers, 'parents', `${child}\n${kind}\n`);
    if (found.length > BOUND_MAX) tooLarge();
    if (found.some((parent) => known.has(parent))) others.delete(child);
  });
  const isChild = `hasAny(parents, ${binder.bind('Array(UInt64)', parents)})`;
  return others.size === 0
    ? isChild
    : `(${isChild} AND id NOT IN ${binder.bind('Array(UInt64)', [...others].map(Number))})`;
}

async function otherEnds(
  { documents, tenant }: HierarchyReaders,
  direction: 'children' | 'parents',
  prefix: string,
): Promise<string[]> {
  const links = await documents.list(direction, tenant, prefix, { limit: BOUND_MAX + 1 });
  return links.map(({ id }) => id.slice(prefix.length));
}

async function inTurns<Item>(items: readonly Item[], visit: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += LISTS_AT_ONCE) {
    if (from > 0) await nextTurn();
    await Promise.all(items.slice(from, from + LISTS_AT_ONCE).map(visit));
  }
}

/** The roots and all below them, level by level: only objects that have children themselves are bound. */
async function hierarchyCondition(
  roots: readonly number[],
  readers: HierarchyReaders,
  binder: ParameterBinder,
): Promise<string> {
  if (roots.length === 0) return '0';
  const inner = new Set(roots);
  let level = [...roots];
  for (let depth = 0; level.length > 0 && depth < LEVELS_MAX; depth += 1) {
    const rows = await readers.history.query<{ id: number }>({
      sql: PARENTS_BELOW,
      params: { level, limit: BOUND_MAX + 1 },
      tables: ['managed_objects'],
      tenant: readers.tenant,
    });
    level = rows.map(({ id }) => Number(id)).filter((id) => !inner.has(id));
    for (const id of level) inner.add(id);
    if (inner.size > BOUND_MAX) tooLarge();
  }
  const all = [...inner];
  return `(id IN ${binder.bind('Array(UInt64)', roots)} OR hasAny(parents, ${binder.bind('Array(UInt64)', all)}))`;
}

function tooLarge(): never {
  throw new PlatformError('inventory/invalid-query', {
    reason: `more than ${BOUND_MAX} objects have to be looked at for one function`,
  });
}
