/**
 * What objects leave that are gone, of a shard: its owner looks further in the journal for others, since one after the
 * other their data would hold up the shard.
 */
import { shardOf } from '../../ingest/journal/command-record.ts';
import type { JournalCommand } from '../../ingest/journal/command-record.ts';
import { SOURCES_AT_ONCE, deletionsOf, sourceDeletions } from '../../ingest/projector/late-deletions.ts';
import type { Tries } from '../../ingest/projector/options.ts';
import type { Track } from '../../ingest/projector/track.ts';
import type { SourceDelete } from '../../model/commands/deletion.ts';
import type { ShardJournal } from '../../ports/cluster/journal.ts';

/** Wait this long to delete the data of many removed objects in one batch, then delete one by one. */
const AHEAD_VISIBLE_MS = 1_000;
const SOURCE_VISIBLE_MS = 30_000;
/** Groups that are read for one deletion. */
const GROUPS_MAX = 1_000;

export interface GoneSourcesOptions {
  readonly journal: ShardJournal;
  /**
   * Resolves when what stands before SOURCE_DELETE is in the history, but for the shard that they are of. Rejects after
   * `timeoutMs`.
   */
  readonly awaitSources: (gone: readonly JournalCommand[], ofShard: number, timeoutMs: number) => Promise<void>;
  /** Carries out a DELETE; everything before it is in the history. */
  readonly run: (command: JournalCommand) => Promise<void>;
}

/**
 * Deletes what the objects leave, and what others leave that are found behind them.
 * @returns up to which sequence that is done.
 */
export async function deleteGone(
  { journal, awaitSources, run }: GoneSourcesOptions,
  track: Track,
  gone: readonly JournalCommand[],
  { untilDone, deletion }: Tries,
): Promise<number> {
  const ahead = await untilDone(() => goneAhead(journal, track, gone[gone.length - 1].seq));
  let all = [...gone, ...ahead];
  try {
    await awaitSources(all, track.shard, AHEAD_VISIBLE_MS);
  } catch {
    // Shards that wait for each other would wait for ever: the first one alone, as a DELETE by filters, waits for
    // what is before it.
    all = [gone[0]];
    await untilDone(() => awaitSources(all, track.shard, SOURCE_VISIBLE_MS));
  }
  for (const command of deletionsOf(all)) await deletion(command, () => run(command));
  for (const { seq } of all.slice(gone.length)) track.goneAhead.add(seq);
  return all[Math.min(all.length, gone.length) - 1].seq;
}

/**
 * SOURCE_DELETE behind `afterSeq` that the actors have handled, whose data nothing is added to any more. Not those of
 * objects of the same shard: rows of theirs may stand in between, and the shard waits.
 */
async function goneAhead(journal: ShardJournal, track: Track, afterSeq: number): Promise<JournalCommand[]> {
  const found: JournalCommand[] = [];
  let through = afterSeq;
  for (
    let groups = 0;
    groups < GROUPS_MAX && found.length < SOURCES_AT_ONCE && through < track.offeredSeq;
    groups += 1
  ) {
    const group = await journal.read(track.shard, through + 1);
    if (group === undefined || group.firstSeq > track.offeredSeq) break;
    const last = Math.min(group.lastSeq, track.offeredSeq);
    const isElsewhere = ({ tenant, seq, body }: JournalCommand): boolean =>
      shardOf(tenant, Number((body as SourceDelete).source)) !== track.shard && !track.goneAhead.has(seq);
    found.push(...sourceDeletions(group.records, group.firstSeq, through, last).filter(isElsewhere));
    through = last;
  }
  return found;
}
