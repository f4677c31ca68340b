/**
 * The ramp of bulk operations on the real actors: exact whatever commit a crash comes before, bounded, driven by what
 * is stored.
 */
import t from 'tap';
import type { Test } from 'tap';
import {
  BULK_WATCHED_MAX,
  BULK_WATCHED_PREFIX,
  bulkActiveKey,
  bulkKey,
  bulkWatchedKey,
} from '../../src/model/entities/bulk-operation.ts';
import type { StoredBulkOperation } from '../../src/model/entities/bulk-operation.ts';
import { COMMAND } from '../../src/model/commands/kinds.ts';
import type { ActorKey } from '../../src/model/commands/command.ts';
import type { DocumentReader } from '../../src/ports/document-reader.ts';
import { PlatformError } from '../../src/model/errors.ts';
import { BulkOperationScheduler } from '../../src/jobs/bulk-operations/scheduler.ts';
import { NOW, TENANT, openPlatform, silentLog, until } from '../actors/platform.ts';
import type { Platform } from '../actors/platform.ts';

const GROUP = '100';
const BULK = '50';
let nextId = 1_000;

/** A group with agents. */
async function withGroup(platform: Platform, count: number): Promise<string[]> {
  await platform.create(GROUP, '{"type":"c8y_DeviceGroup","c8y_IsDeviceGroup":{}}');
  const devices = Array.from({ length: count }, (_, index) => String(200 + index));
  await Promise.all(
    devices.map((id) =>
      platform.create(id, '{"c8y_IsDevice":{},"com_platform_model_Agent":{}}', {
        parent: { id: GROUP, kind: 'childAssets' },
      }),
    ),
  );
  return devices;
}

async function schedule(platform: Platform, more: Partial<StoredBulkOperation> = {}): Promise<void> {
  const { id = BULK } = more;
  const stored: StoredBulkOperation = {
    id,
    owner: 'ada',
    groupId: GROUP,
    startDate: '',
    startsAt: NOW,
    creationRamp: 1,
    prototype: '{"c8y_Restart":{}}',
    fragments: '{}',
    status: 'ACTIVE',
    targets: 0,
    done: 0,
    missing: 0,
    ...more,
  };
  await platform.request({
    kind: COMMAND.RECORDS_CHANGE,
    key: 't',
    body: {
      changes: [
        { collection: 'bulkOperation', id: bulkKey(id), value: JSON.stringify(stored) },
        { collection: 'bulkOperation', id: bulkActiveKey(id), value: '1' },
      ],
    },
  });
}

interface Clock {
  now: number;
}
function schedulerOf(
  platform: Platform,
  clock: Clock,
  isMine = (): boolean => true,
  more: { documents?: DocumentReader; counts?: () => object[]; refused?: (limit: string) => void } = {},
): BulkOperationScheduler {
  const next = (): number => {
    nextId += 1;
    return nextId;
  };
  const ids = {
    next,
    peek: () => nextId + 1,
    nextBeside: next,
    nextInOrder: async () => next(),
    nextBesideInOrder: async (_: number, keys: readonly ActorKey[]) => keys.map(next),
  };
  return new BulkOperationScheduler({
    commands: platform.commands,
    documents: more.documents ?? platform.documents,
    ids,
    tenants: () => [TENANT],
    isMine,
    history: {
      query: async <Row>() => (more.counts?.() ?? []) as Row[],
      stream: async () => {
        throw new Error('no stream');
      },
    },
    refusals: { count: more.refused ?? (() => undefined) },
    log: silentLog,
    now: () => clock.now,
  });
}

const bulkOf = (platform: Platform): StoredBulkOperation =>
  platform.get('bulkOperation', bulkKey(BULK)) as unknown as StoredBulkOperation;
const devicesWithOperation = (platform: Platform): string[] =>
  platform
    .ids('operation')
    .map((id) => (platform.get('operation', id) as { deviceId: string }).deviceId)
    .sort();

