/** Users of a tenant (document 4 sections 3.1 and 3.2). Passwords: user-passwords.ts; groups and roles: groups.ts, user-roles.ts. */
import Type from 'typebox';
import { devicePermissionGrants } from '../accounts/effective-rights.ts';
import { isRequiredOf } from '../accounts/second-factor.ts';
import { memberKey, requireSmall } from '../actors/user.ts';
import type { StoredUser } from '../actors/user.ts';
import { COMMAND } from '../model/command.ts';
import type { UserDelete, UserPut } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { parseDevicePermission } from '../model/inventory-access.ts';
import { joinMembers, splitMembers, stringMember } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import type { ApiRequest } from './api-request.ts';
import { TENANT_KEY } from './data-delete.ts';
import { isEntityId } from './entity-id.ts';
import { isDevice, requireGrants, requireNameWithoutRights, requireRightsOf } from './inventory-rights.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from './paging.ts';
import { flag, list as listParameter, text } from './query-parameters.ts';
import { NO_CONTENT, created, found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import { newPassword, sendPasswordLink } from './user-passwords.ts';
import * as schemas from './user-schemas.ts';
import {
  USER_ADMIN, USER_CREATE, USER_NAME_RULE, USER_READ, isNewUserName, isSubuser, loadUser, ownerOf, requireManaged, requireOwnTenant,
  sentRoles, userText, userUrl, usesCodes,
} from './user-text.ts';

/** Members with a meaning of their own; all others are kept as they are sent. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'self', 'userName', 'password', 'roles', 'enabled', 'groups', 'effectiveRoles',
  'sendPasswordResetEmail', 'lastPasswordChange', 'passwordStrength', 'shouldResetPassword', 'alias', 'subusersCount']);
/** Members of a PUT that only somebody with all rights of the user may send: with each of them one could get in as the user. */
const PROTECTED_MEMBERS = ['password', 'enabled', 'email', 'alias', 'owner', 'delegatedBy', 'devicePermissions', 'sendPasswordResetEmail',
  'twoFactorAuthenticationEnabled'];
/** Users of one list that are looked at; the store has them by name. */
const USERS_MAX = 100_000;

/** How a member reads that was never set, where that is not null. */
const UNSET: Readonly<Record<string, string>> = { devicePermissions: '{}', twoFactorAuthenticationEnabled: 'false' };

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'users', name, value, limit });

/** @throws PlatformError 422 for an id that is none or a text that is no permission. */
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
    userName, doc, by: request.principal.userName,
    ...(password === undefined ? {} : await newPassword(request, request.tenant, password)),
    ...(members.has('alias') ? { alias: sentAlias(members, userName) } : {}),
    ...(enabled === undefined ? {} : { enabled: enabled === 'true' }),
    ...(shouldReset === undefined ? {} : { shouldResetPassword: shouldReset === 'true' }),
  };
}

/** '' for null. @throws PlatformError 422: devices have no alias. */
function sentAlias(members: Members, userName: string): string {
  const alias = stringMember(members, 'alias') ?? '';
  if (alias !== '' && (isDevice(userName) || isDevice(alias))) throw invalid('alias', alias, 'no alias for device users');
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
  if (!sendsLink && !members.has('password')) throw new PlatformError('validation/mandatory-fields', { names: 'password' });
  const roles = await sentRoles(request, 'users');
  // Who may only create users owns what he creates.
  const owner = request.hasRole(...USER_ADMIN) ? stringMember(members, 'owner') : request.principal.userName;
  if (owner !== undefined) members.set('owner', JSON.stringify(owner));
  const change = await changeOf(request, userName);
  await requireGrants(request, devicePermissionGrants(change.doc ?? '{}'));
  await requireNameWithoutRights(request, userName);
  const body: UserPut = { ...change, mustBeNew: true, ...(roles === undefined ? {} : { roles }) };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, body);
  if (sendsLink) await sendPasswordLink(request, tenantOf(request), userName);
  return created('user', await userText(request, await loadUser(request, userName)), userUrl(request, userName));
}

const tenantOf = (request: ApiRequest): { id: string; number: number } => ({ id: request.principal.tenant, number: request.tenant });

/** Users of the groups in the filter; undefined without it. */
async function membersOfGroups(request: ApiRequest): Promise<Set<string> | undefined> {
  const groups = request.query.list('groups');
  if (groups.length === 0) return undefined;
  const names = new Set<string>();
  for (const group of groups) {
    const prefix = memberKey(Number(group), '');
    for (const { id } of await request.platform.documents.list('groupMember', request.tenant, prefix, { limit: USERS_MAX })) names.add(id.slice(prefix.length));
  }
  return names;
}

async function list(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { query, platform } = request;
  const page = pageOf(request);
  const entries = await platform.documents.list('user', request.tenant, query.text('username') ?? '', { limit: USERS_MAX });
  const onlyDevices = query.isTrue('onlyDevices');
  const ofGroups = await membersOfGroups(request);
  let users = entries.filter(({ id }) => isDevice(id) === onlyDevices && ofGroups?.has(id) !== false).map(({ value }) => JSON.parse(value) as StoredUser);
  const owner = query.text('owner');
  if (owner !== undefined) users = users.filter((user) => ownerOf(user) === owner);
  if (!request.hasRole(...USER_READ)) users = await subusersOf(request, users);
  const counts = query.isTrue('withSubusersCount') ? await subuserCounts(request) : undefined;
  const items = await Promise.all(users.slice(page.offset, page.offset + page.size).map((user) =>
    userText(request, user, counts === undefined ? [] : [['subusersCount', String(counts.get(user.userName) ?? 0)]])));
  const total = page.wantsTotal ? users.length : undefined;
  return found('userCollection', collectionText(request, page, { name: 'users', items, total }));
}

