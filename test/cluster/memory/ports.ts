/**
 * The cluster's ports in one process and without NATS: what several nodes of a test share. Keeps the promises of the
 * ports (see test/cluster/contracts/shard-journal.ts) and can be made to fail: a node cut off or killed, an
 * acknowledgement lost, the journal full.
 */
import { randomBytes } from 'node:crypto';
import { assignShards } from '../../../src/cluster/shards/assignment.ts';
import { Fitness } from '../../../src/cluster/shards/fitness.ts';
import { NodeUnreachable } from '../../../src/ports/cluster/node-messages.ts';
import type { NodeMessages } from '../../../src/ports/cluster/node-messages.ts';
import { GROUP_BYTES_MAX } from '../../../src/model/commands/group-bounds.ts';
import { GROUP_RECORDS_MAX, JournalUnavailable } from '../../../src/ports/cluster/journal.ts';
import type { ShardFollower, ShardGroup, ShardJournal } from '../../../src/ports/cluster/journal.ts';
import type { Lack, Member, ShardLeases, ShardLeasesEvents } from '../../../src/ports/cluster/leases.ts';
import { SHARD_COUNT } from '../../../src/ingest/journal/command-record.ts';

type Roles = Member['roles'];
interface Stored {
  readonly seq: number;
  readonly shard: number;
  readonly records: Buffer;
  readonly count: number;
  readonly gateway: string;
}

/** Until a shard is offered again that its node could not take into service. */
const RETRY_MS = 20;

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

export interface InMemoryNode {
  readonly nodeId: string;
  readonly journal: ShardJournal;
  readonly leases: ShardLeases;
  readonly messages: NodeMessages;
}

/** What the nodes of a test share. */
export class InMemoryCluster {
  /**
   * All groups of all shards, oldest first; the stream's sequence is over all of them, so a shard's sequences have
   * gaps.
   */
  stored: Stored[] = [];
  readonly journalMaxBytes: number;
  readonly nodes = new Map<string, Node>();
  readonly #seqOfGroup = new Map<string, number>();
  #lastSeq = 0;
  #bytes = 0;
  #epoch = 0;
  /** Followers that wait, by shard. */
  readonly #wakers = new Map<number, (() => void)[]>();
  /** Per shard: who has the lease. */
  readonly owners = new Map<number, { node: Node; epoch: number }>();
  #isBalancing = false;
  #isUneven = false;
  #idle: (() => void)[] = [];

  constructor(options: { journalMaxBytes?: number } = {}) {
    this.journalMaxBytes = options.journalMaxBytes ?? Number.POSITIVE_INFINITY;
  }

  /** A new node; `name` gets a random end as a process start would give it. It owns nothing before `leases.join`. */
  node(
    name = 'node',
    roles: Roles = ['gateway', 'shard'],
    nodeId = `${name}-${randomBytes(3).toString('hex')}`,
  ): InMemoryNode {
    const node = new Node(this, nodeId, roles);
    this.nodes.set(node.nodeId, node);
    return node;
  }

  /** As kill -9: nothing runs on it any more and nobody is told; its shards go to the others at once. */
  kill(nodeId: string): void {
    const node = this.nodes.get(nodeId);
    if (!node) return;
    node.isKilled = true;
    this.nodes.delete(nodeId);
    this.#forget(node);
  }

  /** The network between the node and NATS is cut: it loses its shards (`onLost`), the others take them. */
  cut(nodeId: string): void {
    const node = this.nodes.get(nodeId);
    if (!node) return;
    node.isCut = true;
    for (const shard of [...node.leases.owned.keys()]) node.leases.lose(shard);
    this.#forget(node);
  }

  /** The network is back: the node takes part again. */
  mend(nodeId: string): void {
    const node = this.nodes.get(nodeId);
    if (!node?.isCut) return;
    node.isCut = false;
    for (const handler of node.messages.reconnected) handler();
    this.wake();
    this.rebalance();
  }

