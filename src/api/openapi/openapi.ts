/** The OpenAPI 3.1 document of the route table. */
import type { QueryParameter } from '../request/schema/query-values.ts';
import { PATH_PARAMETERS } from '../request/route.ts';
import type { Route } from '../request/route.ts';
import type { RouteAnswer, RouteBody } from '../request/route-rules.ts';
import { ANSWER_EXAMPLES } from './answer-examples.ts';
import { ANSWER_SCHEMAS } from './answer-schemas.ts';
import { TOKEN_COOKIE, XSRF_HEADER } from '../request/authentication.ts';
import { Binary, ref } from '../../model/schema/parts.ts';

const VENDOR_PREFIX = 'application/vnd.com.nsn.platform.';

const ERROR_CONTENT = {
  [`${VENDOR_PREFIX}error+json`]: {
    schema: { $ref: '#/components/schemas/error' },
    examples: { usual: { $ref: '#/components/examples/error' } },
  },
};

/** Any of them. */
const CREDENTIALS = [{ basic: [] }, { bearer: [] }, { cookie: [], xsrf: [] }];

const AREAS: Readonly<Record<string, string>> = {
  platform: 'The root of all links',
  inventory: 'Managed objects, their children and parents',
  identity: 'External IDs of managed objects',
  measurement: 'Measurements and series',
  event: 'Events',
  alarm: 'Alarms',
  devicecontrol: 'Operations of devices',
  users: 'Users and roles',
  user: 'Root resource of users',
  tenant: 'Tenants and options',
  audit: 'Audit records',
  applications: 'Applications, their archives and subscriptions, users and settings of microservices',
  system: 'Health, metrics and this description',
  realtime: 'Notifications',
  'reliable-notification': 'Subscriptions of Notifications 2.0',
  remoteaccess: 'Remote access: where tunnels to devices lead',
  scoring: 'Models of machine learning, and applying them to records',
};

/** @param routes the table. @returns the document as a JSON value, without its servers. */
export function openApiDocument(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] ??= pathItem(route.path);
    paths[route.path][route.method.toLowerCase()] = operation(route);
  }
  const answered = new Set(['error', ...routes.flatMap(({ answers }) => answers.map(exampleName))]);
  const areas = [...new Set(routes.map((route) => route.area))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version,
      description: 'Open, self-hosted IoT platform server.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: areas.map((name) => ({ name, description: AREAS[name] ?? name })),
    paths,
    components: {
      schemas: ANSWER_SCHEMAS,
      examples: Object.fromEntries(
        Object.entries(ANSWER_EXAMPLES)
          .filter(([name]) => answered.has(name))
          .map(([name, value]) => [name, { value }]),
      ),
      securitySchemes: {
        basic: {
          type: 'http',
          scheme: 'basic',
          description: '`<tenant>/<user>` and password; the default tenant without prefix',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'A token of `POST /tenant/oauth/token`',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: TOKEN_COOKIE,
          description: 'A token of `POST /tenant/oauth`, which sets it',
        },
        xsrf: {
          type: 'apiKey',
          in: 'header',
          name: XSRF_HEADER,
          description: 'With the cookie: the value of the cookie XSRF-TOKEN',
        },
      },
      responses: { error: { description: 'An error', content: ERROR_CONTENT } },
    },
    security: CREDENTIALS,
  };
}

function pathItem(path: string): Record<string, unknown> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  if (names.length === 0) return {};
  return {
    parameters: names.map((name) => ({
      name,
      in: 'path',
      required: true,
      description: PATH_PARAMETERS[name]?.[0] ?? name,
      schema: { type: 'string' },
      ...(PATH_PARAMETERS[name] === undefined ? {} : { example: PATH_PARAMETERS[name][1] }),
    })),
  };
}

function operation(route: Route): Record<string, unknown> {
  const { access, roles = [] } = route;
  const parameters = [
    ...Object.entries(route.query ?? {}).map(([name, parameter]) => queryParameter(name, parameter)),
    ...headerParameters(route),
  ];
  const who =
    access === 'roles'
      ? `Needs one of ${roles.join(', ')}.`
      : access === 'owner'
        ? `Needs one of ${roles.join(', ')}, or the owner of the managed object.`
        : access === 'user'
          ? 'Any user.'
          : 'No credentials needed.';
  return {
    operationId: operationId(route),
    tags: [route.area],
    summary: route.summary,
    description: who,
    ...(roles.length === 0 ? {} : { 'x-roles': roles }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.body) }),
    responses: responses(route),
    ...(access === 'public' ? { security: [] } : access === 'optional' ? { security: [{}, ...CREDENTIALS] } : {}),
  };
}

