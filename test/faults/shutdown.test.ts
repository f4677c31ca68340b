/** SIGTERM under load: in order, in time, nothing acknowledged is missing. */
import t from 'tap';
import { until } from '../helpers/setup-command.ts';
import { delay, readHistory, ServerProcess, signal } from '../helpers/process/server.ts';
import { account, DeviceSender, HttpSender, measurementsOf } from '../helpers/process/load.ts';

const ROUNDS = 2;

t.test('SIGTERM under load', async (t) => {
  const server = await new ServerProcess(t).start();
  const devices = Array.from({ length: 3 }, (_, index) => new DeviceSender(server, `term-${index}`, { gapMs: 20 }));
  const single = new HttpSender(server, 'single', 1, { gapMs: 10 });
  await single.open();
  const runs = [...devices, single].map((sender) => sender.run());
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = devices.map(({ acknowledgedCount }) => acknowledgedCount);
    await until('acknowledgements arrive', () =>
      devices.every(({ acknowledgedCount }, index) => acknowledgedCount > before[index]),
    );
    await delay(500);
    const { code, durationMs } = await server.terminate();
    t.equal(code, 0, 'exit code 0');
    t.comment(`${durationMs} ms`);
    await server.start();
  }
  for (const sender of [...devices, single]) sender.stop();
  await Promise.all(runs);
  const problems: string[] = [];
  for (const device of devices)
    problems.push(
      ...account(
        device.name,
        device.measurements,
        await measurementsOf(server, (await server.deviceOf(device.name)) ?? ''),
      ),
    );
  problems.push(...account(single.name, single.ledger, await measurementsOf(server, single.device)));
  t.strictSame(problems, [], 'the account is exact');
});

t.test('SIGTERM flushes: what was acknowledged is in the history when the process ends', async (t) => {
  const server = await new ServerProcess(t).start({ args: ['--projector-interval-ms', '60000'] });
  const id = await server.createDevice('flushed');
  const body = { source: { id }, time: new Date().toISOString(), type: 'x', fault: { n: { value: 7 } } };
  t.equal((await server.http('POST', '/measurement/measurements', body)).status, 201);
  t.equal((await server.terminate()).code, 0);
  t.same(await readHistory(server.data, 'SELECT source, value FROM measurements'), [{ source: Number(id), value: 7 }]);
});

t.test('a second SIGTERM ends at once', async (t) => {
  const server = await new ServerProcess(t).start();
  await server.createDevice('waits');
  await server.caughtUp();
  // Stands still: stopping in order has to wait.
  signal(server.clickHousePid() ?? 0, 'SIGSTOP');
  await server.createDevice('not in the history yet');
  signal(server.pid, 'SIGTERM');
  await until('the stop begins', () => server.stderr.includes('stopping'));
  await delay(50);
  t.ok(server.isAlive, 'is still stopping');
  const { code, durationMs } = await server.terminate();
  t.equal(code, 1);
  t.comment(`${durationMs} ms`);
  await server.start();
  const { text } = await server.http('GET', '/inventory/managedObjects?pageSize=100');
  t.match(text, /not in the history yet/, 'what was acknowledged is there');
});

t.test('SIGTERM while ClickHouse stands still ends in order and in time', async (t) => {
  const server = await new ServerProcess(t).start();
  signal(server.clickHousePid() ?? 0, 'SIGSTOP');
  await server.createDevice('kept in the journal');
  const { code, durationMs } = await server.terminate();
  t.equal(code, 0);
  t.comment(`${durationMs} ms`);
  await server.start();
  const { text } = await server.http('GET', '/inventory/managedObjects?pageSize=100');
  t.match(text, /kept in the journal/, 'what was acknowledged is there');
});

t.test('a ClickHouse that outlives its killed server does not keep the next one from starting', async (t) => {
  const server = await new ServerProcess(t).start();
  const orphan = server.clickHousePid() ?? 0;
  // As with a statement that runs for long: it does not see that its server is gone.
  signal(orphan, 'SIGSTOP');
  await server.createDevice('before');
  await server.kill();
  await server.start();
  t.not(server.clickHousePid(), orphan, 'another process has the data');
  const { text } = await server.http('GET', '/inventory/managedObjects?pageSize=100');
  t.match(text, /before/, 'what was acknowledged is there');
});
