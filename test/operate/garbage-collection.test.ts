/** How far the heap may grow between two collections of all garbage. */
import t from 'tap';
import { growthPercent } from '../../src/operate/garbage-collection.ts';

const MIB = 1_048_576;

t.test('a small heap may grow by 64 MB, a larger one by the rule of V8', (t) => {
  t.equal(growthPercent(32 * MIB), 200);
  t.equal(growthPercent(64 * MIB), 100);
  t.equal(growthPercent(65 * MIB), 0);
  t.end();
});
