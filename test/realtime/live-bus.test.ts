/** The live bus inside one process. */
import t from 'tap';
import { InProcessLiveBus } from '../../src/realtime/bus/live-bus.ts';
import { RecordingLog, TestNotification } from './helpers.ts';
import { liveBusContract } from './live-bus-contract.ts';

liveBusContract(t, 'in process', async () => {
  const bus = new InProcessLiveBus({ log: new RecordingLog() });
  return { from: bus, to: bus };
});

t.test('listeners are called before publish returns', async (t) => {
  const bus = new InProcessLiveBus({ log: new RecordingLog() });
  const seen: string[] = [];
  bus.subscribe(1, 'alarms', ({ source }) => {
    seen.push(source);
  });
  bus.publish(new TestNotification('alarms', '1', '{}'));
  t.same(seen, ['1']);
});

t.test('a listener that throws is logged once in a while', async (t) => {
  const log = new RecordingLog();
  let now = 0;
  const bus = new InProcessLiveBus({ log, now: () => now });
  let count = 0;
  bus.subscribe(1, 'alarms', () => {
    throw new Error('broken');
  });
  bus.subscribe(1, 'alarms', () => {
    count += 1;
  });
  for (let index = 0; index < 5; index += 1) bus.publish(new TestNotification('alarms', '1', '{}'));
  t.equal(count, 5);
  t.equal(log.lines.length, 1);
  now = 10_000;
  bus.publish(new TestNotification('alarms', '1', '{}'));
  t.equal(log.lines.length, 2);
  t.equal(log.lines[1].details.failures, 5);
});
