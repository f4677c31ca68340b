/**
 * Web applications at `/apps/<context path>/` and `/apps/public/<context path>/`, out of their archives, for tenants
 * that have them (docs/spec/applications.md#archives). Their files are not secret: they are served before login, as the
 * login page is one of them. The tenant is that of the user, or of the host. Also the place of microservices,
 * `/service/<context path>`, which do not run here.
 */
import { isActive } from '../../accounts/tenants/tenants.ts';
import type { Tenant } from '../../accounts/tenants/tenants.ts';
import { PUBLIC_PATH } from '../../model/entities/application.ts';
import type { StoredApplication } from '../../model/entities/application.ts';
import { PlatformError } from '../../model/errors.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import {
  applicationsOfIds,
  findByUnique,
  loadAttachment,
  subscribedIds,
} from '../../accounts/applications/applications.ts';
import { isKnownTag } from '../http/byte-range.ts';
import { ArchiveCache } from './archive-cache.ts';
import { archiveLimit } from './archive-limits.ts';
import { contentTypeOf } from '../http/content-types.ts';
import { tenantCalled } from '../request/login-host.ts';
import { ANY_CONTENT } from '../http/media-types.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import type { Method, RouteBody } from '../request/route-rules.ts';
import { Binary } from '../../model/schema/parts.ts';
import { LOGIN_PAGE } from '../users/login-page.ts';
import { entryContent } from './zip-archive.ts';

const INDEX_FILE = 'index.html';
/** Where web applications send users who are not logged in. */
const LOGIN_CONTEXT_PATH = 'login';
const OPTIONS_CONTEXT_PATH = 'public-options';
/**
 * What applications of the web SDK read at their start of an application that most tenants do not have: branding, and
 * texts of translations. Without it there is nothing of either (docs/spec/applications.md#archives).
 */
const ASKED_AT_START: ReadonlyMap<string, RegExp> = new Map([
  [OPTIONS_CONTEXT_PATH, /^options\.json$/],
  ['user-defined-translations', /^[A-Za-z_-]{2,20}\.json$/],
]);
const NOTHING: Answer = {
  status: 200,
  text: '{}',
  contentType: 'application/json;charset=UTF-8',
  headers: ['Cache-Control', 'no-cache', 'X-Content-Type-Options', 'nosniff'],
};
/** The tag of the branding of one application; without such a version the active one is that of all. */
const BRANDING_TAG = /^app-/;
/**
 * Code of an application may do what it needs, loaded from here only; who needs more says so in
 * `contentSecurityPolicy`.
 */
const PAGE_POLICY = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
  "style-src 'self' 'unsafe-inline'",
  'img-src * data: blob:',
  'font-src * data:',
  'connect-src * ws: wss:',
  'frame-src *',
  "worker-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'self'",
  "frame-ancestors 'self'",
].join('; ');

/**
 * Of the user. Where tenants have hosts of their own, a cookie may come from the page of another tenant: it does not
 * say whose page is sent, the host does.
 */
function tenantAsked(request: ApiRequest): Tenant | undefined {
  const { tenants } = request.platform;
  // A page's own requests show the header that goes with the cookie; what opens a page does not.
  const ofCookie = tenants.domainSuffix === undefined ? request.principalOfCookie : undefined;
  const principal = ofCookie ?? request.principal;
  if (principal.tenant !== '') return tenants.byNumber(principal.tenantNumber);
  return tenantCalled(request) ?? tenants.default;
}

/** The tenant's application before subscribed ones; undefined when the tenant has none there. */
async function findAt(
  request: ApiRequest,
  tenant: Tenant | undefined,
  contextPath: string,
  type: StoredApplication['type'],
): Promise<StoredApplication | undefined> {
  if (!isActive(tenant)) return undefined;
  const own = await findByUnique(request.platform, 'contextPath', tenant.number, contextPath);
  if (own?.application.type === type) return own.application;
  for await (const application of applicationsOfIds(
    request.platform,
    await subscribedIds(request.platform, tenant.number),
  )) {
    if (application.type === type && application.contextPath === contextPath) return application;
  }
  return undefined;
}

const missing = (contextPath: string): PlatformError =>
  new PlatformError('applications/no-context-path', { contextPath });

/** @param asked version or tag; undefined for the active one. @throws PlatformError 404. */
function binaryIdOf({ versions = [], activeVersionId, contextPath }: StoredApplication, asked?: string): string {
  const found =
    asked === undefined ? undefined : versions.find(({ version, tags }) => version === asked || tags.includes(asked));
  const isOfActive = asked === undefined || (contextPath === OPTIONS_CONTEXT_PATH && BRANDING_TAG.test(asked));
  const id = found?.binaryId ?? (isOfActive ? activeVersionId : undefined);
  if (id === undefined) throw new PlatformError('applications/version-not-found');
  return id;
}

function securityHeaders(application: StoredApplication): string[] {
  const own = stringMember(splitMembers(application.doc), 'contentSecurityPolicy');
  return [
    'X-Content-Type-Options',
    'nosniff',
    'Content-Security-Policy',
    own === undefined || own === '' ? PAGE_POLICY : own,
    'Referrer-Policy',
    'same-origin',
    'Cross-Origin-Resource-Policy',
    'same-origin',
  ];
}

