/** Credentials in a message's `ext`, for clients that cannot set headers (docs/spec/realtime.md#authentication). */
import { PlatformError } from '../../model/errors.ts';
import type { Authenticator, LoginCaller, LoginPlace, Principal } from '../../model/access/principal.ts';
import { memberOf } from './message.ts';
import type { Request } from './message.ts';

/** Checks a token that does not hold user and password (a JWT). */
export interface TokenAuthenticator {
  authenticateToken(token: string): Principal | undefined | Promise<Principal | undefined>;
}

export interface MessageAuthenticators {
  readonly authenticator: Authenticator;
  readonly tokenAuthenticator: TokenAuthenticator | undefined;
  /**
   * What the host that was called says where no tenant stands before the name. @throws PlatformError 403 when it begins
   * with the id of a tenant.
   */
  readonly placeOf: ((host: string) => LoginPlace) | undefined;
  /** Whether the tenant takes user and password from clients with this header User-Agent. */
  readonly mayUseBasic: ((tenantNumber: number, userAgent: string) => boolean) | undefined;
}

/**
 * What a message shows, under which name its connection called the server, and its User-Agent; '' when it did not say.
 */
export interface MessageLogin {
  readonly token: string;
  readonly tfaToken: string;
  readonly host: string;
  readonly userAgent: string;
  readonly caller?: LoginCaller | undefined;
}

const EXTENSIONS = ['com.platform.authn', 'com.cumulocity.authn'];

/** Longer tokens are not looked at. */
const TOKEN_LENGTH_MAX = 16_384;

/** @returns the token of a message, without a leading word `Basic` or `Bearer`, or undefined. */
export function tokenOf(request: Request): string | undefined {
  for (const name of EXTENSIONS) {
    const token = memberOf(memberOf(request.ext, name), 'token');
    if (typeof token === 'string' && token !== '' && token.length <= TOKEN_LENGTH_MAX)
      return token.replace(/^(basic|bearer)\s+/i, '');
  }
  return undefined;
}

/** @returns the token against foreign pages of a message, for sessions with a cookie; '' when there is none. */
export function xsrfTokenOf(request: Request): string {
  for (const name of EXTENSIONS) {
    const token = memberOf(memberOf(request.ext, name), 'xsrfToken');
    if (typeof token === 'string' && token !== '' && token.length <= TOKEN_LENGTH_MAX) return token;
  }
  return '';
}

/** @returns what stands for a one-time code beside user and password; '' when there is none. */
export function tfaTokenOf(request: Request): string {
  for (const name of EXTENSIONS) {
    const token = memberOf(memberOf(request.ext, name), 'tfa');
    if (typeof token === 'string' && token !== '' && token.length <= TOKEN_LENGTH_MAX) return token;
  }
  return '';
}

/**
 * As a request with the same in its headers: people may use their alias, and the host names the tenant
 * (docs/spec/login.md#basic).
 * @returns the principal, first by user and password, then by the token as a whole; undefined when neither is right.
 * @throws PlatformError what a login is refused with, and 403 for the id of a tenant as subdomain.
 */
export async function authenticateToken(
  { token, tfaToken, host, userAgent, caller }: MessageLogin,
  authenticators: MessageAuthenticators,
): Promise<Principal | undefined> {
  const credentials = credentialsOf(token);
  if (credentials !== undefined) {
    const { userName, password } = credentials;
    const place: LoginPlace = {
      ...(userName.includes('/') ? {} : authenticators.placeOf?.(host)),
      takesAlias: true,
      tfaToken,
      ...(caller === undefined ? {} : { caller }),
    };
    const principal = await authenticators.authenticator.authenticate(userName, password, place);
    if (principal !== undefined && authenticators.mayUseBasic?.(principal.tenantNumber, userAgent) === false)
      throw new PlatformError('login/basic-forbidden');
    if (principal !== undefined) return principal;
  } else {
    authenticators.placeOf?.(host);
  }
  return authenticators.tokenAuthenticator?.authenticateToken(token);
}

/** Base64 of `tenant/user:password`: the first colon separates, a password may hold more. */
function credentialsOf(token: string): { userName: string; password: string } | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(token)) return undefined;
  const text = Buffer.from(token, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 1 ? undefined : { userName: text.slice(0, colon), password: text.slice(colon + 1) };
}
