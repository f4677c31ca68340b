/** Group commit over a journal that settles when the test says so. */
import t from 'tap';
import { CommandBus } from '../../src/ingest/journal/command-bus.ts';
import { countRecords, decodeCommand, encodeCommand } from '../../src/ingest/journal/command-record.ts';
import { GROUP_BYTES_MAX, GroupCommit } from '../../src/ingest/journal/group-commit.ts';
import type { AcknowledgementSink } from '../../src/ingest/journal/record-intake.ts';
import type { Journal } from '../../src/ports/stores/journal.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';

interface Append {
  firstSeq: number;
  records: Buffer;
  count: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

class ManualJournal implements Journal {
  lastSeq = 0;
  sizeBytes = 0;
  readonly appends: Append[] = [];
  append(firstSeq: number, records: Buffer, count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.appends.push({
        firstSeq,
        records,
        count,
        reject,
        resolve: () => {
          this.lastSeq = firstSeq + count - 1;
          resolve();
        },
      });
    });
  }
  read(): undefined {
    return undefined;
  }
  trim(): void {
    /* Not needed here. */
  }
}

class Recorder implements AcknowledgementSink {
  readonly log: string[];
  readonly name: string;
  constructor(name: string, log: string[]) {
    this.name = name;
    this.log = log;
  }
  durable(token: number): void {
    this.log.push(`${this.name}${token}`);
  }
  flushDurable(): void {
    this.log.push(`${this.name}!`);
  }
  failed(token: number): void {
    this.log.push(`${this.name}${token}x`);
  }
}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
const record = (text = ''): Buffer =>
  encodeCommand({ kind: COMMAND.EVENT_DELETE, tenant: 1, key: 1, mode: 0, receivedAt: 0, body: { text } });

function newGroup(options: { journalBytesMax?: number; refusal?: () => string | undefined; lastSeq?: number } = {}) {
  const journal = new ManualJournal();
  journal.lastSeq = options.lastSeq ?? 0;
  const log: string[] = [];
  const group = new GroupCommit({
    journal,
    journalBytesMax: options.journalBytesMax ?? 1e9,
    refusal: options.refusal ?? (() => undefined),
    onDurable: (firstSeq, records) => {
      log.push(`group ${firstSeq}+${countRecords(records)}`);
    },
    onError: (error) => {
      log.push(error.message);
    },
  });
  const put = (sink: AcknowledgementSink, token: number, bytes = record()): boolean => {
    const at = group.reserve(bytes.length);
    if (at < 0) return false;
    bytes.copy(group.buffer, at);
    group.append(bytes.length, sink, token);
    return true;
  };
  return { journal, group, log, put, a: new Recorder('a', log), b: new Recorder('b', log) };
}

t.test('acknowledged only when the append has settled, after the handlers, each sink flushed once', async (t) => {
  const { journal, group, log, put, a, b } = newGroup({ lastSeq: 40 });
  put(a, 1);
  put(b, 1);
  put(a, 2);
  t.equal(group.lastAppendedSeq, 43);
  t.equal(journal.appends.length, 0, 'not before the turn ends');
  await turn();
  t.equal(journal.appends.length, 1, 'all of the turn is one append');
  t.equal(journal.appends[0].firstSeq, 41);
  t.equal(journal.appends[0].count, 3);
  t.equal(countRecords(journal.appends[0].records), 3);
  put(b, 2);
  put(b, 3);
  await turn();
  t.equal(journal.appends.length, 1, 'one append at a time');
  t.same(log, []);
  journal.appends[0].resolve();
  await turn();
  t.same(log.splice(0), ['group 41+3', 'a1', 'b1', 'a2', 'a!', 'b!']);
  t.equal(journal.appends.length, 2, 'what arrived meanwhile is the next group');
  t.same([journal.appends[1].firstSeq, journal.appends[1].count], [44, 2]);
  journal.appends[1].resolve();
  await turn();
  t.same(log, ['group 44+2', 'b2', 'b3', 'b!']);
  t.same([group.groupsCount, group.recordsCount], [2, 5]);
});

