/** One server uses a data directory at a time. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { DataLock } from '../../src/operate/data-lock.ts';
import { scratchDirectory } from '../helpers/setup-command.ts';

t.test('held by this process until it is released', async (t) => {
  const data = scratchDirectory(t);
  const lock = await DataLock.take(data);
  t.equal(readFileSync(join(data, 'lock'), 'utf8'), `${process.pid}\n`);
  await lock.release();
  t.notOk(existsSync(join(data, 'lock')));
});

t.test('another process that lives holds it, one that is gone does not', async (t) => {
  const data = scratchDirectory(t);
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  t.teardown(() => {
    other.kill('SIGKILL');
  });
  writeFileSync(join(data, 'lock'), `${other.pid}\n`);
  await t.rejects(DataLock.take(data), {
    message: `another server (process ${other.pid}) uses the data directory ${data}; stop it, or choose another directory with --data`,
  });
  t.equal(readFileSync(join(data, 'lock'), 'utf8'), `${other.pid}\n`, 'its lock stays');
  writeFileSync(join(data, 'lock'), '999999999\n');
  await (await DataLock.take(data)).release();
});

t.test('one that was killed is waited for', async (t) => {
  const data = scratchDirectory(t);
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  writeFileSync(join(data, 'lock'), `${other.pid}\n`);
  other.kill('SIGKILL');
  await (await DataLock.take(data)).release();
});

t.test(
  'a process that has ended and that nobody has asked for holds nothing',
  { skip: existsSync('/proc/self/stat') ? false : 'no /proc' },
  async (t) => {
    const data = scratchDirectory(t);
    // The program that takes the shell's place never asks what became of the shell's child.
    const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
    t.teardown(() => {
      parent.kill('SIGKILL');
    });
    const pid = await new Promise<string>((done) => {
      parent.stdout.once('data', (text: Buffer) => done(text.toString().trim()));
    });
    writeFileSync(join(data, 'lock'), `${pid}\n`);
    while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
      await new Promise((done) => {
        setTimeout(done, 10);
      });
    await (await DataLock.take(data)).release();
  },
);

t.test('so does one that answers on the control socket, whatever became of its lock', async (t) => {
  const data = scratchDirectory(t);
  const server = createServer();
  await new Promise<void>((done) => {
    server.listen(join(data, 'control.sock'), done);
  });
  t.teardown(() => {
    server.close();
  });
  await t.rejects(DataLock.take(data), {
    message: `another server uses the data directory ${data}; stop it, or choose another directory with --data`,
  });
});
