/** What an actor's handler may do. Everything is collected and takes effect at once, when the handler has returned. */
import type { Collection, Command, Notification } from '../model/command.ts';
import type { JournalCommand } from '../ingest/command-record.ts';
import type { HistoryRow } from '../ingest/history-writer.ts';
import { PlatformError } from '../model/errors.ts';
import type { DocumentChange } from './documents.ts';
import type { StateView } from './state-view.ts';

/** Ids of documents: below what LMDB takes as a key. */
export const ID_BYTES_MAX = 1_800;

/** A command that one actor sends to another. Tenant, mode and time are those of its cause. */
export type FollowUp = Pick<Command, 'kind' | 'key' | 'body'>;

export class ActorContext {
  readonly command: JournalCommand;
  readonly changes: DocumentChange[] = [];
  readonly rows: HistoryRow[] = [];
  readonly notifications: Notification[] = [];
  readonly followUps: FollowUp[] = [];
  readonly #state: StateView;

  constructor(command: JournalCommand, state: StateView) {
    this.command = command;
    this.#state = state;
  }

  /** Current text of a document, with this handler's own changes. */
  get(collection: Collection, id: string): string | undefined {
    for (let index = this.changes.length - 1; index >= 0; index -= 1) {
      const change = this.changes[index];
      if (change.collection === collection && change.id === id) return change.value;
    }
    return this.#state.get(collection, this.command.tenant, id);
  }

  /** Documents whose id begins with `prefix`, in id order, without this handler's own changes. All of them: keep prefixes narrow. */
  list(collection: Collection, prefix: string): { id: string; value: string }[] {
    return this.#state.list(collection, this.command.tenant, prefix);
  }

  /** @throws PlatformError when the id (a type, an external ID, a session) is longer than the stores take. */
  put(collection: Collection, id: string, value: string): void {
    if (id.length * 3 > ID_BYTES_MAX && Buffer.byteLength(id) > ID_BYTES_MAX) {
      const limit = `at most ${ID_BYTES_MAX} bytes`;
      throw new PlatformError('validation/invalid-field', { area: 'general', name: collection, value: id, limit });
    }
    this.changes.push({ collection, tenant: this.command.tenant, id, value });
  }

  remove(collection: Collection, id: string): void {
    this.changes.push({ collection, tenant: this.command.tenant, id, value: undefined });
  }

  /** A row of a mutable table (see rows.ts). */
  row(row: HistoryRow): void {
    this.rows.push(row);
  }

  /** Told to subscribers after the state is committed. */
  notify(area: Notification['area'], source: string, action: Notification['action'], text: string): void {
    this.notifications.push({ tenant: this.command.tenant, area, source, action, text: () => text });
  }

  /** Sends a command to another actor through the journal; a crash in between is finished by replay. */
  send(followUp: FollowUp): void {
    this.followUps.push(followUp);
  }
}

/** Decides one kind of command. @returns the answer. @throws PlatformError to refuse: then nothing of it takes effect. */
export type Handler = (context: ActorContext, body: never) => unknown;
