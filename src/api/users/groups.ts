/** Groups of users, their members and their roles (docs/spec/users.md#groups). */
import { devicePermissionGrants } from '../../accounts/users/effective-rights.ts';
import { ADMINS_GROUP, removeMembers } from '../../accounts/users/groups.ts';
import type { StoredGroup } from '../../accounts/users/groups.ts';
import { USER_DOC_BYTES_MAX, memberKey, requireSmall } from '../../actors/handlers/users/user.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { UserPut } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import { dropNulls, joinMembers, mergeMembers, splitMembers } from '../../model/documents/json-document.ts';
import { isOfApplication, roleNamed } from '../../model/access/roles.ts';
import type { ApiRequest } from '../request/request.ts';
import { quote, segment } from '../entities/text.ts';
import { requireGrants } from './inventory-rights.ts';
import { NamedRecords, sentName } from '../../records/named-records.ts';
import { PageBudget, textsWithin } from '../request/page-budget.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import type { Page } from '../../model/documents/page.ts';
import { recordSteps } from '../../records/steps.ts';
import { keepPosition, positionBefore } from '../lists/positions.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from './schemas.ts';
import {
  USER_ADMIN,
  USER_CREATE,
  USER_READ,
  groupReferenceText,
  groupText,
  groupUrl,
  isAdministrator,
  knownRoles,
  loadUser,
  referencedId,
  requireManaged,
  requireOwnTenant,
  requireRoles,
  requireRolesOf,
  roleReferenceText,
  rolesAnswer,
  sentRoles,
  userText,
  userTexts,
  userUrl,
} from './text.ts';
import { checkDevicePermissions } from './users.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** Members that are kept elsewhere. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'self', 'name', 'roles', 'users']);
/** Members of a page that are read at once. */
const USERS_AT_ONCE = 100;
const USER_LINK = /\/user\/([^/]+)\/users\/[^/]+\/*$/;

export const GROUPS = new NamedRecords<StoredGroup>(
  'group',
  { notFound: 'groups/not-found', duplicate: 'groups/duplicate' },
  'Group',
);

const docOf = (request: ApiRequest): string =>
  joinMembers([...request.members()].filter(([name]) => !OWN_MEMBERS.has(name)));

/**
 * Its text is in that of each of its members. @throws PlatformError 422 for what makes a group larger than a user may
 * be.
 */
export function requireSmallGroup(request: ApiRequest, doc: string, old = '{}'): void {
  if (doc.length <= old.length) return;
  if (Buffer.byteLength(doc) > USER_DOC_BYTES_MAX) request.refused('users/group-bytes');
  requireSmall(doc, { area: 'groups', what: 'a group' });
}

async function list(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const page = pageOf(request);
  const { records, total } = await GROUPS.page(request, page, new PageBudget(request));
  const items = textsWithin(request, records, (group) => groupText(request, group));
  return found(
    'groupCollection',
    collectionText(request, page, { name: 'groups', items, total: page.wantsTotal ? total : undefined }),
  );
}

async function post(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const members = request.members();
  checkDevicePermissions(members, 'groups');
  const roles = (await sentRoles(request, 'groups')) ?? [];
  const doc = joinMembers(dropNulls(splitMembers(docOf(request))));
  requireSmallGroup(request, doc);
  await requireGrants(request, devicePermissionGrants(doc));
  const group: StoredGroup = {
    id: await request.platform.ids.nextInOrder(),
    name: sentName(members, 'groups') as string,
    roles,
    doc,
  };
  await GROUPS.create(request, group);
  return created('group', groupText(request, group), groupUrl(request, group.id));
}

async function get(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  return found('group', groupText(request, await GROUPS.load(request, request.params['id'])));
}

async function getByName(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { name } = request.params;
  const group = await GROUPS.find(request, name);
  if (group === undefined) throw new PlatformError('groups/not-found', { id: name });
  return found('group', groupText(request, group));
}

/** Name, description and the like; roles and users are resources of their own. */
async function put(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const members = request.members();
  checkDevicePermissions(members, 'groups');
  const name = sentName(members, 'groups');
  await requireGrants(request, devicePermissionGrants(docOf(request)));
  const group = await GROUPS.update(request, request.params['id'], (old) => {
    const isRenamed = name !== undefined && name !== old.name;
    // By its name `two-factor-authentication/enforced.group` means it.
    if (isRenamed || members.has('devicePermissions')) requireRoles(request, old.roles);
    if (isRenamed && old.id === ADMINS_GROUP) throw new PlatformError('groups/name-kept', { name: old.name });
    const doc = splitMembers(old.doc);
    mergeMembers(doc, splitMembers(docOf(request)));
    const next = joinMembers(doc);
    requireSmallGroup(request, next, old.doc);
    return { ...old, name: name ?? old.name, doc: next };
  });
  return found('group', groupText(request, group));
}

