/** The quarantine as a file, and in memory for the nodes of tests. */
import { renameSync, rmSync } from 'node:fs';
import t from 'tap';
import { QuarantineFile } from '../../src/store/files/quarantine.ts';
import { MemoryQuarantine } from '../cluster/memory/quarantine.ts';
import { quarantinePath } from './projector-harness.ts';
import { quarantineContract } from './quarantine-contract.ts';

quarantineContract(t, 'a file', async (t) => {
  const path = quarantinePath(t);
  const quarantine = await QuarantineFile.open(path, { bytesMax: 5_000 });
  const fill = (isFull: boolean): void => {
    if (isFull) return;
    // Whoever moves it away makes room.
    renameSync(path, `${path}.1`);
    rmSync(`${path}.1`);
  };
  return { quarantine, fill };
});

quarantineContract(t, 'in memory', async () => {
  const quarantine = new MemoryQuarantine();
  return {
    quarantine,
    fill: (isFull) => {
      quarantine.isFull = isFull;
    },
  };
});
