/** Port of the projector's memory: what it has brought into the history store, and what it was about to bring. */
import type { HistoryRow } from '../../ports/stores/history-writer.ts';

/**
 * A block of measurements that was begun: the same block must be built again after a crash (exactly once, design 4).
 */
export interface InsertIntent {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The block was refused as a whole and is inserted in parts; absent: as a whole. */
  readonly parts?: InsertParts;
}

/**
 * The rest of a refused block: the parts `after + 1` to `ends[0]`, `ends[0] + 1` to `ends[1]`, and so on. A part
 * has a token of its own, so it may be inserted only as it stands here.
 */
export interface InsertParts {
  readonly after: number;
  readonly ends: readonly number[];
}

/** `Intent`: what names the begun block; of several shards, see cluster/projector/stored-blocks.ts. */
export interface ProjectorProgress<Intent = InsertIntent> {
  load(): { position: number; intent: Intent | undefined } | Promise<{ position: number; intent: Intent | undefined }>;
  saveIntent(intent: Intent): Promise<void>;
  /** Moves the position, forgets the intent and the outbox entries at or below it. */
  savePosition(position: number): Promise<void>;
  /** Rows that actors decided, in the outbox, of commands whose sequence is in (after, through]. */
  outbox(after: number, through: number): HistoryRow[] | Promise<HistoryRow[]>;
}
