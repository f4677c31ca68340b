/**
 * What tenants have under way as records: DELETEs by filters, changes of many alarms, bulk operations, monthly files
 * with usage.
 */
import { StatisticsFiles } from '../../accounts/tenants/statistics-files.ts';
import { UsageFlush } from '../../cluster/peers/usage-flush.ts';
import { BulkAlarmChanges } from '../../jobs/alarms/bulk-changes.ts';
import { BulkOperationScheduler } from '../../jobs/bulk-operations/scheduler.ts';
import { DATA_DELETION_PREFIX } from '../../model/commands/data-deletion-jobs.ts';
import { TenantJobs } from '../../pacing/tenant-jobs.ts';
import type { ServerCore } from '../cores/core.ts';
import type { AccountsPart } from './accounts.ts';
import type { FilesPart } from './files.ts';
import type { Part } from './part.ts';
import { SERVER_WIDE, TENANT_KEY } from '../../model/commands/keys.ts';

/** DELETEs by filters and changes of many alarms. */
export function tenantJobsPart(core: ServerCore): Part {
  const { documents, metrics, log } = core;
  const tenants = (): number[] => core.tenants.numbers;
  const isMine = (tenant: number): boolean => core.isMine(tenant, TENANT_KEY);
  const alarmChanges = new BulkAlarmChanges({
    documents,
    history: core.historyReader,
    commands: core.commands,
    refusals: metrics,
    log,
    now: Date.now,
    isMine,
    tenants,
  });
  const jobs = [
    alarmChanges.jobs,
    new TenantJobs({
      prefix: DATA_DELETION_PREFIX,
      name: 'a deletion by filters',
      documents,
      tenants,
      isMine,
      log,
      page: (tenant, job, isStopped) => core.deletion.page(tenant, job, isStopped),
      giveUp: (tenant, job, error, failures) => core.deletion.giveUp(tenant, job, error, failures),
    }),
  ];
  core.events.onShardTaken = () => {
    for (const one of jobs) one.lookAtAll();
  };
  metrics.total(
    'millrace_jobs_failures_total',
    'Pages of DELETEs by filters and of changes of many alarms that failed and are tried again',
    () => jobs.reduce((sum, one) => sum + one.failuresCount, 0),
  );
  metrics.total(
    'millrace_jobs_given_up_total',
    'DELETEs by filters that were ended, since the history store failed at them again and again',
    () => jobs.reduce((sum, one) => sum + one.givenUpCount, 0),
  );
  return {
    recordsChanged: (tenant, changes) => {
      for (const one of jobs) one.recordsChanged(tenant, changes);
    },
    start: () => {
      for (const one of jobs) one.start();
    },
    stop: () => Promise.all(jobs.map((one) => one.stop())),
  };
}

export function bulkOperationsPart(core: ServerCore): Part {
  const scheduler = new BulkOperationScheduler({
    commands: core.commands,
    documents: core.documents,
    ids: core.ids,
    history: core.historyReader,
    refusals: core.metrics,
    log: core.log,
    now: Date.now,
    isMine: (tenant) => core.isMine(tenant, TENANT_KEY),
    tenants: () => core.tenants.numbers,
  });
  return {
    recordsChanged: (tenant, changes) => scheduler.recordsChanged(tenant, changes),
    start: () => scheduler.start(),
    stop: () => scheduler.stop(),
  };
}

export interface StatisticsPart extends Part {
  readonly statisticsFiles: StatisticsFiles;
  /** Writes down what was counted, on all nodes of a cluster. */
  flush(): Promise<void>;
}

export function statisticsPart(
  core: ServerCore,
  { tenantServices: { usage } }: AccountsPart,
  { files }: FilesPart,
): StatisticsPart {
  const usageFlush = core.cluster === undefined ? usage : new UsageFlush(usage, { ...core.cluster, log: core.log });
  const flush = (): Promise<void> => usageFlush.flush();
  const statisticsFiles = new StatisticsFiles({
    documents: core.documents,
    commands: core.commands,
    history: core.historyReader,
    blobs: files,
    ids: core.ids,
    tenants: core.tenants,
    flush,
    isMine: () => core.isMine(SERVER_WIDE, TENANT_KEY),
    refusals: core.metrics,
    log: core.log,
    now: Date.now,
  });
  return { statisticsFiles, flush, start: () => statisticsFiles.start(), stop: () => statisticsFiles.stop() };
}
