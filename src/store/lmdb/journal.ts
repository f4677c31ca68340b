/** Journal on LMDB: one value per group commit, keyed by the sequence of its first record. */
import { countRecords, newestReceivedAt } from '../../ingest/journal/command-record.ts';
import type { Journal, JournalBatch } from '../../ports/stores/journal.ts';
import type { LmdbEnvironment } from './environment.ts';

export class LmdbJournal implements Journal {
  lastSeq = 0;
  sizeBytes = 0;
  /**
   * ms since 1970: when the newest record was received that was there when the journal was opened; undefined when there
   * was none.
   */
  readonly timeAtOpening: number | undefined;
  readonly #database: LmdbEnvironment['journal'];
  /** First sequence and bytes of each kept batch, oldest first; `#head` counts those already trimmed. */
  #batches: { firstSeq: number; bytes: number }[] = [];
  #head = 0;

  constructor(environment: LmdbEnvironment) {
    this.#database = environment.journal;
    for (const { key, value } of this.#database.getRange({ snapshot: false })) {
      this.#batches.push({ firstSeq: key, bytes: value.length });
      this.sizeBytes += value.length;
      this.lastSeq = key;
    }
    const last = this.#batches.at(-1);
    const records = last && this.#database.get(last.firstSeq);
    if (!last || !records) return;
    this.lastSeq = last.firstSeq + countRecords(records) - 1;
    this.timeAtOpening = newestReceivedAt(records);
  }

  async append(firstSeq: number, records: Buffer, recordCount: number): Promise<void> {
    if (firstSeq !== this.lastSeq + 1) throw new Error(`journal: batch ${firstSeq} does not follow ${this.lastSeq}`);
    await this.#database.put(firstSeq, records);
    this.lastSeq = firstSeq + recordCount - 1;
    this.#batches.push({ firstSeq, bytes: records.length });
    this.sizeBytes += records.length;
  }

  read(seq: number, room?: Buffer): JournalBatch | undefined {
    const index = this.#indexOf(seq);
    if (index === undefined) return undefined;
    const { firstSeq, bytes } = this.#batches[index];
    const isInRoom = room !== undefined && bytes <= room.length;
    // Valid until the next read of the environment.
    const records = isInRoom ? this.#database.getBinaryFast(firstSeq) : this.#database.get(firstSeq);
    if (!records) throw new Error(`journal: batch ${firstSeq} is missing`);
    if (!isInRoom) return { firstSeq, records };
    room.set(records.subarray(0, bytes));
    return { firstSeq, records: room.subarray(0, bytes) };
  }

  trim(seq: number): void {
    while (this.#head < this.#batches.length) {
      const next = this.#batches[this.#head + 1];
      const lastOfBatch = next ? next.firstSeq - 1 : this.lastSeq;
      // The newest batch always stays: its sequence is where numbering goes on after a restart.
      if (!next || lastOfBatch > seq) break;
      const { firstSeq, bytes } = this.#batches[this.#head];
      // What could not be removed (a full disk) stays and is trimmed after the next start.
      this.#database.remove(firstSeq).catch(() => undefined);
      this.sizeBytes -= bytes;
      this.#head += 1;
    }
    if (this.#head > 1_024) {
      this.#batches = this.#batches.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Binary search: the last batch that begins at or before `seq`, else the first one. */
  #indexOf(seq: number): number | undefined {
    if (seq > this.lastSeq || this.#head >= this.#batches.length) return undefined;
    let low = this.#head;
    let high = this.#batches.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#batches[middle].firstSeq <= seq) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
