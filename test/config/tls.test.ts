/**
 * Certificates of a private authority, and of this client, for NATS, Redis and ClickHouse alike; and what the doctor
 * says without them.
 */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { clusterFindings } from '../../src/cli/doctor/cluster.ts';
import { loadConfig } from '../../src/config/config.ts';
import { ClickHouse } from '../../src/store/clickhouse/adapter.ts';
import { NatsConnection } from '../../src/store/nats/connection.ts';
import { RedisConnection } from '../../src/store/redis/connection.ts';
import { readRedisTarget } from '../../src/config/redis.ts';
import { tlsFilesOf } from '../../src/config/tls-files.ts';
import { CertificateFactory } from '../helpers/certificates.ts';
import { freePort } from '../helpers/free-port.ts';
import { silentLog, startNats } from '../helpers/stores/nats-server.ts';
import { startRedis } from '../helpers/stores/redis-server.ts';
import { scratchDirectory } from '../helpers/until.ts';
import { missing } from '../helpers/tools.ts';
import { PATIENCE } from '../helpers/until.ts';

const skip = missing('openssl', 'nats-server', 'redis-server');
const TIMEOUT_MS = 5_000 * PATIENCE;
const PASSWORD = 'p@ss';

t.test('one authority and one client certificate for the three', { skip }, async (t) => {
  const directory = scratchDirectory(t);
  const factory = new CertificateFactory(directory);
  const authority = factory.authority('authority');
  const server = factory.issue('server', authority, { hosts: 'DNS:localhost,IP:127.0.0.1' });
  const client = factory.issue('client', authority);
  const nats = await startNats(t, {
    config: `
    tls { cert_file: "${server.file}", key_file: "${server.keyFile}", ca_file: "${authority.file}", verify: true }
    authorization { user: me, password: "${PASSWORD}" }`,
  });
  const redisPort = await freePort();
  await startRedis(
    t,
    '--tls-port',
    String(redisPort),
    '--tls-cert-file',
    server.file,
    '--tls-key-file',
    server.keyFile,
    '--tls-ca-cert-file',
    authority.file,
    '--tls-auth-clients',
    'yes',
    '--user',
    'me',
    'on',
    `>${PASSWORD}`,
    '~*',
    '+@all',
    '--maxmemory-policy',
    'noeviction',
  );
  const logins = new Set<string | undefined>();
  // Every query has no rows.
  const clickHouse = createServer(
    {
      cert: server.certificate,
      key: server.key,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: true,
    },
    (request, response) => {
      logins.add(request.headers.authorization);
      response.end('[]');
    },
  );
  await new Promise<void>((done) => {
    clickHouse.listen(0, '127.0.0.1', done);
  });
  t.teardown(() => {
    clickHouse.closeAllConnections();
    clickHouse.close();
  });
  const login = `me:${encodeURIComponent(PASSWORD)}@localhost`;
  const urls = {
    nats: `tls://${login}:${nats.port}`,
    redis: `rediss://${login}:${redisPort}`,
    clickhouse: `https://${login}:${(clickHouse.address() as AddressInfo).port}`,
  };
  const flags = {
    ...urls,
    'admin-password': 'a-Secret-1',
    'management-password': 'a-Secret-1',
    'bootstrap-password': 'a-Secret-1',
    'secret-key': '0123456789abcdef0123456789abcdef',
  };
  const configOf = (more: object): ReturnType<typeof loadConfig>['config'] =>
    loadConfig({ flags: { ...flags, ...more }, environment: {} }).config;
  const given = { 'ca-certificate': authority.file, 'client-certificate': client.file, 'client-key': client.keyFile };
  const config = configOf(given);
  const tls = tlsFilesOf(config);

  const connection = await NatsConnection.open(
    { servers: urls.nats, name: 'test', ...tls },
    { log: silentLog, timeoutMs: TIMEOUT_MS },
  );
  t.equal((await connection.manager.getAccountInfo()).streams, 0, 'NATS');
  await connection.close();
  const redis = new RedisConnection({ target: readRedisTarget(urls.redis, tls), log: silentLog, name: 'test' });
  await redis.ready(TIMEOUT_MS);
  await redis.ask();
  t.equal(await redis.client.acl('WHOAMI'), 'me', 'Redis');
  redis.close();
  const history = new ClickHouse({ url: urls.clickhouse, log: silentLog, tls });
  await history.ask();
  logins.clear();
  t.same(await history.query('SELECT 1'), []);
  t.same([...logins], [`Basic ${Buffer.from(`me:${PASSWORD}`).toString('base64')}`], 'ClickHouse');
  await history.close();

  const found = await clusterFindings(config);
  t.match(
    found.find(({ name }) => name === 'redis'),
    { state: 'ok' },
  );
  t.match(
    found.find(({ name }) => name === 'NATS'),
    { state: 'ok' },
  );
  t.notMatch(
    found.map(({ fact, remedy }) => `${fact} ${remedy}`).join('\n'),
    /trust its/,
    'no trouble with certificates',
  );

  // Each file alone is not enough.
  for (const [more, what] of [
    [{}, 'nothing'],
    [{ 'ca-certificate': authority.file }, 'no client certificate'],
    [{ 'client-certificate': client.file, 'client-key': client.keyFile }, 'no authority'],
  ] as const) {
    const failed = (await clusterFindings(configOf(more))).filter(({ state }) => state === 'fail');
    t.same(failed.map(({ name }) => name).sort(), ['ClickHouse', 'NATS', 'redis'], what);
  }
});

t.test('mistakes', async (t) => {
  const mistakes = (flags: object): string => {
    try {
      loadConfig({
        flags: { nats: 'tls://x', redis: 'rediss://x', clickhouse: 'https://x', ...flags },
        environment: {},
      });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  t.match(mistakes({ 'client-key': '/nowhere.key' }), /--client-key is given without --client-certificate/);
  t.match(
    mistakes({ 'client-key': '/nowhere.key', 'client-certificate': '/nowhere.pem' }),
    /--client-certificate is "\/nowhere.pem"; it takes a file[^]*--client-key is/,
  );
});
