/** The credentials of a request, and the check of them: at once where they are remembered. */
import type { Principal } from '../../../model/access/principal.ts';
import { PlatformError } from '../../../model/errors.ts';
import { hostCalled } from '../../http/base-url.ts';
import { BYTES_BEFORE_LOGIN_MAX } from '../../http/body-budget.ts';
import { XSRF_HEADER, credentialsText, isCookie, isRememberedPassword } from '../authentication.ts';
import { crossSiteOrigin, isSimpleType, ownHosts } from '../cross-site.ts';
import { callerAtHead } from '../login-caller.ts';
import { tenantMeant } from '../login-host.ts';
import { readBody } from './body.ts';
import { CONTINUE, type Outcome, type Passage } from './passage.ts';

/** Without credentials only public and optional routes go on. */
export function requireCredentials(passage: Passage): Outcome {
  const { exchange, compiled, parts } = passage;
  const access = compiled?.route.access ?? 'user';
  if (access !== 'public')
    passage.credentials = credentialsText(
      { authorization: exchange.header('authorization'), cookie: exchange.header('cookie') },
      () => tenantMeant(parts.platform.tenants, hostCalled(passage.request.called)),
    );
  if (passage.request.method !== 'GET') lookForOtherPage(passage);
  if (passage.credentials === '') {
    if (access !== 'public' && access !== 'optional')
      return passage.challenge(new PlatformError('general/no-credentials'));
    return CONTINUE;
  }
  if (isCookie(passage.credentials)) passage.xsrfToken = exchange.header(XSRF_HEADER);
  if (parts.platform.basicRestrictions?.isAny === true) passage.userAgent = exchange.header('user-agent');
  return CONTINUE;
}

/** Costs a comparison where a body is JSON, which most devices send. */
function lookForOtherPage(passage: Passage): void {
  const { compiled, request, exchange, parts } = passage;
  if (compiled === undefined || !isSimpleType(request.contentType)) return;
  if (!isRememberedPassword(passage.credentials) && compiled.route.setsCookies !== true) return;
  const hosts = ownHosts(parts.platform.config, request.called);
  passage.crossSiteOrigin = crossSiteOrigin((name) => exchange.header(name), hosts);
}

/** Finds the user that the credentials name. */
export function checkCredentials(passage: Passage): Outcome {
  if (passage.credentials === '') return CONTINUE;
  const { request, exchange, parts } = passage;
  const found = parts.authentication.authenticate(
    passage.credentials,
    () => hostCalled(request.called),
    () => ({
      tfaToken: exchange.header('tfatoken'),
      handlesSecondFactor: true,
      caller: callerAtHead(passage, parts.proxies),
    }),
  );
  if (found instanceof Promise) return waitForPrincipal(passage, found);
  passage.found = found;
  return CONTINUE;
}

/** The first part of the body has to be collected meanwhile: its data comes once. */
function waitForPrincipal(passage: Passage, principal: Promise<Principal | undefined>): Outcome {
  const { compiled, exchange, request, parts } = passage;
  passage.wantsXBasic = exchange.header('usexbasic').toLowerCase() === 'true';
  // The check may wait long and holds the request: what counts no more has to be free.
  exchange.onAborted(() => passage.leave());
  if (compiled?.route.body !== undefined) {
    exchange.awaitIdentity(BYTES_BEFORE_LOGIN_MAX);
    readBody(passage, compiled.route);
  }
  principal
    .then((found) => {
      if (exchange.isOver) return;
      if (found !== undefined) exchange.identified();
      passage.found = found;
      passage.resume('identity');
    })
    .catch((error: unknown) => {
      if (exchange.isOver) return;
      // Then the credentials have ended with it.
      if (error instanceof PlatformError && error.code === 'login/tenant-suspended') {
        passage.refusal = error;
        passage.resume('identity');
      } else parts.answers.fail(request, error);
    });
  return passage.waitFor('identity');
}
