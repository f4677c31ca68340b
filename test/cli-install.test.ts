/** What `npm start` installs before it builds: all that the build needs, whatever the shell says about the environment. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { cleanEnvironment, scratchDirectory } from './helpers/setup-command.ts';
import { ROOT } from './helpers/root.ts';

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
  const root = { name: 'clone', version: '1.0.0', dependencies: { runtime: 'file:runtime' }, devDependencies: { compiler: 'file:compiler' } };
  writeFileSync(join(directory, 'package.json'), JSON.stringify(root));
  writeFileSync(join(directory, 'package-lock.json'),
    JSON.stringify({ name: 'clone', version: '1.0.0', lockfileVersion: 3, requires: true, packages: { '': root, ...packages } }));
  cpSync(join(ROOT, 'bin'), join(directory, 'bin'), { recursive: true });
}

t.test('the packages of development are installed also under NODE_ENV=production', async (t) => {
  const clone = scratchDirectory(t);
  makeClone(clone);
  const install = `const { ensureInstalled } = await import(${JSON.stringify(pathToFileURL(join(clone, 'bin', 'setup.mjs')).href)}); await ensureInstalled();`;
  const environment = Object.fromEntries(Object.entries(cleanEnvironment({ NODE_ENV: 'production' })).filter(([name]) => !name.startsWith('npm_')));
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', install], { cwd: clone, env: environment, encoding: 'utf8' });
  t.equal(status, 0, stderr);
  for (const name of ['runtime', 'compiler']) t.ok(existsSync(join(clone, 'node_modules', name, 'package.json')), `${name}\n${stderr}`);
});
