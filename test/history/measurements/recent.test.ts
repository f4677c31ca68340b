/** The newest measurements in memory: what a list tells is what the history would tell (docs/internals/performance.md). */
import t from 'tap';
import type { Test } from 'tap';
import { PlatformError } from '../../../src/model/errors.ts';
import { RecentList } from '../../../src/ingest/recent/list.ts';
import type { EdgeFound, EdgeOf, RecentMeasurement } from '../../../src/ports/recent-measurements.ts';
import type { ListReaders } from '../../../src/history/readers.ts';
import { recentPage } from '../../../src/history/measurements/recent-page.ts';
import type { MeasurementRow } from '../../../src/history/measurements/rows.ts';
import { recentSeries } from '../../../src/history/measurements/recent-series.ts';
import type { SeriesRange } from '../../../src/history/measurements/series.ts';
import { DeletionsLook } from '../../../src/ingest/recent/deletions-look.ts';
import { RecentMeasurements } from '../../../src/ingest/recent/measurements.ts';
import type { QuarantineEntry } from '../../../src/ports/stores/quarantine.ts';
import { encodeCommand } from '../../../src/ingest/journal/command-record.ts';
import { encodeMeasurement } from '../../../src/ingest/measurements/record.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import type { CommandKind } from '../../../src/model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../../src/model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../../src/model/commands/processing-mode.ts';

const TENANT = 7;
const SOURCE = 1_000;
const of = (source: number | undefined = SOURCE, tenant = TENANT): EdgeOf => ({ tenant, source, edge: 'newest' });
const OF_TENANT: EdgeOf = { tenant: TENANT, source: undefined, edge: 'newest' };

const item = (id: number, time = id, document = ''): RecentMeasurement => ({
  source: SOURCE,
  id,
  time,
  type: 'T',
  document,
  values: [{ fragment: 'f', series: 's', value: id, unit: '' }],
  form: 0,
});

function record(
  id: number,
  made: { tenant?: number; source?: number; time?: number; mode?: ProcessingMode; document?: string } = {},
): Buffer {
  const { tenant = TENANT, source = SOURCE, time = id, mode = PROCESSING_MODE.PERSISTENT, document = '' } = made;
  return encodeMeasurement({ ...item(id, time, document), tenant, source, mode, receivedAt: 0 });
}

const command = (kind: CommandKind, body: object, tenant = TENANT): Buffer =>
  encodeCommand({ kind, tenant, key: 'tenant', mode: PROCESSING_MODE.PERSISTENT, receivedAt: 0, body });
const deletion = (tenant = TENANT, filter: object = { type: 'T' }, table = 'measurements'): Buffer =>
  command(COMMAND.DATA_DELETE, { table, filter }, tenant);

const quarantined = (kind: QuarantineEntry['kind'], source = SOURCE): QuarantineEntry =>
  ({ kind, table: 'measurements', row: { tenant: TENANT, source } }) as QuarantineEntry;

/** Newest first, as the history tells them. */
const newest = (
  ids: readonly number[],
  isWhole = false,
  page = 3,
): EdgeFound & { readonly measurements: readonly RecentMeasurement[] } => ({
  page,
  measurements: ids.map((id) => item(id)),
  isWhole,
});
const ids = (found: readonly RecentMeasurement[] | undefined): number[] | undefined => found?.map(({ id }) => id);
const PAGE = { offset: 0, size: 3 };
/** The history deletes nothing. */
const NONE: ReadonlySet<number> = new Set();

/** One that knows the last measurements of the source. */
async function filled(t: Test, told: EdgeFound, bytesMax?: number): Promise<RecentMeasurements> {
  const recent = new RecentMeasurements(() => 0, bytesMax);
  recent.look(NONE);
  t.equal(recent.find(of(), PAGE), undefined, 'nothing is known');
  t.same(ids(await recent.edge(of(), PAGE, () => Promise.resolve(told))), [3, 2, 1]);
  return recent;
}

