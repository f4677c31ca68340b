/**
 * Groups of a gateway over the in-memory journal: orders, bounds, failures; commands and the answers that come for
 * them.
 */
import t from 'tap';
import { kindAt, nextAt } from '../../src/ingest/journal/record-layout.ts';
import { CommandGateway } from '../../src/cluster/gateway/command-gateway.ts';
import { GatewayJournal } from '../../src/cluster/gateway/journal.ts';
import { JournalUnavailable } from '../../src/ports/cluster/journal.ts';
import { JSON_BODY_BYTES_MAX } from '../../src/model/commands/group-bounds.ts';
import type { ShardJournal } from '../../src/ports/cluster/journal.ts';
import { decodeCommand, encodeCommand, shardOf } from '../../src/ingest/journal/command-record.ts';
import { decodeMeasurement, encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import type { AcknowledgementSink } from '../../src/ingest/journal/record-intake.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Command } from '../../src/model/commands/command.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { until } from '../actors/platform.ts';

interface Append {
  shard: number;
  groupId: string;
  records: Buffer;
  count: number;
  resolve: (seq: number) => void;
  reject: (error: Error) => void;
}

/** A journal that answers when it is told to. */
class HeldJournal {
  readonly appends: Append[] = [];
  sizeBytes = 0;
  unavailable: string | undefined;
  append(shard: number, groupId: string, records: Buffer, count: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.appends.push({ shard, groupId, records: Buffer.from(records), count, resolve, reject });
    });
  }
}

class Sink implements AcknowledgementSink {
  readonly events: string[] = [];
  readonly isOrdered: boolean;
  constructor(isOrdered = false) {
    this.isOrdered = isOrdered;
  }
  durable(token: number): void {
    this.events.push(`durable ${token}`);
  }
  flushDurable(): void {
    this.events.push('flush');
  }
  failed(token: number, error: Error): void {
    this.events.push(`failed ${token} ${error.message}`);
  }
  get tokens(): string[] {
    return this.events.filter((event) => event !== 'flush');
  }
}

const measurement = (source: number, document = ''): Buffer =>
  encodeMeasurement({
    tenant: 1,
    source,
    id: 1,
    time: 1,
    mode: 0,
    type: 'T',
    document,
    receivedAt: 1,
    values: [{ fragment: 'f', series: 's', value: 1, unit: '' }],
  });
/** Two sources of different shards. */
const A = 1;
const B = [2, 3, 4, 5].find((source) => shardOf(1, source) !== shardOf(1, A)) as number;

function gateway(options: { journalBytesMax?: number } = {}): { journal: HeldJournal; intake: GatewayJournal } {
  const journal = new HeldJournal();
  const intake = new GatewayJournal({
    journal: journal as unknown as ShardJournal,
    nodeId: 'n',
    journalBytesMax: options.journalBytesMax ?? 1e9,
    onError: () => undefined,
  });
  return { journal, intake };
}

function put(intake: GatewayJournal, source: number, sink: Sink, token: number): boolean {
  const record = measurement(source);
  const at = intake.reserve(record.length, 1, source);
  if (at < 0) return false;
  record.copy(intake.buffer, at);
  intake.append(record.length, sink, token);
  return true;
}

t.test('one append a shard, the next group gathers; connections hear of their packets in order', async (t) => {
  const { journal, intake } = gateway();
  const ordered = new Sink(true);
  const free = new Sink();
  put(intake, A, ordered, 1);
  put(intake, B, ordered, 2);
  put(intake, B, free, 1);
  await until(() => journal.appends.length === 2);
  const toA = journal.appends.find(({ shard }) => shard === shardOf(1, A)) as Append;
  const toB = journal.appends.find(({ shard }) => shard === shardOf(1, B)) as Append;
  put(intake, A, ordered, 3);
  intake.acknowledgeInOrder(ordered, 4);
  toB.resolve(8192);
  await until(() => free.events.length > 0);
  t.same(free.tokens, ['durable 1']);
  t.same(ordered.tokens, [], 'the packet before it is still to come');
  t.equal(intake.acknowledgedSeq(shardOf(1, B)), 8193);
  t.equal(journal.appends.length, 2, 'one append of a shard at a time');
  toA.resolve(4096);
  await until(() => journal.appends.length === 3);
  t.same(ordered.tokens, ['durable 1', 'durable 2']);
  t.not(journal.appends[2].groupId, toA.groupId);
  journal.appends[2].reject(new JournalUnavailable('away'));
  await intake.drained();
  t.same(ordered.tokens, ['durable 1', 'durable 2', 'failed 3 away', 'durable 4']);
  t.equal(intake.openBytes, 0);
  intake.acknowledgeInOrder(ordered, 5);
  t.equal(ordered.events.at(-2), 'durable 5');
});

