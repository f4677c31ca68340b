/**
 * Functions of uploaded JavaScript (docs/spec/scoring.md#javascript-functions), in QuickJS: an interpreter in WebAssembly, so
 * that a script has its own memory and nothing of this process. It has no clock and no random numbers.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type {
  CustomizeVariantOptions,
  QuickJSContext,
  QuickJSHandle,
  QuickJSRuntime,
  QuickJSSyncVariant,
  QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { type FunctionTimes, type FunctionWatch, markBytes } from './watch.ts';

/** Values that go in and come out; missing ones are null. */
export type FunctionValue = string | number | boolean | null;

/** A function that failed, or a file that cannot be used: why, with its line. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError';
}

/** Of one file with all that its functions hold: the least that the interpreter starts with. */
export const FUNCTIONS_BYTES_MAX = 16 * 1_048_576;
const PAGE_BYTES = 65_536;
/** Of an argument, and of a result: a batch holds those of all its records. */
const TEXT_CHARACTERS_MAX = 1_048_576;
const RESULT_CHARACTERS_MAX = 65_536;
const STACK_BYTES_MAX = 262_144;
/** Looks at the time within one call, some 10,000 steps each, before it is ended: a busy machine may hold up a short one. */
const LOOKS_MIN = 2;
/** Functions of one file. */
const NAMES_MAX = 1_000;
/** Of a text that an error shows. */
const SHOWN_MAX = 500;

/** Without clock, proxies and what else a function of values does not need. */
const INTRINSICS = {
  BaseObjects: true,
  Eval: true,
  StringNormalize: true,
  RegExp: true,
  RegExpCompiler: true,
  JSON: true,
  MapSet: true,
  TypedArrays: true,
  Promise: true,
  BigInt: true,
} as const;

type WasmModule = Exclude<CustomizeVariantOptions['wasmModule'], undefined>;
type WasmMemory = Exclude<CustomizeVariantOptions['wasmMemory'], undefined>;
/** Of WebAssembly, which the types of Node leave out. */
interface Wasm {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => WasmMemory;
}
const wasm = (globalThis as unknown as { readonly WebAssembly: Wasm }).WebAssembly;

let loading: Promise<(memory: WasmMemory) => Promise<QuickJSWASMModule>> | undefined;

/** Makes interpreters, each with a memory of its own, which is what bounds a file. Most threads need none. */
async function load(): Promise<(memory: WasmMemory) => Promise<QuickJSWASMModule>> {
  const [{ newQuickJSWASMModuleFromVariant, newVariant }, { default: given }] = await Promise.all([
    import('quickjs-emscripten-core'),
    import('@jitl/quickjs-wasmfile-release-sync'),
  ]);
  // Its types are those of CommonJS, where the default is a member more.
  const variant = given as unknown as QuickJSSyncVariant;
  const path = fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm'));
  const wasmModule = await wasm.compile(await readFile(path));
  return (wasmMemory) => newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmModule, wasmMemory }));
}

async function interpreter(): Promise<QuickJSWASMModule> {
  loading ??= load();
  const pages = FUNCTIONS_BYTES_MAX / PAGE_BYTES;
  return (await loading)(new wasm.Memory({ initial: pages, maximum: pages }));
}

/** The exported functions of one file. Call `close` when they are not called any more. */
export class FunctionFile {
  readonly #fileName: string;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #functions = new Map<string, { readonly handle: QuickJSHandle; readonly mark: Uint8Array }>();
  readonly #watch: FunctionWatch;
  /** ms since 1970. */
  #deadline = 0;
  #looks = 0;
  #isClosed = false;
  #isBroken = false;

  private constructor(fileName: string, module: QuickJSWASMModule, watch: FunctionWatch) {
    this.#fileName = fileName;
    this.#watch = watch;
    this.#runtime = module.newRuntime();
    this.#runtime.setMaxStackSize(STACK_BYTES_MAX);
    this.#runtime.setInterruptHandler(() => ++this.#looks >= LOOKS_MIN && performance.now() > this.#deadline);
    this.#context = this.#runtime.newContext({ intrinsics: INTRINSICS });
  }

