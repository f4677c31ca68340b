/** `npm start -- <flags>`: installs and builds when needed, then runs `millrace serve <flags>` in this same process. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { printHelp } from './help.mjs';
import { checkNode, ensureBuilt, ensureInstalled, root, say } from './setup.mjs';

checkNode();
if (printHelp(['serve', ...process.argv.slice(2)])) process.exit(0);
await ensureInstalled({ isForDevelopment: false });
if (!(await ensureBuilt())) {
  say('the build failed');
  process.exit(1);
}
const main = join(root, 'dist', 'src', 'main.js');
process.argv = [process.argv[0], main, 'serve', ...process.argv.slice(2)];
await import(pathToFileURL(main).href);
