/** `npm run typecheck`: the types of the server, of its tests and of the console. */
import { checkNode, checkTypes, ensureInstalled } from './setup.mjs';

checkNode();
await ensureInstalled();
process.exitCode = (await checkTypes()) ? 0 : 1;