t.test('one after the other, from startDate on', async (t) => {
  const platform = openPlatform(t);
  const devices = await withGroup(platform, 3);
  const clock = { now: NOW };
  await schedule(platform, { startsAt: NOW + 10_000 });
  const scheduler = schedulerOf(platform, clock);
  t.equal(await scheduler.step(), NOW + 10_000, 'it says when it is due');
  const rows: [at: number, operations: number][] = [
    [9_999, 0],
    [10_000, 0],
    [10_001, 1],
    [11_000, 2],
    [11_500, 2],
    [12_000, 3],
  ];
  for (const [at, operations] of rows) {
    clock.now = NOW + at;
    await scheduler.step();
    t.equal(platform.ids('operation').length, operations, `${at} ms`);
  }
  t.match(bulkOf(platform), { status: 'COMPLETED', done: 3, targets: 3 });
  t.same(devicesWithOperation(platform), devices);
  await scheduler.step();
  t.same(
    platform.ids('bulkOperation').sort(),
    [bulkKey(BULK), bulkWatchedKey(BULK)],
    'the record is left, and what has its operations counted',
  );
  t.match(platform.get('operation', platform.ids('operation')[0]), {
    bulkOperationId: BULK,
    c8y_Restart: {},
    status: 'PENDING',
  });
});

t.test('after a time in which it did not run there is no burst', async (t) => {
  const platform = openPlatform(t);
  await withGroup(platform, 5);
  const clock = { now: NOW };
  await schedule(platform);
  for (let step = 0; step < 2; step += 1) await schedulerOf(platform, clock).step();
  t.equal(platform.ids('operation').length, 1);
  clock.now += 3_600_000;
  await schedulerOf(platform, clock).step();
  t.equal(platform.ids('operation').length, 2);
});

t.test('who does not own the tenant does nothing', async (t) => {
  const platform = openPlatform(t);
  await withGroup(platform, 2);
  await schedule(platform, { creationRamp: 0 });
  const clock = { now: NOW };
  for (let step = 0; step < 3; step += 1) await schedulerOf(platform, clock, () => false).step();
  t.same(platform.ids('operation'), []);
});

t.test('a batch is bounded', async (t) => {
  const platform = openPlatform(t);
  await withGroup(platform, 250);
  await schedule(platform, { creationRamp: 0 });
  const clock = { now: NOW };
  const scheduler = schedulerOf(platform, clock);
  const counts: number[] = [];
  for (let step = 0; step < 3; step += 1) {
    await scheduler.step();
    counts.push(platform.ids('operation').length);
    scheduler.recordsChanged(TENANT, [{ collection: 'bulkOperation', id: '', expected: undefined, value: undefined }]);
  }
  t.same(counts, [0, 200, 250]);
});

t.test('those that are not due are not read again, whatever goes on beside them', async (t) => {
  const platform = openPlatform(t);
  await withGroup(platform, 40);
  for (let index = 0; index < 60; index += 1)
    await schedule(platform, { id: String(1_000 + index), startsAt: NOW + 3_600_000 });
  await schedule(platform, { creationRamp: 0 });
  const clock = { now: NOW };
  const reads = new Map<string, number>();
  const documents: DocumentReader = {
    get: (collection, tenant, id) => {
      reads.set(id, (reads.get(id) ?? 0) + 1);
      return platform.documents.get(collection, tenant, id);
    },
    getMany: (...args) => platform.documents.getMany(...args),
    list: (...args) => platform.documents.list(...args),
  };
  const scheduler = schedulerOf(platform, clock, undefined, { documents });
  let steps = 0;
  while (bulkOf(platform).status === 'ACTIVE' && steps < 100) {
    await scheduler.step();
    clock.now += 1;
    steps += 1;
  }
  t.match(bulkOf(platform), { status: 'COMPLETED', done: 40 });
  for (let step = 0; step < 4; step += 1) await scheduler.step();
  const readings = (): number[] =>
    Array.from({ length: 60 }, (_, index) => reads.get(bulkKey(String(1_000 + index))) ?? 0);
  t.same(new Set(readings()), new Set([1]), `each was read once in ${steps} steps`);
  clock.now = NOW + 60_001;
  for (let step = 0; step < 60; step += 1) {
    await scheduler.step();
    clock.now += 1_000;
  }
  t.same(new Set(readings()), new Set([2]), 'once more in a minute');
});