t.test('many records of one body are acknowledged as one', async (t) => {
  const { journal, group, log, put, a, b } = newGroup();
  put(b, 1);
  const records = Buffer.concat([record('x'), record('yy'), record('zzz')]);
  const at = group.reserve(records.length);
  records.copy(group.buffer, at);
  group.appendMany(records.length, 3, a, 9);
  put(b, 2);
  t.equal(group.lastAppendedSeq, 5);
  await turn();
  t.equal(countRecords(journal.appends[0].records), 5);
  const middle = decodeCommand(journal.appends[0].records, record().length + record('x').length, 3);
  t.same(middle.body, { text: 'yy' });
  journal.appends[0].resolve();
  await turn();
  t.same(log, ['group 1+5', 'b1', 'a9', 'b2', 'b!', 'a!']);
});

t.test('what has no record is acknowledged in order', async (t) => {
  const { journal, group, log, put, a, b } = newGroup();
  group.acknowledgeInOrder(a, 1);
  t.same(log.splice(0), ['a1', 'a!'], 'at once when nothing is under way');
  put(a, 2);
  group.acknowledgeInOrder(a, 3);
  put(a, 4);
  await turn();
  group.acknowledgeInOrder(a, 5);
  group.acknowledgeInOrder(b, 1);
  put(a, 6);
  group.acknowledgeInOrder(a, 7);
  t.same(log, []);
  journal.appends[0].resolve();
  await turn();
  t.same(log.splice(0), ['group 1+2', 'a2', 'a3', 'a4', 'a5', 'b1', 'a!', 'b!']);
  t.equal(journal.appends[1].count, 1);
  journal.appends[1].resolve();
  await turn();
  t.same(log, ['group 3+1', 'a6', 'a7', 'a!']);
});

t.test('what is asked for while acknowledgements are flushed is not left behind', async (t) => {
  const { journal, group, log, put, b } = newGroup();
  let asked = false;
  put(
    {
      durable: () => undefined,
      failed: () => undefined,
      flushDurable: () => {
        if (!asked) {
          asked = true;
          group.acknowledgeInOrder(b, 1);
        }
      },
    },
    1,
  );
  await turn();
  journal.appends[0].resolve();
  await turn();
  t.same(log, ['group 1+1', 'b1', 'b!']);
});

t.test('a full group takes nothing more until it has left', async (t) => {
  const { journal, group, log, put, a } = newGroup();
  const big = record('x'.repeat(GROUP_BYTES_MAX / 4));
  let taken = 0;
  while (put(a, taken, big)) taken += 1;
  t.equal(taken, 3);
  t.ok(group.openBytes <= GROUP_BYTES_MAX);
  t.equal(group.reserve(big.length), -1);
  t.not(group.reserve(10), -1, 'what still fits is taken');
  let freed = 0;
  group.whenFree(() => {
    freed += 1;
    put(a, 100, big);
  });
  t.equal(freed, 0);
  await turn();
  t.equal(freed, 1, 'once the group has left');
  t.equal(journal.appends[0].count, 3);
  journal.appends[0].resolve();
  await turn();
  t.equal(journal.appends[1].count, 1);
  journal.appends[1].resolve();
  await turn();
  t.equal(freed, 1);
  t.same(log, ['group 1+3', 'a0', 'a1', 'a2', 'a!', 'group 4+1', 'a100', 'a!']);
});

t.test(
  'records of one body that find no room are kept as they were, and go together into the next group',
  async (t) => {
    const { journal, group, log, put, a, b } = newGroup();
    while (put(a, 1, record('x'.repeat(GROUP_BYTES_MAX / 4)))) log.length = 0;
    const records = Buffer.concat([
      record('one'.repeat(100_000)),
      record('two'.repeat(100_000)),
      record('y'.repeat(GROUP_BYTES_MAX / 4)),
    ]);
    group.appendAll(records, records.length, 3, b, 7);
    const sent = Buffer.from(records);
    records.fill(0);
    await turn();
    t.equal(journal.appends[0].count, 3);
    journal.appends[0].resolve();
    await turn();
    t.equal(journal.appends[1].count, 3, 'one group');
    t.ok(journal.appends[1].records.equals(sent));
    t.notMatch(log.join(), /b7/);
    journal.appends[1].resolve();
    await turn();
    t.same(log.slice(-2), ['b7', 'b!']);
  },
);

