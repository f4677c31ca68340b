/**
 * Users, kept by the tenant's actor (docs/spec/users.md#fields), with what belongs to them: memberships, the alias,
 * inventory assignments.
 */
import type { AuditEntry } from '../../../model/commands/records.ts';
import type { ObjectPermissions, UserDelete, UserPut } from '../../../model/commands/users.ts';
import { PlatformError } from '../../../model/errors.ts';
import { joinMembers, parseMembers, splitMembers } from '../../../model/documents/json-document.ts';
import type { Members } from '../../../model/documents/json-document.ts';
import { changesBetween, describeListChanges, describeUnlisted } from '../../../model/entities/changes.ts';
import type { ActorContext } from '../../runtime/context.ts';
import type { StoredUser } from '../../../model/entities/stored-user.ts';
import { mayEndDeviceUser } from './device-user.ts';

/** Of a user's further members, together: they are read with each login. */
export const USER_DOC_BYTES_MAX = 100_000;
/** More groups of one user are refused: their roles are read with each login. */
const GROUPS_OF_USER_MAX = 200;
const ALIASES = 'userAlias';
const MEMBERS = 'groupMember';
const PASSWORD_TOKENS = 'passwordToken';

/** Of the link to set a password. */
export const passwordTokenKey = (userName: string): string => `${userName}\n`;
export const memberKey = (group: number, userName: string): string => `${group}\n${userName}`;

export function putUser(context: ActorContext, body: UserPut): { doc: string } | { isRenewed: boolean } {
  if (body.renews !== undefined) return { isRenewed: renewHash(context, body) };
  const { userName } = body;
  const text = context.get('user', userName);
  const isNew = text === undefined;
  if (!isNew && body.mustBeNew) throw new PlatformError('users/duplicate', { id: userName });
  if (isNew && body.mustExist) throw new PlatformError('users/not-found', { id: userName });
  if (text !== undefined) requireNoService(JSON.parse(text) as StoredUser, body);
  if (body.usesToken !== undefined) useToken(context, userName, body.usesToken);
  // A name to log in with means one user.
  if (isNew && context.get(ALIASES, userName) !== undefined)
    throw new PlatformError('users/alias-duplicate', { id: userName });
  const old = text === undefined ? undefined : (JSON.parse(text) as StoredUser);
  const enabled = body.enabled ?? old?.enabled ?? true;
  const endsTokens =
    isNew || body.endsTokens === true || body.password !== undefined || (!enabled && old?.enabled === true);
  const alias = changedAlias(context, userName, old?.alias, body.alias);
  const user: StoredUser = {
    ...old,
    userName,
    password: body.password ?? old?.password ?? '',
    enabled,
    doc: changedDocument(old?.doc ?? '{}', body),
    roles: changedList(body.roles ?? old?.roles ?? [], body.addRoles, body.removeRoles),
    groups: changedGroups(context, old?.groups ?? [], body),
    alias,
    passwordStrength: body.password === undefined ? old?.passwordStrength : body.passwordStrength,
    lastPasswordChange: body.password === undefined ? old?.lastPasswordChange : context.command.receivedAt,
    shouldResetPassword: body.shouldResetPassword ?? (body.password === undefined ? old?.shouldResetPassword : false),
    tokenGeneration: endsTokens ? context.command.seq : (old?.tokenGeneration ?? 0),
    isPerson: (body.isPerson ?? old?.isPerson) === true ? true : undefined,
  };
  context.put('user', userName, JSON.stringify(user));
  // A new user has no connections.
  context.changedUser = {
    userName,
    keepsConnections: old === undefined || connectionRights(old) === connectionRights(user),
  };
  if (body.by !== undefined) auditPut(context, old, user, body.by);
  return { doc: user.doc };
}

/** The password stays as it is, and with it tokens, connections and the date of its last change. */
function renewHash(context: ActorContext, { userName, password = '', renews }: UserPut): boolean {
  const text = context.get('user', userName);
  const user = text === undefined ? undefined : (JSON.parse(text) as StoredUser);
  if (user?.password !== renews) return false;
  context.put('user', userName, JSON.stringify({ ...user, password }));
  return true;
}

/** Once: who comes second with the same link finds it gone. @throws PlatformError 422. */
function useToken(context: ActorContext, userName: string, expected: string): void {
  const id = passwordTokenKey(userName);
  if (context.get(PASSWORD_TOKENS, id) !== expected) throw new PlatformError('users/reset-token');
  context.remove(PASSWORD_TOKENS, id);
}

