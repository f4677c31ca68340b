/**
 * What was journaled takes effect exactly once, wherever the process ends, and whether the store answers at once or
 * later.
 */
import t from 'tap';
import type { Test } from 'tap';
import { nextAt } from '../../src/ingest/journal/record-layout.ts';
import { encodeCommand } from '../../src/ingest/journal/command-record.ts';
import { outboxEntries, outboxKey } from '../../src/actors/runtime/outbox.ts';
import { LmdbJournal } from '../../src/store/lmdb/journal.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Sent } from './platform.ts';
import { NOW, Platform, openEnvironment, openPlatform, until } from './platform.ts';

const ensure = (externalId: string, id: string, parent?: string): Sent => ({
  kind: COMMAND.DEVICE_ENSURE,
  key: `x:c8y_Serial\n${externalId}`,
  body: {
    type: 'c8y_Serial',
    externalId,
    id,
    owner: 'ada',
    doc: '{"com_cumulocity_model_Agent":{}}',
    ...(parent ? { parent: { id: parent, kind: 'childDevices' } } : {}),
  },
});
const alarm = (id: string, source: number): Sent => ({
  kind: COMMAND.ALARM_CREATE,
  key: source,
  body: {
    id,
    type: 'A',
    time: NOW,
    severity: 'MAJOR',
    status: 'ACTIVE',
    doc: '{"type":"A","time":"2024-01-01"}',
    user: 'ada',
  },
});

/** One step after the other; within a step all at once. Each step is journaled before the next begins. */
const STEPS: readonly (readonly Sent[])[] = [
  [ensure('a', '11'), ensure('a', '12'), ensure('b', '13')],
  [ensure('c', '14', '11'), alarm('21', 11), alarm('22', 11), alarm('23', 13)],
  [
    { kind: COMMAND.CHILD_ADD, key: 13, body: { kind: 'childAssets', parent: '13', child: '14' } },
    {
      kind: COMMAND.EVENT_CREATE,
      key: 11,
      body: { id: '31', type: 'T', time: NOW, doc: '{"type":"T"}', managedObjectDoc: '{"c8y_Position":{}}' },
    },
    { kind: COMMAND.OPERATION_CREATE, key: 14, body: { id: '41', doc: '{"x":{}}', user: 'ada' } },
    alarm('24', 11),
  ],
  [{ kind: COMMAND.MANAGED_OBJECT_DELETE, key: 13, body: {} }, alarm('25', 13), ensure('b', '15')],
];

async function run(platform: Platform, from = 0): Promise<number> {
  for (let step = from; step < STEPS.length; step += 1) {
    const before = platform.group.lastAppendedSeq;
    void Promise.allSettled(STEPS[step].map((sent) => platform.request(sent)));
    await until(() => platform.journal.lastSeq >= before + STEPS[step].length || platform.documents.isCrashed);
    if (platform.journal.lastSeq < before + STEPS[step].length) return step;
    if (!(await platform.settled())) return step + 1;
  }
  return STEPS.length;
}

async function uninterrupted(t: Test, isAsync = false): Promise<Platform> {
  const platform = openPlatform(t, { isAsync });
  await run(platform);
  return platform;
}

t.test('replies and notifications come when the state is committed', async (t) => {
  const platform = openPlatform(t);
  for (let id = 100; id < 130; id += 1) {
    const { doc } = await platform.create(String(id));
    t.equal(platform.stored.get('managedObject', 1, String(id)), doc);
  }
  t.equal(platform.notifications.length, 30);
  t.ok(platform.notifications.every(({ committedSeq }, index) => committedSeq >= index + 1));
  platform.documents.crashBefore = () => true;
  let isAnswered = false;
  void platform.create('200').then(() => {
    isAnswered = true;
  });
  await until(() => platform.documents.isCrashed);
  const next = await (await platform.crash()).recover();
  t.notOk(isAnswered, 'no answer without a commit');
  t.equal(platform.notifications.length, 30);
  t.match(next.get('managedObject', '200'), { id: '200' }, 'what is in the journal is done at the next start');
});

