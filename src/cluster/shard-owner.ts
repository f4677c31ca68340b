/**
 * One shard in service on this node: takes it over, follows its journal through an actor system of its own, sends its
 * outcomes, and lets go of it, in order or at once. Nothing here ends the process: what is away is waited for.
 */
import { ActorSystem } from '../actors/actor-system.ts';
import type { DecidedGroup, UsageCount } from '../actors/actor-system-options.ts';
import type { Forwarder } from '../actors/runtime/forwarder.ts';
import type { ChangeBounds } from '../actors/runtime/group-size.ts';
import { ProjectorMemory } from '../actors/projector-memory.ts';
import { nextAt } from '../ingest/journal/record-layout.ts';
import { entryOfCommand } from '../ingest/journal/set-aside.ts';
import type { Quarantine } from '../ports/stores/quarantine.ts';
import type { Command } from '../model/commands/command.ts';
import type { LiveBus } from '../ports/live-bus.ts';
import type { Log } from '../ports/log.ts';
import type { MeasurementListener } from '../ports/measurement-listener.ts';
import type { Projector } from '../ingest/projector/projector.ts';
import { sweepMarkers } from './shards/marker-sweep.ts';
import { LINKS_ENDED } from './gateway/outcome-sender.ts';
import type { OutcomeSender } from './gateway/outcome-sender.ts';
import type { BlockIntent } from './projector/stored-blocks.ts';
import { Fenced, StateLost } from '../ports/cluster/documents.ts';
import type { ClusterDocuments, ShardDocuments } from '../ports/cluster/documents.ts';
import type { ShardFollower, ShardGroup, ShardJournal } from '../ports/cluster/journal.ts';
import { isOfShard, RoutedDocuments } from './shards/reader.ts';

/** Groups on their way through the actors: more wait in the journal. */
const UNDER_WAY_MAX = 16;
const UNDER_WAY_LOW = 8;
/** A planned hand-over waits this long for follow-ups whose answers are awaited, and for the projector. */
const RELEASE_MS = 2_000;
/** Time for the projector after the shard is not followed any more; commands of the shard wait meanwhile. */
const LAST_ROWS_MS = 250;
/** After an error that is none of the known ones. */
const RESTART_MS = 1_000;
/** In `meta` of the shard while it has no owner: the last one has told everything that it had committed. */
const TOLD_KEY = 'told';
/**
 * In `meta` of the shard once the store has come back with an older state: rows of the history may be there up to this
 * sequence.
 */
const UNCERTAIN_KEY = 'uncertain';

export interface ShardOwnerOptions {
  readonly shard: number;
  readonly documents: ClusterDocuments;
  readonly journal: ShardJournal;
  readonly projector: Projector<BlockIntent>;
  readonly outcomes: OutcomeSender;
  readonly bus: LiveBus;
  /** Counts what was stored, for the statistics of tenants. */
  readonly usage?: UsageCount;
  /** Topics of Notifications 2.0. */
  readonly forwarder?: Forwarder;
  /** As in ActorSystemOptions. */
  readonly measurements?: () => MeasurementListener | undefined;
  /** Of this node: takes commands whose handling failed. */
  readonly quarantine: Quarantine;
  readonly log: Log;
  /** See ShardRole. */
  readonly bounds?: ChangeBounds | undefined;
  /** Appends a follow-up and resolves when it has been handled. */
  readonly deliver: (command: Command, pendingId: string) => Promise<void>;
}

/** One service of a shard, from a take-over to its end. */
interface Service {
  readonly epoch: number;
  readonly documents: ShardDocuments;
  /** The same with what other shards have, and a failure of any commit is told. */
  readonly routed: RoutedDocuments;
  readonly actors: ActorSystem;
  follower: ShardFollower | undefined;
  /** Last sequences of the group that was given to the actors last, and of the one that was decided last. */
  givenSeq: number;
  decidedSeq: number;
  /** What a former owner left between two shards is handled. */
  isResumed: boolean;
  isEnded: boolean;
}

export class ShardOwner {
  readonly shard: number;
  readonly #options: ShardOwnerOptions;
  #service: Service | undefined;
  /** Being taken over. */
  #opening: ShardDocuments | undefined;
  /** Taking over and restarting go one after the other. */
  #generation = 0;
  /** Subscribers were told of the measurements up to here by this node. */
  #toldSeq = 0;
  /** The store came back with an older state. */
  #hasLostState = false;
  /**
   * Groups up to here are handled in parts of this many records: one of them changes more at once than a commit takes.
   */
  #parts: { readonly throughSeq: number; readonly records: number } | undefined;
  /** Of services that have ended. */
  #commandsBefore = 0;
  #setAsideBefore = 0;