t.test('a page is told when no other measurement may belong to it', async (t) => {
  const list = new RecentList('newest', 3, newest([9, 8, 7, 6]).measurements, false);
  const check = (range: Partial<Parameters<RecentList['find']>[0]>, want: number[] | undefined): void => {
    t.same(ids(list.find({ ...PAGE, ...range })), want, JSON.stringify(range));
  };
  check({}, [9, 8, 7]);
  check({ offset: 1 }, [8, 7, 6]);
  check({ offset: 2 }, undefined);
  check({ size: 4 }, [9, 8, 7, 6]);
  check({ size: 5 }, undefined);
  check({ to: 8 }, [8, 7, 6]);
  check({ to: 7 }, undefined);
  check({ from: 8 }, [9, 8]);
  check({ from: 6 }, [9, 8, 7]);
  check({ from: 6, size: 5 }, undefined);
  check({ from: 7, to: 8 }, [8, 7]);
  check({ from: 10 }, []);
  check({ to: 5 }, undefined);
});

t.test('of a list without others every page is told', async (t) => {
  const list = new RecentList('newest', 3, newest([9, 8]).measurements, true);
  t.same(ids(list.find({ ...PAGE })), [9, 8]);
  t.same(ids(list.find({ ...PAGE, offset: 5 })), []);
  t.same(ids(list.find({ ...PAGE, to: 1 })), []);
  list.add(item(1));
  t.same(ids(list.find({ ...PAGE })), [9, 8, 1], 'late data');
});

t.test('what comes is put in its place, once, and the oldest go', async (t) => {
  const list = new RecentList('newest', 2, newest([9, 7]).measurements, false);
  t.notOk(list.reaches(6, 100));
  t.notOk(list.reaches(7, 6));
  for (const added of [item(8), item(8), item(20, 9), item(4, 9)]) {
    t.ok(list.reaches(added.time, added.id));
    list.add(added);
  }
  t.same(ids(list.find({ offset: 0, size: 5 })), [20, 9, 4, 8, 7]);
  const before = list.bytes;
  list.add(item(21));
  t.same(ids(list.find({ offset: 0, size: 4 })), [21, 20, 9, 4]);
  t.equal(list.find({ offset: 0, size: 5 }), undefined);
  t.ok(list.bytes < before);
});

t.test('the oldest measurements are a list as well', async (t) => {
  const list = new RecentList('oldest', 3, newest([1, 2, 3, 4]).measurements, false);
  const check = (range: Partial<Parameters<RecentList['find']>[0]>, want: number[] | undefined): void => {
    t.same(ids(list.find({ ...PAGE, ...range })), want, JSON.stringify(range));
  };
  check({}, [1, 2, 3]);
  check({ from: 2 }, [2, 3, 4]);
  check({ from: 3 }, undefined);
  check({ to: 2 }, [1, 2]);
  check({ to: 0 }, []);
  t.notOk(list.reaches(4, 5));
  t.ok(list.reaches(4, 3));
  list.add(item(0));
  check({}, [0, 1, 2]);
});

t.test('an entry takes what its tenant stores of the source, and nothing else', async (t) => {
  const recent = await filled(t, newest([3, 2, 1]));
  recent.take(
    Buffer.concat([
      record(10),
      record(11, { mode: PROCESSING_MODE.TRANSIENT }),
      record(12, { source: 5 }),
      record(13, { tenant: 8 }),
      record(14),
    ]),
  );
  t.same(ids(recent.find(of(), PAGE)), [14, 10, 3]);
  t.equal(recent.find(of(SOURCE, 8), PAGE), undefined, 'a neighbour has none of it');
  await recent.edge(of(SOURCE, 8), PAGE, () => Promise.resolve(newest([], true)));
  recent.take(record(15));
  t.same(recent.find(of(SOURCE, 8), PAGE), [], 'nor when it asks for the same id');
  t.same(ids(recent.find(of(), PAGE)), [15, 14, 10]);
});

t.test('the list of a tenant has all of its sources', async (t) => {
  const recent = new RecentMeasurements(() => 0);
  recent.look(NONE);
  await recent.edge(OF_TENANT, PAGE, () => Promise.resolve(newest([3, 2, 1])));
  recent.take(Buffer.concat([record(10, { source: 5 }), record(11)]));
  t.same(ids(recent.find(OF_TENANT, PAGE)), [11, 10, 3]);
  t.equal(recent.find(of(), PAGE), undefined);
});

