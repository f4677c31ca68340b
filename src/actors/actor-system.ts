/**
 * Feeds durable groups to the actors and commits what they decide: one commit of documents for each group, then
 * replies, notifications and follow-up commands (design 1 to 3).
 */
import { CHANGES_OBJECT, COMMAND } from '../model/commands/kinds.ts';
import type { RecordNotification } from '../ports/live-bus.ts';
import type { RecordsChange } from '../model/commands/records.ts';
import { PlatformError } from '../model/errors.ts';
import { isNotified, isStored } from '../model/commands/processing-mode.ts';
import { decodeCommand, undecodable } from '../ingest/journal/command-record.ts';
import type { JournalCommand } from '../ingest/journal/command-record.ts';
import { kindAt, modeAt, nextAt, tenantAt } from '../ingest/journal/record-layout.ts';
import type { HistoryRow } from '../ports/stores/history-writer.ts';
import type { ActorSystemOptions } from './actor-system-options.ts';
import { ActorContext } from './runtime/context.ts';
import type { DocumentChange } from '../ports/stores/documents.ts';
import { CHANGE_BOUNDS, charsOf, newestRows } from './runtime/group-size.ts';
import type { ForwardedGroup, Forwarder } from './runtime/forwarder.ts';
import { FollowUps, HANDLED_PREFIX, shardOfPending } from './runtime/follow-ups.ts';
import { auditCommand } from './runtime/command-audit.ts';
import { HANDLERS } from './handler-table.ts';
import { removedSubscriptions } from './handlers/notification-subscription.ts';
import { Mailbox } from './runtime/mailbox.ts';
import { forwardedMeasurement, notifyMeasurement } from './runtime/measurement-notice.ts';
import { outboxEntries } from './runtime/outbox.ts';
import { documentsOf } from './runtime/prefetch.ts';
import { NotLoaded, StateView, StoreFailed } from './runtime/state-view.ts';

/**
 * Groups without commands between two saves of the position; on a shard, which may change its owner at any time, fewer.
 */
const PASSED_GROUPS_MAX = 256;
const SHARD_PASSED_GROUPS_MAX = 16;
const EMPTY = Buffer.alloc(0);

interface Reply {
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

/** One journal group on its way through the actors. */
interface Group {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** For `onDecided`; empty when there is none. */
  records: Buffer;
  /** Node that appended it. */
  readonly gateway: string;
  /**
   * Handled again after a restart: follow-ups wait for `resumeFollowUps`, their numbers come behind what is still to be
   * replayed.
   */
  readonly isReplay: boolean;
  outstanding: number;
  /** Characters that its commands write, see actors/runtime/group-size.ts. */
  chars: number;
  readonly contexts: ActorContext[];
  readonly outcomes: Outcome[];
  rows: HistoryRow[];
  /** Measurements that are counted when it is committed. */
  readonly counts: Counts | undefined;
  /** Measurements that go to topics. */
  readonly measured: readonly RecordNotification[];
}

/** Tenant -> stored measurements. */
type Counts = Map<number, number>;

interface Outcome {
  readonly seq: number;
  readonly answer: unknown;
  readonly error: PlatformError | undefined;
  readonly pendingId: string | undefined;
  /** The command whose follow-ups the answer waits for: an earlier copy of this one, if there is. */
  readonly handledSeq: number;
}

interface Delivery {
  readonly command: JournalCommand;
  readonly group: Group;
}

export class ActorSystem {
  /** State contains every command up to here, on disk: what is at or below it is not needed for recovery. */
  committedSeq = 0;
  commandsCount = 0;
  /** Commands that were set aside. */
  setAsideCount = 0;
  /**
   * Subscribers on this node were told of the measurements up to here before: a shard that is loaded anew does not tell
   * them again.
   */
  toldSeq = 0;
  readonly #options: ActorSystemOptions;
  readonly #state: StateView;
  readonly #mailboxes = new Map<string | number, Mailbox<Delivery>>();
  readonly #replies = new Map<number, Reply>();
  readonly #groups: Group[] = [];
  readonly #followUps: FollowUps;
  readonly #uncommittedRows = new Map<number, HistoryRow[]>();
  #current: Group | undefined;
  #passedCount = 0;
  /** While a group waits for its topics: those behind it commit after it. */
  #forwarding: Promise<void> | undefined;
  #commits: Promise<void> = Promise.resolve();
  #commitsUnderWay = 0;
  /** Of groups without commands since the last save of the position. */
  #passedCounts: Counts | undefined;
  /** Last sequence of the newest group without commands. */
  #emptySeq = 0;
  #isStopped = false;
  #committedWaiters: (() => void)[] = [];

