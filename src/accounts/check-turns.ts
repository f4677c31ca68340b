/** Turns of checks of passwords: who sends wrong passwords for one account delays that one, not the logins of others. */
import type { Refusals } from '../model/refusals.ts';
import { Turns } from '../model/turns.ts';

/** Slow checks under way at once; more wait until one ends. Each takes 16 MiB. */
const CHECKS_MAX = 8;
/** Checks that wait for one of these; further ones are refused unchecked. */
const WAITING_MAX = 10_000;
/** Of one account: its passwords are all different, since clients that send the same one wait for the same check. */
const WAITING_OF_ACCOUNT_MAX = 100;
export const CHECKS_WAITING = 'authentication/checks-waiting';
export const CHECKS_OF_ACCOUNT = 'authentication/checks-of-account';

export class CheckTurns {
  readonly #turns: Turns;

  constructor({ refusals, waitingMax = WAITING_MAX }: { readonly refusals: Refusals; readonly waitingMax?: number | undefined }) {
    this.#turns = new Turns({
      refusals, running: { all: CHECKS_MAX }, waiting: { all: waitingMax, ofUser: WAITING_OF_ACCOUNT_MAX },
      limits: { all: CHECKS_WAITING, ofUser: CHECKS_OF_ACCOUNT },
    });
  }

  /**
   * Waits for a turn; call `end` afterwards.
   * @param signal ends the wait of a client that has left: the promise rejects with its reason.
   * @throws PlatformError `general/busy` when too many wait: of this account, or of all, for the newest of the tenant and account that have most.
   */
  async begin(tenant: number, account: string, signal?: AbortSignal): Promise<void> {
    await this.#turns.begin(tenant, account, signal);
  }

  /** A check is over: the next one has its place. */
  end(tenant: number, account: string): void {
    this.#turns.end(tenant, account);
  }
}
