/**
 * Puts the builds of uWebSockets.js for this machine into dist/native, in a form that loads on older glibc too and
 * whose own answers name no software; see src/api/http/engines/uws-binaries.ts. `node bin/native.mjs --print` writes the
 * digests of all builds of the package, for that table.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const packageFolder = join(root, 'node_modules', 'uWebSockets.js');
const target = join(root, 'dist', 'native');

const digestOf = (bytes) => createHash('sha256').update(bytes).digest('hex');
const table = (built) => import(`../${built}/src/api/http/engines/uws-binaries.js`);
/** Makes of a build what the server loads. */
async function copier(built) {
  const { forOlderGlibc } = await import(`../${built}/src/api/http/engines/elf-glibc.js`);
  const { withOwnAnswers } = await import(`../${built}/src/api/http/engines/own-answers.js`);
  return (source) => withOwnAnswers(forOlderGlibc(source));
}
const keysHere = ({ UWS_BINARIES }) =>
  Object.keys(UWS_BINARIES).filter((key) => key.startsWith(`${process.platform}_${process.arch}_`));

/** True when no build for this machine is missing in dist/native. @param built the folder with the built sources. */
export async function isNativeThere(built) {
  const binaries = await table(built);
  return keysHere(binaries).every((key) => existsSync(join(target, binaries.uwsFileName(key))));
}

/** @param built the folder with the built sources. @throws Error where a build differs from what the table says. */
export async function prepareNative(built) {
  const binaries = await table(built);
  const copyOf = await copier(built);
  mkdirSync(target, { recursive: true });
  for (const key of keysHere(binaries)) {
    const name = binaries.uwsFileName(key);
    const path = join(target, name);
    if (existsSync(path) && digestOf(readFileSync(path)) === binaries.UWS_BINARIES[key].digest) continue;
    const require = (what, bytes, digest) => {
      const found = digestOf(bytes);
      if (found !== digest)
        throw new Error(
          `${what} is refused: its SHA-256 digest is ${found}, not ${digest} of src/api/http/engines/uws-binaries.ts`,
        );
      return bytes;
    };
    const source = require(join(packageFolder, name), readFileSync(join(packageFolder, name)), binaries.UWS_BINARIES[
      key
    ].source);
    const copy = require(`the copy of ${name}`, copyOf(source), binaries.UWS_BINARIES[key].digest);
    // A server that runs has the old file open: it is replaced, not written over.
    writeFileSync(join(target, `.${name}.${process.pid}`), copy, { mode: 0o644 });
    renameSync(join(target, `.${name}.${process.pid}`), path);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === '--print') {
  const copyOf = await copier('dist');
  for (const name of readdirSync(packageFolder)
    .filter((name) => /^uws_linux_(?:x64|arm64)_(?:115|127|137)\.node$/.test(name))
    .sort()) {
    const source = readFileSync(join(packageFolder, name));
    process.stdout.write(
      `  ${name.slice(4, -5)}: {\n    source: '${digestOf(source)}',\n    digest: '${digestOf(copyOf(source))}',\n  },\n`,
    );
  }
}
