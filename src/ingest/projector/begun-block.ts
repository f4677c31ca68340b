/**
 * A block of measurements that is written down before it is inserted, so that each measurement is inserted exactly
 * once, whatever process ends: as a whole with the block's token, or in parts once the history store has refused it.
 */
import type { BlockRange } from '../../ports/cluster/documents.ts';
import type { Track } from './track.ts';

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

/** Runs until it succeeds. Rejects with GivenUp when the projector stops. */
export type UntilDone = <Value>(action: () => Value | Promise<Value>) => Promise<Value>;

/** Where blocks are written down. `Intent`: what stands of one in the progress. */
export interface BlockLog<Intent> {
  /**
   * Writes a block down in the progress of its tracks.
   * @param mayInsert whether all tracks are still here and the projector does not stop. @returns undefined when they are not: the block is not inserted.
   */
  begin(
    ranges: readonly BlockRange[],
    tracks: ReadonlyMap<number, Track<Intent> | undefined>,
    mayInsert: () => boolean,
    untilDone: UntilDone,
  ): Promise<BegunBlock | undefined>;
  /** A block that stands in the progress of a track; undefined when it was not inserted and never will be. */
  reopen(intent: Intent, track: Track<Intent>): Promise<BegunBlock | undefined>;
  /** Absent where the progress is all that is written. @param areAll every track has moved behind the block, else one. */
  passed?(block: BegunBlock, areAll: boolean): Promise<void>;
}