t.test('what comes while the history is asked is there once', async (t) => {
  const recent = new RecentMeasurements(() => 0);
  recent.look(NONE);
  await recent.edge(of(), PAGE, async () => {
    recent.take(Buffer.concat([record(4), record(5)]));
    return newest([4, 3, 2, 1]);
  });
  t.same(ids(recent.find(of(), { offset: 0, size: 5 })), [5, 4, 3, 2, 1]);
});

t.test('a total counts on, and is not kept when more came while it was counted', async (t) => {
  const recent = new RecentMeasurements(() => 0);
  recent.look(NONE);
  await recent.counted(TENANT, SOURCE, async () => {
    recent.take(record(1));
    return 1;
  });
  t.equal(recent.total(TENANT, SOURCE), undefined);
  t.equal(await recent.counted(TENANT, SOURCE, () => Promise.resolve(4)), 4);
  recent.take(Buffer.concat([record(2), record(3)]));
  t.equal(recent.total(TENANT, SOURCE), 6);
  await t.rejects(
    recent.counted(TENANT, 5, () => Promise.reject(new Error('away'))),
    { message: 'away' },
  );
  t.equal(recent.total(TENANT, 5), undefined);
  t.equal(recent.bytes, 500, 'a failure leaves nothing');
});

t.test('a deletion ends what is known of its tenant, and what is being asked', async (t) => {
  for (const end of [
    (recent: RecentMeasurements): void => recent.take(deletion()),
    (recent: RecentMeasurements): void => recent.forget(TENANT),
    (recent: RecentMeasurements): void => recent.take(deletion(TENANT, { sources: `5,${SOURCE}` })),
    (recent: RecentMeasurements): void => recent.take(command(COMMAND.SOURCE_DELETE, { source: String(SOURCE) })),
    (recent: RecentMeasurements): void => recent.setAside(quarantined('measurement')),
  ]) {
    const recent = await filled(t, newest([3, 2, 1]));
    for (const other of [deletion(8), deletion(TENANT, {}, 'alarms'), deletion(TENANT, { source: '5' })])
      recent.take(other);
    recent.take(command(COMMAND.SOURCE_DELETE, { source: '5' }));
    recent.setAside(quarantined('row'));
    recent.setAside(quarantined('measurement', 5));
    t.same(ids(recent.find(of(), PAGE)), [3, 2, 1], 'others are deleted');
    end(recent);
    t.equal(recent.find(of(), PAGE), undefined);
    t.equal(recent.bytes, 0);
    await recent.edge(of(), PAGE, async () => {
      end(recent);
      return newest([3, 2, 1]);
    });
    t.equal(recent.find(of(), PAGE), undefined, 'nor what was read before');
    t.equal(recent.bytes, 0);
  }
});

t.test('what concerns one source ends the list of its tenant as well', async (t) => {
  const recent = await filled(t, newest([3, 2, 1]));
  await recent.edge(OF_TENANT, PAGE, () => Promise.resolve(newest([3, 2, 1])));
  recent.take(deletion(TENANT, { source: '5' }));
  t.equal(recent.find(OF_TENANT, PAGE), undefined);
  t.ok(recent.find(of(), PAGE));
});

t.test('nothing is kept while rows of the tenant are deleted', async (t) => {
  let now = 0;
  const recent = new RecentMeasurements(() => now);
  const ask = async (wanted = of()): Promise<number[] | undefined> => {
    await recent.edge(wanted, PAGE, () => Promise.resolve(newest([3, 2, 1])));
    return ids(recent.find(wanted, PAGE));
  };
  recent.look(NONE);
  recent.hold(TENANT, 'a');
  recent.hold(TENANT, 'b');
  t.equal(await ask(), undefined);
  recent.release(TENANT, 'a');
  t.equal(await ask(), undefined);
  t.same(recent.waiting, []);
  now += 3_600_000;
  recent.look(NONE);
  t.equal(await ask(), undefined, 'the store is seen to delete nothing, for instance between two statements');
  recent.release(TENANT, 'b');
  t.same(await ask(), [3, 2, 1]);
  recent.hold(TENANT, 'c', [SOURCE]);
  t.equal(await ask(), undefined);
  t.equal(await ask(OF_TENANT), undefined);
  t.same(await ask(of(5)), [3, 2, 1], 'of another source');
  recent.leave(TENANT, 'c');
  t.same(recent.waiting, ['tenant 7: c']);
  now += 60_000;
  recent.look(new Set([8, TENANT]));
  recent.look(undefined);
  t.equal(await ask(), undefined, 'the store goes on with it');
  t.same(await ask(of(5)), [3, 2, 1]);
  recent.look(new Set([8]));
  t.same(await ask(), [3, 2, 1]);
  recent.hold(TENANT, 'd');
  recent.leave(TENANT, 'd');
  recent.look(NONE);
  t.equal(await ask(), undefined, 'the store may begin it yet');
  recent.hold(TENANT, 'd');
  t.same(recent.waiting, [], 'it is tried again');
});

