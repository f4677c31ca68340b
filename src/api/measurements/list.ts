/** Lists of measurements: JSON pages, JSON lines and CSV (docs/spec/measurements.md#filters). */
import { exportRowOf, measurementBatches } from '../../history/measurements/export.ts';
import { measurementPage, measurementTotal, selectMeasurements } from '../../history/measurements/page.ts';
import type { MeasurementRow } from '../../history/measurements/rows.ts';
import type { ApiRequest } from '../request/request.ts';
import { refusalsCounted } from '../../history/page.ts';
import {
  EXPORT_PARAMETERS,
  EXPORT_TYPES,
  exportFormat,
  exportPage,
  exportRows,
  requireOwnOrder,
} from '../export/export.ts';
import { reachOf } from '../lists/owner.ts';
import { exportReaders, listReaders } from '../lists/readers.ts';
import { filterValues } from '../lists/selecting-filters.ts';
import { measurementShape } from './export.ts';
import { measurementTexts } from './text.ts';
import {
  MEASUREMENT_FILTERS,
  MEASUREMENT_READ,
  UNIT_HEADERS,
  requireFragmentOfSeries,
  unitsOf,
} from './measurements.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { REVERT } from '../request/schema/query-parameters.ts';
import { found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';

const STREAM_TYPE = 'application/json-stream;charset=UTF-8';
/** Rows that go out in one piece of a stream. */
const PIECE_ROWS = 200;

async function list(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const { query } = request;
  requireFragmentOfSeries(request);
  const page = pageOf(request);
  const selection = selectMeasurements(request.tenant, filterValues(query, MEASUREMENT_FILTERS), reachOf(request));
  const format = exportFormat(request);
  // CSV by its Accept header obeys the parameters of pages (docs/spec/measurements.md#exports), as JSON streams do.
  const isPage = query.has('pageSize') || (format === 'csv' && !query.has('format'));
  if (format !== undefined && !isPage) {
    requireOwnOrder(request);
    return exportRows(
      request,
      format,
      measurementShape(request, format),
      measurementBatches(exportReaders(request), selection),
    );
  }
  const readers = listReaders(request);
  const total = await measurementTotal(readers, selection, page);
  const rows = await refusalsCounted(readers, measurementPage(readers, selection, page, query.isTrue('revert')));
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