async function remove(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { id } = request.params;
  const group = await GROUPS.load(request, id);
  requireRoles(request, group.roles);
  if (group.id === ADMINS_GROUP) throw new PlatformError('security/forbidden');
  await GROUPS.remove(request, id);
  await removeMembers(request.platform, request.tenant, group.id);
  return NO_CONTENT;
}

async function listUsers(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const group = await GROUPS.load(request, request.params['id']);
  const page = pageOf(request);
  const { names, total } = await membersOfPage(request, group.id, page);
  const users = await loadUsers(request, names);
  const texts = await userTexts(request, users);
  const items = users.map((user, index) => userReferenceText(request, texts[index], user, group.id));
  return found(
    'userReferenceCollection',
    collectionText(request, page, {
      name: 'references',
      items,
      total: page.wantsTotal ? total : undefined,
      isFull: names.length >= page.size,
    }),
  );
}

/** Names in their order. Reads no further than the page, unless it wants the total. */
async function membersOfPage(
  request: ApiRequest,
  group: number,
  page: Page,
): Promise<{ names: string[]; total: number }> {
  const prefix = memberKey(group, '');
  const names: string[] = [];
  const { offset, after } = positionBefore(request, page.offset);
  let total = offset;
  for await (const rows of recordSteps(
    { documents: request.platform.documents, tenant: request.tenant, prefix, after },
    'groupMember',
  )) {
    const start = Math.max(0, page.offset - total);
    names.push(...rows.slice(start, start + page.size - names.length).map(({ id }) => id.slice(prefix.length)));
    total += rows.length;
    if (names.length >= page.size && !page.wantsTotal) break;
  }
  if (names.length >= page.size)
    keepPosition(request, { offset: page.offset + page.size, after: memberKey(group, names[names.length - 1]) });
  return { names, total };
}

/** Those that exist. @throws PlatformError `general/page-too-large`. */
async function loadUsers(request: ApiRequest, names: readonly string[]): Promise<StoredUser[]> {
  const budget = new PageBudget(request);
  const users: StoredUser[] = [];
  for (let start = 0; start < names.length; start += USERS_AT_ONCE) {
    for (const text of await request.platform.documents.getMany(
      'user',
      request.tenant,
      names.slice(start, start + USERS_AT_ONCE),
    )) {
      if (text === undefined) continue;
      budget.take(text.length);
      users.push(JSON.parse(text) as StoredUser);
    }
  }
  return users;
}

const memberUrl = (request: ApiRequest, group: number, userName: string): string =>
  `${groupUrl(request, group)}/users/${encodeURIComponent(userName.toWellFormed())}`;

/** @param text of the user. */
const userReferenceText = (request: ApiRequest, text: string, { userName }: StoredUser, group: number): string =>
  `{"user":${text},"self":${quote(memberUrl(request, group, userName))}}`;

/** @throws PlatformError 422 for none, 404 for one of another tenant. */
function referencedUser(request: ApiRequest): string {
  const { user } = JSON.parse(request.bodyText()) as { user: { id?: string; self?: string } };
  const userName = referencedId(user);
  if (userName === '')
    throw new PlatformError('users/reference', {
      what: 'user',
      form: '{"user":{"self":"…/user/<tenant>/users/<name>"}}',
    });
  requireOwnLink(request, user.self ?? '');
  return userName;
}

/** @throws PlatformError 404 for the link of a user of another tenant. */
function requireOwnLink(request: ApiRequest, link: string): void {
  const tenant = USER_LINK.exec(link)?.[1];
  if (tenant !== undefined && tenant !== segment(request.principal.tenant))
    throw new PlatformError('users/not-found', { id: referencedId({ self: link }) });
}

async function addUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const group = await GROUPS.load(request, request.params['id']);
  const userName = referencedUser(request);
  const stored = await loadUser(request, userName);
  await requireManaged(request, stored, USER_ADMIN);
  requireRoles(request, group.roles);
  await requireGrants(request, devicePermissionGrants(group.doc));
  await requireRolesOf(request, stored);
  const put: UserPut = { userName, addGroups: [group.id], mustExist: true, by: request.principal.userName };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, put);
  const user = await loadUser(request, userName);
  const text = userReferenceText(request, await userText(request, user), user, group.id);
  return created('userReference', text, memberUrl(request, group.id, userName));
}

/**
 * Of a path: `@c8y/client` also writes a link as a segment, where docs/spec/users.md#groups has the id. No id has a
 * slash.
 */
