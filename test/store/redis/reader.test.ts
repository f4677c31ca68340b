/**
 * What gateways do with Redis: read documents of all shards, give ids, know who has a connection; and the checks of
 * `millrace doctor`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { shardOf, shardOfId } from '../../../src/ingest/journal/command-record.ts';
import { actorOfDocument } from '../../../src/model/commands/document-routing.ts';
import { RedisConnection } from '../../../src/store/redis/connection.ts';
import { RedisConnectionRegistry } from '../../../src/store/redis/connection-registry.ts';
import { checkRedis } from '../../../src/store/redis/doctor.ts';
import { RedisDocumentReader } from '../../../src/store/redis/document-reader.ts';
import { RedisDocuments } from '../../../src/store/redis/documents.ts';
import { judgeLook, readLook } from '../../../src/store/redis/durability.ts';
import type { DurabilityLook } from '../../../src/store/redis/durability.ts';
import { RedisIds } from '../../../src/store/redis/ids.ts';
import { compareUtf8, slotOf } from '../../../src/store/redis/keys.ts';
import { describeRedisTarget, readRedisTarget } from '../../../src/config/redis.ts';
import { Random } from '../../smartrest/random.ts';
import { connectionRegistryContract } from '../../cluster/contracts/connection-registry.ts';
import { idsInOrder } from '../ids-contract.ts';
import { Proxy, quiet, startRedis, startRedisCluster } from '../../helpers/stores/redis-server.ts';
import { missing } from '../../helpers/tools.ts';
import { until } from '../../helpers/until.ts';

const skip = missing('redis-server', 'redis-cli');
const byteOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

async function connect(t: Test, url: string): Promise<RedisConnection> {
  const connection = new RedisConnection({
    target: readRedisTarget(url),
    log: quiet,
    name: 'test',
    autoPipelining: true,
  });
  t.teardown(() => {
    connection.close();
  });
  await connection.ready(10_000);
  return connection;
}

for (const kind of ['server', 'cluster']) {
  t.test(`documents of all shards are found and listed in byte order, ${kind}`, { skip }, async (t) => {
    const { url } = kind === 'server' ? await startRedis(t) : await startRedisCluster(t);
    const connection = await connect(t, url);
    const reader = new RedisDocumentReader(connection, 'p');
    const shards = await Promise.all(
      Array.from({ length: 64 }, async (_, shard) => {
        const documents = new RedisDocuments({
          connection,
          prefix: 'p',
          shard,
          owner: 'o',
          log: quiet,
          onLostState: () => {
            t.fail('lost');
          },
        });
        t.teardown(() => {
          documents.stop();
        });
        await documents.takeOver(1);
        return documents;
      }),
    );
    const put = (
      collection: 'session' | 'managedObject' | 'children' | 'externalId',
      ids: readonly string[],
    ): Promise<unknown> =>
      Promise.all(
        ids.map((id) =>
          shards[shardOf(1, actorOfDocument(collection, id) as string)].commit(
            [{ collection, tenant: 1, id, value: `v${id}` }],
            undefined,
          ),
        ),
      );
    const names = Array.from(
      { length: 700 },
      (_, index) => `${['device ', 'ä', '😀', '\uffff', 'z'][index % 5]}${index}`,
    );
    const numbers = Array.from({ length: 300 }, (_, index) => String(1_000 + index));
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
    for (const limit of [1, 10, 500, 699, 700, 5_000])
      t.same(
        (await reader.list('session', 1, '', { limit })).map(({ id }) => id),
        sorted.slice(0, limit),
        `limit ${limit}`,
      );
    const paged: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await reader.list('session', 1, '', after === undefined ? { limit: 97 } : { after, limit: 97 });
      paged.push(...page.map(({ id }) => id));
      if (page.length < 97) break;
      after = page[96].id;
    }
    t.same(paged, sorted);
    t.same(
      await reader.list('session', 1, 'ä', { after: 'ä31', limit: 3 }),
      sorted
        .filter((id) => id.startsWith('ä') && id > 'ä31')
        .slice(0, 3)
        .map((id) => ({ id, value: `v${id}` })),
    );
    t.same(await reader.list('session', 1, '', { limit: 0 }), []);
    t.same((await reader.list('children', 1, '7\n', { limit: 1_000 })).length, 300);
    t.same((await reader.list('externalId', 1, 'c8y_Serial\n10', { limit: 1_000 })).length, 100);
    t.same((await reader.list('managedObject', 1, '101', { limit: 1_000 })).length, 10);
    t.same(await reader.getMany('managedObject', 1, ['1299', 'x', '1000', '1300', '1000']), [
      'v1299',
      undefined,
      'v1000',
      undefined,
      'v1000',
    ]);
    t.same(await reader.getMany('managedObject', 1, []), []);
    t.equal(await reader.get('session', 1, '😀2'), 'v😀2');
    t.equal(await reader.get('session', 2, '😀2'), undefined);
    await shards[9].commit([{ collection: 'meta', tenant: 0, id: 'x', value: 'of shard 9' }], 4);
    t.equal(await reader.get('meta', 0, 'x'), undefined, 'each shard has meta of its own');
    t.equal(await reader.inShard(9).get('meta', 0, 'x'), 'of shard 9');
    t.same(await reader.inShard(9).list('meta', 0, '', { limit: 5 }), [{ id: 'x', value: 'of shard 9' }]);
    t.same(await reader.inShard(9).getMany('meta', 0, ['x', 'y']), ['of shard 9', undefined]);
    t.same([await reader.positionOf(9), await reader.positionOf(8)], [4, 0]);
  });
}

t.test('two nodes start at once: each document is that of one', { skip }, async (t) => {
  const { url } = await startRedisCluster(t);
  const readers = await Promise.all([0, 1, 2].map(async () => new RedisDocumentReader(await connect(t, url), 'p')));
  const answers = await Promise.all(
    readers.map((reader, node) =>
      reader.commitOnce(
        ['a', 'b', 'c']
          .map((id) => ({ collection: 'user' as const, tenant: 1, id, value: `of node ${node}` }))
          .concat([{ collection: 'meta' as any, tenant: 0, id: 'schema', value: `of node ${node}` }]),
      ),
    ),
  );
  for (const [index, id] of ['a', 'b', 'c'].entries()) {
    const stored = (await readers[0].get('user', 1, id)) as string;
    for (const [node, answer] of answers.entries())
      t.equal(answer[index], stored === `of node ${node}` ? undefined : stored);
  }
  t.match(await readers[0].get('meta', 0, 'schema'), /of node/);
  t.same(
    (await readers[0].list('user', 1, '', { limit: 9 })).map(({ id }) => id),
    ['a', 'b', 'c'],
  );
  const version = { collection: 'meta', tenant: 0, id: 'version' } as const;
  await readers[0].raise({ ...version, value: '9' });
  t.equal(await readers[0].get('meta', 0, 'version'), undefined, 'only commitOnce writes a new document');
  await readers[0].commitOnce([{ ...version, value: '9' }]);
  for (const [value, stored] of [
    ['10', '10'],
    ['9', '10'],
    ['11', '11'],
  ]) {
    await readers[0].raise({ ...version, value });
    t.equal(await readers[1].get('meta', 0, 'version'), stored);
  }
  t.same(await readers[0].list('meta', 0, 'schema', { limit: 9 }), [
    { id: 'schema', value: await readers[0].get('meta', 0, 'schema') },
  ]);
});

t.test('ids of three nodes are unique, grow, and stay so when Redis forgets its last second', { skip }, async (t) => {
  const server = await startRedis(t);
  const connection = await connect(t, server.url);
  const seen = new Set<number>();
  const take = (ids: RedisIds, count: number): void => {
    let last = -1;
    for (let index = 0; index < count; index += 1) {
      const want = ids.peek();
      const id = ids.next();
      if (id !== want || id <= last || seen.has(id) || !Number.isSafeInteger(id)) t.fail(`${id} after ${last}`);
      seen.add(id);
      last = id;
    }
  };
  const nodes = await Promise.all([0, 1, 2].map(() => RedisIds.open({ connection, prefix: 'p', log: quiet })));
  for (const ids of nodes) take(ids, 1_000);
  take(await RedisIds.open({ connection, prefix: 'p', log: quiet }), 1_000);
  for (const key of [4_711, 's:device', 't']) {
    const id = nodes[0].nextBeside(3, key);
    t.equal(shardOfId(3, id), shardOf(3, key));
    t.notOk(seen.has(id));
  }
  // The reservations of two more blocks are lost.
  const before = server.cli('HGET', 'p:ids', 'next');
  take(await RedisIds.open({ connection, prefix: 'p', log: quiet }), 1_000);
  take(await RedisIds.open({ connection, prefix: 'p', log: quiet }), 1_000);
  server.cli('HSET', 'p:ids', 'next', before);
  await server.kill();
  await server.start();
  await connection.ready(10_000);
  take(await RedisIds.open({ connection, prefix: 'p', log: quiet }), 1_000);
  take(nodes[1], 1_000);
  t.ok((await RedisIds.open({ connection, prefix: 'p', log: quiet, above: 2 ** 50 })).next() > 2 ** 50);
});

t.test('the next block is reserved ahead; without Redis ids end rather than repeat', { skip }, async (t) => {
  const server = await startRedis(t);
  const connection = await connect(t, server.url);
  const ids = await RedisIds.open({ connection, prefix: 'p', log: quiet });
  t.teardown(() => {
    ids.stop();
  });
  let last = 0;
  for (let count = 0; count < 2_200_000; count += 1) last = ids.next();
  await until('the next block', () => Number(server.cli('HGET', 'p:ids', 'next')) > last + 4_194_304);
  await server.kill();
  t.throws(() => {
    for (;;) last = Math.max(last, ids.next());
  }, /no reserved ids are left/);
  await server.start();
  t.ok(last < Number(server.cli('HGET', 'p:ids', 'next')));
  await until('it goes on', () => {
    try {
      return ids.next() > last;
    } catch {
      return false; /* Not yet. */
    }
  });
});

