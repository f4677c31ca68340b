/**
 * What the parts that run by the clock have in common: a loop of steps with pauses that a wake-up, or the end of the
 * process, breaks off.
 */
export class BackgroundLoop {
  isStopped = false;
  #running: Promise<void> | undefined;
  #isWoken = false;
  /** The pause under way ends by its time and by a stop alone. */
  #isFirm = false;
  #endPause: (() => void) | undefined;

  /**
   * Begins the loop, once; the process does not stay alive for its pauses.
   * @param pauseMs between two steps where the step does not say another number, and at least after one that rejected.
   * @param step one step; may resolve to the ms until the next one, 0 for no pause.
   * @param failed tells of a step that rejected.
   * @param leastMs from one step to the next: no wake-up shortens it.
   */
  repeat(
    pauseMs: number,
    step: () => Promise<number | void>,
    failed: (error: unknown) => void,
    leastMs: number = 0,
  ): void {
    this.#running ??= this.#run(pauseMs, step, failed, leastMs);
  }

  async #run(
    pauseMs: number,
    step: () => Promise<number | void>,
    failed: (error: unknown) => void,
    leastMs: number,
  ): Promise<void> {
    while (!this.isStopped) {
      this.#isWoken = false;
      let hasFailed = false;
      const waitMs =
        (await step().catch((error: unknown) => {
          hasFailed = true;
          failed(error);
        })) ?? pauseMs;
      if (leastMs > 0) {
        this.#isFirm = true;
        await this.pause(leastMs, { isIdle: true });
        this.#isFirm = false;
      }
      // The step may have begun before the reason of a wake-up was there to be seen.
      if (waitMs > leastMs && (hasFailed || !this.#isWoken)) await this.pause(waitMs - leastMs, { isIdle: true });
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
    if (!this.#isFirm || this.isStopped) this.#endPause?.();
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
