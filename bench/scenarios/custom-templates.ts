/** What a measurement by a custom template costs, beside the same measurement as static row 200. */
import type { Published } from '../generator/mqtt-packets.ts';
import { RestClient } from '../generator/rest.ts';
import { loadRound } from '../load-round.ts';
import type { Scenario } from '../scenario.ts';
import type { Subject } from '../subjects/subject.ts';
import { LOAD_COLUMNS } from './rounds.ts';

const NAME = 'qos1-100x16-custom';
const STATIC_ROW = '200,c8y_Temperature,T,21.5,C';
const CUSTOM_ROW = '999,,21.5';
/** The two take turns within a round. */
const LOADS: readonly (readonly [string, Published])[] = [
  ['static 200', { topic: 's/us', rows: [STATIC_ROW, STATIC_ROW] }],
  ['custom', { topic: 's/uc/bench', rows: [CUSTOM_ROW, CUSTOM_ROW] }],
];

const COLLECTION = {
  name: 'bench',
  type: 'c8y_SmartRest2Template',
  __externalId: 'bench',
  com_platform_model_smartrest_csv_CsvSmartRestTemplate: {
    requestTemplates: [
      {
        msgId: '999',
        method: 'POST',
        api: 'MEASUREMENT',
        mandatoryValues: ['c8y_Temperature', ''],
        customValues: [
          { path: 'c8y_Temperature.T.value', type: 'NUMBER', value: '' },
          { path: 'c8y_Temperature.T.unit', type: 'STRING', value: 'C' },
        ],
      },
    ],
  },
};

async function createCollection({ http }: Subject): Promise<void> {
  const rest = new RestClient(http);
  const { status, body } = await rest.post('/inventory/managedObjects', COLLECTION);
  rest.close();
  if (status !== 201) throw new Error(`the template collection was not made: ${status} ${body}`);
}

export const customTemplates: Scenario = {
  name: NAME,
  standard: true,
  columns: LOAD_COLUMNS,
  question:
    'QoS 1 measurements by a custom template over 100 connections, 16 in flight, beside the same as static row 200',
  run: async (context) => {
    if (context.chosen(['millrace']).length === 0) return;
    const subject = await context.start('millrace');
    await createCollection(subject);
    for (let round = 1; round <= context.rounds; round++) {
      for (const [name, published] of LOADS) {
        context.progress(`${NAME}: round ${round}, ${name}`);
        const values = await loadRound(subject, {
          kind: 'mqtt-closed',
          target: subject.mqtt,
          connections: 100,
          inFlight: 16,
          published,
          pids: subject.pids(),
          warmUpMs: context.options.warmUpMs,
          measureMs: context.options.measureMs,
        });
        context.record({ scenario: NAME, subject: name, round, values });
      }
    }
    await subject.stop();
  },
};
