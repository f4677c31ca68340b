/** What every adapter of the ShardLeases port promises; run by the tests of the adapters. */
import type { Test } from 'tap';
import type { Member, ShardLeases } from '../../../src/ports/cluster/leases.ts';
import { SHARD_COUNT } from '../../../src/ingest/journal/command-record.ts';
import { eventually } from './shard-journal.ts';

/** A node with a way of its own to where the leases are. */
export interface OpenLeases {
  readonly leases: ShardLeases;
  /** Nothing comes through between the node and the leases until it is mended. */
  cut(isCut: boolean): void;
  /** As kill -9. */
  kill(): Promise<void>;
  /** After it has left. */
  close(): Promise<void>;
}

/** Leases of their own; each `open` is a node that shares them. */
export interface ShardLeasesPlace {
  open(nodeId: string, roles: Member['roles']): Promise<OpenLeases>;
  /** Resolves when whatever was going to move has moved. */
  settled(): Promise<void>;
}

/** A time in which a node took itself for the owner, by this process's monotonic clock. */
interface Interval {
  readonly node: string;
  readonly shard: number;
  readonly epoch: number;
  readonly from: number;
  through: number;
}

const SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

/** The nodes of one test, and who took himself for the owner when. */
export class LeaseHolders {
  readonly intervals: Interval[] = [];
  readonly #place: ShardLeasesPlace;
  readonly #running = new Set<LeaseHolder>();

  constructor(t: Test, place: ShardLeasesPlace) {
    this.#place = place;
    t.teardown(async () => {
      for (const holder of this.#running) await holder.kill();
    });
  }

  async join(nodeId: string, roles: Member['roles'] = ['gateway', 'shard'], acquireMs = 0): Promise<LeaseHolder> {
    const holder = new LeaseHolder(nodeId, await this.#place.open(nodeId, roles), this.intervals, () =>
      this.#running.delete(holder),
    );
    this.#running.add(holder);
    holder.acquireMs = acquireMs;
    await holder.join();
    return holder;
  }

  settled(): Promise<void> {
    return this.#place.settled();
  }

  /** Times of one shard that overlap, and epochs that do not grow. */
  get faults(): string[] {
    return SHARDS.flatMap((shard) => {
      const ofShard = this.intervals
        .filter((interval) => interval.shard === shard)
        .sort((a, b) => a.from - b.from || a.epoch - b.epoch);
      return ofShard.slice(1).flatMap((next, index) => {
        const former = ofShard[index];
        return [
          ...(former.through > next.from
            ? [`shard ${shard}: ${former.node} until ${former.through}, ${next.node} from ${next.from}`]
            : []),
          ...(former.epoch >= next.epoch ? [`shard ${shard}: epoch ${next.epoch} after ${former.epoch}`] : []),
        ];
      });
    });
  }
}

export class LeaseHolder {
  readonly nodeId: string;
  readonly leases: ShardLeases;
  readonly calls: string[] = [];
  /** What an event found that should not be so. */
  readonly faults: string[] = [];
  /** Owners as they were answered at the last `onChanged`. */
  seenOwners: readonly (string | undefined)[] = [];
  seenMembers: readonly string[] = [];
  acquireMs = 0;
  /** So many shards cannot be taken into service. */
  failures = 0;
  #hasLeft = false;
  readonly #open: OpenLeases;
  readonly #intervals: Interval[];
  readonly #onEnded: () => void;

  constructor(nodeId: string, open: OpenLeases, intervals: Interval[], onEnded: () => void) {
    this.nodeId = nodeId;
    this.leases = open.leases;
    this.#open = open;
    this.#intervals = intervals;
    this.#onEnded = onEnded;
  }

