/** Port of the projector's memory: what it has brought into the history store, and what it was about to bring. */
import type { HistoryRow } from './history-writer.ts';

/** A block of measurements that was begun: the same block must be built again after a crash (exactly once, design 4). */
export interface InsertIntent { readonly firstSeq: number; readonly lastSeq: number }

export interface ProjectorProgress {
  load(): { position: number; intent: InsertIntent | undefined } | Promise<{ position: number; intent: InsertIntent | undefined }>;
  saveIntent(intent: InsertIntent): Promise<void>;
  /** Moves the position, forgets the intent and the outbox entries at or below it. */
  savePosition(position: number): Promise<void>;
  /** Rows that actors decided, in the outbox, of commands whose sequence is in (after, through]. */
  outbox(after: number, through: number): HistoryRow[] | Promise<HistoryRow[]>;
}
