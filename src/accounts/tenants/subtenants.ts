/**
 * Tenants below a tenant (docs/spec/tenants.md): how they are created, changed, suspended and deleted. A new tenant is
 * visible when everything of it is there; until then a record of its deletion cleans up after a crash.
 */
import { SERVER_WIDE } from '../../model/commands/keys.ts';
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import { userPut, type UserPut } from '../../model/commands/users.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Principal } from '../../model/access/principal.ts';
import { withChanges } from '../../records/audit-changes.ts';
import { changeRecords, listRecords, readRecord, retried } from '../../records/records.ts';
import type { RecordReader } from '../../records/records.ts';
import { newPassword } from '../passwords/chosen.ts';
import type { PasswordParts } from '../passwords/chosen.ts';
import { requireAddress, sendPasswordLink } from '../passwords/links.ts';
import type { LinkParts } from '../passwords/links.ts';
import { ADMINS_GROUP, predefinedRecords } from '../users/groups.ts';
import {
  requireNotOwnHost,
  requireRoomBelow,
  requireRoomFor,
  requireStoredRoom,
  requireStoredUnique,
} from './bounds.ts';
import type { BoundParts } from './bounds.ts';
import { deletionKey } from './deletion.ts';
import type { TenantDeletionJob } from './deletion.ts';
import { MANAGEMENT_TENANT, REGISTRY, isActive, isParentOf } from './tenants.ts';
import type { Tenant, TenantRegistry } from './tenants.ts';

/** What tenants are created, changed and deleted with. */
export interface SubtenantParts extends BoundParts, LinkParts, PasswordParts {
  readonly documents: LinkParts['documents'];
  readonly tenants: BoundParts['tenants'] & {
    byDomain(domain: string): Tenant | undefined;
    readonly default: Pick<Tenant, 'id'>;
  };
  /**
   * Removes the applications of a deleted tenant, with their subscriptions and users in other tenants; a function, as
   * `accounts/applications` imports this folder.
   */
  removeApplications(tenant: number): Promise<unknown>;
}

/** By whom tenants are changed, and in whose audit log it stands. */
export type TenantAdministrator = Pick<Principal, 'tenant' | 'tenantNumber' | 'userName'>;

/** Fields of a tenant's record that a client may set; undefined removes one. */
export type TenantFields = {
  -readonly [Name in keyof Omit<Tenant, 'id' | 'number' | 'parent' | 'parentNumber' | 'creationTime'>]?:
    | Tenant[Name]
    | undefined;
};

export interface NewTenant {
  /** Without one the tenant gets an id that is free. */
  readonly id: string | undefined;
  readonly fields: TenantFields;
  /** Of the administrator. */
  readonly password: string | undefined;
  /** Whether the administrator gets a link to set a password. */
  readonly sendsLink: boolean;
}

export interface TenantChange {
  readonly fields: TenantFields;
  /** The new one of the administrator. */
  readonly password: string | undefined;
  /** The new address of the administrator; null removes it, undefined leaves it. */
  readonly email: string | null | undefined;
  readonly sendsLink: boolean;
}

const ADMIN_NAME_DEFAULT = 'admin';
/** A creation that takes longer than this was interrupted by a crash. */
const CREATION_MS = 10 * 60_000;
const UPDATED = 'Tenant updated';

async function readRegistry(
  parts: RecordReader,
): Promise<{ readonly expected: string; readonly registry: TenantRegistry }> {
  const expected = await readRecord(parts, SERVER_WIDE, REGISTRY.collection, REGISTRY.id);
  if (expected === undefined) throw new Error('the registry of tenants is not there');
  return { expected, registry: JSON.parse(expected) as TenantRegistry };
}

/** The registry's next version: two changes of ids or domains at once never both succeed. */
const nextVersion = (expected: string, registry: TenantRegistry): RecordChange => ({
  collection: REGISTRY.collection,
  id: REGISTRY.id,
  expected,
  value: JSON.stringify({ ...registry, version: registry.version + 1 } satisfies TenantRegistry),
});

