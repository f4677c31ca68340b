/**
 * What the start and test scripts share: installs the packages and builds, each only when it is needed. Plain
 * JavaScript without dependencies, because it runs before there are any.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNativeThere, prepareNative } from './native.mjs';
import { transpile, transpileTests } from './transpile.mjs';
import { HAS_GALLERY } from './web/build.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const NODE_MIN = [20, 19];
const stampPath = join(root, 'dist', '.build');
const formStampPath = join(root, '.tap', 'form.json');
/** What the formatter takes of `includes` in biome.json; it leaves out the rest itself. */
const HAS_FORM = /\.(?:tsx?|css|m?js)$/;
const FORM_NAMES_MAX = 500;
const GIT_LIST_BYTES_MAX = 64 * 2 ** 20;
const typesStampPath = join(root, '.tap', 'api-types.stamp');
const BUILT = 'dist';
const COMPILED_TESTS = 'dist-test';
// TypeScript 7 checks in a quarter of the time; tests that read sources use the library of version 5.
const compiler = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
/** Four, its own choice, work out many types twice. */
const CHECKERS = ['--checkers', '2'];
/** The compiler, a Go program, clears its memory less often: 1.5 GB instead of 1.4, and a tenth of its CPU time less. */
const COMPILER_MEMORY = { GOGC: '400' };

/** Notes are for people: standard error. */
export const say = (text) => {
  process.stderr.write(`millrace: ${text}\n`);
};

/** Ends with a sentence instead of a syntax error deep inside when Node is too old. */
export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return;
  say(`Node ${process.versions.node} is too old; ${NODE_MIN.join('.')} or newer is needed`);
  process.exit(1);
}

/** Runs a program in the repository and hands signals on to it; resolves to its exit code. */
export function run(program, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], ...options });
    const hand = (signal) => {
      child.kill(signal);
    };
    process.on('SIGTERM', hand).on('SIGINT', hand);
    const finish = (code) => {
      process.off('SIGTERM', hand).off('SIGINT', hand);
      resolve(code);
    };
    child.on('error', (error) => {
      say(`${program} cannot be run: ${error.message}`);
      finish(127);
    });
    child.on('close', (code, signal) => finish(signal === null ? code : 128 + (signal === 'SIGINT' ? 2 : 15)));
  });
}

/** Runs npm. Under npm its own path is known; npm on Windows or under other names is found that way too. */
export function runNpm(args, options) {
  const npm = process.env.npm_execpath;
  return npm?.endsWith('.js') ? run(process.execPath, [npm, ...args], options) : run('npm', args, options);
}

/** @returns the packages that are there, by path. */
function installedPackages() {
  const path = join(root, 'node_modules', '.package-lock.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {};
}

/**
 * True when what is in node_modules differs from the lock in what it holds. Packages for other platforms may be absent.
 */
function isInstallStale(installed, isForDevelopment) {
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const isMissing = ([path, { version, dev, optional, devOptional, peer }]) => {
    if (dev && !isForDevelopment) return false;
    if (path === '') return false;
    if (installed[path] === undefined) return !(optional || devOptional || peer);
    return installed[path].version !== version;
  };
  return Object.entries(wanted).some(isMissing);
}

/**
 * Installs the packages of the lock when they are missing or stale. Ends the process when that fails.
 * @param isForDevelopment false: what a server needs that is built here, in half of the time.
 */
export async function ensureInstalled({ isForDevelopment = true } = {}) {
  const installed = installedPackages();
  if (!isInstallStale(installed, isForDevelopment)) return;
  say('installing packages (npm ci; about 1 GB, a minute or less) …');
  const startMs = Date.now();
  // Those of development stay where they are. npm would leave them out under NODE_ENV=production.
  const isWhole = isForDevelopment || Object.values(installed).some(({ dev }) => dev);
  const set = isWhole ? '--include=dev' : '--omit=dev';
  const args = ['ci', set, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const code = await runNpm(args, { stdio: ['ignore', 2, 2] });
  if (code !== 0) {
    say(`npm ci failed with exit code ${code}`);
    process.exit(code > 128 ? code : 1);
  }
  say(`packages installed in ${seconds(startMs)} s`);
}

const seconds = (startMs) => ((Date.now() - startMs) / 1000).toFixed(0);

const OF_THE_BUILD = [
  ...['package-lock.json', 'tsconfig.json', 'bin/transpile.mjs', 'bin/native.mjs'],
  ...['build', 'outline', 'pieces'].map((name) => `bin/web/${name}.mjs`),
];
const SOURCE = /\.(?:tsx?|css|html|geojson|svg)$/;

/** A hash of the content of everything that is made of the folders. */
function sourceHash(folders) {
  const hash = createHash('sha256').update(String(HAS_GALLERY));
  const add = (path) => hash.update(path).update(readFileSync(join(root, path)));
  for (const path of OF_THE_BUILD) add(path);
  for (const folder of folders) {
    if (!existsSync(join(root, folder))) continue;
    const files = readdirSync(join(root, folder), { recursive: true })
      .filter((name) => SOURCE.test(name))
      .sort();
    for (const name of files) add(join(folder, name));
  }
  return hash.digest('hex');
}

/**
 * Builds into dist/ when a source has changed since the last build.
 * @returns false when a source could not be read; the caller says what follows.
 */
export async function ensureBuilt() {
  const hash = sourceHash(['src', 'bench', 'web']);
  if (existsSync(stampPath) && readFileSync(stampPath, 'utf8') === hash && (await isNativeThere(BUILT))) return true;
  const startMs = Date.now();
  let isWhole = true;
  // The server does without the console and says why; the next start tries again.
  const onWebFault = () => {
    isWhole = false;
    say('the console in web/ could not be built: the server starts without it');
  };
  if (!(await transpile({ root, folders: ['src', 'bench'], outDir: BUILT }, onWebFault))) return false;
  await prepareNative(BUILT);
  if (isWhole) writeStamp(stampPath, hash);
  say(`built in ${((Date.now() - startMs) / 1000).toFixed(1)} s`);
  return true;
}

function writeStamp(path, hash) {
  writeFileSync(`${path}.${process.pid}`, hash);
  renameSync(`${path}.${process.pid}`, path);
}

/** Where the compiled form of a test file is. */
export const compiledTestPath = (file) => join(root, COMPILED_TESTS, file.replace(/\.tsx?$/, '.js'));

/**
 * Builds sources, tests and tap into dist-test/, where `npm test` runs them.
 * @returns false when a file could not be read.
 */
export const buildTests = () =>
  transpileTests({ root, folders: ['src', 'bench', 'web', 'test'], outDir: COMPILED_TESTS });

/** For tests that start no process, behind `buildTests`: of what `ensureBuilt` makes they need only this. */
export async function ensureNative() {
  await prepareNative(COMPILED_TESTS);
  return true;
}

/**
 * Checks the types of everything; quick when little has changed since the last time. @returns false when there are
 * errors.
 */
export async function checkTypes() {
  if (!(await ensureApiTypes())) return false;
  const check = (project, name) => {
    const state = join('.tap', `${name}.tsbuildinfo`);
    const args = [compiler, '-p', project, ...CHECKERS, '--incremental', '--tsBuildInfoFile', state];
    return run(process.execPath, args, { stdio: ['ignore', 2, 2], env: { ...process.env, ...COMPILER_MEMORY } });
  };
  return (await check('.', 'types')) === 0 && (await check('web', 'web-types')) === 0;
}

/**
 * Writes the types of the server's API, which the console calls it by, when a source of the server has changed. @returns
 * false when a source could not be read.
 */
export async function ensureApiTypes() {
  const hash = sourceHash(['src']);
  if (existsSync(typesStampPath) && readFileSync(typesStampPath, 'utf8') === hash) return true;
  if (!(await buildTests())) return false;
  const written = await run(process.execPath, [join(root, 'bin', 'api-types.mjs')], { stdio: ['ignore', 2, 2] });
  if (written !== 0) return false;
  writeStamp(typesStampPath, hash);
  return true;
}

/** @returns digests of the files that have a form, by name, and of what decides it; undefined where git is absent. */
function formDigests() {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: GIT_LIST_BYTES_MAX });
  if (status !== 0) return undefined;
  const hashOf = (...names) => {
    const hash = createHash('sha256');
    for (const name of names) hash.update(readFileSync(join(root, name)));
    return hash.digest('hex');
  };
  const common = hashOf('package-lock.json', 'biome.json', '.gitignore');
  const digestOf = (name) => `${common} ${hashOf(name)}`;
  const names = stdout.split('\0').filter((name) => HAS_FORM.test(name) && existsSync(join(root, name)));
  return Object.fromEntries(names.map((name) => [name, digestOf(name)]));
}

