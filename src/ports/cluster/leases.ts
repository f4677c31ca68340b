/**
 * Port of shard ownership (issue 3 point 2). Each shard has an entry in a JetStream key-value bucket: `{node, epoch,
 * until}`; the node that holds it owns the shard. Implemented in src/store on NATS; the policy (who should own what) is pure
 * and lies in src/cluster/shards/assignment.ts.
 */

/**
 * A store that a node does not reach: without documents it can decide nothing, without the history its rows are not
 * seen.
 */
export type Lack = 'documents' | 'history';

export interface Member {
  readonly nodeId: string;
  readonly roles: readonly ('gateway' | 'shard' | 'scoring')[];
  /** It wants to give its shards away (planned stop). */
  readonly isLeaving: boolean;
  /** The worst of what it lacks, by its own account; absent when it has all. */
  readonly lacks?: Lack | undefined;
}

export interface ShardLeasesEvents {
  /**
   * The shard is ours under this epoch, which is larger than every earlier one. The owner takes it into service: it
   * sets the epoch in the documents (which fences the former owner), replays, follows.
   */
  readonly onAcquired: (shard: number, epoch: number) => Promise<void>;
  /**
   * A planned hand-over: the owner stops following, finishes what is under way (one batch), and the lease is released
   * when the promise resolves.
   */
  readonly onRelease: (shard: number) => Promise<void>;
  /**
   * The lease is gone (not renewed in time, or another node has it): whatever runs for the shard must end without
   * writing.
   */
  readonly onLost: (shard: number) => void;
  /** Members or owners changed; `ownerOf` and `members` answer anew. */
  readonly onChanged: () => void;
}

export interface ShardLeases {
  /** Joins and begins to acquire. @param events called until `leave` has resolved. */
  join(events: ShardLeasesEvents): Promise<void>;
  /** Hands every shard over (others are told to take them at once) and leaves. */
  leave(): Promise<void>;
  /**
   * What this node does not reach, undefined: it reaches everything. Members that lack less take its shards after a
   * while; without documents they are given up (`onLost`), otherwise handed over. Where all lack the same, everybody
   * keeps what he has (fitness.ts).
   */
  lack(what: Lack | undefined): void;
  /** The node that owns the shard as last seen, undefined when no node does. */
  ownerOf(shard: number): string | undefined;
  readonly owned: ReadonlyMap<number, number>;
  readonly members: readonly Member[];
}
