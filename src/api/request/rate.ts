/** What a decision about the rate of requests means for an answer. */
import type { RateDecision } from '../../accounts/login/request-rates.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from './request.ts';

/**
 * Has the answer say how many requests remain. @param decision undefined without a limit. @throws PlatformError
 * `general/too-many-requests`.
 */
export function requireRate(request: ApiRequest, decision: RateDecision | undefined): void {
  if (decision === undefined) return;
  const { isAllowed, name, limit, remaining, retryAfterSeconds } = decision;
  request.rateHeaders = [
    'X-RateLimit-Limit',
    String(limit),
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    String(retryAfterSeconds),
  ];
  if (!isAllowed)
    throw new PlatformError('general/too-many-requests', { limit: `${limit} (${name})`, retryAfterSeconds });
}
