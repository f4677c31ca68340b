/** What clients that guess passwords cost devices that publish. */
import { Generator } from '../generators.ts';
import { loadRound } from '../load-round.ts';
import type { Scenario } from '../scenario.ts';
import { untilQuiet } from '../subjects/subject.ts';

/** A modest load, far from what the server can take: its latency shows who else uses the processor. */
const PUBLISHERS = 20;
const RATE_PER_SECOND = 500;
const CONCURRENT = [8, 64];
/** Until the threads that hash have begun, and their queue is full. */
const FLOOD_BEFORE_MS = 1_000;
/** A server that goes on hashing for clients that have left gets this long before the next measurement. */
const BACKLOG_LIMIT_MS = 30_000;

export const passwordFlood: Scenario = {
  name: 'password-flood',
  standard: true,
  question: `Time to PUBACK at ${RATE_PER_SECOND} messages a second (open loop, ${PUBLISHERS} connections), without and with clients that send wrong passwords`,
  columns: [
    'p99Ms',
    'p50Ms',
    'maximumMs',
    'lateBursts',
    'wrongPasswords',
    'serverCpuPercent',
    'generatorCpuPercent',
    'othersCpuPercent',
  ],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = await context.start('millrace');
    const measure = (): Promise<Record<string, number>> =>
      loadRound(subject, {
        kind: 'mqtt-paced',
        target: subject.mqtt,
        connections: PUBLISHERS,
        ratePerSecond: RATE_PER_SECOND,
        burst: 1,
        clientPrefix: 'bench-',
        pids: subject.pids(),
        warmUpMs: context.options.warmUpMs,
        measureMs: context.options.measureMs,
      });
    for (let round = 1; round <= context.rounds; round++) {
      for (const protocol of ['http', 'mqtt'] as const) {
        for (const concurrent of CONCURRENT) {
          const name = `${concurrent} over ${protocol}`;
          context.progress(`password-flood: round ${round}, ${name}`);
          context.record({ scenario: 'password-flood', subject: `before ${name}`, round, values: await measure() });
          const flood = new Generator({ kind: 'wrong-passwords', target: subject[protocol], protocol, concurrent });
          await flood.connected();
          await new Promise((resolve) => setTimeout(resolve, FLOOD_BEFORE_MS));
          const values = await measure();
          flood.finish();
          const { answered } = await flood.result<{ answered: number }>();
          await untilQuiet(subject, BACKLOG_LIMIT_MS);
          context.record({
            scenario: 'password-flood',
            subject: name,
            round,
            values: { ...values, wrongPasswords: answered },
          });
        }
      }
    }
    await subject.stop();
  },
};
