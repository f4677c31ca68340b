/** The messages that wait in a session: bounded by count and bytes; when full, the oldest go and are counted. */
import { LIMIT_NAMES } from './limits.ts';
import type { Delivery } from './message.ts';

/** What waits in all sessions together. A text that several sessions share counts in each. */
export class QueueBudget {
  readonly maximumBytes: number;
  usedBytes = 0;
  messageCount = 0;

  constructor(maximumBytes: number) {
    this.maximumBytes = maximumBytes;
  }
}

export interface DeliveryQueueOptions {
  readonly messages: number;
  readonly bytes: number;
  readonly budget: QueueBudget;
  /** Called for each message that is dropped. */
  readonly onLost: (limit: string) => void;
}

/** The array is packed when this many places at its head are free, and more than half. */
const FREE_PLACES_MAX = 256;

export class DeliveryQueue {
  readonly #options: DeliveryQueueOptions;
  #items: (Delivery | undefined)[] = [];
  #head = 0;
  #sizeBytes = 0;
  /** Losses that the client has not been told yet, by limit. */
  #lost: Map<string, number> | undefined = undefined;

  constructor(options: DeliveryQueueOptions) {
    this.#options = options;
  }

  get messageCount(): number {
    return this.#items.length - this.#head;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** True when there is nothing to tell: neither messages nor losses. */
  get isEmpty(): boolean {
    return this.messageCount === 0 && this.#lost === undefined;
  }

  /**
   * Adds a message, dropping the oldest as long as a bound is passed; one that is larger than the bound is dropped
   * itself. One queue may use as many bytes as are free in the budget: of many full queues each gives way, and a queue
   * that is kept short always has room.
   */
  push(delivery: Delivery): void {
    const { messages, bytes, budget } = this.#options;
    while (this.messageCount >= messages) this.#dropOldest(LIMIT_NAMES.queueMessages);
    for (;;) {
      const freeBytes = budget.maximumBytes - budget.usedBytes;
      if (this.#sizeBytes + delivery.sizeBytes <= Math.min(bytes, freeBytes)) break;
      const limit = freeBytes < bytes ? LIMIT_NAMES.queueBytesAll : LIMIT_NAMES.queueBytes;
      if (this.messageCount === 0) {
        this.noteLost(limit);
        return;
      }
      this.#dropOldest(limit);
    }
    this.#items.push(delivery);
    this.#account(delivery.sizeBytes, 1);
  }

  /** Takes the oldest messages: at least one if there is one, then as many as fit into `maximumBytes`. */
  take(maximumBytes: number): string[] {
    const texts: string[] = [];
    let sizeBytes = 0;
    while (this.#head < this.#items.length) {
      const next = this.#items[this.#head] as Delivery;
      if (texts.length > 0 && sizeBytes + next.sizeBytes > maximumBytes) break;
      sizeBytes += next.sizeBytes;
      texts.push(next.text);
      this.#removeHead(next);
    }
    return texts;
  }

  /** Counts a message that was lost before it reached this queue, or by it. */
  noteLost(limit: string): void {
    this.#lost ??= new Map();
    this.#lost.set(limit, (this.#lost.get(limit) ?? 0) + 1);
    this.#options.onLost(limit);
  }

  /** @returns the losses since the last call, by limit. */
  takeLost(): [limit: string, count: number][] {
    if (this.#lost === undefined) return [];
    const lost = [...this.#lost];
    this.#lost = undefined;
    return lost;
  }

  /** Gives everything back to the budget without counting it as lost: the session has ended. */
  clear(): void {
    this.#account(-this.#sizeBytes, -this.messageCount);
    this.#items = [];
    this.#head = 0;
    this.#lost = undefined;
  }

  #dropOldest(limit: string): void {
    this.#removeHead(this.#items[this.#head] as Delivery);
    this.noteLost(limit);
  }

  #removeHead(delivery: Delivery): void {
    this.#items[this.#head] = undefined;
    this.#head += 1;
    this.#account(-delivery.sizeBytes, -1);
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > FREE_PLACES_MAX && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  #account(sizeBytes: number, messageCount: number): void {
    this.#sizeBytes += sizeBytes;
    this.#options.budget.usedBytes += sizeBytes;
    this.#options.budget.messageCount += messageCount;
  }
}
