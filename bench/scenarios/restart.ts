/** How long a restart takes after kill -9 under load, with a journal that the engine has not read. */
import { Generator } from '../generators.ts';
import type { WindowResult } from '../generator/job.ts';
import type { Scenario } from '../scenario.ts';
import type { Millrace } from '../subjects/millrace.ts';

const CONNECTIONS = 100;
const IN_FLIGHT = 16;
/** How long the load runs while the engine is halted: what it acknowledges meanwhile lies in the journal alone. */
const HALTED_MS = 4_000;
const BEFORE_MS = 1_000;
/** The window outlasts the kill: the generator sees its connections die. */
const AFTER_KILL_MS = 1_000;
const CATCH_UP_LIMIT_MS = 60_000;

/** @returns when the visible measurements have stopped growing at or above `wanted`, or the limit has passed. */
async function untilVisible(millrace: Millrace, wanted: number): Promise<number> {
  const deadline = performance.now() + CATCH_UP_LIMIT_MS;
  for (;;) {
    const visible = await millrace.visibleMeasurements();
    if (visible >= wanted || performance.now() > deadline) return visible;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const restart: Scenario = {
  name: 'restart',
  standard: true,
  question:
    'kill -9 under load with a journal full of unread messages: time until ready and until all is visible; ' +
    'is anything missing or twice?',
  columns: ['readyMs', 'caughtUpMs', 'replayed', 'acknowledged', 'missing', 'surplus'],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const millrace = (await context.start('millrace')) as Millrace;
    context.progress('restart: load with the engine halted');
    let halted = 0;
    const result = await new Promise<WindowResult>((resolve, reject) => {
      const generator = new Generator(
        {
          kind: 'mqtt-closed',
          target: millrace.mqtt,
          connections: CONNECTIONS,
          inFlight: IN_FLIGHT,
          pids: [],
          serverDies: true,
          warmUpMs: BEFORE_MS,
          measureMs: HALTED_MS + AFTER_KILL_MS,
        },
        {
          windowStart: () => {
            halted = millrace.signalEngine('SIGSTOP');
            setTimeout(() => millrace.kill().catch(reject), HALTED_MS);
          },
        },
      );
      generator.result<WindowResult>().then(resolve, reject);
    });
    if (halted === 0)
      context.note(
        'restart: the server has no engine process to halt; the journal was only as full as it happened to be',
      );
    context.progress('restart: starting again');
    const begunMs = performance.now();
    await millrace.startProcess();
    const readyMs = millrace.readyAfterMs;
    const first = await millrace.visibleMeasurements();
    const visible = await untilVisible(millrace, result.totalCount);
    const caughtUpMs = performance.now() - begunMs;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const atRest = await millrace.visibleMeasurements();
    context.record({
      scenario: 'restart',
      subject: 'millrace',
      round: 1,
      values: {
        readyMs,
        caughtUpMs,
        replayed: visible - first,
        acknowledged: result.totalCount,
        missing: Math.max(0, result.totalCount - atRest),
        surplus: Math.max(0, atRest - result.totalSent),
      },
    });
    await millrace.stop();
  },
};