t.test('a body over several shards and groups is acknowledged as one', async (t) => {
  const { journal, intake } = gateway();
  const records: Buffer[] = [];
  for (let index = 0; index < 10_000; index += 1) records.push(measurement(index % 2 === 0 ? A : B));
  const body = Buffer.concat(records);
  for (const isFailing of [false, true]) {
    const sink = new Sink();
    intake.appendAll(body, body.length, records.length, sink, 7);
    let seen = 0;
    const first = journal.appends.length;
    while (sink.events.length === 0) {
      await until(() => journal.appends.length > first + seen || sink.events.length > 0);
      for (; first + seen < journal.appends.length; seen += 1) {
        const { resolve, reject, count } = journal.appends[first + seen];
        t.ok(count <= 4_096);
        if (isFailing && seen === 1) reject(new Error('lost'));
        else resolve(4096 * (seen + 1));
      }
    }
    t.same(sink.events, [isFailing ? 'failed 7 lost' : 'durable 7', 'flush']);
    await intake.drained();
    t.equal(
      journal.appends.slice(first).reduce((sum, { count }) => sum + count, 0),
      10_000,
    );
  }
  const sink = new Sink();
  const large = measurement(A, 'x'.repeat(950_000));
  intake.appendAll(large, large.length, 1, sink, 1);
  t.match(sink.events[0], /failed 1 .*more than 921600 bytes/);
});

t.test('full: nothing more is reserved until a group has left; limits refuse by name', async (t) => {
  const { journal, intake } = gateway({ journalBytesMax: 100 });
  const sink = new Sink();
  let token = 0;
  while (put(intake, A, sink, token)) token += 1;
  t.equal(token, 4_096, 'records in a group');
  let isFree = false;
  intake.whenFree(() => {
    isFree = true;
  });
  t.ok(put(intake, B, sink, 9_999), 'another shard has room');
  await until(() => isFree);
  t.ok(put(intake, A, sink, token));
  for (const { resolve } of journal.appends) resolve(4096);
  await until(() => journal.appends.length === 3);
  journal.appends[2].resolve(8192);
  await intake.drained();
  t.equal(intake.refusal, undefined);
  journal.sizeBytes = 100;
  t.equal(intake.refusal, 'journal/bytes');
  journal.unavailable = 'no server';
  t.equal(intake.refusal, 'journal/unavailable');
});

const update = (key: number): Command => ({
  kind: COMMAND.MANAGED_OBJECT_UPDATE,
  tenant: 1,
  key,
  mode: 0,
  receivedAt: 1,
  body: { doc: '{}' },
});

