/** What the projector of one process and that of a cluster's node both promise; run for each of them. */
import type { Test } from 'tap';
import { encodeCommand, shardOf } from '../../src/ingest/journal/command-record.ts';
import type { RecordIntake } from '../../src/ingest/journal/record-intake.ts';
import { OFFSET_COUNT, OFFSET_ID, kindAt, nextAt } from '../../src/ingest/journal/record-layout.ts';
import { decodeMeasurement, encodeMeasurement } from '../../src/ingest/measurements/record.ts';
import type { Collection } from '../../src/model/commands/collections.ts';
import { TENANT_KEY } from '../../src/model/commands/keys.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../src/model/commands/processing-mode.ts';
import type { HistoryQuery } from '../../src/ports/history-reader.ts';
import type { Log } from '../../src/ports/log.ts';
import { HistoryRefusal } from '../../src/ports/stores/history-writer.ts';
import type { QuarantineEntry } from '../../src/ports/stores/quarantine.ts';
import { NOW, TENANT, silentLog, until } from '../actors/platform.ts';
import type { Sent } from '../actors/platform.ts';
import { crashPlaces, rounds } from '../helpers/rounds.ts';
import { Random } from '../smartrest/random.ts';
import type { FakeHistory } from './fake-history.ts';

const HOUR_MS = 3_600_000;

export interface PlaceOptions {
  readonly rowsMax: number;
  readonly intervalMs: number;
}

/** A projector that can be killed, its journal and its stores. */
export interface ProjectorPlace {
  /** What is killed in a call of it and throws then ends the call without effect. */
  readonly history: FakeHistory;
  readonly log: ErrorLog;
  /** What is set aside is known to whoever goes on. */
  readonly knowsSetAside: boolean;
  /** Called before and behind each change of what the projector keeps of its progress; may kill. */
  onStep: () => void;
  readonly isKilled: boolean;
  /** What was begun never ends, nothing more of it takes effect. */
  kill(): void;
  stop(): Promise<void>;
  /** The next process, of which are the sources from now on. */
  restart(options: PlaceOptions): Promise<void>;

  /** New ones of the process that can be killed; in a cluster of different shards. */
  sources(count: number): number[];
  /** Puts records into the journal as they are, of each shard in this order. Resolves when they are acknowledged. */
  append(...records: readonly Buffer[]): Promise<void>;
  request(sent: Sent): Promise<unknown>;
  /** Resolves when everything that was acknowledged can be queried. */
  visible(timeoutMs?: number, query?: HistoryQuery): Promise<void>;
  /** Resolves when everything in the journal is decided. */
  settled(): Promise<void>;

  projectorOf(source: number): {
    readonly lastError: string | undefined;
    readonly insertErrorsCount: number;
    readonly setAsideCount: number;
    readonly pendingRows: number;
    readonly isLagging: boolean;
  };
  positionOf(source: number): number;
  /** The positions are at the journal's end and nothing is left of a block. */
  isSettled(): Promise<boolean>;
  /** What is left of the journal when it has been trimmed. */
  trimmed(): Promise<readonly { readonly firstSeq: number; readonly records: Buffer }[]>;
  documentIds(collection: Collection): string[];
  /** Entries of the outbox. */
  readonly outboxCount: number;
  /** Notifications. */
  readonly told: readonly { readonly source: string }[];
  readonly setAside: readonly QuarantineEntry[];
  /** The quarantine has no room any more, or has it again. */
  fill(isFull: boolean): void;
}

export interface ErrorLog extends Log {
  /** What was logged as an error. */
  readonly errors: Record<string, unknown>[];
}

export function errorsOf(): ErrorLog {
  const errors: Record<string, unknown>[] = [];
  const error = (details: unknown): void => {
    errors.push(details as Record<string, unknown>);
  };
  return { ...silentLog, errors, error } as ErrorLog;
}

export const range = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

export const appendTo = (intake: Pick<RecordIntake, 'appendAll'>, records: readonly Buffer[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const all = Buffer.concat(records);
    const sink = {
      durable: () => resolve(),
      flushDurable: () => undefined,
      failed: (_token: number, error: Error) => reject(error),
    };
    intake.appendAll(all, all.length, records.length, sink, 0);
  });

/** Numbers of measurements, ascending. */
export const numbersOf = (history: FakeHistory): number[] =>
  history.values.map(({ value }) => value).sort((a, b) => a - b);

/** Of the shard of the commands of its tenant. */
const BESIDE_TENANT = range(1, 1_000).find((id) => shardOf(TENANT, id) === shardOf(TENANT, TENANT_KEY)) as number;

