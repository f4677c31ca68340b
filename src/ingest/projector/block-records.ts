/** The records of a begun block, read from the journal again. */
import { COMMAND } from '../../model/commands/kinds.ts';
import { isStored } from '../../model/commands/processing-mode.ts';
import type { BlockRange } from '../../ports/cluster/documents.ts';
import type { JournalBatch } from '../../ports/stores/journal.ts';
import { readableCommand } from '../journal/command-record.ts';
import type { JournalCommand } from '../journal/command-record.ts';
import { kindAt, modeAt, nextAt } from '../journal/record-layout.ts';
import { damagedAt } from '../measurements/damaged.ts';
import type { DamagedMeasurement } from '../measurements/damaged.ts';
import type { FoundMeasurement } from '../measurements/range.ts';
import { isWholeMeasurement } from '../measurements/record.ts';
import { isDeletion } from './block.ts';

export interface BlockRecords {
  /** Measurements that are stored, by sequence. */
  readonly found: FoundMeasurement[];
  /** Those that cannot be read. */
  readonly damaged: DamagedMeasurement[];
  /** DELETEs, and what deleted objects leave. */
  readonly deletions: JournalCommand[];
}

/** The group of the shard's journal that holds `seq`, or the next one; undefined at the end. The caller keeps it. */
type ReadJournal = (shard: number, seq: number) => JournalBatch | undefined | Promise<JournalBatch | undefined>;

/**
 * Sequences are over all shards. Measurements are copies: their groups may be much larger than the block.
 * @throws when the journal has not all of it.
 */
export async function readBlock(ranges: readonly BlockRange[], read: ReadJournal): Promise<BlockRecords> {
  const records: BlockRecords = { found: [], damaged: [], deletions: [] };
  for (const { shard, firstSeq, lastSeq } of ranges) {
    for (let seq = firstSeq; seq <= lastSeq; ) {
      const group = await read(shard, seq);
      if (!group || (seq === firstSeq && group.firstSeq > firstSeq))
        throw new Error(`the journal of shard ${shard} has no ${seq}, which a begun block needs`);
      seq = take(group, firstSeq, lastSeq, records);
    }
  }
  records.found.sort((a, b) => a.seq - b.seq);
  return records;
}

/** Those with a sequence from `from` to `through`. @returns the sequence behind the group. */
function take({ firstSeq, records }: JournalBatch, from: number, through: number, into: BlockRecords): number {
  const view = new DataView(records.buffer, records.byteOffset, records.length);
  let seq = firstSeq;
  for (let at = 0; at < records.length; at = nextAt(records, at), seq += 1) {
    if (seq < from || seq > through) continue;
    const kind = kindAt(records, at);
    const command = isDeletion(kind) ? readableCommand(records, at, seq) : undefined;
    if (command !== undefined) into.deletions.push(command);
    if (kind !== COMMAND.MEASUREMENT || !isStored(modeAt(records, at))) continue;
    if (isWholeMeasurement(view, at))
      into.found.push({ records: Buffer.from(records.subarray(at, nextAt(records, at))), at: 0, seq });
    else into.damaged.push(damagedAt(records, at, seq));
  }
  return seq;
}
