/**
 * Nodes of a cluster in one process, over ports in memory and one fake history; each can be killed, or lose its shards
 * without knowing.
 */
import type { Test } from 'tap';
import type { ChangeBounds } from '../../../src/actors/runtime/group-size.ts';
import { ClusterNode } from '../../../src/cluster/node.ts';
import type { Change } from '../../../src/cluster/gateway/outcome-sender.ts';
import { shardOf, shardOfId } from '../../../src/ingest/journal/command-record.ts';
import { StateLost } from '../../../src/ports/cluster/documents.ts';
import type { HistoryWriter } from '../../../src/ports/stores/history-writer.ts';
import { encodeMeasurement } from '../../../src/ingest/measurements/record.ts';
import type { Log } from '../../../src/ports/log.ts';
import type { Notification } from '../../../src/ports/live-bus.ts';
import type { TenantJobs } from '../../../src/pacing/tenant-jobs.ts';
import { FakeHistory } from '../../ingest/fake-history.ts';
import { PATIENCE } from '../../helpers/until.ts';
import { NOW, TENANT, silentLog, until, whileAlive } from '../../actors/platform.ts';
import type { Sent } from '../../actors/platform.ts';
import { DocumentStore, NodeDocuments } from './documents.ts';
import { InMemoryCluster } from './ports.ts';
import type { InMemoryNode } from './ports.ts';
import { MemoryQuarantine } from './quarantine.ts';

export class TestNode {
  readonly quarantine = new MemoryQuarantine(() => this.documents.isGone);
  readonly ports: InMemoryNode;
  readonly documents: NodeDocuments;
  readonly node: ClusterNode;
  readonly changes: Change[] = [];
  readonly notifications: Notification[] = [];
  readonly events: string[] = [];
  forgottenCount = 0;
  isHistoryAway = false;
  /** What runs by the clock on it, if a test has it. */
  jobs: TenantJobs | undefined;
  /** Limits that were counted. */
  readonly refused: string[] = [];
  /** Measurements counted for the statistics of tenants. */
  countedCount = 0;
  readonly #cluster: TestCluster;

  constructor(cluster: TestCluster, name: string) {
    this.#cluster = cluster;
    this.ports = cluster.shared.node(name);
    this.documents = new NodeDocuments(cluster.store);
    const { history } = cluster;
    const alive = <Value>(run: () => Promise<Value>): Promise<Value> => whileAlive(() => this.documents.isGone, run);
    const writer: HistoryWriter = {
      insertMeasurements: (columns, token) => alive(() => history.insertMeasurements(columns, token)),
      storedMeasurements: (columns) => alive(() => history.storedMeasurements(columns)),
      insertRows: (table, texts) => alive(() => history.insertRows(table, texts)),
      deleteMeasurements: (deletion) => alive(() => history.deleteMeasurements(deletion)),
      selectMeasurements: (...filter) => alive(() => history.selectMeasurements(...filter)),
      select: (tenant, table, filter, afterId, before) =>
        alive(() => history.select(tenant, table, filter, afterId, before)),
    };
    this.node = new ClusterNode({
      ...this.ports,
      documents: this.documents,
      blocks: this.documents,
      history: writer,
      quarantine: this.quarantine,
      uncertainTries: 3,
      bus: {
        hasSubscribers: () => true,
        subscribe: () => () => undefined,
        publish: (notification) => {
          this.notifications.push(notification);
        },
      },
      caches: {
        onChanged: (changes) => {
          this.changes.push(...changes);
          this.events.push(...changes.filter(({ kind }) => kind !== 'shard').map(({ kind, id }) => `${kind} ${id}`));
        },
        onRecordsChanged: (tenant, changes) => this.jobs?.recordsChanged(tenant, changes),
        forgetAll: () => {
          this.forgottenCount += 1;
        },
        age: () => undefined,
      },
      usage: {
        count: () => {
          this.countedCount += 1;
        },
        changed: () => undefined,
      },
      log: cluster.log,
      refusals: {
        count: (limit) => {
          this.refused.push(limit);
        },
      },
      journalBytesMax: 1e12,
      answerTimeoutMs: cluster.answerTimeoutMs,
      isHistoryAway: () => this.isHistoryAway,
      onShardTaken: () => this.jobs?.lookAtAll(),
      projectorRowsMax: cluster.rowsMax,
      projectorIntervalMs: cluster.intervalMs,
      bounds: cluster.bounds,
    });
  }

  get nodeId(): string {
    return this.ports.nodeId;
  }
  get ownedShards(): number[] {
    return [...this.ports.leases.owned.keys()];
  }

  request<Answer = { doc: string }>(sent: Sent): Promise<Answer> {
    return this.node.commands.request<Answer>({ tenant: TENANT, mode: 0, receivedAt: NOW, ...sent });
  }

