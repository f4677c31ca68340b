/**
 * Whether this node reaches a store: asks it again and again over the connection that its work takes. Being away is
 * counted from the last answer, so that nodes which lose a store at one moment notice it at about the same time,
 * however each of them loses it.
 */

export interface StoreWatchOptions {
  /** Resolves when the store has answered. Has a time limit of its own; one call is under way at a time. */
  readonly ask: () => Promise<unknown>;
  /** Without an answer for this long the store counts as unreachable. */
  readonly awayMs: number;
  /** Called when `isAway` has changed. */
  readonly onChanged: () => void;
  /** Monotonic, ms. */
  readonly now?: () => number;
}

/** Times that the store is asked before it is taken to be away. */
const ASKED_BEFORE_AWAY = 6;

export class StoreWatch {
  readonly #options: StoreWatchOptions;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #answeredAt: number;
  #isAsking = false;
  #isAway = false;
  #error: string | undefined;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#answeredAt = this.#now();
    this.#timer = setInterval(() => this.look(), options.awayMs / ASKED_BEFORE_AWAY);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** While it is away: for how long, and why as far as that is known. */
  get problem(): string | undefined {
    if (!this.#isAway) return undefined;
    return `no answer for ${Math.round((this.#now() - this.#answeredAt) / 1_000)} s${this.#error === undefined ? '' : `: ${this.#error}`}`;
  }

  /** Done by the timer. */
  look(): void {
    if (!this.#isAsking) void this.#ask();
    this.#judge();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      await this.#options.ask();
      this.#answeredAt = this.#now();
      this.#error = undefined;
    } catch (error) {
      this.#error = (error as Error).message;
    }
    this.#isAsking = false;
    this.#judge();
  }

  #judge(): void {
    const isAway = this.#now() - this.#answeredAt > this.#options.awayMs;
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    this.#options.onChanged();
  }
}
