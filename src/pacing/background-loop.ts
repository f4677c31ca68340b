/**
 * What the parts that run by the clock have in common: a loop of steps with pauses that a wake-up, or the end of the
 * process, breaks off.
 */
export class BackgroundLoop {
  isStopped = false;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #endPause: (() => void) | undefined;

  /**
   * Begins the loop, once; the process does not stay alive for its pauses.
   * @param pauseMs between two steps where the step does not say another number, and after one that rejected.
   * @param step one step; may resolve to the ms until the next one, 0 for no pause.
   * @param failed tells of a step that rejected.
   */
  repeat(pauseMs: number, step: () => Promise<number | void>, failed: (error: unknown) => void): void {
    this.#running ??= this.#run(pauseMs, step, failed);
  }

  async #run(pauseMs: number, step: () => Promise<number | void>, failed: (error: unknown) => void): Promise<void> {
    while (!this.isStopped) {
      this.#isWoken = false;
      const waitMs = (await step().catch(failed)) ?? pauseMs;
      // The step may have begun before the reason of a wake-up was there to be seen.
      if (!this.#isWoken && waitMs > 0) await this.pause(waitMs, { isIdle: true });
    }
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.wake();
    await this.#running;
  }

  /** The next step begins at once: after the pause, or the step, that is under way. */
  wake(): void {
    this.#isWoken = true;
    this.#endPause?.();
  }

  /** For pauses within a step. @param options.isIdle the process need not stay for what comes then. */
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
