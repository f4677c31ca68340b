/** Whether the sender of a request may use its route, with this type of content. */
import { BOOTSTRAP_ROLE, SERVICE_BOOTSTRAP_ROLE } from '../../../model/access/roles.ts';
import type { Principal } from '../../../model/access/principal.ts';
import { PlatformError } from '../../../model/errors.ts';
import type { RouteRules } from '../route-rules.ts';
import { allowedMethods } from '../router.ts';
import { CONTINUE, DONE, type CheckedPassage, type Outcome } from './passage.ts';

/** @throws PlatformError 403; of `refuseRoute`. */
export function authorise(passage: CheckedPassage): Outcome {
  const { compiled, request } = passage;
  if (compiled === undefined) return refuseRoute(passage);
  const { route } = compiled;
  if (route.access === 'roles' && !request.isPrivileged) throw new PlatformError('security/forbidden');
  if (!mayReach(request.principal, route)) throw new PlatformError('security/forbidden');
  return CONTINUE;
}

/**
 * Users that only ask for device credentials reach nothing else (docs/spec/device-registration.md#bootstrap-user), but
 * what is open to everybody. The bootstrap user of a microservice reaches its application, tenant and user
 * (docs/spec/microservices.md#users).
 */
function mayReach(principal: Principal, route: RouteRules): boolean {
  if (principal.roles.has(SERVICE_BOOTSTRAP_ROLE))
    return route.access === 'public' || route.isForServiceBootstrap === true;
  if (!principal.roles.has(BOOTSTRAP_ROLE) || principal.roles.size > 1) return true;
  return route.access === 'public' || route.roles?.includes(BOOTSTRAP_ROLE) === true;
}

/** @throws PlatformError 404 where no method has the path, `general/bad-path`. */
function refuseRoute({ request, parts }: CheckedPassage): Outcome {
  const { method, path } = request.exchange;
  const entry = parts.router.find(path, request.method)?.entry;
  if (entry === undefined) throw new PlatformError('general/unknown-path', { path });
  const allowed = allowedMethods(entry);
  const error = new PlatformError('general/method-not-allowed', { method, path, allowed });
  request.refuse(error, ['Allow', allowed]);
  return DONE;
}