t.test('many that have no ramp do not hold up another one', async (t) => {
  const platform = openPlatform(t);
  await withGroup(platform, 20);
  for (let index = 0; index < 15; index += 1) await schedule(platform, { id: String(1_000 + index), creationRamp: 0 });
  await schedule(platform, { creationRamp: 1 });
  const clock = { now: NOW };
  const scheduler = schedulerOf(platform, clock);
  await scheduler.step();
  await scheduler.step();
  t.equal(bulkOf(platform).done, 1);
  const total = platform.ids('operation').length;
  t.ok(total <= 16 * 12 + 1, `a step is bounded by all together: ${total} operations`);
});

t.test('what became of the operations is kept', async (t) => {
  const platform = openPlatform(t);
  await withGroup(platform, 5);
  await schedule(platform, { creationRamp: 0 });
  const clock = { now: NOW };
  let counts: object[] = [
    { bulkId: BULK, status: 'SUCCESSFUL', total: 4 },
    { bulkId: BULK, status: 'PENDING', total: '1' },
  ];
  const scheduler = schedulerOf(platform, clock, undefined, { counts: () => counts });
  for (let step = 0; step < 6; step += 1) await scheduler.step();
  await scheduler.watch.step();
  t.match(bulkOf(platform), { status: 'COMPLETED', counts: { SUCCESSFUL: 4, PENDING: 1 } });
  t.ok(platform.get('bulkOperation', bulkWatchedKey(BULK)), 'one is not over');
  counts = [
    { bulkId: BULK, status: 'SUCCESSFUL', total: 4 },
    { bulkId: BULK, status: 'FAILED', total: 1 },
  ];
  await scheduler.watch.step();
  t.match(bulkOf(platform), { counts: { PENDING: 1 } }, 'not before it is due');
  clock.now += 10_000;
  await scheduler.watch.step();
  t.match(bulkOf(platform), { counts: { SUCCESSFUL: 4, FAILED: 1 } });
  t.same(platform.ids('bulkOperation'), [bulkKey(BULK)], 'nothing but the record is left');
});

t.test('operations that were deleted before they were counted are not waited for', async (t) => {
  const platform = openPlatform(t);
  await withGroup(platform, 5);
  await schedule(platform, { creationRamp: 0 });
  const clock = { now: NOW };
  let counts: object[] = [
    { bulkId: BULK, status: 'SUCCESSFUL', total: 1 },
    { bulkId: BULK, status: 'EXECUTING', total: 1 },
  ];
  for (let step = 0; step < 6; step += 1) await schedulerOf(platform, clock).step();
  const scheduler = schedulerOf(platform, clock, undefined, { counts: () => counts });
  await scheduler.watch.step();
  t.ok(platform.get('bulkOperation', bulkWatchedKey(BULK)), 'one of those that are there is not over');
  counts = [{ bulkId: BULK, status: 'SUCCESSFUL', total: 2 }];
  clock.now += 10_000;
  await scheduler.watch.step();
  t.same(platform.ids('bulkOperation'), [bulkKey(BULK)], 'nothing but the record is left');
});

