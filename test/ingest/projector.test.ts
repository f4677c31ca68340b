/**
 * The projector over real journal and documents with a history store that can be slow, away or cut off in the middle.
 */
import t from 'tap';
import { kindAt, nextAt } from '../../src/ingest/journal/record-layout.ts';
import { decodeMeasurement } from '../../src/ingest/measurements/record.ts';
import type { HistoryQuery } from '../../src/ports/history-reader.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import { Platform, openEnvironment, until } from '../actors/platform.ts';
import { rounds } from '../helpers/rounds.ts';
import { Random } from '../smartrest/random.ts';
import { FakeHistory } from './fake-history.ts';
import { MONTHS_MAX } from '../../src/ingest/measurements/columns.ts';
import { HOUR_MS, event, measure, range, start, visible } from './projector-harness.ts';

const numbers = (history: FakeHistory): number[] => history.values.map(({ value }) => value).sort((a, b) => a - b);

t.test('follows live: one block when somebody looks, one when the interval ends, one when it is full', async (t) => {
  const history = new FakeHistory();
  const running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 50 });
  await measure(running.platform, 0, 10);
  t.same(history.log, [], 'nothing before there is a reason');
  await Promise.all([visible(running), visible(running), visible(running)]);
  t.same(history.log, ['measurements 1-10'], 'flushes coalesce');
  t.equal(running.projector.position, 10);
  t.same(numbers(history), range(0, 10));
  await measure(running.platform, 10, 60);
  await until(() => running.projector.position >= 60);
  await visible(running);
  t.same(numbers(history), range(0, 70));
  t.equal(running.projector.pendingRows, 0);
  await running.projector.visible(running.projector.position, 0);
  await running.projector.stop();

  const timed = await start(t, await running.platform.crash(), history, { intervalMs: 5 });
  await measure(timed.platform, 70, 3);
  await until(() => timed.projector.position === 73, 'the interval');
  t.same(numbers(history), range(0, 73));
  await timed.projector.stop();
  t.same(
    timed.inserted.filter((entry) => !entry.startsWith('measurements')),
    [],
  );
});

t.test('a block with many rows waits longer than one with few, and not for ever', async (t) => {
  const history = new FakeHistory();
  const intervalMs = 400;
  const running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 50_000, intervalMs });
  const insertedAfter = async (values: number[], events = 0): Promise<number> => {
    await running.platform.measure(5, [0]);
    const from = performance.now();
    // An insert begins the next block's time.
    await visible(running);
    await running.platform.measure(5, values);
    await Promise.all(range(0, events).map((id) => running.platform.request(event(100 + id))));
    const last = running.platform.group.lastAppendedSeq;
    await until(() => running.projector.position === last, 'the insert');
    return performance.now() - from;
  };
  t.ok((await insertedAfter(range(0, 2_000))) >= 2.5 * intervalMs, 'many: two and a half intervals');
  t.equal(history.values.length, 2_001);
  await insertedAfter([1]);
  t.equal(history.values.length, 2_003);
  await running.platform.request({
    kind: COMMAND.MANAGED_OBJECT_CREATE,
    key: 5,
    body: { id: '5', owner: 'admin', doc: '{}' },
  });
  t.ok((await insertedAfter([2], 100)) >= 2.5 * intervalMs, 'many rows of other tables, too');
  // The interval would end within an hour.
  const asked = await start(t, new Platform(openEnvironment(t)), new FakeHistory(), { rowsMax: 50_000 });
  await asked.platform.measure(5, range(0, 3_000));
  await visible(asked);
  t.equal(asked.projector.position, 1, 'who asks does not wait for it');
  await Promise.all([running.projector.stop(), asked.projector.stop()]);
});

t.test('values of one measurement are parts of one row id, what is not stored leaves no row', async (t) => {
  const history = new FakeHistory();
  const running = await start(t, new Platform(openEnvironment(t)), history);
  await running.platform.measure(5, [1, 2, 3]);
  for (const mode of [PROCESSING_MODE.TRANSIENT, PROCESSING_MODE.CEP])
    await running.platform.measure(5, [99], { mode });
  await running.platform.measure(5, [4], { mode: PROCESSING_MODE.QUIESCENT });
  await running.platform.measure(6, []);
  await visible(running);
  t.same(
    history.values.map(({ seq, part, value }) => [seq, part, value]),
    [
      [1, 0, 1],
      [1, 1, 2],
      [1, 2, 3],
      [4, 0, 4],
      [5, 0, 0],
    ],
  );
  await running.platform.measure(5, [99], { mode: PROCESSING_MODE.TRANSIENT });
  await visible(running);
  t.equal(running.projector.position, 6, 'the position passes what leaves no row');
  await running.projector.stop();
});

