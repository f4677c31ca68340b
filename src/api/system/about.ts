/** What a user's client has to know of the server: where it listens, what it has, who the user is. */
import Type from 'typebox';
import { MANAGEMENT_TENANT } from '../../accounts/tenants/tenants.ts';
import { hasDevices } from '../../history/devices.ts';
import { PlatformError } from '../../model/errors.ts';
import { JSON_TYPE } from '../http/media-types.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';

/** On the HTTP ports. */
const PATHS = {
  mqttWebSocket: '/mqtt',
  realtime: '/notification/realtime',
  notifications: '/notification2/consumer/',
  openApi: '/openapi.json',
} as const;

const Port = Type.Optional(Type.Integer({ minimum: 1, maximum: 65535 }));
const About = Type.Object({
  version: Type.String(),
  node: Type.String({ description: 'The node that answers' }),
  shape: Type.Enum(['single-node', 'cluster']),
  baseUrl: Type.String(),
  host: Type.String({ description: 'That of baseUrl without port and brackets: where devices reach the ports' }),
  ports: Type.Object(
    { http: Port, https: Port, mqtt: Port, mqttTls: Port },
    { description: 'Those that this node has opened; a proxy or a container may show others' },
  ),
  paths: Type.Record(Type.String(), Type.String()),
  tenant: Type.Object({
    id: Type.String(),
    company: Type.Optional(Type.String()),
    domain: Type.Optional(Type.String()),
    isManagement: Type.Boolean(),
  }),
  user: Type.Object({ userName: Type.String(), effectiveRoles: Type.Array(Type.String()) }),
  hasDevices: Type.Optional(
    Type.Boolean({ description: 'False for a tenant at its first start. Absent while the history does not answer' }),
  ),
  has: Type.Object({
    scoring: Type.Boolean(),
    onnx: Type.Boolean(),
    python: Type.Enum(['off', 'pyodide', 'system']),
    mail: Type.Boolean(),
  }),
});

/** @returns undefined while the history does not answer: all else is known without it. */
async function findDevices(request: ApiRequest): Promise<boolean | undefined> {
  const { platform } = request;
  try {
    return await hasDevices(request.historyOf(platform.historyAsIs ?? platform.history), request.tenant);
  } catch (error) {
    if (error instanceof PlatformError && error.status === 503) return undefined;
    throw error;
  }
}

/** Not by URL: what a client calls the server need not be a host that it takes, for instance 256.0.0.1. */
const hostOf = (url: string): string => /^https?:\/\/(?:\[([^\]]*)\]|([^:/]*))/.exec(url)?.slice(1).join('') ?? '';

async function about(request: ApiRequest): Promise<Answer> {
  const { platform, principal, baseUrl } = request;
  const { node, shape, ports, python, sendsMail } = platform.facts();
  const tenant = platform.tenants.byNumber(request.tenant);
  const value = {
    version: platform.config.version ?? '',
    node,
    shape,
    baseUrl,
    host: hostOf(baseUrl),
    ports,
    paths: PATHS,
    tenant: {
      id: principal.tenant,
      company: tenant?.company,
      domain: tenant?.domain,
      isManagement: principal.tenant === MANAGEMENT_TENANT,
    },
    user: { userName: principal.userName, effectiveRoles: [...(principal.ownRoles ?? principal.roles)].sort() },
    hasDevices: await findDevices(request),
    has: {
      scoring: platform.scoring !== undefined,
      onnx: platform.onnx !== undefined,
      python: platform.onnx === undefined ? 'off' : python,
      mail: sendsMail,
    },
  };
  return { status: 200, contentType: JSON_TYPE, text: JSON.stringify(value), headers: ['Cache-Control', 'no-store'] };
}

export function aboutRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/millrace/about',
      area: 'system',
      access: 'user',
      summary: 'Where the server listens, what it has, and who the user is',
      answers: [
        {
          status: 200,
          description: 'The server as the user sees it',
          contentTypes: ['application/json'],
          json: About,
          example: {
            version: '0.1.0',
            node: 'mill-1',
            shape: 'single-node',
            baseUrl: 'http://iot.example.org:8080',
            host: 'iot.example.org',
            ports: { http: 8080, mqtt: 1883 },
            paths: PATHS,
            tenant: { id: 't1', isManagement: false },
            user: { userName: 'ada', effectiveRoles: ['ROLE_INVENTORY_READ'] },
            hasDevices: false,
            has: { scoring: true, onnx: true, python: 'pyodide', mail: false },
          },
        },
      ],
      handle: about,
    },
  ];
}
