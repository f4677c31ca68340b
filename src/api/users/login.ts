/** Logging in and out with tokens (docs/spec/login.md#tokens). */
import Type from 'typebox';
import { CODES_LIMIT, secondFactorError } from '../../accounts/login/second-factor.ts';
import type { IssuedToken } from '../../accounts/login/tokens.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import type { ApiRequest } from '../request/request.ts';
import { TOKEN_COOKIE, XSRF_COOKIE } from '../request/authentication.ts';
import { ANONYMOUS } from '../../model/access/principal.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import { FORWARDED_HEADERS, callerOf } from '../request/login-caller.ts';
import { hostName, tenantCalled } from '../request/login-host.ts';
import { lifetimeSeconds } from './login-options.ts';
import { flag, text } from '../request/schema/query-parameters.ts';
import { requireRate } from '../request/rate.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';

const FORM_FIELD_LENGTH_MAX = 2_000;
/** What clients write where a code is missing. */
const ABSENT: ReadonlySet<string> = new Set(['undefined', 'null']);

/** Fields of the form. @throws PlatformError 400 for another content type, grant type, or a missing field. */
function formOf(request: ApiRequest): { userName: string; password: string; code: string; tfaToken: string } {
  const bad = (reason: string): PlatformError => new PlatformError('login/bad-request', { reason });
  if (request.contentType.kind !== 'form' && request.contentType.kind !== 'none')
    throw bad('The body is not application/x-www-form-urlencoded');
  const form = new URLSearchParams(request.bodyText());
  if ((form.get('grant_type') ?? '').toUpperCase() !== 'PASSWORD') throw bad('grant_type is not PASSWORD');
  const [userName, password] = [form.get('username') ?? '', form.get('password') ?? ''];
  if (userName === '' || password === '') throw bad('username and password are mandatory');
  if (userName.length > FORM_FIELD_LENGTH_MAX || password.length > FORM_FIELD_LENGTH_MAX)
    throw bad('username or password is too long');
  const code = (form.get('tfa_code') ?? '').trim();
  return {
    userName,
    password,
    code: ABSENT.has(code) ? '' : code,
    tfaToken: form.get('tfaToken') ?? form.get('tfa_token') ?? '',
  };
}

/** Checks name and password of the form. @throws PlatformError 401, 403 for a host that is the id of a tenant. */
async function logIn(request: ApiRequest): Promise<{ issued: IssuedToken; lifetimeSeconds: number; tenant: Tenant }> {
  const { platform, query } = request;
  const form = formOf(request);
  const asked = query.text('tenant_id');
  const { userName } = form;
  // The tenant of the query, then that of the name, then that of the host.
  const name = asked === undefined ? userName : `${asked}/${userName.slice(userName.indexOf('/') + 1)}`;
  const called = name.includes('/') ? undefined : tenantCalled(request);
  countLogin(request, name, called?.number);
  const caller = callerOf(request);
  const place = {
    takesAlias: true,
    caller,
    handlesSecondFactor: true,
    tfaToken: form.tfaToken,
    ...(called === undefined ? {} : { tenantNumber: called.number }),
  };
  const principal = await platform.authenticator.authenticate(name, form.password, place);
  const tenant = principal === undefined ? undefined : platform.tenants.byNumber(principal.tenantNumber);
  if (principal === undefined || tenant === undefined) throw new PlatformError('security/unauthorized');
  if (principal.secondFactor !== undefined) await requireSecondFactor(request, principal, form.code);
  const seconds = await lifetimeSeconds(request, tenant);
  const isWithCode =
    principal.secondFactor !== undefined ||
    (await platform.accounts.secondFactor.read(tenant.number, principal.userName))?.isActive === true;
  const audience = hostName(request.called.host) || tenant.id;
  const issued = await platform.accounts.tokens.issue(principal, seconds, audience, isWithCode);
  if (issued === undefined) throw new PlatformError('security/unauthorized');
  return { issued, lifetimeSeconds: seconds, tenant };
}

/**
 * Before the password is checked, which is slow. Who names no tenant that there is costs nothing. @throws PlatformError
 * 429.
 */
function countLogin(request: ApiRequest, name: string, called: number | undefined): void {
  const { rates, tenants } = request.platform;
  const slash = name.indexOf('/');
  const number = slash < 0 ? (called ?? tenants.default.number) : tenants.byId(name.slice(0, slash))?.number;
  if (number !== undefined) requireRate(request, rates?.takeLogin(number, name.slice(slash + 1)));
}

/** @throws PlatformError 401 unless the code is right, not used yet, and the user has set codes up. */
async function requireSecondFactor(
  request: ApiRequest,
  { tenantNumber, userName, secondFactor }: Principal,
  code: string,
): Promise<void> {
  if (secondFactor === 'SETUP' || code === '') throw secondFactorError(secondFactor ?? 'CODE');
  const { platform } = request;
  const result = await platform.accounts.secondFactor.useCode(tenantNumber, userName, code, platform.cipher);
  // Without a secret it was revoked meanwhile, and the next login takes none.
  if (result.kind === 'LOCKED')
    throw new PlatformError('login/tfa-locked', { seconds: result.seconds, limit: CODES_LIMIT });
  if (result.kind !== 'RIGHT')
    throw new PlatformError(result.kind === 'USED' ? 'login/tfa-code-used' : 'login/tfa-code-wrong');
}

