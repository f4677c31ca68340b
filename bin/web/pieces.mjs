/**
 * In which pieces a browser loads the console. A screen is a module that its row of the route table imports when it is
 * first opened. A piece for each would be small, and small pieces compress badly, so modules of one kind share a piece.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';

/** The piece of a module that is imported when it is needed: the first row that fits its path. */
const PIECES = [
  ['german', /\.de\.ts$/],
  ['gallery', /\/screens\/gallery\//],
  ['map', /\/screens\/map\//],
  ['charts', /\/screens\/(?:measurements|explore)\/|\/parts\/chart\//],
  ['devices', /\/screens\/(?:devices|groups|operations|registration)\//],
  ['watch', /\/screens\/(?:account|alarms|events|home|search)\//],
  ['services', /\/screens\//],
];
/** Texts of a language stand on little, and load without what screens share. */
const ONLY_TEXTS = 'german';
const ENTRY = 'web/app.tsx';
/** What screens share is one piece. Otherwise each set of pieces that shares a module has a piece of its own. */
const SHARED = /^web\/(?:core|parts)\//;
/** Charts are large; the worker and the first paint are scripts of their own. */
const SHARED_NOT = /^web\/parts\/chart\/|^web\/core\/live\/worker\.ts$|^web\/core\/theme\//;
const SOURCE = /\.tsx?$/;
/** `import('./alarms.tsx')`, but not the type `typeof import('./plot.ts')`. */
const IMPORT = /(?<!typeof )\bimport\('(\.[^']+)'\)/g;
const NAMESPACE = 'piece';

const slashes = (path) => path.replaceAll('\\', '/');

/** @param path of a source below the root. @throws Error when no row fits. */
function pieceOf(path) {
  const row = PIECES.find(([, pattern]) => pattern.test(path));
  if (row === undefined) throw new Error(`${path} is imported when needed: bin/web/pieces.mjs has no piece for it`);
  return row[0];
}

/** Paths of sources by the name of their piece. */
function readPieces(root, paths) {
  const wanted = paths.flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(IMPORT)].map(([, from]) => slashes(join(dirname(path), from))),
  );
  const pieces = new Map();
  // Those that are not there are examples in comments.
  for (const path of [...new Set(wanted)].filter((path) => paths.includes(path)).sort())
    pieces.set(pieceOf(path), [...(pieces.get(pieceOf(path)) ?? []), path]);
  return pieces;
}

/** The code of a piece: its modules as `m0`, `m1`, …, behind what is loaded with each piece. */
function codeOf(name, { root, paths, members }) {
  // The entry is on the page before any piece: what it stands on is in no piece.
  const shared = paths.filter((path) => SHARED.test(path) && !SHARED_NOT.test(path) && !path.endsWith('.de.ts'));
  const imports = [ENTRY, ...(name === ONLY_TEXTS ? [] : shared)].map((path) => `import ${quoted(root, path)};`);
  const exports = members.map((path, index) => `export * as m${index} from ${quoted(root, path)};`);
  return [...imports, ...exports].join('\n');
}

const quoted = (root, path) => JSON.stringify(slashes(join(root, path)));

/** Plug-in of esbuild: an import of a module that is loaded when needed becomes one of its piece. */
export function pieces(root) {
  const paths = readdirSync(join(root, 'web'), { recursive: true })
    .filter((name) => SOURCE.test(name) && !name.endsWith('.d.ts'))
    .map((name) => slashes(join('web', name)))
    .sort();
  const members = readPieces(root, paths);
  const inPiece = (path) => {
    if (!paths.includes(path)) return undefined;
    const name = pieceOf(path);
    return `import('${NAMESPACE}:${name}').then(({ m${members.get(name).indexOf(path)}: module }) => module)`;
  };
  return {
    name: 'pieces',
    setup(build) {
      build.onLoad({ filter: SOURCE, namespace: 'file' }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        if (!text.includes('import(') || path.includes('node_modules')) return undefined;
        const folder = dirname(slashes(relative(root, path)));
        const contents = text.replace(IMPORT, (whole, from) => inPiece(slashes(join(folder, from))) ?? whole);
        return { contents, loader: extname(path).slice(1) };
      });
      build.onResolve({ filter: /^piece:/ }, ({ path }) => ({
        path: path.slice(NAMESPACE.length + 1),
        namespace: NAMESPACE,
      }));
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path: name }) => ({
        contents: codeOf(name, { root, paths, members: members.get(name) }),
        resolveDir: root,
      }));
    },
  };
}
