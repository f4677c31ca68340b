/**
 * DELETE of a collection by filters (document 1, convention 8). Events, alarms and operations: each selected entity is deleted by a command to
 * its actor, which tells subscribers too. Measurements have no actor: those who watch are told of each here (document 4 section 5.8), and the
 * history store deletes them at once.
 *
 * The projector waits for `run`, and with it whoever reads what comes behind. So only what is soon done is done there; the rest is a job of the
 * tenant, a record that is stored before the projector goes on, and carried out a page at a time (`TenantJobs`).
 */
import type { JournalCommand } from '../ingest/command-record.ts';
import { SELECT_PAGE } from '../ingest/history-writer.ts';
import type { Before, HistoryWriter } from '../ingest/history-writer.ts';
import { COMMAND } from '../model/command.ts';
import type { Command, DataDelete, LiveBus, RecordChange, RecordsChange } from '../model/command.ts';
import { DATA_DELETION_PREFIX } from '../model/data-deletion-jobs.ts';
import { PlatformError } from '../model/errors.ts';
import { PROCESSING_MODE, isNotified } from '../model/processing-mode.ts';

const KINDS = { events: COMMAND.EVENT_DELETE, alarms: COMMAND.ALARM_DELETE, operations: COMMAND.OPERATION_DELETE } as const;
const TENANT_KEY = 't';
/** Commands of one deletion under way at once. */
const CONCURRENCY = 200;
/** So long the projector, or the jobs of other tenants, wait for the store to delete measurements; it goes on by itself. */
const STATEMENT_WAIT_MS = 2_000;

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
  /** Id of the last entity that is gone; ids ascend. */
  readonly after: number;
}

type Selected = readonly { readonly id: number; readonly source: number }[];
type EntityTable = keyof typeof KINDS;

export interface DataDeletionOptions {
  readonly history: HistoryWriter;
  readonly commands: DeletionCommands;
  readonly bus: LiveBus;
  /** Rows of what came after the command may be in the history when it runs (cluster). */
  readonly isBounded?: boolean;
  readonly statementWaitMs?: number;
}

export class DataDeletion {
  readonly #options: DataDeletionOptions;
  /** Deletions of measurements that the store is at: `<tenant>/<sequence>`. */
  readonly #statements = new Map<string, Promise<void>>();

  constructor(options: DataDeletionOptions) {
    this.#options = options;
  }

