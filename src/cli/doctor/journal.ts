/** The doctor's look at the journal of a data directory whose server does not run, and its repair. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CLICKHOUSE_DIRECTORY, QUARANTINE_NAME } from '../../operate/backup/running.ts';
import { DOCUMENTS_DIRECTORY } from '../../operate/data-directory.ts';
import type { Finding } from '../../ports/finding.ts';
import { DataLock } from '../../operate/data-lock.ts';
import { damagedBatches, describeDamage, repairJournal } from '../../store/lmdb/journal-repair.ts';
import { openLmdb } from '../../store/lmdb/environment.ts';
import { QuarantineFile } from '../../store/files/quarantine.ts';

const NAME = 'journal';
const REMEDY = 'millrace doctor --repair sets them aside and keeps the rest, as the next start of the server does';

/** Finds nothing without data. @param data absolute. @param isRepair sets aside what cannot be read. */
export async function checkJournal(data: string, isRepair: boolean): Promise<Finding[]> {
  const directory = join(data, DOCUMENTS_DIRECTORY);
  if (!existsSync(directory) || !existsSync(join(data, CLICKHOUSE_DIRECTORY))) return [];
  let lock: DataLock | undefined;
  try {
    lock = await DataLock.take(data);
    return isRepair ? await repaired(data, directory) : await looked(directory);
  } catch (error) {
    if (lock === undefined)
      return [{ state: 'ok', name: NAME, fact: 'in use by the running server, which looked at its start' }];
    return [
      {
        state: 'fail',
        name: NAME,
        fact: `${directory} cannot be read (${(error as Error).message})`,
        remedy: 'restore a backup',
      },
    ];
  } finally {
    await lock?.release();
  }
}

async function looked(directory: string): Promise<Finding[]> {
  const environment = openLmdb(directory);
  try {
    const damaged = await damagedBatches(environment);
    if (damaged.length === 0) return [{ state: 'ok', name: NAME, fact: 'every batch can be read' }];
    return damaged.map((batch) => ({ state: 'fail', name: NAME, fact: describeDamage(batch), remedy: REMEDY }));
  } finally {
    await environment.close();
  }
}

async function repaired(data: string, directory: string): Promise<Finding[]> {
  const path = join(data, QUARANTINE_NAME);
  const facts = await repairJournal(directory, await QuarantineFile.open(path));
  if (facts.length === 0) return [{ state: 'ok', name: NAME, fact: 'every batch can be read' }];
  return facts.map((fact) => ({
    state: 'warn',
    name: NAME,
    fact,
    remedy: `they were set aside in ${path}; what they acknowledged is in no list`,
  }));
}
