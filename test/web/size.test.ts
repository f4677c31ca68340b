/** The console stays small: all of it, and what the first screen loads, as the build has compressed it. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ROOT } from '../helpers/root.ts';

const FOLDER = join(ROOT, 'dist', 'web');
const ALL_BYTES_MAX = 250_000;
const FIRST_BYTES_MAX = 80_000;

const bytesOf = (name: string): number => {
  const compressed = join(FOLDER, `${name}.gz`);
  return statSync(statSync(compressed, { throwIfNoEntry: false }) === undefined ? join(FOLDER, name) : compressed).size;
};

/** The file, and what it imports before it runs. */
function withImports(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  const text = readFileSync(join(FOLDER, name), 'utf8');
  for (const [, other] of text.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)) withImports(other, seen);
  return seen;
}

t.test('budgets', async (t) => {
  const names = readdirSync(FOLDER).filter((name) => !/\.(?:gz|br)$/.test(name));
  const all = names.reduce((sum, name) => sum + bytesOf(name), 0);
  t.ok(all <= ALL_BYTES_MAX, `the console has ${all} of ${ALL_BYTES_MAX} bytes`);
  const page = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  const [scripts, styles] = [/src="([^"]+)"/g, /rel="stylesheet" href="([^"]+)"/g].map((pattern) =>
    [...page.matchAll(pattern)].map(([, name]) => name),
  );
  const needed = [...new Set(scripts.flatMap((name) => [...withImports(name)])), ...styles, 'index.html'];
  const first = needed.reduce((sum, name) => sum + bytesOf(name), 0);
  t.ok(first <= FIRST_BYTES_MAX, `the first screen has ${first} of ${FIRST_BYTES_MAX} bytes`);
});
