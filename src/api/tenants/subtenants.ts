/** Tenants below a tenant (docs/spec/tenants.md): made, read, changed, suspended and deleted by those above them. */
import Type from 'typebox';
import type { StoredUser } from '../../model/entities/stored-user.ts';
import { ADMINS_GROUP, predefinedRecords } from '../../accounts/users/groups.ts';
import { deletionKey } from '../../accounts/tenants/deletion.ts';
import type { TenantDeletionJob } from '../../accounts/tenants/deletion.ts';
import { MANAGEMENT_TENANT, REGISTRY, isAbove, isActive, isParentOf } from '../../accounts/tenants/tenants.ts';
import type { Tenant, TenantRegistry } from '../../accounts/tenants/tenants.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { AuditEntry, RecordChange } from '../../model/commands/records.ts';
import type { UserPut } from '../../model/commands/users.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { ApiRequest } from '../request/request.ts';
import { withChanges } from '../../records/audit-changes.ts';
import { segment } from '../entities/text.ts';
import { requireRightsOf } from '../users/inventory-rights.ts';
import { PAGE_PARAMETERS, collectionText, pageOf, requirePageBytes } from '../request/paging.ts';
import { text } from '../request/schema/query-parameters.ts';
import { changeRecords, listRecords, readRecord, retried } from '../../records/records.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { removeApplicationsOf } from '../../accounts/applications/service-users.ts';
import { ownedApplicationsText, subscribedApplicationsText } from '../applications/subscriptions.ts';
import {
  requireNotOwnHost,
  requireRoomBelow,
  requireRoomFor,
  requireStoredRoom,
  requireStoredUnique,
} from './bounds.ts';
import { TenantPost, TenantPut, checkedText, requireAdminFields, sentFields, sentPassword } from './fields.ts';
import type { SentFields } from './fields.ts';
import { newPassword } from '../../accounts/passwords/chosen.ts';
import { requireAddress, sendPasswordLink } from '../../accounts/passwords/links.ts';
import { linkParts } from '../users/passwords.ts';
import { SERVER_WIDE, TENANT_KEY } from '../../model/commands/keys.ts';

const READ = ['ROLE_TENANT_MANAGEMENT_READ'];
const ADMIN = ['ROLE_TENANT_MANAGEMENT_ADMIN'];
const CREATE = [...ADMIN, 'ROLE_TENANT_MANAGEMENT_CREATE'];
const UPDATE = [...ADMIN, 'ROLE_TENANT_MANAGEMENT_UPDATE'];
const ADMIN_NAME_DEFAULT = 'admin';
/** What is not ready after this time was left by a crash. */
const CREATION_MS = 10 * 60_000;

const tenantUrl = (request: ApiRequest, id: string): string => `${request.baseUrl}/tenant/tenants/${segment(id)}`;

/** @throws PlatformError 404 for a tenant that does not exist or is of somebody else. */
export function tenantOf(request: ApiRequest, id: string): Tenant {
  const tenant = request.platform.tenants.byId(id);
  const { principal } = request;
  if (tenant === undefined || !(isAbove(principal, tenant) || tenant.id === principal.tenant))
    throw new PlatformError('tenants/not-found', { id });
  return tenant;
}

/** @throws PlatformError 404, 403 for the own tenant. */
function subtenantOf(request: ApiRequest, id: string): Tenant {
  const tenant = tenantOf(request, id);
  if (!isAbove(request.principal, tenant)) throw new PlatformError('security/forbidden');
  return tenant;
}

async function tenantText(request: ApiRequest, tenant: Tenant, withApps = true): Promise<string> {
  const {
    id,
    number,
    parentNumber,
    customProperties,
    status = 'ACTIVE',
    allowCreateTenants = false,
    ...others
  } = tenant;
  const document = JSON.stringify({ self: tenantUrl(request, id), id, status, allowCreateTenants, ...others }).slice(
    0,
    -1,
  );
  const applications = withApps
    ? `,"applications":${await subscribedApplicationsText(request, tenant)},"ownedApplications":${await ownedApplicationsText(request, tenant)}`
    : '';
  return `${document},"customProperties":${customProperties ?? '{}'}${applications}}`;
}

