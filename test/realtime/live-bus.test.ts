import t from 'tap';
import { InProcessLiveBus } from '../../src/realtime/live-bus.ts';
import { RecordingLog, TestNotification } from './helpers.ts';

t.test('subscribers are known by tenant and area, until they leave', async (t) => {
  const bus = new InProcessLiveBus({ log: new RecordingLog() });
  t.equal(bus.hasSubscribers(1, 'alarms'), false);
  const leave = bus.subscribe(1, 'alarms', () => undefined);
  const leaveToo = bus.subscribe(1, 'alarms', () => undefined);
  t.equal(bus.hasSubscribers(1, 'alarms'), true);
  t.equal(bus.hasSubscribers(1, 'events'), false);
  t.equal(bus.hasSubscribers(2, 'alarms'), false);
  leave();
  leave();
  t.equal(bus.hasSubscribers(1, 'alarms'), true, 'leaving twice takes nobody else along');
  leaveToo();
  t.equal(bus.hasSubscribers(1, 'alarms'), false);
});

t.test('a listener gets its tenant and area only, in order', async (t) => {
  const bus = new InProcessLiveBus({ log: new RecordingLog() });
  const seen: string[] = [];
  bus.subscribe(1, 'alarms', (notification) => seen.push(notification.source));
  bus.publish(new TestNotification('alarms', '1', '{}'));
  bus.publish(new TestNotification('events', '2', '{}'));
  bus.publish(new TestNotification('alarms', '3', '{}', { tenant: 2 }));
  bus.publish(new TestNotification('alarms', '4', '{}'));
  t.same(seen, ['1', '4']);
});

t.test('a listener that throws harms neither the publisher nor the others, and is logged once in a while', async (t) => {
  const log = new RecordingLog();
  let now = 0;
  const bus = new InProcessLiveBus({ log, now: () => now });
  let count = 0;
  bus.subscribe(1, 'alarms', () => { throw new Error('broken'); });
  bus.subscribe(1, 'alarms', () => { count += 1; });
  for (let index = 0; index < 5; index += 1) bus.publish(new TestNotification('alarms', '1', '{}'));
  t.equal(count, 5);
  t.equal(log.lines.length, 1);
  now = 10_000;
  bus.publish(new TestNotification('alarms', '1', '{}'));
  t.equal(log.lines.length, 2);
  t.equal(log.lines[1].details.failures, 5);
});

t.test('a listener may leave while it is called', async (t) => {
  const bus = new InProcessLiveBus({ log: new RecordingLog() });
  let count = 0;
  const leave = bus.subscribe(1, 'alarms', () => { count += 1; leave(); });
  bus.subscribe(1, 'alarms', () => { count += 10; });
  bus.publish(new TestNotification('alarms', '1', '{}'));
  bus.publish(new TestNotification('alarms', '1', '{}'));
  t.equal(count, 21);
});
