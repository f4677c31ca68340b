/** One connected client of a subscriber: what it was sent and has not acknowledged. */
import { frameText } from './message.ts';
import type { NotificationLimits, WindowChars } from './limits.ts';

/** The WebSocket as the consumer sees it. */
export interface ConsumerChannel {
  /** @returns false when the client has to read first: `drained` of the consumer is called then. */
  send(text: string): boolean;
  /** Calls back at once; what is sent meanwhile goes to the network together. */
  cork(callback: () => void): void;
  end(code: number, reason: string): void;
}

/** A message that a client has and has not acknowledged. */
export interface Sent {
  readonly id: string;
  readonly seq: number;
  readonly index: number;
  readonly source: string;
  readonly message: string;
  consumer: Consumer | undefined;
  /** `performance.now()`. */
  at: number;
}

export class Consumer {
  /** That of the parameter `consumer`, or one of its own. */
  readonly name: string;
  readonly #channel: ConsumerChannel;
  readonly #baseUrl: string;
  readonly #limits: NotificationLimits;
  readonly #all: WindowChars;
  #sentCount = 0;
  #sentChars = 0;
  #isBlocked = false;
  /** The window was full: there is room again when half of it is acknowledged. */
  #isFull = false;
  isClosed = false;
  /** `performance.now()` of the last acknowledgement, or of the first message behind it. */
  progressAt = 0;

  constructor(options: {
    readonly name: string;
    readonly channel: ConsumerChannel;
    readonly baseUrl: string;
    readonly limits: NotificationLimits;
    readonly all: WindowChars;
  }) {
    this.name = options.name;
    this.#channel = options.channel;
    this.#baseUrl = options.baseUrl;
    this.#limits = options.limits;
    this.#all = options.all;
  }

  get unacknowledgedCount(): number {
    return this.#sentCount;
  }

  /** The network takes more. */
  get isOpen(): boolean {
    return !this.isClosed && !this.#isBlocked;
  }

  get hasRoom(): boolean {
    if (!this.isOpen) return false;
    if (this.#sentCount === 0) return true;
    return !this.#isFull && !this.#all.isFull;
  }

  send(sent: Sent, now: number): void {
    if (this.#sentCount === 0) this.progressAt = now;
    sent.consumer = this;
    this.#sentCount += 1;
    this.#sentChars += sent.message.length;
    this.#all.used += sent.message.length;
    const { windowMessages, windowChars } = this.#limits;
    if (this.#sentCount >= windowMessages || this.#sentChars >= windowChars) this.#isFull = true;
    this.repeat(sent, now);
  }

  /** Sends it once more. */
  repeat(sent: Sent, now: number): void {
    sent.at = now;
    if (!this.#channel.send(frameText(sent.id, sent.message, this.#baseUrl))) this.#isBlocked = true;
  }

  /** It is acknowledged, or goes to another client. */
  release({ message }: Sent, now: number): void {
    this.#sentCount -= 1;
    this.#sentChars -= message.length;
    this.#all.used -= message.length;
    this.progressAt = now;
    const { windowMessages, windowChars } = this.#limits;
    if (this.#sentCount <= windowMessages / 2 && this.#sentChars <= windowChars / 2) this.#isFull = false;
  }

  cork(callback: () => void): void {
    this.#channel.cork(callback);
  }

  drained(): void {
    this.#isBlocked = false;
  }

  end(code: number, reason: string): void {
    this.#channel.end(code, reason);
  }
}