t.test('answers: matched by shard and sequence, also early ones; none, refused ones', async (t) => {
  const { journal, intake } = gateway();
  let now = 0;
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  const counted: string[] = [];
  const commands = new CommandGateway({
    intake,
    refusals: {
      count: (limit) => {
        counted.push(limit);
      },
    },
    answerTimeoutMs: 30_000,
    now: () => now,
  });
  t.teardown(() => commands.stop());
  const shard = shardOf(1, A);
  const first = commands.request<{ n: number }>(update(A));
  const second = commands.request(update(A));
  const silent = commands.request(update(A));
  await until(() => journal.appends.length === 1);
  t.equal(journal.appends[0].count, 3);
  commands.take(shard, [{ seq: 4096, answer: { n: 1 } }]);
  t.equal(commands.earlyCount, 1);
  journal.appends[0].resolve(4096);
  t.same(await first, { n: 1 }, 'an answer that overtook the acknowledgement');
  t.equal(commands.earlyCount, 0);
  commands.take(shard, [
    { seq: 4097, error: { code: 'inventory/not-found', details: { id: '9' } } },
    { seq: 4090, answer: 1 },
  ]);
  await t.rejects(second, new PlatformError('inventory/not-found', { id: '9' }));
  t.equal(commands.earlyCount, 0, 'what nobody can wait for is not kept');
  commands.take(shard, [{ seq: 9000, answer: 1 }]);
  now = 30_001;
  await t.rejects(silent, { code: 'commands/answer-timeout', status: 503 });
  t.equal(commands.earlyCount, 0);
  t.same(counted, ['commands/answer-timeout']);
  t.equal(commands.underWayCount, 0);
  const failed = commands.request(update(A));
  await until(() => journal.appends.length === 2);
  journal.appends[1].reject(new JournalUnavailable('away'));
  await t.rejects(failed, { code: 'general/busy' });
  const followUp = commands.deliver(update(A), '1-2-3');
  await until(() => journal.appends.length === 3);
  journal.appends[2].resolve(12_288);
  await intake.drained();
  commands.take(shard, [{ seq: 12_288, error: { code: 'inventory/not-found', details: { id: '9' } } }]);
  await t.resolves(followUp, 'a refusal is an outcome too');
  await t.rejects(commands.request({ ...update(A), body: { doc: 'x'.repeat(950_000) } }), {
    code: 'general/record-too-large',
    status: 413,
  });
  const largest = commands.request({ ...update(A), body: { doc: 'x'.repeat(JSON_BODY_BYTES_MAX) } });
  await until(() => journal.appends.length === 4);
  journal.appends[3].resolve(16_384);
  await intake.drained();
  commands.take(shard, [{ seq: 16_384, answer: 1 }]);
  t.equal(await largest, 1, 'the largest JSON body fits into a group');
});

t.test('answers that are late: the owner is asked, and a command that is over is waited for no longer', async (t) => {
  const { journal, intake } = gateway();
  const asked: (readonly number[])[] = [];
  const counted: string[] = [];
  let nowMs = 0;
  let isAway = true;
  const commands = new CommandGateway({
    intake,
    refusals: {
      count: (limit) => {
        counted.push(limit);
      },
    },
    answerTimeoutMs: 30_000,
    now: () => nowMs,
    overOf: async (shard, seqs) => {
      asked.push(seqs);
      if (isAway) throw new Error('no owner');
      return shard === shardOf(1, A) ? seqs.filter((seq) => seq !== 4_098) : [];
    },
  });
  t.teardown(() => commands.stop());
  const over: string[] = [];
  const reply = (name: string) => ({
    resolve: () => {
      over.push(`${name} answered`);
    },
    reject: (error: Error) => {
      over.push(`${name} ${error.message}`);
    },
    over: () => {
      over.push(`${name} over`);
    },
  });
  const first = commands.request(update(A));
  first.catch(() => undefined);
  await until(() => journal.appends.length === 1);
  journal.appends[0].resolve(4_096);
  await intake.drained();
  t.ok(
    commands.offer(
      [
        { record: encodeCommand(update(A)), onAnswer: reply('device') },
        { record: encodeCommand(update(A)), onAnswer: reply('slow') },
        { record: encodeCommand(update(B)), onAnswer: reply('other') },
      ],
      new Sink(true),
      1,
    ),
  );
  await until(() => journal.appends.length === 3);
  for (const append of journal.appends.slice(1)) append.resolve(append.shard === shardOf(1, A) ? 4_097 : 8_192);
  await intake.drained();
  await new Promise((resolve) => {
    setTimeout(resolve, 600);
  });
  t.same(asked, [], 'not before they are late');
  nowMs = 3_000;
  await until(() => asked.length >= 2);
  t.same(over, [], 'an owner that cannot be asked says nothing');
  isAway = false;
  await until(() => over.length === 1);
  await t.rejects(first, { code: 'commands/answer-lost', status: 503 });
  t.same(over, ['device over']);
  t.same(counted, ['commands/answer-lost']);
  commands.take(shardOf(1, A), [{ seq: 4_098 }]);
  commands.take(shardOf(1, B), [{ seq: 8_192 }]);
  t.same(over, ['device over', 'slow answered', 'other answered']);
});

