/**
 * The message rate of one connection (docs/spec/mqtt.md#rate): over the rate messages wait, over the queue's limit the
 * client goes.
 */
import { LENGTH_INCOMPLETE, LENGTH_MALFORMED, PACKET_TYPE, packetLength } from '../wire/fixed-header.ts';
import { LIMIT } from '../wire/limits.ts';
import type { LimitName, MqttLimits } from '../wire/limits.ts';

export class RateBucket {
  readonly #limits: MqttLimits;
  #tokens: number;
  #filledAt: number;

  /** @param nowMs milliseconds of the server's clock. A new connection may send the messages of one second at once. */
  constructor(limits: MqttLimits, nowMs: number) {
    this.#limits = limits;
    this.#tokens = limits.rateMessagesPerSecond;
    this.#filledAt = nowMs;
  }

  /** @returns false when the next message has to wait. */
  take(nowMs: number): boolean {
    this.#fill(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** The message was not handed on after all. */
  giveBack(): void {
    this.#tokens++;
  }

  hasToken(nowMs: number): boolean {
    this.#fill(nowMs);
    return this.#tokens >= 1;
  }

  /** @returns the limit that the waiting bytes exceed. */
  queueLimitHit(waiting: Buffer): LimitName | undefined {
    if (waiting.length > this.#limits.rateQueueBytes) return LIMIT.RATE_QUEUE_BYTES;
    let messages = 0;
    for (let offset = 0; offset < waiting.length; ) {
      if (waiting[offset] >> 4 === PACKET_TYPE.PUBLISH) messages++;
      const length = packetLength(waiting, offset, waiting.length);
      // A malformed packet is found when its turn comes.
      if (length === LENGTH_INCOMPLETE || length === LENGTH_MALFORMED) break;
      offset += length;
    }
    return messages > this.#limits.rateQueueMessages ? LIMIT.RATE_QUEUE_MESSAGES : undefined;
  }

  #fill(nowMs: number): void {
    const rate = this.#limits.rateMessagesPerSecond;
    const elapsedMs = Math.max(0, nowMs - this.#filledAt);
    this.#tokens = Math.min(rate, this.#tokens + (elapsedMs * rate) / 1_000);
    this.#filledAt = nowMs;
  }
}
