/**
 * Changes of the status of many alarms (docs/spec/alarms.md#changes-of-many). Each is a record of the tenant until it
 * is done, carried out page by page: what a crash interrupts goes on at its last page, and a page that is repeated
 * changes nothing.
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { Command } from '../../model/commands/command.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { HistoryReader } from '../../ports/history-reader.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { TenantJobs } from '../../pacing/tenant-jobs.ts';
import type { JobPage, TenantJobsOptions } from '../../pacing/tenant-jobs.ts';
import { BULK_CHANGE_PREFIX, alarmsToChange } from '../../history/alarm-selection.ts';
import type { BulkAlarmChange } from '../../history/alarm-selection.ts';
import { tryChange } from '../../records/records.ts';

/** Alarms of a step. */
const PAGE_SIZE = 1_000;
/** Counted for each alarm that is left as it was. */
const REFUSED_LIMIT = 'alarms/bulk-change-of-one';
/** Commands under way at once. */
const CONCURRENCY = 64;

export interface BulkAlarmChangesOptions extends Pick<TenantJobsOptions, 'documents' | 'tenants' | 'isMine' | 'log'> {
  readonly history: HistoryReader;
  readonly commands: CommandPort;
  readonly refusals: Refusals;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class BulkAlarmChanges {
  readonly jobs: TenantJobs;
  readonly #options: BulkAlarmChangesOptions;

  constructor(options: BulkAlarmChangesOptions) {
    this.#options = options;
    const { documents, tenants, isMine, log } = options;
    this.jobs = new TenantJobs({
      prefix: BULK_CHANGE_PREFIX,
      name: 'a change of many alarms',
      documents,
      tenants,
      isMine,
      log,
      page: (tenant, job, isStopped) => this.#page(tenant, job, isStopped),
    });
  }

  async #page(
    tenant: number,
    { id, value: text }: { readonly id: string; readonly value: string },
    isStopped: () => boolean,
  ): Promise<JobPage> {
    const change = JSON.parse(text) as BulkAlarmChange;
    const rows = await alarmsToChange(this.#options.history, tenant, change, { after: change.after, limit: PAGE_SIZE });
    for (let start = 0; start < rows.length; start += CONCURRENCY) {
      if (isStopped()) return 'more';
      await Promise.all(rows.slice(start, start + CONCURRENCY).map((row) => this.#update(tenant, change, row)));
    }
    const isDone = rows.length < PAGE_SIZE;
    const value = isDone ? undefined : JSON.stringify({ ...change, after: Number(rows[rows.length - 1].id) });
    // False: another node has carried it on, since in a cluster the owner may have changed.
    await tryChange(this.#options, tenant, [{ collection: 'job', id, expected: text, value }]);
    return 'more';
  }

  async #update(
    tenant: number,
    change: BulkAlarmChange,
    row: { readonly id: number; readonly source: number },
  ): Promise<void> {
    const { status, user, application } = change;
    const body = {
      id: String(row.id),
      doc: JSON.stringify({ status }),
      user,
      ...(application === undefined ? {} : { application }),
    };
    try {
      await this.#send(tenant, { kind: COMMAND.ALARM_UPDATE, key: Number(row.source), body });
    } catch (error) {
      // The store or the journal is away or busy: the page is repeated.
      if (!(error instanceof PlatformError) || error.status === 503) throw error;
      // An alarm that was deleted meanwhile needs no change. One that cannot be changed must not hold up the others for
      // ever.
      if (error.code === 'alarm/not-found') return;
      this.#options.refusals.count(REFUSED_LIMIT, { tenant, user, reason: error.message });
      this.#options.log.warn(
        { err: error, tenant, alarm: body.id, status },
        'an alarm of a bulk change could not be changed; the others are',
      );
    }
  }

  #send(tenant: number, command: Pick<Command, 'kind' | 'key' | 'body'>): Promise<unknown> {
    return this.#options.commands.request({
      ...command,
      tenant,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: this.#options.now(),
    });
  }
}
