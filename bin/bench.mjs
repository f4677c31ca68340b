/** `npm run bench -- <flags>`: installs, builds, gets mosquitto as a peer, then runs the suite in this same process. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkNode, ensureBuilt, ensureInstalled, ensurePrograms, root, say } from './setup.mjs';

checkNode();
await ensureInstalled();
await ensurePrograms({ mosquitto: 'mosquitto' });
const main = join(root, 'dist', 'bench', 'main.js');
if (!(await ensureBuilt()) || !existsSync(main)) {
  say('the build failed');
  process.exit(1);
}
process.argv = [process.argv[0], main, ...process.argv.slice(2)];
await import(pathToFileURL(main).href);
