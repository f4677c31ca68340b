/** What the cluster's projector knows of one shard. */
import type { Deletion } from './block.ts';
import type { ProjectorProgress } from '../../ingest/projector/progress.ts';

/** Names the block in the progress of a shard. */
export interface BlockIntent {
  readonly token: string;
}

/** One shard. A former owner's object lives on where it is still named, and changes nothing. */
export class Track {
  readonly shard: number;
  readonly progress: ProjectorProgress<BlockIntent>;
  /** Everything up to here is in the history store. */
  position = 0;
  consumedSeq = 0;
  /** What the actors have decided: nothing behind it is read. */
  offeredSeq: number;
  isLagging = true;
  /** Up to here rows may be in the history store already, for the documents came back with an older position. */
  uncertainThrough = 0;
  /** The block of a former owner is being settled. */
  isRepeating = false;
  deletion: Deletion | undefined;
  /** Sequences of SOURCE_DELETE behind the position that are carried out already; see gone-ahead.ts. */
  readonly goneAhead = new Set<number>();
  isDeleting = false;
  isLost = false;

  constructor(shard: number, progress: ProjectorProgress<BlockIntent>, offeredSeq: number) {
    this.shard = shard;
    this.progress = progress;
    this.offeredSeq = offeredSeq;
  }

  get isHeld(): boolean {
    return this.deletion !== undefined || this.isRepeating;
  }

  /** For the log. @param wanted what a caller waits for. */
  stateWith(wanted: number): string {
    const { shard, position, consumedSeq, offeredSeq } = this;
    const reason = this.isRepeating
      ? 'it settles a block'
      : this.deletion !== undefined
        ? 'it waits for a DELETE'
        : this.isLagging
          ? 'it reads the journal'
          : 'its block is not inserted';
    return `shard ${shard} is at ${position}, read to ${consumedSeq}, decided to ${offeredSeq}, ${wanted} is wanted: ${reason}`;
  }
}
