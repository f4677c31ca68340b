/** How many events and alarms a second are answered over HTTP, and acknowledged over MQTT. */
import type { HttpClosedJob, MqttClosedJob } from '../generator/job.ts';
import { loadRound } from '../load-round.ts';
import type { Scenario } from '../scenario.ts';
import { makeSources } from './http-rates.ts';
import { LOAD_COLUMNS } from './rounds.ts';

const NAME = 'entities';
const SOURCES = 100;
const CONNECTIONS = 64;

type Load = Pick<HttpClosedJob, 'kind' | 'entity'> | Pick<MqttClosedJob, 'kind' | 'published' | 'isEntity'>;
const rows = (row: string): Load => ({
  kind: 'mqtt-closed',
  published: { topic: 's/us', rows: [row, row] },
  isEntity: true,
});

/** They take turns within a round. Alarms of a device over MQTT have ten types: most are repeats. */
const LOADS: Readonly<Record<string, Load>> = {
  'POST of an event': { kind: 'http-closed', entity: 'event' },
  'POST of an alarm': { kind: 'http-closed', entity: 'alarm' },
  'event, row 400': rows('400,c8y_BenchEvent,A door was opened.0'),
  'alarm, row 302': rows('302,c8y_BenchAlarm.0'),
};

export const entities: Scenario = {
  name: NAME,
  standard: false,
  columns: LOAD_COLUMNS.filter(
    (column) => !['storedPerSecond', 'catchUpMs', 'missingRows', 'surplusRows'].includes(column),
  ),
  question: `Events and alarms over ${CONNECTIONS} connections: answered (POST) or acknowledged (QoS 1, 16 in flight) a second`,
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = await context.start('millrace');
    const sources = await makeSources(subject, SOURCES);
    for (let round = 1; round <= context.rounds; round += 1) {
      for (const [name, load] of Object.entries(LOADS)) {
        context.progress(`${NAME}: round ${round}, ${name}`);
        const common = {
          connections: CONNECTIONS,
          pids: subject.pids(),
          warmUpMs: context.options.warmUpMs,
          measureMs: context.options.measureMs,
        };
        const values = await loadRound(
          subject,
          load.kind === 'mqtt-closed'
            ? { ...common, ...load, target: subject.mqtt, inFlight: 16 }
            : {
                ...common,
                ...load,
                target: subject.http,
                sources,
                measurementsPerBody: 1,
                firstTimeMs: Date.now(),
                stepMs: 1,
              },
        );
        context.record({ scenario: NAME, subject: name, round, values });
      }
    }
    await subject.stop();
  },
};
