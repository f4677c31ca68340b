/** The configuration: precedence, checking, all mistakes at once, masking, and the generated page. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { BACKUP_SETTINGS, RESTORE_SETTINGS } from '../../src/cli/backup-settings.ts';
import {
  configurationPage,
  loadConfig,
  loadDataSettings,
  changedConfig,
  SETTINGS,
  type Config,
} from '../../src/config/config.ts';
import { camelCase, environmentName, SettingsError, suggestion, type Setting } from '../../src/config/settings.ts';
import { helpText } from '../../src/config/text.ts';
import { JSON_BODY_BYTES_MAX } from '../../src/model/commands/group-bounds.ts';
import { CertificateFactory } from '../helpers/certificates.ts';
import { scratchDirectory } from '../helpers/setup-command.ts';
import { missing } from '../helpers/tools.ts';
import { ROOT } from '../helpers/root.ts';

function load(flags: Record<string, unknown> = {}, environment: Record<string, string> = {}): Config {
  return loadConfig({ flags, environment }).config;
}

function mistakes(flags: Record<string, unknown>, environment: Record<string, string> = {}): readonly string[] {
  try {
    loadConfig({ flags, environment });
  } catch (error) {
    if (error instanceof SettingsError) return error.mistakes;
    throw error;
  }
  return [];
}

/** What each node of a cluster is given. */
const CLUSTER = {
  nats: 'nats://x',
  redis: 'redis://x',
  clickhouse: 'http://x',
  'admin-password': 'Strong-a-1',
  'management-password': 'Strong-b-1',
  'bootstrap-password': 'Strong-c-1',
  'secret-key': '0123456789abcdef0123456789abcdef',
};

t.test('defaults', async (t) => {
  t.hasStrict(load(), {
    host: '::',
    httpPort: 8080,
    mqttPort: 1883,
    mqttTlsPort: 8883,
    data: './data',
    tenant: 't1',
    adminUser: 'admin',
    managementUser: 'admin',
    logLevel: 'info',
    mqttPayloadMaxBytes: 16_184,
    mqttRateMax: 0,
    mqttConnectionsMax: 18_000,
    bodySizeMaxBytes: 16 * 1024 * 1024,
    journalMaxBytes: 4 * 1024 ** 3,
    diskFreeMinBytes: 256 * 1024 ** 2,
    projectorBatchRows: 50_000,
    projectorIntervalMs: 250,
    shutdownTimeoutMs: 4500,
  });
  t.equal(load().adminPassword, undefined);
  for (const setting of SETTINGS) t.ok(camelCase(setting.name) in load(), setting.name);
});

t.test('every default is within its own limits', async (t) => {
  const given = SETTINGS.filter((setting) => setting.default !== null).map((setting) => [
    setting.name,
    setting.default,
  ]);
  // In a cluster it is another one.
  t.same(mistakes({ ...CLUSTER, ...Object.fromEntries(given.filter(([name]) => name !== 'json-body-max-bytes')) }), []);
});

t.test('flag before environment before file before default', async (t) => {
  const file = join(scratchDirectory(t), 'config.json');
  writeFileSync(
    file,
    JSON.stringify({ 'http-port': 1001, 'mqtt-port': 1002, tenant: 'file', 'journal-max-bytes': '1GiB' }),
  );
  const config = load(
    { config: file, 'http-port': '3001' },
    { MILLRACE_HTTP_PORT: '2001', MILLRACE_MQTT_PORT: '2002' },
  );
  t.hasStrict(config, {
    httpPort: 3001,
    mqttPort: 2002,
    tenant: 'file',
    mqttTlsPort: 8883,
    journalMaxBytes: 1024 ** 3,
  });
  t.equal(load({}, { MILLRACE_CONFIG: file }).httpPort, 1001);
  t.equal(load({}, { MILLRACE_HTTP_PORT: '' }).httpPort, 8080, 'an empty variable is not given');
});

