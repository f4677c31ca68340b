/**
 * uWebSockets.js: the one file that loads it. What is loaded is a copy that the build has put beside the code
 * (`bin/native.mjs`), by its digest.
 */
import '../uws-limits.ts';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PROJECT_FOLDER } from '../../../config/project.ts';
import type { HttpLibrary } from '../library.ts';
import { UWS_BINARIES, uwsFileName } from './uws-binaries.ts';
import type { UwsBinary } from './uws-binaries.ts';

/** Where to look, and for what; tests say other things. */
export interface UwsPlace {
  readonly platform?: string;
  readonly arch?: string;
  readonly abi?: string;
  readonly folder?: string;
  readonly binaries?: Readonly<Record<string, UwsBinary>>;
}

interface UwsLibrary extends HttpLibrary {
  _cfg(key: string): void;
}

/** The library's key for answers without the header `uWebSockets`; it holds for every app of the thread. */
const WITHOUT_MARK = '999999990007';

/** By ABI. */
const NODE_NAMES: Readonly<Record<string, string>> = { 115: 'Node 20', 127: 'Node 22', 137: 'Node 24' };

/** @throws Error that says why there is nothing to load: the platform, the version of Node, the file, its digest. */
export function loadUws(place: UwsPlace = {}): HttpLibrary {
  const {
    platform = process.platform,
    arch = process.arch,
    abi = process.versions.modules,
    binaries = UWS_BINARIES,
  } = place;
  const key = `${platform}_${arch}_${abi}`;
  const binary = binaries[key];
  if (binary === undefined) {
    const others = Object.keys(binaries)
      .filter((one) => one.startsWith(`${platform}_${arch}_`))
      .map((one) => NODE_NAMES[one.split('_')[2]]);
    throw new Error(
      others.length === 0
        ? `uWebSockets.js has no build for ${platform} on ${arch}`
        : `uWebSockets.js has no build for Node ${process.versions.node} (ABI ${abi}), only for ${others.join(', ')}`,
    );
  }
  const path = join(place.folder ?? join(PROJECT_FOLDER, 'dist', 'native'), uwsFileName(key));
  if (!existsSync(path)) throw new Error(`${path} is missing: npm run build makes it`);
  const digest = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (digest !== binary.digest) {
    throw new Error(
      `${path} is refused: its SHA-256 digest is ${digest}, not ${binary.digest}; remove the folder dist and build again`,
    );
  }
  try {
    const library = createRequire(import.meta.url)(path) as UwsLibrary;
    library._cfg(WITHOUT_MARK);
    return library;
  } catch (error) {
    throw new Error(`${path} does not load: ${(error as Error).message.split('\n')[0]}`, { cause: error });
  }
}
