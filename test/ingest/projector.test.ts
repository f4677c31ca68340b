/** The projector of one process, over real journal and documents; what holds in a cluster too is the contract's. */
import t from 'tap';
import type { HistoryQuery } from '../../src/ports/history-reader.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { columnsOf } from '../../src/ingest/measurements/range.ts';
import { readBlock } from '../../src/ingest/projector/block-records.ts';
import { Platform, openEnvironment, until } from '../actors/platform.ts';
import type { Sent } from '../actors/platform.ts';
import { FakeHistory } from './fake-history.ts';
import { MONTHS_MAX } from '../../src/ingest/measurements/columns.ts';
import { OneProcess, event, measure, start, visible } from './projector-harness.ts';
import { numbersOf as numbers, projectorContract, range } from './projector-contract.ts';

projectorContract(t, 'one process', async (t) => new OneProcess(t));

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

t.test(
  'server and store are killed together: the start inserts what the store lost, with the next token',
  async (t) => {
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
      void visible(running, 1_000).catch(() => undefined);
      await until(() => documents.isCrashed, lost);
      t.same(numbers(history), [0, 2], lost);
      running = await start(t, await running.platform.crash(), history);
    }
    await visible(running);
    t.same(numbers(history), [0, 1, 2, 3]);
    t.same([...history.tokens.keys()], ['1-4 0', '1-4 1', '1-4/again-1 1', '1-4/again-2 1', '1-4/again-3 1']);
    await running.projector.stop();
  },
);

t.test(
  'a block that an earlier version has begun, with a DELETE at its end and late ones in it, is finished',
  async (t) => {
    const begun = {
      'as a whole': [undefined, false],
      'as a whole, and inserted': [undefined, true],
      'in parts': [(lastSeq: number) => ({ after: 0, ends: [4, lastSeq] }), false],
      'in parts, of which the first is done': [(lastSeq: number) => ({ after: 4, ends: [lastSeq] }), true],
    } as const;
    for (const [how, [partsOf, isInserted]] of Object.entries(begun)) {
      const history = new FakeHistory();
      const before = await new Platform(openEnvironment(t)).recover();
      const { group, journal, memory } = before;
      await before.create('5');
      await before.request(event(701));
      await measure(before, 1, 4);
      await before.measure(6, [60]);
      const remove = (kind: Sent['kind'], body: object): Promise<unknown> =>
        before.request({ kind, key: 't', body } as Sent);
      await remove(COMMAND.SOURCE_DELETE, { source: '6' });
      await remove(COMMAND.DATA_DELETE, { table: 'measurements', filter: { id: '99' } });
      await remove(COMMAND.DATA_DELETE, { table: 'events', filter: { source: '5' } });
      const lastSeq = group.lastAppendedSeq;
      await before.request(event(702));
      await measure(before, 5, 3);
      await before.settled();
      const parts = partsOf?.(lastSeq);
      await memory.saveIntent({ firstSeq: 1, lastSeq, ...(parts && { parts }) });
      if (isInserted) {
        const range = { shard: 0, firstSeq: 1, lastSeq: parts?.after ?? lastSeq };
        const { found } = await readBlock([range], (_shard, seq) => journal.read(seq));
        await history.insertMeasurements(columnsOf(found), `1-${lastSeq}${parts === undefined ? '' : '/1-4'}`);
      }
      const seen: string[] = [];
      const running = await start(t, await before.crash(), history, {
        rowsMax: 2,
        beforeDeletion: async ({ body }) => {
          const { table, filter } = body as { table: string; filter: object };
          seen.push(`${table} ${JSON.stringify(filter)}`);
        },
      });
      await visible(running);
      t.same(numbers(history), range(1, 7), how);
      t.same([history.ids('managed_objects'), history.ids('events')], [[5], [702]], how);
      t.same(
        seen,
        [
          ...['measurements', 'events', 'alarms', 'operations'].map((table) => `${table} {"source":"6"}`),
          'measurements {"id":"99"}',
          'events {"source":"5"}',
        ],
        how,
      );
      t.same(running.platform.ids('event'), ['702'], how);
      const { position, intent } = await running.platform.memory.load();
      t.same([position, intent], [running.platform.group.lastAppendedSeq, undefined], how);
      await running.projector.stop();
    }
  },
);

t.test('while a DELETE runs only those wait who have rows behind it', async (t) => {
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
    visible(running, 300, query).then(
      () => true,
      () => false,
    );
  t.equal(await seen({ tables: ['measurements'], tenant: 1 }), false, 'rows behind it wait');
  t.equal(await seen({ tables: ['measurements'], source: 6, tenant: 1 }), true, 'of another source');
  t.equal(await seen({ tables: ['alarms'], tenant: 1 }), true, 'another table');
  open();
  await visible(running);
  t.same([history.ids('events'), numbers(history)], [[], [1]]);
  await projector.stop();
});

t.test('stopped while a DELETE fails: who waits for it is not told that it is done', async (t) => {
  for (const [kind, body] of [
    [COMMAND.DATA_DELETE, { table: 'events', filter: { source: '5' } }],
    [COMMAND.SOURCE_DELETE, { source: '5' }],
  ] as const) {
    const running = await start(t, new Platform(openEnvironment(t)), new FakeHistory(), {
      beforeDeletion: async () => {
        throw new Error('away');
      },
    });
    await running.platform.request({ kind, key: 't', body });
    const waiting = visible(running, 20_000, { tables: ['events'], tenant: 1 }).then(
      () => 'seen',
      (error: Error) => error.message,
    );
    await until(() => running.projector.lastError === 'away');
    await running.projector.stop();
    t.equal(await waiting, 'the server stops');
  }
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
    visible(running, 300, query).then(
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
