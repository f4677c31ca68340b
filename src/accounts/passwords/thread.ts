/**
 * A thread that hashes passwords, one after the other. scrypt runs on this thread itself, not on those of libuv, with
 * which the journal writes and name servers are asked; on Linux the thread yields to all others of the server.
 */
import { scryptSync } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { ScryptCost } from '../../model/access/password-hash.ts';
import { yieldToOthers } from '../../pacing/thread-priority.ts';

export interface HashTask extends ScryptCost {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly keyBytes: number;
}
export type HashAnswer = { readonly key: Uint8Array } | { readonly failure: string };

/** Wrong passwords may come in floods. */
const NICENESS = 10;
/** Beyond the memory that scrypt itself counts. */
const SPARE_BYTES = 1_048_576;

function hash({ password, salt, keyBytes, ln, r, p }: HashTask): HashAnswer {
  try {
    const N = 2 ** ln;
    return { key: scryptSync(password, salt, keyBytes, { N, r, p, maxmem: 128 * r * (N + p) + SPARE_BYTES }) };
  } catch (error) {
    return { failure: (error as Error).message };
  }
}

yieldToOthers(NICENESS);
parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(hash(task)));
