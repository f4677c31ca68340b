/** Both HTTP engines, and the one that a run of the tests is about. */
import type { HttpLibrary } from '../../../src/api/http/library.ts';
import { nodeHttpLibrary } from '../../../src/api/http/node-engine/app.ts';
import { loadUws } from '../../../src/api/http/engines/uws.ts';

const uws = loadUws();

export const ENGINES: readonly (readonly [name: string, library: HttpLibrary])[] = [
  ['uws', uws],
  ['node', nodeHttpLibrary],
];

/** Of servers that a test does not start on a certain one; as the setting `--http-engine`. */
export const LIBRARY = process.env['MILLRACE_HTTP_ENGINE'] === 'node' ? nodeHttpLibrary : uws;
