/** The settings of the connection to NATS, its users and certificates, and what the doctor says. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { NatsConnection, connectionOptionsOf } from '../../../src/store/nats/connection.ts';
import type { NatsSettings } from '../../../src/config/nats.ts';
import { checkNats } from '../../../src/store/nats/doctor.ts';
import { eventually } from '../../cluster/contracts/shard-journal.ts';
import { freePort } from '../../helpers/free-port.ts';
import { silentLog, startNats } from '../../helpers/stores/nats-server.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { missing } from '../../helpers/tools.ts';

const skip = missing('nats-server');
const WANTED = { prefix: 'test', replicas: 1, journalMaxBytes: 1024 ** 3 };

const open = (settings: Partial<NatsSettings> & { servers: string }): Promise<NatsConnection> =>
  NatsConnection.open({ name: 'test', ...settings }, { log: silentLog, timeoutMs: 1 });

async function states(settings: Partial<NatsSettings> & { servers: string }, wanted = WANTED): Promise<string[]> {
  return (await checkNats({ name: 'test', ...settings }, wanted, silentLog)).map(
    ({ state, name }) => `${state} ${name}`,
  );
}

t.test('settings', async (t) => {
  const settings = (servers: string, more: Partial<NatsSettings> = {}): NatsSettings => ({
    servers,
    name: 'n',
    ...more,
  });
  t.same(connectionOptionsOf(settings('nats://a, nats://b:1,c')).servers, ['a:4222', 'b:1', 'c:4222']);
  t.ok(connectionOptionsOf(settings('tls://b')).tls);
  t.notOk(connectionOptionsOf(settings('nats://b')).tls);
  t.match(connectionOptionsOf(settings('tls://b', { caFile: 'ca.pem' })).tls, { caFile: 'ca.pem' });
  t.notOk(
    connectionOptionsOf(settings('nats://b', { caFile: 'ca.pem' })).tls,
    'the authority may be meant for Redis and ClickHouse',
  );
  for (const [servers, message] of [
    ['', /a URL of NATS is missing/],
    ['http://a', /is not a URL of NATS/],
    ['nats://u:p@a,nats://v:p@b', /different users/],
    ['nats://a,tls://b', /mix nats/],
    ['nats://u:%@b', /%25/],
    ['nats://secret@', /\*\*\*@/],
  ] as const) {
    t.throws(() => connectionOptionsOf(settings(servers)), message);
  }
  t.throws(() => connectionOptionsOf(settings('nats://u:p@a', { credentialsFile: 'x.creds' })), /take one of them/);
  t.throws(() => connectionOptionsOf(settings('nats://a', { credentialsFile: '/nowhere/x.creds' })), /ENOENT/);
});

t.test('a server that comes later, goes and comes back', { skip }, async (t) => {
  const server = await startNats(t);
  await server.kill();
  const opening = NatsConnection.open({ servers: server.url, name: 'test' }, { log: silentLog });
  await new Promise((resolve) => {
    setTimeout(resolve, 200);
  });
  await server.start();
  const connection = await opening;
  t.equal(connection.unavailable, undefined);
  const events: string[] = [];
  const end = connection.onReconnected(() => {
    events.push('back');
  });
  for (let round = 0; round < 2; round += 1) {
    await server.kill();
    await eventually('lost', () => connection.unavailable === 'nats/unreachable');
    await server.start();
    await eventually('back', () => connection.isConnected, 2_000);
    end();
  }
  t.same(events, ['back']);
  await connection.close();
  t.equal(connection.isConnected, false);
  await t.rejects(open({ servers: `nats://127.0.0.1:${await freePort()}` }), /refused/);
});

t.test('user and password, token', { skip }, async (t) => {
  const withUser = await startNats(t, { config: 'authorization { user: "mill", password: "p@ss" }' });
  const address = withUser.url.replace('nats://', '');
  await (await open({ servers: `nats://mill:p%40ss@${address}` })).close();
  await t.rejects(open({ servers: `nats://mill:wrong@${address}` }), /Authorization/i);
  t.same(await states({ servers: withUser.url }), ['fail NATS']);
  const withToken = await startNats(t, { config: 'authorization { token: "abc" }' });
  await (await open({ servers: withToken.url.replace('://', '://abc@') })).close();
});

t.test('TLS with certificates of both sides', { skip: skip || missing('openssl') }, async (t) => {
  const directory = scratchDirectory(t);
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: directory, stdio: 'ignore' });
  };
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=test',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-keyout',
    'node.key',
    '-out',
    'node.csr',
  );
  openssl(
    'x509',
    '-req',
    '-days',
    '2',
    '-in',
    'node.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-copy_extensions',
    'copy',
    '-out',
    'node.pem',
  );
  const file = (name: string): string => join(directory, name);
  const server = await startNats(t, {
    config: `tls { cert_file: "${file('node.pem')}", key_file: "${file('node.key')}", ca_file: "${file('ca.pem')}", verify: true }`,
  });
  const url = `tls://localhost:${server.port}`;
  const files = { caFile: file('ca.pem'), certificateFile: file('node.pem'), keyFile: file('node.key') };
  const connection = await open({ servers: url, ...files });
  t.equal((await connection.manager.getAccountInfo()).streams, 0);
  await connection.close();
  const [finding] = await checkNats(
    { name: 'test', servers: url, keyFile: files.keyFile, certificateFile: files.certificateFile },
    WANTED,
    silentLog,
  );
  t.match(finding, { state: 'fail', remedy: /certificate authority/ });
});

t.test('the doctor', { skip }, async (t) => {
  const server = await startNats(t);
  const all = [
    'ok NATS',
    'ok NATS version',
    'ok NATS messages',
    'ok NATS rights',
    'ok JetStream',
    'fail NATS durability',
    'ok NATS streams',
    'ok NATS clock',
    'ok NATS storage',
    'warn NATS files',
  ];
  t.same(await states({ servers: server.url }), all);
  const replicas = await checkNats({ name: 'test', servers: server.url }, { ...WANTED, replicas: 3 }, silentLog);
  t.match(replicas.at(-1), { state: 'fail', name: 'NATS streams', remedy: /3 replicas need/ });
  t.match(await checkNats({ name: 'test', servers: `127.0.0.1:${await freePort()}` }, WANTED, silentLog), [
    { state: 'fail', remedy: /start nats-server/ },
  ]);
  t.match(await checkNats({ name: 'test', servers: 'http://x' }, WANTED, silentLog), [
    { state: 'fail', remedy: /correct the setting/ },
  ]);
  const small = await startNats(t, {
    config: `max_payload: 65536
    accounts { A { users: [{ user: a, password: a }], jetstream { max_file: 10MB } }, B { users: [{ user: b, password: b }] },
      C { users: [{ user: c, password: c, permissions { publish: ["$JS.API.INFO"], subscribe: ["_INBOX.>"] } }], jetstream: enabled } }`,
  });
  const as = (user: string): { servers: string } => ({ servers: small.url.replace('://', `://${user}:${user}@`) });
  t.same(await states(as('a')), [
    'ok NATS',
    'ok NATS version',
    'fail NATS messages',
    'ok NATS rights',
    'fail JetStream',
    'fail NATS durability',
  ]);
  t.same(await states(as('b')), [
    'ok NATS',
    'ok NATS version',
    'fail NATS messages',
    'ok NATS rights',
    'fail JetStream',
    'fail NATS durability',
  ]);
  t.match((await states(as('c'))).slice(3), ['fail NATS rights']);
  t.match(
    (await states(as('c'))).slice(-2),
    ['warn NATS streams', 'warn NATS files'],
    'its own stream is tried, and no matter',
  );
});
