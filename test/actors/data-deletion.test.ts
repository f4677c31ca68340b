/** DELETE by filters: who watches is told of every measurement before the store deletes them; what takes long is a job of the tenant. */
import t from 'tap';
import { DataDeletion } from '../../src/actors/data-deletion.ts';
import type { JournalCommand } from '../../src/ingest/command-record.ts';
import { SELECT_PAGE } from '../../src/ingest/history-writer.ts';
import type { HistoryWriter } from '../../src/ingest/history-writer.ts';
import { COMMAND } from '../../src/model/command.ts';
import type { Command, EntityDelete, Notification, RecordsChange } from '../../src/model/command.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { PROCESSING_MODE } from '../../src/model/processing-mode.ts';
import type { ProcessingMode } from '../../src/model/processing-mode.ts';

function run(options: { filter?: Record<string, string>; mode?: ProcessingMode; isWatched?: boolean } = {}): Promise<string[]> {
  const { filter = { source: '5' }, mode = PROCESSING_MODE.PERSISTENT, isWatched = true } = options;
  const steps: string[] = [];
  const pages = [[{ id: 7, source: 5 }, { id: 8, source: 6 }], [{ id: 9, source: 5 }], []];
  const history = {
    selectMeasurements: (tenant: number, _filter: unknown, seq: number, afterId: number) => {
      steps.push(`select ${tenant} ${seq} ${afterId}`);
      return Promise.resolve(pages.shift() ?? []);
    },
    deleteMeasurements: (tenant: number, _filter: unknown, seq: number) => Promise.resolve(void steps.push(`delete ${tenant} ${seq}`)),
  } as unknown as HistoryWriter;
  const bus = {
    hasSubscribers: () => isWatched, subscribe: () => () => undefined,
    publish: ({ tenant, area, source, action, text }: Notification) => void steps.push(`${action} ${tenant} ${area} ${source} ${text()}`),
  };
  const command: JournalCommand = { kind: COMMAND.DATA_DELETE, tenant: 2, key: 't', mode, receivedAt: 1, seq: 3, shard: 0, body: { table: 'measurements', filter } } as never;
  return new DataDeletion({ history, bus, commands: { requestBeyondBound: () => Promise.reject(new Error('no command is needed')) } }).run(command).then(() => steps);
}

t.test('each measurement, page by page, then the deletion', async (t) => {
  t.same(await run(), ['select 2 3 0', 'DELETE 2 measurements 5 "7"', 'DELETE 2 measurements 6 "8"', 'select 2 3 8', 'DELETE 2 measurements 5 "9"',
    'select 2 3 9', 'delete 2 3']);
});

t.test('nothing is looked for when nobody may be told', async (t) => {
  t.same(await run({ isWatched: false }), ['delete 2 3']);
  t.same(await run({ mode: PROCESSING_MODE.QUIESCENT }), ['delete 2 3']);
  t.same(await run({ filter: { id: '7' } }), ['delete 2 3'], 'the route has told it');
});

/** A history of events with the ids from 1 on, and what commands make of it. */
class Rig {
  readonly events = new Set<number>();
  readonly jobs = new Map<string, string>();
  /** `before` of each select. */
  readonly bounds: unknown[] = [];
  /** Called with each command that deletes. */
  onDelete: (id: number) => void = () => undefined;
  statement: () => Promise<void> = () => Promise.resolve();
  statementsCount = 0;
  readonly deletion: DataDeletion;

