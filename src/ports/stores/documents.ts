/** Port of the document store (design 3): the actors' state. Implemented in src/store. */
import type { Collection } from '../../model/commands/collections.ts';
import type { DocumentReader } from '../document-reader.ts';

/** One change; `value` undefined deletes. */
export interface DocumentChange {
  readonly collection: Collection;
  readonly tenant: number;
  readonly id: string;
  readonly value: string | undefined;
}

export interface Documents extends DocumentReader {
  /**
   * Applies all changes or none, and with them the position: state now contains every command up to `position`
   * (undefined: the position stays).
   * @returns when it is on disk.
   */
  commit(changes: Iterable<DocumentChange>, position: number | undefined): Promise<void>;
  /** The position of the last commit, 0 at first. */
  position(): number | Promise<number>;
}
