/** Who should own which shard: even, the same for everybody, and moving no more than it must. */
import t from 'tap';
import { assignShards, weightOf } from '../../src/cluster/shards/assignment.ts';
import { Random } from '../smartrest/random.ts';

const SHARDS = 64;
const NOBODY = (): undefined => undefined;

function countsOf(owners: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

t.test('one member has everything, none has nothing', async (t) => {
  t.same(assignShards([], SHARDS, NOBODY), []);
  t.same(countsOf(assignShards(['a'], SHARDS, NOBODY)), new Map([['a', 64]]));
  t.equal(
    new Set(
      assignShards(
        Array.from({ length: 100 }, (_, index) => `n${index}`),
        SHARDS,
        NOBODY,
      ),
    ).size,
    64,
    'more members than shards',
  );
});

t.test('weights differ by node and by shard, and are spread', async (t) => {
  const weights = new Set<number>();
  for (let node = 0; node < 20; node += 1)
    for (let shard = 0; shard < SHARDS; shard += 1) weights.add(weightOf(`node-${node}`, shard));
  t.equal(weights.size, 20 * SHARDS);
  const mean = [...weights].reduce((sum, weight) => sum + weight, 0) / weights.size / 2 ** 32;
  t.ok(mean > 0.45 && mean < 0.55, String(mean));
});

t.test('random histories of joining, leaving and dying', async (t) => {
  const random = new Random();
  const note = `seed ${random.seed}`;
  for (let history = 0; history < 60; history += 1) {
    let members: string[] = [];
    let owners: (string | undefined)[] = [];
    for (let step = 0; step < 12; step += 1) {
      const before = [...members];
      if (members.length === 0 || (members.length < 9 && random.below(2) === 0))
        members.push(`node-${random.below(1_000_000)}`);
      else members.splice(random.below(members.length), 1);
      if (members.length === 0) continue;
      const known = [...owners];
      const next = assignShards(members, SHARDS, (shard) => known[shard]);
      const shuffled = [...members].sort(() => random.below(3) - 1);
      if (JSON.stringify(assignShards(shuffled, SHARDS, (shard) => known[shard])) !== JSON.stringify(next))
        t.fail(`the order of members matters, ${note}`);
      const counts = countsOf(next);
      const floor = Math.floor(SHARDS / members.length);
      for (const member of members) {
        const count = counts.get(member) ?? 0;
        if (count < floor || count > Math.ceil(SHARDS / members.length))
          t.fail(`${count} of ${SHARDS} over ${members.length}, ${note}`);
      }
      if (next.some((owner) => !members.includes(owner))) t.fail(`given to nobody, ${note}`);
      const moved = next.filter((owner, shard) => known[shard] !== owner).length;
      const gone =
        known.filter((owner) => owner === undefined || !members.includes(owner)).length + SHARDS - known.length;
      const joined = members.filter((member) => !before.includes(member));
      // Who came gets its share and what nobody has is given away; nothing else moves.
      const must = Math.max(gone, joined.length > 0 && before.length > 0 ? floor : 0);
      if (moved > must + (joined.length > 0 ? 1 : 0))
        t.fail(`${moved} moved, ${must} had to, ${members.length} members, ${note}`);
      if (JSON.stringify(assignShards(members, SHARDS, (shard) => next[shard])) !== JSON.stringify(next))
        t.fail(`it goes on moving, ${note}`);
      owners = next;
    }
  }
  t.pass(note);
});

t.test('moving shard by shard ends at an even spread', async (t) => {
  const random = new Random();
  for (let round = 0; round < 40; round += 1) {
    const members = Array.from({ length: 1 + random.below(7) }, (_, index) => `m${random.below(1_000)}-${index}`);
    const owners: (string | undefined)[] = Array.from({ length: SHARDS }, () =>
      random.below(4) === 0 ? undefined : random.pick([...members, 'dead']),
    );
    let moves = 0;
    for (;;) {
      const desired = assignShards(members, SHARDS, (shard) => owners[shard]);
      const wrong = owners.map((_, shard) => shard).filter((shard) => owners[shard] !== desired[shard]);
      if (wrong.length === 0) break;
      const shard = random.pick(wrong);
      owners[shard] = desired[shard];
      moves += 1;
      if (moves > 2 * SHARDS) break;
    }
    if (moves > SHARDS) t.fail(`${moves} moves, seed ${random.seed}`);
  }
  t.pass(`seed ${random.seed}`);
});
