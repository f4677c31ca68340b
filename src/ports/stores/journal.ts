/** Port of the journal (design 1): durable, ordered batches of command records. Implemented in src/store. */

export interface JournalBatch {
  /** Sequence of the first record; the others follow without gaps. */
  readonly firstSeq: number;
  /** Records, see command-record.ts. Owned by the reader. */
  readonly records: Buffer;
}

export interface Journal {
  /** Sequence of the last durable record, 0 when empty. */
  readonly lastSeq: number;
  /** Bytes of the batches that are kept. */
  readonly sizeBytes: number;
  /**
   * Appends one group. Calls are made one after the other. `records` must not change before the promise settles.
   * @returns when the batch is on disk. Rejects when it could not be written; then nothing of it is.
   */
  append(firstSeq: number, records: Buffer, recordCount: number): Promise<void>;
  /**
   * The batch that holds `seq` or, when that is gone or still to come, the next one; undefined at the end.
   * @param room where its records are put if they fit: a reader of many batches makes no new memory for each.
   */
  read(seq: number, room?: Buffer): JournalBatch | undefined | Promise<JournalBatch | undefined>;
  /** Forgets batches whose records are all at or below `seq`. */
  trim(seq: number): void;
}
