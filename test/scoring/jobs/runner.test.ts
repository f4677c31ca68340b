/** Runs and deletions that were interrupted (docs/internals/scoring.md#jobs). */
import t from 'tap';
import type { Command } from '../../../src/model/commands/command.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { PlatformError, refusedBy } from '../../../src/model/errors.ts';
import { SCORING_MODELS, SCORING_RECORDS } from '../../../src/model/entities/scoring/model.ts';
import { listJobs, loadJob } from '../../../src/scoring/jobs/jobs.ts';
import { JobRunner } from '../../../src/scoring/jobs/runner.ts';
import { RunLease } from '../../../src/scoring/jobs/run-lease.ts';
import { jobRecordId, JOB_COUNTER_ID, runRecordId, type StoredRun } from '../../../src/scoring/jobs/stored.ts';
import { untilTurn } from '../../helpers/until.ts';
import { FakePlatform, NOW } from '../../api/helpers/fake-platform.ts';

const TENANT = 2;
const JOB = {
  jobName: 'j',
  jobDescription: '',
  groupOrDeviceId: '7',
  modelOrGroup: 'm',
  applyAllModels: false,
  modelToDeviceMappings: { x: 'pump.a.value' },
  jobSchedule: { frequency: 'once', scheduleAt: '', dataFrom: '', dataTo: '' },
  jobId: 1,
  jobCreationDate: '',
  user: 'u',
  isGroup: false,
  nextAt: null,
  lastNumber: 1,
};
const RUN: StoredRun = {
  number: 1,
  isGroup: false,
  startedAt: new Date(NOW).toISOString(),
  status: 'Running',
  messages: [],
  until: NOW + 60_000,
};

function setUp(isAlone: boolean, tenants: readonly number[] = [TENANT]) {
  const fake = new FakePlatform();
  let now = NOW;
  const platform = { ...fake.platform(), now: () => now };
  const { documents } = platform;
  /** Before a document of a collection is read. */
  const reads = { before: async (_collection: string, _tenant: number): Promise<void> => undefined };
  fake.put(SCORING_RECORDS, JOB_COUNTER_ID, JSON.stringify({ lastId: 1, count: 1 }));
  fake.put(SCORING_RECORDS, jobRecordId(1), JSON.stringify(JOB));
  fake.put(SCORING_RECORDS, runRecordId(1, 1), JSON.stringify(RUN));
  const ended: string[] = [];
  const events: { readonly id: string; readonly doc: string }[] = [];
  let failure: Error | undefined;
  const commands = {
    request: async (command: Command): Promise<unknown> => {
      if (command.kind !== COMMAND.EVENT_CREATE) return platform.commands.request(command);
      if (failure !== undefined) throw failure;
      return events.push(command.body as never);
    },
  };
  const warned: string[] = [];
  const runner = new JobRunner({
    ...platform,
    documents: {
      ...documents,
      get: async (collection: 'scoring', tenant: number, id: string) => {
        await reads.before(collection, tenant);
        return documents.get(collection, tenant, id);
      },
      list: async (...[collection, tenant, ...asked]: Parameters<typeof documents.list>) => {
        await reads.before(collection, tenant);
        return documents.list(collection, tenant, ...asked);
      },
    },
    log: { warn: (_fields: unknown, text: string) => warned.push(text) },
    commands,
    onEnded: (status: string) => ended.push(status),
    retentionDays: 0,
    clock: { read: async () => undefined },
    score: async () => t.fail('nothing is scored') as never,
    tenants: () => tenants,
    isMine: () => true,
    isAlone,
  } as never);
  const runOf = (): StoredRun => JSON.parse(fake.get(SCORING_RECORDS, runRecordId(1, 1)) ?? '{}');
  return {
    fake,
    platform,
    runner,
    ended,
    events,
    runOf,
    reads,
    warned,
    later: (ms: number) => (now += ms),
    fail: (error: Error | undefined) => (failure = error),
  };
}

