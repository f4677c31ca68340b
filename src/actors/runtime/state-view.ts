/** The actors' view of the documents: what is committed, overlaid with what they decided since. */
import type { Collection } from '../../model/commands/collections.ts';
import type { DocumentChange, Documents } from '../../ports/stores/documents.ts';

/** Thrown through a handler when a document has to be fetched first; the handler runs again afterwards. */
export class NotLoaded extends Error {
  readonly loaded: Promise<void>;

  constructor(loaded: Promise<void>) {
    super('document not loaded');
    this.loaded = loaded;
  }
}

/** The store could not be read: nothing can be decided, and nothing is wrong with the command. */
export class StoreFailed extends Error {}

function readNow<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    // The stored document has an unexpected form. A retry would find the same, and only this command is concerned.
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    throw new StoreFailed((error as Error).message, { cause: error });
  }
}

interface Entry {
  value: string | undefined;
  group: number;
  tenant: number;
  id: string;
}

interface ListOf {
  readonly collection: Collection;
  readonly tenant: number;
  readonly prefix: string;
}
/** A result that a store answered later, for one command. */
interface Fetched {
  value: unknown;
  readonly list: ListOf | undefined;
}

/** A read under way. `isStale`: what it reads was committed anew in the meantime, its result may be the old one. */
interface Loading {
  readonly key: string;
  readonly promise: Promise<void>;
  readonly list: ListOf | undefined;
  isStale: boolean;
}

export interface PrefetchKey {
  readonly collection: Collection;
  readonly tenant: number;
  readonly id: string;
}

/** `pending` and `meta` are read once; what a tenant has is also written at the first start. */
const KEPT: ReadonlySet<Collection> = new Set<Collection>([
  'managedObject',
  'externalId',
  'externalIdsOf',
  'children',
  'parents',
  'alarm',
  'event',
  'operation',
  'openAlarm',
  'openAlarmLink',
  'openOperation',
  'softwareList',
  'parameterState',
  'session',
  'sessionMessage',
]);

const LIST_PAGE = 1_000;
/** Of one collection. */
const EMPTY_LISTS_MAX = 10_000;
/**
 * Documents kept behind an asynchronous store, and their characters: the oldest half leaves when a commit finds more.
 */
const KEPT_MAX = 4_096;
const KEPT_CHARACTERS_MAX = 4 * 1_048_576;

/**
 * On a store that answers at once nothing is kept here but the overlay. On one that answers later, documents that only
 * this view's actors write (`isOwn`) are kept with the values that were committed last, within a bound. Lists, and what
 * others write, are fetched for one command and dropped when it has been handled: it sees at least what was there when
 * it came. Commits are in order of groups, so a handler that needs more than the bound gets ahead all the same: once
 * everything before its group is committed, nothing leaves.
 */
