/**
 * Knows whether the documents can be read and written: the result of the last commit, how long the oldest one under way
 * takes, and a read that is begun at each question. No caller waits for any of it.
 */
import type { DocumentChange, Documents } from '../ports/stores/documents.ts';
import type { ListOptions } from '../ports/document-reader.ts';
import type { Collection } from '../model/commands/collections.ts';

/**
 * A commit or a read that takes longer means that the store is stuck. A commit takes milliseconds, on a slow disk some
 * hundred.
 */
const STUCK_MS = 5_000;
const PROBE_ID = 'schema';

export class WatchedDocuments implements Documents {
  readonly #documents: Documents;
  readonly #now: () => number;
  /** When the commits under way began, the oldest first. */
  readonly #commits = new Set<{ readonly beganAt: number }>();
  #commitError: string | undefined;
  #readBeganAt: number | undefined;
  #readError: string | undefined;

  /** @param now milliseconds that only grow. */
  constructor(documents: Documents, now: () => number = () => performance.now()) {
    this.#documents = documents;
    this.#now = now;
  }

  get(collection: Collection, tenant: number, id: string): string | undefined | Promise<string | undefined> {
    return this.#documents.get(collection, tenant, id);
  }

  getMany(
    collection: Collection,
    tenant: number,
    ids: readonly string[],
  ): (string | undefined)[] | Promise<(string | undefined)[]> {
    return this.#documents.getMany(collection, tenant, ids);
  }

  list(
    collection: Collection,
    tenant: number,
    prefix: string,
    options: ListOptions,
  ): { id: string; value: string }[] | Promise<{ id: string; value: string }[]> {
    return this.#documents.list(collection, tenant, prefix, options);
  }

  position(): number | Promise<number> {
    return this.#documents.position();
  }

  async commit(changes: Iterable<DocumentChange>, position: number | undefined): Promise<void> {
    const commit = { beganAt: this.#now() };
    this.#commits.add(commit);
    try {
      await this.#documents.commit(changes, position);
      this.#commitError = undefined;
    } catch (error) {
      this.#commitError = `a commit failed: ${(error as Error).message}`;
      throw error;
    } finally {
      this.#commits.delete(commit);
    }
  }

  /**
   * Why the documents cannot be used now; undefined when they can. Begins a read whose result counts here or, if it
   * takes long, later.
   */
  fault(): string | undefined {
    if (this.#readBeganAt === undefined) this.#probe();
    return (
      this.#commitError ??
      this.#readError ??
      this.#stuck('a commit', this.#oldestCommit()) ??
      this.#stuck('a read', this.#readBeganAt)
    );
  }

  #oldestCommit(): number | undefined {
    for (const { beganAt } of this.#commits) return beganAt;
    return undefined;
  }

  #stuck(what: string, beganAt: number | undefined): string | undefined {
    if (beganAt === undefined) return undefined;
    const durationMs = Math.round(this.#now() - beganAt);
    return durationMs > STUCK_MS ? `${what} has taken ${durationMs} ms and is not done` : undefined;
  }

  #probe(): void {
    const done = (text: string | undefined): void => {
      this.#readBeganAt = undefined;
      this.#readError = text === undefined ? `the document meta/${PROBE_ID} is not there` : undefined;
    };
    const failed = (error: unknown): void => {
      this.#readBeganAt = undefined;
      this.#readError = `a read failed: ${(error as Error).message}`;
    };
    this.#readBeganAt = this.#now();
    try {
      const read = this.#documents.get('meta', 0, PROBE_ID);
      if (read instanceof Promise) read.then(done, failed);
      else done(read);
    } catch (error) {
      failed(error);
    }
  }
}
