/** What every adapter of the ShardJournal port promises; run by the tests of the adapters. */
import type { Test } from 'tap';
import { nextAt } from '../../../src/ingest/journal/record-layout.ts';
import { GROUP_RECORDS_MAX } from '../../../src/ports/cluster/journal.ts';
import type { ShardFollower, ShardGroup, ShardJournal } from '../../../src/ports/cluster/journal.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { countRecords, decodeCommand, encodeCommand } from '../../../src/ingest/journal/command-record.ts';
import { until } from '../../helpers/until.ts';
import { Random } from '../../smartrest/random.ts';

export interface OpenShardJournal {
  readonly journal: ShardJournal;
  close(): Promise<void>;
}

/** A store of its own; each `open` is a node that works on it. */
export interface ShardJournalPlace {
  open(nodeId: string): Promise<OpenShardJournal>;
}

/** Records with consecutive numbers in their bodies, so that each can be accounted for. */
export function groupOf(firstNumber: number, count: number, padding = 0): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, index) =>
      encodeCommand({
        kind: COMMAND.EVENT_DELETE,
        tenant: 1,
        key: 1,
        mode: 0,
        receivedAt: 0,
        body: { n: firstNumber + index, x: 'x'.repeat(padding) },
      }),
    ),
  );
}

/** The numbers in a group's records. */
export function numbersOf(group: ShardGroup): number[] {
  const numbers: number[] = [];
  for (let at = 0; at < group.records.length; at = nextAt(group.records, at)) {
    numbers.push((decodeCommand(group.records, at, group.firstSeq + numbers.length).body as { n: number }).n);
  }
  return numbers;
}

export async function eventually<Value>(
  what: string,
  find: () => Value | Promise<Value>,
  timeoutMs = 15_000,
): Promise<NonNullable<Value>> {
  let found: Value | undefined;
  await until(what, async () => Boolean((found = await find())), timeoutMs);
  return found as NonNullable<Value>;
}

/** Follows a shard and checks on the way what the port promises about groups. */
export class Reader {
  readonly groups: ShardGroup[] = [];
  readonly errors: Error[] = [];
  readonly faults: string[] = [];
  underWay = 0;
  readonly follower: ShardFollower;

  constructor(
    journal: ShardJournal,
    shard: number,
    afterSeq = 0,
    each: (group: ShardGroup) => void | Promise<void> = () => {},
  ) {
    let last = afterSeq;
    this.follower = journal.follow(
      shard,
      afterSeq,
      async (group) => {
        this.underWay += 1;
        if (this.underWay > 1) this.faults.push(`${this.underWay} calls at once`);
        if (group.shard !== shard) this.faults.push(`a group of shard ${group.shard}`);
        if (group.firstSeq <= last) this.faults.push(`${group.firstSeq} after ${last}`);
        if (group.lastSeq !== group.firstSeq + countRecords(group.records) - 1)
          this.faults.push(`${group.firstSeq} to ${group.lastSeq} has ${countRecords(group.records)} records`);
        last = group.lastSeq;
        this.groups.push(group);
        try {
          await each(group);
        } finally {
          this.underWay -= 1;
        }
      },
      (error) => {
        this.errors.push(error);
      },
    );
  }

  get numbers(): number[] {
    return this.groups.flatMap(numbersOf);
  }

  has(count: number, timeoutMs?: number): Promise<boolean> {
    return eventually(
      `${count} groups (${this.groups.length} are there)`,
      () => this.groups.length >= count,
      timeoutMs,
    );
  }
}

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Everything from `seq` on, by `read`. */
export async function readShard(journal: ShardJournal, shard: number, seq = 1): Promise<ShardGroup[]> {
  const groups: ShardGroup[] = [];
  for (let next = seq; ; ) {
    const group = await journal.read(shard, next);
    if (!group) return groups;
    groups.push(group);
    next = group.lastSeq + 1;
  }
}

