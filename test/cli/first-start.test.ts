/** A first start that cannot open its ports does not lose the generated password: the next one shows it. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { freePort } from '../helpers/free-port.ts';
import { cleanEnvironment, scratchDirectory, until } from '../helpers/setup-command.ts';
import { ROOT } from '../helpers/root.ts';

function serve(
  data: string,
  httpPort: number,
  ...flags: string[]
): { output: () => string; ended: Promise<number | null>; stop(): void; hangUp(): void } {
  const child = spawn(
    process.execPath,
    [
      join(ROOT, 'dist/src/main.js'),
      'serve',
      '--host',
      '127.0.0.1',
      '--http-port',
      String(httpPort),
      '--mqtt-port',
      '0',
      '--data',
      data,
      ...flags,
    ],
    { env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  return {
    output: () => text,
    ended: new Promise((done) => {
      child.on('close', done);
    }),
    stop: () => {
      child.kill('SIGTERM');
    },
    hangUp: () => {
      child.kill('SIGHUP');
    },
  };
}

t.test('a taken port at the first start', async (t) => {
  const data = join(scratchDirectory(t), 'data');
  const blocker = createServer().listen(0, '127.0.0.1');
  t.teardown(() => {
    blocker.close();
  });
  await until('the port is taken', () => blocker.listening);
  const first = serve(data, (blocker.address() as AddressInfo).port);
  t.equal(await first.ended, 1, 'it ends');
  t.match(
    first.output(),
    new RegExp(
      `^millrace: port ${(blocker.address() as AddressInfo).port} is in use; choose another with --http-port$`,
      'm',
    ),
  );
  t.notMatch(first.output(), /^ +at |generated, shown only now/m);
  t.notOk(existsSync(data), 'before anything is made');
  const opsPort = await freePort();
  const second = serve(data, 0, '--ops-port', String(opsPort), '--metrics-access', 'operators');
  t.teardown(() => {
    second.stop();
  });
  await until('the screen', () => second.output().includes('device create')).catch((error: Error) => {
    throw new Error(`${error.message}\n${second.output()}`);
  });
  const password = /password +(\S+) +\(generated, shown only now\)/.exec(second.output())?.[1];
  const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(second.output())?.[1];
  t.ok(password, second.output());
  const authorization = `Basic ${Buffer.from(`t1/admin:${password}`).toString('base64')}`;
  t.equal(
    (await fetch(`http://127.0.0.1:${port}/user/currentUser`, { headers: { authorization } })).status,
    200,
    'and it is the right one',
  );
  t.match(second.output(), `metrics        http://127.0.0.1:${opsPort}/metrics`);
  t.match(
    await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text(),
    /^millrace_journal_size_bytes \d/m,
    "the operator's port",
  );
  t.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 401);
  t.same(
    Object.keys(
      ((await (await fetch(`http://127.0.0.1:${port}/health/ready`)).json()) as { parts: { disk: object } }).parts.disk,
    ),
    ['ready'],
  );
  second.hangUp();
  await until('SIGHUP asks for renewed certificates', () =>
    second.output().includes('read again if they have changed'),
  );
  t.equal(
    (await fetch(`http://127.0.0.1:${port}/user/currentUser`, { headers: { authorization } })).status,
    200,
    'and does not end the server',
  );
  second.stop();
  t.equal(await second.ended, 0);
  const third = serve(data, 0);
  t.teardown(() => {
    third.stop();
  });
  await until('the screen', () => third.output().includes('device create'));
  t.notMatch(third.output(), /generated, shown only now/, 'shown once');
  const beside = serve(data, 0);
  t.equal(await beside.ended, 1, 'a second server on the data ends');
  t.match(
    beside.output(),
    /^millrace: another server \(process \d+\) uses the data directory .*; stop it, or choose another directory with --data$/m,
  );
  t.notMatch(beside.output(), /^ +at /m);
  third.stop();
  t.equal(await third.ended, 0, 'and the first goes on');
  const replacing = serve(data, 0, '--admin-password', 'Another-1');
  t.teardown(() => {
    replacing.stop();
  });
  await until('the screen', () => replacing.output().includes('device create'));
  t.match(replacing.output(), /password {7}\(the new one of the configuration is in force\)/);
});
