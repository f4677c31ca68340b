/**
 * Feeds durable groups to the actors and commits what they decide: one commit of documents for each group, then replies,
 * notifications and follow-up commands (design 1 to 3).
 */
import { COMMAND } from '../model/command.ts';
import type { Command, LiveBus } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { isNotified } from '../model/processing-mode.ts';
import type { ProcessingMode } from '../model/processing-mode.ts';
import { decodeCommand } from '../ingest/command-record.ts';
import type { JournalCommand } from '../ingest/command-record.ts';
import type { HistoryRow } from '../ingest/history-writer.ts';
import { decodeMeasurement, entityText } from '../ingest/measurement-record.ts';
import { ActorContext } from './context.ts';
import type { DocumentChange, Documents } from './documents.ts';
import { FollowUps } from './follow-ups.ts';
import { HANDLERS } from './handlers.ts';
import { Mailbox } from './mailbox.ts';
import { NotLoaded, StateView } from './state-view.ts';

/** Key prefix of outbox entries in `meta`, see outboxKey. */
export const OUTBOX_PREFIX = 'rows/';
export const outboxKey = (lastSeq: number): string => OUTBOX_PREFIX + String(lastSeq).padStart(16, '0');

/** Groups without commands between two saves of the position. */
const PASSED_GROUPS_MAX = 256;

interface Reply { resolve: (answer: unknown) => void; reject: (error: Error) => void }

/** One journal group on its way through the actors. */
interface Group {
  readonly lastSeq: number;
  /** Handled again after a restart: follow-ups wait for `resumeFollowUps`, their numbers come behind what is still to be replayed. */
  readonly isReplay: boolean;
  outstanding: number;
  readonly contexts: ActorContext[];
  readonly outcomes: { seq: number; answer: unknown; error: PlatformError | undefined; pendingId: string | undefined }[];
  rows: HistoryRow[];
}

interface Delivery { readonly command: JournalCommand; readonly group: Group }

export interface ActorSystemOptions {
  readonly documents: Documents;
  readonly bus: LiveBus;
  readonly log: Log;
  /** Appends a follow-up to the journal. Rejects when it cannot be taken now; it is tried again. */
  readonly append: (command: Command, pendingId: string) => Promise<void>;
  readonly onCommitFailed: (error: Error) => void;
  /** A user was changed or deleted: what was remembered about it is forgotten, before the change is answered. */
  readonly onUserChanged: (tenant: number, userName: string) => void;
  /** A managed object was changed or deleted: gateways forget what they remember about it. */
  readonly onObjectChanged: (id: number) => void;
}

export class ActorSystem {
  /** State contains every command up to here, on disk: what is at or below it is not needed for recovery. */
  committedSeq = 0;
  commandsCount = 0;
  readonly #options: ActorSystemOptions;
  readonly #state: StateView;
  readonly #mailboxes = new Map<string | number, Mailbox<Delivery>>();
  readonly #replies = new Map<number, Reply>();
  readonly #groups: Group[] = [];
  readonly #followUps: FollowUps;
  readonly #uncommittedRows = new Map<number, HistoryRow[]>();
  #current: Group | undefined;
  #passedCount = 0;
  #commits: Promise<void> = Promise.resolve();
  #commitsUnderWay = 0;
  /** Last sequence of the newest group without commands. */
  #emptySeq = 0;

  constructor(options: ActorSystemOptions) {
    this.#options = options;
    this.#state = new StateView(options.documents);
    this.#followUps = new FollowUps(options);
  }

  /** Whoever appended the record `seq` wants its answer. */
  expectReply(seq: number, reply: Reply): void {
    this.#replies.set(seq, reply);
  }

  cancelReply(seq: number): void {
    this.#replies.delete(seq);
  }