/** A number that is never given again, and the record by which a crash is cleaned up. */
function reserveNumber(parts: SubtenantParts): Promise<{ readonly number: number; readonly job: string }> {
  return retried(parts, async () => {
    const { expected, registry } = await readRegistry(parts);
    const number = registry.nextNumber;
    const job: TenantDeletionJob = { number, notBefore: parts.now() + CREATION_MS };
    const next: TenantRegistry = { ...registry, nextNumber: number + 1 };
    await changeRecords(parts, SERVER_WIDE, [
      { collection: REGISTRY.collection, id: REGISTRY.id, expected, value: JSON.stringify(next) },
      { collection: 'job', id: deletionKey(number), expected: undefined, value: JSON.stringify(job) },
    ]);
    return { number, job: JSON.stringify(job) };
  });
}

/**
 * The caller's tenant, of which the new one becomes a part. Its deletion changes the registry too: a creation that read
 * the registry before it stores nothing below a deleted tenant.
 * @throws PlatformError 403 for one that was deleted, replaced or suspended, or may not create tenants.
 */
export async function requireParent(
  parts: RecordReader,
  { tenant: id, tenantNumber }: Pick<Principal, 'tenant' | 'tenantNumber'>,
): Promise<void> {
  const text = await readRecord(parts, SERVER_WIDE, 'tenant', id);
  const parent = text === undefined ? undefined : (JSON.parse(text) as Tenant);
  if (!isActive(parent) || parent.number !== tenantNumber || parent.allowCreateTenants !== true)
    throw new PlatformError('security/forbidden');
}

/** Visible from here on; then everything of it is there. */
function register(parts: SubtenantParts, by: TenantAdministrator, tenant: Tenant, job: string): Promise<void> {
  return retried(parts, async () => {
    const { expected, registry } = await readRegistry(parts);
    await requireParent(parts, by);
    await requireStoredRoom(parts, tenant);
    await changeRecords(
      parts,
      SERVER_WIDE,
      [
        nextVersion(expected, registry),
        { collection: 'job', id: deletionKey(tenant.number), expected: job, value: undefined },
        { collection: 'tenant', id: tenant.id, expected: undefined, value: JSON.stringify(tenant) },
      ],
      [audit(by, 'Tenant created', tenant)],
    );
  });
}

/** `t<number>`, or with further digits when a client chose that one, as an id or a domain. */
function generatedId({ tenants }: SubtenantParts, number: number): string {
  for (let suffix = 0; ; suffix += 1) {
    const id = `t${number}${suffix === 0 ? '' : suffix}`;
    if (tenants.byId(id) === undefined && tenants.byDomain(id) === undefined) return id;
  }
}

function putUser(parts: SubtenantParts, tenant: number, body: UserPut): Promise<unknown> {
  return parts.commands.request(userPut(tenant, parts.now(), body));
}

const emailDocument = (email: string | null | undefined): { readonly doc?: string } =>
  email === undefined ? {} : { doc: JSON.stringify({ email }) };

async function createAccounts(
  parts: SubtenantParts,
  by: TenantAdministrator,
  tenant: Tenant,
  password: string | undefined,
): Promise<void> {
  const { number, adminName: userName = ADMIN_NAME_DEFAULT } = tenant;
  await changeRecords(
    parts,
    number,
    predefinedRecords().map((record): RecordChange => ({ ...record, expected: undefined })),
  );
  const hashed = password === undefined ? {} : await newPassword(parts, by, number, { userName, password });
  await putUser(parts, number, {
    userName,
    ...hashed,
    ...emailDocument(tenant.adminEmail),
    addGroups: [ADMINS_GROUP],
    enabled: true,
    mustBeNew: true,
  });
}

/** Into the log of the tenant that did it. */
const audit = (by: TenantAdministrator, activity: string, { id }: Pick<Tenant, 'id'>): AuditEntry => ({
  type: 'Tenant',
  activity,
  text: `${activity}: ${id}`,
  user: by.userName,
  source: id,
  tenant: by.tenantNumber,
});

/** Whether the tenant's own parent, not the operator, chose its domain. */
const domainMark = ({ tenant }: TenantAdministrator): Pick<Tenant, 'isDomainOfTenant'> => ({
  isDomainOfTenant: tenant !== MANAGEMENT_TENANT,
});

