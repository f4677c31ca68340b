/**
 * The gate of password hashes without its threads: keys take no time, unless a test holds them up, and what was
 * computed can be looked at.
 */
import { createHmac } from 'node:crypto';
import { PasswordHashes } from '../../src/accounts/passwords/hashes.ts';
import type { KeyDerivation } from '../../src/accounts/passwords/threads.ts';
import type { ScryptCost } from '../../src/model/access/password-hash.ts';

export class QuickKeys implements KeyDerivation {
  /** Binary logarithms of N, in order. */
  readonly costs: number[] = [];
  /** Passwords in the order in which they were hashed. */
  readonly passwords: string[] = [];
  /** Awaited before each key. */
  hold: () => Promise<unknown> = () => Promise.resolve();

  async derive(password: string, salt: Uint8Array, { ln, r, p }: ScryptCost): Promise<Uint8Array> {
    this.costs.push(ln);
    this.passwords.push(password);
    await this.hold();
    return createHmac('sha256', salt).update(`${ln} ${r} ${p} ${password}`).digest();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

export const quickHashes = (
  options: {
    readonly keys?: QuickKeys;
    readonly cost?: number;
    readonly waitingMax?: number;
    readonly threads?: number;
    readonly refusals?: { count(limit: string): void };
  } = {},
): PasswordHashes =>
  new PasswordHashes({ refusals: { count: () => undefined }, cost: 17, threads: 1, keys: new QuickKeys(), ...options });
