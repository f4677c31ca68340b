/** The actors' view of the documents: what is committed, overlaid with what they decided since. */
import type { Collection } from '../model/command.ts';
import type { DocumentChange, Documents } from './documents.ts';

/** Thrown through a handler when a document has to be fetched first; the handler runs again afterwards. */
export class NotLoaded extends Error {
  readonly loaded: Promise<void>;

  constructor(loaded: Promise<void>) {
    super('document not loaded');
    this.loaded = loaded;
  }
}

interface Entry { value: string | undefined; group: number; collection: Collection; tenant: number; id: string }

const LIST_PAGE = 1_000;
/** Fetched results kept at most. */
const FETCHED_MAX = 20_000;

export class StateView {
  readonly #documents: Documents;
  readonly #overlay = new Map<string, Entry>();
  /**
   * Results that a store answered asynchronously, for the handler's next run. A commit drops only what it changed: a handler that needs many
   * documents would not get ahead under a steady load otherwise.
   */
  readonly #fetched = new Map<string, unknown>();

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  get(collection: Collection, tenant: number, id: string): string | undefined {
    const key = `${collection}/${tenant}/${id}`;
    const entry = this.#overlay.get(key);
    if (entry) return entry.value;
    return this.#await(key, () => this.#documents.get(collection, tenant, id)) as string | undefined;
  }

  list(collection: Collection, tenant: number, prefix: string): { id: string; value: string }[] {
    const found = new Map<string, string>();
    for (let after: string | undefined; ;) {
      const options = after === undefined ? { limit: LIST_PAGE } : { after, limit: LIST_PAGE };
      const page = this.#await(`list ${collection}/${tenant}/${prefix}/${after ?? ''}`,
        () => this.#documents.list(collection, tenant, prefix, options)) as { id: string; value: string }[];
      for (const { id, value } of page) found.set(id, value);
      if (page.length < LIST_PAGE) break;
      after = page[page.length - 1].id;
    }
    for (const entry of this.#overlay.values()) {
      if (entry.collection !== collection || entry.tenant !== tenant || !entry.id.startsWith(prefix)) continue;
      if (entry.value === undefined) found.delete(entry.id);
      else found.set(entry.id, entry.value);
    }
    return [...found].map(([id, value]) => ({ id, value })).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Shows changes to later commands before they are committed. @param group the commit that will contain them. */
  apply(changes: readonly DocumentChange[], group: number): void {
    for (const { collection, tenant, id, value } of changes) {
      this.#overlay.set(`${collection}/${tenant}/${id}`, { value, group, collection, tenant, id });
    }
  }

  /** The commit is on disk: its entries can be read from there. */
  committed(changes: Iterable<DocumentChange>, group: number): void {
    for (const { collection, tenant, id } of changes) {
      const key = `${collection}/${tenant}/${id}`;
      if (this.#overlay.get(key)?.group === group) this.#overlay.delete(key);
    }
    if (this.#fetched.size > FETCHED_MAX) this.#fetched.clear();
    if (this.#fetched.size === 0) return;
    const lists = new Set<string>();
    for (const { collection, tenant, id } of changes) {
      this.#fetched.delete(`${collection}/${tenant}/${id}`);
      lists.add(`list ${collection}/${tenant}/`);
    }
    for (const key of this.#fetched.keys()) {
      if (!key.startsWith('list ')) continue;
      for (const list of lists) if (key.startsWith(list)) this.#fetched.delete(key);
    }
  }

  get overlaySize(): number { return this.#overlay.size; }

  #await(key: string, read: () => unknown): unknown {
    if (this.#fetched.has(key)) return this.#fetched.get(key);
    const result = read();
    if (!(result instanceof Promise)) return result;
    throw new NotLoaded(result.then((value) => { this.#fetched.set(key, value); }));
  }
}
