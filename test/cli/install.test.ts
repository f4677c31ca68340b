/**
 * What `npm start` and `npm test` install before they build, whatever the shell says about the environment.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { cleanEnvironment, scratchDirectory } from '../helpers/setup-command.ts';
import { ROOT } from '../helpers/root.ts';

/** A clone with one package of production and one of development, both local: npm asks no registry for them. */
function makeClone(directory: string): void {
  const packages: Record<string, object> = {};
  for (const name of ['runtime', 'compiler']) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, 'package.json'), JSON.stringify({ name, version: '1.0.0' }));
    const isDevelopment = name === 'compiler' ? { dev: true } : {};
    packages[name] = { version: '1.0.0', ...isDevelopment };
    packages[`node_modules/${name}`] = { resolved: name, link: true, ...isDevelopment };
  }
  const root = {
    name: 'clone',
    version: '1.0.0',
    dependencies: { runtime: 'file:runtime' },
    devDependencies: { compiler: 'file:compiler' },
  };
  writeFileSync(join(directory, 'package.json'), JSON.stringify(root));
  writeFileSync(
    join(directory, 'package-lock.json'),
    JSON.stringify({
      name: 'clone',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: { '': root, ...packages },
    }),
  );
  cpSync(join(ROOT, 'bin'), join(directory, 'bin'), { recursive: true });
}

t.test('a start installs what the server needs, a test run all, also under NODE_ENV=production', async (t) => {
  const clone = scratchDirectory(t);
  makeClone(clone);
  const environment = Object.fromEntries(
    Object.entries(cleanEnvironment({ NODE_ENV: 'production' })).filter(([name]) => !name.startsWith('npm_')),
  );
  const installed = (options: string): string[] => {
    const setup = pathToFileURL(join(clone, 'bin', 'setup.mjs')).href;
    const install = `const { ensureInstalled } = await import(${JSON.stringify(setup)}); await ensureInstalled(${options});`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', install], {
      cwd: clone,
      env: environment,
      encoding: 'utf8',
    });
    t.equal(status, 0, stderr);
    return ['runtime', 'compiler'].filter((name) => existsSync(join(clone, 'node_modules', name, 'package.json')));
  };
  t.same(installed('{ isForDevelopment: false }'), ['runtime']);
  t.same(installed(''), ['runtime', 'compiler']);
  t.same(installed('{ isForDevelopment: false }'), ['runtime', 'compiler'], 'a start takes nothing away');
});

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly engines?: { readonly node?: string };
}
const readJson = (name: string): any => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));
const locked = Object.entries(
  (readJson('package-lock.json') as { packages: Record<string, LockedPackage> }).packages,
).filter(([path]) => path !== '');

t.test('npm ci takes the lock, without asking for anything', async (t) => {
  const directory = scratchDirectory(t);
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(ROOT, name), join(directory, name));
  const environment = Object.fromEntries(
    Object.entries(cleanEnvironment()).filter(([name]) => !name.startsWith('npm_')),
  );
  const result = spawnSync('npm', ['ci', '--dry-run', '--offline', '--ignore-scripts'], {
    cwd: directory,
    env: environment,
    encoding: 'utf8',
  });
  t.equal(result.status, 0, result.stderr);
});

t.test('the locks have no addresses, and each package of them an exact version', async (t) => {
  const example = readJson('examples/web-application/package-lock.json') as { packages: Record<string, LockedPackage> };
  for (const packages of [locked, Object.entries(example.packages)])
    t.same(
      packages
        .filter(([, { version, resolved }]) => resolved !== undefined || version === undefined)
        .map(([path]) => path),
      [],
    );
});

/**
 * Whether a range of versions, as the packages of the lock write them, holds a version. @throws Error for a form that
 * none has.
 */
function holds(range: string, version: readonly number[]): boolean {
  return range.split('||').some((alternative) => {
    const parts = /^\s*(\^|>=|)\s*v?(\d+)(?:\.(\d+|x))?(?:\.(\d+|x))?\s*$/.exec(alternative);
    if (parts === null) throw new Error(`a range that this test cannot read: ${range}`);
    const least = parts.slice(2).map((part) => Number(part ?? 0) || 0);
    const isAbove = version.map((part, index) => part - least[index]).find((difference) => difference !== 0) ?? 0;
    return isAbove >= 0 && (parts[1] === '>=' || version[0] === least[0]);
  });
}

t.test('packages of production take every Node that package.json promises', async (t) => {
  t.same(
    [
      [20, 19, 0],
      [18, 9, 9],
      [22, 0, 0],
    ].map((version) => holds('^18 || >= 20.19.x', version)),
    [true, true, true],
  );
  t.same(
    [
      [20, 18, 9],
      [19, 0, 0],
      [17, 0, 0],
    ].map((version) => holds('^18 || >= 20.19.x', version)),
    [false, false, false],
  );
  const promise = (readJson('package.json') as { engines: { node: string } }).engines.node;
  const versions = [
    [20, 19, 0],
    [20, 20, 2],
    [22, 0, 0],
    [23, 0, 0],
    [24, 0, 0],
    [26, 0, 0],
  ];
  for (const version of versions) t.ok(holds(promise, version));
  t.notOk(holds(promise, [20, 18, 9]));
  const wrong = locked.filter(
    ([, { dev, engines }]) =>
      dev !== true && engines?.node !== undefined && !versions.every((version) => holds(engines.node!, version)),
  );
  t.same(
    wrong.map(([path, { engines }]) => `${path} wants Node ${engines?.node}`),
    [],
  );
});
