/** The built console in dist/web, in memory: its names decide what can be read, so no path leads out of the folder. */
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { PROJECT_FOLDER } from '../../config/project.ts';
import type { Coding } from '../http/compression.ts';

/** What bin/web/build.mjs leaves when a source could not be built. */
const FAULT_FILE = 'fault.txt';
const INDEX_FILE = 'index.html';
/** Endings of the compressed forms beside a file. */
const ENDINGS: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' };
/** The whole console; the build makes a tenth of it. */
const BYTES_MAX = 32 * 1024 * 1024;
/** The build gives all but the page a name with the hash of its content. */
const HASHED = /-[0-9A-Z]{8}\.[a-z]+$/;

export interface ConsoleFile {
  readonly plain: Buffer;
  readonly codings: Readonly<Partial<Record<Coding, Buffer>>>;
  readonly tag: string;
  /** A browser may keep it for ever. */
  readonly isImmutable: boolean;
}

/** The console, or why it cannot be served. */
export type ConsoleFiles =
  | { readonly files: ReadonlyMap<string, ConsoleFile>; readonly index: string }
  | { readonly fault: string };

/** What the limits mean that refusals name: of the documentation, so that there is one text. */
const LIMITS_FILE = 'limits.md';
const LIMITS_PAGE = join(PROJECT_FOLDER, 'docs', 'reference', LIMITS_FILE);

async function readLimits(): Promise<ConsoleFile> {
  const plain = await readFile(LIMITS_PAGE);
  return { plain, codings: { gzip: await promisify(gzip)(plain) }, tag: tagOf(plain), isImmutable: false };
}

/**
 * Reads the folder.
 * @param folder dist/web. @returns all files by name, and the page with `{{base}}` in the place of its base URL.
 */
export async function readConsole(folder: string): Promise<ConsoleFiles> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return { fault: 'dist/web does not exist: npm run build makes it' };
  }
  if (names.includes(FAULT_FILE)) return { fault: await readFile(join(folder, FAULT_FILE), 'utf8') };
  if (!names.includes(INDEX_FILE)) return { fault: `${INDEX_FILE} is missing in dist/web: npm run build makes it` };
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  for (const name of names) {
    const content = await readFile(join(folder, name));
    bytes += content.length;
    if (bytes > BYTES_MAX) return { fault: `dist/web holds more than ${BYTES_MAX} bytes` };
    contents.set(name, content);
  }
  const files = new Map<string, ConsoleFile>([[LIMITS_FILE, await readLimits()]]);
  for (const [name, plain] of contents) {
    if (name === INDEX_FILE || Object.values(ENDINGS).some((ending) => name.endsWith(ending))) continue;
    const [br, gzip] = [contents.get(`${name}${ENDINGS.br}`), contents.get(`${name}${ENDINGS.gzip}`)];
    files.set(name, {
      plain,
      codings: { ...(br === undefined ? {} : { br }), ...(gzip === undefined ? {} : { gzip }) },
      tag: tagOf(plain),
      isImmutable: HASHED.test(name),
    });
  }
  return { files, index: (contents.get(INDEX_FILE) as Buffer).toString() };
}

/** An entity tag of a content. */
export const tagOf = (content: Buffer | string): string =>
  `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
