/** What the cluster's projector is given. */
import type { JournalCommand } from '../../ingest/journal/command-record.ts';
import type { HistoryWriter } from '../../ports/stores/history-writer.ts';
import type { Quarantine } from '../../ports/stores/quarantine.ts';
import type { Log } from '../../ports/log.ts';
import type { BlockStore } from '../../ports/cluster/documents.ts';
import type { ShardJournal } from '../../ports/cluster/journal.ts';

export interface ClusterProjectorOptions {
  readonly journal: ShardJournal;
  readonly blocks: BlockStore;
  readonly history: HistoryWriter;
  /** Of this node: takes what the history store refuses for what it is. */
  readonly quarantine: Quarantine;
  readonly rowsMax: number;
  readonly intervalMs: number;
  readonly log: Log;
  /**
   * As in ProjectorOptions; everything before it in its own shard is in the history. Waits for the other shards itself.
   */
  readonly runDeletion: (command: JournalCommand, isVisible?: boolean) => Promise<void>;
  /**
   * Resolves when what stands before SOURCE_DELETE is in the history, but for the shard that they are of. Rejects after
   * `timeoutMs`.
   */
  readonly awaitSources: (gone: readonly JournalCommand[], ofShard: number, timeoutMs: number) => Promise<void>;
  /** The block that a shard's progress names, as stored. */
  readonly blockOf: (shard: number) => Promise<string | undefined>;
  readonly onInserted: (table: string, rows: number) => void;
  /** This node does not reach the history store: what is on its way there is not waited for. */
  readonly isHistoryAway?: () => boolean;
  /** See HistoryInsertOptions. */
  readonly uncertainTries?: number;
}