export function shardJournalContract(t: Test, name: string, newPlace: (t: Test) => Promise<ShardJournalPlace>): void {
  let groupCount = 0;
  const nextId = (): string => `contract-${process.pid}-${Date.now()}-${(groupCount += 1)}`;

  t.test(`${name}: an empty journal`, async (t) => {
    const { journal, close } = await (await newPlace(t)).open('a');
    t.equal(await journal.lastSeq(3), 0);
    t.equal(await journal.read(3, 1), undefined);
    t.equal(journal.unavailable, undefined);
    await journal.trim(3, 4_096);
    const reader = new Reader(journal, 3);
    await reader.follower.stop();
    t.same([reader.groups, reader.errors], [[], []]);
    await close();
  });

  t.test(`${name}: sequences grow within a shard and name the group and the record's place`, async (t) => {
    const place = await newPlace(t);
    const a = await place.open('a');
    const b = await place.open('b');
    const firsts: number[] = [];
    for (const [opened, shard, count] of [
      [a, 5, 3],
      [b, 6, 2],
      [a, 5, 1],
      [b, 5, GROUP_RECORDS_MAX],
    ] as const) {
      firsts.push(await opened.journal.append(shard, nextId(), groupOf(0, count), count));
    }
    t.ok(
      firsts.every((seq) => seq % GROUP_RECORDS_MAX === 0),
      String(firsts),
    );
    t.ok(firsts[0] < firsts[2] && firsts[2] < firsts[3]);
    t.equal(await a.journal.lastSeq(5), firsts[3] + GROUP_RECORDS_MAX - 1);
    t.equal(await a.journal.lastSeq(6), firsts[1] + 1);
    const groups = await readShard(b.journal, 5);
    t.same(
      groups.map(({ shard, firstSeq, lastSeq, gateway }) => ({ shard, firstSeq, lastSeq, gateway })),
      [
        { shard: 5, firstSeq: firsts[0], lastSeq: firsts[0] + 2, gateway: 'a' },
        { shard: 5, firstSeq: firsts[2], lastSeq: firsts[2], gateway: 'a' },
        { shard: 5, firstSeq: firsts[3], lastSeq: firsts[3] + GROUP_RECORDS_MAX - 1, gateway: 'b' },
      ],
    );
    for (const [seq, want] of [
      [1, 0],
      [firsts[0], 0],
      [firsts[0] + 2, 0],
      [firsts[0] + 3, 2],
      [firsts[2], 2],
      [firsts[2] + 1, 3],
      [firsts[3] + 4_000, 3],
    ]) {
      t.equal((await a.journal.read(5, seq))?.firstSeq, firsts[want], `by ${seq}`);
    }
    t.equal(await a.journal.read(5, firsts[3] + GROUP_RECORDS_MAX), undefined);
    groups[0].records.fill(0);
    t.same(numbersOf((await b.journal.read(5, 1))!), [0, 1, 2], 'what is read belongs to the reader');
    await a.close();
    await b.close();
  });

  t.test(`${name}: the same group id is stored once`, async (t) => {
    const { journal, close } = await (await newPlace(t)).open('a');
    const id = nextId();
    const first = await journal.append(1, id, groupOf(1, 2), 2);
    t.equal(await journal.append(1, id, groupOf(1, 2), 2), first);
    await journal.append(1, nextId(), groupOf(3, 1), 1);
    t.same((await readShard(journal, 1)).flatMap(numbersOf), [1, 2, 3]);
    await close();
  });

  t.test(`${name}: a follower gets what was there and what comes, in order, one call after the other`, async (t) => {
    const place = await newPlace(t);
    const a = await place.open('a');
    const b = await place.open('b');
    const append = (opened: OpenShardJournal, shard: number, n: number): Promise<number> =>
      opened.journal.append(shard, nextId(), groupOf(n, 2), 2);
    for (let n = 0; n < 100; n += 2) await append(a, 2, n);
    const reader = new Reader(b.journal, 2, 0, async (group) => {
      if (group.firstSeq % 3 === 0)
        await new Promise((resolve) => {
          setTimeout(resolve, 1);
        });
    });
    const other = new Reader(a.journal, 3);
    for (let n = 100; n < 200; n += 2) await Promise.all([append(n % 4 ? a : b, 2, n), append(b, 3, n)]);
    await reader.has(100);
    await other.has(50);
    t.same(reader.numbers, range(0, 199));
    t.same(other.numbers, range(100, 199));
    await reader.follower.stop();
    await other.follower.stop();
    await append(a, 2, 200);
    const later = new Reader(b.journal, 2, reader.groups[97].lastSeq);
    await later.has(3);
    t.same(later.numbers, range(196, 201), 'begins behind the sequence');
    await later.follower.stop();
    t.equal(reader.groups.length, 100, 'nothing comes after stop');
    for (const one of [reader, other, later]) t.same([one.faults, one.errors], [[], []]);
    await a.close();
    await b.close();
  });

  t.test(`${name}: stop waits for the call under way, and no other comes`, async (t) => {
    const { journal, close } = await (await newPlace(t)).open('a');
    for (let n = 0; n < 5; n += 1) await journal.append(9, nextId(), groupOf(n, 1), 1);
    let finish = (): void => {};
    const reader = new Reader(
      journal,
      9,
      0,
      () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    );
    await reader.has(1);
    let isStopped = false;
    const stopped = reader.follower.stop().then(() => {
      isStopped = true;
    });
    await new Promise((resolve) => {
      setTimeout(resolve, 30);
    });
    t.equal(isStopped, false);
    finish();
    await stopped;
    t.same([reader.groups.length, reader.underWay, reader.errors.length], [1, 0, 0]);
    await close();
  });

  t.test(`${name}: a rejection stops the follower and is told`, async (t) => {
    const { journal, close } = await (await newPlace(t)).open('a');
    for (let n = 0; n < 5; n += 1) await journal.append(9, nextId(), groupOf(n, 1), 1);
    const reader = new Reader(journal, 9, 0, (group) => {
      if (numbersOf(group)[0] === 2) throw new Error('no more');
    });
    await eventually('the error', () => reader.errors.length);
    await new Promise((resolve) => {
      setTimeout(resolve, 30);
    });
    t.same([reader.numbers, reader.errors.map(({ message }) => message)], [[0, 1, 2], ['no more']]);
    await reader.follower.stop();
    await close();
  });

  t.test(`${name}: trim forgets what lies before the group of the sequence, in this shard only`, async (t) => {
    const { journal, close } = await (await newPlace(t)).open('a');
    const firsts: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      firsts.push(await journal.append(4, nextId(), groupOf(n * 10, 10, 200), 10));
      await journal.append(5, nextId(), groupOf(n, 1), 1);
    }
    await journal.trim(4, firsts[3] + 8);
    t.equal((await journal.read(4, 1))?.firstSeq, firsts[3], 'a group that is not wholly behind stays');
    await journal.trim(4, firsts[9] + 9);
    t.ok((await journal.read(4, 1))!.firstSeq >= firsts[9]);
    t.same((await readShard(journal, 4, firsts[10])).flatMap(numbersOf), range(100, 199));
    t.equal((await readShard(journal, 5)).length, 20);
    await journal.trim(4, firsts[19] + 9);
    t.equal(await journal.lastSeq(4), firsts[19] + 9, 'the newest sequence is known for ever');
    const reader = new Reader(journal, 4, firsts[2]);
    const next = await journal.append(4, nextId(), groupOf(200, 1), 1);
    t.ok(next > firsts[19]);
    await eventually('what is left', () => reader.numbers.at(-1) === 200);
    t.same(reader.faults, []);
    await reader.follower.stop();
    await close();
  });

  t.test(`${name}: random appends of several nodes, followers that come and go, trims`, async (t) => {
    const random = new Random();
    const place = await newPlace(t);
    const nodes = [await place.open('a'), await place.open('b')];
    const shards = [0, 17, 63];
    const want = new Map<number, number[]>(shards.map((shard) => [shard, []]));
    const got = new Map<number, number[]>(shards.map((shard) => [shard, []]));
    const positions = new Map<number, number>();
    const readers = new Map<number, Reader>();
    const begin = (shard: number): void => {
      readers.set(
        shard,
        new Reader(random.pick(nodes).journal, shard, positions.get(shard) ?? 0, (group) => {
          got.get(shard)!.push(...numbersOf(group));
          positions.set(shard, group.lastSeq);
        }),
      );
    };
    for (const shard of shards) begin(shard);
    let n = 0;
    for (let step = 0; step < 150; step += 1) {
      await Promise.all(
        shards.map(async (shard) => {
          const count = 1 + random.below(random.below(8) === 0 ? 400 : 4);
          want.get(shard)!.push(...range(n, n + count - 1));
          const records = groupOf(n, count, random.below(50));
          n += count;
          await random.pick(nodes).journal.append(shard, nextId(), records, count);
        }),
      );
      const shard = random.pick(shards);
      if (random.below(6) === 0) {
        const { follower, faults, errors } = readers.get(shard)!;
        await follower.stop();
        if (faults.length + errors.length > 0) t.fail(`${faults} ${errors}, seed ${random.seed}`);
        begin(shard);
      }
      if (random.below(10) === 0 && positions.has(shard))
        await random.pick(nodes).journal.trim(shard, positions.get(shard)!);
    }
    for (const shard of shards) {
      await eventually(`shard ${shard}`, () => got.get(shard)!.length >= want.get(shard)!.length).catch(
        (error: unknown) => {
          t.fail(String(error));
        },
      );
      await readers.get(shard)!.follower.stop();
      t.same(got.get(shard), want.get(shard), `seed ${random.seed}`);
    }
    for (const node of nodes) await node.close();
  });
}
