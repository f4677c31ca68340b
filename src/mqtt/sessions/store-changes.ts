/** Changes of sessions that the client builds on: one that the store refuses is tried again until it is taken. */
import { isElsewhere } from './application.ts';
import { LIMIT } from '../wire/limits.ts';
import type { LimitName } from '../wire/limits.ts';
import type { Session, SessionContext, StoreChange } from './session.ts';
import { NOT_WAITING } from './timer-wheel.ts';
import type { Timed, TimerWheel } from './timer-wheel.ts';

const RETRY_SECONDS = 1;
/** Changes that are tried at once when the store takes them again. */
const ATTEMPTS_AT_ONCE = 64;

/** The number of changes is bounded by the sessions, each of which has a bounded number of ids that are not settled. */
export class StoreChanges implements Timed {
  wheelSlot: number = NOT_WAITING;
  readonly #wheel: TimerWheel;
  readonly #limitHit: (limit: LimitName, reason: string, session: Session) => void;
  readonly #lost: (session: Session) => void;
  /** The longest waiting first. */
  readonly #refused = new Set<StoreChange>();
  #isTrying = false;

  constructor(wheel: TimerWheel, { limitHit, lost }: Pick<SessionContext, 'limitHit' | 'lost'>) {
    this.#wheel = wheel;
    this.#limitHit = limitHit;
    this.#lost = lost;
  }

  get refusedCount(): number {
    return this.#refused.size;
  }

  /** Makes the first attempt within the call, so that it keeps its place among the calls to the store. */
  carryOut(change: StoreChange): void {
    change.attempt().then(
      () => change.done(),
      (error: Error) => {
        if (isElsewhere(error)) return this.#lost(change.session);
        this.#limitHit(
          LIMIT.SESSION_STORE,
          `${change.what} could not be stored, it is tried again: ${error.message}`,
          change.session,
        );
        this.#refused.add(change);
        if (this.wheelSlot === NOT_WAITING && !this.#isTrying) this.#wheel.schedule(this, RETRY_SECONDS);
      },
    );
  }

  due(): number {
    this.#isTrying = true;
    void this.#tryAgain().then(() => {
      this.#isTrying = false;
      if (this.#refused.size > 0) this.#wheel.schedule(this, RETRY_SECONDS);
    });
    return 0;
  }

  /** While the store refuses, one attempt is enough to know. */
  async #tryAgain(): Promise<void> {
    let isTaking = true;
    for (let count = 1; isTaking && this.#refused.size > 0; count = ATTEMPTS_AT_ONCE) {
      const changes = [...this.#refused].slice(0, count);
      const areTaken = await Promise.all(changes.map((change) => this.#isTaken(change)));
      isTaking = areTaken.every((isTaken) => isTaken);
    }
  }

  /** @returns false when the store refuses it again. */
  async #isTaken(change: StoreChange): Promise<boolean> {
    this.#refused.delete(change);
    if (change.session.hasEnded) return true;
    try {
      await change.attempt();
    } catch (error) {
      if (isElsewhere(error)) {
        this.#lost(change.session);
        return true;
      }
      // Reported the first time. Behind the others: what is refused for a reason of its own holds up no other change.
      this.#refused.add(change);
      return false;
    }
    change.done();
    return true;
  }
}
