/**
 * DELETE by filters: who watches is told of every measurement before the store deletes them; what takes long is a job
 * of the tenant.
 */
import t from 'tap';
import { DataDeletion, FAILURES_MAX } from '../../src/ingest/projector/data-deletion.ts';
import { HistoryRefusal, SELECT_PAGE, StatementFailed } from '../../src/ports/stores/history-writer.ts';
import type { HistoryWriter, MeasurementDeletion, StatementState } from '../../src/ports/stores/history-writer.ts';
import type { HistoryQuery } from '../../src/ports/history-reader.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { Command } from '../../src/model/commands/command.ts';
import type { AuditEntry, RecordsChange } from '../../src/model/commands/records.ts';
import type { EntityDelete } from '../../src/model/commands/deletion.ts';
import type { Notification } from '../../src/ports/live-bus.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { PROCESSING_MODE } from '../../src/model/commands/processing-mode.ts';
import type { ProcessingMode } from '../../src/model/commands/processing-mode.ts';

type Found = { id: number; source: number }[];

/** Measurements with the ids from 1 on, who is told of them, and when they are deleted. */
class Measurements {
  readonly steps: string[] = [];
  readonly jobs = new Map<string, string>();
  readonly audits: AuditEntry[] = [];
  isWatched = true;
  selectFailure: Error | undefined;
  isDiskFull = false;
  /** What the store answers, call by call; then that they are gone. */
  answers: (StatementState | Error)[] = [];
  readonly deletion: DataDeletion;

  constructor(count: number, settleMs = 2_000, statementWaitMs = 0) {
    const history = {
      selectMeasurements: async (
        { tenant, seq }: MeasurementDeletion,
        afterId: number,
        limit: number,
      ): Promise<Found> => {
        this.steps.push(`select ${tenant} ${seq} ${afterId}`);
        if (this.selectFailure !== undefined) throw this.selectFailure;
        const length = Math.min(limit, count - afterId);
        return Array.from({ length }, (_, index) => ({ id: afterId + index + 1, source: 5 + (index % 2) }));
      },
      deleteMeasurements: async (
        { tenant, seq, receivedAt }: MeasurementDeletion,
        isBegun: boolean,
      ): Promise<StatementState> => {
        this.steps.push(`delete ${tenant} ${seq} ${receivedAt}${isBegun ? ' begun' : ''}`);
        const answer = this.answers.shift() ?? 'done';
        if (answer instanceof Error) throw answer;
        return answer;
      },
    } as unknown as HistoryWriter;
    const bus = {
      hasSubscribers: () => this.isWatched,
      subscribe: () => () => undefined,
      publish: ({ tenant, area, source, action, text }: Notification) =>
        void this.steps.push(`${action} ${tenant} ${area} ${source} ${text()}`),
    };
    this.deletion = new DataDeletion({
      history,
      bus,
      settleMs,
      statementWaitMs,
      isDiskFull: () => this.isDiskFull,
      commands: {
        requestBeyondBound: async ({ kind, body }) => {
          if (kind !== COMMAND.RECORDS_CHANGE) throw new Error('no other command is needed');
          keep(this.jobs, body as RecordsChange);
          this.audits.push(...((body as RecordsChange).audits ?? []));
        },
      },
    });
  }

  async run(options: { filter?: Record<string, string>; mode?: ProcessingMode } = {}): Promise<string[]> {
    const { filter = { source: '5' }, mode = PROCESSING_MODE.PERSISTENT } = options;
    await this.deletion.run({
      kind: COMMAND.DATA_DELETE,
      tenant: 2,
      key: 't',
      mode,
      receivedAt: 1,
      seq: 3,
      shard: 0,
      body: { table: 'measurements', filter },
    } as never);
    return this.taken();
  }

  async page(isStopped = (): boolean => false): Promise<string> {
    const [[id, value]] = this.jobs;
    return this.deletion.page(2, { id, value }, isStopped);
  }

  taken(): string[] {
    return this.steps.splice(0);
  }
}

function keep(jobs: Map<string, string>, { changes }: RecordsChange): void {
  for (const { id, expected, value } of changes) {
    if (jobs.get(id) !== expected) throw new PlatformError('general/changed-meanwhile', { collection: 'job', id });
    if (value === undefined) jobs.delete(id);
    else jobs.set(id, value);
  }
}

t.test('each measurement is told, then the deletion', async (t) => {
  t.same(await new Measurements(2).run(), [
    'select 2 3 0',
    'DELETE 2 measurements 5 "1"',
    'DELETE 2 measurements 6 "2"',
    'delete 2 3 1',
  ]);
});