const idOfPath = (segmentText: string): string =>
  segmentText.includes('/') ? referencedId({ self: segmentText }) : segmentText;

async function removeUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { id, userId: sent } = request.params;
  requireOwnLink(request, sent);
  const userId = idOfPath(sent);
  const group = await GROUPS.load(request, id);
  const user = await loadUser(request, userId);
  requireMember(user, group);
  await requireManaged(request, user, USER_ADMIN);
  await requireRolesOf(request, user);
  if (group.id === ADMINS_GROUP && isAdministrator(request, userId)) {
    throw new PlatformError('users/administrator-kept', {
      what: `to take ${userId} out of ${group.name}`,
      rule: "the tenant's administrator stays in it",
    });
  }
  const put: UserPut = { userName: userId, removeGroups: [group.id], mustExist: true, by: request.principal.userName };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, put);
  return NO_CONTENT;
}

async function listOfUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const user = await loadUser(request, request.params['userId']);
  await requireManaged(request, user, USER_READ);
  const page = pageOf(request);
  const groups = await GROUPS.loadMany(request, user.groups ?? [], new PageBudget(request));
  const owner = userUrl(request, user.userName);
  const items = textsWithin(request, groups.slice(page.offset, page.offset + page.size), (group) =>
    groupReferenceText(groupText(request, group), group.id, owner),
  );
  const total = page.wantsTotal ? groups.length : undefined;
  return found('groupReferenceCollection', collectionText(request, page, { name: 'references', items, total }));
}

/** @throws PlatformError 404 for a user who is not a member. */
function requireMember(user: StoredUser, group: StoredGroup): void {
  if (!(user.groups ?? []).includes(group.id))
    throw new PlatformError('groups/not-a-member', { user: user.userName, id: group.id });
}

async function getUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const group = await GROUPS.load(request, request.params['id']);
  const user = await loadUser(request, request.params['userId']);
  requireMember(user, group);
  return found('userReference', userReferenceText(request, await userText(request, user), user, group.id));
}

async function getOfUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const user = await loadUser(request, request.params['userId']);
  await requireManaged(request, user, USER_READ);
  const group = await GROUPS.load(request, request.params['id']);
  requireMember(user, group);
  return found(
    'groupReference',
    groupReferenceText(groupText(request, group), group.id, userUrl(request, user.userName)),
  );
}

async function getRole(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { id, roleId } = request.params;
  const group = await GROUPS.load(request, id);
  if (!group.roles.includes(roleId)) throw new PlatformError('groups/role-not-assigned', { id, role: roleId });
  return found('roleReference', roleReferenceText(request, roleId, groupUrl(request, group.id)));
}

async function listRoles(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const group = await GROUPS.load(request, request.params['id']);
  return rolesAnswer(request, group.roles, groupUrl(request, group.id));
}

/**
 * The role that a body names. @throws PlatformError 422 for none, 404 for one that does not exist, 403 for one that the
 * caller lacks.
 */
export async function referencedRole(request: ApiRequest): Promise<string> {
  const { role } = JSON.parse(request.bodyText()) as { role: { id?: string; self?: string } };
  const name = roleNamed(referencedId(role));
  if (name === '')
    throw new PlatformError('users/reference', { what: 'role', form: '{"role":{"self":"…/user/roles/<role>"}}' });
  if (!(await knownRoles(request)).includes(name)) throw new PlatformError('roles/not-found');
  requireRoles(request, [name]);
  return name;
}

async function addRole(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const role = await referencedRole(request);
  const { id } = request.params;
  const group = await GROUPS.update(request, id, (old) => {
    if (old.roles.includes(role)) throw new PlatformError('groups/role-duplicate', { id, role });
    return { ...old, roles: [...old.roles, role] };
  });
  const owner = groupUrl(request, group.id);
  return created('roleReference', roleReferenceText(request, role, owner), `${owner}/roles/${role}`);
}

async function removeRole(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { id } = request.params;
  const roleId = idOfPath(request.params['roleId']);
  await GROUPS.update(request, id, (old) => {
    if (!old.roles.includes(roleId)) throw new PlatformError('groups/role-not-assigned', { id, role: roleId });
    requireRoles(request, old.roles);
    if (old.id === ADMINS_GROUP && !isOfApplication(roleId)) {
      throw new PlatformError('users/administrator-kept', {
        what: `to take ${roleId} from ${old.name}`,
        rule: 'the group keeps all roles of the platform',
      });
    }
    return { ...old, roles: old.roles.filter((role) => role !== roleId) };
  });
  return NO_CONTENT;
}

