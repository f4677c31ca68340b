/** The embedded ClickHouse as the server uses it: a real child, the real client, kill -9 in between. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import type { Log } from '../../../src/ports/log.ts';
import { ClickHouse, exceptionCodeOf } from '../../../src/store/clickhouse/adapter.ts';
import { EmbeddedClickHouse } from '../../../src/store/embedded-clickhouse/supervisor.ts';
import { ENGINE_MARK } from '../../../src/store/embedded-clickhouse/orphan.ts';
import type { EmbeddedState } from '../../../src/store/embedded-clickhouse/supervisor.ts';
import { encodeNative } from '../../../src/store/clickhouse/native-columns.ts';
import type { NativeColumn } from '../../../src/store/clickhouse/native-columns.ts';
import { DIST } from '../../helpers/root.ts';
import { until } from '../../helpers/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'millrace-clickhouse-'));
const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, isLevelEnabled: () => false, child: () => silent };
const childPath = join(DIST, 'src/store/embedded-clickhouse/child.js');
const COLUMNS = ['id', 'text', 'kind'];

// As an operator sets it: the engine's process must not get it.
process.env['MILLRACE_ADMIN_PASSWORD'] ??= 'not for the engine';
const states: EmbeddedState[] = [];
const embedded = new EmbeddedClickHouse({
  directory: join(directory, 'data'),
  log: silent,
  readSessions: 2,
  waitingMax: 8,
  onState: (state) => states.push(state),
  childPath,
});
const client = new ClickHouse({ url: await embedded.start(), log: silent });

t.teardown(async () => {
  await client.close();
  await embedded.stop();
  rmSync(directory, { recursive: true, force: true });
});

function block(firstId: number, texts: readonly string[]): Buffer {
  const columns: NativeColumn[] = [
    {
      name: 'id',
      type: 'UInt64',
      data: { kind: 'integers', values: Float64Array.from(texts, (_, index) => firstId + index) },
    },
    { name: 'text', type: 'String', data: { kind: 'strings', values: texts } },
    {
      name: 'kind',
      type: 'LowCardinality(String)',
      data: { kind: 'dictionary', values: ['k'], indices: new Uint8Array(texts.length) },
    },
  ];
  return encodeNative(columns, texts.length);
}

async function createTable(name: string): Promise<void> {
  await client.command(`CREATE TABLE ${name} (id UInt64, text String, kind LowCardinality(String)) ENGINE = MergeTree ORDER BY id
    SETTINGS non_replicated_deduplication_window = 100`);
}

async function count(table: string): Promise<number> {
  return (await client.query<{ count: number }>(`SELECT count() AS count FROM ${table}`))[0].count;
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

async function killAndWait(): Promise<void> {
  const restarts = embedded.restartsCount;
  process.kill(embedded.pid ?? 0, 'SIGKILL');
  await until('restart', () => embedded.restartsCount > restarts && embedded.state === 'ready');
}

t.test('values are bound, whatever they hold', async (t) => {
  const texts = [
    "it's",
    '\\',
    '\\N',
    'a\n\nb',
    '\t\r\n',
    '\0',
    '"`{x:String}',
    '; DROP TABLE x',
    'ü😀',
    '',
    "\\'; SELECT 1 --",
  ];
  for (const text of texts) {
    const rows = await client.query('SELECT {text:String} AS text, length({text:String}) AS size', { text });
    t.same(rows, [{ text, size: Buffer.byteLength(text) }], JSON.stringify(text));
  }
  const params = {
    ids: [1, Number.MAX_SAFE_INTEGER],
    texts,
    none: null,
    some: 'x',
    at: new Date('2026-09-21T13:33:20.123Z'),
    flag: true,
  };
  t.same(
    await client.query(
      `SELECT {ids:Array(UInt64)} AS ids, {texts:Array(String)} AS texts, {none:Nullable(String)} AS none,
    {some:Nullable(String)} AS some, toUnixTimestamp64Milli({at:DateTime64(3)}) AS at, {flag:Bool} AS flag`,
      params,
    ),
    [{ ...params, at: params.at.getTime() }],
  );
  const many = Array.from({ length: 20_000 }, (_, index) => 1_000_000_000 + index);
  t.same(await client.query('SELECT length({many:Array(UInt64)}) AS count', { many }), [{ count: 20_000 }]);
});

t.test('a whole result, of no row and of several blocks', async (t) => {
  t.same(await client.query('SELECT 1 AS one WHERE 0'), []);
  const rows = await client.query<{ id: number }>('SELECT number AS id FROM numbers(200000)');
  t.equal(rows.length, 200_000);
  t.same(rows.at(-1), { id: 199_999 });
});

t.test("errors are ClickHouse's own, and leave nothing behind in a session", async (t) => {
  const code = async (sql: string, settings = {}): Promise<number | undefined> => {
    try {
      await client.query(sql, {}, settings);
    } catch (error) {
      return exceptionCodeOf(error);
    }
    return 0;
  };
  t.equal(await code('SELECT * FROM missing'), 60);
  t.equal(await code('SELECT (1'), 62);
  t.equal(await code('SELECT 1; SELECT 2'), 62, 'one statement at a time');
  t.equal(await code('SELECT {text:String} AS text'), 456, 'a value that an earlier request bound is not seen');
  t.equal(await code('SELECT throwIf(number = 3) FROM numbers(5)'), 395);
  t.equal(await code('SELECT 1', { no_such_setting: 1 }), 115);
  t.equal(await code('SELECT 1', { max_block_size: 'many' }), 27);
  t.equal(await code("SELECT ';' AS a, '{x:String}' AS b -- ; {y:String}"), 0);
  for (let turn = 0; turn < 4; turn++) {
    const sql = "SELECT getSetting('max_block_size') AS size";
    t.same(await client.query(sql, {}, { max_block_size: '77' }), [{ size: 77 }]);
    t.same(await client.query(sql), [{ size: 65409 }], 'a setting holds for its request only');
  }
});

t.test('an insert with a token that was seen is dropped, also after kill -9', async (t) => {
  await createTable('tokens');
  const insert = async (firstId: number, token?: string, texts = ['a', 'b', 'c']): Promise<number> => {
    const settings = token === undefined ? {} : { insert_deduplication_token: token };
    await client.insertNative('tokens', COLUMNS, block(firstId, texts), settings);
    return await count('tokens');
  };
  // Large ones reach the table in another way.
  const large = ['a', 'b', 'c'].map((text) => text.repeat(200_000));
  t.equal(await insert(1, 'first'), 3);
  t.equal(await insert(1, 'first'), 3, 'again');
  t.equal(await insert(5, 'first'), 3, 'the token decides, not the rows');
  t.equal(await insert(1, 'second'), 6, 'another token, the same rows');
  t.equal(await insert(1), 9);
  t.equal(await insert(1), 12, 'nothing is dropped without a token');
  t.equal(await insert(1, 'first', large), 12, 'a large one with the token of a small one');
  t.equal(await insert(1, 'large', large), 15);
  await killAndWait();
  t.equal(await insert(1, 'first'), 15, 'after kill -9');
  t.equal(await insert(1, 'large', large), 15);
  t.equal(await insert(1, 'large'), 15, 'a small one with the token of a large one');
  for (const expected of [18, 21]) t.equal(await insert(1, undefined, large), expected, 'large without a token');
  t.equal(await insert(1, 'third'), 24);
  const text = '{"text":"x\\n\\nDROP TABLE tokens","id":99}\n';
  for (const token of ['json', 'json'])
    await client.insertText('tokens', 'JSONEachRow', text, { insert_deduplication_token: token });
  t.equal(await count('tokens'), 25, 'text formats honour the token');
  for (let turn = 0; turn < 2; turn++) await client.insertText('tokens', 'JSONEachRow', text);
  t.equal(await count('tokens'), 27, 'and drop nothing without one');
});

t.test('a token is remembered for each partition of a batch', async (t) => {
  await client.command(`CREATE TABLE partitions (id UInt64, text String, kind LowCardinality(String)) ENGINE = MergeTree
    PARTITION BY intDiv(id, 10) ORDER BY id SETTINGS non_replicated_deduplication_window = 100`);
  const settings = { insert_deduplication_token: 'spans' };
  // As if the first insert had been killed after its first partition.
  await client.insertNative('partitions', COLUMNS, block(8, ['a', 'b']), settings);
  for (let turn = 0; turn < 2; turn++)
    await client.insertNative('partitions', COLUMNS, block(8, ['a', 'b', 'c', 'd']), settings);
  t.same(
    await client.query('SELECT id FROM partitions ORDER BY id'),
    [8, 9, 10, 11].map((id) => ({ id })),
  );
});

t.test('other users of the machine are refused', async (t) => {
  const url = new URL(embedded.url);
  url.username = '';
  url.password = '';
  const stranger = new ClickHouse({ url: url.href, log: silent });
  t.teardown(() => stranger.close());
  await t.rejects(stranger.query('SELECT 1'), { code: '516' });
  t.ok(await stranger.ping());
});

t.test('the process of the engine has no secret in its environment or arguments', async (t) => {
  const environment = readFileSync(`/proc/${embedded.pid}/environ`, 'utf8').split('\0');
  const names = environment.map((line) => line.split('=', 1)[0]).filter((name) => name !== '');
  t.notOk(names.includes('MILLRACE_ADMIN_PASSWORD'), 'no setting of the server');
  const { password } = new URL(embedded.url);
  const command = readFileSync(`/proc/${embedded.pid}/cmdline`, 'utf8');
  t.notOk(environment.join(' ').includes(password) || command.includes(password), 'nor its own password');
  t.equal(command.split('\0')[2], ENGINE_MARK, 'a later server knows it, wherever its file is');
  t.same(
    names.filter(
      (name) =>
        !/^(PATH|HOME|TMPDIR|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|GLIBC_TUNABLES|(JE_)?MALLOC_\w+|TZ|UV_THREADPOOL_SIZE|NODE_CHANNEL_\w+)$/.test(
          name,
        ),
    ),
    [],
  );
});

t.test('opens with more broken parts than the engine takes by itself, and goes on', async (t) => {
  const place = join(directory, 'broken');
  const parts = 101;
  const open = async (): Promise<{ engine: EmbeddedClickHouse; over: ClickHouse }> => {
    const engine = new EmbeddedClickHouse({ directory: place, log: silent, childPath });
    return { engine, over: new ClickHouse({ url: await engine.start(), log: silent }) };
  };
  const before = await open();
  await before.over.command(
    'CREATE TABLE broken (id UInt64) ENGINE = MergeTree ORDER BY id SETTINGS max_bytes_to_merge_at_max_space_in_pool = 1',
  );
  await before.over.command(
    `INSERT INTO broken SELECT number FROM numbers(${parts})`,
    {},
    { max_block_size: '1', min_insert_block_size_rows: '1', max_insert_block_size: '1' },
  );
  await before.over.close();
  await before.engine.stop();
  let broken = 0;
  for (const name of readdirSync(join(place, 'store'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('/data.bin')) continue;
    truncateSync(join(place, 'store', name), 0);
    broken += 1;
  }
  t.ok(broken >= parts, `${broken} parts are broken`);
  const after = await open();
  t.teardown(async () => {
    await after.over.close();
    await after.engine.stop();
  });
  await after.over.command('INSERT INTO broken SELECT 1000');
  t.same(await after.over.query('SELECT id FROM broken'), [{ id: 1_000 }]);
});

t.test('rows cannot become statements', async (t) => {
  await createTable('safe');
  const evil = 'a\n\nCREATE TABLE evil (a Int8) ENGINE = Memory;\n\nDROP TABLE safe;\n';
  await client.insertNative('safe', COLUMNS, block(1, [evil, 'b']));
  await client.insertText('safe', 'CSV', `3,"${evil}",k\n4,b,k\n`);
  await client
    .insertText('safe', 'CSV', `5,"x",k\n\nCREATE TABLE evil (a Int8) ENGINE = Memory;\n`)
    .catch(() => undefined);
  await client
    .insertText('safe', 'TabSeparated', '6\tx\tk\n\nCREATE TABLE evil (a Int8) ENGINE = Memory;\n')
    .catch(() => undefined);
  await client.command(`INSERT INTO safe (id, text, kind) VALUES (7, '${evil}', 'k'), (8, 'b', 'k')`);
  const tables = "SELECT name FROM system.tables WHERE name IN ('safe', 'evil')";
  t.same(await client.query(tables), [{ name: 'safe' }]);
  t.same(await client.query('SELECT id FROM safe WHERE text = {evil:String} ORDER BY id', { evil }), [
    { id: 1 },
    { id: 3 },
    { id: 7 },
  ]);
});

t.test('what was acknowledged is there after kill -9, and the same client works on', async (t) => {
  await createTable('durable');
  const before = embedded.url;
  let acknowledged = 0;
  let isKilled = false;
  const kill = until('inserts', () => acknowledged >= 5)
    .then(killAndWait)
    .then(() => {
      isKilled = true;
    });
  for (let id = 0; !isKilled || id < 10; id++) {
    const body = block(
      id * 100,
      Array.from({ length: 100 }, () => 'text'),
    );
    const settings = { insert_deduplication_token: `batch ${id}` };
    // The retry is the caller's: the same rows with the same token, until acknowledged.
    await until('insert', () =>
      client.insertNative('durable', COLUMNS, body, settings).then(
        () => true,
        () => false,
      ),
    );
    acknowledged++;
  }
  await kill;
  t.equal(embedded.url, before);
  t.equal(await count('durable'), acknowledged * 100);
  t.same(await client.query('SELECT uniqExact(id) AS ids FROM durable'), [{ ids: acknowledged * 100 }]);
  t.ok(states.includes('down') && states.at(-1) === 'ready');
  t.ok(await client.ping());
});

/** A read of which the client goes when the function that is returned is called. */
function abandonable(sql: string, onAnswer: () => void = () => undefined): () => void {
  const abort = new AbortController();
  const url = `${embedded.url}/?query=${encodeURIComponent(sql)}`;
  request(url, { signal: abort.signal })
    .on('response', onAnswer)
    .on('error', () => undefined)
    .end();
  return () => abort.abort();
}

