/** Blocks in Redis: decided once, divided by whoever inserts them, sequences as they are. */
import t from 'tap';
import { RedisBlocks } from '../../src/store/redis-blocks.ts';
import { RedisConnection } from '../../src/store/redis-connection.ts';
import { readRedisTarget } from '../../src/store/redis-settings.ts';
import { quiet, startRedis } from '../helpers/redis-server.ts';
import { missing } from '../helpers/tools.ts';

const skip = missing('redis-server', 'redis-cli');

if (skip !== false) t.test('Redis', { skip }, async () => undefined);
else {
  const server = await startRedis(t);
  t.test('blocks', async (t) => {
    const connection = new RedisConnection({ target: readRedisTarget(server.url), log: quiet, name: 'test' });
    t.teardown(() => connection.close());
    await connection.ready(10_000);
    const blocks = new RedisBlocks(connection, 'blocks');
    // More digits than a number of Lua keeps as a text.
    const first = 2 ** 52 + 1;
    const ranges = [{ shard: 1, firstSeq: first, lastSeq: first + 10 }, { shard: 2, firstSeq: first + 20, lastSeq: first + 31 }];
    await blocks.begin('a', ranges);
    await blocks.begin('b', ranges);
    t.equal(await blocks.split('a', first + 31), undefined, 'not before it is decided');
    t.same(await blocks.decide('a', 'insert'), { token: 'a', state: 'decided', ranges });
    t.equal(await blocks.decide('b', 'abandon'), undefined);
    const parts = [first + 7, first + 15, first + 31];
    await Promise.all([2, 1, 0, 1, 2].map((index) => blocks.split('a', parts[index])));
    const block = { token: 'a', state: 'decided', ranges, parts };
    t.same(await blocks.decide('a', 'abandon'), block);
    t.same(await blocks.decide('a', 'insert'), block);
    t.same(await blocks.list(), [block]);
    t.same(await blocks.split('a', first + 7), block);
    await blocks.remove('a');
    t.same([await blocks.split('a', first), await blocks.list()], [undefined, []]);
  });
}