/** `GET /event/events/{id}` -> `getEventEventsById` */
function operationId(route: Route): string {
  const words = route.path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => {
      const name = segment
        .replace(/[{}]/g, '')
        .split(/[^A-Za-z0-9]+/)
        .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
        .join('');
      return segment.startsWith('{') ? `By${name}` : name;
    });
  return `${route.method.toLowerCase()}${words.join('')}`;
}

function queryParameter(name: string, parameter: QueryParameter): object {
  const { schema, description, isRequired = false, isList = false } = parameter;
  return {
    name,
    in: 'query',
    required: isRequired,
    description,
    ...(isList ? { schema: { type: 'array', items: schema }, style: 'form', explode: false } : { schema }),
  };
}

/** Areas whose writes obey the processing mode (docs/spec/conventions.md#processing-modes). */
const WITH_MODE: ReadonlySet<string> = new Set(['measurement', 'event', 'alarm', 'inventory', 'devicecontrol']);
const MODE = 'x-platform-processing-mode';

/**
 * Of request headers that a route reads: the name, a description, the values. Those with another spelling are shown
 * with the primary one alone.
 */
const HEADERS: Readonly<Record<string, readonly [name: string, description: string, schema: object]>> = {
  [MODE]: [
    'X-Platform-Processing-Mode',
    'Whether what is sent is stored, and who is told of it',
    { enum: ['PERSISTENT', 'TRANSIENT', 'QUIESCENT', 'CEP'], default: 'PERSISTENT' },
  ],
  'x-platform-system-of-units': [
    'X-Platform-System-Of-Units',
    'Units that measurements are shown in',
    { enum: ['metric', 'imperial'] },
  ],
  'x-platform-application-key': ['X-Platform-Application-Key', 'Key of the application that sends the request', {}],
  range: ['Range', 'Part of the content: bytes=0-1023', {}],
  'if-range': ['If-Range', 'ETag of the content that the range is of; of another one all is sent', {}],
  'content-range': ['Content-Range', 'Place of the chunk in the whole content', {}],
  'if-none-match': ['If-None-Match', 'ETag of what the client has', {}],
  'x-ssl-cert-chain': [
    'X-Ssl-Cert-Chain',
    'Certificates that lead from that of the device to a trusted one: PEM with blanks instead of line ends',
    {},
  ],
};

function headerParameters({ method, area, headers = [] }: Route): object[] {
  const read = method !== 'GET' && WITH_MODE.has(area) ? [MODE, ...headers] : headers;
  return read
    .flatMap((header) => (HEADERS[header] === undefined ? [] : [HEADERS[header]]))
    .map(([name, description, schema]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string', ...schema },
    }));
}

function requestBody({ schema = {}, mediaTypes = [], isOptional = false, example, contents }: RouteBody): object {
  const usual = { schema, ...(example === undefined ? {} : { example }) };
  const types = ['application/json', ...mediaTypes.map((name) => `${VENDOR_PREFIX}${name}+json`)];
  return { required: !isOptional, content: contents ?? Object.fromEntries(types.map((type) => [type, usual])) };
}

/** Credentials are in the body, or in a header of their own. */
const isLogin = ({ path, takesCertificate }: Route): boolean =>
  path.startsWith('/tenant/oauth') || takesCertificate === true;

/** What is refused before the handler: status, description, for which routes. */
const REFUSALS: readonly (readonly [status: number, description: string, isFor: (route: Route) => boolean])[] = [
  [400, 'The body cannot be read', ({ body }) => body !== undefined],
  [401, 'Missing or wrong credentials', (route) => route.access !== 'public' || isLogin(route)],
  [403, 'A role is missing', ({ access }) => access === 'roles' || access === 'owner'],
  [403, 'The host begins with the id of a tenant, or no certificates are taken', isLogin],
  [404, 'The entity does not exist', ({ path }) => path.includes('{')],
  [406, 'Nothing that Accept names can be produced', () => true],
  [409, 'It is in conflict with what is there', ({ method }) => method !== 'GET'],
  [
    413,
    'The body is too long, or the query takes too much time or memory',
    ({ body, query }) => body !== undefined || query !== undefined,
  ],
  [415, 'The content type is not taken', ({ body }) => body !== undefined],
  [
    422,
    'A member of the body or a parameter is missing or wrong',
    ({ body, query }) => body !== undefined || query !== undefined,
  ],
  [
    429,
    'More requests than the tenant or the user may send; Retry-After tells when',
    (route) => route.access !== 'public' || isLogin(route),
  ],
];

