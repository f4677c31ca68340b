/** Tokens of consumers of Notifications 2.0 (docs/spec/notifications.md#tokens). */

/** What a consumer is connected as. */
export interface ConsumerClaims {
  /** Id of the tenant. */
  readonly tenant: string;
  /** An id may be given again: the number says which of its tenants it is. */
  readonly tenantNumber: number;
  readonly subscription: string;
  readonly subscriber: string;
  /** Several clients act together as this subscriber. */
  readonly isShared: boolean;
  readonly isVolatile: boolean;
}

/** The payload as clients decode it. `shared` is there, as a text, when it is so. */
export interface TokenPayload {
  readonly sub: string;
  /** `<tenant>/relnotif/<subscription>`. */
  readonly topic: string;
  readonly jti: string;
  /** Seconds since 1970. */
  readonly iat: number;
  readonly exp: number;
  readonly shared?: 'true';
  readonly volatile: boolean;
  /** Number of the tenant, and its generation of tokens: a logout of all its users ends the former ones. */
  readonly ten: number;
  readonly tgen: number;
}

const TOPIC_KIND = 'relnotif';

export const topicClaim = ({ tenant, subscription }: Pick<ConsumerClaims, 'tenant' | 'subscription'>): string =>
  `${tenant}/${TOPIC_KIND}/${subscription}`;

/** @returns undefined for a payload that names no topic. */
export function claimsOf({ sub, topic, shared, volatile, ten }: TokenPayload): ConsumerClaims | undefined {
  const [tenant, kind, subscription, ...others] = topic.split('/');
  if (kind !== TOPIC_KIND || subscription === undefined || others.length > 0) return undefined;
  return {
    tenant,
    tenantNumber: ten,
    subscription,
    subscriber: sub,
    isShared: shared === 'true',
    isVolatile: volatile,
  };
}
