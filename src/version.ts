/** The version of package.json. */
import { readFileSync } from 'node:fs';

export const VERSION = (JSON.parse(readFileSync(packageFile(), 'utf8')) as { version: string }).version;

/** package.json of the project, from src and from dist/src. */
function packageFile(): URL {
  return new URL(import.meta.url.includes('/dist/') ? '../../package.json' : '../package.json', import.meta.url);
}
