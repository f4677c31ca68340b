/**
 * Documents for decisions that are plain code: what the store answers later is waited for, and the decision is made
 * again.
 */
import { NotLoaded } from '../../actors/runtime/state-view.ts';
import type { Collection } from '../../model/commands/collections.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';

interface ListOptions {
  readonly after?: string;
  readonly limit: number;
}

/** @throws NotLoaded where a document has to be waited for. */
export interface KnownDocuments {
  get(collection: Collection, tenant: number, id: string): string | undefined;
  list(collection: Collection, tenant: number, prefix: string, options: ListOptions): { id: string; value: string }[];
}

export class LoadedDocuments implements KnownDocuments {
  /**
   * What the store has answered for the decision that is being made; undefined: nothing yet. On a store that answers at
   * once it stays so.
   */
  loaded: Map<string, unknown> | undefined;
  readonly #documents: DocumentReader;

  constructor(documents: DocumentReader) {
    this.#documents = documents;
  }

  get(collection: Collection, tenant: number, id: string): string | undefined {
    if (this.loaded === undefined) {
      const result = this.#documents.get(collection, tenant, id);
      if (!(result instanceof Promise)) return result;
      throw this.#load(`${collection}/${tenant}/${id}`, result);
    }
    const key = `${collection}/${tenant}/${id}`;
    if (this.loaded.has(key)) return this.loaded.get(key) as string | undefined;
    const result = this.#documents.get(collection, tenant, id);
    if (result instanceof Promise) throw this.#load(key, result);
    return result;
  }

  list(collection: Collection, tenant: number, prefix: string, options: ListOptions): { id: string; value: string }[] {
    const key = this.loaded === undefined ? '' : `list ${collection}/${tenant}/${prefix}`;
    if (this.loaded?.has(key)) return this.loaded.get(key) as { id: string; value: string }[];
    const result = this.#documents.list(collection, tenant, prefix, options);
    if (!(result instanceof Promise)) return result;
    throw this.#load(`list ${collection}/${tenant}/${prefix}`, result);
  }

  /**
   * What is in no document, asked for once for the decision. @param read resolves with the answer; a failure asks
   * again.
   */
  ask<Value>(question: string, read: () => Promise<Value>): Value {
    const key = `ask ${question}`;
    if (this.loaded?.has(key)) return this.loaded.get(key) as Value;
    throw this.#load(key, read());
  }

  /** Decides, at once when the store answers at once. Rejects when it does not answer. */
  decide<Value>(decision: () => Value): Value | Promise<Value> {
    return this.#decide(decision, undefined);
  }

  #decide<Value>(decision: () => Value, loaded: Map<string, unknown> | undefined): Value | Promise<Value> {
    this.loaded = loaded;
    try {
      return decision();
    } catch (error) {
      if (!(error instanceof NotLoaded)) throw error;
      const found = this.loaded;
      return error.loaded.then(() => this.#decide(decision, found));
    } finally {
      this.loaded = undefined;
    }
  }

  #load(key: string, result: Promise<unknown>): NotLoaded {
    const loaded = (this.loaded ??= new Map<string, unknown>());
    return new NotLoaded(
      result.then((value) => {
        loaded.set(key, value);
      }),
    );
  }
}
