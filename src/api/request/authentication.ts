/**
 * Credentials of HTTP requests (docs/spec/login.md): Basic, or a token as Bearer or in a cookie. Remembered by
 * the header as it was sent.
 */
import { isUtf8 } from 'node:buffer';
import { decodeJwt } from 'jose';
import { isSameSecret } from '../../accounts/login/tokens.ts';
import type { Authenticator, LoginPlace, Principal } from '../../model/access/principal.ts';
import { tenantOfHost } from './login-host.ts';
import type { Accounts, Platform, TenantInfo, Tenants } from './platform.ts';

/** Headers remembered at once; the oldest is evicted first. A plain map: each request looks one up. */
const CACHE_SIZE_MAX = 10_000;
/** Asks the authenticator again after this time, even when nothing has changed. */
const CACHE_AGE_MAX_MS = 60_000;
/** Longer headers are refused: names and passwords are at most about 1,000 characters, tokens 4,096. */
const HEADER_LENGTH_MAX = 8192;
/** Stands before the token of a cookie where the header `Authorization` would be. */
const COOKIE_SCHEME = 'Cookie ';
export const TOKEN_COOKIE = 'authorization';
export const XSRF_COOKIE = 'XSRF-TOKEN';
/** With the cookie: repeats the value of `XSRF_COOKIE`. */
export const XSRF_HEADER = 'x-xsrf-token';

/** The headers that a request brings. */
export interface Credentials {
  /** '' when absent. */
  readonly authorization: string;
  readonly cookie: string;
  /** As the client or its proxy called it. */
  readonly host: string;
}

/**
 * @param tenantCalled of the host; only asked where there are several cookies: a page of another tenant's host may have
 * set one for all hosts below a common domain, and of those that are not this tenant's none stands before its own.
 * @returns what stands for `Authorization`: that header, or the token of the cookie; '' for a request without
 * credentials.
 */
export function credentialsText(
  { authorization, cookie }: Pick<Credentials, 'authorization' | 'cookie'>,
  tenantCalled: () => TenantInfo | undefined,
): string {
  if (authorization !== '' || cookie === '') return authorization;
  const tokens = cookieValues(cookie, TOKEN_COOKIE);
  const id = tokens.length > 1 ? tenantCalled()?.id : undefined;
  const token = (id === undefined ? undefined : tokens.find((one) => tenantOfToken(one) === id)) ?? tokens[0] ?? '';
  return token === '' ? '' : COOKIE_SCHEME + token;
}

function cookieValues(cookies: string, name: string): string[] {
  const found: string[] = [];
  for (const pair of cookies.split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) found.push(pair.slice(equals + 1).trim());
  }
  return found;
}

/** As the token says it: nothing is checked. */
function tenantOfToken(token: string): unknown {
  try {
    return decodeJwt(token)['ten'];
  } catch {
    // No token of ours.
    return undefined;
  }
}

/** Whether a request whose token came in a cookie was made by a page of ours: only that can read the other cookie. */
export function isFromOwnPage(principal: Principal, xsrfToken: string): boolean {
  return principal.session !== undefined && isSameSecret(principal.session.xsrfToken, xsrfToken);
}

/**
 * Whether the tenant takes these credentials from this user agent. Without a session they were user and password, which
 * it may restrict.
 */
export const mayLogIn = (
  restrictions: Platform['basicRestrictions'],
  { session, tenantNumber }: Principal,
  userAgent: string,
): boolean => session !== undefined || restrictions?.mayUseBasic(tenantNumber, userAgent) !== false;

export const isCookie = (text: string): boolean => text.startsWith(COOKIE_SCHEME);

/**
 * A browser may have added it by itself: not a bearer token, nor a cookie, which counts only beside the header against
 * foreign pages.
 */
export const isRememberedPassword = (text: string): boolean => /^\s*basic\s/i.test(text);

/** What a request shows of its second factor, whether its handler looks at what is lacking, and who asks. */
export type SecondFactorPlace = Pick<LoginPlace, 'tfaToken' | 'handlesSecondFactor' | 'caller'>;

interface Remembered {
  principal: Principal;
  readonly expiresAt: number;
}

export class HeaderAuthentication {
  private readonly authenticator: Authenticator;
  private readonly tokens: Accounts['tokens'];
  private readonly tenants: Tenants;
  private readonly now: () => number;
  private readonly remembered = new Map<string, Remembered>();

  constructor(options: {
    authenticator: Authenticator;
    tokens: Accounts['tokens'];
    tenants: Tenants;
    now: () => number;
  }) {
    this.authenticator = options.authenticator;
    this.tokens = options.tokens;
    this.tenants = options.tenants;
    this.now = options.now;
  }

