/** Users of a tenant (docs/spec/users.md). Passwords: passwords.ts; groups and roles: groups.ts, roles.ts. */
import Type from 'typebox';
import { devicePermissionGrants } from '../../accounts/users/effective-rights.ts';
import { isRequiredOf } from '../../accounts/login/second-factor.ts';
import { requireSmall } from '../../actors/handlers/users/user.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { UserDelete, UserPut } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import { parseDevicePermission } from '../../model/access/inventory-grant.ts';
import { joinMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { requireGrants, requireNameWithoutRights, requireRightsOf } from './inventory-rights.ts';
import { FORWARDED_HEADERS } from '../request/login-caller.ts';
import { PageBudget } from '../request/page-budget.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import type { Page } from '../../model/documents/page.ts';
import { flag, list as listParameter, text } from '../request/schema/query-parameters.ts';
import { deviceUserSteps, peopleSteps } from '../../records/steps.ts';
import { keepPosition, positionBefore } from '../lists/positions.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { newPassword } from '../../accounts/passwords/chosen.ts';
import { sendPasswordLink } from '../../accounts/passwords/links.ts';
import { confirmOfSession, leadsToPassword, linkParts } from './passwords.ts';
import * as schemas from './schemas.ts';
import {
  USER_ADMIN,
  USER_CREATE,
  USER_NAME_RULE,
  USER_READ,
  isAdministrator,
  isDevice,
  isNewUserName,
  isSubuser,
  loadUser,
  ownerOf,
  requireManaged,
  requireOwnTenant,
  sentRoles,
  userText,
  userTexts,
  userUrl,
  usesCodes,
} from './text.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** Members with a meaning of their own; all others are kept as they are sent. */
const OWN_MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'self',
  'userName',
  'password',
  'currentUserPassword',
  'roles',
  'enabled',
  'groups',
  'effectiveRoles',
  'sendPasswordResetEmail',
  'lastPasswordChange',
  'passwordStrength',
  'shouldResetPassword',
  'alias',
  'subusersCount',
]);
/**
 * Members of a PUT that only a caller with all rights of the user may send: with each of them one could get in as the
 * user.
 */
const PROTECTED_MEMBERS = [
  'password',
  'enabled',
  'email',
  'alias',
  'owner',
  'delegatedBy',
  'devicePermissions',
  'sendPasswordResetEmail',
  'twoFactorAuthenticationEnabled',
];

/** How a member reads that was never set, where that is not null. */
const UNSET: Readonly<Record<string, string>> = { devicePermissions: '{}', twoFactorAuthenticationEnabled: 'false' };

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'users', name, value, limit });

/** @throws PlatformError 422 for an id that is none or a text that is not a permission. */
export function checkDevicePermissions(members: Members, area: string): void {
  const sent = members.get('devicePermissions');
  if (sent === undefined || sent === 'null') return;
  for (const [id, entries] of Object.entries(JSON.parse(sent) as Record<string, string[]>)) {
    const wrong = isEntityId(id) ? entries.find((entry) => parseDevicePermission(entry) === undefined) : id;
    if (wrong !== undefined) {
      const limit = '{"<id of a managed object>":["<scope>:<type>:<permission>"]}';
      throw new PlatformError('validation/invalid-field', { area, name: 'devicePermissions', value: wrong, limit });
    }
  }
}

/** What the body says about a user, but for groups and roles. */
async function changeOf(request: ApiRequest, userName: string): Promise<UserPut> {
  const members = request.members();
  checkDevicePermissions(members, 'users');
  const doc = joinMembers([...members].filter(([name]) => !OWN_MEMBERS.has(name)));
  requireSmall(doc);
  const password = stringMember(members, 'password');
  const [enabled, shouldReset] = [members.get('enabled'), members.get('shouldResetPassword')];
  return {
    userName,
    doc,
    by: request.principal.userName,
    ...(password === undefined
      ? {}
      : await newPassword(request.platform, request.principal, request.tenant, { userName, password })),
    ...(members.has('alias') ? { alias: sentAlias(members, userName) } : {}),
    ...(enabled === undefined ? {} : { enabled: enabled === 'true' }),
    ...(shouldReset === undefined ? {} : { shouldResetPassword: shouldReset === 'true' }),
  };
}

