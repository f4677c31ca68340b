/** Applications: created, listed by who has them, changed, deleted and cloned (document 1 Applications, document 4 section 6.6). */
import Type from 'typebox';
import { groupsOf } from '../accounts/effective-rights.ts';
import { MANAGEMENT_TENANT } from '../accounts/tenants.ts';
import type { Tenant } from '../accounts/tenants.ts';
import type { StoredUser } from '../actors/user.ts';
import { APPLICATION_TYPES, CONTEXT_PATH } from '../model/application.ts';
import type { StoredApplication, StoredAttachment } from '../model/application.ts';
import { PlatformError } from '../model/errors.ts';
import { formatTime } from '../model/iso-time.ts';
import { splitMembers } from '../model/json-document.ts';
import type { Members } from '../model/json-document.ts';
import type { ApiRequest } from './api-request.ts';
import {
  allApplications, attachmentChange, auditApplication, createApplication, findByUnique, isAvailableTo, isOffered, loadAttachment, loadOwn,
  loadVisible, removeApplication, subscribedIds, updateApplication,
} from './application-records.ts';
import { ApplicationPost, ApplicationPut, applicationText, applicationUrl, mergedApplication, requireConsistent } from './application-text.ts';
import { applySettings } from './microservice-settings.ts';
import { PAGE_PARAMETERS, PAGE_SIZE_MAX, collectionText, pageOf } from './paging.ts';
import type { Page } from './paging.ts';
import { flag, text } from './query-parameters.ts';
import { changeRecords, SERVER_WIDE } from './records.ts';
import { NO_CONTENT, created, found } from './reply.ts';
import type { Answer, Route } from './route.ts';
import { bootstrapUser, endAllUses, refreshServiceUsers, removeUser, subscribers } from './service-users.ts';
import { isAbove } from './subtenants.ts';
import { referencedId } from './user-text.ts';

export const APPLICATION_READ = ['ROLE_APPLICATION_MANAGEMENT_READ'];
export const APPLICATION_ADMIN = ['ROLE_APPLICATION_MANAGEMENT_ADMIN'];
/** Who changes them may look at them. */
export const APPLICATION_ANY = [...APPLICATION_READ, ...APPLICATION_ADMIN];
/** `clone`, `clone2`, …: names that are tried for a copy. */
const CLONES_MAX = 100;
const CONTEXT_PATH_FORM = new RegExp(CONTEXT_PATH);

const unprocessable = (reason: string): PlatformError => new PlatformError('applications/unprocessable', { reason });

async function post(request: ApiRequest): Promise<Answer> {
  const { platform, principal } = request;
  const members: Members = new Map(request.members());
  // Nothing was uploaded yet.
  members.delete('activeVersionId');
  const { key, name, type } = JSON.parse(request.bodyText()) as Pick<StoredApplication, 'key' | 'name' | 'type'>;
  const empty: StoredApplication = {
    id: String(await platform.ids.nextInOrder()), owner: principal.tenant, ownerNumber: principal.tenantNumber, key, name, type,
    availability: 'PRIVATE', doc: '{}',
  };
  const application = mergedApplication(request, empty, members);
  await createApplication(request, application);
  await auditApplication(request, 'Application created', application);
  if (application.type === 'MICROSERVICE') await bootstrapUser(request, application);
  return created('application', applicationText(request, application), applicationUrl(request, application.id));
}

async function get(request: ApiRequest): Promise<Answer> {
  const { application } = await loadVisible(request, request.params['id']);
  return found('application', applicationText(request, application));
}

/** @param check may refuse the change. @throws PlatformError 404, 409, 422, 403. */
export async function changeApplication(request: ApiRequest, id: string, sent: Members,
  check: (old: StoredApplication, next: StoredApplication) => void = () => undefined): Promise<StoredApplication> {
  const { old, next, isChanged } = await updateApplication(request, id, async (stored) => {
    const merged = mergedApplication(request, stored, sent);
    const isAsBefore = merged.activeVersionId === stored.activeVersionId || merged.activeVersionId === undefined;
    const decided = isAsBefore ? merged : activated(request, merged, await activatable(request, merged));
    check(stored, decided);
    return decided;
  });
  if (isChanged) await changed(request, old, next);
  return next;
}

