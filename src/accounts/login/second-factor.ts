/**
 * Two-factor authentication with one-time codes: who needs a code, whether it is right, and what stands for it
 * afterwards. Guessing is held up and a code is good for one login; both are in the record of the user, so that they
 * hold on every node and after a restart.
 */
import { randomBytes } from 'node:crypto';
import { SignJWT, errors, jwtVerify } from 'jose';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { DEVICE_USER_PREFIX } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers } from '../../model/documents/json-document.ts';
import type { Log } from '../../ports/log.ts';
import type { SecondFactorNeed } from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import { groupsOf } from '../users/effective-rights.ts';
import type { TextCipher } from '../options/cipher.ts';
import { optionKey } from '../options/options.ts';
import type { SigningKey } from './signing-key.ts';
import { newSecret, stepOfCode } from './totp.ts';
import { changeRecords, retried } from '../../records/records.ts';

/** Wrong codes within the time that lock; each came with the right password. */
const WRONG_CODES_MAX = 5;
const WRONG_CODES_WINDOW_MS = 5 * 60_000;
/** 480 guesses a day, of which three in a million are right at a time. */
const CODE_LOCK_MS = 15 * 60_000;
/** Name of the limit in answers, log and counters. */
export const CODES_LIMIT = 'accounts/tfa-codes';
export const TFA_CATEGORY = 'two-factor-authentication';
/** A token that stands for a code, for clients with Basic: the option `token.validity`, in minutes. */
const TOKEN_MINUTES = { otherwise: 20, maximum: 20_160 } as const;
const TOKEN_LENGTH_MAX = 4_096;
const RECORDS = 'totp';

/** In the collection `totp`, by user name. */
export interface StoredTotp {
  /** Another one for each secret: tokens carry it. */
  readonly id: string;
  /** See accounts/options/cipher.ts. */
  readonly encrypted: string;
  /** Whether logging in takes a code. */
  readonly isActive: boolean;
  /** A code of it was right once: the app has it. */
  readonly isVerified: boolean;
  /** The latest step whose code was used to log in. */
  readonly lastStep?: number;
  /** ms since 1970. */
  readonly lastUsedAt?: number;
  readonly wrongCodes?: number;
  readonly wrongSince?: number;
  readonly lockedUntil?: number;
}

export type CodeResult =
  | { readonly kind: 'RIGHT' | 'WRONG' | 'USED' | 'NO_SECRET' }
  | { readonly kind: 'LOCKED'; readonly seconds: number };

export interface SecondFactorOptions {
  readonly documents: DocumentReader;
  readonly commands: CommandPort;
  readonly key: SigningKey;
  readonly refusals: Refusals;
  readonly log: Log;
  readonly now: () => number;
}

const placeOf = (tenant: number, userName: string): string => `${tenant}\n${RECORDS}\n${userName}`;

/**
 * No user of a device or a microservice can type a code. A microservice's user is known by what the server wrote into
 * its record, whatever its name; a device's by its name (docs/spec/users.md#fields), which is a person's when an administrator
 * made the user by hand, or its own field asks for a second factor.
 */
export const isPerson = (user: Pick<StoredUser, 'userName' | 'roles' | 'doc' | 'service' | 'isPerson'>): boolean =>
  user.service === undefined &&
  !user.roles.includes(BOOTSTRAP_ROLE) &&
  (!user.userName.startsWith(DEVICE_USER_PREFIX) || user.isPerson === true || isRequiredOf(user));

export class SecondFactor {
  readonly #options: SecondFactorOptions;

  constructor(options: SecondFactorOptions) {
    this.#options = options;
  }

  async read(tenant: number, userName: string): Promise<StoredTotp | undefined> {
    const text = await this.#options.documents.get(RECORDS, tenant, userName);
    return text === undefined ? undefined : (JSON.parse(text) as StoredTotp);
  }

  /** What the user lacks after a right password; undefined for nothing. */
  async need(tenant: number, user: StoredUser): Promise<SecondFactorNeed | undefined> {
    if (!isPerson(user)) return undefined;
    if ((await this.read(tenant, user.userName))?.isActive === true) return 'CODE';
    return (await this.isForced(tenant, user)) ? 'SETUP' : undefined;
  }