  join(): Promise<void> {
    const { leases } = this;
    return leases.join({
      onAcquired: async (shard, epoch) => {
        this.#called(`acquired ${shard}`);
        if (leases.owned.get(shard) !== epoch)
          this.faults.push(`${shard} is taken under ${epoch}, and owned under ${leases.owned.get(shard)}`);
        this.#intervals.push({
          node: this.nodeId,
          shard,
          epoch,
          from: performance.now(),
          through: Number.POSITIVE_INFINITY,
        });
        if (this.acquireMs > 0)
          await new Promise((resolve) => {
            setTimeout(resolve, this.acquireMs);
          });
        if (this.failures > 0) {
          this.failures -= 1;
          throw new Error('not now');
        }
      },
      onRelease: async (shard) => {
        this.#called(`release ${shard}`);
        await new Promise((resolve) => {
          setTimeout(resolve, 2);
        });
        if (!leases.owned.has(shard)) this.faults.push(`${shard} is not owned any more before it is finished`);
        this.#end(shard);
      },
      onLost: (shard) => {
        this.#called(`lost ${shard}`);
        if (leases.owned.has(shard)) this.faults.push(`${shard} is lost, and owned`);
        this.#end(shard);
      },
      onChanged: () => {
        this.seenOwners = SHARDS.map((shard) => leases.ownerOf(shard));
        this.seenMembers = leases.members.map(({ nodeId }) => nodeId).sort();
      },
    });
  }

  /** What it owned is over at that moment. */
  async kill(): Promise<void> {
    this.#onEnded();
    for (const shard of [...this.leases.owned.keys()]) this.#end(shard);
    await this.#open.kill();
  }

  async leave(): Promise<void> {
    this.#onEnded();
    await this.leases.leave();
    this.#hasLeft = true;
    await this.#open.close();
  }

  cut(isCut: boolean): void {
    this.#open.cut(isCut);
  }

  count(kind: 'acquired' | 'release' | 'lost'): number {
    return this.calls.filter((call) => call.startsWith(kind)).length;
  }

  #called(call: string): void {
    this.calls.push(call);
    if (this.#hasLeft) this.faults.push(`${call} after it has left`);
  }

  #end(shard: number): void {
    const open = this.#intervals.findLast((interval) => interval.node === this.nodeId && interval.shard === shard);
    if (open && open.through > performance.now()) open.through = performance.now();
  }
}

const sizes = (nodes: readonly LeaseHolder[]): number[] =>
  nodes.map(({ leases }) => leases.owned.size).sort((a, b) => a - b);
export const spread = (nodes: readonly LeaseHolder[], want: readonly number[]): Promise<boolean> =>
  eventually(`${want}, there are ${sizes(nodes)}`, () => JSON.stringify(sizes(nodes)) === JSON.stringify(want));

