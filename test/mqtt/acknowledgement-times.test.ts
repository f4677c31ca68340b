/** The latency that is measured: from the read that brought a PUBLISH to the write of its acknowledgement. */
import t from 'tap';
import { AcknowledgementTimes } from '../../src/mqtt/connections/acknowledgement-times.ts';
import { PUBLISH_RESULT } from '../../src/mqtt/sessions/application.ts';
import type { MqttMetrics } from '../../src/mqtt/connections/metrics.ts';
import { Harness, publish, seededRandom, settle } from './helpers/harness.ts';

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

t.test('any order of adding and acknowledging', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e6);
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  const times = new AcknowledgementTimes();
  const waiting: number[] = [];
  let acknowledged = 0;
  const now = performance.now();
  let time = now - 1e9;
  for (let round = 0; round < 20_000; round += 1) {
    const choice = random();
    if (choice < 0.5) {
      if (random() < 0.4) time += 1_000;
      times.add(time);
      waiting.push(time);
      if (random() < 0.1) {
        times.removeLast();
        waiting.pop();
      }
    } else if (choice < 0.9 && acknowledged < waiting.length) {
      times.acknowledged();
      acknowledged += 1;
    } else {
      const reported: number[] = [];
      times.written({
        acknowledged: (durationMs: number, count: number) => {
          for (let left = count; left > 0; left -= 1)
            reported.push(Math.round((performance.now() - durationMs - now) / 1_000));
        },
      } as unknown as MqttMetrics);
      const want = waiting.splice(0, acknowledged).map((added) => Math.round((added - now) / 1_000));
      acknowledged = 0;
      if (`${reported}` !== `${want}`) {
        t.same(reported, want, `seed ${seed}, round ${round}`);
        break;
      }
    }
  }
  t.pass(`seed ${seed}`);
});

t.test('PUBACK and PUBREC: what the actors take is in it', async (t) => {
  const harness = new Harness();
  harness.isAcknowledging = false;
  const client = await harness.connected('c1');
  client.send(publish('a', '1', 1, 1), publish('a', '2', 0), publish('a', '3', 2, 2));
  await pause(30);
  client.send(publish('a', '4', 1, 3));
  await pause(30);
  harness.acknowledgeAll();
  t.same(client.takeCommands(), ['puback 1', 'pubrec 2', 'puback 3']);
  t.same(
    harness.latencies.map(({ count }) => count),
    [2, 1],
    'one report for each read',
  );
  const [first, second] = harness.latencies.map(({ durationMs }) => durationMs);
  t.ok(first >= 55 && second >= 25 && second < first - 25, `${first} ${second}`);
});

t.test('a message that is held counts from its receipt, one that is not taken does not', async (t) => {
  const harness = new Harness();
  const client = await harness.connected('c1');
  let isBusy = true;
  harness.onPublish = () => (isBusy ? PUBLISH_RESULT.BUSY : PUBLISH_RESULT.PENDING);
  client.send(publish('a', '1', 1, 1));
  await pause(40);
  isBusy = false;
  harness.link('c1').connection.resume();
  t.same(client.takeCommands(), ['puback 1']);
  client.send(publish('a', '2', 1, 2));
  t.same(
    harness.latencies.map(({ count }) => count),
    [1, 1],
  );
  t.ok(harness.latencies[0].durationMs >= 35, `${harness.latencies[0].durationMs}`);
  t.equal(client.connection!.unacknowledged, 0);
});

t.test('messages that are acknowledged within the call leave nothing behind', async (t) => {
  const harness = new Harness();
  harness.isAcknowledging = false;
  const client = await harness.connected('c1', 5);
  // As the group commit does when nothing is under way: the message has no record.
  harness.onPublish = (link, _topic, packetId) => {
    link.connection.acknowledge(packetId);
    link.connection.flush();
    return PUBLISH_RESULT.PENDING;
  };
  for (let packetId = 1; packetId <= 50; packetId += 1) client.send(publish('a', 'x', 1, packetId));
  await settle();
  t.equal(client.take().filter(({ cmd }) => cmd === 'puback').length, 50);
  t.equal(client.connection!.unacknowledged, 0);
  t.equal(
    harness.latencies.reduce((sum, { count }) => sum + count, 0),
    50,
  );
});
