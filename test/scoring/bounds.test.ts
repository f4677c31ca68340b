/** Lost workers are replaced, waiting is bounded, and tenants take turns (docs/internals/scoring.md#workers). */
import t from 'tap';
import { batchOptions } from '../../src/api/scoring/batches.ts';
import type { StoredModel } from '../../src/model/entities/scoring/model.ts';
import { refusedBy } from '../../src/model/errors.ts';
import { Turns } from '../../src/pacing/turns.ts';
import { Applies } from '../../src/scoring/applies.ts';
import { ModelRuns, type RunAnswer, type RunTask } from '../../src/scoring/model-runs.ts';
import { Pauses } from '../../src/scoring/pauses.ts';
import { Predictions } from '../../src/scoring/predictions.ts';
import { Scoring } from '../../src/scoring/scoring.ts';
import { ScoringPool } from '../../src/scoring-workers/pool.ts';
import { defaultThreads, thisMachine } from '../../src/scoring-workers/threads.ts';
import { createResource } from '../../src/scoring/records.ts';
import { requireNewTables, usedResources } from '../../src/scoring/sources.ts';
import type { ApplyTask } from '../../src/scoring-workers/protocol.ts';
import { FakePlatform } from '../api/helpers/fake-platform.ts';
import { untilTurn } from '../helpers/until.ts';

const MODEL: StoredModel = { name: 'm', blob: 'k', bytes: 1, compiledBytes: 1, isActive: true, createdAt: 0 };
const NO_PREDICTIONS = { classes: [], numbers: new Float64Array() };
const QUIET: any = { warn: () => undefined };

t.test('a worker that dies or loops is replaced', async (t) => {
  const counted: string[] = [];
  const poolOf = (taskMsMax: number): ScoringPool => {
    const pool = new ScoringPool({
      threads: 1,
      memoryBytesMax: 1_048_576,
      contentBytesMax: 1_000,
      taskMsMax,
      version: '1',
      log: QUIET,
      refusals: { count: (limit) => counted.push(limit) },
      thread: new URL('../helpers/scoring/bad-thread.js', import.meta.url),
    });
    t.teardown(() => pool.stop());
    return pool;
  };
  const apply = (pool: ScoringPool, record: string): Promise<unknown> => {
    const task: ApplyTask = { kind: 'apply', key: { tenant: 1, name: 'm', version: 'k' }, records: [record] };
    return pool.run(task);
  };
  const pool = poolOf(600_000);
  await t.rejects(apply(pool, 'exit'), { message: /scoring\/worker-lost/ });
  t.match(await apply(pool, 'fine'), { texts: ['fine'] }, 'the next one works');
  await t.rejects(apply(poolOf(1_000), 'loop'), { message: /scoring\/task-time/ });
  t.same(counted, ['scoring/worker-lost', 'scoring/task-time']);
});

/** Runs of which the test decides when they end. */
class HeldRuns {
  readonly threads = 1;
  readonly held: { readonly records: readonly string[]; end(error?: Error): void }[] = [];

  run(_asker: unknown, _model: StoredModel, task: RunTask): Promise<RunAnswer> {
    const { records } = task as ApplyTask;
    return new Promise((resolve, reject) => {
      const end = (error?: Error): void => {
        if (error !== undefined) reject(error);
        else
          resolve({
            kind: 'texts',
            texts: records.map((text) => `${text}!`),
            refusals: [],
            predictions: NO_PREDICTIONS,
          });
      };
      this.held.push({ records, end });
    });
  }
}

t.test('as many threads as cores, while memory allows', async (t) => {
  const threads = (cores: number, gib: number, modelsMib = 16_384): number =>
    defaultThreads({ cores, memoryBytes: gib * 1_073_741_824 }, modelsMib * 1_048_576);
  t.equal(threads(4, 64), 4);
  t.equal(threads(64, 32), 16, 'one for each 2 GiB');
  t.equal(threads(64, 256, 512), 15, 'each has 32 MiB for models');
  t.equal(threads(2, 1, 64), 1);
  const { cores, memoryBytes } = thisMachine();
  t.ok(cores >= 1 && Number.isFinite(memoryBytes) && memoryBytes > 0);
});

