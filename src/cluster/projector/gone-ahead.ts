/**
 * Looks further in the journal of a shard for objects that are gone: one after the other their data would hold up the
 * shard.
 */
import { shardOf } from '../../ingest/journal/command-record.ts';
import type { JournalCommand } from '../../ingest/journal/command-record.ts';
import { SOURCES_AT_ONCE, sourceDeletions } from '../../ingest/projector/late-deletions.ts';
import type { SourceDelete } from '../../model/commands/deletion.ts';
import type { Track } from './track.ts';
import type { ShardJournal } from '../../ports/cluster/journal.ts';

/** Wait this long to delete the data of many removed objects in one batch, then delete one by one. */
export const AHEAD_VISIBLE_MS = 1_000;
export const SOURCE_VISIBLE_MS = 30_000;
/** Groups that are read for one deletion. */
const GROUPS_MAX = 1_000;

/**
 * SOURCE_DELETE behind `afterSeq` that the actors have handled, whose data nothing is added to any more. Not those of
 * objects of the same shard: rows of theirs may stand in between, and the shard waits.
 */
export async function goneAhead(journal: ShardJournal, track: Track, afterSeq: number): Promise<JournalCommand[]> {
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