/** Statements with this word in them that the engine lists. */
async function running(word: string): Promise<number> {
  const sql = `SELECT count() AS count FROM system.processes WHERE query LIKE '%${word}%' AND query NOT LIKE '%system.processes%'`;
  return (await client.query<{ count: number }>(sql))[0].count;
}

t.test('a short query does not wait for a long one, and an abandoned one is ended', async (t) => {
  for (const settings of ['', ' SETTINGS max_threads = 2']) {
    const abandon = abandonable(`SELECT max(sipHash64(number)) FROM numbers(2000000000000)${settings} FORMAT TSV`);
    await until('the slow query runs', async () => (await running('sipHash64')) === 1);
    await client.query('SELECT 1');
    t.equal(await running('sipHash64'), 1, 'beside the slow query');
    // Takes the other session, and so returns it last: the next queries are not of the session that has to forget the
    // slow one.
    const last = client.query('SELECT sleep(1)');
    abandon();
    await last;
    await until('the slow query is ended', async () => (await running('sipHash64')) === 0);
  }
});

t.test('a statement that failed is not kept by its session', async (t) => {
  await createTable('held');
  await client.insertNative('held', COLUMNS, block(1, ['a', 'b']));
  const last = client.query('SELECT sleep(1)');
  await t.rejects(client.query('SELECT throwIf(id = 2) FROM held'), { code: '395' });
  await last;
  t.equal(await running('throwIf'), 0);
  // Would wait for ever: only a call of the session that keeps the statement would end it.
  await client.command('DROP TABLE held SYNC');
});

