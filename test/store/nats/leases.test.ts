/** Shard ownership on JetStream: the contract, and what becomes of it without NATS, or without its acknowledgements. */
import t from 'tap';
import type { Test } from 'tap';
import { NatsConnection } from '../../../src/store/nats/connection.ts';
import { NatsLeases } from '../../../src/store/nats/leases.ts';
import { eventually } from '../../cluster/contracts/shard-journal.ts';
import { LeaseHolders, shardLeasesContract, spread } from '../../cluster/contracts/shard-leases.ts';
import type { ShardLeasesPlace } from '../../cluster/contracts/shard-leases.ts';
import { silentLog, startNats, startNatsProxy } from '../../helpers/stores/nats-server.ts';
import type { NatsProxy, NatsServer } from '../../helpers/stores/nats-server.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('nats-server');
/** Long enough that a machine that stands still for a moment loses nothing. */
const LEASE_MS = 2_000;

interface Place extends ShardLeasesPlace {
  readonly server: NatsServer;
  readonly proxies: Map<string, NatsProxy>;
}

/** A server, and a proxy for each node. */
async function newPlace(t: Test, further: { readonly acquireMs?: number } = {}): Promise<Place> {
  const server = await startNats(t);
  const proxies = new Map<string, NatsProxy>();
  return {
    server,
    proxies,
    settled: () =>
      new Promise((resolve) => {
        setTimeout(resolve, LEASE_MS * 2);
      }),
    open: async (nodeId, roles) => {
      const proxy = await startNatsProxy(t, server);
      proxies.set(nodeId, proxy);
      const connection = await NatsConnection.open({ servers: proxy.url, name: nodeId }, { log: silentLog });
      const leases = await NatsLeases.open({
        connection,
        prefix: 'test',
        nodeId,
        roles,
        replicas: 1,
        log: silentLog,
        leaseMs: LEASE_MS,
        ...further,
      });
      const kill = async (): Promise<void> => {
        await leases.abandon();
        await connection.close();
      };
      return { leases, cut: (isCut) => proxy.cut(isCut), kill, close: () => connection.close() };
    },
  };
}

if (skip === false) shardLeasesContract(t, 'JetStream', (t) => newPlace(t));

t.test(
  'acknowledgements of heartbeats are lost, though they arrive: the node cannot know, and gives up',
  { skip },
  async (t) => {
    const place = await newPlace(t);
    const all = new LeaseHolders(t, place);
    const [a, b] = [await all.join('a'), await all.join('b')];
    await spread([a, b], [32, 32]);
    place.proxies.get('b')?.dropAnswers(true);
    await eventually('given up', () => b.count('lost') === 32);
    place.proxies.get('b')?.dropAnswers(false);
    await spread([a, b], [32, 32]);
    await b.leave();
    await a.leave();
    t.same(all.faults, []);
  },
);

t.test('NATS is restarted: everybody gives up and takes again', { skip }, async (t) => {
  const place = await newPlace(t);
  const all = new LeaseHolders(t, place);
  const nodes = [await all.join('a'), await all.join('b')];
  await spread(nodes, [32, 32]);
  await place.server.kill();
  await eventually('given up', () => nodes.every(({ leases }) => leases.owned.size === 0));
  await place.server.start();
  await spread(nodes, [32, 32]);
  for (const node of nodes) await node.leave();
  t.same(all.faults, []);
});

t.test(
  'the bucket comes back without what was written last: whoever takes a shard asks what is there',
  { skip },
  async (t) => {
    const place = await newPlace(t);
    const all = new LeaseHolders(t, place);
    const [a, b] = [await all.join('a'), await all.join('b')];
    await spread([a, b], [32, 32]);
    const connection = await NatsConnection.open({ servers: place.server.url, name: 'test' }, { log: silentLog });
    const { streams } = connection.manager;
    const { config } = await streams.info('KV_test_leases');
    await streams.delete('KV_test_leases');
    await streams.add(config);
    await a.kill();
    await eventually('b has them all', () => b.leases.owned.size === 64);
    await b.kill();
    await connection.close();
  },
);

t.test('a take-over that does not end is given up, and tried anew', { skip }, async (t) => {
  const all = new LeaseHolders(t, await newPlace(t, { acquireMs: 200 }));
  const a = await all.join('a', undefined, 5_000);
  await eventually('all are given up', () => a.count('lost') >= 64);
  a.acquireMs = 0;
  const before = a.count('lost');
  await eventually('and in service', () => a.leases.owned.size === 64 && a.count('acquired') > before);
  await a.leave();
  t.same(all.faults, []);
});
