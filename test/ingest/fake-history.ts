/**
 * A history store in memory that behaves like ClickHouse: blocks with a known token change nothing, newer versions
 * replace rows.
 */
import { SELECT_PAGE } from '../../src/ports/stores/history-writer.ts';
import type {
  Before,
  HistoryWriter,
  MeasurementBlock,
  MeasurementDeletion,
  StatementState,
} from '../../src/ports/stores/history-writer.ts';
import type { DataDelete } from '../../src/model/commands/deletion.ts';

export interface Value {
  tenant: number;
  id: number;
  seq: number;
  part: number;
  source: number;
  value: number;
}

const isOf = ({ source = '', sources = source }: DataDelete['filter'], asked: number | undefined): boolean =>
  asked !== undefined && sources.split(',').map(Number).includes(asked);

export class FakeHistory implements HistoryWriter {
  values: Value[] = [];
  readonly tokens = new Map<string, string>();
  /** table -> id -> the row of the newest version */
  readonly tables = new Map<
    string,
    Map<
      number,
      { id: number; version: number; deleted: number; tenant?: number; source?: number; creation_time?: string }
    >
  >();
  readonly log: string[] = [];
  /** The error with which the store refuses a value of a measurement, the id of a row, or the source of a DELETE. */
  refuses: (what: { value?: number; id?: number; deleted?: string }) => Error | undefined = () => undefined;
  /** Rows of each are there or not, and tokens are remembered for each. */
  partitionOf: (value: Value) => number = () => 0;
  /** Whether the store ends between writing down the token of a partition and keeping its rows, as ClickHouse may. */
  loses: (token: string) => boolean = () => false;
  /** Whether a DELETE of measurements that was begun is done by now. */
  isDeleted: () => boolean = () => true;
  /** Called first by each call; may delay or throw. */
  before: (call: string) => Promise<void> | void = () => undefined;
  /** Called when a call has taken effect, before its caller knows. */
  after: (call: string) => Promise<void> | void = () => undefined;

  async insertMeasurements(columns: MeasurementBlock, token: string): Promise<void> {
    const rows = Array.from({ length: columns.rowCount }, (_, row) => ({
      tenant: columns.tenant[row],
      id: columns.id[row],
      seq: columns.seq[row],
      part: columns.part[row],
      source: columns.source[row],
      value: columns.value[row],
    }));
    await this.before(`measurements ${token}`);
    for (const { value } of rows) this.#check({ value });
    for (const partition of new Set(rows.map(this.partitionOf)))
      this.#keep(
        rows.filter((row) => this.partitionOf(row) === partition),
        `${token} ${partition}`,
      );
    this.log.push(`measurements ${token}`);
    await this.after(`measurements ${token}`);
  }

  #keep(rows: readonly Value[], token: string): void {
    // The order of rows is nothing that the deduplication looks at.
    const text = JSON.stringify(rows.toSorted((a, b) => a.seq - b.seq || a.part - b.part));
    const known = this.tokens.get(token);
    // Parts and what is restored leave out rows of shards that have passed the block: ClickHouse looks at the token
    // alone.
    if (known !== undefined && known !== text && !token.includes('/') && !isPartOf(rows, known))
      throw new Error(`the block ${token} is another one now`);
    if (known !== undefined) return;
    this.tokens.set(token, text);
    if (this.loses(token)) throw new Error('the store was killed');
    this.values.push(...rows);
  }

  async storedMeasurements(columns: MeasurementBlock): Promise<ReadonlyMap<number, number>> {
    const asked = new Set(
      Array.from({ length: columns.rowCount }, (_, row) => `${columns.id[row]} ${columns.seq[row]}`),
    );
    await this.before('stored');
    return new Map(this.values.filter(({ id, seq }) => asked.has(`${id} ${seq}`)).map(({ id, seq }) => [seq, id]));
  }

  async insertRows(table: string, texts: readonly string[]): Promise<void> {
    const kept = texts.map((text) => JSON.parse(text) as { id: number; version: number; deleted: number });
    await this.before(table);
    for (const { id } of kept) this.#check({ id });
    const rows = this.tables.get(table) ?? new Map<number, { id: number; version: number; deleted: number }>();
    this.tables.set(table, rows);
    for (const row of kept) if ((rows.get(row.id)?.version ?? 0) <= row.version) rows.set(row.id, row);
    this.log.push(`${table} ${kept.map(({ id }) => id).join(' ')}`);
    await this.after(table);
  }

  async deleteMeasurements({ tenant, filter, seq }: MeasurementDeletion): Promise<StatementState> {
    await this.before(`delete ${seq}`);
    this.#check({ deleted: String(filter.source) });
    if (!this.isDeleted()) return 'under way';
    this.values = this.values.filter(
      (value) => value.seq > seq || value.tenant !== tenant || !isOf(filter, value.source),
    );
    this.log.push(`delete ${seq}`);
    await this.after(`delete ${seq}`);
    return 'done';
  }

  async selectMeasurements(
    { tenant, filter, seq }: MeasurementDeletion,
    afterId: number,
    limit: number,
  ): Promise<{ id: number; source: number }[]> {
    const found = this.values.filter(
      (value) => value.seq <= seq && value.tenant === tenant && isOf(filter, value.source) && value.id > afterId,
    );
    return [...new Map(found.map(({ id, source }) => [id, source]))]
      .map(([id, source]) => ({ id, source }))
      .sort((a, b) => a.id - b.id)
      .slice(0, limit);
  }

  async select(
    tenant: number,
    table: string,
    filter: DataDelete['filter'],
    afterId = 0,
    before?: Before,
  ): Promise<{ id: number; source: number }[]> {
    this.#check({ deleted: String(filter.source) });
    return [...(this.tables.get(table)?.values() ?? [])]
      .filter((row) => !row.deleted && row.tenant === tenant && isOf(filter, row.source) && row.id > afterId)
      .filter(
        (row) =>
          before === undefined ||
          row.version <= before.seq ||
          (!('lastUpdatedFrom' in filter) &&
            Date.parse(`${row.creation_time?.replace(' ', 'T').replace(/Z$/, '')}Z`) <= before.time),
      )
      .sort((a, b) => a.id - b.id)
      .slice(0, SELECT_PAGE)
      .map(({ id, source }) => ({ id, source: source as number }));
  }

  #check(what: Parameters<FakeHistory['refuses']>[0]): void {
    const error = this.refuses(what);
    if (error !== undefined) throw error;
  }

  ids(table: string): number[] {
    return [...(this.tables.get(table)?.values() ?? [])]
      .filter(({ deleted }) => !deleted)
      .map(({ id }) => id)
      .sort((a, b) => a - b);
  }
}

/** A repetition leaves out what is stored. */
function isPartOf(rows: readonly Value[], text: string): boolean {
  const known = new Set((JSON.parse(text) as Value[]).map((row) => JSON.stringify(row)));
  return rows.every((row) => known.has(JSON.stringify(row)));
}
