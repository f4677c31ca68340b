/** Port of the document store for reading. */
import type { Collection } from '../model/commands/collections.ts';

export interface ListOptions {
  readonly after?: string;
  readonly limit: number;
  /** Nothing but the ids is asked for: values may be ''. */
  readonly idsOnly?: boolean;
}

/** Current state for reads by id (design 3). Values are JSON text. Committed state only. */
export interface DocumentReader {
  get(collection: Collection, tenant: number, id: string): string | undefined | Promise<string | undefined>;
  getMany(
    collection: Collection,
    tenant: number,
    ids: readonly string[],
  ): (string | undefined)[] | Promise<(string | undefined)[]>;
  /** Ids (with values) in byte order that begin with `prefix`, after `after`, at most `limit`. */
  list(
    collection: Collection,
    tenant: number,
    prefix: string,
    options: ListOptions,
  ): { id: string; value: string }[] | Promise<{ id: string; value: string }[]>;
}
