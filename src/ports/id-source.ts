/** Port of the ids of new entities and records. */
import type { ActorKey } from '../model/commands/command.ts';

/**
 * Blocks of ids reserved in the document store; unique over tenants and kinds, below 2^53. Ids grow with time, but in a
 * cluster each node has blocks of its own: where the order of ids has a meaning over the nodes they are to be taken in
 * order.
 */
export interface IdSource {
  next(): number;
  /** The id that `next` will give. */
  peek(): number;
  /**
   * An id whose documents lie in the shard of the actor `key`: for what that actor writes (alarms, events and
   * operations of a source). Ids in between are left out.
   */
  nextBeside(tenant: number, key: ActorKey): number;
  /**
   * Greater than all ids that were given in order before the call, by whichever node. For what is listed or chosen by
   * its id: records of a tenant.
   * @throws PlatformError `general/documents-unavailable`: in a cluster each call is a round trip to the store.
   */
  nextInOrder(): Promise<number>;
  /**
   * The same beside the actor of each key, ascending in the order of the keys: for operations, the oldest of which has
   * a meaning.
   */
  nextBesideInOrder(tenant: number, keys: readonly ActorKey[]): Promise<number[]>;
}
