/**
 * A backup takes the place of the data in two steps that survive kill -9: it is copied beside the data and, once whole,
 * named so. The process that opens the data directory next puts it in place, from where a former process was cut off.
 */
import { existsSync } from 'node:fs';
import { lstat, readdir, rename, rm, rmdir, stat, statfs } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { requireKnown } from '../../store/schema-version.ts';
import { copyDirectory, MANIFEST_NAME, synchronise, verifyManifest } from './files.ts';
import { VOLUME_NAME } from '../data-directory.ts';
import type { Manifest } from './files.ts';
import { CONTROL_SOCKET_NAME, LOCK_NAME } from '../control.ts';

/**
 * Inside the data directory, which may be a mount point: the copy that is being made, the whole one, the one that moves
 * up, one that is not wanted.
 */
export const RESTORE_NAMES = {
  copying: '.restoring',
  whole: '.restored',
  moving: '.restored-moving',
  unwanted: '.restored-unwanted',
} as const;

/** What belongs to the process that puts the backup in place, or to the volume. */
const KEPT_NAMES: readonly string[] = [RESTORE_NAMES.whole, LOCK_NAME, CONTROL_SOCKET_NAME, VOLUME_NAME];

const PROBLEMS_SHOWN_MAX = 10;

/** @throws Error that lists what is missing, changed or added, or names a schema or journal of a newer version. */
export async function checkBackup(from: string): Promise<Manifest> {
  const { manifest, problems } = await verifyManifest(from);
  if (!manifest || problems.length > 0) {
    const more = problems.length > PROBLEMS_SHOWN_MAX ? [`… and ${problems.length - PROBLEMS_SHOWN_MAX} more`] : [];
    throw new Error(
      `the backup ${from} is not whole:\n${[...problems.slice(0, PROBLEMS_SHOWN_MAX), ...more]
        .map((problem) => `  - ${problem}`)
        .join('\n')}`,
    );
  }
  requireKnown(`the backup ${from}`, manifest);
  return manifest;
}

/**
 * Copies a backup beside the data. When it resolves, `finishRestore` puts it in place, also in the next process.
 * @param manifest of `checkBackup`. @param freeBytesMin what the disk must have left behind the copy.
 * @returns the bytes that were copied. @throws Error when it cannot take the place of what is there; then nothing is
 * left of the copy.
 */
export async function stageRestore(data: string, from: string, manifest: Manifest, freeBytesMin = 0): Promise<number> {
  await checkPlaces(data, from);
  const path = (name: keyof typeof RESTORE_NAMES): string => join(data, RESTORE_NAMES[name]);
  await rm(path('copying'), { recursive: true, force: true });
  const { bavail, bsize } = await statfs(data);
  const [free, needed] = [bavail * bsize, manifest.files.reduce((sum, file) => sum + file.sizeBytes, 0) + freeBytesMin];
  if (free < needed)
    throw new Error(`the disk of ${data} has ${free} bytes free; the copy beside the data needs ${needed}`);
  try {
    const bytes = await copyDirectory(from, path('copying'), [MANIFEST_NAME, VOLUME_NAME]);
    // Under its name a copy is always whole.
    if (existsSync(path('whole'))) await rename(path('whole'), path('unwanted'));
    await rename(path('copying'), path('whole'));
    await synchronise(data);
    await rm(path('unwanted'), { recursive: true, force: true });
    return bytes;
  } catch (error) {
    await rm(path('copying'), { recursive: true, force: true });
    throw error;
  }
}

/** @throws Error where the old data could be removed and the new not be put in their place. */
async function checkPlaces(data: string, from: string): Promise<void> {
  if (`${from}${sep}`.startsWith(`${data}${sep}`))
    throw new Error(`the backup ${from} lies inside the data directory ${data}, which it would replace`);
  const { dev } = await stat(data);
  for (const name of await readdir(data)) {
    if (name === VOLUME_NAME || (await lstat(join(data, name))).dev === dev) continue;
    throw new Error(
      `${join(data, name)} is a volume of its own, which cannot be replaced: restore into another directory, or unmount it`,
    );
  }
}

/** A backup is to take the place of the data: what lies there now is neither. */
export function isRestoreWaiting(data: string): boolean {
  return existsSync(join(data, RESTORE_NAMES.whole)) || existsSync(join(data, RESTORE_NAMES.moving));
}

/**
 * The caller holds the directory's lock, and nothing in it is open: `endEngine` ends an engine that a killed server has
 * left.
 * @returns whether a backup was waiting.
 */
export async function finishRestore(data: string, endEngine: () => Promise<void>): Promise<boolean> {
  const [whole, moving] = [RESTORE_NAMES.whole, RESTORE_NAMES.moving].map((name) => join(data, name));
  for (const name of [RESTORE_NAMES.copying, RESTORE_NAMES.unwanted])
    await rm(join(data, name), { recursive: true, force: true });
  if (isRestoreWaiting(data)) await endEngine();
  if (existsSync(whole)) {
    for (const name of await readdir(data)) {
      if (!KEPT_NAMES.includes(name)) await rm(join(data, name), { recursive: true, force: true });
    }
    await synchronise(data);
    // From here on what lies beside it is new.
    await rename(whole, moving);
    await synchronise(data);
  }
  if (!existsSync(moving)) return false;
  for (const name of await readdir(moving)) await rename(join(moving, name), join(data, name));
  await synchronise(data);
  await rmdir(moving);
  await synchronise(data);
  return true;
}
