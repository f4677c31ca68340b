/**
 * One coarse timer for everything that waits: keep alive, connect timeout, will delay, session expiry. A slot per
 * second; what is due is asked, and says how long to wait on. So a busy connection moves once per keep alive, not once
 * per packet.
 */

/** Something that waits in the wheel. */
export interface Timed {
  /** The wheel's own: the slot, or NOT_WAITING. */
  wheelSlot: number;
  /** The wait is over. @returns seconds until the next call, 0 for none. */
  due(): number;
}

export const NOT_WAITING = -1;

/** Longer waits go round: they are asked early and wait on. */
const SLOTS = 512;

export class TimerWheel {
  /** Seconds that the wheel has turned: the clock of everything coarse. */
  tick = 0;
  readonly #slots: Array<Set<Timed> | undefined> = new Array(SLOTS).fill(undefined);

  /** Calls `timed.due()` after `seconds` (at least one tick), instead of any time set before. */
  schedule(timed: Timed, seconds: number): void {
    this.cancel(timed);
    const distance = Math.max(1, Math.min(SLOTS - 1, Math.ceil(seconds)));
    const slot = (this.tick + distance) % SLOTS;
    timed.wheelSlot = slot;
    (this.#slots[slot] ??= new Set()).add(timed);
  }

  cancel(timed: Timed): void {
    if (timed.wheelSlot === NOT_WAITING) return;
    this.#slots[timed.wheelSlot]?.delete(timed);
    timed.wheelSlot = NOT_WAITING;
  }

  /** One second has passed. */
  turn(): void {
    this.tick++;
    const slot = this.tick % SLOTS;
    const waiting = this.#slots[slot];
    if (waiting === undefined) return;
    this.#slots[slot] = undefined;
    for (const timed of waiting) {
      // An earlier one of this slot may have cancelled or moved this one.
      if (timed.wheelSlot !== slot) continue;
      timed.wheelSlot = NOT_WAITING;
      const seconds = timed.due();
      if (seconds > 0) this.schedule(timed, seconds);
    }
  }
}
