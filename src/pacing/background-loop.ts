/**
 * What the parts that run by the clock have in common: a loop with pauses that a wake-up, or the end of the process,
 * breaks off.
 */
export class BackgroundLoop {
  isStopped = false;
  #running: Promise<void> | undefined;
  #endPause: (() => void) | undefined;

  /** Begins the loop, once. @param run goes on until `isStopped`, and rejects never. */
  start(run: () => Promise<void>): void {
    this.#running ??= run();
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.wake();
    await this.#running;
  }

  /** Ends a pause that is under way. */
  wake(): void {
    this.#endPause?.();
  }

  /** @param options.isIdle the process need not stay for what comes then. */
  pause(durationMs: number, options: { isIdle: boolean }): Promise<void> {
    if (this.isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, durationMs);
      if (options.isIdle) timer.unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
