/**
 * A backup takes the place of the data in two steps that survive kill -9: it is copied beside the data and, once whole, named so; whoever opens
 * the data directory next puts it in place, from wherever a former one was cut off.
 */
import { existsSync } from 'node:fs';
import { readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { copyDirectory, MANIFEST_NAME, synchronise, verifyManifest } from './backup-files.ts';
import type { Manifest } from './backup-files.ts';
import { CONTROL_SOCKET_NAME, LOCK_NAME } from './control.ts';

/** Inside the data directory, which may be a mount point: the copy that is being made, the whole one, and the one that moves up. */
export const RESTORE_NAMES = { copying: '.restoring', whole: '.restored', moving: '.restored-moving' } as const;

/** What belongs to the process that puts the backup in place, or to the volume. */
const KEPT_NAMES: readonly string[] = [RESTORE_NAMES.whole, LOCK_NAME, CONTROL_SOCKET_NAME, 'lost+found'];

const PROBLEMS_SHOWN_MAX = 10;

export interface StagedBackup { readonly manifest: Manifest; readonly bytes: number }

/** @throws Error that lists what is missing, changed or added. */
export async function checkBackup(from: string): Promise<Manifest> {
  const { manifest, problems } = await verifyManifest(from);
  if (manifest && problems.length === 0) return manifest;
  const more = problems.length > PROBLEMS_SHOWN_MAX ? [`… and ${problems.length - PROBLEMS_SHOWN_MAX} more`] : [];
  throw new Error(`the backup ${from} is not whole:\n${
    [...problems.slice(0, PROBLEMS_SHOWN_MAX), ...more].map((problem) => `  - ${problem}`).join('\n')}`);
}

/**
 * Copies a backup beside the data. When it resolves, `finishRestore` puts it in place, also in the next process.
 * @throws Error when the backup is not whole; then nothing is left of the copy.
 */
export async function stageRestore(data: string, from: string): Promise<StagedBackup> {
  const manifest = await checkBackup(from);
  const copying = join(data, RESTORE_NAMES.copying);
  const whole = join(data, RESTORE_NAMES.whole);
  await rm(copying, { recursive: true, force: true });
  try {
    const bytes = await copyDirectory(from, copying, [MANIFEST_NAME]);
    await rm(whole, { recursive: true, force: true });
    await rename(copying, whole);
    await synchronise(data);
    return { manifest, bytes };
  } catch (error) {
    await rm(copying, { recursive: true, force: true });
    throw error;
  }
}

/** The caller holds the directory's lock, and nothing in it is open. @returns whether a backup was waiting. */
export async function finishRestore(data: string): Promise<boolean> {
  const [copying, whole, moving] = [RESTORE_NAMES.copying, RESTORE_NAMES.whole, RESTORE_NAMES.moving].map((name) => join(data, name));
  await rm(copying, { recursive: true, force: true });
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
