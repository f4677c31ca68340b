/**
 * The disk is nearly full: writes are refused with the limit's name, reads work, nothing breaks; with room again all
 * goes on.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { until } from '../helpers/setup-command.ts';
import { readHistory, ServerProcess } from '../helpers/process/server.ts';
import { RawMqtt } from '../helpers/process/mqtt.ts';
import { account, DeviceSender, HttpSender, measurementsOf } from '../helpers/process/load.ts';

const MIB = 1_048_576;
const DISK_BYTES = 512 * MIB;
const FREE_MIN_BYTES = 128 * MIB;
/** What is left above the limit before the load begins. */
const ROOM_BYTES = 6 * MIB;

t.test('less free space than --disk-free-min-bytes', async (t) => {
  const server = await new ServerProcess(t).start();
  const device = await server.createDevice('full');
  const body = { source: { id: device }, time: new Date().toISOString(), type: 'x', fault: { n: { value: 1 } } };
  t.equal((await server.http('POST', '/measurement/measurements', body)).status, 201);
  t.equal((await server.terminate()).code, 0);
  const { bavail, bsize } = statfsSync(server.data);
  await server.start({ args: ['--disk-free-min-bytes', String(bavail * bsize * 2)] });
  const writes: [string, string, object][] = [
    ['POST', '/measurement/measurements', body],
    ['POST', '/inventory/managedObjects', { name: 'x' }],
    ['POST', '/event/events', { source: { id: device }, type: 'x', text: 'x', time: body.time }],
    ['PUT', `/inventory/managedObjects/${device}`, { name: 'y' }],
  ];
  for (const [method, path, document] of writes) {
    const answer = await server.http(method, path, document);
    t.equal(answer.status, 503, `${method} ${path}`);
    t.match(
      answer.json<object>(),
      { error: /^general\//, message: /disk\/free-bytes|The disk has less/ },
      'the body names the limit',
    );
  }
  const client = await RawMqtt.connect(server.mqttPort, { clientId: 'full', version: 5 });
  client.publish('s/us', '200,a,b,1', 1, 1);
  await until('the client is disconnected', () => client.isClosed, 10_000);
  t.equal(client.disconnectCode, 0x97, 'MQTT 5.0: Quota exceeded');
  t.match(client.disconnectReason, /disk/, 'the reason says which');
  t.strictSame(await measurementsOf(server, device), [1], 'reads work');
  t.equal((await server.http('GET', `/inventory/managedObjects/${device}`)).status, 200, 'reads work');
  const health = await server.ready();
  t.equal(health.status, 503);
  t.equal(health.parts['disk'].ready, false, '/health/ready names the disk');
  t.ok((await server.metric('millrace_refusals_total{limit="disk/free-bytes"}')) > 0, 'refusals are counted');
  t.equal((await server.terminate()).code, 0);
  await server.start({ args: [] });
  t.equal((await server.http('POST', '/measurement/measurements', body)).status, 201, 'works again without the limit');
});

t.test('what gives space back is taken, a few times', async (t) => {
  const server = await new ServerProcess(t).start();
  const device = await server.createDevice('freeing');
  const event = { source: { id: device }, type: 'x', text: 'x', time: new Date().toISOString() };
  t.equal((await server.http('POST', '/event/events', event)).status, 201);
  t.equal((await server.terminate()).code, 0);
  const { bavail, bsize } = statfsSync(server.data);
  await server.start({ args: ['--disk-free-min-bytes', String(Math.round(bavail * bsize * 1.3))] });
  t.equal((await server.http('POST', '/event/events', event)).status, 503);
  t.equal((await server.http('PUT', '/retention/retentions/1', { maximumAge: 3 })).status, 200, 'a shorter rule');
  const created = await server.http('POST', '/retention/retentions', { dataType: 'EVENT', maximumAge: 1 });
  t.equal(created.status, 201, 'a further rule');
  t.equal((await server.http('DELETE', `/event/events?source=${device}`)).status, 204);
  await until(
    'the event is gone',
    async () =>
      (await server.http('GET', `/event/events?source=${device}`)).json<{ events: unknown[] }>().events.length === 0,
  );
  const statuses: number[] = [];
  for (let age = 4; age < 40 && !statuses.includes(503); age += 1)
    statuses.push((await server.http('PUT', '/retention/retentions/1', { maximumAge: age })).status);
  t.ok(statuses.length > 10 && statuses.at(-1) === 503, `then it is refused as all else: ${statuses}`);
  t.equal((await server.terminate()).code, 0);
  const full = await server.start({ args: ['--disk-free-min-bytes', String(bavail * bsize * 3)] });
  t.equal(
    (await full.http('PUT', '/retention/retentions/1', { maximumAge: 2 })).status,
    503,
    'half of the reserve stays',
  );
});

function mount(path: string): boolean {
  return (
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', path], { stdio: 'ignore' }).status === 0
  );
}

function unmount(path: string): void {
  spawnSync('umount', ['-l', path]);
  rmdirSync(path);
}

/** @returns false when a file system can be mounted here, else why not. */
function mountingFails(): string | false {
  const path = mkdtempSync(join(tmpdir(), 'millrace-disk-'));
  const isMounted = mount(path);
  if (isMounted) unmount(path);
  else rmdirSync(path);
  return isMounted ? false : 'a tmpfs cannot be mounted here (needs root)';
}

/** A file system of its own, unmounted after the test. */
function smallDisk(t: { teardown(action: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-disk-'));
  if (!mount(path)) throw new Error('the tmpfs could not be mounted');
  t.teardown(() => unmount(path));
  return path;
}

const skip = mountingFails();

const freeBytes = (path: string): number => {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
};

function ballast(path: string, leaveBytes: number): () => void {
  const file = join(path, 'ballast');
  const bytes = freeBytes(path) - leaveBytes;
  try {
    if (bytes > 0) writeFileSync(file, Buffer.alloc(bytes));
  } catch (error) {
    // The server was faster with the last of it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
  return () => rmSync(file, { force: true });
}

t.test('a small disk is filled under load', { skip }, async (t) => {
  const path = smallDisk(t);
  const server = await new ServerProcess(t, { data: join(path, 'data') }).start({
    args: ['--disk-free-min-bytes', String(FREE_MIN_BYTES)],
  });
  const { pid } = server;
  const devices = [
    new DeviceSender(server, 'disk-0', { gapMs: 25 }),
    new DeviceSender(server, 'disk-1', { gapMs: 25 }),
  ];
  const many = [0, 1].map((index) => new HttpSender(server, `many-${index}`, 1_000, { gapMs: 15 }));
  for (const sender of many) await sender.open();
  const runs = [...devices, ...many].map((sender) => sender.run());
  await until('acknowledgements arrive', () => devices.every(({ lastAckMs }) => lastAckMs > 0));
  const remove = ballast(path, FREE_MIN_BYTES + ROOM_BYTES);
  await until('writes are refused', () => many.every(({ otherAnswers }) => otherAnswers.size > 0), 60_000);
  t.comment(
    `refused with ${freeBytes(path)} bytes free; ${many.map(({ collections }) => collections.acknowledged.size).join(' ')} collections`,
  );
  t.ok(freeBytes(path) > FREE_MIN_BYTES / 4, 'refused well before the end');
  for (const { otherAnswers } of many)
    for (const [what] of otherAnswers) t.match(what, /^503 .*(disk\/free-bytes|The disk has less)/);
  t.equal((await server.http('GET', '/inventory/managedObjects?pageSize=5')).status, 200, 'reads work');
  const before = many.map(({ collections }) => collections.acknowledged.size);
  remove();
  await until(
    'writes are taken again',
    () => many.every(({ collections }, index) => collections.acknowledged.size > before[index] + 2),
    30_000,
  );
  const beforeDevices = devices.map(({ acknowledgedCount }) => acknowledgedCount);
  await until(
    'devices are acknowledged again',
    () => devices.every(({ acknowledgedCount }, index) => acknowledgedCount > beforeDevices[index] + 20),
    30_000,
  );
  for (const sender of [...devices, ...many]) sender.stop();
  await Promise.all(runs);
  t.equal(server.pid, pid);
  t.ok(server.isAlive, 'no crash');
  await server.caughtUp();
  await checkAccount(t, server, devices, many);
});

// With the guard, which looks four times a second, and without it. A commit of documents that fails ends the server: it
// must not go on with a state that is not on disk; journal and restart keep the account.
for (const freeMinBytes of [FREE_MIN_BYTES, 0])
  t.test(`somebody else takes all space, --disk-free-min-bytes ${freeMinBytes}`, { skip }, async (t) => {
    const path = smallDisk(t);
    const server = await new ServerProcess(t, { data: join(path, 'data') }).start({
      args: ['--disk-free-min-bytes', String(freeMinBytes)],
    });
    const devices = [
      new DeviceSender(server, 'gone-0', { mixed: true, gapMs: 25 }),
      new DeviceSender(server, 'gone-1', { gapMs: 25 }),
    ];
    const many = [new HttpSender(server, 'many', 1_000, { gapMs: 20 })];
    for (const sender of many) await sender.open();
    const runs = [...devices, ...many].map((sender) => sender.run());
    await until('acknowledgements arrive', () => devices.every(({ lastAckMs }) => lastAckMs > 0));
    const remove = ballast(path, 0);
    await until(
      'writes are refused, or the server has ended',
      () => !server.isAlive || many[0].otherAnswers.size > 0,
      20_000,
    );
    const survived = server.isAlive;
    t.comment(`the server ${survived ? 'went on' : 'ended'}; ${[...many[0].otherAnswers.keys()].join(' ')}`);
    t.comment(
      server.stderr
        .split('\n')
        .filter((line) => /"level":[56]0/.test(line))
        .map((line) => line.slice(0, 1_500))
        .slice(0, 2)
        .join('\n'),
    );
    const log = server.stderr;
    remove();
    for (const device of devices) {
      const before = device.acknowledgedCount;
      await until(
        'devices are acknowledged again',
        async () => {
          // A commit of documents that fails ends the process, perhaps only now.
          if (!server.isAlive) await server.start();
          return device.acknowledgedCount > before + 20;
        },
        30_000,
      );
    }
    for (const sender of [...devices, ...many]) sender.stop();
    await Promise.all(runs);
    if (!survived) t.match(server.stderr + log, /Commit failed|ENOSPC|No space/i, 'the log says why');
    await server.caughtUp();
    await checkAccount(t, server, devices, many);
  });

async function checkAccount(
  t: Test,
  server: ServerProcess,
  devices: readonly DeviceSender[],
  many: readonly HttpSender[],
): Promise<void> {
  const problems: string[] = [];
  const ids = new Map<string, number>(many.map((sender) => [sender.name, Number(sender.device)]));
  for (const device of devices) ids.set(device.name, Number(await server.deviceOf(device.name)));
  t.equal((await server.terminate()).code, 0, 'stops in order');
  const rows = await readHistory<{ source: number; value: number }>(
    server.data,
    `SELECT source, value FROM measurements ORDER BY seq`,
  );
  const valuesOf = (name: string): number[] =>
    rows.filter(({ source }) => source === ids.get(name)).map(({ value }) => value);
  for (const device of devices) problems.push(...account(device.name, device.measurements, valuesOf(device.name)));
  for (const sender of many) problems.push(...account(sender.name, sender.ledger, valuesOf(sender.name)));
  t.strictSame(problems, [], `the account of ${rows.length} measurements is exact`);
}