t.test('names that scripts rely on', async (t) => {
  const config = load(
    {},
    {
      MILLRACE_HOST: '127.0.0.1',
      MILLRACE_HTTP_PORT: '1',
      MILLRACE_MQTT_PORT: '2',
      MILLRACE_DATA: '/d',
      MILLRACE_TENANT: 't9',
      MILLRACE_ADMIN_USER: 'a',
      MILLRACE_ADMIN_PASSWORD: 'Strong-b-1',
      MILLRACE_MANAGEMENT_USER: 'c',
      MILLRACE_MANAGEMENT_PASSWORD: 'Strong-d-1',
      MILLRACE_BOOTSTRAP_PASSWORD: 'Strong-e-1',
    },
  );
  t.hasStrict(config, {
    host: '127.0.0.1',
    httpPort: 1,
    mqttPort: 2,
    data: '/d',
    tenant: 't9',
    adminUser: 'a',
    adminPassword: 'Strong-b-1',
    managementUser: 'c',
    managementPassword: 'Strong-d-1',
    bootstrapPassword: 'Strong-e-1',
  });
});

t.test('all mistakes at once, each with name, value and limit', async (t) => {
  const found = mistakes(
    { 'http-port': '99999', 'log-level': 'loud', data: true },
    { MILLRACE_MQTT_PORT: 'many', MILLRACE_TENANT: 'T 1' },
  );
  t.equal(found.length, 5, found.join('\n'));
  const expected = [
    /^--http-port is "99999"; it takes an integer from 0 to 65535$/,
    /^MILLRACE_MQTT_PORT is "many"; it takes an integer/,
    /^--data is given without a value; it takes a directory$/,
    /^MILLRACE_TENANT is "T 1"; it takes .*lower-case/,
    /^--log-level is "loud"; it takes one of debug, info, warn, error$/,
  ];
  for (const pattern of expected)
    t.ok(
      found.some((mistake) => pattern.test(mistake)),
      String(pattern),
    );
});

t.test('values that are refused', async (t) => {
  const check = (name: string, value: unknown): void => {
    t.equal(mistakes({ [name]: value }).length, 1, `${name}=${String(value)}`);
  };
  for (const value of ['', ' ', '1.5', '1e3', '0x10', '-1', '65536', '80 80', '8080KiB', '9'.repeat(30)])
    check('http-port', value);
  for (const value of ['1 MB', '1kib', 'MiB', '1MiBs', '999999999TiB']) check('body-size-max-bytes', value);
  for (const value of ['localhost:80', 'ftp://a', 'http://a/?b=c', 'http://']) check('base-url', value);
  for (const value of ['a/b', 'a:b', 'a b', '']) check('admin-user', value);
  for (const value of [
    'maybe',
    '',
    '0',
    '100',
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.0/8/8',
    '::1/129',
    '10.0.0.1,',
    '10.0.0.1/',
  ])
    check('trust-proxy', value);
  for (const value of ['line\nfeed', 'a\0b']) check('data', value);
  for (const value of [
    '',
    '999.1.1.1',
    '127.0.0',
    '1.2.3.4.5',
    '0x7f',
    'a.b.0',
    'a b',
    'a..b',
    '-a',
    'a-',
    'a:1',
    '[::1]',
    'x'.repeat(64),
    'x.'.repeat(127) + 'x',
  ]) {
    check('host', value);
  }
});

t.test('hosts', async (t) => {
  for (const host of [
    '0.0.0.0',
    '127.0.0.1',
    '::',
    '::1',
    'fe80::1%lo',
    'localhost',
    'plant-7.example.org',
    'a_b.example.',
    '7.example',
    'x'.repeat(63),
  ]) {
    t.equal(load({ host }).host, host);
  }
});