export class StateView {
  readonly #documents: Documents;
  readonly #isOwn: (collection: Collection, tenant: number, id: string) => boolean;
  readonly #isAlone: boolean;
  /** By collection: a list looks at those of its own only. */
  readonly #overlay = new Map<Collection, Map<string, Entry>>();
  /**
   * Lists that are known to be empty, until something of their collection changes: each alarm asks for the options that
   * change it and for the parents of its source. Where this view's actors write all of them, on one node.
   */
  readonly #emptyLists = new Map<Collection, Set<string>>([
    ['option', new Set()],
    ['parents', new Set()],
  ]);
  readonly #kept = new Map<string, string | undefined>();
  /** By the sequence of the command. */
  readonly #scopes = new Map<number, Map<string, Fetched>>();
  readonly #loading = new Map<string, Loading>();
  #keptCharacters = 0;
  #isAsync = false;
  /** Sequence of the command that is being handled. */
  #seq = 0;

  /** @param isOwn of a shard: which documents its actors alone write; undefined: all. */
  constructor(documents: Documents, isOwn?: (collection: Collection, tenant: number, id: string) => boolean) {
    this.#documents = documents;
    this.#isAlone = isOwn === undefined;
    this.#isOwn = isOwn ?? (() => true);
  }

  /** Reads that follow are for this command. */
  begin(seq: number): void {
    this.#seq = seq;
  }

  /** The command has its outcome. */
  end(seq: number): void {
    if (this.#scopes.size > 0) this.#scopes.delete(seq);
  }

  get(collection: Collection, tenant: number, id: string): string | undefined {
    const key = `${collection}/${tenant}/${id}`;
    const entry = this.#overlay.get(collection)?.get(key);
    if (entry) return entry.value;
    if (!this.#isAsync)
      return this.#now(
        key,
        readNow(() => this.#documents.get(collection, tenant, id)),
        collection,
        tenant,
        id,
      );
    const kept = this.#kept.get(key);
    if (kept !== undefined || this.#kept.has(key)) return kept;
    const fetched = this.#scopes.get(this.#seq)?.get(key);
    if (fetched) return fetched.value as string | undefined;
    const loading = this.#loading.get(key);
    if (loading && !loading.isStale) throw new NotLoaded(loading.promise);
    return this.#now(
      key,
      readNow(() => this.#documents.get(collection, tenant, id)),
      collection,
      tenant,
      id,
    );
  }

  #now(
    key: string,
    result: string | undefined | Promise<string | undefined>,
    collection: Collection,
    tenant: number,
    id: string,
  ): string | undefined {
    if (!(result instanceof Promise)) return result;
    throw new NotLoaded(
      this.#load(key, result, undefined, this.#isKept(collection, tenant, id) ? undefined : this.#seq),
    );
  }

  /** A value from outside this store, fetched for the command. */
  foreign<Value>(key: string, read: () => Value | Promise<Value>): Value {
    const fetched = this.#scopes.get(this.#seq)?.get(key);
    if (fetched) return fetched.value as Value;
    const result = readNow(read);
    if (!(result instanceof Promise)) return result;
    throw new NotLoaded(this.#load(key, result, undefined, this.#seq));
  }

  /** @param limit of the answer; which of the documents does not matter. */
  list(
    collection: Collection,
    tenant: number,
    prefix: string,
    limit = Number.POSITIVE_INFINITY,
  ): { id: string; value: string }[] {
    const empty = this.#isAlone ? this.#emptyLists.get(collection) : undefined;
    const name = `${tenant}/${prefix}`;
    if (empty?.has(name) === true) return [];
    const found = new Map<string, string>();
    const overlay = this.#overlay.get(collection);
    const isRemoved = (id: string): boolean => {
      const entry = overlay?.get(`${collection}/${tenant}/${id}`);
      return entry !== undefined && entry.value === undefined;
    };
    for (let after: string | undefined; ; ) {
      const page = this.#page({ collection, tenant, prefix }, after);
      for (const { id, value } of page) if (!isRemoved(id)) found.set(id, value);
      if (page.length < LIST_PAGE || found.size >= limit) break;
      after = page[page.length - 1].id;
    }
    for (const entry of overlay?.values() ?? []) {
      if (entry.tenant !== tenant || !entry.id.startsWith(prefix)) continue;
      if (entry.value !== undefined) found.set(entry.id, entry.value);
    }
    if (found.size === 0 && empty !== undefined) {
      if (empty.size >= EMPTY_LISTS_MAX) empty.clear();
      empty.add(name);
    }
    return [...found]
      .map(([id, value]) => ({ id, value }))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit);
  }

  #page(list: ListOf, after: string | undefined): { id: string; value: string }[] {
    const { collection, tenant, prefix } = list;
    const key = `list ${collection}/${tenant}/${prefix}/${after ?? ''}`;
    const fetched = this.#isAsync ? this.#scopes.get(this.#seq)?.get(key) : undefined;
    if (fetched) return fetched.value as { id: string; value: string }[];
    const options = after === undefined ? { limit: LIST_PAGE } : { after, limit: LIST_PAGE };
    const result = readNow(() => this.#documents.list(collection, tenant, prefix, options));
    if (!(result instanceof Promise)) return result;
    throw new NotLoaded(this.#load(key, result, list, this.#seq));
  }

  /**
   * Asks for documents that handlers are going to need, in as few calls as there are collections. Only on a store that
   * answers later.
   */
  prefetch(keys: Iterable<PrefetchKey>): void {
    if (!this.#isAsync) return;
    const wanted = new Map<string, { collection: Collection; tenant: number; ids: Map<string, string> }>();
    for (const { collection, tenant, id } of keys) {
      const key = `${collection}/${tenant}/${id}`;
      if (
        this.#overlay.get(collection)?.has(key) === true ||
        this.#kept.has(key) ||
        this.#loading.has(key) ||
        !this.#isKept(collection, tenant, id)
      )
        continue;
      const name = `${collection}/${tenant}`;
      const batch = wanted.get(name) ?? { collection, tenant, ids: new Map<string, string>() };
      wanted.set(name, batch);
      batch.ids.set(key, id);
    }
    for (const { collection, tenant, ids } of wanted.values()) {
      const result = this.#documents.getMany(collection, tenant, [...ids.values()]);
      if (!(result instanceof Promise)) return;
      [...ids.keys()].forEach((key, index) => {
        this.#load(
          key,
          result.then((values) => values[index]),
          undefined,
          undefined,
        ).catch(() => {
          /* The next reader asks again. */
        });
      });
    }
  }

  /** Shows changes to later commands before they are committed. @param group the commit that will contain them. */
  apply(changes: readonly DocumentChange[], group: number): void {
    for (const { collection, tenant, id, value } of changes) {
      let overlay = this.#overlay.get(collection);
      if (overlay === undefined) this.#overlay.set(collection, (overlay = new Map<string, Entry>()));
      overlay.set(`${collection}/${tenant}/${id}`, { value, group, tenant, id });
      this.#emptyLists.get(collection)?.clear();
    }
  }

  /** The commit is on disk: its entries can be read from there. */
  committed(changes: Iterable<DocumentChange>, group: number): void {
    for (const { collection, tenant, id, value } of changes) {
      const key = `${collection}/${tenant}/${id}`;
      const overlay = this.#overlay.get(collection);
      if (overlay?.get(key)?.group === group) overlay.delete(key);
      if (this.#isAsync) this.#changed(key, { collection, tenant, id, value });
    }
    if (this.#kept.size > KEPT_MAX || this.#keptCharacters > KEPT_CHARACTERS_MAX) this.#shrink();
  }

  /** For tests: documents kept, and commands that wait for some. */
  get keptCount(): number {
    return this.#kept.size;
  }
  get scopesCount(): number {
    return this.#scopes.size;
  }

  #changed(key: string, change: DocumentChange): void {
    const { collection, tenant, id, value } = change;
    const concerns = (list: ListOf | undefined): boolean =>
      list !== undefined && list.collection === collection && list.tenant === tenant && id.startsWith(list.prefix);
    for (const loading of this.#loading.values())
      if (loading.key === key || concerns(loading.list)) loading.isStale = true;
    for (const scope of this.#scopes.values()) {
      const fetched = scope.get(key);
      if (fetched) fetched.value = value;
      for (const [other, { list }] of scope) if (concerns(list)) scope.delete(other);
    }
    if (this.#isKept(collection, tenant, id)) this.#keep(key, value);
  }

  #isKept(collection: Collection, tenant: number, id: string): boolean {
    return KEPT.has(collection) && this.#isOwn(collection, tenant, id);
  }

  /** @param seq the command that it is read for; undefined: it is kept. */
  #load(key: string, result: Promise<unknown>, list: ListOf | undefined, seq: number | undefined): Promise<void> {
    this.#isAsync = true;
    const name = seq === undefined ? key : `${seq} ${key}`;
    const loading: Loading = {
      key,
      list,
      isStale: false,
      promise: result.then(
        (value) => {
          if (this.#loading.get(name) === loading) this.#loading.delete(name);
          // Stale: the handler finds nothing and reads again.
          if (loading.isStale) return;
          if (seq === undefined) {
            if (!this.#kept.has(key)) this.#keep(key, value as string | undefined);
            return;
          }
          const scope = this.#scopes.get(seq) ?? new Map<string, Fetched>();
          this.#scopes.set(seq, scope.set(key, { value, list }));
        },
        (error: unknown) => {
          if (this.#loading.get(name) === loading) this.#loading.delete(name);
          throw error;
        },
      ),
    };
    this.#loading.set(name, loading);
    return loading.promise;
  }

  #keep(key: string, value: string | undefined): void {
    this.#keptCharacters += (value?.length ?? 0) - (this.#kept.get(key)?.length ?? 0);
    this.#kept.set(key, value);
  }

  #shrink(): void {
    for (const [key, value] of this.#kept) {
      if (this.#kept.size <= KEPT_MAX / 2 && this.#keptCharacters <= KEPT_CHARACTERS_MAX / 2) return;
      this.#kept.delete(key);
      this.#keptCharacters -= value?.length ?? 0;
    }
  }
}