/**
 * With a password of his own an administrator would read, in the name of the microservice, what its owner keeps secret;
 * and the microservice has the roles that it requires, no more (docs/spec/microservices.md#users). Groups and
 * permissions that it got before may be taken away. @throws PlatformError 403.
 */
function requireNoService(user: StoredUser, body: UserPut): void {
  const { userName, service } = user;
  if (
    service === undefined ||
    (body.password === undefined && body.shouldResetPassword !== true && !changesRights(user, body))
  )
    return;
  throw new PlatformError('users/of-service', { id: userName, application: service.application });
}

function changesRights(
  { roles: old, groups: oldGroups = [], doc: oldDoc }: StoredUser,
  { roles = old, addRoles = [], removeRoles = [], addGroups = [], devicePermissions, doc = '{}' }: UserPut,
): boolean {
  const isOther = changedList(roles, addRoles, removeRoles).sort().join() !== [...old].sort().join();
  if (isOther || addGroups.some((group) => !oldGroups.includes(group))) return true;
  if (devicePermissions !== undefined && devicePermissions.entries.length > 0) return true;
  const sent = JSON.stringify(permissionsOf(doc));
  return sent !== '{}' && sent !== JSON.stringify(permissionsOf(oldDoc));
}

/** @throws PlatformError 403 for the user of a microservice, who gets no further rights. */
export function requireNoFurtherRights({ userName, service }: StoredUser): void {
  if (service !== undefined)
    throw new PlatformError('users/of-service', { id: userName, application: service.application });
}

function changedList<Value>(
  list: readonly Value[],
  added: readonly Value[] = [],
  removed: readonly Value[] = [],
): Value[] {
  return [...new Set([...list, ...added])].filter((value) => !removed.includes(value));
}

/** @throws PlatformError `groups/not-found`, or 422 for too many. */
function changedGroups(context: ActorContext, old: readonly number[], body: UserPut): number[] {
  const groups = changedList(old, body.addGroups, body.removeGroups);
  for (const group of groups) {
    if (old.includes(group)) continue;
    if (context.get('group', String(group)) === undefined) throw new PlatformError('groups/not-found', { id: group });
    context.put(MEMBERS, memberKey(group, body.userName), '1');
  }
  for (const group of old) if (!groups.includes(group)) context.remove(MEMBERS, memberKey(group, body.userName));
  if (groups.length > GROUPS_OF_USER_MAX && groups.length > old.length) {
    const limit = `at most ${GROUPS_OF_USER_MAX} groups`;
    throw new PlatformError('validation/invalid-field', { area: 'users', name: 'groups', value: groups.length, limit });
  }
  return groups;
}

/** @throws PlatformError 409 when it is a name or an alias of another user. */
function changedAlias(
  context: ActorContext,
  userName: string,
  old: string | undefined,
  sent: string | undefined,
): string | undefined {
  if (sent === undefined || sent === old) return old;
  if (sent !== '') {
    const isTaken =
      context.get(ALIASES, sent) !== undefined || context.get('user', sent) !== undefined || sent === userName;
    if (isTaken) throw new PlatformError('users/alias-duplicate', { id: sent });
    context.put(ALIASES, sent, JSON.stringify({ userName }));
  }
  if (old !== undefined) context.remove(ALIASES, old);
  return sent === '' ? undefined : sent;
}

/** @throws PlatformError 422 when it grows beyond what is read with each login. */
function changedDocument(old: string, { doc: sent = '{}', devicePermissions }: UserPut): string {
  const merged = mergeDocuments(old, sent);
  const doc = devicePermissions === undefined ? merged : withPermissions(merged, devicePermissions);
  if (doc.length > old.length) requireSmall(doc);
  return doc;
}

/** @throws PlatformError 422. */
export function requireSmall(
  doc: string,
  { area, what }: { readonly area: string; readonly what: string } = { area: 'users', what: 'a user' },
): void {
  const bytes = Buffer.byteLength(doc);
  if (bytes <= USER_DOC_BYTES_MAX) return;
  const limit = `at most ${USER_DOC_BYTES_MAX} bytes of further members of ${what}`;
  throw new PlatformError('validation/invalid-field', { area, name: 'body', value: `${bytes} bytes`, limit });
}