  /**
   * By the user's own field, the option `enforced` of the tenant, or `enforced.group`: the name of a group whose
   * members have to.
   */
  async isForced(tenant: number, user: StoredUser): Promise<boolean> {
    if (!isPerson(user)) return false;
    if (isRequiredOf(user)) return true;
    const [enforced, group] = await Promise.all([
      this.#option(tenant, 'enforced'),
      this.#option(tenant, 'enforced.group'),
    ]);
    if (enforced === 'true') return true;
    return (
      group !== undefined &&
      group !== '' &&
      (await groupsOf(this.#options.documents, tenant, user)).some(({ name }) => name === group)
    );
  }

  /**
   * A new secret that is not asked for yet; it replaces one that was never activated. @throws PlatformError 409 for an
   * active one.
   */
  async begin(tenant: number, userName: string, cipher: TextCipher): Promise<string> {
    const secret = newSecret();
    await this.#update(tenant, userName, (old) => {
      if (old?.isActive === true) throw new PlatformError('users/totp-active', { id: userName });
      return {
        id: randomBytes(9).toString('base64url'),
        encrypted: cipher.encrypt(secret, placeOf(tenant, userName)),
        isActive: false,
        isVerified: false,
        // A new secret gives no new guesses.
        ...(old?.lockedUntil === undefined ? {} : { lockedUntil: old.lockedUntil }),
      };
    });
    return secret;
  }