t.test('a journal that cannot be reached fails what waits behind the group too: it would come late', async (t) => {
  const { journal, intake } = gateway();
  const sink = new Sink(true);
  put(intake, A, sink, 1);
  await until(() => journal.appends.length === 1);
  put(intake, A, sink, 2);
  put(intake, A, sink, 3);
  journal.appends[0].reject(new JournalUnavailable('journal/unreachable'));
  await until(() => sink.tokens.length === 3);
  t.same(
    sink.tokens,
    [1, 2, 3].map((token) => `failed ${token} journal/unreachable`),
  );
  t.equal(intake.openBytes, 0);
  await intake.drained();
  put(intake, A, sink, 4);
  await until(() => journal.appends.length === 2);
  t.equal(journal.appends[1].count, 1, 'what comes then is new');
  journal.appends[1].resolve(4_096);
  await until(() => sink.tokens.length === 4);
  t.same(sink.tokens[3], 'durable 4');
});

/** The receipts in a group. */
function receiptsIn(records: Buffer): object[] {
  const bodies: object[] = [];
  for (let at = 0; at < records.length; at = nextAt(records, at))
    if (kindAt(records, at) === COMMAND.SESSION_RECEIPT) bodies.push(decodeCommand(records, at, 1).body);
  return bodies;
}

t.test(
  'a QoS 2 message: each part has its receipt in its group, and a part that is stored is not stored again',
  async (t) => {
    const { journal, intake } = gateway();
    const commands = new CommandGateway({ intake, refusals: { count() {} }, answerTimeoutMs: 30_000 });
    t.teardown(() => commands.stop());
    const packet = { tenant: 1, session: 'x', id: 5, receivedAt: 1 };
    const [shardA, shardB] = [shardOf(1, A), shardOf(1, B)];
    t.not(shardA, shardB);
    const sink = new Sink(true);
    const answered: number[] = [];
    const message = [A, B, A].map((source, index) => ({
      record: measurement(source),
      onAnswer: {
        resolve: () => {
          answered.push(index);
        },
        reject: () => undefined,
      },
    }));
    t.ok(commands.offer(message, sink, 1, packet));
    await until(() => journal.appends.length === 2);
    const of = (shard: number) =>
      journal.appends.findLast((append) => append.shard === shard) as (typeof journal.appends)[number];
    t.same([of(shardA).count, of(shardB).count], [3, 2]);
    t.same(receiptsIn(of(shardA).records), [{ session: 'x', id: 5, part: 0, parts: 2 }]);
    t.same(receiptsIn(of(shardB).records), [{ session: 'x', id: 5, part: 0, parts: 2 }]);
    t.equal(of(shardA).records[5], COMMAND.SESSION_RECEIPT, 'in front of what it is for');
    of(shardA).resolve(4_096);
    of(shardB).reject(new Error('lost'));
    await intake.drained();
    t.same(sink.tokens, ['failed 1 lost']);

    t.ok(commands.offer(message, sink, 2, { ...packet, stored: new Set([`${shardA}/0`]) }));
    t.same(answered, [], 'not within the call');
    await until(() => journal.appends.length === 3);
    t.same(answered, [0, 2], 'answered by nobody any more');
    t.same([journal.appends[2].shard, journal.appends[2].count], [shardB, 2]);
    t.same(receiptsIn(journal.appends[2].records), [{ session: 'x', id: 5, part: 0, parts: 2 }]);
    journal.appends[2].resolve(8_192);
    await until(() => sink.tokens.length === 2);
    t.same(sink.tokens[1], 'durable 2');

    t.ok(
      commands.offer(message, sink, 3, { ...packet, stored: new Set([`${shardA}/0`, `${shardB}/0`]) }),
      'nothing is left to store',
    );
    t.same(sink.tokens[2], 'durable 3');
    t.ok(commands.offer([], sink, 4, packet), 'nor of a message that asks for nothing');
    t.same(sink.tokens[3], 'durable 4');
    t.equal(journal.appends.length, 3);
  },
);

