/** `/service/remoteaccess/devices/{id}/configurations` (docs/spec/remote-access.md#configurations). */
import Type from 'typebox';
import { CREDENTIAL_TYPES, PROTOCOLS, type RemoteAccessConfiguration } from '../../model/access/remote-access.ts';
import { OPEN, optional } from '../../model/schema/parts.ts';
import {
  createConfiguration,
  listConfigurations,
  loadConfiguration,
  removeConfiguration,
  updateConfiguration,
  type ConfigurationPlace,
  type SentConfiguration,
} from '../../remote-access/configurations.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import { loadManagedObject } from '../lists/owner.ts';
import type { Answer } from '../request/answer.ts';
import { NO_CONTENT } from '../request/reply.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';

const REMOTE_ACCESS_AREA = 'remoteaccess';
export const REMOTE_ACCESS_ROLE = 'ROLE_REMOTE_ACCESS_ADMIN';
const PATH = '/service/remoteaccess/devices/{id}/configurations';
const NAME_LENGTH_MAX = 256;
/** Of a name in the domain name system. */
const HOST_LENGTH_MAX = 253;
const PORT_MAX = 65_535;
const PASSWORD_LENGTH_MAX = 1_024;
const KEY_LENGTH_MAX = 16_384;

const textUpTo = (maxLength: number) => optional(Type.Union([Type.String({ maxLength }), Type.Null()]));
const shown = {
  type: optional(Type.Union([Type.Enum([...CREDENTIAL_TYPES]), Type.Null()])),
  username: textUpTo(NAME_LENGTH_MAX),
  publicKey: textUpTo(KEY_LENGTH_MAX),
  hostKey: textUpTo(KEY_LENGTH_MAX),
};
const Credentials = Type.Object(
  { ...shown, password: textUpTo(PASSWORD_LENGTH_MAX), privateKey: textUpTo(KEY_LENGTH_MAX) },
  OPEN,
);
const members = {
  name: Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX, pattern: '^[^\\x00-\\x1f\\x7f]*$' }),
  hostname: Type.String({ minLength: 1, maxLength: HOST_LENGTH_MAX, pattern: '^[^\\s\\x00-\\x1f\\x7f]+$' }),
  port: Type.Integer({ minimum: 1, maximum: PORT_MAX }),
  protocol: Type.Enum([...PROTOCOLS]),
};
const ConfigurationPost = Type.Object(
  { ...members, credentials: optional(Type.Union([Credentials, Type.Null()])) },
  OPEN,
);
const ConfigurationPut = Type.Object(
  {
    name: optional(members.name),
    hostname: optional(members.hostname),
    port: optional(members.port),
    protocol: optional(members.protocol),
    credentials: optional(Type.Union([Credentials, Type.Null()])),
  },
  OPEN,
);
const Configuration = Type.Object(
  { id: Type.String(), ...members, credentials: optional(Type.Object(shown, OPEN)) },
  OPEN,
);

const EXAMPLE: RemoteAccessConfiguration = {
  id: '1143',
  name: 'Shell',
  hostname: '127.0.0.1',
  port: 22,
  protocol: 'SSH',
  credentials: { type: 'USER_PASS', username: 'root' },
};

/** Members of the body that a configuration has; what else is sent is ignored. */
function sentConfiguration(request: ApiRequest): SentConfiguration {
  const sent = JSON.parse(request.bodyText()) as Record<string, unknown>;
  const taken = ['name', 'hostname', 'port', 'protocol'].filter(
    (name) => sent[name] !== undefined && sent[name] !== null,
  );
  const result: Record<string, unknown> = Object.fromEntries(taken.map((name) => [name, sent[name]]));
  const { credentials } = sent;
  if (credentials === null) result['credentials'] = null;
  else if (credentials !== undefined) {
    const known = Object.keys(Credentials.properties);
    result['credentials'] = Object.fromEntries(Object.entries(credentials).filter(([name]) => known.includes(name)));
  }
  return result;
}

/** @throws PlatformError 404 for a device that does not exist. */
async function placeOf(request: ApiRequest): Promise<ConfigurationPlace> {
  const device = request.params['id'];
  await loadManagedObject(request, device);
  return { tenant: request.tenant, userName: request.principal.userName, device };
}

const answer = (configuration: unknown): Answer => ({
  status: 200,
  text: JSON.stringify(configuration),
  contentType: JSON_TYPE,
});

async function list(request: ApiRequest): Promise<Answer> {
  const { tenant, device } = await placeOf(request);
  return answer(await listConfigurations(request.platform, tenant, device));
}

async function get(request: ApiRequest): Promise<Answer> {
  const { tenant, device } = await placeOf(request);
  return answer(await loadConfiguration(request.platform, tenant, device, request.params['configurationId']));
}

async function post(request: ApiRequest): Promise<Answer> {
  const place = await placeOf(request);
  const id = String(await request.platform.ids.nextInOrder());
  const created = await createConfiguration(request.platform, place, id, sentConfiguration(request));
  try {
    // A deletion of the device looks for configurations once it is deleted, and may have done so before this one.
    await loadManagedObject(request, place.device);
  } catch (error) {
    await removeConfiguration(request.platform, place, id);
    throw error;
  }
  return {
    ...answer(created),
    status: 201,
    location: `${request.baseUrl}${PATH.replace('{id}', place.device)}/${id}`,
  };
}

async function put(request: ApiRequest): Promise<Answer> {
  const id = request.params['configurationId'];
  return answer(await updateConfiguration(request.platform, await placeOf(request), id, sentConfiguration(request)));
}

async function remove(request: ApiRequest): Promise<Answer> {
  await removeConfiguration(request.platform, await placeOf(request), request.params['configurationId']);
  return NO_CONTENT;
}

export function remoteAccessRoutes(): Route[] {
  const admin = { area: REMOTE_ACCESS_AREA, access: 'roles', roles: [REMOTE_ACCESS_ROLE] } as const;
  const json = { contentTypes: ['application/json'], json: Configuration, example: EXAMPLE };
  const one = [{ status: 200, description: 'The configuration, without its secrets', ...json }];
  const { id: _, ...example } = EXAMPLE;
  return [
    {
      method: 'GET',
      path: PATH,
      ...admin,
      summary: 'List the remote access configurations of a device',
      answers: [
        {
          status: 200,
          description: 'All configurations, without their secrets',
          contentTypes: ['application/json'],
          json: Type.Array(Configuration),
          example: [EXAMPLE],
        },
      ],
      handle: list,
    },
    {
      method: 'POST',
      path: PATH,
      ...admin,
      summary: 'Create a remote access configuration of a device',
      body: {
        schema: ConfigurationPost,
        example: { ...example, credentials: { ...example.credentials, password: 'secret' } },
      },
      answers: [{ status: 201, description: 'Created', ...json }],
      handle: post,
    },
    {
      method: 'GET',
      path: `${PATH}/{configurationId}`,
      ...admin,
      summary: 'Read a remote access configuration',
      answers: one,
      handle: get,
    },
    {
      method: 'PUT',
      path: `${PATH}/{configurationId}`,
      ...admin,
      summary: 'Change a remote access configuration; secrets that are not sent stay',
      body: { schema: ConfigurationPut, example: { port: 2222 } },
      answers: one,
      handle: put,
    },
    {
      method: 'DELETE',
      path: `${PATH}/{configurationId}`,
      ...admin,
      summary: 'Delete a remote access configuration',
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
  ];
}