function responses(route: Route): object {
  const result: Record<string, object> = {};
  for (const status of new Set(route.answers.map((answer) => answer.status))) {
    result[status] = response(
      route.answers.filter((answer) => answer.status === status),
      route,
    );
  }
  for (const [status, description, isFor] of REFUSALS) {
    if (isFor(route) && result[status] === undefined) result[status] = { description, content: ERROR_CONTENT };
  }
  result['default'] = { $ref: '#/components/responses/error' };
  return result;
}

/**
 * The schema of plain JSON of several answers is that of the first one, with members of all: a union would narrow every
 * answer of a generated client.
 */
function contentOf(answer: RouteAnswer): Record<string, object> {
  const content: Record<string, object> = {};
  if (answer.mediaType !== undefined) {
    const name = answer.schema ?? answer.mediaType;
    const media = { schema: ref(name), ...example(answer) };
    content[`${VENDOR_PREFIX}${answer.mediaType}+json`] = media;
    content['application/json'] = answer.plain === undefined ? media : { ...media, schema: ref(answer.plain) };
  }
  for (const type of answer.contentTypes ?? []) {
    const schema =
      type === 'application/json' ? (answer.json ?? {}) : BINARY_TYPES.has(type) ? Binary : { type: 'string' };
    content[type] = {
      schema,
      ...(CONTENT_EXAMPLES[type] ?? (type === 'text/plain' ? textExample(answer) : example(answer))),
    };
  }
  return content;
}

/** @param answers of one status, the usual one first. */
function response(answers: readonly RouteAnswer[], route: Route): object {
  const [{ status }] = answers;
  const content: Record<string, object> = Object.assign({}, ...[...answers].reverse().map(contentOf));
  const location = { description: 'URL of the entity, where one was made', schema: { type: 'string', format: 'uri' } };
  return {
    description: answers.map(({ description }) => description).join('; '),
    ...(status === 201 && route.method === 'POST' ? { headers: { Location: location } } : {}),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}

/** The answer's own example, or that of its schema, or that of its entity. */
function example(answer: RouteAnswer): object {
  if (answer.example !== undefined) return { example: answer.example };
  const name = exampleName(answer);
  return name === undefined ? {} : { examples: { usual: { $ref: `#/components/examples/${name}` } } };
}

const textExample = (answer: RouteAnswer): object =>
  answer.example === undefined ? {} : { example: String(answer.example) };

const exampleName = ({ schema, mediaType, example: own }: RouteAnswer): string | undefined =>
  own === undefined
    ? [schema, mediaType].find((name) => name !== undefined && Object.hasOwn(ANSWER_EXAMPLES, name))
    : undefined;

const BINARY_TYPES: ReadonlySet<string> = new Set([
  '*/*',
  'application/octet-stream',
  'application/zip',
  'application/vnd.apache.parquet',
]);

/** Of content types that look alike everywhere. */
const CONTENT_EXAMPLES: Readonly<Record<string, object>> = {
  'text/csv': { example: 'id,time,type\r\n1102,2024-05-02T10:00:00.000Z,c8y_DoorOpened\r\n' },
  'application/x-ndjson': { example: '{"id":"1102","time":"2024-05-02T10:00:00.000Z","type":"c8y_DoorOpened"}\n' },
  'application/json-stream': { example: '{"id":"1102","time":"2024-05-02T10:00:00.000Z","type":"c8y_Environment"}\n' },
  'application/xml': { example: '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">…</PMML>' },
  'text/plain': { example: '…' },
  'text/html': { example: '<!doctype html><title>…</title>' },
  'application/octet-stream': { example: 'any content' },
  '*/*': { example: 'any content' },
  'application/zip': { example: 'PK…' },
  'application/vnd.apache.parquet': { example: 'PAR1…PAR1' },
};
