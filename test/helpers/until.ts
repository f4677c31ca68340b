/** What nearly every test needs; it starts no process, so that tests without one can share one (bin/test-graph.mjs). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Deadlines of tests are written for a machine with two idle cores, and multiplied with this: on a slower one four files run at the same time.
 * A condition that comes to hold takes no longer for it.
 */
export const PATIENCE = 4;

/** Waits until the condition holds. @param timeoutMs before `PATIENCE`. @throws when it does not within the time. */
export async function until(what: string, condition: () => unknown, timeoutMs = 20_000): Promise<void> {
  const CHECK_MS = 20;
  const limitMs = timeoutMs * PATIENCE;
  const deadlineMs = Date.now() + limitMs;
  while (!await condition()) {
    if (Date.now() > deadlineMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((done) => { setTimeout(done, CHECK_MS); });
  }
}

/** A directory of its own, removed at the end of the test. */
export function scratchDirectory(t: { teardown(action: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
