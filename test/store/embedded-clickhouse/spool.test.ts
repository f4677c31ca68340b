/** What killed processes leave in memory is removed by whoever starts next. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readlinkSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Spool, removeForsaken } from '../../../src/store/embedded-clickhouse/spool.ts';
import { scratchDirectory } from '../../helpers/setup-command.ts';
import { DIST } from '../../helpers/root.ts';

const PREFIX = `millrace-${process.getuid?.() ?? 0}-`;
const inMemory = (directory: string): string =>
  join('/dev/shm', PREFIX + createHash('sha256').update(directory).digest('hex').slice(0, 16));
const MODULE = join(DIST, 'src/store/embedded-clickhouse/spool.js');

t.test(
  'a process that is killed leaves a directory; the next one takes it away',
  { skip: existsSync('/dev/shm') ? false : 'no /dev/shm' },
  async (t) => {
    const [killed, living] = [scratchDirectory(t), scratchDirectory(t)];
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `const { Spool } = await import(${JSON.stringify(MODULE)}); new Spool(${JSON.stringify(killed)}); console.log('made'); setInterval(() => {}, 1000);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const ended = new Promise((resolve) => {
      child.on('close', resolve);
    });
    t.teardown(() => child.kill('SIGKILL'));
    await new Promise((resolve, reject) => {
      child.stdout.once('data', resolve);
      child.once('exit', () => reject(new Error('it ended')));
    });
    const spool = new Spool(living);
    t.ok(existsSync(inMemory(killed)), 'not while it runs');
    child.kill('SIGKILL');
    await ended;
    const next = new Spool(scratchDirectory(t));
    t.notOk(existsSync(inMemory(killed)));
    const path = await spool.write(Buffer.from('still there'));
    t.ok(path.startsWith(inMemory(living)), 'that of a process that lives stays');
    spool.close();
    next.close();
    t.notOk(existsSync(inMemory(living)));
  },
);

t.test('whose a directory is', (t) => {
  const fileSystem = scratchDirectory(t);
  const namespace = readlinkSync('/proc/self/ns/pid');
  const make = (name: string, owner?: string, ageMs = 0): void => {
    const path = join(fileSystem, name);
    mkdirSync(path);
    if (owner !== undefined) writeFileSync(join(path, 'owner'), owner);
    const time = (Date.now() - ageMs) / 1_000;
    utimesSync(path, time, time);
  };
  make(`${PREFIX}gone`, `999999999 5 ${namespace}\n`);
  make(`${PREFIX}number-of-another`, `${process.pid} 5 ${namespace}\n`);
  make(`${PREFIX}of-a-container`, '999999999 5 pid:[1]\n');
  make(`${PREFIX}being-made`);
  make(`${PREFIX}old`, undefined, 25 * 3_600_000);
  make('millrace-77777-of-another-user', `999999999 5 ${namespace}\n`);
  removeForsaken(fileSystem);
  t.same(
    readdirSync(fileSystem).sort(),
    [`${PREFIX}being-made`, `${PREFIX}of-a-container`, 'millrace-77777-of-another-user'].sort(),
  );
  t.end();
});