t.test('rows are in the outbox as soon as they are decided, on disk or not', async (t) => {
  const platform = openPlatform(t);
  const { stored, group, memory } = platform;
  let open = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  const commit = stored.commit.bind(stored);
  stored.commit = async (changes, position) => {
    const kept = [...changes];
    await isOpen;
    return commit(kept, position);
  };
  const answer = platform.create('5');
  await until(() => platform.rows.length > 0);
  t.equal(stored.position(), 0, 'nothing is on disk');
  t.same(await memory.outbox(0, group.lastAppendedSeq), platform.rows);
  open();
  await answer;
  t.same(await memory.outbox(0, group.lastAppendedSeq), platform.rows, 'the same from disk');
});

t.test('rows of a large group are in several entries of the outbox, which no position divides', async (t) => {
  const rows = Array.from({ length: 400 }, (_, index) => ({
    table: 'events',
    // Two of each sequence, and some out of order.
    seq: 10 + (index >> 1) + (index % 5 === 0 ? 3 : 0),
    text: `{"row":${index},"text":"${'x'.repeat(500)}"}`,
  }));
  const platform = openPlatform(t);
  const { stored, memory } = platform;
  const entries = outboxEntries(rows, 300);
  t.ok(entries.length > 3 && entries.length < 20, `${entries.length} entries`);
  t.equal(entries.at(-1)?.id, outboxKey(300), 'the last one has the name of the group');
  await stored.commit([...entries, ...outboxEntries([{ table: 'events', seq: 305, text: '{}' }], 310)], undefined);
  const texts = (found: readonly { text: string }[]): string[] => found.map(({ text }) => text).sort();
  for (const [after, through] of [
    [0, 310],
    [0, 300],
    [9, 57],
    [57, 58],
    [100, 305],
    [304, 305],
    [306, 400],
  ])
    t.same(
      texts(await memory.outbox(after, through)),
      texts([...rows, { seq: 305, text: '{}' }].filter(({ seq }) => seq > after && seq <= through)),
      `rows in (${after}, ${through}]`,
    );
  await memory.savePosition(57);
  t.same(texts(await memory.outbox(57, 300)), texts(rows.filter(({ seq }) => seq > 57)), 'those behind it stay');
  await memory.savePosition(310);
  t.same(await memory.outbox(0, 400), []);
});

t.test('follow-ups take effect exactly once, whichever commit the process ends before or after', async (t) => {
  const want = (await uninterrupted(t)).snapshot();
  for (const side of ['crashBefore', 'crashAfter'] as const) {
    for (let ending = 1; ending <= 14; ending += 1) {
      let platform = openPlatform(t);
      let commits = 0;
      platform.documents[side] = () => {
        commits += 1;
        return commits === ending;
      };
      let step = await run(platform);
      for (let again = 0; platform.documents.isCrashed && again < 5; again += 1) {
        platform = await platform.crash();
        // Ends once more, in the middle of the recovery.
        let recovering = 0;
        if (again === 0)
          platform.documents[side] = () => {
            recovering += 1;
            return recovering === 1 + (ending % 3);
          };
        await platform.recover();
        if (!platform.documents.isCrashed) step = await run(platform, step);
      }
      t.same(platform.snapshot(), want, `${side} ${ending}`);
      t.same(platform.ids('pending', '', 0), []);
    }
  }
});

t.test('a follow-up that is in the journal twice is handled once', async (t) => {
  const platform = openPlatform(t);
  await platform.create('5');
  const sent: Parameters<typeof platform.commands.appendFollowUp>[] = [];
  const append = platform.commands.appendFollowUp.bind(platform.commands);
  platform.commands.appendFollowUp = (...followUp) => {
    sent.push(followUp);
    return append(...followUp);
  };
  await platform.request({
    kind: COMMAND.EVENT_CREATE,
    key: 5,
    body: { id: '31', type: 'T', time: NOW, doc: '{"type":"T"}', managedObjectDoc: '{"n":1}' },
  });
  t.match(platform.get('managedObject', '5'), { n: 1 });
  await platform.request({
    kind: COMMAND.MANAGED_OBJECT_UPDATE,
    key: 5,
    body: { doc: '{"n":2}', mayChangeOwner: false },
  });
  t.equal(sent.length, 1);
  // As a start does that does not know how far the last one came.
  await append(...sent[0]);
  await platform.settled();
  t.match(platform.get('managedObject', '5'), { n: 2 });
});

