/**
 * Usage statistics (docs/spec/statistics.md): daily rows, summaries, and messages by device. Counted by
 * accounts/tenants/usage.ts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isAbove } from '../../accounts/tenants/tenants.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import { dayOf } from '../../accounts/tenants/usage.ts';
import { NO_USAGE, usageCounts } from '../../accounts/tenants/usage-report.ts';
import { deviceRows } from '../../history/devices.ts';
import { dailyUsage, messagesByDevice, usageSummaries, usageSummary } from '../../history/usage.ts';
import type { DayRange, UsageRow } from '../../history/usage.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { PageBudget } from '../request/page-budget.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { RANGE, text } from '../request/schema/query-parameters.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { subscribedNames } from '../applications/subscriptions.ts';
import { tenantOf } from './subtenants.ts';
import { parseQueryTime } from '../request/schema/timestamps.ts';

const READ = ['ROLE_TENANT_STATISTICS_READ', 'ROLE_TENANT_MANAGEMENT_READ'];
const DAY_MS = 86_400_000;

/** Tenants of one statement: their numbers are a value of it. */
const TENANTS_AT_ONCE = 1_000;

/** Days of the query; the month so far without them. */
function rangeOf(request: ApiRequest): DayRange {
  const { query, platform } = request;
  const today = dayOf(platform.now());
  const day = (name: string, otherwise: string): string => {
    const time = query.time(name);
    return time === undefined ? otherwise : dayOf(time);
  };
  return { from: day('dateFrom', `${today.slice(0, 8)}01`), to: day('dateTo', today) };
}

/** No microservice runs here. */
const RESOURCES = { cpu: 0, memory: 0, usedBy: [] };
const usageOf = (row: UsageRow): object => ({ ...usageCounts(row), resources: RESOURCES });

/** What was counted until now is in the tables. */
async function upToDate(request: ApiRequest, tenants: readonly Tenant[]): Promise<void> {
  const { usage } = request.platform;
  if (usage === undefined) return;
  await usage.flush();
  for (const { number } of tenants) await usage.refreshSizes(number);
}

const own = (request: ApiRequest): Tenant => tenantOf(request, request.principal.tenant);

async function daily(request: ApiRequest): Promise<Answer> {
  const tenant = own(request);
  const page = pageOf(request);
  await upToDate(request, [tenant]);
  const rows = await dailyUsage(request.history, tenant.number, rangeOf(request));
  const subscribedApplications = await subscribedNames(request, tenant);
  const items = rows.slice(page.offset, page.offset + page.size).map((row) =>
    JSON.stringify({
      self: `${request.baseUrl}/tenant/statistics?dateFrom=${row.day}&dateTo=${row.day}`,
      day: `${row.day}T00:00:00.000Z`,
      ...usageOf(row),
      subscribedApplications,
    }),
  );
  return found(
    'tenantUsageStatisticsCollection',
    collectionText(request, page, { name: 'usageStatistics', items, total: rows.length }),
  );
}

async function summaryOf(request: ApiRequest, tenant: Tenant): Promise<object> {
  const row = await usageSummary(request.history, tenant.number, rangeOf(request));
  return { ...usageOf(row ?? NO_USAGE), subscribedApplications: await subscribedNames(request, tenant) };
}

async function summary(request: ApiRequest): Promise<Answer> {
  const tenant = tenantOf(request, request.query.text('tenant') ?? request.principal.tenant);
  await upToDate(request, [tenant]);
  const self = `${request.baseUrl}/tenant/statistics/summary`;
  return found('tenantUsageStatisticsSummary', JSON.stringify({ self, ...(await summaryOf(request, tenant)) }));
}

