/** `millrace doctor` with the servers of a cluster: each of them as it should be, and each of them wrong. */
import { createServer } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { clusterFindings } from '../src/cli/cluster-doctor.ts';
import { loadConfig } from '../src/config.ts';
import type { Config } from '../src/config.ts';
import { checkClickHouse } from '../src/store/clickhouse-doctor.ts';
import { openClickHouse } from './helpers/clickhouse.ts';
import { freePort, startNats } from './helpers/nats-server.ts';
import { startRedis } from './helpers/redis-server.ts';
import { millrace, scratchDirectory } from './helpers/setup-command.ts';
import { missing } from './helpers/tools.ts';

const SHARED = {
  'admin-password': 'test-only', 'management-password': 'test-only', 'bootstrap-password': 'test-only', 'secret-key': 'test-only-0123456789-0123456789-0123456789',
};

const configOf = (flags: Record<string, string>): Config => loadConfig({ flags: { ...SHARED, ...flags }, environment: {} }).config;
const nowhere = async (): Promise<string> => `127.0.0.1:${await freePort()}`;

/** Takes connections and says nothing. */
async function startSilent(t: Test): Promise<string> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => { sockets.add(socket); });
  await new Promise<void>((done) => { server.listen(0, '127.0.0.1', done); });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

t.test('the command looks at all three, and ends with 0 when all can be used', { skip: missing('nats-server', 'redis-server'), timeout: 120_000 }, async (t) => {
  const [nats, redis, { url }] = [await startNats(t), await startRedis(t), await openClickHouse(t)];
  const flags = {
    ...SHARED, nats: nats.url, redis: redis.url, clickhouse: url, 'http-port': '0', 'mqtt-port': '0', 'data': scratchDirectory(t), 'journal-max-bytes': '1GiB',
  };
  redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  const result = await millrace(['doctor', ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])]);
  t.equal(result.code, 0, result.stdout + result.stderr);
  for (const name of ['NATS version', 'JetStream', 'NATS streams', 'redis', 'ClickHouse version', 'ClickHouse tables', 'ClickHouse tokens', 'ClickHouse queries']) {
    t.match(result.stdout, new RegExp(`^ok +${name} `, 'm'));
  }
  t.match(result.stdout, /^warn +NATS durability .*power/m);
  t.match(result.stdout, /^ok +ClickHouse disk|^warn +ClickHouse disk/m);
  t.match(result.stdout, /This machine can run the server/);
  t.notMatch(result.stdout, new URL(url).password, 'no password is shown');
});

t.test('without settings of a cluster nothing of it is looked at', async (t) => {
  t.same(await clusterFindings(configOf({})), []);
});

t.test('servers that are not there are named, each with a remedy', async (t) => {
  const findings = await clusterFindings(configOf({
    nats: `nats://${await nowhere()}`, redis: `redis://${await nowhere()}`, clickhouse: `http://user:secret@${await nowhere()}`,
  }));
  t.same(findings.map(({ state, name }) => `${state} ${name}`), ['fail NATS', 'fail redis', 'fail ClickHouse']);
  for (const { fact, remedy } of findings) {
    t.notMatch(fact, /secret/);
    t.match(remedy, /^start /);
  }
});

