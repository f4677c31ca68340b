/**
 * The engine's process that a killed server left behind: it is gone, with all that it had open, before the next one
 * opens its files.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { rounds } from '../../helpers/rounds.ts';
import { endOrphan, rememberOwner } from '../../../src/store/embedded-clickhouse/orphan.ts';

/** Much memory, which is freed before a killed process closes what it has open, and a port for what it has open. */
const program = (
  mebibytes: number,
): string => `const memory = Array.from({ length: ${mebibytes} }, () => Buffer.alloc(1048576, 1));
const server = require('node:net').createServer().listen(0, '127.0.0.1', () => console.log(server.address().port, memory.length));`;

const directory = join(mkdtempSync(join(tmpdir(), 'millrace-orphan-')), 'clickhouse');
t.teardown(() => {
  rmSync(join(directory, '..'), { recursive: true, force: true });
});

async function engine(mebibytes: number): Promise<{ pid: number; port: number; kill: () => void }> {
  const child = spawn(
    process.execPath,
    ['-e', program(mebibytes), 'embedded-clickhouse', JSON.stringify({ directory })],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.teardown(() => {
    child.kill('SIGKILL');
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { pid: child.pid ?? 0, port: Number.parseInt(line.toString(), 10), kill: () => void child.kill('SIGKILL') };
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).on('error', () => resolve(false));
  });
const lines: unknown[] = [];
const log = { warn: (...parts: unknown[]) => void lines.push(parts) };

t.test('it has closed everything when the next server goes on', async (t) => {
  for (let round = 0; round < rounds(2, 3); round += 1) {
    const { pid, port } = await engine(400);
    t.ok(await isOpen(port));
    // Its server is gone: process 1 began at another time.
    writeFileSync(`${directory}.pid`, `${pid} 1 12345678901\n`);
    await endOrphan(directory, log);
    t.notOk(await isOpen(port), `round ${round}`);
    t.strictSame(lines.pop(), [{ pid }, 'embedded ClickHouse of a server that was killed still runs: killing it']);
  }
});

t.test('left alone: the engine of a server that runs, another process, and none', async (t) => {
  const { pid, port, kill } = await engine(1);
  rememberOwner(directory, pid);
  await endOrphan(directory, log);
  writeFileSync(`${directory}.pid`, `${process.pid} 1 12345678901\n`);
  await endOrphan(directory, log);
  rmSync(`${directory}.pid`);
  await endOrphan(directory, log);
  t.ok(await isOpen(port));
  t.strictSame(lines, []);
  kill();
});