t.test('records that come while a worker is busy go together', async (t) => {
  const runs = new HeldRuns();
  const counted: string[] = [];
  const applies = new Applies(runs as unknown as ModelRuns, { count: (limit) => counted.push(limit) });
  const apply = (text: string): Promise<string | undefined> => applies.apply({ tenant: 1, user: 'u' }, MODEL, text);
  const first = [apply('a'), apply('b')];
  await untilTurn('the first task', () => runs.held.length === 1);
  const second = [apply('c'), apply('d'), apply('e')];
  t.same(runs.held[0]?.records, ['a', 'b']);
  runs.held[0]?.end();
  t.same(await Promise.all(first), ['a!', 'b!']);
  await untilTurn('the second task', () => runs.held.length === 2);
  t.same(runs.held[1]?.records, ['c', 'd', 'e']);
  runs.held[1]?.end(refusedBy('scoring/worker-lost'));
  for (const one of await Promise.allSettled(second)) t.equal(one.status, 'rejected');
  await t.rejects(apply('x'.repeat(17 * 1_048_576)), { message: /scoring\/record-bytes/ });
  const waiting = Promise.allSettled(Array.from({ length: 9_000 }, () => apply('x')));
  await untilTurn('one is refused', () => counted.includes('scoring/applies-of-user'));
  let ended = 2;
  while (applies.waitingCount > 0) {
    await new Promise(setImmediate);
    for (; ended < runs.held.length; ended += 1) runs.held[ended]?.end();
  }
  const refused = (await waiting).filter(({ status }) => status === 'rejected');
  t.ok(refused.length > 500 && refused.length < 1_500, `a user has four fifths: ${refused.length} are refused`);
});

t.test('records that come one turn behind another go together where several came before', async (t) => {
  const runs = new HeldRuns();
  const applies = new Applies(runs as unknown as ModelRuns, { count: () => undefined });
  const apply = (text: string): Promise<string | undefined> => applies.apply({ tenant: 1, user: 'u' }, MODEL, text);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const ended = async (texts: readonly string[], isOneTurn: boolean): Promise<void> => {
    const { length } = runs.held;
    const all: Promise<string | undefined>[] = [];
    for (const text of texts) {
      all.push(apply(text));
      if (!isOneTurn) await turn();
    }
    await untilTurn('the task', () => runs.held.length > length);
    t.same(runs.held[length]?.records, texts);
    runs.held[length]?.end();
    await Promise.all(all);
  };
  await ended(['a'], true);
  await ended(['b', 'c'], true);
  await ended(['d', 'e', 'f'], false);
});

t.test('records of a model with functions go in smaller tasks', async (t) => {
  const runs = new HeldRuns();
  const applies = new Applies(runs as unknown as ModelRuns, { count: () => undefined });
  const model = { ...MODEL, functions: ['f'] };
  const all = Array.from({ length: 20 }, () => applies.apply({ tenant: 1, user: 'u' }, model, 'x'));
  await untilTurn('the first task', () => runs.held.length === 1);
  t.equal(runs.held[0]?.records.length, 16);
  runs.held[0]?.end();
  await untilTurn('the second task', () => runs.held.length === 2);
  runs.held[1]?.end();
  await Promise.all(all);
});

t.test('a model that is deactivated while a task runs leaves the memory behind the task', async (t) => {
  const dropped: string[] = [];
  let go = (): void => undefined;
  const pool = {
    threads: 1,
    drop: (tenant: number, name: string) => dropped.push(`${tenant}/${name}`),
    run: () =>
      new Promise((resolve) => {
        go = () => resolve({ kind: 'texts', texts: [], refusals: [], predictions: NO_PREDICTIONS });
      }),
  };
  const turns = new Turns({
    refusals: { count: () => undefined },
    running: { all: 1 },
    waiting: { all: 10, ofUser: 10 },
    limits: { all: 'a', ofUser: 'b' },
  });
  const runs = new ModelRuns({
    pool: pool as never,
    turns,
    blobs: { read: async () => undefined },
    documents: { get: () => undefined, list: () => [] },
    predictions: new Predictions(),
  });
  const run = runs.run({ tenant: 1, user: 'u' }, MODEL, { kind: 'apply', records: [] });
  await untilTurn('it runs', () => turns.runningCount === 1);
  runs.dropped(1, { ...MODEL, name: 'other', blob: 'other' });
  runs.dropped(1, MODEL);
  t.same(dropped, ['1/other', '1/m']);
  go();
  await run;
  t.same(dropped, ['1/other', '1/m', '1/m']);
  const behind = runs.run({ tenant: 1, user: 'u' }, MODEL, { kind: 'apply', records: [] });
  await untilTurn('the next slice of a batch runs', () => turns.runningCount === 1);
  go();
  await behind;
  t.equal(dropped.length, 4);
});

