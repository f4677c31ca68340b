/** Runs an action at once, and once more after a pause when it was asked for meanwhile, however often. */
export class PacedAction {
  readonly #action: () => void;
  readonly #pauseMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;

  constructor(action: () => void, pauseMs: number) {
    this.#action = action;
    this.#pauseMs = pauseMs;
  }

  note(): void {
    if (this.#timer !== undefined) {
      this.#isDue = true;
      return;
    }
    this.#timer = setTimeout(() => this.#paused(), this.#pauseMs).unref();
    this.#action();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
  }

  #paused(): void {
    this.#timer = undefined;
    if (!this.#isDue) return;
    this.#isDue = false;
    this.note();
  }
}
