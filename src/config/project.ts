/** The project's folder and its version. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of package.json, above sources and above what is built of them. */
export const PROJECT_FOLDER = folderAbove(import.meta.dirname);
/** That of package.json. */
export const VERSION = (JSON.parse(readFileSync(join(PROJECT_FOLDER, 'package.json'), 'utf8')) as { version: string })
  .version;

function folderAbove(from: string): string {
  return existsSync(join(from, 'package.json')) || dirname(from) === from ? from : folderAbove(dirname(from));
}