  /** Resolves when every shard is where it should be and nothing is on the way. */
  async settled(): Promise<void> {
    if (this.#isBalancing)
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve);
      });
  }

  get sizeBytes(): number {
    return this.#bytes;
  }

  /** @returns the group's stream sequence, the earlier one for a known id. */
  store(shard: number, groupId: string, records: Buffer, count: number, gateway: string): number {
    const known = this.#seqOfGroup.get(groupId);
    if (known !== undefined) return known;
    if (this.sizeBytes + records.length > this.journalMaxBytes) throw new JournalUnavailable('journal/bytes');
    const seq = (this.#lastSeq += 1);
    this.#seqOfGroup.set(groupId, seq);
    this.stored.push({ seq, shard, records: Buffer.from(records), count, gateway });
    this.#bytes += records.length;
    this.wakeShard(shard);
    return seq;
  }

  trim(shard: number, seq: number): void {
    const newest = this.stored.findLast((group) => group.shard === shard)?.seq ?? 0;
    const holder = Math.min(newest, Math.floor(seq / GROUP_RECORDS_MAX));
    this.stored = this.stored.filter((group) => group.shard !== shard || group.seq >= holder);
    this.#bytes = this.stored.reduce((bytes, { records }) => bytes + records.length, 0);
  }

  /** Resolves when the shard may have more, or something else has changed; its followers look again. */
  changed(shard: number): Promise<void> {
    return new Promise((resolve) => {
      const wakers = this.#wakers.get(shard);
      if (wakers === undefined) this.#wakers.set(shard, [resolve]);
      else wakers.push(resolve);
    });
  }

  wake(): void {
    for (const shard of [...this.#wakers.keys()]) this.wakeShard(shard);
  }

  wakeShard(shard: number): void {
    const wakers = this.#wakers.get(shard) ?? [];
    this.#wakers.delete(shard);
    for (const waker of wakers) waker();
  }

  rebalance(): void {
    this.#isUneven = true;
    if (this.#isBalancing) return;
    this.#isBalancing = true;
    void this.#balance().finally(() => {
      this.#isBalancing = false;
      const idle = this.#idle;
      this.#idle = [];
      for (const resolve of idle) resolve();
    });
  }

  /** Per shard: the node that should own it. */
  #desired(): readonly (string | undefined)[] {
    const candidates = [...this.nodes.values()].filter(
      (node) => node.isMember && node.member.roles.includes('shard') && !node.member.isLeaving,
    );
    const fitness = new Fitness(0);
    const takers = fitness
      .fittest(
        candidates.map(({ member }) => member),
        0,
      )
      .map(({ nodeId }) => nodeId);
    const ownerOf = (shard: number): string | undefined => this.owners.get(shard)?.node.nodeId;
    const desired: (string | undefined)[] = assignShards(takers, SHARD_COUNT, ownerOf);
    return fitness.isHeld
      ? desired.map((to, shard) => takers.find((taker) => taker === ownerOf(shard)) ?? to)
      : desired;
  }

  /** One shard after the other, as long as something is not where it should be. */
  async #balance(): Promise<void> {
    while (this.#isUneven) {
      this.#isUneven = false;
      this.#tellChanged();
      for (;;) {
        await turn();
        const desired = this.#desired();
        const shard = Array.from({ length: SHARD_COUNT }, (_, index) => index).find(
          (one) => this.owners.get(one)?.node.nodeId !== desired[one],
        );
        if (shard === undefined) break;
        await this.#move(shard, this.nodes.get(desired[shard] ?? ''));
      }
      this.#tellChanged();
    }
  }

  async #move(shard: number, to: Node | undefined): Promise<void> {
    const from = this.owners.get(shard)?.node;
    if (from) {
      await from.leases.release(shard);
      if (this.owners.get(shard)?.node === from) this.owners.delete(shard);
    }
    if (!to?.isMember || this.owners.has(shard)) return;
    this.#epoch += 1;
    this.owners.set(shard, { node: to, epoch: this.#epoch });
    if (await to.leases.acquire(shard, this.#epoch)) return;
    if (this.owners.get(shard)?.node === to) this.owners.delete(shard);
    await new Promise((resolve) => {
      setTimeout(resolve, RETRY_MS);
    });
  }

  #forget(node: Node): void {
    for (const [shard, owner] of this.owners) if (owner.node === node) this.owners.delete(shard);
    this.wake();
    this.rebalance();
  }

  #tellChanged(): void {
    for (const node of this.nodes.values()) if (node.isMember) node.leases.events?.onChanged();
  }
}

class Node implements InMemoryNode {
  isKilled = false;
  isCut = false;
  readonly cluster: InMemoryCluster;
  readonly nodeId: string;
  member: Member;
  readonly journal: InMemoryJournal;
  readonly leases: InMemoryLeases;
  readonly messages: InMemoryMessages;

