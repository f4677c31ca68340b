/**
 * Ways to log in (docs/spec/login.md#options). Both are always there; what a tenant sets of them is a record of its
 * own, and DELETE takes that back. Single sign-on (type OAUTH2) is not offered.
 */
import Type from 'typebox';
import { LOGIN_TYPES, WEB_BROWSERS, changeLoginOption, readLoginOption } from '../../accounts/login/options.ts';
import type { AuthenticationRestrictions, LoginType, StoredLoginOption } from '../../accounts/login/options.ts';
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import { TOKEN_SECONDS, TOKEN_SECONDS_MIN } from '../../accounts/login/tokens.ts';
import type { AuditEntry } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import type { ApiRequest } from '../request/request.ts';
import { segment } from '../entities/text.ts';
import { tenantCalled } from '../request/login-host.ts';
import type { TenantInfo } from '../request/platform.ts';
import { flag, text } from '../request/schema/query-parameters.ts';
import { NO_CONTENT, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { greenLengthMin, numberOption, tenantOption } from '../../accounts/options/values.ts';

const LIFESPAN = ['oauth.internal', 'basic-token.lifespan.seconds'] as const;
const ADMIN = ['ROLE_TENANT_ADMIN', 'ROLE_TENANT_MANAGEMENT_ADMIN'];
const NAME_LENGTH_MAX = 256;
/** User agents of one list. */
const AGENTS_MAX = 100;
const AREA = 'LoginOptions';
/** The members that mean something; those that a GET adds are taken and left alone. */
const SESSION_LIMIT =
  `absoluteTimeoutMillis from ${TOKEN_SECONDS_MIN * 1_000} to ${TOKEN_SECONDS * 1_000} and userAgentValidationRequired false: ` +
  'sessions are neither counted nor renewed';

const stored = async (request: ApiRequest, tenant: number, type: LoginType): Promise<StoredLoginOption> =>
  (await readLoginOption(request.platform, tenant, type)) ?? {};

/** How long a token of a login is good: by the login option, else the tenant's option. */
export async function lifetimeSeconds(request: ApiRequest, tenant: TenantInfo): Promise<number> {
  const { absoluteTimeoutMillis } = await stored(request, tenant.number, 'OAUTH2_INTERNAL');
  if (absoluteTimeoutMillis !== undefined) return Math.floor(absoluteTimeoutMillis / 1_000);
  return numberOption(request.platform, tenant.number, LIFESPAN, {
    minimum: TOKEN_SECONDS_MIN,
    maximum: TOKEN_SECONDS,
    otherwise: TOKEN_SECONDS,
  });
}

const NOTHING_FORBIDDEN: AuthenticationRestrictions = {
  forbiddenClients: [],
  forbiddenUserAgents: [],
  trustedUserAgents: [],
};

async function optionOf(request: ApiRequest, tenant: TenantInfo, type: LoginType): Promise<object> {
  const record = await stored(request, tenant.number, type);
  const {
    visibleOnLoginPage = true,
    providerName,
    buttonName,
    onlyManagementTenantAccess,
    authenticationRestrictions,
  } = record;
  const self = `${request.baseUrl}/tenant/loginOptions/${type}`;
  const set = {
    ...(providerName === undefined ? {} : { providerName }),
    ...(buttonName === undefined ? {} : { buttonName }),
    ...(onlyManagementTenantAccess === true ? { onlyManagementTenantAccess } : {}),
  };
  const initRequest = `${request.baseUrl}/tenant/oauth?tenant_id=${segment(tenant.id)}`;
  const kind = { type, _type: type === 'BASIC' ? 'BASIC' : 'INTERNAL', userManagementSource: 'INTERNAL' };
  const common = { id: type, self, ...kind, initRequest, visibleOnLoginPage, ...set };
  if (type === 'BASIC')
    return { ...common, authenticationRestrictions: authenticationRestrictions ?? NOTHING_FORBIDDEN };
  return {
    ...common,
    grantType: 'PASSWORD',
    loginRedirectDomain: tenant.domain ?? '',
    tfaStrategy: 'TOTP',
    tfaSupported: true,
    enforceStrength: (await tenantOption(request.platform, tenant.number, 'password', 'enforce.strength')) === 'true',
    greenMinLength: await greenLengthMin(request.platform, tenant.number),
    strengthValidity: (await tenantOption(request.platform, tenant.number, 'password', 'strength.validity')) === 'true',
    sessionConfiguration: {
      absoluteTimeoutMillis: (await lifetimeSeconds(request, tenant)) * 1_000,
      userAgentValidationRequired: false,
    },
  };
}

/**
 * The tenant whose options are asked for: of the query, the host, or the default one. @throws PlatformError 404 for one
 * that does not exist.
 */
function tenantAsked(request: ApiRequest): TenantInfo {
  const { query, platform } = request;
  const id = query.isTrue('management') ? MANAGEMENT_TENANT : query.text('tenantId');
  if (id === undefined) return tenantCalled(request) ?? platform.tenants.default;
  const tenant = platform.tenants.byId(id);
  if (tenant === undefined) throw new PlatformError('tenants/not-found', { id });
  return tenant;
}

async function list(request: ApiRequest): Promise<Answer> {
  const tenant = tenantAsked(request);
  const loginOptions = await Promise.all(LOGIN_TYPES.map((type) => optionOf(request, tenant, type)));
  return found(
    'loginOptionCollection',
    JSON.stringify({ loginOptions, self: `${request.baseUrl}/tenant/loginOptions` }),
  );
}

/** In any letter case. @throws PlatformError 404. */
function typeAsked(request: ApiRequest): LoginType {
  const { id } = request.params;
  const type = LOGIN_TYPES.find((one) => one === id.toUpperCase());
  if (type === undefined) throw new PlatformError('login/option-not-found', { id });
  return type;
}

async function get(request: ApiRequest): Promise<Answer> {
  const type = typeAsked(request);
  const { query, platform, tenant } = request;
  const isOther = query.has('tenantId') || query.has('management');
  const own = platform.tenants.byNumber(tenant) as TenantInfo;
  return found('authConfig', JSON.stringify(await optionOf(request, isOther ? tenantAsked(request) : own, type)));
}

interface Sent {
  readonly type?: string;
  readonly userManagementSource?: string | null;
  readonly visibleOnLoginPage?: boolean | null;
  readonly providerName?: string | null;
  readonly buttonName?: string | null;
  readonly authenticationRestrictions?: Partial<AuthenticationRestrictions> | null;
  readonly sessionConfiguration?: {
    readonly absoluteTimeoutMillis?: number | null;
    readonly userAgentValidationRequired?: boolean | null;
    readonly maximumNumberOfParallelSessions?: unknown;
    readonly renewalTimeoutMillis?: unknown;
  } | null;
}

const invalid = (name: string, value: string, limit: string): PlatformError =>
  new PlatformError('validation/invalid-field', { area: AREA, name, value, limit });

/** @throws PlatformError 422 for what is not offered. */
function checked(type: LoginType, sent: Sent): StoredLoginOption {
  if (sent.type !== undefined && sent.type.toUpperCase() !== type)
    throw invalid('type', sent.type, `no change (it is ${type})`);
  if ((sent.userManagementSource ?? 'INTERNAL') !== 'INTERNAL')
    throw invalid('userManagementSource', String(sent.userManagementSource), 'INTERNAL');
  const session = sent.sessionConfiguration ?? {};
  const { absoluteTimeoutMillis: absolute } = session;
  const isOffered =
    session.userAgentValidationRequired !== true &&
    (session.maximumNumberOfParallelSessions ?? null) === null &&
    (session.renewalTimeoutMillis ?? null) === null &&
    (absolute == null || (absolute >= TOKEN_SECONDS_MIN * 1_000 && absolute <= TOKEN_SECONDS * 1_000));
  if (type === 'OAUTH2_INTERNAL' && !isOffered)
    throw invalid('sessionConfiguration', JSON.stringify(session).slice(0, NAME_LENGTH_MAX), SESSION_LIMIT);
  const { visibleOnLoginPage, authenticationRestrictions: restrictions } = sent;
  return {
    ...(visibleOnLoginPage == null ? {} : { visibleOnLoginPage }),
    ...(sent.providerName == null ? {} : { providerName: sent.providerName }),
    ...(sent.buttonName == null ? {} : { buttonName: sent.buttonName }),
    ...(type === 'BASIC' && restrictions != null
      ? { authenticationRestrictions: { ...NOTHING_FORBIDDEN, ...restrictions } }
      : {}),
    ...(type === 'OAUTH2_INTERNAL' && absolute != null ? { absoluteTimeoutMillis: absolute } : {}),
  };
}

/** What `null` takes back: the default holds again (docs/spec/conventions.md#changes). */
function takenBack(type: LoginType, { sessionConfiguration: session, ...sent }: Sent): ReadonlySet<string> {
  const names = (['visibleOnLoginPage', 'providerName', 'buttonName'] as const).filter(
    (name) => sent[name] === null,
  ) as string[];
  if (type === 'BASIC' && sent.authenticationRestrictions === null) names.push('authenticationRestrictions');
  if (type === 'OAUTH2_INTERNAL' && (session === null || session?.absoluteTimeoutMillis === null))
    names.push('absoluteTimeoutMillis');
  return new Set(names);
}

function auditOf(request: ApiRequest, activity: string, type: LoginType): AuditEntry {
  return {
    type: 'TenantAuthConfig',
    activity,
    text: `${activity}: ${type}`,
    user: request.principal.userName,
    source: type,
  };
}

/** @throws PlatformError 403 for what the management tenant keeps to itself. */
function requireChangeable(request: ApiRequest, type: LoginType, old: StoredLoginOption | undefined): void {
  if (old?.onlyManagementTenantAccess !== true || request.principal.tenant === MANAGEMENT_TENANT) return;
  throw new PlatformError('login/option-restricted', { id: type });
}

/** @param decide throws to refuse. */
function change(
  request: ApiRequest,
  tenant: number,
  type: LoginType,
  activity: string,
  decide: (old: StoredLoginOption | undefined) => StoredLoginOption | undefined,
): Promise<void> {
  return changeLoginOption(request.platform, tenant, type, decide, auditOf(request, activity, type));
}

async function answerChanged(request: ApiRequest, type: LoginType): Promise<Answer> {
  const { platform, tenant } = request;
  if (request.query.isTrue('terminateUserSessions')) await platform.accounts.tokens.revokeAll(tenant, request.askedBy);
  return found(
    'authConfig',
    JSON.stringify(await optionOf(request, platform.tenants.byNumber(tenant) as TenantInfo, type)),
  );
}

/** @throws PlatformError 409 when the tenant has set it already, 422 for a way that is not offered. */
async function post(request: ApiRequest): Promise<Answer> {
  const sent = JSON.parse(request.bodyText()) as Sent & { type: string };
  const type = LOGIN_TYPES.find((one) => one === sent.type.toUpperCase());
  if (type === undefined) throw invalid('type', sent.type, LOGIN_TYPES.join(' or '));
  await change(request, request.tenant, type, 'Login option created', (old) => {
    if (old !== undefined) throw new PlatformError('login/option-duplicate', { id: type });
    return checked(type, sent);
  });
  return answerChanged(request, type);
}

async function put(request: ApiRequest): Promise<Answer> {
  const type = typeAsked(request);
  const sent = JSON.parse(request.bodyText()) as Sent;
  await change(request, request.tenant, type, 'Login option updated', (old) => {
    requireChangeable(request, type, old);
    const isTakenBack = takenBack(type, sent);
    return Object.fromEntries(
      Object.entries({ ...old, ...checked(type, sent) }).filter(([name]) => !isTakenBack.has(name)),
    );
  });
  return answerChanged(request, type);
}

async function remove(request: ApiRequest): Promise<Answer> {
  const type = typeAsked(request);
  await change(request, request.tenant, type, 'Login option deleted', (old) => {
    requireChangeable(request, type, old);
    return undefined;
  });
  return NO_CONTENT;
}

/** Of one tenant, by the management tenant. @throws PlatformError 403, 404. */
async function restrict(request: ApiRequest): Promise<Answer> {
  if (request.principal.tenant !== MANAGEMENT_TENANT) throw new PlatformError('security/forbidden');
  const type = typeAsked(request);
  const target = request.query.text('targetTenant') as string;
  const tenant = request.platform.tenants.byId(target);
  if (tenant === undefined) throw new PlatformError('tenants/not-found', { id: target });
  const { onlyManagementTenantAccess } = JSON.parse(request.bodyText()) as { onlyManagementTenantAccess: boolean };
  await change(request, tenant.number, type, 'Login option restricted', (old) => ({
    ...old,
    onlyManagementTenantAccess,
  }));
  return found('authConfig', JSON.stringify(await optionOf(request, tenant, type)));
}

const OPEN = { additionalProperties: true } as const;
const Name = Type.Optional(Type.Union([Type.String({ maxLength: NAME_LENGTH_MAX }), Type.Null()]));
const Agents = Type.Optional(
  Type.Array(Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX }), { maxItems: AGENTS_MAX }),
);
const Millis = Type.Optional(Type.Union([Type.Integer(), Type.Null()]));
const members = {
  userManagementSource: Type.Optional(Type.String()),
  visibleOnLoginPage: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  providerName: Name,
  buttonName: Name,
  authenticationRestrictions: Type.Optional(
    Type.Union([
      Type.Object(
        {
          forbiddenClients: Type.Optional(Type.Array(Type.Enum([WEB_BROWSERS]), { maxItems: 1 })),
          forbiddenUserAgents: Agents,
          trustedUserAgents: Agents,
        },
        OPEN,
      ),
      Type.Null(),
    ]),
  ),
  sessionConfiguration: Type.Optional(
    Type.Union([
      Type.Object(
        {
          absoluteTimeoutMillis: Millis,
          userAgentValidationRequired: Type.Optional(Type.Boolean()),
          maximumNumberOfParallelSessions: Millis,
          renewalTimeoutMillis: Millis,
        },
        OPEN,
      ),
      Type.Null(),
    ]),
  ),
};
const Post = Type.Object({ type: Type.String(), ...members }, OPEN);
const Put = Type.Object({ type: Type.Optional(Type.String()), ...members }, OPEN);
const Restriction = Type.Object({ onlyManagementTenantAccess: Type.Boolean() }, OPEN);

