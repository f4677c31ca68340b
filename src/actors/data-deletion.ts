/**
 * DELETE of a collection by filters (document 1, convention 8). Events, alarms and operations: each selected entity is deleted by a command to
 * its actor, which tells subscribers too. Measurements have no actor: those who watch are told of each here (document 4 section 5.8), and the
 * history store deletes them at once.
 */
import type { JournalCommand } from '../ingest/command-record.ts';
import type { HistoryWriter } from '../ingest/history-writer.ts';
import { COMMAND } from '../model/command.ts';
import type { Command, DataDelete, LiveBus } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { isNotified } from '../model/processing-mode.ts';

const KINDS = { events: COMMAND.EVENT_DELETE, alarms: COMMAND.ALARM_DELETE, operations: COMMAND.OPERATION_DELETE } as const;

/** What the deletion needs of the command bus. */
export interface DeletionCommands {
  /** Not refused while the journal is at its bound: the projector, which runs the deletion, is what frees it. */
  requestBeyondBound(command: Command): Promise<unknown>;
}

export class DataDeletion {
  readonly #history: HistoryWriter;
  readonly #commands: DeletionCommands;
  readonly #bus: LiveBus;
  readonly #isBounded: boolean;

  /** @param options.isBounded rows of what came after the command may be in the history when it runs (cluster). */
  constructor(options: { history: HistoryWriter; commands: DeletionCommands; bus: LiveBus; isBounded?: boolean }) {
    this.#history = options.history;
    this.#commands = options.commands;
    this.#bus = options.bus;
    this.#isBounded = options.isBounded ?? false;
  }

  /** Runs when everything before the command is in the history. Repeatable: what is gone is passed over. */
  async run(command: JournalCommand): Promise<void> {
    const { table, filter } = command.body as DataDelete;
    if (table === 'measurements') {
      await this.#tellMeasurements(command, filter);
      await this.#history.deleteMeasurements(command.tenant, filter, command.seq);
      return;
    }
    const before = this.#isBounded ? { seq: command.seq, time: command.receivedAt } : undefined;
    for (let afterId = 0; ;) {
      const found = await this.#history.select(command.tenant, table, filter, afterId, before);
      if (found.length === 0) return;
      await Promise.all(found.map(({ id, source }) => this.#commands.requestBeyondBound({
        kind: KINDS[table], tenant: command.tenant, key: source, mode: 0, receivedAt: command.receivedAt, body: { id: String(id) },
      }).catch((error: unknown) => {
        if (!(error instanceof PlatformError) || error.status !== 404) throw error;
      })));
      afterId = found[found.length - 1].id;
    }
  }

  /**
   * Before they are gone: nobody could say afterwards which they were. Whoever reads after the notification waits for the deletion.
   * The DELETE of one measurement by its id has told it when it was acknowledged.
   */
  async #tellMeasurements({ tenant, seq, mode }: JournalCommand, filter: DataDelete['filter']): Promise<void> {
    if (filter.id !== undefined || !isNotified(mode)) return;
    for (let afterId = 0; this.#bus.hasSubscribers(tenant, 'measurements');) {
      const found = await this.#history.selectMeasurements(tenant, filter, seq, afterId);
      if (found.length === 0) return;
      for (const { id, source } of found) {
        this.#bus.publish({ tenant, area: 'measurements', source: String(source), action: 'DELETE', text: () => JSON.stringify(String(id)) });
      }
      afterId = found[found.length - 1].id;
    }
  }
}
