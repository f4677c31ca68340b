/**
 * The measurements of a decided block, which several nodes may insert. The block's store is asked before each insert,
 * so that all of them take the same parts.
 */
import type { BegunBlock } from '../../ingest/projector/begun-block.ts';
import { GivenUp } from '../../ingest/projector/history-insert.ts';
import type { BlockStore, StoredBlock } from '../../ports/cluster/documents.ts';

/** @param blockOf token of the block that a shard's projector is at. @param isFresh see BegunBlock. */
export function decidedBlock(
  { token, ranges }: StoredBlock,
  blocks: BlockStore,
  blockOf: (shard: number) => Promise<string | undefined>,
  isFresh: boolean,
): BegunBlock {
  return {
    token,
    ranges,
    isFresh,
    after: Math.min(...ranges.map(({ firstSeq }) => firstSeq)) - 1,
    endOf: async (after) => stillThere(await blocks.decide(token, 'insert')).parts?.find((end) => end > after),
    split: async (_after, through) => stillThere(await blocks.split(token, through)),
    mayRestore: async (shard) => (await blockOf(shard)) === token,
  };
}

/** No node inserts the whole block from here on: before each part the history is asked what it has of it. */
export async function inParts({ token, ranges }: StoredBlock, blocks: BlockStore): Promise<void> {
  stillThere(await blocks.split(token, Math.max(...ranges.map(({ lastSeq }) => lastSeq))));
}

function stillThere(block: StoredBlock | undefined): StoredBlock {
  if (!block) throw new GivenUp();
  return block;
}
