/** The time of the moment for ages on the page: one timer for all of them, and none while the page is hidden. */
import { signal } from '@preact/signals';

const EVERY_MS = 5_000;

export const now = signal(Date.now());

/** Begins to tick; called once by the page. */
export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, EVERY_MS);
  document.addEventListener('visibilitychange', () => {
    now.value = Date.now();
  });
}
