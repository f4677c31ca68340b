/**
 * What the history store refuses for what it is: set aside alone, on disk, while everything else goes on exactly once.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { HistoryRefusal } from '../../src/ports/stores/history-writer.ts';
import { OFFSET_COUNT, OFFSET_ID } from '../../src/ingest/journal/record-layout.ts';
import { encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import type { QuarantineEntry } from '../../src/ports/stores/quarantine.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Log } from '../../src/ports/log.ts';
import { QuarantineFile } from '../../src/store/files/quarantine.ts';
import { Platform, openEnvironment, silentLog, until } from '../actors/platform.ts';
import { crashPlaces, rounds } from '../helpers/rounds.ts';
import { Random } from '../smartrest/random.ts';
import { FakeHistory } from './fake-history.ts';
import { event, measure, quarantinePath, range, start, visible } from './projector-harness.ts';

/** The store refuses these values and ids. */
const POISON = 666;
const refusal = (): HistoryRefusal => new HistoryRefusal('Code: 469. value 666', 469, true);
const refusesPoison: FakeHistory['refuses'] = ({ value, id, deleted }) =>
  value === POISON || id === POISON || deleted === String(POISON) ? refusal() : undefined;

const linesOf = (path: string): QuarantineEntry[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as QuarantineEntry);
const numbers = (history: FakeHistory): number[] => history.values.map(({ value }) => value).sort((a, b) => a - b);

/** The log's errors. */
function errorsOf(): { log: Log; errors: Record<string, unknown>[] } {
  const errors: Record<string, unknown>[] = [];
  return {
    errors,
    log: {
      ...silentLog,
      error: (details: unknown) => {
        errors.push(details as Record<string, unknown>);
      },
    } as Log,
  };
}

t.test('one measurement of a block is refused: it is set aside, the others are inserted once', async (t) => {
  const history = new FakeHistory();
  history.refuses = refusesPoison;
  const path = quarantinePath(t);
  const quarantine = await QuarantineFile.open(path, { now: () => 0 });
  const { log, errors } = errorsOf();
  const running = await start(t, new Platform(openEnvironment(t)), history, { quarantine, log });
  const { platform, projector } = running;
  await measure(platform, 0, 3);
  await visible(running);
  let calls = 0;
  history.before = (call) => {
    if (call.startsWith('measurements')) calls += 1;
  };
  await measure(platform, 3, 120);
  await platform.measure(7, [1_000, POISON, 1_001], { id: 77 });
  await measure(platform, 123, 80);
  await visible(running);
  t.same(numbers(history), range(0, 203));
  t.ok(calls <= 20, `${calls} inserts for one in 201`);
  const [entry, ...others] = linesOf(path);
  t.same(others, []);
  t.match(entry, {
    time: '1970-01-01T00:00:00.000Z',
    kind: 'measurement',
    table: 'measurements',
    seq: 124,
    id: 77,
    position: 3,
    code: 469,
    error: /666/,
  });
  t.match(entry.row, {
    tenant: 1,
    source: 7,
    type: 'T',
    values: [{ fragment: 'f', series: 's0', value: 1_000 }, { value: POISON }, { value: 1_001 }],
  });
  t.match(errors, [{ seq: 124, position: 3, shard: entry.shard, code: 469, error: /666/ }]);
  t.same(
    [quarantine.count, quarantine.isFull, projector.setAsideCount, projector.position, projector.lastError],
    [1, false, 1, 204, undefined],
  );
  t.ok(running.inserted.includes('measurements 200'));
  await measure(platform, 203, 5);
  await visible(running);
  t.same(numbers(history), range(0, 208), 'the next block is a block again');
  t.equal(history.log.at(-1), 'measurements 205-209');
  await projector.stop();
});

