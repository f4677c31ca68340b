/** Pages of measurements (docs/spec/measurements.md#filters). */
import { isEntityId } from '../../model/entities/entity-id.ts';
import { isNoPage } from '../../model/documents/page.ts';
import type { Page } from '../../model/documents/page.ts';
import { BOUNDED_RESULT } from '../../pacing/page-limits.ts';
import { limitSources } from '../access.ts';
import type { Reach } from '../access.ts';
import { HistoryFilter } from '../filter.ts';
import { OF_VALUES, addParameters } from '../parameters.ts';
import type { ParameterValues } from '../parameters.ts';
import type { ListReaders } from '../readers.ts';
import { cachedTotal, countOf } from '../totals.ts';
import { recentPage } from './recent-page.ts';
import type { KeySelection } from './recent-page.ts';
import { MEASUREMENT_COLUMNS } from './rows.ts';
import type { MeasurementRow } from './rows.ts';

/** Values of a measurement that the first page is read for at once. */
const PARTS_EXPECTED_MAX = 2;
/** Parameters about columns of the table's key: what they exclude the engine does not read. */
const OF_KEY = ['source', 'dateFrom', 'dateTo'];

/** What a list selects. */
export interface MeasurementSelection {
  readonly filter: HistoryFilter;
  /** Conditions that hold for all rows of a measurement or none. */
  readonly outer: string;
  /** Conditions each of which one row of the measurement has to fulfil. */
  readonly hits: readonly string[];
  /** No condition on values: one row of a measurement stands for it. */
  readonly isOnHeads: boolean;
  /** Selects every row of the measurements, when `isOnHeads`. */
  readonly allParts: string;
  /** Those of `outer` that are about the table's key alone. */
  readonly ofKey: string;
  /** All that it selects by, where that is the table's key alone. */
  readonly byKey: KeySelection | undefined;
}

const pick = (values: ParameterValues, isWanted: (name: string) => boolean): ParameterValues =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== undefined && isWanted(name)));

/** @param reach of a user without a global role. */
export function selectMeasurements(
  tenant: number,
  values: ParameterValues,
  reach: Reach | undefined,
): MeasurementSelection {
  const filter = new HistoryFilter(tenant);
  addParameters(
    filter,
    'measurements',
    pick(values, (name) => OF_KEY.includes(name)),
  );
  const ofKey = filter.where;
  addParameters(
    filter,
    'measurements',
    pick(values, (name) => !OF_KEY.includes(name) && !OF_VALUES.includes(name)),
  );
  limitSources(filter, reach);
  const outer = filter.where;
  const ofValues = pick(values, (name) => OF_VALUES.includes(name));
  const apart = (wanted: ParameterValues): string =>
    filter.apart((part) => addParameters(part, 'measurements', wanted));
  const { fragmentType, ...ofOneValue } = ofValues;
  const hits = [apart(ofOneValue), apart({ fragmentType })].filter((condition) => condition !== '');
  const isOnHeads = hits.length === 0;
  filter.add(isOnHeads ? 'part = 0' : apart(ofValues));
  return { filter, isOnHeads, allParts: outer, outer, hits, ofKey, byKey: keySelection(values, reach) };
}

function keySelection(values: ParameterValues, reach: Reach | undefined): KeySelection | undefined {
  const { source, dateFrom: from, dateTo: to, ...others } = values;
  if (reach !== undefined || Object.values(others).some((value) => value !== undefined)) return undefined;
  if (source !== undefined && !isEntityId(String(source))) return undefined;
  const numberOf = (value: typeof source): number | undefined => (value === undefined ? undefined : Number(value));
  return { source: numberOf(source), from: numberOf(from), to: numberOf(to) };
}

/**
 * The first page of one source in a single pass: half the engine's work of `measurementPage`.
 * @returns undefined where it does not apply, or where measurements have more values than were asked for.
 */
async function firstRows(
  { history }: ListReaders,
  { filter, isOnHeads, allParts }: MeasurementSelection,
  page: Page,
  isLatestFirst: boolean,
): Promise<MeasurementRow[] | undefined> {
  if (!isOnHeads || page.offset > 0 || page.size === 0 || !filter.isOfOne('source')) return undefined;
  const direction = isLatestFirst ? 'DESC' : 'ASC';
  // One more than needed tells that the last one is whole.
  const rowsMax = page.size * PARTS_EXPECTED_MAX + 1;
  const sql =
    `SELECT ${MEASUREMENT_COLUMNS} FROM measurements WHERE ${allParts} ` +
    `ORDER BY time ${direction}, id ${direction}, part ${direction} LIMIT ${filter.bind('UInt32', rowsMax)}${BOUNDED_RESULT}`;
  const rows = await history.query<MeasurementRow>(filter.statement(['measurements'], sql));
  const measurements: MeasurementRow[][] = [];
  for (const row of rows) {
    const last = measurements.at(-1);
    if (last?.[0].entityId !== row.entityId) measurements.push([row]);
    else if (isLatestFirst) last.unshift(row);
    else last.push(row);
  }
  const isWhole = rows.length < rowsMax || measurements.length > page.size;
  return isWhole ? measurements.slice(0, page.size).flat() : undefined;
}

/** Rows of the measurements of one page, all values of each. */
export async function measurementPage(
  readers: ListReaders,
  selection: MeasurementSelection,
  page: Page,
  isLatestFirst: boolean,
): Promise<MeasurementRow[]> {
  if (isNoPage(page)) return [];
  const { byKey } = selection;
  const recent = byKey === undefined ? undefined : await recentPage(readers, byKey, page, isLatestFirst);
  if (recent !== undefined) return recent;
  const first = await firstRows(readers, selection, page, isLatestFirst);
  if (first !== undefined) return first;
  const { filter, isOnHeads, ofKey } = selection;
  const direction = isLatestFirst ? 'DESC' : 'ASC';
  const limits = `LIMIT ${filter.bind('UInt32', page.size)} OFFSET ${filter.bind('UInt64', page.offset)}`;
  const order = `time ${direction}, id ${direction}`;
  const distinct = isOnHeads ? '' : 'LIMIT 1 BY source, time, id ';
  const heads = `SELECT source, time, id FROM measurements WHERE ${filter.where} ORDER BY ${order} ${distinct}${limits}`;
  // The conditions on the key let the engine skip what the set of the inner select cannot name.
  const sql = `SELECT ${MEASUREMENT_COLUMNS} FROM measurements WHERE ${ofKey} AND (source, time, id) IN (${heads}) ORDER BY ${order}, part${BOUNDED_RESULT}`;
  return readers.history.query<MeasurementRow>(filter.statement(['measurements'], sql));
}

/** @returns undefined when the page does not want it, or the user sees only a part of the inventory. */
export async function measurementTotal(
  readers: ListReaders,
  { filter, isOnHeads, byKey }: MeasurementSelection,
  page: Page,
): Promise<number | undefined> {
  if (!page.wantsTotal || filter.isOfPart) return undefined;
  const { recent, tenant, history } = readers;
  const what = isOnHeads ? 'count()' : 'uniqExact(id)';
  const sql = `SELECT ${what} AS total FROM measurements WHERE ${filter.where}`;
  const statement = filter.statement(['measurements'], sql);
  if (recent === undefined || byKey?.source === undefined || byKey.from !== undefined || byKey.to !== undefined)
    return cachedTotal(readers, statement);
  const { source } = byKey;
  const count = (): Promise<number> => recent.counted(tenant, source, () => countOf(history, statement));
  return recent.total(tenant, source) ?? cachedTotal(readers, statement, count);
}
