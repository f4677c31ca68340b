/**
 * Turns at work of which only so much may run at once: checks of passwords, queries of the history. Tenants take turns,
 * and so do the users of a tenant, so that a tenant or user with much work delays its own work and not that of others.
 */
import { refusedBy } from '../model/errors.ts';
import type { Refusals } from '../ports/refusals.ts';

export interface TurnsOptions {
  readonly refusals: Refusals;
  /**
   * What may run at once: of all, of one tenant, of one user. Keep the last two lower where running work lasts long.
   */
  readonly running: { readonly all: number; readonly ofTenant?: number; readonly ofUser?: number };
  /** What may wait. Above `all` the newest of the user with most, in the tenant with most, is refused. */
  readonly waiting: { readonly all: number; readonly ofUser: number };
  /** Longest wait for a turn, in milliseconds; without it only the other bounds end a wait. */
  readonly waitMsMax?: number;
  /** Names of the limits, as counted and told to clients. */
  readonly limits: { readonly all: string; readonly ofUser: string; readonly wait?: string };
}

interface Waiting {
  readonly begin: () => void;
  readonly refuse: (error: Error) => void;
}
interface OfUser {
  running: number;
  readonly waiting: Waiting[];
}
interface OfTenant {
  running: number;
  waiting: number;
  readonly users: Map<string, OfUser>;
}

export class Turns {
  readonly #options: TurnsOptions;
  #running = 0;
  #waiting = 0;
  /** The tenant that has waited longest for a turn comes first; its users likewise. */
  readonly #tenants = new Map<number, OfTenant>();

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  get runningCount(): number {
    return this.#running;
  }

  get waitingCount(): number {
    return this.#waiting;
  }

  /**
   * Waits for a turn; call `end` with the same tenant and user afterwards.
   * @param signal ends the wait: the promise rejects with the signal's reason.
   * @returns undefined when the work may begin at once.
   * @throws PlatformError `general/busy` when too much waits, or the wait was too long.
   */
  begin(tenant: number, user: string, signal?: AbortSignal): Promise<void> | undefined {
    signal?.throwIfAborted();
    const { running, waiting, limits } = this.#options;
    const ofTenant = this.#tenants.get(tenant);
    const ofUser = ofTenant?.users.get(user);
    // What waits now may not run: a newcomer below every bound overtakes only work that its own bounds hold back.
    if (this.#running < running.all && this.#mayRun(ofTenant, ofUser)) {
      this.#run(tenant, user);
      return undefined;
    }
    if ((ofUser?.waiting.length ?? 0) >= waiting.ofUser) throw this.#refusal(limits.ofUser, tenant, user);
    return this.#wait(tenant, user, signal);
  }

  /** The work of a turn has ended: the next one runs. */
  end(tenant: number, user: string): void {
    this.#running -= 1;
    const ofTenant = this.#tenants.get(tenant) as OfTenant;
    ofTenant.running -= 1;
    (ofTenant.users.get(user) as OfUser).running -= 1;
    this.#forget(tenant, user);
    this.#runNext();
  }

