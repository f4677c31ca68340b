/** What nearly every test needs; it starts no process, so that tests without one can share one (bin/test-graph.mjs). */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Deadlines of tests are written for a machine with two idle cores, and multiplied with this: on a slower one four
 * files run at the same time. A condition that comes to hold takes no longer for it.
 */
export const PATIENCE = 4;

/** Conditions ask servers: the longer one has been waited for, the less often it is looked at. */
const CHECK_MIN_MS = 20;
const CHECK_MAX_MS = 100;
const CHECK_GROWTH = 0.05;

/** Waits until the condition holds. @param timeoutMs before `PATIENCE`. @throws when it does not within the time. */
export async function until(what: string, condition: () => unknown, timeoutMs = 20_000): Promise<void> {
  const limitMs = timeoutMs * PATIENCE;
  const startMs = Date.now();
  while (!(await condition())) {
    const waitedMs = Date.now() - startMs;
    if (waitedMs > limitMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    const checkMs = Math.min(CHECK_MAX_MS, CHECK_MIN_MS + waitedMs * CHECK_GROWTH);
    await new Promise((done) => {
      setTimeout(done, checkMs);
    });
  }
}

/** Turns of the event loop within which everything is done that needs no disk, thread or timer. */
const TURNS = 30;

/**
 * The same for what happens within this process: looks at each turn of the event loop at first, then each millisecond,
 * which takes hardly any CPU time.
 */
export async function untilTurn(what: string, condition: () => unknown, timeoutMs = 20_000): Promise<void> {
  const limitMs = timeoutMs * PATIENCE;
  const startMs = Date.now();
  for (let turn = 0; !(await condition()); turn += 1) {
    if (Date.now() - startMs > limitMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((done) => {
      if (turn < TURNS) setImmediate(done);
      else setTimeout(done, 1);
    });
  }
}

const MEMORY_DISK = '/dev/shm';
const MEMORY_DISK_BYTES_MIN = 2 ** 30;

/** Where hundreds of small stores come and go: a disk in memory, if it has room, where nothing is synchronised. */
function quickFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    return bavail * bsize >= MEMORY_DISK_BYTES_MIN ? MEMORY_DISK : tmpdir();
  } catch {
    // There is none.
    return tmpdir();
  }
}

/** A directory of its own on a disk in memory, if there is one. The caller removes it. */
export const quickDirectory = (): string => mkdtempSync(join(quickFolder(), 'millrace-test-'));

/** A directory of its own, removed at the end of the test. */
export function scratchDirectory(t: { teardown(action: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