t.test('waiting is bounded', async (t) => {
  const sql = 'SELECT sleepEachRow(0.3) FROM numbers(1)';
  const slow = Array.from({ length: 12 }, () =>
    client.query(sql).then(
      () => 'done',
      (error: Error) => error,
    ),
  );
  const answers = await Promise.all(slow);
  const refused = answers.filter((answer) => answer instanceof Error) as Error[];
  t.equal(refused.length, 2, 'two run, eight wait');
  t.match(refused[0].message, /8 wait for a read session, the limit is 8/);
  t.equal(exceptionCodeOf(refused[0]), 202);
});

t.test('what waits is forgotten when its client goes', async (t) => {
  const running = [1, 2].map(() => client.query('SELECT sleep(3)'));
  await delay(100);
  let refused = 0;
  const waiting = Array.from({ length: 9 }, () =>
    abandonable('SELECT 1', () => {
      refused++;
    }),
  );
  await until('eight wait, the ninth is refused', () => refused === 1);
  for (const abandon of waiting) abandon();
  await delay(500);
  const answers = await Promise.all(Array.from({ length: 8 }, () => client.query('SELECT 1 AS one')));
  t.same(answers.flat().length, 8, 'there is room for eight');
  await Promise.all(running);
});

t.test('results in every format, streamed where that can be', async (t) => {
  const sql = "SELECT number AS id, concat('text ', toString(number)) AS text FROM numbers({rows:UInt64})";
  const rows = 300_000;
  let seen = 0;
  let batches = 0;
  for await (const batch of client.streamRows<{ id: number }>(sql, { rows })) {
    if (batch[0].id !== seen) throw new Error('out of order');
    seen += batch.length;
    batches++;
  }
  t.equal(seen, rows);
  t.ok(batches > 1);
  const csv = await textOf(await client.stream(sql, { rows }, 'CSVWithNames'));
  t.equal(csv.split('\n').length, rows + 2, 'names only once');
  t.ok(csv.startsWith('"id","text"\n0,"text 0"\n'));
  t.equal(await textOf(await client.stream(sql, { rows: 2 }, 'JSONCompactEachRow')), '[0, "text 0"]\n[1, "text 1"]\n');
  t.equal(JSON.parse(await textOf(await client.stream(sql, { rows }, 'JSON'))).rows, rows);
  t.ok((await textOf(await client.stream(sql, { rows }, 'Parquet'))).endsWith('PAR1'));
  t.equal(await textOf(await client.stream(sql, { rows: 0 }, 'CSV')), '');
  await createTable('copies');
  const native = Buffer.from(
    await textOf(await client.stream(`SELECT id, text, '' AS kind FROM (${sql})`, { rows }, 'Native')),
    'latin1',
  );
  await client.insertNative('copies', COLUMNS, native);
  t.equal(await count('copies'), rows);
  const broken = client.streamRows('SELECT throwIf(number = 2000000) AS x FROM numbers(3000000)');
  await t.rejects(
    async () => {
      for await (const batch of broken) void batch;
    },
    { code: '395' },
    'an error in the middle is reported',
  );
  for await (const batch of client.streamRows(sql, { rows: 100_000_000 })) {
    t.ok(batch.length > 0);
    break;
  }
  t.same(await client.query('SELECT 1 AS one'), [{ one: 1 }], 'after a stream was left');
});

