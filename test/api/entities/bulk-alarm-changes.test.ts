/**
 * The worker behind PUT /alarm/alarms, step by step: pages, ownership, what it does when somebody else or nobody
 * answers.
 */
import t from 'tap';
import type { HistoryStatement } from '../../../src/ports/history-reader.ts';
import { BULK_CHANGES_MAX, BULK_CHANGE_PREFIX } from '../../../src/history/alarm-selection.ts';
import { BulkAlarmChanges } from '../../../src/jobs/alarms/bulk-changes.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import type { Command } from '../../../src/model/commands/command.ts';
import type { RecordsChange } from '../../../src/model/commands/records.ts';
import { PlatformError } from '../../../src/model/errors.ts';
import type { Log } from '../../../src/ports/log.ts';
import { startApi } from '../helpers/api.ts';

const SELECTION = {
  sources: null,
  statuses: ['ACTIVE'],
  severities: [],
  types: [],
  time: [null, null],
  created: [null, null],
  lastUpdated: [null, null],
};
const CHANGE = JSON.stringify({
  status: 'CLEARED',
  selection: SELECTION,
  user: 'ada',
  requestedAt: 1_000,
  seq: 77,
  after: 0,
});

class Fixture {
  readonly jobs = new Map<string, string>();
  readonly updated: number[] = [];
  /** Commands that change alarms, without their ids: distinct ones. */
  readonly sent = new Set<string>();
  readonly warned: object[] = [];
  readonly counted: string[] = [];
  readonly asked: Readonly<Record<string, unknown>>[] = [];
  /** Ids that are there. */
  alarms: number[] = [];
  isMine = true;
  tenants = [2];
  /** Tenants whose documents cannot be read. */
  readonly unreadable = new Set<number>();
  /** Error of the next commands of a kind. */
  readonly failures: { kind: number; error: Error }[] = [];
  readonly worker: BulkAlarmChanges;

  constructor() {
    const log: Log = {
      debug() {},
      info() {},
      warn: (details) => void this.warned.push(details as object),
      error() {},
      isLevelEnabled: () => true,
      child: () => log,
    };
    this.worker = new BulkAlarmChanges({
      log,
      refusals: {
        count: (limit) => {
          this.counted.push(limit);
        },
      },
      now: () => 2_000,
      tenants: () => this.tenants,
      isMine: () => this.isMine,
      documents: {
        get: () => undefined,
        getMany: () => [],
        list: (_collection, tenant, prefix, { limit }) =>
          this.#readable(tenant)
            .filter(([id]) => id.startsWith(prefix))
            .sort()
            .slice(0, limit)
            .map(([id, value]) => ({ id, value })),
      },
      history: {
        query: async <Row>({ params }: HistoryStatement) => {
          this.asked.push(params);
          const after = Object.values(params).at(-1) as number;
          return this.alarms
            .filter((id) => id > after)
            .slice(0, 1_000)
            .map((id) => ({ id, source: 5 })) as Row[];
        },
        stream: async () => {
          throw new Error('not used');
        },
      },
      commands: { request: async <Answer>(command: Command) => this.#handle(command) as Answer },
    });
  }

  #readable(tenant: number): [string, string][] {
    if (this.unreadable.has(tenant)) throw new Error(`no documents of ${tenant}`);
    return tenant === 2 ? [...this.jobs] : [];
  }

  #handle(command: Command): undefined {
    const failure = this.failures.findIndex(({ kind }) => kind === command.kind);
    if (failure >= 0) throw this.failures.splice(failure, 1)[0].error;
    if (command.kind === COMMAND.ALARM_UPDATE) {
      const { tenant, key, mode, receivedAt, body } = command;
      const { id, ...sent } = body as { id: string };
      this.sent.add(JSON.stringify({ tenant, key, mode, receivedAt, sent }));
      this.updated.push(Number(id));
      return;
    }
    for (const { id, expected, value } of (command.body as RecordsChange).changes) {
      if (this.jobs.get(id) !== expected)
        throw new PlatformError('general/changed-meanwhile', { collection: 'job', id });
      if (value === undefined) this.jobs.delete(id);
      else this.jobs.set(id, value);
    }
  }
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

t.test('page by page, with the place kept', async (t) => {
  const fixture = new Fixture();
  fixture.alarms = range(1, 2_500);
  fixture.jobs.set(`${BULK_CHANGE_PREFIX}1`, CHANGE);
  t.equal(await fixture.worker.jobs.step(), true);
  t.equal(fixture.updated.length, 1_000);
  t.same(
    Array.from(fixture.sent, (text) => JSON.parse(text)),
    [{ tenant: 2, key: 5, mode: 0, receivedAt: 2_000, sent: { doc: '{"status":"CLEARED"}', user: 'ada' } }],
  );
  t.match(JSON.parse(fixture.jobs.get(`${BULK_CHANGE_PREFIX}1`) as string), { after: 1_000, user: 'ada' });
  await fixture.worker.jobs.step();
  await fixture.worker.jobs.step();
  t.equal(fixture.jobs.size, 0);
  t.same(fixture.updated, range(1, 2_500));
  t.equal(await fixture.worker.jobs.step(), false);
  for (const bound of [77, 1_000])
    t.ok(Object.values(fixture.asked[0]).includes(bound), 'nothing that was created later, by sequence or clock');
});

