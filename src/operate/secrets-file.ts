/** `<data>/secrets.json`: generated passwords by `<tenant>/<user>`, readable by the server's user only. */
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SecretsStore } from '../ports/secrets.ts';
import { syncDirectory } from '../store/files/sync-directory.ts';

export class SecretsFile implements SecretsStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async add(secrets: ReadonlyMap<string, string>): Promise<void> {
    await this.#write({ ...(await this.#read()), ...Object.fromEntries(secrets) });
  }

  async read(name: string): Promise<string | undefined> {
    return (await this.#read())[name];
  }

  /** Takes a password out of the file: it is about to be shown. @returns undefined when there is none. */
  async take(account: string): Promise<string | undefined> {
    const { [account]: secret, ...rest } = await this.#read();
    if (secret !== undefined) await this.#write(rest);
    return secret;
  }

  async #read(): Promise<Record<string, string>> {
    try {
      return JSON.parse(await readFile(this.#path, 'utf8')) as Record<string, string>;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw error;
    }
  }

  /** Whole or not at all, and on disk when it resolves. */
  async #write(secrets: Record<string, string>): Promise<void> {
    const file = await open(`${this.#path}.partial`, 'w', 0o600);
    await file.writeFile(`${JSON.stringify(secrets, null, 1)}\n`);
    await file.sync();
    await file.close();
    await rename(`${this.#path}.partial`, this.#path);
    await syncDirectory(dirname(this.#path));
  }
}
