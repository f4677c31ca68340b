/** Passwords of users: changes with the old one, and links to set a new one (docs/spec/users.md). */
import { newPassword } from '../../accounts/passwords/chosen.ts';
import { sendLinksToAddress, usePasswordLink, userOfLink } from '../../accounts/passwords/links.ts';
import type { LinkParts, UsedLink } from '../../accounts/passwords/links.ts';
import { emailOf } from '../../accounts/passwords/people-search.ts';
import type { PeopleSearch } from '../../accounts/passwords/people-search.ts';
import { isActive } from '../../accounts/tenants/tenants.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { UserPut } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import { stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { FORWARDED_HEADERS, callerOf } from '../request/login-caller.ts';
import { requireRightsOf } from './inventory-rights.ts';
import { tenantCalled } from '../request/login-host.ts';
import type { Platform, TenantInfo } from '../request/platform.ts';
import { text } from '../request/schema/query-parameters.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from './schemas.ts';
import { USER_ADMIN, loadUser, requireOwnTenant } from './text.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

const DONE: Answer = { status: 200, text: '' };
/** What links to set a password are made and mailed with. */
export const linkParts = (platform: Platform): LinkParts => ({
  documents: platform.documents,
  commands: platform.commands,
  refusals: platform.refusals,
  log: platform.log,
  mailer: platform.accounts.mailer,
  mailUrl: platform.config.mailUrl,
  now: () => platform.now(),
});

/**
 * Whether a change of the user gives it a password, or another address, to which a link to set one is mailed without a
 * login.
 */
export function leadsToPassword(members: Members, user: StoredUser): boolean {
  if (stringMember(members, 'password') !== undefined) return true;
  return members.has('email') && (stringMember(members, 'email') ?? '') !== (emailOf(user) ?? '');
}

/**
 * Before users change what leads to their password: a session alone is not enough, its thief could lock its
 * user out. Basic shows the password with each request.
 * @throws PlatformError 422 when a request with a session has not the one that the user has; `general/busy`,
 * `login/locked`.
 */
export async function confirmOfSession(request: ApiRequest, password: string | null | undefined): Promise<void> {
  if (request.principal.session !== undefined) await confirmPassword(request, password ?? undefined);
}

/** @throws PlatformError as `confirmOfSession`, with Basic too. */
async function confirmPassword(request: ApiRequest, password: string | undefined): Promise<void> {
  if (password === undefined) throw new PlatformError('users/current-password-missing');
  const { address } = callerOf(request);
  const { signal } = request.exchange;
  if (!(await request.platform.authenticator.confirm(request.principal, password, { address, signal })))
    throw new PlatformError('users/wrong-password');
}

interface PasswordChange {
  readonly currentUserPassword: string;
  readonly newPassword: string;
}

/**
 * `{"currentUserPassword","newPassword"}`: the first is always that of who asks. @throws PlatformError 422 when it is
 * wrong.
 */
async function change(request: ApiRequest, userName: string): Promise<Answer> {
  const body = JSON.parse(request.bodyText()) as PasswordChange;
  await confirmPassword(request, body.currentUserPassword);
  const password = await newPassword(request.platform, request.principal, request.tenant, {
    userName,
    password: body.newPassword,
  });
  const put: UserPut = { userName, ...password, mustExist: true, by: request.principal.userName };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, put);
  return DONE;
}

async function changeOther(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId } = request.params;
  await requireRightsOf(request, await loadUser(request, userId));
  return change(request, userId);
}

/** Of the query, or of the host. @throws PlatformError 404 for a tenant that does not exist. */
function tenantAsked(request: ApiRequest): TenantInfo {
  const { tenants } = request.platform;
  const id = request.query.text('tenantId');
  const tenant = id === undefined ? (tenantCalled(request) ?? tenants.default) : tenants.byId(id);
  if (tenant === undefined) throw new PlatformError('tenants/not-found', { id: id ?? '' });
  return tenant;
}

