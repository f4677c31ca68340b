/** Groups of users, their members and their roles (document 4 section 3.4). */
import { devicePermissionGrants, groupsOf } from '../accounts/effective-rights.ts';
import { ADMINS_GROUP } from '../accounts/groups.ts';
import type { StoredGroup } from '../accounts/groups.ts';
import { memberKey } from '../actors/user.ts';
import type { StoredUser } from '../actors/user.ts';
import { COMMAND } from '../model/command.ts';
import type { UserPut } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { dropNulls, joinMembers, mergeMembers, splitMembers, stringMember } from '../model/json-document.ts';
import type { ApiRequest } from './api-request.ts';
import { TENANT_KEY } from './data-delete.ts';
import { quote } from './entity-text.ts';
import { requireGrants } from './inventory-rights.ts';
import { NamedRecords } from './named-records.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from './paging.ts';
import { changeRecords } from './records.ts';
import { NO_CONTENT, created, found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import * as schemas from './user-schemas.ts';
import {
  USER_ADMIN, USER_CREATE, USER_READ, groupReferenceText, groupText, groupUrl, knownRoles, loadUser, referencedId, requireManaged, requireOwnTenant,
  requireRoles, requireRolesOf, roleReferenceText, sentRoles, userText, userUrl,
} from './user-text.ts';
import { checkDevicePermissions } from './users.ts';

/** Members that are kept elsewhere. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'self', 'name', 'roles', 'users']);
/** Members of one group that are listed. */
const MEMBERS_MAX = 100_000;
/** Entries of a deleted group that are removed with one command. */
const CHUNK = 1_000;

const GROUPS = new NamedRecords<StoredGroup>('group', { notFound: 'groups/not-found', duplicate: 'groups/duplicate' }, 'Group');

const docOf = (request: ApiRequest): string => joinMembers([...request.members()].filter(([name]) => !OWN_MEMBERS.has(name)));

async function list(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const page = pageOf(request);
  const groups = await GROUPS.list(request);
  const items = groups.slice(page.offset, page.offset + page.size).map((group) => groupText(request, group));
  return found('groupCollection', collectionText(request, page, { name: 'groups', items, total: page.wantsTotal ? groups.length : undefined }));
}

async function post(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const members = request.members();
  checkDevicePermissions(members, 'groups');
  const roles = await sentRoles(request, 'groups') ?? [];
  const doc = joinMembers(dropNulls(splitMembers(docOf(request))));
  await requireGrants(request, devicePermissionGrants(doc));
  const group: StoredGroup = { id: await request.platform.ids.nextInOrder(), name: stringMember(members, 'name') as string, roles, doc };
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
  await requireGrants(request, devicePermissionGrants(docOf(request)));
  const group = await GROUPS.update(request, request.params['id'], (old) => {
    if (members.has('devicePermissions')) requireRoles(request, old.roles);
    const doc = splitMembers(old.doc);
    mergeMembers(doc, splitMembers(docOf(request)));
    return { ...old, name: stringMember(members, 'name') ?? old.name, doc: joinMembers(doc) };
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
  // The users keep the id, which means nothing any more and is never given again; a crash here leaves entries that nobody reads.
  for (;;) {
    const rows = await request.platform.documents.list('groupMember', request.tenant, memberKey(group.id, ''), { limit: CHUNK });
    if (rows.length === 0) return NO_CONTENT;
    await changeRecords(request, request.tenant, rows.map((row) => ({ collection: 'groupMember', id: row.id, expected: row.value, value: undefined })));
  }
}

async function listUsers(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const group = await GROUPS.load(request, request.params['id']);
  const page = pageOf(request);
  const prefix = memberKey(group.id, '');
  const rows = await request.platform.documents.list('groupMember', request.tenant, prefix, { limit: MEMBERS_MAX });
  const names = rows.slice(page.offset, page.offset + page.size).map(({ id }) => id.slice(prefix.length));
  const texts = await request.platform.documents.getMany('user', request.tenant, names);
  const items: string[] = [];
  for (const text of texts) if (text !== undefined) items.push(await userReferenceText(request, JSON.parse(text) as StoredUser, group.id));
  const total = page.wantsTotal ? rows.length : undefined;
  return found('userReferenceCollection', collectionText(request, page, { name: 'references', items, total, isFull: names.length >= page.size }));
}

const memberUrl = (request: ApiRequest, group: number, userName: string): string =>
  `${groupUrl(request, group)}/users/${encodeURIComponent(userName.toWellFormed())}`;

async function userReferenceText(request: ApiRequest, user: StoredUser, group: number): Promise<string> {
  return `{"user":${await userText(request, user)},"self":${quote(memberUrl(request, group, user.userName))}}`;
}

async function addUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const group = await GROUPS.load(request, request.params['id']);
  const { user } = JSON.parse(request.bodyText()) as { user: { id?: string; self?: string } };
  const userName = referencedId(user);
  if (userName === '') throw new PlatformError('users/reference', { what: 'user', form: '{"user":{"self":"…/user/<tenant>/users/<name>"}}' });
  const stored = await loadUser(request, userName);
  await requireManaged(request, stored, USER_ADMIN);
  requireRoles(request, group.roles);
  await requireGrants(request, devicePermissionGrants(group.doc));
  await requireRolesOf(request, stored);
  const put: UserPut = { userName, addGroups: [group.id], mustExist: true, by: request.principal.userName };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, put);
  const text = await userReferenceText(request, await loadUser(request, userName), group.id);
  return created('userReference', text, memberUrl(request, group.id, userName));
}

async function removeUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { id, userId } = request.params;
  const group = await GROUPS.load(request, id);
  const user = await loadUser(request, userId);
  if (!(user.groups ?? []).includes(group.id)) throw new PlatformError('groups/not-a-member', { user: userId, id });
  await requireManaged(request, user, USER_ADMIN);
  await requireRolesOf(request, user);
  const put: UserPut = { userName: userId, removeGroups: [group.id], mustExist: true, by: request.principal.userName };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, put);
  return NO_CONTENT;
}

