/**
 * kill -9 of the server (and of both processes, and while it recovers) under mixed load: what was acknowledged is
 * stored exactly once.
 */
import t from 'tap';
import { until } from '../helpers/setup-command.ts';
import { delay, readHistory, seeded, ServerProcess, signal } from '../helpers/process/server.ts';
import { account, DeviceSender, HttpSender, measurementsOf, NewDevicesSender } from '../helpers/process/load.ts';

const KILLS = 3;
const DEVICES = 4;

interface MeasurementRow {
  source: number;
  value: number;
  seq: number;
  shard: number;
  id: number;
  type: string;
}

t.test('kill -9 at random moments of mixed load', async (t) => {
  const random = seeded(t);
  const server = await new ServerProcess(t).start();
  const devices = Array.from(
    { length: DEVICES },
    (_, index) => new DeviceSender(server, `kill-${index}`, { mixed: true, gapMs: 25 }),
  );
  const fresh = new NewDevicesSender(server, 'fresh');
  const single = [
    new HttpSender(server, 'single-0', 1, { gapMs: 10 }),
    new HttpSender(server, 'single-1', 1, { gapMs: 10 }),
  ];
  const many = new HttpSender(server, 'many', 1_000, { gapMs: 60 });
  for (const sender of [...single, many]) await sender.open();
  const senders = [...devices, fresh, ...single, many];
  const runs = senders.map((sender) => sender.run());
  const goesOn = (): Promise<void> => {
    const before = devices.map(({ acknowledgedCount }) => acknowledgedCount);
    return until('every device is acknowledged again', () =>
      devices.every(({ acknowledgedCount }, index) => acknowledgedCount > before[index]),
    );
  };

  for (let kill = 0; kill < KILLS; kill += 1) {
    await goesOn();
    await delay(random() * 1_500);
    const clickHouse = server.clickHousePid();
    // Both at once in every third round, else the server alone.
    if (kill % 3 === 2 && clickHouse !== undefined) signal(clickHouse, 'SIGKILL');
    await server.kill();
    if (kill % 2 === 1) {
      // Twice during recovery, before it listens.
      for (let early = 0; early < 2; early += 1) {
        server.launch();
        await delay(200 + random() * 900);
        await server.kill();
      }
    }
    const startMs = Date.now();
    await server.start();
    t.comment(`kill ${kill + 1}: started again in ${Date.now() - startMs} ms`);
  }
  await goesOn();
  for (const sender of senders) sender.stop();
  await Promise.all(runs);

  const counts = devices.map((device) => device.acknowledgedCount);
  t.comment(
    `acknowledged by device ${counts.join(' ')}, new devices ${fresh.ledger.acknowledged.size}, single ${single
      .map(({ ledger }) => ledger.acknowledged.size)
      .join(' ')}, collections ${many.collections.acknowledged.size}`,
  );
  t.ok(
    counts.every((count) => count > 100),
    'every device got through',
  );
  t.ok(many.collections.acknowledged.size > 5, 'collections got through');
  t.strictSame(
    devices.flatMap(({ errors }) => errors),
    [],
    'no errors on s/e',
  );
  for (const { otherAnswers } of [...single, many]) t.strictSame([...otherAnswers], [], 'no POST was refused');

  // Through REST.
  const ids = new Map<string, string>();
  for (const device of devices) ids.set(device.name, (await server.deviceOf(device.name)) ?? '');
  const problems: string[] = [];
  problems.push(
    ...account('REST kill-0', devices[0].measurements, await measurementsOf(server, ids.get('kill-0') ?? '')),
  );
  for (const device of devices) {
    const answer = await server.http('GET', `/inventory/managedObjects/${ids.get(device.name)}`);
    const { c8y_Hardware: hardware } = answer.json<{ c8y_Hardware?: { model: string } }>();
    const model = Number(hardware?.model ?? 0);
    if (model < Math.max(0, ...device.models.acknowledged) || model > device.models.sent)
      problems.push(`${device.name}: model is ${model}`);
  }
  const stop = await server.terminate();
  t.equal(stop.code, 0, 'stops in order');

  // Row by row.
  const rows = await readHistory<MeasurementRow>(
    server.data,
    `SELECT source, value, seq, shard, id, type FROM measurements WHERE fragment = 'fault' ORDER BY seq`,
  );
  const bySource = new Map<number, MeasurementRow[]>();
  for (const row of rows) {
    const list = bySource.get(row.source);
    if (list) list.push(row);
    else bySource.set(row.source, [row]);
  }
  const valuesOf = (id: string): number[] => (bySource.get(Number(id)) ?? []).map(({ value }) => value);
  for (const device of devices)
    problems.push(...account(device.name, device.measurements, valuesOf(ids.get(device.name) ?? '')));
  for (const sender of [...single, many])
    problems.push(...account(sender.name, sender.ledger, valuesOf(sender.device)));
  const perCollection = new Map<string, number>();
  for (const { type } of bySource.get(Number(many.device)) ?? [])
    perCollection.set(type, (perCollection.get(type) ?? 0) + 1);
  for (const [type, count] of perCollection)
    if (count !== many.batch) problems.push(`collection ${type} has ${count} of ${many.batch}`);
  for (const [source, list] of bySource)
    if (new Set(list.map(({ shard }) => shard)).size > 1) problems.push(`source ${source} is in several shards`);
  if (new Set(rows.map(({ seq }) => seq)).size !== rows.length) problems.push('a sequence number is used twice');
  if (new Set(rows.map(({ id }) => id)).size !== rows.length) problems.push('an id is used twice');

  const events = await readHistory<{ source: number; text: string }>(
    server.data,
    `SELECT source, JSONExtractString(doc, 'text') AS text FROM events FINAL WHERE type = 'fault_Event' ORDER BY id`,
  );
  const alarms = await readHistory<{ source: number; type: string; count: number }>(
    server.data,
    `SELECT source, type, count FROM alarms FINAL WHERE type LIKE 'fault_%' ORDER BY id`,
  );
  const objects = await readHistory<{ id: number; name: string }>(
    server.data,
    `SELECT id, name FROM managed_objects FINAL`,
  );
  for (const device of devices) {
    const source = Number(ids.get(device.name));
    problems.push(
      ...account(
        `${device.name} events`,
        device.events,
        events.filter((row) => row.source === source).map(({ text }) => Number(text.slice('event '.length))),
      ),
    );
    problems.push(
      ...account(
        `${device.name} alarms`,
        device.alarms,
        alarms.filter((row) => row.source === source).map(({ type }) => Number(type.slice('fault_'.length))),
      ),
    );
  }
  const repeated = alarms.filter(({ count }) => count !== 1);
  if (repeated.length > 0) problems.push(`${repeated.length} alarms were counted twice`);
  const numbersOfFresh: number[] = [];
  for (const { id, name } of objects) {
    const number = /^MQTT Device fresh-(\d+)$/.exec(name)?.[1];
    if (number === undefined) continue;
    numbersOfFresh.push(Number(number));
    const values = valuesOf(String(id));
    if (values.length > 1 || (values.length === 0 && fresh.ledger.acknowledged.has(Number(number))))
      problems.push(`${name} has ${values.length} measurements`);
  }
  problems.push(...account('new devices', fresh.ledger, numbersOfFresh, false));
  t.strictSame(
    problems,
    [],
    `the account of ${rows.length} measurements, ${events.length} events, ${alarms.length} alarms and ${objects.length} objects is exact`,
  );
});
