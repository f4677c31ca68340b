/** `/notification2/token` and `/notification2/unsubscribe` (docs/spec/notifications.md#tokens). */
import Type from 'typebox';
import type { ConsumerClaims } from '../../model/entities/notifications/token.ts';
import { NAME_LENGTH_MAX, NAME_PATTERN } from '../../model/entities/notifications/subscription.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import { OPEN, Text, open, optional } from '../../model/schema/parts.ts';
import { JSON_TYPE, parseAccept } from '../http/media-types.ts';
import { writeAudit } from '../../records/records.ts';
import { tenantCalled } from '../request/login-host.ts';
import { requireRate } from '../request/rate.ts';
import { requireServed } from './notification-consumers.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { text } from '../request/schema/query-parameters.ts';

const AREA = 'reliable-notification';
const ADMIN = ['ROLE_NOTIFICATION_2_ADMIN'];
const MINUTES_DEFAULT = 1_440;
/** A year. */
const MINUTES_MAX = 525_600;

const Name = Type.String({ pattern: NAME_PATTERN, maxLength: NAME_LENGTH_MAX });
const Flag = Type.Boolean({ default: false });
const TokenPost = Type.Object(
  {
    subscription: Name,
    subscriber: Name,
    nonPersistent: optional(Flag),
    shared: optional(Flag),
    expiresInMinutes: optional(Type.Integer({ minimum: 1, maximum: MINUTES_MAX, default: MINUTES_DEFAULT })),
    signed: optional(Type.Boolean({ default: true, description: 'Tokens are signed in any case' })),
    type: optional(Type.Literal('notification')),
  },
  OPEN,
);

interface Sent {
  readonly subscription: string;
  readonly subscriber: string;
  readonly nonPersistent?: boolean;
  readonly shared?: boolean;
  readonly expiresInMinutes?: number;
}

/** The answer is not an entity that a client could do without: it comes without Accept, too. */
function answerOf(request: ApiRequest, value: unknown): Answer {
  if (!request.accept.isPresent) request.accept = parseAccept('*/*');
  return { status: 200, text: JSON.stringify(value), contentType: JSON_TYPE };
}

/** @param user who is logged in; absent where the token alone suffices. */
async function audit(
  { platform }: ApiRequest,
  { tenantNumber, subscription, subscriber, isShared, isVolatile }: ConsumerClaims,
  activity: string,
  user?: string,
): Promise<void> {
  const kind = `${isShared ? ', shared' : ''}${isVolatile ? ', not persistent' : ''}`;
  const text = `${activity}: subscription ${subscription}, subscriber ${subscriber}${kind}`;
  const told: AuditEntry = { type: 'SYSTEM', activity, text, ...(user === undefined ? {} : { user }) };
  await writeAudit(platform, tenantNumber, told);
}

async function post(request: ApiRequest): Promise<Answer> {
  const sent = JSON.parse(request.bodyText()) as Sent;
  const claims: ConsumerClaims = {
    tenant: request.principal.tenant,
    tenantNumber: request.tenant,
    subscription: sent.subscription,
    subscriber: sent.subscriber,
    isShared: sent.shared ?? false,
    isVolatile: sent.nonPersistent ?? false,
  };
  const seconds = (sent.expiresInMinutes ?? MINUTES_DEFAULT) * 60;
  const token = await request.platform.notifications.tokens.issue(claims, seconds);
  await audit(request, claims, 'Notification token created', request.principal.userName);
  return answerOf(request, { token });
}

/** @throws PlatformError 422. */
async function verify(request: ApiRequest): Promise<Answer> {
  const found = await request.platform.notifications.tokens.verify(request.query.text('token') ?? '');
  if (found === undefined || found.tenantNumber !== request.tenant)
    throw new PlatformError('notifications/invalid-token');
  return answerOf(request, found.payload);
}

/** @throws PlatformError 401, 403, 429. */
async function unsubscribe(request: ApiRequest): Promise<Answer> {
  const { notifications, tenants, rates } = request.platform;
  const claims = await notifications.tokens.verify(request.query.text('token') ?? '');
  if (claims === undefined) throw new PlatformError('notifications/bad-token');
  const tenant = tenants.byNumber(claims.tenantNumber);
  if (tenant === undefined) throw new PlatformError('notifications/bad-token');
  requireServed(tenantCalled(request), tenant);
  // Without a login: the subscriber stands for a user.
  const { tenantNumber, subscription, subscriber } = claims;
  requireRate(request, rates?.take({ tenantNumber, userName: `${subscription}/${subscriber}` }));
  if (await notifications.unsubscribe(claims)) await audit(request, claims, 'Notification subscriber removed');
  return answerOf(request, { result: 'DONE' });
}

export function notificationTokenRoutes(): Route[] {
  const token = text('Token of a consumer');
  return [
    {
      method: 'POST',
      path: '/notification2/token',
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary: 'Make a token for a consumer of a topic of Notifications 2.0',
      body: {
        schema: TokenPost,
        mediaTypes: [],
        example: { subscription: 'alerts', subscriber: 'monitor', expiresInMinutes: MINUTES_DEFAULT },
      },
      answers: [
        {
          status: 200,
          description: 'The token',
          contentTypes: ['application/json'],
          json: open({ token: Text }),
          example: { token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtb25pdG9yIn0.c2lnbmF0dXJl' },
        },
      ],
      handle: post,
    },
    {
      method: 'GET',
      path: '/notification2/token',
      area: AREA,
      access: 'roles',
      roles: ADMIN,
      summary: 'Check a token of a consumer, and read what it says',
      query: { token },
      answers: [
        {
          status: 200,
          description: 'The claims of the token',
          contentTypes: ['application/json'],
          json: open({ sub: Text, topic: Text, jti: Text, iat: Type.Integer(), exp: Type.Integer() }),
          example: { sub: 'monitor', topic: 't1/relnotif/alerts', jti: 'a1', iat: 1, exp: 86_401, volatile: false },
        },
      ],
      handle: verify,
    },
    {
      method: 'POST',
      path: '/notification2/unsubscribe',
      area: AREA,
      access: 'public',
      summary: 'Remove the subscriber of a token, with its backlog',
      query: { token },
      answers: [
        {
          status: 200,
          description: 'It is removed, or was not there',
          contentTypes: ['application/json'],
          json: open({ result: Type.Enum(['DONE', 'SCHEDULED']) }),
          example: { result: 'DONE' },
        },
      ],
      handle: unsubscribe,
    },
  ];
}
