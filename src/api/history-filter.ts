/**
 * WHERE clauses of list queries. Everything that comes from a client is a bound parameter; the tenant is always the first
 * condition. Tables: store/schema.ts.
 */
import { isEntityId } from './entity-id.ts';
import type { ApiRequest } from './api-request.ts';
import { accessibleCondition } from './owner.ts';
import type { Page } from './paging.ts';

/** Tables whose rows are replaced: read with FINAL. */
export type MutableTable = 'managed_objects' | 'events' | 'alarms' | 'operations' | 'audits';

export interface DocumentRow {
  /** Decimal. */
  readonly entityId: string;
  readonly doc: string;
}

export class HistoryFilter {
  readonly params: Record<string, unknown>;
  private readonly conditions: string[] = ['tenant = {tenant:UInt32}'];
  private count = 0;

  constructor(tenant: number) {
    this.params = { tenant };
  }

  get where(): string {
    return this.conditions.join(' AND ');
  }

  /** @returns the place of a new bound parameter. */
  bind(type: string, value: unknown): string {
    const name = `p${this.count}`;
    this.count += 1;
    this.params[name] = value;
    return `{${name}:${type}}`;
  }

  add(condition: string): this {
    this.conditions.push(condition);
    return this;
  }

  /** Matches nothing. */
  none(): this {
    return this.add('0');
  }

  text(column: string, value: string | undefined): this {
    return value === undefined ? this : this.add(`${column} = ${this.bind('String', value)}`);
  }

  textIn(column: string, values: readonly string[]): this {
    return values.length === 0 ? this : this.add(`${column} IN ${this.bind('Array(String)', values)}`);
  }

  id(column: string, value: string | undefined): this {
    if (value === undefined) return this;
    return isEntityId(value) ? this.add(`${column} = ${this.bind('UInt64', Number(value))}`) : this.none();
  }

  /** An empty list matches nothing. */
  idIn(column: string, values: readonly string[]): this {
    const ids = values.filter(isEntityId).map(Number);
    return ids.length === 0 ? this.none() : this.add(`${column} IN ${this.bind('Array(UInt64)', ids)}`);
  }

  /** Both ends inclusive, ms since 1970. */
  time(column: string, from: number | undefined, to: number | undefined): this {
    if (from !== undefined) this.add(`${column} >= fromUnixTimestamp64Milli(${this.bind('Int64', from)}, 'UTC')`);
    if (to !== undefined) this.add(`${column} <= fromUnixTimestamp64Milli(${this.bind('Int64', to)}, 'UTC')`);
    return this;
  }

  /** A top-level property exists. */
  fragment(name: string | undefined): this {
    return name === undefined ? this : this.add(`has(fragments, ${this.bind('String', name)})`);
  }

  /** For principals without a global role: only data of managed objects that they own or have a permission for. */
  ownedSources(request: ApiRequest, column: string): this {
    return request.isPrivileged ? this : this.add(accessibleCondition(request, this, column));
  }

  /** The same for the managed objects themselves. */
  accessibleObjects(request: ApiRequest): this {
    return request.isPrivileged ? this : this.add(accessibleCondition(request, this, 'id', true));
  }
}

/** @param order SQL of the ORDER BY clause, from the code only. */
export function queryDocuments(
  request: ApiRequest,
  table: MutableTable,
  filter: HistoryFilter,
  order: string,
  page: Page,
): Promise<DocumentRow[]> {
  const sql =
    `SELECT toString(id) AS entityId, doc FROM ${table} FINAL WHERE ${filter.where} ORDER BY ${order} ` +
    `LIMIT ${filter.bind('UInt32', page.size)} OFFSET ${filter.bind('UInt64', page.offset)}`;
  return request.history.query<DocumentRow>(sql, filter.params);
}

/** @returns how many rows match. */
export async function countDocuments(request: ApiRequest, table: MutableTable, filter: HistoryFilter): Promise<number> {
  const sql = `SELECT count() AS total FROM ${table} FINAL WHERE ${filter.where}`;
  const [row] = await request.history.query<{ total: number | string }>(sql, filter.params);
  return Number(row?.total ?? 0);
}

/** @returns the total when the page wants it. */
export function totalOf(request: ApiRequest, table: MutableTable, filter: HistoryFilter, page: Page): Promise<number | undefined> {
  return page.wantsTotal ? countDocuments(request, table, filter) : Promise.resolve(undefined);
}
