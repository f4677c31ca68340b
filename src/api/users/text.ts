/** JSON text of users, groups and roles, and how they are loaded (docs/spec/users.md). */
import { effectiveRights } from '../../accounts/users/effective-rights.ts';
import type { StoredGroup } from '../../accounts/users/groups.ts';
import { isPerson } from '../../accounts/login/second-factor.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { isDeviceUser } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import { joinMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { ROLES, isOfApplication, roleNamed } from '../../model/access/roles.ts';
import type { ApiRequest } from '../request/request.ts';
import { quote, segment } from '../entities/text.ts';
import { PageBudget } from '../request/page-budget.ts';
import { collectionText, pageOf } from '../request/paging.ts';
import { listRecords } from '../../records/records.ts';
import { found } from '../request/reply.ts';
import type { Answer } from '../request/answer.ts';
import { passwordDaysMax } from '../../accounts/options/values.ts';
import { lastSegment } from '../../model/documents/text-end.ts';

/** Keys of the document store have a limit. */
const USER_NAME_BYTES_MAX = 1500;
/** Users that are looked up at once. */
const SUBUSER_DEPTH_MAX = 20;
/** Users or groups of a page that are read and made into text at once. */
const TEXTS_AT_ONCE = 50;
export const USER_READ = ['ROLE_USER_MANAGEMENT_READ'];
export const USER_ADMIN = ['ROLE_USER_MANAGEMENT_ADMIN'];
export const USER_CREATE = 'ROLE_USER_MANAGEMENT_CREATE';

const tenantUrl = (request: ApiRequest): string => `${request.baseUrl}/user/${segment(request.principal.tenant)}`;
export const userUrl = (request: ApiRequest, name: string): string => `${tenantUrl(request)}/users/${segment(name)}`;
export const groupUrl = (request: ApiRequest, id: number): string => `${tenantUrl(request)}/groups/${id}`;
const roleUrl = (request: ApiRequest, role: string): string => `${request.baseUrl}/user/roles/${segment(role)}`;

export const roleText = (request: ApiRequest, role: string): string =>
  `{"id":${quote(role)},"name":${quote(role)},"self":${quote(roleUrl(request, role))}}`;
export const roleReferenceText = (request: ApiRequest, role: string, owner: string): string =>
  `{"role":${roleText(request, role)},"self":${quote(`${owner}/roles/${segment(role)}`)}}`;

/** A page of the roles of a user or a group. @param owner its URL. */
export function rolesAnswer(request: ApiRequest, roles: readonly string[], owner: string): Answer {
  const page = pageOf(request);
  const items = [...roles]
    .sort()
    .slice(page.offset, page.offset + page.size)
    .map((role) => roleReferenceText(request, role, owner));
  const total = page.wantsTotal ? roles.length : undefined;
  return found('roleReferenceCollection', collectionText(request, page, { name: 'references', items, total }));
}

/** All references of a user or a group, as one page. */
const referencesText = (self: string, references: readonly string[]): string =>
  `{"self":${quote(self)},"references":[${references.join(',')}],"statistics":{"currentPage":1,"pageSize":${references.length}}}`;

function rolesText(request: ApiRequest, roles: readonly string[], owner: string): string {
  const references = [...roles].sort().map((role) => roleReferenceText(request, role, owner));
  return referencesText(`${owner}/roles`, references);
}

export function groupText(request: ApiRequest, group: StoredGroup): string {
  const self = groupUrl(request, group.id);
  const members: Members = new Map([
    ['self', quote(self)],
    ['id', String(group.id)],
    ['name', quote(group.name)],
    ...splitMembers(group.doc),
    ['roles', rolesText(request, group.roles, self)],
    ['users', `{"self":${quote(`${self}/users`)},"references":[]}`],
  ]);
  if (!members.has('devicePermissions')) members.set('devicePermissions', '{}');
  return joinMembers(members);
}

/** @param text of the group. */
export const groupReferenceText = (text: string, id: number, owner: string): string =>
  `{"group":${text},"self":${quote(`${owner}/groups/${id}`)}}`;

/** Without groups and roles. */
function userMembers(request: ApiRequest, user: StoredUser): Members {
  const members: Members = new Map([
    ['self', quote(userUrl(request, user.userName))],
    ['id', quote(user.userName)],
    ['userName', quote(user.userName)],
    ...splitMembers(user.doc),
    ['enabled', String(user.enabled)],
    ['shouldResetPassword', String(user.shouldResetPassword === true)],
  ]);
  if (user.alias !== undefined) members.set('alias', quote(user.alias));
  if (user.passwordStrength !== undefined) members.set('passwordStrength', quote(user.passwordStrength));
  if (user.lastPasswordChange !== undefined)
    members.set('lastPasswordChange', quote(formatTime(user.lastPasswordChange)));
  for (const [name, value] of [
    ['twoFactorAuthenticationEnabled', 'false'],
    ['customProperties', '{}'],
    ['devicePermissions', '{}'],
    ['applications', '[]'],
  ]) {
    if (!members.has(name)) members.set(name, value);
  }
  return members;
}

