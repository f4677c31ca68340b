/**
 * Rows that a real ClickHouse refuses (a constraint that was added to its tables): set aside, also when the server is
 * killed on the way.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { ServerProcess, delay, readHistory, seeded } from '../helpers/process/server.ts';
import { millrace, until } from '../helpers/setup-command.ts';
import { DIST } from '../helpers/root.ts';

const POISON = 666;
const TIME = '2026-01-01T00:00:00.000Z';

/** Runs statements on the data directory of a server that does not run. */
async function command(data: string, ...statements: string[]): Promise<void> {
  const load = async (path: string): Promise<any> => import(pathToFileURL(join(DIST, 'src', 'store', path)).href);
  const { EmbeddedClickHouse } = await load('embedded-clickhouse/supervisor.js');
  const { ClickHouse } = await load('clickhouse/adapter.js');
  const log = Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, () => undefined]));
  const engine = new EmbeddedClickHouse({ directory: join(data, 'clickhouse'), log });
  const client = new ClickHouse({ url: await engine.start(), log });
  try {
    for (const statement of statements) await client.command(statement);
  } finally {
    await client.close();
    await engine.stop();
  }
}

const linesOf = (server: ServerProcess): any[] => {
  const path = join(server.data, 'quarantine.jsonl');
  return existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    : [];
};

t.test('measurements, an event and a kill in the middle of the halving', async (t) => {
  const random = seeded(t);
  const server = await new ServerProcess(t).start();
  const device = await server.createDevice('poisoned');
  await server.caughtUp();
  t.same((await server.ready()).parts['quarantine'], { ready: true, count: 0, sizeBytes: 0 });
  await server.terminate();
  await command(
    server.data,
    `ALTER TABLE measurements ADD CONSTRAINT well CHECK value != ${POISON}`,
    `ALTER TABLE events ADD CONSTRAINT well CHECK type != 'poison'`,
  );
  const sent: number[] = [];
  const poisoned: number[] = [];
  await server.start();
  const post = async (count: number): Promise<void> => {
    const values = Array.from({ length: count }, () => {
      // Each takes some ten synchronised inserts.
      const isPoison = random() < 0.004;
      const number = sent.length + poisoned.length + 1_000;
      (isPoison ? poisoned : sent).push(number);
      return `{"source":{"id":"${device}"},"time":"${TIME}","type":"n${number % 10}","f":{"n":{"value":${number}},"p":{"value":${isPoison ? POISON : 0}}}}`;
    });
    const answer = await server.http('POST', '/measurement/measurements', `{"measurements":[${values.join(',')}]}`);
    if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
  };
  for (let kill = 0; kill < 2; kill += 1) {
    await post(600);
    await delay(random() * 600);
    await server.kill();
    await server.start();
  }
  for (const type of ['fine', 'poison', 'good']) {
    const answer = await server.http('POST', '/event/events', { source: { id: device }, type, text: 't', time: TIME });
    t.equal(answer.status, 201);
  }
  await server.caughtUp(120_000);
  const { status, parts } = await server.ready();
  t.equal(status, 200, 'ready: everything else goes on');
  t.equal(parts['quarantine']['count'], poisoned.length + 1);
  t.equal(await server.metric('millrace_quarantine_entries'), poisoned.length + 1);
  t.ok((await server.metric('millrace_projector_set_aside_total')) >= 1);
  await until(
    'the log names the event',
    () => /"?table"?[:=]\s*"?events/.test(server.stderr) && server.stderr.includes('quarantine'),
  );
  const lines = linesOf(server);
  t.same(
    lines
      .filter(({ kind }) => kind === 'measurement')
      .map(({ row }) => row.values[0].value)
      .sort((a, b) => a - b),
    poisoned,
  );
  t.match(
    lines.filter(({ kind }) => kind === 'row'),
    [{ table: 'events', code: 469, error: /well/ }],
  );
  t.ok(
    lines.every(
      ({ position, shard, seq, error }) =>
        position < seq && shard >= 0 && shard < 64 && /469|VIOLATED|Constraint/i.test(error),
    ),
  );
  t.equal((await server.terminate()).code, 0);
  const rows = await readHistory<{ value: number }>(
    server.data,
    `SELECT value FROM measurements WHERE series = 'n' ORDER BY value`,
  );
  t.same(
    rows.map(({ value }) => value),
    sent,
    'each of the others exactly once',
  );
  t.same(await readHistory(server.data, 'SELECT type FROM events FINAL ORDER BY type'), [
    { type: 'fine' },
    { type: 'good' },
  ]);
});

t.test(
  'a batch of the journal that cannot be read: set aside by doctor --repair or by the next start, which says so',
  async (t) => {
    const server = await new ServerProcess(t).start();
    const device = await server.createDevice('damaged');
    await server.caughtUp();
    const { openLmdb } = await import(pathToFileURL(join(DIST, 'src/store/lmdb/environment.js')).href);
    for (const isRepair of [true, false]) {
      await server.terminate();
      const environment = openLmdb(join(server.data, 'documents'));
      const [last] = [...environment.journal.getKeys({ reverse: true, limit: 1 })];
      await environment.journal.put(last, Buffer.from([0, 0, 0, 0]));
      await environment.close();
      const doctor = (...flags: string[]): ReturnType<typeof millrace> =>
        millrace(['doctor', '--http-port', '0', '--mqtt-port', '0', '--data', server.data, ...flags]);
      t.match(
        (await doctor()).stdout,
        /^fail +journal .*records \d+ to \d+ of the journal .* cannot be read: millrace doctor --repair/m,
      );
      if (isRepair) {
        t.match((await doctor('--repair')).stdout, /^warn +journal .*set aside/m);
        t.match((await doctor()).stdout, /^ok +journal /m);
      }
      await server.start();
      if (!isRepair) t.match(server.stderr, /"level":50.*of the journal .*cannot be read; they were set aside/);
      const answer = await server.http('POST', '/measurement/measurements', {
        source: { id: device },
        time: TIME,
        type: 'x',
        f: { n: { value: 1 } },
      });
      t.equal(answer.status, 201, 'the server goes on');
      await server.caughtUp();
    }
    t.same(
      linesOf(server).map(({ kind, table }) => [kind, table]),
      [
        ['batch', 'journal'],
        ['batch', 'journal'],
      ],
    );
    t.equal((await server.ready()).parts['quarantine']['count'], 2);
  },
);
