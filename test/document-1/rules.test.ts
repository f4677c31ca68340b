/**
 * Each rule of document 1 that is no field and no endpoint (states.ts, rules.ts): checked here, or by the test that the
 * row names.
 */
import t from 'tap';
import { checkHeldBy } from './held-by.ts';
import { RULES } from './rules.ts';
import { STATES } from './states.ts';
import { World } from './world.ts';

const world = await World.start(t);

for (const { heading, rows } of [...STATES, ...RULES]) {
  t.test(heading, async (t) => {
    for (const { row, check, heldBy } of rows) {
      await t.test(row, async (t) => {
        t.ok(check !== undefined || heldBy !== undefined, 'something holds the row');
        checkHeldBy(t, heldBy);
        await check?.(t, world);
      });
    }
  });
}

t.test('nothing was wrong meanwhile', async (t) => {
  t.same(
    world.server.complaints
      .filter((line) => !/refused by the limit|no mail server is connected/.test(line))
      .slice(0, 5),
    [],
  );
});
