/**
 * What every adapter of ClusterDocuments, of its ShardDocuments and of BlockStore promises; run by the tests of the
 * adapters.
 */
import type { Test } from 'tap';
import type { DocumentChange } from '../../../src/ports/stores/documents.ts';
import type { BlockStore, ClusterDocuments } from '../../../src/ports/cluster/documents.ts';
import { SHARD_COUNT, shardOf } from '../../../src/ingest/journal/command-record.ts';
import type { Collection } from '../../../src/model/commands/collections.ts';
import { actorOfDocument } from '../../../src/model/commands/document-routing.ts';

export interface OpenClusterDocuments {
  readonly documents: ClusterDocuments;
  close(): Promise<void>;
}
/** A store of its own; each `open` is a node that works on it. */
export interface ClusterDocumentsPlace {
  open(nodeId: string): Promise<OpenClusterDocuments>;
}

const TENANT = 1;
const byteOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const shardOfDocument = (collection: Collection, id: string): number =>
  shardOf(TENANT, actorOfDocument(collection, id)!);
/** Ids of managed objects of the shard. */
const idsOf = (shard: number, count: number): string[] =>
  Array.from({ length: 10_000 }, (_, index) => String(1_000 + index))
    .filter((id) => shardOfDocument('managedObject', id) === shard)
    .slice(0, count);
const change = (id: string, value: string | undefined, collection: Collection = 'managedObject'): DocumentChange => ({
  collection,
  tenant: TENANT,
  id,
  value,
});
const onLostState = (): void => {
  throw new Error('the state is lost');
};

