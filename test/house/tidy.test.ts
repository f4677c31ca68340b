/** The house rules that a program can check: import directions, cycles, lengths, leftovers. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import t from 'tap';
import { ROOT } from '../helpers/root.ts';

/** Left out where its own examples would count. */
const THIS_FILE = 'test/house/tidy.test.ts';

/** Longest file; a test has its tables of cases beside it. */
const FILE_LINES_MAX = 600;
const WEB_FILE_LINES_MAX = 500;
const TEST_FILE_LINES_MAX = 900;

/** Flat tables: a row is an entry, and there are as many as there are. */
const FLAT_TABLES = new Set(['src/config/config.ts', 'src/model/errors.ts', 'src/store/clickhouse/schema.ts']);

/** Folder of src → folders it may import from, beside itself. What is not listed may import everything: it composes. */
const DIRECTIONS: Readonly<Record<string, readonly string[]>> = {
  model: [],
  ports: ['model'],
  pacing: ['model', 'ports'],
  config: ['model', 'ports'],
  ingest: ['model', 'ports', 'pacing', 'records'],
  actors: ['model', 'ports', 'pacing', 'ingest', 'records'],
  records: ['model', 'ports'],
  history: ['model', 'ports', 'pacing'],
  accounts: ['model', 'ports', 'pacing', 'records', 'actors', 'history'],
  smartrest: ['model', 'ports', 'pacing', 'ingest'],
  realtime: ['model', 'ports', 'pacing'],
  'remote-access': ['model', 'ports', 'pacing', 'records', 'accounts', 'history'],
  'scoring-workers': ['model', 'ports', 'pacing', 'ingest'],
  scoring: ['model', 'ports', 'pacing', 'ingest', 'history', 'records', 'scoring-workers'],
  mqtt: ['model', 'ports', 'pacing', 'ingest', 'actors', 'smartrest', 'accounts'],
  api: [
    'model',
    'ports',
    'pacing',
    'config',
    'ingest',
    'actors',
    'history',
    'smartrest',
    'accounts',
    'records',
    'remote-access',
    'scoring',
    'scoring-workers',
  ],
  cluster: ['model', 'ports', 'pacing', 'ingest', 'actors', 'accounts', 'mqtt', 'realtime', 'remote-access'],
  store: ['model', 'ports', 'pacing', 'config', 'ingest', 'actors', 'history', 'realtime', 'cluster'],
  operate: ['model', 'ports', 'pacing', 'records', 'ingest', 'actors', 'store'],
  jobs: ['model', 'ports', 'pacing', 'records', 'history', 'operate'],
};

/** The same of the console. `app.tsx` and `routes.ts` compose. */
const WEB_DIRECTIONS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  parts: ['core'],
  frame: ['core', 'parts'],
  screens: ['core', 'parts'],
};

/**
 * Files of a folder; of them with one first word. More files get sub-folders, and a word that four files share becomes
 * one.
 */
const FOLDER_FILES_MAX = 25;
const PREFIX_FILES_MAX = 3;

/** Network and database packages, which the inner folders do not know. */
const OUTER_PACKAGES = [
  'uWebSockets.js',
  'mqtt-packet',
  'lmdb',
  'ioredis',
  'nats',
  '@nats-io/',
  '@clickhouse/client',
  'chdb',
  'ws',
  'pino',
  'node:net',
  'node:http',
];
const INNER_FOLDERS = [
  'model',
  'ports',
  'pacing',
  'actors',
  'ingest',
  'records',
  'history',
  'smartrest',
  'accounts',
  'jobs',
];

/** Packages that stand behind one file, with the folder it lies in. */
const ONE_FILE_PACKAGES: Readonly<Record<string, string>> = { chdb: 'src/store' };

/** Folders and files that write to the terminal. */
const TERMINAL = /^src\/(cli\/|main\.ts$)/;

interface Import {
  readonly from: string;
  readonly isType: boolean;
}
interface Source {
  readonly path: string;
  readonly text: string;
  /** The text without comments. */
  readonly code: string;
  readonly imports: readonly Import[];
}

/**
 * Comments become spaces, texts stay: good enough for the code of this project, which the rules below also keep simple.
 */
