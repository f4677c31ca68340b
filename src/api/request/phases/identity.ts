/** Who sends a request, whether its page may, and its share of what the server has. */
import { secondFactorError } from '../../../accounts/login/second-factor.ts';
import { PlatformError } from '../../../model/errors.ts';
import { BYTES_BEFORE_LOGIN_MAX } from '../../http/body-budget.ts';
import { isFromOwnPage, mayLogIn } from '../authentication.ts';
import { refuseCrossSite } from '../cross-site.ts';
import { callerAtHead } from '../login-caller.ts';
import { requireRate } from '../rate.ts';
import { CONTINUE, type Outcome, type Passage } from './passage.ts';

/** Gives the request its principal, unless it has none or its credentials are not taken. */
export function identify(passage: Passage): Outcome {
  const { compiled, credentials, found, request, xsrfToken, parts } = passage;
  if (credentials === '') return CONTINUE;
  if (found === undefined) {
    const { access, takesEndedCookie } = compiled?.route ?? {};
    // A page cannot take an HttpOnly cookie away: what is for everybody is so beside one that has ended, too.
    if (xsrfToken !== undefined && (access === 'optional' || takesEndedCookie === true)) return CONTINUE;
    return passage.challenge(passage.refusal ?? new PlatformError('security/unauthorized'));
  }
  if (xsrfToken !== undefined && !isFromOwnPage(found, xsrfToken)) {
    if (compiled?.route.access !== 'optional') return passage.challenge(new PlatformError('login/no-xsrf-token'));
    // Bayeux: the other half may come in a message.
    request.identifyByCookie(found);
    return CONTINUE;
  }
  if (!mayLogIn(parts.platform.basicRestrictions, found, passage.userAgent))
    return passage.challenge(new PlatformError('login/basic-forbidden'));
  if (found.secondFactor !== undefined && compiled?.route.isForSecondFactor !== true)
    return passage.challenge(secondFactorError(found.secondFactor));
  request.identify(found);
  return CONTINUE;
}

/** Refuses what the page of another site may have made its user's browser send. */
export function refuseOtherSites(passage: Passage): Outcome {
  const { crossSiteOrigin: origin, request, parts } = passage;
  if (origin === undefined || passage.isOfCookieAlone) return CONTINUE;
  refuseCrossSite(origin, parts.cors.of(request).isNamed(origin), request);
  return CONTINUE;
}

/** A user's request counts for the user; of a stranger's body little is read. */
export function takeShare(passage: Passage): Outcome {
  const { compiled, credentials, exchange, request, parts } = passage;
  if (credentials === '') {
    if (compiled?.route.body !== undefined)
      exchange.awaitIdentity(BYTES_BEFORE_LOGIN_MAX, callerAtHead(passage, parts.proxies).address.key);
    return CONTINUE;
  }
  if (passage.isOfCookieAlone) return CONTINUE;
  const { rates } = parts.platform;
  if (rates !== undefined) requireRate(request, rates.take(request.principal));
  parts.bodies.shares.begin(exchange, request.principal);
  return CONTINUE;
}
