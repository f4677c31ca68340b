/** Credentials of HTTP requests (document 1 Authentication): Basic, remembered by the header as it was sent. */
import type { CachedAuthenticator } from './platform.ts';
import type { Principal } from '../model/principal.ts';

/** Headers remembered at once; the oldest goes first. */
const CACHE_SIZE_MAX = 10_000;
/** Asks the authenticator again after this time, even when nothing has changed. */
const CACHE_AGE_MAX_MS = 60_000;
/** Longer headers are refused: names and passwords are at most about 1,000 characters. */
const HEADER_LENGTH_MAX = 8192;

/** Of a request without credentials on a public route. It has no role and no tenant has its number. */
export const ANONYMOUS: Principal = { tenant: '', tenantNumber: 0, userName: '', roles: new Set() };

interface Remembered {
  readonly principal: Principal;
  readonly expiresAt: number;
}

export class HeaderAuthentication {
  private readonly authenticator: CachedAuthenticator;
  private readonly now: () => number;
  private readonly remembered = new Map<string, Remembered>();
  private generation: number;

  constructor(authenticator: CachedAuthenticator, now: () => number) {
    this.authenticator = authenticator;
    this.now = now;
    this.generation = authenticator.generation;
  }

  /** @returns the principal; undefined when the credentials are wrong or not understood. Synchronous when remembered. */
  authenticate(header: string): Principal | undefined | Promise<Principal | undefined> {
    if (this.generation !== this.authenticator.generation) this.forgetAll();
    const known = this.remembered.get(header);
    if (known !== undefined && known.expiresAt > this.now()) return known.principal;
    const credentials = parseBasic(header);
    if (credentials === undefined) return undefined;
    const result = this.authenticator.authenticate(credentials.userName, credentials.password);
    if (!(result instanceof Promise)) return this.remember(header, result, this.generation);
    const { generation } = this;
    return result.then((principal) => this.remember(header, principal, generation));
  }

  private remember(header: string, principal: Principal | undefined, generation: number): Principal | undefined {
    // A user that changed while the check was under way is checked again next time.
    if (principal === undefined || generation !== this.authenticator.generation) return principal;
    if (this.remembered.size >= CACHE_SIZE_MAX && !this.remembered.has(header)) {
      const oldest = this.remembered.keys().next().value;
      if (oldest !== undefined) this.remembered.delete(oldest);
    }
    this.remembered.delete(header);
    this.remembered.set(header, { principal, expiresAt: this.now() + CACHE_AGE_MAX_MS });
    return principal;
  }

  private forgetAll(): void {
    this.remembered.clear();
    this.generation = this.authenticator.generation;
  }
}

/** @returns undefined for other schemes and for what is not `Basic <base64 of user:password>`. */
export function parseBasic(header: string): { readonly userName: string; readonly password: string } | undefined {
  if (header.length > HEADER_LENGTH_MAX) return undefined;
  const match = /^\s*x?basic\s+([A-Za-z0-9+/_-]+={0,2})\s*$/i.exec(header);
  if (match === null) return undefined;
  const text = Buffer.from(match[1], 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon <= 0) return undefined;
  return { userName: text.slice(0, colon), password: text.slice(colon + 1) };
}