/** Ours, for tenants without an application there. Links of mails that reach it go on to the page to set a password. */
function loginPage({ query, baseUrl }: ApiRequest): Answer {
  if (!query.has('token')) return LOGIN_PAGE;
  const link = new URLSearchParams();
  for (const name of ['token', 'email', 'tenantId']) {
    const value = query.text(name);
    if (value !== undefined) link.set(name, value);
  }
  return { status: 302, text: '', headers: ['Location', `${baseUrl}/?${link}`, 'Cache-Control', 'no-store'] };
}

/** @param isPublic below `/apps/public/`. */
async function serve(
  request: ApiRequest,
  archives: ArchiveCache,
  isPublic: boolean,
): Promise<Answer | typeof ANSWERED> {
  const { contextPath: segment, file = '' } = request.params;
  const at = segment.indexOf('@');
  const contextPath = at < 0 ? segment : segment.slice(0, at);
  const { path, queryText } = request.exchange;
  const isDirectory = path.endsWith('/');
  if (file === '' && !isDirectory) {
    // Relative links of the page begin at the directory.
    return {
      status: 302,
      text: '',
      headers: [
        'Location',
        `${request.baseUrl}${path}/${queryText === '' ? '' : `?${queryText}`}`,
        'Cache-Control',
        'no-cache',
      ],
    };
  }
  const name = isDirectory ? `${file}${file === '' ? '' : '/'}${INDEX_FILE}` : file;
  const application = await findAt(request, tenantAsked(request), contextPath, 'HOSTED');
  // A record without an archive has no page either.
  if (isPublic && application?.activeVersionId === undefined) {
    if (segment === LOGIN_CONTEXT_PATH && name === INDEX_FILE) return loginPage(request);
    if (ASKED_AT_START.get(contextPath)?.test(name) === true) return NOTHING;
  }
  if (application === undefined) throw missing(contextPath);
  const attachment = await loadAttachment(
    request.platform,
    application.id,
    binaryIdOf(application, at < 0 ? undefined : segment.slice(at + 1)),
  );
  const { unzipped, unzippedLimit } = archiveLimit(application.type);
  const { blobs } = request.platform;
  const { refusals } = request;
  const source = { blobs, key: attachment.blob, bytes: attachment.bytes };
  const archive = await archives.open(source, { bytesMax: unzipped, bytesLimit: unzippedLimit, refusals });
  const entry = archive.get(name);
  if (entry === undefined) throw new PlatformError('applications/no-file', { file: name, contextPath });
  const tag = `"${attachment.id}-${entry.crc32.toString(16)}"`;
  const headers = ['ETag', tag, 'Cache-Control', 'no-cache', ...securityHeaders(application)];
  if (isKnownTag(request.headers['if-none-match'], tag)) return { status: 304, text: '', headers };
  await request.sendContent(
    200,
    ['Content-Type', contentTypeOf(name), ...headers],
    entry.bytes,
    entryContent(source, entry),
  );
  return ANSWERED;
}

/** @throws PlatformError 404 for a tenant without it, 503: no microservice runs here. */
async function callService(request: ApiRequest): Promise<never> {
  const { contextPath } = request.params;
  const tenant = request.platform.tenants.byNumber(request.tenant);
  if ((await findAt(request, tenant, contextPath, 'MICROSERVICE')) === undefined) throw missing(contextPath);
  request.refused('microservice/unavailable');
  throw new PlatformError('microservice/unavailable', { contextPath });
}

export function hostedApplicationRoutes(): Route[] {
  const archives = new ArchiveCache();
  const file = {
    method: 'GET',
    area: 'applications',
    access: 'optional',
    takesAnyQuery: true,
    headers: ['if-none-match'],
    produces: ANY_CONTENT,
    answers: [
      { status: 200, description: 'The file', contentTypes: ['text/html', '*/*'] },
      { status: 304, description: 'Not changed' },
    ],
  } as const;
  const hosted = (root: string, isPublic: boolean): Route[] => {
    const handle = (request: ApiRequest): ReturnType<typeof serve> => serve(request, archives, isPublic);
    const path = `${root}/{contextPath}`;
    return [
      { ...file, path, handle, summary: 'The page of a web application' },
      { ...file, path: `${path}/{file}`, handle, takesRest: true, summary: 'A file of a web application' },
    ];
  };
  const anything: RouteBody = {
    form: 'bytes',
    isOptional: true,
    contents: { 'application/octet-stream': { schema: Binary, example: '{}' } },
  };
  const service = (method: Method, path: string, takesRest: boolean): Route => ({
    method,
    path,
    takesRest,
    area: 'applications',
    access: 'user',
    takesAnyQuery: true,
    summary: 'A microservice of the tenant; none runs here, so that it is never there',
    produces: ANY_CONTENT,
    answers: [{ status: 503, description: 'It does not run' }],
    ...(method === 'POST' || method === 'PUT' ? { body: anything } : {}),
    handle: callService,
  });
  const methods: Method[] = ['GET', 'POST', 'PUT', 'DELETE'];
  return [
    ...hosted('/apps', false),
    ...hosted(`/apps/${PUBLIC_PATH}`, true),
    ...methods.map((method) => service(method, '/service/{contextPath}', false)),
    ...methods.map((method) => service(method, '/service/{contextPath}/{rest}', true)),
  ];
}
