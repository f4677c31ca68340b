/**
 * Copies of the data directory as files: synchronised copying, and the manifest that tells a whole backup from a broken
 * one. Used by `millrace backup` and `restore`, and by the server when it backs itself up. Copies are for their owner
 * alone, as the data directory is: they hold the same password hashes.
 */
import { createHash } from 'node:crypto';
import { constants, createReadStream, existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
} from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { JOURNAL_FORMAT } from '../../model/commands/kinds.ts';
import { SCHEMA_VERSION } from '../../store/clickhouse/schema.ts';
import { makePrivateDirectory, PRIVATE_DIRECTORY_MODE, PRIVATE_FILE_MODE, VOLUME_NAME } from '../data-directory.ts';

export const MANIFEST_NAME = 'backup.json';
/** There from the beginning of a backup, also to keep others out; it becomes the manifest at the end. */
const PARTIAL_MANIFEST_NAME = `${MANIFEST_NAME}.partial`;

/** Raised when the layout of a backup changes; restore refuses what it does not know. */
const MANIFEST_FORMAT = 1;

export interface ManifestFile {
  /** Relative to the backup, with `/`. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Hexadecimal; absent when the backup was made without checksums. */
  readonly sha256?: string;
}

/** A symbolic link: the engine finds its tables by links, so a copy without them looks whole and is empty. */
export interface ManifestLink {
  readonly path: string;
  readonly target: string;
}

export interface Manifest {
  readonly format: number;
  /** Version of the program that made the backup. */
  readonly version: string;
  /** Of the tables and documents; backups of earlier versions have none. */
  readonly schema?: number;
  readonly journalFormat?: number;
  readonly time: string;
  readonly files: readonly ManifestFile[];
  readonly links: readonly ManifestLink[];
}

/** Names directly under the data directory that belong to a running server, not to its data. */
export const VOLATILE_NAMES: readonly string[] = [
  'control.sock',
  'lock',
  'clickhouse.pid',
  MANIFEST_NAME,
  '.restoring',
  '.restored',
  '.restored-moving',
  '.restored-unwanted',
  VOLUME_NAME,
];

/**
 * Copies a directory with everything below it; every file and directory is on disk when it resolves. Symbolic links
 * stay links; sockets and pipes are left out, for they hold nothing.
 * @param exclude names directly under `from` that are not copied.
 * @returns the number of bytes copied.
 * @throws the file system's error, or an Error for a link that leads out of `from`; what was copied by then stays.
 */
export async function copyDirectory(from: string, to: string, exclude: readonly string[] = []): Promise<number> {
  return copyBelow({ top: from, exclude }, from, to);
}

async function copyBelow(
  options: { top: string; exclude: readonly string[] },
  from: string,
  to: string,
): Promise<number> {
  await mkdir(to, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  let bytes = 0;
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (options.exclude.includes(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) bytes += await copyBelow({ top: options.top, exclude: [] }, source, target);
    else if (entry.isFile()) bytes += await copySynchronised(source, target);
    else if (entry.isSymbolicLink()) await copyLink(options.top, source, target);
  }
  await synchronise(to);
  return bytes;
}

/**
 * A link that is relative and leads to something below `top` means the same in the copy; any other would point astray.
 */
async function copyLink(top: string, source: string, target: string): Promise<void> {
  const content = await readlink(source);
  if (isAbsolute(content) || !isWithin(top, resolve(dirname(source), content))) {
    throw new Error(`${source} is a link to ${content}, which does not lie in ${top}: it cannot be copied with it`);
  }
  await symlink(content, target);
}

function isWithin(directory: string, path: string): boolean {
  return path === directory || path.startsWith(`${resolve(directory)}${sep}`);
}

/** Copies one file and synchronises it; returns its size in bytes. */
export async function copySynchronised(from: string, to: string): Promise<number> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await seal(to);
  return (await stat(to)).size;
}