/** Ids of alarms and events of the source, as IdSource gives them. */
function idsOf(source: number, count: number, from = 10_000): number[] {
  const ids: number[] = [];
  for (let id = from; ids.length < count; id += 1) if (shardOf(TENANT, id) === shardOf(TENANT, source)) ids.push(id);
  return ids;
}

/** Until everything is in the history and nothing is left of a block, or it was killed. */
async function doneOrKilled(place: ProjectorPlace, killAt: number): Promise<void> {
  let isDone = false;
  const seen = (): void => {
    isDone = true;
  };
  void place.visible(5_000).then(seen, () => undefined);
  await until(async () => place.isKilled || (isDone && (await place.isSettled())), `step ${killAt}`);
}

interface Measured {
  readonly id?: number;
  readonly mode?: ProcessingMode;
}

function measured(source: number, values: readonly number[], { id = values[0] + 1, mode = 0 }: Measured = {}): Buffer {
  const all = values.map((value, index) => ({ fragment: 'f', series: `s${index}`, value, unit: '' }));
  const header = { tenant: TENANT, source, id, time: NOW, mode, type: 'T', document: '', receivedAt: NOW };
  return encodeMeasurement({ ...header, values: all });
}

/** Measurements with one value each, which is its number, of the sources in turn. */
const numbered = (sources: readonly number[], numbers: readonly number[]): Buffer[] =>
  numbers.map((number, index) => measured(sources[index % sources.length], [number]));

/** It says of itself that it has more values than it has. */
function damaged(source: number): Buffer {
  const record = measured(source, [1], { id: 77 });
  record.writeUInt16LE(9_000, OFFSET_COUNT);
  return record;
}

const recordOf = (sent: Sent): Buffer => encodeCommand({ tenant: TENANT, mode: 0, receivedAt: NOW, ...sent });
const created = (id: number): Sent => ({
  kind: COMMAND.MANAGED_OBJECT_CREATE,
  key: id,
  body: { id: String(id), owner: 'ada', doc: '{}' },
});
const event = (source: number, id: number): Sent => ({
  kind: COMMAND.EVENT_CREATE,
  key: source,
  body: { id: String(id), type: 'T', time: NOW, doc: '{"type":"T"}' },
});
const removed = (table: string, source: number): Sent => ({
  kind: COMMAND.DATA_DELETE,
  key: TENANT_KEY,
  body: { table, filter: { source: String(source) } },
});

/** The store refuses these values and ids. */
const POISON = 666;
const refusal = (): HistoryRefusal => new HistoryRefusal('Code: 469. value 666', 469, true);
const refusesPoison: FakeHistory['refuses'] = ({ value, id, deleted }) =>
  value === POISON || id === POISON || deleted === String(POISON) ? refusal() : undefined;

const isOfMeasurements = (call: string): boolean => call.startsWith('measurements');

function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
};

