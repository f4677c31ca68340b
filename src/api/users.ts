/** Users and the current user (document 4 sections 3.1 to 3.3; groups and role assignments come with later work). */
import { COMMAND } from '../model/command.ts';
import type { UserPut } from '../model/command.ts';
import { PlatformError } from '../model/errors.ts';
import { joinMembers, splitMembers } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import { hashPassword } from '../model/password.ts';
import { ROLES } from '../model/roles.ts';
import type { ApiRequest } from './api-request.ts';
import { TENANT_KEY } from './data-delete.ts';
import { quote, segment } from './entity-text.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from './paging.ts';
import { flag, text } from './query-parameters.ts';
import { NO_CONTENT, created, found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import * as schemas from './schemas.ts';

const READ = ['ROLE_USER_MANAGEMENT_READ'];
const ADMIN = ['ROLE_USER_MANAGEMENT_ADMIN'];
const CREATE = [...ADMIN, 'ROLE_USER_MANAGEMENT_CREATE'];
/** Members with a meaning of their own; all others are kept as they are sent. */
const OWN_MEMBERS = [
  'id',
  'self',
  'userName',
  'password',
  'roles',
  'enabled',
  'groups',
  'devicePermissions',
  'applications',
  'effectiveRoles',
  'sendPasswordResetEmail',
  'lastPasswordChange',
  'twoFactorAuthenticationEnabled',
  'passwordStrength',
];
/** Members of a PUT that only somebody with all roles of the user may send. */
const PROTECTED_MEMBERS = ['password', 'enabled', 'roles'];
/** Users of one list that are looked at; the store has them by name. */
const USERS_MAX = 100_000;
const DEVICE_USER_PREFIX = 'device_';
/** Keys of the document store have a limit. */
const USER_NAME_BYTES_MAX = 1500;

interface StoredUser {
  readonly userName: string;
  readonly roles: readonly string[];
  readonly enabled: boolean;
  readonly doc?: string;
}

const userUrl = (request: ApiRequest, name: string): string =>
  `${request.baseUrl}/user/${segment(request.principal.tenant)}/users/${segment(name)}`;
const roleText = (request: ApiRequest, role: string): string =>
  `{"id":${quote(role)},"name":${quote(role)},"self":${quote(`${request.baseUrl}/user/roles/${segment(role)}`)}}`;

function userMembers(request: ApiRequest, user: StoredUser): Members {
  const self = userUrl(request, user.userName);
  const members: Members = new Map([
    ['self', quote(self)],
    ['id', quote(user.userName)],
    ['userName', quote(user.userName)],
  ]);
  for (const [name, value] of splitMembers(user.doc ?? '{}')) if (!OWN_MEMBERS.includes(name)) members.set(name, value);
  members.set('enabled', String(user.enabled));
  return members;
}

function userText(request: ApiRequest, user: StoredUser): string {
  const members = userMembers(request, user);
  const self = userUrl(request, user.userName);
  const references = user.roles.map((role) => `{"role":${roleText(request, role)},"self":${quote(`${self}/roles/${segment(role)}`)}}`);
  members.set('groups', `{"self":${quote(`${self}/groups`)},"references":[]}`);
  members.set('roles', `{"self":${quote(`${self}/roles`)},"references":[${references.join(',')}]}`);
  return joinMembers(members);
}

/** The tenant in the path has to be the caller's. @throws PlatformError 403. */
function requireOwnTenant(request: ApiRequest): void {
  if (request.params['tenant'] !== request.principal.tenant) throw new PlatformError('security/forbidden');
}

async function load(request: ApiRequest, name: string): Promise<StoredUser> {
  const isPossible = name !== '' && Buffer.byteLength(name) <= USER_NAME_BYTES_MAX;
  const stored = isPossible ? await request.platform.documents.get('user', request.tenant, name) : undefined;
  if (stored === undefined) throw new PlatformError('users/not-found', { id: name });
  return JSON.parse(stored) as StoredUser;
}

/**
 * Roles as names or as references.
 * @throws PlatformError `validation/invalid-field` for a role that does not exist, 403 for one that the caller lacks.
 */
function sentRoles(request: ApiRequest, members: Members): string[] | undefined {
  const sent = members.get('roles');
  if (sent === undefined) return undefined;
  const value = JSON.parse(sent) as string[] | { references: { role: { id?: string; self?: string } }[] };
  const names = Array.isArray(value) ? value : value.references.map(({ role }) => role.id ?? role.self?.split('/').pop() ?? '');
  for (const name of names) {
    if (!ROLES.includes(name))
      throw new PlatformError('validation/invalid-field', { area: 'users', name: 'roles', value: name, limit: 'known roles' });
    // Nobody gives more than he has.
    if (!request.hasRole(name)) throw new PlatformError('security/forbidden');
  }
  return names;
}

/** Who could take over a user would have its roles. @throws PlatformError 403 when the user has a role that the caller lacks. */
function requireRolesOf(request: ApiRequest, user: StoredUser): void {
  if (!user.roles.every((role) => request.hasRole(role))) throw new PlatformError('security/forbidden');
}

async function changeOf(request: ApiRequest, userName: string, mustBeNew: boolean): Promise<UserPut> {
  const members = request.members();
  const roles = sentRoles(request, members);
  const password = members.get('password');
  const enabled = members.get('enabled');
  return {
    userName,
    doc: joinMembers([...members].filter(([name]) => !OWN_MEMBERS.includes(name))),
    mustBeNew,
    ...(password === undefined ? {} : { password: await hashPassword(JSON.parse(password) as string) }),
    ...(roles === undefined ? {} : { roles }),
    ...(enabled === undefined ? {} : { enabled: enabled === 'true' }),
  };
}

async function post(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const members = request.members();
  const userName = JSON.parse(members.get('userName') as string) as string;
  if (Buffer.byteLength(userName) > USER_NAME_BYTES_MAX) {
    throw new PlatformError('validation/invalid-field', {
      area: 'users',
      name: 'userName',
      value: userName,
      limit: `at most ${USER_NAME_BYTES_MAX} bytes`,
    });
  }
  if (!members.has('password')) throw new PlatformError('validation/mandatory-fields', { names: 'password' });
  await request.command(COMMAND.USER_PUT, TENANT_KEY, await changeOf(request, userName, true));
  return created('user', userText(request, await load(request, userName)), userUrl(request, userName));
}

async function list(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { query } = request;
  const page = pageOf(request);
  const entries = await request.platform.documents.list('user', request.tenant, query.text('username') ?? '', { limit: USERS_MAX });
  const onlyDevices = query.isTrue('onlyDevices');
  const users = entries.filter((entry) => entry.id.startsWith(DEVICE_USER_PREFIX) === onlyDevices);
  const items = users.slice(page.offset, page.offset + page.size).map((entry) => userText(request, JSON.parse(entry.value) as StoredUser));
  const total = page.wantsTotal ? users.length : undefined;
  return found('userCollection', collectionText(request, page, { name: 'users', items, total }));
}

async function get(request: ApiRequest, name: string): Promise<Answer> {
  requireOwnTenant(request);
  return found('user', userText(request, await load(request, name)));
}

async function put(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId } = request.params;
  const user = await load(request, userId);
  if (PROTECTED_MEMBERS.some((name) => request.members().has(name))) requireRolesOf(request, user);
  await request.command(COMMAND.USER_PUT, TENANT_KEY, await changeOf(request, userId, false));
  return found('user', userText(request, await load(request, userId)));
}

