/**
 * The journal of a cluster at its bound, while ClickHouse stands still: every node refuses by name, holds devices back,
 * and goes on by itself.
 */
import t from 'tap';
import { ClusterLoad, acknowledgedAgain } from '../../helpers/cluster/load.ts';
import { eventually } from '../../helpers/running/server.ts';
import { signal } from '../../helpers/process/server.ts';
import { DeviceSender, HttpSender } from '../../helpers/process/load.ts';
import { RawMqtt } from '../../helpers/process/mqtt.ts';
import { missing } from '../../helpers/tools.ts';

const NODES = 2;
const BOUND_BYTES = 16 * 1_048_576;
const FULL_MS = 60_000;
/** Longer than any commit takes. */
const HELD_MS = 1_000;

t.test('journal at --journal-max-bytes', { skip: missing('nats-server', 'redis-server') }, async (t) => {
  const load = await ClusterLoad.start(t, NODES, { MILLRACE_JOURNAL_MAX_BYTES: String(BOUND_BYTES) });
  const { cluster } = load;
  const devices = ['a', 'b', 'c', 'd'].map((name) => new DeviceSender(load, `full-${name}`, { gapMs: 20 }));
  const fill = [new HttpSender(load, 'fill-0', 1_000), new HttpSender(load, 'fill-1', 1_000)];
  for (const sender of fill) await sender.open();
  const runs = [...devices, ...fill].map((sender) => sender.run());
  await acknowledgedAgain(devices);
  signal(cluster.engine.pid ?? 0, 'SIGSTOP');

  await eventually('HTTP is refused', () => fill.every(({ otherAnswers }) => otherAnswers.size > 0), FULL_MS);
  await eventually(
    'devices are held back',
    () => devices.every(({ lastAckMs }) => Date.now() - lastAckMs > HELD_MS),
    FULL_MS,
  );
  for (const [what] of fill.flatMap(({ otherAnswers }) => [...otherAnswers]))
    t.match(what, /^503 .*journal\/bytes/s, 'the error body names the limit');
  for (const node of cluster.nodes) {
    const refused = await load.http('POST', '/inventory/managedObjects', { name: 'refused' }, node.httpPort);
    t.match(
      refused,
      { status: 503, headers: { 'retry-after': /^\d+$/ }, text: /journal\/bytes/ },
      `${node.name} refuses other writes`,
    );
    const { parts } = (await (await fetch(`${node.url}/health/ready`)).json()) as { parts: { journal: unknown } };
    t.match(parts.journal, { ready: false, refusal: 'journal/bytes' });
    t.match(
      await (await fetch(`${node.url}/metrics`)).text(),
      /millrace_refusals_total\{limit="journal\/bytes"\} [1-9]/,
    );
    await t.rejects(
      RawMqtt.connect(node.mqttPort, { clientId: `kept-${node.name}`, clean: false, version: 5 }),
      { message: /"reasonCode":151.*journal\/bytes/ },
      'CONNECT of MQTT 5',
    );
    await t.rejects(
      RawMqtt.connect(node.mqttPort, { clientId: `kept-${node.name}`, clean: false, version: 4 }),
      { message: /"returnCode":3/ },
      'and of 3.1.1',
    );
  }
  t.strictSame(
    devices.map(({ disconnects }) => disconnects),
    devices.map(() => 0),
    'no device was disconnected',
  );

  signal(cluster.engine.pid ?? 0, 'SIGCONT');
  await acknowledgedAgain(devices, FULL_MS);
  const before = fill.map(({ collections }) => collections.acknowledged.size);
  await eventually(
    'HTTP goes on',
    () => fill.every(({ collections }, index) => collections.acknowledged.size > before[index]),
    FULL_MS,
  );
  for (const sender of [...devices, ...fill]) sender.stop();
  await Promise.all(runs);
  t.strictSame(
    devices.map(({ disconnects }) => disconnects),
    devices.map(() => 0),
    'nor afterwards',
  );
  const ledgers = new Map<string, { source: string; ledger: DeviceSender['measurements'] }>(
    fill.map(({ name, device, ledger }) => [name, { source: device, ledger }]),
  );
  for (const device of devices)
    ledgers.set(device.name, { source: await load.deviceOf(device.name), ledger: device.measurements });
  const { problems, stored } = await load.accountOf(ledgers);
  t.comment(`stored ${stored}`);
  t.strictSame(problems, [], 'the account is exact');
});
