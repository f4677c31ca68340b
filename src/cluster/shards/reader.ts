/**
 * What the actors of a shard read: their own documents from their owner's store, those of others as they are committed.
 */
import type { DocumentChange, Documents } from '../../ports/stores/documents.ts';
import type { ListOptions } from '../../ports/document-reader.ts';
import { shardOf } from '../../ingest/journal/command-record.ts';
import type { Collection } from '../../model/commands/collections.ts';
import { actorOfDocument } from '../../model/commands/document-routing.ts';
import type { ClusterReader, ShardDocuments } from '../../ports/cluster/documents.ts';

/** Whether the document is of the shard; `meta` and `pending` are of each. */
export function isOfShard(shard: number, collection: Collection, tenant: number, id: string): boolean {
  if (collection === 'meta' || collection === 'pending') return true;
  const actor = actorOfDocument(collection, id);
  return actor !== undefined && shardOf(tenant, actor) === shard;
}

export class RoutedDocuments implements Documents {
  readonly #shard: number;
  readonly #own: ShardDocuments;
  readonly #others: ClusterReader;
  readonly #onCommitFailed: (error: Error) => void;

  /** @param onCommitFailed told of every refused commit, also of other code's. */
  constructor(shard: number, own: ShardDocuments, others: ClusterReader, onCommitFailed: (error: Error) => void) {
    this.#onCommitFailed = onCommitFailed;
    this.#shard = shard;
    this.#own = own;
    this.#others = others;
  }

  get(collection: Collection, tenant: number, id: string): string | undefined | Promise<string | undefined> {
    return (isOfShard(this.#shard, collection, tenant, id) ? this.#own : this.#others).get(collection, tenant, id);
  }

  /** All of the shard, or routed one by one. */
  getMany(
    collection: Collection,
    tenant: number,
    ids: readonly string[],
  ): (string | undefined)[] | Promise<(string | undefined)[]> {
    const isOwn = ids.every((id) => isOfShard(this.#shard, collection, tenant, id));
    return (isOwn ? this.#own : this.#others).getMany(collection, tenant, ids);
  }

  list(collection: Collection, tenant: number, prefix: string, options: ListOptions) {
    return (isOfShard(this.#shard, collection, tenant, prefix) ? this.#own : this.#others).list(
      collection,
      tenant,
      prefix,
      options,
    );
  }

  async commit(changes: Iterable<DocumentChange>, position: number | undefined): Promise<void> {
    try {
      await this.#own.commit(changes, position);
    } catch (error) {
      this.#onCommitFailed(error as Error);
      throw error;
    }
  }

  position(): number | Promise<number> {
    return this.#own.position();
  }
}