t.test("a tenant's tasks do not hold up another's", async (t) => {
  const order: number[] = [];
  let go = (): void => undefined;
  const pool = {
    threads: 1,
    run: async ({ key }: ApplyTask) => {
      if (order.length === 0)
        await new Promise<void>((resolve) => {
          go = resolve;
        });
      order.push(key.tenant);
      return { kind: 'texts', texts: [], refusals: [], predictions: NO_PREDICTIONS } as const;
    },
  };
  const turns = new Turns({
    refusals: { count: () => undefined },
    running: { all: 1 },
    waiting: { all: 100, ofUser: 5 },
    limits: { all: 'scoring/tasks-waiting', ofUser: 'scoring/tasks-waiting-of-user' },
  });
  const runs = new ModelRuns({
    pool: pool as never,
    turns,
    blobs: { read: async () => undefined },
    documents: { get: () => undefined, list: () => [] },
    predictions: new Predictions(),
  });
  const run = (tenant: number): Promise<unknown> =>
    runs.run({ tenant, user: 'u' }, MODEL, { kind: 'apply', records: [] });
  const all = [1, 1, 1, 1, 2].map(run);
  await untilTurn('four tasks wait', () => turns.waitingCount === 4);
  go();
  await Promise.all(all);
  t.ok(order.indexOf(2) <= 2, `the other tenant is among the next: ${order.join()}`);
  const many = await Promise.allSettled(Array.from({ length: 7 }, () => run(1)));
  t.equal(many.filter(({ status }) => status === 'rejected').length, 1, 'one runs, five wait, one is refused');
});

t.test("a tenant's upload that is read for long does not hold up another's", async (t) => {
  const fake = new FakePlatform();
  const platform = fake.platform();
  const scoring = new Scoring({
    blobs: fake.blobs,
    documents: platform.documents,
    refusals: { count: () => undefined },
    log: QUIET,
    spoolDirectory: '',
    diskRefusal: () => undefined,
    threads: 1,
    memoryBytesMax: 64 * 1_048_576,
    taskMsMax: 60_000,
    version: '1',
    thread: new URL('../helpers/scoring/bad-thread.js', import.meta.url),
  });
  const upload = async (tenant: number, fileName: string) => {
    const { key, bytes } = await fake.blobs.put([Buffer.from('x')], 9);
    return scoring.uploadResource(platform, { tenant, user: 'u' }, { fileName, key, bytes });
  };
  const endless = upload(2, 'loop.csv').then(
    () => 'done',
    () => 'ended',
  );
  t.match(await upload(3, 'quick.csv'), { fileName: 'quick.csv' });
  await scoring.stop();
  t.equal(await endless, 'ended');
});

const FUNCTION_FILE = {
  id: 'pmml\nf.js',
  value: JSON.stringify({ fileName: 'f.js', blob: 'f', bytes: 1, type: 'Custom Functions', names: ['f:f'] }),
};

t.test('the files of a model are looked for once, until one changes', async (t) => {
  let looked = 0;
  let rows = [FUNCTION_FILE];
  const versions: string[] = [];
  const turns = new Turns({
    refusals: { count: () => undefined },
    running: { all: 1 },
    waiting: { all: 10, ofUser: 10 },
    limits: { all: 'a', ofUser: 'b' },
  });
  const pool = {
    threads: 1,
    run: async ({ key }: ApplyTask) => {
      versions.push(key.version);
      return { kind: 'applied' };
    },
  };
  const list = () => {
    looked += 1;
    return rows;
  };
  const runs = new ModelRuns({
    pool: pool as never,
    turns,
    blobs: { read: async () => undefined },
    documents: { get: () => undefined, list },
    predictions: new Predictions(),
  });
  const run = (tenant = 1): Promise<unknown> =>
    runs.run({ tenant, user: 'u' }, { ...MODEL, functions: ['f'] }, { kind: 'apply', records: [] });
  await run();
  await run();
  t.equal(looked, 1);
  rows = [{ ...FUNCTION_FILE, value: FUNCTION_FILE.value.replace('"blob":"f"', '"blob":"g"') }];
  runs.resourcesChanged(2);
  await run();
  t.equal(looked, 1, 'files of another tenant');
  runs.resourcesChanged(1);
  await run();
  t.same(versions, ['k\nf', 'k\nf', 'k\nf', 'k\ng'], 'a file that is uploaded anew makes another version of the model');
  rows = [];
  runs.resourcesChanged(1);
  await t.rejects(run(), { code: 'scoring/model-refused', message: /no resource file has the function 'f'/ });
  await t.rejects(run(), { code: 'scoring/model-refused' });
  t.equal(looked, 3);
  t.equal(versions.length, 4, 'nothing is read and compiled in vain');
});

