/**
 * Retention on ClickHouse. Measurements and audit records are rows only: they go month by month, whole parts of the
 * table that hold nothing else by dropping them, the rest by a lightweight DELETE. A part never changes, so that what
 * is dropped is what was looked at.
 */
import { HistoryFilter } from '../../history/filter.ts';
import { addParameters } from '../../history/parameters.ts';
import type { RetentionChunk, RetentionTarget } from '../../model/entities/retention.ts';
import { ANY } from '../../model/entities/retention.ts';
import type { DeletionWatch } from '../../ports/deletion-watch.ts';
import type { EntityKind, RetentionHistory, RowKind } from '../../ports/retention-history.ts';
import type { ClickHouse } from './adapter.ts';
import { exceptionCodeOf } from './adapter.ts';
import { carryOut } from './mutations.ts';

/** ClickHouse's NO_SUCH_DATA_PART: it was merged with others meanwhile. */
const NO_SUCH_PART = 232;

/** Tables that retention reads, by kind of data. */
const TABLES = {
  MEASUREMENT: 'measurements',
  AUDIT: 'audits',
  EVENT: 'events',
  ALARM: 'alarms',
  OPERATION: 'operations',
} as const;
export type RetentionTableKind = keyof typeof TABLES;

/** What is still open is kept, however old. */
const OVER: Readonly<Partial<Record<RetentionTableKind, string>>> = {
  ALARM: "status = 'CLEARED'",
  OPERATION: "status IN ('SUCCESSFUL', 'FAILED')",
};

/**
 * Audit records are the history of their alarm (docs/spec/alarms.md#history), which is kept while it is open: so are
 * they.
 */
const NO_OPEN_HISTORY =
  "NOT (type = 'Alarm' AND source IN (SELECT toString(id) FROM alarms FINAL WHERE tenant = {tenant:UInt32} AND status != 'CLEARED'))";

const isByFragment = ({ fragmentType }: RetentionTarget): boolean => fragmentType !== ANY;

/** A statement's conditions with bound values. */
class Condition {
  readonly #filter: HistoryFilter;

  constructor(tenant: number) {
    this.#filter = new HistoryFilter(tenant);
  }

  get params(): Readonly<Record<string, unknown>> {
    return this.#filter.params;
  }

  bind(type: string, value: unknown): string {
    return this.#filter.bind(type, value);
  }

  /** What the target selects of one tenant. */
  of(kind: RetentionTableKind, { before, type, source, fragmentType }: RetentionTarget): string {
    const wanted = Object.entries({ type, source, fragmentType }).filter(([, value]) => value !== ANY);
    return this.#filter.apart((filter) => {
      addParameters(filter, TABLES[kind], { before, ...Object.fromEntries(wanted) });
      const over = OVER[kind];
      if (over !== undefined) filter.add(over);
      if (kind === 'AUDIT') filter.add(NO_OPEN_HISTORY);
    });
  }
}

export class ClickHouseRetention implements RetentionHistory {
  readonly #clickHouse: ClickHouse;
  readonly #watch: DeletionWatch | undefined;

  /** @param watch told of deletions of measurements. */
  constructor(clickHouse: ClickHouse, watch?: DeletionWatch) {
    this.#clickHouse = clickHouse;
    this.#watch = watch;
  }