/** '' for null. @throws PlatformError 422: devices have no alias. */
function sentAlias(members: Members, userName: string): string {
  const alias = stringMember(members, 'alias') ?? '';
  if (alias !== '' && (isDevice(userName) || isDevice(alias)))
    throw invalid('alias', alias, 'no alias for device users');
  if (alias !== '' && !isNewUserName(alias)) throw invalid('alias', alias, USER_NAME_RULE);
  return alias;
}

async function post(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const members = request.members();
  const userName = stringMember(members, 'userName') as string;
  if (!isNewUserName(userName)) throw invalid('userName', userName, USER_NAME_RULE);
  const sendsLink = members.get('sendPasswordResetEmail') === 'true';
  if (sendsLink && !stringMember(members, 'email')) throw new PlatformError('users/email-missing');
  if (!sendsLink && !members.has('password'))
    throw new PlatformError('validation/mandatory-fields', { names: 'password' });
  const roles = await sentRoles(request, 'users');
  // Who may only create users owns what he creates.
  const owner = request.hasRole(...USER_ADMIN) ? stringMember(members, 'owner') : request.principal.userName;
  if (owner !== undefined) members.set('owner', JSON.stringify(owner));
  const change = await changeOf(request, userName);
  await requireGrants(request, devicePermissionGrants(change.doc ?? '{}'));
  await requireNameWithoutRights(request, userName);
  const body: UserPut = {
    ...change,
    mustBeNew: true,
    ...(isDevice(userName) ? { isPerson: true } : {}),
    ...(roles === undefined ? {} : { roles }),
  };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, body);
  if (sendsLink) await sendPasswordLink(linkParts(request.platform), tenantOf(request), userName);
  return created('user', await userText(request, await loadUser(request, userName)), userUrl(request, userName));
}

const tenantOf = (request: ApiRequest): { id: string; number: number } => ({
  id: request.principal.tenant,
  number: request.tenant,
});

type Filter = (user: StoredUser) => boolean | Promise<boolean>;

/** What the query and the caller's rights ask of a user, beside the name. */
async function filtersOf(request: ApiRequest): Promise<Filter[]> {
  const filters: Filter[] = [];
  const groups = request.query.list('groups');
  if (groups.length > 0) {
    // Users keep the ids of groups that were deleted.
    const stored = await request.platform.documents.getMany(
      'group',
      request.tenant,
      groups.map((group) => String(Number(group))),
    );
    const wanted = new Set(groups.map(Number).filter((_, index) => stored[index] !== undefined));
    filters.push((user) => (user.groups ?? []).some((group) => wanted.has(group)));
  }
  const owner = request.query.text('owner');
  if (owner !== undefined) filters.push((user) => ownerOf(user) === owner);
  if (!request.hasRole(...USER_READ)) filters.push(ofCaller(request));
  return filters;
}

/** Subusers of who asks; each owner is followed once. */
function ofCaller(request: ApiRequest): Filter {
  const known = new Map<string, Promise<boolean>>();
  return (user) => {
    const owner = ownerOf(user);
    if (owner === undefined) return false;
    const answer = known.get(owner) ?? isSubuser(request, user);
    known.set(owner, answer);
    return answer;
  };
}

async function passes(user: StoredUser, filters: readonly Filter[]): Promise<boolean> {
  for (const filter of filters) if (!(await filter(user))) return false;
  return true;
}

/** Reads no further than the page, unless it wants the total. @throws PlatformError `general/page-too-large`. */
async function usersOfPage(request: ApiRequest, page: Page): Promise<{ users: StoredUser[]; total: number }> {
  const { query, platform, tenant } = request;
  const steps = query.isTrue('onlyDevices') ? deviceUserSteps : peopleSteps;
  const filters = await filtersOf(request);
  const budget = new PageBudget(request);
  const users: StoredUser[] = [];
  const { offset, after } = positionBefore(request, page.offset);
  let total = offset;
  for await (const rows of steps({
    documents: platform.documents,
    tenant,
    prefix: query.text('username') ?? '',
    after,
  })) {
    for (const { id, value } of rows) {
      if (filters.length > 0 && !(await passes(JSON.parse(value) as StoredUser, filters))) continue;
      total += 1;
      if (total <= page.offset || users.length >= page.size) continue;
      budget.take(value.length);
      users.push(JSON.parse(value) as StoredUser);
      if (users.length < page.size) continue;
      keepPosition(request, { offset: total, after: id });
      if (!page.wantsTotal) return { users, total };
    }
  }
  return { users, total };
}