async function list(request: ApiRequest): Promise<Answer> {
  const { query, platform } = request;
  const page = pageOf(request);
  const isWanted = (tenant: Tenant): boolean =>
    (['company', 'domain', 'parent'] as const).every((name) => !query.has(name) || tenant[name] === query.text(name));
  const tenants = [...platform.tenants.all]
    .filter((tenant) => isAbove(request.principal, tenant) && isWanted(tenant))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const withApps = !query.isFalse('withApps');
  const items: string[] = [];
  let bytes = 0;
  // One after the other: applications are large.
  for (const tenant of tenants.slice(page.offset, page.offset + page.size)) {
    const item = await tenantText(request, tenant, withApps);
    bytes += item.length;
    requirePageBytes(request, bytes);
    items.push(item);
  }
  return found('tenantCollection', collectionText(request, page, { name: 'tenants', items, total: tenants.length }));
}

async function get(request: ApiRequest): Promise<Answer> {
  return found('tenant', await tenantText(request, tenantOf(request, request.params['id'])));
}

async function readRegistry(
  request: ApiRequest,
): Promise<{ readonly expected: string; readonly registry: TenantRegistry }> {
  const expected = await readRecord(request.platform, SERVER_WIDE, REGISTRY.collection, REGISTRY.id);
  if (expected === undefined) throw new Error('the registry of tenants is not there');
  return { expected, registry: JSON.parse(expected) as TenantRegistry };
}

async function storedTenants(request: ApiRequest): Promise<Tenant[]> {
  return (await listRecords(request.platform, SERVER_WIDE, 'tenant')).map(({ value }) => JSON.parse(value) as Tenant);
}

/** A number that is never given again, and the record by which a crash is cleaned up. */
function reserveNumber(request: ApiRequest): Promise<{ readonly number: number; readonly job: string }> {
  return retried(request.platform, async () => {
    const { expected, registry } = await readRegistry(request);
    const number = registry.nextNumber;
    const job: TenantDeletionJob = { number, notBefore: request.platform.now() + CREATION_MS };
    const next: TenantRegistry = { ...registry, nextNumber: number + 1 };
    await changeRecords(request.platform, SERVER_WIDE, [
      { collection: REGISTRY.collection, id: REGISTRY.id, expected, value: JSON.stringify(next) },
      { collection: 'job', id: deletionKey(number), expected: undefined, value: JSON.stringify(job) },
    ]);
    return { number, job: JSON.stringify(job) };
  });
}

/**
 * The tenant of the request, of which the new one becomes a part. Its deletion changes the registry too: who has read
 * that before stores nothing below a tenant that is gone. @throws PlatformError 403 for one that is gone, another one
 * by now, suspended, or may not create tenants.
 */
async function requireParent(request: ApiRequest): Promise<void> {
  const { tenant: id, tenantNumber } = request.principal;
  const text = await readRecord(request.platform, SERVER_WIDE, 'tenant', id);
  const parent = text === undefined ? undefined : (JSON.parse(text) as Tenant);
  if (!isActive(parent) || parent.number !== tenantNumber || parent.allowCreateTenants !== true)
    throw new PlatformError('security/forbidden');
}