/** @throws PlatformError 422 for an id that no archive of the application has. */
async function activatable(request: ApiRequest, { id, activeVersionId = '' }: StoredApplication): Promise<StoredAttachment> {
  try {
    return await loadAttachment(request, id, activeVersionId);
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'applications/binary-not-found') throw error;
    throw new PlatformError('validation/invalid-field', { area: 'applications', name: 'activeVersionId', value: activeVersionId, limit: 'the id of a binary' });
  }
}

/** Document 4 section 6.7: the name, where it may stand in a path. */
const defaultContextPath = (name: string): string | undefined => (CONTEXT_PATH_FORM.test(name) ? name : undefined);

/** What the manifest of the active archive says holds from now on. @throws PlatformError 422, 403. */
export function activated(request: ApiRequest, application: StoredApplication, attachment: StoredAttachment): StoredApplication {
  const active = { ...application, activeVersionId: attachment.id };
  if (attachment.manifest === undefined) return active;
  if (application.type !== 'MICROSERVICE') return { ...active, manifest: attachment.manifest };
  const fields = JSON.parse(attachment.manifest) as Partial<StoredApplication>;
  const next: StoredApplication = {
    ...active, manifest: attachment.manifest, contextPath: fields.contextPath ?? active.contextPath ?? defaultContextPath(fields.name ?? active.name),
    requiredRoles: fields.requiredRoles ?? [], roles: fields.roles ?? [],
  };
  requireConsistent(request, application, next);
  return next;
}

/** What follows from a change: rights of service users, settings, the audit log. */
export async function changed(request: ApiRequest, old: StoredApplication, next: StoredApplication): Promise<void> {
  await auditApplication(request, 'Application updated', next);
  if (next.type !== 'MICROSERVICE') return;
  if (next.manifest !== old.manifest) await applySettings(request, next);
  if (JSON.stringify(old.requiredRoles ?? []) !== JSON.stringify(next.requiredRoles ?? [])) await refreshServiceUsers(request, next);
}

async function put(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  return found('application', applicationText(request, await changeApplication(request, application.id, request.members())));
}

async function remove(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { id } = application;
  if (!request.query.isTrue('force')) {
    const [first] = await subscribers(request, id);
    if (first !== undefined) throw new PlatformError('applications/subscribed', { id, tenant: first.tenant.id });
  }
  await endAllUses(request, application);
  await removeApplication(request, application);
  // One that was asked for meanwhile.
  await removeUser(request, application.ownerNumber, 'bootstrap', id);
  await auditApplication(request, 'Application deleted', application);
  return NO_CONTENT;
}

async function getBootstrapUser(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { id, type } = application;
  if (type !== 'MICROSERVICE') throw new PlatformError('applications/bad-request', { id, type, reason: 'only microservices have a bootstrap user' });
  return found('user', JSON.stringify(await bootstrapUser(request, application)));
}

/** A copy with its active archive. Names begin with `clone`, or `clone2` and so on when there is one already. */
async function clone(request: ApiRequest): Promise<Answer> {
  const { application } = await loadVisible(request, request.params['id']);
  const { id, type } = application;
  if (type === 'MICROSERVICE') throw unprocessable(`The application ${id} is a microservice: it cannot be cloned`);
  const asked = request.query.text('version');
  const version = asked === undefined ? undefined : (application.versions ?? []).find((one) => one.version === asked || one.tags.includes(asked));
  if (asked !== undefined && version === undefined) throw new PlatformError('applications/version-not-found');
  const { principal, platform } = request;
  const binary = version?.binaryId ?? application.activeVersionId;
  const { activeVersionId: _, versions: __, ...copied } = application;
  const copy: StoredApplication = {
    ...copied, ...await freeNames(request, application), id: String(await platform.ids.nextInOrder()),
    owner: principal.tenant, ownerNumber: principal.tenantNumber, availability: 'PRIVATE',
  };
  const attachment = binary === undefined ? undefined : await copyAttachment(request, await loadAttachment(request, id, binary), copy.id);
  await createApplication(request, copy);
  if (attachment !== undefined) {
    await changeRecords(request, SERVER_WIDE, [attachmentChange(attachment)]);
    await updateApplication(request, copy.id, (stored) => ({ ...stored, activeVersionId: attachment.id }));
  }
  await auditApplication(request, 'Application created', copy);
  const text = applicationText(request, attachment === undefined ? copy : { ...copy, activeVersionId: attachment.id });
  return created('application', text, applicationUrl(request, copy.id));
}

