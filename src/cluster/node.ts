/**
 * One node of a cluster, made from ports: what gateways put records into and send commands through, the shards that it
 * owns, its projector, and what it tells and is told by other nodes. The server's composition supplies the adapters and
 * uses the parts.
 */
import { UNATTRIBUTED } from '../ports/refusals.ts';
import type { UsageCount } from '../actors/actor-system-options.ts';
import type { Forwarder } from '../actors/runtime/forwarder.ts';
import type { ChangeBounds } from '../actors/runtime/group-size.ts';
import { DataDeletion } from '../ingest/projector/data-deletion.ts';
import { parseProgress, PROGRESS_KEY } from '../actors/projector-memory.ts';
import type { JournalCommand } from '../ingest/journal/command-record.ts';
import { SHARD_COUNT, shardOf } from '../ingest/journal/command-record.ts';
import type { HistoryWriter } from '../ports/stores/history-writer.ts';
import type { HistoryQuery } from '../ports/history-reader.ts';
import type { Quarantine } from '../ports/stores/quarantine.ts';
import type { DataDelete, SourceDelete } from '../model/commands/deletion.ts';
import type { LiveBus } from '../ports/live-bus.ts';
import type { RecordChange } from '../model/commands/records.ts';
import { limitText } from '../model/errors.ts';
import type { Log } from '../ports/log.ts';
import type { MeasurementListener } from '../ports/measurement-listener.ts';
import type { Refusals } from '../ports/refusals.ts';
import { Projector } from '../ingest/projector/projector.ts';
import { deleteGone } from './projector/gone-sources.ts';
import type { GoneSourcesOptions } from './projector/gone-sources.ts';
import { StoredBlocks } from './projector/stored-blocks.ts';
import type { BlockIntent } from './projector/stored-blocks.ts';
import { CommandGateway } from './gateway/command-gateway.ts';
import { GatewayJournal } from './gateway/journal.ts';
import type { NodeMessages } from '../ports/cluster/node-messages.ts';
import { OutcomeSender } from './gateway/outcome-sender.ts';
import type { Change } from './gateway/outcome-sender.ts';
import type { BlockStore, ClusterDocuments } from '../ports/cluster/documents.ts';
import { GROUP_RECORDS_MAX, JournalUnavailable } from '../ports/cluster/journal.ts';
import type { ShardJournal } from '../ports/cluster/journal.ts';
import type { ShardLeases } from '../ports/cluster/leases.ts';
import { ServiceWatch } from './shards/service-watch.ts';
import { ShardOwner } from './shard-owner.ts';
import { Visibility } from './gateway/visibility.ts';

/**
 * A node that leaves waits this long in all for the follow-ups and the projector of its shards, which are handed over a
 * few at a time.
 */
const LEAVE_MS = 2_000;
const TRIM_MS = 1_000;
const SAVE_MS = 1_000;
const SWEEP_MS = 60_000;
const WATCH_MS = 1_000;
/** Caches forget what is older than twice this time. */
const AGE_MS = 30_000;
/** A DELETE waits this long for the other shards before it tries again. */
const DELETION_VISIBLE_MS = 30_000;
/** Which of these commands are over: asked of a shard's owner by gateways that wait for answers. */
const OVER = 'over';
const OVER_TIMEOUT_MS = 1_000;
interface OverRequest {
  readonly shard: number;
  readonly seqs: readonly number[];
}

/** By then a node that starts has heard of the others. */
const MEMBERS_KNOWN_MS = 3_000;

/** Caches of this node. */
export interface NodeCaches {
  /** By whichever node; told of changes by this node's owners at once. */
  readonly onChanged: (changes: readonly Change[]) => void;
  /** Records changed by this node's owners, at once; those of other nodes come by `onChanged`. */
  readonly onRecordsChanged: (tenant: number, changes: readonly RecordChange[]) => void;
  /** Changes may have been missed: everything is forgotten. */
  readonly forgetAll: () => void;
  /** Called every 30 s: what is older than 60 s is forgotten, in case a change got lost. */
  readonly age: () => void;
}