async function listOfUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const user = await loadUser(request, request.params['userId']);
  await requireManaged(request, user, USER_READ);
  const page = pageOf(request);
  const groups = await groupsOf(request.platform.documents, request.tenant, user);
  const owner = userUrl(request, user.userName);
  const items = groups.slice(page.offset, page.offset + page.size).map((group) => groupReferenceText(request, group, owner));
  const total = page.wantsTotal ? groups.length : undefined;
  return found('groupReferenceCollection', collectionText(request, page, { name: 'references', items, total }));
}

async function listRoles(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const group = await GROUPS.load(request, request.params['id']);
  const page = pageOf(request);
  const roles = [...group.roles].sort();
  const items = roles.slice(page.offset, page.offset + page.size).map((role) => roleReferenceText(request, role, groupUrl(request, group.id)));
  const total = page.wantsTotal ? roles.length : undefined;
  return found('roleReferenceCollection', collectionText(request, page, { name: 'references', items, total }));
}

/** The role that a body names. @throws PlatformError 422 for none, 404 for one that does not exist, 403 for one that the caller lacks. */
export async function referencedRole(request: ApiRequest): Promise<string> {
  const { role } = JSON.parse(request.bodyText()) as { role: { id?: string; self?: string } };
  const name = referencedId(role);
  if (name === '') throw new PlatformError('users/reference', { what: 'role', form: '{"role":{"self":"…/user/roles/<role>"}}' });
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
  const { id, roleId } = request.params;
  await GROUPS.update(request, id, (old) => {
    if (!old.roles.includes(roleId)) throw new PlatformError('groups/role-not-assigned', { id, role: roleId });
    requireRoles(request, old.roles);
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
  const user = { schema: schemas.UserReference, mediaTypes: ['userReference'], example: { user: { self: 'http://host/user/t1/users/ada' } } };
  const role = { schema: schemas.RoleReference, mediaTypes: ['roleReference'], example: { role: { self: 'http://host/user/roles/ROLE_ALARM_READ' } } };
  return [
    { ...read, method: 'GET', path, summary: 'List groups by id', query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of groups', mediaType: 'groupCollection' }], handle: list },
    { ...write, method: 'POST', path, summary: 'Create a group',
      body: { schema: schemas.Group, mediaTypes: ['group'], example: { name: 'Operators', description: 'Look after the pumps' } },
      answers: [{ status: 201, description: 'Created', mediaType: 'group' }], handle: post },
    { ...read, method: 'GET', path: `${path}/{id}`, summary: 'Read a group', answers: one, handle: get },
    { ...read, method: 'GET', path: '/user/{tenant}/groupByName/{name}', summary: 'Read a group by name', answers: one, handle: getByName },
    { ...write, method: 'PUT', path: `${path}/{id}`, summary: 'Change a group; users and roles have resources of their own',
      body: { schema: schemas.GroupUpdate, mediaTypes: ['group'], example: { description: 'Look after all pumps' } }, answers: one, handle: put },
    { ...write, method: 'DELETE', path: `${path}/{id}`, summary: 'Delete a group', answers: gone, handle: remove },
    { ...read, method: 'GET', path: `${path}/{id}/users`, summary: 'List the users of a group', query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of references', mediaType: 'userReferenceCollection' }], handle: listUsers },
    { ...manage, method: 'POST', path: `${path}/{id}/users`, summary: 'Add a user to a group', body: user,
      answers: [{ status: 201, description: 'Added', mediaType: 'userReference' }], handle: addUser },
    { ...manage, method: 'DELETE', path: `${path}/{id}/users/{userId}`, summary: 'Remove a user from a group', answers: gone, handle: removeUser },
    { ...read, roles: [...USER_READ, USER_CREATE], method: 'GET', path: '/user/{tenant}/users/{userId}/groups', summary: 'Groups of a user',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of references', mediaType: 'groupReferenceCollection' }], handle: listOfUser },
    { ...read, method: 'GET', path: `${path}/{id}/roles`, summary: 'Roles of a group', query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of references', mediaType: 'roleReferenceCollection' }], handle: listRoles },
    { ...write, method: 'POST', path: `${path}/{id}/roles`, summary: 'Give a role to a group', body: role,
      answers: [{ status: 201, description: 'Given', mediaType: 'roleReference' }], handle: addRole },
    { ...write, method: 'DELETE', path: `${path}/{id}/roles/{roleId}`, summary: 'Take a role from a group', answers: gone, handle: removeRole },
  ];
}
