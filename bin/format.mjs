/** `npm run format`: gives all files their form. */
import { join } from 'node:path';
import { checkNode, ensureInstalled, root, run } from './setup.mjs';

checkNode();
await ensureInstalled();
const formatter = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
process.exitCode = await run(process.execPath, [formatter, 'format', '--write', '.']);
