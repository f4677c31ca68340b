#!/usr/bin/env node
/** The command line of an installed and built copy. */
import { existsSync } from 'node:fs';

const main = new URL('../dist/src/main.js', import.meta.url);
if (!existsSync(main)) {
  const { printHelp } = await import('./help.mjs');
  if (printHelp(process.argv.slice(2))) process.exit(0);
  process.stderr.write('millrace: not built; run npm install and npm run build first, or npm start\n');
  process.exit(1);
}
await import(main.href);
