/**
 * Device permissions of one managed object: the older form of inventory roles (docs/spec/users.md#device-permissions).
 */
import type { StoredGroup } from '../../accounts/users/groups.ts';
import { isGroupKey } from '../../accounts/users/groups.ts';
import { permissionsOf, requireSmall, withPermissions } from '../../actors/handlers/users/user.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { ObjectPermissions, UserPut } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import { parseDevicePermission } from '../../model/access/inventory-grant.ts';
import type { ApiRequest } from '../request/request.ts';
import { GROUPS, requireSmallGroup } from './groups.ts';
import { requireGrants } from './inventory-rights.ts';
import { loadManagedObject } from '../lists/owner.ts';
import { PageBudget } from '../request/page-budget.ts';
import { recordSteps } from '../../records/steps.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from './schemas.ts';
import { USER_ADMIN, loadUser, requireRolesOf } from './text.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** Users and groups of one PUT. */
const ENTRIES_MAX = 1_000;

type Permissions = Readonly<Record<string, readonly string[]>>;

/** Users with permissions for the object, devices too. @throws PlatformError `general/page-too-large`. */
async function text(request: ApiRequest, id: string): Promise<string> {
  const budget = new PageBudget(request);
  const holders = async <Holder extends { readonly doc: string }>(
    collection: 'user' | 'group',
    shown: (holder: Holder) => object,
  ): Promise<object[]> => {
    const found: object[] = [];
    for await (const rows of recordSteps(
      { documents: request.platform.documents, tenant: request.tenant },
      collection,
    )) {
      for (const row of rows) {
        // Most documents do not name the object; what is inside of a text has its quotes escaped.
        if (!row.value.includes(`\\"${id}`) || (collection === 'group' && !isGroupKey(row.id))) continue;
        const holder = JSON.parse(row.value) as Holder;
        const entries = permissionsOf(holder.doc)[id];
        if (entries === undefined) continue;
        budget.take(JSON.stringify(entries).length);
        found.push({ ...shown(holder), devicePermissions: { [id]: entries } });
      }
    }
    return found;
  };
  const users = await holders<StoredUser>('user', ({ userName }) => ({ userName }));
  const groups = await holders<StoredGroup>('group', (group) => ({ id: group.id }));
  return JSON.stringify({ users, groups, self: `${request.baseUrl}/user/devicePermissions/${id}` });
}

async function get(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  await loadManagedObject(request, id);
  return found('devicePermissions', await text(request, id));
}

interface Sent {
  readonly users?: readonly { readonly userName?: string; readonly devicePermissions?: Permissions }[];
  readonly groups?: readonly { readonly id?: number | string; readonly devicePermissions?: Permissions }[];
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: 'users', name, value, limit });

/** The entries for the object of the path. @throws PlatformError 422 for a text that is not a permission. */
function sentPermissions(sent: { readonly devicePermissions?: Permissions }, id: string): ObjectPermissions {
  const entries = sent.devicePermissions?.[id] ?? [];
  const wrong = entries.find((entry) => parseDevicePermission(entry) === undefined);
  if (wrong !== undefined) throw invalid('devicePermissions', wrong, '<scope>:<type>:<permission>');
  return { object: id, entries };
}

/**
 * Sets the permissions of the named users and groups for the object; an empty list takes them away. Others stay as they
 * are.
 */
async function put(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  await loadManagedObject(request, id);
  const { users = [], groups = [] } = JSON.parse(request.bodyText()) as Sent;
  if (users.length + groups.length > ENTRIES_MAX)
    throw invalid('users', String(users.length + groups.length), `at most ${ENTRIES_MAX} users and groups`);
  // All is checked before anything is changed.
  const checkedUsers = [];
  for (const sent of users) {
    const user = await loadUser(request, sent.userName ?? '');
    await requireRolesOf(request, user);
    const permissions = sentPermissions(sent, id);
    const doc = withPermissions(user.doc, permissions);
    if (doc.length > user.doc.length) requireSmall(doc);
    checkedUsers.push({ userName: user.userName, permissions });
  }
  const checkedGroups = [];
  for (const sent of groups) {
    const group = await GROUPS.load(request, String(sent.id ?? ''));
    const permissions = sentPermissions(sent, id);
    requireSmallGroup(request, withPermissions(group.doc, permissions), group.doc);
    checkedGroups.push({ group: String(group.id), permissions });
  }
  await requireGrants(
    request,
    [...checkedUsers, ...checkedGroups]
      .flatMap(({ permissions }) => permissions.entries)
      .flatMap((entry) => {
        const permission = parseDevicePermission(entry);
        return permission === undefined ? [] : [{ root: Number(id), ...permission }];
      }),
  );
  for (const { userName, permissions } of checkedUsers) {
    const body: UserPut = { userName, devicePermissions: permissions, mustExist: true, by: request.principal.userName };
    await request.command(COMMAND.USER_PUT, TENANT_KEY, body);
  }
  for (const { group, permissions } of checkedGroups) {
    await GROUPS.update(request, group, (old) => {
      const doc = withPermissions(old.doc, permissions);
      requireSmallGroup(request, doc, old.doc);
      return { ...old, doc };
    });
  }
  return found('devicePermissions', await text(request, id));
}

export function devicePermissionRoutes(): Route[] {
  const area = 'users';
  const path = '/user/devicePermissions/{id}';
  const answers = [
    { status: 200, description: 'Users and groups with permissions for the object', mediaType: 'devicePermissions' },
  ];
  const example = { users: [{ userName: 'ada', devicePermissions: { 251: ['MANAGED_OBJECT:*:READ'] } }], groups: [] };
  return [
    {
      method: 'GET',
      path,
      area,
      access: 'roles',
      roles: USER_ADMIN,
      summary: 'Device permissions of users and groups for an object',
      answers,
      handle: get,
    },
    {
      method: 'PUT',
      path,
      area,
      access: 'roles',
      roles: USER_ADMIN,
      summary: 'Set device permissions of users and groups for an object',
      body: { schema: schemas.ObjectDevicePermissions, mediaTypes: [], example },
      answers,
      handle: put,
    },
  ];
}