/** Whether users of the tenant are looked for; a suspended one has none. */
function isSearched(request: ApiRequest, tenant: TenantInfo): boolean {
  if (isActive(tenant)) return true;
  request.refused('users/password-resets-suspended');
  return false;
}

const searchOf = (request: ApiRequest): PeopleSearch => ({
  turns: request.platform.accounts.passwordSearches,
  key: callerOf(request).address.key,
  signal: request.exchange.signal,
});

/** Answers the same whether there is such a user or not. */
async function requestReset(request: ApiRequest): Promise<Answer> {
  const tenant = tenantAsked(request);
  const { email } = JSON.parse(request.bodyText()) as { email: string };
  if (isSearched(request, tenant))
    await sendLinksToAddress(linkParts(request.platform), tenant, email, searchOf(request));
  return DONE;
}

/** @throws PlatformError 422 when no user of the address has the token. */
async function requireLink(
  request: ApiRequest,
  tenant: TenantInfo,
  link: UsedLink,
): Promise<{ readonly userName: string; readonly record: string }> {
  const found = isSearched(request, tenant)
    ? await userOfLink(request.platform, tenant.number, link, searchOf(request))
    : undefined;
  if (found === undefined) throw new PlatformError('users/reset-token');
  return found;
}

async function reset(request: ApiRequest): Promise<Answer> {
  const tenant = tenantAsked(request);
  const body = JSON.parse(request.bodyText()) as UsedLink & { newPassword: string };
  const user = await requireLink(request, tenant, body);
  await usePasswordLink(request.platform, request.principal, tenant.number, user, body.newPassword);
  return DONE;
}

async function validate(request: ApiRequest): Promise<Answer> {
  const { query } = request;
  const link = { email: query.text('email') as string, token: query.text('token') as string };
  await requireLink(request, tenantAsked(request), link);
  return DONE;
}

export function userPasswordRoutes(): Route[] {
  const area = 'users';
  const answers = [{ status: 200, description: 'Done; without a body' }];
  const passwords = {
    schema: schemas.PasswordChange,
    mediaTypes: ['user'],
    example: { currentUserPassword: 'the-old-1', newPassword: 'Analytical-1' },
  };
  const ofTenant = { tenantId: text('Tenant id; that of the host without it') };
  return [
    {
      method: 'PUT',
      path: '/user/{tenant}/users/{userId}/password',
      area,
      access: 'roles',
      roles: USER_ADMIN,
      summary: 'Set the password of a user; needs your own password too',
      headers: FORWARDED_HEADERS,
      body: passwords,
      answers,
      handle: changeOther,
    },
    {
      method: 'PUT',
      path: '/user/currentUser/password',
      area,
      access: 'user',
      summary: 'Change your password',
      headers: FORWARDED_HEADERS,
      body: passwords,
      answers,
      handle: (request) => change(request, request.principal.userName),
    },
    {
      method: 'POST',
      path: '/user/passwordReset',
      area,
      access: 'public',
      summary: 'Mail a link to set a new password',
      query: ofTenant,
      headers: FORWARDED_HEADERS,
      body: { schema: schemas.PasswordResetRequest, mediaTypes: [], example: { email: 'ada@example.com' } },
      answers,
      handle: requestReset,
    },
    {
      method: 'PUT',
      path: '/user/passwordReset',
      area,
      access: 'public',
      summary: 'Set a new password with the token of a link',
      query: ofTenant,
      headers: FORWARDED_HEADERS,
      body: {
        schema: schemas.PasswordReset,
        mediaTypes: [],
        example: { token: 't', email: 'ada@example.com', newPassword: 'Analytical-1' },
      },
      answers,
      handle: reset,
    },
    {
      method: 'GET',
      path: '/user/passwordReset/validate',
      area,
      access: 'public',
      summary: 'Whether the token of a link is good',
      headers: FORWARDED_HEADERS,
      query: {
        ...ofTenant,
        token: { ...text('The token'), isRequired: true },
        email: { ...text('The address'), isRequired: true },
      },
      answers,
      handle: validate,
    },
  ];
}
