/**
 * Commands that actors send to each other. Each is written into `pending` in the commit of its cause, appended to the journal afterwards,
 * and its entry is removed in the commit that handles it: exactly once, whatever is killed in between.
 */
import { COMMAND } from '../model/command.ts';
import type { Command } from '../model/command.ts';
import type { Log } from '../model/log.ts';
import type { JournalCommand } from '../ingest/command-record.ts';
import type { ActorContext, FollowUp } from './context.ts';
import type { DocumentChange, Documents } from './documents.ts';

const RETRY_MS = 200;
const RESUME_PAGE = 500;

export class FollowUps {
  readonly #append: (command: Command, pendingId: string) => Promise<void>;
  readonly #log: Log;
  /** pending id -> the tracker of the command that caused it. */
  readonly #causes = new Map<string, Tracker>();
  /** sequence of a cause -> its tracker, while follow-ups of it are on their way. */
  readonly #trackers = new Map<number, Tracker>();

  constructor(options: { append: (command: Command, pendingId: string) => Promise<void>; log: Log }) {
    this.#append = options.append;
    this.#log = options.log;
  }

  get count(): number { return this.#causes.size; }

  /** The entry of `pending` that goes into the commit of the cause. */
  entry(cause: JournalCommand, followUp: FollowUp, index: number): DocumentChange {
    return { collection: 'pending', tenant: 0, id: pendingIdOf(cause.seq, index), value: JSON.stringify(commandOf(cause, followUp)) };
  }

  /** Appends the follow-ups of a committed cause. */
  send(context: ActorContext): void {
    if (context.followUps.length === 0) return;
    const tracker: Tracker = { outstanding: context.followUps.length, done: undefined };
    this.#trackers.set(context.command.seq, tracker);
    context.followUps.forEach((followUp, index) => {
      const pendingId = pendingIdOf(context.command.seq, index);
      this.#causes.set(pendingId, tracker);
      this.#appendUntilTaken(commandOf(context.command, followUp), pendingId);
    });
  }

  /** Calls `done` when all follow-ups of `seq`, and theirs, are handled: at once when there are none. */
  whenDone(seq: number, pendingId: string | undefined, done: () => void): void {
    const finish = (): void => {
      done();
      const cause = pendingId === undefined ? undefined : this.#causes.get(pendingId);
      if (!cause) return;
      this.#causes.delete(pendingId as string);
      cause.outstanding -= 1;
      if (cause.outstanding === 0) cause.done?.();
    };
    const tracker = this.#trackers.get(seq);
    this.#trackers.delete(seq);
    if (!tracker || tracker.outstanding === 0) finish();
    else tracker.done = finish;
  }

  /** After a restart: appends what is still in `pending`. One that is in the journal twice is handled once. */
  async resume(documents: Documents): Promise<void> {
    for (let after: string | undefined; ;) {
      const page = await documents.list('pending', 0, '', after === undefined ? { limit: RESUME_PAGE } : { after, limit: RESUME_PAGE });
      await Promise.all(page.map(({ id, value }) => this.#append(JSON.parse(value) as Command, id)));
      if (page.length < RESUME_PAGE) return;
      after = page[page.length - 1].id;
    }
  }

  #appendUntilTaken(command: Command, pendingId: string): void {
    this.#append(command, pendingId).catch((error: Error) => {
      this.#log.warn({ pendingId, error: error.message, retryMs: RETRY_MS }, 'a follow-up command could not be appended; trying again');
      setTimeout(() => this.#appendUntilTaken(command, pendingId), RETRY_MS).unref();
    });
  }
}

interface Tracker { outstanding: number; done: (() => void) | undefined }

const pendingIdOf = (seq: number, index: number): string => `${String(seq).padStart(16, '0')}-${index}`;

function commandOf(cause: JournalCommand, followUp: FollowUp): Command {
  const { kind, key, body } = followUp;
  // Links and bindings are always stored, whatever the mode of the message that led to them.
  const mode = kind === COMMAND.EVENT_CREATE || kind === COMMAND.ALARM_CREATE ? cause.mode : 0;
  return { kind, key, body, tenant: cause.tenant, mode, receivedAt: cause.receivedAt };
}
