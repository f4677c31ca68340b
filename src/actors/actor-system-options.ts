/** What an actor system is made with, and what it tells. */
import type { Collection } from '../model/commands/collections.ts';
import type { Command } from '../model/commands/command.ts';
import type { RecordChange } from '../model/commands/records.ts';
import type { PlatformError } from '../model/errors.ts';
import type { LiveBus, Notification } from '../ports/live-bus.ts';
import type { Log } from '../ports/log.ts';
import type { MeasurementListener } from '../ports/measurement-listener.ts';
import type { JournalCommand } from '../ingest/journal/command-record.ts';
import type { HistoryRow } from '../ports/stores/history-writer.ts';
import type { ChangedUser } from './runtime/context.ts';
import type { Documents } from '../ports/stores/documents.ts';
import type { Forwarder } from './runtime/forwarder.ts';
import type { ChangeBounds } from './runtime/group-size.ts';

export interface UsageCount {
  count(tenant: number, counter: 'measurements_created'): void;
  changed(notification: Pick<Notification, 'tenant' | 'area' | 'action'>): void;
}

/** A group whose commands are all decided. */
export interface DecidedGroup {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** May not be kept after the call, unless the records were given to `handleGroup` for good. */
  readonly records: Buffer;
  readonly rows: readonly HistoryRow[];
  readonly isReplay: boolean;
}

/** What is different where the system is that of one shard among others. */
export interface ShardRole {
  readonly shard: number;
  /** Whether the actor is of this shard. */
  readonly isOwn: (collection: Collection, tenant: number, id: string) => boolean;
  /** The entry of another shard's `pending`, as committed. */
  readonly pendingOf: (shard: number, pendingId: string) => string | undefined | Promise<string | undefined>;
  /** The outcome of a command, once its state is committed and its follow-ups are handled. */
  readonly onOutcome: (gateway: string, seq: number, answer: unknown, error: PlatformError | undefined) => void;
  /**
   * The group up to `lastSeq` writes more than one commit takes, after `count` of its commands: nothing of it is
   * written, and the system has stopped.
   */
  readonly onTooLarge: (lastSeq: number, count: number) => void;
  /** CHANGE_BOUNDS unless given. */
  readonly bounds?: ChangeBounds | undefined;
}

export interface ActorSystemOptions {
  readonly documents: Documents;
  readonly bus: LiveBus;
  readonly log: Log;
  /** Appends a follow-up to the journal. Rejects when it cannot be taken now; it is tried again. */
  readonly append: (command: Command, pendingId: string) => Promise<void>;
  readonly onCommitFailed: (error: Error) => void;
  /** A user was changed or deleted: what was remembered about it is forgotten, before the change is answered. */
  readonly onUserChanged: (tenant: number, changed: ChangedUser) => void;
  /** Records of a tenant were changed: parts that keep some in memory read them again, before the change is answered. */
  readonly onRecordsChanged: (tenant: number, changes: readonly RecordChange[]) => void;
  /** Counts what was stored, for the statistics of the tenant. */
  readonly usage?: UsageCount;
  /** Topics of Notifications 2.0; absent where there are none. */
  readonly forwarder?: Forwarder;
  /**
   * Asked for each group: what is told of each durable measurement once, where subscribers are told. Undefined while
   * none are looked at.
   */
  readonly measurements?: () => MeasurementListener | undefined;
  /** A managed object was changed or deleted, or has lost an external ID: gateways forget what they remember about it. */
  readonly onObjectChanged: (id: number) => void;
  /** An object was taken from below another one. */
  readonly onLinksEnded: () => void;
  /**
   * Told of each group, in order, once all of it is decided (at once, on a store that answers at once); before its
   * commit.
   */
  readonly onDecided?: (group: DecidedGroup) => void;
  /** Absent where one system has all actors. */
  readonly shard?: ShardRole;
  /**
   * A command is set aside because its handler failed, which is an error of the server: it has no effect and is
   * answered `general/internal`.
   */
  readonly onSetAside?: (command: JournalCommand, error: Error, reference: string) => void;
}
