/** Power loss of a single node: what was acknowledged is stored exactly once, whatever the disk had not written. */
import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { ClickHouse } from '../../src/store/clickhouse/adapter.ts';
import { EmbeddedClickHouse } from '../../src/store/embedded-clickhouse/supervisor.ts';
import { LossyDisk, lossyDisksFail } from '../helpers/stores/lossy-disk.ts';
import { DIST } from '../helpers/root.ts';
import { until } from '../helpers/setup-command.ts';
import { ENTITY_KINDS, EntitySender } from '../helpers/process/entities.ts';
import { KeptSender } from '../helpers/process/kept.ts';
import { delay, readHistory, seeded, ServerProcess, signal } from '../helpers/process/server.ts';
import { account, DeviceSender, HttpSender } from '../helpers/process/load.ts';

t.setTimeout(3_600_000);

const CUTS = Number(process.env['MILLRACE_POWER_CUTS'] ?? 3);
const DEVICES = 3;

const skip = await lossyDisksFail();

t.test('the disk of these tests loses what was not synchronised, and nothing else', { skip }, async (t) => {
  const disk = new LossyDisk(t);
  const synchronised = join(disk.path, 'synchronised');
  const lost = join(disk.path, 'lost');
  writeFileSync(synchronised, 'x'.repeat(100_000));
  const file = openSync(synchronised, 'r');
  fsyncSync(file);
  writeFileSync(lost, 'y'.repeat(100_000));
  disk.powerCut();
  t.throws(() => writeFileSync(join(disk.path, 'later'), 'z'), { code: 'EIO' }, 'nothing is written without power');
  t.throws(() => fsyncSync(file), { code: 'EIO' });
  closeSync(file);
  await disk.restore();
  t.equal(readFileSync(synchronised, 'utf8').length, 100_000);
  t.notOk(statSync(lost, { throwIfNoEntry: false })?.size, 'what was not synchronised is lost');
  writeFileSync(lost, 'again');
  disk.powerCut();
  await disk.restore();
  t.notOk(statSync(lost, { throwIfNoEntry: false })?.size, 'a second time as well');
});

const silent = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => silent };

/** The engine on a disk: what one statement leaves when the power is cut right behind its answer. */
async function engineOn(
  t: Test,
  disk: LossyDisk,
): Promise<{
  query<Row>(sql: string): Promise<Row[]>;
  command(sql: string, settings?: Record<string, string>): Promise<void>;
  cut(): Promise<void>;
}> {
  const directory = join(disk.path, 'engine');
  let embedded!: EmbeddedClickHouse;
  let client!: ClickHouse;
  const start = async (): Promise<void> => {
    embedded = new EmbeddedClickHouse({
      directory,
      log: silent,
      childPath: join(DIST, 'src/store/embedded-clickhouse/child.js'),
    });
    client = new ClickHouse({ url: await embedded.start(), log: silent });
  };
  const end = async (): Promise<void> => {
    if (embedded.pid !== undefined) signal(embedded.pid, 'SIGKILL');
    // Without power it cannot remove the file that names the process.
    await Promise.all([client.close(), embedded.stop().catch(() => undefined)]);
  };
  t.teardown(end);
  await start();
  return {
    query: (sql) => client.query(sql),
    command: (sql, settings) => client.command(sql, {}, settings),
    cut: async () => {
      disk.powerCut();
      await end();
      await disk.restore();
      await start();
    },
  };
}

t.test('the engine keeps what it has answered: inserts, merges, statements that delete', { skip }, async (t) => {
  const disk = new LossyDisk(t);
  const engine = await engineOn(t, disk);
  const ids = async (): Promise<number[]> =>
    (await engine.query<{ id: number }>('SELECT id FROM kept ORDER BY id')).map(({ id }) => id);
  await engine.command('CREATE TABLE kept (id UInt64, text String) ENGINE = MergeTree ORDER BY id');
  for (const id of [1, 2, 3]) await engine.command(`INSERT INTO kept SELECT ${id}, 'x'`);
  await engine.cut();
  t.same(await ids(), [1, 2, 3], 'a table and rows');
  await engine.command('OPTIMIZE TABLE kept FINAL');
  await engine.cut();
  t.same(await ids(), [1, 2, 3]);
  t.same(
    await engine.query(`SELECT name FROM system.parts WHERE table = 'kept' AND active`),
    [{ name: 'all_1_3_1' }],
    'the part that a merge made: its sources may be removed',
  );
  await engine.command('ALTER TABLE kept DELETE WHERE id = 2', { mutations_sync: '0' });
  await engine.cut();
  await until('the statement is carried out', async () => (await ids()).length === 2);
  t.same(await ids(), [1, 3], 'a DELETE that was begun');
});

/** Ends the server and its engine, whatever state they are in, and mounts what reached the disk. */
async function cutPower(disk: LossyDisk, server: ServerProcess): Promise<void> {
  const clickHouse = server.clickHousePid();
  disk.powerCut();
  if (clickHouse !== undefined) signal(clickHouse, 'SIGKILL');
  await server.kill();
  await disk.restore();
}