t.test(
  'a block has times of a bounded number of months; one that was begun with more is built again as it was',
  async (t) => {
    const history = new FakeHistory();
    const running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 10_000 });
    const many = MONTHS_MAX * 2 + 10;
    await Promise.all(
      range(0, many).map((month) => running.platform.measure(5, [month], { time: Date.UTC(1900, month, 15) })),
    );
    await visible(running);
    t.same(history.log, [
      `measurements 1-${MONTHS_MAX}`,
      `measurements ${MONTHS_MAX + 1}-${MONTHS_MAX * 2}`,
      `measurements ${MONTHS_MAX * 2 + 1}-${many}`,
    ]);
    await running.projector.stop();

    // As a version without that bound has begun it.
    const platform = await running.platform.crash();
    await Promise.all(range(0, many).map((month) => platform.measure(5, [month], { time: Date.UTC(1900, month, 15) })));
    await platform.memory.saveIntent({ firstSeq: many + 1, lastSeq: many * 2 });
    const later = await start(t, await platform.crash(), history, { rowsMax: 10 });
    await visible(later);
    t.equal(history.log.at(-1), `measurements ${many + 1}-${many * 2}`);
    await later.projector.stop();
  },
);

t.test('slower history: the projector lags, reads the journal later, loses and doubles nothing', async (t) => {
  const history = new FakeHistory();
  const running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 20 });
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  history.before = () => gate;
  for (let round = 0; round < 20; round += 1) await measure(running.platform, round * 15, 15);
  t.ok(running.projector.isLagging);
  t.ok(running.projector.pendingRows < 60, `${running.projector.pendingRows} rows in memory`);
  const flushed = visible(running);
  history.before = () => undefined;
  open();
  await flushed;
  t.same(numbers(history), range(0, 300));
  await until(() => !running.projector.isLagging);
  await measure(running.platform, 300, 5);
  await visible(running);
  t.same(numbers(history), range(0, 305));
  t.same(
    running.positions,
    [...running.positions].sort((a, b) => a - b),
    'the position only grows',
  );
  await running.projector.stop();
});

t.test('history away for a while: retried with the same token, waiting ends with the reason', async (t) => {
  const history = new FakeHistory();
  const running = await start(t, new Platform(openEnvironment(t)), history);
  let isAway = true;
  history.before = () => {
    if (isAway) throw new Error('connection refused');
  };
  await measure(running.platform, 0, 5);
  await t.rejects(running.projector.visible(5, 150), /connection refused/);
  await measure(running.platform, 5, 5);
  t.ok(running.projector.insertErrorsCount > 0);
  isAway = false;
  await visible(running);
  t.same(numbers(history), range(0, 10));
  t.equal(running.projector.lastError, undefined);
  isAway = true;
  await measure(running.platform, 10, 1);
  const waiting = t.rejects(running.projector.visible(11, 20_000), /the server stops/, 'stopping ends the waiting');
  await until(() => running.projector.lastError !== undefined);
  await running.projector.stop();
  await waiting;
  t.equal(running.positions.at(-1), 10);
  isAway = false;
  const again = await start(t, await running.platform.crash(), history);
  await visible(again);
  t.same(numbers(history), range(0, 11));
  await again.projector.stop();
});