t.test('only of tenants that are mine, and only its own records', async (t) => {
  const fixture = new Fixture();
  fixture.alarms = [1];
  fixture.jobs.set('other/1', '{}');
  fixture.jobs.set(`${BULK_CHANGE_PREFIX}1`, CHANGE);
  fixture.isMine = false;
  t.equal(await fixture.worker.jobs.step(), false);
  fixture.isMine = true;
  t.equal(await fixture.worker.jobs.step(), false, 'not looked at again so soon');
  fixture.worker.jobs.lookAtAll();
  await fixture.worker.jobs.step();
  t.same([...fixture.jobs.keys()], ['other/1']);
});

t.test('deleted alarms and another owner are no failures; others are tried again', async (t) => {
  const fixture = new Fixture();
  fixture.alarms = [1, 2];
  fixture.jobs.set(`${BULK_CHANGE_PREFIX}1`, CHANGE);
  fixture.failures.push({ kind: COMMAND.ALARM_UPDATE, error: new PlatformError('alarm/not-found', { id: '1' }) });
  fixture.failures.push({
    kind: COMMAND.RECORDS_CHANGE,
    error: new PlatformError('general/changed-meanwhile', { collection: 'job', id: '1' }),
  });
  await t.resolves(fixture.worker.jobs.step());
  t.same(fixture.updated, [2]);
  fixture.failures.push({
    kind: COMMAND.ALARM_UPDATE,
    error: new PlatformError('general/busy', { limit: 'journal/bytes' }),
  });
  t.same(
    [await fixture.worker.jobs.step(), await fixture.worker.jobs.step()],
    [true, false],
    'those behind it are looked for, it is left alone',
  );
  t.equal(fixture.jobs.size, 1, 'it is tried again');
  t.match(fixture.warned, [{ tenant: 2, err: { code: 'general/busy' } }]);
});

t.test('an alarm that can never be changed does not hold up the others', async (t) => {
  const fixture = new Fixture();
  fixture.alarms = [1, 2, 3];
  fixture.jobs.set(`${BULK_CHANGE_PREFIX}1`, CHANGE);
  fixture.failures.push({
    kind: COMMAND.ALARM_UPDATE,
    error: new PlatformError('general/change-too-large', { size: 9, limit: 8 }),
  });
  fixture.failures.push({
    kind: COMMAND.ALARM_UPDATE,
    error: new PlatformError('general/internal', { reference: 'x' }),
  });
  await fixture.worker.jobs.step();
  t.same([fixture.jobs.size, fixture.updated], [0, [3]]);
  t.match(fixture.warned, [
    { alarm: '1', err: { code: 'general/change-too-large' } },
    { alarm: '2', err: { code: 'general/internal' } },
  ]);
  t.same(fixture.counted, ['alarms/bulk-change-of-one', 'alarms/bulk-change-of-one']);
});

t.test('what fails for one tenant does not stop those behind it', async (t) => {
  const fixture = new Fixture();
  fixture.alarms = [1];
  fixture.tenants = [1, 2, 3];
  fixture.unreadable.add(1).add(3);
  fixture.jobs.set(`${BULK_CHANGE_PREFIX}1`, CHANGE);
  await fixture.worker.jobs.step();
  t.same([fixture.jobs.size, fixture.updated], [0, [1]]);
  t.match(fixture.warned, [{ tenant: 1 }, { tenant: 3 }]);
});

t.test('a shard that comes from another node: its tenants are looked at at once', async (t) => {
  const fixture = new Fixture();
  fixture.alarms = [1];
  fixture.isMine = false;
  fixture.jobs.set(`${BULK_CHANGE_PREFIX}1`, CHANGE);
  fixture.worker.jobs.start();
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
  t.equal(fixture.jobs.size, 1);
  fixture.isMine = true;
  fixture.worker.jobs.lookAtAll();
  for (let waited = 0; fixture.jobs.size > 0 && waited < 5_000; waited += 20)
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  t.equal(fixture.jobs.size, 0);
  await fixture.worker.jobs.stop();
});

t.test('runs when woken, again after a failure, and stops', async (t) => {
  const fixture = new Fixture();
  fixture.alarms = range(1, 1_500);
  fixture.failures.push({
    kind: COMMAND.ALARM_UPDATE,
    error: new PlatformError('general/busy', { limit: 'journal/bytes' }),
  });
  fixture.jobs.set(`${BULK_CHANGE_PREFIX}1`, CHANGE);
  fixture.worker.jobs.start();
  for (let waited = 0; fixture.jobs.size > 0 && waited < 5_000; waited += 20)
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  t.equal(fixture.jobs.size, 0);
  t.match(fixture.warned, [{ retryMs: 1_000 }]);
  await fixture.worker.jobs.stop();
  fixture.jobs.set(`${BULK_CHANGE_PREFIX}2`, CHANGE);
  fixture.worker.jobs.lookAtAll();
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  t.equal(fixture.jobs.size, 1);
});

t.test('so many at once in a tenant', async (t) => {
  const api = await startApi(t);
  for (let index = 0; index < BULK_CHANGES_MAX; index += 1)
    api.fake.put('job', `${BULK_CHANGE_PREFIX}${index}`, CHANGE);
  const answer = await api.call('PUT', '/alarm/alarms?status=ACTIVE', { body: { status: 'CLEARED' } });
  t.match(answer, { status: 503, json: { message: /alarms\/bulk-changes/ } });
  t.ok(api.fake.counted.includes('alarms/bulk-changes'));
});
