/**
 * Setting up two-factor authentication with one-time codes (docs/spec/login.md#two-factors), as `@c8y/client` asks for
 * it.
 */
import Type from 'typebox';
import { CODES_LIMIT } from '../../accounts/login/second-factor.ts';
import { STEP_SECONDS, secretPicture } from '../../accounts/login/totp.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { requireRightsOf } from './inventory-rights.ts';
import { FORWARDED_HEADERS } from '../request/login-caller.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import { NO_CONTENT, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { confirmOfSession } from './passwords.ts';
import { USER_ADMIN, loadUser, requireOwnTenant } from './text.ts';

/** The header in which clients with Basic repeat what a right code was answered with. */
const TFA_TOKEN_HEADER = 'TFAToken';
const CODE_LENGTH_MAX = 20;
const EXAMPLE = { rawSecret: 'JBSWY3DPEHPK3PXP', secretQrUrl: 'data:image/gif;base64,R0lGODdh…' };

const nameOf = (request: ApiRequest): string => request.principal.userName;

/** A new secret, shown once. It is asked for when a code of it was verified and it was activated. */
async function generate(request: ApiRequest): Promise<Answer> {
  const { platform, principal } = request;
  const rawSecret = await platform.accounts.secondFactor.begin(request.tenant, nameOf(request), platform.cipher);
  const text = JSON.stringify({
    rawSecret,
    secretQrUrl: secretPicture(rawSecret, `${principal.tenant}/${nameOf(request)}`),
  });
  // In the answer also without Accept: it comes only once.
  if (!request.wantsBody) request.accept = { isPresent: true, isBranded: false, order: [] };
  return { status: 200, text, contentType: JSON_TYPE, headers: ['Cache-Control', 'no-store'] };
}

async function activity(request: ApiRequest): Promise<Answer> {
  const { secondFactor } = request.platform.accounts;
  const totp = await secondFactor.read(request.tenant, nameOf(request));
  const isForced = await secondFactor.isForced(request.tenant, await loadUser(request, nameOf(request)));
  return found('totpSecretActivity', JSON.stringify({ isActive: totp?.isActive === true, isForced }));
}

interface ActivityChange {
  readonly isActive: boolean;
  readonly currentUserPassword?: string | null;
}

/**
 * Only an administrator ends codes that are in use: a stolen session could take the second factor away. Nor does a
 * session begin them: the thief's app would make the codes, and lock the user out. Basic, with which a user sets up
 * forced codes, shows the password with each request.
 */
async function setActivity(request: ApiRequest): Promise<Answer> {
  const { isActive, currentUserPassword } = JSON.parse(request.bodyText()) as ActivityChange;
  const { secondFactor } = request.platform.accounts;
  const userName = nameOf(request);
  if (isActive) {
    await confirmOfSession(request, currentUserPassword);
    await secondFactor.activate(request.tenant, userName);
  } else if ((await secondFactor.read(request.tenant, userName))?.isActive === true)
    throw new PlatformError('users/totp-fixed');
  else await secondFactor.revoke(request.tenant, userName, undefined);
  return NO_CONTENT;
}

/** @throws PlatformError 403 for a wrong code. */
async function verify(request: ApiRequest): Promise<Answer> {
  const { code } = JSON.parse(request.bodyText()) as { code: string | number };
  const { accounts, cipher } = request.platform;
  const userName = nameOf(request);
  const result = await accounts.secondFactor.useCode(request.tenant, userName, String(code).trim(), cipher);
  if (result.kind === 'NO_SECRET') throw new PlatformError('users/totp-missing', { id: userName });
  if (result.kind === 'LOCKED')
    throw new PlatformError('login/tfa-locked', { seconds: result.seconds, limit: CODES_LIMIT });
  if (result.kind === 'USED') throw new PlatformError('login/tfa-code-used');
  if (result.kind === 'WRONG') throw new PlatformError('users/totp-wrong-code');
  const token = await accounts.secondFactor.issueToken(request.tenant, userName);
  return token === undefined
    ? NO_CONTENT
    : { ...NO_CONTENT, headers: [TFA_TOKEN_HEADER, token, 'Cache-Control', 'no-store'] };
}