t.test(
  'a message with more records than a group takes: several groups, in order, and nothing overtakes them',
  async (t) => {
    const { journal, intake } = gateway();
    const commands = new CommandGateway({ intake, refusals: { count: () => undefined }, answerTimeoutMs: 1_000 });
    t.teardown(() => commands.stop());
    const numbered = (id: number): Buffer =>
      encodeMeasurement({
        tenant: 1,
        source: A,
        id,
        time: 1,
        mode: 0,
        type: 'T',
        document: '',
        receivedAt: 1,
        values: [{ fragment: 'f', series: 's', value: 1, unit: '' }],
      });
    const sink = new Sink(true);
    const answered: number[] = [];
    const records = Array.from({ length: 9_000 }, (_, id) => ({
      record: numbered(id),
      ...(id % 4_000 === 0
        ? {
            onAnswer: {
              resolve: () => {
                answered.push(id);
              },
              reject: () => undefined,
            },
          }
        : {}),
    }));
    t.ok(commands.offer(records, sink, 1));
    t.notOk(commands.offer([{ record: numbered(9_000) }], sink, 2), 'a later message of the device waits');
    t.equal(put(intake, A, sink, 3), false);
    t.ok(put(intake, B, new Sink(), 1), 'another shard does not');
    const ids: number[] = [];
    let appended = 0;
    let seq = 10_000;
    for (const counts of [[4_096, 1], [4_096], [808]]) {
      await until(() => journal.appends.length === appended + counts.length);
      for (const append of journal.appends.slice(appended)) {
        t.ok(counts.includes(append.count), `${append.count} records`);
        if (append.count > 1) for (const { id } of decoded(append.records)) ids.push(id);
        t.same(sink.tokens, [], 'not acknowledged before all are stored');
        append.resolve(seq);
        commands.take(
          append.shard,
          Array.from(answeredIn(append.records), (place) => ({ seq: seq + place, answer: undefined })),
        );
        seq += 10_000;
      }
      appended += counts.length;
    }
    await until(() => sink.tokens.length === 1);
    t.same(sink.tokens, ['durable 1']);
    t.same(
      ids,
      Array.from({ length: 9_000 }, (_, id) => id),
      'in order',
    );
    t.same(answered, [0, 4_000, 8_000], 'each answer finds its record');
    t.ok(commands.offer([{ record: numbered(9_000) }], sink, 2), 'and now there is room');

    const other = gateway();
    const further = new CommandGateway({
      intake: other.intake,
      refusals: { count: () => undefined },
      answerTimeoutMs: 1_000,
    });
    t.teardown(() => further.stop());
    t.ok(
      further.offer(
        Array.from({ length: 5_000 }, () => ({ record: measurement(A) })),
        sink,
        6,
        { tenant: 1, session: 'x', id: 5, receivedAt: 1 },
      ),
    );
    const counts: number[] = [];
    for (let part = 0; part < 2; part += 1) {
      await until(() => other.journal.appends.length === part + 1);
      const append = other.journal.appends[part];
      counts.push(append.count);
      t.same(receiptsIn(append.records), [{ session: 'x', id: 5, part, parts: 2 }]);
      append.resolve(100_000 * (part + 1));
    }
    t.same(counts, [4_096, 906]);
  },
);

t.test('bodies that follow each other do not keep one message waiting', async (t) => {
  const { journal, intake } = gateway();
  const sink = new Sink();
  const large = Buffer.concat(Array.from({ length: 3_000 }, () => measurement(A)));
  for (let body = 1; body <= 4; body += 1) intake.appendAll(large, large.length, 3_000, sink, body);
  let isWaiting = !put(intake, A, sink, 100);
  t.ok(isWaiting, 'there is no room now');
  intake.whenFree(function again() {
    if (put(intake, A, sink, 100)) isWaiting = false;
    else intake.whenFree(again);
  });
  for (let group = 0; group < 8 && isWaiting; group += 1) {
    await until(() => journal.appends.length === group + 1);
    // One more for each that leaves.
    intake.appendAll(large, large.length, 3_000, sink, 10 + group);
    journal.appends[group].resolve((group + 1) * 10_000);
  }
  t.notOk(isWaiting, 'its turn came');
});

function decoded(records: Buffer): { id: number }[] {
  const found: { id: number }[] = [];
  for (let at = 0; at < records.length; at = nextAt(records, at)) found.push(decodeMeasurement(records, at));
  return found;
}

/** Places of the records that are answered, in a group. */
function answeredIn(records: Buffer): number[] {
  return decoded(records).flatMap(({ id }, place) => (id % 4_000 === 0 ? [place] : []));
}
