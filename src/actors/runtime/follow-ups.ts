/**
 * Commands that actors send to each other. Each is written into `pending` in the commit of its cause and appended to
 * the journal afterwards. Where one system has all actors (or the receiver is of the same shard), its entry is removed
 * in the commit that handles it. Between shards the receiver's commit leaves a marker, and the cause's shard removes
 * the entry when it hears of it. Either way it is handled exactly once, whatever is killed in between
 * (docs/internals/cluster.md).
 */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { CommandKind } from '../../model/commands/kinds.ts';
import type { Command } from '../../model/commands/command.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { Log } from '../../ports/log.ts';
import type { JournalCommand } from '../../ingest/journal/command-record.ts';
import type { ActorContext, FollowUp } from './context.ts';
import type { DocumentChange, Documents } from '../../ports/stores/documents.ts';

const RETRY_MS = 200;
const RESUME_PAGE = 500;

/** Prefix in `meta` of the markers of what other shards sent. */
export const HANDLED_PREFIX = 'handled/';

export interface FollowUpsOptions {
  /**
   * Resolves when the follow-up is durable; with `shard`: when it is handled, with whatever outcome. Rejects when
   * it is not known.
   */
  readonly append: (command: Command, pendingId: string) => Promise<void>;
  readonly log: Log;
  /** Set where the system is that of one shard. */
  readonly shard?: number | undefined;
  /** Removes entries of `pending` whose follow-up another shard has handled. */
  readonly remove: (pendingIds: readonly string[]) => void;
}

export class FollowUps {
  readonly #options: FollowUpsOptions;
  /** pending id -> sequence of the command that caused it. */
  readonly #causes = new Map<string, number>();
  /** sequence of a cause -> its tracker, while follow-ups of it are on their way. */
  readonly #trackers = new Map<number, Tracker>();
  #isStopped = false;

  constructor(options: FollowUpsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#causes.size;
  }

  /** Nothing is appended any more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** The entry of `pending` that goes into the commit of the cause. */
  entry(cause: JournalCommand, followUp: FollowUp, index: number): DocumentChange {
    return {
      collection: 'pending',
      tenant: 0,
      id: this.#idOf(cause.seq, index),
      value: JSON.stringify(commandOf(cause, followUp)),
    };
  }

  /** Appends the follow-ups of a committed cause. */
  send(context: ActorContext): void {
    if (context.followUps.length === 0) return;
    context.followUps.forEach((followUp, index) => {
      this.#track(context.command.seq, this.#idOf(context.command.seq, index), commandOf(context.command, followUp));
    });
  }

  /**
   * Calls `done` when all follow-ups of `seq`, and theirs, are handled: at once when there are none. @param pendingId
   * of the command itself.
   */
  whenDone(seq: number, pendingId: string | undefined, done: () => void): void {
    const finish = (): void => {
      done();
      if (pendingId !== undefined) this.#handled(pendingId);
    };
    const tracker = this.#trackers.get(seq);
    if (tracker) tracker.waiting.push(finish);
    else finish();
  }

  /** Whether follow-ups of `seq` are on their way. */
  isWaiting(seq: number): boolean {
    return this.#trackers.has(seq);
  }

  /** After a restart: appends what is still in `pending`. One that is in the journal twice is handled once. */
  async resume(documents: Documents): Promise<void> {
    for (let after: string | undefined; !this.#isStopped; ) {
      const page = await documents.list(
        'pending',
        0,
        '',
        after === undefined ? { limit: RESUME_PAGE } : { after, limit: RESUME_PAGE },
      );
      if (this.#options.shard === undefined) {
        await Promise.all(page.map(({ id, value }) => this.#options.append(JSON.parse(value) as Command, id)));
      } else {
        await Promise.all(
          page
            .filter(({ id }) => !this.#causes.has(id))
            .map(({ id, value }) => this.#track(Number(id.split('-')[1]), id, JSON.parse(value) as Command)),
        );
      }
      if (page.length < RESUME_PAGE) return;
      after = page[page.length - 1].id;
    }
  }

  #idOf(seq: number, index: number): string {
    const { shard } = this.#options;
    return `${shard === undefined ? '' : `${shard}-`}${String(seq).padStart(16, '0')}-${index}`;
  }

  /** @returns when it is appended, or handled: see `append`. */
  #track(seq: number, pendingId: string, command: Command): Promise<void> {
    const tracker = this.#trackers.get(seq) ?? { outstanding: 0, waiting: [] };
    this.#trackers.set(seq, tracker);
    tracker.outstanding += 1;
    this.#causes.set(pendingId, seq);
    return this.#appendUntilTaken(command, pendingId);
  }

  async #appendUntilTaken(command: Command, pendingId: string): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#options.append(command, pendingId);
        if (this.#options.shard !== undefined && !this.#isStopped && this.#causes.has(pendingId)) {
          this.#options.remove([pendingId]);
          this.#handled(pendingId);
        }
        return;
      } catch (error) {
        if (this.#isStopped) return;
        this.#options.log.warn(
          { pendingId, error: (error as Error).message, retryMs: RETRY_MS },
          'a follow-up command could not be appended; trying again',
        );
        await new Promise((resolve) => {
          setTimeout(resolve, RETRY_MS).unref();
        });
      }
    }
  }

  #handled(pendingId: string): void {
    const seq = this.#causes.get(pendingId);
    if (seq === undefined) return;
    this.#causes.delete(pendingId);
    const tracker = this.#trackers.get(seq) as Tracker;
    tracker.outstanding -= 1;
    if (tracker.outstanding > 0) return;
    this.#trackers.delete(seq);
    for (const finish of tracker.waiting) finish();
  }
}

interface Tracker {
  outstanding: number;
  readonly waiting: (() => void)[];
}

/** The shard whose `pending` has the entry; undefined where one system has all. */
export function shardOfPending(pendingId: string): number | undefined {
  const parts = pendingId.split('-');
  return parts.length === 3 ? Number(parts[0]) : undefined;
}

/**
 * What rows ask for and another actor does. Objects, links and bindings that a message makes are always stored, whatever
 * its mode.
 */
const WITH_MODE_OF_CAUSE: ReadonlySet<CommandKind> = new Set<CommandKind>([
  COMMAND.EVENT_CREATE,
  COMMAND.ALARM_CREATE,
  COMMAND.OPERATION_UPDATE,
  COMMAND.MANAGED_OBJECT_UPDATE,
]);

function commandOf(cause: JournalCommand, followUp: FollowUp): Command {
  const { kind, key, body } = followUp;
  const mode = WITH_MODE_OF_CAUSE.has(kind) ? cause.mode : PROCESSING_MODE.PERSISTENT;
  return { kind, key, body, tenant: followUp.tenant ?? cause.tenant, mode, receivedAt: cause.receivedAt };
}
