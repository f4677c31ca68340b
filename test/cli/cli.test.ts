/**
 * The command line as a process: usage errors, help, and `serve`'s screen and signals with a stand-in for the server.
 */
import { execFileSync } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { prettyLine } from '../../src/cli/log.ts';
import { helpFile, helpPages } from '../../src/cli/program.ts';
import { screen } from '../../src/cli/serve.ts';
import { loadConfig, SETTINGS } from '../../src/config/config.ts';
import { millrace, scratchDirectory, start, until, type Running } from '../helpers/setup-command.ts';
import { DIST, ROOT } from '../helpers/root.ts';
import { missing } from '../helpers/tools.ts';

t.test('a wrong command line ends with 2 and names all mistakes', async (t) => {
  const data = join(scratchDirectory(t), 'data');
  const args = [
    'serve',
    '--data',
    data,
    '--http-port',
    '99999',
    '--mqtt-prot',
    '1',
    '--log-level=loud',
    'extra',
    '--tenant',
  ];
  const result = await millrace(args, { MILLRACE_PROJECTOR_BATCH_ROWS: '-5' });
  t.equal(result.code, 2);
  t.equal(result.stdout, '');
  const expected = [
    '6 mistakes',
    '--http-port is "99999"; it takes an integer from 0 to 65535',
    'Unknown option --mqtt-prot for serve, did you mean',
    '--log-level is "loud"',
    '"extra" is one argument too many',
    '--tenant is given without a value',
    'MILLRACE_PROJECTOR_BATCH_ROWS is "-5"',
  ];
  for (const text of expected) t.ok(result.stderr.includes(text), `${text}\n${result.stderr}`);
});

t.test('other usage errors', async (t) => {
  const check = async (args: string[], pattern: RegExp): Promise<void> => {
    const result = await millrace(args);
    t.equal(result.code, 2, args.join(' '));
    t.match(result.stderr, pattern);
  };
  await check(['swerve'], /unknown command 'swerve'/);
  await check(['backup'], /<to> is missing/);
  await check(['restore', '--force=maybe', 'a'], /force/);
  await check(['simulate', '--devices', '-1', '--rate', 'x'], /3 mistakes[\s\S]*--devices is "-1"[\s\S]*--rate is "x"/);
  await check(['simulate'], /^millrace: --password is missing; it takes .*MILLRACE_ADMIN_PASSWORD\)\n$/);
  await check(['simulate', '--devices', 'x'], /2 mistakes[\s\S]*--devices is "x"[\s\S]*--password is missing/);
});

t.test('values that only the disk or the network would refuse end with 2 too, and nothing is made', async (t) => {
  const directory = scratchDirectory(t);
  const [junk, data] = [join(directory, 'junk.pem'), join(directory, 'data')];
  writeFileSync(junk, 'junk');
  const serve = ['serve', '--http-port', '0', '--mqtt-port', '0'];
  const result = await millrace([
    ...serve,
    '--data',
    data,
    '--host',
    '999.1.1.1',
    '--tls-key',
    junk,
    '--tls-certificate',
    directory,
  ]);
  t.equal(result.code, 2, result.stderr);
  for (const text of [
    '3 mistakes',
    '--host is "999.1.1.1"; it takes an IP address or a host name',
    '--tls-key is ',
    '--tls-certificate is ',
  ]) {
    t.ok(result.stderr.includes(text), `${text}\n${result.stderr}`);
  }
  t.notOk(existsSync(data));
  const file = await millrace([...serve, '--data', junk]);
  t.equal(file.code, 2, file.stderr);
  t.match(file.stderr, /--data is ".*junk.pem"; it takes a directory/);
});

t.test('help needs no packages and no build', async (t) => {
  const copy = scratchDirectory(t);
  cpSync(join(ROOT, 'bin'), join(copy, 'bin'), { recursive: true });
  const run = async (script: string, ...args: string[]): Promise<{ code: number | null; stdout: string }> =>
    start(join(copy, 'bin', script), args).ended;
  const pages = helpPages();
  for (const [name, text] of Object.entries(pages))
    t.same(
      await run('millrace.mjs', ...name.split(' ').filter(Boolean), '--help').then(({ code, stdout }) => [
        code,
        stdout,
      ]),
      [0, text],
      name,
    );
  t.equal((await run('start.mjs', '--help')).stdout, pages['serve']);
  t.equal((await run('millrace.mjs', 'serve')).code, 1, 'all else does');
  t.equal(readFileSync(join(ROOT, 'bin', 'help.json'), 'utf8'), helpFile(), 'up to date (npm run docs)');
});