const NO_STORE = ['Cache-Control', 'no-store'];

/** @throws PlatformError as `logIn`, and 403 at the host of another tenant, where the cookie would not count. */
async function cookies(request: ApiRequest): Promise<Answer> {
  const { issued, lifetimeSeconds: seconds, tenant } = await logIn(request);
  const called = tenantCalled(request);
  if (called !== undefined && called.number !== tenant.number)
    throw new PlatformError('login/host-of-other-tenant', { called: called.id, id: tenant.id });
  const tail = `Path=/; Max-Age=${seconds}; SameSite=Lax${isSecure(request) ? '; Secure' : ''}`;
  return {
    status: 200,
    text: '',
    headers: [
      'Set-Cookie',
      `${TOKEN_COOKIE}=${issued.token}; HttpOnly; ${tail}`,
      'Set-Cookie',
      `${XSRF_COOKIE}=${issued.xsrfToken}; ${tail}`,
      ...NO_STORE,
    ],
  };
}

const isSecure = (request: ApiRequest): boolean => request.baseUrl.startsWith('https:');

async function accessToken(request: ApiRequest): Promise<Answer> {
  const { issued } = await logIn(request);
  // In the answer also without Accept: the token is the whole point.
  if (!request.wantsBody) request.accept = { isPresent: true, isBranded: false, order: [] };
  return {
    status: 200,
    text: JSON.stringify({ access_token: issued.token }),
    contentType: JSON_TYPE,
    headers: NO_STORE,
  };
}

/**
 * Ends the token of the request, unless it has ended, and takes the cookies away. With Basic there is nothing to end,
 * but with `everywhere`, which ends all tokens of the user.
 */
async function logout(request: ApiRequest): Promise<Answer> {
  const { principal, platform, query } = request;
  if (query.isTrue('everywhere')) {
    // A cookie that has ended says nothing of whose other sessions are meant.
    if (principal === ANONYMOUS) throw new PlatformError('security/unauthorized');
    const { userName } = principal;
    await request.command(COMMAND.USER_PUT, TENANT_KEY, { userName, endsTokens: true, mustExist: true, by: userName });
  } else if (principal !== ANONYMOUS) await platform.accounts.tokens.revoke(principal);
  const gone = `=; Path=/; Max-Age=0; SameSite=Lax${isSecure(request) ? '; Secure' : ''}`;
  return {
    status: 200,
    text: '',
    headers: ['Set-Cookie', `${TOKEN_COOKIE}${gone}; HttpOnly`, 'Set-Cookie', `${XSRF_COOKIE}${gone}`],
  };
}

async function logoutAll(request: ApiRequest): Promise<Answer> {
  if (request.params['tenant'] !== request.principal.tenant) throw new PlatformError('security/forbidden');
  await request.platform.accounts.tokens.revokeAll(request.tenant, request.askedBy);
  return { status: 200, text: '' };
}

const LoginForm = Type.Object(
  {
    grant_type: Type.Enum(['PASSWORD']),
    username: Type.String(),
    password: Type.String(),
    tfa_code: Type.Optional(Type.String()),
    tfaToken: Type.Optional(Type.String()),
  },
  { additionalProperties: true },
);
const Token = Type.Object({ access_token: Type.String() });

export function loginRoutes(): Route[] {
  const form = {
    form: 'bytes',
    contents: {
      'application/x-www-form-urlencoded': {
        schema: LoginForm,
        example: { grant_type: 'PASSWORD', username: 'ada', password: 'Analytical-1', tfa_code: '123456' },
      },
    },
  } as const;
  const ofTenant = { tenant_id: text('Tenant id; otherwise that of the user name or the host') };
  const done = [{ status: 200, description: 'Ended; without a body' }];
  const optional = {
    isOptional: true,
    schema: Type.Object({}, { additionalProperties: true }),
    mediaTypes: [],
    example: {},
  };
  return [
    {
      method: 'POST',
      path: '/tenant/oauth',
      area: 'tenant',
      access: 'public',
      summary: 'Log in: a token as cookie',
      query: ofTenant,
      body: form,
      setsCookies: true,
      headers: FORWARDED_HEADERS,
      answers: [{ status: 200, description: 'Set-Cookie; without a body' }],
      handle: cookies,
    },
    {
      method: 'POST',
      path: '/tenant/oauth/token',
      area: 'tenant',
      access: 'public',
      summary: 'Log in: a token for `Authorization: Bearer`',
      query: ofTenant,
      headers: FORWARDED_HEADERS,
      body: form,
      answers: [
        {
          status: 200,
          description: 'The token',
          contentTypes: ['application/json'],
          json: Token,
          example: { access_token: 'eyJhbGciOi…' },
        },
      ],
      handle: accessToken,
    },
    {
      method: 'POST',
      path: '/user/logout',
      area: 'users',
      access: 'user',
      summary: 'End the session of the request',
      query: { everywhere: flag('Ends all sessions of the user, those of other browsers and clients too') },
      body: optional,
      answers: done,
      takesEndedCookie: true,
      setsCookies: true,
      handle: logout,
    },
    {
      method: 'POST',
      path: '/user/logout/{tenant}/allUsers',
      area: 'users',
      access: 'roles',
      roles: ['ROLE_USER_MANAGEMENT_ADMIN'],
      summary: 'End all token sessions of the tenant',
      body: optional,
      answers: done,
      handle: logoutAll,
    },
  ];
}
