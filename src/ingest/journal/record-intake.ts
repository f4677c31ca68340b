/**
 * Where gateways put records: the one group commit of a single node (group-commit.ts), or the groups of each shard of a
 * cluster (cluster/gateway/journal.ts). A record is encoded straight into the open group's buffer.
 */
import type { ActorKey } from '../../model/commands/command.ts';

/** Told of durable records. One object serves any number of records (a connection, a request). */
export interface AcknowledgementSink {
  /** Its tokens are reported in the order in which they were appended, whichever shards their records are of. */
  readonly isOrdered?: boolean;
  /** The record appended with `token` is durable. Nothing is to be written before `flushDurable`. */
  durable(token: number): void;
  /** All records of the group have been reported. */
  flushDurable(): void;
  /** The group could not be written; nothing of it is stored, or in a cluster it is not known whether it is. */
  failed(token: number, error: Error): void;
}

export interface RecordIntake {
  /** The buffer that was reserved in last; valid until the next call of `reserve`. */
  readonly buffer: Buffer;
  readonly view: DataView;
  /** Which limit refuses writes now, undefined when none does. */
  readonly refusal: string | undefined;
  /**
   * Room for one record of `bytes` whose actor is `key` of `tenant`.
   * @returns the offset to encode at, or -1 when there is none: wait with `whenFree`.
   */
  reserve(bytes: number, tenant: number, key: ActorKey): number;
  /** Ends the record that was encoded at the reserved offset. Its length and shard are in its header. */
  append(bytes: number, sink: AcknowledgementSink, token: number): void;
  /**
   * Takes several records as one: `sink` hears of them once, when all are durable or one is not. Waits by itself where
   * the group is full.
   * @param records one behind the other in `records[0, bytes)`; may change after the call.
   */
  appendAll(records: Buffer, bytes: number, recordCount: number, sink: AcknowledgementSink, token: number): void;
  /** Acknowledges something that has no record, in order behind what `sink` appended before it. */
  acknowledgeInOrder(sink: AcknowledgementSink, token: number): void;
  /** Calls back once when there may be room where `reserve` last found none. */
  whenFree(callback: () => void): void;
}
