/** Upgrades to a WebSocket: their credentials, and under which name they call the server. */
import { ANONYMOUS, type LoginCaller, type Principal } from '../../model/access/principal.ts';
import { PlatformError } from '../../model/errors.ts';
import type { TrustedProxies } from '../../config/trusted-proxies.ts';
import { baseUrlOf, calledAs, hostCalled, type CalledAs } from '../http/base-url.ts';
import type { Upgraded } from '../http/web-socket.ts';
import { credentialsText, isCookie, mayLogIn, type HeaderAuthentication } from './authentication.ts';
import { tenantMeant } from './login-host.ts';
import type { TenantCors } from './cors.ts';
import { CROSS_SITE_LIMIT, isOfOtherOrigin, ownHosts } from './cross-site.ts';
import type { Platform } from './platform.ts';

/** The user that opens a WebSocket; undefined when the credentials are wrong. */
export interface Opener {
  readonly principal: Principal | undefined | Promise<Principal | undefined>;
  readonly isOfCookie: boolean;
}

export class Upgrades {
  readonly #platform: Pick<Platform, 'config' | 'refusals' | 'basicRestrictions' | 'tenants'>;
  readonly #authentication: HeaderAuthentication;
  readonly #cors: TenantCors;
  readonly #proxies: TrustedProxies;

  constructor(
    platform: Pick<Platform, 'config' | 'refusals' | 'basicRestrictions' | 'tenants'>,
    parts: {
      readonly authentication: HeaderAuthentication;
      readonly cors: TenantCors;
      readonly proxies: TrustedProxies;
    },
  ) {
    this.#platform = platform;
    this.#authentication = parts.authentication;
    this.#cors = parts.cors;
    this.#proxies = parts.proxies;
  }

  /** Start of links for the client of a WebSocket, and the host that was called. */
  called(channel: Upgraded): { readonly baseUrl: string; readonly host: string } {
    const called = this.#calledBy(channel);
    return { baseUrl: baseUrlOf(this.#platform.config.baseUrl, called), host: hostCalled(called) };
  }

  /** @returns undefined without credentials that count. */
  identify(channel: Upgraded, caller: LoginCaller): Opener | undefined {
    const header = (name: string): string => channel.head.headers.get(name) ?? '';
    const called = this.#calledBy(channel);
    const sent = { authorization: header('authorization'), cookie: header('cookie') };
    const credentials = credentialsText(sent, () => tenantMeant(this.#platform.tenants, hostCalled(called)));
    if (credentials === '') return undefined;
    // No page can set a header of an upgrade: the browser has added them by itself. A page of another origin logs in by
    // its messages.
    const isNamed = (): boolean =>
      this.#cors.of({ principal: ANONYMOUS, calledHost: hostCalled(called) }).isNamed(header('origin'));
    if (isOfOtherOrigin(header, ownHosts(this.#platform.config, called)) && !isNamed()) {
      this.#platform.refusals.count(CROSS_SITE_LIMIT, { address: channel.remoteAddress, reason: header('origin') });
      return undefined;
    }
    try {
      const found = this.#authentication.authenticate(
        credentials,
        () => hostCalled(called),
        () => ({ tfaToken: header('tfatoken'), caller }),
      );
      const taken = (principal: Principal | undefined): Principal | undefined => {
        if (principal !== undefined && !mayLogIn(this.#platform.basicRestrictions, principal, header('user-agent')))
          throw new PlatformError('login/basic-forbidden');
        return principal;
      };
      return {
        principal: found instanceof Promise ? found.then(taken) : taken(found),
        isOfCookie: isCookie(credentials),
      };
    } catch (error) {
      return { principal: Promise.reject(error as Error), isOfCookie: false };
    }
  }

  #calledBy({ head, remoteAddress }: Upgraded): CalledAs {
    const hops = this.#proxies.hopsOf({ remoteAddress });
    return calledAs((name) => head.headers.get(name) ?? '', hops, head.isSecure);
  }
}
