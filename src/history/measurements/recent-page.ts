/** Pages of the newest and oldest measurements, from memory where they are known (ports/recent-measurements.ts), else filling it. */
import type { Page } from '../../model/documents/page.ts';
import { PlatformError } from '../../model/errors.ts';
import { BOUNDED_RESULT } from '../../pacing/page-limits.ts';
import type {
  EdgeFound,
  EdgeOf,
  RecentMeasurement,
  RecentRange,
  RecentReader,
} from '../../ports/recent-measurements.ts';
import { HistoryFilter } from '../filter.ts';
import type { ListReaders } from '../readers.ts';
import { MEASUREMENT_COLUMNS } from './rows.ts';
import type { MeasurementRow } from './rows.ts';

/** What a list selects by the key of the table alone. */
export interface KeySelection {
  /** Undefined for all of the tenant. */
  readonly source: number | undefined;
  /** Both inclusive, ms since 1970. */
  readonly from: number | undefined;
  readonly to: number | undefined;
}

/** The newest of all are asked for only where the page may end with them, the oldest where it may begin with them. */
const ENDS_LATELY_MS = 3_600_000;
const BEGINS_EARLY_MS = 400 * 86_400_000;
/** Rows of a measurement that are expected, then what is read in all when there are more, at least some hundred. */
const ROWS_FACTORS = [2, 16] as const;
const LAST_ROWS_MIN = 512;
/**
 * First reach of the window of time that the newest measurements are looked for in: the engine opens each part of the
 * table that has other times only for its smallest and largest one (docs/internals/performance.md). A window that does
 * not have enough is made as large as they seem to need, or this number of times larger when it is empty.
 */
const WINDOW_OF_SOURCE = { firstMs: 3_600_000, growth: 168 };
/** It grows less: the engine reads all rows of the window, which may have been many a minute before. */
const WINDOW_OF_TENANT = { firstMs: 60_000, growth: 16 };
/** A larger one is without a beginning, for a source. Of a tenant that would be all it has. */
const WINDOW_MS_MAX = 400 * 86_400_000;

/** @returns rows of the page; undefined when the history is to be asked for it as for any other page. */
export async function recentPage(
  readers: ListReaders,
  { source, from, to }: KeySelection,
  page: Page,
  isLatestFirst: boolean,
): Promise<MeasurementRow[] | undefined> {
  const { recent, tenant } = readers;
  const size = page.offset + page.size;
  if (recent === undefined || size > recent.pageMax) return undefined;
  // By the key of the table all that the tenant has would be read, with all columns.
  if (source === undefined && !isLatestFirst) return undefined;
  const of: EdgeOf = { tenant, source, edge: isLatestFirst ? 'newest' : 'oldest' };
  const range = { from, to, offset: page.offset, size: page.size };
  const known = recent.find(of, range);
  if (known !== undefined) return known.flatMap(rowsOf);
  const now = recent.now();
  const isNear = isLatestFirst ? (to ?? now) >= now - ENDS_LATELY_MS : (from ?? 0) <= now - BEGINS_EARLY_MS;
  if (!isNear || recent.has(of, size)) return undefined;
  return (await told(readers, recent, of, range, size))?.flatMap(rowsOf);
}

/** Longer times are not looked for in memory. */
const SINCE_MS_MAX = 6 * 3_600_000;

/** @returns all measurements of a source in a time that ends lately, newest first; undefined when they are not known. */
export async function recentSince(
  readers: ListReaders,
  { source, from, to }: { readonly source: number; readonly from: number; readonly to: number },
): Promise<readonly RecentMeasurement[] | undefined> {
  const { recent, tenant } = readers;
  if (recent === undefined || to - from > SINCE_MS_MAX || to < recent.now() - ENDS_LATELY_MS) return undefined;
  const of: EdgeOf = { tenant, source, edge: 'newest' };
  const range = { from, to, offset: 0, size: Infinity };
  const known = recent.find(of, range);
  if (known !== undefined || recent.has(of, recent.pageMax)) return known;
  return told(readers, recent, of, range, recent.pageMax);
}

/** What the history tells. */
async function told(
  readers: ListReaders,
  recent: RecentReader,
  of: EdgeOf,
  range: RecentRange,
  size: number,
): Promise<readonly RecentMeasurement[] | undefined> {
  const read = async (): Promise<EdgeFound> => {
    try {
      return await (of.edge === 'newest'
        ? newestOf(readers, of, size, recent.now())
        : edgeRows(readers, filterOf(of), of, size));
    } catch (error) {
      // More was read than the page has: that may fit.
      if (error instanceof PlatformError && TOO_LARGE.includes(error.code)) return unknown(size);
      throw error;
    }
  };
  return recent.edge(of, range, read);
}