export interface ClusterNodeOptions {
  readonly messages: NodeMessages;
  readonly leases: ShardLeases;
  readonly journal: ShardJournal;
  readonly documents: ClusterDocuments;
  readonly blocks: BlockStore;
  readonly history: HistoryWriter;
  /** This node's: what the history store refuses, and commands whose handling failed. */
  readonly quarantine: Quarantine;
  /** From the actors of this node's shards, to the subscribers of all nodes. */
  readonly bus: LiveBus;
  readonly caches: NodeCaches;
  readonly log: Log;
  readonly refusals: Refusals;
  readonly journalBytesMax: number;
  readonly answerTimeoutMs: number;
  readonly projectorRowsMax: number;
  readonly projectorIntervalMs: number;
  /** See ShardRole. */
  readonly bounds?: ChangeBounds | undefined;
  /** See ProjectorOptions. */
  readonly isHistoryAway?: () => boolean;
  /** A name of a limit while writes are refused, beside those of the journal. */
  readonly refusal?: () => string | undefined;
  /** See DataDeletionOptions. */
  readonly isDiskFull?: () => boolean;
  /** See HistoryInsertOptions. */
  readonly uncertainTries?: number;
  readonly usage?: UsageCount;
  /** Topics of Notifications 2.0. */
  readonly forwarder?: Forwarder;
  /** As in ActorSystemOptions. */
  readonly measurements?: () => MeasurementListener | undefined;
  /** A shard is in service on this node. */
  readonly onShardTaken?: () => void;
  readonly onInserted?: (table: string, rows: number) => void;
  readonly onCommitted?: (recordCount: number, durationMs: number) => void;
}

export class ClusterNode {
  /** For measurements: MeasurementPublisher, JsonMeasurementIntake, DeviceApplication. */
  readonly intake: GatewayJournal;
  /** For commands: the API, DeviceApplication, SessionDocuments. */
  readonly commands: CommandGateway;
  readonly projector: Projector<BlockIntent>;
  readonly #blocks: StoredBlocks;
  readonly outcomes: OutcomeSender;
  readonly visibility: Visibility;
  readonly deletion: DataDeletion;
  readonly owners: readonly ShardOwner[];
  readonly watch: ServiceWatch;
  readonly #options: ClusterNodeOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  #isStopped = false;
  #leaveBy = Number.POSITIVE_INFINITY;
  #startedAt = Number.POSITIVE_INFINITY;