  /**
   * Handles a durable group. JSON commands go to their actors, measurements to their subscribers.
   * @param replayThrough only in recovery, before anything new is appended: commands up to here are in the state already.
   * @returns rows that were decided at once (all of them, on a store that answers at once).
   */
  handleGroup(firstSeq: number, records: Buffer, replayThrough?: number): { lastSeq: number; rows: readonly HistoryRow[] } {
    const commands: JournalCommand[] = [];
    let seq = firstSeq;
    for (let at = 0; at < records.length; seq += 1) {
      const kind = records[at + 5];
      if (kind === COMMAND.MEASUREMENT) {
        if (replayThrough === undefined) this.#notifyMeasurement(records, at);
      } else if (replayThrough === undefined || seq > replayThrough) {
        commands.push(decodeCommand(records, at, seq));
      }
      at += records.readUInt32LE(at);
    }
    const lastSeq = seq - 1;
    if (commands.length === 0 && this.#groups.length === 0) {
      this.#passedGroup(lastSeq);
      return { lastSeq, rows: [] };
    }
    const group: Group = { lastSeq, isReplay: replayThrough !== undefined, outstanding: commands.length, contexts: [], outcomes: [], rows: [] };
    this.#groups.push(group);
    this.#current = group;
    for (const command of commands) this.#deliver(command, group);
    this.#current = undefined;
    this.#commitFinished();
    return { lastSeq, rows: group.rows };
  }

