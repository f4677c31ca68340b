/** The JavaScript functions of some files, by the names that models call them by. */
import { baseName } from '../../model/entities/scoring/names.ts';
import type { CustomFunction } from '../pmml/fields/scope.ts';
import { FunctionError, FUNCTIONS_BYTES_MAX, FunctionFile } from './sandbox.ts';
import type { FunctionWatch } from './watch.ts';

/** Names of a file's functions with their namespace, which is the file's name without its ending. */
export const fullNames = (fileName: string, names: readonly string[]): readonly string[] =>
  names.map((name) => `${baseName(fileName).replace(/\.js$/i, '')}:${name}`);

export class FunctionLibrary {
  readonly #bytesMax: number;
  readonly #watch: FunctionWatch;
  readonly #files: FunctionFile[] = [];
  /** Undefined: several files have a function of this plain name. */
  readonly #functions = new Map<string, CustomFunction | undefined>();

  /** @param bytesMax of all files together. @param watch of the tasks that call them */
  constructor(bytesMax: number, watch: FunctionWatch) {
    this.#bytesMax = bytesMax;
    this.#watch = watch;
  }

  /** Of all files. */
  get bytes(): number {
    return this.#files.length * FUNCTIONS_BYTES_MAX;
  }

  /** @returns the names of its functions @throws FunctionError where it finds no room, or cannot be used */
  async add(fileName: string, source: string): Promise<readonly string[]> {
    const bytes = this.bytes + FUNCTIONS_BYTES_MAX;
    if (bytes > this.#bytesMax)
      throw new FunctionError(
        `${fileName} cannot be opened: ${this.#files.length + 1} files of functions take ${bytes} bytes; a worker has ${this.#bytesMax} for a model`,
      );
    const file = await FunctionFile.open(fileName, source, this.#watch);
    this.#files.push(file);
    for (const name of file.names) {
      const call: CustomFunction = (args) => file.call(name, args);
      this.#functions.set(name, this.#functions.has(name) ? undefined : call);
      for (const full of fullNames(fileName, [name])) this.#functions.set(full, call);
    }
    return file.names;
  }

  /** @param name with its namespace, or without where one file alone has it. */
  find(name: string): CustomFunction | undefined {
    return this.#functions.get(name);
  }

  /** Some file has to be opened again. */
  get isBroken(): boolean {
    return this.#files.some(({ isBroken }) => isBroken);
  }

  close(): void {
    for (const file of this.#files) file.close();
  }
}
