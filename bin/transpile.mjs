/**
 * TypeScript to JavaScript, a file for a file but for some packages and for the server, some seconds for all of it. Types are checked
 * elsewhere: `npm run typecheck`, `npm run check`.
 */
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { buildWeb } from './web.mjs';

/** Imports stay imports: only the ending of the file's name changes. */
const FILES_STAY_APART = {
  name: 'files-stay-apart',
  setup(build) {
    build.onResolve({ filter: /\.tsx?$/ }, ({ kind, path }) =>
      kind === 'entry-point' ? undefined : { path: path.replace(/\.tsx?$/, '.js'), external: true },
    );
    // Styles are for browsers.
    build.onResolve({ filter: /\.css$/ }, ({ path }) => ({ path, namespace: 'styles' }));
    build.onLoad({ filter: /.*/, namespace: 'styles' }, () => ({ contents: '' }));
  },
};

/** Test files import a `t` of their own. */
const ownTap = (root, outDir) => ({
  name: 'own-tap',
  setup(build) {
    build.onResolve({ filter: /^tap$/ }, ({ importer, resolveDir }) => {
      const path = relative(join(root, outDir, relative(root, resolveDir)), join(root, 'bin', 'tap', 'instance.mjs'));
      return { path: `${path}?file=${relative(root, importer)}`.replaceAll('\\', '/'), external: true };
    });
  },
});

/**
 * Packages of very many small files, which took half of the CPU time of a start: each of their entries becomes one file
 * below this folder.
 */
const JOINED_PACKAGES = ['typebox', 'typebox/compile'];
const JOINED_FOLDER = join('src', 'packages');
const joinedName = (specifier) => specifier.replaceAll('/', '-');

const joinedPackages = (root) => ({
  name: 'joined-packages',
  setup(build) {
    build.onResolve({ filter: /^typebox(\/|$)/ }, ({ path, resolveDir }) => {
      if (!JOINED_PACKAGES.includes(path))
        return { errors: [{ text: `${path} is not in JOINED_PACKAGES of bin/transpile.mjs` }] };
      const file = relative(resolveDir, join(root, JOINED_FOLDER, `${joinedName(path)}.js`)).replaceAll('\\', '/');
      return { path: file.startsWith('.') ? file : `./${file}`, external: true };
    });
  },
});

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
/** Binaries, and what starts threads from files of its own. */
const APART_PACKAGES = ['lmdb', 'chdb', 'pino', 'piscina', 'onnxruntime-node', 'pyodide'];

const joinServer = (build, { root, outDir }) =>
  build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: SERVER_ENTRIES,
    outdir: join(outDir, SERVER_FOLDER),
    external: APART_PACKAGES,
    sourcemap: true,
    sourcesContent: false,
    banner: { js: REQUIRE },
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

function transpileWith(build, { root, folders, outDir }) {
  const entryPoints = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
      .map((name) => join(folder, name)),
  );
  return build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints,
    outdir: outDir,
    outbase: '.',
    packages: 'external',
    plugins: [FILES_STAY_APART, joinedPackages(root), ownTap(root, outDir)],
    treeShaking: false,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: true,
    sourcesContent: false,
  });
}

/**
 * Writes over what is in `outDir`: a server that runs from there may still load a file. @returns false when a file
 * could not be read.
 */
export const transpile = (options) =>
  withEsbuild(async (build) => {
    await Promise.all([transpileWith, joinPackages].map((work) => work(build, options)));
    await joinServer(build, options);
  });

/** The console, into dist/web. @returns false when a source could not be built; dist/web says why. */
export async function bundleWeb(options) {
  const { build, stop } = await import('esbuild');
  try {
    return await buildWeb(build, options);
  } finally {
    await stop();
  }
}

const joinTap = (build, { root, outDir }) =>
  build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: ['tap'],
    outfile: join(outDir, 'node_modules', 'tap', 'tap.mjs'),
    alias: { 'async-hook-domain': './bin/tap/error-domain.mjs', async_hooks: './bin/tap/error-domain.mjs' },
    banner: { js: REQUIRE },
  });

/**
 * The same, and tap in one file, which finds the tests of errors that nobody catches at less cost. It leaves frames of
 * a folder of that name out of stacks.
 */
export const transpileTests = (options) =>
  withEsbuild((build) => Promise.all([transpileWith, joinPackages, joinTap].map((work) => work(build, options))));
