/** Processes that are looked at between tasks are not missing for the tasks (docs/internals/scoring.md#processes). */
import t from 'tap';
import { Turns } from '../../src/pacing/turns.ts';
import { ProcessPool, type Slot } from '../../src/scoring-workers/processes/pool.ts';
import { untilTurn } from '../helpers/until.ts';

const USER = { tenant: 1, user: 'u' };

function poolOf() {
  const turns = new Turns({
    refusals: { count: () => undefined },
    running: { all: 1 },
    waiting: { all: 10, ofUser: 10 },
    limits: { all: 'a', ofUser: 'b' },
  });
  const start = (): Slot<string> => {
    const process = {
      isAlive: true,
      kill: () => {
        process.isAlive = false;
      },
      ended: async () => undefined,
    };
    return { process: process as never, state: 's' };
  };
  const pool = new ProcessPool<string>({ max: 1, turns, idleMsMax: 1_000, start });
  const use = (): Promise<string> =>
    pool.use(USER, { choose: (idle) => idle[0], mayReplace: false }, async ({ state }) => state);
  return { pool, use, turns };
}

t.test('a task whose turn has come waits for the process that is looked at', async (t) => {
  const { pool, use, turns } = poolOf();
  t.teardown(() => pool.stop());
  t.equal(await use(), 's');
  let go = (): void => undefined;
  const looked = pool.inIdle(() => new Promise((resolve) => (go = resolve)));
  const used = use();
  await untilTurn('it has its turn', () => turns.runningCount === 1);
  go();
  t.equal(await used, 's');
  await looked;
  t.equal(turns.runningCount, 0);
});

t.test('it does not wait for a pool that stops', async (t) => {
  const { pool, use, turns } = poolOf();
  await use();
  let go = (): void => undefined;
  const looked = pool.inIdle(() => new Promise((resolve) => (go = resolve)));
  const used = t.rejects(use(), { message: /stopping/ });
  await untilTurn('it has its turn', () => turns.runningCount === 1);
  await pool.stop();
  await used;
  go();
  await looked;
});