export function loginOptionRoutes(): Route[] {
  const asked = {
    tenantId: text('Tenant id; that of the host, or the default tenant, without it'),
    management: flag('Of the management tenant'),
  };
  const ends = { terminateUserSessions: flag('Ends all token sessions of the tenant') };
  const all = '/tenant/loginOptions';
  const one = `${all}/{id}`;
  const answers = [{ status: 200, description: 'The login option', mediaType: 'authConfig' }];
  const admin = { area: 'tenant', access: 'roles', roles: ADMIN } as const;
  return [
    {
      method: 'GET',
      path: all,
      area: 'tenant',
      access: 'public',
      summary: 'Ways to log in',
      query: asked,
      answers: [{ status: 200, description: 'The login options', mediaType: 'loginOptionCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path: all,
      ...admin,
      summary: 'Set a way to log in, BASIC or OAUTH2_INTERNAL, for the first time',
      query: ends,
      body: {
        schema: Post,
        mediaTypes: ['authConfig'],
        example: { type: 'OAUTH2_INTERNAL', sessionConfiguration: { absoluteTimeoutMillis: 86_400_000 } },
      },
      answers,
      handle: post,
    },
    {
      method: 'GET',
      path: one,
      area: 'tenant',
      access: 'user',
      summary: 'One way to log in, by type',
      query: asked,
      answers,
      handle: get,
    },
    {
      method: 'PUT',
      path: one,
      ...admin,
      summary: 'Change a way to log in',
      query: ends,
      body: {
        schema: Put,
        mediaTypes: ['authConfig'],
        example: { authenticationRestrictions: { forbiddenClients: [WEB_BROWSERS] } },
      },
      answers,
      handle: put,
    },
    {
      method: 'DELETE',
      path: one,
      ...admin,
      summary: 'Reset a way to log in to its defaults',
      answers: [{ status: 204, description: 'Taken back' }],
      handle: remove,
    },
    {
      method: 'PUT',
      path: `${one}/restrict`,
      ...admin,
      roles: ['ROLE_TENANT_MANAGEMENT_ADMIN'],
      summary: 'Let only the management tenant change it (management tenant only)',
      query: { targetTenant: { ...text('The tenant that is restricted'), isRequired: true } },
      body: { schema: Restriction, mediaTypes: [], example: { onlyManagementTenantAccess: true } },
      answers,
      handle: restrict,
    },
  ];
}
