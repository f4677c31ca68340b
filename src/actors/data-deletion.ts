/** DELETE of a mutable collection by filters: each selected entity is deleted by a command to its actor (document 1, convention 8). */
import type { JournalCommand } from '../ingest/command-record.ts';
import type { HistoryWriter } from '../ingest/history-writer.ts';
import { COMMAND } from '../model/command.ts';
import type { Command, DataDelete } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';

const KINDS = { events: COMMAND.EVENT_DELETE, alarms: COMMAND.ALARM_DELETE, operations: COMMAND.OPERATION_DELETE } as const;

/** What the deletion needs of the command bus. */
export interface DeletionCommands {
  /** Not refused while the journal is at its bound: the projector, which runs the deletion, is what frees it. */
  requestBeyondBound(command: Command): Promise<unknown>;
}

export class DataDeletion {
  readonly #history: HistoryWriter;
  readonly #commands: DeletionCommands;
  readonly #isBounded: boolean;

  /** @param options.isBounded rows of what came after the command may be in the history when it runs (cluster). */
  constructor(options: { history: HistoryWriter; commands: DeletionCommands; isBounded?: boolean }) {
    this.#history = options.history;
    this.#commands = options.commands;
    this.#isBounded = options.isBounded ?? false;
  }

  /** Runs when everything before the command is in the history. Repeatable: what is gone is passed over. */
  async run(command: JournalCommand): Promise<void> {
    const { table, filter } = command.body as DataDelete;
    if (table === 'measurements') throw new Error('measurements are deleted by the history store');
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
}
