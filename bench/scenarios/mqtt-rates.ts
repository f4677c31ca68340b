/** How many SmartREST measurements a second are acknowledged and stored, over few and many connections. */
import type { Scenario } from '../scenario.ts';
import type { SubjectName } from '../subjects/subject.ts';
import { compare, LOAD_COLUMNS } from './rounds.ts';

/** QoS 0: messages in a burst, and bursts on their way on each connection. */
const BURST = 64;
const BURSTS = 4;
/** Samples of resident memory in the long run. */
const SOAK_SECONDS = 600;

function qos1(
  name: string,
  connections: number,
  inFlight: number,
  subjects: readonly SubjectName[],
  extraWarmUpMs: number,
): Scenario {
  return {
    name,
    standard: true,
    columns: LOAD_COLUMNS,
    question: `QoS 1 measurements over ${connections} connections, ${inFlight} in flight: acknowledged and stored a second`,
    run: (context) =>
      compare(context, {
        scenario: name,
        subjects,
        job: (subject) => ({
          kind: 'mqtt-closed',
          target: subject.mqtt,
          connections,
          inFlight,
          subscribe: subject.name.endsWith('-relay'),
          pids: subject.pids(),
          warmUpMs: context.options.warmUpMs + extraWarmUpMs,
          measureMs: context.options.measureMs,
        }),
      }),
  };
}

/** With nobody to relay to a broker only answers; as a relay, as it is used, it has a subscriber. */
const RELAYS_AND_CEILING: readonly SubjectName[] = [
  'millrace',
  'mosquitto',
  'mosquitto-relay',
  'aedes',
  'aedes-relay',
  'bare-mqtt-packet',
];

export const qos1Few = qos1('qos1-100x16', 100, 16, RELAYS_AND_CEILING, 0);
export const qos1Many = qos1('qos1-1000x1', 1_000, 1, RELAYS_AND_CEILING, 0);
export const qos1Most = qos1('qos1-10000x1', 10_000, 1, ['millrace', 'mosquitto'], 500);

export const qos0: Scenario = {
  name: 'qos0-100',
  standard: true,
  columns: LOAD_COLUMNS,
  question:
    'QoS 0 measurements over 100 connections: rows visible a second, against messages relayed to one subscriber',
  run: (context) =>
    compare(context, {
      scenario: 'qos0-100',
      subjects: ['millrace', 'mosquitto'],
      job: (subject) => ({
        kind: 'mqtt-flood',
        target: subject.mqtt,
        connections: 100,
        burst: BURST,
        bursts: BURSTS,
        subscribe: subject.rows === undefined,
        pids: subject.pids(),
        warmUpMs: context.options.warmUpMs,
        measureMs: context.options.measureMs,
      }),
    }),
};

/** Not in the standard run: resident memory over ten minutes of full load, a sample every tenth of it. */
export const soak: Scenario = {
  name: 'soak',
  standard: false,
  columns: LOAD_COLUMNS,
  question: `Resident memory over ${SOAK_SECONDS} s of full load on 10,000 connections: is it flat?`,
  run: async (context) => {
    const measureMs = context.options.quick ? 10_000 : SOAK_SECONDS * 100;
    await compare(
      { ...context, rounds: 10 },
      {
        scenario: 'soak',
        subjects: ['millrace'],
        job: (subject) => ({
          kind: 'mqtt-closed',
          target: subject.mqtt,
          connections: 10_000,
          inFlight: 1,
          subscribe: false,
          pids: subject.pids(),
          warmUpMs: context.options.warmUpMs,
          measureMs,
        }),
      },
    );
  },
};