/** Visible from here on; then everything of it is there. */
function register(request: ApiRequest, tenant: Tenant, job: string): Promise<void> {
  return retried(request.platform, async () => {
    const { expected, registry } = await readRegistry(request);
    await requireParent(request);
    await requireStoredRoom(request, tenant);
    const next: TenantRegistry = { ...registry, version: registry.version + 1 };
    await changeRecords(
      request.platform,
      SERVER_WIDE,
      [
        { collection: REGISTRY.collection, id: REGISTRY.id, expected, value: JSON.stringify(next) },
        { collection: 'job', id: deletionKey(tenant.number), expected: job, value: undefined },
        { collection: 'tenant', id: tenant.id, expected: undefined, value: JSON.stringify(tenant) },
      ],
      [audit(request, 'Tenant created', tenant)],
    );
  });
}

/** `t<number>`, or with further digits when somebody chose that one, as an id or a domain. */
function generatedId(request: ApiRequest, number: number): string {
  const { tenants } = request.platform;
  for (let suffix = 0; ; suffix += 1) {
    const id = `t${number}${suffix === 0 ? '' : suffix}`;
    if (tenants.byId(id) === undefined && tenants.byDomain(id) === undefined) return id;
  }
}

function userCommand(request: ApiRequest, tenant: number, body: UserPut): Promise<unknown> {
  const { platform } = request;
  return platform.commands.request({
    kind: COMMAND.USER_PUT,
    tenant,
    key: TENANT_KEY,
    mode: PROCESSING_MODE.PERSISTENT,
    receivedAt: platform.now(),
    body,
  });
}

const emailDocument = (email: string | null | undefined): { readonly doc?: string } =>
  email === undefined ? {} : { doc: JSON.stringify({ email }) };

async function createAccounts(request: ApiRequest, tenant: Tenant, password: string | undefined): Promise<void> {
  await changeRecords(
    request.platform,
    tenant.number,
    predefinedRecords().map((record): RecordChange => ({ ...record, expected: undefined })),
  );
  const hashed =
    password === undefined
      ? {}
      : await newPassword(request.platform, request.principal, tenant.number, {
          userName: tenant.adminName ?? ADMIN_NAME_DEFAULT,
          password,
        });
  await userCommand(request, tenant.number, {
    userName: tenant.adminName ?? ADMIN_NAME_DEFAULT,
    ...hashed,
    ...emailDocument(tenant.adminEmail),
    addGroups: [ADMINS_GROUP],
    enabled: true,
    mustBeNew: true,
  });
}

/** Into the log of the tenant that did it. */
const audit = (request: ApiRequest, activity: string, { id }: Pick<Tenant, 'id'>): AuditEntry => ({
  type: 'Tenant',
  activity,
  text: `${activity}: ${id}`,
  user: request.principal.userName,
  source: id,
  tenant: request.tenant,
});

/** @param reserved ids that a path of another meaning has at the place of the tenant. */
async function post(request: ApiRequest, reserved: ReadonlySet<string>): Promise<Answer> {
  const { principal, platform } = request;
  await requireParent(request);
  const members = request.members();
  const fields = sentFields(members);
  delete fields.status;
  requireAdminFields(members);
  const password = sentPassword(members);
  const sentId = checkedText(members, 'id');
  if (sentId !== undefined && reserved.has(sentId)) {
    const limit = `an id that no path /user/<id> has already (${[...reserved].sort().join(', ')})`;
    throw new PlatformError('validation/invalid-field', { area: 'tenants', name: 'id', value: sentId, limit });
  }
  requireNotOwnHost(request, { id: sentId, domain: fields.domain });
  // Before anything is written; once more when it is.
  requireRoomFor(request, {
    id: sentId ?? '',
    number: 0,
    ...defined(fields),
    parent: principal.tenant,
    parentNumber: principal.tenantNumber,
  });
  const { number, job } = await reserveNumber(request);
  const tenant: Tenant = {
    id: sentId ?? generatedId(request, number),
    number,
    ...defined({ ...fields, adminName: fields.adminName ?? ADMIN_NAME_DEFAULT }),
    ...domainMark(request),
    status: 'ACTIVE',
    parent: principal.tenant,
    parentNumber: principal.tenantNumber,
    creationTime: formatTime(platform.now()),
  };
  await createAccounts(request, tenant, password);
  await register(request, tenant, job);
  if (members.get('sendPasswordResetEmail') === 'true' && tenant.adminEmail !== undefined) {
    await sendPasswordLink(linkParts(request.platform), tenant, tenant.adminName ?? ADMIN_NAME_DEFAULT);
  }
  return created('tenant', await tenantText(request, tenant), tenantUrl(request, tenant.id));
}

