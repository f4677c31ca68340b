/** `millrace doctor` on this machine, and with a port that is taken. */
import { createServer } from 'node:net';
import t from 'tap';
import { findingLine } from '../src/cli/doctor.ts';
import { millrace, scratchDirectory } from './helpers/setup-command.ts';

t.test('a machine that can run the server', async (t) => {
  const result = await millrace(['doctor', '--http-port', '0', '--mqtt-port', '0', '--data', scratchDirectory(t)]);
  t.equal(result.code, 0, result.stdout + result.stderr);
  const names = ['Node', 'glibc', 'descriptors', 'memory', 'data directory', 'disk', 'http-port', 'mqtt-port', 'engine', 'document store',
    'HTTP server'];
  for (const name of names) t.match(result.stdout, new RegExp(`^(ok|warn) +${name} `, 'm'));
  t.match(result.stdout, /chdb: \d+\.\d+/);
});

t.test('what fails is named with its remedy', async (t) => {
  const server = createServer();
  await new Promise<void>((done) => { server.listen(0, '0.0.0.0', done); });
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const result = await millrace(['doctor', '--http-port', String(port), '--mqtt-port', '0', '--data', '/proc/nowhere',
    '--mqtt-connections-max', '1000000']);
  t.equal(result.code, 1);
  t.match(result.stdout, new RegExp(`^fail {2}http-port .*:${port} cannot be opened \\(EADDRINUSE\\): .*--http-port`, 'm'));
  t.match(result.stdout, /^warn {2}descriptors .*ulimit -n 1001000/m);
  t.match(result.stdout, /\d of \d+ checks failed/);
});

t.test('a remedy stands only where one is needed', async (t) => {
  t.equal(findingLine({ state: 'ok', name: 'Node', fact: '20', remedy: 'x' }), 'ok    Node               20\n');
  t.equal(findingLine({ state: 'fail', name: 'Node', fact: '8', remedy: 'x' }), 'fail  Node               8: x\n');
});