/** Closes a file to others, whatever its mode was, and synchronises it. */
async function seal(path: string): Promise<void> {
  await chmod(path, PRIVATE_FILE_MODE);
  await synchronise(path);
}

/** The same for the files of a directory that something else wrote, and the directory's list of names. */
export async function sealDirectory(directory: string): Promise<void> {
  for (const name of await readdir(directory)) await seal(join(directory, name));
  await synchronise(directory);
}

/**
 * Copies the files of the directories below `from` that are not in `to` yet: for files that are never changed, only
 * made and removed, also while it runs.
 */
export async function copyMissing(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  for (const directory of await readdir(from, { withFileTypes: true })) {
    // Two digits: the others hold what is being written.
    if (!directory.isDirectory() || directory.name.length !== 2) continue;
    const [source, target] = [join(from, directory.name), join(to, directory.name)];
    await mkdir(target, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
    const present = new Set(await readdir(target));
    for (const name of await readdir(source)) {
      if (!present.has(name)) await copyUnlessGone(join(source, name), join(target, name));
    }
    await synchronise(target);
  }
  await synchronise(to);
}

async function copyUnlessGone(from: string, to: string): Promise<void> {
  try {
    await copySynchronised(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** fsync of a file or of a directory's list of names. */
export async function synchronise(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes a backup in a directory that is empty or absent.
 * @param copy copies everything into `to`, synchronised; the manifest is written behind it.
 * @throws what `copy` throws; then nothing is left of what it did.
 */
export async function makeBackup(
  to: string,
  version: string,
  copy: () => Promise<void>,
): Promise<{ bytes: number; files: number }> {
  if (!(await isEmptyOrAbsent(to))) throw new Error(`${to} is not empty; a backup takes an empty or absent directory`);
  const wasAbsent = !existsSync(to);
  await makePrivateDirectory(to);
  try {
    await (await open(join(to, PARTIAL_MANIFEST_NAME), 'wx', PRIVATE_FILE_MODE)).close();
  } catch (error) {
    // What is there belongs to the other one and must not be removed.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST')
      throw new Error(`another backup is being made in ${to}`, { cause: error });
    throw error;
  }
  try {
    await copy();
    await synchronise(to);
    const manifest = await writeManifest(to, { version, timeMs: Date.now(), checksums: true });
    return { bytes: manifest.files.reduce((sum, file) => sum + file.sizeBytes, 0), files: manifest.files.length };
  } catch (error) {
    await removeUnfinished(to, wasAbsent).catch((failure: Error) => {
      throw new Error(
        `${(error as Error).message}; what was copied to ${to} is not a backup and could not be removed: ${failure.message}`,
      );
    });
    throw error;
  }
}

async function removeUnfinished(directory: string, wasAbsent: boolean): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name !== VOLUME_NAME) await rm(join(directory, name), { recursive: true, force: true });
  }
  if (wasAbsent) await rmdir(directory);
}

/**
 * Lists the files of a finished copy and writes `backup.json`, synchronised and last: a copy without it is not whole.
 * @param options.checksums reads every file once more; without them only sizes are compared later.
 */
export async function writeManifest(
  directory: string,
  options: { version: string; timeMs: number; checksums: boolean },
): Promise<Manifest> {
  const files: ManifestFile[] = [];
  const contents = await listContents(directory);
  for (const path of contents.files) {
    const { size } = await stat(join(directory, path));
    const sum = options.checksums ? { sha256: await sha256(join(directory, path)) } : {};
    files.push({ path, sizeBytes: size, ...sum });
  }
  const manifest: Manifest = {
    format: MANIFEST_FORMAT,
    version: options.version,
    schema: SCHEMA_VERSION,
    journalFormat: JOURNAL_FORMAT,
    time: new Date(options.timeMs).toISOString(),
    files,
    links: contents.links,
  };
  const partial = join(directory, PARTIAL_MANIFEST_NAME);
  const handle = await open(partial, 'w', PRIVATE_FILE_MODE);
  try {
    await handle.writeFile(`${JSON.stringify(manifest, null, 1)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(partial, join(directory, MANIFEST_NAME));
  await synchronise(directory);
  await synchronise(dirname(directory));
  return manifest;
}

/**
 * Compares a backup with its manifest.
 * @returns the manifest and what is wrong, one sentence each; none when the backup is whole.
 */
export async function verifyManifest(
  directory: string,
): Promise<{ manifest: Manifest | undefined; problems: string[] }> {
  const manifest = await readManifest(join(directory, MANIFEST_NAME));
  if (typeof manifest === 'string') return { manifest: undefined, problems: [manifest] };
  const problems: string[] = [];
  const contents = await listContents(directory);
  const present = new Set(contents.files);
  for (const file of manifest.files) {
    const path = join(directory, file.path);
    if (!present.delete(file.path)) problems.push(`${file.path} is missing`);
    else if ((await stat(path)).size !== file.sizeBytes) {
      problems.push(`${file.path} has ${(await stat(path)).size} bytes instead of ${file.sizeBytes}`);
    } else if (file.sha256 !== undefined && (await sha256(path)) !== file.sha256) {
      problems.push(`${file.path} has other content than it was saved with`);
    }
  }
  for (const path of present) problems.push(`${path} is not in the manifest`);
  const links = new Map(contents.links.map((link) => [link.path, link.target]));
  for (const { path, target } of manifest.links) {
    if (links.get(path) !== target) problems.push(`${path} is not a link to ${target}`);
    links.delete(path);
  }
  for (const path of links.keys()) problems.push(`the link ${path} is not in the manifest`);
  return { manifest, problems };
}

async function readManifest(path: string): Promise<Manifest | string> {
  let value: Partial<Manifest>;
  try {
    value = JSON.parse(await readFile(path, 'utf8')) as Partial<Manifest>;
  } catch (error) {
    return `${MANIFEST_NAME} cannot be read, so this is not a finished backup: ${(error as Error).message}`;
  }
  if (value?.format !== MANIFEST_FORMAT)
    return `${MANIFEST_NAME} has the format ${value?.format}; this program reads ${MANIFEST_FORMAT}`;
  const isPath = (path: unknown): boolean =>
    typeof path === 'string' && !path.startsWith('/') && !path.split('/').includes('..');
  const isWhole =
    Array.isArray(value.files) &&
    Array.isArray(value.links) &&
    typeof value.time === 'string' &&
    typeof value.version === 'string' &&
    value.files.every((file) => isPath(file?.path) && Number.isSafeInteger(file.sizeBytes)) &&
    value.links.every((link) => isPath(link?.path) && typeof link.target === 'string');
  return isWhole ? (value as Manifest) : `${MANIFEST_NAME} lacks its time, version or list of files`;
}

/** All files and links below a directory, by relative path with `/`, sorted; without the manifest. */
async function listContents(directory: string): Promise<{ files: string[]; links: ManifestLink[] }> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files: string[] = [];
  const links: ManifestLink[] = [];
  for (const entry of entries) {
    const full = join(entry.parentPath ?? entry.path, entry.name);
    const path = relative(directory, full).split(sep).join('/');
    if (entry.isSymbolicLink()) links.push({ path, target: await readlink(full) });
    else if (entry.isFile() && path !== MANIFEST_NAME && path !== PARTIAL_MANIFEST_NAME) files.push(path);
  }
  return { files: files.sort(), links: links.sort((left, right) => (left.path < right.path ? -1 : 1)) };
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/**
 * True when the directory is absent or holds nothing (but what a volume's file system puts there). False for what is
 * none.
 */
export async function isEmptyOrAbsent(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).every((name) => name === VOLUME_NAME);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return code === 'ENOENT';
    throw error;
  }
}
