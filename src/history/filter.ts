/**
 * WHERE clauses of list queries. Everything that comes from a client is a bound parameter; the tenant is always the
 * first condition. Tables: store/clickhouse/schema.ts.
 */
import { namesOfFragment } from '../model/entities/agent-marker.ts';
import { isEntityId } from '../model/entities/entity-id.ts';
import type { HistoryStatement, HistoryTable } from '../ports/history-reader.ts';

/** Tables whose rows are replaced: read with FINAL. */
export type MutableTable = Extract<HistoryTable, 'managed_objects' | 'events' | 'alarms' | 'operations' | 'audits'>;

/**
 * Columns that are the same in all versions of an entity: what they exclude is left out before versions are merged,
 * which is most of the cost of FINAL. Tombstones have those `kept`, too, and are read whatever is asked of the `lost`.
 */
const OF_ALL_VERSIONS: Readonly<
  Record<MutableTable, { readonly kept: readonly string[]; readonly lost: readonly string[] }>
> = {
  managed_objects: { kept: ['id', 'creation_time'], lost: [] },
  events: { kept: ['source', 'time', 'creation_time'], lost: ['type'] },
  alarms: { kept: ['source', 'creation_time'], lost: ['type'] },
  operations: { kept: ['source', 'creation_time'], lost: ['bulk'] },
  audits: { kept: ['time'], lost: ['source', 'type', 'user', 'application'] },
};
/** An entity is in one partition with all of its versions, which are merged there. */
export const IN_PARTITIONS = 'SETTINGS do_not_merge_across_partitions_select_final = 1';

export interface DocumentRow {
  /** Decimal. */
  readonly entityId: string;
  readonly doc: string;
}

export class HistoryFilter {
  readonly tenant: number;
  readonly params: Record<string, unknown>;
  private readonly conditions: { readonly sql: string; readonly column?: string; readonly isOfKey?: boolean }[] = [
    { sql: 'tenant = {tenant:UInt32}', column: 'tenant' },
  ];
  /** Columns of ids that have one value in all rows that match. */
  private fixed: ReadonlyMap<string, number> = new Map();
  /** Tables that conditions read in a SELECT of their own. */
  private readonly tables = new Set<HistoryTable>();
  private count = 0;
  /** The user sees only a part of the inventory and gets no totals (docs/spec/paging.md#totals). */
  isOfPart = false;

  constructor(tenant: number) {
    this.tenant = tenant;
    this.params = { tenant };
  }

  /** One that conditions and values can be added to while this one stays as it is. */
  copy(): HistoryFilter {
    const copy = new HistoryFilter(this.tenant);
    Object.assign(copy.params, this.params);
    copy.conditions.splice(0, 1, ...this.conditions);
    copy.fixed = this.fixed;
    for (const table of this.tables) copy.tables.add(table);
    copy.count = this.count;
    return copy;
  }

  /** @param params values of places beside those of the filter. */
  statement(
    tables: readonly HistoryTable[],
    sql: string,
    params: Readonly<Record<string, unknown>> = {},
  ): HistoryStatement {
    return {
      sql,
      params: { ...this.params, ...params },
      tables: [...new Set([...tables, ...this.tables])],
      tenant: this.tenant,
      source: this.fixed.get('source'),
    };
  }

  /** Notes that a condition reads the table in a SELECT of its own. */
  reads(table: HistoryTable): void {
    this.tables.add(table);
  }

  /** @returns the conditions that `build` adds, joined by AND, for a larger one; '' for none. They are not added. */
  apart(build: (filter: HistoryFilter) => void): string {
    const { fixed } = this;
    const before = this.conditions.length;
    build(this);
    this.fixed = fixed;
    return this.conditions
      .splice(before)
      .map(({ sql }) => sql)
      .join(' AND ');
  }

  get where(): string {
    return this.conditions.map(({ sql }) => sql).join(' AND ');
  }

  /** The conditions on the tenant and on one of the columns alone. */
  whereOn(columns: readonly string[]): string {
    const isWanted = (column = ''): boolean => column === 'tenant' || columns.includes(column);
    return this.conditions
      .filter(({ column }) => isWanted(column))
      .map(({ sql }) => sql)
      .join(' AND ');
  }