t.test('NATS: each thing that a node does and the user may not is named', { skip: missing('nats-server'), timeout: 120_000 }, async (t) => {
  const prefix = 'perm';
  const others = { redis: `redis://${await nowhere()}`, clickhouse: `http://${await nowhere()}` };
  const allowed = { publish: ['$JS.API.>', `${prefix}.>`, `$KV.${prefix}_leases.>`, `$KV.${prefix}_nodes.>`, `$O.${prefix}_blobs.>`, '_INBOX.>'], subscribe: ['_INBOX.>', `${prefix}.>`] };
  const lacks: Readonly<Record<string, [Partial<typeof allowed> & { deny?: string[] }, RegExp | undefined]>> = {
    all: [{}, undefined],
    journal: [{ deny: [`${prefix}.doctor.>`] }, /cannot store a message/],
    leases: [{ publish: allowed.publish.filter((subject) => !subject.includes('leases')) }, /cannot write to \$KV\.perm_leases\.>/],
    heartbeats: [{ publish: allowed.publish.filter((subject) => !subject.includes('nodes')) }, /cannot write to \$KV\.perm_nodes\.>/],
    content: [{ publish: allowed.publish.filter((subject) => !subject.startsWith('$O')) }, /cannot write to \$O\.perm_blobs\.>/],
    direct: [{ deny: ['$JS.API.DIRECT.>'] }, /cannot read a message from any replica/],
    consumers: [{ deny: ['$JS.API.CONSUMER.>'] }, /cannot read with a consumer/],
    purges: [{ deny: ['$JS.API.STREAM.PURGE.>'] }, /cannot purge a stream/],
    nodes: [{ subscribe: ['_INBOX.>'] }, /cannot tell other nodes something/],
  };
  const users = Object.entries(lacks).map(([user, [{ publish = allowed.publish, subscribe = allowed.subscribe, deny = [] }]]) =>
    `{ user: ${user}, password: p, permissions: { publish: { allow: ${JSON.stringify(publish)}, deny: ${JSON.stringify(deny)} }, subscribe: ${JSON.stringify(subscribe)} } }`);
  const { port } = await startNats(t, { config: `authorization { users: [ ${users.join(', ')} ] }` });
  for (const [user, [, fact]] of Object.entries(lacks)) {
    const findings = await clusterFindings(configOf({ ...others, nats: `nats://${user}:p@127.0.0.1:${port}`, 'cluster-prefix': prefix, 'journal-max-bytes': '1GiB' }));
    const streams = findings.find(({ name }) => name === 'NATS streams');
    if (fact === undefined) t.match(streams, { state: 'ok', fact: /nodes reach each other/ }, 'what the remedy names is enough');
    else t.match(streams, { state: 'fail', fact, remedy: /allow the user to publish .*\$KV.*subscribe/ }, user);
  }
});

t.test('the command ends with 1 when one of them fails', async (t) => {
  const flags = {
    ...SHARED, 'nats': `nats://${await nowhere()}`, 'redis': `redis://${await nowhere()}`, 'clickhouse': `http://${await nowhere()}`, 'http-port': '0', 'mqtt-port': '0',
    'data': scratchDirectory(t),
  };
  const result = await millrace(['doctor', ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])]);
  t.equal(result.code, 1, result.stdout + result.stderr);
  t.match(result.stdout, /^fail +ClickHouse +.*ECONNREFUSED.*: start clickhouse-server/m);
  t.notMatch(result.stdout, /This machine can run the server/);
});

t.test('servers that take connections and do not answer: all at the same time, and not for ever', async (t) => {
  const findings = await clusterFindings(configOf({
    nats: `nats://${await startSilent(t)}`, redis: `redis://${await startSilent(t)}`, clickhouse: `http://${await startSilent(t)}`,
  }), 1_000);
  t.same(findings.map(({ state, name }) => `${state} ${name}`), ['fail NATS', 'fail redis', 'fail ClickHouse']);
  for (const { fact } of findings) t.match(fact, /not done after 1 s/);
});

t.test('ClickHouse: what is there already is looked at, and nothing of the check stays', async (t) => {
  const { client, url } = await openClickHouse(t);
  const states = async (): Promise<string[]> => (await checkClickHouse({ url, database: 'default' })).map(({ state, name }) => `${state} ${name}`);
  const found = await states();
  t.notOk(found.some((line) => line.startsWith('fail')), found.join(', '));
  t.ok(found.includes('ok ClickHouse window'), found.join(', '));
  await client.command('ALTER TABLE measurements MODIFY SETTING non_replicated_deduplication_window = 100');
  t.ok((await states()).includes('fail ClickHouse window'));
  t.same(await client.query("SELECT name FROM system.tables WHERE name LIKE 'doctor%'"), []);

  const wrong = new URL(url);
  wrong.password = 'wrong';
  const [finding, ...others] = await checkClickHouse({ url: wrong.href, database: 'default' });
  t.match(finding, { state: 'fail', name: 'ClickHouse', remedy: 'check user and password in the URL of --clickhouse' });
  t.same(others, []);
});