t.test('power cuts at random moments of mixed load', { skip }, async (t) => {
  const random = seeded(t);
  const disk = new LossyDisk(t);
  const server = new ServerProcess(t, { data: join(disk.path, 'data') });
  // The first start is cut off: files of every store are half made.
  server.launch();
  await delay(random() * 4_000);
  await cutPower(disk, server);
  await server.start();
  const devices = Array.from(
    { length: DEVICES },
    (_, index) => new DeviceSender(server, `cut-${index}`, { mixed: true, gapMs: 25 }),
  );
  const posts = [
    new HttpSender(server, 'single', 1, { gapMs: 10 }),
    new HttpSender(server, 'many', 1_000, { gapMs: 60 }),
  ];
  const entities = [0, 1, 2].map((index) => new EntitySender(server, `entities-${index}`));
  const kept = new KeptSender(server);
  for (const sender of [...posts, ...entities, kept]) await sender.open();
  const senders = [...devices, ...posts, ...entities, kept];
  const runs = senders.map((sender) => sender.run());
  const areAcknowledged = async (): Promise<void> => {
    const [ofDevices, ofEntities] = [devices, entities].map((list) =>
      list.map(({ acknowledgedCount }) => acknowledgedCount),
    );
    const keptBefore = kept.acknowledgedCount;
    await until(
      'acknowledgements arrive',
      () =>
        devices.every(({ acknowledgedCount }, index) => acknowledgedCount > ofDevices[index]) &&
        entities.every(({ acknowledgedCount }, index) => acknowledgedCount > ofEntities[index] + 3) &&
        kept.acknowledgedCount > keptBefore + 7,
    );
  };

  for (let cut = 0; cut < CUTS; cut += 1) {
    await areAcknowledged();
    await delay(random() * 3_000);
    await cutPower(disk, server);
    if (cut % 3 === 2) {
      // Once more while it recovers, before it listens.
      server.launch();
      await delay(200 + random() * 900);
      await cutPower(disk, server);
    }
    const startMs = Date.now();
    await server.start();
    t.comment(`cut ${cut + 1}: started again in ${Date.now() - startMs} ms`);
  }
  await areAcknowledged();
  for (const sender of senders) sender.stop();
  await Promise.all(runs);
  // All is in the history and nothing is under way: the journal no longer has it.
  await server.caughtUp();
  await cutPower(disk, server);
  await server.start();

  for (const device of devices) t.ok(device.acknowledgedCount > 50, `${device.name} got through`);
  t.strictSame(
    devices.flatMap(({ errors }) => errors),
    [],
    'no errors on s/e',
  );
  for (const { otherAnswers } of [...posts, ...entities, kept]) {
    // Between the cut and the end of the processes the server may still say that it cannot write.
    t.strictSame(
      [...otherAnswers.keys()].filter((what) => !/: 5\d\d |^5\d\d /.test(what)),
      [],
      'nothing was refused',
    );
  }
  t.comment(`${kept.acknowledgedCount} files, links, external IDs, options, users and ended sessions`);
  t.strictSame(await kept.missing(), [], 'files, links, external IDs, options, users and ended sessions are there');
  const ids = new Map<string, number>(posts.map(({ name, device }) => [name, Number(device)]));
  for (const { name } of devices) ids.set(name, Number(await server.deviceOf(name)));
  await server.caughtUp();
  t.equal((await server.terminate()).code, 0, 'stops in order');

  const all = await readHistory<{ kind: string; source: number; number: number; isChanged: number }>(
    server.data,
    [
      `SELECT 'measurements' AS kind, source, toUInt32(value) AS number, 0 AS isChanged, seq AS place FROM measurements WHERE fragment = 'fault'`,
      ...['events', 'alarms'].map(
        (
          table,
        ) => `SELECT '${table} over MQTT' AS kind, source, toUInt32(substring(JSONExtractString(doc, 'text'), 7)) AS number, 0 AS isChanged, id AS place
      FROM ${table} FINAL WHERE type LIKE 'fault_%'${table === 'alarms' ? ' AND count = 1' : ''}`,
      ),
      ...entities.flatMap((sender) => ENTITY_KINDS.map((kind) => sender.selectOf(kind))),
    ]
      .join(' UNION ALL ')
      .replace(/^/, 'SELECT kind, source, number, isChanged FROM (') + ') ORDER BY place',
  );
  const rowsOf = (kind: string, name?: string): typeof all =>
    all.filter((row) => row.kind === kind && (name === undefined || row.source === ids.get(name)));
  const numbersOf = (kind: string, name?: string): number[] => rowsOf(kind, name).map(({ number }) => number);
  const problems: string[] = [];
  for (const { name, measurements, events, alarms } of devices) {
    problems.push(
      ...account(name, measurements, numbersOf('measurements', name)),
      ...account(`${name} events`, events, numbersOf('events over MQTT', name)),
      ...account(`${name} alarms`, alarms, numbersOf('alarms over MQTT', name)),
    );
  }
  for (const { name, ledger } of posts) problems.push(...account(name, ledger, numbersOf('measurements', name)));
  for (const sender of entities) {
    ids.set(sender.name, Number(sender.device));
    for (const kind of ENTITY_KINDS) {
      problems.push(
        ...account(`${sender.name} ${kind}`, sender.created[kind], numbersOf(kind, sender.name)),
        ...sender.changesMissing(kind, rowsOf(kind, sender.name)),
      );
    }
  }
  t.comment(Array.from(new Set(all.map(({ kind }) => kind)), (kind) => `${kind} ${numbersOf(kind).length}`).join(', '));
  t.strictSame(problems, [], `the account over ${CUTS} power cuts is exact`);
});