export function shardLeasesContract(t: Test, name: string, newPlace: (t: Test) => Promise<ShardLeasesPlace>): void {
  const holders = async (t: Test): Promise<LeaseHolders> => new LeaseHolders(t, await newPlace(t));
  const faultsOf = (all: LeaseHolders, nodes: readonly LeaseHolder[]): string[] => [
    ...all.faults,
    ...nodes.flatMap(({ faults }) => faults),
  ];

  t.test(`${name}: three nodes: join, leave, die`, async (t) => {
    const all = await holders(t);
    const a = await all.join('a');
    await spread([a], [64]);
    const b = await all.join('b');
    await spread([a, b], [32, 32]);
    t.equal(a.count('lost'), 0, 'handed over, not lost');
    const c = await all.join('c');
    await spread([a, b, c], [21, 21, 22]);
    t.same(
      [a.count('lost'), b.count('lost'), b.count('acquired'), c.count('acquired')],
      [0, 0, 32, c.leases.owned.size],
      'nothing moves that need not',
    );
    const gateway = await all.join('g', ['gateway']);
    const nodes = [a, b, c, gateway];
    for (const node of nodes) {
      await eventually('the same owners everywhere', () =>
        SHARDS.every((shard) => {
          const owner = node.leases.ownerOf(shard);
          return owner !== undefined && [a, b, c].find(({ nodeId }) => nodeId === owner)!.leases.owned.has(shard);
        }),
      );
      await eventually(
        'members',
        () =>
          node.leases.members
            .map(({ nodeId }) => nodeId)
            .sort()
            .join() === 'a,b,c,g',
      );
    }
    t.equal(gateway.leases.owned.size, 0);
    t.match(
      a.leases.members.find(({ nodeId }) => nodeId === 'g'),
      { roles: ['gateway'], isLeaving: false, lacks: undefined },
    );
    await c.leave();
    await spread([a, b], [32, 32]);
    t.same([c.count('lost'), c.leases.owned.size], [0, 0], 'handed over');
    await eventually('gone', () => !a.leases.members.some(({ nodeId }) => nodeId === 'c'));
    await b.kill();
    await spread([a], [64]);
    for (const node of [a, gateway]) {
      await eventually(
        'owners and members were told',
        () => node.seenOwners.every((owner) => owner === 'a') && node.seenMembers.join() === 'a,g',
      );
    }
    await a.leave();
    await eventually('nobody owns them', () => SHARDS.every((shard) => gateway.leases.ownerOf(shard) === undefined));
    await gateway.leave();
    const d = await all.join('d');
    await spread([d], [64]);
    await d.leave();
    t.same(faultsOf(all, [...nodes, d]), []);
  });

  t.test(`${name}: a node that is cut off gives up, and takes part again`, async (t) => {
    const all = await holders(t);
    const [a, b] = [await all.join('a'), await all.join('b')];
    await spread([a, b], [32, 32]);
    b.cut(true);
    await spread([a, b], [0, 64]);
    t.same([b.count('lost'), b.count('release')], [32, 0]);
    t.notOk(SHARDS.some((shard) => b.leases.ownerOf(shard) === 'b'));
    b.cut(false);
    await spread([a, b], [32, 32]);
    await b.leave();
    await a.leave();
    t.same(faultsOf(all, [a, b]), []);
  });

  t.test(`${name}: a shard that cannot be taken into service is given up and tried again`, async (t) => {
    const all = await holders(t);
    const a = await all.join('a');
    await spread([a], [64]);
    const b = await all.join('b');
    b.failures = 5;
    b.acquireMs = 5;
    await eventually('it has failed', () => b.failures === 0);
    await spread([a, b], [32, 32]);
    await eventually('all are owned', () => SHARDS.every((shard) => a.leases.ownerOf(shard) !== undefined));
    t.equal(b.count('lost'), 5);
    await Promise.all([a.leave(), b.leave()]);
    t.same(faultsOf(all, [a, b]), []);
  });

  t.test(`${name}: nodes come and go at once`, async (t) => {
    const all = await holders(t);
    const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((nodeId) => all.join(nodeId)));
    await spread(nodes, [16, 16, 16, 16]);
    const [a, b, c, d] = nodes;
    await Promise.all([a.kill(), b.leave()]);
    const e = await all.join('e');
    await spread([c, d, e], [21, 21, 22]);
    await Promise.all([c.leave(), d.leave()]);
    await spread([e], [64]);
    await e.leave();
    t.same(faultsOf(all, [b, c, d, e]), []);
  });

  t.test(`${name}: a node that lacks a server: others take its shards, and give them back`, async (t) => {
    const all = await holders(t);
    const [a, b] = [await all.join('a'), await all.join('b')];
    await spread([a, b], [32, 32]);
    b.leases.lack('history');
    await spread([b], [0]);
    await spread([a], [64]);
    t.equal(b.count('lost'), 0, 'handed over');
    t.match(
      a.leases.members.find(({ nodeId }) => nodeId === 'b'),
      { lacks: 'history' },
    );
    b.leases.lack(undefined);
    await spread([a, b], [32, 32]);
    // Nothing can be finished without documents.
    a.leases.lack('documents');
    await spread([a], [0]);
    t.same(a.count('lost'), 32, 'given up');
    await spread([b], [64]);
    // Now both: nobody is better, and nothing moves.
    const taken = b.count('acquired');
    b.leases.lack('documents');
    await all.settled();
    t.same([sizes([a, b]), b.count('acquired'), b.count('lost')], [[0, 64], taken, 0]);
    // Who lacks less is better.
    a.leases.lack('history');
    await spread([a, b], [0, 64]);
    await eventually('a has them', () => a.leases.owned.size === 64);
    b.leases.lack(undefined);
    a.leases.lack(undefined);
    await spread([a, b], [32, 32]);
    await a.leave();
    await b.kill();
    t.same(faultsOf(all, [a, b]), []);
  });

  t.test(`${name}: a node that never joined, and one that takes no shards`, async (t) => {
    const place = await newPlace(t);
    const all = new LeaseHolders(t, place);
    const { leases, close } = await place.open('never', ['gateway', 'shard']);
    t.same([leases.owned.size, leases.ownerOf(0)], [0, undefined]);
    await leases.leave();
    await close();
    const gateway = await all.join('g', ['gateway']);
    t.same(
      [gateway.leases.owned.size, gateway.leases.ownerOf(0), gateway.leases.members.map(({ nodeId }) => nodeId)],
      [0, undefined, ['g']],
      'nobody takes shards',
    );
    await gateway.leave();
    t.same(gateway.calls, []);
  });
}
