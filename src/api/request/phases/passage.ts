/** One request on its way through the phases (pipeline.ts): what these need to know and its handler does not. */
import type { Principal } from '../../../model/access/principal.ts';
import type { PlatformError } from '../../../model/errors.ts';
import type { TrustedProxies } from '../../../config/trusted-proxies.ts';
import type { BodyBudget } from '../../http/body-budget.ts';
import type { HttpExchange } from '../../http/exchange.ts';
import type { RequestAnswers } from '../answers.ts';
import { parseBasic } from '../authentication.ts';
import type { HeaderAuthentication } from '../authentication.ts';
import type { TenantCors } from '../cors.ts';
import type { Platform } from '../platform.ts';
import type { ApiRequest } from '../request.ts';
import type { CompiledRoute, Router } from '../router.ts';
import type { UnknownParameters } from '../unknown-parameters.ts';

/** What the phases use of the server. */
export interface Parts {
  readonly platform: Platform;
  readonly router: Router;
  readonly authentication: HeaderAuthentication;
  readonly cors: TenantCors;
  readonly bodies: BodyBudget;
  readonly answers: RequestAnswers;
  readonly proxies: TrustedProxies;
  readonly unknownParameters: UnknownParameters;
  /** Runs the phases from `next` on, until one answers or waits. */
  readonly proceed: (passage: Passage) => void;
}

/** The next phase follows at once. */
export const CONTINUE = Symbol('continue');
/** The request has its answer, or its handler gives it later. */
export const DONE = Symbol('done');
/** The next phase follows after `resume`. */
const WAIT = Symbol('wait');
export type Outcome = typeof CONTINUE | typeof DONE | typeof WAIT;

/** Synchronous. @throws PlatformError which is the answer. */
export type Phase = (passage: Passage) => Outcome;

/** What the phases behind the login use of a request, also of one that this server asks of itself. */
export interface CheckedPassage {
  readonly request: ApiRequest;
  readonly parts: Pick<Parts, 'platform' | 'router' | 'unknownParameters'>;
  readonly compiled: CompiledRoute | undefined;
  bytes: Buffer | undefined;
}

/** A phase behind the login. @throws PlatformError which is the answer. */
export type CheckedPhase = (passage: CheckedPassage) => Outcome;

export class Passage implements CheckedPassage {
  readonly request: ApiRequest<HttpExchange>;
  readonly exchange: HttpExchange;
  readonly parts: Parts;
  /** Index of the phase that comes next. */
  next = 0;
  /** Undefined for a path or method that does not exist. */
  compiled: CompiledRoute | undefined = undefined;
  /** As `credentialsText` gives them; '' where none came or the route is public. */
  credentials = '';
  /** The header X-XSRF-TOKEN when the token came in a cookie. */
  xsrfToken: string | undefined = undefined;
  /** Only where some tenant restricts it. */
  userAgent = '';
  wantsXBasic = false;
  /** See cross-site.ts: the page of another origin that may have sent this with a remembered password. */
  crossSiteOrigin: string | undefined = undefined;
  /** The user that the credentials name; undefined when they are wrong. */
  found: Principal | undefined = undefined;
  /** Why credentials are not taken, where it is not that they are wrong. */
  refusal: PlatformError | undefined = undefined;
  modeName = '';
  isReadingBody = false;
  /** The whole body, from its end until `request` takes it. */
  bytes: Buffer | undefined = undefined;
  private waitsFor: 'identity' | 'body' | undefined = undefined;
  private leftCallback: (() => void) | undefined = undefined;

  constructor(request: ApiRequest<HttpExchange>, parts: Parts) {
    this.request = request;
    this.exchange = request.exchange;
    this.parts = parts;
  }

  /** A cookie that names no user, or that a page of another site may have sent, is all that came. */
  get isOfCookieAlone(): boolean {
    return this.credentials !== '' && this.request.principal.tenantNumber === 0;
  }

  waitFor(what: 'identity' | 'body'): typeof WAIT {
    this.waitsFor = what;
    return WAIT;
  }

  /** Goes on behind the phase that waits for this. Does nothing when none does: its phase comes later. */
  resume(what: 'identity' | 'body'): void {
    if (this.waitsFor !== what) return;
    this.waitsFor = undefined;
    this.parts.proceed(this);
  }

  /** @param callback called when the client goes while its credentials are checked: ends the wait. */
  onLeft(callback: () => void): void {
    this.leftCallback = callback;
  }

  /** The client has gone while its credentials are checked. */
  leave(): void {
    this.bytes = undefined;
    this.request.dropBody();
    this.leftCallback?.();
  }

  /** Answers that other credentials are needed. */
  challenge(error: PlatformError): typeof DONE {
    this.request.claimedUser = parseBasic(this.credentials)?.userName;
    const wantsXBasic = this.wantsXBasic || this.exchange.header('usexbasic').toLowerCase() === 'true';
    this.parts.answers.refuse(this.request, error, [
      'WWW-Authenticate',
      `${wantsXBasic ? 'XBasic' : 'Basic'} realm="Millrace"`,
    ]);
    return DONE;
  }
}
