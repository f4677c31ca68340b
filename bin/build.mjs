/** `npm run build`: builds sources into dist/ when they have changed. */
import { checkNode, ensureBuilt, ensureInstalled } from './setup.mjs';

checkNode();
await ensureInstalled({ isForDevelopment: false });
process.exitCode = (await ensureBuilt()) ? 0 : 1;
