/**
 * DELETE of a collection by filters (docs/spec/conventions.md#deleting-collections). Events, alarms and operations:
 * each selected entity is deleted by a command to its actor, which tells subscribers too. Measurements have no actor:
 * those who watch are told of each here (docs/spec/realtime.md#effects), then the history store deletes them in the
 * background.
 *
 * The projector waits for `run`, and with it every reader of what comes behind. So only what is soon done is done
 * there; the rest is a job of the tenant, a record that is stored before the projector goes on, and carried out a page
 * at a time (`TenantJobs`). Who reads what a deletion of measurements takes waits somewhat longer for it (`settled`).
 */
import type { JournalCommand } from '../journal/command-record.ts';
import { HistoryRefusal, SELECT_PAGE, StatementFailed } from '../../ports/stores/history-writer.ts';
import type { Before, HistoryWriter, MeasurementDeletion } from '../../ports/stores/history-writer.ts';
import { isConcerned } from './history-query.ts';
import type { HistoryQuery } from '../../ports/history-reader.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { Command } from '../../model/commands/command.ts';
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import { describeFilter } from '../../model/commands/deletion.ts';
import type { DataDelete } from '../../model/commands/deletion.ts';
import type { LiveBus } from '../../ports/live-bus.ts';
import { DATA_DELETION_PREFIX } from '../../model/commands/data-deletion-jobs.ts';
import { PlatformError, refusedBy } from '../../model/errors.ts';
import { PROCESSING_MODE, isNotified } from '../../model/commands/processing-mode.ts';
import type { Job, JobPage } from '../../pacing/tenant-jobs.ts';
import { tryChange } from '../../records/records.ts';

const KINDS = {
  events: COMMAND.EVENT_DELETE,
  alarms: COMMAND.ALARM_DELETE,
  operations: COMMAND.OPERATION_DELETE,
} as const;
/** Commands of one deletion under way at once. */
const CONCURRENCY = 200;
/**
 * For this time the projector, or the jobs of other tenants, wait for the store to delete measurements; it goes on by
 * itself.
 */
const STATEMENT_WAIT_MS = 200;
/** For this time, from the beginning, readers of the tenant's measurements wait for it. */
const SETTLE_MS = 2_000;
/** Between two looks at the store: doubles from first to last. */
const LOOK_FIRST_MS = 5;
const LOOK_LAST_MS = 50;
/** Measurements of a job that subscribers are told of in a page, for each of which the store reads the table again. */
const TOLD_PAGE = 50_000;
/**
 * So often the store, which answers, fails at a job until it is ended: with the pauses of TenantJobs some four hours.
 */
export const FAILURES_MAX = 50;
/** Those that they are told of without a pause in between. */
const TOLD_AT_ONCE = 500;

/** What the deletion needs of the command bus. */
export interface DeletionCommands {
  /** Not refused while the journal is at its bound: the projector, which runs the deletion, is what frees it. */
  requestBeyondBound(command: Command): Promise<unknown>;
}

/** The record of a deletion that goes on behind the projector. */
interface DeletionJob extends DataDelete {
  /** Of the command; measurements behind it stay. */
  readonly seq: number;
  /** ms since 1970. */
  readonly receivedAt: number;
  /** Id of the last entity that is gone, or of the last measurement that was told; ids ascend. */
  readonly after: number;
  /** Of measurements: subscribers are to be told of those behind `after` before any is deleted. */
  readonly isTelling?: boolean;
}

type Selected = readonly { readonly id: number; readonly source: number }[];
type EntityTable = keyof typeof KINDS;

export interface DataDeletionOptions {
  readonly history: HistoryWriter;
  readonly commands: DeletionCommands;
  readonly bus: LiveBus;
  /** Rows of what came after the command may be in the history when it runs (cluster). */
  readonly isBounded?: boolean;
  /** The disk is so full that nothing is written that need not be: jobs wait. Never when absent. */
  readonly isDiskFull?: () => boolean;
  readonly statementWaitMs?: number;
  readonly settleMs?: number;
}

/** A deletion of measurements that the store is at. */
interface Settling {
  readonly command: JournalCommand;
  readonly done: Promise<void>;
  readonly end: () => void;
}

export class DataDeletion {
  readonly #options: DataDeletionOptions;
  /** For which readers wait: `<tenant>/<sequence>`. Of the last two seconds. */
  readonly #settling = new Map<string, Settling>();

  constructor(options: DataDeletionOptions) {
    this.#options = options;
  }