for (const kind of ['server', 'cluster']) {
  t.test(`ids in order, of three nodes, ${kind}`, { skip }, async (t) => {
    const { url } = kind === 'server' ? await startRedis(t) : await startRedisCluster(t);
    const connection = await connect(t, url);
    const nodes = await Promise.all([0, 1, 2].map(() => RedisIds.open({ connection, prefix: 'p', log: quiet })));
    await idsInOrder(t, (turn) => nodes[turn % 3]);
  });
}

t.test('ids in order go on above when Redis comes back, and are refused while it is away', { skip }, async (t) => {
  const server = await startRedis(t);
  const proxy = await new Proxy(server.port).listen(t);
  const connection = new RedisConnection({
    target: readRedisTarget(proxy.url),
    log: quiet,
    name: 'test',
    commandTimeoutMs: 300,
  });
  t.teardown(() => {
    connection.close();
  });
  await connection.ready(10_000);
  const ids = await RedisIds.open({ connection, prefix: 'p', log: quiet });
  const refused = { code: 'general/documents-unavailable', status: 503 };
  const first = await ids.nextInOrder();
  proxy.onRequest = () => 'drop-answer';
  await t.rejects(ids.nextInOrder(), refused);
  proxy.onRequest = () => 'pass';
  await connection.ready(10_000);
  const [second] = await ids.nextBesideInOrder(3, [4_711]);
  t.ok(second > first);
  // What was reserved since is lost.
  server.cli('HSET', 'p:ids', 'next', String(first));
  await server.kill();
  await t.rejects(ids.nextBesideInOrder(3, [4_711]), refused);
  await server.start();
  let third = 0;
  await until('it goes on', async () => {
    third = await ids.nextInOrder().catch(() => 0);
    return third > 0;
  });
  t.ok(third > second);
});

