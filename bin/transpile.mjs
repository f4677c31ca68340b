/**
 * TypeScript to JavaScript, a file for a file but for some packages and for the server, some seconds for all of it. Types are checked
 * elsewhere: `npm run typecheck`, `npm run check`.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { buildWeb } from './web/build.mjs';

/** Imports stay imports: only the ending of the file's name changes, in what was made (`withImports`). */
const SOURCES = ['./*.ts', '../*.ts', './*.tsx', '../*.tsx'];
/** Styles are for browsers. */
const NO_STYLES = {
  name: 'no-styles',
  setup(build) {
    build.onResolve({ filter: /\.css$/ }, ({ path }) => ({ path, namespace: 'styles' }));
    build.onLoad({ filter: /.*/, namespace: 'styles' }, () => ({ contents: '' }));
  },
};

/**
 * Packages of very many small files, which took half of the CPU time of a start: each of their entries becomes one file
 * below this folder.
 */
const JOINED_PACKAGES = ['typebox', 'typebox/compile'];
const JOINED_FOLDER = join('src', 'packages');
const joinedName = (specifier) => specifier.replaceAll('/', '-');

/** Relative to a built file. */
function pathFrom(file, target) {
  const path = relative(dirname(file), target).replaceAll('\\', '/');
  return path.startsWith('.') ? path : `./${path}`;
}

/** @param from built file, and the source that it was made of. @returns what stands there in place of an import. */
function importedPath(specifier, { file, source }, { root, outDir }) {
  if (/^\.{1,2}\/.*\.tsx?$/.test(specifier)) return specifier.replace(/\.tsx?$/, '.js');
  // Test files import a `t` of their own.
  if (specifier === 'tap') return `${pathFrom(file, join(root, 'bin', 'tap', 'instance.mjs'))}?file=${source}`;
  if (!/^typebox(\/|$)/.test(specifier)) return specifier;
  if (!JOINED_PACKAGES.includes(specifier))
    throw new Error(`${source}: ${specifier} is not in JOINED_PACKAGES of bin/transpile.mjs`);
  return pathFrom(file, join(root, outDir, JOINED_FOLDER, `${joinedName(specifier)}.js`));
}

/** A plugin would be asked for each of ten thousand imports, which takes longer than all the rest. */
function withImports(text, imports, from, options) {
  let changed = text;
  for (const specifier of new Set(imports.filter(({ external }) => external).map(({ path }) => path))) {
    const path = importedPath(specifier, from, options);
    if (path !== specifier) changed = changed.replaceAll(JSON.stringify(specifier), JSON.stringify(path));
  }
  return changed;
}

const joinPackages = (build, { root, outDir }) =>
  build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: Object.fromEntries(JOINED_PACKAGES.map((name) => [joinedName(name), name])),
    outdir: join(outDir, JOINED_FOLDER),
    splitting: true,
  });

/** For packages that are CommonJS. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";
const OPTIONS = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
  loader: { '.md': 'text' },
};

/**
 * The server and its packages are a thousand files: in one file they take 1.3 s of CPU time and 35 MB less. It stands in
 * the place of `start.js`, and beside it what it starts, which it looks for there.
 */
const SERVER_FOLDER = join('src', 'server');
const SERVER_ENTRIES = {
  start: 'src/server/start.ts',
  child: 'src/store/embedded-clickhouse/child.ts',
  thread: 'src/accounts/passwords/thread.ts',
  'worker/thread': 'src/scoring-workers/worker/thread.ts',
  'onnx-worker': 'src/scoring-workers/onnx/onnx-worker.ts',
  'pyodide-worker': 'src/scoring-workers/script/pyodide-worker.ts',
  'system-worker': 'src/scoring-workers/script/system-worker.ts',
};
/** Binaries, what looks for one that need not be there, and what starts threads from files of its own. */
const APART_PACKAGES = ['lmdb', 'chdb', 'pino', 'piscina', 'onnxruntime-node', 'pyodide', 'ssh2'];

const joinServer = (build, { root, outDir }) =>
  build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: SERVER_ENTRIES,
    outdir: join(outDir, SERVER_FOLDER),
    external: APART_PACKAGES,
    // What a cluster alone needs is read by its nodes alone.
    splitting: true,
    chunkNames: '[name]-[hash]',
    sourcemap: true,
    sourcesContent: false,
    banner: { js: REQUIRE },
    write: false,
  });

/** @returns false when a file could not be read as TypeScript; esbuild has printed why. */
async function withEsbuild(work) {
  // Loaded here: this file is imported before packages are installed.
  const { build, stop } = await import('esbuild');
  try {
    await work(build);
    return true;
  } catch (error) {
    if (error.errors === undefined) throw error;
    return false;
  } finally {
    // Its process would go on, with 350 MB, beside the server or the tests.
    await stop();
  }
}

