/** The schedule and the recovery of retention runs, with a clock, records and a store of the test's own. */
import t from 'tap';
import { PlatformError } from '../../src/model/errors.ts';
import {
  RULES_MAX,
  RUNS_KEPT,
  lastNight,
  mayOverlap,
  plannedItems,
  rulesOf,
  ruleKey,
  runKey,
} from '../../src/model/entities/retention.ts';
import { CLOCK_KEY, CLOCK_LIMIT } from '../../src/operate/clock-trust.ts';
import { LOW_DISK_LIMIT } from '../../src/jobs/retention/runner.ts';
import type { RetentionRunner } from '../../src/jobs/retention/runner.ts';
import { DAY_MS, HOUR_MS, NOON, World, stepAll } from '../operate/retention-world.ts';

t.test(
  'with too little free space parts that need some wait, others go on, and what waits is done when there is room',
  async (t) => {
    const world = new World();
    const full = new PlatformError('general/disk-full', { limit: 'disk/free-bytes' });
    const { remove } = world.store;
    let isFull = true;
    let dropped = 0;
    world.store.remove = async (tenant, target, after, through, isWanted) => {
      if (target.dataType === 'MEASUREMENT') {
        dropped += 1;
        return 0;
      }
      if (isFull) throw full;
      return remove(tenant, target, after, through, isWanted);
    };
    const { next } = world.store;
    world.store.next = async (tenant, target, after, others) =>
      target.dataType === 'MEASUREMENT' && dropped === 0
        ? { through: '202601', count: 5 }
        : next(tenant, target, after, others);
    const runner = world.runner();
    await runner.begin(2, 'REQUEST', { isDryRun: false });
    for (let passes = 0; passes < 40; passes += 1) {
      await stepAll(runner);
      world.now += 30_000;
    }
    t.same([world.events.length, dropped, world.runs()[0].status], [10, 1, 'RUNNING'], 'it does not fail soon');
    t.equal(world.refused.filter((limit) => limit === 'retention/disk-full').length, 40);
    await stepAll(runner);
    await stepAll(runner);
    t.equal(
      world.refused.filter((limit) => limit === 'retention/disk-full').length,
      41,
      'tried again after a while only',
    );
    world.now += 30_000;
    isFull = false;
    await stepAll(runner);
    t.match(world.runs()[0], { status: 'COMPLETED' });
    t.same(
      [world.events.length, world.audits.splice(0)],
      [0, ['the retention run has removed 10 events, 5 measurements']],
    );
    world.events = [20, 21];
    isFull = true;
    await runner.begin(2, 'REQUEST', { isDryRun: false });
    await stepAll(runner);
    world.now += HOUR_MS - 1;
    await stepAll(runner);
    t.equal(world.runs()[1].status, 'RUNNING', 'for an hour');
    world.now += 30_000;
    await stepAll(runner);
    t.match(world.runs()[1], { status: 'FAILED', failure: /nearly full \(disk\/free-bytes\)/ });
    t.match(world.audits, [/failed after it had removed nothing: The disk is nearly full/]);
    isFull = false;
    await runner.begin(2, 'REQUEST', { isDryRun: false });
    await stepAll(runner);
    t.match(world.runs()[2], { status: 'COMPLETED' });
  },
);

t.test('the night begins at the hour', async (t) => {
  for (const [now, expected] of [
    ['2026-05-10T01:59:59.999Z', '2026-05-09T02:00:00.000Z'],
    ['2026-05-10T02:00:00.000Z', '2026-05-10T02:00:00.000Z'],
    ['2026-05-10T23:59:59.000Z', '2026-05-10T02:00:00.000Z'],
  ])
    t.equal(new Date(lastNight(Date.parse(now), 2)).toISOString(), expected, now);
  t.equal(new Date(lastNight(Date.UTC(2026, 0, 1, 22), 23)).toISOString(), '2025-12-31T23:00:00.000Z');
});

