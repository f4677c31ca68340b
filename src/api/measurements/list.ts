/** Lists of measurements: JSON pages, JSON lines and CSV (docs/spec/measurements.md#filters). */
import { BOUNDED_RESULT } from '../../pacing/page-limits.ts';
import type { ApiRequest } from '../request/request.ts';
import { refusalsCounted } from '../lists/document-page.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import {
  EXPORT_PARAMETERS,
  EXPORT_TYPES,
  exportFormat,
  exportPage,
  exportRows,
  requireOwnOrder,
} from '../export/export.ts';
import { HistoryFilter } from '../lists/filter.ts';
import { limitToOwnedSources } from '../lists/owner.ts';
import { exportRowOf, measurementBatches, measurementShape } from './export.ts';
import type { ExportSelection } from './export.ts';
import { MEASUREMENT_COLUMNS, measurementTexts } from './text.ts';
import type { MeasurementRow } from './text.ts';
import {
  MEASUREMENT_FILTERS,
  MEASUREMENT_READ,
  UNIT_HEADERS,
  requireFragmentOfSeries,
  unitsOf,
} from './measurements.ts';
import { PAGE_PARAMETERS, collectionText, isNoPage, pageOf } from '../request/paging.ts';
import type { Page } from '../../model/documents/page.ts';
import { REVERT } from '../request/schema/query-parameters.ts';
import { found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { cachedTotal } from '../lists/totals.ts';

const STREAM_TYPE = 'application/json-stream;charset=UTF-8';
/** Values of a measurement that the first page is read for at once. */
const PARTS_EXPECTED_MAX = 2;
/** Rows that go out in one piece of a stream. */
const PIECE_ROWS = 200;

/** What a list selects: its filter, and whether it can be answered from the first rows of the measurements alone. */
interface Selection extends ExportSelection {
  /** No condition on values: one row of a measurement stands for it. */
  readonly isOnHeads: boolean;
  /** Selects every row of the measurements, when `isOnHeads`. */
  readonly allParts: string;
}

function selectionOf(request: ApiRequest): Selection {
  const { query } = request;
  const filter = new HistoryFilter(request.tenant);
  filter
    .id('source', query.text('source'))
    .text('type', query.text('type'))
    .time('time', query.time('dateFrom'), query.time('dateTo'));
  limitToOwnedSources(request, filter, 'source');
  const outer = filter.where;
  const valueFragment = query.text('valueFragmentType');
  const valueSeries = query.text('valueFragmentSeries');
  const fragment = query.text('fragmentType');
  const values: string[] = [];
  if (valueFragment !== undefined) values.push(`fragment = ${filter.bind('String', valueFragment)}`);
  if (valueSeries !== undefined) values.push(`series = ${filter.bind('String', valueSeries)}`);
  if (fragment !== undefined) {
    const name = filter.bind('String', fragment);
    values.push(`(fragment = ${name} OR (doc != '' AND JSONHas(doc, ${name})))`);
  }
  for (const condition of values) filter.add(condition);
  const isOnHeads = valueFragment === undefined && valueSeries === undefined && fragment === undefined;
  const allParts = filter.where;
  if (isOnHeads) filter.add('part = 0');
  return { filter, isOnHeads, allParts, outer, hit: values.join(' AND ') };
}

/**
 * The first page of one source in a single pass: half the engine's work of `pageRows`.
 * @returns undefined where it does not apply, or where measurements have more values than were asked for.
 */
async function firstRows(request: ApiRequest, selection: Selection, page: Page): Promise<MeasurementRow[] | undefined> {
  if (!selection.isOnHeads || page.offset > 0 || page.size === 0 || !request.query.has('source')) return undefined;
  const { filter } = selection;
  const isLatestFirst = request.query.isTrue('revert');
  const direction = isLatestFirst ? 'DESC' : 'ASC';
  // One more than needed tells that the last one is whole.
  const rowsMax = page.size * PARTS_EXPECTED_MAX + 1;
  const sql =
    `SELECT ${MEASUREMENT_COLUMNS} FROM measurements WHERE ${selection.allParts} ` +
    `ORDER BY time ${direction}, id ${direction}, part ${direction} LIMIT ${filter.bind('UInt32', rowsMax)}${BOUNDED_RESULT}`;
  const rows = await request.history.query<MeasurementRow>(sql, filter.params);
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
async function pageRows(request: ApiRequest, selection: Selection, page: Page): Promise<MeasurementRow[]> {
  if (isNoPage(page)) return [];
  const first = await firstRows(request, selection, page);
  if (first !== undefined) return first;
  const { filter } = selection;
  const direction = request.query.isTrue('revert') ? 'DESC' : 'ASC';
  const limits = `LIMIT ${filter.bind('UInt32', page.size)} OFFSET ${filter.bind('UInt64', page.offset)}`;
  const order = `time ${direction}, id ${direction}`;
  const distinct = selection.isOnHeads ? '' : 'LIMIT 1 BY source, time, id ';
  const heads = `SELECT source, time, id FROM measurements WHERE ${filter.where} ORDER BY ${order} ${distinct}${limits}`;
  // The outer conditions let the engine skip what the set of the inner select cannot name.
  const outer = new OuterConditions(request, filter).text;
  const sql = `SELECT ${MEASUREMENT_COLUMNS} FROM measurements WHERE ${outer} AND (source, time, id) IN (${heads}) ORDER BY ${order}, part${BOUNDED_RESULT}`;
  return request.history.query<MeasurementRow>(sql, filter.params);
}

/** Conditions on the sorting key that hold for the whole measurement. */
class OuterConditions {
  readonly text: string;

  constructor(request: ApiRequest, filter: HistoryFilter) {
    const { query } = request;
    const conditions = ['tenant = {tenant:UInt32}'];
    const source = query.text('source');
    if (source !== undefined && isEntityId(source))
      conditions.push(`source = ${filter.bind('UInt64', Number(source))}`);
    for (const [name, operator] of [
      ['dateFrom', '>='],
      ['dateTo', '<='],
    ] as const) {
      const time = query.time(name);
      if (time !== undefined)
        conditions.push(`time ${operator} fromUnixTimestamp64Milli(${filter.bind('Int64', time)}, 'UTC')`);
    }
    this.text = conditions.join(' AND ');
  }
}

function totalOf(request: ApiRequest, selection: Selection, page: Page): Promise<number> | undefined {
  if (!page.wantsTotal || selection.filter.isOfPart) return undefined;
  const what = selection.isOnHeads ? 'count()' : 'uniqExact(id)';
  const sql = `SELECT ${what} AS total FROM measurements WHERE ${selection.filter.where}`;
  return cachedTotal(request, sql, selection.filter.params);
}

async function list(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const { query } = request;
  requireFragmentOfSeries(request);
  const page = pageOf(request);
  const selection = selectionOf(request);
  const format = exportFormat(request);
  // CSV by its Accept header obeys the parameters of pages (docs/spec/measurements.md#exports), as JSON streams do.
  const isPage = query.has('pageSize') || (format === 'csv' && !query.has('format'));
  if (format !== undefined && !isPage) {
    requireOwnOrder(request);
    return exportRows(request, format, measurementShape(request, format), measurementBatches(request, selection));
  }
  const total = await totalOf(request, selection, page);
  const rows = await refusalsCounted(request, pageRows(request, selection, page));
  if (format !== undefined)
    return exportPage(request, format, measurementShape(request, format), [rows.map((row) => exportRowOf(row))]);
  if (request.kind === 'json-stream') return stream(request, STREAM_TYPE, jsonPieces(request, rows));
  const items = measurementTexts(request, rows, unitsOf(request));
  return found('measurementCollection', collectionText(request, page, { name: 'measurements', items, total }));
}

function stream(request: ApiRequest, contentType: string, pieces: AsyncIterable<string>): typeof ANSWERED {
  request.stream(200, contentType);
  void request.exchange.pipe(pieces);
  return ANSWERED;
}

async function* jsonPieces(request: ApiRequest, rows: readonly MeasurementRow[]): AsyncGenerator<string> {
  const texts = measurementTexts(request, rows, unitsOf(request));
  for (let start = 0; start < texts.length; start += PIECE_ROWS)
    yield `${texts.slice(start, start + PIECE_ROWS).join('\n')}\n`;
}

export function measurementListRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/measurement/measurements',
      area: 'measurement',
      access: 'owner',
      roles: MEASUREMENT_READ,
      summary: 'List measurements, oldest first',
      headers: UNIT_HEADERS,
      produces: ['vendor', 'json', 'json-stream', 'csv', 'ndjson', 'parquet'],
      query: { ...MEASUREMENT_FILTERS, ...REVERT, ...PAGE_PARAMETERS, ...EXPORT_PARAMETERS },
      answers: [
        {
          status: 200,
          description: 'A page of measurements',
          mediaType: 'measurementCollection',
          contentTypes: ['application/json-stream', ...EXPORT_TYPES],
        },
      ],
      handle: list,
    },
  ];
}
