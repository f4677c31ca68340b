/** Lists of measurements: JSON pages, JSON lines and CSV (document 4 section 1.3). */
import { PlatformError } from '../model/errors.ts';
import { formatTime } from '../model/iso-time.ts';
import type { ApiRequest } from './api-request.ts';
import { isEntityId } from './entity-id.ts';
import { namedSources } from './entity-text.ts';
import { HistoryFilter } from './history-filter.ts';
import { splitMembers, stringMember } from '../model/json-document.ts';
import { MEASUREMENT_COLUMNS, measurementTexts } from './measurement-text.ts';
import type { MeasurementRow } from './measurement-text.ts';
import { MEASUREMENT_READ, UNIT_HEADERS, unitsOf } from './measurements.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from './paging.ts';
import type { Page } from './paging.ts';
import { RANGE, REVERT, SOURCE, text } from './query-parameters.ts';
import { found } from './reply.ts';
import { ANSWERED } from './route.ts';
import type { Answer, Route } from './route.ts';
import { convertUnit } from './units.ts';

const CSV_TYPE = 'text/csv;charset=UTF-8';
const STREAM_TYPE = 'application/json-stream;charset=UTF-8';
const CSV_HEADER = 'time,source,device_name,fragment.series,value,unit\r\n';
/** Rows that go out in one piece of a stream. */
const PIECE_ROWS = 200;

/** What a list selects: its filter, and whether it can be answered from the first rows of the measurements alone. */
interface Selection {
  readonly filter: HistoryFilter;
  /** No condition on values: one row of a measurement stands for it. */
  readonly isOnHeads: boolean;
}

function selectionOf(request: ApiRequest): Selection {
  const { query } = request;
  const filter = new HistoryFilter(request.tenant);
  filter
    .id('source', query.text('source'))
    .text('type', query.text('type'))
    .time('time', query.time('dateFrom'), query.time('dateTo'))
    .ownedSources(request, 'source');
  const valueFragment = query.text('valueFragmentType');
  const valueSeries = query.text('valueFragmentSeries');
  const fragment = query.text('fragmentType');
  filter.text('fragment', valueFragment).text('series', valueSeries);
  if (fragment !== undefined) {
    const name = filter.bind('String', fragment);
    filter.add(`(fragment = ${name} OR (doc != '' AND JSONHas(doc, ${name})))`);
  }
  const isOnHeads = valueFragment === undefined && valueSeries === undefined && fragment === undefined;
  if (isOnHeads) filter.add('part = 0');
  return { filter, isOnHeads };
}

/** Rows of the measurements of one page, all values of each. */
async function pageRows(request: ApiRequest, selection: Selection, page: Page): Promise<MeasurementRow[]> {
  const { filter } = selection;
  const direction = request.query.isTrue('revert') ? 'DESC' : 'ASC';
  const limits = `LIMIT ${filter.bind('UInt32', page.size)} OFFSET ${filter.bind('UInt64', page.offset)}`;
  const order = `time ${direction}, id ${direction}`;
  const distinct = selection.isOnHeads ? '' : 'LIMIT 1 BY source, time, id ';
  const heads = `SELECT source, time, id FROM measurements WHERE ${filter.where} ORDER BY ${order} ${distinct}${limits}`;
  // The outer conditions let the engine skip what the set of the inner select cannot name.
  const outer = new OuterConditions(request, filter).text;
  const sql = `SELECT ${MEASUREMENT_COLUMNS} FROM measurements WHERE ${outer} AND (source, time, id) IN (${heads}) ORDER BY ${order}, part`;
  return request.history.query<MeasurementRow>(sql, filter.params);
}

/** Conditions on the sorting key that hold for the whole measurement. */
class OuterConditions {
  readonly text: string;

  constructor(request: ApiRequest, filter: HistoryFilter) {
    const { query } = request;
    const conditions = ['tenant = {tenant:UInt32}'];
    const source = query.text('source');
    if (source !== undefined && isEntityId(source)) conditions.push(`source = ${filter.bind('UInt64', Number(source))}`);
    for (const [name, operator] of [
      ['dateFrom', '>='],
      ['dateTo', '<='],
    ] as const) {
      const time = query.time(name);
      if (time !== undefined) conditions.push(`time ${operator} fromUnixTimestamp64Milli(${filter.bind('Int64', time)}, 'UTC')`);
    }
    this.text = conditions.join(' AND ');
  }
}

async function totalOf(request: ApiRequest, selection: Selection, page: Page): Promise<number | undefined> {
  if (!page.wantsTotal) return undefined;
  const what = selection.isOnHeads ? 'count()' : 'uniqExact(id)';
  const sql = `SELECT ${what} AS total FROM measurements WHERE ${selection.filter.where}`;
  const [row] = await request.history.query<{ total: number | string }>(sql, selection.filter.params);
  return Number(row?.total ?? 0);
}

async function list(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const { query } = request;
  if (query.has('valueFragmentSeries') && !query.has('valueFragmentType')) {
    throw new PlatformError('validation/mandatory-fields', { names: 'valueFragmentType' });
  }
  const page = pageOf(request);
  const selection = selectionOf(request);
  const total = await totalOf(request, selection, page);
  const rows = await pageRows(request, selection, page);
  if (request.kind === 'csv') return stream(request, CSV_TYPE, csvPieces(request, rows));
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
  for (let start = 0; start < texts.length; start += PIECE_ROWS) yield `${texts.slice(start, start + PIECE_ROWS).join('\n')}\n`;
}

async function* csvPieces(request: ApiRequest, rows: readonly MeasurementRow[]): AsyncGenerator<string> {
  const units = unitsOf(request);
  const sources = await namedSources(
    request,
    rows.map((row) => row.sourceId),
  );
  const names = new Map([...sources].map(([id, text]) => [id, stringMember(splitMembers(text), 'name') ?? '']));
  const lines: string[] = [CSV_HEADER];
  for (const row of rows) {
    if (row.fragment === '') continue;
    const { value, unit } = convertUnit(row, units);
    const fields = [
      formatTime(Number(row.timeMs)),
      row.sourceId,
      names.get(row.sourceId) ?? '',
      `${row.fragment}.${row.series}`,
      String(value),
      unit,
    ];
    lines.push(`${fields.map(csvField).join(',')}\r\n`);
    if (lines.length >= PIECE_ROWS) yield lines.splice(0).join('');
  }
  if (lines.length > 0) yield lines.join('');
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
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
      produces: ['vendor', 'json', 'json-stream', 'csv'],
      query: {
        ...SOURCE,
        type: text('Exact type'),
        valueFragmentType: text('Has values in this fragment'),
        valueFragmentSeries: text('With valueFragmentType: has this series'),
        fragmentType: text('Has this top-level property'),
        ...RANGE,
        ...REVERT,
        ...PAGE_PARAMETERS,
      },
      answers: [
        {
          status: 200,
          description: 'A page of measurements',
          mediaType: 'measurementCollection',
          contentTypes: ['application/json-stream', 'text/csv'],
        },
      ],
      handle: list,
    },
  ];
}