/** Who chose the domain of a tenant. */
const domainMark = ({ principal }: ApiRequest): Pick<Tenant, 'isDomainOfTenant'> => ({
  isDomainOfTenant: principal.tenant !== MANAGEMENT_TENANT,
});

/** Fields that are undefined are not there. */
function defined(fields: SentFields): Partial<Tenant> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** @throws PlatformError 422 for another id, and for the suspension of a tenant that the server cannot do without. */
function requireChangeable(request: ApiRequest, tenant: Tenant, members: Members): void {
  const id = members.get('id');
  if (id !== undefined && id !== JSON.stringify(tenant.id)) {
    throw new PlatformError('validation/invalid-field', {
      area: 'tenants',
      name: 'id',
      value: id,
      limit: `no change (it is ${tenant.id})`,
    });
  }
  if (members.get('status') === '"SUSPENDED"') requireDispensable(request, tenant);
}

function requireDispensable(request: ApiRequest, tenant: Tenant): void {
  if (tenant.id === MANAGEMENT_TENANT || tenant.id === request.platform.tenants.default.id)
    throw new PlatformError('tenants/indispensable', { id: tenant.id });
}

async function put(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const current = subtenantOf(request, id);
  const members: Members = new Map(request.members());
  requireChangeable(request, current, members);
  // One that an older server has taken may be sent back.
  if (current.domain !== undefined && members.get('domain') === JSON.stringify(current.domain))
    members.delete('domain');
  const { adminName: _, ...fields } = sentFields(members);
  requireNotOwnHost(request, { domain: fields.domain });
  const wantsLink = members.get('sendPasswordResetEmail') === 'true';
  if (
    current.id === request.principal.tenant &&
    (wantsLink || ADMINISTRATOR_MEMBERS.some((name) => members.has(name)))
  ) {
    await requireRightsOfAdministrator(request, current);
  }
  const administrator = await sentAdministrator(request, current, members, fields);
  if (wantsLink && administrator.email === undefined)
    await requireAddress(request.platform, current.number, adminNameOf(request, current));
  if (wantsLink && administrator.email === null) throw new PlatformError('users/email-missing');
  const tenant = await retried(request.platform, () => storeFields(request, id, fields));
  await changeAdministrator(request, tenant, administrator);
  if (wantsLink) await sendPasswordLink(linkParts(request.platform), tenant, adminNameOf(request, tenant));
  return found('tenant', await tenantText(request, tenant));
}

/** @throws PlatformError 404, 409, `general/changed-meanwhile`. @returns the tenant as it is stored now. */
async function storeFields(request: ApiRequest, id: string, fields: SentFields): Promise<Tenant> {
  const { expected, registry } = await readRegistry(request);
  const stored = await readRecord(request.platform, SERVER_WIDE, 'tenant', id);
  if (stored === undefined) throw new PlatformError('tenants/not-found', { id });
  const before = JSON.parse(stored) as Tenant;
  const isNewDomain = fields.domain !== undefined && fields.domain !== before.domain;
  const after = { ...before, ...fields, ...(isNewDomain ? domainMark(request) : {}) } as Tenant;
  const value = JSON.stringify(after);
  if (value === stored) return before;
  requireRoomBelow(request, after, before);
  const changes: RecordChange[] = [{ collection: 'tenant', id, expected: stored, value }];
  if (after.domain !== before.domain) {
    await requireStoredUnique(request, after);
    const next: TenantRegistry = { ...registry, version: registry.version + 1 };
    changes.push({ collection: REGISTRY.collection, id: REGISTRY.id, expected, value: JSON.stringify(next) });
  }
  const activity = activityOf(before, after);
  await changeRecords(request.platform, SERVER_WIDE, changes, [
    withChanges(audit(request, activity, after), before, after, { isTold: activity === UPDATED }),
  ]);
  return after;
}

