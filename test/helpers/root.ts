/** The repository, from where a test stands as it is written or compiled (dist-test/). */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

function rootAbove(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootAbove(dirname(directory));
}

export const ROOT = rootAbove(import.meta.dirname);
/** The built server (`npm run build`), or another that a run names. */
export const DIST = resolve(process.env['MILLRACE_TEST_DIST'] ?? join(ROOT, 'dist'));