t.test('a tenant begins with the next night; then there is one run each night, also a late one', async (t) => {
  const world = new World();
  const runner = world.runner();
  await stepAll(runner);
  t.same(world.runs(), [], 'nothing before the first night');
  world.now = NOON + 13 * HOUR_MS;
  await stepAll(runner);
  t.same(world.runs(), [], 'one hour before it');
  world.now = NOON + 14 * HOUR_MS;
  await stepAll(runner);
  t.match(world.runs(), [{ status: 'COMPLETED', trigger: 'SCHEDULE', startedAt: world.now }]);
  await stepAll(world.runner());
  t.equal(world.runs().length, 1, 'not again by another process in the same night');
  world.now = NOON + 5 * DAY_MS;
  await stepAll(world.runner());
  t.equal(world.runs().length, 2, 'one run for the nights that were missed');
  t.equal(world.state().active, undefined);
  t.equal(world.state().doneFor, lastNight(world.now, 2));
});

t.test('a run removes by parts and says what it did', async (t) => {
  const world = new World();
  const runner = world.runner();
  await stepAll(runner);
  const id = await runner.begin(2, 'REQUEST', { isDryRun: false, user: 'ada' });
  await t.rejects(runner.begin(2, 'REQUEST', { isDryRun: false }), { code: 'retention/running', details: { id } });
  await stepAll(runner);
  t.same(world.events, []);
  t.match(world.runs(), [{ status: 'COMPLETED', user: 'ada', endedAt: NOON }]);
  t.same(world.audits, ['the retention run has removed 10 events']);
  t.equal(runner.removedCount, 10);
  t.same(
    world.runs()[0].items.map(({ dataType, count }) => [dataType, count]),
    [
      ['ALARM', 0],
      ['AUDIT', 0],
      ['BULK_OPERATION', 0],
      ['EVENT', 10],
      ['MEASUREMENT', 0],
      ['OPERATION', 0],
    ],
  );
});

t.test('a dry run removes nothing and leaves no audit record', async (t) => {
  const world = new World();
  const runner = world.runner();
  await runner.begin(2, 'REQUEST', { isDryRun: true });
  await stepAll(runner);
  t.equal(world.events.length, 10);
  t.equal(world.runs()[0].items.find(({ dataType }) => dataType === 'EVENT')?.count, 10);
  t.same(world.audits, []);
});

t.test('a dry run of a rule that is not saved counts what that one would remove', async (t) => {
  const world = new World();
  const runner = world.runner();
  const rule = { dataType: 'EVENT', fragmentType: '*', type: '*', source: '*', maximumAge: 1, editable: true } as const;
  await runner.begin(2, 'REQUEST', { isDryRun: true, rule });
  await stepAll(runner);
  const [run] = world.runs();
  t.match(run.items, [{ ruleId: '0', dataType: 'EVENT' }]);
  t.equal(run.items.length, 1);
  t.ok(run.items[0].count >= 10, 'more is older than a day than the rules of the tenant select');
  t.notOk('rule' in run, 'the plan says it all');
});

t.test('whatever step a process ends at, the next one goes on, and the count is right', async (t) => {
  const whole = new World();
  const first = whole.runner();
  await first.begin(2, 'REQUEST', { isDryRun: false });
  const steps = await stepAll(first);
  for (let at = 0; at < steps; at += 1) {
    for (const failsAfterRemoval of [false, true]) {
      const world = new World();
      let runner = world.runner();
      await runner.begin(2, 'REQUEST', { isDryRun: false });
      for (let step = 0; step < at; step += 1) await runner.step();
      if (failsAfterRemoval) {
        world.failures = [new Error('killed')];
        await runner.step();
        world.failures = [];
      }
      runner = world.runner();
      await stepAll(runner);
      t.same(world.events, [], `ended after ${at} steps`);
      t.match(world.runs(), [{ status: 'COMPLETED' }]);
      t.same(world.audits, ['the retention run has removed 10 events'], `counted once, ended after ${at} steps`);
    }
  }
});

