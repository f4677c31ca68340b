/** What the projector knows of one shard; of the one stream that there is in one process. */
import type { HistoryRow } from '../../ports/stores/history-writer.ts';
import type { Deletion } from './block.ts';
import type { ProjectorProgress } from './progress.ts';

/** A group whose rows are decided. `afterSeq`: last sequence of the group before it, as it was followed. */
export interface OfferedGroup {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly afterSeq: number;
  readonly records: Buffer;
  /** What the actors decided for mutable tables; in the outbox as well. */
  readonly rows: readonly HistoryRow[];
}

/** One shard. A former owner's object lives on where it is still named, and changes nothing. */
export class Track<Intent = unknown> {
  readonly shard: number;
  readonly progress: ProjectorProgress<Intent>;
  /** Everything up to here is in the history store. */
  position: number;
  consumedSeq: number;
  /** What the actors have decided: nothing behind it is read. */
  offeredSeq: number;
  isLagging = true;
  /** Up to here rows may be in the history store already, for the documents came back with an older position. */
  readonly uncertainThrough: number;
  /** A block that was begun before is being inserted again. */
  isRepeating = false;
  /** It stands in front of this one. */
  deletion: Deletion | undefined;
  /** It is being carried out. */
  deleting: Deletion | undefined;
  /** Sequences of SOURCE_DELETE behind the position that are carried out already: what the shard found further on. */
  readonly goneAhead = new Set<number>();
  isLost = false;

  constructor(
    shard: number,
    progress: ProjectorProgress<Intent>,
    position: number,
    offeredSeq: number,
    uncertainThrough: number,
  ) {
    this.shard = shard;
    this.progress = progress;
    this.position = position;
    this.consumedSeq = position;
    this.offeredSeq = Math.max(offeredSeq, position);
    this.uncertainThrough = uncertainThrough;
  }

  get isHeld(): boolean {
    return this.deletion !== undefined || this.isRepeating;
  }
  /** Everything before the DELETE is in the history. */
  get canDelete(): boolean {
    return this.deletion !== undefined && this.deleting === undefined && this.position === this.consumedSeq;
  }

  /** For the log. @param wanted what a caller waits for. */
  stateWith(wanted: number): string {
    const { shard, position, consumedSeq, offeredSeq } = this;
    const reason = this.isRepeating
      ? 'it repeats a block'
      : (this.deleting ?? this.deletion) !== undefined
        ? 'it waits for a DELETE'
        : this.isLagging
          ? 'it reads the journal'
          : 'its block is not inserted';
    return `shard ${shard} is at ${position}, read to ${consumedSeq}, decided to ${offeredSeq}, ${wanted} is wanted: ${reason}`;
  }
}