t.test('what an earlier process deletes holds up its own tenant', async (t) => {
  const recent = new RecentMeasurements(() => 0);
  const ask = async (tenant: number): Promise<boolean> => {
    await recent.edge(of(SOURCE, tenant), PAGE, () => Promise.resolve(newest([3, 2, 1])));
    return recent.find(of(SOURCE, tenant), PAGE) !== undefined;
  };
  recent.look(undefined);
  t.same(recent.waiting, ['all tenants']);
  t.notOk(await ask(8));
  recent.look(new Set([TENANT]));
  t.ok(await ask(8));
  t.notOk(await ask(TENANT));
  t.same(recent.waiting, ['tenant 7: earlier']);
  recent.look(NONE);
  t.ok(await ask(TENANT));
});

t.test('deletions that take long are told of, once', async (t) => {
  let now = 0;
  const recent = new RecentMeasurements(() => now);
  const told: unknown[] = [];
  const answers: (ReadonlySet<number> | undefined | Error)[] = [];
  const look = new DeletionsLook({
    recent,
    log: { warn: (fields: unknown, text?: string) => void told.push([fields, text?.slice(0, 24)]) },
    deleting: async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return Promise.resolve(answer);
    },
  });
  answers.push(undefined, new Error('away'), new Error('away'), new Set([TENANT]));
  for (let looks = 0; looks < 4; looks += 1) await look.look();
  t.same(told, [[{ error: 'away' }, 'the history does not say']]);
  now = 300_000;
  for (let looks = 0; looks < 2; looks += 1) {
    answers.push(new Set([TENANT]));
    await look.look();
  }
  t.same(told.slice(1), [[{ deletions: ['tenant 7: earlier'], count: 1 }, 'the history has been del']]);
  answers.push(NONE);
  await look.look();
  t.same([recent.waiting, told.length], [[], 2]);
  await look.look();
  t.equal(answers.length, 0);
});

t.test('memory is bounded: the tenant with most loses what it asked for longest ago', async (t) => {
  const recent = new RecentMeasurements(() => 0, 10_000);
  recent.look(NONE);
  const fill = (tenant: number, source: number): Promise<unknown> =>
    recent.edge(of(source, tenant), PAGE, () => Promise.resolve(newest([3, 2, 1])));
  await fill(8, 1);
  for (let source = 1; source <= 20; source += 1) {
    await fill(TENANT, source);
    t.ok(recent.bytes <= 10_000);
    t.ok(recent.find(of(1), PAGE), 'asked for again and again');
  }
  t.equal(recent.find(of(2), PAGE), undefined);
  t.ok(recent.find(of(1, 8), PAGE), 'of the neighbour');
  await recent.edge(of(99), PAGE, () =>
    Promise.resolve({ page: 3, measurements: [item(1, 1, 'x'.repeat(20_000))], isWhole: true }),
  );
  t.ok(recent.bytes <= 10_000, 'one that is larger than all');
});

t.test('the number of entries is bounded: who has most of them loses one', async (t) => {
  const recent = new RecentMeasurements(() => 0);
  recent.look(NONE);
  await recent.edge(of(1, 8), PAGE, () => Promise.resolve(newest([3, 2, 1])));
  for (let source = 1; source <= 4_200; source += 1)
    await recent.edge(of(source), PAGE, () => Promise.resolve(newest([], true)));
  t.equal(recent.find(of(1), PAGE), undefined);
  t.ok(recent.find(of(4_200), PAGE));
  t.ok(recent.find(of(1, 8), PAGE), 'of the neighbour, which takes more memory for each');
});

