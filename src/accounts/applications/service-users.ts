/**
 * Users of microservices (docs/spec/microservices.md#users): one bootstrap user in the owner's tenant, and one
 * service user in each subscribed tenant with exactly the required roles. Their passwords are generated, encrypted, and
 * stay until they are changed. What a crash left out is made up for when the microservice asks for its users.
 *
 * Records in `application` of the user's tenant: `service\n<application>` and `bootstrap\n<application>` hold the
 * credentials, `user\n<name>` names the application. A service user is made together with a look at the subscription in
 * one command, so that none outlives it.
 */
import { randomBytes } from 'node:crypto';
import { memberKey, permissionsOf } from '../../actors/handlers/users/user.ts';
import type { ServiceOf, StoredUser } from '../../model/entities/stored-user.ts';
import type { TextCipher } from '../options/cipher.ts';
import type { Log } from '../../ports/log.ts';
import type { Principal } from '../../model/access/principal.ts';
import { UndecipherableText } from '../options/cipher.ts';
import { isAbove, isActive } from '../tenants/tenants.ts';
import type { Tenant } from '../tenants/tenants.ts';
import type { StoredApplication, StoredSubscription } from '../../model/entities/application.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import type { UserDelete } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, splitMembers } from '../../model/documents/json-document.ts';
import { hashGenerated, randomPassword } from '../../model/access/password-hash.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import { SERVICE_BOOTSTRAP_ROLE } from '../../model/access/roles.ts';
import { applicationsOfOwner, findApplication, removeApplication } from './applications.ts';
import { changeRecords, isChangedMeanwhile, listRecords, readRecord, retried } from '../../records/records.ts';
import type { RecordReader } from '../../records/records.ts';
import type { ApplicationParts } from './applications.ts';
import { TENANT_KEY } from '../../model/commands/keys.ts';

/** What users of microservices are made with. */
export interface ServiceParts extends ApplicationParts {
  readonly cipher: TextCipher;
  readonly log: Log;
}

/** By whom users are changed, for audit records. */
type By = Pick<Principal, 'userName'>;

const COLLECTION = 'application';
/** How often the removal of a tenant's applications goes on: each time another request has done a step of it. */
const REMOVAL_TRIES_MAX = 1_000;
/** 32 signs, the longest password that is taken. */
const PASSWORD_BYTES = 24;
/** Of the application's name in a user's name. */
const NAME_LENGTH_MAX = 128;

export type ServiceUserKind = 'bootstrap' | 'service';
export interface ServiceCredentials {
  readonly tenant: string;
  readonly name: string;
  readonly password: string;
}

/** In `<kind>\n<application>`. */
interface StoredCredentials {
  readonly userName: string;
  /** Encrypted password and its hash; absent when ended. */
  readonly secret?: string;
  readonly hash?: string;
  /** Text of the subscription that ended or is ending: no user is made for it again. */
  readonly ended?: string;
}
/** In `user\n<name>`. */
interface StoredServiceUser {
  readonly application: string;
  readonly kind: ServiceUserKind;
}

const credentialsKey = (kind: ServiceUserKind, application: string): string => `${kind}\n${application}`;
const userKey = (userName: string): string => `user\n${userName}`;
const placeOf = (tenant: number, kind: ServiceUserKind, application: string): string =>
  `${tenant}\n${credentialsKey(kind, application)}`;

/** A name that no user has: `service_<app>`, with the id of the application when that one is taken. */
async function freeName(
  parts: ApplicationParts,
  tenant: number,
  kind: ServiceUserKind,
  { id, name }: StoredApplication,
): Promise<string> {
  const prefix = kind === 'bootstrap' ? 'servicebootstrap_' : 'service_';
  const wanted = `${prefix}${name.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, NAME_LENGTH_MAX)}`;
  for (let tries = 0; ; tries += 1) {
    const candidate =
      tries === 0 ? wanted : tries === 1 ? `${wanted}_${id}` : `${wanted}_${id}_${randomBytes(4).toString('hex')}`;
    if (
      (await readRecord(parts, tenant, 'user', candidate)) === undefined &&
      (await readRecord(parts, tenant, 'userAlias', candidate)) === undefined
    ) {
      return candidate;
    }
  }
}

interface ServiceFields {
  readonly userName: string;
  readonly hash: string;
  readonly roles: readonly string[];
  readonly service: ServiceOf;
}