async function subusersOf(request: ApiRequest, users: readonly StoredUser[]): Promise<StoredUser[]> {
  const own: StoredUser[] = [];
  for (const user of users) if (await isSubuser(request, user)) own.push(user);
  return own;
}

/** Users whose owner is the user, by its name. */
async function subuserCounts(request: ApiRequest): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { value } of await request.platform.documents.list('user', request.tenant, '', { limit: USERS_MAX })) {
    const owner = ownerOf(JSON.parse(value) as StoredUser);
    if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1);
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
  if (sentName !== undefined && sentName !== userId) throw invalid('userName', sentName, 'the name that the user has: it is fixed');
  // What was read because the user has set codes up is not sent to force him.
  if (members.get('twoFactorAuthenticationEnabled') === 'true' && !isRequiredOf(user) && await usesCodes(request, user)) {
    members.delete('twoFactorAuthenticationEnabled');
  }
  if (PROTECTED_MEMBERS.some((name) => isChanged(members, name, user))) await requireRightsOf(request, user);
  const sendsLink = members.get('sendPasswordResetEmail') === 'true';
  const change = await changeOf(request, userId);
  if (isChanged(members, 'devicePermissions', user)) await requireGrants(request, devicePermissionGrants(change.doc ?? '{}'));
  await request.command(COMMAND.USER_PUT, TENANT_KEY, { ...change, mustExist: true });
  if (sendsLink) await sendPasswordLink(request, tenantOf(request), userId);
  return found('user', await userText(request, await loadUser(request, userId)));
}

/** Front ends send back what they have read: that is no change. */
function isChanged(members: Members, name: string, user: StoredUser): boolean {
  const sent = members.get(name);
  if (sent === undefined || sent === 'false' && name === 'sendPasswordResetEmail') return false;
  if (name === 'enabled') return sent !== String(user.enabled);
  if (name === 'alias') return sent !== JSON.stringify(user.alias ?? null);
  const stored = splitMembers(user.doc).get(name) ?? UNSET[name] ?? 'null';
  return sent !== stored;
}

async function remove(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId } = request.params;
  await requireRightsOf(request, await loadUser(request, userId));
  // Neither oneself nor the administrator of the tenant: somebody has to be left.
  const { principal, platform } = request;
  if (userId === principal.userName || userId === platform.tenants.byId(principal.tenant)?.adminName) throw new PlatformError('security/forbidden');
  const body: UserDelete = { userName: userId, by: principal.userName };
  await request.command(COMMAND.USER_DELETE, TENANT_KEY, body);
  return NO_CONTENT;
}

/** Addresses of all who want the newsletter, comma separated. */
async function newsletterEmails(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const rows = await request.platform.documents.list('user', request.tenant, '', { limit: USERS_MAX });
  const emails = rows.map(({ value }) => splitMembers((JSON.parse(value) as StoredUser).doc))
    .filter((members) => members.get('newsletter') === 'true').map((members) => stringMember(members, 'email')).filter((email) => email !== undefined);
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
      method: 'GET', path, area, access: 'roles', roles: readers, summary: 'List users by name',
      query: {
        username: text('Start of the user name'), groups: listParameter(Type.String({ pattern: '^\\d{1,16}$' }), 'Ids of groups, comma separated'),
        owner: text('Users of this owner'), onlyDevices: flag('Only device users; otherwise they are left out'),
        withSubusersCount: flag('Adds subusersCount'), ...PAGE_PARAMETERS,
      },
      answers: [{ status: 200, description: 'A page of users', mediaType: 'userCollection' }], handle: list,
    },
    {
      method: 'POST', path, area, access: 'roles', roles: writers, summary: 'Create a user',
      body: {
        schema: schemas.User, mediaTypes: ['user'],
        example: { userName: 'ada', password: 'Analytical-1', roles: { references: [{ role: { id: 'ROLE_INVENTORY_READ' } }] } },
      },
      answers: [{ status: 201, description: 'Created', mediaType: 'user' }], handle: post,
    },
    {
      method: 'GET', path: `${path}/newsletterEmails`, area, access: 'roles', roles: USER_READ, summary: 'Addresses of who wants the newsletter',
      produces: ['text', 'vendor', 'json'], answers: [{ status: 200, description: 'Addresses', contentTypes: ['text/plain'],
        example: 'ada@example.com' }], handle: newsletterEmails,
    },
    {
      method: 'GET', path: `${path}/{userId}`, area, access: 'roles', roles: readers, summary: 'Read a user', answers: one,
      handle: (request) => get(request, request.params['userId']),
    },
    {
      method: 'GET', path: '/user/{tenant}/userByName/{name}', area, access: 'roles', roles: readers, summary: 'Read a user by name', answers: one,
      handle: (request) => get(request, request.params['name']),
    },
    {
      method: 'PUT', path: `${path}/{userId}`, area, access: 'roles', roles: writers, summary: 'Change a user; groups and roles have resources of their own',
      body: { schema: schemas.UserUpdate, mediaTypes: ['user'], example: { firstName: 'Ada', enabled: true } }, answers: one, handle: put,
    },
    {
      method: 'DELETE', path: `${path}/{userId}`, area, access: 'roles', roles: USER_ADMIN, summary: 'Delete a user',
      answers: [{ status: 204, description: 'Deleted' }], handle: remove,
    },
  ];
}