t.test('what comes while the history is asked is bounded', async (t) => {
  const recent = new RecentMeasurements(() => 0);
  recent.look(NONE);
  await recent.edge(of(), PAGE, async () => {
    const large = record(4, { document: JSON.stringify({ note: 'x'.repeat(60_000) }) });
    for (let count = 0; count < 50; count += 1) recent.take(large);
    return newest([3, 2, 1]);
  });
  t.equal(recent.find(of(), PAGE), undefined);
  t.equal(recent.bytes, 0);
});

t.test('what comes meanwhile is memory of the entry', async (t) => {
  const recent = new RecentMeasurements(() => 0, 10_000);
  recent.look(NONE);
  const large = record(4, { document: JSON.stringify({ note: 'x'.repeat(1_000) }) });
  await recent.edge(of(), PAGE, async () => {
    for (let count = 0; count < 4; count += 1) recent.take(large);
    t.ok(recent.bytes > 8_000);
    await recent.edge(of(5, 8), PAGE, () => Promise.resolve(newest([], true)));
    t.equal(recent.bytes, 500, 'the tenant with most has lost it');
    return newest([3, 2, 1]);
  });
  t.equal(recent.find(of(), PAGE), undefined);
  t.ok(recent.find(of(5, 8), PAGE));
});

t.test('a source that reports fast is kept as well', async (t) => {
  const recent = new RecentMeasurements(() => 0);
  recent.look(NONE);
  await recent.edge(of(), PAGE, async () => {
    for (let id = 4; id < 10_100; id += 1) recent.take(record(id));
    return newest([3, 2, 1]);
  });
  t.same(ids(recent.find(of(), PAGE)), [10_099, 10_098, 10_097]);
});

t.test('what is not read any more does not go on taking', async (t) => {
  const recent = await filled(t, newest([3, 2, 1]));
  for (let id = 10; id < 10_010; id += 1) recent.take(record(id));
  t.same(ids(recent.find(of(), PAGE)), [10_009, 10_008, 10_007]);
  for (let id = 10_010; id < 20_011; id += 1) recent.take(record(id));
  t.equal(recent.find(of(), PAGE), undefined);
  t.equal(recent.bytes, 0);
});

/** A history that answers each query with these rows, and counts. */
function readersOf(
  recent: RecentMeasurements,
  answer: (sql: string) => readonly MeasurementRow[],
): { readers: ListReaders; asked: string[] } {
  const asked: string[] = [];
  const query = async ({ sql }: { sql: string }): Promise<readonly MeasurementRow[]> => {
    asked.push(sql);
    return Promise.resolve(answer(sql));
  };
  return { readers: { recent, tenant: TENANT, history: { query } } as unknown as ListReaders, asked };
}
const row = (id: number): MeasurementRow => ({
  entityId: String(id),
  sourceId: String(SOURCE),
  timeMs: id,
  type: 'T',
  fragment: 'f',
  series: 's',
  value: 1,
  unit: '',
  doc: '',
  formText: '0',
  tail: '',
});
const ask = (readers: ListReaders, source: number | undefined, size = 2, isLatestFirst = true): Promise<unknown> =>
  recentPage(
    readers,
    { source, from: undefined, to: undefined },
    { offset: 0, size, current: 1, wantsTotal: false },
    isLatestFirst,
  );

t.test('of a tenant only the newest are looked for, and never among all it has', async (t) => {
  const recent = new RecentMeasurements(() => 0);
  recent.look(NONE);
  const { readers, asked } = readersOf(recent, () => []);
  t.equal(await ask(readers, undefined, 2, false), undefined);
  t.equal(asked.length, 0);
  t.equal(await ask(readers, undefined), undefined);
  t.equal(asked.length, 5);
  t.ok(asked.every((sql) => sql.includes('time >=')));
  t.same(await ask(readers, SOURCE), [], 'a source has few parts of the table');
  t.notMatch(asked.at(-1), /time >=/);
});