t.test('settings that concern each other', async (t) => {
  const check = (flags: Record<string, string>, pattern: RegExp): void => {
    const found = mistakes(flags);
    t.ok(found.length === 1 && pattern.test(found[0]), found.join('\n'));
  };
  check({ 'http-port': '1883' }, /--http-port and --mqtt-port are both 1883/);
  check({ tenant: 'management' }, /--tenant is "management"/);
  const mails = { smtp: 'smtp://mail', 'mail-from': 'a@b.example' };
  check(mails, /^--smtp is given without --base-url: the links in mails begin with it/);
  t.same(mistakes({ ...mails, 'base-url': 'https://iot.example.com' }), []);
  check({ 'device-certificate-header': 'X-Cert' }, /^--device-certificate-header wants --trust-proxy: /);
  for (const value of ['yes', '1', '99', '10.0.0.0/8', '::1,10.1.2.3', 'fd00::/8, 10.1.2.3']) {
    t.same(mistakes({ 'device-certificate-header': 'X-Cert', 'trust-proxy': value }), [], value);
  }
  t.same(mistakes({ 'http-port': '0', 'mqtt-port': '0' }), [], 'two free ports differ');
});

t.test('in a cluster a JSON body fits into a message of NATS', async (t) => {
  const cluster = {
    nats: 'nats://x',
    redis: 'redis://x',
    clickhouse: 'http://x',
    'admin-password': 'Strong-a-1',
    'management-password': 'Strong-b-1',
    'bootstrap-password': 'Strong-c-1',
    'secret-key': '0123456789abcdef0123456789abcdef',
  };
  t.equal(load({}).jsonBodyMaxBytes, 1_048_576);
  t.equal(load(cluster).jsonBodyMaxBytes, JSON_BODY_BYTES_MAX, 'the default is less');
  t.equal(
    load({ ...cluster, 'json-body-max-bytes': String(JSON_BODY_BYTES_MAX) }).jsonBodyMaxBytes,
    JSON_BODY_BYTES_MAX,
  );
  t.equal(load({ ...cluster, 'json-body-max-bytes': '20000' }).jsonBodyMaxBytes, 20_000);
  t.match(mistakes({ ...cluster, 'json-body-max-bytes': '1MiB' }), [
    /^--json-body-max-bytes is 1048576 and --nats is given; in a cluster it takes at most 905216: /,
  ]);
  t.equal(load({ 'json-body-max-bytes': '8MiB' }).jsonBodyMaxBytes, 8_388_608, 'a single node takes it');
});

t.test('a mistaken setting is in no further mistake', async (t) => {
  const check = (flags: Record<string, unknown>, pattern: RegExp): void => {
    const found = mistakes(flags);
    t.ok(found.length === 1 && pattern.test(found[0]), found.join('\n'));
  };
  check({ 'http-port': 'abc', 'mqtt-port': '8080' }, /^--http-port is "abc"/);
  check({ 'http-port': '1883', 'mqtt-port': 'abc' }, /^--mqtt-port is "abc"/);
  check({ smtp: 'ftp://x', 'mail-from': 'a@b' }, /^--smtp is /);
  check({ ...CLUSTER, clickhouse: 'ftp://x' }, /^--clickhouse is /);
  check({ ...CLUSTER, redis: 'x' }, /^--redis is /);
  check({ ...CLUSTER, 'admin-password': '' }, /^--admin-password is /);
  check({ ...CLUSTER, nats: 'x', 'cluster-prefix': 'a' }, /^--nats is /);
});

t.test('the three servers of a cluster are given together, and nothing of a cluster without them', async (t) => {
  t.same(mistakes(CLUSTER), []);
  const { nats, redis, clickhouse, ...shared } = CLUSTER;
  const check = (flags: Record<string, string>, start: string): void => {
    t.match(mistakes({ ...shared, ...flags }), [
      new RegExp(`^${start}: a cluster takes all three.* a single node has its own`),
    ]);
  };
  check({ nats }, '--nats is given without --redis and --clickhouse');
  check({ redis }, '--redis is given without --nats and --clickhouse');
  check({ clickhouse }, '--clickhouse is given without --nats and --redis');
  check({ nats, redis }, '--nats and --redis are given without --clickhouse');
  check({ redis, clickhouse }, '--redis and --clickhouse are given without --nats');
  for (const name of [
    'nats-credentials',
    'nats-replicas',
    'clickhouse-database',
    'ca-certificate',
    'client-certificate',
    'client-key',
    'cluster-prefix',
    'node-name',
    'roles',
    'lease-time-ms',
    'answer-timeout-ms',
  ]) {
    const value = String(SETTINGS.find((setting) => setting.name === name)?.default ?? 'x');
    t.same(mistakes({ [name]: value }), [`--${name} is given without --nats, and has no effect then`]);
    const variable = `MILLRACE_${name.toUpperCase().replaceAll('-', '_')}`;
    t.same(mistakes({}, { [variable]: value }), [`${variable} is given without --nats, and has no effect then`]);
  }
});

