/**
 * Inventory roles, their holders and objects (docs/spec/users.md#inventory-roles). Their effect: api/lists/owner.ts.
 */
import type { StoredAssignment, StoredInventoryRole } from '../../accounts/users/groups.ts';
import {
  addAssignment,
  assignmentsOf,
  changeAssignment,
  loadAssignment,
} from '../../accounts/users/inventory-assignments.ts';
import { requireNoFurtherRights } from '../../actors/handlers/users/user.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import { stringMember } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { withChanges } from '../../records/audit-changes.ts';
import { idText } from '../../model/entities/entity-id.ts';
import { quote } from '../entities/text.ts';
import { requireEverywhere, requireGrantsOfRole } from './inventory-rights.ts';
import { loadManagedObject } from '../lists/owner.ts';
import { NamedRecords, sentName } from '../../records/named-records.ts';
import { PageBudget, textsWithin } from '../request/page-budget.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { recordPorts } from '../request/record-ports.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import * as schemas from './schemas.ts';
import { USER_ADMIN, USER_READ, loadUser, requireOwnTenant, userUrl } from './text.ts';

const ROLES = new NamedRecords<StoredInventoryRole>(
  'inventoryRole',
  { notFound: 'inventory-roles/not-found', duplicate: 'inventory-roles/duplicate' },
  'InventoryRole',
);

const roleUrl = (request: ApiRequest, id: number): string => `${request.baseUrl}/user/inventoryroles/${id}`;
const roleText = (request: ApiRequest, role: StoredInventoryRole): string =>
  JSON.stringify({ ...role, self: roleUrl(request, role.id) });

async function list(request: ApiRequest): Promise<Answer> {
  const page = pageOf(request);
  const { records, total } = await ROLES.page(request, page, new PageBudget(request));
  const items = textsWithin(request, records, (role) => roleText(request, role));
  return found(
    'inventoryRoleCollection',
    collectionText(request, page, { name: 'roles', items, total: page.wantsTotal ? total : undefined }),
  );
}

type SentPermission = Omit<StoredInventoryRole['permissions'][number], 'id' | 'type'> & { type?: string };

/** The body's permissions; numbered in their order. */
function sentPermissions(request: ApiRequest): StoredInventoryRole['permissions'] | undefined {
  const { permissions } = JSON.parse(request.bodyText()) as { permissions?: SentPermission[] };
  return permissions?.map(({ scope, type, permission }, index) => ({
    id: index + 1,
    type: type ?? '*',
    scope,
    permission,
  }));
}

async function post(request: ApiRequest): Promise<Answer> {
  const members = request.members();
  const role: StoredInventoryRole = {
    id: await request.platform.ids.nextInOrder(),
    name: sentName(members, 'users') as string,
    description: stringMember(members, 'description') ?? '',
    permissions: sentPermissions(request) ?? [],
  };
  await ROLES.create(request, role);
  return created('inventoryRole', roleText(request, role), roleUrl(request, role.id));
}

async function get(request: ApiRequest): Promise<Answer> {
  return found('inventoryRole', roleText(request, await ROLES.load(request, request.params['id'])));
}

/** Every holder of the role has what it says from now on. */
async function put(request: ApiRequest): Promise<Answer> {
  const members = request.members();
  const name = sentName(members, 'users');
  requireEverywhere(request, sentPermissions(request) ?? []);
  const role = await ROLES.update(request, request.params['id'], (old) => ({
    ...old,
    name: name ?? old.name,
    description: members.has('description') ? (stringMember(members, 'description') ?? '') : old.description,
    permissions: sentPermissions(request) ?? old.permissions,
  }));
  return found('inventoryRole', roleText(request, role));
}

/** Assignments of a deleted role stay and mean nothing: ids are never given again. */
async function remove(request: ApiRequest): Promise<Answer> {
  await ROLES.remove(request, request.params['id']);
  return NO_CONTENT;
}

