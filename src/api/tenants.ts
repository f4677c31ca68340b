/** The current tenant, login options and system options (document 1 Current tenant; document 4 sections 3.7, 6.2 and 6.3). */
import { PlatformError } from '../model/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { quote, segment } from './entity-text.ts';
import type { TenantInfo } from './platform.ts';
import { flag, text } from './query-parameters.ts';
import { found } from './reply.ts';
import type { Answer, Route } from './route.ts';

/** Release of the API family that clients find: they switch features by it. */
const API_VERSION = '1017.0.0';

/** Category -> key -> value; read only. */
const SYSTEM_OPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  system: { version: API_VERSION },
  files: { 'max.size': String(50 * 1024 * 1024) },
  password: { 'limit.validity': '0', 'enforce.strength': 'false' },
  'two-factor-authentication': { enabled: 'false', enforced: 'false' },
  'device-control': { 'bulkoperation.creationramp': '1' },
  encoding: { test: 'ä' },
};

function currentTenant(request: ApiRequest): Answer {
  const tenant = request.platform.tenants.byId(request.principal.tenant);
  if (tenant === undefined) throw new PlatformError('tenants/not-found', { id: request.principal.tenant });
  const parent = request.query.isTrue('withParent') && tenant.parent !== undefined ? `,"parent":${quote(tenant.parent)}` : '';
  const self = quote(`${request.baseUrl}/tenant/currentTenant`);
  const references = quote(`${request.baseUrl}/tenant/tenants/${segment(tenant.id)}/applications`);
  return found(
    'currentTenant',
    `{"self":${self},"name":${quote(tenant.id)},"domainName":${quote(tenant.domain ?? '')},"allowCreateTenants":${
      tenant.allowCreateTenants === true
    },"customProperties":${tenant.customProperties ?? '{}'}${parent},"applications":{"self":${references},"references":[]}}`,
  );
}

/** What a login page may offer; tokens come with later work, so only Basic is there. */
function loginOptions(request: ApiRequest): Answer {
  const { tenants } = request.platform;
  const asked = request.query.text('tenantId');
  const tenant: TenantInfo = (asked === undefined ? undefined : tenants.byId(asked)) ?? tenants.default;
  const self = `${request.baseUrl}/tenant/loginOptions`;
  const basic = {
    id: 'BASIC',
    self: `${self}/BASIC`,
    type: 'BASIC',
    _type: 'BASIC',
    visibleOnLoginPage: true,
    userManagementSource: 'INTERNAL',
    initRequest: `${request.baseUrl}/tenant/oauth?tenant_id=${segment(tenant.id)}`,
    authenticationRestrictions: { forbiddenClients: [], forbiddenUserAgents: [], trustedUserAgents: [] },
  };
  return found('loginOptionCollection', JSON.stringify({ loginOptions: [basic], self }));
}

function optionOf(request: ApiRequest, category: string, key: string): object {
  const self = `${request.baseUrl}/tenant/system/options/${segment(category)}/${segment(key)}`;
  return { self, category, key, value: SYSTEM_OPTIONS[category][key] };
}

function systemOptions(request: ApiRequest): Answer {
  const options = Object.entries(SYSTEM_OPTIONS).flatMap(([category, keys]) =>
    Object.keys(keys).map((key) => optionOf(request, category, key)),
  );
  return found('optionCollection', JSON.stringify({ self: `${request.baseUrl}/tenant/system/options`, options }));
}

function systemOption(request: ApiRequest): Answer {
  const { category, key } = request.params;
  const isKnown = Object.hasOwn(SYSTEM_OPTIONS, category) && Object.hasOwn(SYSTEM_OPTIONS[category], key);
  if (!isKnown) throw new PlatformError('system-option/not-found', { category, key });
  return found('option', JSON.stringify(optionOf(request, category, key)));
}

export function tenantRoutes(): Route[] {
  const area = 'tenant';
  return [
    {
      method: 'GET',
      path: '/tenant/currentTenant',
      area,
      access: 'user',
      summary: 'The tenant of the request',
      query: { withParent: flag('Adds the parent tenant') },
      answers: [{ status: 200, description: 'The tenant', mediaType: 'currentTenant' }],
      handle: currentTenant,
    },
    {
      method: 'GET',
      path: '/tenant/loginOptions',
      area,
      access: 'public',
      summary: 'Ways to log in',
      query: { tenantId: text('Tenant id; the default tenant without it'), management: flag('For the management tenant') },
      answers: [{ status: 200, description: 'The login options', mediaType: 'loginOptionCollection' }],
      handle: loginOptions,
    },
    {
      method: 'GET',
      path: '/tenant/system/options',
      area,
      access: 'user',
      summary: 'System options',
      answers: [{ status: 200, description: 'The options', mediaType: 'optionCollection' }],
      handle: systemOptions,
    },
    {
      method: 'GET',
      path: '/tenant/system/options/{category}/{key}',
      area,
      access: 'user',
      summary: 'One system option',
      answers: [{ status: 200, description: 'The option', mediaType: 'option' }],
      handle: systemOption,
    },
  ];
}
