/**
 * Whether a connection may offer its messages. It is suspended while one waits for what is being looked up, for room in
 * the open group, or for a journal that takes nothing; then it is asked to resume, unless it has been closed.
 */
import type { DeviceConnection } from '../sessions/application.ts';

/** Journal at its bound: the connection is offered its messages again after this time. */
export const RETRY_MS = 50;
/** The journal's servers away: devices are held back for this time, then told. */
const UNAVAILABLE_MAX_MS = 10_000;

export class Suspension {
  readonly #connection: Pick<DeviceConnection, 'resume'>;
  #isWaiting = false;
  #isStalled = false;
  /** When a message was refused first that has not been taken since. */
  #refusedSince = 0;
  #isClosed = false;

  constructor(connection: Pick<DeviceConnection, 'resume'>) {
    this.#connection = connection;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Something is being looked up: no message is taken. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Begins a wait. @returns what ends it. */
  wait(): () => void {
    this.#isWaiting = true;
    return () => {
      this.#isWaiting = false;
      if (!this.#isClosed) this.#connection.resume();
    };
  }

  /** @param whenFree calls back when there may be room. */
  stall(whenFree: (callback: () => void) => void): void {
    if (this.#isStalled) return;
    this.#isStalled = true;
    whenFree(() => {
      this.#isStalled = false;
      if (!this.#isClosed) this.#connection.resume();
    });
  }

  /** The journal takes messages. */
  accepted(): void {
    this.#refusedSince = 0;
  }

  /**
   * The journal's bound holds devices back, and for a while its servers being away; a full disk tells them.
   * @returns whether the message is to be offered again.
   */
  holdsBack(limit: string, now: number): boolean {
    if (this.#refusedSince === 0) this.#refusedSince = now;
    const isAway = limit === 'journal/unavailable';
    if (limit !== 'journal/bytes' && !(isAway && now - this.#refusedSince < UNAVAILABLE_MAX_MS)) return false;
    this.stall((callback) => void setTimeout(callback, RETRY_MS));
    return true;
  }
}