  constructor(cluster: InMemoryCluster, nodeId: string, roles: Roles) {
    this.cluster = cluster;
    this.nodeId = nodeId;
    this.member = { nodeId, roles, isLeaving: false };
    this.journal = new InMemoryJournal(this);
    this.leases = new InMemoryLeases(this);
    this.messages = new InMemoryMessages(this);
  }

  get isReachable(): boolean {
    return !this.isKilled && !this.isCut;
  }

  get isMember(): boolean {
    return this.isReachable && this.leases.events !== undefined;
  }
}

export class InMemoryJournal implements ShardJournal {
  /** So many of the next acknowledgements get lost: the group is stored and the append is repeated. */
  acknowledgementsToLose = 0;
  readonly #node: Node;

  constructor(node: Node) {
    this.#node = node;
  }

  get sizeBytes(): number {
    return this.#node.cluster.sizeBytes;
  }

  get unavailable(): string | undefined {
    return this.#node.isReachable ? undefined : 'journal/unreachable';
  }

  async append(shard: number, groupId: string, records: Buffer, recordCount: number): Promise<number> {
    if (recordCount < 1 || recordCount > GROUP_RECORDS_MAX || records.length > GROUP_BYTES_MAX)
      throw new RangeError(`a group of ${recordCount} records, ${records.length} bytes`);
    for (;;) {
      await turn();
      if (!this.#node.isReachable) throw new JournalUnavailable('journal/unreachable');
      const seq = this.#node.cluster.store(shard, groupId, records, recordCount, this.#node.nodeId);
      await turn();
      if (this.acknowledgementsToLose === 0) return seq * GROUP_RECORDS_MAX;
      this.acknowledgementsToLose -= 1;
    }
  }

  follow(
    shard: number,
    afterSeq: number,
    onGroup: (group: ShardGroup) => void | Promise<void>,
    onError: (error: Error) => void,
  ): ShardFollower {
    const { cluster } = this.#node;
    let isStopped = false;
    const run = async (): Promise<void> => {
      let after = afterSeq;
      while (!isStopped) {
        const group = this.#node.isReachable ? this.#find(shard, after + 1) : undefined;
        if (!group) {
          await cluster.changed(shard);
          continue;
        }
        await onGroup(group);
        after = group.lastSeq;
        await turn();
      }
    };
    const ended = run().catch((error: unknown) => {
      onError(error instanceof Error ? error : new Error(String(error)));
    });
    return {
      stop: () => {
        isStopped = true;
        cluster.wakeShard(shard);
        return ended;
      },
    };
  }

  async read(shard: number, seq: number): Promise<ShardGroup | undefined> {
    await this.#reach();
    return this.#find(shard, seq);
  }

  async lastSeq(shard: number): Promise<number> {
    await this.#reach();
    const last = this.#node.cluster.stored.findLast((group) => group.shard === shard);
    return last ? last.seq * GROUP_RECORDS_MAX + last.count - 1 : 0;
  }

  async trim(shard: number, seq: number): Promise<void> {
    await this.#reach();
    this.#node.cluster.trim(shard, seq);
  }

  #find(shard: number, seq: number): ShardGroup | undefined {
    const found = this.#node.cluster.stored.find(
      (group) => group.shard === shard && group.seq * GROUP_RECORDS_MAX + group.count - 1 >= seq,
    );
    if (!found) return undefined;
    const firstSeq = found.seq * GROUP_RECORDS_MAX;
    return {
      shard,
      firstSeq,
      lastSeq: firstSeq + found.count - 1,
      records: Buffer.from(found.records),
      gateway: found.gateway,
    };
  }

  async #reach(): Promise<void> {
    await turn();
    if (!this.#node.isReachable) throw new JournalUnavailable('journal/unreachable');
  }
}

export class InMemoryLeases implements ShardLeases {
  readonly owned = new Map<number, number>();
  events: ShardLeasesEvents | undefined;
  readonly #node: Node;

  constructor(node: Node) {
    this.#node = node;
  }

  async join(events: ShardLeasesEvents): Promise<void> {
    this.events = events;
    this.#node.cluster.rebalance();
    await turn();
  }

