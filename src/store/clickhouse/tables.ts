/** The tables of the history store: made when they are first used. */
import type { HistoryTable } from '../../ports/history-reader.ts';
import { exceptionCodeOf } from './adapter.ts';
import type { ClickHouse } from './adapter.ts';
import { synchroniseParts } from './part-durability.ts';
import { addProjections } from './projections.ts';
import { ADDED_COLUMNS, TABLES, TUNING, USAGE_TABLES } from './schema.ts';

/** Tables with rows of tenants. */
export const TENANT_TABLES: readonly HistoryTable[] = Object.entries({ ...TABLES, ...USAGE_TABLES })
  .filter(([, definition]) => definition.includes('tenant UInt32'))
  .map(([table]) => table as HistoryTable);
/** ClickHouse's UNKNOWN_SETTING. */
const UNKNOWN_SETTING = 115;

export class HistoryTables {
  readonly #clickHouse: ClickHouse;
  #areThere = false;

  constructor(clickHouse: ClickHouse) {
    this.#clickHouse = clickHouse;
  }

  /** Creates what is missing of the tables, once. */
  async create(): Promise<void> {
    if (this.#areThere) return;
    for (const statement of [...Object.values(TABLES), ...Object.values(USAGE_TABLES), ...ADDED_COLUMNS])
      await this.#clickHouse.command(statement);
    await synchroniseParts(this.#clickHouse);
    for (const statement of TUNING) await this.#clickHouse.command(statement).catch(passUnknownSetting);
    await addProjections(this.#clickHouse);
    this.#areThere = true;
  }
}

/** An older server is slower, but right. */
function passUnknownSetting(error: unknown): void {
  if (exceptionCodeOf(error) !== UNKNOWN_SETTING) throw error;
}
