/** What connections cost: new ones a second, and the memory of idle ones. */
import { generate, Generator } from '../generators.ts';
import type { ConnectResult } from '../generator/job.ts';
import { readUsage } from '../process-figures.ts';
import type { Scenario } from '../scenario.ts';
import { untilQuiet, type Subject, type SubjectName } from '../subjects/subject.ts';

/** Connections opened in one measurement, and how many of them at the same time. */
const NEW_CONNECTIONS = 6_000;
const PARALLEL = 64;
/** Connections before the first reading of the memory: code and buffers that every server needs once. */
const FIRST_CONNECTIONS = 500;
/** After the connections are open, for collections and timers. */
const SETTLE_MS = 2_000;

const PEERS: readonly SubjectName[] = ['millrace', 'mosquitto', 'bare-mqtt-packet'];

export const newConnections: Scenario = {
  name: 'connect',
  standard: true,
  question: `New MQTT connections a second: ${NEW_CONNECTIONS} from TCP to CONNACK, ${PARALLEL} at a time, one user name`,
  columns: ['ratePerSecond', 'p50Ms', 'p99Ms', 'serverMicrosPerMessage', 'serverCpuPercent', 'generatorCpuPercent'],
  run: async (context) => {
    const subjects: Subject[] = [];
    for (const name of context.chosen(PEERS)) subjects.push(await context.start(name));
    for (let round = 1; round <= context.rounds; round++) {
      for (const subject of subjects) {
        context.progress(`connect: round ${round}, ${subject.name}`);
        const result = await generate<ConnectResult>({
          kind: 'mqtt-connect',
          target: subject.mqtt,
          count: NEW_CONNECTIONS,
          parallel: PARALLEL,
          pids: subject.pids(),
        });
        const serverSeconds = result.after.serverCpuSeconds - result.before.serverCpuSeconds;
        context.record({
          scenario: 'connect',
          subject: subject.name,
          round,
          values: {
            ratePerSecond: (1000 * result.count) / result.elapsedMs,
            p50Ms: result.latency.p50Ms,
            p99Ms: result.latency.p99Ms,
            serverMicrosPerMessage: (1e6 * serverSeconds) / result.count,
            serverCpuPercent: (100_000 * serverSeconds) / result.elapsedMs,
            generatorCpuPercent: (100_000 * result.generatorCpuSeconds) / result.elapsedMs,
          },
        });
        await untilQuiet(subject);
      }
    }
    for (const subject of subjects) await subject.stop();
  },
};

async function settledBytes(subject: Subject): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return readUsage(subject.pids()).serverBytes;
}

export const idleConnections: Scenario = {
  name: 'idle',
  standard: true,
  question: 'Resident memory of the server process for each idle MQTT connection (a fresh server for each round)',
  columns: ['bytesPerConnection', 'connections', 'serverMebibytes', 'openAtEnd'],
  run: async (context) => {
    const count = context.options.idleConnections;
    // A fresh process each time is needed, and memory hardly varies: one round fewer than the loads.
    const rounds = Math.max(1, context.rounds - 1);
    for (let round = 1; round <= rounds; round++) {
      for (const name of context.chosen(['millrace', 'mosquitto', 'aedes', 'bare-mqtt-packet'])) {
        context.progress(`idle: round ${round}, ${name}`);
        const subject = await context.start(name);
        const first = new Generator({
          kind: 'mqtt-idle',
          target: subject.mqtt,
          count: FIRST_CONNECTIONS,
          clientPrefix: 'bench-first-',
        });
        await first.connected();
        const before = await settledBytes(subject);
        const held = new Generator({ kind: 'mqtt-idle', target: subject.mqtt, count, clientPrefix: 'bench-' });
        await held.connected();
        const after = await settledBytes(subject);
        held.finish();
        first.finish();
        const { open } = await held.result<{ open: number }>();
        await first.result();
        context.record({
          scenario: 'idle',
          subject: subject.name,
          round,
          values: {
            bytesPerConnection: (after - before) / count,
            connections: count,
            serverMebibytes: after / (1024 * 1024),
            openAtEnd: open,
          },
        });
        await subject.stop();
      }
    }
  },
};
