/**
 * Builds the console: web/ into dist/web, in pieces that a browser loads when one of their screens is first opened. The
 * names of the pieces have hashes, so a browser may keep them; each has its compressed forms beside it.
 */
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompressSync, constants, gunzipSync } from 'node:zlib';
import { worldOutline } from './outline.mjs';
import { pieces } from './pieces.mjs';

const WEB = 'web';
const APP = 'web/app.tsx';
const WORKER = 'web/core/live/worker.ts';
const FIRST_PAINT = 'web/core/theme/first-paint.ts';
/** What the server tells in place of the console when its build failed. */
export const FAULT_FILE = 'fault.txt';
/** Smaller files go as they are: a packet holds them. */
const COMPRESSED_BYTES_MIN = 1_000;
/** Browsers take gzip alone over plain HTTP, so it is made small: 4 % less than zlib's best. */
const GZIP = { numiterations: 5 };
/** Parts of the console in all states: no user needs them. `MILLRACE_GALLERY=yes npm run build` has them at /console/gallery. */
export const HAS_GALLERY = process.env['MILLRACE_GALLERY'] === 'yes';

const OPTIONS = {
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: ['es2022', 'chrome111', 'firefox113', 'safari16.4'],
  minify: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
  metafile: true,
  write: false,
  logLevel: 'warning',
  entryNames: '[name]-[hash]',
  chunkNames: 'part-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.svg': 'file', '.png': 'dataurl', '.geojson': 'json' },
};

/** A second pass over what esbuild has made short: 3 % fewer bytes on the wire. */
const SHORTER = { module: true, ecma: 2022, compress: { passes: 2, unsafe_arrows: true }, mangle: true };

const nameOf = (path) => path.split(/[\\/]/).at(-1);

/** The file that holds the code of a source. An entry that pieces stand on is a file of its own, which only imports it. */
function fileWith(result, source) {
  const [path] = Object.entries(result.metafile.outputs).find(([, { inputs }]) => source in inputs);
  return nameOf(path);
}

/** The router could render on a server, with a library that no browser needs. */
const NO_SERVER_RENDERING = {
  name: 'no-server-rendering',
  setup(build) {
    build.onResolve({ filter: /^\.\/prerender\.js$/ }, () => ({ path: 'preact-iso/prerender', external: true }));
  },
};

const NO_GALLERY = {
  name: 'no-gallery',
  setup(build) {
    build.onLoad({ filter: /[\\/]gallery[\\/]routes\.ts$/ }, () => ({ contents: 'export const galleryRoutes = [];' }));
  },
};

/** Name of the styles of an entry. */
const styleOf = (result, source) =>
  nameOf(Object.values(result.metafile.outputs).find(({ entryPoint }) => entryPoint === source).cssBundle);

/** What esbuild has written, without files whose code stands elsewhere, and without the styles of pieces: the page has them. */
function filesOf(result, style) {
  const isLeft = (name, { inputs }) => Object.keys(inputs).length === 0 || (name.endsWith('.css') && name !== style);
  const left = new Set(
    Object.entries(result.metafile.outputs).flatMap(([path, output]) =>
      isLeft(nameOf(path), output) ? [nameOf(path)] : [],
    ),
  );
  return result.outputFiles
    .map(({ path, contents }) => ({ name: nameOf(path), contents: Buffer.from(contents) }))
    .filter(({ name }) => !left.has(name));
}

/** @throws what esbuild throws, with `errors`. */
async function bundle(build, root) {
  const common = { ...OPTIONS, absWorkingDir: root, outdir: join(root, 'dist', WEB) };
  // A shared worker lives as long as any tab: the name of its file is that of its code.
  const apart = await build({ ...common, entryPoints: [WORKER, FIRST_PAINT] });
  const app = await build({
    ...common,
    define: { __WORKER_FILE__: JSON.stringify(fileWith(apart, WORKER)) },
    plugins: [...(HAS_GALLERY ? [] : [NO_GALLERY]), pieces(root), worldOutline, NO_SERVER_RENDERING],
    splitting: true,
    entryPoints: [APP],
  });
  const style = styleOf(app, APP);
  const index = readFileSync(join(root, WEB, 'index.html'), 'utf8')
    .replace('{{first-paint}}', fileWith(apart, FIRST_PAINT))
    .replace('{{app}}', fileWith(app, APP))
    .replace('{{style}}', style);
  return [...filesOf(apart), ...filesOf(app, style), { name: 'index.html', contents: Buffer.from(index) }];
}

/** With a window of the file's size: that of the library takes ten times as long for small ones. */
const brotliOptions = ({ length }) => ({
  params: {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: length,
    [constants.BROTLI_PARAM_LGWIN]: Math.min(
      constants.BROTLI_DEFAULT_WINDOW,
      Math.max(constants.BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(length))),
    ),
  },
});

async function shortened({ name, contents }) {
  if (!name.endsWith('.js')) return { name, contents };
  // Loaded here: this file is imported before packages are installed.
  const { minify } = await import('@swc/core');
  const { code } = await minify(contents.toString(), SHORTER);
  return { name, contents: Buffer.from(code) };
}

/** Whether an earlier build has left both forms of these contents, whole. */
function areLeft([br, gz], contents) {
  try {
    return brotliDecompressSync(readFileSync(br)).equals(contents) && gunzipSync(readFileSync(gz)).equals(contents);
  } catch {
    // Not there, or cut off.
    return false;
  }
}

/** @param outdir where an earlier build may have left them. */
async function compressed({ name, contents }, outdir) {
  if (contents.length < COMPRESSED_BYTES_MIN || name === 'index.html') return [];
  const paths = ['br', 'gz'].map((form) => join(outdir, `${name}.${form}`));
  // Loaded here: this file is imported before packages are installed.
  const { gzipAsync } = await import('@gfx/zopfli');
  const [br, gz] = areLeft(paths, contents)
    ? paths.map((path) => readFileSync(path))
    : await Promise.all([promisify(brotliCompress)(contents, brotliOptions(contents)), gzipAsync(contents, GZIP)]);
  return [
    { name: `${name}.br`, contents: br },
    { name: `${name}.gz`, contents: gz },
  ];
}

/**
 * Writes the console into dist/web and removes what earlier builds left there. When a source cannot be built, dist/web
 * holds what esbuild said, for the server to tell.
 * @param build that of esbuild. @returns false when a source could not be built.
 */
export async function buildWeb(build, { root }) {
  const outdir = join(root, 'dist', WEB);
  mkdirSync(outdir, { recursive: true });
  const write = (files) => {
    for (const { name, contents } of files) writeFileSync(join(outdir, name), contents);
    const names = new Set(files.map(({ name }) => name));
    for (const name of readdirSync(outdir)) if (!names.has(name)) rmSync(join(outdir, name));
  };
  try {
    const files = await Promise.all((await bundle(build, root)).map(shortened));
    write([...files, ...(await Promise.all(files.map((file) => compressed(file, outdir)))).flat()]);
    return true;
  } catch (error) {
    if (error.errors === undefined) throw error;
    const told = error.errors.map(({ text, location }) =>
      location === null ? text : `${location.file}:${location.line}:${location.column}: ${text}`,
    );
    write([{ name: FAULT_FILE, contents: told.join('\n') }]);
    return false;
  }
}