t.test('URLs of servers that cannot be used', async (t) => {
  const check = (flags: Record<string, string>, pattern: RegExp): void => {
    const found = mistakes({ ...CLUSTER, ...flags });
    t.ok(found.length === 1 && pattern.test(found[0]), found.join('\n'));
    t.notMatch(found.join(), 'geheim');
  };
  check({ redis: 'redis://:geheim@a,rediss://b' }, /^--redis cannot be used: .* mix redis:\/\/ and rediss:/);
  check({ redis: 'redis://a/1,redis://b/1' }, /^--redis cannot be used: .* only the database 0/);
  check({ redis: 'redis://:geheim%@a' }, /^--redis cannot be used: .* %25/);
  check({ redis: 'rediss://a?ca=/nowhere/ca.pem' }, /^--redis cannot be used: ENOENT/);
  check({ nats: 'nats://u:geheim@a,tls://u:geheim@b' }, /^--nats cannot be used: .* mix nats:\/\/ and tls:/);
  check({ nats: 'nats://u:geheim@a,nats://b' }, /^--nats cannot be used: .* different users/);
  check({ nats: 'nats://u:geheim%@a' }, /^--nats cannot be used: .* %25/);
  check(
    { nats: 'nats://u:geheim@a', 'nats-credentials': join(ROOT, 'package.json') },
    /^--nats cannot be used: .* take one of them/,
  );
  check({ clickhouse: 'http://a:b:c' }, /^--clickhouse cannot be used: /);
});

t.test('the data directory', async (t) => {
  const directory = scratchDirectory(t);
  const file = join(directory, 'file');
  writeFileSync(file, '');
  t.match(mistakes({ data: file }), [/^--data is ".*file"; it takes a directory, and .*file is none$/]);
  t.match(mistakes({ data: join(file, 'a', 'b') }), [/^--data is ".*b"; it takes a directory, and .*file is none$/]);
  for (const data of [directory, join(directory, 'a', 'b')]) t.equal(load({ data }).data, data);
  t.notOk(existsSync(join(directory, 'a')), 'nothing is made');
});