  /** The conditions as clauses of a SELECT from `table` with FINAL. */
  clauses(table: MutableTable): string {
    const { kept, lost } = OF_ALL_VERSIONS[table];
    const before: string[] = [];
    const behind: string[] = [];
    for (const { sql, column = '', isOfKey } of this.conditions) {
      if (column === 'tenant' || isOfKey === true || kept.includes(column)) before.push(sql);
      else if (lost.includes(column)) before.push(`(${sql} OR deleted = 1)`);
      else behind.push(sql);
    }
    return `PREWHERE ${before.join(' AND ')}${behind.length === 0 ? '' : ` WHERE ${behind.join(' AND ')}`}`;
  }

  /** Whether only rows with one value of the column match. */
  isOfOne(column: string): boolean {
    return this.fixed.has(column);
  }

  /** Whether there is a condition on the column. */
  isOn(column: string): boolean {
    return this.conditions.some((condition) => condition.column === column);
  }

  /**
   * The conditions on the tenant and `keys`, and, each with ` AND ` before it, those on `others`.
   * @returns undefined when there are conditions on anything else.
   */
  parts(keys: readonly string[], others: readonly string[]): { keys: string; others: string } | undefined {
    const ofKeys: string[] = [];
    const ofOthers: string[] = [];
    for (const { sql, column } of this.conditions) {
      if (column === 'tenant' || (column !== undefined && keys.includes(column))) ofKeys.push(sql);
      else if (column !== undefined && others.includes(column)) ofOthers.push(` AND ${sql}`);
      else return undefined;
    }
    return { keys: ofKeys.join(' AND '), others: ofOthers.join('') };
  }

  /** @returns the place of a new bound parameter. */
  bind(type: string, value: unknown): string {
    const name = `p${this.count}`;
    this.count += 1;
    this.params[name] = value;
    return `{${name}:${type}}`;
  }

  /** @param column the only one that the condition looks at. */
  add(condition: string, column?: string): this {
    this.conditions.push({ sql: condition, ...(column === undefined ? {} : { column }) });
    return this;
  }

  /** @param condition looks at columns of the table's key only, which are the same in all versions of an entity. */
  addOfKey(condition: string): this {
    this.conditions.push({ sql: condition, isOfKey: true });
    return this;
  }

  /** Matches nothing. */
  none(): this {
    return this.add('0');
  }

  text(column: string, value: string | undefined): this {
    return value === undefined ? this : this.add(`${column} = ${this.bind('String', value)}`, column);
  }

  textIn(column: string, values: readonly string[]): this {
    return values.length === 0 ? this : this.add(`${column} IN ${this.bind('Array(String)', values)}`, column);
  }

  id(column: string, value: string | undefined): this {
    if (value === undefined) return this;
    if (!isEntityId(value)) return this.none();
    this.fixed = new Map([...this.fixed, [column, Number(value)]]);
    return this.add(`${column} = ${this.bind('UInt64', Number(value))}`, column);
  }

  /** An empty list matches nothing. */
  idIn(column: string, values: readonly string[]): this {
    const ids = values.filter(isEntityId).map(Number);
    if (ids.length === 1) return this.id(column, String(ids[0]));
    return ids.length === 0 ? this.none() : this.add(`${column} IN ${this.bind('Array(UInt64)', ids)}`, column);
  }

  /** Both ends inclusive, ms since 1970. */
  time(column: string, from: number | undefined, to: number | undefined): this {
    if (from !== undefined)
      this.add(`${column} >= fromUnixTimestamp64Milli(${this.bind('Int64', from)}, 'UTC')`, column);
    if (to !== undefined) this.add(`${column} <= fromUnixTimestamp64Milli(${this.bind('Int64', to)}, 'UTC')`, column);
    return this;
  }

  /** A top-level property exists. */
  fragment(name: string | undefined): this {
    if (name === undefined) return this;
    const names = namesOfFragment(name);
    const condition =
      names.length === 1
        ? `has(fragments, ${this.bind('String', name)})`
        : `hasAny(fragments, ${this.bind('Array(String)', names)})`;
    return this.add(condition, 'fragments');
  }

  /** Only what a user without a global role may reach. */
  ofPart(condition: string): this {
    this.isOfPart = true;
    return this.add(condition);
  }
}
