/**
 * When the messages of one connection were received that are not acknowledged yet. They are acknowledged in their
 * order, so this is a queue, with one entry for all messages of a socket read. It does not allocate but when it grows.
 */
import type { MqttMetrics } from './metrics.ts';

export class AcknowledgementTimes {
  /** A ring of pairs: time and count. Its length is a power of two. */
  #ring: number[] = [0, 0, 0, 0, 0, 0, 0, 0];
  #first = 0;
  /** Numbers in use, two for an entry. */
  #length = 0;
  /** Messages whose acknowledgement waits to be written. */
  #acknowledgedCount = 0;

  /** One message that was received at `time` (ms, `performance.now()`), which is not before that of the last one. */
  add(time: number): void {
    let mask = this.#ring.length - 1;
    if (this.#length > 0) {
      const last = (this.#first + this.#length - 2) & mask;
      if (this.#ring[last] === time) {
        this.#ring[last + 1] += 1;
        return;
      }
    }
    if (this.#length > mask) {
      this.#grow();
      mask = this.#ring.length - 1;
    }
    const next = (this.#first + this.#length) & mask;
    this.#ring[next] = time;
    this.#ring[next + 1] = 1;
    this.#length += 2;
  }

  /** Takes the message back that was added last, which was not acknowledged. */
  removeLast(): void {
    const last = (this.#first + this.#length - 2) & (this.#ring.length - 1);
    this.#ring[last + 1] -= 1;
    if (this.#ring[last + 1] === 0) this.#length -= 2;
  }

  /** The oldest message was acknowledged. */
  acknowledged(): void {
    this.#acknowledgedCount += 1;
  }

  /** What was acknowledged is written: reports it, in one call for each read that it came with. */
  written(metrics: MqttMetrics): void {
    if (this.#acknowledgedCount === 0) return;
    const now = performance.now();
    while (this.#acknowledgedCount > 0 && this.#length > 0) {
      const time = this.#ring[this.#first];
      const count = Math.min(this.#acknowledgedCount, this.#ring[this.#first + 1]);
      this.#take(count);
      metrics.acknowledged(now - time, count);
    }
    this.#acknowledgedCount = 0;
  }

  /** @param count at most that of the first entry. */
  #take(count: number): void {
    this.#ring[this.#first + 1] -= count;
    this.#acknowledgedCount -= count;
    if (this.#ring[this.#first + 1] > 0) return;
    this.#first = (this.#first + 2) & (this.#ring.length - 1);
    this.#length -= 2;
  }

  #grow(): void {
    const ring = [...this.#ring.slice(this.#first), ...this.#ring.slice(0, this.#first)];
    for (let left = ring.length; left > 0; left -= 1) ring.push(0);
    this.#ring = ring;
    this.#first = 0;
  }
}
