/**
 * The measurements of a decided block, by whichever node inserts them: as a whole with the block's token, or in parts
 * once a node has found that they are refused. The block's store is asked before each insert, so that all of them
 * take the same parts.
 */
import { damagedAt } from '../../ingest/measurements/damaged.ts';
import type { DamagedMeasurement } from '../../ingest/measurements/damaged.ts';
import { columnsOf, findMeasurements } from '../../ingest/measurements/range.ts';
import type { FoundMeasurement } from '../../ingest/measurements/range.ts';
import { GivenUp } from '../../ingest/projector/history-insert.ts';
import type { HistoryInsert, InsertScope } from '../../ingest/projector/history-insert.ts';
import type { MeasurementColumns } from '../../ingest/measurements/columns.ts';
import type { Log } from '../../ports/log.ts';
import type { BlockStore, StoredBlock } from '../../ports/cluster/documents.ts';
import type { ShardJournal } from '../../ports/cluster/journal.ts';

export interface BlockMeasurementsOptions {
  readonly blocks: BlockStore;
  readonly journal: ShardJournal;
  readonly insert: HistoryInsert;
  /** Token of the block that a shard's projector is at. */
  readonly blockOf: (shard: number) => Promise<string | undefined>;
  readonly rowsMax: number;
  /** Before this node asked for the decision, `performance.now()`. */
  readonly decidedAt?: number;
  readonly log: Log;
}

/**
 * A block that was decided longer ago may have been inserted, passed and forgotten by others while this node was
 * paused, and its token too (ClickHouse knows 10,000): its store is asked again.
 */
const FRESH_MS = 2_000;

/**
 * Inserts the measurements of all ranges. The set of rows is that of the block; their order is not, and is nothing that
 * the store's deduplication looks at.
 * @param filled the rows, where this node has just filled and decided the block; otherwise they are read from the
 * journal.
 * @returns how many were not set aside. Rejects with GivenUp when the block is gone too: all of it was inserted by another node.
 */
export async function insertMeasurementsOf(
  stored: StoredBlock,
  filled: MeasurementColumns | undefined,
  options: BlockMeasurementsOptions,
  scope: InsertScope,
): Promise<number> {
  const { blocks, journal, insert, blockOf, rowsMax, decidedAt = 0, log } = options;
  const { token } = stored;
  let damaged: DamagedMeasurement[] = [];
  let found: Promise<readonly FoundMeasurement[]> | undefined;
  const read = (): Promise<readonly FoundMeasurement[]> => {
    found ??= readBlock(stored, journal, (damaged = []));
    found.catch(() => {
      found = undefined;
    });
    return found;
  };
  const partsNow = async (): Promise<readonly number[] | undefined> => {
    const block = await blocks.decide(token, 'insert');
    if (!block) throw new GivenUp();
    return block.parts;
  };
  const columns = filled ?? columnsOf(await insert.untilDone(read, scope), rowsMax);
  // The node that filled the block has set them aside.
  await insert.damaged(damaged, scope);
  if (columns.rowCount === 0) return 0;
  const mayInsert = async (): Promise<boolean> => (await partsNow()) === undefined;
  const mayRestore = async (shard: number): Promise<boolean> => (await blockOf(shard)) === token;
  const isFresh = filled !== undefined && performance.now() - decidedAt < FRESH_MS;
  const refusal =
    stored.parts !== undefined
      ? 'left'
      : await insert.measurements({ columns, token, isFresh, mayInsert, mayRestore }, scope);
  if (refusal === undefined) return columns.rowCount;
  const first = Math.min(...stored.ranges.map(({ firstSeq }) => firstSeq));
  if (refusal !== 'left') {
    log.warn(
      { error: refusal.message, token },
      'projector: a block of measurements is refused; it is inserted in parts',
    );
    // From here on no node inserts the whole block under its own token: parts of it will be there.
    await insert.untilDone(() => inParts(stored, blocks), scope);
  }
  const rowsAside = await insert.parts(
    {
      token,
      after: first - 1,
      endOf: (after) => insert.untilDone(async () => (await partsNow())?.find((end) => end > after), scope),
      split: (_after, through) => split(blocks, token, through),
      mayRestore,
      read: async (from, through) =>
        (await insert.untilDone(read, scope)).filter(({ seq }) => seq >= from && seq <= through),
    },
    scope,
  );
  return columns.rowCount - rowsAside;
}

/** No node inserts the whole block from here on: before each part the history is asked what it has of it. */
export async function inParts(stored: StoredBlock, blocks: BlockStore): Promise<StoredBlock> {
  const divided = await blocks.split(stored.token, Math.max(...stored.ranges.map(({ lastSeq }) => lastSeq)));
  if (!divided) throw new GivenUp();
  return divided;
}

async function split(blocks: BlockStore, token: string, through: number): Promise<void> {
  if (!(await blocks.split(token, through))) throw new GivenUp();
}

/**
 * By sequence, which is over all shards. @param damaged takes what cannot be read. @throws when the journal has not all
 * of it.
 */
async function readBlock(
  block: StoredBlock,
  journal: ShardJournal,
  damaged: DamagedMeasurement[],
): Promise<FoundMeasurement[]> {
  const found: FoundMeasurement[] = [];
  for (const { shard, firstSeq, lastSeq } of block.ranges) {
    for (let seq = firstSeq; seq <= lastSeq; ) {
      const group = await journal.read(shard, seq);
      if (!group || (seq === firstSeq && group.firstSeq > firstSeq)) {
        throw new Error(`the journal of shard ${shard} has no ${seq}, which the block ${block.token} needs`);
      }
      seq = findMeasurements(group, firstSeq, lastSeq, found, ({ records, at, seq: of }) => {
        damaged.push(damagedAt(records, at, of));
      });
    }
  }
  return found.sort((a, b) => a.seq - b.seq);
}
