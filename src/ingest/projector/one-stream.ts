/** The projector of one process: one stream of the journal, whose begun block is the intent in its progress. */
import { countRecords } from '../journal/command-record.ts';
import type { Journal } from '../../ports/stores/journal.ts';
import type { BegunBlock } from './begun-block.ts';
import type { InsertIntent, ProjectorProgress } from './progress.ts';
import type { ProjectorOptions } from './options.ts';

/** The only track. */
export const STREAM = 0;
/** Of groups that need no new memory: new memory for each made V8 collect the whole heap. */
const ROOM_BYTES = 4 * 1_048_576;

/** What the projector of one process is given of the journal and its progress. */
export function oneStream(
  journal: Journal,
  progress: Pick<ProjectorProgress, 'saveIntent'>,
): Pick<ProjectorOptions, 'journal' | 'blocks'> {
  let room: Buffer | undefined;
  return {
    journal: {
      read: async (_shard, seq, isPassing) => {
        if (isPassing === true) room ??= Buffer.allocUnsafeSlow(ROOM_BYTES);
        const batch = await journal.read(seq, isPassing === true ? room : undefined);
        if (batch === undefined) throw new Error(`the journal ends before ${seq}, which was handled`);
        return { ...batch, lastSeq: batch.firstSeq + countRecords(batch.records) - 1 };
      },
    },
    blocks: {
      begin: async ([{ firstSeq, lastSeq }], _tracks, _mayInsert, untilDone) => {
        await untilDone(() => progress.saveIntent({ firstSeq, lastSeq }));
        return intentBlock({ firstSeq, lastSeq }, progress, true);
      },
      reopen: async (intent) => intentBlock(intent, progress, false),
    },
  };
}

function intentBlock(
  { firstSeq, lastSeq, parts }: InsertIntent,
  progress: Pick<ProjectorProgress, 'saveIntent'>,
  isFresh: boolean,
): BegunBlock {
  let ends = parts?.ends ?? [];
  return {
    token: `${firstSeq}-${lastSeq}`,
    ranges: [{ shard: STREAM, firstSeq, lastSeq }],
    isFresh,
    after: parts?.after ?? firstSeq - 1,
    endOf: (after) => ends.find((end) => end > after),
    split: (after, through) => {
      ends = [through, ...ends.filter((end) => end > after && end !== through)];
      return progress.saveIntent({ firstSeq, lastSeq, parts: { after, ends } });
    },
  };
}
