/**
 * Port of the cluster's journal (design 1): one ordered, durable, replicated sequence of groups for each of the 64
 * shards. Implemented on NATS JetStream in src/store. A group is one message; the sequence of a record is `message
 * sequence * GROUP_RECORDS_MAX + its place`, so sequences of a shard grow but have gaps.
 */

/** Records in one group at most; bytes: model/commands/group-bounds.ts. */
export const GROUP_RECORDS_MAX = 4_096;

/** A durable group of one shard. */
export interface ShardGroup {
  readonly shard: number;
  /** Sequence of the first record; the others of the group follow without gaps. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Records, see ingest/journal/command-record.ts. Owned by the receiver. */
  readonly records: Buffer;
  /** The gateway (`nodeId`) that appended it, which waits for the answers of its commands. */
  readonly gateway: string;
}

export interface ShardFollower {
  /** Stops; resolves when no call of `onGroup` is under way or will come. */
  stop(): Promise<void>;
}

export interface ShardJournal {
  /**
   * Appends one group. Several may be under way for different shards, one at a time for a shard.
   * A publication whose acknowledgement is lost is repeated with the same `groupId` (Nats-Msg-Id), so that it is stored
   * once.
   * @param groupId unique over nodes and restarts.
   * @returns the sequence of the first record, when JetStream has stored it on all replicas that it wants.
   * @throws JournalUnavailable when it is not stored, or not known to be, within the time limit.
   */
  append(shard: number, groupId: string, records: Buffer, recordCount: number): Promise<number>;
  /**
   * Calls `onGroup` for each group behind `afterSeq`, in order, one call after the other (the next when the promise has
   * resolved): at most a few groups are in memory. Survives restarts of NATS: goes on where it was, nothing left out
   * and nothing twice.
   * @param onGroup a rejection stops the follower and is given to `onError`.
   */
  follow(
    shard: number,
    afterSeq: number,
    onGroup: (group: ShardGroup) => void | Promise<void>,
    onError: (error: Error) => void,
  ): ShardFollower;
  /**
   * The group that holds `seq` or the next one of the shard; undefined at the end. For catching up and repeating a
   * block.
   */
  read(shard: number, seq: number): Promise<ShardGroup | undefined>;
  /** Sequence of the last record stored in the shard, 0 when there is none. Asks the server. */
  lastSeq(shard: number): Promise<number>;
  /** Forgets groups of the shard whose records are all at or below `seq`. */
  trim(shard: number, seq: number): Promise<void>;
  /** Bytes kept in all shards, as last seen (refreshed about every second). */
  readonly sizeBytes: number;
  /** Undefined while NATS answers; otherwise what is wrong, for `refusal` and health. */
  readonly unavailable: string | undefined;
}

/** The journal could not take a group: the sender is told to try again (503 with Retry-After, MQTT 5 reason code). */
export class JournalUnavailable extends Error {}
