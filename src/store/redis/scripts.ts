/**
 * The scripts of the documents in Redis. A script is atomic, also in the AOF (its writes are one MULTI). Its checks
 * come before its first write, and the first write is the only one that Redis may refuse (memory, disk, replicas): so
 * all of it happens or nothing.
 */
import { RedisScript } from './connection.ts';

/** Values that one call of a command gets: `unpack` takes no more than some thousand. */
const CHUNK = 2_000;

/**
 * Why the writer may not write. KEYS 1 epoch, 2 writer. ARGV 1 epoch, 2 owner, 3 take, 4 number of the commit.
 * LOST: what was stored before is not there any more; Redis came back with older data.
 */
const CHECK_WRITER = `
  local epoch = redis.call('GET', KEYS[1]) or '0'
  local writer = redis.call('HMGET', KEYS[2], 'owner', 'take', 'commits')
  if tonumber(epoch) > tonumber(ARGV[1]) then return {'FENCED', epoch} end
  if tonumber(epoch) < tonumber(ARGV[1]) then return {'LOST', epoch} end
  if writer[1] ~= ARGV[2] or tonumber(writer[2]) > tonumber(ARGV[3]) then return {'FENCED', epoch} end
  if tonumber(writer[2]) < tonumber(ARGV[3]) then return {'LOST', epoch} end
  local commits = tonumber(writer[3])`;

/**
 * ARGV 1 epoch, 2 owner, 3 take. Answers the position. A take is counted up by its owner; the same one again changes
 * nothing.
 */
export const TAKE_OVER = new RedisScript(`
  local epoch = redis.call('GET', KEYS[1]) or '0'
  if tonumber(epoch) > tonumber(ARGV[1]) then return {'FENCED', epoch} end
  local position = redis.call('GET', KEYS[3]) or '0'
  if tonumber(epoch) == tonumber(ARGV[1]) then
    local writer = redis.call('HMGET', KEYS[2], 'owner', 'take')
    if writer[1] ~= ARGV[2] or tonumber(writer[2]) > tonumber(ARGV[3]) then return {'FENCED', epoch} end
    if writer[2] == ARGV[3] then return {'OK', position} end
  end
  redis.call('SET', KEYS[1], ARGV[1])
  redis.call('HSET', KEYS[2], 'owner', ARGV[2], 'take', ARGV[3], 'commits', '0')
  return {'OK', position}`);

/** Whether the writer's commits are all there. ARGV as CHECK_WRITER, 4 = commits acknowledged. */
export const CHECK = new RedisScript(`${CHECK_WRITER}
  if commits < tonumber(ARGV[4]) then return {'LOST', epoch} end
  return {'OK', redis.call('GET', KEYS[3]) or '0'}`);

/**
 * KEYS 3 position, then documents and index of each collection. ARGV 5 position or '', then for each collection: count
 * of sets, count of deletes, the sets as field and value, the deletes as field.
 */
export const COMMIT = new RedisScript(`${CHECK_WRITER}
  local number = tonumber(ARGV[4])
  if commits >= number then return {'OK', 'repeated'} end
  if commits < number - 1 then return {'LOST', epoch} end
  local at = 6
  for key = 4, #KEYS, 2 do
    local sets, deletes = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
    at = at + 2
    local last = at + 2 * sets - 1
    while at <= last do
      local to = math.min(at + ${CHUNK - 1}, last)
      if redis.call('HSET', KEYS[key], unpack(ARGV, at, to)) > 0 then
        local members = {}
        for field = at, to, 2 do
          members[#members + 1] = '0'
          members[#members + 1] = ARGV[field]
        end
        redis.call('ZADD', KEYS[key + 1], unpack(members))
      end
      at = to + 1
    end
    last = at + deletes - 1
    while at <= last do
      local to = math.min(at + ${CHUNK - 1}, last)
      redis.call('HDEL', KEYS[key], unpack(ARGV, at, to))
      redis.call('ZREM', KEYS[key + 1], unpack(ARGV, at, to))
      at = to + 1
    end
  end
  if ARGV[5] ~= '' then redis.call('SET', KEYS[3], ARGV[5]) end
  redis.call('HSET', KEYS[2], 'commits', ARGV[4])
  return {'OK', ''}`);

/** KEYS documents, index. ARGV min, max, limit, `ids` to leave the values empty. Answers field, value, field, value… in byte order. */
export const LIST = new RedisScript(`
  local fields = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
  local found = {}
  if ARGV[4] == 'ids' then
    for index = 1, #fields do
      found[2 * index - 1] = fields[index]
      found[2 * index] = ''
    end
    return found
  end
  for at = 1, #fields, ${CHUNK} do
    local to = math.min(at + ${CHUNK - 1}, #fields)
    local values = redis.call('HMGET', KEYS[1], unpack(fields, at, to))
    for index = at, to do
      found[#found + 1] = fields[index]
      found[#found + 1] = values[index - at + 1]
    end
  end
  return found`);

/**
 * KEYS documents and index of each document. ARGV field and value of each. Answers what was there before, or false
 * where it was written.
 */
export const SET_ABSENT = new RedisScript(`
  local former = {}
  for index = 1, #ARGV / 2 do
    local documents, field, value = KEYS[2 * index - 1], ARGV[2 * index - 1], ARGV[2 * index]
    former[index] = redis.call('HGET', documents, field)
    if not former[index] then
      redis.call('HSET', documents, field, value)
      redis.call('ZADD', KEYS[2 * index], '0', field)
    end
  end
  return former`);

/** KEYS documents. ARGV field and number. Writes the number where a smaller one is stored. */
export const RAISE = new RedisScript(`
  local former = redis.call('HGET', KEYS[1], ARGV[1])
  if former and tonumber(former) < tonumber(ARGV[2]) then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
  return 1`);