async function assignmentText(request: ApiRequest, userName: string, assignment: StoredAssignment): Promise<string> {
  const stored = await ROLES.loadMany(
    request,
    [...assignment.roles].sort((left, right) => left - right),
    new PageBudget(request),
  );
  const roles = stored.map((role) => roleText(request, role));
  const self = `${userUrl(request, userName)}/roles/inventory/${assignment.id}`;
  return `{"id":${assignment.id},"self":${quote(self)},"managedObject":${quote(assignment.managedObject)},"roles":[${roles.join(',')}]}`;
}

/**
 * Ids of the body's roles. @throws PlatformError 404 for one that does not exist, 403 for one with a right over the
 * object that the caller lacks.
 */
async function sentRoleIds(request: ApiRequest, managedObject: string): Promise<number[]> {
  const { roles } = JSON.parse(request.bodyText()) as { roles: { id: number | string }[] };
  const found: number[] = [];
  for (const { id } of roles) {
    const role = await ROLES.load(request, String(id));
    await requireGrantsOfRole(request, role, managedObject);
    found.push(role.id);
  }
  return [...new Set(found)];
}

/** @throws PlatformError 403, 404. */
async function userOf(request: ApiRequest): Promise<string> {
  requireOwnTenant(request);
  return (await loadUser(request, request.params['userId'])).userName;
}

/** @throws PlatformError 403, also for the user of a microservice; 404. */
async function userToAssign(request: ApiRequest): Promise<string> {
  requireOwnTenant(request);
  const user = await loadUser(request, request.params['userId']);
  requireNoFurtherRights(user);
  return user.userName;
}

async function listAssignments(request: ApiRequest): Promise<Answer> {
  const userName = await userOf(request);
  const items: string[] = [];
  const budget = new PageBudget(request);
  for (const assignment of await assignmentsOf(request.platform, request.tenant, userName)) {
    const text = await assignmentText(request, userName, assignment);
    budget.take(text.length);
    items.push(text);
  }
  const self = quote(`${userUrl(request, userName)}/roles/inventory`);
  return found('inventoryAssignmentCollection', `{"self":${self},"inventoryAssignments":[${items.join(',')}]}`);
}

async function assign(request: ApiRequest): Promise<Answer> {
  const userName = await userToAssign(request);
  const managedObject = idText(request.members().get('managedObject'));
  await loadManagedObject(request, managedObject);
  const roles = await sentRoleIds(request, managedObject);
  const assignment: StoredAssignment = { id: await request.platform.ids.nextInOrder(), managedObject, roles };
  const audit = await auditOf(request, userName, undefined, assignment);
  await addAssignment(recordPorts(request), request.tenant, userName, assignment, audit);
  return found('inventoryAssignment', await assignmentText(request, userName, assignment));
}

/** Names the roles. Those of a deleted role are gone: its id stands for it. */
async function auditOf(
  request: ApiRequest,
  userName: string,
  before: StoredAssignment | undefined,
  after: StoredAssignment | undefined,
): Promise<AuditEntry> {
  const ids = [...new Set([...(before?.roles ?? []), ...(after?.roles ?? [])])];
  const names = new Map(
    (await ROLES.loadMany(request, ids, new PageBudget(request))).map(({ id, name }) => [id, name]),
  );
  const rolesOf = (assignment: StoredAssignment | undefined): { inventoryRoles: string[] } => ({
    inventoryRoles: (assignment?.roles ?? []).map((id) => names.get(id) ?? String(id)),
  });
  const what = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
  const text = `Inventory roles of ${userName} for ${(after ?? before)?.managedObject} ${what}`;
  const entry = { type: 'User', activity: 'User updated', text, user: request.principal.userName, source: userName };
  return withChanges(entry, rolesOf(before), rolesOf(after));
}

async function getAssignment(request: ApiRequest): Promise<Answer> {
  const userName = await userOf(request);
  const assignment = await loadAssignment(request.platform, request.tenant, userName, request.params['id']);
  return found('inventoryAssignment', await assignmentText(request, userName, assignment));
}

