/** Content that was replaced stays for downloads under way, for a while and up to a bound. */
import t from 'tap';
import { RetiredBlobs } from '../../src/jobs/files/retired-blobs.ts';
import { silentLog, until } from '../actors/platform.ts';

const setUp = (options: { graceMs: number; bytesMax?: number }) => {
  const removed: string[] = [];
  return {
    removed,
    retired: new RetiredBlobs({ blobs: { remove: async (key) => void removed.push(key) }, log: silentLog, ...options }),
  };
};

t.test('goes after its time, in order', async (t) => {
  const { removed, retired } = setUp({ graceMs: 40 });
  const alive = setInterval(() => undefined, 1_000);
  retired.retire('a', 10);
  t.same(removed, []);
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
  retired.retire('b', 10);
  await until(() => removed.length === 2);
  t.same(removed, ['a', 'b']);
  clearInterval(alive);
});

t.test(
  'with too much of it the oldest goes at once; the rest is left to the sweep when the process ends',
  async (t) => {
    const { removed, retired } = setUp({ graceMs: 30, bytesMax: 25 });
    retired.retire('a', 10);
    retired.retire('b', 10);
    retired.retire('c', 10);
    t.same(removed, ['a']);
    retired.retire('d', 100);
    t.same(removed, ['a', 'b', 'c', 'd']);
    retired.retire('e', 10);
    retired.stop();
    retired.retire('f', 100);
    await new Promise((resolve) => {
      setTimeout(resolve, 60);
    });
    t.same(removed, ['a', 'b', 'c', 'd']);
  },
);
