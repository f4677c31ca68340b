/** `millrace doctor` on this machine, and with a port that is taken. */
import { createServer } from 'node:net';
import t from 'tap';
import {
  checkData,
  checkDescriptors,
  checkDisk,
  checkGlibc,
  checkHttpEngine,
  checkLoad,
  checkNode,
  findingLine,
} from '../../src/cli/doctor/doctor.ts';
import { connectionBounds } from '../../src/operate/descriptors.ts';
import { millrace, scratchDirectory } from '../helpers/setup-command.ts';

t.test('a machine that can run the server', async (t) => {
  const result = await millrace(['doctor', '--http-port', '0', '--mqtt-port', '0', '--data', scratchDirectory(t)]);
  t.equal(result.code, 0, result.stdout + result.stderr);
  const names = [
    'Node',
    'glibc',
    'descriptors',
    'memory',
    'data directory',
    'disk',
    'http-port',
    'mqtt-port',
    'engine',
    'document store',
    'HTTP server',
  ];
  for (const name of names) t.match(result.stdout, new RegExp(`^(ok|warn) +${name} `, 'm'));
  t.match(result.stdout, /chdb: \d+\.\d+/);
  t.match(result.stdout, /^ok {4}HTTP server +uWebSockets\.js .* answered the request in several reads/m);
});

t.test('what fails is named with its remedy', async (t) => {
  const server = createServer();
  await new Promise<void>((done) => {
    server.listen(0, '0.0.0.0', done);
  });
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const ops = createServer();
  await new Promise<void>((done) => {
    ops.listen(0, '127.0.0.1', done);
  });
  t.teardown(() => ops.close());
  const { port: opsPort } = ops.address() as { port: number };
  const result = await millrace([
    'doctor',
    '--http-port',
    String(port),
    '--ops-port',
    String(opsPort),
    '--mqtt-port',
    '0',
    '--data',
    '/proc/nowhere',
    '--mqtt-connections-max',
    '1000000',
  ]);
  t.equal(result.code, 1);
  t.match(
    result.stdout,
    new RegExp(`^fail {2}http-port .*:${port} cannot be opened \\(EADDRINUSE\\): .*--http-port`, 'm'),
  );
  t.match(result.stdout, new RegExp(`^fail {2}ops-port .*127\\.0\\.0\\.1:${opsPort} cannot be opened`, 'm'));
  t.match(result.stdout, /^warn {2}descriptors .*ulimit -n 1003000/m);
  t.match(result.stdout, /\d of \d+ checks failed/);
});

t.test('a remedy stands only where one is needed', async (t) => {
  t.equal(findingLine({ state: 'ok', name: 'Node', fact: '20', remedy: 'x' }), 'ok    Node               20\n');
  t.equal(findingLine({ state: 'fail', name: 'Node', fact: '8', remedy: 'x' }), 'fail  Node               8: x\n');
});

t.test('each check has what fails, what may, and what is right', async (t) => {
  const states = (findings: readonly { state: string }[]): string[] => findings.map(({ state }) => state);
  t.same(states(['18.20.8', '20.18.9', '20.19.0', '22.1.0'].map(checkNode)), ['fail', 'fail', 'ok', 'ok']);
  t.match(checkNode('18.20.8'), { fact: '18.20.8', remedy: /install Node 20.19/ });
  t.same(states(['2.33', '2.34', '3.0', undefined].map((version) => checkGlibc(version, 'linux'))), [
    'fail',
    'ok',
    'ok',
    'fail',
  ]);
  t.equal(checkGlibc(undefined, 'darwin').state, 'warn', 'macOS has none');
  const limits = (max: string): string =>
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${max}  ${max}  files\n`;
  const settings = {
    mqttConnectionsMax: 18_000,
    httpConnectionsMax: 0,
    httpAddressConnectionsMax: 0,
    trustProxy: 'no',
  };
  const descriptors = (max: string) => checkDescriptors(settings, limits(max));
  t.same(states(['1023', '1024', '20999', '21000', 'unlimited'].map(descriptors)), [
    'fail',
    'warn',
    'warn',
    'ok',
    'ok',
  ]);
  t.match(descriptors('1023'), {
    fact: '1023 open files: 255 MQTT and 255 HTTP connections, 192 of one address',
    remedy: /ulimit -n 21000/,
  });
  t.same(
    [21_000, 20_000, 10_000, 1_024, Infinity, undefined, NaN].map(
      (descriptors) => connectionBounds(descriptors, settings).mqtt,
    ),
    [18_000, 17_000, 7_000, 256, 18_000, 18_000, 18_000],
    'the server leaves the rest of the process its descriptors',
  );
  const data = scratchDirectory(t);
  const disk = (diskFreeMinBytes: number, journalMaxBytes: number) =>
    checkDisk({ data, diskFreeMinBytes, journalMaxBytes }).state;
  t.same([disk(2 ** 60, 0), disk(0, 2 ** 60)], ['fail', 'warn']);
  const asked: string[] = [];
  const refused = checkData({ data: `${data}/not/yet` }, (path) => {
    asked.push(path);
    throw new Error('EACCES');
  });
  t.match(refused, { state: 'fail', fact: `${data} cannot be written`, remedy: /--data/ });
  t.same(asked, [data], 'the nearest that is there');
  t.match(await checkLoad({ name: 'engine', packageName: 'no-such-package', code: '' }), {
    state: 'fail',
    fact: /^no-such-package does not load \(Error/,
    remedy: /install/,
  });
  t.match(await checkHttpEngine({ httpEngine: 'node', trustProxy: 'no' }), {
    state: 'ok',
    fact: /^node:http, as --http-engine says/,
  });
  t.match(await checkHttpEngine({ httpEngine: 'auto', trustProxy: 'yes' }), {
    state: 'ok',
    fact: /^node:http, which reads bodies in chunks as proxies do/,
  });
  t.match(await checkHttpEngine({ httpEngine: 'auto', trustProxy: 'no' }, 'node:fs'), {
    state: 'fail',
    fact: /^TypeError/,
    remedy: /--http-engine/,
  });
});
