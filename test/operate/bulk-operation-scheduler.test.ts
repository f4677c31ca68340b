/** The ramp of bulk operations on the real actors: exact whatever commit a crash comes before, bounded, driven by what is stored. */
import t from 'tap';
import type { Test } from 'tap';
import { bulkActiveKey, bulkKey } from '../../src/model/bulk-operation.ts';
import type { StoredBulkOperation } from '../../src/model/bulk-operation.ts';
import { COMMAND } from '../../src/model/command.ts';
import type { ActorKey } from '../../src/model/command.ts';
import { BulkOperationScheduler } from '../../src/operate/bulk-operation-scheduler.ts';
import { NOW, TENANT, openPlatform, silentLog, until } from '../actors/platform.ts';
import type { Platform } from '../actors/platform.ts';

const GROUP = '100';
const BULK = '50';
let nextId = 1_000;

/** A group with agents. */
async function withGroup(platform: Platform, count: number): Promise<string[]> {
  await platform.create(GROUP, '{"type":"c8y_DeviceGroup","c8y_IsDeviceGroup":{}}');
  const devices = Array.from({ length: count }, (_, index) => String(200 + index));
  for (const id of devices) {
    await platform.create(id, '{"c8y_IsDevice":{},"com_platform_model_Agent":{}}', { parent: { id: GROUP, kind: 'childAssets' } });
  }
  return devices;
}

async function schedule(platform: Platform, more: Partial<StoredBulkOperation> = {}): Promise<void> {
  const stored: StoredBulkOperation = { id: BULK, owner: 'ada', groupId: GROUP, startDate: '', startsAt: NOW, creationRamp: 1, prototype: '{"c8y_Restart":{}}', fragments: '{}',
    status: 'ACTIVE', targets: 0, done: 0, missing: 0, ...more };
  await platform.request({ kind: COMMAND.RECORDS_CHANGE, key: 't', body: { changes: [
    { collection: 'bulkOperation', id: bulkKey(BULK), value: JSON.stringify(stored) }, { collection: 'bulkOperation', id: bulkActiveKey(BULK), value: '1' }] } });
}

interface Clock { now: number }
function schedulerOf(platform: Platform, clock: Clock, isMine = (): boolean => true): BulkOperationScheduler {
  const next = (): number => {
    nextId += 1;
    return nextId;
  };
  const ids = { next, peek: () => nextId + 1, nextBeside: next, nextInOrder: async () => next(), nextBesideInOrder: async (_: number, keys: readonly ActorKey[]) => keys.map(next) };
  return new BulkOperationScheduler({
    commands: platform.commands, documents: platform.documents, ids, tenants: () => [TENANT], isMine,
    history: { query: async () => [], stream: async () => { throw new Error('no stream'); } }, refusals: { count: () => undefined }, log: silentLog, now: () => clock.now,
  });
}

const bulkOf = (platform: Platform): StoredBulkOperation => platform.get('bulkOperation', bulkKey(BULK)) as unknown as StoredBulkOperation;
const devicesWithOperation = (platform: Platform): string[] => platform.ids('operation').map((id) => (platform.get('operation', id) as { deviceId: string }).deviceId).sort();

t.test('one after the other, from startDate on', async (t) => {
  const platform = openPlatform(t);
  const devices = await withGroup(platform, 3);
  const clock = { now: NOW };
  await schedule(platform, { startsAt: NOW + 10_000 });
  const scheduler = schedulerOf(platform, clock);
  t.equal(await scheduler.step(), NOW + 10_000, 'it says when it is due');
  const rows: [at: number, operations: number][] = [[9_999, 0], [10_000, 0], [10_001, 1], [11_000, 2], [11_500, 2], [12_000, 3]];
  for (const [at, operations] of rows) {
    clock.now = NOW + at;
    await scheduler.step();
    t.equal(platform.ids('operation').length, operations, `${at} ms`);
  }
  t.match(bulkOf(platform), { status: 'COMPLETED', done: 3, targets: 3 });
  t.same(devicesWithOperation(platform), devices);
  await scheduler.step();
  t.same(platform.ids('bulkOperation'), [bulkKey(BULK)], 'nothing but the record is left');
  t.match(platform.get('operation', platform.ids('operation')[0]), { bulkOperationId: BULK, c8y_Restart: {}, status: 'PENDING' });
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

/** Runs until it is COMPLETED or the process ends. */
async function run(platform: Platform, clock: Clock): Promise<void> {
  const scheduler = schedulerOf(platform, clock);
  for (let step = 0; step < 50 && bulkOf(platform)?.status === 'ACTIVE' && !platform.documents.isCrashed; step += 1) {
    clock.now += 700;
    let isOver = false;
    void scheduler.step().then(() => { isOver = true; });
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