t.test('what is not kept is not asked for again for some minutes', async (t) => {
  let now = 0;
  const recent = new RecentMeasurements(() => now, 16_000);
  recent.look(NONE);
  let failure: Error | undefined;
  let rows: MeasurementRow[] = [];
  const { readers, asked } = readersOf(recent, () => {
    if (failure !== undefined) throw failure;
    return rows;
  });
  const check = async (source: number | undefined, isKnown: boolean, size?: number): Promise<void> => {
    asked.length = 0;
    t.equal((await ask(readers, source, size)) !== undefined, isKnown);
  };
  const checkAsked = async (source: number | undefined, isAsked: boolean, size?: number): Promise<void> => {
    await check(source, false, size);
    t.equal(asked.length > 0, isAsked);
  };
  await checkAsked(undefined, true);
  await checkAsked(undefined, false);
  await checkAsked(undefined, true, 1);
  for (const code of ['general/page-too-large', 'general/query-too-large'] as const) {
    failure = new PlatformError(code, { limit: 1, reason: '' });
    await checkAsked(SOURCE, true);
    await checkAsked(SOURCE, false);
    now += 600_000;
  }
  failure = new PlatformError('general/busy');
  await t.rejects(ask(readers, SOURCE), { code: 'general/busy' });
  failure = undefined;
  rows = [{ ...row(3), doc: 'x'.repeat(1_000) }, row(2)];
  await check(SOURCE, true);
  t.ok(asked.length > 0, 'one that is larger than a part of the memory');
  await checkAsked(SOURCE, false);
  now += 600_000;
  rows = [row(3), row(2)];
  await check(SOURCE, true);
  await check(SOURCE, true);
  t.equal(asked.length, 0, 'kept');
});

t.test('series of the last hours: what the engine would compute', async (t) => {
  const now = 10 * 3_600_000;
  const recent = new RecentMeasurements(() => now);
  recent.look(NONE);
  const history = { query: () => Promise.reject(new Error('asked')) };
  const readers = { recent, tenant: TENANT, history } as unknown as ListReaders;
  const measured = (id: number, time: number, values: readonly (readonly [string, number])[]): RecentMeasurement => ({
    ...item(id, time),
    values: values.map(([series, value]) => ({ fragment: 'f', series, value, unit: series })),
  });
  const range = {
    from: now - 120_000,
    to: now,
    durationMs: 0,
    originMs: 0,
    functions: ['min', 'max', 'count'] as const,
  };
  await t.rejects(recentSeries(readers, SOURCE, { ...range, isDescending: false }, [], 10), { message: 'asked' });
  await recent.edge(of(), PAGE, () =>
    Promise.resolve({
      page: 500,
      isWhole: false,
      measurements: [
        measured(5, now - 1, [
          ['b', 5],
          ['a', 7],
        ]),
        measured(4, now - 1, [['b', 3]]),
        measured(3, now - 100_000, [['b', 9]]),
        measured(2, now - 300_000, [['b', 1]]),
      ],
    }),
  );
  const check = async (wanted: Partial<SeriesRange>, names: readonly string[], want: unknown): Promise<void> => {
    const rows = await recentSeries(readers, SOURCE, { ...range, isDescending: false, ...wanted }, names, 10);
    t.same(
      rows?.map(({ bucket, series, results, seen, unitName }) => [
        Number(bucket) - now,
        series,
        results,
        seen,
        unitName,
      ]),
      want,
    );
  };
  const [first, a, b] = [
    [-100_000, 'b', [9, 9, 1], 1, 'b'],
    [-1, 'a', [7, 7, 1], 1, 'a'],
    [-1, 'b', [3, 5, 2], 2, 'b'],
  ];
  await check({}, [], [first, a, b]);
  await check({ isDescending: true }, [], [a, b, first]);
  await check({}, ['f.a', 'g.b'], [a]);
  await check(
    { durationMs: 60_000, functions: ['max'] },
    ['f.b'],
    [
      [-120_000, 'b', [9], 1, 'b'],
      [-60_000, 'b', [5], 2, 'b'],
    ],
  );
  await check({ functions: ['avg'] }, [], undefined);
  await check({ from: now - 300_000 }, [], undefined);
  await check({ to: now - 2 * 3_600_000, from: now - 3 * 3_600_000 }, [], undefined);
  const cut = async (isDescending: boolean): Promise<unknown> =>
    (await recentSeries(readers, SOURCE, { ...range, isDescending }, [], 1))?.map(({ bucket }) => Number(bucket) - now);
  t.same(await cut(false), [-100_000]);
  t.same(await cut(true), [-1]);
  await check(
    { durationMs: 60_000, functions: ['count'], isDescending: true },
    ['f.b'],
    [
      [-60_000, 'b', [2], 2, 'b'],
      [-120_000, 'b', [1], 1, 'b'],
    ],
  );
});
