/**
 * Which node has which MQTT connection, in Redis: `<prefix>:conn:<tenant>/<key>` = holder and, for a claim that is repeated,
 * the holder before it.
 */
import type { ConnectionHolder, ConnectionRegistry } from '../../ports/cluster/connection-registry.ts';
import { PlatformError } from '../../model/errors.ts';
import { RedisScript, redisProblem } from './connection.ts';
import type { RedisConnection } from './connection.ts';

/** A claim is repeated for this time when the connection to Redis breaks: repeating it answers the same. */
const REPEAT_MS = 3_000;
const REPEAT_DELAY_MS = 50;

/**
 * KEYS 1. ARGV 1 node, 2 connection. Lines of the value: node, connection, and those of the holder before (empty:
 * none).
 */
const CLAIM = new RedisScript(`
  local value = redis.call('GET', KEYS[1])
  local node, connection, former = '', '', '\\n'
  if value then
    node, connection, former = value:match('^([^\\n]*)\\n([^\\n]*)\\n(.*)$')
    if node == ARGV[1] and connection == ARGV[2] then return former end
    former = node .. '\\n' .. connection
  end
  redis.call('SET', KEYS[1], ARGV[1] .. '\\n' .. ARGV[2] .. '\\n' .. former)
  return former`);

const HOLDER = new RedisScript(`return redis.call('GET', KEYS[1]) or ''`);

const RELEASE = new RedisScript(`
  local value = redis.call('GET', KEYS[1])
  local start = ARGV[1] .. '\\n' .. ARGV[2] .. '\\n'
  if value and value:sub(1, #start) == start then redis.call('DEL', KEYS[1]) end
  return 1`);

export class RedisConnectionRegistry implements ConnectionRegistry {
  readonly #connection: RedisConnection;
  readonly #prefix: string;

  /** @param connection with `autoPipelining`: thousands of devices connect at once. */
  constructor(connection: RedisConnection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  async claim(
    tenantNumber: number,
    key: string,
    nodeId: string,
    connectionId: string,
  ): Promise<ConnectionHolder | undefined> {
    const former = await this.#run(CLAIM, tenantNumber, key, [nodeId, connectionId]);
    const end = former.indexOf('\n');
    return end <= 0 ? undefined : { nodeId: former.slice(0, end), connectionId: former.slice(end + 1) };
  }

  async holder(tenantNumber: number, key: string): Promise<ConnectionHolder | undefined> {
    const value = await this.#run(HOLDER, tenantNumber, key, []);
    const [nodeId, connectionId] = value.split('\n');
    return nodeId === '' || connectionId === undefined ? undefined : { nodeId, connectionId };
  }

  async release(tenantNumber: number, key: string, nodeId: string, connectionId: string): Promise<void> {
    await this.#run(RELEASE, tenantNumber, key, [nodeId, connectionId]);
  }

  onForgotten(listener: () => void): () => void {
    return this.#connection.onConnected(listener);
  }

  async #run(script: RedisScript, tenantNumber: number, key: string, args: readonly string[]): Promise<string> {
    const end = performance.now() + REPEAT_MS;
    for (;;) {
      try {
        return String(await this.#connection.run(script, [`${this.#prefix}:conn:${tenantNumber}/${key}`], args));
      } catch (error) {
        if (performance.now() > end)
          throw new PlatformError('general/documents-unavailable', { reason: redisProblem(error) });
      }
      await new Promise((resolve) => {
        setTimeout(resolve, REPEAT_DELAY_MS * (0.5 + Math.random()));
      });
    }
  }
}
