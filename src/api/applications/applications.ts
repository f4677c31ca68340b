/** Applications: created, changed, deleted and cloned (docs/spec/applications.md#requests). */
import Type from 'typebox';
import { CONTEXT_PATH } from '../../model/entities/application.ts';
import type { StoredApplication, StoredAttachment } from '../../model/entities/application.ts';
import type { RecordChange } from '../../model/commands/records.ts';
import { PlatformError } from '../../model/errors.ts';
import { ROLES, roleNamed } from '../../model/access/roles.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { Members } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { APPLICATION_ADMIN, APPLICATION_ANY, applicationListRoutes } from './lists.ts';
import {
  applicationsOfIds,
  auditOf,
  createApplication,
  findByUnique,
  loadAttachment,
  removeApplication,
  subscribedIds,
  updateApplication,
} from '../../accounts/applications/applications.ts';
import {
  ApplicationPost,
  ApplicationPut,
  applicationText,
  applicationUrl,
  mergedApplication,
  requireConsistent,
} from './text.ts';
import { applySettings, removeSettings, requireSettingsFit } from './microservice-settings.ts';
import { flag, text } from '../request/schema/query-parameters.ts';
import { retried } from '../../records/records.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import {
  bootstrapUser,
  endAllUses,
  refreshServiceUsers,
  removeUser,
  subscribers,
} from '../../accounts/applications/service-users.ts';
import { requireRoles } from '../users/text.ts';
import { loadOwn, loadVisible } from './visible.ts';

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
    id: String(await platform.ids.nextInOrder()),
    owner: principal.tenant,
    ownerNumber: principal.tenantNumber,
    key,
    name,
    type,
    availability: 'PRIVATE',
    doc: '{}',
  };
  const application = mergedApplication(request, empty, members);
  const isMicroservice = application.type === 'MICROSERVICE';
  if (isMicroservice) await requireSettingsFit(request, application);
  await createApplication(request.platform, request.principal, application);
  if (isMicroservice) {
    await bootstrapUser(request.platform, request.principal, application);
    await applySettings(request, application);
  }
  return created('application', applicationText(request, application), applicationUrl(request, application.id));
}

async function get(request: ApiRequest): Promise<Answer> {
  const { application } = await loadVisible(request, request.params['id']);
  return found('application', applicationText(request, application));
}

/** @param check may refuse the change. @throws PlatformError 404, 409, 422, 403. */
export function changeApplication(
  request: ApiRequest,
  id: string,
  sent: Members,
  check: (old: StoredApplication, next: StoredApplication) => void = () => undefined,
): Promise<StoredApplication> {
  return storeApplication(request, id, async (stored) => {
    const merged = mergedApplication(request, stored, sent);
    const isAsBefore = merged.activeVersionId === stored.activeVersionId || merged.activeVersionId === undefined;
    const decided = isAsBefore ? merged : activated(request, merged, await activatable(request, merged));
    check(stored, decided);
    return decided;
  });
}

/**
 * Changes an application, and what follows from it: the rights of its service users, first, and its settings. Both are
 * brought up to date each time, also when nothing is changed, so that a repetition makes up for what a crash left out.
 * What can refuse any of it does so before anything is written.
 * @param decide may run several times. @param further other changes that go with it. @throws PlatformError 404, 409,
 * 422.
 */
export async function storeApplication(
  request: ApiRequest,
  id: string,
  decide: (old: StoredApplication) => Promise<StoredApplication> | StoredApplication,
  further: readonly RecordChange[] = [],
): Promise<StoredApplication> {
  const { next } = await updateApplication(
    request.platform,
    request.principal,
    id,
    async (stored) => {
      const decided = await decide(stored);
      if (decided.type === 'MICROSERVICE') await requireSettingsFit(request, decided);
      return decided;
    },
    further,
  );
  if (next.type === 'MICROSERVICE') {
    await refreshServiceUsers(request.platform, request.principal, next);
    await applySettings(request, next);
  }
  return next;
}

/** @throws PlatformError 422 for an id that no archive of the application has. */
async function activatable(
  request: ApiRequest,
  { id, activeVersionId = '' }: StoredApplication,
): Promise<StoredAttachment> {
  try {
    return await loadAttachment(request.platform, id, activeVersionId);
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== 'applications/binary-not-found') throw error;
    throw new PlatformError('validation/invalid-field', {
      area: 'applications',
      name: 'activeVersionId',
      value: activeVersionId,
      limit: 'the id of a binary',
    });
  }
}