t.test('a crash between any two steps of a block: built again, same token, same rows', async (t) => {
  for (const step of ['intent saved', 'inserted', 'rows inserted', 'position saved']) {
    const history = new FakeHistory();
    let running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 10 });
    await running.platform.create('5');
    await visible(running);
    const { documents } = running.platform;
    const end = (): Promise<void> => {
      documents.isCrashed = true;
      return new Promise(() => undefined);
    };
    if (step === 'intent saved') history.before = (call) => (call.startsWith('measurements') ? end() : undefined);
    if (step === 'inserted') history.after = (call) => (call.startsWith('measurements') ? end() : undefined);
    if (step === 'rows inserted') history.after = (call) => (call.startsWith('events') ? end() : undefined);
    await Promise.all([
      measure(running.platform, 0, 5),
      running.platform.request(event(700)),
      measure(running.platform, 5, 12),
    ]);
    if (step === 'position saved') {
      let saves = 0;
      documents.crashAfter = (position) => {
        saves += position === undefined ? 1 : 0;
        return saves === 2;
      };
    }
    void running.projector.visible(running.platform.group.lastAppendedSeq, 1_000).catch(() => undefined);
    await until(() => documents.isCrashed, step);
    history.before = () => undefined;
    history.after = () => undefined;
    // Fewer rows in a block since then: the block that was begun is the same nevertheless.
    running = await start(t, await running.platform.crash(), history, { rowsMax: 3 });
    await measure(running.platform, 17, 3);
    await visible(running);
    t.same(numbers(history), range(0, 20), step);
    t.same(history.ids('events'), [700], step);
    t.equal(
      new Set(history.log.filter((call) => call.startsWith('measurements')).map((call) => call.split('-')[0])).size,
      history.tokens.size,
      `${step}: no block begins where another one began`,
    );
    await running.projector.stop();
  }
});

t.test(
  'a store that was killed knows the token of rows that it lost: they are inserted with the next one',
  async (t) => {
    for (const partitions of [1, 2, 3]) {
      for (let losses = 1; losses <= 4; losses += 1) {
        const history = new FakeHistory();
        history.partitionOf = ({ value }) => value % partitions;
        let left = losses;
        history.loses = () => {
          left -= 1;
          return left >= 0;
        };
        const running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 100 });
        await measure(running.platform, 0, 10);
        await visible(running);
        t.same(numbers(history), range(0, 10), `${losses} losses, ${partitions} months`);
        t.ok(left <= 0);
        await measure(running.platform, 10, 10);
        await visible(running);
        t.same(numbers(history), range(0, 20));
        t.equal(history.log.at(-1), 'measurements 11-20', 'nothing is looked for that was answered at once');
        await running.projector.stop();
      }
    }
  },
);

t.test('so does the start after server and store were killed together', async (t) => {
  const history = new FakeHistory();
  history.partitionOf = ({ value }) => value % 2;
  let running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 100 });
  for (const lost of ['1-4 1', '1-4/again-1 1', '1-4/again-2 1', undefined]) {
    const { documents } = running.platform;
    history.loses = (token) => {
      documents.isCrashed ||= token === lost;
      return documents.isCrashed;
    };
    if (lost === '1-4 1') await measure(running.platform, 0, 4);
    if (lost === undefined) break;
    void running.projector.visible(running.platform.group.lastAppendedSeq, 1_000).catch(() => undefined);
    await until(() => documents.isCrashed, lost);
    t.same(numbers(history), [0, 2], lost);
    running = await start(t, await running.platform.crash(), history);
  }
  await visible(running);
  t.same(numbers(history), [0, 1, 2, 3]);
  t.same([...history.tokens.keys()], ['1-4 0', '1-4 1', '1-4/again-1 1', '1-4/again-2 1', '1-4/again-3 1']);
  await running.projector.stop();
});

t.test('stopping while a begun block is repeated leaves it for the next start', async (t) => {
  const history = new FakeHistory();
  let running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 100 });
  for (let round = 0; round < 30; round += 1) await measure(running.platform, round, 1);
  const { documents } = running.platform;
  history.after = () => {
    documents.isCrashed = true;
    return new Promise(() => undefined);
  };
  void running.projector.visible(running.platform.group.lastAppendedSeq, 1_000).catch(() => undefined);
  await until(() => documents.isCrashed);
  history.after = () => undefined;
  running = await start(t, await running.platform.crash(), history);
  await running.projector.stop();
  // Blocks of its own would be smaller ones, with rows that are there.
  running = await start(t, await running.platform.crash(), history, { rowsMax: 7 });
  await visible(running);
  t.same(numbers(history), range(0, 30));
  await running.projector.stop();
});

