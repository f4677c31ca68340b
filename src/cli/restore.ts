/** `millrace restore <from>`: puts a whole backup into the data directory of a stopped server. */
import { readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { copyDirectory, isEmptyOrAbsent, MANIFEST_NAME, synchronise, verifyManifest } from './backup-files.ts';
import type { RestoreOptions } from './backup-settings.ts';
import { isServerRunning, lockHolder } from './control.ts';
import { makeDataDirectory } from '../operate/data-directory.ts';
import { CommandError, EXIT_OK } from './exit-codes.ts';

/** The copy is made here, inside the data directory (which may be a mount point), and moved up when it is whole. */
const STAGING_NAME = '.restoring';

const PROBLEMS_SHOWN_MAX = 10;

/**
 * Restores a backup; nothing of the old data is touched before the new is on disk.
 * @throws CommandError when a server runs, the backup is not whole, or the directory holds data and `--force` is absent.
 */
export async function restore(options: RestoreOptions, source: string): Promise<number> {
  const data = resolve(options.data);
  const from = resolve(source);
  if (await isServerRunning(data)) throw new CommandError(`a server runs on ${data}; stop it first`);
  const holder = lockHolder(data);
  if (holder !== undefined) throw new CommandError(`process ${holder} holds ${data}; stop it first`);
  const { manifest, problems } = await verifyManifest(from);
  if (!manifest || problems.length > 0) {
    const more = problems.length > PROBLEMS_SHOWN_MAX ? [`… and ${problems.length - PROBLEMS_SHOWN_MAX} more`] : [];
    throw new CommandError(`the backup ${from} is not whole:\n${
      [...problems.slice(0, PROBLEMS_SHOWN_MAX), ...more].map((problem) => `  - ${problem}`).join('\n')}`);
  }
  const staging = join(data, STAGING_NAME);
  await rm(staging, { recursive: true, force: true });
  if (!options.force && !await isEmptyOrAbsent(data)) {
    throw new CommandError(`${data} is not empty; --force replaces what is in it, or take another --data`);
  }
  await makeDataDirectory(data).catch((error: Error) => { throw new CommandError(error.message); });
  const bytes = await copyDirectory(from, staging, [MANIFEST_NAME]);
  for (const name of await readdir(data)) {
    if (name !== STAGING_NAME && name !== 'lost+found') await rm(join(data, name), { recursive: true, force: true });
  }
  for (const name of await readdir(staging)) await rename(join(staging, name), join(data, name));
  await rm(staging, { recursive: true });
  await synchronise(data);
  process.stderr.write(`${manifest.files.length} files with ${bytes} bytes restored to ${data}, as of ${manifest.time}\n`);
  return EXIT_OK;
}