const TOO_LARGE: readonly string[] = ['general/page-too-large', 'general/query-too-large'];
const unknown = (page: number): EdgeFound => ({ page, measurements: undefined, isWhole: false });

const filterOf = ({ tenant, source }: EdgeOf): HistoryFilter =>
  new HistoryFilter(tenant).id('source', source === undefined ? undefined : String(source));

/** From windows of time, newest first. Not known of a tenant that has fewer in all of them. */
async function newestOf(readers: ListReaders, of: EdgeOf, size: number, now: number): Promise<EdgeFound> {
  const { firstMs, growth } = of.source === undefined ? WINDOW_OF_TENANT : WINDOW_OF_SOURCE;
  let windowMs = firstMs;
  while (windowMs < WINDOW_MS_MAX) {
    const newest = await edgeRows(readers, filterOf(of).time('time', now - windowMs, undefined), of, size);
    const found = newest.measurements.length;
    // Where not all of the window was read, nothing before it is needed.
    if (found >= size || !newest.isWhole) return { ...newest, isWhole: false };
    windowMs *= found === 0 ? growth : Math.ceil((2 * size) / found);
  }
  return of.source === undefined ? unknown(size) : edgeRows(readers, filterOf(of), of, size);
}

/** The first rows from the edge on, without the measurement that may not be whole. */
async function edgeRows(
  { history }: ListReaders,
  filter: HistoryFilter,
  { edge }: EdgeOf,
  size: number,
): Promise<EdgeFound & { readonly measurements: readonly RecentMeasurement[] }> {
  const order = ['time', 'id', 'part'].map((name) => `${name} ${edge === 'newest' ? 'DESC' : 'ASC'}`).join(', ');
  let measurements: RecentMeasurement[] = [];
  const [expected, most] = ROWS_FACTORS;
  for (const wanted of [size * expected, Math.max(size * most, LAST_ROWS_MIN)]) {
    // One more tells that the last one is whole.
    const rowsMax = wanted + 1;
    const sql =
      `SELECT ${MEASUREMENT_COLUMNS} FROM measurements WHERE ${filter.where} ` +
      `ORDER BY ${order} LIMIT {rowsMax:UInt32}${BOUNDED_RESULT}`;
    const rows = await history.query<MeasurementRow>(filter.statement(['measurements'], sql, { rowsMax }));
    measurements = measurementsOf(edge === 'newest' ? rows : [...rows].reverse());
    if (edge === 'oldest') measurements.reverse();
    if (rows.length < rowsMax) return { page: size, measurements, isWhole: true };
    measurements.pop();
    if (measurements.length >= size) break;
  }
  return { page: size, measurements, isWhole: false };
}

/** @param rows those of one measurement together, its last value first. */
function measurementsOf(rows: readonly MeasurementRow[]): RecentMeasurement[] {
  const measurements: MeasurementRow[][] = [];
  for (const row of rows) {
    const last = measurements.at(-1);
    if (last?.[0].entityId === row.entityId) last.push(row);
    else measurements.push([row]);
  }
  return measurements.map((parts) => {
    const [first] = parts;
    return {
      source: Number(first.sourceId),
      id: Number(first.entityId),
      time: Number(first.timeMs),
      type: first.type,
      document: parts[parts.length - 1].doc,
      values: parts
        .reverse()
        .filter(({ fragment }) => fragment !== '')
        .map(({ fragment, series, value, unit }) => ({ fragment, series, value, unit })),
      form: Number(first.formText),
      tail: parts[parts.length - 1].tail,
    };
  });
}

/** As the history gives them. */
function rowsOf({ source, id, time, type, document, values, form, tail = '' }: RecentMeasurement): MeasurementRow[] {
  const parts = values.length === 0 ? [{ fragment: '', series: '', value: 0, unit: '' }] : values;
  const [entityId, sourceId, formText] = [String(id), String(source), String(form)];
  return parts.map(({ fragment, series, value, unit }, part) => ({
    entityId,
    sourceId,
    timeMs: time,
    type,
    fragment,
    series,
    value,
    unit,
    doc: part === 0 ? document : '',
    formText,
    tail: part === 0 ? tail : '',
  }));
}
