/**
 * Login tokens (docs/spec/login.md#tokens): JSON web tokens that carry who, until when, and which generation of the
 * user's credentials. A token ends with its time, a logout, a logout of the whole tenant, a new password, and when its
 * user is disabled or deleted; that of a device which came by a certificate also when this is revoked, or trusted no
 * more.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { SignJWT, errors, jwtVerify } from 'jose';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import type { AskedBy } from '../../model/commands/command.ts';
import type { CommandPort } from '../../ports/command-port.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import { userPut, type UserPut } from '../../model/commands/users.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { Refusals } from '../../ports/refusals.ts';
import { isStillTrusted } from '../certificates/certificates.ts';
import type { ChangedUsers } from '../users/changed-users.ts';
import { principalOf } from '../users/effective-rights.ts';
import { isActive, isAdmitted, suspendedError } from '../tenants/tenants.ts';
import type { Tenants } from '../tenants/tenants.ts';
import type { SigningKey } from './signing-key.ts';
import { changeRecords, retried, tryChange } from '../../records/records.ts';

/** 2 weeks: cookies and access tokens. Options may shorten it down to the minimum. */
export const TOKEN_SECONDS = 1_209_600;
export const TOKEN_SECONDS_MIN = 300;
/** Of devices that come by certificates (option `oauth.internal/device-token.lifespan.seconds`). */
export const DEVICE_TOKEN_SECONDS = 3_600;
/** Longer ones are not looked at. */
const TOKEN_LENGTH_MAX = 4_096;
/** Logouts of one user that are remembered until their tokens end; one more ends all tokens of the user. */
export const REVOCATIONS_OF_USER_MAX = 100;
/**
 * Clocks of two nodes may differ by this. A token of the node ahead is good at once, though it begins later there; and
 * a logout is kept longer than its token, since a node behind takes this token longer.
 */
const CLOCK_DIFFERENCE_SECONDS = 3_600;
/** A tenant's record in `tokenRevocation`; those of users have a line feed. */
const ALL_USERS = '*';
const ALGORITHM = 'HS256';

export interface IssuedToken {
  readonly token: string;
  readonly xsrfToken: string;
  readonly expiresAt: number;
}

interface Claims {
  sub: string;
  ten: string;
  jti: string;
  exp: number;
  xsrfToken: string;
  gen: number;
  tgen: number;
  /** Of a device: fingerprint of the trusted certificate, serial numbers from its own up to that. */
  crt?: string;
  srl?: readonly string[];
}

export interface TokensOptions {
  readonly documents: DocumentReader;
  readonly commands: CommandPort;
  readonly tenants: Pick<Tenants, 'byId' | 'byNumber'>;
  readonly key: SigningKey;
  readonly changed: Pick<ChangedUsers, 'generation'>;
  readonly refusals: Refusals;
  readonly now: () => number;
}

const revocationKey = (userName: string, id: string): string => `${userName}\n${id}`;
const random = (): string => randomBytes(16).toString('base64url');