t.test('a run that is canceled removes nothing further, and says what it has removed', async (t) => {
  for (const leftAtCancel of [9, 8, 7, 6, 5]) {
    const world = new World();
    const runner = world.runner();
    const id = await runner.begin(2, 'REQUEST', { isDryRun: false, user: 'ada' });
    const key = `2/${runKey(id)}`;
    world.onRemoved = (left) => {
      if (left === leftAtCancel)
        world.records.set(
          key,
          JSON.stringify({ ...JSON.parse(world.records.get(key) as string), status: 'CANCELED', endedAt: NOON }),
        );
    };
    await stepAll(runner);
    t.equal(world.events.length, leftAtCancel);
    t.match(world.runs(), [{ status: 'CANCELED' }]);
    t.equal(world.runs()[0].items.find(({ dataType }) => dataType === 'EVENT')?.count, 10 - leftAtCancel);
    t.same(world.audits, [`the retention run was canceled after it had removed ${10 - leftAtCancel} events`]);
    t.equal(runner.removedCount, 10 - leftAtCancel);
    t.equal(world.state().active, undefined, 'another one may begin');
  }
});

t.test('a run that is canceled after a crash counts what was removed before it', async (t) => {
  const world = new World();
  const first = world.runner();
  const id = await first.begin(2, 'REQUEST', { isDryRun: false });
  world.onRemoved = (left) => {
    if (left === 8) throw new Error('killed');
  };
  while (world.events.length > 8) await first.step();
  const key = `2/${runKey(id)}`;
  world.records.set(key, JSON.stringify({ ...JSON.parse(world.records.get(key) as string), status: 'CANCELED' }));
  await stepAll(world.runner());
  t.same(world.audits, ['the retention run was canceled after it had removed 2 events']);
  t.equal(world.events.length, 8);
});

t.test('parts without data are ticked off together: a run of many rules writes its large record seldom', async (t) => {
  const world = new World();
  const rule = { dataType: '*', fragmentType: '*', type: '*', source: '*', maximumAge: 60 };
  for (let id = 1; id <= RULES_MAX; id += 1) world.records.set(`2/${ruleKey(String(id))}`, JSON.stringify(rule));
  const runner = world.runner();
  await runner.begin(2, 'REQUEST', { isDryRun: false });
  let writes = 0;
  world.onRequest = () => {
    writes += 1;
  };
  await stepAll(runner);
  const [run] = world.runs();
  t.match(run, { status: 'COMPLETED' });
  t.ok(run.items.length >= RULES_MAX * 6 && run.items.every(({ isDone }) => isDone));
  t.ok(writes < run.items.length / 5, `${writes} writes for ${run.items.length} parts`);
  t.same([world.events, world.audits], [[], ['the retention run has removed 10 events']]);
});

t.test('runs that are begun at once: one begins, the others are told of it', async (t) => {
  const world = new World();
  const runner = world.runner();
  const ids = await Promise.allSettled(Array.from({ length: 4 }, () => runner.begin(2, 'REQUEST', { isDryRun: true })));
  t.equal(ids.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const one of ids) if (one.status === 'rejected') t.match(one.reason, { code: 'retention/running' });
  const other = new World();
  other.onRequest = () => {
    throw new PlatformError('general/changed-meanwhile', { collection: 'retentionRule', id: 'state' });
  };
  await t.rejects(other.runner().begin(2, 'REQUEST', { isDryRun: true }), {
    code: 'general/busy',
    details: { limit: 'records/changes-at-once' },
  });
  t.same(other.refused, ['records/changes-at-once']);
});

t.test('what fails is tried again, and at last the run fails with its reason', async (t) => {
  const world = new World();
  const runner = world.runner();
  await runner.begin(2, 'REQUEST', { isDryRun: false });
  world.failures = Array.from({ length: 29 }, () => new Error('away'));
  for (let tries = 0; tries < 29; tries += 1) await runner.step();
  t.match(world.runs(), [{ status: 'RUNNING' }]);
  await stepAll(runner);
  t.match(world.runs(), [{ status: 'COMPLETED' }]);
  await runner.begin(2, 'REQUEST', { isDryRun: false });
  world.failures = Array.from({ length: 30 }, () => new Error('away'));
  for (let tries = 0; tries < 30; tries += 1) await runner.step();
  t.match(world.runs()[1], { status: 'FAILED', failure: 'away' });
  t.match(world.audits[1], 'the retention run failed after it had removed nothing: away');
  t.equal(world.state().active, undefined, 'another one may begin');
});