const OLD_MS = 86_400_000;
const isOld = (path) => statSync(path).mtimeMs < Date.now() - OLD_MS;

/** Parts of the server that earlier builds left, but for those that a server may still load that runs meanwhile. */
function removeOldChunks(files, folder) {
  const names = new Set(files.map(({ path }) => basename(path)));
  for (const name of readdirSync(folder))
    if (/-[A-Z\d]{8}\.js(\.map)?$/.test(name) && !names.has(name) && isOld(join(folder, name)))
      rmSync(join(folder, name));
}

function write(files) {
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) mkdirSync(folder, { recursive: true });
  for (const { path, contents } of files) writeFileSync(path, contents);
}

const sourcesOf = ({ root, folders }) =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
      .map((name) => join(folder, name)),
  );

/** @param entryPoints relative to `root` */
async function transpileWith(build, options, entryPoints = sourcesOf(options)) {
  const { root, outDir } = options;
  const { outputFiles, metafile } = await build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints,
    outdir: outDir,
    outbase: '.',
    packages: 'external',
    external: SOURCES,
    plugins: [NO_STYLES],
    treeShaking: false,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    write: false,
  });
  write(
    outputFiles.map((one) => {
      const { imports, entryPoint } = metafile.outputs[relative(root, one.path).replaceAll('\\', '/')] ?? {};
      if (entryPoint === undefined) return one;
      return {
        path: one.path,
        contents: withImports(one.text, imports, { file: one.path, source: entryPoint }, options),
      };
    }),
  );
}

/**
 * The server into `outDir` and the console into dist/web. Writes over what is there: a server that runs from there may
 * still load a file. @returns false when a file of the server could not be read; when one of the console could not,
 * dist/web says why, and `onWebFault` is called.
 */
export const transpile = (options, onWebFault) =>
  withEsbuild(async (build) => {
    const [server, isWebBuilt] = await Promise.all([
      joinServer(build, options),
      buildWeb(build, options),
      ...[transpileWith, joinPackages].map((work) => work(build, options)),
    ]);
    write(server.outputFiles);
    removeOldChunks(server.outputFiles, join(options.root, options.outDir, SERVER_FOLDER));
    if (!isWebBuilt) onWebFault();
  });

const joinTap = (build, { root, outDir }) =>
  build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: ['tap'],
    outfile: join(outDir, 'node_modules', 'tap', 'tap.mjs'),
    alias: { 'async-hook-domain': './bin/tap/error-domain.mjs', async_hooks: './bin/tap/error-domain.mjs' },
    banner: { js: REQUIRE },
  });

/** Where one of these has changed, everything is made anew; so it is for texts that sources hold. */
const OF_ALL = ['package-lock.json', 'tsconfig.json', 'bin/transpile.mjs', 'bin/tap/error-domain.mjs'];
/** What everything in a folder was made of, by digests. It is not there while files are written. */
const MADE_OF = '.made-of.json';

function readMadeOf(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // The first time, or a build was broken off: everything is made.
    return { all: undefined, files: {} };
  }
}

/**
 * The same, of what has changed since it was made, and tap in one file, which finds the tests of errors that nobody
 * catches at less cost. It leaves frames of a folder of that name out of stacks.
 */
export const transpileTests = async (options) => {
  const { root, folders, outDir } = options;
  const digestOf = (...paths) => {
    const hash = createHash('sha256');
    for (const path of paths) hash.update(readFileSync(join(root, path)));
    return hash.digest('hex');
  };
  const textsOf = (folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name));
  const path = join(root, outDir, MADE_OF);
  const before = readMadeOf(path);
  // Before anything is read to be made: what changes meanwhile is made again the next time.
  const all = digestOf(...OF_ALL, ...folders.flatMap(textsOf).sort());
  const files = Object.fromEntries(sourcesOf(options).map((name) => [name, digestOf(name)]));
  const isAnew = before.all !== all;
  const isStale = ([name, digest]) =>
    isAnew || before.files[name] !== digest || !existsSync(join(root, outDir, name.replace(/\.tsx?$/, '.js')));
  const stale = Object.entries(files)
    .filter(isStale)
    .map(([name]) => name);
  if (stale.length === 0) return true;
  rmSync(path, { force: true });
  const isMade = await withEsbuild((build) =>
    Promise.all([
      transpileWith(build, options, stale),
      ...(isAnew ? [joinPackages, joinTap].map((work) => work(build, options)) : []),
    ]),
  );
  if (isMade) writeFileSync(path, JSON.stringify({ all, files }));
  return isMade;
};