t.test('keys and certificates', { skip: missing('openssl') }, async (t) => {
  const directory = scratchDirectory(t);
  const factory = new CertificateFactory(directory);
  const authority = factory.authority('authority');
  const [server, other] = [factory.issue('server', authority), factory.issue('other', authority)];
  const write = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const junk = write('junk.pem', 'junk');
  const chain = write('chain.pem', server.certificate + authority.certificate);
  const broken = write('broken.pem', server.certificate.replace(/^M.{20}/m, 'x'.repeat(20)));
  const locked = join(directory, 'locked.key');
  execFileSync('openssl', ['ec', '-in', server.keyFile, '-aes128', '-passout', 'pass:secret', '-out', locked], {
    stdio: 'pipe',
  });
  for (const [key, certificate] of [
    ['tls-key', 'tls-certificate'],
    ['client-key', 'client-certificate'],
  ]) {
    const check = (flags: Record<string, string>, ...patterns: RegExp[]): void => {
      const found = mistakes({ ...CLUSTER, ...flags });
      t.ok(
        found.length === patterns.length && patterns.every((pattern, index) => pattern.test(found[index])),
        found.join('\n'),
      );
    };
    const both = (keyFile: string, certificateFile: string): Record<string, string> => ({
      [key]: keyFile,
      [certificate]: certificateFile,
    });
    check(both(server.keyFile, server.file));
    check(both(server.keyFile, chain));
    check({ [key]: server.keyFile }, new RegExp(`^--${key} is given without --${certificate}`));
    check({ [certificate]: server.file }, new RegExp(`^--${certificate} is given without --${key}`));
    check(
      both(server.keyFile, '/no/such'),
      new RegExp(`^--${certificate} is "/no/such"; it takes a file that can be read`),
    );
    check(
      both(directory, directory),
      new RegExp(`^--${certificate} .* file that can be read`),
      new RegExp(`^--${key} .* file that can be read`),
    );
    check(
      both(junk, junk),
      new RegExp(`^--${certificate} is ".*junk.pem"; it takes certificates in PEM`),
      new RegExp(`^--${key} is ".*junk.pem"; it takes a private key in PEM`),
    );
    check(both(server.keyFile, broken), new RegExp(`^--${certificate} .* certificates in PEM`));
    check(both(locked, server.file), new RegExp(`^--${key} .* private key in PEM that is not encrypted`));
    check(
      both(other.keyFile, server.file),
      new RegExp(`^--${key} is .* and --${certificate} is .*; they take a key and the certificate of that key$`),
    );
  }
  t.match(mistakes({ 'tls-key': server.keyFile, 'tls-certificate': server.file, 'mqtt-tls-port': '8080' }), [
    /--mqtt-tls-port is 8080/,
  ]);
  t.match(
    mistakes({ 'tls-key': server.keyFile, 'tls-certificate': server.file, 'http-port': 'x', 'mqtt-tls-port': '8080' }),
    [/--http-port is "x"/],
  );
  t.match(mistakes({ ...CLUSTER, 'ca-certificate': junk, 'nats-credentials': directory }), [
    /--nats-credentials .* file that can be read/,
    /--ca-certificate .* certificates in PEM/,
  ]);
  t.same(mistakes({ ...CLUSTER, 'ca-certificate': chain }), []);
});

t.test('commands on the data directory find it where the server does', async (t) => {
  const file = join(scratchDirectory(t), 'config.json');
  const read = (flags: Record<string, unknown>, environment: Record<string, string> = {}): string =>
    loadDataSettings(BACKUP_SETTINGS, { flags, environment }, []).data;
  writeFileSync(file, '{"data": "/in/file", "http-port": "of no concern"}');
  t.equal(read({}), './data');
  t.equal(read({ config: file }), '/in/file');
  t.equal(read({}, { MILLRACE_CONFIG: file }), '/in/file');
  t.equal(read({}, { MILLRACE_CONFIG: file, MILLRACE_DATA: '/in/variable' }), '/in/variable');
  t.equal(read({ data: '/in/flag' }, { MILLRACE_CONFIG: file, MILLRACE_DATA: '/in/variable' }), '/in/flag');
  const refused = (table: readonly Setting[], flags: Record<string, unknown>, pattern: RegExp): void => {
    t.throws(() => loadDataSettings(table, { flags, environment: {} }, []), { message: pattern });
  };
  refused(BACKUP_SETTINGS, { data: file }, /^--data is ".*"; it takes a directory, and .* is none$/);
  refused(BACKUP_SETTINGS, { config: join(file, 'absent') }, /^the configuration file .* cannot be read/);
  writeFileSync(file, '{"dta": "/in/file", "force": true}');
  refused(
    RESTORE_SETTINGS,
    { config: file },
    /^"dta" in .* is not a setting, did you mean "data"\?\n"force" in .* is not a setting/,
  );
});

t.test('the file', async (t) => {
  const directory = scratchDirectory(t);
  const file = (text: string): string => {
    const path = join(directory, 'config.json');
    writeFileSync(path, text);
    return path;
  };
  t.match(mistakes({ config: join(directory, 'absent') }), [/cannot be read: ENOENT/]);
  t.match(mistakes({ config: file('{') }), [/cannot be read: /]);
  t.match(mistakes({ config: file('[]') }), [/holds an array; it takes a JSON object/]);
  t.match(mistakes({ config: file('{"htpp-port": 1, "http-port": "x"}') }), [
    /"http-port" in .* is "x"/,
    /"htpp-port" in .*did you mean "http-port"/,
  ]);
  t.match(mistakes({ config: file('{"config": "other"}') }), [/"config" in .* is not a setting/]);
});