/** Further members of a user or a group, with other device permissions for one object. */
export function withPermissions(doc: string, { object, entries }: ObjectPermissions): string {
  const members = splitMembers(doc);
  const { [object]: _old, ...others } = permissionsOf(doc);
  members.set('devicePermissions', JSON.stringify(entries.length === 0 ? others : { ...others, [object]: entries }));
  return joinMembers(members);
}

/** The member `devicePermissions` of a user or a group, by object. */
export const permissionsOf = (doc: string): Readonly<Record<string, readonly string[]>> =>
  (JSON.parse(splitMembers(doc).get('devicePermissions') ?? '{}') ?? {}) as Record<string, readonly string[]>;

function mergeDocuments(old: string, sent: string): string {
  const members = parseMembers(old);
  for (const [name, value] of parseMembers(sent)) {
    if (value === 'null') members.delete(name);
    else members.set(name, value);
  }
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

/**
 * What of a user decides whether and with which rights he is connected; names, addresses and settings of front ends do
 * not.
 */
function connectionRights({
  password,
  roles,
  enabled,
  groups = [],
  alias,
  tokenGeneration = 0,
  doc,
}: StoredUser): string {
  return JSON.stringify([
    password,
    roles,
    enabled,
    groups,
    alias,
    tokenGeneration,
    parseMembers(doc).get('devicePermissions'),
  ]);
}

/** Members of a user as the audit log tells them, but for the groups; the password goes without its value. */
function toldMembers({ roles, enabled, alias, password, shouldResetPassword, doc }: StoredUser): Members {
  return new Map([
    ...splitMembers(doc),
    ...splitMembers(JSON.stringify({ roles, enabled, alias, password, shouldResetPassword })),
  ]);
}

/** Says what changed; groups by their names. */
function auditPut(context: ActorContext, old: StoredUser | undefined, user: StoredUser, by: string): void {
  const [before, after]: Members[] = [old === undefined ? new Map() : toldMembers(old), toldMembers(user)];
  const nameOf = (id: number): string =>
    (JSON.parse(context.get('group', String(id)) ?? '{}') as { name?: string }).name ?? String(id);
  const [groupsBefore, groupsAfter] = [old?.groups ?? [], user.groups ?? []];
  if (groupsBefore.join() !== groupsAfter.join()) {
    before.set('groups', JSON.stringify(groupsBefore.map(nameOf)));
    after.set('groups', JSON.stringify(groupsAfter.map(nameOf)));
  }
  const changes = changesBetween(before, after, new Set());
  const { text, ...entry } = auditOf(user.userName, old === undefined ? 'User created' : 'User updated', by);
  if (changes.listed.length === 0) {
    context.audit({ ...entry, text });
    return;
  }
  const said = old === undefined ? describeUnlisted(changes) : `: ${describeListChanges(changes, before, after)}`;
  context.audit({ ...entry, changes: changes.listed, text: `${text}${said}` });
}

const auditOf = (userName: string, activity: string, by: string | undefined): AuditEntry => ({
  type: 'User',
  activity,
  text: `${activity}: ${userName}`,
  source: userName,
  ...(by === undefined ? {} : { user: by }),
});

export function deleteUser(context: ActorContext, body: UserDelete): undefined {
  const { userName } = body;
  const text = context.get('user', userName);
  if (text === undefined) throw new PlatformError('users/not-found', { id: userName });
  const user = JSON.parse(text) as StoredUser;
  if (body.isWithDevice && !mayEndDeviceUser(context, user, body.by)) {
    const entry = auditOf(userName, 'User kept', body.by);
    context.audit({ ...entry, text: `${entry.text} has rights that who deleted its device lacks` });
    return undefined;
  }
  context.remove('user', userName);
  context.changedUser = { userName, keepsConnections: false };
  if (user.alias !== undefined) context.remove(ALIASES, user.alias);
  if (context.get('totp', userName) !== undefined) context.remove('totp', userName);
  for (const group of user.groups ?? []) context.remove(MEMBERS, memberKey(group, userName));
  for (const collection of ['inventoryAssignment', 'tokenRevocation', 'passwordToken'] as const) {
    for (const { id } of context.list(collection, `${userName}\n`)) context.remove(collection, id);
  }
  if (body.by !== undefined) context.audit(auditOf(userName, 'User deleted', body.by));
  return undefined;
}
