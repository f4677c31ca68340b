/**
 * Mailbox of one actor: its commands one after the other, in order, also where a document has to be fetched in between.
 */
import { NotLoaded } from './state-view.ts';

export class Mailbox<Item> {
  readonly #queue: Item[] = [];
  readonly #handle: (item: Item) => void;
  readonly #emptied: () => void;
  #waiting = false;

  /** @param handle may throw NotLoaded, nothing else. @param emptied the mailbox can leave memory. */
  constructor(handle: (item: Item) => void, emptied: () => void) {
    this.#handle = handle;
    this.#emptied = emptied;
  }

  receive(item: Item): void {
    this.#queue.push(item);
    if (!this.#waiting) this.#drain();
  }

  #drain(): void {
    while (this.#queue.length > 0) {
      try {
        this.#handle(this.#queue[0]);
      } catch (error) {
        if (!(error instanceof NotLoaded)) throw error;
        this.#waiting = true;
        const again = (): void => {
          this.#waiting = false;
          this.#drain();
        };
        error.loaded.then(again, () => {
          setTimeout(again, 100);
        });
        return;
      }
      this.#queue.shift();
    }
    this.#emptied();
  }
}