async function copyAttachment(request: ApiRequest, attachment: StoredAttachment, application: string): Promise<StoredAttachment> {
  const { blobs, ids } = request.platform;
  const content = await blobs.read(attachment.blob);
  if (content === undefined) throw new Error(`the content ${attachment.blob} of an application is missing`);
  const id = String(await ids.nextInOrder());
  const { key } = await blobs.put(content, attachment.bytes);
  return { ...attachment, id, application, blob: key, created: formatTime(request.platform.now()) };
}

async function freeNames(request: ApiRequest, { key, name, contextPath }: StoredApplication): Promise<Pick<StoredApplication, 'key' | 'name' | 'contextPath'>> {
  const { tenant } = request;
  for (let count = 1; ; count += 1) {
    const prefix = count === 1 ? 'clone' : `clone${count}`;
    const names = { key: prefix + key, name: prefix + name, ...(contextPath === undefined ? {} : { contextPath: prefix + contextPath }) };
    const taken = await Promise.all([findByUnique(request, 'key', tenant, names.key), findByUnique(request, 'name', tenant, names.name),
      findByUnique(request, 'contextPath', tenant, names.contextPath ?? '')]);
    if (count >= CLONES_MAX || taken.every((one) => one === undefined)) return names;
  }
}

/** Clients use it to find out about the application behind a path; by id too. */
async function getManifest(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const owned = /^\d+$/.test(id) ? undefined : await findByUnique(request, 'contextPath', request.tenant, id);
  const others = owned !== undefined || /^\d+$/.test(id) ? [] : (await available(request, request)).filter(({ contextPath }) => contextPath === id);
  const application = owned?.application ?? others.at(0) ?? (await loadVisible(request, id)).application;
  return found('application', `{"application":${applicationText(request, application)}}`);
}

/** Own and subscribed ones of a tenant, by id. */
async function available(request: ApiRequest, tenant: { readonly tenant: number }): Promise<StoredApplication[]> {
  const subscribed = await subscribedIds(request, tenant.tenant);
  return (await allApplications(request)).filter(({ id, ownerNumber }) => ownerNumber === tenant.tenant || subscribed.has(id));
}

/** A tenant that the caller may ask about: its own, or one below it. */
function askedTenant(request: ApiRequest, id: string): Tenant | undefined {
  const tenant = request.platform.tenants.byId(id);
  return tenant !== undefined && (tenant.id === request.principal.tenant || isAbove(request, tenant)) ? tenant : undefined;
}

/** Those that the user may open: assigned ones of the user and the groups, or all of the tenant where nothing is assigned. */
async function ofUser(request: ApiRequest, userName: string): Promise<StoredApplication[]> {
  const stored = await request.platform.documents.get('user', request.tenant, userName);
  if (stored === undefined) return [];
  const user = JSON.parse(stored) as StoredUser;
  const groups = await groupsOf(request.platform.documents, request.tenant, user);
  const assigned = new Set([user.doc, ...groups.map(({ doc }) => doc)].flatMap(assignedIds));
  const all = await available(request, request);
  return assigned.size === 0 ? all : all.filter(({ id }) => assigned.has(id));
}

/** Of the member `applications` of a user or a group. */
function assignedIds(doc: string): string[] {
  const sent = splitMembers(doc).get('applications');
  if (sent === undefined || !sent.startsWith('[')) return [];
  return (JSON.parse(sent) as ({ id?: string | number; self?: string; application?: { id?: string | number; self?: string } } | null)[])
    .map((one) => (one === null ? '' : referencedId(one.application ?? one))).filter((id) => id !== '');
}

const TENANT_FILTERS = ['owner', 'providedFor', 'subscriber', 'tenant', 'user'] as const;

/** What the caller may see that fulfils the filters; without one about tenants, what the own tenant has. */
async function selected(request: ApiRequest): Promise<StoredApplication[]> {
  const { query } = request;
  const own = await available(request, request);
  if (!request.isPrivileged) return filtered(request, own);
  const isOfTenants = TENANT_FILTERS.some((name) => query.has(name));
  if (!isOfTenants && request.principal.tenant !== MANAGEMENT_TENANT) return filtered(request, own);
  const known = new Set(own.map(({ id }) => id));
  const all = (await allApplications(request)).filter((application) => known.has(application.id) || isOffered(request, application));
  return filtered(request, all);
}

