/** What nearly every test needs; it starts no process, so that tests without one can share one (bin/test-graph.mjs). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Waits until the condition holds. @throws when it does not within the time. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const CHECK_MS = 20;
  const deadlineMs = Date.now() + timeoutMs;
  while (!await condition()) {
    if (Date.now() > deadlineMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((done) => { setTimeout(done, CHECK_MS); });
  }
}

/** A directory of its own, removed at the end of the test. */
export function scratchDirectory(t: { teardown(action: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