function withoutComments(text: string): string {
  return text.replace(
    /('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|\/\*[\s\S]*?\*\/|(?<![:\\])\/\/[^\n]*/g,
    (whole, literal: string | undefined) => literal ?? whole.replace(/[^\n]/g, ' '),
  );
}

function importsOf(code: string): Import[] {
  const found: Import[] = [];
  for (const [, kind, names, from] of code.matchAll(
    /^\s*(?:import|export)\s+(type\s+)?([^'"();=]*?\s*from\s*)?['"]([^'"\n]+)['"]/gm,
  )) {
    if (names === undefined && kind !== undefined) continue;
    // `import { type A, type B }` is erased as a whole, but the import itself stays: it counts as one of values.
    found.push({ from, isType: kind !== undefined });
  }
  for (const [, from] of code.matchAll(/\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g)) found.push({ from, isType: false });
  for (const [, from] of code.matchAll(/\brequire\(\s*['"]([^'"\n]+)['"]\s*\)/g)) found.push({ from, isType: false });
  return found;
}

const known = new Map<string, Source>();

function sources(folder: string, ending = /\.(tsx?|mjs)$/): Source[] {
  if (!existsSync(join(ROOT, folder))) return [];
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .sort();
  return names.map((name) => {
    const path = `${folder}/${name}`;
    let source = known.get(path);
    if (source === undefined) {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const code = withoutComments(text);
      source = { path, text, code, imports: importsOf(code) };
      known.set(path, source);
    }
    return source;
  });
}

const SRC = sources('src');
const WEB = sources('web');
const ALL = [...SRC, ...WEB, ...sources('bench'), ...sources('test'), ...sources('bin')];

/** Path of an imported file relative to the root, or undefined for a package. */
function target(source: Source, from: string): string | undefined {
  return from.startsWith('.') ? relative(ROOT, join(ROOT, dirname(source.path), from)) : undefined;
}

const folderOf = (path: string): string => (path.split('/').length > 2 ? path.split('/')[1] : '');

t.test('the reader of imports', async (t) => {
  const text = `
    import a from 'one'; import type { B } from "two"; import { c,
      d } from './three.ts';
    import 'four'; export { e } from './five.ts'; export type { F } from './six.ts';
    // import g from 'seven';
    /* import h from 'eight'; */
    const i = await import('./nine.ts'); const j = 'from the import';`.replaceAll('; ', ';\n');
  t.same(
    importsOf(withoutComments(text)).map(({ from, isType }) => `${from}${isType ? ' type' : ''}`),
    ['one', 'two type', './three.ts', 'four', './five.ts', './six.ts type', './nine.ts'],
  );
});

t.test('imports point one way', async (t) => {
  const wrong: string[] = [];
  for (const source of [...SRC, ...WEB]) {
    const folder = folderOf(source.path);
    const allowed = (source.path.startsWith('web/') ? WEB_DIRECTIONS : DIRECTIONS)[folder];
    for (const { from } of source.imports) {
      const path = target(source, from);
      if (path === undefined || allowed === undefined) continue;
      const to = folderOf(path);
      const isAllowed = to === folder || allowed.includes(to);
      if (!isAllowed)
        wrong.push(`${source.path} imports ${path}; ${folder} takes only ${allowed.join(', ') || 'its own files'}`);
    }
  }
  t.same(wrong, []);
});

t.test('the inner folders know no network and no database', async (t) => {
  const isOuter = (from: string): boolean =>
    OUTER_PACKAGES.some((name) => from === name || from.startsWith(name.endsWith('/') ? name : `${name}/`));
  const wrong = SRC.filter((source) => INNER_FOLDERS.includes(folderOf(source.path))).flatMap((source) =>
    source.imports.filter(({ from }) => isOuter(from)).map(({ from }) => `${source.path} imports ${from}`),
  );
  t.same(wrong, []);
});

t.test('some packages stand behind one file', async (t) => {
  for (const [name, folder] of Object.entries(ONE_FILE_PACKAGES)) {
    const importers = SRC.filter((source) => source.imports.some(({ from }) => from === name)).map(({ path }) => path);
    t.ok(importers.length <= 1, `${name}: ${importers.join(', ')}`);
    t.ok(
      importers.every((path) => path.startsWith(folder)),
      `${name} belongs into ${folder}`,
    );
  }
});

t.test('uWebSockets.js is loaded by its digest (src/api/http/engines/uws.ts), not imported', async (t) => {
  t.same(
    ALL.filter(({ imports }) => imports.some(({ from }) => from === 'uWebSockets.js')).map(({ path }) => path),
    [],
  );
});

t.test('every import of a file names it with its ending, and it exists', async (t) => {
  const wrong = ALL.filter(({ path }) => path !== THIS_FILE).flatMap((source) =>
    source.imports
      .filter(({ from }) => from.startsWith('.'))
      .filter(({ from }) => !/\.(tsx?|mjs|json|css)$/.test(from) || !existsSync(join(ROOT, target(source, from)!)))
      .map(({ from }) => `${source.path}: ${from}`),
  );
  // The built server is imported by its own name.
  t.same(
    wrong.filter((entry) => !entry.includes('/dist/')),
    [],
  );
});

/** Texts of the console load those of a language, which has their type. */
const OTHER_LANGUAGE = /\.de\.ts$/;
/** Imports of types count: a cycle of any kind means that neither file can be read, or moved, without the other. */
const IMPORTED_FILES = new Map(
  [...SRC, ...WEB].map((source) => [
    source.path,
    source.imports
      .map(({ from }) => target(source, from)?.replace(/\.js$/, '.ts'))
      .filter((path) => path !== undefined)
      .filter((path) => !OTHER_LANGUAGE.test(path)),
  ]),
);

t.test('no cycles among files', async (t) => {
  t.same(
    [...IMPORTED_FILES.keys()].filter((path) => reaches(IMPORTED_FILES, path, path)),
    [],
  );
  const graph = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['b']],
    ['d', ['d']],
  ]);
  t.same(cycles(graph), ['b → c → b', 'd → d']);
  t.same(
    [...graph.keys()].filter((node) => reaches(graph, node, node)),
    ['b', 'c', 'd'],
  );
});