if (skip === false) {
  connectionRegistryContract(t, 'Redis', async (t) => {
    const server = await startRedis(t);
    const [a, b] = [await connect(t, server.url), await connect(t, server.url)];
    const forget = async (): Promise<void> => {
      await server.kill();
      await server.start();
      await Promise.all([a.ready(10_000), b.ready(10_000)]);
    };
    return { a: new RedisConnectionRegistry(a, 'p'), b: new RedisConnectionRegistry(b, 'p'), forget };
  });
}

t.test('who has a connection: a lost answer, ten thousand claims, no Redis', { skip }, async (t) => {
  const server = await startRedis(t);
  const proxy = await new Proxy(server.port).listen(t);
  const registry = new RedisConnectionRegistry(await connect(t, server.url), 'p');
  // The answer of a claim is lost: its repetition still says who had it before.
  const broken = new RedisConnectionRegistry(await connect(t, proxy.url), 'p');
  let drops = 0;
  proxy.onRequest = (chunk) => {
    if (!chunk.includes('lossy') || drops > 0) return 'pass';
    drops += 1;
    return 'drop-answer';
  };
  await registry.claim(1, 'lossy', 'node-a', '1');
  t.same(await broken.claim(1, 'lossy', 'node-b', '2'), { nodeId: 'node-a', connectionId: '1' });
  t.equal(drops, 1);

  const began = performance.now();
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => registry.claim(1, `d${index}`, 'node-a', `${round}`)),
    );
    if (round === 0) t.equal(server.cli('EXISTS', 'p:conn:1/d999'), '1');
  }
  const rate = (10_000 / (performance.now() - began)) * 1_000;
  t.ok(rate > 2_000, `${Math.round(rate)} claims a second`);
  await server.kill();
  await t.rejects(registry.claim(1, 'x', 'node-a', '1'), { code: 'general/documents-unavailable' });
});

