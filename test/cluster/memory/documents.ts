/**
 * Documents and blocks of a cluster in memory: answered later, epochs checked, and cut off from a node that is gone.
 */
import { PROGRESS_KEY } from '../../../src/actors/projector-memory.ts';
import type { DocumentChange } from '../../../src/ports/stores/documents.ts';
import { Fenced } from '../../../src/ports/cluster/documents.ts';
import type {
  BlockRange,
  BlockStore,
  ClusterDocuments,
  ClusterReader,
  ShardDocuments,
  StoredBlock,
} from '../../../src/ports/cluster/documents.ts';
import { isOfShard } from '../../../src/cluster/shards/reader.ts';
import { shardOf, SHARD_COUNT } from '../../../src/ingest/journal/command-record.ts';
import type { Collection } from '../../../src/model/commands/collections.ts';
import type { DocumentReader } from '../../../src/ports/document-reader.ts';
import { actorOfDocument } from '../../../src/model/commands/document-routing.ts';

/** As in the stores. */
const ID_BYTES_MAX = 1_890;
const byteOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

interface Shard {
  epoch: number;
  position: number;
  readonly values: Map<string, string>;
}

export class DocumentStore {
  readonly shards: readonly Shard[] = Array.from({ length: SHARD_COUNT }, () => ({
    epoch: 0,
    position: 0,
    values: new Map<string, string>(),
  }));
  readonly blocks = new Map<string, { ranges: readonly BlockRange[]; state: 'begun' | 'decided'; parts?: number[] }>();
  /** Called before a commit takes effect; may throw. */
  beforeCommit: (shard: number, changes: readonly DocumentChange[]) => void = () => undefined;
  /** Called before and behind each change of a projector's progress or of a block; what is gone then changes nothing. */
  onStep: () => void = () => undefined;
  commitsCount = 0;
  readonly #isRouted: boolean;

  /** @param options.isRouted false: a shard takes documents of other shards too. */
  constructor(options: { isRouted?: boolean } = {}) {
    this.#isRouted = options.isRouted ?? true;
  }

