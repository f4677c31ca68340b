/** What an actor's handler may do. Everything is collected and takes effect at once, when the handler has returned. */
import type { Command } from '../../model/commands/command.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import { AUDITS_MAX } from '../../model/commands/records.ts';
import type { Collection } from '../../model/commands/collections.ts';
import type { Notification } from '../../ports/live-bus.ts';
import type { JournalCommand } from '../../ingest/journal/command-record.ts';
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import { PlatformError } from '../../model/errors.ts';
import { keyBytes } from '../../model/documents/key-text.ts';
import { isAlarmStored, isStoredAs } from '../../model/commands/processing-mode.ts';
import type { DocumentChange } from '../../ports/stores/documents.ts';
import { auditEntryRow } from './rows.ts';
import type { StateView } from './state-view.ts';

/** Ids of documents: below what LMDB takes as a key. */
export const ID_BYTES_MAX = 1_800;

/**
 * Ids of the server's own audit records, beyond all that are given out: this bit, 6 bits of shard, 52 of sequence, 4 of
 * the place in a command.
 */
export const AUDIT_ID_BIT = 1n << 62n;

const auditId = ({ shard, seq }: JournalCommand, place: number): string =>
  String(AUDIT_ID_BIT | (BigInt(shard) << 56n) | (BigInt(seq) << 4n) | BigInt(place));

/**
 * A command that one actor sends to another. Its time is that of its cause, the tenant too unless it is given; the mode
 * too where it is one of those that rows ask for, else it is PERSISTENT.
 */
export type FollowUp = Pick<Command, 'kind' | 'key' | 'body'> & { readonly tenant?: number };

/** A user that a command has changed or deleted. */
export interface ChangedUser {
  readonly userName: string;
  /** Nothing has changed that decides whether and with which rights he is connected. */
  readonly keepsConnections: boolean;
}

export class ActorContext {
  readonly command: JournalCommand;
  readonly changes: DocumentChange[] = [];
  readonly rows: HistoryRow[] = [];
  readonly notifications: Notification[] = [];
  readonly followUps: FollowUp[] = [];
  /** Told after the commit. */
  changedUser: ChangedUser | undefined = undefined;
  readonly #state: StateView;
  #auditsCount = 0;
  /** The object of the command, once it was read: what is stored of it does not change meanwhile. */
  #object: { readonly text: string | undefined } | undefined = undefined;

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
    return this.before(collection, id);
  }

  /**
   * Documents whose id begins with `prefix`, in id order, without this handler's own changes. All of them, or any
   * `limit`: keep prefixes narrow.
   */
  list(collection: Collection, prefix: string, limit?: number): { id: string; value: string }[] {
    return this.#state.list(collection, this.command.tenant, prefix, limit);
  }

  /** @throws PlatformError when the id (a type, an external ID, a session) is longer than the stores take. */
  put(collection: Collection, id: string, value: string): void {
    if (id.length * 3 > ID_BYTES_MAX && keyBytes(id) > ID_BYTES_MAX) {
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

  /** Committed text of a document of any tenant. */
  read(collection: Collection, tenant: number, id: string): string | undefined {
    return this.#state.get(collection, tenant, id);
  }

  /** Text of a document before the command. */
  before(collection: Collection, id: string): string | undefined {
    const { key, tenant } = this.command;
    if (collection !== 'managedObject' || id !== String(key)) return this.read(collection, tenant, id);
    this.#object ??= { text: this.read(collection, tenant, id) };
    return this.#object.text;
  }

  /**
   * Writes an entry of the server's own into the audit log. Its id and times are those of the command, so that a replay
   * makes the same.
   */
  audit(entry: AuditEntry): void {
    if (this.#auditsCount >= AUDITS_MAX) throw new Error(`a command writes more than ${AUDITS_MAX} audit records`);
    const id = auditId(this.command, this.#auditsCount);
    this.#auditsCount += 1;
    this.rows.push(auditEntryRow(this.command, id, entry));
  }

  /** Told to subscribers after the state is committed. @param deletedType of a DELETE: the type that the entity had. */
  notify(
    area: Notification['area'],
    source: string,
    action: Notification['action'],
    text: string,
    deletedType?: string,
  ): void {
    const { kind, mode, tenant } = this.command;
    const isUnstored = !isStoredAs(kind, mode) || (area === 'alarms' && !isAlarmStored(mode));
    this.notifications.push({ tenant, area, source, action, isUnstored, type: deletedType, text: () => text });
  }

  /** Sends a command to another actor through the journal; a crash in between is finished by replay. */
  send(followUp: FollowUp): void {
    this.followUps.push(followUp);
  }
}

/**
 * Decides one kind of command. @returns the answer. @throws PlatformError to refuse: then nothing of it takes effect.
 */
export type Handler = (context: ActorContext, body: never) => unknown;
