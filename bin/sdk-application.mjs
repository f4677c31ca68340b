/**
 * The web application of examples/web-application, built by the SDK's own tool, for `npm test -- --sdk`. Its packages
 * (some 750 MB) and what is built of it are kept below .tap; both are made again when their sources change.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, runNpm, say } from './setup.mjs';

const SOURCE = join(root, 'examples', 'web-application');
const FOLDER = join(root, '.tap', 'web-application');
/** Of what the packages are made; the rest is the application. */
const PACKAGE_FILES = ['package.json', 'package-lock.json', '.npmrc'];

/** What a build in the folder itself leaves there. */
const LEFT_OUT = new Set(['node_modules', 'dist', '.angular']);

function sourceFiles() {
  const entries = readdirSync(SOURCE, { withFileTypes: true }).filter(({ name }) => !LEFT_OUT.has(name));
  const names = entries.flatMap((entry) =>
    entry.isDirectory() ? readdirSync(join(SOURCE, entry.name)).map((name) => join(entry.name, name)) : [entry.name],
  );
  return names.sort();
}

function digestOf(names) {
  const hash = createHash('sha256');
  for (const name of names) hash.update(name).update(readFileSync(join(SOURCE, name)));
  return hash.digest('hex');
}

/** Does the work when its sources have another digest than the last time that it went well. */
async function whenStale(stampName, names, work) {
  const stamp = join(FOLDER, stampName);
  const digest = digestOf(names);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return true;
  rmSync(stamp, { force: true });
  if ((await work()) !== 0) return false;
  writeFileSync(stamp, digest);
  return true;
}

/** @returns `{ folder }` in which `ng deploy` can be run, with dist/fleet.zip, or `{ reason }` where it failed. */
export async function ensureSdkApplication() {
  rmSync(join(FOLDER, 'src'), { recursive: true, force: true });
  const names = sourceFiles();
  for (const name of names) cpSync(join(SOURCE, name), join(FOLDER, name));
  const stdio = ['ignore', 2, 2];
  const isInstalled = await whenStale('packages.sha256', PACKAGE_FILES, () => {
    say('installing the packages of the web SDK (npm ci; 750 MB, some minutes) …');
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    return runNpm(args, { cwd: FOLDER, stdio });
  });
  if (!isInstalled) return { reason: `npm ci in ${FOLDER} has failed` };
  const isBuilt = await whenStale('built.sha256', names, () => {
    say('building the web application (ng build; some minutes) …');
    const cli = join(FOLDER, 'node_modules', '@angular', 'cli', 'bin', 'ng.js');
    return run(process.execPath, [cli, 'build', '--progress=false', '--configuration', 'development'], {
      cwd: FOLDER,
      stdio,
    });
  });
  return isBuilt ? { folder: FOLDER } : { reason: `ng build in ${FOLDER} has failed` };
}