async function filtered(request: ApiRequest, applications: readonly StoredApplication[]): Promise<StoredApplication[]> {
  const { query } = request;
  let found = [...applications];
  const keep = (name: string, test: (application: StoredApplication, value: string) => boolean): void => {
    const value = query.text(name);
    if (value !== undefined) found = found.filter((application) => test(application, value));
  };
  keep('name', ({ name }, value) => name === value);
  keep('type', ({ type }, value) => type === value);
  keep('owner', ({ owner }, value) => owner === value);
  keep('hasVersions', ({ versions = [] }, value) => String(versions.length > 0) === value.toLowerCase());
  for (const name of ['providedFor', 'subscriber', 'tenant'] as const) {
    const id = query.text(name);
    if (id === undefined) continue;
    const tenant = askedTenant(request, id);
    const subscribed = tenant === undefined ? new Set<string>() : await subscribedIds(request, tenant.number);
    const owns = ({ ownerNumber }: StoredApplication): boolean => tenant !== undefined && ownerNumber === tenant.number;
    found = found.filter((application) => (name === 'tenant' && owns(application))
      || (subscribed.has(application.id) && !(name === 'providedFor' && owns(application))));
  }
  const user = query.text('user');
  if (user === undefined) return found;
  const ids = new Set((await ofUser(request, user)).map(({ id }) => id));
  return found.filter(({ id }) => ids.has(id));
}

/** An own application with the context path of a subscribed one takes its place. */
function withoutOverwritten(request: ApiRequest, applications: StoredApplication[]): StoredApplication[] {
  if (!request.query.isTrue('dropOverwrittenApps')) return applications;
  const own = new Set(applications.filter(({ ownerNumber }) => ownerNumber === request.tenant).map(({ contextPath }) => contextPath));
  return applications.filter(({ ownerNumber, contextPath }) => ownerNumber === request.tenant || contextPath === undefined || !own.has(contextPath));
}

function answerList(request: ApiRequest, unfiltered: StoredApplication[]): Answer {
  const applications = withoutOverwritten(request, unfiltered);
  const isUnpaged = request.query.isTrue('noPaging') && request.page === undefined;
  const page: Page = isUnpaged ? { size: PAGE_SIZE_MAX, current: 1, offset: 0, wantsTotal: true } : pageOf(request);
  const items = applications.slice(page.offset, page.offset + page.size).map((application) => applicationText(request, application));
  return found('applicationCollection', collectionText(request, page, { name: 'applications', items, total: applications.length }));
}

const list = async (request: ApiRequest): Promise<Answer> => answerList(request, await selected(request));

async function listByName(request: ApiRequest): Promise<Answer> {
  const { name } = request.params;
  const own = await available(request, request);
  const known = new Set(own.map(({ id }) => id));
  const all = request.isPrivileged ? (await allApplications(request)).filter((one) => known.has(one.id) || isOffered(request, one)) : own;
  return answerList(request, all.filter((application) => application.name === name));
}

async function listByTenant(request: ApiRequest): Promise<Answer> {
  const tenant = askedTenant(request, request.params['tenant']);
  return answerList(request, tenant === undefined ? [] : await available(request, { tenant: tenant.number }));
}

async function listByOwner(request: ApiRequest): Promise<Answer> {
  const { tenant: owner } = request.params;
  const asked = askedTenant(request, owner);
  const all = (await allApplications(request)).filter((application) => application.owner === owner);
  const isVisible = await Promise.all(all.map(async (application) => asked !== undefined || (request.isPrivileged && isOffered(request, application))
    || isAvailableTo(request, { number: request.tenant }, application)));
  return answerList(request, all.filter((_, index) => isVisible[index]));
}

/** Of another user only for those who care for users or applications. */
async function listByUser(request: ApiRequest): Promise<Answer> {
  const { userId } = request.params;
  if (userId !== request.principal.userName && !request.isPrivileged && !request.hasRole('ROLE_USER_MANAGEMENT_READ')) {
    throw new PlatformError('security/forbidden');
  }
  return answerList(request, await ofUser(request, userId));
}

/** Takes the active archive into use again. */
async function refresh(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { activeVersionId } = application;
  if (activeVersionId === undefined) throw unprocessable(`The application ${application.id} has no active version`);
  const attachment = await loadAttachment(request, application.id, activeVersionId);
  const { old, next, isChanged } = await updateApplication(request, application.id, (stored) => activated(request, stored, attachment));
  if (isChanged) await changed(request, old, next);
  return { status: 200, text: '' };
}