t.test('a DELETE waits for everything before it and for nothing behind it, also within one group', async (t) => {
  for (const isLagging of [false, true]) {
    const history = new FakeHistory();
    const running = await start(t, new Platform(openEnvironment(t)), history, { rowsMax: 20 });
    const { platform } = running;
    await platform.create('5');
    await visible(running);
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    if (isLagging) {
      history.before = () => gate;
      await measure(platform, 100, 60);
      await until(() => running.projector.isLagging);
    }
    const remove = (table: string) =>
      platform.request({ kind: COMMAND.DATA_DELETE, key: 't', body: { table, filter: { source: '5' } } });
    // A request is appended a microtask later: so are these, in order with them.
    const inOrder = async (first: number, count: number): Promise<void> => {
      await null;
      await measure(platform, first, count);
    };
    await Promise.all([
      platform.request(event(701)),
      inOrder(1, 3),
      remove('events'),
      platform.request(event(702)),
      inOrder(4, 2),
      remove('measurements'),
      platform.request(event(703)),
      inOrder(6, 2),
    ]);
    history.before = () => undefined;
    open();
    await visible(running);
    t.same(history.ids('events'), [702, 703], `lagging: ${isLagging}`);
    t.same(numbers(history), [6, 7], `lagging: ${isLagging}`);
    t.equal(running.deletions.length, 1);
    t.same(platform.ids('event'), ['702', '703']);
    await running.projector.stop();
  }
});

t.test('while a DELETE runs only those wait who read what it removes, or have rows behind it', async (t) => {
  const history = new FakeHistory();
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const running = await start(t, new Platform(openEnvironment(t)), history, { beforeDeletion: () => gate });
  const { platform, projector } = running;
  await platform.create('5');
  await platform.request(event(701));
  await visible(running);
  const remove = platform.request({
    kind: COMMAND.DATA_DELETE,
    key: 't',
    body: { table: 'events', filter: { source: '5' } },
  });
  // Behind it in the same group: a request is appended a microtask later.
  await null;
  await Promise.all([remove, measure(platform, 1, 1)]);
  const seen = async (query: HistoryQuery): Promise<boolean> =>
    projector.visible(platform.group.lastAppendedSeq, 300, query).then(
      () => true,
      () => false,
    );
  t.equal(await seen({ tables: ['events'], tenant: 1 }), false, 'its own waits');
  t.equal(await seen({ tables: ['events'] }), false, 'of any tenant');
  t.equal(await seen({ tables: ['measurements'], tenant: 1 }), false, 'rows behind it wait');
  t.equal(await seen({ tables: ['measurements'], source: 6, tenant: 1 }), true, 'of another source');
  t.equal(await seen({ tables: ['alarms'], tenant: 1 }), true, 'another table');
  t.equal(await seen({ tables: ['events'], tenant: 2 }), true, 'another tenant');
  open();
  await visible(running);
  t.same([history.ids('events'), numbers(history)], [[], [1]]);
  await projector.stop();
});

t.test('deletions of single measurements end no block, and are carried out together behind its rows', async (t) => {
  const history = new FakeHistory();
  const seen: object[] = [];
  const running = await start(t, new Platform(openEnvironment(t)), history, {
    beforeDeletion: async (command) => {
      seen.push((command.body as { filter: object }).filter);
    },
  });
  const { platform } = running;
  const remove = (id: number): Promise<unknown> =>
    platform.request({
      kind: COMMAND.DATA_DELETE,
      key: 't',
      body: { table: 'measurements', filter: { id: String(id) } },
    });
  await Promise.all(range(1, 50).flatMap((id) => [platform.measure(5, [id]), remove(1_000 + id)]));
  await visible(running);
  t.strictSame(seen, [{ ids: range(1_001, 50).join(',') }]);
  t.equal(history.log.filter((call) => call.startsWith('measurements')).length, 1);
  t.same(numbers(history), range(1, 50));
  await running.projector.stop();
});

t.test('what objects leave that are gone is deleted together, behind the rows of their block', async (t) => {
  const history = new FakeHistory();
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const seen: string[] = [];
  const running = await start(t, new Platform(openEnvironment(t)), history, {
    beforeDeletion: (command) => {
      seen.push(
        `${(command.body as { table: string }).table} ${JSON.stringify((command.body as { filter: object }).filter)}`,
      );
      return gate;
    },
  });
  const { platform, projector } = running;
  await platform.create('5');
  await platform.request(event(701));
  await measure(platform, 1, 3);
  // In one group: a request is appended a microtask later.
  const gone = (source: string): Promise<unknown> =>
    platform.request({ kind: COMMAND.SOURCE_DELETE, key: 't', body: { source } });
  await Promise.all([gone('5'), gone('77'), gone('78'), platform.request(event(702))]);
  const isSeen = async (query: HistoryQuery): Promise<boolean> =>
    projector.visible(platform.group.lastAppendedSeq, 300, query).then(
      () => true,
      () => false,
    );
  t.equal(await isSeen({ tables: ['events'], tenant: 1 }), false, 'lists of the tenant wait');
  t.equal(await isSeen({ tables: ['measurements'], tenant: 1, source: 5 }), false, 'and who reads such a source');
  t.equal(await isSeen({ tables: ['measurements'], tenant: 1, source: 6 }), true, 'not who reads another');
  t.equal(await isSeen({ tables: ['alarms'], tenant: 2 }), true, 'nor another tenant');
  t.equal(await isSeen({ tables: ['managed_objects'], tenant: 1 }), true, 'nor a list of objects');
  t.equal(running.projector.isLagging, false);
  open();
  await visible(running);
  await visible(running);
  t.strictSame(
    seen,
    ['measurements', 'events', 'alarms', 'operations'].map((table) => `${table} {"sources":"5,77,78"}`),
    'each table once',
  );
  t.same([history.ids('events'), numbers(history)], [[], []]);
  await projector.stop();
});