function userOf(parts: ApplicationParts, old: StoredUser | undefined, fields: ServiceFields): StoredUser {
  const now = parts.now();
  const { userName, hash, roles, service } = fields;
  if (old === undefined) {
    return {
      userName,
      password: hash,
      roles,
      enabled: true,
      doc: '{}',
      groups: [],
      passwordStrength: 'GREEN',
      lastPasswordChange: now,
      tokenGeneration: now,
      service,
    };
  }
  const doc = withoutPermissions(old.doc);
  return {
    ...old,
    roles,
    service,
    doc,
    groups: [],
    ...(old.password === hash ? {} : { password: hash, lastPasswordChange: now, tokenGeneration: now }),
  };
}

const isUpToDate = (user: StoredUser, { hash, roles, service }: Omit<ServiceFields, 'userName'>): boolean =>
  user.password === hash &&
  (user.groups ?? []).length === 0 &&
  withoutPermissions(user.doc) === user.doc &&
  isSame(user.roles, roles) &&
  user.service?.application === service.application &&
  user.service.owner === service.owner;
const isSame = (left: readonly string[], right: readonly string[]): boolean =>
  JSON.stringify([...left].sort()) === JSON.stringify([...right].sort());

/**
 * Permissions by object: the roles that are required are all of its rights. An empty member may stay, as front ends
 * send it.
 */
function withoutPermissions(doc: string): string {
  if (Object.keys(permissionsOf(doc)).length === 0) return doc;
  const members = splitMembers(doc);
  members.delete('devicePermissions');
  return joinMembers(members);
}

/** Memberships and inventory roles, of a user who had the name before or from an older server: they end. */
async function furtherRights(
  parts: ApplicationParts,
  tenant: number,
  { userName, groups = [] }: StoredUser,
): Promise<RecordChange[]> {
  const changes: RecordChange[] = (await listRecords(parts, tenant, 'inventoryAssignment', `${userName}\n`)).map(
    ({ id, value }) => ({ collection: 'inventoryAssignment', id, expected: value, value: undefined }),
  );
  for (const group of groups) {
    const id = memberKey(group, userName);
    const expected = await readRecord(parts, tenant, 'groupMember', id);
    if (expected !== undefined) changes.push({ collection: 'groupMember', id, expected, value: undefined });
  }
  return changes;
}

function newPassword({ cipher }: ServiceParts, place: string): { password: string; hash: string; secret: string } {
  const password = randomPassword(PASSWORD_BYTES);
  return { password, hash: hashGenerated(password), secret: cipher.encrypt(password, place) };
}

/**
 * @returns undefined when the server has another key than the one that the password was encrypted with: a new one takes
 * its place.
 */
function passwordOf({ cipher, log }: ServiceParts, secret: string, place: string): string | undefined {
  try {
    return cipher.decrypt(secret, place);
  } catch (error) {
    if (!(error instanceof UndecipherableText)) throw error;
    log.warn({ error: error.message }, 'the user of a microservice gets a new password: the stored one cannot be read');
    return undefined;
  }
}

/**
 * Makes the user or brings it up to date.
 * @param guard a record of the tenant that has to stay as it is meanwhile. @returns undefined when the user has ended.
 * @throws PlatformError `general/changed-meanwhile`.
 */
