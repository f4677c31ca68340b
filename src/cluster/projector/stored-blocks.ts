/**
 * The blocks of the nodes' projectors in the block store: written down, named in the progress of each of their shards,
 * then decided. A node that takes a shard over and finds a block named in its progress decides it first: one that was
 * not decided is abandoned for good, a decided one is inserted again. Before each insert the store is asked, so that all
 * nodes take the same parts.
 */
import { randomBytes } from 'node:crypto';
import type { BegunBlock, BlockLog, UntilDone } from '../../ingest/projector/begun-block.ts';
import { GivenUp } from '../../ingest/projector/history-insert.ts';
import type { Track } from '../../ingest/projector/track.ts';
import type { BlockRange, BlockStore, StoredBlock } from '../../ports/cluster/documents.ts';

/**
 * A block that was decided longer ago may have been inserted, passed and forgotten by others while this node was
 * paused, and its token too (ClickHouse knows 10,000): its store is asked again.
 */
const FRESH_MS = 2_000;

/** Names the block in the progress of a shard. */
export interface BlockIntent {
  readonly token: string;
}
type ShardTrack = Track<BlockIntent>;

export class StoredBlocks implements BlockLog<BlockIntent> {
  readonly #blocks: BlockStore;
  readonly #blockOf: (shard: number) => Promise<string | undefined>;
  /** The token of the block that this node has begun last, and may be inserting. */
  #token: string | undefined;
  /** Blocks that no node seems to work on: token -> when they were seen first. */
  readonly #unsettled = new Map<string, number>();

  /** @param blockOf token of the block that a shard's progress names, as stored. */
  constructor(blocks: BlockStore, blockOf: (shard: number) => Promise<string | undefined>) {
    this.#blocks = blocks;
    this.#blockOf = blockOf;
  }

  async begin(
    ranges: readonly BlockRange[],
    tracks: ReadonlyMap<number, ShardTrack | undefined>,
    mayInsert: () => boolean,
    untilDone: UntilDone,
  ): Promise<BegunBlock | undefined> {
    const [{ shard: first, firstSeq }] = ranges;
    const token = `${first}-${firstSeq}-${randomBytes(9).toString('base64url')}`;
    const begunAt = performance.now();
    this.#token = token;
    await untilDone(() => this.#blocks.begin(token, ranges));
    const named = await Promise.all([...tracks.values()].map((track) => isNamedBy(track, token)));
    const decision = named.every(Boolean) && mayInsert() ? 'insert' : 'abandon';
    const decided = await untilDone(() => this.#blocks.decide(token, decision));
    if (decided === undefined) return undefined;
    const isUncertain = ranges.some((range) => range.firstSeq <= (tracks.get(range.shard)?.uncertainThrough ?? 0));
    const block = this.#begun(decided, !isUncertain && performance.now() - begunAt < FRESH_MS);
    // No node inserts the whole block: before each part the history is asked what it has of it.
    if (isUncertain) await untilDone(() => block.split(block.after, lastSeqOf(ranges)));
    return block;
  }

  async reopen({ token }: BlockIntent): Promise<BegunBlock | undefined> {
    const decided = await this.#blocks.decide(token, 'abandon');
    return decided && this.#begun(decided, false);
  }

  #begun({ token, ranges }: StoredBlock, isFresh: boolean): BegunBlock {
    const blocks = this.#blocks;
    return {
      token,
      ranges,
      isFresh,
      after: Math.min(...ranges.map(({ firstSeq }) => firstSeq)) - 1,
      endOf: async (after) => there(await blocks.decide(token, 'insert')).parts?.find((end) => end > after),
      split: async (_after, through) => there(await blocks.split(token, through)),
      mayRestore: async (shard) => (await this.#blockOf(shard)) === token,
    };
  }

  async passed(block: BegunBlock, areAll: boolean): Promise<void> {
    if (areAll || !(await this.#isNamed(block))) await this.#blocks.remove(block.token);
  }

  async #isNamed({ token, ranges }: Pick<StoredBlock, 'token' | 'ranges'>): Promise<boolean> {
    return (await Promise.all(ranges.map(({ shard }) => this.#blockOf(shard)))).includes(token);
  }

  /**
   * Up to where the journal of each shard that is here is not needed by any projector, this one's or that of a shard
   * with which it shares a block. Settles blocks of removed nodes which no shard names (any more).
   * @param tracks of the shards that are here. @param nowMs growing.
   */
  async trimBounds(
    tracks: ReadonlyMap<number, ShardTrack>,
    nowMs: number,
    unsettledAfterMs = 30_000,
  ): Promise<Map<number, number>> {
    const bounds = new Map([...tracks.values()].map(({ shard, position }) => [shard, position]));
    const stored = await this.#blocks.list();
    for (const { ranges } of stored) {
      for (const { shard, firstSeq } of ranges) bounds.set(shard, Math.min(bounds.get(shard) ?? 0, firstSeq - 1));
    }
    for (const shard of [...bounds.keys()]) if (!tracks.has(shard)) bounds.delete(shard);
    for (const token of this.#unsettled.keys())
      if (!stored.some((block) => block.token === token)) this.#unsettled.delete(token);
    for (const block of stored) {
      const since = this.#unsettled.get(block.token) ?? nowMs;
      this.#unsettled.set(block.token, since);
      // One that is named is settled by the owner of the shard that names it; one that is not decided cannot be decided
      // after this.
      if (block.token === this.#token || nowMs - since < unsettledAfterMs || (await this.#isNamed(block))) continue;
      if (block.state === 'begun') await this.#blocks.decide(block.token, 'abandon');
      else await this.#blocks.remove(block.token);
    }
    return bounds;
  }
}

async function isNamedBy(track: ShardTrack | undefined, token: string): Promise<boolean> {
  try {
    await track?.progress.saveIntent({ token });
    return track !== undefined;
  } catch {
    // The documents of a shard refuse only what comes from a former owner.
    return false;
  }
}

const lastSeqOf = (ranges: readonly BlockRange[]): number => Math.max(...ranges.map(({ lastSeq }) => lastSeq));

/** @throws GivenUp when the block is gone: all of it was inserted by another node. */
function there(block: StoredBlock | undefined): StoredBlock {
  if (!block) throw new GivenUp();
  return block;
}