/** Whether the user logs in with one-time codes. */
export const usesCodes = async (request: ApiRequest, { userName }: StoredUser): Promise<boolean> =>
  (await request.platform.accounts.secondFactor.read(request.tenant, userName))?.isActive === true;

const DAY_MS = 86_400_000;
/**
 * By the tenant's option `password/limit.validity`: front ends ask for a new password. Devices and services have no
 * person to do so.
 */
async function isTooOld(request: ApiRequest, user: StoredUser): Promise<boolean> {
  if (user.lastPasswordChange === undefined || !isPerson(user)) return false;
  const days = await passwordDaysMax(request.platform, request.tenant);
  return days > 0 && request.platform.now() - user.lastPasswordChange > days * DAY_MS;
}

/** Texts of groups by id; undefined for those that were deleted. */
type GroupTexts = Map<number, string | undefined>;
type Further = readonly (readonly [string, string])[];

/** @param groups those of the user. */
async function textWithGroups(
  request: ApiRequest,
  user: StoredUser,
  groups: GroupTexts,
  further: Further,
): Promise<string> {
  const self = userUrl(request, user.userName);
  const members = userMembers(request, user);
  const references = (user.groups ?? []).flatMap((id) => {
    const text = groups.get(id);
    return text === undefined ? [] : [groupReferenceText(text, id, self)];
  });
  members.set('groups', referencesText(`${self}/groups`, references));
  members.set('roles', rolesText(request, user.roles, self));
  if (await isTooOld(request, user)) members.set('shouldResetPassword', 'true');
  if (await usesCodes(request, user)) members.set('twoFactorAuthenticationEnabled', 'true');
  for (const [name, value] of further) members.set(name, value);
  return joinMembers(members);
}

/**
 * Texts of the users of a page. Groups are large and in many users: their text is made once, and counted for each user
 * before it is copied.
 * @throws PlatformError `general/page-too-large`.
 */
export async function userTexts(
  request: ApiRequest,
  users: readonly StoredUser[],
  further: (user: StoredUser) => Further = () => [],
): Promise<string[]> {
  const [groups, kept, page]: [GroupTexts, PageBudget, PageBudget] = [
    new Map(),
    new PageBudget(request),
    new PageBudget(request),
  ];
  const texts: string[] = [];
  for (let start = 0; start < users.length; start += TEXTS_AT_ONCE) {
    const some = users.slice(start, start + TEXTS_AT_ONCE);
    await addGroupTexts(
      request,
      groups,
      some.flatMap((user) => user.groups ?? []),
      kept,
    );
    const copied = some.map((user) => (user.groups ?? []).reduce((sum, id) => sum + (groups.get(id)?.length ?? 0), 0));
    for (const characters of copied) page.take(characters);
    const made = await Promise.all(some.map((user) => textWithGroups(request, user, groups, further(user))));
    made.forEach((text, index) => page.take(text.length - copied[index]));
    texts.push(...made);
  }
  return texts;
}

async function addGroupTexts(
  request: ApiRequest,
  groups: GroupTexts,
  ids: readonly number[],
  budget: PageBudget,
): Promise<void> {
  const missing = [...new Set(ids)].filter((id) => !groups.has(id));
  for (let start = 0; start < missing.length; start += TEXTS_AT_ONCE) {
    const some = missing.slice(start, start + TEXTS_AT_ONCE);
    const stored = await request.platform.documents.getMany('group', request.tenant, some.map(String));
    some.forEach((id, index) => {
      const record = stored[index];
      const text = record === undefined ? undefined : groupText(request, JSON.parse(record) as StoredGroup);
      budget.take(text?.length ?? 0);
      groups.set(id, text);
    });
  }
}

export const userText = async (request: ApiRequest, user: StoredUser, further: Further = []): Promise<string> =>
  (await userTexts(request, [user], () => further))[0];

/** Whether it is the administrator that the tenant was made with. */
export const isAdministrator = ({ platform, principal }: ApiRequest, userName: string): boolean =>
  userName === platform.tenants.byId(principal.tenant)?.adminName;

/** The tenant in the path has to be the caller's. @throws PlatformError 403. */
export function requireOwnTenant(request: ApiRequest): void {
  if (request.params['tenant'] !== request.principal.tenant) throw new PlatformError('security/forbidden');
}

export const isDevice = isDeviceUser;