function reaches(graph: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean {
  const seen = new Set<string>();
  const waiting = [...(graph.get(from) ?? [])];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node === to) return true;
    if (seen.has(node)) continue;
    seen.add(node);
    waiting.push(...(graph.get(node) ?? []));
  }
  return false;
}

t.test('no cycles among folders, each sub-folder by itself', async (t) => {
  const composed = ['src/main.ts', 'web/app.tsx', 'web/routes.ts'];
  const room = (path: string): string => (composed.includes(path) ? path : dirname(path));
  const folders = new Map<string, string[]>();
  for (const [path, imported] of IMPORTED_FILES) {
    const others = imported.map(room).filter((folder) => folder !== room(path));
    folders.set(room(path), [...new Set([...(folders.get(room(path)) ?? []), ...others])]);
  }
  t.same(cycles(folders), []);
});

t.test('folders are small, and words that files share are folders', async (t) => {
  const names = new Map<string, string[]>();
  for (const { path } of [...SRC, ...WEB, ...sources('test', /\.m?ts$/)])
    names.set(dirname(path), [...(names.get(dirname(path)) ?? []), basename(path)]);
  const wrong = [...names].flatMap(([folder, files]) => {
    const words = files.map((name) => /^[^.-]+/.exec(name)?.[0] ?? name);
    const shared = [...new Set(words)].filter(
      (word) => words.filter((other) => other === word).length > PREFIX_FILES_MAX,
    );
    return [
      ...(files.length > FOLDER_FILES_MAX ? [`${folder} has ${files.length} files`] : []),
      ...shared.map((word) => `${folder} has more than ${PREFIX_FILES_MAX} files that begin with ${word}`),
    ];
  });
  t.same(wrong, []);
});

/** `alarm` of `alarms`: a folder that says the same in other words would be a second name of the area. */
const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/s$/, '');
/** Words of PMML, and of tests alone. */
const NOT_AREAS = /^src\/scoring-workers\/pmml\/|^test\/(?:.*\/)?(?:helpers|memory)(?:\/|$)/;

t.test('an area has the same name in every layer, and its files lie in its folder', async (t) => {
  const folders = [...new Set([...SRC, ...sources('test', /\.test\.ts$/)].map(({ path }) => dirname(path)))];
  const areas = folders.filter((folder) => folder.split('/').length > 2 && !NOT_AREAS.test(folder));
  const names = new Map<string, Set<string>>();
  for (const name of areas.map((folder) => basename(folder)))
    names.set(singular(name), new Set([...(names.get(singular(name)) ?? []), name]));
  t.same(
    [...names.values()].filter(({ size }) => size > 1).map((same) => [...same].join(' and ')),
    [],
  );
  const ofApi = new Set(
    areas.filter((folder) => dirname(folder) === 'src/api').map((folder) => singular(basename(folder))),
  );
  const beside = SRC.filter(({ path }) => {
    const word = singular(/^[a-z]+/.exec(basename(path))?.[0] ?? '');
    return areas.some(
      (folder) => dirname(folder) === dirname(path) && singular(basename(folder)) === word && ofApi.has(word),
    );
  });
  t.same(
    beside.map(({ path }) => path),
    [],
  );
  // Tests lie where what they test does; those of whole servers have areas of their own.
  const layers = Object.keys(DIRECTIONS).map((layer) => `test/${layer}/`);
  t.same(
    areas.filter(
      (folder) =>
        layers.some((layer) => folder.startsWith(layer)) && !existsSync(join(ROOT, folder.replace(/^test/, 'src'))),
    ),
    [],
  );
});

