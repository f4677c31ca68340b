/**
 * What a user of Redis has to be permitted: every command on each server, on keys of this check's own, and every family
 * of keys that nodes have, by a script that names them and does nothing.
 */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { SHARD_COUNT } from '../../ingest/journal/command-record.ts';
import type { Finding } from '../../ports/finding.ts';
import { redisProblem } from './connection.ts';
import type { RedisConnection } from './connection.ts';
import { RedisConnectionRegistry } from './connection-registry.ts';
import { CLUSTER_TAG, keysOf, slotOf } from './keys.ts';
import { CHECK, COMMIT, LIST, SET_ABSENT, TAKE_OVER } from './scripts.ts';

const NAME = 'redis rights';
/** Names its keys, for which the user's rights are looked at, and leaves them alone. */
const NOTHING = 'return 1';

interface Family {
  readonly pattern: string;
  readonly purpose: string;
  readonly keys: readonly (readonly string[])[];
}

/**
 * @returns a finding for each command and each family of keys that the user may not use, or one that says that there is
 * none.
 */
export async function checkRedisRights(connection: RedisConnection, prefix: string): Promise<Finding[]> {
  const user = connection.target.username ?? 'default';
  const id = `doctor-${randomBytes(6).toString('hex')}`;
  const found = new Map<string, Finding>();
  const others = new Set<string>();
  const missing = (fact: string, remedy: string): void => {
    found.set(fact, { state: 'fail', name: NAME, fact, remedy });
  };
  /** @returns whether the command is permitted, on some keys at least. */
  const attempt = async (run: () => Promise<unknown>, onKeys: () => void): Promise<boolean> => {
    try {
      await run();
      return true;
    } catch (error) {
      const { message } = error as Error;
      const command = /NOPERM.* run the '([^']+)' command/.exec(message)?.[1];
      if (command !== undefined)
        missing(`the user ${user} may not use the command ${command}`, `ACL SETUSER ${user} +${command}`);
      else if (message.startsWith('NOPERM')) onKeys();
      else if (!message.startsWith('NOSCRIPT')) others.add(redisProblem(error));
      return command === undefined;
    }
  };
  for (const { pattern, purpose, keys } of familiesOf(prefix, id)) {
    await Promise.all(
      keys.map((some) =>
        attempt(
          () => connection.client.eval(NOTHING, some.length, ...some),
          () =>
            missing(
              `the user ${user} may not read and write ${pattern} (${purpose})`,
              `ACL SETUSER ${user} ~${pattern}`,
            ),
        ),
      ),
    );
  }
  const areKeysPermitted = found.size === 0;
  for (const [node, client] of connection.masters()) await tryCommands(connection, client, node, prefix, id, attempt);
  if (areKeysPermitted && found.size === 0) {
    await attempt(
      () => tryScripts(connection, prefix, id),
      () => others.add('a script may not use its own keys'),
    );
    await attempt(
      () => tryRegistry(connection, prefix, id),
      () => others.add('a connection may not be claimed'),
    );
  }
  if (found.size > 0) return [...found.values()];
  if (others.size > 0)
    return [
      {
        state: 'fail',
        name: NAME,
        fact: `Redis refuses writes: ${[...others][0]}`,
        remedy: 'see its log, its memory and its disk',
      },
    ];
  return [{ state: 'ok', name: NAME, fact: `the user ${user} may read and write ${prefix}` }];
}