  constructor(options: ActorSystemOptions) {
    this.#options = options;
    this.#state = new StateView(options.documents, options.shard?.isOwn);
    const remove = (ids: readonly string[]): void => this.#removePending(ids);
    this.#followUps = new FollowUps({ append: options.append, log: options.log, shard: options.shard?.shard, remove });
  }

  /** The sender of the record `seq` wants its answer. */
  expectReply(seq: number, reply: Reply): void {
    this.#replies.set(seq, reply);
  }

  cancelReply(seq: number): void {
    this.#replies.delete(seq);
  }

  /**
   * Handles a durable group. JSON commands go to their actors, measurements to their subscribers.
   * @param records may change after the call where one system has all actors; the system of a shard keeps them.
   * @param replayThrough only in recovery, before anything new is appended: commands up to here are in the state
   * already.
   * @param gateway the node that appended it.
   * @returns the sequence of its last record.
   */
  handleGroup(firstSeq: number, records: Buffer, replayThrough?: number, gateway = ''): number {
    const commands: JournalCommand[] = [];
    const damaged: { readonly command: JournalCommand; readonly error: Error }[] = [];
    const counts: Counts | undefined = this.#options.shard && this.#options.usage && new Map<number, number>();
    const forwarder = this.#options.forwarder?.isActive === true ? this.#options.forwarder : undefined;
    const measured: RecordNotification[] = [];
    const listener = replayThrough === undefined ? this.#options.measurements?.() : undefined;
    let seq = firstSeq;
    for (let at = 0; at < records.length; at = nextAt(records, at), seq += 1) {
      if (kindAt(records, at) === COMMAND.MEASUREMENT) {
        if (replayThrough === undefined) {
          if (isStored(modeAt(records, at))) this.#countMeasurement(tenantAt(records, at), counts);
          if (seq > this.toldSeq) {
            notifyMeasurement(this.#options.bus, records, at);
            listener?.take(records, at);
          }
        }
        if (forwarder !== undefined && (replayThrough === undefined || seq > replayThrough)) {
          const notification = forwardedMeasurement(forwarder, records, at);
          if (notification !== undefined) measured.push({ seq, notification });
        }
      } else if (replayThrough === undefined || seq > replayThrough) {
        try {
          commands.push(decodeCommand(records, at, seq));
        } catch (error) {
          damaged.push({ command: undecodable(records, at, seq), error: error as Error });
        }
      }
    }
    const lastSeq = seq - 1;
    const isReplay = replayThrough !== undefined;
    if (commands.length === 0 && damaged.length === 0 && measured.length === 0 && this.#groups.length === 0) {
      this.#passedGroup(lastSeq, counts);
      this.#options.onDecided?.({ firstSeq, lastSeq, records, rows: [], isReplay });
      return lastSeq;
    }
    const group: Group = {
      firstSeq,
      lastSeq,
      records,
      gateway,
      isReplay,
      outstanding: commands.length,
      chars: 0,
      contexts: [],
      outcomes: [],
      rows: [],
      counts,
      measured,
    };
    this.#groups.push(group);
    this.#current = group;
    this.#state.prefetch(documentsOf(commands));
    for (const { command, error } of damaged) this.#setDamagedAside(command, error, group);
    for (const command of commands) this.#deliver(command, group);
    this.#current = undefined;
    this.#commitFinished();
    // Still under way: the caller's buffer is about to be used again.
    if (this.#groups.includes(group) && !this.#options.shard)
      group.records = this.#options.onDecided ? Buffer.from(records) : EMPTY;
    return lastSeq;
  }

  /**
   * A group without commands changes no state; the position is saved now and then, so that a restart need not read them
   * all.
   */
  #passedGroup(lastSeq: number, counts: Counts | undefined): void {
    // The state contains it as soon as what is under way is on disk: the journal may be trimmed.
    this.#emptySeq = lastSeq;
    if (this.#commitsUnderWay === 0) this.committedSeq = lastSeq;
    this.#passedCount += 1;
    if (counts) this.#passedCounts = merged(this.#passedCounts, counts);
    if (this.#passedCount >= (this.#options.shard ? SHARD_PASSED_GROUPS_MAX : PASSED_GROUPS_MAX)) this.savePassed();
  }

  /**
   * Saves the position behind groups without commands, if there are any since the last save: what is behind it is not
   * handled again.
   */
  savePassed(): void {
    // A group that waits for its topics is not committed yet: the position may not pass it.
    if (this.#passedCount === 0 || this.#isStopped || this.#forwarding !== undefined) return;
    const counts = this.#takePassed();
    this.#options.documents.commit([], this.#emptySeq).then(
      () => {
        if (counts) this.#count(counts);
      },
      (error: Error) => {
        this.#options.onCommitFailed(error);
      },
    );
  }

  #takePassed(): Counts | undefined {
    const counts = this.#passedCounts;
    this.#passedCount = 0;
    this.#passedCounts = undefined;
    return counts;
  }

  /**
   * On a shard once the group is committed: if it is not, the shard's next owner handles the group again, and counts it.
   */
  #countMeasurement(tenant: number, counts: Counts | undefined): void {
    if (counts) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    else this.#options.usage?.count(tenant, 'measurements_created');
  }

  #count(counts: Counts): void {
    for (const [tenant, count] of counts)
      for (let counted = 0; counted < count; counted += 1) this.#options.usage?.count(tenant, 'measurements_created');
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

  /**
   * Whether the command is carried out with all that follows from it: its answer has been sent, or is not
   * wanted any more.
   */
  isOver(seq: number): boolean {
    return seq <= this.committedSeq && !this.#followUps.isWaiting(seq);
  }

  /** Resolves when every commit so far is on disk. */
  async settled(): Promise<void> {
    while (this.#groups.length > 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    await this.#commits;
  }

  /** Groups that are not committed yet. */
  get underWayCount(): number {
    return this.#groups.length + this.#commitsUnderWay;
  }

  /** Resolves when at most `count` groups are under way, or when the system has been stopped. */
  async whenBelow(count: number): Promise<void> {
    while (this.underWayCount > count && !this.#isStopped)
      await new Promise<void>((resolve) => {
        this.#committedWaiters.push(resolve);
      });
  }

  /**
   * Nothing is handled, sent or answered any more; commits under way may still take effect. The documents see to it
   * that later ones do not.
   */
  stop(): void {
    this.#isStopped = true;
    this.#followUps.stop();
    this.#wakeWaiters();
  }

  #wakeWaiters(): void {
    for (const resolve of this.#committedWaiters.splice(0)) resolve();
  }

  get mailboxCount(): number {
    return this.#mailboxes.size;
  }
  get pendingCount(): number {
    return this.#followUps.count;
  }

  #deliver(command: JournalCommand, group: Group): void {
    const key = typeof command.key === 'number' ? command.key : `${command.tenant}/${command.key}`;
    let mailbox = this.#mailboxes.get(key);
    if (!mailbox) {
      mailbox = new Mailbox<Delivery>(
        (next) => {
          this.#handle(next.command, next.group);
        },
        () => {
          this.#mailboxes.delete(key);
        },
      );
      this.#mailboxes.set(key, mailbox);
    }
    mailbox.receive({ command, group });
  }

  #handle(command: JournalCommand, group: Group): void {
    if (this.#isStopped) return;
    this.#state.begin(command.seq);
    const context = new ActorContext(command, this.#state);
    let answer: unknown;
    let error: PlatformError | undefined;
    try {
      const handledSeq = command.pendingId === undefined ? undefined : this.#handledBefore(command.pendingId);
      if (handledSeq !== undefined) {
        group.outcomes.push({
          seq: command.seq,
          answer: undefined,
          error: undefined,
          pendingId: undefined,
          handledSeq,
        });
        this.#handled(command, group);
        return;
      }
      const handler = HANDLERS[command.kind] as ((context: ActorContext, body: object) => unknown) | undefined;
      if (!handler) throw new Error(`no actor takes command ${command.kind}`);
      answer = handler(context, command.body);
      auditCommand(context);
    } catch (thrown) {
      if (thrown instanceof NotLoaded || thrown instanceof StoreFailed) throw thrown;
      error = thrown instanceof PlatformError ? thrown : this.#setAside(command, thrown as Error);
    }
    const entries =
      error === undefined
        ? context.followUps.map((followUp, index) => this.#followUps.entry(command, followUp, index))
        : [];
    if (error === undefined) error = this.#tooLarge(context, entries, group);
    const effective = error ? new ActorContext(command, this.#state) : context;
    if (this.#isStopped) return;
    if (command.pendingId !== undefined) effective.changes.push(this.#handledChange(command, command.pendingId));
    if (error === undefined) for (const entry of entries) effective.changes.push(entry);
    this.#state.apply(effective.changes, group.lastSeq);
    group.contexts.push(effective);
    group.rows.push(...effective.rows);
    group.outcomes.push({ seq: command.seq, answer, error, pendingId: command.pendingId, handledSeq: command.seq });
    this.#handled(command, group);
  }

  /** Of a shard, whose commits have a bound. @returns the refusal of a command that is too large by itself. */
  #tooLarge(context: ActorContext, entries: readonly DocumentChange[], group: Group): PlatformError | undefined {
    const { shard } = this.#options;
    const { commandCharsMax, groupCharsMax } = shard?.bounds ?? CHANGE_BOUNDS;
    const size = shard === undefined ? 0 : charsOf(context, entries);
    if (size > commandCharsMax) return new PlatformError('general/change-too-large', { size, limit: commandCharsMax });
    group.chars += size;
    if (group.chars <= groupCharsMax || group.contexts.length === 0) return undefined;
    this.stop();
    shard?.onTooLarge(group.lastSeq, group.contexts.length);
    return undefined;
  }

  /**
   * A retry, after a restart or a take-over, would fail the same way: the command is skipped so that it does not block
   * the journal.
   */
  #setAside(command: JournalCommand, error: Error): PlatformError {
    const { seq, shard, kind, tenant, key } = command;
    const reference = `${shard}-${seq}`;
    this.setAsideCount += 1;
    this.#options.log.error(
      { err: error, reference, seq, shard, kind, tenant, key, position: this.committedSeq },
      'a command could not be handled, which is an error of the server; it is set aside and has no effect',
    );
    this.#options.onSetAside?.(command, error, reference);
    return new PlatformError('general/internal', { reference });
  }

  /**
   * A record that cannot be read has no actor; it would not be read by any next owner either. A follow-up counts as
   * handled.
   */
  #setDamagedAside(command: JournalCommand, error: Error, group: Group): void {
    const { seq, pendingId } = command;
    group.outcomes.push({ seq, answer: undefined, error: this.#setAside(command, error), pendingId, handledSeq: seq });
    if (pendingId === undefined) return;
    // Of no kind: nothing else follows from it.
    const context = new ActorContext({ ...command, kind: 0 as JournalCommand['kind'] }, this.#state);
    context.changes.push(this.#handledChange(command, pendingId));
    this.#state.apply(context.changes, group.lastSeq);
    group.contexts.push(context);
  }

  #isForeign(pendingId: string): boolean {
    const shard = shardOfPending(pendingId);
    return shard !== undefined && shard !== this.#options.shard?.shard;
  }

  /**
   * The sequence under which a follow-up was handled before (0: it is not known any more), undefined when it was not. One
   * that another shard sent is new when it has no marker, looked for first, and still stands in that shard's `pending`:
   * its marker goes after its entry.
   */
  #handledBefore(pendingId: string): number | undefined {
    // Sent twice by a resume after a crash: its first handling removed the entry.
    if (!this.#isForeign(pendingId)) return this.#state.get('pending', 0, pendingId) === undefined ? 0 : undefined;
    const marker = this.#state.get('meta', 0, HANDLED_PREFIX + pendingId);
    if (marker !== undefined) return Number(marker);
    const shard = shardOfPending(pendingId) as number;
    const entry = this.#state.foreign(`pending of ${pendingId}`, () =>
      this.#options.shard?.pendingOf(shard, pendingId),
    );
    return entry === undefined ? 0 : undefined;
  }

  #handledChange(command: JournalCommand, pendingId: string): DocumentChange {
    if (!this.#isForeign(pendingId)) return { collection: 'pending', tenant: 0, id: pendingId, value: undefined };
    return { collection: 'meta', tenant: 0, id: HANDLED_PREFIX + pendingId, value: String(command.seq) };
  }

  /** Another shard has handled what this one sent. What a crash leaves is sent again, and found to be handled. */
  #removePending(pendingIds: readonly string[]): void {
    this.#options.documents
      .commit(
        pendingIds.map((id) => ({ collection: 'pending' as const, tenant: 0, id, value: undefined })),
        undefined,
      )
      .catch((error: Error) => {
        if (!this.#isStopped) this.#options.onCommitFailed(error);
      });
  }

  #handled(command: JournalCommand, group: Group): void {
    this.commandsCount += 1;
    this.#state.end(command.seq);
    group.outstanding -= 1;
    if (group.outstanding === 0 && group !== this.#current) this.#commitFinished();
  }

  /** Commits finished groups in order. */
  #commitFinished(): void {
    while (this.#groups.length > 0 && this.#groups[0].outstanding === 0) {
      const group = this.#groups.shift() as Group;
      const changes: DocumentChange[] = [];
      for (const context of group.contexts) for (const change of context.changes) changes.push(change);
      if (this.#options.shard) group.rows = newestRows(group.rows, group.contexts);
      if (group.rows.length > 0) {
        this.#uncommittedRows.set(group.lastSeq, group.rows);
        for (const entry of outboxEntries(group.rows, group.lastSeq)) changes.push(entry);
      }
      this.#options.onDecided?.(group);
      this.#commitsUnderWay += 1;
      const passed = this.#takePassed();
      const forwarded = this.#forward(group);
      const commit = (topics: ForwardedGroup | undefined): void => this.#commit(group, changes, topics, passed);
      if (this.#forwarding === undefined && !(forwarded instanceof Promise)) {
        commit(forwarded);
        continue;
      }
      const waiting = (this.#forwarding ?? Promise.resolve())
        .then(() => forwarded)
        .then((topics) => {
          if (this.#forwarding === waiting) this.#forwarding = undefined;
          commit(topics);
        });
      this.#forwarding = waiting;
      this.#commits = this.#commits.then(() => waiting);
    }
  }

  /** Of what is told to subscribers, in the order of its records. */
  #forward(group: Group): ReturnType<Forwarder['forward']> {
    const { forwarder } = this.#options;
    if (forwarder?.isActive !== true) return undefined;
    const told = [...group.measured];
    for (const { command, notifications } of group.contexts) {
      if (!isNotified(command.mode)) continue;
      for (const notification of notifications)
        if (forwarder.wants(notification.tenant)) told.push({ seq: command.seq, notification });
    }
    if (told.length === 0) return undefined;
    if (group.contexts.length > 0) told.sort((one, other) => one.seq - other.seq);
    const failed = (error: unknown): undefined => forwarder.failed(error) as undefined;
    try {
      const forwarded = forwarder.forward(told);
      return forwarded instanceof Promise ? forwarded.catch(failed) : forwarded;
    } catch (error) {
      return failed(error);
    }
  }

  #commit(
    group: Group,
    changes: DocumentChange[],
    topics: ForwardedGroup | undefined,
    passed: Counts | undefined,
  ): void {
    const all = topics === undefined || topics.documents.length === 0 ? changes : [...changes, ...topics.documents];
    const commit = this.#options.documents.commit(all, group.lastSeq).then(
      () => {
        for (const counts of [passed, group.counts]) if (counts) this.#count(counts);
        this.#committed(group, changes);
        topics?.committed();
      },
      (error: Error) => {
        this.#options.onCommitFailed(error);
      },
    );
    this.#commits = this.#commits.then(() => commit);
  }

  #committed(group: Group, changes: readonly DocumentChange[]): void {
    this.#commitsUnderWay -= 1;
    if (this.#isStopped) return;
    this.committedSeq =
      this.#commitsUnderWay === 0 && this.#groups.length === 0
        ? Math.max(group.lastSeq, this.#emptySeq)
        : group.lastSeq;
    this.#state.committed(changes, group.lastSeq);
    this.#uncommittedRows.delete(group.lastSeq);
    for (const context of group.contexts) {
      if (!group.isReplay) this.#followUps.send(context);
      const { kind, key, tenant, body } = context.command;
      if (typeof key === 'number' && CHANGES_OBJECT.has(kind)) this.#options.onObjectChanged(key);
      else if (kind === COMMAND.PARENT_REMOVE) this.#options.onLinksEnded();
      if (context.changedUser !== undefined) this.#options.onUserChanged(tenant, context.changedUser);
      // One that was refused has none.
      if (kind === COMMAND.RECORDS_CHANGE && context.changes.length > 0)
        this.#options.onRecordsChanged(tenant, (body as RecordsChange).changes);
      else if (kind === COMMAND.SOURCE_DELETE && context.changes.length > 0)
        this.#options.onRecordsChanged(tenant, removedSubscriptions(context.changes));
      if (isStored(context.command.mode))
        for (const notification of context.notifications) this.#options.usage?.changed(notification);
      if (!isNotified(context.command.mode)) continue;
      for (const notification of context.notifications) this.#options.bus.publish(notification);
    }
    for (const { seq, answer, error, pendingId, handledSeq } of group.outcomes) {
      if (error && pendingId !== undefined)
        this.#options.log.warn({ seq, code: error.code, error: error.message }, 'a follow-up command was refused');
      this.#followUps.whenDone(handledSeq, pendingId, () => this.#answer(group.gateway, seq, answer, error));
    }
    if (this.#committedWaiters.length > 0) this.#wakeWaiters();
  }

  #answer(gateway: string, seq: number, answer: unknown, error: PlatformError | undefined): void {
    if (this.#isStopped) return;
    this.#options.shard?.onOutcome(gateway, seq, answer, error);
    const reply = this.#replies.get(seq);
    if (!reply) return;
    this.#replies.delete(seq);
    if (error) reply.reject(error);
    else reply.resolve(answer);
  }
}

function merged(into: Counts | undefined, counts: Counts): Counts {
  if (!into) return counts;
  for (const [tenant, count] of counts) into.set(tenant, (into.get(tenant) ?? 0) + count);
  return into;
}
