/**
 * A thread that hashes passwords, one after the other. scrypt runs on this thread itself, not on those of libuv, with
 * which the journal writes and name servers are asked; on Linux the thread yields to all others of the server.
 */
import { scryptSync } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { ScryptCost } from '../../model/access/password-hash.ts';

export interface HashTask extends ScryptCost {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly keyBytes: number;
}
export type HashAnswer = { readonly key: Uint8Array } | { readonly failure: string };

/** Of 19: under full load the thread gets about a tenth of what another one gets. */
const NICENESS = 10;
/** Beyond the memory that scrypt itself counts. */
const SPARE_BYTES = 1_048_576;

/**
 * Of this thread alone: Linux takes the id of a thread for that of a process. Elsewhere, and where it is not allowed,
 * all are equal.
 */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    // "<process>/task/<thread>"
    setPriority(Number(readlinkSync('/proc/thread-self').split('/')[2]), NICENESS);
  } catch {
    // Without /proc, or where the system refuses: hashing works all the same.
  }
}

function hash({ password, salt, keyBytes, ln, r, p }: HashTask): HashAnswer {
  try {
    const N = 2 ** ln;
    return { key: scryptSync(password, salt, keyBytes, { N, r, p, maxmem: 128 * r * (N + p) + SPARE_BYTES }) };
  } catch (error) {
    return { failure: (error as Error).message };
  }
}

yieldToOthers();
parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(hash(task)));
