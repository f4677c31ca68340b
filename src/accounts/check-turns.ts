/**
 * Whose password is checked next. Tenants take turns, and so do the accounts of a tenant: whoever sends wrong passwords for one holds up that one, not the
 * logins of all.
 */
import { refusedBy } from '../model/errors.ts';
import type { Refusals } from '../model/refusals.ts';

/** Slow checks under way at once; more wait until one ends. Each takes 16 MiB. */
const CHECKS_MAX = 8;
/** Checks that wait for one of these; above it nobody knows whether a password is right. */
const WAITING_MAX = 10_000;
/** Of one account: its passwords are all different, since who sends the same one waits for the same check. */
const WAITING_OF_ACCOUNT_MAX = 100;
export const CHECKS_WAITING = 'authentication/checks-waiting';
export const CHECKS_OF_ACCOUNT = 'authentication/checks-of-account';

interface Waiting { readonly begin: () => void; readonly refuse: (error: Error) => void }

interface WaitingOfTenant { count: number; readonly accounts: Map<string, Waiting[]> }

export class CheckTurns {
  readonly #refusals: Refusals;
  readonly #waitingMax: number;
  #running = 0;
  #count = 0;
  /** Who has waited longest for a turn comes first. */
  readonly #tenants = new Map<number, WaitingOfTenant>();

  constructor(options: { readonly refusals: Refusals; readonly waitingMax?: number | undefined }) {
    this.#refusals = options.refusals;
    this.#waitingMax = options.waitingMax ?? WAITING_MAX;
  }

  /**
   * Waits for a turn; `end` is to be called afterwards.
   * @throws PlatformError `general/busy` when too many wait: of this account, or of all, for the newest of the tenant and account that have most.
   */
  async begin(tenant: number, account: string): Promise<void> {
    if (this.#running < CHECKS_MAX) {
      this.#running += 1;
      return;
    }
    const ofTenant = this.#tenants.get(tenant);
    if ((ofTenant?.accounts.get(account)?.length ?? 0) >= WAITING_OF_ACCOUNT_MAX) {
      this.#refusals.count(CHECKS_OF_ACCOUNT);
      throw refusedBy(CHECKS_OF_ACCOUNT);
    }
    await new Promise<void>((begin, refuse) => {
      this.#add(tenant, account, { begin, refuse });
      if (this.#count > this.#waitingMax) this.#refuseOne(tenant, account);
    });
  }

  /** A check is over: the next one has its place. */
  end(): void {
    const next = this.#next();
    if (next === undefined) this.#running -= 1;
    else next.begin();
  }

  #add(tenant: number, account: string, waiting: Waiting): void {
    let ofTenant = this.#tenants.get(tenant);
    if (ofTenant === undefined) this.#tenants.set(tenant, ofTenant = { count: 0, accounts: new Map() });
    const ofAccount = ofTenant.accounts.get(account);
    if (ofAccount === undefined) ofTenant.accounts.set(account, [waiting]);
    else ofAccount.push(waiting);
    ofTenant.count += 1;
    this.#count += 1;
  }

  #next(): Waiting | undefined {
    for (const [tenant, { accounts }] of this.#tenants) {
      for (const [account, [first]] of accounts) {
        this.#remove(tenant, account, 0);
        return first;
      }
    }
    return undefined;
  }

  /** The newest of the account with most, in the tenant with most; of equal ones that of the newcomer. */
  #refuseOne(newTenant: number, newAccount: string): void {
    const tenant = largest(this.#tenants, newTenant, ({ count }) => count);
    const { accounts } = this.#tenants.get(tenant) as WaitingOfTenant;
    const account = largest(accounts, tenant === newTenant ? newAccount : undefined, ({ length }) => length);
    const waiting = accounts.get(account) as Waiting[];
    const newest = waiting[waiting.length - 1];
    this.#remove(tenant, account, waiting.length - 1);
    this.#refusals.count(CHECKS_WAITING);
    newest.refuse(refusedBy(CHECKS_WAITING));
  }

  /** @param index the first one, which has its turn now, or the newest one, which does not wait any more. */
  #remove(tenant: number, account: string, index: number): void {
    const ofTenant = this.#tenants.get(tenant) as WaitingOfTenant;
    const waiting = ofTenant.accounts.get(account) as Waiting[];
    waiting.splice(index, 1);
    ofTenant.count -= 1;
    this.#count -= 1;
    const hasTurn = index === 0;
    // At the end again, after all others.
    if (hasTurn || waiting.length === 0) ofTenant.accounts.delete(account);
    if (hasTurn && waiting.length > 0) ofTenant.accounts.set(account, waiting);
    if (hasTurn || ofTenant.count === 0) this.#tenants.delete(tenant);
    if (hasTurn && ofTenant.count > 0) this.#tenants.set(tenant, ofTenant);
  }
}

/** The key with the largest value; of equal ones `preferred`. */
function largest<Key, Value>(map: ReadonlyMap<Key, Value>, preferred: Key | undefined, sizeOf: (value: Value) => number): Key {
  let found = preferred;
  let size = preferred === undefined ? -1 : sizeOf(map.get(preferred) as Value);
  for (const [key, value] of map) {
    if (sizeOf(value) <= size) continue;
    found = key;
    size = sizeOf(value);
  }
  return found as Key;
}
