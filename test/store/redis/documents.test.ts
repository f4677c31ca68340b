/**
 * The documents of one shard in Redis: the contract, on one server and on a cluster of three; take-over and fencing.
 */
import t from 'tap';
import type { Test } from 'tap';
import type { DocumentChange } from '../../../src/ports/stores/documents.ts';
import { RedisClusterDocuments } from '../../../src/store/redis/cluster-documents.ts';
import { RedisConnection } from '../../../src/store/redis/connection.ts';
import { COMMIT_BYTES_MAX, COMMIT_CHANGES_MAX, RedisDocuments } from '../../../src/store/redis/documents.ts';
import { RedisDurability } from '../../../src/store/redis/durability.ts';
import { readRedisTarget } from '../../../src/config/redis.ts';
import { documentsContract } from '../../actors/documents-contract.ts';
import { clusterDocumentsContract } from '../../cluster/contracts/documents.ts';
import type { ClusterDocumentsPlace } from '../../cluster/contracts/documents.ts';
import type { DocumentsPlace } from '../../actors/documents-contract.ts';
import { FreezingProxy } from '../../helpers/proxies/freezing-proxy.ts';
import { quiet, startRedis, startRedisCluster } from '../../helpers/stores/redis-server.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('redis-server', 'redis-cli');
let places = 0;

const connectionOf = (url: string): RedisConnection =>
  new RedisConnection({ target: readRedisTarget(url), log: quiet, name: 'test' });

function place(url: string): DocumentsPlace {
  places += 1;
  const prefix = `place-${places}`;
  let epoch = 0;
  return {
    async open() {
      const connection = connectionOf(url);
      epoch += 1;
      const documents = new RedisDocuments({
        connection,
        prefix,
        shard: places % 64,
        owner: `owner ${epoch}`,
        log: quiet,
        onLostState: () => {
          throw new Error('lost');
        },
      });
      await documents.takeOver(epoch);
      return {
        documents,
        async close() {
          documents.stop();
          connection.close();
        },
      };
    },
  };
}

function clusterPlace(url: string): ClusterDocumentsPlace {
  places += 1;
  const prefix = `cluster-place-${places}`;
  return {
    async open(nodeId) {
      const [owners, gateways] = [connectionOf(url), connectionOf(url)];
      const durability = new RedisDurability(owners, quiet);
      const documents = new RedisClusterDocuments({ owners, gateways, prefix, owner: nodeId, durability, log: quiet });
      return {
        documents,
        async close() {
          durability.stop();
          owners.close();
          gateways.close();
        },
      };
    },
  };
}