/** What a user can be stored under. */
const isUserName = (name: string): boolean => name !== '' && Buffer.byteLength(name) <= USER_NAME_BYTES_MAX;
/** A name is a segment of paths and a part of `tenant/user:password`; a lone surrogate has no UTF-8. */
const NEW_USER_NAME = /^(?!\.{1,2}$)[^\s/\\+$:\p{Cc}\p{Cs}]{1,1000}$/u;
export const isNewUserName = (name: string): boolean => isUserName(name) && NEW_USER_NAME.test(name);
export const USER_NAME_RULE =
  `1 to 1000 characters and at most ${USER_NAME_BYTES_MAX} bytes, without blanks, slashes, backslashes, +, $, :, ` +
  'control characters and lone surrogates; not . or ..';

/** @throws PlatformError 404. */
export async function loadUser(request: ApiRequest, name: string): Promise<StoredUser> {
  const stored = isUserName(name) ? await request.platform.documents.get('user', request.tenant, name) : undefined;
  if (stored === undefined) throw new PlatformError('users/not-found', { id: name });
  return JSON.parse(stored) as StoredUser;
}

export const ownerOf = (user: StoredUser): string | undefined => stringMember(splitMembers(user.doc), 'owner');

/** Whether the principal is the owner of the user, or of its owner, and so on. */
export async function isSubuser(request: ApiRequest, user: StoredUser): Promise<boolean> {
  let owner = ownerOf(user);
  for (let depth = 0; owner !== undefined && depth < SUBUSER_DEPTH_MAX; depth += 1) {
    if (owner === request.principal.userName) return true;
    const text = isUserName(owner) ? await request.platform.documents.get('user', request.tenant, owner) : undefined;
    owner = text === undefined ? undefined : ownerOf(JSON.parse(text) as StoredUser);
  }
  return false;
}

/**
 * For callers with only ROLE_USER_MANAGEMENT_CREATE. @param roles that open it for all users. @throws PlatformError
 * 403.
 */
export async function requireManaged(request: ApiRequest, user: StoredUser, roles: readonly string[]): Promise<void> {
  if (request.hasRole(...roles) || (await isSubuser(request, user))) return;
  throw new PlatformError('security/forbidden');
}

/**
 * Who could take over a user would have its roles. @throws PlatformError 403 when the user has a role that the caller
 * lacks.
 */
export async function requireRolesOf(request: ApiRequest, user: StoredUser): Promise<void> {
  const {
    platform: { documents },
    refusals,
  } = request;
  const { roles } = await effectiveRights(documents, request.tenant, user, refusals);
  requireRoles(request, [...roles]);
}

/**
 * A user gives only what he has; roles of applications, which mean nothing to the platform, are given by who
 * administers users. @throws PlatformError 403.
 */
export function requireRoles(request: ApiRequest, roles: readonly string[]): void {
  const isAdmin = request.hasRole(...USER_ADMIN);
  if (!roles.every((role) => request.hasRole(role) || (isAdmin && isOfApplication(role))))
    throw new PlatformError('security/forbidden');
}

/** The catalogue, and the roles that subscribed applications define for their own interfaces; sorted. */
export async function knownRoles(request: ApiRequest): Promise<string[]> {
  const subscribed = await listRecords(request.platform, request.tenant, 'subscription');
  const texts =
    subscribed.length === 0
      ? []
      : await request.platform.documents.getMany(
          'application',
          0,
          subscribed.map(({ id }) => id),
        );
  const own = texts.flatMap((text) =>
    text === undefined ? [] : ((JSON.parse(text) as { roles?: string[] }).roles ?? []),
  );
  return [...new Set([...ROLES, ...own])].sort();
}

/** Id in `{"id":…}` or at the end of `{"self":…}`. @returns '' when there is neither. */
export function referencedId(reference: { readonly id?: string | number; readonly self?: string }): string {
  if (reference.id !== undefined) return String(reference.id);
  const last = reference.self === undefined ? '' : lastSegment(reference.self);
  try {
    return decodeURIComponent(last);
  } catch {
    // A broken percent encoding names nothing that exists.
    return '';
  }
}

/**
 * Roles as names or as references. @throws PlatformError 422 for a role that does not exist, 403 for one that the
 * caller lacks.
 */
export async function sentRoles(request: ApiRequest, area: string): Promise<string[] | undefined> {
  const sent = request.members().get('roles');
  if (sent === undefined) return undefined;
  const value = JSON.parse(sent) as string[] | { references: { role: { id?: string; self?: string } }[] };
  const names = (Array.isArray(value) ? value : value.references.map(({ role }) => referencedId(role))).map(roleNamed);
  const known = new Set(await knownRoles(request));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new PlatformError('validation/invalid-field', { area, name: 'roles', value: unknown, limit: 'known roles' });
  requireRoles(request, names);
  return [...new Set(names)];
}