t.test(
  'who asked behind a DELETE, while it runs, sees nothing of what it took; others do not wait for more',
  async (t) => {
    const history = new FakeHistory();
    let open: () => void = () => undefined;
    let gate = Promise.resolve();
    const running = await start(t, new Platform(openEnvironment(t)), history, { beforeDeletion: () => gate });
    const { platform, projector } = running;
    await platform.create('5');
    for (let round = 0; round < 5; round += 1) {
      const ids = [800, 801, 802].map((id) => id + 10 * round);
      await Promise.all(ids.map((id) => platform.request(event(id))));
      await visible(running);
      gate = new Promise((resolve) => {
        open = resolve;
      });
      await platform.request({
        kind: COMMAND.DATA_DELETE,
        key: 't',
        body: { table: 'events', filter: { source: '5' } },
      });
      const asked = platform.group.lastAppendedSeq;
      const seen = Promise.all(
        [undefined, { tables: ['events'], tenant: 1 } satisfies HistoryQuery].map((query) =>
          projector.visible(asked, 5_000, query).then(() => history.ids('events')),
        ),
      );
      await t.resolves(projector.visible(asked, 5_000, { tables: ['events'], tenant: 2 }));
      t.same(history.ids('events'), ids, 'another tenant does not wait for the DELETE');
      open();
      t.same(await seen, [[], []]);
    }
    await projector.stop();
  },
);

t.test('rows of actors arrive at least once, and the outbox is emptied', async (t) => {
  const history = new FakeHistory();
  let running = await start(t, new Platform(openEnvironment(t)), history);
  await running.platform.create('5');
  await running.platform.request(event(701));
  history.after = (call) => {
    if (call.startsWith('events')) {
      running.platform.documents.isCrashed = true;
      return new Promise(() => undefined);
    }
  };
  void running.projector.visible(running.platform.group.lastAppendedSeq, 1_000).catch(() => undefined);
  await until(() => running.platform.documents.isCrashed);
  history.after = () => undefined;
  running = await start(t, await running.platform.crash(), history);
  await visible(running);
  t.equal(history.log.filter((call) => call === 'events 701').length, 2);
  await running.platform.request(event(702));
  await visible(running);
  await running.platform.request(event(703));
  await visible(running);
  t.same(running.platform.ids('meta', 'rows/', 0), []);
  t.same(history.ids('events'), [701, 702, 703]);
  t.same(history.ids('managed_objects'), [5]);
  await running.projector.stop();
});

t.test('groups with nothing but measurements let the journal be trimmed', async (t) => {
  const history = new FakeHistory();
  const running = await start(t, new Platform(openEnvironment(t)), history);
  await running.platform.create('5');
  for (let round = 0; round < 30; round += 1) {
    await measure(running.platform, round * 10, 10);
    await visible(running);
  }
  t.ok(running.platform.journal.sizeBytes < 3_000, `${running.platform.journal.sizeBytes} bytes are kept`);
  await running.projector.stop();
});

