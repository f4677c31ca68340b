/** Those who wait until what they read is in the history store; bounded by the queries that are let in at once. */
interface Waiter<Wanted> {
  readonly wanted: Wanted;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** `Wanted`: what one of them waits for. */
export class Waiters<Wanted> {
  readonly #waiters = new Set<Waiter<Wanted>>();

  get count(): number {
    return this.#waiters.size;
  }
  get wanted(): Wanted[] {
    return [...this.#waiters].map(({ wanted }) => wanted);
  }

  /** @param reasonOf what the error says when `timeoutMs` are over. */
  wait(wanted: Wanted, timeoutMs: number, reasonOf: () => string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => waiter.reject(new Error(reasonOf())), timeoutMs);
      const end = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter<Wanted> = {
        wanted,
        resolve: () => {
          end();
          resolve();
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
    });
  }

  /** Those whose rows are there go on. */
  release(isPending: (wanted: Wanted) => boolean): void {
    for (const waiter of [...this.#waiters]) if (!isPending(waiter.wanted)) waiter.resolve();
  }

  /** @param isOne of whom; of all when absent. */
  reject(message: string, isOne: (wanted: Wanted) => boolean = () => true): void {
    for (const waiter of [...this.#waiters]) if (isOne(waiter.wanted)) waiter.reject(new Error(message));
  }
}
