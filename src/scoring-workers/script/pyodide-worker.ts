/**
 * Entry of a process with Python as WebAssembly. A script sees neither files of the machine, nor a network, nor
 * objects of JavaScript: the process itself may read the interpreter's files only (flags in pyodide.ts), generates no
 * code from texts, and opens no connection. docs/internals/scoring.md#python
 */
import { constants, readFileSync, readdirSync } from 'node:fs';
import { Socket } from 'node:net';
import { Socket as DatagramSocket } from 'node:dgram';
import { join } from 'node:path';
import { serveTasks } from '../processes/serve.ts';
import { ScriptFault, faultOf, resultOf } from './faults.ts';
import { RUNNER_SOURCE } from './runner-source.ts';
import type { ScriptTask } from './tasks.ts';

export interface PyodideOptions {
  /** Folder of pyodide's own files. */
  readonly indexFolder: string;
  /** Folder of wheels that scripts may import; absent for none. */
  readonly wheelsFolder?: string | undefined;
  /** What the interpreter may take of memory, in bytes. */
  readonly memoryBytesMax: number;
}

/** The types of Node leave WebAssembly out. */
interface WasmMemory {
  readonly buffer: ArrayBufferLike;
  grow(pages: number): number;
}
interface WithWebAssembly {
  readonly WebAssembly: { readonly Memory: { readonly prototype: WasmMemory } };
}

const WASM_PAGE_BYTES = 65_536;
/** Ways of the web and of Node that a script could ask for by a reference that was missed below. */
const GLOBALS = ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'navigator', 'Worker', 'BroadcastChannel'];
/** Bridges to JavaScript, by the first part of their names. Python itself does not need them after the start. */
const WITHOUT_BRIDGES = `
def _cut():
    import sys
    for name in [name for name in sys.modules if name.split(".")[0] in ("js", "pyodide", "_pyodide", "pyodide_js", "_pyodide_core")]:
        del sys.modules[name]
    class Refused:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.split(".")[0] in ("js", "pyodide", "_pyodide", "pyodide_js", "_pyodide_core", "_ctypes", "ctypes", "micropip"):
                raise ModuleNotFoundError("No module named %r: scripts have no way to JavaScript" % name, name=name)
    sys.meta_path[:] = [Refused] + [one for one in sys.meta_path if "JsFinder" not in type(one).__name__]
_cut()
del _cut
`;

type Interpreter = Awaited<ReturnType<typeof import('pyodide')['loadPyodide']>>;
type Callable = (...given: unknown[]) => string;

const options = JSON.parse(process.argv[3] ?? '{}') as PyodideOptions;

interface Python {
  readonly check: Callable;
  readonly run: Callable;
  /** Bytes as the interpreter takes them. */
  bytesOf(content: Uint8Array): unknown;
}

async function start(): Promise<Python> {
  boundMemory(options.memoryBytesMax);
  // The interpreter reads the numbers of flags of files by it; a process that is restricted has no other use of it.
  Object.defineProperty(process, 'binding', { value: () => ({ fs: constants }) });
  const { loadPyodide } = await import('pyodide');
  const interpreter = await loadPyodide({
    indexURL: options.indexFolder,
    jsglobals: {},
    env: { HOME: '/home/pyodide', TZ: 'UTC', _: 'python' },
    // A script that prints tells no one.
    stdout: () => undefined,
    stderr: () => undefined,
  });
  interpreter.setStdin({ error: true });
  if (options.wheelsFolder !== undefined) unpackWheels(interpreter, options.wheelsFolder);
  interpreter.runPython(RUNNER_SOURCE);
  const toBytes = interpreter.runPython('lambda content: content.to_bytes()') as (content: Uint8Array) => unknown;
  const python: Python = {
    check: interpreter.globals.get('millrace_check') as Callable,
    run: interpreter.globals.get('millrace_run') as Callable,
    // The interpreter knows no Buffer.
    bytesOf: ({ buffer, byteOffset, byteLength }) => toBytes(new Uint8Array(buffer, byteOffset, byteLength)),
  };
  interpreter.runPython(WITHOUT_BRIDGES);
  cutOff(interpreter);
  return python;
}

/** The interpreter's memory grows up to the bound; beyond it Python raises MemoryError. */
function boundMemory(bytesMax: number): void {
  const { prototype } = (globalThis as unknown as WithWebAssembly).WebAssembly.Memory;
  const { grow } = prototype;
  prototype.grow = function growBounded(this: WasmMemory, pages: number): number {
    if (this.buffer.byteLength + pages * WASM_PAGE_BYTES > bytesMax)
      throw new RangeError(`more than ${bytesMax} bytes of memory`);
    return grow.call(this, pages);
  };
}

function unpackWheels(interpreter: Interpreter, folder: string): void {
  const extractDir = interpreter.runPython('import site; site.getsitepackages()[0]') as string;
  for (const name of readdirSync(folder)
    .filter((one) => one.endsWith('.whl'))
    .sort())
    interpreter.unpackArchive(new Uint8Array(readFileSync(join(folder, name))), 'wheel', { extractDir });
}

/** After the start nothing is loaded and no one is spoken to, but the server over the channel that is open already. */
function cutOff(interpreter: Interpreter): void {
  const refuse = (): never => {
    throw new Error('scripts have no network');
  };
  Socket.prototype.connect = refuse;
  DatagramSocket.prototype.bind = refuse;
  DatagramSocket.prototype.connect = refuse;
  DatagramSocket.prototype.send = refuse;
  for (const name of GLOBALS) Reflect.deleteProperty(globalThis, name);
  const { filesystems } = interpreter.FS as unknown as { filesystems: Record<string, unknown> };
  for (const name of Object.keys(filesystems)) if (name !== 'MEMFS') delete filesystems[name];
  for (const name of ['js', 'pyodide_js']) interpreter.unregisterJsModule(name);
}

const starting = start();
// Told with the first task.
starting.catch(() => undefined);

async function run(task: ScriptTask, content: readonly Uint8Array[]): Promise<unknown> {
  const python = await starting;
  try {
    if (task.kind === 'check') return resultOf(python.check(task.source, task.name));
    const bytes = python.bytesOf(content.length === 1 ? content[0] : Buffer.concat(content));
    return Buffer.from(resultOf(python.run(task.source, task.name, task.stage, bytes)) as string);
  } catch (error) {
    if (error instanceof ScriptFault) throw error;
    // The interpreter has failed, for instance by a stack that is too deep: the next task gets another one.
    throw new ScriptFault('input', `The script '${task.name}' ended its interpreter: ${shortOf(error)}`, true);
  }
}

const REASON_LENGTH_MAX = 200;

function shortOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.trim().split('\n').at(-1) ?? '').slice(0, REASON_LENGTH_MAX);
}

serveTasks(run, faultOf);
