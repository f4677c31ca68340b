/**
 * Reads documents of every shard for the gateways: the shard is found from collection and id. `meta` and `pending`,
 * which each shard has of its own, are those of the cluster here; those of a shard are read with `inShard`.
 */
import { shardOf, SHARD_COUNT } from '../../ingest/journal/command-record.ts';
import type { Collection } from '../../model/commands/collections.ts';
import type { DocumentReader, ListOptions } from '../../ports/document-reader.ts';
import { actorOfDocument } from '../../model/commands/document-routing.ts';
import { PlatformError } from '../../model/errors.ts';
import { redisProblem } from './connection.ts';
import type { RedisConnection } from './connection.ts';
import { listShard } from './documents.ts';
import { checkedField, CLUSTER_TAG, compareUtf8, fieldOf, keysOf } from './keys.ts';
import type { ShardKeys } from './keys.ts';
import { RAISE, SET_ABSENT } from './scripts.ts';

/** Reads under way; one more is refused at once rather than kept. */
const READS_MAX = 20_000;
/** A shard's first page of a list over all shards: a little more than its share. */
const FIRST_PAGE_MIN = 8;

interface Entry {
  readonly id: string;
  readonly value: string;
}

export interface NewDocument {
  readonly collection: Collection;
  readonly tenant: number;
  readonly id: string;
  readonly value: string;
}

export class RedisDocumentReader implements DocumentReader {
  readonly #connection: RedisConnection;
  readonly #shards: readonly ShardKeys[];
  readonly #cluster: ShardKeys;
  #reads = 0;

  /** @param connection with `autoPipelining` and a short `commandTimeoutMs`. */
  constructor(connection: RedisConnection, prefix: string) {
    this.#connection = connection;
    this.#shards = Array.from({ length: SHARD_COUNT }, (_, shard) => keysOf(prefix, shard));
    this.#cluster = keysOf(prefix, CLUSTER_TAG);
  }