/** Fields that are undefined are not there. */
function defined(fields: TenantFields): Partial<Tenant> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Creates a tenant below that of the caller, with its groups and its administrator.
 * @throws PlatformError 403 as `requireParent`, 409 for an id or domain that another tenant has, 422 for too many
 * tenants and for a password that breaks a rule.
 */
export async function createTenant(
  parts: SubtenantParts,
  by: TenantAdministrator,
  { id, fields, password, sendsLink }: NewTenant,
): Promise<Tenant> {
  const parent = { parent: by.tenant, parentNumber: by.tenantNumber };
  requireNotOwnHost(parts, by, { id, domain: fields.domain });
  // Before anything is written; once more when it is.
  requireRoomFor(parts, { id: id ?? '', number: 0, ...defined(fields), ...parent });
  const { number, job } = await reserveNumber(parts);
  const adminName = fields.adminName ?? ADMIN_NAME_DEFAULT;
  const tenant: Tenant = {
    id: id ?? generatedId(parts, number),
    number,
    ...defined({ ...fields, adminName }),
    ...domainMark(by),
    status: 'ACTIVE',
    ...parent,
    creationTime: formatTime(parts.now()),
  };
  await createAccounts(parts, by, tenant, password);
  await register(parts, by, tenant, job);
  if (sendsLink && tenant.adminEmail !== undefined) await sendPasswordLink(parts, tenant, adminName);
  return tenant;
}

/** @throws PlatformError 422 for a tenant that the server cannot do without. */
export function requireDispensable({ tenants }: Pick<SubtenantParts, 'tenants'>, tenant: Tenant): void {
  if (tenant.id === MANAGEMENT_TENANT || tenant.id === tenants.default.id)
    throw new PlatformError('tenants/indispensable', { id: tenant.id });
}

/** Of some tenants the configuration decides. */
const adminNameOf = ({ tenants }: Pick<SubtenantParts, 'tenants'>, { id, adminName }: Tenant): string =>
  tenants.byId(id)?.adminName ?? adminName ?? ADMIN_NAME_DEFAULT;

/** The administrator as a new password makes him: back in the group of administrators. */
export async function administratorOf(
  parts: RecordReader & Pick<SubtenantParts, 'tenants'>,
  tenant: Tenant,
): Promise<StoredUser> {
  const userName = adminNameOf(parts, tenant);
  const text = await readRecord(parts, tenant.number, 'user', userName);
  const user =
    text === undefined
      ? { userName, password: '', roles: [], enabled: true, doc: '{}' }
      : (JSON.parse(text) as StoredUser);
  return { ...user, groups: [...(user.groups ?? []), ADMINS_GROUP] };
}

/**
 * Changes the record of a tenant and its administrator, whose password and address are checked before anything is
 * changed. @returns the tenant as it is stored now. @throws PlatformError 404, 409, 422, `general/changed-meanwhile`.
 */
export async function changeTenant(
  parts: SubtenantParts,
  by: TenantAdministrator,
  current: Tenant,
  { fields, password, email, sendsLink }: TenantChange,
): Promise<Tenant> {
  const userName = adminNameOf(parts, current);
  const hashed =
    password === undefined ? undefined : await newPassword(parts, by, current.number, { userName, password });
  if (sendsLink && email === undefined) await requireAddress(parts, current.number, userName);
  if (sendsLink && email === null) throw new PlatformError('users/email-missing');
  const tenant = await retried(parts, () => storeFields(parts, by, current.id, fields));
  await changeAdministrator(parts, by, tenant, hashed, email);
  if (sendsLink) await sendPasswordLink(parts, tenant, adminNameOf(parts, tenant));
  return tenant;
}

