/**
 * The first start of a cluster: tenants and accounts are made by one node while the others wait. What a later start
 * wants to change (another password in the configuration) is not written here but handed back, to be sent to its
 * actors.
 */
import type { DocumentChange, Documents } from '../../ports/stores/documents.ts';
import type { ListOptions } from '../../ports/document-reader.ts';
import type { Collection } from '../../model/commands/collections.ts';
import type { RedisConnection } from './connection.ts';
import { RedisScript } from './connection.ts';
import type { NewDocument, RedisDocumentReader } from './document-reader.ts';

/** A node that dies in the middle lets the next one go on after this time. */
const LOCK_MS = 30_000;
const LOOK_MS = 100;

const LOCK = new RedisScript(`return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`);
const UNLOCK = new RedisScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1`);

/** Reads what is stored, keeps what is written. */
class Overlay implements Documents {
  readonly changes = new Map<string, DocumentChange>();
  readonly #reader: RedisDocumentReader;

  constructor(reader: RedisDocumentReader) {
    this.#reader = reader;
  }

  async get(collection: Collection, tenant: number, id: string): Promise<string | undefined> {
    const change = this.changes.get(`${collection}/${tenant}/${id}`);
    return change ? change.value : this.#reader.get(collection, tenant, id);
  }

  getMany(collection: Collection, tenant: number, ids: readonly string[]): Promise<(string | undefined)[]> {
    return Promise.all(ids.map((id) => this.get(collection, tenant, id)));
  }

  async list(
    collection: Collection,
    tenant: number,
    prefix: string,
    options: ListOptions,
  ): Promise<{ id: string; value: string }[]> {
    const found = new Map(
      (await this.#reader.list(collection, tenant, prefix, options)).map(({ id, value }) => [id, value]),
    );
    for (const change of this.changes.values()) {
      if (change.collection !== collection || change.tenant !== tenant || !change.id.startsWith(prefix)) continue;
      if (change.value === undefined) found.delete(change.id);
      else found.set(change.id, change.value);
    }
    return [...found]
      .map(([id, value]) => ({ id, value }))
      .sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
      .slice(0, options.limit);
  }

  async commit(changes: Iterable<DocumentChange>): Promise<void> {
    for (const change of changes) this.changes.set(`${change.collection}/${change.tenant}/${change.id}`, change);
  }

  position(): number {
    return 0;
  }
}

export interface ChangeOfExisting {
  readonly change: DocumentChange;
  readonly expected: string;
}

/**
 * Runs `make` on the documents, one node at a time, and writes what it adds.
 * @returns what it changes of documents that were there, for their actors. @throws Error when another node holds the
 * start up for `timeoutMs`.
 */
export async function firstStart(
  options: {
    connection: RedisConnection;
    reader: RedisDocumentReader;
    prefix: string;
    nodeId: string;
    timeoutMs: number;
  },
  make: (documents: Documents) => Promise<void>,
): Promise<ChangeOfExisting[]> {
  const { connection, reader, prefix, nodeId } = options;
  const key = `${prefix}:first-start`;
  for (
    const end = performance.now() + options.timeoutMs;
    Number(await connection.run(LOCK, [key], [nodeId, String(LOCK_MS)])) !== 1;
  ) {
    if (performance.now() > end)
      throw new Error(`another node has been starting for ${options.timeoutMs} ms (Redis key ${key})`);
    await new Promise((resolve) => {
      setTimeout(resolve, LOOK_MS);
    });
  }
  try {
    const overlay = new Overlay(reader);
    await make(overlay);
    const wanted = [...overlay.changes.values()].filter((change): change is NewDocument => change.value !== undefined);
    const found = await reader.commitOnce(wanted);
    return wanted.flatMap((change, index) => {
      const expected = found[index];
      return expected === undefined || expected === change.value ? [] : [{ change, expected }];
    });
  } finally {
    await connection.run(UNLOCK, [key], [nodeId]);
  }
}
