/** Threads for work that takes long: what answers clients goes first. */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** Of 19: under full load the thread gets about a tenth of what another one gets. */
const NICENESS = 10;

/**
 * Of the calling thread alone: Linux takes the id of a thread for that of a process. Elsewhere, and where it is not
 * allowed, all are equal.
 */
export function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    // "<process>/task/<thread>"
    setPriority(Number(readlinkSync('/proc/thread-self').split('/')[2]), NICENESS);
  } catch {
    // Without /proc, or where the system refuses: the work is done all the same.
  }
}