export function groupRoutes(): Route[] {
  const area = 'users';
  const path = '/user/{tenant}/groups';
  const one = [{ status: 200, description: 'The group', mediaType: 'group' }];
  const gone = [{ status: 204, description: 'Removed' }];
  const read = { area, access: 'roles', roles: USER_READ } as const;
  const write = { area, access: 'roles', roles: USER_ADMIN } as const;
  /** Members that are own subusers may be changed with the role to create users. */
  const manage = { area, access: 'roles', roles: [...USER_ADMIN, USER_CREATE] } as const;
  const user = {
    schema: schemas.UserReference,
    mediaTypes: ['userReference'],
    example: { user: { self: 'http://host/user/t1/users/ada' } },
  };
  const role = {
    schema: schemas.RoleReference,
    mediaTypes: ['roleReference'],
    example: { role: { self: 'http://host/user/roles/ROLE_ALARM_READ' } },
  };
  return [
    {
      ...read,
      method: 'GET',
      path,
      summary: 'List groups by id',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of groups', mediaType: 'groupCollection' }],
      handle: list,
    },
    {
      ...write,
      method: 'POST',
      path,
      summary: 'Create a group',
      body: {
        schema: schemas.Group,
        mediaTypes: ['group'],
        example: { name: 'Operators', description: 'Look after the pumps' },
      },
      answers: [{ status: 201, description: 'Created', mediaType: 'group' }],
      handle: post,
    },
    { ...read, method: 'GET', path: `${path}/{id}`, summary: 'Read a group', answers: one, handle: get },
    {
      ...read,
      method: 'GET',
      path: '/user/{tenant}/groupByName/{name}',
      summary: 'Read a group by name',
      answers: one,
      handle: getByName,
    },
    {
      ...write,
      method: 'PUT',
      path: `${path}/{id}`,
      summary: 'Change a group; users and roles have resources of their own',
      body: { schema: schemas.GroupUpdate, mediaTypes: ['group'], example: { description: 'Look after all pumps' } },
      answers: one,
      handle: put,
    },
    { ...write, method: 'DELETE', path: `${path}/{id}`, summary: 'Delete a group', answers: gone, handle: remove },
    {
      ...read,
      method: 'GET',
      path: `${path}/{id}/users`,
      summary: 'List the users of a group',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of references', mediaType: 'userReferenceCollection' }],
      handle: listUsers,
    },
    {
      ...manage,
      method: 'POST',
      path: `${path}/{id}/users`,
      summary: 'Add a user to a group',
      body: user,
      answers: [{ status: 201, description: 'Added', mediaType: 'userReference' }],
      handle: addUser,
    },
    {
      ...read,
      method: 'GET',
      path: `${path}/{id}/users/{userId}`,
      summary: 'Read a member of a group',
      answers: [{ status: 200, description: 'The reference', mediaType: 'userReference' }],
      handle: getUser,
    },
    {
      ...manage,
      method: 'DELETE',
      path: `${path}/{id}/users/{userId}`,
      summary: 'Remove a user from a group',
      answers: gone,
      handle: removeUser,
    },
    {
      ...read,
      roles: [...USER_READ, USER_CREATE],
      method: 'GET',
      path: '/user/{tenant}/users/{userId}/groups',
      summary: 'Groups of a user',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of references', mediaType: 'groupReferenceCollection' }],
      handle: listOfUser,
    },
    {
      ...read,
      roles: [...USER_READ, USER_CREATE],
      method: 'GET',
      path: '/user/{tenant}/users/{userId}/groups/{id}',
      summary: 'Read a group of a user',
      answers: [{ status: 200, description: 'The reference', mediaType: 'groupReference' }],
      handle: getOfUser,
    },
    {
      ...read,
      method: 'GET',
      path: `${path}/{id}/roles`,
      summary: 'Roles of a group',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of references', mediaType: 'roleReferenceCollection' }],
      handle: listRoles,
    },
    {
      ...write,
      method: 'POST',
      path: `${path}/{id}/roles`,
      summary: 'Give a role to a group',
      body: role,
      answers: [{ status: 201, description: 'Given', mediaType: 'roleReference' }],
      handle: addRole,
    },
    {
      ...read,
      method: 'GET',
      path: `${path}/{id}/roles/{roleId}`,
      summary: 'Read a role of a group',
      answers: [{ status: 200, description: 'The reference', mediaType: 'roleReference' }],
      handle: getRole,
    },
    {
      ...write,
      method: 'DELETE',
      path: `${path}/{id}/roles/{roleId}`,
      summary: 'Take a role from a group',
      answers: gone,
      handle: removeRole,
    },
  ];
}