t.test(
  'a measurement of the journal that cannot be decoded is set aside, once, also by the next process',
  async (t) => {
    const broken = encodeMeasurement({
      tenant: 1,
      source: 7,
      id: 77,
      time: 0,
      mode: 0,
      type: 'T',
      document: '',
      receivedAt: 0,
      values: [{ fragment: 'f', series: 's', value: 1, unit: '' }],
    });
    broken.writeUInt16LE(9_000, OFFSET_COUNT);
    const short = Buffer.from(broken.subarray(0, OFFSET_ID));
    short.writeUInt32LE(short.length, 0);
    const path = quarantinePath(t);
    const history = new FakeHistory();
    const environment = openEnvironment(t);
    const { log, errors } = errorsOf();
    // Nobody inserts in the first process: what it leaves in the journal is for the start of the next one.
    const first = await new Platform(environment).recover();
    await measure(first, 0, 3);
    await first.append(broken);
    await measure(first, 3, 3);
    let running = await start(t, await first.crash(), history, { quarantine: await QuarantineFile.open(path), log });
    await visible(running);
    t.same(numbers(history), range(0, 6));
    await running.platform.append(short);
    await measure(running.platform, 6, 3);
    await visible(running);
    t.same(numbers(history), range(0, 9), 'live as well');
    t.notOk(
      running.platform.notifications.some(({ source }) => source === '7'),
      'no subscriber is told of it',
    );
    const lines = linesOf(path);
    t.match(lines, [
      {
        kind: 'measurement',
        table: 'measurements',
        seq: 4,
        id: 77,
        code: 0,
        error: /cannot be decoded/,
        row: { tenant: 1, source: 7, record: broken.toString('base64') },
      },
      { kind: 'measurement', seq: 8, id: 0, row: { tenant: 1, source: 7 } },
    ]);
    t.same([running.projector.setAsideCount, running.projector.position, errors.length], [2, 11, 2]);
    running = await start(t, await running.platform.crash(), history, { quarantine: await QuarantineFile.open(path) });
    await visible(running);
    t.equal(linesOf(path).length, 2);
    await running.projector.stop();
  },
);

t.test('kill while damaged measurements are set aside: nothing twice, nothing lost', async (t) => {
  let crashAt = 1;
  for (let isOver = false; !isOver; crashAt += 1) {
    const history = new FakeHistory();
    const path = quarantinePath(t);
    let running = await start(t, new Platform(openEnvironment(t)), history, {
      quarantine: await QuarantineFile.open(path),
    });
    const { platform } = running;
    let step = 0;
    const mayEnd = (): boolean => {
      step += 1;
      return step === crashAt;
    };
    platform.documents.crashBefore = (position) => position === undefined && mayEnd();
    platform.documents.crashAfter = (position) => position === undefined && mayEnd();
    const record = encodeMeasurement({
      tenant: 1,
      source: 7,
      id: 77,
      time: 0,
      mode: 0,
      type: 'T',
      document: '',
      receivedAt: 0,
      values: [],
    });
    record.writeUInt16LE(1, OFFSET_COUNT);
    await Promise.all([measure(platform, 0, 3), platform.append(record), measure(platform, 3, 3)]);
    let isDone = false;
    void running.projector.visible(7, 2_000).then(
      () => {
        isDone = true;
      },
      () => undefined,
    );
    await until(() => isDone || platform.documents.isCrashed);
    isOver = !platform.documents.isCrashed;
    if (!isOver)
      running = await start(t, await platform.crash(), history, { quarantine: await QuarantineFile.open(path) });
    await visible(running);
    t.same([numbers(history), linesOf(path).map(({ seq }) => seq)], [range(0, 6), [4]], `step ${crashAt}`);
    await running.projector.stop();
  }
  t.ok(crashAt > 3, `${crashAt} steps`);
});