  /** Resolves when it is acknowledged. */
  measure(source: number, value: number): Promise<void> {
    const record = encodeMeasurement({
      tenant: TENANT,
      source,
      id: value + 1,
      time: NOW,
      mode: 0,
      type: 'T',
      document: '',
      receivedAt: NOW,
      values: [{ fragment: 'f', series: 's', value, unit: '' }],
    });
    return new Promise((resolve, reject) => {
      this.node.intake.appendAll(
        record,
        record.length,
        1,
        { durable: () => resolve(), flushDurable: () => undefined, failed: (_token, error) => reject(error) },
        0,
      );
    });
  }

  /** As kill -9: what it began never ends, nothing more of it takes effect. */
  kill(): void {
    this.documents.isGone = true;
    this.#cluster.shared.kill(this.nodeId);
    this.node.abandon();
    this.#cluster.nodes.splice(this.#cluster.nodes.indexOf(this), 1);
  }

  /** Others take its shards and it does not know; it goes on. */
  becomeZombie(): void {
    const { shared } = this.#cluster;
    shared.nodes.delete(this.nodeId);
    for (const [shard, { node }] of shared.owners) if (node.nodeId === this.nodeId) shared.owners.delete(shard);
    shared.rebalance();
    this.#cluster.nodes.splice(this.#cluster.nodes.indexOf(this), 1);
  }
}

export interface TestClusterOptions {
  readonly rowsMax?: number;
  readonly intervalMs?: number;
  readonly answerTimeoutMs?: number;
  readonly bounds?: ChangeBounds;
  readonly log?: Log;
}

export class TestCluster {
  readonly shared = new InMemoryCluster();
  readonly store = new DocumentStore();
  readonly history = new FakeHistory();
  readonly nodes: TestNode[] = [];
  /** Of nodes that join from now on. */
  rowsMax: number;
  intervalMs: number;
  readonly answerTimeoutMs: number;
  readonly bounds: ChangeBounds | undefined;
  readonly log: Log;
  /** With those that are gone. */
  readonly all: TestNode[] = [];
  #names = 0;
  #nextId = 100_000;

  constructor(t: Test, options: TestClusterOptions = {}) {
    this.rowsMax = options.rowsMax ?? 200;
    this.intervalMs = options.intervalMs ?? 10;
    this.bounds = options.bounds;
    this.log = options.log ?? silentLog;
    this.answerTimeoutMs = options.answerTimeoutMs ?? 3_000 * PATIENCE;
    const alive = setInterval(() => undefined, 1_000);
    t.teardown(() => {
      clearInterval(alive);
      for (const node of this.all) {
        node.documents.isGone = true;
        node.node.abandon();
      }
    });
  }

  async join(): Promise<TestNode> {
    this.#names += 1;
    const node = new TestNode(this, `n${this.#names}`);
    this.nodes.push(node);
    this.all.push(node);
    await node.node.start();
    await this.shared.settled();
    return node;
  }

  static async of(t: Test, count: number, options: TestClusterOptions = {}): Promise<TestCluster> {
    const cluster = new TestCluster(t, options);
    for (let index = 0; index < count; index += 1) await cluster.join();
    return cluster;
  }

  /**
   * The shard's documents as they are now. @returns what brings them back, as a store that has lost its newest commits,
   * at the next commit.
   */
  keepState(shard: number): { lose: () => void; readonly isLost: boolean } {
    const stored = this.store.shards[shard];
    const kept = { position: stored.position, values: new Map(stored.values) };
    let isLost = false;
    const lose = (): void => {
      this.store.beforeCommit = (at) => {
        if (at !== shard || isLost) return;
        isLost = true;
        stored.position = kept.position;
        stored.values.clear();
        for (const [key, value] of kept.values) stored.values.set(key, value);
        throw new StateLost('older');
      };
    };
    return {
      lose,
      get isLost() {
        return isLost;
      },
    };
  }

  /** An id of a document that belongs to the actor, as IdSource.nextBeside gives it. */
  idBeside(key: number | string): string {
    do this.#nextId += 1;
    while (shardOfId(TENANT, this.#nextId) !== shardOf(TENANT, key));
    return String(this.#nextId);
  }

  ownerOf(key: number | string): TestNode {
    const owner = this.shared.owners.get(shardOf(TENANT, key))?.node.nodeId;
    return this.nodes.find(({ nodeId }) => nodeId === owner) as TestNode;
  }

  /** Everything that is in the journal is handled, and its follow-ups. */
  async settled(): Promise<void> {
    await this.shared.settled();
    await until(() => {
      const owners = this.nodes.flatMap(({ node }) => node.owners.filter(({ isInService }) => isInService));
      if (owners.length < 64 || this.nodes.some(({ node }) => node.intake.openBytes > 0)) return false;
      if (owners.some(({ underWayCount, pendingCount }) => underWayCount > 0 || pendingCount > 0)) return false;
      return this.shared.stored.every(({ shard, seq, count }) =>
        owners.some((owner) => owner.shard === shard && owner.committedSeq >= seq * 4_096 + count - 1),
      );
    }, 'settled');
  }
}
