/**
 * Python as WebAssembly: needs nothing on the machine, and has what CPython comes with. Other packages are wheels of a
 * folder that a setting names. docs/internals/scoring.md#python
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WorkerProgram } from '../processes/worker-process.ts';
import type { PyodideOptions } from './pyodide-worker.ts';

/** Node and the interpreter's code take this beside the interpreter's memory, in bytes. */
const BASE_BYTES = 1_073_741_824;
/** The first version that knows the restrictions under their final name. */
const FINAL_PERMISSION_MAJOR = 24;

export interface PyodideSettings {
  readonly memoryBytesMax: number;
  readonly wheelsFolder?: string | undefined;
}

/** @throws Error where the package is not installed. */
export function pyodideProgram({ memoryBytesMax, wheelsFolder }: PyodideSettings): WorkerProgram {
  const require = createRequire(import.meta.url);
  const indexFolder = folderOf(require, 'pyodide/package.json');
  const readable = [
    // This folder and its neighbours: the worker's own code.
    fileURLToPath(new URL('..', import.meta.url)),
    indexFolder,
    // The interpreter imports it, and opens nothing with it.
    folderOf(require, 'ws'),
    ...(wheelsFolder === undefined ? [] : [join(wheelsFolder, '/')]),
  ];
  const isFinal = Number(process.versions.node.split('.')[0]) >= FINAL_PERMISSION_MAJOR;
  return {
    name: 'python',
    path: fileURLToPath(new URL('./pyodide-worker.js', import.meta.url)),
    flags: [
      '--disallow-code-generation-from-strings',
      isFinal ? '--permission' : '--experimental-permission',
      // For the thread of serve.ts that watches the server.
      '--allow-worker',
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=SecurityWarning',
      ...readable.map((folder) => `--allow-fs-read=${folder}`),
    ],
    options: { indexFolder, wheelsFolder, memoryBytesMax } satisfies PyodideOptions,
    memoryBytesMax: BASE_BYTES + memoryBytesMax,
  };
}

function folderOf(require: NodeJS.Require, name: string): string {
  try {
    return join(dirname(require.resolve(name)), '/');
  } catch {
    throw new Error(
      `Python scripts need the npm package ${name.split('/')[0]}, which is not installed; --scoring-python system takes the Python of the machine`,
    );
  }
}