  /** @throws PlatformError `general/documents-unavailable`, as all reads. */
  async get(collection: Collection, tenant: number, id: string): Promise<string | undefined> {
    const keys = this.#place(collection, tenant, id);
    return (
      (await this.#guarded(() => this.#connection.client.hget(keys.documents(collection), fieldOf(tenant, id)))) ??
      undefined
    );
  }

  async getMany(collection: Collection, tenant: number, ids: readonly string[]): Promise<(string | undefined)[]> {
    const groups = new Map<ShardKeys, number[]>();
    for (const [index, id] of ids.entries()) {
      const keys = this.#place(collection, tenant, id);
      const group = groups.get(keys);
      if (group) group.push(index);
      else groups.set(keys, [index]);
    }
    const found = new Array<string | undefined>(ids.length).fill(undefined);
    await this.#guarded(() =>
      Promise.all(
        [...groups].map(async ([keys, indexes]) => {
          const values = await this.#connection.fieldsOf(
            keys.documents(collection),
            indexes.map((index) => fieldOf(tenant, ids[index])),
          );
          for (const [at, index] of indexes.entries()) found[index] = values[at] ?? undefined;
        }),
      ),
    );
    return found;
  }

  async list(
    collection: Collection,
    tenant: number,
    prefix: string,
    options: ListOptions,
  ): Promise<{ id: string; value: string }[]> {
    const actor = actorOfDocument(collection, prefix);
    if (actor !== undefined && hasPrefixesOfActors(collection))
      return this.#page(this.#shards[shardOf(tenant, actor)], collection, tenant, prefix, options);
    if (isOfEachShard(collection)) return this.#page(this.#cluster, collection, tenant, prefix, options);
    return this.#merged(collection, tenant, prefix, options);
  }

  /** The documents of one shard, with its own `meta` and `pending`, whatever their ids. */
  inShard(shard: number): DocumentReader {
    const keys = this.#shards[shard];
    return {
      get: async (collection, tenant, id) =>
        (await this.#guarded(() => this.#connection.client.hget(keys.documents(collection), fieldOf(tenant, id)))) ??
        undefined,
      getMany: async (collection, tenant, ids) =>
        ids.length === 0
          ? []
          : (
              await this.#guarded(() =>
                this.#connection.fieldsOf(
                  keys.documents(collection),
                  ids.map((id) => fieldOf(tenant, id)),
                ),
              )
            ).map((value) => value ?? undefined),
      list: (collection, tenant, prefix, options) => this.#page(keys, collection, tenant, prefix, options),
    };
  }

  /** The position that the owner of a shard has committed last. */
  async positionOf(shard: number): Promise<number> {
    return Number((await this.#guarded(() => this.#connection.client.get(this.#shards[shard].position))) ?? 0);
  }

  /**
   * Writes documents that are not there yet, without an epoch: for the first start of a cluster only (accounts,
   * tenants, schema). When two nodes do it at once, each document is that of one of them. A repetition takes its own
   * documents for written by it.
   * @returns for each: undefined when it was written, else the value that was there already.
   */
  async commitOnce(changes: readonly NewDocument[]): Promise<(string | undefined)[]> {
    const groups = new Map<ShardKeys, { keys: string[]; args: string[]; indexes: number[] }>();
    for (const [index, { collection, tenant, id, value }] of changes.entries()) {
      const place = this.#place(collection, tenant, id);
      let group = groups.get(place);
      if (group === undefined) groups.set(place, (group = { keys: [], args: [], indexes: [] }));
      group.keys.push(place.documents(collection), place.index(collection));
      group.args.push(checkedField(tenant, id), value);
      group.indexes.push(index);
    }
    const found = new Array<string | undefined>(changes.length).fill(undefined);
    await this.#guarded(() =>
      Promise.all(
        [...groups.values()].map(async ({ keys, args, indexes }) => {
          const former = (await this.#connection.run(SET_ABSENT, keys, args)) as (string | null)[];
          for (const [at, index] of indexes.entries()) {
            // Our own value: an answer was lost, and this is the repetition.
            if (former[at] !== null && former[at] !== changes[index].value) found[index] = former[at];
          }
        }),
      ),
    );
    return found;
  }

  /**
   * Raises the number that a document is, without an epoch: the version of the schema, when a newer node starts. An
   * absent one stays absent.
   */
  async raise({ collection, tenant, id, value }: NewDocument): Promise<void> {
    const keys = [this.#place(collection, tenant, id).documents(collection)];
    await this.#guarded(() => this.#connection.run(RAISE, keys, [checkedField(tenant, id), value]));
  }

  #place(collection: Collection, tenant: number, id: string): ShardKeys {
    const actor = actorOfDocument(collection, id);
    return actor === undefined ? this.#cluster : this.#shards[shardOf(tenant, actor)];
  }

  #page(
    keys: ShardKeys,
    collection: Collection,
    tenant: number,
    prefix: string,
    options: ListOptions,
  ): Promise<Entry[]> {
    return this.#guarded(() =>
      listShard({ connection: this.#connection, keys, collection, tenant, prefix, ...options }),
    );
  }

  /**
   * Pages of all shards, more of those that run out, until `limit` entries are certain to be the first ones in byte
   * order.
   */
  async #merged(
    collection: Collection,
    tenant: number,
    prefix: string,
    { after, limit }: ListOptions,
  ): Promise<Entry[]> {
    if (limit <= 0) return [];
    const sources = this.#shards.map((keys) => ({ keys, after, isDone: false }));
    const found: Entry[] = [];
    for (
      let page = Math.min(limit, FIRST_PAGE_MIN + Math.ceil((2 * limit) / sources.length));
      ;
      page = Math.min(limit, page * 2)
    ) {
      // Only shards whose last entry may come before the end of the answer can add to it.
      const bound = found.length >= limit ? found[limit - 1].id : undefined;
      const open = sources.filter(
        (source) =>
          !source.isDone && (bound === undefined || source.after === undefined || compareUtf8(source.after, bound) < 0),
      );
      if (open.length === 0) return found.slice(0, limit);
      await Promise.all(
        open.map(async (source) => {
          const place = source.after === undefined ? { limit: page } : { after: source.after, limit: page };
          const entries = await this.#page(source.keys, collection, tenant, prefix, place);
          for (const entry of entries) found.push(entry);
          source.isDone = entries.length < page;
          source.after = entries.at(-1)?.id ?? source.after;
        }),
      );
      found.sort((a, b) => compareUtf8(a.id, b.id));
    }
  }

  async #guarded<Result>(operation: () => Promise<Result>): Promise<Result> {
    if (this.#reads >= READS_MAX)
      throw new PlatformError('general/documents-unavailable', { reason: `${READS_MAX} reads are under way` });
    this.#reads += 1;
    try {
      return await operation();
    } catch (error) {
      throw new PlatformError('general/documents-unavailable', { reason: redisProblem(error) });
    } finally {
      this.#reads -= 1;
    }
  }
}

const isOfEachShard = (collection: Collection): boolean => collection === 'meta' || collection === 'pending';

/**
 * Where a prefix names one actor as a whole. `12` is the start of several ids of managed objects, and `s` of several
 * sessions.
 */
const hasPrefixesOfActors = (collection: Collection): boolean =>
  ![
    'managedObject',
    'binary',
    'availability',
    'softwareList',
    'parameterState',
    'alarm',
    'event',
    'operation',
    'session',
    'externalId',
  ].includes(collection);
