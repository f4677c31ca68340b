/** Device permissions of one managed object: the older form of inventory roles (document 4 section 3.2). */
import type { StoredGroup } from '../accounts/groups.ts';
import { isGroupKey } from '../accounts/groups.ts';
import type { StoredUser } from '../actors/user.ts';
import { COMMAND } from '../model/command.ts';
import type { UserPut } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { parseDevicePermission } from '../model/inventory-access.ts';
import { joinMembers, splitMembers } from '../model/json-document.ts';
import type { ApiRequest } from './api-request.ts';
import { TENANT_KEY } from './data-delete.ts';
import { requireGrants } from './inventory-rights.ts';
import { loadManagedObject } from './managed-objects.ts';
import { listRecords, updateRecord } from './records.ts';
import { found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import * as schemas from './user-schemas.ts';
import { USER_ADMIN, loadGroup, loadUser, requireRolesOf } from './user-text.ts';

/** Users that are looked at. */
const USERS_MAX = 100_000;
/** Users and groups of one PUT. */
const ENTRIES_MAX = 1_000;

type Permissions = Readonly<Record<string, readonly string[]>>;

const permissionsOf = (doc: string): Permissions => (JSON.parse(splitMembers(doc).get('devicePermissions') ?? '{}') ?? {}) as Permissions;

/** `doc` with other permissions for the object. */
function withPermissions(doc: string, id: string, entries: readonly string[]): string {
  const { [id]: _old, ...others } = permissionsOf(doc);
  const members = splitMembers(doc);
  members.set('devicePermissions', JSON.stringify(entries.length === 0 ? others : { ...others, [id]: entries }));
  return joinMembers(members);
}

async function text(request: ApiRequest, id: string): Promise<string> {
  const mark = `"${id}"`;
  const rows = await request.platform.documents.list('user', request.tenant, '', { limit: USERS_MAX });
  // Most documents do not name the object; what is inside of a text has its quotes escaped.
  const users = rows.filter(({ value }) => value.includes(`\\${mark.slice(0, -1)}`)).map(({ value }) => JSON.parse(value) as StoredUser);
  const records = await listRecords(request, request.tenant, 'group');
  const groups = records.filter((record) => isGroupKey(record.id)).map(({ value }) => JSON.parse(value) as StoredGroup);
  const one = (doc: string): { devicePermissions: Permissions } | undefined => {
    const entries = permissionsOf(doc)[id];
    return entries === undefined ? undefined : { devicePermissions: { [id]: entries } };
  };
  return JSON.stringify({
    users: users.flatMap(({ userName, doc }) => { const found = one(doc); return found === undefined ? [] : [{ userName, ...found }]; }),
    groups: groups.flatMap(({ id: group, doc }) => { const found = one(doc); return found === undefined ? [] : [{ id: group, ...found }]; }),
    self: `${request.baseUrl}/user/devicePermissions/${id}`,
  });
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

/** The entries for the object of the path. @throws PlatformError 422 for a text that is no permission. */
function entriesOf(sent: { readonly devicePermissions?: Permissions }, id: string): readonly string[] {
  const entries = sent.devicePermissions?.[id] ?? [];
  const wrong = entries.find((entry) => parseDevicePermission(entry) === undefined);
  if (wrong !== undefined) throw invalid('devicePermissions', wrong, '<scope>:<type>:<permission>');
  return entries;
}

/** Sets the permissions of the named users and groups for the object; an empty list takes them away. Others stay as they are. */
async function put(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  await loadManagedObject(request, id);
  const { users = [], groups = [] } = JSON.parse(request.bodyText()) as Sent;
  if (users.length + groups.length > ENTRIES_MAX) throw invalid('users', String(users.length + groups.length), `at most ${ENTRIES_MAX} users and groups`);
  // All is checked before anything is changed.
  const checkedUsers = [];
  for (const sent of users) {
    const user = await loadUser(request, sent.userName ?? '');
    await requireRolesOf(request, user);
    checkedUsers.push({ user, entries: entriesOf(sent, id) });
  }
  const checkedGroups = [];
  for (const sent of groups) checkedGroups.push({ group: (await loadGroup(request, String(sent.id ?? ''))).id, entries: entriesOf(sent, id) });
  await requireGrants(request, [...checkedUsers, ...checkedGroups].flatMap(({ entries }) => entries).flatMap((entry) => {
    const permission = parseDevicePermission(entry);
    return permission === undefined ? [] : [{ root: Number(id), ...permission }];
  }));
  for (const { user, entries } of checkedUsers) {
    const { userName } = user;
    const body: UserPut = { userName, doc: withPermissions(user.doc, id, entries), mustExist: true, by: request.principal.userName };
    await request.command(COMMAND.USER_PUT, TENANT_KEY, body);
  }
  for (const { group, entries } of checkedGroups) {
    await updateRecord(request, request.tenant, 'group', String(group), (current) => {
      if (current === undefined) throw new PlatformError('groups/not-found', { id: group });
      const stored = JSON.parse(current) as StoredGroup;
      return JSON.stringify({ ...stored, doc: withPermissions(stored.doc, id, entries) });
    });
  }
  return found('devicePermissions', await text(request, id));
}

export function devicePermissionRoutes(): Route[] {
  const area = 'users';
  const path = '/user/devicePermissions/{id}';
  const answers = [{ status: 200, description: 'Users and groups with permissions for the object', mediaType: 'devicePermissions' }];
  const example = { users: [{ userName: 'ada', devicePermissions: { 251: ['MANAGED_OBJECT:*:READ'] } }], groups: [] };
  return [
    { method: 'GET', path, area, access: 'roles', roles: USER_ADMIN, summary: 'Who has device permissions for an object', answers, handle: get },
    { method: 'PUT', path, area, access: 'roles', roles: USER_ADMIN, summary: 'Set device permissions of users and groups for an object',
      body: { schema: schemas.ObjectDevicePermissions, mediaTypes: [], example }, answers, handle: put },
  ];
}
