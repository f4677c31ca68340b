/** The configuration: precedence, checking, all mistakes at once, masking, and the generated page. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { configurationPage, loadConfig, maskedConfig, SETTINGS, type Config } from '../src/config.ts';
import { camelCase, environmentName, SettingsError, suggestion } from '../src/cli/settings.ts';
import { helpText } from '../src/cli/settings-text.ts';
import { ROOT, scratchDirectory } from './helpers/setup-command.ts';

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

t.test('defaults', async (t) => {
  t.match(load(), {
    host: '0.0.0.0', httpPort: 8080, mqttPort: 1883, mqttTlsPort: 8883, data: './data', tenant: 't1', adminUser: 'admin',
    managementUser: 'admin', logLevel: 'info', mqttPayloadMaxBytes: 16_184, mqttConnectionsMax: 18_000,
    bodySizeMaxBytes: 16 * 1024 * 1024, journalMaxBytes: 4 * 1024 ** 3, diskFreeMinBytes: 256 * 1024 ** 2,
    projectorBatchRows: 50_000, projectorIntervalMs: 250, shutdownTimeoutMs: 4500,
  });
  t.equal(load().adminPassword, undefined);
  for (const setting of SETTINGS) t.ok(camelCase(setting.name) in load(), setting.name);
});

t.test('every default is within its own limits', async (t) => {
  const given = SETTINGS.filter((setting) => setting.default !== null).map((setting) => [setting.name, setting.default]);
  t.same(mistakes(Object.fromEntries(given)), []);
});

t.test('flag before environment before file before default', async (t) => {
  const file = join(scratchDirectory(t), 'config.json');
  writeFileSync(file, JSON.stringify({ 'http-port': 1001, 'mqtt-port': 1002, tenant: 'file', 'journal-max-bytes': '1GiB' }));
  const config = load({ config: file, 'http-port': '3001' }, { MILLRACE_HTTP_PORT: '2001', MILLRACE_MQTT_PORT: '2002' });
  t.match(config, { httpPort: 3001, mqttPort: 2002, tenant: 'file', mqttTlsPort: 8883, journalMaxBytes: 1024 ** 3 });
  t.equal(load({}, { MILLRACE_CONFIG: file }).httpPort, 1001);
  t.equal(load({}, { MILLRACE_HTTP_PORT: '' }).httpPort, 8080, 'an empty variable is not given');
});

t.test('names that scripts rely on', async (t) => {
  const config = load({}, {
    MILLRACE_HOST: '127.0.0.1', MILLRACE_HTTP_PORT: '1', MILLRACE_MQTT_PORT: '2', MILLRACE_DATA: '/d', MILLRACE_TENANT: 't9',
    MILLRACE_ADMIN_USER: 'a', MILLRACE_ADMIN_PASSWORD: 'b', MILLRACE_MANAGEMENT_USER: 'c', MILLRACE_MANAGEMENT_PASSWORD: 'd',
    MILLRACE_BOOTSTRAP_PASSWORD: 'e',
  });
  t.match(config, {
    host: '127.0.0.1', httpPort: 1, mqttPort: 2, data: '/d', tenant: 't9', adminUser: 'a', adminPassword: 'b', managementUser: 'c',
    managementPassword: 'd', bootstrapPassword: 'e',
  });
});

t.test('all mistakes at once, each with name, value and limit', async (t) => {
  const found = mistakes({ 'http-port': '99999', 'log-level': 'loud', data: true }, { MILLRACE_MQTT_PORT: 'many', MILLRACE_TENANT: 'T 1' });
  t.equal(found.length, 5, found.join('\n'));
  const expected = [
    /^--http-port is "99999"; it takes an integer from 0 to 65535$/, /^MILLRACE_MQTT_PORT is "many"; it takes an integer/,
    /^--data is given without a value; it takes a directory$/, /^MILLRACE_TENANT is "T 1"; it takes .*lower-case/,
    /^--log-level is "loud"; it takes one of debug, info, warn, error$/,
  ];
  for (const pattern of expected) t.ok(found.some((mistake) => pattern.test(mistake)), String(pattern));
});

t.test('values that are refused', async (t) => {
  const check = (name: string, value: unknown): void => { t.equal(mistakes({ [name]: value }).length, 1, `${name}=${String(value)}`); };
  for (const value of ['', ' ', '1.5', '1e3', '0x10', '-1', '65536', '80 80', '8080KiB', '9'.repeat(30)]) check('http-port', value);
  for (const value of ['1 MB', '1kib', 'MiB', '1MiBs', '999999999TiB']) check('body-size-max-bytes', value);
  for (const value of ['localhost:80', 'ftp://a', 'http://a/?b=c', 'http://']) check('base-url', value);
  for (const value of ['a/b', 'a:b', 'a b', '']) check('admin-user', value);
  for (const value of ['line\nfeed', 'a\0b']) check('data', value);
});

t.test('settings that concern each other', async (t) => {
  const key = join(scratchDirectory(t), 'key.pem');
  writeFileSync(key, 'x');
  const check = (flags: Record<string, string>, pattern: RegExp): void => {
    const found = mistakes(flags);
    t.ok(found.length === 1 && pattern.test(found[0]), found.join('\n'));
  };
  check({ 'tls-key': key }, /--tls-key is given without --tls-certificate/);
  check({ 'tls-key': key, 'tls-certificate': '/no/such' }, /--tls-certificate is "\/no\/such"; it takes a file that can be read/);
  check({ 'http-port': '1883' }, /--http-port and --mqtt-port are both 1883/);
  check({ 'tls-key': key, 'tls-certificate': key, 'mqtt-tls-port': '8080' }, /--mqtt-tls-port is 8080/);
  check({ tenant: 'management' }, /--tenant is "management"/);
  t.same(mistakes({ 'http-port': '0', 'mqtt-port': '0' }), [], 'two free ports differ');
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
  t.match(mistakes({ config: file('{"htpp-port": 1, "http-port": "x"}') }),
    [/"http-port" in .* is "x"/, /"htpp-port" in .*did you mean "http-port"/]);
  t.match(mistakes({ config: file('{"config": "other"}') }), [/"config" in .* is no setting/]);
});

t.test('a variable that is no setting is a warning', async (t) => {
  const { warnings } = loadConfig({ flags: {}, environment: { MILLRACE_HTPP_PORT: '1', MILLRACE_TEST_X: '1', OTHER: '1' } });
  t.same(warnings, ['the environment variable MILLRACE_HTPP_PORT is no setting, did you mean "MILLRACE_HTTP_PORT"?']);
});

t.test('secrets are never shown', async (t) => {
  const secret = 'geheim-1234';
  const masked = maskedConfig(load({ 'admin-password': secret }));
  t.equal(masked['admin-password'], '********');
  t.notOk('management-password' in masked, 'what is absent is not shown as if it were there');
  t.notMatch(JSON.stringify(masked), secret);
  t.notMatch(mistakes({ 'admin-password': `${secret}\n` }).join(), secret);
});

t.test('help and page have every setting', async (t) => {
  const help = helpText(SETTINGS);
  const page = configurationPage();
  for (const setting of SETTINGS) {
    t.ok(help.includes(`--${setting.name}`), setting.name);
    t.ok(page.includes(`\`--${setting.name}\``) && page.includes(environmentName(setting)!), setting.name);
    t.ok(setting.description.endsWith('.'), `${setting.name}: the description is a sentence`);
  }
});

t.test('docs/configuration.md is up to date (npm run docs)', async (t) => {
  t.equal(readFileSync(join(ROOT, 'docs', 'configuration.md'), 'utf8'), configurationPage());
});

t.test('suggestions', async (t) => {
  t.equal(suggestion('htpp-port', ['http-port', 'host']), ', did you mean "http-port"?');
  t.equal(suggestion('zzzzzzz', ['http-port', 'host']), '');
});
