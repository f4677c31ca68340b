/**
 * The version before this one, for the test that upgrades a cluster node by node: that of the last tag `v…` before this
 * commit, else of FIRST_COMMIT. Taken out of git's history and built below .tap by its commit, once.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, say } from './setup.mjs';

/** The first commit whose data say which commands they have: until there is a tag, the oldest version to come from. */
const FIRST_COMMIT = '5bfd4f4097d8';
const FOLDER = join(root, '.tap');
const PREFIX = 'older-';
const ARCHIVE_BYTES_MAX = 2 ** 28;

const git = (...args) => spawnSync('git', args, { cwd: root, maxBuffer: ARCHIVE_BYTES_MAX });
const textOf = ({ status, stdout }) => (status === 0 ? stdout.toString().trim() : undefined);

/** @returns `{ main }`, the path of its program, or `{ reason }` where it cannot be had. */
export async function ensureOlderVersion() {
  const name = textOf(git('describe', '--tags', '--abbrev=0', '--match=v*', 'HEAD^')) ?? FIRST_COMMIT;
  const commit = textOf(git('rev-parse', '--verify', '--quiet', `${name}^{commit}`));
  if (commit === undefined)
    return { reason: `${name} is not in the history of this folder; git fetch --unshallow --tags brings a whole one` };
  const folder = join(FOLDER, `${PREFIX}${commit.slice(0, 12)}`);
  const main = join(folder, 'dist', 'src', 'main.js');
  // Written last: a build that was cut off is made again.
  const stamp = join(folder, '.whole');
  if (existsSync(stamp)) return { main };
  say(`building the version before, ${name}, to upgrade from (about 1 GB with its packages, some minutes) …`);
  mkdirSync(FOLDER, { recursive: true });
  for (const one of readdirSync(FOLDER).filter((one) => one.startsWith(PREFIX)))
    rmSync(join(FOLDER, one), { recursive: true });
  mkdirSync(folder);
  const archive = git('archive', commit);
  const { status } = spawnSync('tar', ['-x', '-C', folder], { input: archive.stdout });
  if (archive.status !== 0 || status !== 0) return { reason: `git archive ${commit} | tar -x has failed` };
  // It installs its own packages: they may differ from those here.
  if ((await run(process.execPath, ['bin/build.mjs'], { cwd: folder, stdio: ['ignore', 2, 2] })) !== 0)
    return { reason: `the build of ${name} in ${folder} has failed` };
  writeFileSync(stamp, '');
  return { main };
}