t.test('nothing is looked for when nobody may be told', async (t) => {
  const unwatched = new Measurements(2);
  unwatched.isWatched = false;
  t.same(await unwatched.run(), ['delete 2 3 1']);
  t.same(await new Measurements(2).run({ mode: PROCESSING_MODE.QUIESCENT }), ['delete 2 3 1']);
  t.same(await new Measurements(2).run({ filter: { id: '7' } }), ['delete 2 3 1'], 'the route has told it');
});

t.test(
  'more than a page are told by the job, page by page with the place kept, and deleted when all are',
  async (t) => {
    const rig = new Measurements(60_000);
    t.same(await rig.run(), ['select 2 3 0'], 'the projector does not tell them');
    t.match(JSON.parse(rig.jobs.values().next().value as string), { isTelling: true, after: 0 });
    await rig.run();
    t.equal(rig.jobs.size, 1, 'repeated after a crash: the job is there');
    rig.taken();
    let calls = 0;
    t.equal(
      await rig.page(() => {
        calls += 1;
        return calls > 2;
      }),
      'more',
    );
    const brokenOff = rig.taken();
    t.ok(
      brokenOff.length > 1 && brokenOff.length < 50_000 && !brokenOff.some((step) => step.startsWith('delete')),
      'broken off',
    );
    t.match(JSON.parse(rig.jobs.values().next().value as string), { isTelling: true, after: 0 });
    t.equal(await rig.page(), 'more');
    t.same(
      [rig.taken().length, JSON.parse(rig.jobs.values().next().value as string).after],
      [50_001, 50_000],
      'told again from its beginning',
    );
    await rig.page();
    const last = rig.taken();
    t.same([last[0], last.length, last.at(-1)], ['select 2 3 50000', 10_001, 'DELETE 2 measurements 6 "60000"']);
    await rig.page();
    t.same([rig.taken(), rig.jobs.size], [['delete 2 3 1'], 0]);
  },
);

t.test('who was subscribed is gone: the rest is not looked for', async (t) => {
  const rig = new Measurements(60_000);
  await rig.run();
  rig.isWatched = false;
  await rig.page();
  await rig.page();
  t.same([rig.taken(), rig.jobs.size], [['delete 2 3 1'], 0]);
});

t.test('what the store is at: lists of it wait somewhat, others do not', async (t) => {
  const rig = new Measurements(0);
  const own: HistoryQuery = { tables: ['measurements'], tenant: 2 };
  const isOver = async (query: HistoryQuery): Promise<boolean> =>
    Promise.race([
      rig.deletion.settled(query).then(() => true),
      new Promise<boolean>((resolve) => {
        setTimeout(() => resolve(false), 20);
      }),
    ]);
  rig.answers = ['begun', 'under way'];
  await rig.run();
  t.same([rig.jobs.size, await isOver(own), await isOver({ tables: ['measurements'] })], [1, false, false]);
  t.same(
    [await isOver({ tables: ['measurements'], tenant: 3 }), await isOver({ tables: ['events'], tenant: 2 })],
    [true, true],
  );
  t.same([await rig.page(), await isOver(own)], ['later', false]);
  t.same([await rig.page(), await isOver(own), rig.jobs.size], ['more', true, 0]);
  const slow = new Measurements(0, 1);
  slow.answers = ['begun'];
  await slow.run();
  await t.resolves(slow.deletion.settled(own), 'not for ever');
});

t.test(
  'what this process has begun is done when the store says so; of an earlier one it is looked at what is there',
  async (t) => {
    const rig = new Measurements(0, 2_000, 1_000);
    rig.isWatched = false;
    rig.answers = ['begun', 'under way'];
    t.same(await rig.run(), ['delete 2 3 1', 'delete 2 3 1 begun', 'delete 2 3 1 begun']);
    rig.answers = ['under way', 'begun'];
    t.same(await rig.run(), ['delete 2 3 1', 'delete 2 3 1', 'delete 2 3 1 begun']);
  },
);

t.test(
  'what the store fails at is a job, what it refuses for the filter is not, and while it is away the projector waits',
  async (t) => {
    const rig = new Measurements(0);
    rig.answers = [new StatementFailed('no memory')];
    await rig.run();
    t.equal(rig.jobs.size, 1);
    await t.resolves(rig.deletion.settled({ tables: ['measurements'], tenant: 2 }), 'nobody waits for it');
    rig.answers = [new StatementFailed('no memory')];
    await t.rejects(rig.page(), { message: 'no memory' });
    t.equal(rig.jobs.size, 1);
    for (const error of [new HistoryRefusal('no such time', 38, true), new Error('no connection')]) {
      const other = new Measurements(0);
      other.answers = [error];
      await t.rejects(other.run(), { message: error.message });
      t.equal(other.jobs.size, 0);
    }
  },
);

