/**
 * Copies of the data directory as files: synchronised copying, and the manifest that tells a whole backup from a broken
 * one. Used by `millrace backup` and `restore`, and by the server when it backs itself up.
 */
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';

export const MANIFEST_NAME = 'backup.json';

/** Raised when the layout of a backup changes; restore refuses what it does not know. */
export const MANIFEST_FORMAT = 1;

export interface ManifestFile {
  /** Relative to the backup, with `/`. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Hexadecimal; absent when the backup was made without checksums. */
  readonly sha256?: string;
}

export interface Manifest {
  readonly format: number;
  /** Version of the program that made the backup. */
  readonly version: string;
  readonly time: string;
  readonly files: readonly ManifestFile[];
}

/** Names directly under the data directory that belong to a running server, not to its data. */
export const VOLATILE_NAMES: readonly string[] = ['control.sock', 'lock', MANIFEST_NAME, '.restoring'];

/**
 * Copies a directory with everything below it; every file and directory is on disk when it resolves. Sockets and
 * symbolic links are left out.
 * @param exclude names directly under `from` that are not copied.
 * @returns the number of bytes copied.
 * @throws the file system's error; what was copied by then stays.
 */
export async function copyDirectory(from: string, to: string, exclude: readonly string[] = []): Promise<number> {
  await mkdir(to, { recursive: true });
  let bytes = 0;
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (exclude.includes(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) bytes += await copyDirectory(source, target);
    else if (entry.isFile()) bytes += await copySynchronised(source, target);
  }
  await synchronise(to);
  return bytes;
}

/** Copies one file and synchronises it; returns its size in bytes. */
export async function copySynchronised(from: string, to: string): Promise<number> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await synchronise(to);
  return (await stat(to)).size;
}

/** fsync of a file or of a directory's list of names. */
export async function synchronise(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try { await handle.sync(); } finally { await handle.close(); }
}

/**
 * Lists the files of a finished copy and writes `backup.json`, synchronised and last: a copy without it is not whole.
 * @param options.checksums reads every file once more; without them only sizes are compared later.
 */
export async function writeManifest(
  directory: string, options: { version: string; timeMs: number; checksums: boolean },
): Promise<Manifest> {
  const files: ManifestFile[] = [];
  for (const path of await listFiles(directory)) {
    const { size } = await stat(join(directory, path));
    const sum = options.checksums ? { sha256: await sha256(join(directory, path)) } : {};
    files.push({ path: path.split(sep).join('/'), sizeBytes: size, ...sum });
  }
  const manifest = { format: MANIFEST_FORMAT, version: options.version, time: new Date(options.timeMs).toISOString(), files };
  const partial = join(directory, `${MANIFEST_NAME}.partial`);
  const handle = await open(partial, 'w');
  try {
    await handle.writeFile(`${JSON.stringify(manifest, null, 1)}\n`);
    await handle.sync();
  } finally { await handle.close(); }
  await rename(partial, join(directory, MANIFEST_NAME));
  await synchronise(directory);
  await synchronise(dirname(directory));
  return manifest;
}

/**
 * Compares a backup with its manifest.
 * @returns the manifest and what is wrong, one sentence each; none when the backup is whole.
 */
export async function verifyManifest(directory: string): Promise<{ manifest: Manifest | undefined; problems: string[] }> {
  const manifest = await readManifest(join(directory, MANIFEST_NAME));
  if (typeof manifest === 'string') return { manifest: undefined, problems: [manifest] };
  const problems: string[] = [];
  const present = new Set((await listFiles(directory)).map((path) => path.split(sep).join('/')));
  for (const file of manifest.files) {
    const path = join(directory, file.path);
    if (!present.delete(file.path)) problems.push(`${file.path} is missing`);
    else if ((await stat(path)).size !== file.sizeBytes) {
      problems.push(`${file.path} has ${(await stat(path)).size} bytes instead of ${file.sizeBytes}`);
    } else if (file.sha256 !== undefined && await sha256(path) !== file.sha256) {
      problems.push(`${file.path} has other content than it was saved with`);
    }
  }
  for (const path of present) problems.push(`${path} is not in the manifest`);
  return { manifest, problems };
}

async function readManifest(path: string): Promise<Manifest | string> {
  let value: Partial<Manifest>;
  try {
    value = JSON.parse(await readFile(path, 'utf8')) as Partial<Manifest>;
  } catch (error) {
    return `${MANIFEST_NAME} cannot be read, so this is no finished backup: ${(error as Error).message}`;
  }
  if (value?.format !== MANIFEST_FORMAT) return `${MANIFEST_NAME} has the format ${value?.format}; this program reads ${MANIFEST_FORMAT}`;
  const isWhole = Array.isArray(value.files) && typeof value.time === 'string' && typeof value.version === 'string'
    && value.files.every((file) => typeof file?.path === 'string' && Number.isSafeInteger(file.sizeBytes)
      && !file.path.startsWith('/') && !file.path.split('/').includes('..'));
  return isWhole ? value as Manifest : `${MANIFEST_NAME} lacks its time, version or list of files`;
}

/** Paths of all files below a directory, relative, sorted; without the manifest. */
async function listFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath ?? entry.path, entry.name)))
    .filter((path) => path !== MANIFEST_NAME && path !== `${MANIFEST_NAME}.partial`)
    .sort();
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** True when the directory is absent or holds nothing (but what a volume's file system puts there). */
export async function isEmptyOrAbsent(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).every((name) => name === 'lost+found');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  }
}
