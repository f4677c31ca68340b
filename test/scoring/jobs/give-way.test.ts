/** A job pauses where the event loop is late. */
import t from 'tap';
import { giveWay } from '../../../src/scoring/jobs/give-way.ts';

t.test('half as long as the part took, while the event loop is late', async (t) => {
  const pauses = async (lateMs: number, workedMs: number): Promise<number[]> => {
    const slept: number[] = [];
    let now = 0;
    const sleep = async (ms: number): Promise<void> => {
      slept.push(ms);
      now += ms + lateMs;
    };
    await giveWay(workedMs, { clock: () => now, sleep });
    return slept.slice(1);
  };
  t.same(await pauses(0, 40), []);
  t.same(await pauses(4, 40), []);
  t.same(await pauses(5, 40), [20]);
  t.same(await pauses(300, 9_000), [250], 'what was held up itself pauses no longer');
});
