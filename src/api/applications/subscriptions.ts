/** Applications that a tenant is subscribed to (docs/spec/tenants.md#subscriptions): routes and texts. */
import Type from 'typebox';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import { PlatformError } from '../../model/errors.ts';
import type { StoredApplication } from '../../model/entities/application.ts';
import { roleNamed } from '../../model/access/roles.ts';
import type { ApiRequest } from '../request/request.ts';
import { applicationsOfIds, findApplication, ownIds, subscribedIds } from '../../accounts/applications/applications.ts';
import { applicationText, applicationUrl } from './text.ts';
import { quote, segment } from '../entities/text.ts';
import { PAGE_PARAMETERS, collectionText, pageOf, requirePageBytes } from '../request/paging.ts';
import { waitingRoles } from '../../accounts/applications/service-users.ts';
import {
  grantRoles,
  notSubscribed,
  rolesToGrant,
  subscribe,
  unsubscribe,
} from '../../accounts/applications/subscriptions.ts';
import { readRecord } from '../../records/records.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { requireRoles } from '../users/text.ts';
import { lastSegment } from '../../model/documents/text-end.ts';
import { isOffered } from './visible.ts';

const applicationsUrl = (request: ApiRequest, tenant: Tenant): string =>
  `${request.baseUrl}/tenant/tenants/${segment(tenant.id)}/applications`;

/** @param self of the reference, by default that of a subscription of the tenant. */
function referenceText(
  request: ApiRequest,
  tenant: Tenant,
  application: StoredApplication,
  self = `${applicationsUrl(request, tenant)}/${segment(application.id)}`,
  waiting: readonly string[] = [],
): string {
  const waitingRoles = waiting.length === 0 ? '' : `,"waitingRoles":${JSON.stringify(waiting)}`;
  return `{"self":${quote(self)},"application":${applicationText(request, application)}${waitingRoles}}`;
}

/** By id. Those that were deleted since are left out. */
const applicationsOf = async (request: ApiRequest, tenant: Tenant): Promise<AsyncIterable<StoredApplication>> =>
  applicationsOfIds(request.platform, await subscribedIds(request.platform, tenant.number));

/** Names of subscribed applications, for the statistics. */
export async function subscribedNames(request: ApiRequest, tenant: Tenant): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await applicationsOf(request, tenant)) names.push(name);
  return names.sort();
}

/** `{"self":…,"references":[…]}` @throws PlatformError `general/page-too-large`. */
export async function subscribedApplicationsText(request: ApiRequest, tenant: Tenant): Promise<string> {
  const references = await referencesText(request, await applicationsOf(request, tenant), (application) =>
    referenceText(request, tenant, application),
  );
  return `{"self":${quote(applicationsUrl(request, tenant))},"references":[${references}]}`;
}

/**
 * Those that it offers to others; it need not be subscribed to them itself. @throws PlatformError
 * `general/page-too-large`.
 */
export async function ownedApplicationsText(request: ApiRequest, tenant: Tenant): Promise<string> {
  const owned = applicationsOfIds(request.platform, await ownIds(request.platform, tenant.number));
  const self = `${request.baseUrl}/application/applicationsByOwner/${segment(tenant.id)}`;
  const references = await referencesText(request, owned, (application) =>
    application.availability === 'MARKET'
      ? referenceText(request, tenant, application, applicationUrl(request, application.id))
      : undefined,
  );
  return `{"self":${quote(self)},"references":[${references}]}`;
}

/** @param textOf an application; undefined leaves it out. */
async function referencesText(
  request: ApiRequest,
  applications: AsyncIterable<StoredApplication>,
  textOf: (application: StoredApplication) => string | undefined,
): Promise<string> {
  const references: string[] = [];
  let bytes = 0;
  for await (const application of applications) {
    const text = textOf(application);
    if (text === undefined) continue;
    bytes += text.length;
    requirePageBytes(request, bytes);
    references.push(text);
  }
  return references.join(',');
}

/**
 * What the caller knows of by an offer, and what its tenant or the subscribed one owns. What is PRIVATE its owner
 * gives, or the management tenant.
 */
function isOfferedTo(request: ApiRequest, tenant: Tenant, application: StoredApplication): boolean {
  return isOffered(request, application) || [request.tenant, tenant.number].includes(application.ownerNumber);
}

function sentId(request: ApiRequest): string {
  const { application } = JSON.parse(request.bodyText()) as { application: { id?: string | number; self?: string } };
  const id = application.id ?? (application.self === undefined ? undefined : lastSegment(application.self));
  if (id === undefined || id === '')
    throw new PlatformError('validation/mandatory-fields', { names: 'application.id' });
  return String(id);
}