t.test('only the owner of a tenant runs it, and one tenant does not hold up another', async (t) => {
  const world = new World();
  world.tenants = [2, 3];
  world.foreign.add(2);
  const runner = world.runner();
  await stepAll(runner);
  t.notOk(world.records.has('2/state'));
  t.ok(world.records.has('3/state'));
  world.foreign.clear();
  await stepAll(runner);
  world.now += DAY_MS;
  world.failures = [undefined, new Error('of the first')];
  await stepAll(runner);
  await stepAll(runner);
  t.match(
    [...world.runs(2), ...world.runs(3)].map(({ status }) => status),
    ['COMPLETED', 'COMPLETED'],
  );
});

t.test('a full disk warns, and begins a run early where that is wanted, once an hour', async (t) => {
  const world = new World();
  const runner = world.runner();
  await stepAll(runner);
  world.freeBytes = 1e8;
  await stepAll(runner);
  await stepAll(runner);
  t.same(world.refused, [LOW_DISK_LIMIT], 'counted once while it lasts');
  t.ok(runner.isDiskLow);
  t.same(world.runs(), []);
  world.isEarly = true;
  await stepAll(runner);
  t.match(world.runs(), [{ trigger: 'DISK', status: 'COMPLETED' }]);
  await stepAll(runner);
  t.equal(world.runs().length, 1);
  world.now += HOUR_MS;
  await stepAll(runner);
  t.equal(world.runs().length, 2);
  world.freeBytes = 1e12;
  world.now += HOUR_MS;
  await stepAll(runner);
  t.equal(world.runs().length, 2);
  t.notOk(runner.isDiskLow);
});

t.test('old runs are forgotten', async (t) => {
  const world = new World();
  const runner = world.runner();
  for (let count = 0; count < RUNS_KEPT + 5; count += 1) {
    await runner.begin(2, 'REQUEST', { isDryRun: true });
    await stepAll(runner);
  }
  t.equal(world.runs().length, RUNS_KEPT);
});

t.test('without a default rule nothing goes', async (t) => {
  const world = new World();
  const runner = world.runner(0);
  await runner.begin(2, 'REQUEST', { isDryRun: false });
  await stepAll(runner);
  t.equal(world.events.length, 10);
  t.match(world.runs(), [{ status: 'COMPLETED', items: [] }]);
});

t.test('rules, items and overlaps', async (t) => {
  const rule = { dataType: 'EVENT', fragmentType: '*', type: 'a', source: '*', maximumAge: 3, editable: true } as const;
  t.same(
    rulesOf([], 60).map(({ id }) => id),
    ['1'],
  );
  t.same(
    rulesOf(
      [
        { id: ruleKey('1'), value: '{"removed":true}' },
        { id: ruleKey('1234567'), value: JSON.stringify(rule) },
      ],
      60,
    ),
    [{ id: '1234567', rule }],
  );
  t.match(plannedItems([{ id: '7', rule }], NOON), [
    { ruleId: '7', dataType: 'EVENT', before: NOON - 3 * DAY_MS, isDone: false },
  ]);
  const [item] = plannedItems([{ id: '7', rule }], NOON);
  t.ok(mayOverlap(item, { ...item, source: '5' }));
  t.notOk(mayOverlap(item, { ...item, type: 'b' }));
  t.notOk(mayOverlap(item, { ...item, dataType: 'ALARM' }));
  t.notOk(mayOverlap({ ...item, source: '4' }, { ...item, source: '5' }));
  t.ok(RULES_MAX > 0);
});

/** Steps as the loop does, for that time. */
async function runFor(world: World, runner: RetentionRunner, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += HOUR_MS / 2) {
    world.now += HOUR_MS / 2;
    await stepAll(runner);
  }
}

t.test('a clock that jumps forward while the server runs deletes nothing, however long it runs so', async (t) => {
  const world = new World();
  let runner = world.runner();
  await stepAll(runner);
  world.setForward(61 * DAY_MS);
  await stepAll(runner);
  t.same([world.runs(), world.events.length], [[], 10]);
  t.ok(world.refused.includes(CLOCK_LIMIT), 'it is counted');
  await t.rejects(
    runner.begin(2, 'REQUEST', { isDryRun: false }),
    { code: 'general/busy', message: /retention\/clock/ },
    'nor for a user who asks for it',
  );
  for (const where of ['as it runs', 'started again on the same boot of the machine']) {
    await runFor(world, runner, 50 * HOUR_MS);
    t.same([world.runs(), world.events.length], [[], 10], where);
    runner = world.runner();
  }
  world.setForward(-61 * DAY_MS);
  await stepAll(runner);
  await runner.begin(2, 'REQUEST', { isDryRun: true });
  t.ok(
    world.runs().some(({ isDryRun }) => isDryRun),
    'at once when the clock is right again',
  );
  t.ok(world.runs().every(({ startedAt }) => startedAt < NOON + 6 * DAY_MS));
});