async function remove(request: ApiRequest): Promise<Answer> {
  requireOwnTenant(request);
  const { userId } = request.params;
  const user = await load(request, userId);
  requireRolesOf(request, user);
  if (userId === request.principal.userName) throw new PlatformError('security/forbidden');
  await request.command(COMMAND.USER_DELETE, TENANT_KEY, { userName: userId });
  return NO_CONTENT;
}

async function current(request: ApiRequest): Promise<Answer> {
  const { principal } = request;
  const members = userMembers(request, await load(request, principal.userName));
  members.set(
    'effectiveRoles',
    `[${[...principal.roles]
      .sort()
      .map((role) => roleText(request, role))
      .join(',')}]`,
  );
  return found('currentUser', joinMembers(members));
}

/** Own profile fields and the own password. */
async function putCurrent(request: ApiRequest): Promise<Answer> {
  const { userName } = request.principal;
  const { doc, password } = await changeOf(request, userName, false);
  await request.command(COMMAND.USER_PUT, TENANT_KEY, { userName, doc, ...(password === undefined ? {} : { password }) });
  return current(request);
}

export function userRoutes(): Route[] {
  const area = 'users';
  const one = [{ status: 200, description: 'The user', mediaType: 'user' }];
  const body = { schema: schemas.UserUpdate, mediaTypes: ['user'], example: { firstName: 'Ada', enabled: true } };
  const own = [{ status: 200, description: 'The current user with effectiveRoles', mediaType: 'currentUser' }];
  return [
    { method: 'GET', path: '/user/currentUser', area, access: 'user', summary: 'The user of the request', answers: own, handle: current },
    {
      method: 'PUT',
      path: '/user/currentUser',
      area,
      access: 'roles',
      roles: ['ROLE_USER_MANAGEMENT_OWN_ADMIN'],
      summary: 'Change the own profile',
      body: { ...body, mediaTypes: ['currentUser', 'user'] },
      answers: own,
      handle: putCurrent,
    },
    {
      method: 'GET',
      path: '/user/{tenant}/users',
      area,
      access: 'roles',
      roles: READ,
      summary: 'List users by name',
      query: {
        username: text('Start of the user name'),
        onlyDevices: flag('Only device users; otherwise they are left out'),
        ...PAGE_PARAMETERS,
      },
      answers: [{ status: 200, description: 'A page of users', mediaType: 'userCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path: '/user/{tenant}/users',
      area,
      access: 'roles',
      roles: CREATE,
      summary: 'Create a user',
      body: {
        schema: schemas.User,
        mediaTypes: ['user'],
        example: { userName: 'ada', password: 'Analytical-1', roles: { references: [{ role: { id: 'ROLE_INVENTORY_READ' } }] } },
      },
      answers: [{ status: 201, description: 'Created', mediaType: 'user' }],
      handle: post,
    },
    {
      method: 'GET',
      path: '/user/{tenant}/users/{userId}',
      area,
      access: 'roles',
      roles: READ,
      summary: 'Read a user',
      answers: one,
      handle: (request) => get(request, request.params['userId']),
    },
    {
      method: 'GET',
      path: '/user/{tenant}/userByName/{name}',
      area,
      access: 'roles',
      roles: READ,
      summary: 'Read a user by name',
      answers: one,
      handle: (request) => get(request, request.params['name']),
    },
    {
      method: 'PUT',
      path: '/user/{tenant}/users/{userId}',
      area,
      access: 'roles',
      roles: ADMIN,
      summary: 'Change a user',
      body,
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path: '/user/{tenant}/users/{userId}',
      area,
      access: 'roles',
      roles: ADMIN,
      summary: 'Delete a user',
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
  ];
}
