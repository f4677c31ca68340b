/**
 * `npm run docs`: writes the pages of docs/, and the help, that are generated from tables in the source. Tests compare
 * them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, root } from './setup.mjs';

await ensureInstalled();
if (!(await ensureBuilt())) process.exit(1);
const { configurationPage } = await import(new URL('../dist/src/config/config.js', import.meta.url).href);
writeFileSync(join(root, 'docs', 'reference', 'settings.md'), configurationPage());
const { helpFile } = await import(new URL('../dist/src/cli/program.js', import.meta.url).href);
writeFileSync(join(root, 'bin', 'help.json'), helpFile());
const { pmmlPage } = await import(new URL('../dist/src/scoring-workers/pmml/reference/page.js', import.meta.url).href);
writeFileSync(join(root, 'docs', 'reference', 'pmml.md'), pmmlPage());
const { errorsPage } = await import(new URL('../dist/src/model/errors-page.js', import.meta.url).href);
writeFileSync(join(root, 'docs', 'reference', 'errors.md'), errorsPage());
