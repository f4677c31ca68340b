/** Tenants below a tenant (docs/spec/tenants.md): made, read, changed, suspended and deleted by those above them. */
import Type from 'typebox';
import { removeApplicationsOf } from '../../accounts/applications/service-users.ts';
import { requireNotOwnHost } from '../../accounts/tenants/bounds.ts';
import {
  administratorOf,
  changeTenant,
  createTenant,
  deleteTenant,
  requireDispensable,
  requireParent,
} from '../../accounts/tenants/subtenants.ts';
import type { SubtenantParts } from '../../accounts/tenants/subtenants.ts';
import { MANAGEMENT_TENANT, isAbove } from '../../accounts/tenants/tenants.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Members } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { segment } from '../entities/text.ts';
import { requireRightsOf } from '../users/inventory-rights.ts';
import { PAGE_PARAMETERS, collectionText, pageOf, requirePageBytes } from '../request/paging.ts';
import { text } from '../request/schema/query-parameters.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { ownedApplicationsText, subscribedApplicationsText } from '../applications/subscriptions.ts';
import { TenantPost, TenantPut, checkedText, requireAddressForLink, sentFields, sentPassword } from './fields.ts';
import { linkParts } from '../users/passwords.ts';

const READ = ['ROLE_TENANT_MANAGEMENT_READ'];
const ADMIN = ['ROLE_TENANT_MANAGEMENT_ADMIN'];
const CREATE = [...ADMIN, 'ROLE_TENANT_MANAGEMENT_CREATE'];
const UPDATE = [...ADMIN, 'ROLE_TENANT_MANAGEMENT_UPDATE'];
/** With them, or a link, a caller could take over the administrator. */
const ADMINISTRATOR_MEMBERS = ['adminPass', 'adminPassword', 'adminEmail'];

const tenantUrl = (request: ApiRequest, id: string): string => `${request.baseUrl}/tenant/tenants/${segment(id)}`;

/** @throws PlatformError 404 for a tenant that does not exist or belongs to another one. */
export function tenantOf(request: ApiRequest, id: string): Tenant {
  const tenant = request.platform.tenants.byId(id);
  const { principal } = request;
  if (tenant === undefined || !(isAbove(principal, tenant) || tenant.id === principal.tenant))
    throw new PlatformError('tenants/not-found', { id });
  return tenant;
}

/** @throws PlatformError 404, 403 for the caller's tenant. */
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
    isDomainOfTenant,
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

/** What the steps behind the routes work with. */
function partsOf(request: ApiRequest): SubtenantParts {
  const { platform, principal } = request;
  return {
    ...linkParts(platform),
    tenants: platform.tenants,
    hashes: platform.hashes,
    baseUrl: platform.config.baseUrl,
    refused: (limit) => request.refused(limit),
    removeApplications: (tenant) => removeApplicationsOf(platform, principal, tenant),
  };
}

/** @param reserved ids that a path of another meaning has at the place of the tenant. */
async function post(request: ApiRequest, reserved: ReadonlySet<string>): Promise<Answer> {
  const { principal, platform } = request;
  await requireParent(platform, principal);
  const members = request.members();
  const fields = sentFields(members);
  delete fields.status;
  requireAddressForLink(members);
  const password = sentPassword(members);
  const id = checkedText(members, 'id');
  if (id !== undefined && reserved.has(id)) {
    const limit = `an id that no path /user/<id> has already (${[...reserved].sort().join(', ')})`;
    throw new PlatformError('validation/invalid-field', { area: 'tenants', name: 'id', value: id, limit });
  }
  const sendsLink = members.get('sendPasswordResetEmail') === 'true';
  const tenant = await createTenant(partsOf(request), principal, { id, fields, password, sendsLink });
  return created('tenant', await tenantText(request, tenant), tenantUrl(request, tenant.id));
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
  if (members.get('status') === '"SUSPENDED"') requireDispensable(request.platform, tenant);
}

async function put(request: ApiRequest): Promise<Answer> {
  const { principal, platform } = request;
  const parts = partsOf(request);
  const current = subtenantOf(request, request.params['id']);
  const members: Members = new Map(request.members());
  requireChangeable(request, current, members);
  // One that an older server has taken may be sent back.
  if (current.domain !== undefined && members.get('domain') === JSON.stringify(current.domain))
    members.delete('domain');
  const { adminName: _, ...fields } = sentFields(members);
  requireNotOwnHost(parts, principal, { domain: fields.domain });
  const sendsLink = members.get('sendPasswordResetEmail') === 'true';
  // Only the management tenant changes itself. Its role for tenants below gives no rights of its administrator.
  if (current.id === principal.tenant && (sendsLink || ADMINISTRATOR_MEMBERS.some((name) => members.has(name))))
    await requireRightsOf(request, await administratorOf(platform, current));
  const password = sentPassword(members);
  const email = members.has('adminEmail') ? (fields.adminEmail ?? null) : undefined;
  const tenant = await changeTenant(parts, principal, current, { fields, password, email, sendsLink });
  return found('tenant', await tenantText(request, tenant));
}

/** Access ends at once; what the tenant had is removed in the background. */
async function remove(request: ApiRequest): Promise<Answer> {
  if (request.principal.tenant !== MANAGEMENT_TENANT) throw new PlatformError('security/forbidden');
  await deleteTenant(partsOf(request), request.principal, subtenantOf(request, request.params['id']));
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