t.test('a job at which the store fails again and again is ended, and its tenant is told', async (t) => {
  const rig = new Measurements(0);
  rig.answers = [new StatementFailed('no memory')];
  await rig.run({ filter: { source: '5', fragmentType: 'c8y_Env' } });
  const [[id, value]] = rig.jobs;
  const giveUp = (error: Error, failures: number): Promise<boolean> =>
    rig.deletion.giveUp(2, { id, value }, error, failures);
  t.equal(await giveUp(new StatementFailed('no memory'), FAILURES_MAX - 1), false);
  t.equal(await giveUp(new Error('no connection'), 10 * FAILURES_MAX), false, 'the store is away');
  t.equal(await giveUp(new PlatformError('general/disk-full', { limit: 'disk/free-bytes' }), 10 * FAILURES_MAX), false);
  t.same([rig.jobs.size, rig.audits], [1, []]);
  t.equal(await giveUp(new StatementFailed('no memory'), FAILURES_MAX), true);
  t.equal(rig.jobs.size, 0);
  t.match(rig.audits, [
    {
      type: 'Inventory',
      activity: 'Deletion failed',
      severity: 'MAJOR',
      source: '5',
      text: /measurements failed and was ended: source=5, fragmentType=c8y_Env\. /,
    },
  ]);
  t.notMatch(rig.audits[0].text, /memory/, 'what the store says is for the log');
  rig.jobs.set(id, value);
  t.equal(await giveUp(new HistoryRefusal('no such time', 38, true), 1), true, "surely the filter's");
});

t.test('with a full disk nothing is begun: it is a job that waits', async (t) => {
  const rig = new Measurements(0);
  rig.isDiskFull = true;
  t.same([await rig.run(), rig.jobs.size], [['select 2 3 0'], 1]);
  await t.rejects(rig.page(), { code: 'general/disk-full' });
  t.same(rig.taken(), []);
  rig.isDiskFull = false;
  await rig.page();
  t.same([rig.taken(), rig.jobs.size], [['delete 2 3 1'], 0]);
});

/** A history of events with the ids from 1 on, and what commands make of it. */
class Rig {
  readonly events = new Set<number>();
  readonly jobs = new Map<string, string>();
  /** `before` of each select. */
  readonly bounds: unknown[] = [];
  /** Called with each command that deletes. */
  onDelete: (id: number) => void = () => undefined;
  /** Thrown by each select. */
  failure: Error | undefined;
  isDiskFull = false;
  readonly deletion: DataDeletion;

  constructor(count: number, options: { isBounded?: boolean } = {}) {
    for (let id = 1; id <= count; id += 1) this.events.add(id);
    const history = {
      select: async (_tenant: number, _table: string, _filter: unknown, afterId: number, before: unknown) => {
        if (this.failure !== undefined) throw this.failure;
        this.bounds.push(before);
        return [...this.events]
          .filter((id) => id > afterId)
          .slice(0, SELECT_PAGE)
          .map((id) => ({ id, source: 5 }));
      },
    } as unknown as HistoryWriter;
    this.deletion = new DataDeletion({
      history,
      ...options,
      isDiskFull: () => this.isDiskFull,
      commands: { requestBeyondBound: async (command) => this.#handle(command) },
      bus: { hasSubscribers: () => false, subscribe: () => () => undefined, publish: () => undefined },
    });
  }

  run(): Promise<void> {
    return this.deletion.run({
      kind: COMMAND.DATA_DELETE,
      tenant: 2,
      key: 't',
      mode: 0,
      receivedAt: 1_000,
      seq: 30,
      shard: 0,
      body: { table: 'events', filter: { source: '5' } },
    } as never);
  }

  page(isStopped: () => boolean = () => false): Promise<string> {
    const [[id, value]] = this.jobs;
    return this.deletion.page(2, { id, value }, isStopped);
  }

  #handle(command: Command): undefined {
    // No assertion for each of thousands.
    if (command.tenant !== 2) throw new Error(`a command to tenant ${command.tenant}`);
    if (command.kind !== COMMAND.RECORDS_CHANGE) {
      const id = Number((command.body as EntityDelete).id);
      this.onDelete(id);
      if (!this.events.delete(id)) throw new PlatformError('event/not-found', { id: String(id) });
      return;
    }
    keep(this.jobs, command.body as RecordsChange);
  }
}

