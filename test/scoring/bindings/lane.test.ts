/** Measurements of a binding are scored in tasks, and predictions handed over in order (docs/internals/scoring.md#bindings). */
import t from 'tap';
import { PlatformError } from '../../../src/model/errors.ts';
import { Backlog, type Chunk, TenantBacklog } from '../../../src/scoring/bindings/backlog.ts';
import { Lane, newCounts } from '../../../src/scoring/bindings/lane.ts';
import type { Measured } from '../../../src/scoring-workers/measurements/plan.ts';
import { recordOf } from '../../helpers/scoring/measured.ts';
import { untilTurn } from '../../helpers/until.ts';

const measured = (scored: number): Measured => ({
  records: new Uint8Array(),
  scored,
  incomplete: 0,
  refused: 0,
  tooLarge: 0,
  told: { sources: [], times: [], modes: [], events: [], alarms: [] },
});

/** A lane of which the test decides when tasks end. */
function laneOf(after?: Promise<void>, counts = newCounts()) {
  let now = 0;
  const backlog = new TenantBacklog(1, new Backlog({ refusals: { count: () => undefined }, clock: () => now }));
  const tasks: { readonly chunk: Chunk; end(error?: Error): void }[] = [];
  const delivered: number[] = [];
  const warned: string[] = [];
  /** Of an event or alarm. */
  const failures: Error[] = [];
  const pause: { until?: number; asked: number } = { asked: 0 };
  const lane = new Lane({
    pausedUntil: () => {
      pause.asked += 1;
      return pause.until;
    },
    backlog,
    counts,
    hasRoom: true,
    score: (chunk) =>
      new Promise((resolve, reject) => {
        tasks.push({ chunk, end: (error) => (error ? reject(error) : resolve(measured(chunk.count))) });
      }),
    deliver: async ({ scored }) => {
      delivered.push(scored);
      return { durable: Promise.resolve(), failure: failures.shift() };
    },
    onOutcome: () => undefined,
    onDelivered: () => undefined,
    after,
    subject: { tenant: 1, binding: 1 },
    log: { warn: (_fields: unknown, text: string) => warned.push(text) } as any,
    now: () => now,
    clock: () => now,
  });
  const offer = (count: number) => {
    for (let index = 0; index < count; index += 1) lane.offer(recordOf(), 0, 0);
  };
  return { lane, counts, backlog, tasks, delivered, warned, offer, pause, failures, pass: (ms: number) => (now += ms) };
}

t.test('small chunks when little comes, full ones behind a task, results in order', async (t) => {
  const { lane, counts, tasks, delivered, offer, backlog } = laneOf();
  offer(3);
  await untilTurn('a task', () => tasks.length === 1);
  t.equal(tasks[0]!.chunk.count, 3, 'gathered for a moment');
  offer(1_500);
  await untilTurn('a full chunk', () => tasks.length === 2);
  t.equal(tasks[1]!.chunk.count, 1_000);
  tasks[1]!.end();
  offer(1);
  t.same(delivered, []);
  tasks[0]!.end();
  await untilTurn('the rest', () => tasks.length === 3);
  t.same(delivered, [3, 1_000]);
  const ended = lane.end(false);
  offer(1);
  tasks[2]!.end();
  await ended;
  t.match(counts, { received: 1_505, scored: 1_504, shed: 1, failed: 0 }, 'what comes behind the end is counted');
  t.equal(backlog.measurements, 0);
});

t.test('what comes while a task runs waits for others too', async (t) => {
  const { tasks, offer, counts } = laneOf();
  offer(1);
  await untilTurn('a task', () => tasks.length === 1);
  offer(2);
  tasks[0]!.end();
  // No timer ends meanwhile.
  while (counts.scored === 0) await Promise.resolve();
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  t.equal(tasks.length, 1);
  offer(3);
  await untilTurn('the next task', () => tasks.length === 2);
  t.equal(tasks[1]!.chunk.count, 5);
  tasks[1]!.end();
  await untilTurn('its end', () => counts.scored === 6);
});