t.test('a run of another node ends when its time is over, and not before', async (t) => {
  const { platform, runner, ended, runOf, later } = setUp(false);
  await runner.step();
  t.equal(runOf().status, 'Running', 'its node may be at work');
  later(50_000);
  const lease = new RunLease(platform as never, TENANT, 1, 1);
  await lease.renew();
  await lease.end();
  t.equal(runOf().until, NOW + 110_000, 'it is');
  later(50_000);
  await runner.step();
  t.equal(runOf().status, 'Running');
  later(20_000);
  await runner.step();
  t.match(runOf(), { status: 'Failure', messages: ['The server ended while the job was running.'] });
  t.equal(runOf().until, undefined);
  t.same(ended, ['Failure']);
});

t.test('a run that is due waits for the end of the one before', async (t) => {
  const { fake, runner, runOf, later } = setUp(false);
  const jobSchedule = { frequency: 'periodic', cronExpression: '0 * * * * ?', timeZone: 'UTC', dataFromInterval: '' };
  fake.put(SCORING_RECORDS, jobRecordId(1), JSON.stringify({ ...JOB, jobSchedule, nextAt: NOW }));
  const begun = (): boolean => fake.get(SCORING_RECORDS, runRecordId(1, 2)) !== undefined;
  await runner.step();
  t.equal(runOf().status, 'Running');
  t.equal(begun(), false);
  later(61_000);
  await runner.step();
  t.equal(runOf().status, 'Failure', 'its node is gone');
  t.equal(begun(), true);
  await runner.stop();
});

t.test('on a single node it ended with its process', async (t) => {
  const { runner, runOf } = setUp(true);
  await runner.step();
  t.equal(runOf().status, 'Failure');
});

t.test('the event of a run is created later when it could not be, and once', async (t) => {
  const { runner, runOf, events, later, fail } = setUp(true);
  fail(refusedBy('journal/bytes'));
  await runner.step();
  const { eventId, status } = runOf();
  t.match({ eventId, status }, { eventId: /^\d+$/, status: 'Failure' });
  fail(undefined);
  for (let passes = 0; passes < 2; passes += 1) {
    later(61_000);
    await runner.step();
  }
  t.strictSame(
    events.map(({ id }) => id),
    [eventId],
  );
  t.equal(runOf().eventId, undefined);
});

t.test('the event of a device that was deleted is given up', async (t) => {
  const { runner, runOf, events, fail } = setUp(true);
  fail(new PlatformError('source/not-found', { id: '7' }));
  await runner.step();
  t.equal(runOf().eventId, undefined);
  t.strictSame(events, []);
});

t.test('times that were left out are told with the run that makes up for the first', async (t) => {
  const { fake, runner, events, later } = setUp(true);
  const jobSchedule = { frequency: 'periodic', cronExpression: '0 * * * * ?', timeZone: 'UTC' };
  const due = Math.ceil(NOW / 60_000) * 60_000;
  fake.put(SCORING_RECORDS, jobRecordId(1), JSON.stringify({ ...JOB, jobSchedule, nextAt: due }));
  later(due + 150_000 - NOW);
  await runner.step();
  await untilTurn('its event', () => events.length === 2);
  const run = JSON.parse(fake.get(SCORING_RECORDS, runRecordId(1, 2)) ?? '{}') as StoredRun;
  t.match(run.messages[0], /^2 times were left out, from .* to /);
  t.equal(run.messages.length, 2, 'and why it failed');
  await runner.stop();
});

t.test('a job that is being deleted is not there any more, and its deletion is finished', async (t) => {
  const { fake, platform, runner } = setUp(false);
  fake.put(SCORING_RECORDS, jobRecordId(1), JSON.stringify({ ...JOB, isDeleted: true, deletedBy: 'ann' }));
  const parts = platform as never;
  t.same(await listJobs(parts, TENANT), []);
  await t.rejects(loadJob(parts, TENANT, '1'), { code: 'scoring/job-not-found' });
  await runner.step();
  t.equal(fake.get(SCORING_RECORDS, jobRecordId(1)), undefined);
  t.equal(fake.get(SCORING_RECORDS, runRecordId(1, 1)), undefined);
  t.same(JSON.parse(fake.get(SCORING_RECORDS, JOB_COUNTER_ID) ?? ''), { lastId: 1, count: 0 });
});

