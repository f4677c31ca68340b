/** What is heard on one node reaches the monitor of another: lost messages, moved tenants, nodes that are gone. */
import t from 'tap';
import type { Test } from 'tap';
import { AvailabilityRelay } from '../../../src/cluster/peers/availability-relay.ts';
import { shardOf } from '../../../src/ingest/journal/command-record.ts';
import { AvailabilityMonitor } from '../../../src/jobs/availability/monitor.ts';
import { COMMAND } from '../../../src/model/commands/kinds.ts';
import { NOW, TENANT, silentLog } from '../../actors/platform.ts';
import { InMemoryCluster } from '../memory/ports.ts';
import type { InMemoryNode } from '../memory/ports.ts';
import { TestCluster } from '../memory/nodes.ts';

const MINUTE_MS = 60_000;

interface Clock {
  now: number;
}

class Member {
  readonly heard = new Map<number, number>();
  readonly lookedAt: string[] = [];
  readonly connected = new Set<number>();
  readonly counted: string[] = [];
  readonly relay: AvailabilityRelay;
  readonly ports: InMemoryNode;

  constructor(ports: InMemoryNode, clock: Clock, more: { pendingMax?: number; batchDevices?: number } = {}) {
    this.ports = ports;
    this.relay = new AvailabilityRelay({
      messages: ports.messages,
      leases: ports.leases,
      isConnectedHere: (_tenant, device) => this.connected.has(device),
      refusals: {
        count: (limit) => {
          this.counted.push(limit);
        },
      },
      log: silentLog,
      now: () => clock.now,
      ...more,
    });
    this.relay.start({
      heard: (_tenant, device, at) => {
        this.heard.set(device, at);
      },
      lastHeard: (device) => this.heard.get(device),
      lookAt: (tenant, device) => {
        this.lookedAt.push(`${tenant}/${device}`);
      },
    });
  }

  connect(tenant: number, device: number, isConnected = true): void {
    if (isConnected) this.connected.add(device);
    else this.connected.delete(device);
    this.relay.pushChanged(tenant, device);
  }
}

async function members(t: Test, more: { pendingMax?: number; batchDevices?: number } = {}) {
  const shared = new InMemoryCluster();
  const clock = { now: NOW };
  const all: Member[] = [];
  const join = async (): Promise<Member> => {
    const ports = shared.node();
    await ports.leases.join({
      onAcquired: async () => undefined,
      onRelease: async () => undefined,
      onLost: () => undefined,
      onChanged: () => undefined,
    });
    await shared.settled();
    const member = new Member(ports, clock, more);
    t.teardown(() => member.relay.stop());
    all.push(member);
    return member;
  };
  for (let count = 0; count < 3; count += 1) await join();
  const ownerOf = (tenant: number): Member =>
    all.find(({ ports }) => ports.nodeId === shared.owners.get(shardOf(tenant, 't'))?.node.nodeId) as Member;
  const tenantOf = (member: Member): number =>
    Array.from({ length: 500 }, (_, tenant) => tenant + 1).find((tenant) => ownerOf(tenant) === member) as number;
  const step = async (): Promise<void> => {
    for (const { relay, ports } of all) if (shared.nodes.has(ports.nodeId)) await relay.step();
  };
  return { shared, clock, all, join, ownerOf, tenantOf, step };
}

t.test('what is heard goes to the owner, the latest time of each device', async (t) => {
  const {
    all: [a, b],
    tenantOf,
    step,
  } = await members(t, { batchDevices: 10 });
  const [mine, tenant] = [tenantOf(b), tenantOf(a)];
  for (let device = 1; device <= 35; device += 1) b.relay.heard(tenant, device, 100 + device);
  b.relay.heard(tenant, 1, 500);
  b.relay.heard(tenant, 2, 50);
  b.relay.heard(mine, 90, 7);
  a.heard.set(3, 900);
  t.equal(b.relay.pendingCount, 35);
  t.equal(a.heard.size, 1);
  await step();
  t.same([a.heard.size, a.heard.get(1), a.heard.get(2), a.heard.get(3), a.heard.get(35)], [35, 500, 102, 900, 135]);
  t.same([b.relay.pendingCount, b.heard.get(90), a.heard.has(90)], [0, 7, false]);
  b.relay.heard(tenant, 1, 600);
  await step();
  t.equal(a.heard.get(1), 600);
});

t.test('an owner that does not answer: kept within a bound, for the next one', async (t) => {
  const {
    shared,
    all: [a, b, c],
    tenantOf,
    ownerOf,
    step,
  } = await members(t, { pendingMax: 3 });
  const tenant = tenantOf(a);
  for (let device = 1; device <= 5; device += 1) b.relay.heard(tenant, device, device);
  b.relay.heard(tenant, 1, 10);
  t.same([b.relay.pendingCount, b.counted], [3, ['availability/relay', 'availability/relay']]);
  shared.kill(a.ports.nodeId);
  await b.relay.step();
  t.equal(b.relay.pendingCount, 3);
  await shared.settled();
  await step();
  const owner = ownerOf(tenant);
  t.ok(owner === b || owner === c);
  t.same([owner.heard.get(1), owner.heard.get(3), b.relay.pendingCount], [10, 3, 0]);
});

