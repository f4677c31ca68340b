/**
 * `npm run platforms`: whether npm resolves the lock for Linux and macOS, x64 and arm64, where it cannot be run. Nothing is
 * installed. The test of the lock (test/house/platforms.test.ts) says which packages each has to have.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runNpm, say } from './setup.mjs';

const PLATFORMS = [
  ['linux', 'x64', 'glibc'],
  ['linux', 'arm64', 'glibc'],
  ['darwin', 'x64'],
  ['darwin', 'arm64'],
];

const folder = mkdtempSync(join(tmpdir(), 'millrace-platforms-'));
try {
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(root, name), join(folder, name));
  for (const [os, cpu, libc] of PLATFORMS) {
    const platform = [`--os=${os}`, `--cpu=${cpu}`, ...(libc === undefined ? [] : [`--libc=${libc}`])];
    const args = ['ci', '--dry-run', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...platform];
    const code = await runNpm(args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    say(`${os} on ${cpu}: ${code === 0 ? 'resolved' : `npm ended with ${code}`}`);
    if (code !== 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
