/** What a user may do and where it comes from (docs/spec/users.md#effective-rights). */
import Type from 'typebox';
import { explainedRights } from '../../accounts/users/explained-rights.ts';
import { GRANT_PERMISSIONS, GRANT_SCOPES } from '../../model/access/inventory-grant.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import { USER_CREATE, USER_READ, loadUser, requireManaged, requireOwnTenant } from './text.ts';

const Origin = Type.Object({
  kind: Type.Enum(['user', 'group', 'inventoryRole']),
  id: Type.Optional(Type.Integer()),
  name: Type.Optional(Type.String()),
});
const Rights = Type.Object({
  userName: Type.String(),
  enabled: Type.Boolean(),
  roles: Type.Array(
    Type.Object({
      name: Type.String(),
      holds: Type.Enum(['EVERYWHERE', 'OWN'], {
        description: 'OWN: for objects of the registered device and those below it',
      }),
      from: Type.Array(Origin),
    }),
  ),
  grants: Type.Array(
    Type.Object({
      managedObject: Type.Object({ id: Type.String({ description: 'It holds there and for everything below' }) }),
      scope: Type.Enum([...GRANT_SCOPES]),
      permission: Type.Enum([...GRANT_PERMISSIONS]),
      type: Type.String({ description: '*, or the type or fragment that the entity must have' }),
      from: Origin,
    }),
  ),
  uncountedGrants: Type.Integer({ description: 'Further grants, which do not count: accounts/inventory-grants' }),
});

async function rightsText(request: ApiRequest, user: StoredUser): Promise<Answer> {
  const { roles, grants, uncountedGrants } = await explainedRights(request.platform.documents, request.tenant, user);
  const value = {
    userName: user.userName,
    enabled: user.enabled,
    roles,
    grants: grants.map(({ root, scope, permission, type, from }) => ({
      managedObject: { id: String(root) },
      scope,
      permission,
      type,
      from,
    })),
    uncountedGrants,
  };
  return { status: 200, contentType: JSON_TYPE, text: JSON.stringify(value) };
}

async function ofUser(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const user = await loadUser(request, request.params['userId']);
  await requireManaged(request, user, USER_READ);
  return rightsText(request, user);
}

async function ofCurrentUser(request: ApiRequest): Promise<Answer> {
  return rightsText(request, await loadUser(request, request.principal.userName));
}

export function effectiveRightsRoutes(): Route[] {
  const one = { method: 'GET', area: 'users' } as const;
  const answers = [
    {
      status: 200,
      description: 'Roles and rights over parts of the inventory, each with what gives it',
      contentTypes: ['application/json'],
      json: Rights,
      example: {
        userName: 'ada',
        enabled: true,
        roles: [{ name: 'ROLE_ALARM_READ', holds: 'EVERYWHERE', from: [{ kind: 'group', id: 3, name: 'readers' }] }],
        grants: [
          {
            managedObject: { id: '1000' },
            scope: 'OPERATION',
            permission: 'ADMIN',
            type: 'c8y_Restart',
            from: { kind: 'inventoryRole', id: 3, name: 'Operations: Restart Device' },
          },
        ],
        uncountedGrants: 0,
      },
    },
  ];
  return [
    {
      ...one,
      path: '/user/{tenant}/users/{userId}/effectiveRights',
      access: 'roles',
      roles: [...USER_READ, USER_CREATE],
      summary: 'What a user may do and where it comes from',
      answers,
      handle: ofUser,
    },
    {
      ...one,
      path: '/user/currentUser/effectiveRights',
      access: 'user',
      summary: 'What you may do and where it comes from',
      answers,
      handle: ofCurrentUser,
    },
  ];
}
