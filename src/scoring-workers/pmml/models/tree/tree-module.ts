/**
 * Trees of comparisons as a WebAssembly module. V8 compiles such a module at once and optimizes what is called often,
 * and all threads share the result. It interprets a large function of JavaScript until each thread called it some 40,000 times.
 */
import type { NumberSource, PlainEntries } from '../model.ts';
import { isJump } from './program.ts';

/** Numbers that the trees of one document read, and results of one call. */
export const NUMBERS_MAX = 65_536;
const NUMBER_BYTES = 8;
const RESULTS_AT = NUMBERS_MAX * NUMBER_BYTES;
const PAGE_BYTES = 65_536;
const PAGES = (2 * RESULTS_AT) / PAGE_BYTES;

/** Of WebAssembly, which the types of Node leave out. */
interface Wasm {
  readonly Memory: new (size: {
    readonly initial: number;
    readonly maximum: number;
  }) => { readonly buffer: ArrayBuffer };
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: object,
  ) => { readonly exports: Readonly<Record<string, () => number>> };
}
const wasm = (globalThis as unknown as { readonly WebAssembly: Wasm }).WebAssembly;

/** The memory that all modules of a thread share: V8 reserves gigabytes of addresses for each. */
export interface TreeMemory {
  /** What the trees of the record that is being scored read. */
  readonly inputs: Float64Array;
  readonly results: Float64Array;
}

let shared: (TreeMemory & { readonly memory: object }) | undefined;

/** @throws RangeError where the process may not reserve the addresses */
export function treeMemory(): TreeMemory & { readonly memory: object } {
  if (shared !== undefined) return shared;
  const memory = new wasm.Memory({ initial: PAGES, maximum: PAGES });
  const { buffer } = memory;
  const inputs = new Float64Array(buffer, 0, NUMBERS_MAX);
  shared = { memory, inputs, results: new Float64Array(buffer, RESULTS_AT, NUMBERS_MAX) };
  return shared;
}

/** Functions that give the leaf entry of each tree. @param placeOf place of a slot among the inputs */
export function leafFunctions(
  trees: readonly PlainEntries[],
  placeOf: (slot: number) => number,
): readonly (() => number)[] {
  const code = trees.map((entries) => treeCode({ entries, resultOf: (leaf) => leaf }, INTEGER, placeOf));
  const names = trees.map((_, index) => `t${index}`);
  const exported = instance(INTEGER, code, [...names.entries()]);
  return names.map((name) => exported[name] as () => number);
}

/** A function that writes the numbers of all trees into the results. */
export function numbersFunction(trees: readonly NumberSource[], placeOf: (slot: number) => number): () => void {
  const code = trees.map((tree) => treeCode(tree, NUMBER, placeOf));
  const all = new Code();
  for (let index = 0; index < trees.length; index++) {
    all.add(I32_CONST, 0, CALL);
    all.unsigned(index);
    all.add(F64_STORE, ALIGN_8);
    all.unsigned(RESULTS_AT + NUMBER_BYTES * index);
  }
  return instance(NUMBER, [...code, all], [[trees.length, 'all']])['all'] as () => void;
}

const INTEGER = 0x7f;
const NUMBER = 0x7c;
type ResultType = typeof INTEGER | typeof NUMBER;

const I32_CONST = 0x41;
const F64_CONST = 0x44;
const F64_LOAD = 0x2b;
const F64_STORE = 0x39;
const F64_LESS = 0x63;
const ALIGN_8 = 3;
const IF = 0x04;
const ELSE = 0x05;
const END = 0x0b;
const CALL = 0x10;

/** Bytes that grow. */
class Code {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  add(...bytes: readonly number[]): void {
    this.#room(bytes.length);
    for (const byte of bytes) this.#bytes[this.#length++] = byte;
  }

  /** LEB128. */
  unsigned(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.add((rest & 0x7f) | 0x80);
    this.add(rest);
  }

  /** LEB128 of an integer from 0: its highest bit is not set. */
  signed(value: number): void {
    let rest = value;
    for (; rest > 0x3f; rest >>>= 7) this.add((rest & 0x7f) | 0x80);
    this.add(rest);
  }

  double(value: number): void {
    this.#room(NUMBER_BYTES);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  /** With its length in front. */
  part(bytes: Uint8Array): void {
    this.unsigned(bytes.length);
    this.append(bytes);
  }

  append(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #room(length: number): void {
    if (this.#length + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + length));
    larger.set(this.bytes);
    this.#bytes = larger;
  }
}

function treeCode({ entries, resultOf }: NumberSource, type: ResultType, placeOf: (slot: number) => number): Code {
  const { operands, heads, start } = entries;
  const code = new Code();
  const write = (at: number): void => {
    const slot = heads[4 * at + 2];
    if (slot < 0) {
      if (isJump(slot)) return write(heads[4 * at + 3]);
      const result = resultOf(at);
      code.add(type === INTEGER ? I32_CONST : F64_CONST);
      if (type === INTEGER) code.signed(result);
      else code.double(result);
      return;
    }
    code.add(I32_CONST, 0, F64_LOAD, ALIGN_8);
    code.unsigned(NUMBER_BYTES * placeOf(slot));
    code.add(F64_CONST);
    code.double(operands[2 * at]);
    code.add(F64_LESS, IF, type);
    write(at + 1);
    code.add(ELSE);
    write(heads[4 * at + 3]);
    code.add(END);
  };
  write(start);
  return code;
}

/** @param code of functions with a result; one behind them that has no result is `exported` as the only one */
function instance(
  type: ResultType,
  code: readonly Code[],
  exported: readonly (readonly [number, string])[],
): Readonly<Record<string, () => number>> {
  const module = new Code();
  module.add(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);
  const section = (id: number, count: number, write: (part: Code) => void): void => {
    const part = new Code();
    part.unsigned(count);
    write(part);
    module.add(id);
    module.part(part.bytes);
  };
  // Types: 0 has a result, 1 has none.
  section(1, 2, (part) => part.add(0x60, 0, 1, type, 0x60, 0, 0));
  section(2, 1, (part) => part.add(1, 0x6d, 1, 0x6d, 0x02, 1, PAGES, PAGES));
  section(3, code.length, (part) => {
    for (let index = 0; index < code.length; index++) part.add(type === NUMBER && index === code.length - 1 ? 1 : 0);
  });
  section(7, exported.length, (part) => {
    for (const [index, name] of exported) {
      part.part(Buffer.from(name));
      part.add(0);
      part.unsigned(index);
    }
  });
  section(10, code.length, (part) => {
    for (const { bytes } of code) {
      part.unsigned(bytes.length + 2);
      // No locals.
      part.add(0);
      part.append(bytes);
      part.add(END);
    }
  });
  const { memory } = treeMemory();
  return new wasm.Instance(new wasm.Module(module.bytes), { m: { m: memory } }).exports;
}
