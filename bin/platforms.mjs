/**
 * `npm run platforms`: whether npm resolves the lock for Linux and macOS, x64 and arm64, where it cannot be run, and which
 * native packages a platform lacks. npm passes over optional packages that its registry does not have, so the lock is
 * asked: such a package has no digest there. Nothing is installed.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runNpm, say } from './setup.mjs';

const PLATFORMS = [
  ['linux', 'x64', 'glibc'],
  ['linux', 'arm64', 'glibc'],
  ['darwin', 'x64'],
  ['darwin', 'arm64'],
];

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

/** Packages of the platform that the registry did not have when the lock was made. */
const missingOf = (os, cpu) =>
  Object.entries(packages)
    .filter(
      ([path, one]) => path !== '' && one.integrity === undefined && one.os?.includes(os) && one.cpu?.includes(cpu),
    )
    .map(([path]) => path.slice('node_modules/'.length));

/** Whether docs/guide/start.md ("Other platforms") says that the platform lacks this package: the history engine's. */
const isKnownGap = (os, cpu, name) => name.startsWith('@chdb/lib-') && !(os === 'linux' && cpu === 'x64');

const folder = mkdtempSync(join(tmpdir(), 'millrace-platforms-'));
try {
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(root, name), join(folder, name));
  for (const [os, cpu, libc] of PLATFORMS) {
    const platform = [`--os=${os}`, `--cpu=${cpu}`, ...(libc === undefined ? [] : [`--libc=${libc}`])];
    const args = ['ci', '--dry-run', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...platform];
    const code = await runNpm(args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    const without = missingOf(os, cpu);
    const lack = without.length === 0 ? '' : `, without ${without.join(', ')}: a single node does not start there`;
    say(`${os} on ${cpu}: ${code === 0 ? `resolved${lack}` : `npm ended with ${code}`}`);
    if (code !== 0 || without.some((name) => !isKnownGap(os, cpu, name))) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