export function projectorContract(t: Test, name: string, newPlace: (t: Test) => Promise<ProjectorPlace>): void {
  const start = async (t: Test, options: Partial<PlaceOptions> = {}): Promise<ProjectorPlace> => {
    const place = await newPlace(t);
    await restart(place, options);
    return place;
  };
  const restart = (place: ProjectorPlace, options: Partial<PlaceOptions> = {}): Promise<void> =>
    place.restart({ rowsMax: 10_000, intervalMs: HOUR_MS, ...options });

  t.test(`${name}: a block when somebody looks, when it is full, when its interval ends`, async (t) => {
    const place = await start(t, { rowsMax: 50 });
    const { history } = place;
    const sources = place.sources(3);
    await place.append(...numbered(sources, range(0, 10)));
    t.same(history.log, [], 'nothing before there is a reason');
    await Promise.all([place.visible(), place.visible(), place.visible()]);
    t.equal(history.log.length, 1, 'flushes coalesce');
    await until(() => place.isSettled());
    await place.visible(1_000);
    t.same([history.log.length, numbersOf(history)], [1, range(0, 10)]);
    await place.append(...numbered(sources, range(10, 60)));
    await until(() => history.values.length >= 60);
    await place.visible();
    t.same(numbersOf(history), range(0, 70));
    t.equal(place.projectorOf(sources[0]).pendingRows, 0);
    await restart(place, { intervalMs: 5 });
    await place.append(...numbered(place.sources(3), range(70, 3)));
    await until(() => place.isSettled(), 'the interval');
    t.same(numbersOf(history), range(0, 73));
  });

  t.test(`${name}: a block with many rows waits longer than one with few, and not for ever`, async (t) => {
    const intervalMs = 200;
    const place = await start(t, { rowsMax: 50_000, intervalMs });
    const [source] = place.sources(1);
    const insertedAfter = async (...records: Buffer[]): Promise<number> => {
      await place.append(measured(source, [0]));
      const from = performance.now();
      // An insert begins the next block's time.
      await place.visible();
      await place.append(...records);
      await until(() => place.isSettled(), 'the insert');
      return performance.now() - from;
    };
    const many = measured(source, range(0, 2_000));
    t.ok((await insertedAfter(many)) >= 2.5 * intervalMs, 'two and a half intervals');
    await insertedAfter(measured(source, [1]));
    t.equal(place.history.values.length, 2_003);
    await place.request(created(source));
    const events = idsOf(source, 100).map((id) => recordOf(event(source, id)));
    t.ok((await insertedAfter(...events)) >= 2.5 * intervalMs, 'many rows of other tables, too');
    await restart(place, { rowsMax: 50_000 });
    await place.append(many);
    await place.visible(5_000);
    t.equal(place.history.values.length, 4_004, 'who asks does not wait for it');
  });

  t.test(`${name}: values are parts of a measurement; what is not stored leaves no row`, async (t) => {
    const place = await start(t);
    const [source] = place.sources(1);
    await place.append(
      measured(source, [1, 2, 3]),
      measured(source, [99], { mode: PROCESSING_MODE.TRANSIENT }),
      measured(source, [99], { mode: PROCESSING_MODE.CEP }),
      measured(source, [4], { mode: PROCESSING_MODE.QUIESCENT }),
      measured(source, [], { id: 9 }),
    );
    await place.visible();
    const [{ seq }] = place.history.values;
    const parts = [
      [0, 0, 1],
      [0, 1, 2],
      [0, 2, 3],
      [3, 0, 4],
      [4, 0, 0],
    ];
    t.same(
      place.history.values.map((row) => [row.seq - seq, row.part, row.value]),
      parts,
    );
    await place.append(measured(source, [99], { mode: PROCESSING_MODE.TRANSIENT }));
    await place.visible();
    await until(() => place.isSettled(), 'the position passes what leaves no row');
    t.equal(place.history.values.length, parts.length);
  });

  t.test(`${name}: slower history: it lags, reads the journal later, loses and doubles nothing`, async (t) => {
    const place = await start(t, { rowsMax: 20 });
    const { history } = place;
    const sources = place.sources(2);
    const projector = place.projectorOf(sources[0]);
    const positions: number[] = [];
    const { opened, open } = gate();
    history.before = () => opened;
    history.after = () => {
      positions.push(place.positionOf(sources[0]));
    };
    for (let round = 0; round < 20; round += 1) await place.append(...numbered(sources, range(round * 15, 15)));
    await until(() => projector.isLagging);
    t.ok(projector.pendingRows < 60, `${projector.pendingRows} rows in memory`);
    const flushed = place.visible();
    history.before = () => undefined;
    open();
    await flushed;
    t.same(numbersOf(history), range(0, 300));
    await until(() => !projector.isLagging);
    await place.append(...numbered(sources, range(300, 5)));
    await place.visible();
    t.same(numbersOf(history), range(0, 305));
    t.same(
      positions,
      positions.toSorted((a, b) => a - b),
      'the position only grows',
    );
  });

  t.test(`${name}: history away: waiting ends with the reason, nothing is lost, all is tried again`, async (t) => {
    const place = await start(t);
    const { history } = place;
    let isAway = true;
    history.before = () => {
      if (isAway) throw new Error('connection refused');
    };
    const sources = place.sources(2);
    await place.append(...numbered(sources, range(0, 5)));
    await t.rejects(place.visible(300), /connection refused/);
    await place.append(...numbered(sources, range(5, 5)));
    t.ok(place.projectorOf(sources[0]).insertErrorsCount > 0);
    isAway = false;
    await place.visible();
    t.same(numbersOf(history), range(0, 10));
    t.equal(place.projectorOf(sources[0]).lastError, undefined);
    isAway = true;
    const position = place.positionOf(sources[0]);
    await place.append(...numbered(sources, [10]));
    const query: HistoryQuery = { tables: ['measurements'], tenant: TENANT };
    const waiting = [undefined, query].map((asked) =>
      place.visible(20_000, asked).then(
        () => `seen: ${numbersOf(history).includes(10)}`,
        (error: Error) => error.message,
      ),
    );
    await until(() => place.projectorOf(sources[0]).lastError !== undefined);
    t.equal(place.positionOf(sources[0]), position);
    await place.stop();
    isAway = false;
    await restart(place);
    for (const seen of waiting) t.match(await seen, /^(the server stops|not visible in time|seen: true)$/);
    await place.visible();
    t.same(numbersOf(history), range(0, 11));
  });

  t.test(`${name}: the journal is trimmed of what is stored, and of that only`, async (t) => {
    const place = await start(t);
    const { history } = place;
    const [source] = place.sources(1);
    let isAway = true;
    history.before = () => {
      if (isAway) throw new Error('away');
    };
    const bytesOf = async (): Promise<number> =>
      (await place.trimmed()).reduce((bytes, { records }) => bytes + records.length, 0);
    let bytes = 0;
    for (let round = 0; round < 30; round += 1) {
      const records = numbered([source], range(round * 10, 10));
      bytes += Buffer.concat(records).length;
      await place.append(...records);
    }
    await place.settled();
    void place.visible(200).catch(() => undefined);
    await until(() => place.projectorOf(source).lastError !== undefined);
    t.equal(await bytesOf(), bytes, 'nothing is stored');
    await restart(place);
    isAway = false;
    await place.visible();
    t.same(numbersOf(history), range(0, 300));
    for (let round = 30; round < 33; round += 1) {
      await place.append(...numbered([source], range(round * 10, 10)));
      await place.visible();
    }
    const kept = await bytesOf();
    t.ok(kept < bytes / 10, `${kept} of ${bytes} bytes are kept`);
  });

  for (const poison of ['taken', 'refused', 'refused, then taken']) {
    t.test(`${name}: killed between any two steps of a block, one row ${poison}: each row once`, async (t) => {
      const places = crashPlaces(poison === 'taken' ? 4 : 8);
      for (let killAt = places.first; ; killAt += places.by) {
        const place = await start(t);
        const { history } = place;
        if (poison !== 'taken') history.refuses = refusesPoison;
        let step = 0;
        place.onStep = () => {
          step += 1;
          if (step !== killAt) return;
          if (poison === 'refused, then taken') history.refuses = () => undefined;
          place.kill();
        };
        history.before = history.after = () => {
          place.onStep();
          if (step === killAt) throw new Error('killed');
        };
        const sources = place.sources(2);
        await place.append(
          ...numbered(sources, range(0, 4)),
          damaged(sources[0]),
          measured(sources[1], [POISON]),
          recordOf(created(sources[1])),
          ...numbered(sources, range(4, 4)),
        );
        await place.settled();
        await doneOrKilled(place, killAt);
        const isOver = step < killAt;
        place.onStep = () => undefined;
        history.before = history.after = () => undefined;
        // Fewer rows in a block since then: the block that was begun is the same nevertheless.
        if (!isOver) await restart(place, { rowsMax: 3 });
        const [last] = place.sources(1);
        await place.request(created(last));
        await place.append(...numbered([last], range(8, 2)));
        await place.visible();
        const isThere = history.values.some(({ value }) => value === POISON);
        const isAside = place.setAside.some(({ code }) => code === 469);
        t.same(numbersOf(history), isThere ? [...range(0, 10), POISON] : range(0, 10), `step ${killAt}`);
        t.ok(
          isThere !== isAside || (!place.knowsSetAside && poison === 'refused, then taken'),
          `step ${killAt}: in the table or set aside`,
        );
        t.equal(place.setAside.length, isAside ? 2 : 1, `step ${killAt}: beside it what is damaged`);
        const objects = history.ids('managed_objects');
        t.ok(objects.includes(sources[1]) && objects.includes(last), `step ${killAt}: rows of other tables`);
        await until(() => place.isSettled(), 'nothing is left of it');
        t.equal(place.outboxCount, 0, `step ${killAt}: rows leave the outbox`);
        place.kill();
        if (!isOver) continue;
        t.ok(step >= (poison === 'taken' ? 8 : 20), `${step} steps`);
        break;
      }
    });
  }

  t.test(`${name}: killed between any two steps of a DELETE: it takes what is before it, nothing else`, async (t) => {
    const source = BESIDE_TENANT;
    const [before, behind] = idsOf(source, 2);
    const places = crashPlaces(6);
    for (let killAt = places.first; ; killAt += places.by) {
      const place = await start(t);
      const { history } = place;
      await place.request(created(source));
      let step = 0;
      place.onStep = () => {
        step += 1;
        if (step === killAt) place.kill();
      };
      history.before = history.after = () => {
        place.onStep();
        if (step === killAt) throw new Error('killed');
      };
      await place.append(
        recordOf(event(source, before)),
        measured(source, [1]),
        recordOf(removed('measurements', source)),
        measured(source, [2]),
        recordOf(removed('events', source)),
        recordOf(event(source, behind)),
        measured(source, [3]),
      );
      await doneOrKilled(place, killAt);
      const isOver = step < killAt;
      place.onStep = () => undefined;
      history.before = history.after = () => undefined;
      if (!isOver) await restart(place, { rowsMax: 1 });
      await place.visible();
      const left = [history.ids('events'), place.documentIds('event'), numbersOf(history)];
      t.same(left, [[behind], [String(behind)], [2, 3]], `step ${killAt}`);
      await until(() => place.isSettled(), 'nothing is left of it');
      place.kill();
      if (!isOver) continue;
      t.ok(step >= 8, `${step} steps`);
      break;
    }
  });

  t.test(`${name}: stopped while a begun block is repeated: left to the next start`, async (t) => {
    const place = await start(t);
    const { history } = place;
    const sources = place.sources(3);
    // Each in a group of its own: the repetition takes as many reads.
    for (const number of range(0, 30)) await place.append(...numbered(sources, [number]));
    history.after = () => {
      if (place.isKilled) return;
      place.kill();
      throw new Error('killed');
    };
    void place.visible(1_000).catch(() => undefined);
    await until(() => place.isKilled);
    await restart(place);
    await place.stop();
    // Blocks of its own would be smaller ones, with rows that are there.
    await restart(place, { rowsMax: 7 });
    await place.visible();
    t.same(numbersOf(history), range(0, 30));
  });

  t.test(
    `${name}: a store that was killed knows tokens of rows that it lost: they come with the next one`,
    async (t) => {
      const place = await start(t);
      const { history } = place;
      const sources = place.sources(2);
      let next = 0;
      const append = async (): Promise<void> => {
        await place.append(...numbered(sources, range(next, 10)));
        await place.visible();
        next += 10;
      };
      for (const partitions of [1, 2, 3]) {
        history.partitionOf = ({ value }) => value % partitions;
        for (const losses of [1, 2, 4]) {
          let left = losses;
          history.loses = () => {
            left -= 1;
            return left >= 0;
          };
          await append();
          t.same(numbersOf(history), range(0, next), `${losses} losses, ${partitions} months`);
          t.ok(left <= 0);
          const calls: string[] = [];
          history.before = (call) => {
            calls.push(call);
          };
          await append();
          t.notOk(calls.includes('stored'), 'nothing is looked for that was answered at once');
          history.before = () => undefined;
        }
      }
      t.same(numbersOf(history), range(0, next));
    },
  );

  t.test(`${name}: a DELETE waits for everything before it and for nothing behind it, also in one group`, async (t) => {
    const source = BESIDE_TENANT;
    const ids = idsOf(source, 3);
    for (const isLagging of [false, true]) {
      const place = await start(t, { rowsMax: 20 });
      const { history } = place;
      await place.request(created(source));
      await place.visible();
      const { opened, open } = gate();
      if (isLagging) {
        history.before = () => opened;
        for (let round = 0; round < 4; round += 1)
          await place.append(...numbered([source], range(100 + round * 15, 15)));
        await until(() => place.projectorOf(source).isLagging);
      }
      await place.append(
        recordOf(event(source, ids[0])),
        ...numbered([source], range(1, 3)),
        recordOf(removed('events', source)),
        recordOf(event(source, ids[1])),
        ...numbered([source], range(4, 2)),
        recordOf(removed('measurements', source)),
        recordOf(event(source, ids[2])),
        ...numbered([source], range(6, 2)),
      );
      history.before = () => undefined;
      open();
      await place.visible();
      const left = ids.slice(1);
      t.same([history.ids('events'), numbersOf(history)], [left, [6, 7]], `lagging: ${isLagging}`);
      t.same(place.documentIds('event'), left.map(String));
    }
  });

  t.test(`${name}: who asks behind a DELETE sees nothing of what it takes; others do not wait for it`, async (t) => {
    const place = await start(t);
    const { history } = place;
    const { select } = history;
    const source = BESIDE_TENANT;
    await place.request(created(source));
    for (let round = 0; round < 3; round += 1) {
      const ids = idsOf(source, 3, 10_000 * (round + 1));
      await place.append(...ids.map((id) => recordOf(event(source, id))));
      await place.visible();
      const { opened, open } = gate();
      history.select = async (...query) => {
        await opened;
        return select.apply(history, query);
      };
      await place.append(recordOf(removed('events', source)));
      const seen = Promise.all(
        [undefined, { tables: ['events'], tenant: TENANT } satisfies HistoryQuery].map((query) =>
          place.visible(5_000, query).then(() => history.ids('events')),
        ),
      );
      await place.visible(5_000, { tables: ['events'], tenant: TENANT + 1 });
      await place.visible(5_000, { tables: ['alarms'], tenant: TENANT });
      t.same(history.ids('events'), ids, 'who reads what it does not take goes on');
      if (round === 0) await t.rejects(place.visible(100, { tables: ['events'] }), 'not who reads of any tenant');
      open();
      t.same(await seen, [[], []]);
    }
  });

  t.test(`${name}: a query waits for what it reads: its tables, and of measurements its source`, async (t) => {
    const place = await start(t);
    const { history } = place;
    const [source, other] = place.sources(2);
    await place.request(created(source));
    await place.visible();
    await place.append(...numbered([source], range(0, 3)));
    const sees = (query: HistoryQuery): Promise<void> => place.visible(20_000, { tenant: TENANT, ...query });
    await sees({ tables: ['alarms', 'managed_objects'] });
    await sees({ tables: ['measurements'], source: other });
    t.same(numbersOf(history), [], 'others read at once');
    await sees({ tables: ['measurements'], source });
    t.same(numbersOf(history), [0, 1, 2]);
    const [id] = idsOf(source, 1);
    await place.append(recordOf(event(source, id)), measured(other, [9]));
    await sees({ tables: ['events'] });
    t.same(history.ids('events'), [id]);
  });

  t.test(`${name}: one measurement of a block is refused: it is set aside, the others are inserted once`, async (t) => {
    const place = await start(t);
    const { history, log } = place;
    history.refuses = refusesPoison;
    const sources = place.sources(5);
    await place.append(...numbered(sources, range(0, 5)));
    await place.visible();
    const position = place.positionOf(sources[2]);
    let calls = 0;
    history.before = (call) => {
      if (isOfMeasurements(call)) calls += 1;
    };
    await place.append(
      ...numbered(sources, range(5, 120)),
      measured(sources[2], [1_000, POISON, 1_001], { id: 77 }),
      ...numbered(sources, range(125, 80)),
    );
    await place.visible();
    t.same(numbersOf(history), range(0, 205));
    t.ok(calls <= 20, `${calls} inserts for one in 201`);
    const where = { shard: shardOf(TENANT, sources[2]), code: 469, error: /666/, position };
    t.match(place.setAside, [
      {
        ...where,
        kind: 'measurement',
        table: 'measurements',
        id: 77,
        row: { tenant: TENANT, source: sources[2], type: 'T', values: [{ value: 1_000 }, { value: POISON }, {}] },
      },
    ]);
    t.match(log.errors, [{ ...where, seq: place.setAside[0].seq }]);
    const projector = place.projectorOf(sources[2]);
    t.same([projector.setAsideCount, projector.lastError, projector.pendingRows], [1, undefined, 0]);
    t.ok(projector.insertErrorsCount > 5);
    await until(() => place.isSettled(), 'no block is left');
    await place.append(...numbered(sources, range(205, 5)));
    await place.visible();
    t.same(numbersOf(history), range(0, 210));
    t.match(history.log.at(-1), /^measurements [^/]*$/, 'the next block is a block again');
  });

  t.test(`${name}: a measurement that cannot be decoded is set aside, the others are inserted`, async (t) => {
    const place = await start(t);
    const [source] = place.sources(1);
    const broken = damaged(source);
    const short = Buffer.from(broken.subarray(0, OFFSET_ID));
    short.writeUInt32LE(short.length, 0);
    for (const [index, record] of [broken, short].entries()) {
      const [other] = place.sources(1);
      await place.append(
        ...numbered([other], range(6 * index, 3)),
        record,
        ...numbered([other], range(6 * index + 3, 3)),
      );
      await place.visible();
    }
    t.same(numbersOf(place.history), range(0, 12));
    t.notOk(
      place.told.some((told) => told.source === String(source)),
      'no subscriber is told of it',
    );
    const entry = { kind: 'measurement', table: 'measurements', shard: shardOf(TENANT, source), code: 0 };
    t.match(place.setAside, [
      {
        ...entry,
        id: 77,
        error: /cannot be decoded/,
        row: { tenant: TENANT, source, record: broken.toString('base64') },
      },
      { ...entry, id: 0, row: { tenant: TENANT, source } },
    ]);
    t.same([place.projectorOf(source).setAsideCount, place.log.errors.length], [2, 2]);
    await until(() => place.isSettled(), 'the position is behind it');
  });

  t.test(`${name}: many are refused, all are refused`, async (t) => {
    const place = await start(t);
    const { history } = place;
    const sources = place.sources(3);
    for (const [first, every] of [
      [0, 7],
      [50, 1],
    ]) {
      history.refuses = ({ value }) => (value !== undefined && value % every === 0 ? refusal() : undefined);
      await place.append(...numbered(sources, range(first, 50)));
      await place.visible();
    }
    const isRefused = (value: number): boolean => value >= 50 || value % 7 === 0;
    t.same(
      numbersOf(history),
      range(0, 100).filter((value) => !isRefused(value)),
    );
    t.same(
      place.setAside.map(({ id }) => id - 1).sort((a, b) => a - b),
      range(0, 100).filter(isRefused),
    );
  });

  t.test(`${name}: a row and a DELETE are refused: what is behind them goes on`, async (t) => {
    const place = await start(t);
    const { history } = place;
    history.refuses = refusesPoison;
    const [source] = place.sources(1);
    await place.append(...[source, POISON, ...place.sources(2)].map((id) => recordOf(created(id))));
    await place.visible();
    t.same(
      history.ids('managed_objects'),
      place
        .documentIds('managedObject')
        .map(Number)
        .filter((id) => id !== POISON)
        .sort((a, b) => a - b),
    );
    t.equal(history.ids('managed_objects').length, 3);
    t.ok(place.documentIds('managedObject').includes(String(POISON)), 'the document is there');
    for (const table of ['measurements', 'events']) {
      await place.append(recordOf(removed(table, POISON)), measured(BESIDE_TENANT, [1]));
      await place.visible();
    }
    t.same(numbersOf(history), [1, 1]);
    const setAside = place.setAside.toSorted((a, b) => a.seq - b.seq);
    const [row, deletion] = setAside;
    t.match(setAside, [
      { kind: 'row', table: 'managed_objects', id: POISON, code: 469 },
      { kind: 'deletion', table: 'measurements', shard: shardOf(TENANT, TENANT_KEY) },
      { kind: 'deletion', table: 'events' },
    ]);
    t.match(
      JSON.parse(row.row as string),
      { id: POISON, seq: row.seq, shard: row.shard },
      'as the store would take it',
    );
    t.same(deletion.row, { tenant: TENANT, ...removed('measurements', POISON).body });
  });

  t.test(`${name}: only what stays refused is set aside, never what fails for another reason`, async (t) => {
    const place = await start(t);
    const { history } = place;
    const sources = place.sources(2);
    let tries = 0;
    history.refuses = () => (++tries <= 4 ? new Error('Code: 241. MEMORY_LIMIT_EXCEEDED') : undefined);
    await place.append(...numbered(sources, range(0, 4)));
    await place.visible();
    tries = 0;
    // Twice a word that may mean the store itself, then it is well: fewer than the tries that it is given.
    history.refuses = () => (++tries <= 2 ? new HistoryRefusal('Code: 36. BAD_ARGUMENTS', 36, false) : undefined);
    await place.append(...numbered(sources, range(4, 4)));
    await place.visible();
    t.same([numbersOf(history), place.setAside.length], [range(0, 8), 0]);
    history.refuses = ({ value }) =>
      value === POISON ? new HistoryRefusal('Code: 49. LOGICAL_ERROR', 49, false) : undefined;
    await place.append(...numbered(sources, [...range(8, 4), POISON, ...range(12, 4)]));
    await place.visible();
    t.same(numbersOf(history), range(0, 16));
    t.match(place.setAside, [{ code: 49, id: POISON + 1 }]);
  });

  t.test(`${name}: the quarantine is full: the projector stays and says why, with room it goes on`, async (t) => {
    const place = await start(t);
    const { history, log } = place;
    history.refuses = refusesPoison;
    const [source] = place.sources(1);
    const position = place.positionOf(source);
    place.fill(true);
    await place.append(...numbered([source], [0, 1, POISON, 2, 3]));
    await t.rejects(place.visible(500), /quarantine is full/);
    t.match(log.errors.at(-1), { error: /is full/ });
    await place.append(...numbered([source], [4]));
    t.equal(place.positionOf(source), position, 'nothing overtakes; the journal keeps it');
    place.fill(false);
    await place.visible();
    t.same([numbersOf(history), place.setAside.length], [range(0, 5), 1]);
    t.equal(place.projectorOf(source).lastError, undefined);
    await until(() => place.isSettled());
  });

  t.test(`${name}: random load, poison, delays, failures and kills: each row is there exactly once`, async (t) => {
    const { seed } = new Random();
    for (let run = 0; run < rounds(1, 20); run += 1) await randomLoad(t, await newPlace(t), new Random(seed + run));
  });
}