t.test('many are refused, all are refused', async (t) => {
  for (const every of [7, 1]) {
    const history = new FakeHistory();
    history.refuses = ({ value }) => (value !== undefined && value % every === 0 ? refusal() : undefined);
    const path = quarantinePath(t);
    const running = await start(t, new Platform(openEnvironment(t)), history, {
      quarantine: await QuarantineFile.open(path),
    });
    await measure(running.platform, 0, 100);
    await visible(running);
    t.same(
      numbers(history),
      range(0, 100).filter((value) => value % every !== 0),
    );
    t.same(
      linesOf(path).map(({ seq }) => seq),
      range(0, 100)
        .filter((value) => value % every === 0)
        .map((value) => value + 1),
    );
    await running.projector.stop();
  }
});

t.test('a row and a DELETE are refused: what is behind them goes on', async (t) => {
  const history = new FakeHistory();
  history.refuses = refusesPoison;
  const path = quarantinePath(t);
  const running = await start(t, new Platform(openEnvironment(t)), history, {
    quarantine: await QuarantineFile.open(path),
  });
  const { platform } = running;
  await platform.create('5');
  await Promise.all([600, 601, POISON, 602, 603].map((id) => platform.request(event(id))));
  await visible(running);
  t.same(history.ids('events'), [600, 601, 602, 603]);
  t.same(platform.ids('event'), ['600', '601', '602', '603', '666'], 'the document is there');
  for (const table of ['measurements', 'events']) {
    await platform.request({
      kind: COMMAND.DATA_DELETE,
      key: 't',
      body: { table, filter: { source: String(POISON) } },
    });
    await measure(platform, 1, 1);
    await visible(running);
  }
  t.same(numbers(history), [1, 1]);
  const lines = linesOf(path);
  t.match(lines, [
    { kind: 'row', table: 'events', id: POISON, code: 469 },
    { kind: 'deletion', table: 'measurements' },
    { kind: 'deletion', table: 'events' },
  ]);
  t.match(
    JSON.parse(lines[0].row as string),
    { id: POISON, source: 5, seq: lines[0].seq, shard: lines[0].shard },
    'as the store would take it',
  );
  t.same(lines[1].row, { tenant: 1, table: 'measurements', filter: { source: '666' } });
  await running.projector.stop();
});

t.test('only what stays refused is set aside, never what fails for another reason', async (t) => {
  const history = new FakeHistory();
  const path = quarantinePath(t);
  const quarantine = await QuarantineFile.open(path);
  const running = await start(t, new Platform(openEnvironment(t)), history, { quarantine });
  let tries = 0;
  history.refuses = () => (++tries <= 6 ? new Error('Code: 241. MEMORY_LIMIT_EXCEEDED') : undefined);
  await measure(running.platform, 0, 4);
  await visible(running);
  tries = 0;
  // Twice a word that may mean the store itself, then it is well: fewer than the tries that it is given.
  history.refuses = () => (++tries <= 2 ? new HistoryRefusal('Code: 36. BAD_ARGUMENTS', 36, false) : undefined);
  await measure(running.platform, 4, 4);
  await visible(running);
  t.same([numbers(history), quarantine.count], [range(0, 8), 0]);
  history.refuses = ({ value }) =>
    value === POISON ? new HistoryRefusal('Code: 49. LOGICAL_ERROR', 49, false) : undefined;
  await Promise.all([
    measure(running.platform, 8, 4),
    measure(running.platform, POISON, 1),
    measure(running.platform, 12, 4),
  ]);
  await visible(running);
  t.same(numbers(history), range(0, 16));
  t.match(linesOf(path), [{ code: 49, seq: 13 }]);
  await running.projector.stop();
});