export class Tokens {
  readonly #options: TokensOptions;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /**
   * @param login as it was checked. @param audience the domain that was called. @param withCode whether a one-time code
   * was shown.
   * @returns undefined when the user may not log in any more, or what was checked has changed meanwhile (the password).
   */
  async issue(
    login: Pick<
      Principal,
      'tenant' | 'tenantNumber' | 'userName' | 'tokenGeneration' | 'certificate' | 'certificateSerials'
    >,
    lifetimeSeconds: number,
    audience: string,
    withCode = false,
  ): Promise<IssuedToken | undefined> {
    const { tenant, tenantNumber, userName, tokenGeneration = 0, certificate, certificateSerials = [] } = login;
    const user = await this.#user(tenantNumber, userName);
    if (
      user === undefined ||
      !isAdmitted(this.#options.tenants, user) ||
      (user.tokenGeneration ?? 0) !== tokenGeneration
    )
      return undefined;
    const issuedAt = Math.floor(this.#options.now() / 1_000);
    const expiresAt = issuedAt + lifetimeSeconds;
    const xsrfToken = random();
    const claims = {
      ten: tenant,
      xsrfToken,
      tfa: withCode,
      gen: tokenGeneration,
      tgen: await this.#tenantGeneration(tenantNumber),
      ...(certificate === undefined ? {} : { crt: certificate, srl: certificateSerials }),
    };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setSubject(userName)
      .setIssuer(audience)
      .setAudience(audience)
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(expiresAt)
      .setJti(random())
      .sign(await this.#options.key.read());
    return { token, xsrfToken, expiresAt: expiresAt * 1_000 };
  }

  /**
   * @returns undefined when it is not a token of this server, or has ended. @throws PlatformError `login/tenant-suspended` for
   * one that would be good otherwise.
   */
  async authenticate(token: string): Promise<Principal | undefined> {
    if (token.length > TOKEN_LENGTH_MAX || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
    const claims = await this.#verified(token);
    const tenant = claims === undefined ? undefined : this.#options.tenants.byId(claims.ten);
    if (claims === undefined || tenant === undefined) return undefined;
    const asOf = this.#options.changed.generation;
    const user = await this.#user(tenant.number, claims.sub);
    if (user === undefined || !isAdmitted(this.#options.tenants, user) || (user.tokenGeneration ?? 0) !== claims.gen)
      return undefined;
    if ((await this.#tenantGeneration(tenant.number)) !== claims.tgen) return undefined;
    const { documents, refusals } = this.#options;
    if ((await documents.get('tokenRevocation', tenant.number, revocationKey(claims.sub, claims.jti))) !== undefined)
      return undefined;
    if (claims.crt !== undefined && !(await isStillTrusted(documents, tenant.number, claims.crt, claims.srl ?? [])))
      return undefined;
    if (!isActive(tenant)) throw suspendedError(tenant, refusals);
    const principal = await principalOf(documents, tenant, user, refusals);
    return {
      ...principal,
      asOf,
      session: { id: claims.jti, expiresAt: claims.exp * 1_000, xsrfToken: claims.xsrfToken },
    };
  }

  /** Ends the token of the principal. Two sessions that log out at once may both want to forget one logout of before. */
  revoke(principal: Principal): Promise<void> {
    return retried(this.#options, () => this.#revokeOnce(principal));
  }

  /** @throws PlatformError `general/changed-meanwhile`. */
  async #revokeOnce({ tenantNumber, userName, session }: Principal): Promise<void> {
    if (session === undefined) return;
    const rows = await this.#options.documents.list('tokenRevocation', tenantNumber, `${userName}\n`, {
      limit: 2 * REVOCATIONS_OF_USER_MAX,
    });
    const now = this.#options.now();
    const ended = rows
      .map((row) => ({ ...row, expiresAt: (JSON.parse(row.value) as { expiresAt: number }).expiresAt }))
      .filter(({ expiresAt }) => expiresAt <= now)
      .sort((one, other) => other.expiresAt - one.expiresAt);
    const forgotten = ended.filter(
      ({ expiresAt }, index) => expiresAt + CLOCK_DIFFERENCE_SECONDS * 1_000 <= now || index >= REVOCATIONS_OF_USER_MAX,
    );
    if (rows.length - ended.length >= REVOCATIONS_OF_USER_MAX) {
      this.#options.refusals.count('accounts/logouts-of-user', { tenant: tenantNumber, user: userName });
      const body: UserPut = { userName, endsTokens: true, mustExist: true };
      await this.#options.commands.request(userPut(tenantNumber, now, body));
      return;
    }
    const id = revocationKey(userName, session.id);
    if (rows.some((row) => row.id === id)) return;
    await changeRecords(this.#options, tenantNumber, [
      ...forgotten.map((row) => ({
        collection: 'tokenRevocation' as const,
        id: row.id,
        expected: row.value,
        value: undefined,
      })),
      {
        collection: 'tokenRevocation',
        id,
        expected: undefined,
        value: JSON.stringify({ expiresAt: session.expiresAt }),
      },
    ]);
  }

  /** Ends all tokens of a tenant. */
  async revokeAll(tenantNumber: number, by: AskedBy): Promise<void> {
    const expected = await this.#options.documents.get('tokenRevocation', tenantNumber, ALL_USERS);
    const value = JSON.stringify({ generation: generationOf(expected) + 1 });
    const activity = 'All users logged out';
    // False: another request has done it since this was asked for.
    await tryChange(
      this.#options,
      tenantNumber,
      [{ collection: 'tokenRevocation', id: ALL_USERS, expected, value }],
      [{ type: 'User', activity, text: `${activity}: the tokens of all users of the tenant have ended`, ...by }],
    );
  }

  async #verified(token: string): Promise<Claims | undefined> {
    try {
      const now = this.#options.now();
      const { payload } = await jwtVerify(token, await this.#options.key.read(), {
        algorithms: [ALGORITHM],
        currentDate: new Date(now),
        clockTolerance: CLOCK_DIFFERENCE_SECONDS,
        requiredClaims: ['sub', 'ten', 'jti', 'exp', 'gen', 'tgen', 'xsrfToken'],
      });
      // The difference counts for the beginning only.
      return payload.exp! * 1_000 > now ? (payload as unknown as Claims) : undefined;
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  async #user(tenant: number, userName: string): Promise<StoredUser | undefined> {
    const text = await this.#options.documents.get('user', tenant, userName);
    return text === undefined ? undefined : (JSON.parse(text) as StoredUser);
  }

  /**
   * Whether the certificate that the token was given for is not revoked and leads to one that is still enabled; true
   * for tokens of passwords.
   */
  async #tenantGeneration(tenant: number): Promise<number> {
    return tenantGeneration(this.#options.documents, tenant);
  }
}

/** Grows with each logout of all users of the tenant: it ends the tokens of the former one. */
export const tenantGeneration = async (documents: Pick<DocumentReader, 'get'>, tenant: number): Promise<number> =>
  generationOf(await documents.get('tokenRevocation', tenant, ALL_USERS));

const generationOf = (text: string | undefined): number =>
  text === undefined ? 0 : (JSON.parse(text) as { generation: number }).generation;

/** Compares secrets in a time that does not tell how much of them is right. */
export function isSameSecret(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
