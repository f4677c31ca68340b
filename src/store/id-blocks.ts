/**
 * Ids from blocks that are reserved in the document store: unique over restarts, growing, below 2^53 (design,
 * Identifiers).
 */
import type { Documents } from '../ports/stores/documents.ts';
import { shardOf, shardOfId } from '../ingest/journal/command-record.ts';
import type { ActorKey } from '../model/commands/command.ts';
import type { IdSource } from '../ports/id-source.ts';

const BLOCK_SIZE = 4_194_304;
/** The next block is reserved when this many are left. */
const RESERVE_AT = 2_097_152;
const FIRST_ID = 1_000;
const KEY = 'ids';

export class IdBlocks implements IdSource {
  readonly #documents: Documents;
  readonly #onError: (error: Error) => void;
  #next = 0;
  #end = 0;
  #reserving = false;

  private constructor(documents: Documents, onError: (error: Error) => void) {
    this.#documents = documents;
    this.#onError = onError;
  }

  static async open(documents: Documents, onError: (error: Error) => void): Promise<IdBlocks> {
    const ids = new IdBlocks(documents, onError);
    ids.#next = Number((await documents.get('meta', 0, KEY)) ?? FIRST_ID);
    ids.#end = ids.#next;
    await ids.#reserve();
    return ids;
  }

  next(): number {
    if (this.#end - this.#next < RESERVE_AT && !this.#reserving) void this.#reserve().catch(this.#onError);
    if (this.#next >= this.#end) throw new Error('no reserved ids are left: the document store does not answer');
    const id = this.#next;
    this.#next += 1;
    return id;
  }

  peek(): number {
    return this.#next;
  }

  nextBeside(tenant: number, key: ActorKey): number {
    return idBeside(this, tenant, key);
  }

  // One process gives all ids, and so all of them in order.
  async nextInOrder(): Promise<number> {
    return this.next();
  }
  async nextBesideInOrder(tenant: number, keys: readonly ActorKey[]): Promise<number[]> {
    return keys.map((key) => this.nextBeside(tenant, key));
  }

  /** An id is only given out when the reservation of its block is on disk. */
  async #reserve(): Promise<void> {
    this.#reserving = true;
    try {
      const end = this.#end + BLOCK_SIZE;
      await this.#documents.commit([{ collection: 'meta', tenant: 0, id: KEY, value: String(end) }], undefined);
      this.#end = end;
    } finally {
      this.#reserving = false;
    }
  }
}

/** The next of the ids that lies in the shard of the actor `key`. */
export function idBeside(ids: { next(): number }, tenant: number, key: ActorKey): number {
  const shard = shardOf(tenant, key);
  for (;;) {
    const id = ids.next();
    if (shardOfId(tenant, id) === shard) return id;
  }
}