if (skip !== false) t.test('Redis', { skip }, async () => undefined);
else {
  // Both before the first test: tap ends when no test is left, whatever is awaited here.
  const server = await startRedis(t);
  const cluster = await startRedisCluster(t);
  documentsContract(t, 'Redis', () => place(server.url));
  documentsContract(t, 'Redis Cluster', () => place(cluster.url));
  clusterDocumentsContract(t, 'Redis', async () => clusterPlace(server.url));
  clusterDocumentsContract(t, 'Redis Cluster', async () => clusterPlace(cluster.url));

  const change = (id: string, value: string | undefined): DocumentChange => ({
    collection: 'event',
    tenant: 1,
    id,
    value,
  });
  const pair = (t: Test, shard: number, url = server.url): [RedisDocuments, RedisDocuments] =>
    ['a', 'b'].map((owner) => {
      const connection = connectionOf(owner === 'a' ? url : server.url);
      const documents = new RedisDocuments({
        connection,
        prefix: 'pair',
        shard,
        owner,
        log: quiet,
        onLostState: () => {
          t.fail('lost');
        },
      });
      t.teardown(() => {
        documents.stop();
        connection.close();
      });
      return documents;
    }) as [RedisDocuments, RedisDocuments];

  t.test('an older epoch cannot write, not even after a pause', async (t) => {
    const [former, next] = pair(t, 1);
    t.equal(await former.takeOver(5), 0);
    await former.commit([change('1', 'former')], 10);
    t.equal(await next.takeOver(6), 10, 'the position goes over');
    t.equal(await next.get('event', 1, '1'), 'former');
    await t.rejects(former.commit([change('1', 'late'), change('2', 'late')], 11), { name: 'Fenced' });
    await t.rejects(former.commit([change('3', 'late')], undefined), { name: 'Fenced' });
    await t.rejects(former.takeOver(5), { name: 'Fenced' });
    await next.commit([change('1', 'next')], 11);
    t.same(await next.getMany('event', 1, ['1', '2', '3']), ['next', undefined, undefined]);
    t.equal(await next.position(), 11);
    await t.rejects(former.check(), { name: 'Fenced' });
  });

  t.test('a commit that was held up while the shard was taken over is refused', async (t) => {
    const proxy = await FreezingProxy.start(t, server.port);
    const [former, next] = pair(t, 2, `redis://127.0.0.1:${proxy.port}`);
    await former.takeOver(1);
    await former.commit([change('1', 'a')], 1);
    proxy.freeze();
    const late = t.rejects(former.commit([change('1', 'late')], 2), { name: 'Fenced' });
    t.equal(await next.takeOver(2), 1);
    proxy.release();
    await late;
    t.equal(await next.get('event', 1, '1'), 'a');
  });

  t.test('the same epoch again: only by its owner, and its former commits count no more', async (t) => {
    const [first, second] = pair(t, 3);
    await first.takeOver(7);
    await t.rejects(second.takeOver(7), { name: 'Fenced' });
    await first.commit([change('1', 'a')], 4);
    t.equal(await first.takeOver(7), 4);
    await first.commit([change('1', 'b')], 5);
    t.equal(await first.check(), 5);
    await t.rejects(second.takeOver(6), { name: 'Fenced' });
    t.equal(await second.takeOver(8), 5);
  });

  t.test('without a take-over, after stop, and too large: refused', async (t) => {
    const [first, second] = pair(t, 4);
    await t.rejects(first.commit([change('1', 'a')], 1), /not taken over/);
    await first.takeOver(1);
    const many = Array.from({ length: COMMIT_CHANGES_MAX + 1 }, (_, index) => change(String(index), ''));
    await t.rejects(first.commit(many, 1), /300001 changes/);
    const text = 'ä'.repeat(1 + COMMIT_BYTES_MAX / 32);
    await t.rejects(
      first.commit(
        Array.from({ length: 16 }, (_, index) => change(String(index), text)),
        1,
      ),
      /bytes; Redis gets at most/,
    );
    t.same([await first.position(), first.pendingSize], [0, 0]);
    const last = first.commit([change('1', 'a')], 1);
    first.stop();
    await t.rejects(Promise.all([last, first.commit([change('1', 'b')], 2)]), { name: 'Stopped' });
    await t.rejects(first.takeOver(2), { name: 'Stopped' });
    await t.rejects(first.get('event', 1, '1'), { name: 'Stopped' });
    t.match(String(await second.takeOver(3)), /^[01]$/, 'what was under way may have been written');
  });

  t.test('large commits: many changes, large values, removed again', async (t) => {
    const [documents] = pair(t, 5);
    await documents.takeOver(1);
    const many = Array.from({ length: 100_000 }, (_, index) =>
      change(`m${String(index).padStart(7, '0')}`, `value ${index}`),
    );
    await documents.commit(many, 1);
    t.equal((await documents.list('event', 1, 'm', { limit: 200_000 })).length, 100_000);
    t.equal(
      (
        await documents.getMany(
          'event',
          1,
          many.map(({ id }) => id),
        )
      ).at(-1),
      'value 99999',
    );
    await documents.commit(
      many.map(({ id }) => change(id, undefined)),
      2,
    );
    t.same(await documents.list('event', 1, '', { limit: 10 }), []);
    const value = 'x'.repeat(2_000_000);
    await documents.commit(
      Array.from({ length: 30 }, (_, index) => change(`large ${index}`, value)),
      3,
    );
    t.same([await documents.position(), (await documents.get('event', 1, 'large 29'))?.length], [3, value.length]);
  });
}