t.test('few entities are deleted while the projector waits', async (t) => {
  const rig = new Rig(SELECT_PAGE - 1);
  await rig.run();
  t.same([rig.events.size, rig.jobs.size, rig.bounds], [0, 0, [undefined]]);
});

t.test('a selection that the store fails at is a job: the projector does not wait for it', async (t) => {
  const rig = new Rig(3);
  rig.failure = new StatementFailed('Timeout error.');
  await rig.run();
  t.same([rig.events.size, rig.jobs.size], [3, 1]);
  await t.rejects(rig.page(), rig.failure);
  rig.failure = undefined;
  await rig.page();
  t.same([rig.events.size, rig.jobs.size], [0, 0]);
  rig.failure = new Error('no connection');
  await t.rejects(rig.run(), rig.failure, 'while it is away the projector waits');
  const told = new Measurements(2);
  told.selectFailure = new StatementFailed('Timeout error.');
  t.same([await told.run(), told.jobs.size], [['select 2 3 0'], 1]);
  told.selectFailure = undefined;
  await told.page();
  await told.page();
  t.same(
    [told.taken(), told.jobs.size],
    [['select 2 3 0', 'DELETE 2 measurements 5 "1"', 'DELETE 2 measurements 6 "2"', 'delete 2 3 1'], 0],
  );
});

t.test('many are a job, page by page, with the place kept', async (t) => {
  const rig = new Rig(2 * SELECT_PAGE + 10);
  await rig.run();
  t.equal(rig.events.size, 2 * SELECT_PAGE + 10, 'the projector does not wait for them');
  t.same([...rig.jobs.keys()], ['data-deletion/0000000000000030-events']);
  await rig.run();
  t.equal(rig.jobs.size, 1, 'repeated after a crash: the job is there');
  await rig.page();
  t.same(
    [rig.events.size, JSON.parse(rig.jobs.values().next().value as string).after],
    [SELECT_PAGE + 10, SELECT_PAGE],
  );
  await rig.page();
  await rig.page();
  t.same([rig.events.size, rig.jobs.size], [0, 0]);
  t.same(
    rig.bounds.slice(2),
    [1, 2, 3].map(() => ({ seq: 30, time: 999 })),
    'what came behind the command stays',
  );
});

t.test('with a full disk a job waits; few entities go all the same', async (t) => {
  const rig = new Rig(SELECT_PAGE + 1);
  rig.isDiskFull = true;
  await rig.run();
  await t.rejects(rig.page(), { code: 'general/disk-full' });
  t.same([rig.events.size, rig.bounds.length], [SELECT_PAGE + 1, 1]);
  rig.isDiskFull = false;
  await rig.page();
  t.equal(rig.events.size, 1);
  const few = new Rig(3);
  few.isDiskFull = true;
  await few.run();
  t.equal(few.events.size, 0);
});

t.test('in a cluster a job takes what was created up to the time of the command', async (t) => {
  const rig = new Rig(SELECT_PAGE, { isBounded: true });
  await rig.run();
  await rig.page();
  t.same(rig.bounds, [
    { seq: 30, time: 1_000 },
    { seq: 30, time: 1_000 },
  ]);
});

t.test(
  'what is gone or fails for good is passed over, what may succeed is tried again, and the end of the process keeps the place',
  async (t) => {
    const rig = new Rig(SELECT_PAGE + 1);
    await rig.run();
    const [before] = rig.jobs.values();
    let isStopped = false;
    rig.onDelete = () => {
      isStopped = true;
    };
    await rig.page(() => isStopped);
    t.ok(rig.events.size > 0 && rig.events.size < SELECT_PAGE, 'broken off');
    t.same([...rig.jobs.values()], [before]);
    rig.onDelete = (id) => {
      if (id === 900) throw new PlatformError('general/busy', { limit: 'commands/under-way' });
    };
    await t.rejects(rig.page(), { code: 'general/busy' });
    t.same([...rig.jobs.values()], [before]);
    rig.onDelete = (id) => {
      rig.events.delete(801);
      if (id === 900) throw new PlatformError('general/internal', { reference: 'x' });
    };
    rig.events.add(801);
    await rig.page();
    t.same([[...rig.events], rig.jobs.size], [[900], 0]);
  },
);
