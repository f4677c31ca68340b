/** Logging in and out with tokens, and what a login page may offer (document 4 section 3.7). */
import Type from 'typebox';
import { TOKEN_SECONDS, TOKEN_SECONDS_MIN } from '../accounts/tokens.ts';
import type { IssuedToken } from '../accounts/tokens.ts';
import { PlatformError } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { TOKEN_COOKIE, XSRF_COOKIE } from './authentication.ts';
import { segment } from './entity-text.ts';
import { JSON_TYPE } from './media-types.ts';
import { hostName, tenantOfHost } from './login-host.ts';
import type { TenantInfo } from './platform.ts';
import { flag, text } from './query-parameters.ts';
import { found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import { numberOption, tenantOption } from './tenant-option.ts';

const MANAGEMENT_TENANT = 'management';
/** Length of a green password by default. */
const GREEN_LENGTH_MIN = 8;
const FORM_FIELD_LENGTH_MAX = 2_000;
const LIFESPAN = ['oauth.internal', 'basic-token.lifespan.seconds'] as const;

/** @returns the tenant of the host that was called. @throws PlatformError 403 when the host begins with the id of a tenant. */
function tenantCalled(request: ApiRequest): TenantInfo | undefined {
  const { called, platform } = request;
  return called === undefined ? undefined : tenantOfHost(platform.tenants, called.forwardedHost || called.host);
}

function lifetimeSeconds(request: ApiRequest, tenant: TenantInfo): Promise<number> {
  return numberOption(request, tenant.number, LIFESPAN, { minimum: TOKEN_SECONDS_MIN, maximum: TOKEN_SECONDS, otherwise: TOKEN_SECONDS });
}

async function optionsOf(request: ApiRequest, tenant: TenantInfo): Promise<{ id: string }[]> {
  const self = `${request.baseUrl}/tenant/loginOptions`;
  const initRequest = `${request.baseUrl}/tenant/oauth?tenant_id=${segment(tenant.id)}`;
  const lifetimeMs = (await lifetimeSeconds(request, tenant)) * 1_000;
  const oauth = {
    id: 'OAUTH2_INTERNAL', self: `${self}/OAUTH2_INTERNAL`, type: 'OAUTH2_INTERNAL', _type: 'INTERNAL', userManagementSource: 'INTERNAL',
    grantType: 'PASSWORD', initRequest, visibleOnLoginPage: true, loginRedirectDomain: tenant.domain ?? '', tfaStrategy: 'TOTP',
    enforceStrength: (await tenantOption(request, tenant.number, 'password', 'enforce.strength')) === 'true',
    greenMinLength: await numberOption(request, tenant.number, ['password', 'green.min-length'], { minimum: 8, maximum: 32, otherwise: GREEN_LENGTH_MIN }),
    strengthValidity: false,
    sessionConfiguration: { absoluteTimeoutMillis: lifetimeMs, userAgentValidationRequired: false },
  };
  const basic = {
    id: 'BASIC', self: `${self}/BASIC`, type: 'BASIC', _type: 'BASIC', visibleOnLoginPage: true, userManagementSource: 'INTERNAL', initRequest,
    authenticationRestrictions: { forbiddenClients: [], forbiddenUserAgents: [], trustedUserAgents: [] },
  };
  return [oauth, basic];
}

/** The tenant whose options are asked for: of the query, the host, or the default one. */
function tenantAsked(request: ApiRequest): TenantInfo {
  const { query, platform } = request;
  const id = query.isTrue('management') ? MANAGEMENT_TENANT : query.text('tenantId');
  return (id === undefined ? tenantCalled(request) : platform.tenants.byId(id)) ?? platform.tenants.default;
}

async function listOptions(request: ApiRequest): Promise<Answer> {
  const loginOptions = await optionsOf(request, tenantAsked(request));
  return found('loginOptionCollection', JSON.stringify({ loginOptions, self: `${request.baseUrl}/tenant/loginOptions` }));
}

async function getOption(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const option = (await optionsOf(request, tenantAsked(request))).find((one) => one.id === id);
  if (option === undefined) throw new PlatformError('login/option-not-found', { id });
  return found('loginOption', JSON.stringify(option));
}

/** Fields of the form. @throws PlatformError 400 for another content type, grant type, or a missing field. */
function formOf(request: ApiRequest): { userName: string; password: string } {
  const bad = (reason: string): PlatformError => new PlatformError('login/bad-request', { reason });
  if (request.contentType.kind !== 'form' && request.contentType.kind !== 'none') throw bad('The body is no application/x-www-form-urlencoded');
  const form = new URLSearchParams(request.bodyText());
  if ((form.get('grant_type') ?? '').toUpperCase() !== 'PASSWORD') throw bad('grant_type is not PASSWORD');
  const [userName, password] = [form.get('username') ?? '', form.get('password') ?? ''];
  if (userName === '' || password === '') throw bad('username and password are mandatory');
  if (userName.length > FORM_FIELD_LENGTH_MAX || password.length > FORM_FIELD_LENGTH_MAX) throw bad('username or password is too long');
  return { userName, password };
}

/** Checks name and password of the form. @throws PlatformError 401, 403 for a host that is the id of a tenant. */
async function logIn(request: ApiRequest): Promise<{ issued: IssuedToken; lifetimeSeconds: number }> {
  const { platform, query } = request;
  const form = formOf(request);
  const asked = query.text('tenant_id');
  const { userName } = form;
  // The tenant of the query, then that of the name, then that of the host.
  const name = asked === undefined ? userName : `${asked}/${userName.slice(userName.indexOf('/') + 1)}`;
  const called = name.includes('/') ? undefined : tenantCalled(request);
  const place = { takesAlias: true, ...(called === undefined ? {} : { tenantNumber: called.number }) };
  const principal = await platform.authenticator.authenticate(name, form.password, place);
  const tenant = principal === undefined ? undefined : platform.tenants.byNumber(principal.tenantNumber);
  if (principal === undefined || tenant === undefined) throw new PlatformError('security/unauthorized');
  const seconds = await lifetimeSeconds(request, tenant);
  const issued = await platform.accounts.tokens.issue(tenant, principal.userName, seconds, hostName(request.called?.host ?? '') || tenant.id);
  if (issued === undefined) throw new PlatformError('security/unauthorized');
  return { issued, lifetimeSeconds: seconds };
}

const NO_STORE = ['Cache-Control', 'no-store'];

async function cookies(request: ApiRequest): Promise<Answer> {
  const { issued, lifetimeSeconds: seconds } = await logIn(request);
  const tail = `Path=/; Max-Age=${seconds}; SameSite=Lax${isSecure(request) ? '; Secure' : ''}`;
  return {
    status: 200, text: '',
    headers: ['Set-Cookie', `${TOKEN_COOKIE}=${issued.token}; HttpOnly; ${tail}`, 'Set-Cookie', `${XSRF_COOKIE}=${issued.xsrfToken}; ${tail}`, ...NO_STORE],
  };
}

const isSecure = (request: ApiRequest): boolean => request.baseUrl.startsWith('https:');

async function accessToken(request: ApiRequest): Promise<Answer> {
  const { issued } = await logIn(request);
  // In the answer also without Accept: the token is the whole point.
  if (!request.wantsBody) request.accept = { isPresent: true, isBranded: false, order: [] };
  return { status: 200, text: JSON.stringify({ access_token: issued.token }), contentType: JSON_TYPE, headers: NO_STORE };
}

/** Ends the token of the request and takes the cookies away. With Basic there is nothing to end. */
async function logout(request: ApiRequest): Promise<Answer> {
  await request.platform.accounts.tokens.revoke(request.principal);
  const gone = `=; Path=/; Max-Age=0; SameSite=Lax${isSecure(request) ? '; Secure' : ''}`;
  return { status: 200, text: '', headers: ['Set-Cookie', `${TOKEN_COOKIE}${gone}; HttpOnly`, 'Set-Cookie', `${XSRF_COOKIE}${gone}`] };
}

async function logoutAll(request: ApiRequest): Promise<Answer> {
  if (request.params['tenant'] !== request.principal.tenant) throw new PlatformError('security/forbidden');
  await request.platform.accounts.tokens.revokeAll(request.tenant);
  return { status: 200, text: '' };
}

export function loginRoutes(): Route[] {
  const form = {
    mediaTypes: [], form: 'bytes', example: 'grant_type=PASSWORD&username=ada&password=Analytical-1',
  } as const;
  const ofTenant = { tenant_id: text('Tenant id; otherwise that of the user name or the host') };
  const asked = { tenantId: text('Tenant id; that of the host, or the default tenant, without it'), management: flag('Of the management tenant') };
  const done = [{ status: 200, description: 'Ended; without a body' }];
  const optional = { isOptional: true, schema: Type.Object({}, { additionalProperties: true }), mediaTypes: [], example: {} };
  return [
    { method: 'GET', path: '/tenant/loginOptions', area: 'tenant', access: 'public', summary: 'Ways to log in', query: asked,
      answers: [{ status: 200, description: 'The login options', mediaType: 'loginOptionCollection' }], handle: listOptions },
    { method: 'GET', path: '/tenant/loginOptions/{id}', area: 'tenant', access: 'user', summary: 'One way to log in', query: asked,
      answers: [{ status: 200, description: 'The login option', mediaType: 'loginOption' }], handle: getOption },
    { method: 'POST', path: '/tenant/oauth', area: 'tenant', access: 'public', summary: 'Log in: a token as cookie', query: ofTenant, body: form,
      answers: [{ status: 200, description: 'Set-Cookie; without a body' }], handle: cookies },
    { method: 'POST', path: '/tenant/oauth/token', area: 'tenant', access: 'public', summary: 'Log in: a token for `Authorization: Bearer`',
      query: ofTenant, body: form, answers: [{ status: 200, description: 'The token', contentTypes: ['application/json'] }], handle: accessToken },
    { method: 'POST', path: '/user/logout', area: 'users', access: 'user', summary: 'End the session of the request', body: optional, answers: done,
      handle: logout },
    { method: 'POST', path: '/user/logout/{tenant}/allUsers', area: 'users', access: 'roles', roles: ['ROLE_USER_MANAGEMENT_ADMIN'],
      summary: 'End all token sessions of the tenant', body: optional, answers: done, handle: logoutAll },
  ];
}