  constructor(count: number, options: { isBounded?: boolean } = {}) {
    for (let id = 1; id <= count; id += 1) this.events.add(id);
    const history = {
      select: async (_tenant: number, _table: string, _filter: unknown, afterId: number, before: unknown) => {
        this.bounds.push(before);
        return [...this.events].filter((id) => id > afterId).slice(0, SELECT_PAGE).map((id) => ({ id, source: 5 }));
      },
      deleteMeasurements: () => { this.statementsCount += 1; return this.statement(); },
    } as unknown as HistoryWriter;
    this.deletion = new DataDeletion({
      history, ...options, statementWaitMs: 5, commands: { requestBeyondBound: async (command) => this.#handle(command) },
      bus: { hasSubscribers: () => false, subscribe: () => () => undefined, publish: () => undefined },
    });
  }

  run(table = 'events'): Promise<void> {
    return this.deletion.run({ kind: COMMAND.DATA_DELETE, tenant: 2, key: 't', mode: 0, receivedAt: 1_000, seq: 30, shard: 0, body: { table, filter: { source: '5' } } } as never);
  }

  page(isStopped: () => boolean = () => false): Promise<void> {
    const [[id, value]] = this.jobs;
    return this.deletion.page(2, { id, value }, isStopped);
  }

  #handle(command: Command): undefined {
    t.equal(command.tenant, 2);
    if (command.kind !== COMMAND.RECORDS_CHANGE) {
      const id = Number((command.body as EntityDelete).id);
      this.onDelete(id);
      if (!this.events.delete(id)) throw new PlatformError('event/not-found', { id: String(id) });
      return;
    }
    for (const { collection, id, expected, value } of (command.body as RecordsChange).changes) {
      if (this.jobs.get(id) !== expected) throw new PlatformError('general/changed-meanwhile', { collection, id });
      if (value === undefined) this.jobs.delete(id);
      else this.jobs.set(id, value);
    }
  }
}

t.test('few entities are deleted while the projector waits', async (t) => {
  const rig = new Rig(SELECT_PAGE - 1);
  await rig.run();
  t.same([rig.events.size, rig.jobs.size, rig.bounds], [0, 0, [undefined]]);
});

t.test('many are a job, page by page, with the place kept', async (t) => {
  const rig = new Rig(2 * SELECT_PAGE + 10);
  await rig.run();
  t.equal(rig.events.size, 2 * SELECT_PAGE + 10, 'the projector does not wait for them');
  t.same([...rig.jobs.keys()], ['data-deletion/0000000000000030']);
  await rig.run();
  t.equal(rig.jobs.size, 1, 'repeated after a crash: the job is there');
  await rig.page();
  t.same([rig.events.size, JSON.parse(rig.jobs.values().next().value as string).after], [SELECT_PAGE + 10, SELECT_PAGE]);
  await rig.page();
  await rig.page();
  t.same([rig.events.size, rig.jobs.size], [0, 0]);
  t.same(rig.bounds.slice(2), [1, 2, 3].map(() => ({ seq: 30, time: 999 })), 'what came behind the command stays');
});

t.test('in a cluster a job takes what was created up to the time of the command', async (t) => {
  const rig = new Rig(SELECT_PAGE, { isBounded: true });
  await rig.run();
  await rig.page();
  t.same(rig.bounds, [{ seq: 30, time: 1_000 }, { seq: 30, time: 1_000 }]);
});

t.test('what is gone or fails for good is passed over, what may succeed is tried again, and the end of the process keeps the place', async (t) => {
  const rig = new Rig(SELECT_PAGE + 1);
  await rig.run();
  const [before] = rig.jobs.values();
  let isStopped = false;
  rig.onDelete = () => { isStopped = true; };
  await rig.page(() => isStopped);
  t.ok(rig.events.size > 0 && rig.events.size < SELECT_PAGE, 'broken off');
  t.same([...rig.jobs.values()], [before]);
  rig.onDelete = (id) => { if (id === 900) throw new PlatformError('general/busy', { limit: 'commands/under-way' }); };
  await t.rejects(rig.page(), { code: 'general/busy' });
  t.same([...rig.jobs.values()], [before]);
  rig.onDelete = (id) => {
    rig.events.delete(801);
    if (id === 900) throw new PlatformError('general/internal', { reference: 'x' });
  };
  rig.events.add(801);
  await rig.page();
  t.same([[...rig.events], rig.jobs.size], [[900], 0]);
});

t.test('measurements: a statement that takes long goes on behind the projector, and is waited for by its job', async (t) => {
  const rig = new Rig(0);
  let end: () => void = () => undefined;
  rig.statement = () => new Promise((resolve) => { end = resolve; });
  await rig.run('measurements');
  t.equal(rig.jobs.size, 1);
  await rig.page();
  t.equal(rig.jobs.size, 1, 'not done yet');
  end();
  await rig.page();
  t.same([rig.jobs.size, rig.statementsCount], [0, 1]);
  await rig.run('measurements').then(() => rig.page());
  t.same([rig.jobs.size, rig.statementsCount], [1, 2]);
  rig.statement = () => Promise.reject(new Error('the store is away'));
  end();
  await new Promise((resolve) => { setImmediate(resolve); });
  await t.rejects(rig.page(), { message: 'the store is away' });
  t.equal(rig.jobs.size, 1);
});