t.test('a run that was under way when the clock jumped does not hide why nothing goes on', async (t) => {
  const world = new World();
  const runner = world.runner();
  await runner.begin(2, 'REQUEST', { isDryRun: false });
  world.setForward(61 * DAY_MS);
  await t.rejects(runner.begin(2, 'REQUEST', { isDryRun: false }), {
    code: 'general/busy',
    message: /retention\/clock/,
  });
  t.same([world.runs().map(({ status }) => status), world.events.length], [['RUNNING'], 10]);
});

t.test('many small steps of the clock count as one large step', async (t) => {
  const world = new World();
  const runner = world.runner();
  await stepAll(runner);
  for (let day = 0; day < 61; day += 1) {
    world.setForward(20 * HOUR_MS);
    world.now += 60_000;
    await stepAll(runner);
  }
  // The first step is within the limit.
  t.ok(
    world.runs().every(({ startedAt }) => startedAt < NOON + 2 * DAY_MS),
    'no run has believed them',
  );
});

t.test(
  'a machine that was off for months waits for the settling time, and not for ever when it is started again and again',
  async (t) => {
    const world = new World();
    let runner = world.runner();
    await stepAll(runner);
    world.now += 90 * DAY_MS;
    world.reboot();
    runner = world.runner();
    await stepAll(runner);
    t.same([world.runs(), world.events.length], [[], 10], 'a clock that is set wrong looks like this too');
    for (let day = 0; day < 3; day += 1) {
      await runFor(world, runner, 7 * HOUR_MS);
      t.same([world.runs(), world.events.length], [[], 10]);
      world.now += 17 * HOUR_MS;
      world.reboot();
      runner = world.runner();
      await stepAll(runner);
    }
    await runFor(world, runner, 7 * HOUR_MS);
    t.same(
      [world.runs().map(({ status }) => status), world.events.length],
      [['COMPLETED'], 0],
      'after 24 hours of running',
    );
  },
);

t.test('a server that stood still while the machine went on does not wait', async (t) => {
  const world = new World();
  await stepAll(world.runner());
  world.now += 90 * DAY_MS;
  await stepAll(world.runner());
  t.same([world.runs().map(({ status }) => status), world.events.length], [['COMPLETED'], 0]);
});

t.test('a machine without a clock of its own starts in 1970 and goes on when its clock is set', async (t) => {
  const world = new World();
  await stepAll(world.runner());
  world.now = 0;
  world.reboot();
  const runner = world.runner();
  await stepAll(runner);
  t.same(world.refused, [CLOCK_LIMIT]);
  world.now = 60_000;
  world.setForward(NOON + DAY_MS - 60_000);
  await stepAll(runner);
  t.same(
    world.runs().map(({ status }) => status),
    ['COMPLETED'],
  );
});

t.test('data of a server that had no confirmed time yet are not believed to be months older', async (t) => {
  const world = new World();
  await stepAll(world.runner());
  world.records.delete(`0/${CLOCK_KEY}`);
  world.now += 61 * DAY_MS;
  world.reboot();
  await stepAll(world.runner());
  t.same([world.runs(), world.events.length, world.refused], [[], 10, [CLOCK_LIMIT]]);
});

t.test('while another node vouches for the time, a node with a wrong clock waits for ever', async (t) => {
  const world = new World();
  const right = world.runner();
  await stepAll(right);
  for (let hour = 0; hour < 60; hour += 1) {
    world.now += HOUR_MS;
    world.foreign.add(2);
    await stepAll(right);
    world.foreign.clear();
    world.setForward(61 * DAY_MS);
    await stepAll(world.runner());
    world.setForward(-61 * DAY_MS);
  }
  t.same([world.runs(), world.events.length], [[], 10]);
});