t.test('a history that does not answer holds up no ramp', async (t) => {
  const platform = openPlatform(t);
  const devices = await withGroup(platform, 3);
  const clock = { now: NOW };
  for (let index = 0; index < 30; index += 1) await schedule(platform, { id: String(1_000 + index), creationRamp: 0 });
  let queries = 0;
  const scheduler = schedulerOf(platform, clock, undefined, {
    counts: () => {
      queries += 1;
      throw new PlatformError('general/history-unavailable');
    },
  });
  for (let step = 0; step < 12; step += 1) await scheduler.step();
  t.equal(platform.ids('bulkOperation').filter((id) => id.startsWith(BULK_WATCHED_PREFIX)).length, 30);
  t.equal(queries, 0, 'the ramps ask it for nothing');
  await schedule(platform);
  scheduler.recordsChanged(TENANT, [
    { collection: 'bulkOperation', id: bulkKey(BULK), expected: undefined, value: '' },
  ]);
  const operations = platform.ids('operation').length;
  await scheduler.watch.step();
  t.equal(queries, 1, 'one query for many');
  for (let step = 0; step < 8; step += 1) {
    await scheduler.step();
    clock.now += 1_000;
    await scheduler.watch.step();
  }
  t.equal(platform.ids('operation').length, operations + devices.length);
  t.equal(queries, 2, 'one for what has ended meanwhile; the others are tried again after a while');
  clock.now += 10_000;
  await scheduler.watch.step();
  t.equal(queries, 3);
});

t.test('of too many that are counted the oldest are given up', async (t) => {
  const platform = openPlatform(t);
  const ids = Array.from({ length: BULK_WATCHED_MAX + 2 }, (_, index) => String(1_000 + index));
  const changes = ids.map((id) => ({ collection: 'bulkOperation', id: bulkWatchedKey(id), value: '1' }));
  for (let start = 0; start < changes.length; start += 1_000) {
    await platform.request({
      kind: COMMAND.RECORDS_CHANGE,
      key: 't',
      body: { changes: changes.slice(start, start + 1_000) },
    });
  }
  const counted: string[] = [];
  await schedulerOf(platform, { now: NOW }, undefined, {
    refused: (limit) => {
      counted.push(limit);
    },
  }).watch.step();
  t.same(counted, ['bulk-operations/watched']);
  t.notOk(platform.get('bulkOperation', bulkWatchedKey(ids[1])));
  t.ok(platform.get('bulkOperation', bulkWatchedKey(ids[BULK_WATCHED_MAX + 1])));
});

/** Runs until it is COMPLETED or the process ends. */
async function run(platform: Platform, clock: Clock): Promise<void> {
  const scheduler = schedulerOf(platform, clock);
  for (let step = 0; step < 50 && bulkOf(platform)?.status === 'ACTIVE' && !platform.documents.isCrashed; step += 1) {
    clock.now += 700;
    let isOver = false;
    void scheduler.step().then(() => {
      isOver = true;
    });
    await until(() => isOver || platform.documents.isCrashed);
  }
}

async function crashAt(t: Test, when: 'crashBefore' | 'crashAfter', commit: number): Promise<boolean> {
  let platform = openPlatform(t);
  const devices = await withGroup(platform, 6);
  await schedule(platform, { creationRamp: 0.4 });
  const clock = { now: NOW };
  let commits = 0;
  platform.documents[when] = () => {
    commits += 1;
    return commits === commit;
  };
  await run(platform, clock);
  const hasCrashed = platform.documents.isCrashed;
  if (hasCrashed) {
    platform = await (await platform.crash()).recover();
    await run(platform, clock);
  }
  t.same(devicesWithOperation(platform), devices, `${when} commit ${commit}`);
  t.match(bulkOf(platform), { status: 'COMPLETED', done: 6, missing: 0 });
  return hasCrashed;
}

t.test('each device gets its operation exactly once, whatever commit a crash comes before or behind', async (t) => {
  for (const when of ['crashBefore', 'crashAfter'] as const) {
    let commit = 1;
    while (await crashAt(t, when, commit)) commit += 1;
    t.ok(commit > 8, `${commit - 1} crashes`);
  }
});