  /**
   * From now on logging in takes a code. @throws PlatformError 404 without a secret, 422 when no code of it was shown.
   */
  async activate(tenant: number, userName: string): Promise<void> {
    await this.#update(
      tenant,
      userName,
      (old) => {
        if (old === undefined) throw new PlatformError('users/totp-missing', { id: userName });
        if (!old.isVerified) throw new PlatformError('users/totp-not-verified');
        return { ...old, isActive: true };
      },
      {
        type: 'User',
        activity: 'Two-factor authentication set up',
        text: `User '${userName}' logs in with one-time codes`,
        user: userName,
        source: userName,
      },
    );
  }

  /**
   * Takes the secret away; nothing happens when there is none. @param by of who does it, for the audit log; undefined
   * for a secret never used.
   */
  async revoke(tenant: number, userName: string, by: string | undefined): Promise<void> {
    await this.#update(
      tenant,
      userName,
      () => undefined,
      by === undefined
        ? undefined
        : {
            type: 'User',
            activity: 'Two-factor authentication revoked',
            text: `The secret of user '${userName}' was revoked`,
            user: by,
            source: userName,
          },
    );
  }

  /**
   * Whether the code is right now. One of an active secret is used up by it; the first one, which only shows that the
   * app has the secret, is not.
   */
  async useCode(tenant: number, userName: string, code: string, cipher: TextCipher): Promise<CodeResult> {
    const { now, refusals, log } = this.#options;
    const time = now();
    let result = { kind: 'NO_SECRET' } as CodeResult;
    const wrong: AuditEntry = {
      type: 'UserAuthentication',
      activity: 'Login failed',
      severity: 'MINOR',
      user: userName,
      source: userName,
      text: `A one-time code of user '${userName}' was wrong`,
    };
    await this.#update(
      tenant,
      userName,
      (old) => {
        if (old === undefined) return undefined;
        const leftMs = (old.lockedUntil ?? 0) - time;
        if (leftMs > 0) {
          result = { kind: 'LOCKED', seconds: Math.ceil(leftMs / 1_000) };
          return old;
        }
        const { wrongCodes, wrongSince, lockedUntil: _, ...others } = old;
        const step = stepOfCode(cipher.decrypt(old.encrypted, placeOf(tenant, userName)), code, time);
        if (step === undefined) {
          result = { kind: 'WRONG' };
          const isRecent = wrongSince !== undefined && time - wrongSince < WRONG_CODES_WINDOW_MS;
          const count = (isRecent ? (wrongCodes ?? 0) : 0) + 1;
          if (count >= WRONG_CODES_MAX) return { ...others, lockedUntil: time + CODE_LOCK_MS };
          return { ...others, wrongCodes: count, wrongSince: isRecent ? wrongSince : time };
        }
        if (step <= (old.lastStep ?? -1)) {
          result = { kind: 'USED' };
          return old;
        }
        result = { kind: 'RIGHT' };
        return { ...others, isVerified: true, ...(old.isActive ? { lastStep: step, lastUsedAt: time } : {}) };
      },
      () => (result.kind === 'WRONG' ? wrong : undefined),
    );
    if (result.kind === 'LOCKED') refusals.count(CODES_LIMIT, { tenant, user: userName });
    else if (result.kind === 'WRONG' && ((await this.read(tenant, userName))?.lockedUntil ?? 0) > time) {
      const details = { tenantNumber: tenant, userName, lockMs: CODE_LOCK_MS, limit: CODES_LIMIT };
      log.warn(details, 'logging in is locked for a while after too many wrong one-time codes');
    }
    return result;
  }

  /**
   * A token that stands for a code beside the password, for clients with Basic; good with this secret only. @returns
   * undefined without one.
   */
  async issueToken(tenant: number, userName: string): Promise<string | undefined> {
    const totp = await this.read(tenant, userName);
    if (totp?.isActive !== true) return undefined;
    const sent = Number((await this.#option(tenant, 'token.validity')) ?? NaN);
    const minutes =
      Number.isInteger(sent) && sent >= 1 ? Math.min(sent, TOKEN_MINUTES.maximum) : TOKEN_MINUTES.otherwise;
    const issuedAt = Math.floor(this.#options.now() / 1_000);
    return new SignJWT({ tnr: tenant, totp: totp.id })
      .setProtectedHeader({ alg: 'HS256', typ: 'TFA' })
      .setSubject(userName)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + minutes * 60)
      .sign(await this.#options.key.read());
  }

  /** Whether the token was issued for the user, with the secret that it has now. */
  async takesToken(tenant: number, userName: string, token: string): Promise<boolean> {
    if (token.length > TOKEN_LENGTH_MAX || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return false;
    try {
      const { payload } = await jwtVerify(token, await this.#options.key.read(), {
        algorithms: ['HS256'],
        typ: 'TFA',
        currentDate: new Date(this.#options.now()),
        requiredClaims: ['sub', 'exp', 'tnr', 'totp'],
      });
      const totp = await this.read(tenant, userName);
      return (
        payload.sub === userName && payload['tnr'] === tenant && totp?.isActive === true && payload['totp'] === totp.id
      );
    } catch (error) {
      if (error instanceof errors.JOSEError) return false;
      throw error;
    }
  }

  async #option(tenant: number, key: string): Promise<string | undefined> {
    const text = await this.#options.documents.get('option', tenant, optionKey(TFA_CATEGORY, key));
    return text === undefined ? undefined : (JSON.parse(text) as { value?: string }).value;
  }

  /**
   * Compare and set, with the audit record in the same command; `decide` is asked again when another writer was faster.
   */
  async #update(
    tenant: number,
    userName: string,
    decide: (old: StoredTotp | undefined) => StoredTotp | undefined,
    audit?: AuditEntry | (() => AuditEntry | undefined),
  ): Promise<void> {
    await retried(this.#options, async () => {
      const expected = await this.#options.documents.get(RECORDS, tenant, userName);
      const next = decide(expected === undefined ? undefined : (JSON.parse(expected) as StoredTotp));
      const value = next === undefined ? undefined : JSON.stringify(next);
      if (value === expected) return;
      const entry = typeof audit === 'function' ? audit() : audit;
      const audits = entry === undefined ? [] : [entry];
      await changeRecords(this.#options, tenant, [{ collection: RECORDS, id: userName, expected, value }], audits);
    });
  }
}

/** The field of the user. */
export const isRequiredOf = (user: Pick<StoredUser, 'doc'>): boolean =>
  user.doc.includes('"twoFactorAuthenticationEnabled"') &&
  splitMembers(user.doc).get('twoFactorAuthenticationEnabled') === 'true';

/** What the answer to a login without its second factor is. */
export const secondFactorError = (need: SecondFactorNeed): PlatformError =>
  new PlatformError(need === 'CODE' ? 'login/tfa-code-required' : 'login/tfa-setup-required');

/** Whether a change of the record changes what logging in takes: then remembered credentials are looked at again. */
export function changesNeed(expected: string | undefined, value: string | undefined): boolean {
  const idIfActive = (text: string | undefined): string | undefined => {
    const totp = text === undefined ? undefined : (JSON.parse(text) as StoredTotp);
    return totp?.isActive === true ? totp.id : undefined;
  };
  return idIfActive(expected) !== idIfActive(value);
}