/** @throws PlatformError 404, 409, `general/changed-meanwhile`. @returns the tenant as it is stored now. */
async function storeFields(
  parts: SubtenantParts,
  by: TenantAdministrator,
  id: string,
  fields: TenantFields,
): Promise<Tenant> {
  const { expected, registry } = await readRegistry(parts);
  const stored = await readRecord(parts, SERVER_WIDE, 'tenant', id);
  if (stored === undefined) throw new PlatformError('tenants/not-found', { id });
  const before = JSON.parse(stored) as Tenant;
  const isNewDomain = fields.domain !== undefined && fields.domain !== before.domain;
  const after = { ...before, ...fields, ...(isNewDomain ? domainMark(by) : {}) } as Tenant;
  const value = JSON.stringify(after);
  if (value === stored) return before;
  requireRoomBelow(parts, after, before);
  const changes: RecordChange[] = [{ collection: 'tenant', id, expected: stored, value }];
  if (after.domain !== before.domain) {
    await requireStoredUnique(parts, after);
    changes.push(nextVersion(expected, registry));
  }
  const activity = activityOf(before, after);
  await changeRecords(parts, SERVER_WIDE, changes, [
    withChanges(audit(by, activity, after), before, after, { isTold: activity === UPDATED }),
  ]);
  return after;
}

function activityOf(old: Tenant, tenant: Tenant): string {
  if ((old.status ?? 'ACTIVE') === (tenant.status ?? 'ACTIVE')) return UPDATED;
  return tenant.status === 'SUSPENDED' ? 'Tenant suspended' : 'Tenant activated';
}

/**
 * The password and the address are the administrator's (docs/spec/tenants.md#administrators). One who was deleted is
 * made again; with a new password he can log in and administer, whatever he lost.
 */
async function changeAdministrator(
  parts: SubtenantParts,
  by: TenantAdministrator,
  tenant: Tenant,
  hashed: Pick<UserPut, 'password' | 'passwordStrength'> | undefined,
  email: string | null | undefined,
): Promise<void> {
  if (hashed === undefined && email === undefined) return;
  const userName = adminNameOf(parts, tenant);
  const exists = (await readRecord(parts, tenant.number, 'user', userName)) !== undefined;
  if (!exists && hashed === undefined && email === null) return;
  await putUser(parts, tenant.number, {
    userName,
    ...hashed,
    ...emailDocument(email),
    ...(exists && hashed === undefined ? {} : { addGroups: [ADMINS_GROUP] }),
    ...(hashed === undefined ? {} : { enabled: true }),
    by: `${by.tenant}/${by.userName}`,
  });
}

/**
 * Ends all access at once, also that of the tenant's microservices to other tenants. The data of the tenant are removed
 * in the background, which also finishes what a crash leaves here (deletion.ts).
 * @throws PlatformError 404, 422 for a tenant that the server cannot do without or that has tenants below it.
 */
export async function deleteTenant(parts: SubtenantParts, by: TenantAdministrator, tenant: Tenant): Promise<void> {
  requireDispensable(parts, tenant);
  const { id } = tenant;
  await retried(parts, async () => {
    const { expected: registryText, registry } = await readRegistry(parts);
    const expected = await readRecord(parts, SERVER_WIDE, 'tenant', id);
    if (expected === undefined) throw new PlatformError('tenants/not-found', { id });
    const stored = JSON.parse(expected) as Tenant;
    const child = (await storedTenants(parts)).find((other) => isParentOf(stored, other));
    if (child !== undefined) throw new PlatformError('tenants/has-subtenants', { id, child: child.id });
    const { number } = stored;
    const job: TenantDeletionJob = { number, notBefore: parts.now(), by: by.userName };
    await changeRecords(
      parts,
      SERVER_WIDE,
      [
        nextVersion(registryText, registry),
        { collection: 'tenant', id, expected, value: undefined },
        { collection: 'job', id: deletionKey(number), expected: undefined, value: JSON.stringify(job) },
      ],
      [audit(by, 'Tenant deleted', tenant)],
    );
  });
  try {
    await parts.removeApplications(tenant.number);
  } catch (error) {
    // The tenant is deleted, and users of its microservices are let in no more: the background removes the rest.
    parts.log.warn(
      { tenantNumber: tenant.number, error: (error as Error).message },
      'the applications of a deleted tenant are removed later',
    );
  }
}

async function storedTenants(parts: RecordReader): Promise<Tenant[]> {
  return (await listRecords(parts, SERVER_WIDE, 'tenant')).map(({ value }) => JSON.parse(value) as Tenant);
}