  /** Runs when everything before the command is in the history. Repeatable: what is gone is passed over. */
  async run(command: JournalCommand): Promise<void> {
    const { tenant, seq, receivedAt } = command;
    const { table, filter } = command.body as DataDelete;
    const job: DeletionJob = { table, filter, seq, receivedAt, after: 0 };
    if (table === 'measurements') return this.#runMeasurements(command, job);
    const found = await this.#options.history
      .select(tenant, table, filter, 0, this.#options.isBounded === true ? { seq, time: receivedAt } : undefined)
      .catch(passFailed);
    if (found !== undefined && found.length < SELECT_PAGE)
      await this.#deleteEntities(tenant, table, { found, receivedAt }, () => false);
    else await this.#record(tenant, job);
  }

  /**
   * Who reads what a deletion of measurements takes, and came behind it, finds it gone unless it takes longer than two
   * seconds. To be called when what was acknowledged before is visible.
   */
  async settled(query: HistoryQuery): Promise<void> {
    if (this.#settling.size === 0) return;
    await Promise.all(
      Array.from(this.#settling.values(), ({ command, done }) => (isConcerned(query, command) ? done : undefined)),
    );
  }

  /**
   * A page of a job. Rows of what came after the command are in the history by now.
   * @throws PlatformError `general/disk-full` as long as the disk is.
   */
  async page(tenant: number, { id, value: text }: Job, isStopped: () => boolean): Promise<JobPage> {
    const job = JSON.parse(text) as DeletionJob;
    const { table, filter, seq, receivedAt, after } = job;
    if (this.#isDiskFull) throw refusedBy('disk/free-bytes');
    if (table === 'measurements') return this.#pageOfMeasurements(tenant, { id, text, job }, isStopped);
    // On one node what was created in the same millisecond may have come behind the command.
    const before: Before = { seq, time: this.#options.isBounded === true ? receivedAt : receivedAt - 1 };
    const found = await this.#options.history.select(tenant, table, filter, after, before);
    if (!(await this.#deleteEntities(tenant, table, { found, receivedAt }, isStopped))) return 'more';
    const value =
      found.length < SELECT_PAGE ? undefined : JSON.stringify({ ...job, after: found[found.length - 1].id });
    await this.#change(tenant, { collection: 'job', id, expected: text, value });
    return 'more';
  }

  /**
   * Ends a job that the store fails at again and again, or surely would, and says so in the tenant's audit log; the
   * rest of the data stays.
   * @returns false while it is to be tried again: when the store is away, its disk full, or it has not failed so often.
   */
  async giveUp(tenant: number, { id, value: text }: Job, error: unknown, failures: number): Promise<boolean> {
    const isCertain = error instanceof HistoryRefusal && error.isCertain;
    const isOften = failures >= FAILURES_MAX && (error instanceof HistoryRefusal || error instanceof StatementFailed);
    if (!isCertain && !isOften) return false;
    const job = JSON.parse(text) as DeletionJob;
    const { table, filter } = job;
    const source = filter['source'];
    await this.#change(tenant, { collection: 'job', id, expected: text, value: undefined }, [
      {
        type: 'Inventory',
        activity: 'Deletion failed',
        severity: 'MAJOR',
        ...(source === undefined ? {} : { source }),
        text: `Deletion of ${table} failed and was ended: ${describeFilter(filter)}. The rest stays; the server's log has the reason`,
      },
    ]);
    this.#settling.get(keyOf({ ...job, tenant }))?.end();
    return true;
  }

  get #isDiskFull(): boolean {
    return this.#options.isDiskFull?.() === true;
  }

  /** @returns false when it was broken off. */
  async #deleteEntities(
    tenant: number,
    table: EntityTable,
    { found, receivedAt }: { found: Selected; receivedAt: number },
    isStopped: () => boolean,
  ): Promise<boolean> {
    const { commands } = this.#options;
    for (let start = 0; start < found.length; start += CONCURRENCY) {
      if (isStopped()) return false;
      await Promise.all(
        found.slice(start, start + CONCURRENCY).map(({ id, source }) =>
          commands
            .requestBeyondBound({
              kind: KINDS[table],
              tenant,
              key: source,
              mode: PROCESSING_MODE.PERSISTENT,
              receivedAt,
              body: { id: String(id) },
            })
            .catch(passGone),
        ),
      );
    }
    return true;
  }

  async #runMeasurements(command: JournalCommand, job: DeletionJob): Promise<void> {
    const { tenant, mode } = command;
    // The DELETE of one measurement by its id has told it when it was acknowledged.
    const isOfIds = job.filter.id !== undefined || job.filter.ids !== undefined;
    const isTelling =
      !isOfIds && isNotified(mode) && (await this.#tell({ ...job, tenant }, 0, SELECT_PAGE).catch(passFailed)) !== true;
    if (isTelling || this.#isDiskFull) {
      await this.#record(tenant, { ...job, isTelling });
      return;
    }
    const settling = this.#settle(command);
    try {
      if (await this.#deleteMeasurements({ ...job, tenant })) {
        settling.end();
        return;
      }
    } catch (error) {
      settling.end();
      passFailed(error);
    }
    await this.#record(tenant, job);
  }

  async #pageOfMeasurements(
    tenant: number,
    { id, text, job }: { readonly id: string; readonly text: string; readonly job: DeletionJob },
    isStopped: () => boolean,
  ): Promise<JobPage> {
    const { isTelling = false, ...told } = job;
    const deletion = { ...job, tenant };
    if (isTelling) {
      const after = await this.#tellPage(deletion, job.after, TOLD_PAGE, isStopped);
      if (after === 'stopped') return 'more';
      const next: DeletionJob = after === undefined ? told : { ...job, after };
      await this.#change(tenant, { collection: 'job', id, expected: text, value: JSON.stringify(next) });
      return 'more';
    }
    if (!(await this.#deleteMeasurements(deletion))) return 'later';
    await this.#change(tenant, { collection: 'job', id, expected: text, value: undefined });
    this.#settling.get(keyOf(deletion))?.end();
    return 'more';
  }

  /** Begins it, or goes on looking, for `statementWaitMs`. @returns whether they are gone. */
  async #deleteMeasurements(deletion: MeasurementDeletion): Promise<boolean> {
    const { history, statementWaitMs = STATEMENT_WAIT_MS } = this.#options;
    const until = performance.now() + statementWaitMs;
    let isBegun = false;
    for (let waitMs = LOOK_FIRST_MS; ; waitMs = Math.min(waitMs * 2, LOOK_LAST_MS)) {
      const state = await history.deleteMeasurements(deletion, isBegun);
      if (state === 'done') return true;
      isBegun ||= state === 'begun';
      if (performance.now() + waitMs > until) return false;
      await new Promise((resolve) => {
        setTimeout(resolve, waitMs);
      });
    }
  }

  #settle(command: JournalCommand): Settling {
    const key = keyOf(command);
    this.#settling.get(key)?.end();
    let resolveDone: () => void = () => undefined;
    const done = new Promise<void>((resolve) => {
      resolveDone = resolve;
    });
    const end = (): void => {
      clearTimeout(timer);
      if (this.#settling.get(key) === settling) this.#settling.delete(key);
      resolveDone();
    };
    const settling: Settling = { command, done, end };
    const timer = setTimeout(end, this.#options.settleMs ?? SETTLE_MS);
    timer.unref();
    this.#settling.set(key, settling);
    return settling;
  }

  /** In the documents before the projector moves on: after a crash either the command or the job is there. */
  #record(tenant: number, job: DeletionJob): Promise<void> {
    // What an object leaves is deleted from each table by the same command.
    const id = `${DATA_DELETION_PREFIX}${String(job.seq).padStart(16, '0')}-${job.table}`;
    return this.#change(tenant, { collection: 'job', id, expected: undefined, value: JSON.stringify(job) });
  }

  async #change(tenant: number, change: RecordChange, audits: readonly AuditEntry[] = []): Promise<void> {
    const { commands } = this.#options;
    // Beyond the journal's bound, as what it is about was acknowledged.
    const ports = { commands: { request: commands.requestBeyondBound.bind(commands) }, now: Date.now };
    // False: it was recorded before a crash, another node has carried it on, or the tenant was deleted.
    await tryChange(ports, tenant, [change], audits);
  }

  /**
   * Tells of the first measurements if there are no more than these. @returns false: there are more, and no subscriber
   * was told.
   */
  async #tell(deletion: MeasurementDeletion, after: number, limit: number): Promise<boolean> {
    if (!this.#options.bus.hasSubscribers(deletion.tenant, 'measurements')) return true;
    const found = await this.#options.history.selectMeasurements(deletion, after, limit);
    if (found.length === limit) return false;
    for (const one of found) this.#publish(deletion.tenant, one);
    return true;
  }

  /**
   * Before they are deleted: afterwards it is not known which they were. A reader behind the notification waits for
   * the deletion.
   * @returns the id of the last that was told; undefined when it was the last of all, or there is not a subscriber any
   * more.
   */
  async #tellPage(
    deletion: MeasurementDeletion,
    after: number,
    limit: number,
    isStopped: () => boolean,
  ): Promise<number | 'stopped' | undefined> {
    const { bus, history } = this.#options;
    if (!bus.hasSubscribers(deletion.tenant, 'measurements')) return undefined;
    const found = await history.selectMeasurements(deletion, after, limit);
    for (let start = 0; start < found.length; start += TOLD_AT_ONCE) {
      if (isStopped()) return 'stopped';
      for (const one of found.slice(start, start + TOLD_AT_ONCE)) this.#publish(deletion.tenant, one);
      // What is told goes out, and others have their turn.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    return found.length < limit ? undefined : found[found.length - 1].id;
  }

  #publish(tenant: number, { id, source }: Selected[number]): void {
    this.#options.bus.publish({
      tenant,
      area: 'measurements',
      source: String(source),
      action: 'DELETE',
      text: () => JSON.stringify(String(id)),
    });
  }
}

/** What the store, which is there, fails at is a job: the projector does not wait for it. */
function passFailed(error: unknown): undefined {
  if (!(error instanceof StatementFailed)) throw error;
}

const keyOf = ({ tenant, seq }: { readonly tenant: number; readonly seq: number }): string => `${tenant}/${seq}`;

/** What is gone needs no deletion. A command whose handler failed is set aside with its error, and would fail again. */
function passGone(error: unknown): void {
  if (!(error instanceof PlatformError) || (error.status !== 404 && error.code !== 'general/internal')) throw error;
}