t.test('one record larger than a group goes alone', async (t) => {
  const { journal, put, a } = newGroup();
  const huge = record('x'.repeat(GROUP_BYTES_MAX + 5));
  t.ok(put(a, 1, huge));
  t.notOk(put(a, 2, huge));
  await turn();
  t.equal(journal.appends[0].records.length, huge.length);
  t.ok(journal.appends[0].records.equals(huge));
});

t.test('a failed append fails its group and the one behind it, and numbering goes on where it was', async (t) => {
  const { journal, group, log, put, a, b } = newGroup({ lastSeq: 10 });
  put(a, 1);
  await turn();
  put(a, 2);
  put(b, 1);
  group.acknowledgeInOrder(b, 2);
  t.equal(group.lastAppendedSeq, 13);
  journal.appends[0].reject(new Error('disk full'));
  await turn();
  t.same(log.splice(0), ['disk full', 'a1x', 'a2x', 'b1x', 'b2x', 'a!', 'b!']);
  t.equal(group.lastAppendedSeq, 10);
  put(b, 3);
  await turn();
  t.equal(journal.appends[1].firstSeq, 11);
  journal.appends[1].resolve();
  await turn();
  t.same(log, ['group 11+1', 'b3', 'b!']);
});

t.test('a failed append lets those go on who wait: for room, for their turn and for an empty group', async (t) => {
  const { journal, group, log, put, a, b } = newGroup();
  put(a, 1);
  await turn();
  group.acknowledgeInOrder(b, 1);
  while (put(a, 2, record('x'.repeat(GROUP_BYTES_MAX / 2 - 100))));
  let freed = false;
  group.whenFree(() => {
    freed = true;
  });
  let drained = false;
  void group.drained().then(() => {
    drained = true;
  });
  journal.appends[0].reject(new Error('disk full'));
  await turn();
  t.ok(freed, 'room');
  t.ok(drained, 'drained');
  t.match(log.join(), /b1/, 'told what became of it');
});

t.test('who tries again while the failure is being told is not lost', async (t) => {
  const { journal, log, put, a } = newGroup();
  let tries = 0;
  const stubborn: AcknowledgementSink = {
    durable: () => {
      log.push('durable');
    },
    flushDurable: () => undefined,
    failed: () => {
      tries += 1;
      if (tries < 5) put(stubborn, 1);
    },
  };
  put(a, 1);
  await turn();
  put(stubborn, 1);
  journal.appends[0].reject(new Error('disk full'));
  await turn();
  t.equal(tries, 1);
  t.equal(journal.appends.length, 2);
  t.same([journal.appends[1].firstSeq, journal.appends[1].count], [1, 1]);
  journal.appends[1].resolve();
  await turn();
  t.equal(log.at(-1), 'durable');
});

t.test('limits that refuse writes have names', (t) => {
  let disk: string | undefined;
  const { journal, group } = newGroup({ journalBytesMax: 100, refusal: () => disk });
  t.equal(group.refusal, undefined);
  disk = 'disk/free-bytes';
  t.equal(group.refusal, 'disk/free-bytes');
  journal.sizeBytes = 100;
  t.equal(group.refusal, 'journal/bytes');
  t.end();
});

t.test('drained: when everything appended is durable and handled', async (t) => {
  const { journal, group, log, put, a } = newGroup();
  await group.drained();
  put(a, 1);
  let drained = false;
  void group.drained().then(() => {
    drained = true;
    log.push('drained');
  });
  await turn();
  put(a, 2);
  await turn();
  t.notOk(drained);
  journal.appends[0].resolve();
  await turn();
  journal.appends[1].resolve();
  await turn();
  t.equal(log.at(-1), 'drained');
  await group.drained();
});

