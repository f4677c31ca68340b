/** The loop of what runs by the clock. No pause of these tests ends by itself. */
import t from 'tap';
import { BackgroundLoop } from '../../src/pacing/background-loop.ts';

const DAY_MS = 86_400_000;

/** The next call of `called`, which gets its own number from 1 on. */
function steps(): { called(): number; reached(number: number): Promise<void> } {
  let count = 0;
  let told: (() => void) | undefined;
  return {
    called: () => {
      count += 1;
      told?.();
      return count;
    },
    reached: async (number) => {
      while (count < number)
        await new Promise<void>((resolve) => {
          told = resolve;
        });
    },
  };
}

t.test('a wake-up ends a pause; one during a step is kept for the pause after it', async (t) => {
  const loop = new BackgroundLoop();
  const { called, reached } = steps();
  let endStep: (() => void) | undefined;
  const step = async (): Promise<void> => {
    if (called() === 2)
      await new Promise<void>((resolve) => {
        endStep = resolve;
      });
  };
  loop.repeat(DAY_MS, step, (error) => t.fail(String(error)));
  await reached(1);
  await new Promise(setImmediate);
  loop.wake();
  await reached(2);
  loop.wake();
  endStep?.();
  await reached(3);
  await loop.stop();
  t.ok(loop.isStopped);
});

t.test('a step may say its own pause; one that fails is told of and tried again after the usual one', async (t) => {
  const loop = new BackgroundLoop();
  const { called, reached } = steps();
  const failures: unknown[] = [];
  // The loop keeps no process alive.
  const alive = setInterval(() => undefined, DAY_MS);
  t.teardown(() => clearInterval(alive));
  const step = async (): Promise<number> => {
    if (called() === 2) throw new Error('away');
    return 0;
  };
  loop.repeat(1, step, (error) => failures.push(error));
  await reached(3);
  await loop.stop();
  t.match(failures, [{ message: 'away' }]);
});

t.test('a stop waits for the step under way, and is the end', async (t) => {
  const loop = new BackgroundLoop();
  const { called, reached } = steps();
  let isDone = false;
  const step = async (): Promise<void> => {
    called();
    await new Promise(setImmediate);
    isDone = true;
  };
  loop.repeat(0, step, (error) => t.fail(String(error)));
  loop.repeat(
    0,
    async () => void t.fail('begun twice'),
    (error) => t.fail(String(error)),
  );
  await reached(1);
  isDone = false;
  await loop.stop();
  t.ok(isDone);
  await loop.pause(DAY_MS, { isIdle: false });
});

t.test('a least pause is not woken from, and one that failed is not skipped', async (t) => {
  const loop = new BackgroundLoop();
  const alive = setInterval(() => undefined, DAY_MS);
  t.teardown(() => clearInterval(alive));
  const { called, reached } = steps();
  const times: number[] = [];
  const step = async (): Promise<void> => {
    times.push(performance.now());
    loop.wake();
    if (called() === 1) throw new Error('away');
  };
  loop.repeat(60, step, () => undefined, 20);
  await reached(3);
  await loop.stop();
  // A timer may be early by a millisecond.
  t.ok(times[1] - times[0] >= 58 && times[2] - times[1] >= 18, times.join());
  const held = new BackgroundLoop();
  const first = steps();
  held.repeat(
    0,
    async () => void first.called(),
    (error) => t.fail(String(error)),
    DAY_MS,
  );
  await first.reached(1);
  await new Promise(setImmediate);
  await held.stop();
  t.ok(held.isStopped, 'a stop ends it');
});
