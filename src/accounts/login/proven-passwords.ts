/**
 * Passwords that were right on this node: as long as the stored hash is the one that they were checked against, they
 * need no slow check. From a familiar address (guard.ts) a user gets in while others fill the turns of the account with
 * wrong passwords.
 */

/** The one that was asked for longest ago goes first. */
const SIZE_MAX = 20_000;

export interface ProvenPassword {
  readonly userName: string;
  /** As stored, see model/access/password-hash.ts. */
  readonly hash: string;
}

export class ProvenPasswords {
  readonly #entries = new Map<string, ProvenPassword>();

  /** @param key of tenant, name and password, made with a secret of the process. */
  get(key: string): ProvenPassword | undefined {
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, found);
    return found;
  }

  set(key: string, proven: ProvenPassword): void {
    this.#entries.delete(key);
    if (this.#entries.size >= SIZE_MAX) this.#entries.delete(this.#entries.keys().next().value as string);
    this.#entries.set(key, proven);
  }

  /** It is not right any more. */
  delete(key: string): void {
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}