/** Of the caller's tenant and those below it. @throws PlatformError `general/page-too-large`. */
async function allTenants(request: ApiRequest): Promise<Answer> {
  const { platform, principal } = request;
  const tenants = [...platform.tenants.all]
    .filter((tenant) => isAbove(principal, tenant) || tenant.id === principal.tenant)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  await upToDate(request, []);
  const budget = new PageBudget(request);
  const summaries: string[] = [];
  for (let start = 0; start < tenants.length; start += TENANTS_AT_ONCE) {
    const some = tenants.slice(start, start + TENANTS_AT_ONCE);
    const numbers = some.map(({ number }) => number);
    const rows = await usageSummaries(request.history, numbers, rangeOf(request));
    const usage = new Map(rows.map((row) => [row.tenant, row]));
    for (const tenant of some) {
      const { id, parent, domain, company, customProperties } = tenant;
      const text = JSON.stringify({
        tenantId: id,
        parentTenantId: parent,
        tenantDomain: domain,
        tenantCompany: company,
        tenantCustomProperties: JSON.parse(customProperties ?? '{}'),
        ...usageOf(usage.get(tenant.number) ?? NO_USAGE),
        subscribedApplications: await subscribedNames(request, tenant),
      });
      budget.take(text.length);
      summaries.push(text);
    }
    // Documents may answer at once: other requests get a turn here.
    await nextTurn();
  }
  return found('allTenantsSummary', `[${summaries.join(',')}]`);
}

async function byDevice(request: ApiRequest, period: 'day' | 'month'): Promise<Answer> {
  const tenant = tenantOf(request, request.params['tenant']);
  const start = parseQueryTime(request.params['date']);
  if (start === undefined || !/^\d{4}-\d\d-\d\d/.test(request.params['date'])) {
    throw new PlatformError('general/invalid-parameter', {
      name: 'date',
      value: request.params['date'],
      limit: 'a day, YYYY-MM-DD',
    });
  }
  const page = pageOf(request);
  const date = new Date(start);
  const from =
    period === 'day' ? Math.floor(start / DAY_MS) * DAY_MS : Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  const to = period === 'day' ? from + DAY_MS : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  const wanted = { limit: page.size, offset: page.offset };
  const counts = await messagesByDevice(request.history, tenant.number, { from, to }, wanted);
  const ids = counts.map(({ deviceId }) => deviceId);
  const devices = new Map((await deviceRows(request.history, tenant.number, ids)).map((row) => [row.deviceId, row]));
  const items = counts.map(({ deviceId, count }) => {
    const device = devices.get(deviceId);
    return JSON.stringify({
      deviceId,
      count,
      deviceType: device?.deviceType ?? '',
      deviceParents: device?.deviceParents ?? [],
    });
  });
  return found('deviceStatisticsCollection', collectionText(request, page, { name: 'statistics', items }));
}

export function tenantStatisticsRoutes(): Route[] {
  const common = { method: 'GET', area: 'statistics', access: 'roles', roles: READ } as const;
  const answers = (description: string, mediaType: string) => [{ status: 200, description, mediaType }];
  const path = '/tenant/statistics';
  const device = `${path}/device/{tenant}`;
  const devices = answers('A page of devices with the number of their messages', 'deviceStatisticsCollection');
  return [
    {
      ...common,
      path,
      summary: 'Daily usage of your tenant, by day; the month so far without a range',
      query: { ...RANGE, ...PAGE_PARAMETERS },
      answers: answers('A page of days', 'tenantUsageStatisticsCollection'),
      handle: daily,
    },
    {
      ...common,
      path: `${path}/summary`,
      summary: 'Usage summed over the days',
      query: { tenant: text('Of a tenant below yours'), ...RANGE },
      answers: answers('The summary', 'tenantUsageStatisticsSummary'),
      handle: summary,
    },
    {
      ...common,
      path: `${path}/allTenantsSummary`,
      summary: 'Usage of your tenant and those below it, summed over the days',
      query: RANGE,
      answers: answers('One summary for each tenant', 'allTenantsSummary'),
      handle: allTenants,
    },
    {
      ...common,
      path: `${device}/daily/{date}`,
      summary: 'Messages by device of a day',
      query: PAGE_PARAMETERS,
      answers: devices,
      handle: (request) => byDevice(request, 'day'),
    },
    {
      ...common,
      path: `${device}/monthly/{date}`,
      summary: 'Messages by device of a month',
      query: PAGE_PARAMETERS,
      answers: devices,
      handle: (request) => byDevice(request, 'month'),
    },
  ];
}
