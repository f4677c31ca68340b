/** The simulation against the server: what it says it sent is what is stored. */
import t from 'tap';
import { simulatedDevice } from '../../../src/cli/simulate/devices.ts';
import { PASSWORD, startServer, TENANT } from '../../helpers/running/server.ts';
import { millrace } from '../../helpers/setup-command.ts';

const SEED = 5;
/** Of every kind: thermometers, machines, trackers. */
const DEVICES = 20;

const server = await startServer(t);
const { rest } = server;

/** What a message leaves behind in lists: one measurement, one event, or neither (alarms, the first message). */
const leaves = (message: string): 'measurement' | 'event' | undefined => {
  for (const row of message.split('\n')) {
    if (/^2\d\d,/.test(row)) return 'measurement';
    if (/^40\d,/.test(row)) return 'event';
  }
  return undefined;
};

t.test('each device has stored what it sent, and together they have sent what the summary says', async (t) => {
  const { code, stdout, stderr } = await millrace([
    'simulate',
    '--host',
    '127.0.0.1',
    '--mqtt-port',
    String(server.mqttPort),
    '--tenant',
    TENANT,
    '--password',
    PASSWORD,
    '--devices',
    String(DEVICES),
    '--rate',
    '400',
    '--seed',
    String(SEED),
    '--duration',
    '3',
  ]);
  t.equal(code, 0, stderr);
  const result = JSON.parse(stdout) as Record<string, number>;
  t.match(result, { connected: DEVICES, errors: 0, unacknowledged: 0, acknowledged: result['sent'] });
  t.ok(result['sent'] > DEVICES, 'more than the first messages');
  // A message that leaves neither may be the last of a device: the number of its messages lies between two.
  let [least, most] = [0, 0];
  for (let index = 0; index < DEVICES; index += 1) {
    const device = simulatedDevice(index, SEED);
    const object = await rest.deviceOf(device.clientId);
    t.equal(`100,${object.name},${object.type}`, device.hello().split('\n')[0]);
    const stored = {
      measurement: (await rest.read(`/measurement/measurements?source=${object.id}&pageSize=2000`)).measurements
        .length as number,
      event: (await rest.read(`/event/events?source=${object.id}&pageSize=2000`)).events.length as number,
    };
    const sent = { measurement: 0, event: 0 };
    least += 1;
    most += 1;
    for (let isComplete = stored.measurement + stored.event === 0; ; ) {
      const kind = leaves(device.next(0));
      if (isComplete ? kind !== undefined : sent.measurement > stored.measurement || sent.event > stored.event) break;
      most += 1;
      if (kind !== undefined) sent[kind] += 1;
      if (!isComplete) least += 1;
      isComplete ||= sent.measurement === stored.measurement && sent.event === stored.event;
    }
    t.same(stored, sent, device.clientId);
  }
  t.ok(
    least <= result['sent'] && result['sent'] <= most,
    `${result['sent']} sent, the stored are of ${least} to ${most}`,
  );
});