/** As docs/internals/redis.md lists them; keys of one list share a slot. */
function familiesOf(prefix: string, id: string): Family[] {
  const ofShard = (shard: number | typeof CLUSTER_TAG): string[] => {
    const { epoch, writer, position, documents, index } = keysOf(prefix, shard);
    return [
      epoch,
      writer,
      position,
      documents('managedObject'),
      index('managedObject'),
      documents('meta'),
      index('meta'),
    ];
  };
  return [
    {
      pattern: `{${prefix}:*`,
      purpose: 'documents of the shards',
      keys: Array.from({ length: SHARD_COUNT }, (_, shard) => ofShard(shard)),
    },
    { pattern: `{${prefix}:*`, purpose: 'what belongs to no shard', keys: [ofShard(CLUSTER_TAG)] },
    { pattern: `{${prefix}:*`, purpose: 'blocks of rows', keys: [[`{${prefix}:blocks}:b`]] },
    { pattern: `${prefix}:*`, purpose: 'ids', keys: [[`${prefix}:ids`]] },
    { pattern: `${prefix}:*`, purpose: 'connections of devices', keys: [[`${prefix}:conn:0/${id}`]] },
    { pattern: `${prefix}:*`, purpose: 'the first start', keys: [[`${prefix}:first-start`]] },
  ];
}

type Attempt = (run: () => Promise<unknown>, onKeys: () => void) => Promise<boolean>;

/**
 * Every command that nodes send, by themselves or within scripts, to one server. What could not be removed again is not
 * written.
 */
async function tryCommands(
  connection: RedisConnection,
  client: Redis,
  node: string,
  prefix: string,
  id: string,
  attempt: Attempt,
): Promise<void> {
  const tag = Array.from({ length: SHARD_COUNT }, (_, shard) => `{${prefix}:${shard}}`).find(
    (start) => connection.nodeOfSlot(slotOf(start)) === node,
  );
  // A server that has none of the shards.
  if (tag === undefined) return;
  const key = `${tag}:${id}`;
  // Keys that are not permitted are said already.
  const run = (...[command, ...args]: readonly [string, ...string[]]): Promise<boolean> =>
    attempt(
      () => client.call(command, args),
      () => undefined,
    );
  await run('ping');
  await run('info', 'server');
  const mayRemove = [await run('del', key), await run('hdel', key, 'a')];
  // XX: only what is there already is changed.
  await run('set', key, '1', 'XX');
  await run('get', key);
  if (mayRemove.includes(true)) await run('hset', key, 'a', '1');
  await run('hget', key, 'a');
  await run('hmget', key, 'a', 'b');
  await run('hgetall', key);
  await run('hdel', key, 'a');
  await run('del', key);
  await run('zadd', key, 'XX', '0', 'a');
  await run('zrangebylex', key, '[a', '[b');
  await run('zrem', key, 'a');
  await run('evalsha', '0'.repeat(40), '1', key);
  await run('eval', 'return redis.call("INFO", "server"):len()', '1', key);
  await run('del', key);
}

/** The scripts of a shard's documents, on keys of this check. */
async function tryScripts(connection: RedisConnection, prefix: string, id: string): Promise<void> {
  const [epoch, writer, position, documents, index] = ['epoch', 'writer', 'position', 'd', 'i'].map(
    (part) => `{${prefix}:${CLUSTER_TAG}}:${id}:${part}`,
  );
  try {
    await connection.run(TAKE_OVER, [epoch, writer, position], ['1', id, '1']);
    await connection.run(
      COMMIT,
      [epoch, writer, position, documents, index],
      ['1', id, '1', '1', '1', '1', '0', 'a', 'text'],
    );
    await connection.run(CHECK, [epoch, writer, position], ['1', id, '1', '1']);
    await connection.run(SET_ABSENT, [documents, index], ['b', 'text']);
    await connection.run(LIST, [documents, index], ['[a', '[c', '10']);
    await connection.run(
      COMMIT,
      [epoch, writer, position, documents, index],
      ['1', id, '1', '2', '2', '0', '2', 'a', 'b'],
    );
  } finally {
    await connection.client.del(epoch, writer, position, documents, index);
  }
}

async function tryRegistry(connection: RedisConnection, prefix: string, id: string): Promise<void> {
  const registry = new RedisConnectionRegistry(connection, prefix);
  await registry.claim(0, id, id, '1');
  await registry.holder(0, id);
  await registry.release(0, id, id, '1');
}