  /** A group without commands changes no state; the position is saved now and then, so that a restart need not read them all. */
  #passedGroup(lastSeq: number): void {
    // The state contains it as soon as what is under way is on disk: the journal may be trimmed.
    this.#emptySeq = lastSeq;
    if (this.#commitsUnderWay === 0) this.committedSeq = lastSeq;
    this.#passedCount += 1;
    if (this.#passedCount < PASSED_GROUPS_MAX) return;
    this.#passedCount = 0;
    this.#options.documents.commit([], lastSeq).catch((error: Error) => { this.#options.onCommitFailed(error); });
  }

  /** Rows of commands with a sequence in (after, through] whose outbox entry may not be on disk yet. */
  uncommittedRows(after: number, through: number): HistoryRow[] {
    const rows: HistoryRow[] = [];
    for (const [lastSeq, group] of this.#uncommittedRows) {
      if (lastSeq > after) rows.push(...group.filter(({ seq }) => seq > after && seq <= through));
    }
    return rows;
  }

  /** Sends again the follow-ups that a crash left between two actors. After replay. */
  async resumeFollowUps(): Promise<void> {
    await this.#followUps.resume(this.#options.documents);
  }

  /** Resolves when every commit so far is on disk. */
  async settled(): Promise<void> {
    while (this.#groups.length > 0) await new Promise((resolve) => { setImmediate(resolve); });
    await this.#commits;
  }

  get mailboxCount(): number { return this.#mailboxes.size; }
  get pendingCount(): number { return this.#followUps.count; }

  #deliver(command: JournalCommand, group: Group): void {
    const key = typeof command.key === 'number' ? command.key : `${command.tenant}/${command.key}`;
    let mailbox = this.#mailboxes.get(key);
    if (!mailbox) {
      mailbox = new Mailbox<Delivery>((next) => { this.#handle(next.command, next.group); }, () => { this.#mailboxes.delete(key); });
      this.#mailboxes.set(key, mailbox);
    }
    mailbox.receive({ command, group });
  }

  #handle(command: JournalCommand, group: Group): void {
    this.commandsCount += 1;
    const context = new ActorContext(command, this.#state);
    let answer: unknown;
    let error: PlatformError | undefined;
    try {
      if (command.pendingId !== undefined && !this.#state.get('pending', 0, command.pendingId)) {
        // Sent twice by a resume after a crash: its first handling removed the entry.
        group.outcomes.push({ seq: command.seq, answer: undefined, error: undefined, pendingId: undefined });
        this.#handled(group);
        return;
      }
      const handler = HANDLERS[command.kind] as ((context: ActorContext, body: object) => unknown) | undefined;
      if (!handler) throw new Error(`no actor takes command ${command.kind}`);
      answer = handler(context, command.body);
    } catch (thrown) {
      if (thrown instanceof NotLoaded) throw thrown;
      if (!(thrown instanceof PlatformError)) throw thrown;
      error = thrown;
    }
    const effective = error ? new ActorContext(command, this.#state) : context;
    if (command.pendingId !== undefined) effective.changes.push({ collection: 'pending', tenant: 0, id: command.pendingId, value: undefined });
    effective.followUps.forEach((followUp, index) => {
      effective.changes.push(this.#followUps.entry(command, followUp, index));
    });
    this.#state.apply(effective.changes, group.lastSeq);
    group.contexts.push(effective);
    group.rows.push(...effective.rows);
    group.outcomes.push({ seq: command.seq, answer, error, pendingId: command.pendingId });
    this.#handled(group);
  }

  #handled(group: Group): void {
    group.outstanding -= 1;
    if (group.outstanding === 0 && group !== this.#current) this.#commitFinished();
  }

  /** Commits finished groups in order. */
  #commitFinished(): void {
    while (this.#groups.length > 0 && this.#groups[0].outstanding === 0) {
      const group = this.#groups.shift() as Group;
      const changes: DocumentChange[] = [];
      for (const context of group.contexts) for (const change of context.changes) changes.push(change);
      if (group.rows.length > 0) {
        this.#uncommittedRows.set(group.lastSeq, group.rows);
        changes.push({ collection: 'meta', tenant: 0, id: outboxKey(group.lastSeq), value: JSON.stringify(group.rows) });
      }
      this.#commitsUnderWay += 1;
      const commit = this.#options.documents.commit(changes, group.lastSeq).then(
        () => { this.#committed(group, changes); },
        (error: Error) => { this.#options.onCommitFailed(error); },
      );
      this.#commits = this.#commits.then(() => commit);
    }
  }

  #committed(group: Group, changes: readonly DocumentChange[]): void {
    this.#commitsUnderWay -= 1;
    this.committedSeq = this.#commitsUnderWay === 0 && this.#groups.length === 0 ? Math.max(group.lastSeq, this.#emptySeq) : group.lastSeq;
    this.#state.committed(changes, group.lastSeq);
    this.#uncommittedRows.delete(group.lastSeq);
    for (const context of group.contexts) {
      if (!group.isReplay) this.#followUps.send(context);
      const { kind, key, tenant, body } = context.command;
      if (typeof key === 'number' && (kind === COMMAND.MANAGED_OBJECT_UPDATE || kind === COMMAND.MANAGED_OBJECT_DELETE)) this.#options.onObjectChanged(key);
      if (kind === COMMAND.USER_PUT || kind === COMMAND.USER_DELETE) this.#options.onUserChanged(tenant, (body as { userName: string }).userName);
      if (!isNotified(context.command.mode)) continue;
      for (const notification of context.notifications) this.#options.bus.publish(notification);
    }
    for (const { seq, answer, error, pendingId } of group.outcomes) {
      if (error && pendingId !== undefined) this.#options.log.warn({ seq, code: error.code, error: error.message }, 'a follow-up command was refused');
      this.#followUps.whenDone(seq, pendingId, () => this.#answer(seq, answer, error));
    }
  }

  #answer(seq: number, answer: unknown, error: PlatformError | undefined): void {
    const reply = this.#replies.get(seq);
    if (!reply) return;
    this.#replies.delete(seq);
    if (error) reply.reject(error);
    else reply.resolve(answer);
  }

  #notifyMeasurement(records: Buffer, at: number): void {
    const tenant = records.readUInt32LE(at + 8);
    if (!this.#options.bus.hasSubscribers(tenant, 'measurements') || !isNotified(records[at + 6] as ProcessingMode)) return;
    const measurement = decodeMeasurement(records, at);
    let text: string | undefined;
    this.#options.bus.publish({
      tenant, area: 'measurements', source: String(measurement.source), action: 'CREATE', text: () => (text ??= entityText(measurement)),
    });
  }
}
