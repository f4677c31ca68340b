/** What waits for bindings is bounded, and the oldest is shed (docs/reference/limits.md, scoring/bindings-backlog). */
import t from 'tap';
import { Backlog, type BacklogOptions, ChunkList, TenantBacklog } from '../../../src/scoring/bindings/backlog.ts';
import { measurementsOf, recordOf } from '../../helpers/scoring/measured.ts';

function backlog(bounds: Partial<BacklogOptions> = {}) {
  const counted = new Map<string, number>();
  const refusals = { count: (limit: string) => void counted.set(limit, (counted.get(limit) ?? 0) + 1) };
  // Each look at the clock is a window of the rate later.
  let now = 0;
  const node = new Backlog({ refusals, clock: () => (now += 1_000), ...bounds });
  const tenant = new TenantBacklog(1, node);
  let shed = 0;
  const listOf = (of = tenant) => new ChunkList(of, (count) => (shed += count));
  return { node, tenant, counted, listOf, shed: () => shed };
}

const timesOf = ({ bytes, used }: { readonly bytes: Buffer; readonly used: number }): number[] =>
  Array.from(measurementsOf(bytes.subarray(0, used)), ({ time }) => time);

t.test('copies of records without document and form, in order', async (t) => {
  const { node, tenant, listOf } = backlog();
  const list = listOf();
  const document = JSON.stringify({ text: 'x'.repeat(10_000) });
  const records = [recordOf({ time: 1, document }), recordOf({ time: 2 }), recordOf({ time: 3, document })];
  for (const record of records) {
    list.add(Buffer.concat([Buffer.alloc(3), record]), 3, 0);
    record.fill(0);
  }
  list.add(recordOf({ time: 4 }), 0, 1);
  const chunk = list.take(false);
  t.same(timesOf(chunk!), [1, 2, 3], 'predictions of another depth begin another chunk');
  t.match([...measurementsOf(chunk!.bytes.subarray(0, chunk!.used))][0], { document: '', values: [{ value: 1 }] });
  t.ok(chunk!.used < 1_000, 'small');
  t.equal(list.take(false), undefined, 'what is open is taken when nothing else is');
  const open = list.take(true);
  t.match(open, { depth: 1, count: 1 });
  for (const one of [chunk!, open!]) list.release(one);
  t.same([node.measurements, tenant.measurements, node.bytes.used, list.isEmpty], [0, 0, 0, true]);
});

t.test('rooms for predictions count, are used again, and none is made for what waits', async (t) => {
  const { node, counted, listOf, shed } = backlog({ bytesMax: 20_000 });
  const list = listOf();
  const roomOf = (isRoomFree?: boolean) => {
    for (let time = 0; time < 10; time += 1) list.add(recordOf({ time }), 0, 0);
    const chunk = list.take(true)!;
    list.makeRoom(chunk);
    const { room } = chunk;
    t.equal(node.bytes.used, chunk.bytes.length + (room?.length ?? 0));
    list.release(chunk, isRoomFree);
    t.equal(node.bytes.used, 0);
    return room;
  };
  const first = roomOf(false);
  t.equal(first?.length, 8_192);
  const second = roomOf();
  t.not(second, first, 'a thread may still write to it');
  t.equal(roomOf(), second);
  for (let time = 0; time < 40; time += 1) list.add(recordOf({ time, values: { 'oven.t': 1 } }), 0, 0);
  const chunk = list.take(true)!;
  list.makeRoom(chunk);
  t.equal(chunk.room, undefined, 'no room');
  t.same([shed(), counted.size], [0, 0]);
});

t.test('beyond the bound of a tenant the oldest of the binding with most are shed', async (t) => {
  const { tenant, counted, listOf, shed } = backlog({ measurementsMax: 2_500 });
  const [busy, calm] = [listOf(), listOf()];
  calm.add(recordOf({ time: -1 }), 0, 0);
  for (let time = 0; time < 4_000; time += 1) busy.add(recordOf({ time }), 0, 0);
  t.equal(shed(), 2_000);
  t.same([...counted], [['scoring/bindings-backlog', 2_000]]);
  t.equal(tenant.measurements, 2_001);
  t.same(timesOf(calm.take(true)!), [-1], 'those of others stay');
  t.same(timesOf(busy.take(true)!)[0], 2_000);
});

