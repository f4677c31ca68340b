/** The current tenant and its settings of two-factor authentication (docs/spec/tenants.md#current-tenant). */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { quote } from '../entities/text.ts';
import { storeOption } from '../options/options.ts';
import { flag } from '../request/schema/query-parameters.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { subscribedApplicationsText } from '../applications/subscriptions.ts';
import { tenantOf } from './subtenants.ts';
import { systemOptionRoutes } from '../options/system-options.ts';
import { tenantOption } from '../../accounts/options/values.ts';

/** The host in a URL, without its port. */
const hostOf = (url: string): string => /^\w+:\/\/(\[[^\]]+\]|[^:/]+)/.exec(url)?.[1] ?? '';

async function currentTenant(request: ApiRequest): Promise<Answer> {
  const tenant = request.platform.tenants.byId(request.principal.tenant);
  if (tenant === undefined) throw new PlatformError('tenants/not-found', { id: request.principal.tenant });
  const parent =
    request.query.isTrue('withParent') && tenant.parent !== undefined ? `,"parent":${quote(tenant.parent)}` : '';
  const self = quote(`${request.baseUrl}/tenant/currentTenant`);
  const applications = await subscribedApplicationsText(request, tenant);
  const head = `{"self":${self},"name":${quote(tenant.id)},"domainName":${quote(tenant.domain ?? hostOf(request.baseUrl))}`;
  const properties = `"allowCreateTenants":${tenant.allowCreateTenants === true},"customProperties":${tenant.customProperties ?? '{}'}`;
  return found('currentTenant', `${head},${properties}${parent},"applications":${applications}}`);
}

const TFA_CATEGORY = 'two-factor-authentication';
/** What there is: no codes are sent by SMS (docs/internals/users.md). */
const TFA_STRATEGY = 'TOTP';

/** Settings of two-factor authentication: options of the tenant (docs/spec/tenants.md#endpoints). */
async function getTfa(request: ApiRequest): Promise<Answer> {
  const { number } = tenantOf(request, request.params['id']);
  const option = (key: string): Promise<string | undefined> =>
    tenantOption(request.platform, number, TFA_CATEGORY, key);
  const [enabled, enforced, enforcedGroup] = await Promise.all(['enabled', 'enforced', 'enforced.group'].map(option));
  return found(
    'tfaSettings',
    JSON.stringify({
      enabledOnSystemLevel: true,
      enforcedOnSystemLevel: false,
      enabledOnTenantLevel: enabled === 'true',
      totpEnforcedOnTenantLevel: enforced === 'true',
      enforcedUsersGroup: enforcedGroup ?? '',
      strategy: TFA_STRATEGY,
    }),
  );
}

/** @throws PlatformError 403 when the option is not editable: the mark has to be taken away first. */
async function putTfa(request: ApiRequest): Promise<Answer> {
  const { number } = tenantOf(request, request.params['id']);
  const { strategy } = JSON.parse(request.bodyText()) as { strategy: string };
  await storeOption(request, { category: TFA_CATEGORY, key: 'strategy', value: strategy }, number);
  return getTfa(request);
}

export function tenantRoutes(): Route[] {
  const area = 'tenant';
  return [
    {
      method: 'GET',
      path: '/tenant/currentTenant',
      area,
      access: 'user',
      isForServiceBootstrap: true,
      summary: 'The tenant of the request',
      query: { withParent: flag('Adds the parent tenant') },
      answers: [{ status: 200, description: 'The tenant', mediaType: 'currentTenant' }],
      handle: currentTenant,
    },
    {
      method: 'GET',
      path: '/tenant/tenants/{id}/tfa',
      area,
      access: 'roles',
      roles: ['ROLE_TENANT_MANAGEMENT_READ', 'ROLE_TENANT_ADMIN'],
      summary: 'Settings of two-factor authentication',
      answers: [{ status: 200, description: 'The settings', mediaType: 'tfaSettings' }],
      handle: getTfa,
    },
    {
      method: 'PUT',
      path: '/tenant/tenants/{id}/tfa',
      area,
      access: 'roles',
      roles: ['ROLE_TENANT_MANAGEMENT_ADMIN', 'ROLE_TENANT_ADMIN'],
      summary: 'Choose the strategy of two-factor authentication',
      body: {
        schema: Type.Object({ strategy: Type.Enum([TFA_STRATEGY]) }, { additionalProperties: true }),
        mediaTypes: ['tfaSettings'],
        example: { strategy: TFA_STRATEGY },
      },
      answers: [{ status: 200, description: 'The settings', mediaType: 'tfaSettings' }],
      handle: putTfa,
    },
    ...systemOptionRoutes(),
  ];
}
