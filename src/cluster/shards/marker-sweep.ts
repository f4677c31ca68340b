/**
 * A shard keeps a marker for each follow-up of another shard that it has handled. The marker may go when the sender's
 * entry in `pending` has gone: from then on a copy is known to be old by that. Copies that were given to the actors
 * before are handled first.
 */
import { HANDLED_PREFIX, shardOfPending } from '../../actors/runtime/follow-ups.ts';
import type { ClusterReader, ShardDocuments } from '../../ports/cluster/documents.ts';

const PAGE = 1_000;

export interface SweepOptions {
  readonly documents: ShardDocuments;
  readonly reader: ClusterReader;
  /** Resolves when what the actors have been given so far is committed; false: the shard is not ours any more. */
  readonly handled: () => Promise<boolean>;
}

/** @returns how many markers went. */
export async function sweepMarkers({ documents, reader, handled }: SweepOptions): Promise<number> {
  let count = 0;
  for (let after: string | undefined; ; ) {
    const page = await documents.list(
      'meta',
      0,
      HANDLED_PREFIX,
      after === undefined ? { limit: PAGE } : { after, limit: PAGE },
    );
    const senders = new Map<number, string[]>();
    for (const { id } of page) {
      const pendingId = id.slice(HANDLED_PREFIX.length);
      const shard = shardOfPending(pendingId) ?? -1;
      const list = senders.get(shard);
      if (list) list.push(pendingId);
      else senders.set(shard, [pendingId]);
    }
    const gone: string[] = [];
    await Promise.all(
      [...senders].map(async ([shard, pendingIds]) => {
        const entries = await reader.inShard(shard).getMany('pending', 0, pendingIds);
        pendingIds.forEach((pendingId, index) => {
          if (entries[index] === undefined) gone.push(pendingId);
        });
      }),
    );
    if (gone.length > 0) {
      if (!(await handled())) return count;
      const removals = gone.map((pendingId) => ({
        collection: 'meta' as const,
        tenant: 0,
        id: HANDLED_PREFIX + pendingId,
        value: undefined,
      }));
      await documents.commit(removals, undefined);
      count += gone.length;
    }
    if (page.length < PAGE) return count;
    after = page[page.length - 1].id;
  }
}