  /**
   * @param text of `credentialsText`. @param host only asked where no tenant stands before the name. @param shown only
   * asked for user and password.
   * @returns the principal; undefined when the credentials are wrong or not understood. Synchronous when remembered.
   * @throws PlatformError 403 for a host that begins with the id of a tenant: only `<tenant>/<user>` makes it
   * irrelevant (docs/spec/login.md#hosts).
   */
  authenticate(
    text: string,
    host: () => string,
    shown: () => SecondFactorPlace = () => ({}),
  ): Principal | undefined | Promise<Principal | undefined> {
    const known = this.known(text);
    if (known !== undefined) return known.session === undefined ? known : this.atHost(text, host)(known);
    if (text.length > HEADER_LENGTH_MAX) return undefined;
    const token = /^\s*(?:bearer|cookie)\s+(\S+)\s*$/i.exec(text);
    if (token !== null) {
      const atHost = this.atHost(text, host);
      const found = this.awaited(text, this.tokens.authenticate(token[1]));
      return found instanceof Promise ? found.then(atHost) : atHost(found);
    }
    const credentials = parseBasic(text);
    if (credentials === undefined) return undefined;
    const { userName, password } = credentials;
    // Aliases are for people, who come over HTTP.
    const people: LoginPlace = { takesAlias: true, ...shown() };
    if (userName.includes('/'))
      return this.awaited(text, this.authenticator.authenticate(userName, password, people), people);
    const called = host();
    const key = `${text}\n${called}`;
    const knownHere = this.known(key);
    if (knownHere !== undefined) return knownHere;
    const tenant = tenantOfHost(this.tenants, called);
    const place = tenant === undefined ? people : { ...people, tenantNumber: tenant.number };
    return this.awaited(key, this.authenticator.authenticate(userName, password, place), place);
  }

  /**
   * A cookie counts for no other tenant than that of the host: a page below a common domain may have set it for all
   * hosts there. @throws PlatformError as `tenantOfHost`.
   */
  private atHost(text: string, host: () => string): (found: Principal | undefined) => Principal | undefined {
    const called = tenantOfHost(this.tenants, host());
    if (called === undefined || !isCookie(text)) return (found) => found;
    return (found) => (found?.tenantNumber === called.number ? found : undefined);
  }

  private awaited(
    key: string,
    result: Principal | undefined | Promise<Principal | undefined>,
    place: LoginPlace = {},
  ): Principal | undefined | Promise<Principal | undefined> {
    // What a token has shown counts for its request only; the key does not have it.
    if ((place.tfaToken ?? '') !== '') return result;
    return result instanceof Promise
      ? result.then((principal) => this.remember(key, principal))
      : this.remember(key, result);
  }

  /** A user that has changed since is checked again. */
  private known(header: string): Principal | undefined {
    const known = this.remembered.get(header);
    // Asked again, from an address that is not familiar it waits like a guess: no quick answer tells which one is
    // right.
    if (known === undefined || (this.authenticator.dependsOnAddress === true && known.principal.session === undefined))
      return undefined;
    const principal = known.expiresAt > this.now() ? this.authenticator.current(known.principal) : undefined;
    if (principal === undefined) this.remembered.delete(header);
    else known.principal = principal;
    return principal;
  }

  private remember(header: string, principal: Principal | undefined): Principal | undefined {
    if (principal === undefined || principal.secondFactor !== undefined) return principal;
    if (this.remembered.size >= CACHE_SIZE_MAX && !this.remembered.has(header)) {
      const oldest = this.remembered.keys().next().value;
      if (oldest !== undefined) this.remembered.delete(oldest);
    }
    this.remembered.delete(header);
    const expiresAt = Math.min(this.now() + CACHE_AGE_MAX_MS, principal.session?.expiresAt ?? Infinity);
    this.remembered.set(header, { principal, expiresAt });
    return principal;
  }
}

/**
 * UTF-8; what is none is Latin-1, as some libraries send it (Python's requests): RFC 7617 leaves it to the client.
 * @returns undefined for other schemes and for what is not `Basic <base64 of user:password>`.
 */
export function parseBasic(header: string): { readonly userName: string; readonly password: string } | undefined {
  if (header.length > HEADER_LENGTH_MAX) return undefined;
  const match = /^\s*x?basic\s+([A-Za-z0-9+/_-]+={0,2})\s*$/i.exec(header);
  if (match === null) return undefined;
  const bytes = Buffer.from(match[1], 'base64');
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  const colon = text.indexOf(':');
  if (colon <= 0) return undefined;
  return { userName: text.slice(0, colon), password: text.slice(colon + 1) };
}
