/** Who should own shards when nodes lack a server: those that lack the least, once that has stayed so. */
import t from 'tap';
import { Fitness } from '../../src/cluster/shards/fitness.ts';
import type { Lack, Member } from '../../src/ports/cluster/leases.ts';
import { StoreWatch } from '../../src/cluster/peers/store-watch.ts';

const SETTLE_MS = 100;
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** `members` as `a b:documents c:history`. */
function read(text: string): Member[] {
  return text
    .split(' ')
    .filter((part) => part !== '')
    .map((part) => {
      const [nodeId, lacks] = part.split(':');
      return { nodeId, roles: ['shard'], isLeaving: false, lacks: lacks as Lack | undefined };
    });
}

t.test('what members lack counts when it has stayed the same', async (t) => {
  const fitness = new Fitness(SETTLE_MS);
  const check = (now: number, members: string, want: string): void => {
    t.equal(
      fitness
        .fittest(read(members), now)
        .map(({ nodeId }) => nodeId)
        .join(' '),
      want,
      `${now}: ${members}`,
    );
  };
  check(0, '', '');
  check(0, 'a b c', 'a b c');
  check(10, 'a:documents b c', 'a b c');
  check(109, 'a:documents b c', 'a b c');
  check(110, 'a:documents b c', 'b c');
  check(120, 'a b c', 'b c');
  check(220, 'a b c', 'a b c');
  // Away for all, noticed one after the other, and back in the same way: nothing moves.
  check(300, 'a:documents b c', 'a b c');
  check(380, 'a:documents b:documents c', 'a b c');
  check(470, 'a:documents b:documents c:documents', 'a b c');
  check(2_000, 'a:documents b:documents c:documents', 'a b c');
  check(2_010, 'a b:documents c:documents', 'a b c');
  check(2_100, 'a b c:documents', 'a b c');
  check(2_190, 'a b c', 'a b c');
  check(2_300, 'a b c', 'a b c');
  // Without the history is better than without documents; a new member counts at once, one that has left not at all.
  check(2_310, 'a:documents b:history c:history', 'a b c');
  check(2_410, 'a:documents b:history c:history', 'b c');
  check(2_411, 'a:documents b:history c:history d', 'd');
  check(2_412, 'a:documents b:history c:history', 'b c');
  check(2_413, 'a:documents', 'a');
});

t.test('a store is away when it has not answered for so long', async (t) => {
  let now = 0;
  let answer: () => Promise<void> = () => Promise.resolve();
  const changes: boolean[] = [];
  const watch = new StoreWatch({
    ask: () => answer(),
    awayMs: 60_000,
    now: () => now,
    onChanged: () => changes.push(watch.isAway),
  });
  t.teardown(() => watch.stop());
  const look = async (at: number): Promise<void> => {
    now = at;
    watch.look();
    await turn();
  };
  await look(50_000);
  answer = () => Promise.reject(new Error('refused'));
  await look(70_000);
  t.same([watch.isAway, watch.problem], [false, undefined]);
  await look(110_001);
  t.same([watch.isAway, watch.problem], [true, 'no answer for 60 s: refused']);
  answer = () => Promise.resolve();
  await look(120_000);
  t.same([watch.isAway, watch.problem], [false, undefined]);
  // One that hangs is not asked a second time, and is away all the same.
  let asked = 0;
  answer = () => {
    asked += 1;
    return new Promise(() => undefined);
  };
  await look(130_000);
  await look(150_000);
  await look(180_001);
  t.same([asked, watch.isAway, changes], [1, true, [true, false, true]]);
});