/** @param decide what becomes of it: undefined is its end. @throws PlatformError 404. */
function change<Next extends StoredAssignment | undefined>(
  request: ApiRequest,
  userName: string,
  decide: (assignment: StoredAssignment) => Next | Promise<Next>,
): Promise<Next> {
  const place = { tenant: request.tenant, userName, id: request.params['id'] };
  return changeAssignment(recordPorts(request), place, decide, (before, after) =>
    auditOf(request, userName, before, after),
  );
}

async function putAssignment(request: ApiRequest): Promise<Answer> {
  const userName = await userToAssign(request);
  const next = await change(request, userName, async (assignment) => ({
    ...assignment,
    roles: await sentRoleIds(request, assignment.managedObject),
  }));
  return found('inventoryAssignment', await assignmentText(request, userName, next));
}

async function removeAssignment(request: ApiRequest): Promise<Answer> {
  const userName = await userOf(request);
  await change(request, userName, () => undefined);
  return NO_CONTENT;
}

export function inventoryRoleRoutes(): Route[] {
  const area = 'users';
  const path = '/user/inventoryroles';
  const ofUser = `/user/{tenant}/users/{userId}/roles/inventory`;
  const read = { area, access: 'roles', roles: USER_READ } as const;
  const write = { area, access: 'roles', roles: USER_ADMIN } as const;
  const one = [{ status: 200, description: 'The inventory role', mediaType: 'inventoryRole' }];
  const assigned = [{ status: 200, description: 'The assignment', mediaType: 'inventoryAssignment' }];
  const gone = [{ status: 204, description: 'Deleted' }];
  const example = {
    name: 'Alarm desk',
    description: 'Looks after alarms',
    permissions: [{ scope: 'ALARM', type: '*', permission: 'ADMIN' }],
  };
  return [
    {
      ...read,
      method: 'GET',
      path,
      summary: 'List inventory roles by id',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of inventory roles', mediaType: 'inventoryRoleCollection' }],
      handle: list,
    },
    {
      ...write,
      method: 'POST',
      path,
      summary: 'Create an inventory role',
      body: { schema: schemas.InventoryRole, mediaTypes: ['inventoryRole'], example },
      answers: [{ status: 201, description: 'Created', mediaType: 'inventoryRole' }],
      handle: post,
    },
    { ...read, method: 'GET', path: `${path}/{id}`, summary: 'Read an inventory role', answers: one, handle: get },
    {
      ...write,
      method: 'PUT',
      path: `${path}/{id}`,
      summary: 'Change an inventory role',
      answers: one,
      handle: put,
      body: { schema: schemas.InventoryRoleUpdate, mediaTypes: ['inventoryRole'], example },
    },
    {
      ...write,
      method: 'DELETE',
      path: `${path}/{id}`,
      summary: 'Delete an inventory role',
      answers: gone,
      handle: remove,
    },
    {
      ...write,
      method: 'GET',
      path: ofUser,
      summary: 'Inventory roles of a user',
      answers: [{ status: 200, description: 'The assignments', mediaType: 'inventoryAssignmentCollection' }],
      handle: listAssignments,
    },
    {
      ...write,
      method: 'POST',
      path: ofUser,
      summary: 'Give a user inventory roles for an object and all below',
      answers: assigned,
      handle: assign,
      body: {
        schema: schemas.InventoryAssignment,
        mediaTypes: ['inventoryAssignment'],
        example: { managedObject: '251', roles: [{ id: 1 }] },
      },
    },
    {
      ...write,
      method: 'GET',
      path: `${ofUser}/{id}`,
      summary: 'Read an assignment',
      answers: assigned,
      handle: getAssignment,
    },
    {
      ...write,
      method: 'PUT',
      path: `${ofUser}/{id}`,
      summary: 'Change the roles of an assignment',
      answers: assigned,
      handle: putAssignment,
      body: {
        schema: schemas.InventoryAssignmentUpdate,
        mediaTypes: ['inventoryAssignment'],
        example: { roles: [{ id: 2 }] },
      },
    },
    {
      ...write,
      method: 'DELETE',
      path: `${ofUser}/{id}`,
      summary: 'End an assignment',
      answers: gone,
      handle: removeAssignment,
    },
  ];
}
