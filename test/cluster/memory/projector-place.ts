/** A place of the projector's contract: two nodes, of which one is killed and another one comes. */
import type { Test } from 'tap';
import type { HistoryQuery } from '../../../src/ports/history-reader.ts';
import type { Collection } from '../../../src/model/commands/collections.ts';
import type { QuarantineEntry } from '../../../src/ports/stores/quarantine.ts';
import { OUTBOX_PREFIX } from '../../../src/actors/runtime/outbox.ts';
import { GROUP_RECORDS_MAX } from '../../../src/ports/cluster/journal.ts';
import { shardOf } from '../../../src/ingest/journal/command-record.ts';
import { TENANT } from '../../actors/platform.ts';
import type { Sent } from '../../actors/platform.ts';
import { appendTo, errorsOf } from '../../ingest/projector-contract.ts';
import type { PlaceOptions, ProjectorPlace } from '../../ingest/projector-contract.ts';
import { TestCluster } from './nodes.ts';
import type { TestNode } from './nodes.ts';

export class TwoNodes implements ProjectorPlace {
  readonly log = errorsOf();
  readonly knowsSetAside = false;
  readonly cluster: TestCluster;
  #first: TestNode | undefined;
  #lastSource = 0;
  #appends = 0;

  constructor(t: Test) {
    this.cluster = new TestCluster(t, { log: this.log });
  }

  async restart(options: PlaceOptions): Promise<void> {
    Object.assign(this.cluster, options);
    this.#first ??= await this.cluster.join();
    this.#first = await this.cluster.join();
  }

  get history() {
    return this.cluster.history;
  }
  set onStep(onStep: () => void) {
    this.cluster.store.onStep = onStep;
  }
  get onStep(): () => void {
    return this.cluster.store.onStep;
  }
  get #here(): TestNode {
    return this.#first as TestNode;
  }
  get isKilled(): boolean {
    return this.#here.documents.isGone;
  }
  kill(): void {
    if (!this.isKilled) this.#here.kill();
  }
  async stop(): Promise<void> {
    const { nodes } = this.cluster;
    nodes.splice(nodes.indexOf(this.#here), 1);
    await this.#here.node.stop();
  }

  sources(count: number): number[] {
    const found = new Map<number, number>();
    while (found.size < count) {
      this.#lastSource += 1;
      const shard = shardOf(TENANT, this.#lastSource);
      if (this.cluster.ownerOf(this.#lastSource) === this.#here && !found.has(shard))
        found.set(shard, this.#lastSource);
    }
    return [...found.values()];
  }
  /** Each time through the next node. */
  append(...records: readonly Buffer[]): Promise<void> {
    const { nodes } = this.cluster;
    this.#appends += 1;
    return appendTo(nodes[this.#appends % nodes.length].node.intake, records);
  }
  request(sent: Sent): Promise<unknown> {
    return this.cluster.nodes[0].request(sent);
  }
  visible(timeoutMs = 20_000, query?: HistoryQuery): Promise<void> {
    return this.#here.node.visible(timeoutMs, query);
  }
  settled(): Promise<void> {
    return this.cluster.settled();
  }

  projectorOf(source: number) {
    return this.cluster.ownerOf(source).node.projector;
  }
  positionOf(source: number): number {
    return this.cluster.ownerOf(source)?.node.projector.position(shardOf(TENANT, source)) ?? 0;
  }
  async isSettled(): Promise<boolean> {
    const { nodes, shared, store } = this.cluster;
    const isPassed = (shard: number, lastSeq: number): boolean =>
      nodes.some(({ node }) => (node.projector.position(shard) ?? 0) >= lastSeq);
    if (!shared.stored.every(({ shard, seq, count }) => isPassed(shard, seq * GROUP_RECORDS_MAX + count - 1)))
      return false;
    // A block that no shard names is removed when that has been so for a while.
    for (const { node } of nodes) if (store.blocks.size > 0) await node.trimBounds(performance.now(), 0);
    return store.blocks.size === 0;
  }
  async trimmed(): Promise<{ firstSeq: number; records: Buffer }[]> {
    for (const { node } of this.cluster.nodes) {
      for (const owner of node.owners) if (owner.isInService) owner.savePassed();
      await node.trim();
    }
    return this.cluster.shared.stored.map(({ seq, records }) => ({ firstSeq: seq * GROUP_RECORDS_MAX, records }));
  }

  documentIds(collection: Collection): string[] {
    const prefix = `${collection}/${TENANT}/`;
    return Object.keys(this.cluster.store.snapshot())
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));
  }
  get outboxCount(): number {
    const keys = this.cluster.store.shards.flatMap(({ values }) => [...values.keys()]);
    return keys.filter((key) => key.startsWith(`meta/0/${OUTBOX_PREFIX}`)).length;
  }
  get told() {
    return this.cluster.all.flatMap(({ notifications }) => notifications);
  }
  /** Each once: several nodes may have it. */
  get setAside(): readonly QuarantineEntry[] {
    const entries = this.cluster.all.flatMap(({ quarantine }) => quarantine.entries);
    return [...new Map(entries.map((entry) => [`${entry.kind} ${entry.seq} ${entry.id}`, entry])).values()];
  }
  fill(isFull: boolean): void {
    this.#here.quarantine.isFull = isFull;
  }
}