const UPDATED = 'Tenant updated';

function activityOf(old: Tenant, tenant: Tenant): string {
  if ((old.status ?? 'ACTIVE') === (tenant.status ?? 'ACTIVE')) return UPDATED;
  return tenant.status === 'SUSPENDED' ? 'Tenant suspended' : 'Tenant activated';
}

/** Of some tenants the configuration decides. */
const adminNameOf = (request: ApiRequest, { id, adminName }: Tenant): string =>
  request.platform.tenants.byId(id)?.adminName ?? adminName ?? ADMIN_NAME_DEFAULT;

/** With them, or a link, somebody could take over the administrator. */
const ADMINISTRATOR_MEMBERS = ['adminPass', 'adminPassword', 'adminEmail'];

/**
 * Of the own tenant, which only the management tenant may change: its role for tenants below makes nobody its
 * administrator. @throws PlatformError 403.
 */
async function requireRightsOfAdministrator(request: ApiRequest, tenant: Tenant): Promise<void> {
  const userName = adminNameOf(request, tenant);
  const text = await readRecord(request.platform, tenant.number, 'user', userName);
  const user =
    text === undefined
      ? { userName, password: '', roles: [], enabled: true, doc: '{}' }
      : (JSON.parse(text) as StoredUser);
  // A new password puts him back there.
  await requireRightsOf(request, { ...user, groups: [...(user.groups ?? []), ADMINS_GROUP] });
}

/** What a body says about the administrator; an address that is null is taken away. */
interface SentAdministrator {
  readonly hashed?: Pick<UserPut, 'password' | 'passwordStrength'>;
  readonly email?: string | null;
}

/** Checked before anything of the tenant is changed. @throws PlatformError 422. */
async function sentAdministrator(
  request: ApiRequest,
  tenant: Tenant,
  members: Members,
  { adminEmail }: SentFields,
): Promise<SentAdministrator> {
  const password = sentPassword(members);
  return {
    ...(password === undefined
      ? {}
      : {
          hashed: await newPassword(request.platform, request.principal, tenant.number, {
            userName: adminNameOf(request, tenant),
            password,
          }),
        }),
    ...(members.has('adminEmail') ? { email: adminEmail ?? null } : {}),
  };
}

/**
 * The password and the address are the administrator's (docs/spec/tenants.md#administrators). One who was deleted is
 * made again; with a new password he can log in and administer, whatever he lost.
 */
async function changeAdministrator(
  request: ApiRequest,
  tenant: Tenant,
  { hashed, email }: SentAdministrator,
): Promise<void> {
  if (hashed === undefined && email === undefined) return;
  const userName = adminNameOf(request, tenant);
  const exists = (await readRecord(request.platform, tenant.number, 'user', userName)) !== undefined;
  if (!exists && hashed === undefined && email === null) return;
  const { principal } = request;
  await userCommand(request, tenant.number, {
    userName,
    ...hashed,
    ...emailDocument(email),
    ...(exists && hashed === undefined ? {} : { addGroups: [ADMINS_GROUP] }),
    ...(hashed === undefined ? {} : { enabled: true }),
    by: `${principal.tenant}/${principal.userName}`,
  });
}

/**
 * All access ends at once, also that of its microservices to other tenants; what the tenant had is removed in the
 * background, which also finishes what a crash leaves here (accounts/tenants/deletion.ts).
 */