const LIST_PARAMETERS = {
  ...PAGE_PARAMETERS, noPaging: flag(`All on one page of at most ${PAGE_SIZE_MAX}`),
  dropOverwrittenApps: flag('Leaves out subscribed ones with the context path of an own one'),
};
const FILTERS = {
  name: text('Exact name'), owner: text('Id of the tenant that it belongs to'), providedFor: text('Id of a tenant that is subscribed and not the owner'),
  subscriber: text('Id of a tenant that is subscribed'), tenant: text('Id of a tenant that is the owner or subscribed'),
  type: { schema: Type.Enum([...APPLICATION_TYPES]), description: 'Type' }, user: text('Name of a user who may open it'),
  hasVersions: { schema: Type.Boolean(), description: 'Whether versions were uploaded' },
};

export function applicationRoutes(): Route[] {
  const area = 'applications';
  const read = { area, access: 'owner', roles: APPLICATION_ANY } as const;
  const admin = { area, access: 'roles', roles: APPLICATION_ADMIN } as const;
  const page = [{ status: 200, description: 'A page of applications', mediaType: 'applicationCollection' }];
  const one = [{ status: 200, description: 'The application', mediaType: 'application' }];
  const noBody = { form: 'bytes', isOptional: true, contents: { 'text/plain': { schema: Type.String({ maxLength: 0 }), example: '' } } } as const;
  const made = [{ status: 201, description: 'The application', mediaType: 'application' }];
  const [all, path] = ['/application/applications', '/application/applications/{id}'];
  const example = { key: 'my-app-key', name: 'my-app', type: 'EXTERNAL', externalUrl: 'https://example.com/app', roles: ['ROLE_MY_APP_ADMIN'] };
  return [
    { ...read, method: 'GET', path: all, summary: 'List applications that the tenant has', query: { ...FILTERS, ...LIST_PARAMETERS }, answers: page,
      handle: list },
    { ...admin, method: 'POST', path: all, summary: 'Create an application', body: { schema: ApplicationPost, mediaTypes: ['application'], example },
      answers: made, handle: post },
    { ...read, method: 'GET', path, summary: 'Read an application', answers: one, handle: get },
    { ...admin, method: 'PUT', path, summary: 'Change an application; activeVersionId takes an archive into use',
      body: { schema: ApplicationPut, mediaTypes: ['application'], example: { availability: 'MARKET', description: 'For all' } }, answers: one, handle: put },
    { ...admin, method: 'DELETE', path, summary: 'Delete an application',
      query: { force: flag('Also when tenants are subscribed: their subscriptions end first') },
      answers: [{ status: 204, description: 'Deleted' }], handle: remove },
    { ...admin, method: 'POST', path: `${path}/clone`, summary: 'Copy an application with its active archive',
      query: { version: text('Version or tag to copy') }, body: noBody, answers: made, handle: clone },
    { ...admin, method: 'POST', path: `${path}/refresh`, summary: 'Take the active archive into use again',
      body: noBody, answers: [{ status: 200, description: 'Done; without a body' }], handle: refresh },
    { ...read, method: 'GET', path: `${path}/manifest`, summary: 'Application with its manifest, by id or context path', answers: one, handle: getManifest },
    { ...admin, method: 'GET', path: `${path}/bootstrapUser`, summary: 'Credentials of the bootstrap user of a microservice',
      answers: [{ status: 200, description: 'Tenant, name and password', mediaType: 'user', schema: 'applicationUser' }], handle: getBootstrapUser },
    { ...read, method: 'GET', path: '/application/applicationsByName/{name}', summary: 'Applications with a name', query: LIST_PARAMETERS, answers: page,
      handle: listByName },
    { ...read, method: 'GET', path: '/application/applicationsByTenant/{tenant}', summary: 'Applications that a tenant owns or is subscribed to',
      query: LIST_PARAMETERS, answers: page, handle: listByTenant },
    { ...read, method: 'GET', path: '/application/applicationsByOwner/{tenant}', summary: 'Applications of an owner', query: LIST_PARAMETERS, answers: page,
      handle: listByOwner },
    { ...read, method: 'GET', path: '/application/applicationsByUser/{userId}', summary: 'Applications that a user may open', query: LIST_PARAMETERS,
      answers: page, handle: listByUser },
  ];
}
