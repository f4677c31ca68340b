/**
 * Shard ownership on JetStream: a bucket with an entry per shard, taken by compare-and-set, and a bucket with a
 * heartbeat per node. Clocks of nodes are never compared: an owner gives up by its own monotonic clock, counted from
 * when it sent the last heartbeat that was stored; others take over by theirs, counted from when they saw that
 * heartbeat, which is later. See docs/internals/nats.md.
 */
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { assignShards } from '../../cluster/shards/assignment.ts';
import { Fitness } from '../../cluster/shards/fitness.ts';
import type { Lack, Member, ShardLeases, ShardLeasesEvents } from '../../ports/cluster/leases.ts';
import { SHARD_COUNT } from '../../ingest/journal/command-record.ts';
import type { Log } from '../../ports/log.ts';
import { within } from '../../pacing/within.ts';
import { API_ERROR, codeOf } from './api-errors.ts';
import { sleep } from './connection.ts';
import type { NatsConnection } from './connection.ts';
import { FOLLOW_BYTES_MIN, NatsFollower } from './follower.ts';
import type { FollowedMessage } from './follower.ts';
import { checkNodeId } from './node-messages.ts';

export interface NatsLeasesOptions {
  readonly connection: NatsConnection;
  readonly prefix: string;
  readonly nodeId: string;
  readonly roles: Member['roles'];
  readonly replicas: number;
  readonly log: Log;
  /** An owner whose heartbeat is older is replaced. */
  readonly leaseMs?: number;
  /** A take-over that has not ended by then has failed: another node may take the shard, or this one anew. */
  readonly acquireMs?: number;
  /** Monotonic, ms. */
  readonly now?: () => number;
}

const LEASE_MS_DEFAULT = 3_000;
/**
 * Parts of the lease time: between heartbeats, between looks at the clock, and by how much an owner gives up before
 * others may take.
 */
const HEARTBEATS_PER_LEASE = 3;
const TICKS_PER_LEASE = 20;
const MARGIN_PER_LEASE = 0.2;
/** What members lack counts when it has stayed the same for this many lease times. */
const SETTLE_LEASES = 1.5;
/** Everything is read again so often: an update that was missed is seen. */
const READ_AGAIN_MS = 10_000;
/** Shards that are handed over at a time. */
const RELEASES_MAX = 4;
/** After a shard could not be taken into service: before it is tried here again. */
const RETRY_ACQUIRE_MS = 1_000;
const ACQUIRE_MS_DEFAULT = 60_000;
/** Entries of nodes that died are removed after this many lease times. */
const FORGET_LEASES = 20;

interface Entry {
  readonly node: string | null;
  readonly next?: string | undefined;
  readonly revision: number;
}
interface Peer {
  readonly member: Member;
  readonly revision: number;
  readonly seenAt: number;
}
interface Heartbeat {
  readonly roles: Member['roles'];
  readonly isLeaving: boolean;
  readonly isGone: boolean;
  readonly lacks?: Lack | undefined;
}

export class NatsLeases implements ShardLeases {
  readonly #options: NatsLeasesOptions;
  readonly #leaseMs: number;
  readonly #now: () => number;
  readonly #owned = new Map<number, number>();
  readonly #entries = new Map<number, Entry>();
  readonly #peers = new Map<string, Peer>();
  /** Nodes named by an entry that have no heartbeat: since when that was seen. */
  readonly #unknownSince = new Map<string, number>();
  /** Shards that are being taken or released. */
  readonly #busy = new Set<number>();
  readonly #notBefore = new Map<number, number>();
  readonly #checks = new Map<string, Promise<boolean>>();
  #releases = 0;
  readonly #fitness: Fitness;
  #lacks: Lack | undefined;
  #events: ShardLeasesEvents | undefined;
  #isLeaving = false;
  #isGone = false;
  /** When the newest stored heartbeat was sent. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** Snapshots that have not come since the connection is there. */
  #snapshotsMissing = 2;
  #memberNames = '';
  #followers: NatsFollower[] = [];
  #endings: (() => void)[] = [];

  private constructor(options: NatsLeasesOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? LEASE_MS_DEFAULT;
    this.#fitness = new Fitness(this.#leaseMs * SETTLE_LEASES);
    this.#now = options.now ?? (() => performance.now());
  }

