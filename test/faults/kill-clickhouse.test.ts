/**
 * kill -9 of the ClickHouse process under load: ingestion goes on, the projector catches up, nothing is lost or
 * doubled.
 */
import t from 'tap';
import { until } from '../helpers/setup-command.ts';
import { delay, readHistory, seeded, ServerProcess, signal } from '../helpers/process/server.ts';
import { account, DeviceSender, HttpSender } from '../helpers/process/load.ts';

const KILLS = 4;
/** An acknowledgement that takes longer has waited for something. */

t.test('a ClickHouse that stands still: not ready, the lag is told, and it goes on by itself', async (t) => {
  const server = await new ServerProcess(t).start();
  const device = new DeviceSender(server, 'halted', { gapMs: 25 });
  const run = device.run();
  await until('acknowledgements arrive', () => device.lastAckMs > 0);
  signal(server.clickHousePid()!, 'SIGSTOP');
  await until('/health/ready says so', async () => (await server.ready()).status === 503, 20_000);
  t.match((await server.ready()).parts['clickhouse'], { ready: false, state: 'unresponsive' });
  const before = device.acknowledgedCount;
  await until('devices are acknowledged meanwhile', () => device.acknowledgedCount > before + 50, 5_000);
  t.ok((await server.metric('millrace_projector_lag_records')) > 0, 'the lag is a number of records');
  signal(server.clickHousePid()!, 'SIGCONT');
  await until('ready again', async () => (await server.ready()).status === 200, 20_000);
  device.stop();
  await run;
  await server.caughtUp();
  t.equal(await server.metric('millrace_projector_lag_records'), 0);
  t.equal(await server.metric('millrace_clickhouse_restarts_total'), 0);
});

t.test('the ClickHouse process is killed again and again', async (t) => {
  const random = seeded(t);
  const server = await new ServerProcess(t).start();
  const devices = Array.from(
    { length: 3 },
    (_, index) => new DeviceSender(server, `child-${index}`, { mixed: true, gapMs: 25 }),
  );
  const many = new HttpSender(server, 'many', 1_000, { gapMs: 60 });
  await many.open();
  const runs = [...devices, many].map((sender) => sender.run());
  await until('acknowledgements arrive', () => devices.every(({ lastAckMs }) => lastAckMs > 0));
  let longestMs = 0;
  const watch = setInterval(() => {
    for (const { lastAckMs } of devices) longestMs = Math.max(longestMs, Date.now() - lastAckMs);
  }, 10);
  t.teardown(() => clearInterval(watch));

  for (let kill = 1; kill <= KILLS; kill += 1) {
    await until(
      'ClickHouse is there',
      async () => server.clickHousePid() !== undefined && (await server.ready()).parts['clickhouse'].ready,
    );
    await delay(random() * 700);
    const before = devices.map(({ acknowledgedCount }) => acknowledgedCount);
    signal(server.clickHousePid() ?? 0, 'SIGKILL');
    await until('/health/ready says so', async () => (await server.ready()).status === 503, 5_000);
    t.equal((await server.ready()).parts['clickhouse'].ready, false, '/health/ready names ClickHouse');
    t.equal((await server.http('GET', '/health')).status, 200, '/health is well');
    await until(
      'devices are acknowledged meanwhile',
      () => devices.every(({ acknowledgedCount }, index) => acknowledgedCount > before[index] + 50),
      5_000,
    );
    await until('ready again', async () => (await server.ready()).status === 200, 20_000);
    t.equal(await server.metric('millrace_clickhouse_restarts_total'), kill, 'restarts are counted');
  }
  await until('ClickHouse is there', () => server.clickHousePid() !== undefined);
  for (const sender of [...devices, many]) sender.stop();
  await Promise.all(runs);
  clearInterval(watch);
  t.comment(
    `longest time without an acknowledgement ${longestMs} ms; acknowledged ${devices.map(({ acknowledgedCount }) => acknowledgedCount).join(' ')}`,
  );
  t.strictSame(
    devices.map(({ disconnects }) => disconnects),
    [0, 0, 0],
    'no device was disconnected',
  );
  t.strictSame([...many.otherAnswers], [], 'no POST was refused');
  const startMs = Date.now();
  await server.caughtUp();
  t.comment(`caught up in ${Date.now() - startMs} ms`);

  const ids = new Map<string, number>([[many.name, Number(many.device)]]);
  for (const device of devices) ids.set(device.name, Number(await server.deviceOf(device.name)));
  t.equal((await server.terminate()).code, 0);
  const rows = await readHistory<{ source: number; value: number }>(
    server.data,
    `SELECT source, value FROM measurements ORDER BY seq`,
  );
  const alarms = await readHistory<{ source: number; type: string; count: number }>(
    server.data,
    'SELECT source, type, count FROM alarms FINAL ORDER BY id',
  );
  const problems: string[] = [];
  const valuesOf = (name: string): number[] =>
    rows.filter(({ source }) => source === ids.get(name)).map(({ value }) => value);
  problems.push(...account(many.name, many.ledger, valuesOf(many.name)));
  for (const device of devices) {
    problems.push(...account(device.name, device.measurements, valuesOf(device.name)));
    problems.push(
      ...account(
        `${device.name} alarms`,
        device.alarms,
        alarms
          .filter(({ source }) => source === ids.get(device.name))
          .map(({ type }) => Number(type.slice('fault_'.length))),
      ),
    );
  }
  if (alarms.some(({ count }) => count !== 1)) problems.push('an alarm was counted twice');
  t.strictSame(problems, [], `the account of ${rows.length} measurements is exact`);
});
