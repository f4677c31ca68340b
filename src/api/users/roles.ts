/** All roles, and those of a user (docs/spec/users.md#roles). */
import { COMMAND } from '../../model/commands/kinds.ts';
import type { UserPut } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { referencedRole } from './groups.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from './schemas.ts';
import {
  USER_ADMIN,
  USER_CREATE,
  USER_READ,
  knownRoles,
  loadUser,
  requireManaged,
  requireOwnTenant,
  requireRolesOf,
  roleReferenceText,
  roleText,
  rolesAnswer,
  userUrl,
} from './text.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const roles = await knownRoles(request);
  const items = roles.slice(page.offset, page.offset + page.size).map((role) => roleText(request, role));
  return found(
    'roleCollection',
    collectionText(request, page, { name: 'roles', items, total: page.wantsTotal ? roles.length : undefined }),
  );
}

async function get(request: ApiRequest): Promise<Answer> {
  const { name } = request.params;
  if (!(await knownRoles(request)).includes(name)) throw new PlatformError('roles/not-found');
  return found('role', roleText(request, name));
}

async function listOfUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const user = await loadUser(request, request.params['userId']);
  await requireManaged(request, user, USER_READ);
  return rolesAnswer(request, user.roles, userUrl(request, user.userName));
}

async function getOfUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId, roleId } = request.params;
  const user = await loadUser(request, userId);
  await requireManaged(request, user, USER_READ);
  if (!user.roles.includes(roleId)) throw new PlatformError('users/role-not-assigned', { id: userId, role: roleId });
  return found('roleReference', roleReferenceText(request, roleId, userUrl(request, user.userName)));
}

async function add(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId } = request.params;
  const user = await loadUser(request, userId);
  await requireManaged(request, user, USER_ADMIN);
  const role = await referencedRole(request);
  await requireRolesOf(request, user);
  const put: UserPut = { userName: userId, addRoles: [role], mustExist: true, by: request.principal.userName };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, put);
  const owner = userUrl(request, userId);
  return created(
    'roleReference',
    roleReferenceText(request, role, owner),
    `${owner}/roles/${encodeURIComponent(role)}`,
  );
}

async function remove(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId, roleId } = request.params;
  const user = await loadUser(request, userId);
  if (!user.roles.includes(roleId)) throw new PlatformError('users/role-not-assigned', { id: userId, role: roleId });
  await requireManaged(request, user, USER_ADMIN);
  await requireRolesOf(request, user);
  const put: UserPut = { userName: userId, removeRoles: [roleId], mustExist: true, by: request.principal.userName };
  await request.command(COMMAND.USER_PUT, TENANT_KEY, put);
  return NO_CONTENT;
}

export function userRoleRoutes(): Route[] {
  const area = 'users';
  const ofUser = '/user/{tenant}/users/{userId}/roles';
  const manage = { area, access: 'roles', roles: [...USER_ADMIN, USER_CREATE] } as const;
  const body = {
    schema: schemas.RoleReference,
    mediaTypes: ['roleReference'],
    example: { role: { self: 'http://host/user/roles/ROLE_ALARM_READ' } },
  };
  return [
    {
      method: 'GET',
      path: '/user/roles',
      area,
      access: 'roles',
      roles: USER_READ,
      summary: 'List all roles',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of roles', mediaType: 'roleCollection' }],
      handle: list,
    },
    {
      method: 'GET',
      path: '/user/roles/{name}',
      area,
      access: 'roles',
      roles: USER_READ,
      summary: 'Read a role',
      answers: [{ status: 200, description: 'The role', mediaType: 'role' }],
      handle: get,
    },
    {
      area,
      access: 'roles',
      roles: [...USER_READ, USER_CREATE],
      method: 'GET',
      path: ofUser,
      summary: 'Roles of a user, without those of its groups',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of references', mediaType: 'roleReferenceCollection' }],
      handle: listOfUser,
    },
    {
      ...manage,
      method: 'POST',
      path: ofUser,
      summary: 'Give a role to a user',
      body,
      answers: [{ status: 201, description: 'Given', mediaType: 'roleReference' }],
      handle: add,
    },
    {
      area,
      access: 'roles',
      roles: [...USER_READ, USER_CREATE],
      method: 'GET',
      path: `${ofUser}/{roleId}`,
      summary: 'Read a role of a user',
      answers: [{ status: 200, description: 'The reference', mediaType: 'roleReference' }],
      handle: getOfUser,
    },
    {
      ...manage,
      method: 'DELETE',
      path: `${ofUser}/{roleId}`,
      summary: 'Take a role from a user',
      answers: [{ status: 204, description: 'Taken' }],
      handle: remove,
    },
  ];
}