t.test('a model that runs out of time again and again pauses, and its function is named', async (t) => {
  let now = 0;
  const pauses = new Pauses(() => now);
  for (const at of [0, 1_000, 3_600_500]) {
    now = at;
    pauses.add('m');
  }
  t.equal(pauses.untilOf('m'), undefined, 'the first was longer ago');
  now = 3_600_900;
  pauses.add('m');
  t.equal(pauses.untilOf('m'), 7_200_900);
  now = 7_200_900;
  t.equal(pauses.untilOf('m'), undefined);

  const turns = new Turns({
    refusals: { count: () => undefined },
    running: { all: 1 },
    waiting: { all: 10, ofUser: 10 },
    limits: { all: 'a', ofUser: 'b' },
  });
  const pool = {
    threads: 1,
    run: async ({ mark }: ApplyTask) => {
      mark?.set([5, ...Buffer.from('f.js!')]);
      throw refusedBy('scoring/task-time');
    },
  };
  const runs = new ModelRuns({
    pool: pool as never,
    turns,
    blobs: { read: async () => undefined },
    documents: { get: () => undefined, list: () => [FUNCTION_FILE] },
    predictions: new Predictions(),
    now: () => now,
  });
  const run = (model: StoredModel): Promise<unknown> =>
    runs.run({ tenant: 1, user: 'u' }, model, { kind: 'apply', records: [] });
  await t.rejects(run({ ...MODEL, functions: ['f'] }), {
    code: 'scoring/model-refused',
    message: /the function f.js! does not end in the time of a task/,
  });
  await t.rejects(run(MODEL), { code: 'general/busy' });
  await t.rejects(run(MODEL), { code: 'general/busy' });
  await t.rejects(run(MODEL), {
    code: 'scoring/model-refused',
    message: /3 of its tasks within an hour .* pauses on this node until 1970-01-01T03:00:00/,
  });
  await t.rejects(run({ ...MODEL, activatedAt: 1 }), { code: 'general/busy' }, 'an activation ends the pause');
});

t.test('files of a model are counted before one is opened', async (t) => {
  const resource = (fileName: string, names: readonly string[], type = 'Custom Functions') => ({
    id: `pmml\n${fileName}`,
    value: JSON.stringify({ fileName, blob: fileName, bytes: 1, type, names }),
  });
  const open = (rows: readonly { id: string; value: string }[], uses: object): Promise<unknown> => {
    const documents = { get: () => undefined, list: () => rows } as never;
    return usedResources({ documents }, 1, { name: 'm', ...uses });
  };
  await t.rejects(
    open(
      ['a', 'b'].map((name) => resource(`${name}.js`, [`${name}:dist`])),
      { functions: ['dist'] },
    ),
    {
      code: 'scoring/model-refused',
      message: /2 resource files have the function 'dist', such as a.js, b.js; call it with its namespace/,
    },
  );
  const books = ['a', 'b'].map((name) => resource(`${name}.xlsx`, ['Sheet1', name], 'Lookup Tables'));
  await t.rejects(open(books, { tables: ['Sheet1'] }), {
    code: 'scoring/model-refused',
    message: /2 resource files have the table 'Sheet1', such as a.xlsx, b.xlsx; delete all but one/,
  });
  t.match(await open(books, { tables: ['b'] }), [{ fileName: 'b.xlsx' }]);
  const tables = Array.from({ length: 101 }, (_, index) => resource(`${index}.csv`, [`t${index}`], 'Lookup Tables'));
  await t.rejects(open(tables, { tables: tables.map((_, index) => `t${index}`) }), {
    message: /it uses 101 resource files; a model may use 100/,
  });
});

t.test('a table is in one resource file', async (t) => {
  const file = (fileName: string, names: readonly string[]) => ({
    fileName,
    blob: fileName,
    bytes: 1,
    type: 'Lookup Tables',
    names,
  });
  const rows = [{ id: 'pmml\na.xlsx', value: JSON.stringify(file('a.xlsx', ['Sheet1'])) }];
  const parts = { documents: { get: () => undefined, list: () => rows } as never };
  await t.rejects(requireNewTables(parts, 1, file('b.xlsx', ['x', 'Sheet1'])), {
    code: 'scoring/bad-input',
    message: /The table 'Sheet1' of b.xlsx is in the resource file a.xlsx too/,
  });
  await requireNewTables(parts, 1, file('b.xlsx', ['x']));
  await requireNewTables(parts, 1, file('a.xlsx', ['Sheet1']));
  const fake = new FakePlatform();
  const platform = fake.platform();
  const resources = ['a.xlsx', 'b.xlsx'].map((fileName) => file(fileName, ['Sheet1']));
  const ended = await Promise.allSettled(
    resources.map((resource) =>
      createResource(platform, { tenant: 2, user: 'u' }, 'pmml', resource, () =>
        requireNewTables(platform, 2, resource),
      ),
    ),
  );
  t.match(ended.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], 'of two uploads at once one is refused');
});

t.test('a larger number of records of a slice counts as the bound', async (t) => {
  const recordsOf = (asked: number | undefined): number =>
    batchOptions({ query: { integer: () => asked } } as never).recordsMax;
  t.same([1, 20_000, 50_000, undefined].map(recordsOf), [1, 20_000, 20_000, 5_000]);
});