/** docs/spec/microservices.md#manifest: the name, where it may stand in a path. */
const defaultContextPath = (name: string): string | undefined => (CONTEXT_PATH_FORM.test(name) ? name : undefined);

/** What the manifest of the active archive says holds from now on. @throws PlatformError 422, 403. */
export function activated(
  request: ApiRequest,
  application: StoredApplication,
  attachment: StoredAttachment,
): StoredApplication {
  const active = { ...application, activeVersionId: attachment.id };
  if (attachment.manifest === undefined) return active;
  if (application.type !== 'MICROSERVICE') return { ...active, manifest: attachment.manifest };
  const fields = JSON.parse(attachment.manifest) as Partial<StoredApplication>;
  const next: StoredApplication = {
    ...active,
    manifest: attachment.manifest,
    contextPath: fields.contextPath ?? active.contextPath ?? defaultContextPath(fields.name ?? active.name),
    requiredRoles: fields.requiredRoles?.map(roleNamed) ?? active.requiredRoles,
    roles: fields.roles?.map(roleNamed) ?? active.roles,
  };
  requireConsistent(request, application, next);
  return next;
}

async function put(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  return found(
    'application',
    applicationText(request, await changeApplication(request, application.id, request.members())),
  );
}

async function remove(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { id } = application;
  if (!request.query.isTrue('force')) {
    const [first] = await subscribers(request.platform, id);
    if (first !== undefined) throw new PlatformError('applications/subscribed', { id, tenant: first.tenant.id });
  }
  await retried(request.platform, () => endAllUses(request.platform, request.principal, application));
  await removeApplication(request.platform, application, [
    auditOf(request.principal, 'Application deleted', application),
  ]);
  // One that was asked for meanwhile.
  await removeUser(request.platform, request.principal, application.ownerNumber, 'bootstrap', id);
  await removeSettings(request, application);
  return NO_CONTENT;
}

async function getBootstrapUser(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { id, type, requiredRoles = [] } = application;
  // The holder of its credentials gets those of its service users.
  requireRoles(
    request,
    requiredRoles.filter((role) => ROLES.includes(role)),
  );
  if (type !== 'MICROSERVICE')
    throw new PlatformError('applications/bad-request', {
      id,
      type,
      reason: 'only microservices have a bootstrap user',
    });
  return found('user', JSON.stringify(await bootstrapUser(request.platform, request.principal, application)));
}

/** A copy with its active archive. Names begin with `clone`, or `clone2` and so on when there is one already. */
async function clone(request: ApiRequest): Promise<Answer> {
  const { application } = await loadVisible(request, request.params['id']);
  const { id, type } = application;
  if (type === 'MICROSERVICE') throw unprocessable(`The application ${id} is a microservice: it cannot be cloned`);
  const asked = request.query.text('version');
  const version =
    asked === undefined
      ? undefined
      : (application.versions ?? []).find((one) => one.version === asked || one.tags.includes(asked));
  if (asked !== undefined && version === undefined) throw new PlatformError('applications/version-not-found');
  const { principal, platform } = request;
  const binary = version?.binaryId ?? application.activeVersionId;
  const { activeVersionId: _, versions: __, ...copied } = application;
  const copy: StoredApplication = {
    ...copied,
    ...(await freeNames(request, application)),
    id: String(await platform.ids.nextInOrder()),
    owner: principal.tenant,
    ownerNumber: principal.tenantNumber,
    availability: 'PRIVATE',
  };
  const attachment =
    binary === undefined
      ? undefined
      : await copyAttachment(request, await loadAttachment(request.platform, id, binary), copy.id);
  const made = attachment === undefined ? copy : { ...copy, activeVersionId: attachment.id };
  await createApplication(request.platform, request.principal, made, attachment);
  return created('application', applicationText(request, made), applicationUrl(request, copy.id));
}

async function copyAttachment(
  request: ApiRequest,
  attachment: StoredAttachment,
  application: string,
): Promise<StoredAttachment> {
  const {
    blobs,
    platform: { ids },
  } = request;
  const content = await blobs.read(attachment.blob);
  if (content === undefined) throw new Error(`the content ${attachment.blob} of an application is missing`);
  const id = String(await ids.nextInOrder());
  const { key } = await blobs.put(content, attachment.bytes);
  return { ...attachment, id, application, blob: key, created: formatTime(request.platform.now()) };
}

