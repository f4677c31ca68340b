/** What gateways write into is the same to them on a single node and on a node of a cluster. */
import t from 'tap';
import { GatewayJournal } from '../../src/cluster/gateway/journal.ts';
import type { ShardJournal } from '../../src/ports/cluster/journal.ts';
import { GroupCommit } from '../../src/ingest/journal/group-commit.ts';
import type { Journal } from '../../src/ports/stores/journal.ts';
import { JOURNAL_BYTES_MAX, recordIntakeContract } from './record-intake-contract.ts';
import type { RecordIntakePlace } from './record-intake-contract.ts';

/** Appends of a journal that settles when the test says so. */
class HeldAppends {
  readonly appends: Buffer[] = [];
  sizeBytes = 0;
  #held: ((error: Error | undefined) => void)[] = [];

  /** @param onStored called when it is there. */
  hold<Value>(records: Buffer, onStored: () => Value): Promise<Value> {
    this.appends.push(Buffer.from(records));
    return new Promise((resolve, reject) => {
      this.#held.push((error) => {
        if (error) reject(error);
        else resolve(onStored());
      });
    });
  }

  settle(error?: Error): void {
    const held = this.#held;
    this.#held = [];
    for (const settle of held) settle(error);
  }
}

const placeOf = (held: HeldAppends, intake: RecordIntakePlace['intake']): RecordIntakePlace => ({
  intake,
  appends: held.appends,
  settle: (error) => held.settle(error),
  setSize: (bytes) => {
    held.sizeBytes = bytes;
  },
});

recordIntakeContract(t, 'a single node', () => {
  const held = new HeldAppends();
  let lastSeq = 0;
  const journal: Journal = {
    get lastSeq() {
      return lastSeq;
    },
    get sizeBytes() {
      return held.sizeBytes;
    },
    read: () => undefined,
    trim: () => undefined,
    append: (firstSeq, records, count) =>
      held.hold(records, () => {
        lastSeq = firstSeq + count - 1;
      }),
  };
  return placeOf(
    held,
    new GroupCommit({
      journal,
      journalBytesMax: JOURNAL_BYTES_MAX,
      refusal: () => undefined,
      onDurable: () => undefined,
      onError: () => undefined,
    }),
  );
});

recordIntakeContract(t, 'a node of a cluster', () => {
  const held = new HeldAppends();
  let lastGroup = 0;
  const journal = {
    get sizeBytes() {
      return held.sizeBytes;
    },
    unavailable: undefined,
    append: (_shard: number, _groupId: string, records: Buffer) =>
      held.hold(records, () => {
        lastGroup += 1;
        return lastGroup * 4_096;
      }),
  } as unknown as ShardJournal;
  return placeOf(
    held,
    new GatewayJournal({ journal, nodeId: 'n', journalBytesMax: JOURNAL_BYTES_MAX, onError: () => undefined }),
  );
});
