/**
 * Removes content without references: of uploads that broke off behind the write, of deleted entities. Content
 * is written before the command that refers to it, so that only what is older than any command under way is looked at.
 */
import type { Blobs } from '../../ports/blobs.ts';
import type { Collection } from '../../model/commands/collections.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';

/** All keys that one kind of entity refers to, committed. */
export type BlobReferences = () => AsyncIterable<string>;

/** Keys that are looked up in one walk over the references. */
const STEP_KEYS = 10_000;
/** Younger content may wait for its command. */
const AGE_MS = 3_600_000;
/**
 * Between two passes over everything: content goes when two of them found no reference, so that downloads of what was
 * just deleted end before.
 */
const PASS_PAUSE_MS = 3_600_000;
/** Contents without reference that are remembered until the next pass; those beyond it are found by later ones. */
const FOUND_MAX = 500_000;
const LIST_PAGE = 1_000;

export interface BlobSweeperOptions {
  readonly blobs: Blobs;
  readonly references: readonly BlobReferences[];
  /** Whether this process sweeps: one of a cluster. */
  readonly isMine: () => boolean;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly stepKeys?: number;
}

export class BlobSweeper {
  removedCount = 0;
  readonly #options: BlobSweeperOptions;
  /** What the last pass found without reference, and this one so far. */
  #foundBefore = new Set<string>();
  #found = new Set<string>();
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BlobSweeperOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.step()
        .catch((error: Error) => {
          this.#options.log.warn(
            { err: error, retryMs: PASS_PAUSE_MS },
            'content without references could not be removed',
          );
        })
        .then(() => this.start());
    }, PASS_PAUSE_MS);
    this.#timer.unref();
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** One pass over all content. */
  async step(): Promise<void> {
    if (!this.#options.isMine()) return;
    const before = this.#options.now() - AGE_MS;
    this.#foundBefore = this.#found;
    this.#found = new Set();
    let candidates = new Set<string>();
    for await (const { key, writtenAt } of this.#options.blobs.keys()) {
      if (this.#isStopped) return;
      if (writtenAt >= before) continue;
      candidates.add(key);
      if (candidates.size < (this.#options.stepKeys ?? STEP_KEYS)) continue;
      await this.#removeUnreferenced(candidates);
      candidates = new Set();
    }
    await this.#removeUnreferenced(candidates);
  }

  async #removeUnreferenced(candidates: Set<string>): Promise<void> {
    if (candidates.size === 0) return;
    for (const references of this.#options.references) for await (const key of references()) candidates.delete(key);
    for (const key of candidates) {
      if (this.#isStopped) return;
      if (!this.#foundBefore.has(key)) {
        if (this.#found.size < FOUND_MAX) this.#found.add(key);
        continue;
      }
      await this.#options.blobs.remove(key);
      this.removedCount += 1;
    }
  }
}

/** References in the documents of a collection. @param keysOf keys of content that a document names. */
export function documentReferences(
  documents: DocumentReader,
  tenants: () => Iterable<number>,
  collection: Collection,
  keysOf: (value: string, id: string) => Iterable<string>,
): BlobReferences {
  return async function* references() {
    for (const tenant of tenants()) {
      for (let after: string | undefined; ; ) {
        const page = await documents.list(
          collection,
          tenant,
          '',
          after === undefined ? { limit: LIST_PAGE } : { after, limit: LIST_PAGE },
        );
        for (const { id, value } of page) yield* keysOf(value, id);
        if (page.length < LIST_PAGE) break;
        after = page[page.length - 1].id;
      }
    }
  };
}