t.test('connections are known to the owner, whoever has them', async (t) => {
  const {
    shared,
    all: [a, b, c],
    tenantOf,
    step,
  } = await members(t, { batchDevices: 4 });
  const tenant = tenantOf(a);
  const isConnected = (device: number): boolean => a.relay.isConnected(tenant, device);
  for (let device = 1; device <= 10; device += 1) b.connect(tenant, device);
  c.connect(tenant, 20);
  await step();
  t.ok([1, 5, 10, 20].every(isConnected));
  t.equal(a.relay.remoteCount, 11);
  t.ok(a.lookedAt.includes(`${tenant}/10`));
  // From one node to another, told in any order.
  c.connect(tenant, 5);
  b.connect(tenant, 5, false);
  b.connect(tenant, 6, false);
  await c.relay.step();
  await b.relay.step();
  t.same([5, 6].map(isConnected), [true, false]);
  // A message that got lost: the number tells.
  b.connect(tenant, 7, false);
  b.ports.messages.request = async () => Buffer.from('{"notMine":[],"wanted":[]}');
  await b.relay.step();
  delete (b.ports.messages as { request?: unknown }).request;
  t.equal(isConnected(7), true);
  for (let count = 0; count < 12; count += 1) await step();
  t.same([7, 8].map(isConnected), [false, true]);
  a.lookedAt.length = 0;
  shared.kill(c.ports.nodeId);
  await shared.settled();
  await step();
  t.ok(isConnected(20), 'it may come back');
  for (let count = 0; count < 3; count += 1) await step();
  t.same([5, 20].map(isConnected), [false, false]);
  t.same(a.lookedAt.sort(), [`${tenant}/20`, `${tenant}/5`]);
});

t.test('a tenant that moves: the new owner is told everything, and judges when it had time', async (t) => {
  const { shared, clock, all, join, ownerOf, tenantOf, step } = await members(t);
  const [a, b, c] = all;
  const tenant = tenantOf(a);
  for (const device of [1, 2, 3]) b.connect(tenant, device);
  clock.now += 10_000;
  await step();
  t.same([b.relay.isMine(tenant), b.relay.ownedSince(tenant)], [false, undefined]);
  clock.now += 10_000;
  t.equal(a.relay.isMine(tenant), true);
  shared.cut(a.ports.nodeId);
  await shared.settled();
  const owner = ownerOf(tenant);
  t.ok(owner !== a);
  await owner.relay.step();
  t.same([owner.relay.isMine(tenant), owner.relay.ownedSince(tenant)], [false, clock.now]);
  b.connect(tenant, 2, false);
  for (const member of [b, c]) await member.relay.step();
  t.same(
    [1, 2, 3].map((device) => owner.relay.isConnected(tenant, device)),
    [true, false, true],
  );
  clock.now += 5_000;
  t.equal(owner.relay.isMine(tenant), true);
  // And back: what it was told before is of no use.
  shared.mend(a.ports.nodeId);
  await shared.settled();
  await join();
  for (let count = 0; count < 2; count += 1) await step();
  const last = ownerOf(tenant);
  t.same(
    [1, 2, 3].map((device) => last.relay.isConnected(tenant, device)),
    [true, false, true],
  );
  t.same(
    all.filter((member) => member !== last && member.relay.ownedSince(tenant) !== undefined),
    [],
  );
});

t.test('the new owner of a tenant raises no alarm for the time before', async (t) => {
  const cluster = await TestCluster.of(t, 3);
  const clock = { now: NOW };
  const monitored = cluster.nodes.map((node) => {
    const relay = new AvailabilityRelay({
      messages: node.ports.messages,
      leases: node.ports.leases,
      isConnectedHere: () => false,
      refusals: { count: () => undefined },
      log: silentLog,
      now: () => clock.now,
    });
    const next = (_tenant: number, device: number): number => Number(cluster.idBeside(device));
    const monitor = new AvailabilityMonitor({
      commands: node.node.commands,
      documents: node.documents.reader,
      ids: { next: () => next(TENANT, 1), peek: () => 0, nextBeside: next } as never,
      tenants: () => [TENANT],
      isMine: relay.isMine,
      ownedSince: relay.ownedSince,
      isConnected: relay.isConnected,
      refusals: { count: () => undefined },
      log: silentLog,
      now: () => clock.now,
    });
    relay.start(monitor);
    t.teardown(() => relay.stop());
    return { node, relay, monitor };
  });
  const pass = async (of = monitored): Promise<void> => {
    for (const { monitor } of of) for (let ends = 0; ends < 2; ends += (await monitor.step()) ? 1 : 0);
  };
  const alarms = (): number =>
    Object.keys(cluster.store.snapshot()).filter((key) => key.startsWith('openAlarm/')).length;
  const owner = monitored.find(({ node }) => node === cluster.ownerOf('t')) as (typeof monitored)[number];
  const others = monitored.filter((one) => one !== owner);
  const doc = JSON.stringify({ c8y_IsDevice: {}, c8y_RequiredAvailability: { responseInterval: 5 } });
  await owner.node.request({ kind: COMMAND.MANAGED_OBJECT_CREATE, key: 7, body: { id: '7', owner: 'ada', doc } });
  for (const { relay } of monitored) relay.isMine(TENANT);
  for (let minute = 0; minute < 8; minute += 1) {
    clock.now += MINUTE_MS;
    others[0].relay.heard(TENANT, 7, clock.now);
    await others[0].relay.step();
    await pass();
  }
  t.equal(alarms(), 0, 'heard on another node');
  // A device of another node is heard by the owner only, which is killed then.
  for (let minute = 0; minute < 4; minute += 1) {
    clock.now += MINUTE_MS;
    owner.relay.heard(TENANT, 7, clock.now);
  }
  owner.node.kill();
  await cluster.settled();
  clock.now += 2 * MINUTE_MS;
  for (const { relay } of others) relay.isMine(TENANT);
  clock.now += MINUTE_MS;
  await pass(others);
  t.equal(alarms(), 0, 'last heard by the new owner 7 minutes ago');
  clock.now += 4 * MINUTE_MS + 1;
  await pass(others);
  await cluster.settled();
  t.equal(alarms(), 1, 'silent while it listened');
});