/**
 * Checks the form of all files, which `npm run format` puts right; a file that had it is read again when it has changed.
 * @returns false when a file has another form.
 */
export async function checkFormat() {
  const digests = formDigests();
  const before = digests !== undefined && existsSync(formStampPath) ? readFileSync(formStampPath, 'utf8') : '{}';
  const known = JSON.parse(before);
  const changed = Object.keys(digests ?? {}).filter((name) => known[name] !== digests[name]);
  if (digests !== undefined && changed.length === 0) return true;
  // All by their folder: their names may be more than a command line takes.
  const isSome = digests !== undefined && changed.length < FORM_NAMES_MAX;
  const formatter = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const args = [formatter, 'format', '--no-errors-on-unmatched', ...(isSome ? changed : ['.'])];
  if ((await run(process.execPath, args, { stdio: ['ignore', 2, 2] })) !== 0) return false;
  if (digests !== undefined) writeStamp(formStampPath, JSON.stringify(digests));
  return true;
}

/**
 * True when the program is on the path; of `<Python>:<module>` when that Python can import the module; of `<name>.h` when
 * C finds the header.
 */
export function hasProgram(name) {
  if (name.endsWith('.h')) return existsSync(join('/usr/include', name));
  const [program, module] = name.split(':');
  const command = module === undefined ? `command -v ${program}` : `${program} -c 'import ${module}'`;
  return spawnSync('sh', ['-c', command], { stdio: 'ignore' }).status === 0;
}

/**
 * Installs Debian packages for programs that are missing, where that is possible.
 * @param programs program name to package name.
 * @returns the programs that are missing afterwards.
 */
export async function ensurePrograms(programs) {
  const missing = Object.keys(programs).filter((name) => !hasProgram(name));
  if (missing.length === 0) return [];
  if (process.getuid?.() !== 0 || !hasProgram('apt-get')) {
    say(`missing: ${missing.join(', ')} (apt-get install ${missing.map((name) => programs[name]).join(' ')})`);
    return missing;
  }
  say(`installing ${missing.join(', ')} with apt-get …`);
  // RUNLEVEL=1 keeps the packages from starting services: the tests start their own on free ports.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const stdio = ['ignore', 'ignore', 2];
  await run('apt-get', ['-qq', 'update'], { env, stdio });
  const packages = new Set(missing.map((name) => programs[name]));
  await run('apt-get', ['-qq', 'install', '-y', '--no-install-recommends', ...packages], { env, stdio });
  const left = missing.filter((name) => !hasProgram(name));
  if (left.length > 0) say(`still missing after apt-get: ${left.join(', ')}`);
  return left;
}
