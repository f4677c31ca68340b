/**
 * Who should own which shard: a pure function of the members and of who owns what now, so that nodes that see the same
 * decide the same. Rendezvous hashing chooses; a correction makes it even; a shard moves only where evenness or a
 * missing owner asks for it.
 */

/** Weight of a shard at a node, 32 bits: the largest of the nodes that have room takes it. */
export function weightOf(nodeId: string, shard: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < nodeId.length; index += 1) hash = Math.imul(hash ^ nodeId.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (shard + 1), 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** `a` before `b` where the weights are equal, so that the order of `members` plays no role. */
const isHeavier = (a: string, b: string, shard: number): boolean => {
  const difference = weightOf(a, shard) - weightOf(b, shard);
  return difference > 0 || (difference === 0 && a < b);
};

/**
 * @param members ids of the nodes that take shards; those that are leaving are left out by the caller.
 * @param ownerOf who owns the shard now, or was told to take it; undefined or a node that is not a member: the
 * shard moves.
 * @returns the owner that each shard should have, by shard; every member has ⌊shards / members⌋ or ⌈shards / members⌉
 * of them. Empty when there are no members.
 */
export function assignShards(
  members: readonly string[],
  shardCount: number,
  ownerOf: (shard: number) => string | undefined,
): string[] {
  if (members.length === 0) return [];
  const owned = new Map<string, number[]>([...members].sort().map((member) => [member, []]));
  for (let shard = 0; shard < shardCount; shard += 1) owned.get(ownerOf(shard) ?? '')?.push(shard);
  const room = roomOf(owned, shardCount);
  const owners = new Array<string>(shardCount);
  for (const [member, shards] of owned) {
    // It keeps those that it would get in an empty cluster rather than others: a node that is back later finds less to
    // move.
    shards.sort((a, b) => weightOf(member, b) - weightOf(member, a) || a - b);
    const kept = shards.slice(0, room.get(member));
    for (const shard of kept) owners[shard] = member;
    room.set(member, room.get(member)! - kept.length);
  }
  for (let shard = 0; shard < shardCount; shard += 1) {
    if (owners[shard] !== undefined) continue;
    let best: string | undefined;
    for (const [member, left] of room)
      if (left > 0 && (best === undefined || isHeavier(member, best, shard))) best = member;
    // The rooms add up to the number of shards: there is always one left.
    owners[shard] = best!;
    room.set(best!, room.get(best!)! - 1);
  }
  return owners;
}

/** How many shards each may have: those that have the most now get the one more that is left over by the division. */
function roomOf(owned: ReadonlyMap<string, readonly number[]>, shardCount: number): Map<string, number> {
  const floor = Math.floor(shardCount / owned.size);
  const larger = [...owned]
    .sort(([a, shardsA], [b, shardsB]) => shardsB.length - shardsA.length || (a < b ? -1 : 1))
    .slice(0, shardCount % owned.size)
    .map(([member]) => member);
  return new Map([...owned.keys()].map((member) => [member, floor + (larger.includes(member) ? 1 : 0)]));
}