/** Whole parts of values, and ids of events, that the store refuses. */
const isPoison = (number: number): boolean => number > 0 && number % 13 === 0;

async function randomLoad(t: Test, place: ProjectorPlace, random: Random): Promise<void> {
  const { history } = place;
  const said = `seed ${random.seed}`;
  const options = (): PlaceOptions => ({
    rowsMax: 1 + random.below(60),
    intervalMs: random.pick([1, 5, HOUR_MS]),
  });
  await place.restart(options());
  let sources = place.sources(4);
  const [object] = sources;
  await place.request(created(object));
  await place.visible();
  const misbehave = async (call: string): Promise<void> => {
    const kind = random.below(60);
    if (kind < 15) await turns(random.below(20));
    if (kind === 18) place.kill();
    if (kind > 14 && kind < 19) throw new Error(`refused: ${call}`);
  };
  history.before = history.after = misbehave;
  history.partitionOf = ({ seq }) => seq % 3;
  history.loses = () => random.below(30) === 0;
  history.refuses = ({ value, id }) => (isPoison(Math.floor(value ?? id ?? 0)) ? refusal() : undefined);
  const ids = idsOf(object, 1_000);
  const acknowledged = { measurements: new Set<number>(), events: new Set<number>() };
  let next = 1;
  let kills = 0;
  for (let step = 0; step < rounds(80, 150); step += 1) {
    const kind = random.below(10);
    if (kind < 6) {
      for (let count = random.below(15); count > 0; count -= 1) {
        const id = next++;
        const values = range(0, random.below(4)).map((part) => id + part / 8);
        place.append(measured(random.pick(sources), values, { id })).then(
          () => acknowledged.measurements.add(id),
          () => undefined,
        );
      }
    } else if (kind < 9) {
      const id = ids.shift() as number;
      place.append(recordOf(event(object, id))).then(
        () => acknowledged.events.add(id),
        () => undefined,
      );
    } else {
      void place.visible(1_000).catch(() => undefined);
    }
    await turns(random.below(6));
    if (random.below(15) === 0) place.kill();
    if (!place.isKilled) continue;
    kills += 1;
    await place.restart(options());
    sources = place.sources(4);
  }
  history.before = history.after = () => undefined;
  if (place.isKilled) await place.restart(options());
  await place.settled();
  await place.visible();
  t.ok(kills > 0, `${kills} kills, ${said}`);
  t.notOk(
    history.values.some(({ value }) => isPoison(Math.floor(value))) || history.ids('events').some(isPoison),
    said,
  );
  const keys = history.values.map(({ seq, part }) => `${seq}/${part}`);
  t.equal(new Set(keys).size, keys.length, `none twice, ${said}`);
  const stored = { measurements: new Set(history.values.map(({ id }) => id)), events: new Set(history.ids('events')) };
  const aside = {
    measurements: place.setAside.filter(({ kind }) => kind === 'measurement').map(({ id }) => id),
    events: place.setAside.filter(({ table }) => table === 'events').map(({ id }) => id),
  };
  for (const table of ['measurements', 'events'] as const) {
    t.equal(new Set(aside[table]).size, aside[table].length, `none aside twice, ${said}`);
    t.same(
      aside[table].filter((id) => !isPoison(id)),
      [],
      said,
    );
    t.same(
      [...acknowledged[table]].filter((id) => !stored[table].has(id) && !aside[table].includes(id)),
      [],
      `no one of the ${table} is missing, ${said}`,
    );
  }
  t.same(
    place
      .documentIds('event')
      .map(Number)
      .sort((a, b) => a - b),
    [...stored.events, ...aside.events].sort((a, b) => a - b),
    `events of documents and history, ${said}`,
  );
  // The journal is trimmed; what is left of it must all be in the history, by its sequence.
  for (const { firstSeq, records } of await place.trimmed()) {
    for (let at = 0, seq = firstSeq; at < records.length; at = nextAt(records, at), seq += 1) {
      if (kindAt(records, at) !== COMMAND.MEASUREMENT) continue;
      const { id, values } = decodeMeasurement(records, at);
      if (aside.measurements.includes(id)) continue;
      const rows = history.values.filter((row) => row.seq === seq).map(({ value }) => value);
      const want = values.length === 0 ? [0] : values.map(({ value }) => value);
      if (JSON.stringify(rows) !== JSON.stringify(want)) t.fail(`${seq}, ${said}`);
    }
  }
  await place.stop();
}
