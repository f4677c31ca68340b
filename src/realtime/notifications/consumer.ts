/** One connected client of a subscriber: what it was sent and has not acknowledged. */
import type { Shares } from '../../pacing/shares.ts';
import { frameText } from './message.ts';
import type { NotificationLimits } from './limits.ts';

/** The window is tight when less than this part of it is free. */
const TIGHT_PARTS = 8;

/** The part of the node's window that a client's messages are counted in: shares of its tenant and subscriber. */
export class WindowShare {
  readonly #all: Shares;
  readonly #tenant: number;
  readonly #subscriber: string;

  constructor(all: Shares, tenant: number, subscriber: string) {
    this.#all = all;
    this.#tenant = tenant;
    this.#subscriber = subscriber;
  }

  /** A message that is alone always has room. */
  hasRoom(chars: number): boolean {
    return this.#all.used === 0 || this.#all.refusal(this.#tenant, this.#subscriber, chars) === undefined;
  }

  /** Others wait for what its clients do not acknowledge. */
  get isTight(): boolean {
    return !this.hasRoom(this.#all.maximum / TIGHT_PARTS);
  }

  add(chars: number): void {
    this.#all.add(this.#tenant, this.#subscriber, chars);
  }

  give(chars: number): void {
    this.#all.give(this.#tenant, this.#subscriber, chars);
  }
}

/** The WebSocket as the consumer sees it. */
export interface ConsumerChannel {
  /** @returns false when the client has to read first: `drained` of the consumer is called then. */
  send(text: string): boolean;
  /** Calls back at once; what is sent meanwhile goes to the network together. */
  cork(callback: () => void): void;
  end(code: number, reason: string): void;
}

/** A connection, as the WebSocket sees it. */
export interface ConsumerSocket {
  message(text: string): void;
  drained(): void;
  closed(): void;
}

/** Of a client that was ended at once. */
export const NO_SOCKET: ConsumerSocket = {
  message: () => undefined,
  drained: () => undefined,
  closed: () => undefined,
};

/** A message that a client has and has not acknowledged. */
export interface Sent {
  readonly id: string;
  readonly seq: number;
  readonly index: number;
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
  readonly #share: WindowShare;
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
    readonly share: WindowShare;
  }) {
    this.name = options.name;
    this.#channel = options.channel;
    this.#baseUrl = options.baseUrl;
    this.#limits = options.limits;
    this.#share = options.share;
  }

  get unacknowledgedCount(): number {
    return this.#sentCount;
  }

  /** The network takes more. */
  get isOpen(): boolean {
    return !this.isClosed && !this.#isBlocked;
  }

  /** False until `drained`, or until half of its window is acknowledged. */
  get isReady(): boolean {
    return this.isOpen && !this.#isFull;
  }

  /** @param chars of the next message. */
  hasRoom(chars: number): boolean {
    return this.isReady && this.#share.hasRoom(chars);
  }

  get isWindowTight(): boolean {
    return this.#share.isTight;
  }

  send(sent: Sent, now: number): void {
    if (this.#sentCount === 0) this.progressAt = now;
    sent.consumer = this;
    this.#sentCount += 1;
    this.#sentChars += sent.message.length;
    this.#share.add(sent.message.length);
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
    this.#share.give(message.length);
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