t.test('follow-ups of a replay are appended behind it: an end in between skips nothing', async (t) => {
  const count = 20;
  for (let ending = 1; ending < 30; ending += 3) {
    const environment = openEnvironment(t);
    const journal = new LmdbJournal(environment);
    for (let seq = 1; seq <= count; seq += 1) {
      await journal.append(
        seq,
        encodeCommand({ tenant: 1, mode: 0, receivedAt: NOW, ...ensure(`d${seq}`, String(300 + seq)) }),
        1,
      );
    }
    let platform = new Platform(environment);
    let commits = 0;
    platform.documents.crashAfter = () => {
      commits += 1;
      return commits === ending;
    };
    await platform.recover();
    if (platform.documents.isCrashed) platform = await (await platform.crash()).recover();
    t.equal(platform.ids('managedObject').length, count, `ended after commit ${ending}`);
    t.equal(platform.ids('externalIdsOf').length, count);
  }
});

async function copyJournal(from: Platform['environment'], to: Platform['environment']): Promise<void> {
  const source = new LmdbJournal(from);
  const target = new LmdbJournal(to);
  for (let seq = 1; ; ) {
    const batch = source.read(seq);
    if (!batch) return;
    let count = 0;
    for (let at = 0; at < batch.records.length; at = nextAt(batch.records, at)) count += 1;
    await target.append(batch.firstSeq, batch.records, count);
    seq = batch.firstSeq + count;
  }
}

t.test('the whole journal replayed gives the same documents, each time', async (t) => {
  const done = await uninterrupted(t);
  for (let round = 0; round < 2; round += 1) {
    const environment = openEnvironment(t);
    await copyJournal(done.environment, environment);
    const platform = await new Platform(environment).recover();
    t.same(platform.snapshot(), done.snapshot());
    t.same(
      await (await platform.crash()).recover().then((next) => next.snapshot()),
      done.snapshot(),
      'and a further start changes nothing',
    );
  }
});

t.test('a store that answers later: the same documents, each actor in order', async (t) => {
  const want = (await uninterrupted(t)).snapshot();
  t.same((await uninterrupted(t, true)).snapshot(), want);
  const platform = openPlatform(t, { isAsync: true });
  await Promise.all([5, 6, 7].map((id) => platform.create(String(id))));
  const order: string[] = [];
  const sent = Array.from({ length: 60 }, (_, index) =>
    platform
      .request({
        kind: COMMAND.MANAGED_OBJECT_UPDATE,
        key: 5 + (index % 3),
        body: { doc: `{"n":${index}}`, mayChangeOwner: false },
      })
      .then(({ doc }) => {
        order.push(`${5 + (index % 3)} ${(JSON.parse(doc) as { n: number }).n}`);
      }),
  );
  await Promise.all(sent);
  for (const id of [5, 6, 7]) {
    const own = order.filter((entry) => entry.startsWith(`${id} `)).map((entry) => Number(entry.slice(2)));
    t.same(
      own,
      [...own].sort((a, b) => a - b),
    );
    t.match(platform.get('managedObject', String(id)), { n: 57 + id - 5 });
  }
  const alarms = await Promise.all(
    Array.from({ length: 20 }, (_, index) => platform.request(alarm(String(800 + index), 5))),
  );
  t.same(
    alarms.map(({ doc }) => (JSON.parse(doc) as { count: number }).count),
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  t.equal(platform.actors.mailboxCount, 0, 'idle actors leave memory');
});

t.test('a group is committed whatever becomes of its topics', async (t) => {
  for (const fail of [
    () => Promise.reject(new Error('later')),
    () => {
      throw new Error('at once');
    },
  ]) {
    const failures: unknown[] = [];
    const platform = openPlatform(t, {
      forwarder: {
        isActive: true,
        wants: () => true,
        wantsMeasurements: () => true,
        forward: fail,
        failed: (error) => void failures.push(error),
      },
    });
    await platform.request(ensure('a', '11'));
    t.match(platform.get('managedObject', '11'), { com_cumulocity_model_Agent: {} });
    t.equal(failures.length, 1);
  }
});