t.test(
  'kill at each step of the halving: nothing twice, nothing lost, also when the store has changed its mind',
  async (t) => {
    for (const isCured of [false, true]) {
      const places = crashPlaces();
      let steps = 0;
      for (let crashAt = places.first; ; crashAt += places.by) {
        const history = new FakeHistory();
        history.refuses = refusesPoison;
        const path = quarantinePath(t);
        let running = await start(t, new Platform(openEnvironment(t)), history, {
          quarantine: await QuarantineFile.open(path),
        });
        const { documents } = running.platform;
        let step = 0;
        // Each step is a place between two effects: before a call, behind it, before and behind a commit of the
        // progress.
        const mayEnd = (): boolean => {
          step += 1;
          return step === crashAt;
        };
        const hook = (): Promise<void> | void => {
          if (!documents.isCrashed && mayEnd()) documents.isCrashed = true;
          return documents.isCrashed ? new Promise(() => undefined) : undefined;
        };
        history.before = hook;
        history.after = hook;
        documents.crashBefore = (position) => position === undefined && mayEnd();
        documents.crashAfter = (position) => position === undefined && mayEnd();
        await Promise.all([
          measure(running.platform, 0, 9),
          measure(running.platform, POISON, 1),
          measure(running.platform, 9, 9),
        ]);
        await until(() => running.platform.journal.lastSeq === 19);
        const done = running.projector.visible(19, 2_000).then(
          () => true,
          () => true,
        );
        let isDone = false;
        void done.then(() => {
          isDone = true;
        });
        await until(() => isDone || documents.isCrashed);
        history.before = () => undefined;
        history.after = () => undefined;
        documents.crashBefore = () => false;
        documents.crashAfter = () => false;
        if (isCured) history.refuses = () => undefined;
        if (documents.isCrashed) {
          running = await start(t, await running.platform.crash(), history, {
            quarantine: await QuarantineFile.open(path),
            rowsMax: 3,
          });
          await visible(running);
        }
        await measure(running.platform, 18, 2);
        await visible(running);
        let aside: QuarantineEntry[] = [];
        try {
          aside = linesOf(path);
        } catch {
          /* Nothing was set aside. */
        }
        const isThere = history.values.some(({ value }) => value === POISON);
        t.same(numbers(history), isThere ? [...range(0, 20), POISON] : range(0, 20), `step ${crashAt}`);
        t.equal(aside.length, isThere ? 0 : 1, `step ${crashAt}: in the table or set aside`);
        await running.projector.stop();
        steps = crashAt;
        if (step < crashAt) break;
      }
      t.ok(steps > 20, `${steps} steps`);
    }
  },
);

t.test('random poison, failures and kills', async (t) => {
  const random = new Random();
  const history = new FakeHistory();
  const path = quarantinePath(t);
  const options = async () => ({
    rowsMax: 5 + random.below(60),
    intervalMs: 1 + random.below(10),
    quarantine: await QuarantineFile.open(path),
  });
  const isPoison = (number: number): boolean => number % 13 === 0;
  history.refuses = ({ value, id }) => (isPoison(value ?? id ?? 1) ? refusal() : undefined);
  let running = await start(t, new Platform(openEnvironment(t)), history, await options());
  await running.platform.create('5');
  await visible(running);
  const misbehave = async (): Promise<void> => {
    const { documents } = running.platform;
    const kind = random.below(80);
    if (kind < 3) throw new Error('connection refused');
    if (kind === 3) documents.isCrashed = true;
    if (kind < 20)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    if (documents.isCrashed) await new Promise(() => undefined);
  };
  history.partitionOf = ({ seq }) => seq % 2;
  history.loses = () => random.below(30) === 0;
  history.before = misbehave;
  history.after = misbehave;
  let crashes = 0;
  let next = 1_000;
  const acknowledged: number[] = [];
  for (let round = rounds(120, 400); round > 0; round -= 1) {
    const { platform } = running;
    for (let count = random.below(12); count > 0; count -= 1) {
      const number = next++;
      if (random.below(4) === 0)
        platform.request(event(number)).then(
          () => {
            acknowledged.push(number);
          },
          () => undefined,
        );
      else
        platform.measure(5, [number]).then(
          () => {
            acknowledged.push(number);
          },
          () => undefined,
        );
    }
    for (let turn = random.below(8); turn > 0; turn -= 1)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    if (random.below(20) === 0) platform.documents.isCrashed = true;
    if (!platform.documents.isCrashed) continue;
    crashes += 1;
    running = await start(t, await platform.crash(), history, await options());
  }
  history.before = () => undefined;
  history.after = () => undefined;
  if (running.platform.documents.isCrashed)
    running = await start(t, await running.platform.crash(), history, await options());
  await running.platform.settled();
  await visible(running);
  const stored = [...history.values.map(({ value }) => value), ...history.ids('events')];
  t.equal(new Set(stored).size, stored.length, `none twice, seed ${random.seed}`);
  const aside = linesOf(path).map(({ row, id, kind }) =>
    kind === 'row' ? id : (row as { values: { value: number }[] }).values[0].value,
  );
  t.equal(new Set(aside).size, aside.length, `none aside twice, seed ${random.seed}`);
  t.same([stored.filter(isPoison), aside.filter((number) => !isPoison(number))], [[], []], `seed ${random.seed}`);
  const there = new Set([...stored, ...aside]);
  t.same(
    acknowledged.filter((number) => !there.has(number)),
    [],
    `none lost, ${crashes} crashes, seed ${random.seed}`,
  );
  await running.projector.stop();
});