export function clusterDocumentsContract(
  t: Test,
  name: string,
  newPlace: (t: Test) => Promise<ClusterDocumentsPlace>,
): void {
  const test = (title: string, run: (t: Test, a: ClusterDocuments, b: ClusterDocuments) => Promise<void>): void => {
    t.test(`${name}: ${title}`, async (t) => {
      const place = await newPlace(t);
      const [a, b] = [await place.open('a'), await place.open('b')];
      await run(t, a.documents, b.documents);
      await a.close();
      await b.close();
    });
  };

  test('what owners commit is read at every node, from whatever shard, and listed in byte order', async (t, a, b) => {
    const shards = Array.from({ length: SHARD_COUNT }, (_, shard) =>
      (shard % 2 === 0 ? a : b).open(shard, onLostState),
    );
    await Promise.all(shards.map((shard) => shard.takeOver(1)));
    const names = Array.from(
      { length: 300 },
      (_, index) => `${['device ', 'ä', '😀', '\uffff', 'z'][index % 5]}${index}`,
    );
    const numbers = Array.from({ length: 200 }, (_, index) => String(1_000 + index));
    const put = (collection: Collection, ids: readonly string[]): Promise<unknown> =>
      Promise.all(
        ids.map((id) => shards[shardOfDocument(collection, id)].commit([change(id, `v${id}`, collection)], undefined)),
      );
    await put('session', names);
    await put('managedObject', numbers);
    await put(
      'children',
      numbers.map((id) => `7\nchildDevices\n${id}`),
    );
    await put(
      'externalId',
      numbers.map((id) => `c8y_Serial\n${id}`),
    );
    const sorted = [...names].sort(byteOrder);
    for (const { reader } of [a, b]) {
      for (const limit of [0, 1, 10, 299, 300, 5_000]) {
        t.same(
          (await reader.list('session', TENANT, '', { limit })).map(({ id }) => id),
          sorted.slice(0, limit),
          `limit ${limit}`,
        );
      }
      t.same(
        (await reader.list('session', TENANT, '', { after: sorted[120], limit: 7 })).map(({ id }) => id),
        sorted.slice(121, 128),
      );
      t.same(
        (await reader.list('session', TENANT, 'ä', { limit: 1_000 })).map(({ id }) => id),
        sorted.filter((id) => id.startsWith('ä')),
      );
      t.same(
        (await reader.list('managedObject', TENANT, '10', { limit: 1_000 })).map(({ id }) => id),
        numbers.filter((id) => id.startsWith('10')),
      );
      t.equal((await reader.list('children', TENANT, '7\nchildDevices\n', { limit: 1_000 })).length, 200);
      t.equal((await reader.list('externalId', TENANT, 'c8y_Serial\n11', { limit: 1_000 })).length, 100);
      t.equal(await reader.get('managedObject', TENANT, '1150'), 'v1150');
      t.equal(await reader.get('managedObject', TENANT + 1, '1150'), undefined, 'tenants are apart');
      t.same(await reader.getMany('managedObject', TENANT, ['1007', '5', '1001', '1007']), [
        'v1007',
        undefined,
        'v1001',
        'v1007',
      ]);
      const shard = shardOfDocument('managedObject', '1150');
      t.equal(await reader.inShard(shard).get('managedObject', TENANT, '1150'), 'v1150');
      t.equal(await reader.inShard((shard + 1) % SHARD_COUNT).get('managedObject', TENANT, '1150'), undefined);
    }
    for (const shard of shards) shard.stop();
  });

  test('meta and pending are of each shard', async (t, a, b) => {
    const [one, other] = [a.open(1, onLostState), a.open(2, onLostState)];
    await Promise.all([one, other].map((shard) => shard.takeOver(1)));
    await one.commit([change('x', 'of 1', 'meta'), change('1-1-0', 'from 1', 'pending')], 4);
    await other.commit([change('x', 'of 2', 'meta')], 5);
    t.same([await one.get('meta', TENANT, 'x'), await other.get('meta', TENANT, 'x')], ['of 1', 'of 2']);
    for (const { reader } of [a, b]) {
      t.same(
        [await reader.inShard(1).get('meta', TENANT, 'x'), await reader.inShard(2).get('meta', TENANT, 'x')],
        ['of 1', 'of 2'],
      );
      t.same(await reader.inShard(1).list('pending', TENANT, '', { limit: 5 }), [{ id: '1-1-0', value: 'from 1' }]);
      t.same(await reader.inShard(1).getMany('pending', TENANT, ['1-1-0', 'y']), ['from 1', undefined]);
      t.same(await reader.inShard(2).list('pending', TENANT, '', { limit: 5 }), []);
      t.same(
        [await reader.get('meta', TENANT, 'x'), await reader.list('pending', TENANT, '', { limit: 5 })],
        [undefined, []],
        'those of the cluster are others',
      );
    }
    t.same([await one.position(), await other.position()], [4, 5]);
    for (const shard of [one, other]) shard.stop();
  });

  test('an older epoch cannot write', async (t, a, b) => {
    const [former, next] = [a.open(3, onLostState), b.open(3, onLostState)];
    const [first, second, third] = idsOf(3, 3);
    t.equal(await former.takeOver(5), 0);
    await former.commit([change(first, 'former')], 10);
    t.equal(await next.takeOver(6), 10, 'the position goes over');
    t.equal(await next.get('managedObject', TENANT, first), 'former');
    await t.rejects(former.commit([change(first, 'late'), change(second, 'late')], 11), { name: 'Fenced' });
    await t.rejects(former.commit([change(third, 'late')], undefined), { name: 'Fenced' });
    await t.rejects(former.takeOver(5), { name: 'Fenced' });
    await next.commit([change(first, 'next')], 11);
    t.same(await b.reader.getMany('managedObject', TENANT, [first, second, third]), ['next', undefined, undefined]);
    t.equal(await next.position(), 11);
    const again = a.open(3, onLostState);
    t.equal(await again.takeOver(7), 11, 'an object of its own for each time');
    await again.commit([change(first, 'again')], 12);
    await t.rejects(next.commit([change(first, 'late')], 12), { name: 'Fenced' });
    t.equal(await b.reader.get('managedObject', TENANT, first), 'again');
    for (const shard of [former, next, again]) shard.stop();
  });

  test('the same epoch again takes nothing back', async (t, a) => {
    const shard = a.open(4, onLostState);
    const [id] = idsOf(4, 1);
    await shard.takeOver(7);
    await shard.commit([change(id, 'a')], 4);
    t.equal(await shard.takeOver(7), 4);
    await shard.commit([change(id, 'b')], 5);
    t.same([await shard.position(), await shard.get('managedObject', TENANT, id)], [5, 'b']);
    t.ok((await shard.durablePosition()) <= 5);
    shard.stop();
  });

  test('before the take-over and after stop nothing is written', async (t, a, b) => {
    const [first, second] = [a.open(5, onLostState), b.open(5, onLostState)];
    const [id, other] = idsOf(5, 2);
    await t.rejects(first.commit([change(id, 'early')], 1));
    await first.takeOver(1);
    await first.commit([change(id, 'a')], 1);
    const last = first.commit([change(other, 'b')], 2);
    first.stop();
    await Promise.allSettled([last]);
    await t.rejects(first.commit([change(id, 'late')], 3));
    await t.rejects(first.takeOver(2));
    t.ok([1, 2].includes(await second.takeOver(3)), 'what was under way may have been written');
    t.equal(await second.get('managedObject', TENANT, id), 'a');
    second.stop();
  });
}