  /** Runs when everything before the command is in the history. Repeatable: what is gone is passed over. */
  async run(command: JournalCommand): Promise<void> {
    const { tenant, seq, receivedAt } = command;
    const { table, filter } = command.body as DataDelete;
    const job: DeletionJob = { table, filter, seq, receivedAt, after: 0 };
    if (table === 'measurements') {
      await this.#tellMeasurements(command, filter);
      if (!await this.#deleteMeasurements(tenant, job)) await this.#record(tenant, job);
      return;
    }
    const found = await this.#options.history.select(tenant, table, filter, 0, this.#options.isBounded === true ? { seq, time: receivedAt } : undefined);
    if (found.length < SELECT_PAGE) await this.#deleteEntities(tenant, table, { found, receivedAt }, () => false);
    else await this.#record(tenant, job);
  }

  /** A page of a job. Rows of what came after the command are in the history by now. */
  async page(tenant: number, { id, value: text }: { readonly id: string; readonly value: string }, isStopped: () => boolean): Promise<void> {
    const job = JSON.parse(text) as DeletionJob;
    const { table, filter, seq, receivedAt, after } = job;
    if (table === 'measurements') {
      if (await this.#deleteMeasurements(tenant, job)) await this.#change(tenant, { collection: 'job', id, expected: text, value: undefined });
      return;
    }
    // On one node what was created in the same millisecond may have come behind the command.
    const before: Before = { seq, time: this.#options.isBounded === true ? receivedAt : receivedAt - 1 };
    const found = await this.#options.history.select(tenant, table, filter, after, before);
    if (!await this.#deleteEntities(tenant, table, { found, receivedAt }, isStopped)) return;
    const value = found.length < SELECT_PAGE ? undefined : JSON.stringify({ ...job, after: found[found.length - 1].id });
    await this.#change(tenant, { collection: 'job', id, expected: text, value });
  }

  /** @returns false when it was broken off. */
  async #deleteEntities(tenant: number, table: EntityTable, { found, receivedAt }: { found: Selected; receivedAt: number },
    isStopped: () => boolean): Promise<boolean> {
    const { commands } = this.#options;
    for (let start = 0; start < found.length; start += CONCURRENCY) {
      if (isStopped()) return false;
      await Promise.all(found.slice(start, start + CONCURRENCY).map(({ id, source }) => commands.requestBeyondBound({
        kind: KINDS[table], tenant, key: source, mode: PROCESSING_MODE.PERSISTENT, receivedAt, body: { id: String(id) },
      }).catch(passGone)));
    }
    return true;
  }

  /**
   * The store goes on with what takes longer, and a later call waits for the same. After a crash it is begun again.
   * @returns whether they are gone.
   */
  async #deleteMeasurements(tenant: number, { filter, seq }: DeletionJob): Promise<boolean> {
    const { history, statementWaitMs = STATEMENT_WAIT_MS } = this.#options;
    const key = `${tenant}/${seq}`;
    const statement = this.#statements.get(key) ?? this.#begin(key, history.deleteMeasurements(tenant, filter, seq));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => { timer = setTimeout(() => resolve('late'), statementWaitMs); });
    try {
      return await Promise.race([statement, late]) !== 'late';
    } finally {
      clearTimeout(timer);
    }
  }

  #begin(key: string, statement: Promise<void>): Promise<void> {
    this.#statements.set(key, statement);
    const end = (): void => { this.#statements.delete(key); };
    // Whoever waits for it hears of a failure; when nobody does it is begun again.
    statement.then(end, end);
    return statement;
  }

  /** In the documents before the projector moves on: after a crash either the command or the job is there. */
  #record(tenant: number, job: DeletionJob): Promise<void> {
    const id = `${DATA_DELETION_PREFIX}${String(job.seq).padStart(16, '0')}`;
    return this.#change(tenant, { collection: 'job', id, expected: undefined, value: JSON.stringify(job) });
  }

  async #change(tenant: number, change: RecordChange): Promise<void> {
    const body: RecordsChange = { changes: [change] };
    await this.#options.commands.requestBeyondBound({
      kind: COMMAND.RECORDS_CHANGE, tenant, key: TENANT_KEY, mode: PROCESSING_MODE.PERSISTENT, receivedAt: Date.now(), body,
    }).catch((error: unknown) => {
      // It was recorded before a crash, another node has carried it on, or the tenant is gone.
      if (!(error instanceof PlatformError) || error.code !== 'general/changed-meanwhile') throw error;
    });
  }

  /**
   * Before they are gone: nobody could say afterwards which they were. Whoever reads after the notification waits for the deletion.
   * The DELETE of one measurement by its id has told it when it was acknowledged.
   */
  async #tellMeasurements({ tenant, seq, mode }: JournalCommand, filter: DataDelete['filter']): Promise<void> {
    const { bus, history } = this.#options;
    if (filter.id !== undefined || !isNotified(mode)) return;
    for (let afterId = 0; bus.hasSubscribers(tenant, 'measurements');) {
      const found = await history.selectMeasurements(tenant, filter, seq, afterId);
      if (found.length === 0) return;
      for (const { id, source } of found) {
        bus.publish({ tenant, area: 'measurements', source: String(source), action: 'DELETE', text: () => JSON.stringify(String(id)) });
      }
      afterId = found[found.length - 1].id;
    }
  }
}

/** What is gone needs no deletion. A command whose handler failed is set aside with its error, and would fail again. */
function passGone(error: unknown): void {
  if (!(error instanceof PlatformError) || (error.status !== 404 && error.code !== 'general/internal')) throw error;
}
