/**
 * kill -9 of the server at random moments: what devices were acknowledged reaches a persistent consumer of
 * Notifications 2.0, each measurement for the first time in the order in which its device sent it.
 */
import t from 'tap';
import { until } from '../helpers/until.ts';
import { DeviceSender } from '../helpers/process/load.ts';
import { delay, seeded, ServerProcess } from '../helpers/process/server.ts';
import { TopicConsumer } from '../helpers/process/topic-consumer.ts';

const KILLS = 3;
const DEVICES = 3;
const RANDOM_MS = 1_000;

t.test('kill -9 at random moments', async (t) => {
  const random = seeded(t);
  const server = await new ServerProcess(t).start();
  const consumer = await TopicConsumer.start(server, () => server.httpPort);
  t.teardown(() => consumer.stop());
  const devices = Array.from(
    { length: DEVICES },
    (_, index) => new DeviceSender(server, `topic-${index}`, { mixed: true, gapMs: 10 }),
  );
  const runs = devices.map((device) => device.run());
  const goesOn = (): Promise<void> => {
    const before = devices.map(({ acknowledgedCount }) => acknowledgedCount);
    return until('every device is acknowledged again', () =>
      devices.every(({ acknowledgedCount }, index) => acknowledgedCount > before[index]),
    );
  };
  for (let kill = 0; kill < KILLS; kill += 1) {
    await goesOn();
    await delay(random() * RANDOM_MS);
    await server.kill();
    await server.start();
  }
  await goesOn();
  for (const device of devices) device.stop();
  await Promise.all(runs);
  const problems: string[] = [];
  let acknowledged = 0;
  for (const device of devices) {
    const source = (await server.deviceOf(device.name)) ?? '';
    acknowledged += device.acknowledgedCount;
    problems.push(...(await consumer.account(device.name, source, device.measurements)));
    const missing = [...device.events.acknowledged].filter(
      (number) => !consumer.texts.has(`${source} event ${number}`),
    );
    if (missing.length > 0) problems.push(`${device.name}: events ${missing.slice(0, 5).join(', ')} are missing`);
    for (const number of device.alarms.acknowledged)
      if (!consumer.texts.has(`${source} alarm ${number}`)) problems.push(`${device.name}: alarm ${number} is missing`);
  }
  t.comment(`acknowledged ${acknowledged}, frames ${consumer.frames}, connections ${consumer.connections}`);
  t.strictSame(problems, []);
  t.ok(acknowledged > 300, 'the devices got through');
});