/** @param open two nodes with the same blocks. */
export function blockStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<{ a: BlockStore; b: BlockStore }>,
): void {
  // More digits than a number of Lua keeps as a text.
  const first = 2 ** 52 + 1;
  const ranges = [
    { shard: 1, firstSeq: first, lastSeq: first + 10 },
    { shard: 2, firstSeq: first + 20, lastSeq: first + 31 },
  ];

  t.test(`${name}: a block is decided or abandoned, and divided once it is decided`, async (t) => {
    const { a, b } = await open(t);
    t.same([await a.list(), await a.decide('a', 'insert'), await a.split('a', first)], [[], undefined, undefined]);
    await a.begin('a', ranges);
    await a.begin('b', ranges);
    t.same((await b.list()).map(({ token, state }) => `${token} ${state}`).sort(), ['a begun', 'b begun']);
    t.equal(await a.split('a', first + 31), undefined, 'not before it is decided');
    t.same(await a.decide('a', 'insert'), { token: 'a', state: 'decided', ranges });
    t.equal(await b.decide('b', 'abandon'), undefined);
    t.equal(await a.decide('b', 'insert'), undefined, 'gone for good');
    const parts = [first + 7, first + 15, first + 31];
    await Promise.all([2, 1, 0, 1, 2].map((index) => (index === 1 ? b : a).split('a', parts[index])));
    const block = { token: 'a', state: 'decided', ranges, parts };
    t.same(await b.decide('a', 'abandon'), block);
    t.same(await a.decide('a', 'insert'), block);
    t.same(await b.list(), [block]);
    t.same(await a.split('a', first + 7), block);
    await b.remove('a');
    await b.remove('a');
    t.same([await a.split('a', first), await a.list()], [undefined, []]);
  });

  t.test(`${name}: nodes that decide at once agree`, async (t) => {
    const { a, b } = await open(t);
    for (let round = 0; round < 40; round += 1) {
      const token = `t${round}`;
      await a.begin(token, ranges);
      const calls = [
        () => a.decide(token, 'insert'),
        () => b.decide(token, 'abandon'),
        () => b.decide(token, 'insert'),
        () => a.decide(token, 'abandon'),
      ];
      const found = await Promise.all(
        [...calls.slice(round % 4), ...calls.slice(0, round % 4)].map((decide) => decide()),
      );
      const states = new Set(found.map((block) => block?.state));
      if (states.size !== 1) t.fail(`${[...states].join()} at once`);
      const stored = (await b.list()).find((block) => block.token === token);
      t.equal(stored?.state, found[0]?.state);
    }
  });
}
