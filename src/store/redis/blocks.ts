/**
 * Blocks that projectors are about to insert, in Redis: one hash `{<prefix>:blocks}:b` token -> state and ranges,
 * changed by scripts.
 */
import type { BlockRange, BlockStore, StoredBlock } from '../../ports/cluster/documents.ts';
import { RedisScript } from './connection.ts';
import type { RedisConnection } from './connection.ts';

/**
 * `<state>\n<ranges as JSON>`, then `\n,<end>,<end>,` when it is in parts; numbers stay texts, Lua would round them.
 */
const DECIDE = new RedisScript(`
  local value = redis.call('HGET', KEYS[1], ARGV[1])
  if not value then return '' end
  if value:sub(1, 6) == 'begun\\n' then
    if ARGV[2] == 'abandon' then
      redis.call('HDEL', KEYS[1], ARGV[1])
      return ''
    end
    value = 'decided' .. value:sub(6)
    redis.call('HSET', KEYS[1], ARGV[1], value)
  end
  return value`);
const SPLIT = new RedisScript(`
  local value = redis.call('HGET', KEYS[1], ARGV[1])
  if not value or value:sub(1, 8) ~= 'decided\\n' then return '' end
  local at = value:find('\\n', 9, true)
  if not at then
    value = value .. '\\n,'
    at = #value - 1
  end
  if not value:find(',' .. ARGV[2] .. ',', at, true) then
    value = value .. ARGV[2] .. ','
    redis.call('HSET', KEYS[1], ARGV[1], value)
  end
  return value`);
const BEGIN = new RedisScript(`redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) return 1`);
const REMOVE = new RedisScript(`redis.call('HDEL', KEYS[1], ARGV[1]) return 1`);
const LIST = new RedisScript(`return redis.call('HGETALL', KEYS[1])`);

export class RedisBlocks implements BlockStore {
  readonly #connection: RedisConnection;
  readonly #key: string;

  constructor(connection: RedisConnection, prefix: string) {
    this.#connection = connection;
    this.#key = `{${prefix}:blocks}:b`;
  }

  async begin(token: string, ranges: readonly BlockRange[]): Promise<void> {
    await this.#connection.run(BEGIN, [this.#key], [token, `begun\n${JSON.stringify(ranges)}`]);
  }

  async decide(token: string, decision: 'insert' | 'abandon'): Promise<StoredBlock | undefined> {
    const value = String(await this.#connection.run(DECIDE, [this.#key], [token, decision]));
    return value === '' ? undefined : parsed(token, value);
  }

  async split(token: string, through: number): Promise<StoredBlock | undefined> {
    const value = String(await this.#connection.run(SPLIT, [this.#key], [token, String(through)]));
    return value === '' ? undefined : parsed(token, value);
  }

  async remove(token: string): Promise<void> {
    await this.#connection.run(REMOVE, [this.#key], [token]);
  }

  async list(): Promise<readonly StoredBlock[]> {
    const entries = (await this.#connection.run(LIST, [this.#key], [])) as string[];
    const blocks: StoredBlock[] = [];
    for (let index = 0; index < entries.length; index += 2) blocks.push(parsed(entries[index], entries[index + 1]));
    return blocks;
  }
}

function parsed(token: string, value: string): StoredBlock {
  const [state, ranges, ends] = value.split('\n');
  const block: StoredBlock = {
    token,
    state: state as StoredBlock['state'],
    ranges: JSON.parse(ranges) as BlockRange[],
  };
  return ends === undefined
    ? block
    : {
        ...block,
        parts: ends
          .split(',')
          .slice(1, -1)
          .map(Number)
          .sort((a, b) => a - b),
      };
}