t.test('help is made from the schema', async (t) => {
  const result = await millrace(['serve', '--help']);
  t.equal(result.code, 0);
  for (const setting of SETTINGS) t.ok(result.stdout.includes(`--${setting.name}`), setting.name);
  t.match(result.stdout, /default 16 MiB/);
  const overview = await millrace(['--help']);
  for (const name of ['serve', 'simulate', 'doctor', 'backup', 'restore']) t.ok(overview.stdout.includes(name), name);
  t.equal((await millrace(['help', 'device', 'create'])).stdout, helpPages()['device create']);
  t.match((await millrace(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
});

/** A program that runs `serve` over a server whose stop takes `stopMs`; never resolves when negative. */
function standIn(t: Tap, stopMs: number, flags: Record<string, string> = {}): string {
  const script = join(scratchDirectory(t), 'serve.mjs');
  const module = (name: string): string => JSON.stringify(pathToFileURL(join(DIST, 'src', name)).href);
  writeFileSync(
    script,
    `
    import { loadConfig } from ${module('config/config.js')};
    import { writeFileSync } from 'node:fs';
    import { serve } from ${module('cli/serve.js')};
    setInterval(() => {}, 1000);
    const stop = async () => {
      await ${stopMs < 0 ? 'new Promise(() => {})' : `new Promise((done) => setTimeout(done, ${stopMs}))`};
      writeFileSync(import.meta.filename + '.stopped', '');
    };
    const server = async () => {
      if (process.env.FAIL_START) throw new Error('the port is taken');
      if (process.env.FAIL_LATER) setTimeout(() => { throw new Error('nobody caught this'); }, 50);
      return { httpPort: 1, mqttPort: 2, httpEngine: 'of the stand-in', firstStart: true, generatedPassword: 'abc', staged: new Promise(() => {}), reload: async () => undefined, stop };
    };
    process.exit(await serve(loadConfig({ flags: ${JSON.stringify(flags)}, environment: process.env }), server));
  `,
  );
  return script;
}

const serveStandIn = (
  t: Tap,
  stopMs: number,
  flags: Record<string, string> = {},
  environment: Record<string, string> = {},
): Running => start(standIn(t, stopMs, flags), [], environment);

type Tap = { teardown(action: () => void): void };

const isUp = (running: Running): Promise<void> => until('the screen', () => running.output().stdout.includes('curl'));

t.test('SIGTERM and SIGINT stop in order and exit with 0', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const running = serveStandIn(t, 100);
    await isUp(running);
    running.child.kill(signal);
    const { code, stderr } = await running.ended;
    t.equal(code, 0, stderr);
    t.match(stderr, /"msg":"stopped"/);
  }
});

t.test('a second signal ends at once, also one right behind the first', async (t) => {
  const started = { npm_lifecycle_event: 'start' };
  const cases = [
    ['SIGTERM', 'SIGTERM', {}],
    ['SIGTERM', 'SIGTERM', started],
    ['SIGINT', 'SIGTERM', started],
    ['SIGTERM', 'SIGINT', started],
    ['SIGINT', 'SIGINT', {}],
  ] as const;
  await Promise.all(
    cases.map(async ([first, second, environment]) => {
      const running = serveStandIn(
        t,
        -1,
        { 'shutdown-timeout-ms': '600000' },
        { npm_lifecycle_event: 'test', ...environment },
      );
      await isUp(running);
      running.child.kill(first);
      await until('the stop begins', () => running.output().stderr.includes('"msg":"stopping"'));
      running.child.kill(second);
      const { code, stderr } = await running.ended;
      t.equal(code, 1, `${first} ${second} ${JSON.stringify(environment)}`);
      t.match(stderr, /"msg":"a second signal: ending at once"/);
    }),
  );
});

t.test('the SIGINT that npm start repeats is no second signal, a third one is', async (t) => {
  const running = serveStandIn(t, -1, {}, { npm_lifecycle_event: 'start' });
  await isUp(running);
  running.child.kill('SIGINT');
  await until('the stop begins', () => running.output().stderr.includes('"msg":"stopping"'));
  running.child.kill('SIGINT');
  await new Promise((done) => {
    setTimeout(done, 300);
  });
  t.equal(running.child.exitCode, null, 'still stopping');
  running.child.kill('SIGINT');
  t.equal((await running.ended).code, 1);
});

/** Runs a command in a terminal of its own, closes that when the word is shown, and prints the signal that ended it. */
const CLOSED_TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[2], sys.argv[2:])
seen = b''
while sys.argv[1].encode() not in seen: seen += os.read(terminal, 4096)
os.close(terminal)
print(os.WTERMSIG(os.waitpid(pid, 0)[1]))`;

t.test('a terminal that closes stops the server in order', { skip: missing('python3') }, (t) => {
  const script = standIn(t, 100);
  const command = ['-c', CLOSED_TERMINAL, 'curl', process.execPath, script];
  const signal = execFileSync('python3', command, { encoding: 'utf8', timeout: 60_000 });
  t.equal(signal, `${constants.signals.SIGHUP}\n`);
  t.ok(existsSync(`${script}.stopped`));
  t.end();
});

t.test('what writes to a file, as with nohup, outlives its terminal', { skip: missing('python3') }, async (t) => {
  const script = standIn(t, 100);
  const [log, pid] = [`${script}.log`, `${script}.pid`];
  const shell = `${process.execPath} ${script} > ${log} 2>&1 & echo $! > ${pid}
    until grep -q curl ${log}; do sleep 0.1; done; echo curl; wait`;
  execFileSync('python3', ['-c', CLOSED_TERMINAL, 'curl', '/bin/sh', '-c', shell], { timeout: 60_000 });
  await until('the SIGHUP is taken', () => readFileSync(log, 'utf8').includes('certificate are read again'));
  t.notOk(existsSync(`${script}.stopped`));
  process.kill(Number(readFileSync(pid, 'utf8')), 'SIGTERM');
  await until('the server stops', () => existsSync(`${script}.stopped`));
});

t.test('a stop that hangs ends with 1 after its time', async (t) => {
  const running = serveStandIn(t, -1, { 'shutdown-timeout-ms': '200' });
  await isUp(running);
  running.child.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  t.equal(code, 1);
  t.match(stderr, /shutdown-timeout-ms/);
});

t.test('a start that fails, and an exception that nobody caught, end with 1 and say why', async (t) => {
  const failed = await serveStandIn(t, 0, {}, { FAIL_START: '1' }).ended;
  t.equal(failed.code, 1);
  t.match(failed.stderr, /^millrace: the port is taken$/m, 'one line, not a stack');
  t.notMatch(failed.stderr, /^ +at |"stack"/m);
  t.notMatch(failed.stdout, /is running/);
  const logged = await serveStandIn(t, 0, { 'log-format': 'json' }, { FAIL_START: '1' }).ended;
  t.match(logged.stderr, /"msg":"the server could not start: the port is taken"/);
  const later = await serveStandIn(t, 0, {}, { FAIL_LATER: '1' }).ended;
  t.equal(later.code, 1);
  t.match(later.stderr, /"msg":"uncaught exception: nobody caught this"/);
});

t.test('the screen and the log', async (t) => {
  const running = serveStandIn(t, 0, { 'admin-password': 'hidden-Word-1' });
  await isUp(running);
  running.child.kill('SIGTERM');
  const { stdout, stderr } = await running.ended;
  t.match(
    stdout,
    /http:\/\/localhost:1\n[\s\S]*MQTT port {6}2\n {2}HTTP engine {4}of the stand-in\n[\s\S]*tenant {9}t1\n[\s\S]*administrator {2}admin\n[\s\S]*abc {2}\(generated, shown only now\)\n/,
  );
  for (const line of stderr.trim().split('\n')) t.ok(JSON.parse(line), 'JSON when standard error is no terminal');
  t.notMatch(stdout + stderr, /hidden-Word-1/);
});

t.test('the screen', async (t) => {
  const { config } = loadConfig({ flags: { host: '192.0.2.7', tenant: 'acme' }, environment: {} });
  const server = {
    httpPort: 81,
    mqttPort: 82,
    httpEngine: 'node:http, slower',
    firstStart: false,
    staged: new Promise<void>(() => undefined),
    reload: async () => undefined,
    stop: async () => undefined,
  };
  const later = screen(config, server);
  t.match(
    later,
    /password {7}\(unchanged; forgotten\? node \S+\/bin\/millrace\.mjs user password admin --tenant acme --data \.\/data, or start with another --admin-password/,
    'what to do without it',
  );
  t.match(screen(config, { ...server, replacedPassword: true }), 'the new one of the configuration is in force');
  t.match(later, /bin\/millrace\.mjs device create my-device --tenant acme --data/);
  t.match(later, 'http://192.0.2.7:81/measurement/measurements');
  t.match(screen(config, { ...server, firstStart: true }), 'as given by the configuration');
});

t.test('pretty log lines', async (t) => {
  const line = prettyLine('{"level":40,"time":"2026-11-21T10:00:00.000Z","msg":"slow","shard":3,"path":"a b"}', false);
  t.match(line, /^\d\d:\d\d:\d\d warn {2}slow {2}shard=3 path="a b"\n$/);
  t.equal(prettyLine('no JSON', false), 'no JSON');
  const named = JSON.stringify({ level: 40, time: 0, msg: 'refused', user: '\x1b[2J', device: '\x9b2J' });
  t.match(prettyLine(named, false), /user="\\u001b\[2J" device="\\u009b2J"\n$/, 'a terminal obeys no name');
});