t.test('the bound is reached: the projector stays and says why; with the file moved away it goes on', async (t) => {
  const history = new FakeHistory();
  history.refuses = ({ value }) => (value === POISON ? refusal() : undefined);
  const path = quarantinePath(t);
  const quarantine = await QuarantineFile.open(path, { bytesMax: 800 });
  const { log, errors } = errorsOf();
  const running = await start(t, new Platform(openEnvironment(t)), history, { quarantine, log });
  const { platform, projector } = running;
  await Promise.all([
    measure(platform, 0, 5),
    measure(platform, POISON, 1),
    measure(platform, POISON, 1),
    measure(platform, POISON, 1),
    measure(platform, 5, 5),
  ]);
  await t.rejects(projector.visible(13, 500), /is full .* move the file away/);
  t.same([quarantine.isFull, projector.position], [true, 0]);
  t.match(errors.at(-1), { error: /is full/ });
  const kept = linesOf(path).length;
  t.ok(kept > 0 && kept < 3, `${kept} lines`);
  await measure(platform, 10, 5);
  t.equal(projector.position, 0, 'nothing overtakes; the journal keeps it');
  renameSync(path, `${path}.1`);
  await visible(running);
  t.same(numbers(history), range(0, 15));
  t.equal(linesOf(path).length + kept, 3);
  t.same([quarantine.isFull, projector.lastError], [false, undefined]);
  await projector.stop();
});

t.test('the file: what was cut off is taken away, an entry is written once, its bound holds', async (t) => {
  const path = quarantinePath(t);
  const entry = (seq: number, row = ''): QuarantineEntry => ({
    kind: 'row',
    table: 'events',
    seq,
    shard: 1,
    id: 2,
    position: 0,
    code: 6,
    error: 'e',
    row,
  });
  const first = await QuarantineFile.open(path);
  await first.add(entry(1));
  await first.add(entry(1));
  await first.add(entry(2, '\u2028\n'));
  t.same([first.count, first.sizeBytes], [2, readFileSync(path).length]);
  appendFileSync(path, '{"kind":"row","tab');
  const second = await QuarantineFile.open(path, { bytesMax: 1_000 });
  t.same([second.count, second.has(entry(2)), second.has(entry(3))], [2, true, false]);
  await second.add(entry(3));
  t.same(
    linesOf(path).map(({ seq }) => seq),
    [1, 2, 3],
  );
  await t.rejects(second.add(entry(4, 'x'.repeat(1_000))), { message: /is full/ });
  t.equal(second.isFull, true);
  await second.add(entry(5));
  t.equal(second.isFull, false, 'a smaller one has room');
  writeFileSync(path, 'edited by hand\n');
  await second.add(entry(1));
  t.same([second.count, readFileSync(path, 'utf8').split('\n').length], [2, 3]);
});