t.test('random load, delays, failures and crashes: each row is there exactly once', async (t) => {
  const random = new Random();
  const history = new FakeHistory();
  const options = (): { rowsMax: number; intervalMs: number } => ({
    rowsMax: 1 + random.below(40),
    intervalMs: random.pick([1, 5, HOUR_MS]),
  });
  let running = await start(t, new Platform(openEnvironment(t)), history, options());
  await running.platform.create('5');
  let nextId = 1_000;
  let crashes = 0;
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  };
  const misbehave = async (): Promise<void> => {
    const { documents } = running.platform;
    const kind = random.below(60);
    if (kind < 15) await turns(random.below(20));
    else if (kind < 18) throw new Error('refused');
    else if (kind === 18) documents.isCrashed = true;
    if (documents.isCrashed) await new Promise(() => undefined);
  };
  history.before = misbehave;
  history.after = misbehave;
  history.partitionOf = ({ seq }) => seq % 3;
  history.loses = () => random.below(30) === 0;
  const acknowledgedEvents = new Set<number>();
  const acknowledgedMeasurements = new Set<number>();
  for (let step = rounds(150, 400); step > 0; step -= 1) {
    const { platform } = running;
    const kind = random.below(10);
    if (kind < 6) {
      for (let count = random.below(15); count > 0; count -= 1) {
        const id = nextId++;
        void platform
          .measure(
            5,
            Array.from({ length: random.below(4) }, () => random.below(100)),
            { id },
          )
          .then(() => {
            acknowledgedMeasurements.add(id);
          });
      }
    } else if (kind < 9) {
      const id = nextId++;
      platform.request(event(id)).then(
        () => {
          acknowledgedEvents.add(id);
        },
        () => undefined,
      );
    } else {
      void running.projector.visible(platform.journal.lastSeq, 1_000).catch(() => undefined);
    }
    await turns(random.below(6));
    if (random.below(15) === 0) platform.documents.isCrashed = true;
    if (!platform.documents.isCrashed) continue;
    crashes += 1;
    running = await start(t, await platform.crash(), history, options());
  }
  history.before = () => undefined;
  history.after = () => undefined;
  if (running.platform.documents.isCrashed) running = await start(t, await running.platform.crash(), history);
  await running.platform.settled();
  await visible(running);
  t.ok(crashes > 0, `${crashes} crashes, seed ${random.seed}`);
  const keys = history.values.map(({ seq, part }) => `${seq}/${part}`);
  t.equal(new Set(keys).size, keys.length, `none twice, seed ${random.seed}`);
  const ids = new Set(history.values.map(({ id }) => id));
  t.same(
    [...acknowledgedMeasurements].filter((id) => !ids.has(id)),
    [],
    `no measurement is missing, seed ${random.seed}`,
  );
  const events = new Set(history.ids('events'));
  t.same(
    [...acknowledgedEvents].filter((id) => !events.has(id)),
    [],
    `no event is missing, seed ${random.seed}`,
  );
  t.same(
    history.ids('events').map(String),
    running.platform.ids('event'),
    `events of documents and history, seed ${random.seed}`,
  );
  await running.projector.stop();
  // The journal is trimmed; what is left of it must all be in the history.
  for (let seq = 1; ; ) {
    const batch = running.platform.journal.read(seq);
    if (!batch) break;
    seq = batch.firstSeq;
    for (let at = 0; at < batch.records.length; at = nextAt(batch.records, at), seq += 1) {
      if (kindAt(batch.records, at) !== COMMAND.MEASUREMENT) continue;
      const { values } = decodeMeasurement(batch.records, at);
      const stored = history.values.filter((value) => value.seq === seq).map(({ value }) => value);
      if (JSON.stringify(stored) !== JSON.stringify(values.length === 0 ? [0] : values.map(({ value }) => value)))
        t.fail(`${seq}, seed ${random.seed}`);
    }
  }
});

t.test('a query waits for what it reads: its tables, and of measurements its source', async (t) => {
  const history = new FakeHistory();
  const running = await start(t, new Platform(openEnvironment(t)), history);
  const { platform, projector } = running;
  await platform.create('5', '{}');
  await visible(running);
  await measure(platform, 0, 3);
  const seq = platform.group.lastAppendedSeq;
  await projector.visible(seq, 20_000, { tables: ['alarms', 'managed_objects'] });
  await projector.visible(seq, 20_000, { tables: ['measurements'], source: 6 });
  t.same(numbers(history), [], 'others read at once');
  await projector.visible(seq, 20_000, { tables: ['measurements'], source: 5 });
  t.same(numbers(history), [0, 1, 2]);
  await platform.request(event(900));
  await platform.measure(6, [9]);
  await projector.visible(platform.group.lastAppendedSeq, 20_000, { tables: ['events'] });
  t.same(history.ids('events'), [900]);
  await projector.stop();
});