async function list(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const page = pageOf(request);
  const { users, total } = await usersOfPage(request, page);
  const counts = request.query.isTrue('withSubusersCount') ? await subuserCounts(request, users) : undefined;
  const items = await userTexts(request, users, ({ userName }) =>
    counts === undefined ? [] : [['subusersCount', String(counts.get(userName))]],
  );
  return found(
    'userCollection',
    collectionText(request, page, { name: 'users', items, total: page.wantsTotal ? total : undefined }),
  );
}

/** How many people each of the users owns, by its name. */
async function subuserCounts(
  { platform, tenant }: ApiRequest,
  users: readonly StoredUser[],
): Promise<Map<string, number>> {
  const counts = new Map(users.map(({ userName }) => [userName, 0]));
  for await (const rows of peopleSteps({ documents: platform.documents, tenant })) {
    for (const { value } of rows) {
      const owner = ownerOf(JSON.parse(value) as StoredUser) ?? '';
      const count = counts.get(owner);
      if (count !== undefined) counts.set(owner, count + 1);
    }
  }
  return counts;
}

async function get(request: ApiRequest, name: string): Promise<Answer> {
  requireOwnTenant(request);
  const user = await loadUser(request, name);
  await requireManaged(request, user, USER_READ);
  return found('user', await userText(request, user));
}

async function put(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId } = request.params;
  const user = await loadUser(request, userId);
  await requireManaged(request, user, USER_ADMIN);
  const members = request.members();
  const sentName = stringMember(members, 'userName');
  if (sentName !== undefined && sentName !== userId)
    throw invalid('userName', sentName, 'the name that the user has: it is fixed');
  // What was read because the user has set codes up is not sent to force him.
  if (
    members.get('twoFactorAuthenticationEnabled') === 'true' &&
    !isRequiredOf(user) &&
    (await usesCodes(request, user))
  ) {
    members.delete('twoFactorAuthenticationEnabled');
  }
  if (PROTECTED_MEMBERS.some((name) => isChanged(members, name, user))) await requireRightsOf(request, user);
  if (members.get('enabled') === 'false' && isChanged(members, 'enabled', user)) requireDispensable(request, userId);
  const sendsLink = members.get('sendPasswordResetEmail') === 'true';
  // Before anything is changed.
  if (sendsLink && !stringMember(members.has('email') ? members : splitMembers(user.doc), 'email'))
    throw new PlatformError('users/email-missing');
  if (userId === request.principal.userName && (sendsLink || leadsToPassword(members, user))) {
    await confirmOfSession(request, stringMember(members, 'currentUserPassword'));
  }
  const change = await changeOf(request, userId);
  if (isChanged(members, 'devicePermissions', user))
    await requireGrants(request, devicePermissionGrants(change.doc ?? '{}'));
  await request.command(COMMAND.USER_PUT, TENANT_KEY, { ...change, mustExist: true });
  if (sendsLink) await sendPasswordLink(linkParts(request.platform), tenantOf(request), userId);
  return found('user', await userText(request, await loadUser(request, userId)));
}

/** Front ends send back what they have read: that changes nothing. */
function isChanged(members: Members, name: string, user: StoredUser): boolean {
  const sent = members.get(name);
  if (sent === undefined || (sent === 'false' && name === 'sendPasswordResetEmail')) return false;
  if (name === 'enabled') return sent !== String(user.enabled);
  if (name === 'alias') return sent !== JSON.stringify(user.alias ?? null);
  const stored = splitMembers(user.doc).get(name) ?? UNSET[name] ?? 'null';
  return sent !== stored;
}

/**
 * Neither oneself nor the administrator of the tenant is deleted or disabled: one user has to remain. @throws
 * PlatformError 403.
 */