  /** Makes the buckets when there are none. */
  static async open(options: NatsLeasesOptions): Promise<NatsLeases> {
    checkNodeId(options.nodeId);
    for (const bucket of ['leases', 'nodes']) {
      await options.connection.ensureStream({
        name: `KV_${options.prefix}_${bucket}`,
        subjects: [`$KV.${options.prefix}_${bucket}.>`],
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        discard: DiscardPolicy.New,
        num_replicas: options.replicas,
        max_msgs_per_subject: 1,
        allow_rollup_hdrs: true,
        allow_direct: true,
        deny_delete: true,
      });
    }
    return new NatsLeases(options);
  }

  get owned(): ReadonlyMap<number, number> {
    return this.#owned;
  }

  get members(): readonly Member[] {
    const { nodeId, roles } = this.#options;
    const others = [...this.#peers.values()]
      .map(({ member }) => member)
      .filter((member) => member.nodeId !== nodeId && this.#isAlive(member.nodeId));
    return this.#events ? [{ nodeId, roles, isLeaving: this.#isLeaving, lacks: this.#lacks }, ...others] : others;
  }

  lack(what: Lack | undefined): void {
    if (what === this.#lacks) return;
    this.#lacks = what;
    if (!this.#events) return;
    this.#beat();
    this.#evaluate();
  }

  ownerOf(shard: number): string | undefined {
    const node = this.#entries.get(shard)?.node ?? undefined;
    if (node === this.#options.nodeId) return this.#owned.has(shard) ? node : undefined;
    return node !== undefined && this.#isAlive(node) ? node : undefined;
  }

  async join(events: ShardLeasesEvents): Promise<void> {
    this.#events = events;
    const { connection, nodeId, prefix } = this.#options;
    this.#beat();
    const follow = (bucket: string, take: (key: string, message: FollowedMessage) => void): void => {
      const start = `$KV.${prefix}_${bucket}.`;
      let isMissing = true;
      this.#endings.push(
        connection.onReconnected(() => {
          if (!isMissing) this.#snapshotsMissing += 1;
          isMissing = true;
        }),
      );
      this.#followers.push(
        new NatsFollower(connection, {
          stream: `KV_${prefix}_${bucket}`,
          filter: `${start}>`,
          after: 'last-per-subject',
          batch: 64,
          batchBytes: FOLLOW_BYTES_MIN,
          name: `${nodeId}-${bucket}`,
          onMessage: (message) => take(message.subject.slice(start.length), message),
          onError: (error) =>
            this.#options.log.error({ err: error, bucket }, 'a bucket of the leases is not followed any more'),
          onSnapshot: () => {
            if (!isMissing) return;
            isMissing = false;
            this.#snapshotsMissing -= 1;
            if (this.#snapshotsMissing === 0) this.#begin();
          },
        }),
      );
    };
    follow('nodes', (key, message) => this.#takeHeartbeat(key, message));
    follow('leases', (key, message) => this.#takeEntry(Number(key), message));
    this.#every(this.#leaseMs / HEARTBEATS_PER_LEASE, () => this.#beat());
    this.#every(this.#leaseMs / TICKS_PER_LEASE, () => this.#tick());
    this.#every(READ_AGAIN_MS, () => {
      for (const follower of this.#followers) follower.again();
    });
    while (this.#events === events && (this.#snapshotsMissing > 0 || !this.#isRenewed)) await sleep(10);
    this.#evaluate();
  }

  async leave(): Promise<void> {
    if (!this.#events) return;
    this.#isLeaving = true;
    this.#beat();
    this.#evaluate();
    while (this.#owned.size > 0 || this.#busy.size > 0) {
      await sleep(10);
      this.#evaluate();
    }
    this.#isGone = true;
    // The entry is not needed any more; when it cannot be removed now, other nodes do it later.
    await this.#publishHeartbeat().catch(() => undefined);
    await this.#forget(this.#options.nodeId);
    await this.abandon();
  }

  /** Stops at once without handing over, as a process that ends: others take the shards when the lease time is over. */
  async abandon(): Promise<void> {
    this.#events = undefined;
    for (const end of this.#endings) end();
    this.#endings = [];
    this.#owned.clear();
    await Promise.all(this.#followers.map((follower) => follower.stop()));
    this.#followers = [];
  }

  #every(ms: number, action: () => void): void {
    const timer = setInterval(action, ms);
    this.#endings.push(() => clearInterval(timer));
  }

  /**
   * All that is there has been read, for the first time or after the connection was lost: nodes are given a whole lease
   * time to show up.
   */
  #begin(): void {
    const now = this.#now();
    for (const [node, peer] of this.#peers) this.#peers.set(node, { ...peer, seenAt: now });
    this.#unknownSince.clear();
    this.#evaluate();
  }

  // Heartbeats

  get #isRenewed(): boolean {
    return this.#now() - this.#renewedAt <= this.#leaseMs * (1 - MARGIN_PER_LEASE);
  }

  #publishHeartbeat(): Promise<unknown> {
    const { connection, prefix, nodeId, roles } = this.#options;
    const heartbeat: Heartbeat = { roles, isLeaving: this.#isLeaving, isGone: this.#isGone, lacks: this.#lacks };
    return connection.jetstream.publish(`$KV.${prefix}_nodes.${nodeId}`, JSON.stringify(heartbeat), {
      timeout: Math.max(200, this.#leaseMs),
    });
  }

  #beat(): void {
    if (this.#isGone) return;
    const sentAt = this.#now();
    this.#publishHeartbeat().then(
      () => {
        if (!this.#events || sentAt <= this.#renewedAt) return;
        // A late success does not mend what others may have taken to be over.
        if (!this.#isRenewed) this.#loseAll();
        this.#renewedAt = sentAt;
        this.#evaluate();
      },
      (error: unknown) => {
        this.#options.log.debug({ err: error }, 'a heartbeat was not stored');
      },
    );
  }

  #takeHeartbeat(nodeId: string, { seq, data }: { seq: number; data: Uint8Array }): void {
    const known = this.#peers.get(nodeId);
    if (known && known.revision >= seq) return;
    const heartbeat = parse<Heartbeat>(data);
    if (!heartbeat) return;
    this.#unknownSince.delete(nodeId);
    if (heartbeat.isGone) this.#peers.delete(nodeId);
    else {
      const { roles, isLeaving, lacks } = heartbeat;
      this.#peers.set(nodeId, { member: { nodeId, roles, isLeaving, lacks }, revision: seq, seenAt: this.#now() });
    }
    this.#tellMembers();
  }

  #isAlive(nodeId: string): boolean {
    if (nodeId === this.#options.nodeId) return true;
    const peer = this.#peers.get(nodeId);
    if (peer) return this.#now() - peer.seenAt <= this.#leaseMs;
    const since = this.#unknownSince.get(nodeId);
    if (since === undefined) this.#unknownSince.set(nodeId, this.#now());
    return since === undefined || this.#now() - since <= this.#leaseMs;
  }

  /** Asks the leader: what this node has not heard may be its own fault. */
  #isSurelyDead(nodeId: string): Promise<boolean> {
    let check = this.#checks.get(nodeId);
    if (!check) {
      check = this.#askHeartbeat(nodeId).finally(() => {
        this.#checks.delete(nodeId);
      });
      this.#checks.set(nodeId, check);
    }
    return check;
  }

  async #askHeartbeat(nodeId: string): Promise<boolean> {
    const { connection, prefix } = this.#options;
    try {
      const message = await connection.manager.streams.getMessage(`KV_${prefix}_nodes`, {
        last_by_subj: `$KV.${prefix}_nodes.${nodeId}`,
      });
      if (message) this.#takeHeartbeat(nodeId, message);
      return !this.#isAlive(nodeId);
    } catch (error) {
      return codeOf(error) === API_ERROR.NO_MESSAGE && !this.#isAlive(nodeId);
    }
  }

  async #forget(nodeId: string): Promise<void> {
    const { connection, prefix } = this.#options;
    this.#peers.delete(nodeId);
    await connection.manager.streams
      .purge(`KV_${prefix}_nodes`, { filter: `$KV.${prefix}_nodes.${nodeId}` })
      // The next node that sees the entry tries again.
      .catch(() => undefined);
  }

  // Entries

  #takeEntry(shard: number, { seq, data }: { seq: number; data: Uint8Array }): void {
    const known = this.#entries.get(shard);
    if (!(shard >= 0 && shard < SHARD_COUNT) || (known && known.revision >= seq)) return;
    const { node = null, next } = parse<Entry>(data) ?? {};
    this.#entries.set(shard, { node, next, revision: seq });
    const epoch = this.#owned.get(shard);
    if (epoch !== undefined && (epoch < seq || node !== this.#options.nodeId)) this.#lose(shard);
    this.#events?.onChanged();
    this.#evaluate();
  }

  /** Compare-and-set. @returns the new revision, undefined when another node was first or the result is unknown. */
  async #write(
    shard: number,
    entry: { node: string | null; next?: string | undefined },
    revision: number,
  ): Promise<number | undefined> {
    const { connection, prefix, log } = this.#options;
    try {
      const { seq } = await connection.jetstream.publish(`$KV.${prefix}_leases.${shard}`, JSON.stringify(entry), {
        expect: { lastSubjectSequence: revision },
      });
      if (seq > (this.#entries.get(shard)?.revision ?? 0)) this.#entries.set(shard, { ...entry, revision: seq });
      return seq;
    } catch (error) {
      log.debug({ err: error, shard }, 'the lease of a shard was not written');
      if (codeOf(error) === API_ERROR.WRONG_LAST_SEQUENCE) await this.#readEntry(shard);
      return undefined;
    }
  }

  /** Takes what the leader has, also where that is older: the bucket may have lost what this node has seen of it. */
  async #readEntry(shard: number): Promise<void> {
    const { connection, prefix, log } = this.#options;
    const known = this.#entries.get(shard)?.revision ?? 0;
    let stored: { readonly seq: number; readonly data: Uint8Array } | null;
    try {
      stored = await connection.manager.streams.getMessage(`KV_${prefix}_leases`, {
        last_by_subj: `$KV.${prefix}_leases.${shard}`,
      });
    } catch (error) {
      // No leader answers: the next write that is refused asks again.
      if (codeOf(error) !== API_ERROR.NO_MESSAGE) return;
      stored = null;
    }
    // Meanwhile seen or written.
    if ((this.#entries.get(shard)?.revision ?? 0) !== known) return;
    if ((stored?.seq ?? 0) < known) {
      log.warn({ shard, seen: known, stored: stored?.seq ?? 0 }, 'the lease of a shard is older than it was');
      this.#entries.delete(shard);
    }
    if (stored !== null) this.#takeEntry(shard, stored);
  }

  #tick(): void {
    if (!this.#isRenewed) this.#loseAll();
    const now = this.#now();
    for (const [nodeId, { seenAt }] of this.#peers) {
      if (nodeId !== this.#options.nodeId && now - seenAt > this.#leaseMs * FORGET_LEASES) void this.#forget(nodeId);
    }
    this.#tellMembers();
    this.#evaluate();
  }

  #tellMembers(): void {
    const names = this.members
      .map(({ nodeId, isLeaving }) => `${nodeId}${isLeaving ? '-' : '+'}`)
      .sort()
      .join();
    if (names === this.#memberNames) return;
    this.#memberNames = names;
    this.#events?.onChanged();
    this.#evaluate();
  }

  /** Compares what should be with what is, and begins what is missing. */
  #evaluate(): void {
    if (!this.#events || this.#snapshotsMissing > 0 || !this.#isRenewed) return;
    const { nodeId } = this.#options;
    const candidates = this.members.filter(({ roles, isLeaving }) => roles.includes('shard') && !isLeaving);
    const takers = this.#fitness.fittest(candidates, this.#now()).map((member) => member.nodeId);
    const keeperOf = (shard: number): string | undefined => {
      const owner = this.#entries.get(shard)?.node ?? this.#entries.get(shard)?.next;
      return owner !== undefined && this.#isAlive(owner) ? owner : undefined;
    };
    const desired = assignShards(takers, SHARD_COUNT, keeperOf);
    if (this.#fitness.isHeld)
      desired.forEach((_, shard) => {
        if (takers.includes(keeperOf(shard)!)) desired[shard] = keeperOf(shard)!;
      });
    for (let shard = 0; shard < SHARD_COUNT; shard += 1) {
      const entry = this.#entries.get(shard);
      const isMine = (desired[shard] as string | undefined) === nodeId;
      if (!isMine && this.#lacks === 'documents' && this.#owned.has(shard)) {
        void this.#giveUp(shard, desired[shard]);
        continue;
      }
      if (this.#busy.has(shard)) continue;
      if (this.#owned.has(shard)) {
        if (!isMine && this.#releases < RELEASES_MAX) void this.#release(shard, desired[shard]);
      } else if (isMine) {
        const isFree = entry?.node == null || entry.node === nodeId || !this.#isAlive(entry.node);
        if (isFree && this.#now() >= (this.#notBefore.get(shard) ?? 0)) void this.#take(shard, entry);
      } else if (entry?.node === nodeId) {
        void this.#free(shard, desired[shard], entry.revision);
      }
    }
  }

  async #take(shard: number, entry: Entry | undefined): Promise<void> {
    const { nodeId, log } = this.#options;
    this.#busy.add(shard);
    try {
      if (entry?.node != null && entry.node !== nodeId && !(await this.#isSurelyDead(entry.node))) return;
      const epoch = await this.#write(shard, { node: nodeId }, entry?.revision ?? 0);
      // Too late or not wanted any more: the entry is given up by the next look at it.
      if (
        epoch === undefined ||
        !this.#events ||
        !this.#isRenewed ||
        this.#isLeaving ||
        this.#entries.get(shard)?.revision !== epoch
      )
        return;
      this.#owned.set(shard, epoch);
      this.#events.onChanged();
      try {
        const ms = this.#options.acquireMs ?? ACQUIRE_MS_DEFAULT;
        await within(this.#events.onAcquired(shard, epoch), ms, `not in service within ${ms} ms`);
      } catch (error) {
        // Given up or lost meanwhile.
        if (this.#owned.get(shard) !== epoch) return;
        log.error({ err: error, shard, epoch }, 'a shard could not be taken into service');
        this.#notBefore.set(shard, this.#now() + RETRY_ACQUIRE_MS);
        this.#lose(shard);
        await this.#write(shard, { node: null }, epoch);
      }
    } finally {
      this.#busy.delete(shard);
    }
    this.#evaluate();
  }

  async #release(shard: number, next: string | undefined): Promise<void> {
    this.#busy.add(shard);
    this.#releases += 1;
    try {
      const epoch = this.#owned.get(shard)!;
      await this.#events!.onRelease(shard).catch((error: unknown) => {
        this.#options.log.error({ err: error, shard }, 'a shard was not handed over as planned');
        if (this.#owned.get(shard) === epoch) this.#events?.onLost(shard);
      });
      // Lost meanwhile: there is nothing to release.
      if (this.#owned.get(shard) !== epoch) return;
      this.#owned.delete(shard);
      await this.#write(shard, { node: null, next }, epoch);
    } finally {
      this.#busy.delete(shard);
      this.#releases -= 1;
    }
    this.#events?.onChanged();
    this.#evaluate();
  }

  /** Without documents nothing can be finished, nor taken into service: whatever runs for the shard ends at once. */
  async #giveUp(shard: number, next: string | undefined): Promise<void> {
    const epoch = this.#owned.get(shard)!;
    this.#lose(shard);
    this.#options.log.debug({ shard, epoch, next }, 'a shard is given up: this node does not reach the documents');
    // A task that is busy with the shard ends by itself, and finds that it is lost.
    const isBusy = this.#busy.has(shard);
    if (!isBusy) this.#busy.add(shard);
    await this.#write(shard, { node: null, next }, epoch);
    if (!isBusy) this.#busy.delete(shard);
    this.#events?.onChanged();
    this.#evaluate();
  }

  /**
   * An entry that names this node, which does not own the shard: of a write whose answer was lost, or after giving up.
   */
  async #free(shard: number, next: string | undefined, revision: number): Promise<void> {
    this.#busy.add(shard);
    await this.#write(shard, { node: null, next }, revision);
    this.#busy.delete(shard);
  }

  #lose(shard: number): void {
    if (this.#owned.delete(shard)) this.#events?.onLost(shard);
  }

  #loseAll(): void {
    if (this.#owned.size === 0) return;
    this.#options.log.warn({ shards: this.#owned.size }, 'the leases could not be renewed in time and are given up');
    for (const shard of [...this.#owned.keys()]) this.#lose(shard);
    this.#events?.onChanged();
  }
}

function parse<Value>(data: Uint8Array): Value | undefined {
  try {
    return JSON.parse(Buffer.from(data).toString()) as Value;
  } catch {
    // Written by another program: as if it were not there.
    return undefined;
  }
}