async function remove(request: ApiRequest): Promise<Answer> {
  if (request.principal.tenant !== MANAGEMENT_TENANT) throw new PlatformError('security/forbidden');
  const {
    params: { id },
    platform,
  } = request;
  const tenant = subtenantOf(request, id);
  requireDispensable(request, tenant);
  await retried(request.platform, async () => {
    const { expected: registryText, registry } = await readRegistry(request);
    const expected = await readRecord(request.platform, SERVER_WIDE, 'tenant', id);
    if (expected === undefined) throw new PlatformError('tenants/not-found', { id });
    const stored = JSON.parse(expected) as Tenant;
    const child = (await storedTenants(request)).find((other) => isParentOf(stored, other));
    if (child !== undefined) throw new PlatformError('tenants/has-subtenants', { id, child: child.id });
    const { number } = stored;
    const job: TenantDeletionJob = { number, notBefore: platform.now(), by: request.principal.userName };
    const next: TenantRegistry = { ...registry, version: registry.version + 1 };
    await changeRecords(
      request.platform,
      SERVER_WIDE,
      [
        { collection: REGISTRY.collection, id: REGISTRY.id, expected: registryText, value: JSON.stringify(next) },
        { collection: 'tenant', id, expected, value: undefined },
        { collection: 'job', id: deletionKey(number), expected: undefined, value: JSON.stringify(job) },
      ],
      [audit(request, 'Tenant deleted', tenant)],
    );
  });
  try {
    await removeApplicationsOf(request.platform, request.principal, tenant.number);
  } catch (error) {
    // The tenant is gone, and with its number no user of its microservices is let in: what is left goes in the
    // background.
    platform.log.warn(
      { tenantNumber: tenant.number, error: (error as Error).message },
      'the applications of a deleted tenant are removed later',
    );
  }
  return NO_CONTENT;
}

const EXAMPLE = {
  company: 'Example Ltd.',
  domain: 'example',
  adminName: 'ada',
  adminEmail: 'ada@example.com',
  adminPass: 'Analytical-1',
  contactName: 'Ada',
  contactPhone: '+49 123',
  customProperties: { language: 'en' },
};

/** @param reserved ids that no tenant may have. */
export function subtenantRoutes(reserved: () => ReadonlySet<string>): Route[] {
  const area = 'tenants';
  const access = 'roles';
  const one = [{ status: 200, description: 'The tenant', mediaType: 'tenant' }];
  const path = '/tenant/tenants/{id}';
  return [
    {
      method: 'GET',
      path: '/tenant/tenants',
      area,
      access,
      roles: READ,
      summary: 'List the tenants below yours by id',
      query: {
        company: text('Company, whole'),
        domain: text('Domain'),
        parent: text('Id of the parent tenant'),
        withApps: { schema: Type.Boolean({ default: true }), description: 'false leaves the applications out' },
        ...PAGE_PARAMETERS,
      },
      answers: [{ status: 200, description: 'A page of tenants', mediaType: 'tenantCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path: '/tenant/tenants',
      area,
      access,
      roles: CREATE,
      summary: 'Create a tenant with its administrator and groups',
      body: { schema: TenantPost, mediaTypes: ['tenant'], example: EXAMPLE },
      answers: [{ status: 201, description: 'Created', mediaType: 'tenant' }],
      handle: (request) => post(request, reserved()),
    },
    { method: 'GET', path, area, access, roles: READ, summary: 'Read a tenant', answers: one, handle: get },
    {
      method: 'PUT',
      path,
      area,
      access,
      roles: UPDATE,
      summary: 'Change, suspend or activate a tenant',
      body: { schema: TenantPut, mediaTypes: ['tenant'], example: { company: 'Example Inc.', status: 'SUSPENDED' } },
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path,
      area,
      access,
      roles: ADMIN,
      summary: 'Delete a tenant with all its data (management tenant only)',
      answers: [{ status: 204, description: 'Deleted: access has ended, data are removed in the background' }],
      handle: remove,
    },
  ];
}