async function ensure(
  parts: ServiceParts,
  by: By,
  tenant: Tenant,
  kind: ServiceUserKind,
  application: StoredApplication,
  roles: readonly string[],
  guard: RecordChange | undefined,
): Promise<ServiceCredentials | undefined> {
  const { number } = tenant;
  const key = credentialsKey(kind, application.id);
  const place = placeOf(number, kind, application.id);
  const service: ServiceOf = { application: application.id, owner: application.ownerNumber };
  const text = await readRecord(parts, number, COLLECTION, key);
  const stored = text === undefined ? undefined : (JSON.parse(text) as StoredCredentials);
  if (stored?.ended !== undefined && stored.ended === guard?.expected) return undefined;
  const changes: RecordChange[] = guard === undefined ? [] : [guard];
  let credentials: ServiceCredentials;
  if (stored?.secret !== undefined && stored.hash !== undefined) {
    const { userName } = stored;
    const userText = await readRecord(parts, number, 'user', userName);
    const user = userText === undefined ? undefined : (JSON.parse(userText) as StoredUser);
    const known = passwordOf(parts, stored.secret, place);
    const { password, hash, secret } =
      known === undefined ? newPassword(parts, place) : { password: known, hash: stored.hash, secret: stored.secret };
    credentials = { tenant: tenant.id, name: userName, password };
    const ending = user === undefined ? [] : await furtherRights(parts, number, user);
    if (user !== undefined && ending.length === 0 && isUpToDate(user, { hash, roles, service })) return credentials;
    changes.push(
      ...ending,
      { collection: COLLECTION, id: key, expected: text, value: JSON.stringify({ ...stored, secret, hash }) },
      {
        collection: 'user',
        id: userName,
        expected: userText,
        value: JSON.stringify(userOf(parts, user, { userName, hash, roles, service })),
      },
    );
  } else {
    const userName = await freeName(parts, number, kind, application);
    const { password, hash, secret } = newPassword(parts, place);
    credentials = { tenant: tenant.id, name: userName, password };
    const value: StoredCredentials = { userName, secret, hash };
    const named: StoredServiceUser = { application: application.id, kind };
    changes.push(
      { collection: COLLECTION, id: key, expected: text, value: JSON.stringify(value) },
      { collection: COLLECTION, id: userKey(userName), expected: undefined, value: JSON.stringify(named) },
      {
        collection: 'user',
        id: userName,
        expected: undefined,
        value: JSON.stringify(userOf(parts, undefined, { userName, hash, roles, service })),
      },
    );
  }
  const activity = text === undefined || stored?.ended !== undefined ? 'User created' : 'User updated';
  const audit = {
    type: 'User',
    activity,
    text: `${activity}: ${credentials.name}`,
    user: by.userName,
    source: credentials.name,
  };
  await changeRecords(parts, number, changes, [audit]);
  return credentials;
}

/** Of a tenant that is subscribed. @returns undefined for one that is not, or no longer. */
function serviceUser(
  parts: ServiceParts,
  by: By,
  tenant: Tenant,
  application: StoredApplication,
): Promise<ServiceCredentials | undefined> {
  return retried(parts, async () => {
    const { id } = application;
    const expected = await readRecord(parts, tenant.number, 'subscription', id);
    if (expected === undefined) return undefined;
    const subscription = JSON.parse(expected) as StoredSubscription;
    const granted = await grantedRoles(parts, tenant, application, subscription);
    // A role that was not required for a time waits again when it comes back.
    const value = JSON.stringify({ ...subscription, granted });
    return ensure(parts, by, tenant, 'service', application, granted, {
      collection: 'subscription',
      id,
      expected,
      value,
    });
  });
}

/**
 * Required roles that the service user gets in the tenant. In the owner's tenant, and in tenants that the owner
 * administrates, these are all of them. Another tenant agrees to those of the time when it was subscribed, and to what it
 * has granted since. In a subscription of an older server they are those that the service user has.
 */
async function grantedRoles(
  parts: ApplicationParts,
  tenant: Tenant,
  application: StoredApplication,
  { granted }: StoredSubscription,
): Promise<string[]> {
  const required = [...new Set(application.requiredRoles ?? [])];
  const owner = parts.tenants.byNumber(application.ownerNumber);
  const isOwn = tenant.number === application.ownerNumber;
  if (isOwn || (owner !== undefined && isAbove({ tenant: owner.id, tenantNumber: owner.number }, tenant)))
    return required;
  if (granted !== undefined) return required.filter((role) => granted.includes(role));
  const text = await readRecord(parts, tenant.number, COLLECTION, credentialsKey('service', application.id));
  const userText =
    text === undefined
      ? undefined
      : await readRecord(parts, tenant.number, 'user', (JSON.parse(text) as StoredCredentials).userName);
  if (userText === undefined) return required;
  const { roles } = JSON.parse(userText) as StoredUser;
  return required.filter((role) => roles.includes(role));
}

/** Required roles that wait for the consent of a subscribed tenant; none where it is not subscribed. */
export async function waitingRoles(
  parts: ApplicationParts,
  tenant: Tenant,
  application: StoredApplication,
): Promise<readonly string[]> {
  const { id, type, requiredRoles = [] } = application;
  const text =
    type === 'MICROSERVICE' && requiredRoles.length > 0
      ? await readRecord(parts, tenant.number, 'subscription', id)
      : undefined;
  if (text === undefined) return [];
  const granted = await grantedRoles(parts, tenant, application, JSON.parse(text) as StoredSubscription);
  return [...new Set(requiredRoles)].filter((role) => !granted.includes(role));
}