async function revoke(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const user = await loadUser(request, request.params['userId']);
  // With the password alone one could get in as the user.
  await requireRightsOf(request, user);
  await request.platform.accounts.secondFactor.revoke(request.tenant, user.userName, nameOf(request));
  return NO_CONTENT;
}

async function tfa(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const user = await loadUser(request, request.params['userId']);
  const { secondFactor } = request.platform.accounts;
  const totp = await secondFactor.read(request.tenant, user.userName);
  return found(
    'userTfaData',
    JSON.stringify({
      tfaEnabled: totp?.isActive === true,
      tfaEnforced: await secondFactor.isForced(request.tenant, user),
      strategy: 'TOTP',
      lastTfaRequestTime: totp?.lastUsedAt === undefined ? null : formatTime(totp.lastUsedAt),
    }),
  );
}

export function userTotpRoutes(): Route[] {
  const area = 'users';
  const path = '/user/currentUser/totpSecret';
  const own = { area, access: 'user', isForSecondFactor: true } as const;
  const Secret = Type.Object({ rawSecret: Type.String(), secretQrUrl: Type.String() }, { additionalProperties: true });
  const Activity = Type.Object(
    { isActive: Type.Boolean(), currentUserPassword: Type.Optional(Type.Union([Type.String(), Type.Null()])) },
    { additionalProperties: true },
  );
  const Code = Type.Object(
    { code: Type.Union([Type.String({ minLength: 1, maxLength: CODE_LENGTH_MAX }), Type.Integer()]) },
    { additionalProperties: true },
  );
  const users = '/user/{tenant}/users/{userId}';
  return [
    {
      method: 'POST',
      path,
      ...own,
      summary: 'A new secret for one-time codes, as text and as QR code; it replaces one that is not active',
      body: { isOptional: true, schema: Type.Object({}, { additionalProperties: true }), mediaTypes: [], example: {} },
      answers: [
        {
          status: 200,
          description: 'The secret, once',
          contentTypes: ['application/json'],
          json: Secret,
          example: EXAMPLE,
        },
      ],
      handle: generate,
    },
    {
      method: 'GET',
      path: `${path}/activity`,
      ...own,
      summary: 'Whether logging in takes a one-time code, and whether it has to',
      answers: [{ status: 200, description: 'isActive and isForced', mediaType: 'totpSecretActivity' }],
      handle: activity,
    },
    {
      method: 'POST',
      path: `${path}/activity`,
      ...own,
      headers: FORWARDED_HEADERS,
      summary:
        'From now on logging in takes a code; needs a verified secret, and currentUserPassword in a request with a token',
      body: { schema: Activity, mediaTypes: [], example: { isActive: true } },
      answers: [{ status: 204, description: 'Set' }],
      handle: setActivity,
    },
    {
      method: 'POST',
      path: `${path}/verify`,
      ...own,
      summary: `Check a code; it is good for about ${STEP_SECONDS} s and once`,
      body: { schema: Code, mediaTypes: [], example: { code: '123456' } },
      answers: [{ status: 204, description: 'Right; with the header TFAToken when codes are in use' }],
      handle: verify,
    },
    {
      method: 'DELETE',
      path: `${users}/totpSecret/revoke`,
      area,
      access: 'roles',
      roles: USER_ADMIN,
      summary: 'Revoke the secret of a user',
      answers: [{ status: 204, description: 'Revoked' }],
      handle: revoke,
    },
    {
      method: 'GET',
      path: `${users}/tfa`,
      area,
      access: 'roles',
      roles: USER_ADMIN,
      summary: 'Two-factor authentication of a user',
      answers: [{ status: 200, description: 'Its settings', mediaType: 'userTfaData' }],
      handle: tfa,
    },
  ];
}
