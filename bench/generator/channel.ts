/** The generator's side of the process channel. */
import type { Answer } from './job.ts';

export function answer(message: Answer): void {
  process.send?.(message);
}

/** @returns after the suite has said `finish`. */
export function untilFinish(): Promise<void> {
  return new Promise((resolve) => {
    const listener = (message: unknown): void => {
      if ((message as { kind?: string }).kind !== 'finish') return;
      process.off('message', listener);
      resolve();
    };
    process.on('message', listener);
  });
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