t.test('doctor: what is wrong with Redis is told with its remedy', { skip }, async (t) => {
  const good = await startRedis(t);
  const findings = await checkRedis(readRedisTarget(good.url), { prefix: 'p' });
  t.same(
    findings.filter(({ state }) => state !== 'ok'),
    [],
  );
  t.match(
    findings.map(({ fact }) => fact).join('\n'),
    /version 7[^]*noeviction[^]*appendfsync always[^]*clock[^]*may read and write p/,
  );
  t.equal(good.cli('KEYS', '*'), '', 'nothing is left');
  const bad = await startRedis(t, '--appendonly', 'no', '--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru');
  writeFileSync(join(bad.directory, 'acl'), '');
  bad.cli('ACL', 'SETUSER', 'weak', 'on', '>secret', '~p:*', '+@all', '-hset', '-config');
  const wrong = await checkRedis(readRedisTarget(`redis://weak:secret@127.0.0.1:${bad.port}`), { prefix: 'p' });
  const texts = wrong.filter(({ state }) => state !== 'ok').map(({ state, fact }) => `${state} ${fact}`);
  t.match(texts.join('\n'), /fail .*allkeys-lru/);
  t.match(
    texts.join('\n'),
    /fail .*appendonly off/,
    'CONFIG is not permitted: whether there are snapshots is not known',
  );
  t.match(
    (
      await checkRedis(readRedisTarget(`redis://weak:secret@127.0.0.1:${bad.port}`), {
        prefix: 'p',
        isLossAccepted: true,
      })
    )
      .map(({ state, fact }) => `${state} ${fact}`)
      .join('\n'),
    /warn .*appendonly off/,
    'what is lost with the nodes is accepted',
  );
  t.match(texts.join('\n'), /fail the user weak may not use the command hset/);
  t.match(texts.join('\n'), /fail the user weak may not read and write \{p:\*/);
  t.match(
    (await checkRedis(readRedisTarget(bad.url), { prefix: 'p' }))
      .map(({ state, fact }) => `${state} ${fact}`)
      .join('\n'),
    /fail .*nothing to disk/,
  );
  t.ok(wrong.every(({ state, remedy }) => state === 'ok' || remedy !== undefined));
  await bad.kill();
  t.match(await checkRedis(readRedisTarget(bad.url), { prefix: 'p', timeoutMs: 500 }), [
    { state: 'fail', remedy: /start Redis/ },
  ]);
});

t.test(
  'doctor: each command and each family of keys that a user may not use is a finding of its own',
  { skip },
  async (t) => {
    const server = await startRedis(t);
    const ALL = [
      '+@read',
      '+@write',
      '+@hash',
      '+@sortedset',
      '+@string',
      '+@scripting',
      '+@connection',
      '+info',
      '+cluster',
    ];
    const KEYS = ['~{p:*', '~p:*'];
    const users: Readonly<Record<string, [rules: readonly string[], remedies: readonly string[]]>> = {
      enough: [[...KEYS, ...ALL], []],
      commands: [
        [...KEYS, ...ALL, '-hgetall', '-zrangebylex'],
        ['+hgetall', '+zrangebylex'],
      ],
      info: [
        [...KEYS, ...ALL, '-info', '-ping'],
        ['+info', '+ping'],
      ],
      scripts: [
        [...KEYS, ...ALL, '-eval', '-evalsha'],
        ['+eval', '+evalsha'],
      ],
      writes: [
        [...KEYS, ...ALL, '-del', '-hdel', '-zrem'],
        ['+del', '+hdel', '+zrem'],
      ],
      shards: [['~{p:all}*', '~{p:blocks}*', '~{p:1*', '~p:*', ...ALL], ['~{p:*']],
      blocks: [['~{p:all}*', ...Array.from({ length: 64 }, (_, shard) => `~{p:${shard}}*`), '~p:*', ...ALL], ['~{p:*']],
      ids: [['~{p:*', '~p:conn:*', '~p:first-start', ...ALL], ['~p:*']],
      connections: [['~{p:*', '~p:ids', '~p:first-start', ...ALL], ['~p:*']],
      reader: [
        ['~{p:*', '%R~p:*', ...ALL],
        ['~p:*', '~p:*', '~p:*'],
      ],
    };
    server.cli('HSET', 'p:ids', 'next', '5000', 'run', 'x');
    server.cli('HSET', '{p:blocks}:b', 't', 'begun');
    server.cli('SET', '{p:3}:epoch', '7');
    const before =
      server.cli('--raw', 'EVAL', "local all = redis.call('KEYS', '*') table.sort(all) return all", '0') +
      server.cli('HGETALL', 'p:ids');
    for (const [user, [rules, remedies]] of Object.entries(users)) {
      server.cli('ACL', 'SETUSER', user, 'on', '>secret', ...rules);
      const findings = await checkRedis(readRedisTarget(`redis://${user}:secret@127.0.0.1:${server.port}`), {
        prefix: 'p',
      });
      const failed = findings.filter(({ state }) => state === 'fail');
      t.same(
        failed.map(({ remedy }) => remedy).sort(),
        remedies.map((remedy) => `ACL SETUSER ${user} ${remedy}`).sort(),
        user,
      );
      if (user === 'blocks') t.match(failed[0].fact, /blocks of rows/);
      if (user === 'connections') t.match(failed[0].fact, /p:\* \(connections of devices\)/);
      if (remedies.length === 0)
        t.match(findings.at(-1), { state: 'ok', name: 'redis rights' }, 'what docs/internals/redis.md names is enough');
    }
    const after =
      server.cli('--raw', 'EVAL', "local all = redis.call('KEYS', '*') table.sort(all) return all", '0') +
      server.cli('HGETALL', 'p:ids');
    t.equal(after, before, 'nothing is left, and nothing changed');
  },
);

t.test('doctor: a Redis Cluster, each server with users of its own', { skip }, async (t) => {
  const { servers, url } = await startRedisCluster(t, '--maxmemory-policy', 'noeviction');
  for (const server of servers)
    server.cli(
      'ACL',
      'SETUSER',
      'mill',
      'on',
      '>secret',
      '~{p:*',
      '~p:*',
      '+@all',
      ...(server === servers[1] ? ['-hgetall'] : []),
    );
  const target = readRedisTarget(url.replace('redis://', 'redis://mill:secret@'));
  const failed = (await checkRedis(target, { prefix: 'p' })).filter(({ state }) => state === 'fail');
  t.same(
    failed.map(({ remedy }) => remedy),
    ['ACL SETUSER mill +hgetall'],
  );
  servers[1].cli('ACL', 'SETUSER', 'mill', '+hgetall');
  t.match((await checkRedis(target, { prefix: 'p' })).at(-1), { state: 'ok', name: 'redis rights' });
  for (const server of servers) t.equal(server.cli('KEYS', '*'), '', 'nothing is left');
});

t.test('settings', async (t) => {
  t.same(readRedisTarget('redis://localhost'), {
    kind: 'server',
    addresses: [{ host: 'localhost', port: 6379 }],
    database: 0,
  });
  t.same(readRedisTarget('rediss://u:p%40@h:1/3'), {
    kind: 'server',
    addresses: [{ host: 'h', port: 1 }],
    database: 3,
    username: 'u',
    password: 'p@',
    tls: {},
  });
  t.same(readRedisTarget('redis://a:1, redis://[::1]:2'), {
    kind: 'cluster',
    addresses: [
      { host: 'a', port: 1 },
      { host: '::1', port: 2 },
    ],
    database: 0,
  });
  t.match(readRedisTarget('redis://a?cluster'), { kind: 'cluster' });
  t.match(readRedisTarget('redis://:pw@a,redis://b:5?sentinel=main&sentinel-password=x'), {
    kind: 'sentinel',
    master: 'main',
    sentinelPassword: 'x',
    password: 'pw',
    addresses: [
      { host: 'a', port: 26_379 },
      { host: 'b', port: 5 },
    ],
  });
  t.equal(describeRedisTarget(readRedisTarget('rediss://u:secret@a,rediss://b')), 'cluster at a:6379, b:6379 (TLS)');
  for (const [text, message] of [
    ['', /no URL/],
    ['http://a', /redis:\/\/ or rediss/],
    ['redis://a,rediss://b', /mix/],
    ['redis://a/1,redis://b/1', /only the database 0/],
    ['redis://a/x', /database of Redis is x/],
    ['redis://a?foo=1', /option foo/],
    ['redis://a?sentinel=', /names no master/],
    ['a b', /cannot be read/],
  ] as const) {
    t.throws(() => readRedisTarget(text), message, text);
  }
});

t.test('slots and the order of ids', async (t) => {
  // Redis Cluster specification, appendix A, and CLUSTER KEYSLOT of a server.
  t.same(['123456789', 'foo', '{user1000}.following', 'foo{}{bar}', 'foo{{bar}}zap', '{p:7}:epoch'].map(slotOf), [
    0x31c3,
    12_182,
    slotOf('user1000'),
    slotOf('foo{}{bar}'),
    slotOf('{bar'),
    slotOf('p:7'),
  ]);
  const random = new Random();
  const parts = ['a', '\u0000', 'ä', '温', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}'];
  for (let round = 0; round < 3_000; round += 1) {
    const [a, b] = [0, 1].map(() => Array.from({ length: random.below(4) }, () => random.pick(parts)).join(''));
    if (Math.sign(compareUtf8(a, b)) !== byteOrder(a, b)) t.fail(`${JSON.stringify([a, b])}, seed ${random.seed}`);
  }
});

t.test('what is known to be on disk', async (t) => {
  const look = (at: number, changes: Partial<DurabilityLook> = {}): DurabilityLook => ({
    sentAt: at,
    receivedAt: at + 1,
    runId: 'a',
    mode: 'everysec',
    isWriteOk: true,
    isSyncing: false,
    offset: at,
    ...changes,
  });
  const settled = (...looks: DurabilityLook[]): number => {
    let state: ReturnType<typeof judgeLook> | undefined;
    for (const next of looks) state = judgeLook(state, next);
    return state?.settledAt ?? -Infinity;
  };
  t.equal(settled(look(10_000)), -Infinity, 'one look says nothing');
  t.equal(settled(look(10_000), look(11_000)), -Infinity, 'too near');
  t.equal(settled(look(10_000), look(11_500)), 6_800);
  t.equal(settled(look(10_000), look(11_500, { isSyncing: true })), -Infinity, 'a sync is under way');
  t.equal(settled(look(10_000), look(11_500, { isSyncing: true }), look(13_000)), 6_800);
  t.equal(settled(look(10_000), look(11_500), look(13_000, { isWriteOk: false })), 6_800, 'what was safe stays so');
  t.equal(settled(look(10_000), look(11_500, { isWriteOk: false }), look(13_000)), -Infinity);
  t.equal(settled(look(10_000), look(11_500, { runId: 'b' })), -Infinity, 'another run');
  t.equal(settled(look(10_000, { mode: 'always' }), look(11_500, { mode: 'always' })), 10_000);
  t.equal(settled(look(10_000, { mode: 'none' }), look(11_500, { mode: 'none' })), -Infinity);
  t.equal(settled(look(100_000, { mode: 'no' }), look(101_500, { mode: 'no' })), 40_000);
  t.equal(settled(look(10_000), look(11_500, { replicaOffset: 9_999 })), -Infinity, 'a replica is behind');
  t.equal(settled(look(10_000), look(11_500, { replicaOffset: 10_000 })), 6_800);
  t.equal(settled(look(10_000, { mode: 'snapshot' }), look(11_500, { mode: 'snapshot', snapshotAt: 9_000 })), 7_000);
  const info = [
    'server_time_usec:1000000000',
    'run_id:x',
    'aof_enabled:1',
    'aof_last_write_status:ok',
    'aof_pending_bio_fsync:1',
    'aof_rewrite_in_progress:0',
    'master_repl_offset:77',
    'slave0:ip=1,port=2,state=online,offset=70,lag=0',
    'slave1:ip=1,port=3,state=online,offset=60,lag=1',
    'rdb_last_bgsave_status:ok',
    'rdb_last_bgsave_time_sec:-1',
    'rdb_last_save_time:990',
  ].join('\r\n');
  const times = { sentAt: 5_000, receivedAt: 5_001 };
  t.same(readLook(info, [], times), {
    ...times,
    runId: 'x',
    mode: 'everysec',
    isModeGuessed: true,
    isWriteOk: true,
    isSyncing: true,
    offset: 77,
    replicaOffset: 60,
  });
  t.match(readLook(info, ['no-appendfsync-on-rewrite', 'no', 'appendfsync', 'always'], times), { mode: 'always' });
  t.match(readLook(info.replace('aof_enabled:1', 'aof_enabled:0'), [], times), { mode: 'none' });
  t.match(readLook(info.replace('aof_enabled:1', 'aof_enabled:0').replace('time_sec:-1', 'time_sec:4'), [], times), {
    mode: 'snapshot',
    snapshotAt: 5_000 - 14_000,
    isSyncing: false,
  });
});