t.test('after a failure the next task waits, and ends with the lane', async (t) => {
  const { lane, counts, tasks, warned, offer, pass, backlog } = laneOf();
  offer(1_000);
  await untilTurn('a task', () => tasks.length === 1);
  tasks[0]!.end(new Error('lost'));
  await untilTurn('it failed', () => counts.failed === 1_000);
  t.match(counts, { lastError: 'internal error', lastErrorTime: '1970-01-01T00:00:00.000Z' });
  t.equal(warned.length, 1);
  offer(10);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  t.equal(tasks.length, 1, 'not yet');
  pass(1_001);
  const ended = lane.end(false);
  t.equal(tasks.length, 2);
  tasks[1]!.end();
  await ended;
  t.equal(counts.scored, 10);

  const other = laneOf();
  other.offer(5);
  await untilTurn('a task', () => other.tasks.length === 1);
  other.offer(5);
  other.tasks[0]!.end(new Error('lost'));
  await untilTurn('it failed', () => other.counts.failed === 5);
  await other.lane.end(false);
  t.equal(other.backlog.measurements, 0, 'what waits for another try is given up');
  t.match(other.counts, { received: 10, failed: 5, shed: 5 }, 'and counted');
  t.equal(backlog.measurements, 0);
});

t.test('while the model pauses nothing is scored, and nothing fails', async (t) => {
  const { lane, counts, tasks, offer, pause, pass } = laneOf();
  pause.until = 30;
  offer(1_500);
  await untilTurn('it looks again', () => pause.asked === 2);
  t.same([tasks.length, counts.failed, counts.shed], [0, 0, 0]);
  pass(30);
  pause.until = undefined;
  await untilTurn('the first chunk', () => tasks.length === 1);
  tasks[0]!.end();
  await untilTurn('the rest', () => tasks.length === 2);
  tasks[1]!.end();
  await lane.end(false);
  t.equal(counts.scored, 1_500);
});

t.test('measurements whose predictions are stored are scored, also where an alarm is not', async (t) => {
  const { lane, counts, tasks, offer, failures, warned } = laneOf();
  failures.push(new PlatformError('general/busy', { limit: 'commands/under-way' }));
  offer(3);
  await untilTurn('a task', () => tasks.length === 1);
  tasks[0]!.end();
  await untilTurn('it is scored', () => counts.scored === 3);
  t.match(counts, { failed: 0, lastError: /commands\/under-way/ });
  t.same(warned, ['events or alarms of a binding could not be stored']);
  await lane.end(true);
});

t.test('a task that fails early lets none overtake those before it', async (t) => {
  const { tasks, delivered, offer, counts } = laneOf();
  offer(1_000);
  await untilTurn('a task', () => tasks.length === 1);
  offer(2_000);
  await untilTurn('three', () => tasks.length === 3);
  tasks[1]!.end(new PlatformError('scoring/bad-input', { reason: 'a value' }));
  tasks[2]!.end();
  await untilTurn('it failed', () => counts.failed === 1_000);
  t.same(delivered, []);
  t.equal(counts.lastError, 'a value');
  offer(1_000);
  await untilTurn('the next task', () => tasks.length === 4);
  t.pass('values that a model does not take hold up nothing');
  tasks[0]!.end();
  tasks[3]!.end();
  await untilTurn('all', () => delivered.length === 3);
});

t.test('a lane that takes the place of another one hands over behind it', async (t) => {
  const old = laneOf();
  old.offer(5);
  const ended = old.lane.end(false);
  const next = laneOf(ended, old.counts);
  next.offer(7);
  await untilTurn('both', () => old.tasks.length + next.tasks.length === 2);
  next.tasks[0]!.end();
  await untilTurn('a turn', () => true);
  t.same(next.delivered, []);
  old.tasks[0]!.end();
  await untilTurn('the next', () => next.delivered.length === 1);
  t.match(old.counts, { received: 12, scored: 12, shed: 0 });
});
