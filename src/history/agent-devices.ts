/** The devices of an agent with many, as a condition that the history store answers (docs/spec/operations.md#lists). */
import { AGENT_LINKS } from '../model/entities/operation.ts';
import { HistoryFilter } from './filter.ts';
import { childrenCondition } from './inventory-query/hierarchy.ts';
import type { HierarchyReaders } from './inventory-query/hierarchy.ts';

/** Objects with children that are looked at, level by level. */
export const INNER_MAX = 20_000;

/**
 * @returns a condition on `column` that holds for the agent and all below it by the links of devices and services,
 * however many they are: only objects that have children themselves are bound. Undefined when more than INNER_MAX have.
 */
export async function agentDevicesCondition(
  column: string,
  agent: string,
  readers: HierarchyReaders,
  filter: HistoryFilter,
): Promise<string | undefined> {
  const inner = new Set([Number(agent)]);
  for (let level = [...inner]; level.length > 0; ) {
    const children = new HistoryFilter(readers.tenant);
    children.add(await childrenCondition(level, AGENT_LINKS, readers, children));
    const sql =
      `SELECT id FROM managed_objects FINAL WHERE ${children.where} ` +
      `AND id IN (SELECT arrayJoin(parents) FROM managed_objects FINAL WHERE tenant = {tenant:UInt32}) LIMIT ${children.bind('UInt32', INNER_MAX + 1)}`;
    const rows = await readers.history.query<{ id: number | string }>(children.statement(['managed_objects'], sql));
    level = rows.map(({ id }) => Number(id)).filter((id) => !inner.has(id));
    for (const id of level) inner.add(id);
    if (inner.size > INNER_MAX) return undefined;
  }
  filter.reads('managed_objects');
  const isChild = await childrenCondition([...inner], AGENT_LINKS, readers, filter);
  const below = `SELECT id FROM managed_objects FINAL WHERE tenant = {tenant:UInt32} AND ${isChild}`;
  return `(${column} = ${filter.bind('UInt64', Number(agent))} OR ${column} IN (${below}))`;
}
