/**
 * Ports of the cluster's documents (decision 3): each shard has its own, written by its owner alone, read by everybody.
 */
import type { Documents } from '../stores/documents.ts';
import type { DocumentReader } from '../document-reader.ts';

/**
 * The documents of one shard with its own `meta` and `pending`, for its owner: a commit only changes documents of this
 * shard.
 */
export interface ShardDocuments extends Documents {
  /**
   * Fences every former owner: from here on commits with a smaller epoch are refused. Commits of this object carry
   * `epoch`. The same epoch again after StateLost.
   * @returns the position of the shard. @throws Fenced when a larger epoch is stored.
   */
  takeOver(epoch: number): Promise<number>;
  /**
   * See Documents. Takes effect in the order of the calls; repeated until the store answers.
   * @throws Fenced when another owner has taken the shard over: nothing was written. StateLost when the store came back
   * with an older state.
   */
  commit: Documents['commit'];
  /** The position that survives the store's loss of power: the journal may be trimmed up to it. */
  durablePosition(): Promise<number>;
  /** Ends repetitions: what is under way may have been written, what comes is refused. */
  stop(): void;
}

/**
 * The documents of all shards, as they are committed. `meta` and `pending` are those of the cluster, of a shard with
 * `inShard`.
 */
export interface ClusterReader extends DocumentReader {
  inShard(shard: number): DocumentReader;
}

export interface ClusterDocuments {
  readonly reader: ClusterReader;
  /**
   * An object of its own for each time that this node owns the shard. @param onLostState the store lost commits: see
   * StateLost.
   */
  open(shard: number, onLostState: () => void): ShardDocuments;
}

/** The shard has another owner: whatever runs for it here ends without writing. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}
/** The store has lost what it had acknowledged: `takeOver` again, then replay behind the position that it answers. */
export class StateLost extends Error {
  override readonly name = 'StateLost';
}

/** The range of a shard in a block of the projector. */
export interface BlockRange {
  readonly shard: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface StoredBlock {
  readonly token: string;
  readonly ranges: readonly BlockRange[];
  /** `begun`: not inserted yet by anybody; `decided`: may have been inserted. */
  readonly state: 'begun' | 'decided';
  /**
   * Present once the history store has refused the block: the sequences, ascending, at which its parts end; the first
   * one begins with the block. It must not be inserted as a whole any more. A part may be divided again, its end stays.
   */
  readonly parts?: readonly number[];
}

/**
 * Port of the blocks that projectors are about to insert (Redis: `<prefix>:block:<token>` and a set of their tokens).
 * Few exist at a time. The decision is taken in one place, so that a former owner that still goes on and the new one
 * that finds its block agree.
 */
export interface BlockStore {
  /** Writes down a block, as `begun`. */
  begin(token: string, ranges: readonly BlockRange[]): Promise<void>;
  /**
   * `insert`: makes a begun block decided. `abandon`: removes a begun block; a decided one stays. Atomic.
   * @returns the block when it is decided, by this call or before; undefined when it is gone: it was never inserted and
   * must not be.
   */
  decide(token: string, decision: 'insert' | 'abandon'): Promise<StoredBlock | undefined>;
  /**
   * A part of a decided block ends at `through`, beside those that are there; nothing changes when it is known. Atomic.
   * @returns the block as it is now; undefined when it is gone or not decided.
   */
  split(token: string, through: number): Promise<StoredBlock | undefined>;
  /** Every shard of the block has passed it. */
  remove(token: string): Promise<void>;
  /** All that are there. */
  list(): Promise<readonly StoredBlock[]>;
}