/** Of the owner's tenant. @throws PlatformError 404 when the tenant or the application has ended. */
export async function bootstrapUser(
  parts: ServiceParts,
  by: By,
  application: StoredApplication,
): Promise<ServiceCredentials> {
  const { id } = application;
  const found = await retried(parts, async () => {
    const tenant = parts.tenants.byNumber(application.ownerNumber);
    return tenant === undefined
      ? undefined
      : ensure(parts, by, tenant, 'bootstrap', application, [SERVICE_BOOTSTRAP_ROLE], undefined);
  });
  if (found === undefined) throw new PlatformError('applications/not-found', { id });
  if ((await findApplication(parts, id)) !== undefined) return found;
  // Deleted meanwhile: nothing of it stays.
  await removeUser(parts, by, application.ownerNumber, 'bootstrap', id);
  throw new PlatformError('applications/not-found', { id });
}

/**
 * Ends a user. First it is written down that it ends, so that no request makes it again meanwhile, and at last its name is
 * given free: what a crash leaves is finished when it is called again.
 */
export function removeUser(
  parts: ApplicationParts,
  by: By,
  tenant: number,
  kind: ServiceUserKind,
  application: string,
): Promise<void> {
  const key = credentialsKey(kind, application);
  return retried(parts, async () => {
    const text = await readRecord(parts, tenant, COLLECTION, key);
    const subscription = kind === 'service' ? await readRecord(parts, tenant, 'subscription', application) : undefined;
    if (text === undefined && subscription === undefined) return;
    const { userName } = text === undefined ? { userName: '' } : (JSON.parse(text) as StoredCredentials);
    const ended: StoredCredentials = { userName, ended: subscription ?? '' };
    const value = JSON.stringify(ended);
    await changeRecords(parts, tenant, [{ collection: COLLECTION, id: key, expected: text, value }]);
    await releaseName(parts, by, tenant, userName, application);
    if (subscription === undefined)
      await changeRecords(parts, tenant, [{ collection: COLLECTION, id: key, expected: value, value: undefined }]);
  });
}

/** A user of the same name who was made by hand is left alone. */
async function releaseName(
  parts: ApplicationParts,
  by: By,
  tenant: number,
  userName: string,
  application: string,
): Promise<void> {
  const named = userName === '' ? undefined : await readRecord(parts, tenant, COLLECTION, userKey(userName));
  if (named === undefined || (JSON.parse(named) as StoredServiceUser).application !== application) return;
  await deleteUser(parts, by, tenant, userName);
  await changeRecords(parts, tenant, [
    { collection: COLLECTION, id: userKey(userName), expected: named, value: undefined },
  ]);
}

async function deleteUser(parts: ApplicationParts, by: By, tenant: number, userName: string): Promise<void> {
  const body: UserDelete = { userName, by: by.userName };
  try {
    await parts.commands.request({
      kind: COMMAND.USER_DELETE,
      tenant,
      key: TENANT_KEY,
      mode: PROCESSING_MODE.PERSISTENT,
      receivedAt: parts.now(),
      body,
    });
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'users/not-found') throw error;
  }
}

/** Tenants that are subscribed, by id, with the texts of their subscriptions. */
export async function subscribers(
  parts: ApplicationParts,
  application: string,
): Promise<{ readonly tenant: Tenant; readonly text: string }[]> {
  const found: { tenant: Tenant; text: string }[] = [];
  for (const tenant of parts.tenants.all) {
    const text = await readRecord(parts, tenant.number, 'subscription', application);
    if (text !== undefined) found.push({ tenant, text });
  }
  return found.sort((left, right) => (left.tenant.id < right.tenant.id ? -1 : 1));
}

/** One for each subscribed tenant that is active. */
export async function serviceUsers(
  parts: ServiceParts,
  by: By,
  application: StoredApplication,
): Promise<ServiceCredentials[]> {
  const found: ServiceCredentials[] = [];
  for (const { tenant } of await subscribers(parts, application.id)) {
    const user = isActive(tenant) ? await serviceUser(parts, by, tenant, application) : undefined;
    if (user !== undefined) found.push(user);
  }
  return found;
}