  /**
   * @param source an ES module without imports. @param watch counts the time of the calls
   * @throws FunctionError where it cannot be used
   */
  static async open(fileName: string, source: string, watch: FunctionWatch): Promise<FunctionFile> {
    const file = new FunctionFile(fileName, await interpreter(), watch);
    try {
      watch.during(markBytes(fileName), () => file.#guarded('module', () => file.#start(source)));
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Names of the functions. */
  get names(): readonly string[] {
    return [...this.#functions.keys()];
  }

  /** @returns undefined for a missing result. @throws FunctionError where the function fails, or returns something else */
  call(name: string, values: readonly FunctionValue[]): Exclude<FunctionValue, null> | undefined {
    const context = this.#context;
    const called = this.#functions.get(name);
    if (called === undefined || this.#isClosed)
      throw new FunctionError(`the function '${name}' of ${this.#fileName} is missing`);
    const { leftMs, times } = this.#watch;
    if (leftMs === 0)
      throw new FunctionError(
        `the functions of one task take longer than ${times.taskMsMax} ms; the last is '${name}' of ${this.#fileName}`,
      );
    this.#looks = 0;
    this.#deadline = performance.now() + Math.min(times.callMsMax, leftMs);
    const work = (): Exclude<FunctionValue, null> | undefined => {
      const args = values.map((value) => this.#handle(value));
      const result = context.callFunction(called.handle, context.undefined, args);
      for (const arg of args) arg.dispose();
      if (result.error !== undefined)
        throw new FunctionError(
          `the function '${name}' of ${this.#fileName} failed${this.#reasonOf(result.error, tooLong(times.callMsMax, leftMs, times))}`,
        );
      return this.#valueOf(name, result.value);
    };
    return this.#watch.during(called.mark, () => this.#guarded(name, work));
  }

  /** Its memory was used up, or it has ended: it has to be opened again. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Its memory goes with the last reference to it, whatever state the interpreter is in.
    if (this.#isBroken) return;
    for (const { handle } of this.#functions.values()) handle.dispose();
    this.#context.dispose();
    this.#runtime.dispose();
  }

  /** @throws FunctionError where the interpreter itself ends, as it may without memory */
  #guarded<Result>(name: string, work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (error instanceof FunctionError) throw error;
      this.#isBroken = true;
      throw new FunctionError(`the function '${name}' of ${this.#fileName} failed: ${(error as Error).message}`);
    }
  }

  #start(source: string): void {
    const context = this.#context;
    this.#looks = 0;
    const { leftMs, times } = this.#watch;
    this.#deadline = performance.now() + Math.min(times.startMsMax, leftMs);
    context.unwrapResult(context.evalCode('delete Math.random;', 'start.js')).dispose();
    const result = context.evalCode(source, this.#fileName, { type: 'module', strict: true });
    if (result.error !== undefined)
      throw new FunctionError(
        `${this.#fileName} cannot be used${this.#reasonOf(result.error, tooLong(times.startMsMax, leftMs, times))}`,
      );
    const exported = result.value;
    try {
      if (context.getPromiseState(exported).type !== 'fulfilled')
        throw new FunctionError(`${this.#fileName} has 'await' outside of functions`);
      this.#takeFunctions(exported);
    } finally {
      exported.dispose();
    }
  }

  #takeFunctions(exported: QuickJSHandle): void {
    const context = this.#context;
    const names = context.unwrapResult(context.getOwnPropertyNames(exported));
    try {
      for (const handle of names) {
        const name = context.getString(handle);
        const value = context.getProp(exported, name);
        if (context.typeof(value) !== 'function') value.dispose();
        else this.#functions.set(name, { handle: value, mark: markBytes(`${name} of ${this.#fileName}`) });
      }
    } finally {
      names.dispose();
    }
    if (this.#functions.size === 0) throw new FunctionError(`${this.#fileName} exports no function`);
    if (this.#functions.size > NAMES_MAX)
      throw new FunctionError(`${this.#fileName} exports ${this.#functions.size} functions; it may have ${NAMES_MAX}`);
  }

  #handle(value: FunctionValue): QuickJSHandle {
    const context = this.#context;
    if (typeof value === 'number') return context.newNumber(value);
    if (typeof value === 'string') {
      if (value.length > TEXT_CHARACTERS_MAX)
        throw new FunctionError(`an argument has ${value.length} characters; it may have ${TEXT_CHARACTERS_MAX}`);
      return context.newString(value);
    }
    if (value === null) return context.null;
    return value ? context.true : context.false;
  }

  #valueOf(name: string, handle: QuickJSHandle): Exclude<FunctionValue, null> | undefined {
    const context = this.#context;
    try {
      const type = context.typeof(handle);
      if (type === 'number') {
        const number = context.getNumber(handle);
        return Number.isNaN(number) ? undefined : number;
      }
      if (type === 'string') {
        const text = context.getString(handle);
        if (text.length <= RESULT_CHARACTERS_MAX) return text;
        throw new FunctionError(
          `the function '${name}' of ${this.#fileName} returned ${text.length} characters; it may return ${RESULT_CHARACTERS_MAX}`,
        );
      }
      if (type === 'boolean') return context.eq(handle, context.true);
      if (type === 'undefined' || context.eq(handle, context.null)) return undefined;
      throw new FunctionError(
        `the function '${name}' of ${this.#fileName} returned a value of type ${type}; it may return a number, a string, a boolean or null`,
      );
    } finally {
      handle.dispose();
    }
  }

  /** Where and why, behind what failed. */
  #reasonOf(error: QuickJSHandle, lateReason: string): string {
    const context = this.#context;
    const noMemory = `it needs more than ${FUNCTIONS_BYTES_MAX} bytes`;
    try {
      if (context.typeof(error) !== 'object') return `: it throws ${this.#textOf(error)}`;
      // Without memory for an error it is null.
      if (context.eq(error, context.null)) {
        this.#isBroken = true;
        return `: ${noMemory}, or throws null`;
      }
      const [name, message, stack] = ['name', 'message', 'stack'].map((member) => {
        const handle = context.getProp(error, member);
        const text = context.typeof(handle) === 'string' ? context.getString(handle) : '';
        handle.dispose();
        return text;
      }) as [string, string, string];
      const line = /:(\d+)(?::\d+)?\)?$/m.exec(stack)?.[1];
      const place = line === undefined ? '' : ` in line ${line}`;
      if (message === 'interrupted') return `${place}: ${lateReason}`;
      if (message === 'out of memory') {
        this.#isBroken = true;
        return `${place}: ${noMemory}`;
      }
      return `${place}: ${`${name}: ${message}`.slice(0, SHOWN_MAX)}`;
    } finally {
      error.dispose();
    }
  }

  #textOf(handle: QuickJSHandle): string {
    const type = this.#context.typeof(handle);
    return type === 'string' ? `'${this.#context.getString(handle).slice(0, SHOWN_MAX)}'` : `a ${type}`;
  }
}

/** Why a call ended: its own time, or that of the task. */
const tooLong = (msMax: number, leftMs: number, { taskMsMax }: FunctionTimes): string =>
  leftMs < msMax ? `the functions of one task take longer than ${taskMsMax} ms` : `it takes longer than ${msMax} ms`;
