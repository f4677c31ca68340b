/**
 * Retention on ClickHouse. Measurements and audit records are rows only: they go month by month, whole parts of the
 * table that hold nothing else by dropping them, the rest by a lightweight DELETE. A part never changes, so that what
 * is dropped is what was looked at.
 */
import { anyRow } from '../../history/deletion.ts';
import {
  RETENTION_TABLES,
  bulkOperationsUnderWay,
  countOf,
  entitiesOf,
  isByFragment,
  nextMonth,
  partsOfMonth,
  restOfMonth,
  rowsOfMonth,
} from '../../history/retention.ts';
import type { RetentionChunk, RetentionTarget } from '../../model/entities/retention.ts';
import type { DeletionWatch } from '../../ports/deletion-watch.ts';
import type { HistoryStatement } from '../../ports/history-reader.ts';
import type { EntityKind, RetentionHistory, RowKind } from '../../ports/stores/retention-history.ts';
import type { ClickHouse } from './adapter.ts';
import { exceptionCodeOf } from './adapter.ts';
import { carryOut } from './mutations.ts';

/** ClickHouse's NO_SUCH_DATA_PART: it was merged with others meanwhile. */
const NO_SUCH_PART = 232;

export class ClickHouseRetention implements RetentionHistory {
  readonly #clickHouse: ClickHouse;
  readonly #watch: DeletionWatch | undefined;

  /** @param watch told of deletions of measurements. */
  constructor(clickHouse: ClickHouse, watch?: DeletionWatch) {
    this.#clickHouse = clickHouse;
    this.#watch = watch;
  }

  #query<Row>({ sql, params }: Pick<HistoryStatement, 'sql' | 'params'>): Promise<Row[]> {
    return this.#clickHouse.query<Row>(sql, params);
  }

  async nextMonth(
    kind: RowKind,
    tenant: number,
    target: RetentionTarget,
    after: string,
    others: readonly RetentionTarget[],
  ): Promise<RetentionChunk | undefined> {
    const isOfRest = kind === 'MEASUREMENT' && others.some(isByFragment);
    const atOnce = isOfRest ? others.filter((other) => !isByFragment(other)) : others;
    const [found] = await this.#query<{ through: string; rows: number }>(
      nextMonth(kind, tenant, target, after, atOnce),
    );
    if (found === undefined) return undefined;
    const { through } = found;
    if (!isOfRest) return { through, count: Number(found.rows) };
    const [rest] = await this.#query<{ rows: number }>(restOfMonth(tenant, target, through, others));
    return { through, count: Number(rest.rows) };
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
    const table = RETENTION_TABLES[kind];
    await this.#dropParts(kind, tenant, target, month);
    const { found, condition } = rowsOfMonth(kind, tenant, target, month);
    const { where, params } = found;
    if ((await this.#query({ sql: anyRow(table, where), params })).length === 0) return;
    requireRoom();
    const head = `DELETE FROM ${table} IN PARTITION ID '${month}' WHERE`;
    await carryOut(this.#clickHouse, { table, head, condition, params }, name);
  }

  /** Drops the parts of a month that hold nothing else: no row is read again or written. */
  async #dropParts(kind: RowKind, tenant: number, target: RetentionTarget, month: string): Promise<void> {
    // A measurement with the fragment may have values in rows without it.
    if (isByFragment(target)) return;
    const table = RETENTION_TABLES[kind];
    const parts = await this.#query<{ part: string }>(partsOfMonth(kind, tenant, target, month));
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
    return this.#query(entitiesOf(kind, tenant, target, range));
  }

  async countEntities(
    kind: EntityKind,
    tenant: number,
    target: RetentionTarget,
    others: readonly RetentionTarget[],
  ): Promise<number> {
    const [found] = await this.#query<{ total: number }>(countOf(kind, tenant, target, others));
    return Number(found.total);
  }

  async bulkOperationsUnderWay(tenant: number, ids: readonly string[]): Promise<Set<string>> {
    const rows = await this.#query<{ bulk: number }>(bulkOperationsUnderWay(tenant, ids));
    return new Set(rows.map(({ bulk }) => String(bulk)));
  }
}
