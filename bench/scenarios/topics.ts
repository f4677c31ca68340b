/** Notifications 2.0: persistent topics with consumers that acknowledge each message. */
import { Generator } from '../generators.ts';
import type { TopicsJob, TopicsResult } from '../generator/job.ts';
import { readUsage } from '../process-figures.ts';
import type { Scenario } from '../scenario.ts';

const DEVICES = 100;
/** What the requirement asks of one topic with one consumer, and its half, at which the time is taken. */
const RATE = 20_000;
const MANY_TOPICS = 1_000;
const MANY_RATE = 5_000;
/** Of which the requirement speaks: some 350 characters each, published as fast as the server takes them. */
const BACKLOG = 1_000_000;
const BACKLOG_RATE = 40_000;
const BACKLOG_BYTES = 600_000_000;

type Load = Pick<TopicsJob, 'devices' | 'topics' | 'ratePerSecond' | 'messages' | 'drains'>;
const LOADS: readonly (readonly [name: string, load: Load])[] = [
  ['one topic', { devices: DEVICES, topics: 1, ratePerSecond: RATE, drains: false }],
  ['one topic, half', { devices: DEVICES, topics: 1, ratePerSecond: RATE / 2, drains: false }],
  ['1,000 topics', { devices: MANY_TOPICS, topics: MANY_TOPICS, ratePerSecond: MANY_RATE, drains: false }],
  ['drain', { devices: DEVICES, topics: 1, ratePerSecond: RATE, drains: true }],
  ['drain of a million', { devices: DEVICES, topics: 1, ratePerSecond: BACKLOG_RATE, messages: BACKLOG, drains: true }],
];

export const topics: Scenario = {
  name: 'topics',
  standard: false,
  question: `Measurements of devices through persistent topics to consumers: ${RATE} a second and half of it to one consumer, ${MANY_RATE} over ${MANY_TOPICS} topics, a backlog that drains, and one of ${BACKLOG}`,
  columns: ['receivedPerSecond', 'p99Ms', 'p50Ms', 'publishedPerSecond', 'lost', 'again', 'serverCpuMicroseconds'],
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    for (let round = 1; round <= context.rounds; round++) {
      for (const [index, [name, load]] of LOADS.entries()) {
        context.progress(`topics: round ${round}, ${name}`);
        const environment = { MILLRACE_TOPIC_MAX_BYTES: String(BACKLOG_BYTES) };
        const subject = await context.start('millrace', load.messages === undefined ? {} : { environment });
        const measureMs = context.options.measureMs * 2;
        let before = readUsage(subject.pids());
        const generator = new Generator(
          {
            kind: 'topics',
            target: subject.mqtt,
            httpPort: subject.http.port,
            warmUpMs: context.options.warmUpMs,
            measureMs,
            name: `bench${index}r${round}t`,
            clientPrefix: `bench-topic-${index}-${round}-`,
            ...load,
          },
          { connected: () => (before = readUsage(subject.pids())) },
        );
        const result = await generator.result<TopicsResult>();
        const after = readUsage(subject.pids());
        const { sent, received, again, receivedPerSecond, publishedPerSecond, latency } = result;
        const { p50Ms, p99Ms } = latency;
        const serverCpuMicroseconds =
          ((after.serverCpuSeconds - before.serverCpuSeconds) * 1e6) / Math.max(1, received);
        const values = { receivedPerSecond, p99Ms, p50Ms, publishedPerSecond, lost: sent - received, again };
        context.record({ scenario: 'topics', subject: name, round, values: { ...values, serverCpuMicroseconds } });
        await subject.stop();
      }
    }
  },
};
