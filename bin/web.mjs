/**
 * Builds the console: web/ into dist/web, in pieces that a browser loads when a screen is opened first. The names of the
 * pieces have hashes, so a browser may keep them; each has its compressed forms beside it.
 */
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const WEB = 'web';
/** What the server tells in place of the console when its build failed. */
export const FAULT_FILE = 'fault.txt';
/** Smaller files go as they are: a packet holds them. */
const COMPRESSED_BYTES_MIN = 1_000;

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

/** The file that was made of an entry, without its folder. */
function outputOf(result, entry, ending = '.js') {
  const [path] = Object.entries(result.metafile.outputs).find(
    ([name, { entryPoint }]) => entryPoint === entry && name.endsWith('.js'),
  );
  const made = ending === '.js' ? path : result.metafile.outputs[path].cssBundle;
  return made.split('/').at(-1);
}

/** @throws what esbuild throws, with `errors`. */
async function bundle(build, root) {
  const outdir = join(root, 'dist', WEB);
  const common = { ...OPTIONS, absWorkingDir: root, outdir };
  // A shared worker lives as long as any tab: the name of its file is that of its code.
  const worker = await build({ ...common, entryPoints: ['web/core/live/worker.ts'] });
  const app = await build({
    ...common,
    define: {
      __WORKER_FILE__: JSON.stringify(outputOf(worker, 'web/core/live/worker.ts')),
      // What the names of limits mean, for the page of the server.
      __LIMITS_PAGE__: JSON.stringify(readFileSync(join(root, 'docs', 'reference', 'limits.md'), 'utf8')),
    },
    splitting: true,
    entryPoints: ['web/app.tsx', 'web/core/theme/first-paint.ts'],
  });
  const index = readFileSync(join(root, WEB, 'index.html'), 'utf8')
    .replace('{{first-paint}}', outputOf(app, 'web/core/theme/first-paint.ts'))
    .replace('{{app}}', outputOf(app, 'web/app.tsx'))
    .replace('{{style}}', outputOf(app, 'web/app.tsx', '.css'));
  const files = [...worker.outputFiles, ...app.outputFiles].map(({ path, contents }) => ({
    name: path.split(/[\\/]/).at(-1),
    contents: Buffer.from(contents),
  }));
  return [...files, { name: 'index.html', contents: Buffer.from(index) }];
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

async function compressed({ name, contents }) {
  if (contents.length < COMPRESSED_BYTES_MIN || name === 'index.html') return [];
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(contents, brotliOptions(contents)),
    promisify(gzip)(contents),
  ]);
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
    const files = await bundle(build, root);
    write([...files, ...(await Promise.all(files.map(compressed))).flat()]);
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
