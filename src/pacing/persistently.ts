/** Asks until there is an answer. */
import { setTimeout as pause } from 'node:timers/promises';

const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 2_000;

/**
 * @param ask rejects, or throws, when it has no answer now; it is called again after a pause that grows to 2 s.
 * @param onFailed told of each failure. A throw there ends it, and is what the promise rejects with.
 * @param first the first question, where it was asked already.
 */
export async function persistently<Answer>(
  ask: () => Answer | Promise<Answer>,
  onFailed: (error: Error, tries: number) => void,
  first?: Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await (tries === 1 && first !== undefined ? first : ask());
    } catch (error) {
      onFailed(error as Error, tries);
    }
    await pause(Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** Math.min(tries, 10)));
  }
}
