/**
 * The library of TypeScript. Not imported: Node reads the 9 MB of a file that is CommonJS three times then, which takes
 * a second of CPU time more.
 */
import { createRequire } from 'node:module';

export const typescript = createRequire(import.meta.url)('typescript') as typeof import('typescript');