t.test(
  'command bus: requests are answered by the actor, refused by the limits, ended by a failed append',
  async (t) => {
    const { journal, group } = newGroup({ journalBytesMax: 10_000_000 });
    const replies = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
    const refused: string[] = [];
    const bus = new CommandBus({
      intake: group,
      refusals: {
        count: (limit) => {
          refused.push(limit);
        },
      },
      replies: {
        expectReply: (seq, reply) => {
          replies.set(seq, reply);
        },
        cancelReply: (seq) => {
          replies.delete(seq);
        },
      },
    });
    const command = {
      kind: COMMAND.EVENT_DELETE,
      tenant: 1,
      key: 1,
      mode: 0 as const,
      receivedAt: 0,
      body: { id: '1' },
    };
    const answer = bus.request<string>(command);
    t.equal(bus.underWayCount, 1);
    const appended = async (count: number): Promise<void> => {
      while (journal.appends.length < count) await turn();
    };
    await appended(1);
    journal.appends[0].resolve();
    await turn();
    replies.get(1)?.resolve('done');
    t.equal(await answer, 'done');
    t.equal(bus.underWayCount, 0);

    const log: string[] = [];
    const failing = bus.request(command);
    const offered = bus.offer(
      [{ record: record() }, { record: record(), onAnswer: { resolve: () => undefined, reject: () => undefined } }],
      new Recorder('a', log),
      7,
    );
    t.ok(offered);
    const followUp = bus.appendFollowUp(command, '1-0');
    const failures = Promise.all([
      t.rejects(failing, { code: 'general/busy' }),
      t.rejects(followUp, 'a follow-up is sent again by its sender'),
    ]);
    await appended(2);
    t.same(journal.appends[1].count, 4);
    t.same(replies.size, 3);
    replies.delete(1);
    journal.appends[1].reject(new Error('disk full'));
    await failures;
    t.same(log, ['a7x', 'a!']);
    t.same([...replies.keys()], [], 'no answer of a later command reaches whoever waited for a lost one');

    const followed = bus.appendFollowUp(command, '1-0');
    await appended(3);
    journal.appends[2].resolve();
    await followed;
    journal.sizeBytes = 10_000_000;
    await t.rejects(bus.request(command), { code: 'general/busy', message: /journal\/bytes/ });
    t.same(refused, ['journal/bytes']);
    const beyond = [bus.appendFollowUp(command, '1-0'), bus.requestBeyondBound(command)];
    await appended(4);
    journal.appends[3].resolve();
    await turn();
    replies.get(4)?.resolve('done');
    await Promise.all(beyond);
    t.same(refused, ['journal/bytes'], 'what the journal needs to be trimmed is taken');
    journal.sizeBytes = 0;
    await t.rejects(bus.request({ ...command, body: { text: 'x'.repeat(GROUP_BYTES_MAX) } }), {
      code: 'general/payload-too-large',
    });
    t.equal(bus.underWayCount, 0);
  },
);

t.test('command bus: requests under way are bounded, the next one is refused by name and counted', async (t) => {
  const { group } = newGroup();
  const refused: string[] = [];
  const bus = new CommandBus({
    intake: group,
    refusals: {
      count: (limit) => {
        refused.push(limit);
      },
    },
    replies: { expectReply: () => undefined, cancelReply: () => undefined },
  });
  const command = { kind: COMMAND.EVENT_DELETE, tenant: 1, key: 1, mode: 0 as const, receivedAt: 0, body: { id: '1' } };
  for (let tenant = 1; tenant <= 20_000; tenant += 1) void bus.request({ ...command, tenant });
  t.same([bus.underWayCount, refused], [20_000, []]);
  // One that is taken is never answered here.
  await t.rejects(Promise.race([bus.request(command), turn()]), {
    code: 'general/busy',
    message: /commands\/under-way/,
  });
  t.same(refused, ['commands/under-way']);
});