t.test('where nothing waits that could be shed, the newest is', async (t) => {
  const { counted, listOf, shed } = backlog({ measurementsMax: 1_000 });
  const list = listOf();
  for (let time = 0; time < 1_000; time += 1) list.add(recordOf({ time }), 0, 0);
  const scored = list.take(false)!;
  list.add(recordOf(), 0, 0);
  t.equal(shed(), 1);
  list.release(scored);
  list.add(recordOf(), 0, 0);
  t.equal(shed(), 1);
  const values = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`oven.series-${index}`, 1]));
  list.add(recordOf({ values }), 0, 0);
  t.same(counted.get('scoring/binding-record-bytes'), 1, 'a measurement that is too large');
});

t.test('the more bindings have measurements, the longer these wait for others', async (t) => {
  const { tenant, listOf } = backlog();
  const lists = Array.from({ length: 150 }, () => listOf());
  const pauses: number[] = [];
  for (const [index, list] of lists.entries()) {
    list.add(recordOf(), 0, 0);
    if ([1, 5, 50, 100, 150].includes(index + 1)) pauses.push(tenant.pauseMs);
  }
  t.same(pauses, [20, 20, 200, 400, 400]);
  for (const list of lists.slice(1)) list.clear();
  t.equal(tenant.pauseMs, 20);
});

t.test('tenants share about 1,000 small tasks a second of their node', async (t) => {
  const { node, counted, listOf } = backlog();
  const tenants = Array.from({ length: 2_000 }, (_, index) => new TenantBacklog(index, node));
  const lists = tenants.map((tenant) => listOf(tenant));
  const second = listOf(tenants[0]);
  const pauses: number[] = [];
  for (const [index, list] of lists.entries()) {
    list.add(recordOf(), 0, 0);
    if ([20, 100, 2_000].includes(index + 1)) pauses.push(tenants[index]!.pauseMs);
  }
  t.equal(tenants[0]!.beginPause(), 2_000);
  t.same([...counted], [['scoring/bindings-tasks', 1]], 'told of a wait that other tenants make long');
  t.same(pauses, [20, 100, 2_000], 'each waits, so that its node makes no more tasks for more tenants');
  second.add(recordOf(), 0, 0);
  t.equal(tenants[0]!.pauseMs, 4_000, 'two bindings of a tenant have its part together');
  for (const list of lists.slice(1)) list.clear();
  t.same([node.tenants, tenants[0]!.beginPause()], [1, 20]);
  t.equal(counted.get('scoring/bindings-tasks'), 1);
});

t.test('a tenant takes so many a second', async (t) => {
  let now = 0;
  const { counted, listOf, shed } = backlog({ clock: () => now });
  const list = listOf();
  const record = recordOf();
  const add = (count: number): void => {
    for (let index = 0; index < count; index += 1) {
      list.add(record, 0, 0);
      if (index % 10_000 === 9_999) list.clear();
    }
    list.clear();
  };
  add(50_000);
  now += 100;
  add(49_999);
  t.equal(shed(), 0, 'a burst of what a second has');
  now += 800;
  add(4);
  t.equal(shed(), 3);
  t.same([...counted], [['scoring/bindings-rate', 3]]);
  now += 200;
  add(1);
  t.equal(shed(), 3);
});

t.test('the bytes of a node are shared', async (t) => {
  const { node, counted, listOf } = backlog({ bytesMax: 1_048_576 });
  const [first, second] = [listOf(), listOf(new TenantBacklog(2, node))];
  for (let count = 0; count < 15_000; count += 1) first.add(recordOf(), 0, 0);
  t.ok(node.bytes.used <= 1_048_576);
  second.add(recordOf(), 0, 0);
  t.notOk(second.isEmpty, 'a tenant with little has room');
  t.ok(
    [...counted.keys()].every((limit) => limit.startsWith('scoring/bindings-backlog-bytes')),
    [...counted.keys()].join(),
  );
  first.clear();
  second.clear();
  t.same([node.bytes.used, node.measurements], [0, 0]);
});