  #mayRun(ofTenant: OfTenant | undefined, ofUser: OfUser | undefined): boolean {
    const { all, ofTenant: tenantMax = all, ofUser: userMax = all } = this.#options.running;
    return (ofTenant?.running ?? 0) < tenantMax && (ofUser?.running ?? 0) < userMax;
  }

  #run(tenant: number, user: string): void {
    const [ofTenant, ofUser] = this.#held(tenant, user);
    this.#running += 1;
    ofTenant.running += 1;
    ofUser.running += 1;
  }

  #wait(tenant: number, user: string, signal: AbortSignal | undefined): Promise<void> {
    const {
      waiting: { all },
      waitMsMax,
      limits,
    } = this.#options;
    return new Promise<void>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const settled = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
      };
      const waiting: Waiting = {
        begin: () => {
          settled();
          resolve();
        },
        refuse: (error) => {
          settled();
          reject(error);
        },
      };
      const leave = (): void => {
        this.#remove(tenant, user, waiting);
        waiting.refuse(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      if (waitMsMax !== undefined) {
        timer = setTimeout(() => {
          this.#remove(tenant, user, waiting);
          waiting.refuse(this.#refusal(limits.wait ?? limits.all, tenant, user));
        }, waitMsMax);
      }
      const [ofTenant, ofUser] = this.#held(tenant, user);
      ofUser.waiting.push(waiting);
      ofTenant.waiting += 1;
      this.#waiting += 1;
      if (this.#waiting > all) this.#refuseOne(tenant, user);
    });
  }

  #runNext(): void {
    if (this.#waiting === 0 || this.#running >= this.#options.running.all) return;
    for (const [tenant, ofTenant] of this.#tenants) {
      if (ofTenant.waiting === 0) continue;
      for (const [user, ofUser] of ofTenant.users) {
        if (ofUser.waiting.length === 0 || !this.#mayRun(ofTenant, ofUser)) continue;
        const [first] = ofUser.waiting;
        this.#run(tenant, user);
        this.#remove(tenant, user, first);
        // At the end, behind all others.
        ofTenant.users.delete(user);
        ofTenant.users.set(user, ofUser);
        this.#tenants.delete(tenant);
        this.#tenants.set(tenant, ofTenant);
        first.begin();
        return;
      }
    }
  }

  /** The newest of the user with most, in the tenant with most; of equal ones that of the newcomer. */
  #refuseOne(newTenant: number, newUser: string): void {
    const tenant = largest(this.#tenants, newTenant, ({ waiting }) => waiting);
    const { users } = this.#tenants.get(tenant) as OfTenant;
    const user = largest(users, tenant === newTenant ? newUser : undefined, ({ waiting }) => waiting.length);
    const newest = (users.get(user) as OfUser).waiting.at(-1) as Waiting;
    this.#remove(tenant, user, newest);
    newest.refuse(this.#refusal(this.#options.limits.all, tenant, user));
  }

  #held(tenant: number, user: string): [OfTenant, OfUser] {
    let ofTenant = this.#tenants.get(tenant);
    if (ofTenant === undefined) this.#tenants.set(tenant, (ofTenant = { running: 0, waiting: 0, users: new Map() }));
    let ofUser = ofTenant.users.get(user);
    if (ofUser === undefined) ofTenant.users.set(user, (ofUser = { running: 0, waiting: [] }));
    return [ofTenant, ofUser];
  }

  #remove(tenant: number, user: string, waiting: Waiting): void {
    const ofTenant = this.#tenants.get(tenant) as OfTenant;
    const list = (ofTenant.users.get(user) as OfUser).waiting;
    list.splice(list.lastIndexOf(waiting), 1);
    ofTenant.waiting -= 1;
    this.#waiting -= 1;
    this.#forget(tenant, user);
  }

  #forget(tenant: number, user: string): void {
    const { running, waiting, users } = this.#tenants.get(tenant) as OfTenant;
    const ofUser = users.get(user) as OfUser;
    if (ofUser.running === 0 && ofUser.waiting.length === 0) users.delete(user);
    if (running === 0 && waiting === 0) this.#tenants.delete(tenant);
  }

  #refusal(limit: string, tenant: number, user: string): Error {
    this.#options.refusals.count(limit, { tenant, user });
    return refusedBy(limit);
  }
}

/** The key with the largest value; of equal ones `preferred`. */
function largest<Key, Value>(
  map: ReadonlyMap<Key, Value>,
  preferred: Key | undefined,
  sizeOf: (value: Value) => number,
): Key {
  let found = preferred;
  let size = preferred === undefined ? -1 : sizeOf(map.get(preferred) as Value);
  for (const [key, value] of map) {
    if (sizeOf(value) <= size) continue;
    found = key;
    size = sizeOf(value);
  }
  return found as Key;
}
