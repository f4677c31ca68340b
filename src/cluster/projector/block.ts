/** A block of the cluster's projector: rows of several shards, with the range of each. */
import { BlockRows } from '../../ingest/projector/block-rows.ts';
import { deletionsOf, isOfOneMeasurement } from '../../ingest/projector/late-deletions.ts';
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { readableCommand } from '../../ingest/journal/command-record.ts';
import type { JournalCommand } from '../../ingest/journal/command-record.ts';
import { kindAt, nextAt } from '../../ingest/journal/record-layout.ts';
import type { BlockRange } from '../../ports/cluster/documents.ts';

/** How far a group went into a block. */
export interface Consumed {
  /** Last record that is in the block or needs no row. */
  readonly lastSeq: number;
  /** A DELETE, which stands behind it. */
  readonly deletion: Deletion | undefined;
}

/**
 * A DELETE by filters; or, one right behind the other, DELETEs of single measurements, or what deleted objects leave.
 */
export interface Deletion {
  /** Of the records that are carried out. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** SOURCE_DELETE; empty for a DELETE by filters. */
  readonly gone: readonly JournalCommand[];
  /** DATA_DELETE, not empty. */
  readonly commands: readonly JournalCommand[];
}

/** A group whose rows are decided. `afterSeq`: last sequence of the group before it, as it was followed. */
export interface OfferedGroup {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly afterSeq: number;
  readonly records: Buffer;
  readonly rows: readonly HistoryRow[];
}

/**
 * What begins at the record, with those of its kind right behind it; undefined for what is none, or cannot be read. A
 * DELETE by filters stands alone.
 */
function deletionAt(records: Buffer, start: number, firstSeq: number, throughSeq: number): Deletion | undefined {
  const found: JournalCommand[] = [];
  const kind = kindAt(records, start);
  if (kind !== COMMAND.SOURCE_DELETE && kind !== COMMAND.DATA_DELETE) return undefined;
  let seq = firstSeq;
  for (let at = start; at < records.length && seq <= throughSeq; at = nextAt(records, at), seq += 1) {
    if (kindAt(records, at) !== kind) break;
    const command = readableCommand(records, at, seq);
    if (command === undefined) break;
    const isAlone = kind === COMMAND.DATA_DELETE && !isOfOneMeasurement(command);
    if (isAlone && found.length > 0) break;
    found.push(command);
    if (isAlone) return { firstSeq, lastSeq: seq, gone: [], commands: found };
  }
  if (found.length === 0) return undefined;
  return {
    firstSeq,
    lastSeq: seq - 1,
    gone: kind === COMMAND.SOURCE_DELETE ? found : [],
    commands: deletionsOf(found),
  };
}

export class Block extends BlockRows {
  /** shard -> first and last sequence */
  readonly ranges = new Map<number, { firstSeq: number; lastSeq: number }>();

  get isEmpty(): boolean {
    return this.ranges.size === 0;
  }
  get rangeList(): BlockRange[] {
    return [...this.ranges].map(([shard, range]) => ({ shard, ...range }));
  }

  /**
   * Adds records of a shard behind `afterSeq` and up to `throughSeq`, until the block is full or a DELETE comes.
   * @param goneAhead sequences of SOURCE_DELETE that are carried out already.
   * @returns undefined when the group has none of them.
   */
  consume(
    shard: number,
    firstSeq: number,
    records: Buffer,
    afterSeq: number,
    throughSeq = Number.POSITIVE_INFINITY,
    goneAhead?: ReadonlySet<number>,
  ): Consumed | undefined {
    const view = new DataView(records.buffer, records.byteOffset, records.length);
    let seq = firstSeq;
    let lastSeq: number | undefined;
    let deletion: Deletion | undefined;
    for (let at = 0; at < records.length && seq <= throughSeq; at = nextAt(records, at), seq += 1) {
      if (seq > afterSeq) {
        if (this.isFull) break;
        deletion = goneAhead?.has(seq) === true ? undefined : deletionAt(records, at, seq, throughSeq);
        if (deletion) break;
        this.addRecord(records, view, at, seq);
        lastSeq = seq;
        const range = this.ranges.get(shard);
        if (range) range.lastSeq = seq;
        else this.ranges.set(shard, { firstSeq: seq, lastSeq: seq });
      }
    }
    return lastSeq === undefined && deletion === undefined ? undefined : { lastSeq: lastSeq ?? afterSeq, deletion };
  }

  override clear(): void {
    super.clear();
    this.ranges.clear();
  }
}
