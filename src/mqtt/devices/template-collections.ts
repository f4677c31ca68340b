/**
 * The template collections of tenants, compiled and remembered: found by their X-ID, an external ID of a managed object
 * (docs/spec/smartrest.md#template-collections). Changes of their objects come by `forgetObject`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { NotLoaded } from '../../actors/runtime/state-view.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import { externalIdKey } from '../../model/entities/external-id.ts';
import { PlatformError } from '../../model/errors.ts';
import { collectionOf, isXId, type TemplateCollection } from '../../smartrest/custom/collection.ts';
import { COLLECTIONS_MAX, X_ID_TYPE } from '../../smartrest/custom/collection-shares.ts';
import { SingleRows } from '../../smartrest/custom/single-row.ts';
import { TemplateError } from '../../smartrest/custom/definition.ts';
import type { LoadedDocuments } from './loaded-documents.ts';

/** Collections of all tenants that are remembered, and the characters of their objects. */
const REMEMBERED_MAX = 2_000;
const REMEMBERED_CHARACTERS = 32 * 1024 * 1024;
/** What was read longer ago is read again: a message about its change may have been lost. */
const AGE_MAX_MS = 60_000;
/** How often, and with which pause, an object is looked for whose external ID is there. */
const LOOKS_MAX = 40;
const LOOK_AGAIN_MS = 50;
/** Reads under way that are told from changes meanwhile. */
const READING_MAX = 10_000;

/** A collection that is remembered. */
export interface KnownCollection {
  readonly tenant: number;
  readonly xid: string;
  /** Managed object. */
  readonly id: number;
  readonly text: string;
  readonly collection: TemplateCollection;
  /** Reads its measurements on the hot path; undefined when none is for it. */
  readonly singleRows: SingleRows | undefined;
  /** False once its object was changed or forgotten. */
  isCurrent: boolean;
  /** ms since 1970. */
  readAt: number;
}

/** `missing`: there is an external ID, but its object is not there: deleted, or not there yet. */
export type Found = KnownCollection | 'unknown' | 'missing';

export class TemplateCollections {
  readonly #documents: LoadedDocuments;
  readonly #now: () => number;
  readonly #known = new LRUCache<string, KnownCollection>({
    max: REMEMBERED_MAX,
    maxSize: REMEMBERED_CHARACTERS,
    sizeCalculation: ({ text }) => text.length + 1,
    dispose: (entry) => {
      entry.isCurrent = false;
    },
  });
  /** Managed object -> keys of the collections that it is. */
  readonly #keysOf = new Map<number, Set<string>>();
  /** On a store that answers later: what has been asked for and not been changed since. */
  readonly #reading = new Set<string>();
  #isLater = false;

  constructor(documents: LoadedDocuments, now: () => number) {
    this.#documents = documents;
    this.#now = now;
  }

  /** Whether what is remembered may still be used without a look at the documents. */
  isFresh(entry: KnownCollection, now: number): boolean {
    return entry.isCurrent && now - entry.readAt < AGE_MAX_MS;
  }

  /**
   * Within a decision (`LoadedDocuments`). @throws NotLoaded; PlatformError `smartrest/bad-collection` for one that was
   * stored unchecked.
   */
  find(tenant: number, xid: string): Found {
    const key = `${tenant}/${xid}`;
    const known = this.#known.get(key);
    if (known !== undefined && this.isFresh(known, this.#now())) return known;
    try {
      return this.#read(tenant, xid, key, known);
    } catch (error) {
      if (error instanceof NotLoaded) {
        this.#isLater = true;
        if (this.#reading.size >= READING_MAX) this.#reading.clear();
        this.#reading.add(key);
      }
      throw error;
    }
  }

  /**
   * The external ID of a new collection is there before its object: waits a moment for that. @throws PlatformError
   * `unknown` when it does not come.
   */
  async whenThere(tenant: number, xid: string, unknown: PlatformError): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      if ((await this.#documents.decide(() => this.find(tenant, xid))) !== 'missing') return;
      if (tries >= LOOKS_MAX) throw unknown;
      await delay(LOOK_AGAIN_MS);
    }
  }

  /** @returns the id of the managed object that has the X-ID. Within a decision. @throws NotLoaded. */
  idOf(tenant: number, xid: string): string | undefined {
    const bound = this.#documents.get('externalId', tenant, externalIdKey(X_ID_TYPE, xid));
    return bound === undefined ? undefined : (JSON.parse(bound) as { managedObject: string }).managedObject;
  }

  #read(tenant: number, xid: string, key: string, known: KnownCollection | undefined): Found {
    const id = Number(this.idOf(tenant, xid) ?? 0);
    if (id === 0) return 'unknown';
    const text = this.#documents.get('managedObject', tenant, String(id));
    if (text === undefined) return 'missing';
    if (known?.isCurrent === true && known.id === id && known.text === text) {
      known.readAt = this.#now();
      return known;
    }
    const collection = compiled(text);
    if (collection === undefined) return 'unknown';
    const singleRows = collection.hasSingle ? new SingleRows(collection) : undefined;
    const entry = { tenant, xid, id, text, collection, singleRows, isCurrent: true, readAt: this.#now() };
    // Changed while it was being read: used once.
    if (this.#isLater && !this.#reading.delete(key)) return { ...entry, isCurrent: false };
    this.#known.set(key, entry);
    this.#noteKey(id, key);
    return entry;
  }

  #noteKey(id: number, key: string): void {
    if (this.#keysOf.size > 2 * REMEMBERED_MAX) this.#dropOldKeys();
    const keys = this.#keysOf.get(id) ?? new Set();
    this.#keysOf.set(id, keys.add(key));
  }

  #dropOldKeys(): void {
    for (const [id, keys] of this.#keysOf) {
      for (const key of keys) if (!this.#known.has(key)) keys.delete(key);
      if (keys.size === 0) this.#keysOf.delete(id);
    }
  }

  /**
   * X-IDs of all collections of a tenant, as many as it may have. Within a decision. @throws NotLoaded.
   */
  all(tenant: number): string[] {
    const prefix = externalIdKey(X_ID_TYPE, '');
    return this.#documents
      .list('externalId', tenant, prefix, { limit: COLLECTIONS_MAX })
      .map(({ id }) => id.slice(prefix.length))
      .filter(isXId);
  }

  /** The object or its external IDs were changed. */
  forgetObject(id: number): void {
    this.#reading.clear();
    const keys = this.#keysOf.get(id);
    if (keys === undefined) return;
    this.#keysOf.delete(id);
    for (const key of keys) this.#known.delete(key);
  }

  /** Changes may have been missed. */
  forgetAll(): void {
    this.#reading.clear();
    this.#keysOf.clear();
    this.#known.clear();
  }
}

function compiled(text: string): TemplateCollection | undefined {
  try {
    return collectionOf(splitMembers(text));
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new PlatformError('smartrest/bad-collection', { reason: error.message });
  }
}