function requireDispensable(request: ApiRequest, userName: string): void {
  if (userName !== request.principal.userName && !isAdministrator(request, userName)) return;
  const rule = "users cannot do so with themselves or with the tenant's administrator";
  throw new PlatformError('users/administrator-kept', { what: `to delete or disable ${userName}`, rule });
}

async function remove(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId } = request.params;
  await requireRightsOf(request, await loadUser(request, userId));
  requireDispensable(request, userId);
  const body: UserDelete = { userName: userId, by: request.principal.userName };
  await request.command(COMMAND.USER_DELETE, TENANT_KEY, body);
  return NO_CONTENT;
}

/** Addresses of all who want the newsletter, comma separated. @throws PlatformError `general/page-too-large`. */
async function newsletterEmails(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const emails: string[] = [];
  const budget = new PageBudget(request);
  for await (const rows of peopleSteps({ documents: request.platform.documents, tenant: request.tenant })) {
    for (const { value } of rows) {
      const members = splitMembers((JSON.parse(value) as StoredUser).doc);
      const email = members.get('newsletter') === 'true' ? stringMember(members, 'email') : undefined;
      if (email === undefined) continue;
      budget.take(email.length);
      emails.push(email);
    }
  }
  return { status: 200, text: emails.join(','), contentType: 'text/plain;charset=UTF-8' };
}

export function userRoutes(): Route[] {
  const area = 'users';
  const path = '/user/{tenant}/users';
  const one = [{ status: 200, description: 'The user', mediaType: 'user' }];
  const readers = [...USER_READ, USER_CREATE];
  const writers = [...USER_ADMIN, USER_CREATE];
  return [
    {
      method: 'GET',
      path,
      area,
      access: 'roles',
      roles: readers,
      summary: 'List users by name',
      query: {
        username: text('Start of the user name'),
        groups: listParameter(Type.String({ pattern: '^\\d{1,16}$' }), 'Ids of groups, comma separated'),
        owner: text('Users of this owner'),
        onlyDevices: flag('Only device users; otherwise they are left out'),
        withSubusersCount: flag('Adds subusersCount'),
        ...PAGE_PARAMETERS,
      },
      answers: [{ status: 200, description: 'A page of users', mediaType: 'userCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path,
      area,
      access: 'roles',
      roles: writers,
      summary: 'Create a user',
      body: {
        schema: schemas.User,
        mediaTypes: ['user'],
        example: {
          userName: 'ada',
          password: 'Analytical-1',
          roles: { references: [{ role: { id: 'ROLE_INVENTORY_READ' } }] },
        },
      },
      answers: [{ status: 201, description: 'Created', mediaType: 'user' }],
      handle: post,
    },
    {
      method: 'GET',
      path: `${path}/newsletterEmails`,
      area,
      access: 'roles',
      roles: USER_READ,
      summary: 'E-mail addresses of users who want the newsletter',
      produces: ['text', 'vendor', 'json'],
      answers: [{ status: 200, description: 'Addresses', contentTypes: ['text/plain'], example: 'ada@example.com' }],
      handle: newsletterEmails,
    },
    {
      method: 'GET',
      path: `${path}/{userId}`,
      area,
      access: 'roles',
      roles: readers,
      summary: 'Read a user',
      answers: one,
      handle: (request) => get(request, request.params['userId']),
    },
    {
      method: 'GET',
      path: '/user/{tenant}/userByName/{name}',
      area,
      access: 'roles',
      roles: readers,
      summary: 'Read a user by name',
      answers: one,
      handle: (request) => get(request, request.params['name']),
    },
    {
      method: 'PUT',
      path: `${path}/{userId}`,
      area,
      access: 'roles',
      roles: writers,
      summary: 'Change a user; groups and roles have resources of their own',
      headers: FORWARDED_HEADERS,
      body: { schema: schemas.UserUpdate, mediaTypes: ['user'], example: { firstName: 'Ada', enabled: true } },
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path: `${path}/{userId}`,
      area,
      access: 'roles',
      roles: USER_ADMIN,
      summary: 'Delete a user',
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
  ];
}