/** @param tenantOf refuses tenants that the request may not see. */
export function subscriptionRoutes(tenantOf: (request: ApiRequest, id: string) => Tenant): Route[] {
  const subscribedText = async (request: ApiRequest, tenant: Tenant, application: StoredApplication): Promise<string> =>
    referenceText(request, tenant, application, undefined, await waitingRoles(request.platform, tenant, application));

  async function list(request: ApiRequest): Promise<Answer> {
    const tenant = tenantOf(request, request.params['id']);
    const page = pageOf(request);
    const items: string[] = [];
    let [total, bytes] = [0, 0];
    for await (const application of await applicationsOf(request, tenant)) {
      total += 1;
      if (total <= page.offset || items.length >= page.size) continue;
      const item = await subscribedText(request, tenant, application);
      bytes += item.length;
      requirePageBytes(request, bytes);
      items.push(item);
    }
    return found('applicationReferenceCollection', collectionText(request, page, { name: 'references', items, total }));
  }

  async function get(request: ApiRequest): Promise<Answer> {
    const tenant = tenantOf(request, request.params['id']);
    const id = request.params['applicationId'];
    const application = (await findApplication(request.platform, id))?.application;
    if (
      application === undefined ||
      (await readRecord(request.platform, tenant.number, 'subscription', id)) === undefined
    ) {
      throw notSubscribed(tenant, id);
    }
    return found('applicationReference', await subscribedText(request, tenant, application));
  }

  /** The tenant agrees to required roles; those that are left out end. You can grant only roles that you hold. */
  async function put(request: ApiRequest): Promise<Answer> {
    const tenant = tenantOf(request, request.params['id']);
    const id = request.params['applicationId'];
    const application = (await findApplication(request.platform, id))?.application;
    if (application === undefined) throw notSubscribed(tenant, id);
    const body = JSON.parse(request.bodyText()) as { grantedRoles: string[] };
    const grantedRoles = body.grantedRoles.map(roleNamed);
    requireRoles(request, await rolesToGrant(request.platform, tenant, application, grantedRoles));
    await grantRoles(request.platform, request.principal, tenant, application, grantedRoles);
    return found('applicationReference', await subscribedText(request, tenant, application));
  }

  async function post(request: ApiRequest): Promise<Answer> {
    const tenant = tenantOf(request, request.params['id']);
    const id = sentId(request);
    const application = (await findApplication(request.platform, id))?.application;
    if (application === undefined || !isOfferedTo(request, tenant, application))
      throw new PlatformError('applications/not-found', { id });
    await subscribe(request.platform, request.principal, tenant, application);
    return created(
      'applicationReference',
      referenceText(request, tenant, application),
      `${applicationsUrl(request, tenant)}/${segment(id)}`,
    );
  }

  async function remove(request: ApiRequest): Promise<Answer> {
    const tenant = tenantOf(request, request.params['id']);
    await unsubscribe(request.platform, request.principal, tenant, request.params['applicationId']);
    return NO_CONTENT;
  }

  const area = 'tenants';
  const access = 'roles';
  const path = '/tenant/tenants/{id}/applications';
  const read = ['ROLE_TENANT_MANAGEMENT_READ', 'ROLE_TENANT_ADMIN'];
  const manage = ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_MANAGEMENT_UPDATE'];
  return [
    {
      method: 'GET',
      path,
      area,
      access,
      roles: read,
      summary: 'Applications that a tenant is subscribed to',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of references', mediaType: 'applicationReferenceCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path,
      area,
      access,
      roles: manage,
      summary: 'Subscribe a tenant to an application',
      body: { schema: SubscribeBody, mediaTypes: ['applicationReference'], example: { application: { id: '1001' } } },
      answers: [{ status: 201, description: 'Subscribed', mediaType: 'applicationReference' }],
      handle: post,
    },
    {
      method: 'GET',
      path: `${path}/{applicationId}`,
      area,
      access,
      roles: read,
      summary: 'Read a subscription of a tenant',
      answers: [{ status: 200, description: 'The reference', mediaType: 'applicationReference' }],
      handle: get,
    },
    {
      method: 'PUT',
      path: `${path}/{applicationId}`,
      area,
      access,
      roles: [...manage, 'ROLE_APPLICATION_MANAGEMENT_ADMIN', 'ROLE_TENANT_ADMIN'],
      summary: 'Agree to roles that a subscribed microservice requires',
      body: {
        schema: GrantBody,
        mediaTypes: ['applicationReference'],
        example: { grantedRoles: ['ROLE_INVENTORY_READ'] },
      },
      answers: [{ status: 200, description: 'The reference', mediaType: 'applicationReference' }],
      handle: put,
    },
    {
      method: 'DELETE',
      path: `${path}/{applicationId}`,
      area,
      access,
      roles: ['ROLE_TENANT_MANAGEMENT_ADMIN'],
      summary: 'End a subscription',
      answers: [{ status: 204, description: 'Ended' }],
      handle: remove,
    },
  ];
}

const OPEN = { additionalProperties: true } as const;
const GrantBody = Type.Object({ grantedRoles: Type.Array(Type.String(), { maxItems: 1_000 }) }, OPEN);
const SubscribeBody = Type.Object(
  {
    application: Type.Object(
      { id: Type.Optional(Type.Union([Type.String(), Type.Integer()])), self: Type.Optional(Type.String()) },
      OPEN,
    ),
  },
  OPEN,
);