/** The required roles have changed. */
export async function refreshServiceUsers(parts: ServiceParts, by: By, application: StoredApplication): Promise<void> {
  if (application.type !== 'MICROSERVICE') return;
  for (const { tenant } of await subscribers(parts, application.id)) {
    await serviceUser(parts, by, tenant, application);
    const waiting = await waitingRoles(parts, tenant, application);
    if (waiting.length > 0) await tellOfWaiting(parts, by, tenant, application, waiting);
  }
}

/** Into the log of the tenant, with the subscription as it is. */
async function tellOfWaiting(
  parts: ApplicationParts,
  by: By,
  { number }: Tenant,
  { id, name }: StoredApplication,
  waiting: readonly string[],
): Promise<void> {
  const activity = 'Application asks for roles';
  const audit = {
    type: 'Application',
    activity,
    text: `${activity}: ${name}, ${waiting.join(' ')}`,
    user: by.userName,
    source: id,
  };
  await retried(parts, async () => {
    const expected = await readRecord(parts, number, 'subscription', id);
    if (expected !== undefined)
      await changeRecords(parts, number, [{ collection: 'subscription', id, expected, value: expected }], [audit]);
  });
}

/** Before the application goes: subscriptions end with their users, then the bootstrap user. */
export async function endAllUses(parts: ApplicationParts, by: By, application: StoredApplication): Promise<void> {
  const { id, ownerNumber } = application;
  for (const { tenant, text } of await subscribers(parts, id)) {
    await removeUser(parts, by, tenant.number, 'service', id);
    const activity = 'Application unsubscribed';
    const audit = {
      type: 'Application',
      activity,
      text: `${activity}: ${application.name}`,
      user: by.userName,
      source: id,
    };
    await changeRecords(
      parts,
      tenant.number,
      [{ collection: 'subscription', id, expected: text, value: undefined }],
      [audit],
    );
  }
  for (const { number } of parts.tenants.all) await removeUser(parts, by, number, 'service', id);
  await removeUser(parts, by, ownerNumber, 'bootstrap', id);
}

/**
 * Of a tenant that was deleted: no user sees its applications any more, but others were subscribed to them. The request
 * that deletes the tenant and its deletion in the background may be at it together: who finds a step done goes on
 * behind it. @returns whether there were any.
 */
export async function removeApplicationsOf(parts: ApplicationParts, by: By, ownerNumber: number): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    const applications = await applicationsOfOwner(parts, ownerNumber);
    try {
      for (const application of applications) {
        await endAllUses(parts, by, application);
        await removeApplication(parts, application);
      }
      return applications.length > 0 || tries > 1;
    } catch (error) {
      const isDone = error instanceof PlatformError && error.code === 'applications/not-found';
      if (!(isChangedMeanwhile(error) || isDone) || tries >= REMOVAL_TRIES_MAX) throw error;
    }
  }
}

/** When a subscription begins: a microservice has a user in each of its tenants. */
export async function subscribed(parts: ServiceParts, by: By, tenant: Tenant, applicationId: string): Promise<void> {
  const found = await findApplication(parts, applicationId);
  if (found?.application.type !== 'MICROSERVICE') return;
  await serviceUser(parts, by, tenant, found.application);
  if ((await findApplication(parts, applicationId)) === undefined)
    await removeUser(parts, by, tenant.number, 'service', applicationId);
}

/** Before a subscription ends. */
export async function unsubscribed(parts: ServiceParts, by: By, tenant: Tenant, applicationId: string): Promise<void> {
  const found = await findApplication(parts, applicationId);
  if (found === undefined || found.application.type === 'MICROSERVICE')
    await removeUser(parts, by, tenant.number, 'service', applicationId);
}

/**
 * Which application a user belongs to; undefined for people and devices, also for a person who was given the name of a
 * service user.
 */
export async function applicationOfUser(
  parts: RecordReader,
  { serviceOwner, tenantNumber, userName }: Pick<Principal, 'serviceOwner' | 'tenantNumber' | 'userName'>,
): Promise<StoredServiceUser | undefined> {
  if (serviceOwner === undefined) return undefined;
  const text = await readRecord(parts, tenantNumber, COLLECTION, userKey(userName));
  return text === undefined ? undefined : (JSON.parse(text) as StoredServiceUser);
}
