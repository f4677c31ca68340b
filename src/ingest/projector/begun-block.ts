/**
 * A block of measurements that is written down before it is inserted, so that each measurement is inserted exactly
 * once, whatever process ends: as a whole with the block's token, or in parts once the history store has refused it.
 */
import type { BlockRange } from '../../ports/cluster/documents.ts';
import type { InsertIntent, ProjectorProgress } from './progress.ts';

export interface BegunBlock {
  /** Of the whole block; parts have `<token>/<after + 1>-<through>`. */
  readonly token: string;
  readonly ranges: readonly BlockRange[];
  /** No other process or node can have begun to insert it. */
  readonly isFresh: boolean;
  /** Before its first measurement, or behind the last part that is known to be done. */
  readonly after: number;
  /**
   * End of the part that begins behind `after`, as it is written down now; undefined behind the last, and when the block
   * is not in parts. Rejects with GivenUp when the block is gone: all of it was inserted by another node.
   */
  readonly endOf: (after: number) => number | undefined | Promise<number | undefined>;
  /** Writes down that the block is in parts, and that the one behind `after` ends at `through`. */
  readonly split: (after: number, through: number) => Promise<unknown>;
  readonly mayRestore?: MayRestore;
}

/**
 * Of a cluster: whether no owner of the shard has passed the measurements yet. Behind it a DELETE may have taken rows,
 * which must not come back. Absent in one process.
 */
export type MayRestore = (shard: number) => Promise<boolean>;

/** The block of one process, which is its intent in the progress. */
export function intentBlock(
  { firstSeq, lastSeq, parts }: InsertIntent,
  progress: Pick<ProjectorProgress, 'saveIntent'>,
  isFresh: boolean,
): BegunBlock {
  let ends = parts?.ends ?? [];
  return {
    token: `${firstSeq}-${lastSeq}`,
    ranges: [{ shard: 0, firstSeq, lastSeq }],
    isFresh,
    after: parts?.after ?? firstSeq - 1,
    endOf: (after) => ends.find((end) => end > after),
    split: (after, through) => {
      ends = [through, ...ends.filter((end) => end > after && end !== through)];
      return progress.saveIntent({ firstSeq, lastSeq, parts: { after, ends } });
    },
  };
}
