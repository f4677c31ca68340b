/**
 * Port of the quarantine: what the history store refuses for what it is, and commands whose handling failed.
 * Implemented in src/store/files/quarantine.ts.
 */

/**
 * One measurement, one row of a mutable table, one DELETE, one command, or records of the journal that cannot be read.
 */
export interface QuarantineEntry {
  readonly kind: 'measurement' | 'row' | 'deletion' | 'command' | 'batch';
  /** `commands` for a command, `journal` for a batch. */
  readonly table: string;
  /** Of its command in the journal. */
  readonly seq: number;
  readonly shard: number;
  /**
   * Of the entity; 0 for a DELETE and a command, the last sequence for a batch. With table and sequence it is the
   * entry's name.
   */
  readonly id: number;
  /**
   * Of the projector when it was set aside: everything up to it was in the history store; of a command, that of its
   * actors.
   */
  readonly position: number;
  /** Number of the store's exception, 0 when it has none. */
  readonly code: number;
  readonly error: string;
  /** The measurement, the row as JSONEachRow takes it, or the command's body. */
  readonly row: unknown;
}

export type QuarantineKey = Pick<QuarantineEntry, 'kind' | 'table' | 'seq' | 'id'>;

/** No room: the projector stays where it is, and the journal keeps everything behind it. */
export class QuarantineFullError extends Error {}

export interface Quarantine {
  /** Entries that are kept. */
  readonly count: number;
  readonly sizeBytes: number;
  /** Whether the last entry found no room. */
  readonly isFull: boolean;
  has(key: QuarantineKey): boolean;
  /**
   * Resolves when the entry is on disk; one that is there already is not written again. Rejects with
   * QuarantineFullError at the bound.
   */
  add(entry: QuarantineEntry): Promise<void>;
}
