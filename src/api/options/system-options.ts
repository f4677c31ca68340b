/** Options of the whole server, read only (docs/spec/options.md#system-options). */
import { API_VERSION } from '../../model/api-version.ts';
import { PlatformError } from '../../model/errors.ts';
import { GREEN_LENGTH_MIN } from '../../model/access/password.ts';
import type { ApiRequest } from '../request/request.ts';
import { greenLengthMin, passwordDaysMax, tenantOption } from '../../accounts/options/values.ts';
import { DeviceRegistration } from '../../accounts/registration/registration.ts';
import { segment } from '../entities/text.ts';
import { fileBytesMax } from '../request/file-limit.ts';
import { found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';

const MIB = 1024 * 1024;
const SECURED_ROLE = 'ROLE_OPTION_MANAGEMENT_ADMIN';

interface SystemOption {
  readonly value: string;
  readonly isSecured?: boolean;
  /** What holds for the tenant that asks; undefined where it has not set it. */
  readonly inForce?: Reader | undefined;
}
type Reader = (request: ApiRequest) => Promise<string | number | undefined>;

const open = (value: string, inForce?: Reader): SystemOption => ({ value, inForce });
const secured = (value: string, inForce?: Reader): SystemOption => ({ value, isSecured: true, inForce });
const ofTenant =
  (category: string, key: string): Reader =>
  ({ platform, tenant }) =>
    tenantOption(platform, tenant, category, key);

/** Category -> key -> option. Secured ones are shown to holders of the role only. */
export const SYSTEM_OPTIONS: Readonly<Record<string, Readonly<Record<string, SystemOption>>>> = {
  password: {
    'green.min-length': secured(String(GREEN_LENGTH_MIN), ({ platform, tenant }) => greenLengthMin(platform, tenant)),
    'limit.validity': open('0', ({ platform, tenant }) => passwordDaysMax(platform, tenant)),
    'enforce.strength': open('false', ofTenant('password', 'enforce.strength')),
  },
  'two-factor-authentication': {
    'pin.validity': secured('30'),
    'token.length': secured('6'),
    'token.validity': secured('20'),
    enforced: open('false', ofTenant('two-factor-authentication', 'enforced')),
    strategy: open('TOTP'),
    'pin.length': open('6'),
    enabled: open('true'),
    'enforced.group': open('', ofTenant('two-factor-authentication', 'enforced.group')),
    'tenant-scope-settings.enabled': open('false'),
    'logout-on-browser-termination': open('false'),
  },
  authentication: { badRequestCounter: secured('0') },
  files: {
    'microservice.zipped.max.size': secured(String(500 * MIB)),
    'microservice.unzipped.max.size': secured(String(1024 * MIB)),
    'webapp.zipped.max.size': secured(String(50 * MIB)),
    'webapp.unzipped.max.size': secured(String(250 * MIB)),
    'max.size': open('', fileBytesMax),
  },
  system: { version: open(API_VERSION) },
  reportMailer: { available: open('false') },
  plugin: { 'eventprocessing.enabled': open('false') },
  connectivity: { 'microservice.url': open('') },
  // Front ends offer to switch them on only where this is false; this server has no support users.
  'support-user': { enabled: open('true') },
  // Each tenant has trusted certificates of its own.
  ssl: { 'shared-truststore.enabled': open('false') },
  support: { url: open('') },
  // There is none, and so no commands by SMS.
  messaging: { provider: open('') },
  trackers: { 'supported.models': open('') },
  encoding: { test: open('ä') },
  // Its keys are this server's own: what the console shows every user.
  console: {
    'map.tiles': open('', ofTenant('console', 'map.tiles')),
    'time.zone': open('', ofTenant('console', 'time.zone')),
  },
  'data-broker': { 'bootstrap.period': open('0') },
  'device-control': {
    'bulkoperation.creationramp': open('1', ofTenant('device-control', 'bulkoperation.creationramp')),
  },
  gainsight: { 'api.key': open('') },
  cep: { 'deprecation.alarm': open('false') },
  remoteaccess: { 'pass-through.enabled': open('false') },
  'device-registration': {
    'security-token.policy': open('OPTIONAL', ({ platform, tenant }) =>
      new DeviceRegistration(platform).tokenPolicy(tenant),
    ),
  },
};

const isVisible = (request: ApiRequest, option: SystemOption): boolean =>
  option.isSecured !== true || request.hasRole(SECURED_ROLE);

/** The value in force for the tenant that asks. */
async function valueOf(request: ApiRequest, category: string, key: string): Promise<string> {
  const { value, inForce } = SYSTEM_OPTIONS[category][key];
  return String((await inForce?.(request)) ?? value);
}

async function optionOf(request: ApiRequest, category: string, key: string): Promise<object> {
  const self = `${request.baseUrl}/tenant/system/options/${segment(category)}/${segment(key)}`;
  return { self, category, key, value: await valueOf(request, category, key) };
}

async function list(request: ApiRequest): Promise<Answer> {
  const options = await Promise.all(
    Object.entries(SYSTEM_OPTIONS).flatMap(([category, keys]) =>
      Object.entries(keys)
        .filter(([, option]) => isVisible(request, option))
        .map(([key]) => optionOf(request, category, key)),
    ),
  );
  return found('optionCollection', JSON.stringify({ self: `${request.baseUrl}/tenant/system/options`, options }));
}

/** A category that does not exist has no options. */
async function getCategory(request: ApiRequest): Promise<Answer> {
  const { category } = request.params;
  const keys = Object.hasOwn(SYSTEM_OPTIONS, category) ? SYSTEM_OPTIONS[category] : {};
  const visible = await Promise.all(
    Object.entries(keys)
      .filter(([, option]) => isVisible(request, option))
      .map(async ([key]) => [key, await valueOf(request, category, key)]),
  );
  return found('option', JSON.stringify(Object.fromEntries(visible)));
}

/** @throws PlatformError 403 for a secured one. */
async function get(request: ApiRequest): Promise<Answer> {
  const { category, key } = request.params;
  const isKnown = Object.hasOwn(SYSTEM_OPTIONS, category) && Object.hasOwn(SYSTEM_OPTIONS[category], key);
  if (!isKnown) throw new PlatformError('system-option/not-found', { category, key });
  if (!isVisible(request, SYSTEM_OPTIONS[category][key])) throw new PlatformError('security/forbidden');
  return found('option', JSON.stringify(await optionOf(request, category, key)));
}

export function systemOptionRoutes(): Route[] {
  const common = { method: 'GET', area: 'tenant', access: 'user' } as const;
  const path = '/tenant/system/options';
  return [
    {
      ...common,
      path,
      summary: 'System options',
      answers: [{ status: 200, description: 'The options', mediaType: 'optionCollection' }],
      handle: list,
    },
    {
      ...common,
      path: `${path}/{category}`,
      summary: 'System options of a category',
      answers: [
        {
          status: 200,
          description: 'Values by key',
          mediaType: 'option',
          schema: 'optionsOfCategory',
          example: { version: '1020.0.0' },
        },
      ],
      handle: getCategory,
    },
    {
      ...common,
      path: `${path}/{category}/{key}`,
      summary: 'One system option',
      answers: [{ status: 200, description: 'The option', mediaType: 'option' }],
      handle: get,
    },
  ];
}
