/**
 * Login attempts in the audit log (docs/spec/audit.md#records-of-the-server): each slow check of a password is one. The
 * first failed one of a user is written at once, all others of the same minute as one record with their number.
 * Bounded, since anybody may try: what is beyond is counted, not written. Successful ones are written for people only,
 * and now and then: a session with Basic is checked again and again.
 */
import { LRUCache } from 'lru-cache';
import { upTo } from '../../pacing/lru-bound.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import { DEVICE_USER_PREFIX } from '../../model/entities/device-request.ts';
import type { Log } from '../../ports/log.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { writeAudit } from '../../records/records.ts';

/** Names whose failed attempts are written in a minute: two records each at most. */
export const FAILED_USERS_MAX = 150;
const MINUTE_MS = 60_000;
/** Between two successful ones of a user. */
export const SUCCESS_PAUSE_MS = 3_600_000;
/** Users that are remembered for it. */
const USERS_MAX = 20_000;
/** Characters of a name that is repeated. */
const NAME_LENGTH_MAX = 200;
/** Name of the limit in counters. */
export const LOGIN_AUDIT_LIMIT = 'audit/login-attempts';

export interface LoginAuditOptions {
  readonly commands: CommandPort;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly now: () => number;
}

export class LoginAudit {
  readonly #options: LoginAuditOptions;
  /** Of the minute that began with the first one: further failed attempts by tenant and name. */
  readonly #failures = new Map<string, { readonly tenant: number; readonly name: string; further: number }>();
  /** Runs while `failures` has a minute under way. */
  #timer: NodeJS.Timeout | undefined;
  /** When the last one was written. */
  readonly #successes = new LRUCache<string, number>(upTo(USERS_MAX));

  constructor(options: LoginAuditOptions) {
    this.#options = options;
  }

  /** A password was checked. Returns at once; the record is written behind. */
  attempted(tenant: number, userName: string, isRight: boolean): void {
    const name = userName.slice(0, NAME_LENGTH_MAX);
    if (!(isRight ? this.#takesSuccess(`${tenant}/${name}`, name) : this.#takesFailure(tenant, name))) return;
    this.#write(tenant, {
      type: 'UserAuthentication',
      user: name,
      source: name,
      activity: isRight ? 'Login' : 'Login failed',
      severity: isRight ? 'INFORMATION' : 'MINOR',
      text: isRight ? `User '${name}' logged in` : `Login of user '${name}' failed`,
    });
  }

  /** @returns whether it is the first one of the name within the minute. */
  #takesFailure(tenant: number, name: string): boolean {
    const user = `${tenant}/${name}`;
    const known = this.#failures.get(user);
    if (known !== undefined) {
      known.further += 1;
      return false;
    }
    if (this.#failures.size >= FAILED_USERS_MAX) {
      this.#options.refusals.count(LOGIN_AUDIT_LIMIT, { tenant, user: name });
      return false;
    }
    if (this.#failures.size === 0) this.#timer = setTimeout(() => this.flush(), MINUTE_MS).unref();
    this.#failures.set(user, { tenant, name, further: 0 });
    return true;
  }

  /**
   * Writes the numbers of the minute, which ends: by its time, or because the server stops. The commands are sent when
   * it returns.
   */
  flush(): void {
    clearTimeout(this.#timer);
    for (const { tenant, name, further } of this.#failures.values()) {
      if (further === 0) continue;
      const text =
        further === 1
          ? `Another login of user '${name}' failed within a minute`
          : `${further} further logins of user '${name}' failed within a minute`;
      this.#write(tenant, {
        type: 'UserAuthentication',
        user: name,
        source: name,
        activity: 'Login failed',
        severity: 'MINOR',
        text,
      });
    }
    this.#failures.clear();
  }

  #takesSuccess(user: string, name: string): boolean {
    if (name.startsWith(DEVICE_USER_PREFIX)) return false;
    const now = this.#options.now();
    const last = this.#successes.get(user);
    if (last !== undefined && now - last < SUCCESS_PAUSE_MS) return false;
    this.#successes.set(user, now);
    return true;
  }

  #write(tenant: number, entry: AuditEntry): void {
    const { log } = this.#options;
    writeAudit(this.#options, tenant, entry).catch((error: Error) =>
      log.warn(
        { err: error, user: entry.user, activity: entry.activity },
        'a login attempt could not be written into the audit log',
      ),
    );
  }
}