t.test('a second process on the directory is refused; stop leaves no file behind', async (t) => {
  const second = new EmbeddedClickHouse({ directory: join(directory, 'data'), log: silent, childPath });
  await t.rejects(second.start(), /did not start in/);
  await embedded.stop();
  t.equal(embedded.state, 'stopped');
  t.notOk(existsSync(join(directory, 'data/millrace-spool')));
  await t.rejects(client.query('SELECT 1'));
});

t.test(
  'a process that stands still is told, forgiven when it goes on, and started again when it does not',
  async (t) => {
    const seen: EmbeddedState[] = [];
    const engine = new EmbeddedClickHouse({
      directory: join(directory, 'halted'),
      log: silent,
      childPath,
      silentAfterSeconds: 2,
      deadAfterSeconds: 6,
      onState: (state) => seen.push(state),
    });
    await engine.start();
    t.teardown(() => engine.stop());
    const first = engine.pid!;
    process.kill(first, 'SIGSTOP');
    await until('silence', () => engine.state === 'unresponsive');
    process.kill(first, 'SIGCONT');
    await until('an answer', () => engine.state === 'ready');
    t.equal(engine.pid, first);
    process.kill(first, 'SIGSTOP');
    await until('another process', () => engine.restartsCount === 1 && engine.state === 'ready');
    t.not(engine.pid, first);
    t.same(seen, ['starting', 'ready', 'unresponsive', 'ready', 'unresponsive', 'down', 'starting', 'ready']);
  },
);
