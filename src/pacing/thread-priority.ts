/** Threads for work that takes long: what answers clients goes first. */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Of the calling thread alone: Linux takes the id of a thread for that of a process. Elsewhere, and where it is not
 * allowed, all are equal.
 * @param niceness 0 to 19: under full load a thread with 3 gets half of what another one gets, with 10 a tenth.
 */
export function yieldToOthers(niceness: number): void {
  if (process.platform !== 'linux') return;
  try {
    // "<process>/task/<thread>"
    setPriority(Number(readlinkSync('/proc/thread-self').split('/')[2]), niceness);
  } catch {
    // Without /proc, or where the system refuses: the work is done all the same.
  }
}
