/** The blocks that are written down: which of them can go, and up to where they need the journal. */
import type { StoredBlock } from '../../ports/cluster/documents.ts';
import type { ClusterProjectorOptions } from './options.ts';
import type { Track } from './track.ts';

export class StoredBlocks {
  readonly #options: Pick<ClusterProjectorOptions, 'blocks' | 'blockOf'>;
  readonly #tracks: ReadonlyMap<number, Track>;
  /** Blocks that no node seems to work on: token -> when they were seen first. */
  readonly #unsettled = new Map<string, number>();

  /** @param tracks of the shards that are here, followed as they change. */
  constructor(options: Pick<ClusterProjectorOptions, 'blocks' | 'blockOf'>, tracks: ReadonlyMap<number, Track>) {
    this.#options = options;
    this.#tracks = tracks;
  }

  async removeIfPassed({ token, ranges }: StoredBlock): Promise<void> {
    const named = await Promise.all(ranges.map(({ shard }) => this.#options.blockOf(shard)));
    if (!named.includes(token)) await this.#options.blocks.remove(token);
  }

  /**
   * Up to where the journal of each shard that is here is not needed by any projector, this one's or that of a shard
   * with which it shares a block. Settles blocks of removed nodes which no shard names (any more). @param nowMs
   * growing. @param ownToken of the block that this node is inserting.
   */
  async trimBounds(
    nowMs: number,
    ownToken: () => string | undefined,
    unsettledAfterMs = 30_000,
  ): Promise<Map<number, number>> {
    const bounds = new Map([...this.#tracks.values()].map(({ shard, position }) => [shard, position]));
    const stored = await this.#options.blocks.list();
    for (const { ranges } of stored) {
      for (const { shard, firstSeq } of ranges) bounds.set(shard, Math.min(bounds.get(shard) ?? 0, firstSeq - 1));
    }
    for (const shard of [...bounds.keys()]) if (!this.#tracks.has(shard)) bounds.delete(shard);
    for (const token of this.#unsettled.keys())
      if (!stored.some((block) => block.token === token)) this.#unsettled.delete(token);
    for (const block of stored) {
      const since = this.#unsettled.get(block.token) ?? nowMs;
      this.#unsettled.set(block.token, since);
      if (block.token === ownToken() || nowMs - since < unsettledAfterMs) continue;
      // One that is named is settled by the owner of the shard that names it; one that is not decided cannot be decided
      // after this.
      const named = await Promise.all(block.ranges.map(({ shard }) => this.#options.blockOf(shard)));
      if (named.includes(block.token)) continue;
      if (block.state === 'begun') await this.#options.blocks.decide(block.token, 'abandon');
      else await this.#options.blocks.remove(block.token);
    }
    return bounds;
  }
}