  async leave(): Promise<void> {
    if (!this.events) return;
    const { cluster } = this.#node;
    this.#node.member = { ...this.#node.member, isLeaving: true };
    cluster.rebalance();
    while (this.owned.size > 0 && !this.#node.isKilled) await cluster.settled();
    this.events = undefined;
    cluster.rebalance();
  }

  lack(what: Lack | undefined): void {
    this.#node.member = { ...this.#node.member, lacks: what };
    this.#node.cluster.rebalance();
  }

  ownerOf(shard: number): string | undefined {
    return this.#node.cluster.owners.get(shard)?.node.nodeId;
  }

  get members(): readonly Member[] {
    return [...this.#node.cluster.nodes.values()].filter((node) => node.isMember).map(({ member }) => member);
  }

  /** For the cluster: @returns false when the node could not take the shard into service. */
  async acquire(shard: number, epoch: number): Promise<boolean> {
    this.owned.set(shard, epoch);
    try {
      await this.events?.onAcquired(shard, epoch);
      return true;
    } catch {
      this.lose(shard);
      return false;
    }
  }

  async release(shard: number): Promise<void> {
    if (this.#node.member.lacks === 'documents') return this.lose(shard);
    if (this.#node.isReachable && this.owned.has(shard)) await this.events?.onRelease(shard);
    this.owned.delete(shard);
  }

  lose(shard: number): void {
    if (this.owned.delete(shard)) this.events?.onLost(shard);
  }
}

export class InMemoryMessages implements NodeMessages {
  payloadBytesMax = 1_048_576;
  readonly reconnected: (() => void)[] = [];
  readonly answers = new Map<string, Parameters<NodeMessages['answer']>[1]>();
  readonly listeners = new Map<string, Parameters<NodeMessages['listen']>[1][]>();
  readonly #node: Node;

  constructor(node: Node) {
    this.#node = node;
  }

  get nodeId(): string {
    return this.#node.nodeId;
  }

  get isConnected(): boolean {
    return this.#node.isReachable;
  }

  async request(nodeId: string, subject: string, payload: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const asked = Uint8Array.from(payload);
    await turn();
    const to = this.#reachable(nodeId);
    const handler = to?.messages.answers.get(subject);
    if (!handler) throw new NodeUnreachable(`no node ${nodeId} answers ${subject}`);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new NodeUnreachable(`${nodeId} has not answered ${subject} within ${timeoutMs} ms`)),
        timeoutMs,
      );
    });
    try {
      const answer = await Promise.race([this.#answer(handler, asked), late]);
      // A node that was killed or cut off meanwhile can tell nobody.
      return this.#reachable(nodeId) ? Uint8Array.from(answer) : await late;
    } finally {
      clearTimeout(timer);
    }
  }

  answer(subject: string, handler: (payload: Uint8Array, from: string) => Promise<Uint8Array> | Uint8Array): void {
    this.answers.set(subject, handler);
  }

  send(nodeId: string, subject: string, payload: Uint8Array): void {
    if (payload.length > this.payloadBytesMax) throw new Error('max_payload size exceeded');
    const copy = Uint8Array.from(payload);
    setImmediate(() => this.#deliver(nodeId, subject, copy));
  }

  broadcast(subject: string, payload: Uint8Array): void {
    for (const nodeId of this.#node.cluster.nodes.keys()) this.send(nodeId, subject, payload);
  }

  listen(subject: string, handler: (payload: Uint8Array, from: string) => void): void {
    this.listeners.set(subject, [...(this.listeners.get(subject) ?? []), handler]);
  }

  onReconnected(handler: () => void): void {
    this.reconnected.push(handler);
  }

  async #answer(handler: Parameters<NodeMessages['answer']>[1], payload: Uint8Array): Promise<Uint8Array> {
    try {
      return await handler(payload, this.nodeId);
    } catch (error) {
      throw new NodeUnreachable(error instanceof Error ? error.message : String(error));
    }
  }

  #deliver(nodeId: string, subject: string, payload: Uint8Array): void {
    const to = this.#reachable(nodeId);
    for (const listener of to?.messages.listeners.get(subject) ?? []) listener(payload, this.nodeId);
  }

  /** Undefined when this node or the other is dead or cut off. */
  #reachable(nodeId: string): Node | undefined {
    const to = this.#node.cluster.nodes.get(nodeId);
    return this.#node.isReachable && to?.isReachable ? to : undefined;
  }
}