  constructor(options: ShardOwnerOptions) {
    this.shard = options.shard;
    this.#options = options;
  }

  get isInService(): boolean {
    return this.#service !== undefined;
  }
  /** Groups that are not committed yet. */
  get underWayCount(): number {
    return this.#service?.actors.underWayCount ?? 0;
  }
  get pendingCount(): number {
    return this.#service?.actors.pendingCount ?? 0;
  }
  /** Commands handled since the start of the node; one that is handled again after a take-over counts again. */
  get commandsCount(): number {
    return this.#commandsBefore + (this.#service?.actors.commandsCount ?? 0);
  }
  /** Commands that were set aside since the start of the node, because their handler failed. */
  get setAsideCount(): number {
    return this.#setAsideBefore + (this.#service?.actors.setAsideCount ?? 0);
  }
  get committedSeq(): number {
    return this.#service?.actors.committedSeq ?? 0;
  }
  /**
   * Of commands whose senders wait: those that are over, see ActorSystem.isOver. None while a former owner's follow-ups
   * are still to come.
   */
  overOf(seqs: readonly number[]): readonly number[] {
    const service = this.#service;
    return service?.isResumed === true ? seqs.filter((seq) => service.actors.isOver(seq)) : [];
  }

  /** The journal of the shard behind it is needed. */
  async durablePosition(): Promise<number> {
    return (await this.#service?.documents.durablePosition()) ?? 0;
  }

  /** The shard is ours: resolves when it is in service. @throws Fenced when a later owner has it already. */
  async acquire(epoch: number): Promise<void> {
    this.lose();
    const generation = this.#generation;
    const isCurrent = (): boolean => generation === this.#generation;
    const { shard, documents: stores, journal, projector, log } = this.#options;
    const documents: ShardDocuments = stores.open(shard, () => {
      this.#hasLostState = true;
      if (isCurrent()) this.#restart(epoch, 0);
    });
    this.#opening = documents;
    const position = await documents.takeOver(epoch);
    if (!isCurrent()) {
      documents.stop();
      throw new Fenced(`shard ${shard} was lost while it was taken over`);
    }
    this.#opening = undefined;
    const service = this.#makeService(epoch, documents, position);
    this.#service = service;
    const progress = new ProjectorMemory<BlockIntent>(service.routed, service.actors);
    const uncertainThrough = await this.#uncertainThrough(documents);
    await projector.attach(shard, progress, position, () => !service.isEnded, uncertainThrough);
    await this.#tellAgain(service);
    if (service.isEnded) throw new Fenced(`shard ${shard} was lost while it was taken over`);
    // What a former owner left between two shards is sent again; what handles it knows whether it is new.
    service.actors.resumeFollowUps().then(
      () => {
        service.isResumed = true;
      },
      (error: Error) => this.#failed(service, error),
    );
    service.follower = journal.follow(
      shard,
      position,
      (group) => this.#take(service, group),
      (error) => this.#failed(service, error),
    );
    log.debug({ shard, epoch, position }, 'shard in service');
  }

  /**
   * What the projector's progress has lost may be in the history: until the shard has passed that, its owner looks
   * before it inserts.
   */
  async #uncertainThrough(documents: ShardDocuments): Promise<number> {
    const stored = Number((await documents.get('meta', 0, UNCERTAIN_KEY)) ?? 0);
    if (!this.#hasLostState) return stored;
    const { shard, journal } = this.#options;
    const through = Math.max(stored, await journal.lastSeq(shard));
    await documents.commit([{ collection: 'meta', tenant: 0, id: UNCERTAIN_KEY, value: String(through) }], undefined);
    this.#hasLostState = false;
    return through;
  }

  /**
   * What the former owner had committed may not have been told: nothing of it can come any more, and all nodes read
   * again what they remember.
   */
  async #tellAgain({ documents }: Service): Promise<void> {
    if ((await documents.get('meta', 0, TOLD_KEY)) === undefined) this.tellAgain();
    else await documents.commit([{ collection: 'meta', tenant: 0, id: TOLD_KEY, value: undefined }], undefined);
  }