const DUE = { ...JOB, lastNumber: 0, nextAt: NOW };

t.test('long runs do not hold up all others', async (t) => {
  const tenants = [3, 4, 5, 6, 7, 8, 9, 10, 11];
  const { fake, runner, reads, later } = setUp(true, tenants);
  for (const tenant of tenants) fake.put(SCORING_RECORDS, jobRecordId(1), JSON.stringify(DUE), tenant);
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  reads.before = (collection) => (collection === SCORING_MODELS ? ended : Promise.resolve());
  const counts: number[] = [];
  for (let step = 0; step < 5; step += 1) {
    await runner.step();
    counts.push(runner.runningCount);
    later(step === 0 ? 59_000 : 61_000);
  }
  t.same(counts, [2, 2, 4, 6, 6], 'two of the last minute, six in all');
  end();
  await runner.stop();
});

t.test('a fault of the server is not shown with its text', async (t) => {
  const tenant = 3;
  const { fake, runner, reads, warned } = setUp(true, [tenant]);
  const errors = [new Error('ENOENT: /srv/millrace/data'), refusedBy('scoring/worker-lost')];
  reads.before = async (collection) => {
    const error = collection === SCORING_MODELS ? errors.shift() : undefined;
    if (error !== undefined) throw error;
  };
  const messages: unknown[] = [];
  for (const number of [1, 2]) {
    fake.put(SCORING_RECORDS, jobRecordId(1), JSON.stringify({ ...DUE, lastNumber: number - 1 }), tenant);
    runner.recordsChanged(tenant, [
      { collection: SCORING_RECORDS, id: jobRecordId(1), expected: undefined, value: JSON.stringify(DUE) },
    ]);
    await runner.step();
    await untilTurn('it has ended', () => runner.runningCount === 0);
    messages.push(...JSON.parse(fake.get(SCORING_RECORDS, runRecordId(1, number), tenant) ?? '').messages);
  }
  t.match(messages, ['The run failed: internal error.', /^The run failed: .*scoring\/worker-lost/]);
  t.same(
    warned,
    Array.from(messages, () => 'a run of a scoring job failed'),
  );
});

t.test("a store that fails for one tenant holds up no other one's jobs, and its own until it is back", async (t) => {
  const tenants = [3, 4];
  const { fake, runner, reads, warned } = setUp(true, tenants);
  for (const tenant of tenants) fake.put(SCORING_RECORDS, jobRecordId(1), JSON.stringify(DUE), tenant);
  const hasRun = (tenant: number, id = 1): boolean =>
    fake.get(SCORING_RECORDS, runRecordId(id, 1), tenant) !== undefined;
  reads.before = async (_collection, tenant) => {
    if (tenant === 3) throw new Error('the store is away');
  };
  await runner.step();
  t.same(
    tenants.map((tenant) => hasRun(tenant)),
    [false, true],
  );
  t.same(warned.filter((text) => text.includes('jobs of tenants')).length, 1);
  // A job is told of while those of its tenant are being read; their list does not have it.
  let calls = 0;
  reads.before = async (_collection, tenant) => {
    if (tenant !== 3) return;
    calls += 1;
    const value = JSON.stringify({ ...DUE, jobId: 2, nextAt: NOW - 1 });
    if (calls === 1)
      runner.recordsChanged(3, [{ collection: SCORING_RECORDS, id: jobRecordId(2), expected: undefined, value }]);
    if (calls === 2) fake.put(SCORING_RECORDS, jobRecordId(2), value, 3);
  };
  await untilTurn('both jobs have run', async () => {
    await runner.step();
    return hasRun(3, 1) && hasRun(3, 2);
  });
  await runner.stop();
});
