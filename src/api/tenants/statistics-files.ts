/**
 * Files with the usage of all tenants, for the management tenant (docs/spec/statistics.md#files). Kept by
 * accounts/tenants/statistics-files.ts.
 */
import Type from 'typebox';
import type { StoredStatisticsFile } from '../../accounts/tenants/statistics-files.ts';
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import { dayOf } from '../../accounts/tenants/usage.ts';
import type { DayRange } from '../../history/usage.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { attachmentHeader } from '../http/byte-range.ts';
import { segment } from '../entities/text.ts';
import { ANY_CONTENT } from '../http/media-types.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { created, found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { OPEN } from '../../model/schema/parts.ts';
import { parseQueryTime } from '../request/schema/timestamps.ts';

const ADMIN = ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_MANAGEMENT_CREATE'];
const READ = ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_MANAGEMENT_READ', 'ROLE_TENANT_STATISTICS_READ'];
const OCTETS = 'application/octet-stream';
const DAY_MS = 86_400_000;
/** Of one file. */
const DAYS_MAX = 366;

/** @throws PlatformError 403: the files are about all tenants. */
function requireManagement(request: ApiRequest): void {
  if (request.principal.tenant !== MANAGEMENT_TENANT) throw new PlatformError('security/forbidden');
}

const fileUrl = (request: ApiRequest, id: string): string =>
  `${request.baseUrl}/tenant/statistics/files/${segment(id)}`;

function fileText(request: ApiRequest, { id, type, dateFrom, dateTo, generationDate }: StoredStatisticsFile): string {
  const instanceName = new URL(request.baseUrl).hostname;
  return JSON.stringify({ self: fileUrl(request, id), id, instanceName, generationDate, dateFrom, dateTo, type });
}

async function list(request: ApiRequest): Promise<Answer> {
  requireManagement(request);
  const page = pageOf(request);
  const files = await request.platform.statisticsFiles.list();
  const items = files.slice(page.offset, page.offset + page.size).map((file) => fileText(request, file));
  return found(
    'tenantStatisticsFileCollection',
    collectionText(request, page, { name: 'statisticsFiles', items, total: files.length }),
  );
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'statistics', name, value, limit });

/** @throws PlatformError 422. */
function rangeOf(request: ApiRequest): DayRange {
  const { dateFrom, dateTo } = JSON.parse(request.bodyText()) as { dateFrom: string; dateTo: string };
  const [from, to] = (
    [
      ['dateFrom', dateFrom],
      ['dateTo', dateTo],
    ] as const
  ).map(([name, value]) => {
    const time = parseQueryTime(value);
    if (time === undefined) throw invalid(name, value, 'a day, YYYY-MM-DD');
    return Math.floor(time / DAY_MS) * DAY_MS;
  });
  if (to < from) throw invalid('dateTo', dateTo, `${dateFrom} (dateFrom) at the earliest`);
  if ((to - from) / DAY_MS >= DAYS_MAX) throw invalid('dateTo', dateTo, `${DAYS_MAX} days from dateFrom at most`);
  return { from: dayOf(from), to: dayOf(to) };
}

async function post(request: ApiRequest): Promise<Answer> {
  requireManagement(request);
  const range = rangeOf(request);
  const { principal, tenant } = request;
  const file = await request.platform.statisticsFiles.createTest(range, {
    type: 'Tenant',
    activity: 'Statistics file generated',
    text: `Statistics file generated: ${range.from} to ${range.to}`,
    user: principal.userName,
    tenant,
  });
  return created('tenantStatisticsFile', fileText(request, file), fileUrl(request, file.id));
}

async function send(request: ApiRequest, file: StoredStatisticsFile | undefined, id: string): Promise<typeof ANSWERED> {
  if (file === undefined) throw new PlatformError('statistics/file-not-found', { id });
  const name = `statistics-${file.dateFrom.slice(0, 10)}-${file.dateTo.slice(0, 10)}.csv`;
  const headers = [
    'Content-Type',
    OCTETS,
    'X-Content-Type-Options',
    'nosniff',
    'Content-Disposition',
    attachmentHeader(name),
  ];
  await request.sendContent(200, headers, file.bytes, await request.platform.statisticsFiles.read(file));
  return ANSWERED;
}

async function download(request: ApiRequest): Promise<typeof ANSWERED> {
  requireManagement(request);
  const { id } = request.params;
  return send(request, await request.platform.statisticsFiles.get(id), id);
}

/** Of the month; the day in it does not matter. */
async function latest(request: ApiRequest): Promise<typeof ANSWERED> {
  requireManagement(request);
  const { month } = request.params;
  if (!/^\d{4}-(0[1-9]|1[0-2])(-\d\d)?$/.test(month)) {
    throw new PlatformError('general/invalid-parameter', {
      name: 'month',
      value: month,
      limit: 'a month, YYYY-MM or YYYY-MM-DD',
    });
  }
  return send(request, await request.platform.statisticsFiles.ofMonth(month.slice(0, 7)), month);
}

const Days = Type.Object(
  {
    dateFrom: Type.String({ description: 'First day, YYYY-MM-DD' }),
    dateTo: Type.String({ description: 'Last day' }),
    type: Type.Optional(Type.Enum(['TEST'], { description: 'REAL files are made by the server, once a month' })),
  },
  OPEN,
);

export function statisticsFileRoutes(): Route[] {
  const path = '/tenant/statistics/files';
  const read = { method: 'GET', area: 'statistics', access: 'roles', roles: READ } as const;
  const file = {
    produces: ANY_CONTENT,
    answers: [{ status: 200, description: 'CSV: a line for each tenant and day', contentTypes: [OCTETS] }],
  } as const;
  return [
    {
      ...read,
      path,
      summary: 'Files with the usage of all tenants, the newest first (management tenant)',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of files', mediaType: 'tenantStatisticsFileCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path,
      area: 'statistics',
      access: 'roles',
      roles: ADMIN,
      summary: 'Make a file with the usage of all tenants (management tenant)',
      body: {
        schema: Days,
        mediaTypes: ['tenantStatisticsDate'],
        example: { dateFrom: '2024-05-01', dateTo: '2024-05-31' },
      },
      answers: [{ status: 201, description: 'The file', mediaType: 'tenantStatisticsFile' }],
      handle: post,
    },
    { ...read, ...file, path: `${path}/{id}`, summary: 'Download a file (management tenant)', handle: download },
    {
      ...read,
      ...file,
      path: `${path}/latest/{month}`,
      summary: 'Download the usage file of a past month (management tenant)',
      handle: latest,
    },
  ];
}
