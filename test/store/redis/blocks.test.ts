/** Blocks in Redis: decided once, divided by whoever inserts them, sequences as they are. */
import t from 'tap';
import { RedisBlocks } from '../../../src/store/redis/blocks.ts';
import { RedisConnection } from '../../../src/store/redis/connection.ts';
import { readRedisTarget } from '../../../src/config/redis.ts';
import { blockStoreContract } from '../../cluster/contracts/documents.ts';
import { quiet, startRedis } from '../../helpers/stores/redis-server.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('redis-server', 'redis-cli');

if (skip !== false) t.test('Redis', { skip }, async () => undefined);
else {
  const server = await startRedis(t);
  let places = 0;
  blockStoreContract(t, 'Redis', async (t) => {
    places += 1;
    const [a, b] = await Promise.all(
      ['a', 'b'].map(async () => {
        const connection = new RedisConnection({ target: readRedisTarget(server.url), log: quiet, name: 'test' });
        t.teardown(() => connection.close());
        await connection.ready(10_000);
        return new RedisBlocks(connection, `blocks-${places}`);
      }),
    );
    return { a, b };
  });
}
