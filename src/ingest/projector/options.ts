/** What the projector is given. */
import type { JournalCommand } from '../journal/command-record.ts';
import type { BlockLog, UntilDone } from './begun-block.ts';
import type { HistoryInsertOptions } from './history-insert.ts';
import type { InsertIntent } from './progress.ts';
import type { Track } from './track.ts';

/** A group of the journal. */
export interface ReadGroup {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly records: Buffer;
}

/** Of a track: given up when it is lost or the projector stops. */
export interface Tries {
  readonly untilDone: UntilDone;
  /** Carries out a DELETE by `run`; one that the history store refuses is set aside. */
  readonly deletion: (command: JournalCommand, run: () => Promise<void>) => Promise<void>;
}

export interface ProjectorOptions<Intent = InsertIntent> extends HistoryInsertOptions {
  readonly journal: {
    /**
     * The group of the shard that holds `seq`, or the next one; undefined at the end.
     * @param isPassing the next call with it may use the memory of the records again.
     */
    read(shard: number, seq: number, isPassing?: boolean): Promise<ReadGroup | undefined>;
  };
  readonly blocks: BlockLog<Intent>;
  readonly rowsMax: number;
  /** Of the inserts while little comes; see BlockInterval. */
  readonly intervalMs: number;
  /**
   * Carries out a DELETE once everything before it in its track is in the history store, or sees to it that it will be.
   * Repeatable.
   */
  readonly runDeletion: (command: JournalCommand) => Promise<void>;
  /**
   * Carries out SOURCE_DELETE of a shard. Resolves to the sequence up to which that is done. Absent for the one stream
   * of a single process: there late deletions are part of their block, and what is behind a DELETE is read meanwhile.
   * A shard stands in front of both while others go on. A DELETE waits for other shards: blocks that waited for it could
   * wait for one another for ever.
   */
  readonly deleteGone?: (track: Track<Intent>, gone: readonly JournalCommand[], tries: Tries) => Promise<number>;
  /** Told of each new position: the journal may be trimmed. */
  readonly onPosition?: (position: number) => void;
  readonly onInserted: (table: string, rows: number) => void;
  /** This node does not reach the history store: what is on its way there is not waited for. */
  readonly isHistoryAway?: () => boolean;
}
