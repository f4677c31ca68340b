/** `millrace restore <from>`: puts a whole backup into the data directory; a running server takes it over itself. */
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isEmptyOrAbsent } from '../operate/backup/files.ts';
import type { RestoreOptions } from './backup-settings.ts';
import { askServer } from '../operate/control.ts';
import { makeDataDirectory } from '../operate/data-directory.ts';
import { DataLock } from '../operate/data-lock.ts';
import { CLICKHOUSE_DIRECTORY } from '../operate/backup/running.ts';
import { endOrphan } from '../store/embedded-clickhouse/orphan.ts';
import { CommandError, EXIT_OK } from '../operate/exit-codes.ts';
import { checkBackup, finishRestore, stageRestore } from '../operate/backup/restore-files.ts';

/** Wait this long for a server to stop and to start on the backup. */
const TAKEN_OVER_MS = 120_000;
const ASKED_EVERY_MS = 200;
const STATE_TIMEOUT_MS = 5_000;

/**
 * Restores a backup; nothing of the old data is touched before the new is on disk.
 * @throws CommandError when the backup is not whole, or the directory holds data and `--force` is absent.
 */
export async function restore(options: RestoreOptions, source: string): Promise<number> {
  const data = resolve(options.data);
  const from = resolve(source);
  const state = await askServer(data, { command: 'state' }, STATE_TIMEOUT_MS);
  if (!options.force && (state !== undefined || !(await isEmptyOrAbsent(data)))) {
    const what = state === undefined ? 'is not empty' : 'is the data of a running server';
    throw new CommandError(`${data} ${what}; --force replaces what is in it, or take another --data`);
  }
  if (state === undefined) await restoreOffline(data, from);
  else await restoreRunning(data, from, state.run);
  return EXIT_OK;
}

async function restoreOffline(data: string, from: string): Promise<void> {
  // Before anything is made for it.
  const manifest = await checkBackup(from).catch(asCommandError);
  await makeDataDirectory(data).catch(asCommandError);
  const lock = await DataLock.take(data).catch(asCommandError);
  try {
    const bytes = await stageRestore(data, from, manifest).catch(asCommandError);
    await finishRestore(data, () =>
      endOrphan(join(data, CLICKHOUSE_DIRECTORY), {
        warn: (_details, text) => {
          process.stderr.write(`${text}\n`);
        },
      }),
    );
    process.stderr.write(
      `${manifest.files.length} files with ${bytes} bytes restored to ${data}; the backup was made at ${manifest.time}\n`,
    );
  } finally {
    await lock.release();
  }
}

/** @param run of the server that was asked: another one is there when it has started on the backup. */
async function restoreRunning(data: string, from: string, run: unknown): Promise<void> {
  const answer = await askServer(data, { command: 'restore', from });
  if (!answer?.ok)
    throw new CommandError(`the running server could not restore the backup: ${answer?.error ?? 'it has ended'}`);
  process.stderr.write(
    `${Number(answer.files)} files with ${Number(answer.bytes)} bytes copied; the server starts again on them\n`,
  );
  for (const endMs = Date.now() + TAKEN_OVER_MS; Date.now() < endMs; ) {
    await delay(ASKED_EVERY_MS);
    // It does not answer while it stops and starts.
    const state = await askServer(data, { command: 'state' }, STATE_TIMEOUT_MS).catch(() => undefined);
    if (state?.ok && state.run !== run) {
      process.stderr.write(`the server runs on the backup of ${String(answer.time)}\n`);
      return;
    }
  }
  throw new CommandError(
    `no server answered on the backup within ${TAKEN_OVER_MS} ms: the server's log says how far it is; its next start is on the backup`,
  );
}

function asCommandError(error: Error): never {
  throw error instanceof CommandError ? error : new CommandError(error.message);
}
