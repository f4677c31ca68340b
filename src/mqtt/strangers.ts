/**
 * Sockets without an accepted CONNECT. They have a pool of their own, so that strangers who stay silent keep no device out: beyond it the oldest
 * one is closed in favour of a new one. A connection whose CONNECT is being checked is not in the pool.
 */

/** Connections that have sent no CONNECT, or whose CONNECT was refused and which are closing. */
const STRANGERS_MAX = 2_000;
/** Also where few connections are allowed. */
const STRANGERS_MIN = 100;
/** Below the limit of all sockets, a stranger has this many seconds: in a storm of reconnects the server may not have read its CONNECT yet. */
const GRACE_SECONDS = 3;

export class Strangers<C> {
  readonly maximum: number;
  /** In order of arrival, with the second of it. */
  readonly #silent = new Map<C, number>();
  /** They were refused and are closing. */
  readonly #refused = new Set<C>();

  /** @param connections the limit of all connections. */
  constructor(connections: number) {
    this.maximum = Math.min(STRANGERS_MAX, Math.max(STRANGERS_MIN, Math.ceil(connections / 4)));
  }

  get size(): number { return this.#silent.size + this.#refused.size; }

  arrived(one: C, second: number): void { this.#silent.set(one, second); }

  refused(one: C): void {
    this.#silent.delete(one);
    this.#refused.add(one);
  }

  /** Its CONNECT is being checked, or it is closed. */
  delete(one: C): void {
    this.#silent.delete(one);
    this.#refused.delete(one);
  }

  /** Takes out the one to close for a new one. @param isFull there is no socket left for the new one. @returns undefined when none has to go. */
  takeOldest(second: number, isFull: boolean): C | undefined {
    if (!isFull && this.size < this.maximum) return undefined;
    for (const one of this.#refused) {
      this.#refused.delete(one);
      return one;
    }
    for (const [one, since] of this.#silent) {
      if (!isFull && second - since < GRACE_SECONDS) return undefined;
      this.#silent.delete(one);
      return one;
    }
    return undefined;
  }
}