t.test('a variable that is not a setting is a warning', async (t) => {
  const { warnings } = loadConfig({
    flags: {},
    environment: { MILLRACE_HTPP_PORT: '1', MILLRACE_TEST_X: '1', OTHER: '1' },
  });
  t.same(warnings, [
    'the environment variable MILLRACE_HTPP_PORT is not a setting, did you mean "MILLRACE_HTTP_PORT"?',
  ]);
});

t.test('weak passwords are refused, with the rule', async (t) => {
  for (const name of ['admin-password', 'management-password', 'bootstrap-password']) {
    for (const weak of ['a', 'Ab1-x', 'password', 'fifteen-letters', 'a'.repeat(16), 'Ab1-Ab1-'])
      t.same(mistakes({ [name]: weak }), [
        `--${name} is too weak; it takes at least 8 characters with three of lower case letters, upper case letters, digits and others, or at least 16 characters; of each 5 different ones`,
      ]);
    for (const strong of ['Strong-1', 'secret-1', 'sixteen characte', 'abcdefghijkmnp23'])
      t.same(load({ [name]: strong }), load({ [name]: strong }), strong);
  }
});

t.test('a secret key that can be guessed is refused, with the rule', async (t) => {
  t.same(mistakes({ 'secret-key': 'ab12'.repeat(8) }), [
    '--secret-key has too few different characters; it takes at least 8 different characters, as `openssl rand -hex 32` makes them',
  ]);
  t.same(mistakes({ 'secret-key': '00112233445566778899aabbccddeeff' }), []);
});

t.test('a placeholder of the examples is refused in every secret', async (t) => {
  const refusal = 'contains change-me, which the examples in deploy/ have; it takes a value of your own';
  t.same(mistakes({ 'secret-key': 'change-me-'.repeat(4) }), [`--secret-key ${refusal}`]);
  t.same(mistakes({ 'admin-password': 'Change-me-Now-1' }), [`--admin-password ${refusal}`]);
  t.same(mistakes({ ...CLUSTER, clickhouse: 'http://millrace:change-me@x:8123' }), [`--clickhouse ${refusal}`]);
});

t.test('secrets are never shown', async (t) => {
  const secret = 'geheim-1234';
  const masked = changedConfig(load({ 'admin-password': secret, 'http-port': '8080', 'mqtt-port': '1884' }));
  t.equal(masked['admin-password'], '********');
  t.notOk('management-password' in masked, 'what is absent is not shown as if it were there');
  t.same(masked, { 'admin-password': '********', 'mqtt-port': 1884 }, 'only what differs from its default is shown');
  t.notMatch(JSON.stringify(masked), secret);
  t.notMatch(mistakes({ 'admin-password': `${secret}\n` }).join(), secret);
});

t.test('help and page have every setting', async (t) => {
  const help = helpText(SETTINGS);
  const page = configurationPage();
  t.same(
    [...help.matchAll(/^\w+$/gm)].map(([name]) => name),
    ['General', 'Network', 'Data', 'Accounts', 'Log', 'Limits', 'Tuning', 'Cluster', 'Mail'],
    'in groups',
  );
  for (const setting of SETTINGS) {
    t.ok(help.includes(`--${setting.name}`), setting.name);
    t.ok(page.includes(`\`--${setting.name}\``) && page.includes(environmentName(setting)!), setting.name);
    t.ok(setting.description.endsWith('.'), `${setting.name}: the description is a sentence`);
  }
});

t.test('docs/reference/settings.md is up to date (npm run docs)', async (t) => {
  t.equal(readFileSync(join(ROOT, 'docs', 'reference', 'settings.md'), 'utf8'), configurationPage());
});

t.test('suggestions', async (t) => {
  t.equal(suggestion('htpp-port', ['http-port', 'host']), ', did you mean "http-port"?');
  t.equal(suggestion('zzzzzzz', ['http-port', 'host']), '');
});