  constructor(options: ClusterNodeOptions) {
    this.#options = options;
    const { messages, leases, journal, documents, blocks, history, caches, log, refusals } = options;
    this.intake = new GatewayJournal({
      journal,
      nodeId: messages.nodeId,
      journalBytesMax: options.journalBytesMax,
      ...(options.refusal ? { refusal: options.refusal } : {}),
      ...(options.onCommitted ? { onCommitted: options.onCommitted } : {}),
      onError: (error) => {
        // Its message is the name of the limit.
        if (error instanceof JournalUnavailable) refusals.count(error.message, UNATTRIBUTED);
        log.warn(
          { error: limitText(error.message) },
          'a group could not be stored in the journal; its senders are told',
        );
      },
    });
    this.commands = new CommandGateway({
      intake: this.intake,
      refusals,
      answerTimeoutMs: options.answerTimeoutMs,
      overOf: (shard, seqs) => this.#overOf(shard, seqs),
      refusal: () => this.#noOwners,
    });
    messages.answer(OVER, (payload) => {
      const { shard, seqs } = JSON.parse(Buffer.from(payload).toString()) as OverRequest;
      return Buffer.from(
        JSON.stringify(this.owners[shard].overOf(seqs).filter((seq) => !this.outcomes.isSending(shard, seq))),
      );
    });
    this.outcomes = new OutcomeSender({
      messages,
      take: (shard, answers) => this.commands.take(shard, answers),
      onChanged: (changes) => caches.onChanged(changes),
      onRecordsChanged: (tenant, changes) => caches.onRecordsChanged(tenant, changes),
      refusals,
      log,
    });
    this.deletion = new DataDeletion({
      history,
      commands: this.commands,
      bus: options.bus,
      isBounded: true,
      ...(options.isDiskFull ? { isDiskFull: options.isDiskFull } : {}),
    });
    this.#blocks = new StoredBlocks(
      blocks,
      async (shard) =>
        parseProgress<BlockIntent>(await documents.reader.inShard(shard).get('meta', 0, PROGRESS_KEY)).intent?.token,
    );
    const gone: GoneSourcesOptions = {
      journal,
      awaitSources: (of, ofShard, timeoutMs) => this.#awaitSources(of, ofShard, timeoutMs),
      run: (command) => this.#delete(command, true),
    };
    this.projector = new Projector({
      journal,
      blocks: this.#blocks,
      history,
      quarantine: options.quarantine,
      rowsMax: options.projectorRowsMax,
      intervalMs: options.projectorIntervalMs,
      log,
      runDeletion: (command) => this.#delete(command),
      deleteGone: (...of) => deleteGone(gone, ...of),
      onInserted: (table, rows) => options.onInserted?.(table, rows),
      ...(options.isHistoryAway ? { isHistoryAway: options.isHistoryAway } : {}),
      ...(options.uncertainTries === undefined ? {} : { uncertainTries: options.uncertainTries }),
    });
    this.owners = Array.from(
      { length: SHARD_COUNT },
      (_, shard) =>
        new ShardOwner({
          shard,
          documents,
          journal,
          projector: this.projector,
          outcomes: this.outcomes,
          bus: options.bus,
          log,
          quarantine: options.quarantine,
          bounds: options.bounds,
          ...(options.usage ? { usage: options.usage } : {}),
          ...(options.forwarder ? { forwarder: options.forwarder } : {}),
          ...(options.measurements ? { measurements: options.measurements } : {}),
          deliver: (command, pendingId) => this.commands.deliver(command, pendingId),
        }),
    );
    this.watch = new ServiceWatch((shard) => {
      const owner = leases.ownerOf(shard);
      return owner !== undefined && (owner !== messages.nodeId || this.owners[shard].isInService);
    }, log);
    this.visibility = new Visibility({
      messages,
      leases,
      journal,
      acknowledgedSeq: (shard) => this.intake.acknowledgedSeq(shard),
      visibleHere: async (shard, seq, timeoutMs, query) => {
        await this.projector.visible(shard, seq, timeoutMs, query);
        if (query !== undefined) await this.deletion.settled(query);
      },
    });
    messages.onReconnected(() => {
      caches.forgetAll();
      // What this node told when its connection was about to end.
      for (const owner of this.owners) if (owner.isInService) owner.tellAgain();
    });
  }

  /** Set when no member takes shards, so that no command would be answered. Other records are stored for later owners. */
  get #noOwners(): string | undefined {
    if (this.#options.leases.members.some(({ roles }) => roles.includes('shard'))) return undefined;
    return performance.now() - this.#startedAt > MEMBERS_KNOWN_MS ? 'cluster/no-shard-role' : undefined;
  }

  /** Joins the cluster; shards come in the background. */
  async start(): Promise<void> {
    this.#startedAt = performance.now();
    const { leases, caches } = this.#options;
    await leases.join({
      onAcquired: async (shard, epoch) => {
        await this.owners[shard].acquire(epoch);
        this.#options.onShardTaken?.();
      },
      onRelease: (shard) => this.owners[shard].release(this.#leaveBy),
      onLost: (shard) => this.owners[shard].lose(),
      onChanged: () => this.visibility.membersChanged(),
    });
    this.visibility.membersChanged();
    this.#every(TRIM_MS, () => this.trim());
    this.#every(SAVE_MS, async () => {
      for (const owner of this.owners) owner.savePassed();
    });
    this.#every(SWEEP_MS, async () => {
      for (const owner of this.owners) await owner.sweep();
    });
    this.#every(WATCH_MS, async () => this.watch.look(performance.now()));
    this.#every(AGE_MS, async () => caches.age());
  }

  /** Shards whose lease this node has, and those of them that it serves. */
  get ownedCount(): number {
    return this.#options.leases.owned.size;
  }
  get inServiceCount(): number {
    return this.owners.filter(({ isInService }) => isInService).length;
  }
  /**
   * Commands that this node's actors have handled since its start, and those of them whose handler failed: they are set
   * aside.
   */
  get commandsCount(): number {
    return sum(this.owners, (owner) => owner.commandsCount);
  }
  get commandsSetAsideCount(): number {
    return sum(this.owners, (owner) => owner.setAsideCount);
  }
  /** Follow-ups on their way from this node's shards. */
  get followUpsCount(): number {
    return sum(this.owners, (owner) => owner.pendingCount);
  }

  async #overOf(shard: number, seqs: readonly number[]): Promise<readonly number[]> {
    const { leases, messages } = this.#options;
    const owner = leases.ownerOf(shard);
    if (owner === undefined) return [];
    const request: OverRequest = { shard, seqs };
    return JSON.parse(
      Buffer.from(
        await messages.request(owner, OVER, Buffer.from(JSON.stringify(request)), OVER_TIMEOUT_MS),
      ).toString(),
    ) as number[];
  }

  /**
   * Resolves when everything that any node acknowledged before the call can be queried: for ClickHouseHistoryReader.
   */
  visible(timeoutMs: number, query?: HistoryQuery): Promise<void> {
    return this.visibility.visible(timeoutMs, query);
  }

  /**
   * Groups of the journal, of all shards, that lie between what was decided and what is in the history: of the shard
   * that is most behind.
   */
  get lagGroups(): number {
    const groupOf = (seq: number): number => Math.floor(seq / GROUP_RECORDS_MAX);
    const { tracks } = this.projector;
    return Math.max(0, ...[...tracks.values()].map((of) => groupOf(of.offeredSeq) - groupOf(of.position)));
  }

  /** @param nowMs growing. @returns up to where the journal of each shard that is here is not needed. */
  trimBounds(nowMs: number, unsettledAfterMs?: number): Promise<Map<number, number>> {
    return this.#blocks.trimBounds(this.projector.tracks, nowMs, unsettledAfterMs);
  }

  /** Removes what is not needed any more from the journal of this node's shards. */
  async trim(): Promise<void> {
    const bounds = await this.trimBounds(performance.now());
    for (const [shard, bound] of bounds) {
      const durable = await this.owners[shard].durablePosition();
      const position = Math.min(bound, durable);
      if (position > 0) await this.#options.journal.trim(shard, position);
    }
  }

  /** Hands the shards over, then ends. Nothing may be put in any more. */
  async stop(): Promise<void> {
    await this.intake.drained();
    this.#leaveBy = performance.now() + LEAVE_MS;
    await this.#options.leases.leave();
    await this.projector.stop();
    this.#end();
  }

  /** As when the process is killed: callbacks do nothing more. What was begun on stores is theirs. */
  abandon(): void {
    this.projector.abandon();
    this.#end();
  }

  #end(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const owner of this.owners) owner.lose();
    this.visibility.stop();
    this.commands.stop();
  }

  /** One run at a time; what fails is tried the next time. */
  #every(intervalMs: number, run: () => Promise<void>): void {
    let isRunning = false;
    const timer = setInterval(() => {
      if (isRunning || this.#isStopped) return;
      isRunning = true;
      run()
        .catch((error: Error) =>
          this.#options.log.warn({ error: error.message }, 'work of the cluster failed; it is tried again'),
        )
        .finally(() => {
          isRunning = false;
        });
    }, intervalMs);
    timer.unref();
    this.#timers.push(timer);
  }

  /**
   * A DELETE by filters. Sequences are over all shards, so that what was acknowledged before the command has a smaller
   * one, and what came after its answer a larger one (docs/internals/cluster.md). The first must be in the history before it is
   * deleted there.
   */
  async #delete(command: JournalCommand, isVisible = false): Promise<void> {
    const { table, filter } = command.body as DataDelete;
    const source = Number(filter.source ?? filter.deviceId);
    const shards =
      Number.isSafeInteger(source) && source > 0
        ? [shardOf(command.tenant, source)]
        : Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
    // Its own shard stands in front of it, and has brought in what is before.
    const others = shards.filter((shard) => shard !== command.shard);
    if (!isVisible && others.length > 0) await this.visibility.visibleBefore(command.seq, others, DELETION_VISIBLE_MS);
    await this.deletion.run(command);
    if (table !== 'measurements') this.visibility.deletionDone();
  }

  async #awaitSources(gone: readonly JournalCommand[], ofShard: number, timeoutMs: number): Promise<void> {
    const shards = new Set(gone.map(({ tenant, body }) => shardOf(tenant, Number((body as SourceDelete).source))));
    shards.delete(ofShard);
    if (shards.size > 0)
      await this.visibility.visibleBefore(Math.max(...gone.map(({ seq }) => seq)), [...shards], timeoutMs);
  }
}

const sum = (owners: readonly ShardOwner[], of: (owner: ShardOwner) => number): number =>
  owners.reduce((total, owner) => total + of(owner), 0);
