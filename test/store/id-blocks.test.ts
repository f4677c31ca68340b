/** Ids grow and never repeat, whatever happens to the process. */
import t from 'tap';
import { shardOf, shardOfId } from '../../src/ingest/journal/command-record.ts';
import { IdBlocks } from '../../src/store/id-blocks.ts';
import { LmdbDocuments } from '../../src/store/lmdb/documents.ts';
import { openEnvironment } from '../actors/platform.ts';
import { idsInOrder } from './ids-contract.ts';

const fail = (error: Error): void => {
  throw error;
};

t.test('ids over restarts grow and never repeat', async (t) => {
  const documents = new LmdbDocuments(openEnvironment(t));
  let last = 0;
  for (let round = 0; round < 5; round += 1) {
    const ids = await IdBlocks.open(documents, fail);
    t.equal(ids.peek(), ids.peek());
    for (let count = 0; count < 1_000; count += 1) {
      const want = ids.peek();
      const id = ids.next();
      if (id !== want || id <= last || !Number.isSafeInteger(id)) t.fail(`${id} after ${last}`);
      last = id;
    }
  }
  t.ok(last >= 1_000);
});

t.test('the next block is reserved before this one ends; without a store ids end rather than repeat', async (t) => {
  const stored = new LmdbDocuments(openEnvironment(t));
  const errors: Error[] = [];
  let isDown = false;
  const commits: Promise<void>[] = [];
  const ids = await IdBlocks.open(
    {
      get: (...place) => stored.get(...place),
      getMany: () => [],
      list: () => [],
      position: () => 0,
      commit: (...change) => {
        if (isDown) return Promise.reject(new Error('down'));
        commits.push(stored.commit(...change));
        return commits[commits.length - 1];
      },
    },
    (error) => {
      errors.push(error);
    },
  );
  const reserved = (): number => Number(stored.get('meta', 0, 'ids'));
  const first = reserved();
  for (let count = 0; count < 2_200_000; count += 1) ids.next();
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  await Promise.all(commits);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  t.ok(reserved() > first);
  isDown = true;
  let given = ids.peek();
  t.throws(() => {
    for (;;) given = ids.next();
  }, /no reserved ids/);
  t.ok(given < reserved());
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  t.match(errors[0]?.message, /down/);
});

t.test('an id beside an actor lies in its shard, and ids go on growing', async (t) => {
  const stored = new Map<string, string>();
  const ids = await IdBlocks.open(
    {
      get: (_collection, _tenant, id) => stored.get(id),
      getMany: () => [],
      list: () => [],
      position: () => 0,
      commit: async (changes) => {
        for (const { id, value } of changes) stored.set(id, value ?? '');
      },
    },
    (error) => {
      throw error;
    },
  );
  let last = ids.next();
  for (const key of [4711, 9_007_199_254_740_991, 's:device', 't']) {
    const id = ids.nextBeside(3, key);
    t.equal(shardOfId(3, id), shardOf(3, key), `beside ${key}`);
    t.ok(id > last, 'grows');
    last = id;
  }
});

t.test('ids in order', async (t) => {
  const documents = new LmdbDocuments(openEnvironment(t));
  const ids = await IdBlocks.open(documents, fail);
  await idsInOrder(t, () => ids);
});