  async nextMonth(
    kind: RowKind,
    tenant: number,
    target: RetentionTarget,
    after: string,
    others: readonly RetentionTarget[],
  ): Promise<RetentionChunk | undefined> {
    if (kind === 'MEASUREMENT' && others.some(isByFragment))
      return this.#nextMonthOfRest(tenant, target, after, others);
    const condition = new Condition(tenant);
    const where = [
      `tenant = {tenant:UInt32} AND ${condition.of(kind, target)}`,
      ...others.map((other) => `NOT (${condition.of(kind, other)})`),
    ].join(' AND ');
    const beyond = after === '' ? '' : `_partition_id > ${condition.bind('String', after)} AND `;
    // One row for each measurement where no condition looks at single values.
    const isOnHeads = kind === 'MEASUREMENT' && !isByFragment(target);
    const count = isOnHeads ? 'countIf(part = 0)' : 'uniqExact(id)';
    const [found] = await this.#clickHouse.query<{ through: string; rows: number }>(
      `SELECT _partition_id AS through, ${count} AS rows FROM ${TABLES[kind]} WHERE ${beyond}${where} GROUP BY through ORDER BY through LIMIT 1`,
      condition.params,
    );
    return found === undefined ? undefined : { through: found.through, count: Number(found.rows) };
  }

  /**
   * A measurement is others' when one of its rows has their fragment: whole measurements are removed. A month has all
   * rows of each.
   */
  async #nextMonthOfRest(
    tenant: number,
    target: RetentionTarget,
    after: string,
    others: readonly RetentionTarget[],
  ): Promise<RetentionChunk | undefined> {
    const next = await this.nextMonth(
      'MEASUREMENT',
      tenant,
      target,
      after,
      others.filter((other) => !isByFragment(other)),
    );
    if (next === undefined) return undefined;
    const condition = new Condition(tenant);
    const month = `_partition_id = ${condition.bind('String', next.through)} AND tenant = {tenant:UInt32}`;
    const selects = (other: RetentionTarget): string => `(${condition.of('MEASUREMENT', other)})`;
    const heads = others
      .filter((other) => !isByFragment(other))
      .map((other) => ` AND NOT ${selects(other)}`)
      .join('');
    const [found] = await this.#clickHouse.query<{ rows: number }>(
      `SELECT uniqExact(id) AS rows FROM measurements WHERE ${month} AND ${selects(target)}${heads}
       AND id NOT IN (SELECT id FROM measurements WHERE ${month} AND (${others.filter(isByFragment).map(selects).join(' OR ')}))`,
      condition.params,
    );
    return { through: next.through, count: Number(found.rows) };
  }

  /**
   * Removes what the target selects in one month. @param requireRoom throws when nothing may be written that need not
   * be: asked when whole parts are dropped, which takes no space, and before others are written anew.
   */
  async removeMonth(
    kind: RowKind,
    tenant: number,
    target: RetentionTarget,
    month: string,
    requireRoom: () => void = () => undefined,
  ): Promise<void> {
    if (!/^\d{6}$/.test(month)) throw new Error(`no month: ${month}`);
    const watch = kind === 'MEASUREMENT' ? this.#watch : undefined;
    const name = `retention/${tenant}/${month}`;
    watch?.hold(tenant, name);
    try {
      await this.#removeMonth(kind, tenant, target, month, { name, requireRoom });
    } catch (error) {
      watch?.leave(tenant, name);
      throw error;
    }
    watch?.release(tenant, name);
  }

  async #removeMonth(
    kind: RowKind,
    tenant: number,
    target: RetentionTarget,
    month: string,
    { name, requireRoom }: { readonly name: string; readonly requireRoom: () => void },
  ): Promise<void> {
    const table = TABLES[kind];
    await this.#dropParts(kind, tenant, target, month);
    const condition = new Condition(tenant);
    const where = `tenant = {tenant:UInt32} AND ${condition.of(kind, target)}`;
    if (!(await this.#hasRows(table, `_partition_id = '${month}' AND ${where}`, condition))) return;
    requireRoom();
    // All values of a measurement go, also those of other fragments.
    const ofAll = `tenant = {tenant:UInt32} AND id IN (SELECT id FROM ${table} WHERE _partition_id = '${month}' AND ${where})`;
    const selected = kind === 'MEASUREMENT' && isByFragment(target) ? ofAll : where;
    const head = `DELETE FROM ${table} IN PARTITION ID '${month}' WHERE`;
    await carryOut(this.#clickHouse, { table, head, condition: selected, params: condition.params }, name);
  }

  async #hasRows(table: string, where: string, { params }: Condition): Promise<boolean> {
    return (await this.#clickHouse.query(`SELECT 1 AS found FROM ${table} WHERE ${where} LIMIT 1`, params)).length > 0;
  }

  /** Drops the parts of a month that hold nothing else: no row is read again or written. */
  async #dropParts(kind: RowKind, tenant: number, target: RetentionTarget, month: string): Promise<void> {
    // A measurement with the fragment may have values in rows without it.
    if (isByFragment(target)) return;
    const table = TABLES[kind];
    const condition = new Condition(tenant);
    const parts = await this.#clickHouse.query<{ part: string }>(
      `SELECT _part AS part FROM ${table} WHERE _partition_id = '${month}'
       GROUP BY part HAVING countIf(NOT (tenant = {tenant:UInt32} AND ${condition.of(kind, target)})) = 0`,
      condition.params,
    );
    for (const { part } of parts) {
      if (!/^[\w-]+$/.test(part)) throw new Error(`no part of ${table}: ${part}`);
      try {
        await this.#clickHouse.command(`ALTER TABLE ${table} DROP PART '${part}'`);
      } catch (error) {
        // The DELETE finds what it held.
        if (exceptionCodeOf(error) !== NO_SUCH_PART) throw error;
      }
    }
  }

  async entities(
    kind: EntityKind,
    tenant: number,
    target: RetentionTarget,
    range: { after: string; through?: string; limit: number },
  ): Promise<{ id: number; source: number }[]> {
    const condition = new Condition(tenant);
    const where = `tenant = {tenant:UInt32} AND ${condition.of(kind, target)} AND id > ${condition.bind('UInt64', Number(range.after))}`;
    const through = range.through === undefined ? '' : ` AND id <= ${condition.bind('UInt64', Number(range.through))}`;
    return this.#clickHouse.query<{ id: number; source: number }>(
      `SELECT id, source FROM ${TABLES[kind]} FINAL WHERE ${where}${through} ORDER BY id LIMIT ${condition.bind('UInt32', range.limit)}`,
      condition.params,
    );
  }

  async countEntities(
    kind: EntityKind,
    tenant: number,
    target: RetentionTarget,
    others: readonly RetentionTarget[],
  ): Promise<number> {
    const condition = new Condition(tenant);
    const where = [
      `tenant = {tenant:UInt32} AND ${condition.of(kind, target)}`,
      ...others.map((other) => `NOT (${condition.of(kind, other)})`),
    ].join(' AND ');
    const [found] = await this.#clickHouse.query<{ total: number }>(
      `SELECT count() AS total FROM ${TABLES[kind]} FINAL WHERE ${where}`,
      condition.params,
    );
    return Number(found?.total ?? 0);
  }

  async bulkOperationsUnderWay(tenant: number, ids: readonly string[]): Promise<Set<string>> {
    const rows = await this.#clickHouse.query<{ bulk: number }>(
      `SELECT DISTINCT bulk FROM operations FINAL WHERE tenant = {tenant:UInt32} AND bulk IN {ids:Array(UInt64)} AND NOT (${OVER.OPERATION})`,
      { tenant, ids: ids.map(Number) },
    );
    return new Set(rows.map(({ bulk }) => String(bulk)));
  }
}
