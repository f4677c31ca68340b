/** `millrace backup <to>`: a consistent copy of the data directory; a running server makes it itself. */
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import {
  copyDirectory,
  copySynchronised,
  isEmptyOrAbsent,
  makeBackup,
  MANIFEST_NAME,
  sealDirectory,
  VOLATILE_NAMES,
} from '../operate/backup/files.ts';
import type { BackupOptions } from './backup-settings.ts';
import { askServer, lockHolder } from '../operate/control.ts';
import { PRIVATE_DIRECTORY_MODE } from '../operate/data-directory.ts';
import { CommandError, EXIT_OK } from '../operate/exit-codes.ts';
import { isRestoreWaiting } from '../operate/backup/restore-files.ts';

/** The LMDB environments under the data directory: copied by LMDB itself, whatever else has them open. */
const DOCUMENTS_NAME = 'documents';
const LMDB_FILE_NAME = 'data.mdb';

/**
 * Backs up into a directory that is empty or absent.
 * @throws CommandError when the directory is not empty, the data is missing, or the server refuses.
 */
export async function backup(options: BackupOptions, target: string, version: string): Promise<number> {
  const data = resolve(options.data);
  const to = resolve(target);
  if (`${to}${sep}`.startsWith(`${data}${sep}`)) {
    throw new CommandError(`the backup ${to} lies inside the data directory ${data}; take a place outside`);
  }
  if (!(await isEmptyOrAbsent(to)))
    throw new CommandError(`${to} is not empty; a backup takes an empty or absent directory`);
  if (!existsSync(data)) throw new CommandError(`the data directory ${data} does not exist; name it with --data`);
  const answer = await askServer(data, { command: 'backup', to });
  if (answer) {
    if (!answer.ok)
      throw new CommandError(`the running server could not make the backup: ${answer.error ?? 'it gave no reason'}`);
    if (!existsSync(join(to, MANIFEST_NAME)))
      throw new CommandError(
        `the running server made the backup, and ${to} does not have it: the server sees another ${to}, as with PrivateTmp of systemd or in a container; take a directory that both see`,
      );
    process.stderr.write(`the running server made the backup in ${to}\n`);
  } else {
    const holder = lockHolder(data);
    if (holder !== undefined)
      throw new CommandError(`process ${holder} holds ${data} and offers no control socket; stop it first`);
    if (isRestoreWaiting(data))
      throw new CommandError(
        `a restored backup waits in ${data}; start the server, or restore again, before the next backup`,
      );
    const { bytes, files } = await backupOffline(data, to, version).catch((error: Error) => {
      throw new CommandError(`the backup could not be made: ${error.message}`);
    });
    process.stderr.write(`${files} files with ${bytes} bytes copied to ${to}\n`);
  }
  process.stdout.write(`${to}\n`);
  return EXIT_OK;
}

/** Copies the data directory of a stopped server and writes the manifest last. */
function backupOffline(data: string, to: string, version: string): Promise<{ bytes: number; files: number }> {
  return makeBackup(to, version, async () => {
    for (const entry of await readdir(data, { withFileTypes: true })) {
      if (VOLATILE_NAMES.includes(entry.name)) continue;
      const [from, copy] = [join(data, entry.name), join(to, entry.name)];
      if (entry.name === DOCUMENTS_NAME && existsSync(join(from, LMDB_FILE_NAME))) await copyDocuments(from, copy);
      else if (entry.isDirectory()) await copyDirectory(from, copy);
      else if (entry.isFile()) await copySynchronised(from, copy);
    }
  });
}

/** A consistent copy of an LMDB environment, safe beside a process that writes to it. Throws what LMDB says. */
async function copyDocuments(from: string, to: string): Promise<void> {
  const { open } = await import('lmdb');
  await mkdir(to, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  const environment = open({ path: from, readOnly: true });
  try {
    await environment.backup(to, true);
  } finally {
    await environment.close();
  }
  await sealDirectory(to);
}
