/** How long a block is filled, unless a query asks for its rows. */

/** In intervals, of a block with many rows: fewer inserts, which a query does not wait for. */
const HOLD_FACTOR = 2.5;

export interface BlockIntervalOptions {
  readonly intervalMs: number;
  /** Whether the block is worth waiting for more rows. */
  readonly isLarge: () => boolean;
  /** The next interval begins behind it. */
  readonly onEnd: () => void;
}

export class BlockInterval {
  readonly #options: BlockIntervalOptions;
  #timer: NodeJS.Timeout | undefined;
  #isHeld = false;
  #isStopped = false;

  constructor(options: BlockIntervalOptions) {
    this.#options = options;
  }

  /** From now on the block being filled has its interval. */
  start(): void {
    this.#isHeld = false;
    this.#wait(this.#options.intervalMs);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = setTimeout(this.#end, ms);
  }

  readonly #end = (): void => {
    const { intervalMs, isLarge, onEnd } = this.#options;
    if (!this.#isHeld && isLarge()) {
      this.#isHeld = true;
      this.#wait(intervalMs * (HOLD_FACTOR - 1));
      return;
    }
    onEnd();
    this.start();
  };
}