  /** What was told of the shard may have been lost. */
  tellAgain(): void {
    this.#options.outcomes.changed({ kind: 'shard', tenant: 0, id: String(this.shard) });
  }

  #makeService(epoch: number, documents: ShardDocuments, position: number): Service {
    const { shard, documents: stores, outcomes, bus, log, deliver, projector, usage, quarantine } = this.#options;
    const routed = new RoutedDocuments(shard, documents, stores.reader, (error) => this.#failed(service, error));
    const actors = new ActorSystem({
      documents: routed,
      bus,
      log,
      append: deliver,
      onCommitFailed: () => {
        /* The documents report it, for every commit. */
      },
      onUserChanged: (tenant, { userName, keepsConnections }) =>
        outcomes.changed({ kind: 'user', tenant, id: userName, keepsConnections }),
      onObjectChanged: (id) => outcomes.changed({ kind: 'object', tenant: 0, id: String(id) }),
      onLinksEnded: () => outcomes.changed(LINKS_ENDED),
      onRecordsChanged: (tenant, changes) => outcomes.recordsChanged(tenant, changes),
      ...(usage ? { usage } : {}),
      ...(this.#options.forwarder ? { forwarder: this.#options.forwarder } : {}),
      ...(this.#options.measurements ? { measurements: this.#options.measurements } : {}),
      onSetAside: (command, error) => {
        if (service.isEnded) return;
        quarantine.add(entryOfCommand(command, error, actors.committedSeq)).catch((failure: Error) => {
          log.error(
            { shard, seq: command.seq, error: failure.message },
            'a command that was set aside could not be written into the quarantine',
          );
        });
      },
      onDecided: (group: DecidedGroup) => {
        const { firstSeq, lastSeq, records, rows } = group;
        projector.offer(shard, { firstSeq, lastSeq, records, rows, afterSeq: service.decidedSeq });
        service.decidedSeq = lastSeq;
      },
      shard: {
        shard,
        isOwn: (collection, tenant, id) => isOfShard(shard, collection, tenant, id),
        pendingOf: (other, pendingId) => stores.reader.inShard(other).get('pending', 0, pendingId),
        onTooLarge: (lastSeq, count) => this.#divide(service, lastSeq, count),
        bounds: this.#options.bounds,
        onOutcome: (gateway, seq, answer, error) => outcomes.answer(gateway, shard, seq, answer, error),
      },
    });
    actors.committedSeq = position;
    actors.toldSeq = this.#toldSeq;
    const service: Service = {
      epoch,
      documents,
      routed,
      actors,
      follower: undefined,
      givenSeq: position,
      decidedSeq: position,
      isResumed: false,
      isEnded: false,
    };
    return service;
  }

  #take(service: Service, group: ShardGroup): void | Promise<void> {
    if (service.isEnded) return undefined;
    if (group.firstSeq <= Math.max(service.givenSeq, this.#parts?.throughSeq ?? 0))
      return this.#takeParts(service, group);
    service.actors.handleGroup(group.firstSeq, group.records, undefined, group.gateway);
    service.givenSeq = Math.max(service.givenSeq, group.lastSeq);
    return service.actors.underWayCount > UNDER_WAY_MAX ? service.actors.whenBelow(UNDER_WAY_LOW) : undefined;
  }

  /** Handles the rest of a group of which a part was handled before, or a group that is too large for one commit. */
  async #takeParts(service: Service, { firstSeq, records, gateway }: ShardGroup): Promise<void> {
    let [from, fromSeq, seq] = [0, firstSeq, firstSeq - 1];
    for (let at = 0; at < records.length && !service.isEnded; ) {
      at = nextAt(records, at);
      seq += 1;
      if (seq > service.givenSeq) {
        if (seq - fromSeq + 1 < (this.#parts?.records ?? 1) && at < records.length) continue;
        service.actors.handleGroup(fromSeq, records.subarray(from, at), undefined, gateway);
        service.givenSeq = seq;
        // One commit at a time: each may be large.
        await service.actors.whenBelow(0);
      }
      [from, fromSeq] = [at, seq + 1];
    }
  }

  /**
   * Nothing of the group was written: it is handled again, in parts. @param count of its commands that are not too
   * many.
   */
  #divide(service: Service, lastSeq: number, count: number): void {
    if (service.isEnded) return;
    const { shard, log } = this.#options;
    const isAgain = this.#parts !== undefined && lastSeq <= this.#parts.throughSeq;
    const records = Math.max(1, Math.floor(Math.min(count, isAgain ? this.#parts!.records : count) / 2));
    this.#parts = { throughSeq: Math.max(lastSeq, this.#parts?.throughSeq ?? 0), records };
    log.warn(
      { shard, lastSeq, records },
      'a group of the journal changes more at once than a commit takes; it is handled in parts',
    );
    // Its measurements were told.
    this.#toldSeq = Math.max(this.#toldSeq, lastSeq);
    this.#restart(service.epoch, 0);
  }

  /**
   * A planned hand-over: resolves when everything that was followed is committed, and nothing more will be.
   * @param by when follow-ups and projector have had their time (`performance.now()`), where that is sooner.
   */
  async release(by = Number.POSITIVE_INFINITY): Promise<void> {
    const service = this.#service;
    if (!service) return;
    const leftMs = (): number => Math.max(0, Math.min(RELEASE_MS, by - performance.now()));
    // While commands still go on: what waits for the history is little then. Follow-ups have the other half.
    await this.#options.projector.bringIn(this.shard, leftMs() / 2);
    await service.follower?.stop();
    await service.actors.whenBelow(0);
    await this.#waitForFollowUps(service, leftMs());
    service.actors.savePassed();
    // Each caller behind `whenBelow` has told its outcomes, and a commit takes longer than a turn.
    const told = { collection: 'meta', tenant: 0, id: TOLD_KEY, value: String(service.epoch) } as const;
    if (!service.isEnded)
      await service.documents.commit([told], service.givenSeq).catch((error: Error) => this.#failed(service, error));
    await this.#options.projector.release(this.shard, Math.min(LAST_ROWS_MS, leftMs()));
    this.lose();
  }

  async #waitForFollowUps({ actors }: Service, timeoutMs: number): Promise<void> {
    for (const deadline = performance.now() + timeoutMs; actors.pendingCount > 0 && performance.now() < deadline; ) {
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
  }

  /** The lease is gone: everything ends at once, nothing more is written or answered. */
  lose(): void {
    this.#generation += 1;
    // The store may be away for long.
    this.#opening?.stop();
    this.#opening = undefined;
    const service = this.#service;
    if (!service) return;
    this.#service = undefined;
    service.isEnded = true;
    this.#toldSeq = Math.max(this.#toldSeq, service.givenSeq);
    this.#commandsBefore += service.actors.commandsCount;
    this.#setAsideBefore += service.actors.setAsideCount;
    service.actors.stop();
    service.documents.stop();
    void service.follower?.stop();
    this.#options.projector.lose(this.shard);
  }

  /** Saves how far groups without commands have come: a take-over handles, counts and tells nothing of them again. */
  savePassed(): void {
    this.#service?.actors.savePassed();
  }

  /** Forgets markers of follow-ups that their senders have forgotten. */
  async sweep(): Promise<number> {
    const service = this.#service;
    if (!service) return 0;
    const { actors, documents } = service;
    return sweepMarkers({
      documents,
      reader: this.#options.documents.reader,
      handled: async () => {
        const { givenSeq } = service;
        while (!service.isEnded && actors.underWayCount > 0 && actors.committedSeq < givenSeq)
          await actors.whenBelow(actors.underWayCount - 1);
        return !service.isEnded;
      },
    });
  }

  #failed(service: Service, error: Error): void {
    if (service.isEnded || this.#service !== service) return;
    const { shard, log } = this.#options;
    if (error instanceof StateLost) this.#hasLostState = true;
    if (error instanceof Fenced) {
      log.warn({ shard, epoch: service.epoch }, 'the shard has another owner');
      this.lose();
    } else {
      log.error({ err: error, shard }, 'a shard could not go on; it is loaded anew');
      this.#restart(service.epoch, error instanceof StateLost ? 0 : RESTART_MS);
    }
  }

  /** Loads the shard anew under the same epoch, for as long as it is ours. */
  #restart(epoch: number, delayMs: number): void {
    this.lose();
    const generation = this.#generation;
    setTimeout(() => {
      if (generation !== this.#generation) return;
      this.acquire(epoch).catch((error: Error) => {
        // `acquire` has begun a generation of its own: with any other the shard was lost meanwhile.
        if (error instanceof Fenced || generation + 1 !== this.#generation) return;
        this.#options.log.error({ err: error, shard: this.shard }, 'a shard could not be loaded anew; trying again');
        this.#restart(epoch, RESTART_MS);
      });
    }, delayMs).unref();
  }
}