t.test('ports lie in src/ports: what the adapters of src/store implement, and what is called so', async (t) => {
  const implemented = SRC.filter(({ path }) => path.startsWith('src/store/')).flatMap((source) =>
    [...source.code.matchAll(/\bclass \w+(?:<[^{]*>)?(?: extends [^{]+?)? implements ([^{]+)\{/g)].flatMap(
      ([, names]) => names.split(',').map((name) => ({ source, name: name.trim().replace(/<.*/, '') })),
    ),
  );
  t.ok(implemented.length > 15);
  const elsewhere = implemented.filter(({ source, name }) => {
    const from = new RegExp(`^import [^;]*\\b${name}\\b[^;]*?from '([^']+)'`, 'm').exec(source.text)?.[1] ?? '';
    const path = target(source, from);
    return path !== undefined && !/^src\/(?:ports|store)\//.test(path);
  });
  t.same(
    elsewhere.map(({ source, name }) => `${name} of ${source.path}`),
    [],
  );
  t.same(
    matches(
      SRC.filter(({ path }) => path.startsWith('src/model/')),
      /\binterface \w+Port\b/,
    ),
    [],
  );
});

/** Names that the file takes of others, by path; `*` where it takes everything. */
function namesImported(source: Source): (readonly [path: string, name: string])[] {
  const { code } = source;
  const named = [...code.matchAll(/^\s*(?:import|export)\s+([^'";]*?)\s*from\s*'(\.[^'\n]+)'/gm)].flatMap(
    ([, names, from]) => {
      const listed = /\{([^}]*)\}/.exec(names)?.[1].split(',') ?? ['*'];
      return listed.map(
        (name) =>
          [
            from,
            name
              .trim()
              .replace(/^type /, '')
              .replace(/ as .*/, ''),
          ] as const,
      );
    },
  );
  const whole = [...code.matchAll(/\bimport\(\s*'(\.[^'\n]+)'/g)].map(([, from]) => [from, '*'] as const);
  return [...named, ...whole].map(([from, name]) => [target(source, from) ?? from, name] as const);
}

t.test('what is exported has an importer', async (t) => {
  const importing = [...ALL, ...sources('examples')];
  const taken = new Set(importing.flatMap((source) => namesImported(source).map((parts) => parts.join(' '))));
  const unused = [...SRC, ...WEB].flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:async )?(?:abstract )?(?:function\*?|class|const|let) (\w+)/gm)]
      .filter(([, name]) => !taken.has(`${path} ${name}`) && !taken.has(`${path} *`))
      .map(([, name]) => `${path}: ${name}`),
  );
  t.same(unused, [], 'take `export` away, or delete it');
});

/** Cycles that a walk in depth finds, each as `a → b → a`. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const path: string[] = [];
  const visit = (node: string): void => {
    if (state.get(node) === 'done') return;
    if (state.get(node) === 'open') {
      found.push([...path.slice(path.indexOf(node)), node].join(' → '));
      return;
    }
    state.set(node, 'open');
    path.push(node);
    for (const next of graph.get(node) ?? []) visit(next);
    path.pop();
    state.set(node, 'done');
  };
  for (const node of graph.keys()) visit(node);
  return found;
}

const place = (source: Source, index: number): string =>
  `${source.path}:${source.text.slice(0, index).split('\n').length}`;

/** `path:line` of each match of the pattern in the code without its comments. */
function matches(list: readonly Source[], pattern: RegExp): string[] {
  return list.flatMap((source) =>
    [...source.code.matchAll(new RegExp(pattern, 'gm'))].map((match) => place(source, match.index)),
  );
}

/** Where the engine is asked about itself: its tables `system.…`, its settings and files, a table made to be tried. */
const UPKEEP = /^src\/(store\/(embedded-)?clickhouse|cli\/doctor)\//;

t.test('the history is read by src/history alone, which does not know of requests', async (t) => {
  const others = SRC.filter(({ path }) => !path.startsWith('src/history/'));
  t.same(
    matches(
      others.filter(({ path }) => !UPKEEP.test(path)),
      /\bSELECT\b(?! *\.)/,
    ),
    [],
  );
  // Statements of the upkeep name no table with rows; `doctor` tries one of its own.
  const table = /(?<!DELETE )\bFROM +(?!system\.|\(|file\(|INFILE)|\bJOIN +(?!system\.)/;
  t.match('SELECT id FROM alarms', table);
  t.same(
    matches(
      others.filter(({ path }) => UPKEEP.test(path) && !path.endsWith('/doctor.ts')),
      table,
    ),
    [],
  );
});

t.test('handlers decide at once: they wait for nothing', async (t) => {
  t.same(
    matches(
      SRC.filter(({ path }) => path.startsWith('src/actors/handlers/')),
      /\b(?:async|await|Promise|setTimeout|setInterval|setImmediate)\b/,
    ),
    [],
  );
});

t.test('routes write no records themselves', async (t) => {
  t.same(
    matches(
      SRC.filter(({ path }) => path.startsWith('src/api/')),
      /\b(?:changeRecords|changeWithin|changeBounded|tryChange|updateRecord)\(/,
    ),
    [],
  );
});

t.test('nothing is printed outside the command line', async (t) => {
  t.same(
    matches(
      SRC.filter((source) => !TERMINAL.test(source.path)),
      /\bconsole\s*\.|\bprocess\.stdout\.write/,
    ),
    [],
  );
  t.same(matches(WEB, /^\s*console\s*\./), []);
});

t.test(
  'no regular expression looks for the end of a text from everywhere: withoutEnd of text-end.ts is linear',
  async (t) => {
    t.same(matches(SRC, /\.(?:replace|split|search)\(\/(?!\^)(?:\\.|[^/\\\n])*[+*]\$\//), []);
  },
);

t.test('no enum, no namespace, no debugger', async (t) => {
  t.same(matches(ALL, /^\s*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+\w+\s*\{/m), []);
  t.same(matches(ALL, /^\s*(?:export\s+)?namespace\s+\w+\s*\{/m), []);
  t.same(matches(ALL, /^\s*debugger;/m), []);
});

t.test('an empty catch gives its reason in words', async (t) => {
  const empty = ALL.filter((source) => source.path !== THIS_FILE).flatMap((source) =>
    [
      ...source.text.matchAll(/\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}/g),
      ...(source.path.startsWith('test/')
        ? []
        : source.text.matchAll(/\.catch\(\s*\(\)\s*=>\s*(?:\{\s*\}|undefined|null)\s*\)/g)),
    ]
      .filter((match) => !hasReason(source.text, match.index))
      .map((match) => place(source, match.index)),
  );
  t.same(empty, []);
});

/** A comment on the line or on the one above. */
function hasReason(text: string, index: number): boolean {
  const lines = text.split('\n');
  const line = text.slice(0, index).split('\n').length - 1;
  return [lines[line], lines[line - 1] ?? ''].some((candidate) => /\/\/|\/\*|^\s*\*/.test(candidate));
}

/** Words that make a sentence a riddle (CONTRIBUTING.md, Words). */
const RIDDLES =
  /\b(?:[Ww]hoever|[Nn]obody|[Ss]omebody|is no |[Tt]he own|[Aa]n own|[Ss]o long|[Ss]o many|[Ww]hat is left|[Aa]s of|[Ww]ho has)\b/;
/** The API's own words, document 4 section 0.6. */
const FIXED_WORDS = ['There is no tenant with id = '];

/** Each end of a line, with the beginning of the next one in a comment or a quotation: a phrase may be split there. */
const LINE_ENDS = /[ \t]*\n[ \t]*(?:(?:\*(?!\/)|\/\/|>)[ \t]*)?/g;

function riddles(text: string): string[] {
  const joined = text.replace(LINE_ENDS, ' ');
  return [...joined.matchAll(new RegExp(RIDDLES, 'g'))]
    .map(({ index }) => joined.slice(Math.max(0, index - 40), index + 60))
    .filter((near) => !FIXED_WORDS.some((words) => near.includes(words)));
}

t.test('sentences are plain', async (t) => {
  t.equal(riddles(' * It says what is\n * left of it. So long.\n// It is no\n// riddle: {s is no}').length, 3);
  const pages = ['bench', 'deploy', 'examples', 'docs'].flatMap((folder) => sources(folder, /\.md$/));
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const texts = [
    ...SRC,
    ...WEB,
    ...pages,
    ...top.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  ];
  t.same(
    texts.flatMap(({ path, text }) => riddles(text).map((near) => `${path}: ${near}`)),
    [],
    'say who acts, and what',
  );
});

t.test('files are short', async (t) => {
  const max = (path: string): number =>
    path.startsWith('test/') ? TEST_FILE_LINES_MAX : path.startsWith('web/') ? WEB_FILE_LINES_MAX : FILE_LINES_MAX;
  t.same(
    ALL.filter(({ path }) => !FLAT_TABLES.has(path))
      .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
      .filter(({ path, lines }) => lines > max(path))
      .map(({ path, lines }) => `${path} has ${lines} lines`),
    [],
  );
});

t.test('no blanks at the end of a line, no tabs', async (t) => {
  t.same(
    ALL.filter((source) => /[ \t]$/m.test(source.text) || source.text.includes('\t')).map(({ path }) => path),
    [],
  );
});

t.test('each threat of docs/internals/security.md names tests that are there', async (t) => {
  const rows = readFileSync(join(ROOT, 'docs/internals/security.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| (?!threat|---)/.test(line));
  t.ok(rows.length > 40);
  for (const row of rows) {
    const names = [...row.split('|')[3].matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    t.ok(names.length > 0, row);
    t.same(
      names.filter((name) => !existsSync(join(ROOT, `test/${name.replace(/\.test$/, '')}.test.ts`))),
      [],
      row,
    );
  }
});

/** Markdown pages. */
const PAGES = [
  ...sources('docs', /\.md$/),
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'].map(
    (path): Source => ({ path, text: readFileSync(join(ROOT, path), 'utf8'), code: '', imports: [] }),
  ),
];
const TEXTS = [...ALL.filter(({ path }) => path !== THIS_FILE), ...PAGES];

/** What may be cited: `docs/spec/<page>.md`, also with `#` and the anchor of a heading. */
function citable(pages: readonly Pick<Source, 'path' | 'text'>[]): Set<string> {
  return new Set(
    pages.flatMap(({ path, text }) => [
      path,
      ...[...text.matchAll(/^#+ (.+)$/gm)].map(
        ([, heading]) =>
          `${path}#${heading
            .toLowerCase()
            .replace(/[^\p{L}\d -]/gu, '')
            .replaceAll(' ', '-')}`,
      ),
    ]),
  );
}
const citations = (text: string): string[] => [...text.matchAll(/\bdocs\/spec\/[\w.#-]*\w/g)].map(([cited]) => cited);

t.test('each citation of docs/spec and each link names a page and a heading that are there', async (t) => {
  const found = citable([{ path: 'docs/spec/a.md', text: '# A page\n\n## SmartREST 1.0\n' }]);
  t.same([...found], ['docs/spec/a.md', 'docs/spec/a.md#a-page', 'docs/spec/a.md#smartrest-10']);
  t.same(citations('(docs/spec/a.md), docs/spec/a.md#a-page. `docs/spec/`'), [
    'docs/spec/a.md',
    'docs/spec/a.md#a-page',
  ]);
  const known = citable(PAGES.filter(({ path }) => path.startsWith('docs/spec/')));
  const cited = TEXTS.flatMap(({ path, text }) => citations(text).map((citation) => ({ path, citation })));
  t.ok(cited.length > 300, `${cited.length} citations`);
  t.same(
    cited.filter(({ citation }) => !known.has(citation)).map(({ path, citation }) => `${path}: ${citation}`),
    [],
  );
  const links = PAGES.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^():]+)\)/g)].map(([, link]) => ({
      path,
      to: link.startsWith('#') ? path + link : join(dirname(path), link),
    })),
  );
  const places = citable(PAGES);
  t.same(
    links
      .filter(({ to }) => (to.includes('#') ? !places.has(to) : !existsSync(join(ROOT, to))))
      .map(({ path, to }) => `${path}: ${to}`),
    [],
    'links of pages lead to files and headings',
  );
});

t.test('nothing cites a document that is not in the repository', async (t) => {
  // Tests of test/document-1 compare with one where it lies beside the repository.
  const wrong = TEXTS.filter(({ path }) => !path.startsWith('test/document-1/'))
    .filter(({ text }) => /\bdocuments? [1-4]\b/i.test(text.replace(/\n\s*(?:\*|\/\/)?\s*/g, ' ')))
    .map(({ path }) => path);
  t.same(wrong, []);
});