  commit(
    shard: number,
    epoch: number | undefined,
    changes: readonly DocumentChange[],
    position: number | undefined,
  ): void {
    const stored = this.shards[shard];
    if (epoch === undefined) throw new Error(`shard ${shard} is not taken over`);
    if (stored.epoch !== epoch) throw new Fenced(`shard ${shard}: ${epoch} after ${stored.epoch}`);
    if (changes.some(({ id }) => Buffer.byteLength(id) > ID_BYTES_MAX)) throw new Error('an id is too long');
    this.beforeCommit(shard, changes);
    this.commitsCount += 1;
    for (const { collection, tenant, id, value } of changes) {
      if (this.#isRouted && !isOfShard(shard, collection, tenant, id))
        throw new Error(`shard ${shard} writes ${collection} ${id}`);
      const key = `${collection}/${tenant}/${id}`;
      if (value === undefined) stored.values.delete(key);
      else stored.values.set(key, value);
    }
    if (position === undefined) return;
    if (position < stored.position) throw new Error(`shard ${shard} goes back from ${stored.position} to ${position}`);
    stored.position = position;
  }

  list(
    shards: readonly Shard[],
    collection: Collection,
    tenant: number,
    prefix: string,
    options: { after?: string; limit: number },
  ) {
    const start = `${collection}/${tenant}/`;
    const found = shards.flatMap(({ values }) =>
      [...values]
        .filter(([key]) => key.startsWith(start + prefix))
        .map(([key, value]) => ({ id: key.slice(start.length), value })),
    );
    return found
      .filter(({ id }) => options.after === undefined || byteOrder(id, options.after) > 0)
      .sort((a, b) => byteOrder(a.id, b.id))
      .slice(0, options.limit);
  }

  /** Everything but `meta`. */
  snapshot(): Record<string, string> {
    const entries = this.shards.flatMap(({ values }) => [...values]).filter(([key]) => !key.startsWith('meta/'));
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

const isOfEachShard = (collection: Collection): boolean => collection === 'meta' || collection === 'pending';

/** What one node sees of the store; nothing any more when it is gone. */
export class NodeDocuments implements ClusterDocuments, BlockStore {
  isGone = false;
  /** The network to the store is silent: calls wait until `mend`, then they arrive. */
  #cut: { readonly mended: Promise<void>; readonly mend: () => void } | undefined;
  /** Commits with an older epoch that were refused. */
  fencedCount = 0;
  readonly #store: DocumentStore;

  constructor(store: DocumentStore) {
    this.#store = store;
  }

  cut(): void {
    let mend = (): void => undefined;
    const mended = new Promise<void>((resolve) => {
      mend = resolve;
    });
    this.#cut = { mended, mend };
  }

  mend(): void {
    this.#cut?.mend();
    this.#cut = undefined;
  }

  readonly reader: ClusterReader = {
    ...this.#reads(
      (collection, tenant, id) => {
        const actor = actorOfDocument(collection, id);
        return actor === undefined ? [] : [this.#store.shards[shardOf(tenant, actor)]];
      },
      (collection) => (isOfEachShard(collection) ? [] : this.#store.shards),
    ),
    inShard: (shard) => this.#readsOf(this.#store.shards[shard]),
  };

  #reads(
    shardsOf: (collection: Collection, tenant: number, id: string) => readonly Shard[],
    listed: (collection: Collection) => readonly Shard[],
  ): DocumentReader {
    const get = (collection: Collection, tenant: number, id: string): string | undefined =>
      shardsOf(collection, tenant, id)
        .map(({ values }) => values.get(`${collection}/${tenant}/${id}`))
        .find((value) => value !== undefined);
    return {
      get: (collection, tenant, id) => this.#later(() => get(collection, tenant, id)),
      getMany: (collection, tenant, ids) => this.#later(() => ids.map((id) => get(collection, tenant, id))),
      list: (collection, tenant, prefix, options) =>
        this.#later(() => this.#store.list(listed(collection), collection, tenant, prefix, options)),
    };
  }

  #readsOf(shard: Shard): DocumentReader {
    return this.#reads(
      () => [shard],
      () => [shard],
    );
  }

  open(shard: number): ShardDocuments {
    let epoch: number | undefined;
    let isStopped = false;
    let stop = (): void => undefined;
    const stopped = new Promise<never>((_, reject) => {
      stop = () => reject(new Error('stopped'));
    });
    stopped.catch(() => undefined);
    let last: Promise<unknown> = Promise.resolve();
    const stored = this.#store.shards[shard];
    return {
      ...this.#readsOf(stored),
      takeOver: (taken) =>
        Promise.race([
          stopped,
          this.#later(() => {
            if (stored.epoch > taken) throw new Fenced(`shard ${shard} has ${stored.epoch}`);
            stored.epoch = epoch = taken;
            return stored.position;
          }),
        ]),
      position: () => this.#later(() => stored.position),
      durablePosition: () => this.#later(() => stored.position),
      commit: (changes, position) => {
        const kept = [...changes];
        const done = last
          .catch(() => undefined)
          .then(() =>
            this.#later(
              () => {
                if (isStopped) throw new Error('stopped');
                try {
                  this.#store.commit(shard, epoch, kept, position);
                } catch (error) {
                  if (error instanceof Fenced) this.fencedCount += 1;
                  throw error;
                }
              },
              kept.some(({ id }) => id === PROGRESS_KEY),
            ),
          );
        last = done;
        return done;
      },
      stop: () => {
        isStopped = true;
        stop();
      },
    };
  }

  begin(token: string, ranges: readonly BlockRange[]): Promise<void> {
    return this.#later(() => {
      if (!this.#store.blocks.has(token))
        this.#store.blocks.set(token, { ranges: structuredClone(ranges), state: 'begun' });
    }, true);
  }
  decide(token: string, decision: 'insert' | 'abandon'): Promise<StoredBlock | undefined> {
    return this.#later(() => {
      const block = this.#store.blocks.get(token);
      if (block?.state === 'begun') {
        if (decision === 'abandon') {
          this.#store.blocks.delete(token);
          return undefined;
        }
        block.state = 'decided';
      }
      return block && { token, ...structuredClone(block) };
    }, this.#store.blocks.get(token)?.state === 'begun');
  }
  split(token: string, through: number): Promise<StoredBlock | undefined> {
    return this.#later(() => {
      const block = this.#store.blocks.get(token);
      if (block?.state !== 'decided') return undefined;
      block.parts = [...new Set([...(block.parts ?? []), through])].sort((a, b) => a - b);
      return { token, ...structuredClone(block) };
    }, true);
  }
  remove(token: string): Promise<void> {
    return this.#later(() => {
      this.#store.blocks.delete(token);
    }, true);
  }
  listBlocks(): StoredBlock[] {
    return [...this.#store.blocks].map(([token, block]) => ({ token, ...structuredClone(block) }));
  }
  list(): Promise<readonly StoredBlock[]> {
    return this.#later(() => this.listBlocks());
  }

  async #later<Value>(run: () => Value, isStep = false): Promise<Value> {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    await this.#cut?.mended;
    if (isStep) this.#store.onStep();
    if (this.isGone) return new Promise<Value>(() => undefined);
    const value = run();
    if (isStep) this.#store.onStep();
    return this.isGone ? new Promise<Value>(() => undefined) : value;
  }
}