async function freeNames(
  request: ApiRequest,
  { key, name, contextPath }: StoredApplication,
): Promise<Pick<StoredApplication, 'key' | 'name' | 'contextPath'>> {
  const { tenant } = request;
  for (let count = 1; ; count += 1) {
    const prefix = count === 1 ? 'clone' : `clone${count}`;
    const names = {
      key: prefix + key,
      name: prefix + name,
      ...(contextPath === undefined ? {} : { contextPath: prefix + contextPath }),
    };
    const taken = await Promise.all([
      findByUnique(request.platform, 'key', tenant, names.key),
      findByUnique(request.platform, 'name', tenant, names.name),
      findByUnique(request.platform, 'contextPath', tenant, names.contextPath ?? ''),
    ]);
    if (count >= CLONES_MAX || taken.every((one) => one === undefined)) return names;
  }
}

/** Clients use it to find out about the application behind a path; by id too. */
async function getManifest(request: ApiRequest): Promise<Answer> {
  const { id } = request.params;
  const application =
    (/^\d+$/.test(id) ? undefined : await applicationAt(request, id)) ?? (await loadVisible(request, id)).application;
  return found('application', `{"application":${applicationText(request, application)}}`);
}

/** The tenant's application before subscribed ones. */
async function applicationAt(request: ApiRequest, contextPath: string): Promise<StoredApplication | undefined> {
  const own = await findByUnique(request.platform, 'contextPath', request.tenant, contextPath);
  if (own !== undefined) return own.application;
  for await (const application of applicationsOfIds(
    request.platform,
    await subscribedIds(request.platform, request.tenant),
  )) {
    if (application.contextPath === contextPath) return application;
  }
  return undefined;
}

/** Takes the active archive into use again. */
async function refresh(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { activeVersionId } = application;
  if (activeVersionId === undefined) throw unprocessable(`The application ${application.id} has no active version`);
  const attachment = await loadAttachment(request.platform, application.id, activeVersionId);
  await storeApplication(request, application.id, (stored) => activated(request, stored, attachment));
  return { status: 200, text: '' };
}

export function applicationRoutes(): Route[] {
  const area = 'applications';
  const read = { area, access: 'owner', roles: APPLICATION_ANY } as const;
  const admin = { area, access: 'roles', roles: APPLICATION_ADMIN } as const;
  const one = [{ status: 200, description: 'The application', mediaType: 'application' }];
  const noBody = {
    form: 'bytes',
    isOptional: true,
    contents: { 'text/plain': { schema: Type.String({ maxLength: 0 }), example: '' } },
  } as const;
  const made = [{ status: 201, description: 'The application', mediaType: 'application' }];
  const [all, path] = ['/application/applications', '/application/applications/{id}'];
  const example = {
    key: 'my-app-key',
    name: 'my-app',
    type: 'EXTERNAL',
    externalUrl: 'https://example.com/app',
    roles: ['ROLE_MY_APP_ADMIN'],
  };
  return [
    ...applicationListRoutes(),
    {
      ...admin,
      method: 'POST',
      path: all,
      summary: 'Create an application',
      body: { schema: ApplicationPost, mediaTypes: ['application'], example },
      answers: made,
      handle: post,
    },
    { ...read, method: 'GET', path, summary: 'Read an application', answers: one, handle: get },
    {
      ...admin,
      method: 'PUT',
      path,
      summary: 'Change an application; activeVersionId takes an archive into use',
      body: {
        schema: ApplicationPut,
        mediaTypes: ['application'],
        example: { availability: 'MARKET', description: 'For all' },
      },
      answers: one,
      handle: put,
    },
    {
      ...admin,
      method: 'DELETE',
      path,
      summary: 'Delete an application',
      query: { force: flag('Also when tenants are subscribed: their subscriptions end first') },
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
    {
      ...admin,
      method: 'POST',
      path: `${path}/clone`,
      summary: 'Copy an application with its active archive',
      query: { version: text('Version or tag to copy') },
      body: noBody,
      answers: made,
      handle: clone,
    },
    {
      ...admin,
      method: 'POST',
      path: `${path}/refresh`,
      summary: 'Take the active archive into use again',
      body: noBody,
      answers: [{ status: 200, description: 'Done; without a body' }],
      handle: refresh,
    },
    {
      ...read,
      method: 'GET',
      path: `${path}/manifest`,
      summary: 'Application with its manifest, by id or context path',
      answers: one,
      handle: getManifest,
    },
    {
      ...admin,
      method: 'GET',
      path: `${path}/bootstrapUser`,
      summary: 'Credentials of the bootstrap user of a microservice',
      answers: [
        { status: 200, description: 'Tenant, name and password', mediaType: 'user', schema: 'applicationUser' },
      ],
      handle: getBootstrapUser,
    },
  ];
}
