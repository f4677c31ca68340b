/**
 * The machine's own Python under bubblewrap: read-only, without network, with the packages that the machine has, such as
 * Debian's python3-numpy and python3-pil. docs/internals/scoring.md#python
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WorkerProgram } from '../processes/worker-process.ts';
import type { SystemOptions } from './system-worker.ts';

/** Node takes this beside Python, in bytes; both have the same bound. */
const BASE_BYTES = 536_870_912;
const PYTHON = '/usr/bin/python3';

/** @throws Error where a program is missing. */
export function systemProgram({ memoryBytesMax }: { readonly memoryBytesMax: number }): WorkerProgram {
  const bubblewrap = programPath('bwrap');
  if (bubblewrap === undefined || !isProgram(PYTHON))
    throw new Error(
      `Python scripts of the machine need ${PYTHON} and bwrap (bubblewrap); ${bubblewrap === undefined ? 'bwrap' : PYTHON} is not installed; --scoring-python pyodide needs neither`,
    );
  return {
    name: 'python',
    path: fileURLToPath(new URL('./system-worker.js', import.meta.url)),
    options: { bubblewrap, python: PYTHON, memoryBytesMax } satisfies SystemOptions,
    memoryBytesMax: BASE_BYTES + memoryBytesMax,
  };
}

function programPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
