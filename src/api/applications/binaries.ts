/**
 * Archives of applications: uploaded, checked, listed, downloaded and deleted, with or without a version
 * (docs/spec/applications.md#archives). The image of a microservice is stored, not run.
 */
import Type from 'typebox';
import type { TSchema } from 'typebox';
import { VERSION_FORM } from '../../model/entities/application.ts';
import type { ApplicationVersion, StoredApplication, StoredAttachment } from '../../model/entities/application.ts';
import { PlatformError } from '../../model/errors.ts';
import { formatTime } from '../../model/documents/iso-time.ts';
import type { ApiRequest } from '../request/request.ts';
import { APPLICATION_ADMIN, APPLICATION_ANY } from './lists.ts';
import {
  attachmentChange,
  attachmentRemoval,
  attachmentsOfApplication,
  loadAttachment,
  requireRoomForAttachment,
} from '../../accounts/applications/applications.ts';
import { ArchiveForm, FilesForm, VersionForm } from './schemas.ts';
import { applicationUrl, attachmentText, binaryUrl, versionText } from './text.ts';
import { activated, storeApplication } from './applications.ts';
import { archiveLimit } from './archive-limits.ts';
import { compileBodyCheck } from '../../model/schema/body-check.ts';
import { attachmentHeader } from '../http/byte-range.ts';
import { quote, segment } from '../entities/text.ts';
import { ANY_CONTENT } from '../http/media-types.ts';
import {
  MANIFEST_BYTES_MAX,
  MANIFEST_FILES,
  manifestText,
  requireMicroserviceManifest,
} from './microservice-manifest.ts';
import { readMultipart, storeContent } from '../http/multipart.ts';
import type { MultipartUpload } from '../http/multipart.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { text } from '../request/schema/query-parameters.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import type { RouteBody } from '../request/route-rules.ts';
import { badArchive, openArchive, readEntry, readThrough } from './zip-archive.ts';
import type { ArchiveSource } from './zip-archive.ts';
import { rewritten } from './zip-writer.ts';
import { loadOwn, loadVisible } from './visible.ts';

const IMAGE_FILE = 'image.tar';
const NAME_LENGTH_MAX = 1_000;
/** Versions of one application are as many as its archives; tags of one version. */
const TAGS_MAX = 100;
const LATEST = 'latest';
const ZIP_TYPE = 'application/zip';
const FILE_PARTS = new Set(['file', 'applicationBinary']);
/** JSON, which browsers and curl may send with a file name. */
const VERSION_PART = 'applicationVersion';

/** Checks the archive that was stored. @throws PlatformError 422. @returns the text of its manifest. */
async function checkedManifest(
  request: ApiRequest,
  application: StoredApplication,
  source: ArchiveSource,
): Promise<string | undefined> {
  const { refusals } = request;
  const { unzipped, unzippedLimit } = archiveLimit(application.type);
  const archive = await openArchive(source, { bytesMax: unzipped, bytesLimit: unzippedLimit, refusals });
  const entry = MANIFEST_FILES.map((name) => archive.get(name)).find((one) => one !== undefined);
  const manifest = entry === undefined ? undefined : manifestText(await readEntry(source, entry, MANIFEST_BYTES_MAX));
  if (application.type === 'MICROSERVICE') {
    if (manifest === undefined) throw badArchive(`it has no ${MANIFEST_FILES.join(' or ')}`);
    if (!archive.has(IMAGE_FILE)) throw badArchive(`it has no ${IMAGE_FILE}`);
    requireMicroserviceManifest(manifest);
  }
  // What is served or downloaded has to be readable, and as long as the list of entries says: the limits are decided by
  // that list.
  for (const file of archive.values()) await readThrough(source, file, { refusals });
  return manifest;
}

/**
 * Takes the form, stores its file and checks it. Nothing stays of a refused one. @throws PlatformError 400, 413, 422.
 */
async function upload(
  request: ApiRequest,
  application: StoredApplication,
): Promise<{ attachment: StoredAttachment; form: MultipartUpload }> {
  const contentType = request.headers['content-type'];
  if (!/^multipart\/form-data/i.test(contentType))
    throw new PlatformError('general/unsupported-media-type', { type: contentType || 'none' });
  const { bodyStream, platform } = request;
  if (bodyStream === undefined) throw new Error('the route streams its body');
  const { id, type } = application;
  if (type !== 'HOSTED' && type !== 'MICROSERVICE') {
    throw new PlatformError('applications/unprocessable', {
      reason: `The application ${id} has the type ${type}: only HOSTED and MICROSERVICE have binaries`,
    });
  }
  await requireRoomForAttachment(request.platform, id);
  const { zipped, zippedLimit } = archiveLimit(type);
  const limits = {
    blobs: request.blobs,
    limitBytes: zipped,
    refusals: { count: () => request.refused(zippedLimit) },
  };
  const form = await readMultipart(bodyStream, contentType, limits, {
    fieldBytesMax: platform.config.jsonBodyMaxBytes,
    isFile: (name) => FILE_PARTS.has(name),
    isField: (name) => name === VERSION_PART,
  });
  if (form.file === undefined)
    throw new PlatformError('general/bad-multipart', { reason: 'it has no part with a file' });
  const { key, bytes, fileName } = form.file;
  try {
    const manifest = await checkedManifest(request, application, { blobs: platform.blobs, key, bytes });
    const name = (fileName || form.fields.get('fileName') || `${application.name}.zip`).slice(0, NAME_LENGTH_MAX);
    const attachment: StoredAttachment = {
      id: String(await platform.ids.nextInOrder()),
      application: id,
      name,
      blob: key,
      bytes,
      created: formatTime(platform.now()),
      ...(manifest === undefined ? {} : { manifest }),
    };
    return { attachment, form };
  } catch (error) {
    await platform.blobs.remove(key);
    throw error;
  }
}

/**
 * The archive becomes part of the application. A microservice uses the newest at once, another application its first
 * one, or the latest version.
 */
async function attach(
  request: ApiRequest,
  id: string,
  attachment: StoredAttachment,
  version?: ApplicationVersion,
): Promise<StoredApplication> {
  try {
    return await storeApplication(
      request,
      id,
      (stored) => {
        const { versions = [] } = stored;
        if (version !== undefined) requireNewVersion(stored, version);
        const isUsed =
          stored.type === 'MICROSERVICE' ||
          stored.activeVersionId === undefined ||
          version?.tags.includes(LATEST) === true;
        const listed = version === undefined ? stored : { ...stored, versions: [...versions, version] };
        return isUsed ? activated(request, listed, attachment) : listed;
      },
      [attachmentChange(attachment)],
    );
  } catch (error) {
    // Not of a failure behind the change.
    if (error instanceof PlatformError) await removeUnnamed(request, attachment);
    throw error;
  }
}

async function removeUnnamed(request: ApiRequest, attachment: StoredAttachment): Promise<void> {
  const attachments = await attachmentsOfApplication(request.platform, attachment.application);
  if (!attachments.some(({ blob }) => blob === attachment.blob)) await request.platform.blobs.remove(attachment.blob);
}

/** @throws PlatformError 409 for a version or tag that there is already. */
function requireNewVersion({ id, versions = [] }: StoredApplication, { version, tags }: ApplicationVersion): void {
  if (versions.some((one) => one.version === version))
    throw new PlatformError('applications/version-duplicate', { id, what: 'version', value: version });
  const taken = tags.find((tag) => versions.some((one) => one.tags.includes(tag)));
  if (taken !== undefined) throw new PlatformError('applications/version-duplicate', { id, what: 'tag', value: taken });
}

async function post(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { attachment } = await upload(request, application);
  const next = await attach(request, application.id, attachment);
  return created(
    'applicationBinary',
    attachmentText(request, next, attachment),
    binaryUrl(request, application.id, attachment.id),
  );
}

async function list(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const page = pageOf(request);
  const attachments = await attachmentsOfApplication(request.platform, application.id);
  const items = attachments
    .slice(page.offset, page.offset + page.size)
    .map((attachment) => attachmentText(request, application, attachment));
  return found(
    'applicationBinaries',
    collectionText(request, page, { name: 'attachments', items, total: attachments.length }),
  );
}

async function download(request: ApiRequest): Promise<typeof ANSWERED> {
  const { id, binaryId } = request.params;
  const { application } = await loadOwn(request, id);
  const { blob, bytes, name } = await loadAttachment(request.platform, application.id, binaryId);
  const pieces = await request.platform.blobs.read(blob);
  if (pieces === undefined) throw new Error(`the content ${blob} of the application ${id} is missing`);
  await request.sendContent(
    200,
    ['Content-Type', ZIP_TYPE, 'X-Content-Type-Options', 'nosniff', 'Content-Disposition', attachmentHeader(name)],
    bytes,
    pieces,
  );
  return ANSWERED;
}

/** With the version that it is. The active one can be deleted too: then none is active. */
async function removeAttachment(request: ApiRequest, attachment: StoredAttachment): Promise<void> {
  const { application, id } = attachment;
  await storeApplication(
    request,
    application,
    async (stored) => {
      // Another request may have deleted it meanwhile.
      await loadAttachment(request.platform, application, id);
      const version = stored.versions?.find(({ binaryId }) => binaryId === id);
      if (version?.tags.includes(LATEST)) throw new PlatformError('applications/latest', { version: version.version });
      const { activeVersionId, versions, ...others } = stored;
      const left = versions?.filter(({ binaryId }) => binaryId !== id) ?? [];
      return {
        ...others,
        ...(activeVersionId === id ? {} : { activeVersionId }),
        ...(left.length === 0 ? {} : { versions: left }),
      };
    },
    [attachmentRemoval(attachment)],
  );
  await request.platform.blobs.remove(attachment.blob);
}

async function remove(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  await removeAttachment(request, await loadAttachment(request.platform, application.id, request.params['binaryId']));
  return NO_CONTENT;
}

/**
 * Text files by path, each a field of the form, take the place of those of the active archive. The archive is written
 * anew.
 */
async function postFiles(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { id, type, activeVersionId } = application;
  if (type !== 'HOSTED' || activeVersionId === undefined) {
    throw new PlatformError('applications/unprocessable', {
      reason: `The application ${id} is not a web application with an active archive`,
    });
  }
  const { blobs, bodyStream, headers, platform } = request;
  if (bodyStream === undefined) throw new Error('the route streams its body');
  const old = await loadAttachment(request.platform, id, activeVersionId);
  const { config } = platform;
  const { refusals } = request;
  const { zipped, zippedLimit, unzipped, unzippedLimit } = archiveLimit(type);
  const form = await readMultipart(
    bodyStream,
    headers['content-type'],
    { blobs, refusals, limitBytes: 0 },
    { fieldBytesMax: config.jsonBodyMaxBytes },
  );
  if (form.file !== undefined || form.fields.size === 0)
    throw new PlatformError('general/bad-multipart', { reason: 'it takes text files as fields' });
  const source = { blobs, key: old.blob, bytes: old.bytes };
  const archive = await openArchive(source, { bytesMax: unzipped, bytesLimit: unzippedLimit, refusals });
  const files = new Map(Array.from(form.fields, ([name, content]) => [name, Buffer.from(content)]));
  const limits = { blobs, limitBytes: zipped, refusals: { count: () => request.refused(zippedLimit) } };
  const { key, bytes } = await storeContent(rewritten(source, archive, files), limits);
  try {
    const manifest = await checkedManifest(request, application, { blobs, key, bytes });
    const { manifest: _, ...kept } = old;
    const attachment: StoredAttachment = {
      ...kept,
      id: String(await platform.ids.nextInOrder()),
      blob: key,
      bytes,
      created: formatTime(platform.now()),
      ...(manifest === undefined ? {} : { manifest }),
    };
    const next = await storeApplication(
      request,
      id,
      async (stored) => {
        await loadAttachment(request.platform, id, old.id);
        const versions = stored.versions?.map((one) =>
          one.binaryId === old.id ? { ...one, binaryId: attachment.id } : one,
        );
        return activated(request, { ...stored, ...(versions === undefined ? {} : { versions }) }, attachment);
      },
      [attachmentRemoval(old), attachmentChange(attachment)],
    );
    await blobs.remove(old.blob);
    return created(
      'applicationBinary',
      attachmentText(request, next, attachment),
      binaryUrl(request, id, attachment.id),
    );
  } catch (error) {
    if (
      error instanceof PlatformError &&
      !(await attachmentsOfApplication(request.platform, id)).some(({ blob }) => blob === key)
    )
      await blobs.remove(key);
    throw error;
  }
}

const Name = Type.String({ pattern: VERSION_FORM });
const Tags = Type.Optional(Type.Array(Name, { maxItems: TAGS_MAX }));
const VersionPart = Type.Object({ version: Name, tags: Tags, tag: Tags }, { additionalProperties: true });
const TagsBody = Type.Object({ tags: Tags, tag: Tags }, { additionalProperties: true });
const checkVersion = compileBodyCheck(VersionPart, 'applications');

interface SentTags {
  readonly tag?: readonly string[];
  readonly tags?: readonly string[];
}
const tagsOf = ({ tag, tags }: SentTags): string[] => [...new Set(tag ?? tags ?? [])];

/** @throws PlatformError 400, 422. */
function sentVersion(form: MultipartUpload): { version: string; tags: string[] } {
  const part = form.fields.get(VERSION_PART);
  if (part === undefined) throw new PlatformError('validation/mandatory-fields', { names: VERSION_PART });
  let value: unknown;
  try {
    value = JSON.parse(part);
  } catch (error) {
    throw new PlatformError('general/bad-json', { reason: (error as Error).message });
  }
  checkVersion(value);
  const sent = value as SentTags & { version: string };
  return { version: sent.version, tags: tagsOf(sent) };
}

async function postVersion(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const { attachment, form } = await upload(request, application);
  let version: ApplicationVersion;
  try {
    version = { ...sentVersion(form), binaryId: attachment.id };
  } catch (error) {
    await request.platform.blobs.remove(attachment.blob);
    throw error;
  }
  await attach(request, application.id, attachment, version);
  return created(
    'applicationVersion',
    versionText(version),
    `${applicationUrl(request, application.id)}/versions/${segment(version.version)}`,
  );
}

/** By `version` or `tag` of the query, not both. @throws PlatformError 422, 404. */
function asked(request: ApiRequest, { versions = [] }: StoredApplication): ApplicationVersion | undefined {
  const [version, tag] = [request.query.text('version'), request.query.text('tag')];
  if (version !== undefined && tag !== undefined) {
    throw new PlatformError('general/invalid-parameter', { name: 'tag', value: tag, limit: 'no value beside version' });
  }
  if (version === undefined && tag === undefined) return undefined;
  const wanted = versions.find((one) =>
    version === undefined ? one.tags.includes(tag ?? '') : one.version === version,
  );
  if (wanted === undefined) throw new PlatformError('applications/version-not-found');
  return wanted;
}

async function listVersions(request: ApiRequest): Promise<Answer> {
  const { application } = await loadVisible(request, request.params['id']);
  const wanted = asked(request, application);
  if (wanted !== undefined) return found('applicationVersion', versionText(wanted));
  const self = `${applicationUrl(request, application.id)}/versions`;
  return found(
    'applicationVersionCollection',
    `{"self":${quote(self)},"applicationVersions":[${(application.versions ?? []).map(versionText).join(',')}]}`,
  );
}

/**
 * The tags of a version; another version that has one of them loses it. The latest version is taken into use. The tag
 * goes to another version, it does not just end: the archive that it keeps from being deleted is the one in use.
 * @throws PlatformError 422, 404, 409.
 */
async function putVersion(request: ApiRequest): Promise<Answer> {
  const { id, version: name } = request.params;
  const { application } = await loadOwn(request, id);
  const sent = JSON.parse(request.bodyText()) as SentTags;
  if (sent.tag === undefined && sent.tags === undefined)
    throw new PlatformError('validation/mandatory-fields', { names: 'tag' });
  const tags = tagsOf(sent);
  const attachments = await attachmentsOfApplication(request.platform, application.id);
  const next = await storeApplication(request, application.id, (stored) => {
    const { versions = [] } = stored;
    const wanted = versions.find(({ version }) => version === name);
    const attachment = attachments.find((one) => one.id === wanted?.binaryId);
    if (wanted === undefined || attachment === undefined) throw new PlatformError('applications/version-not-found');
    if (wanted.tags.includes(LATEST) && !tags.includes(LATEST))
      throw new PlatformError('applications/latest', { version: name });
    const tagged = versions.map((one) =>
      one === wanted ? { ...one, tags } : { ...one, tags: one.tags.filter((tag) => !tags.includes(tag)) },
    );
    const listed = { ...stored, versions: tagged };
    return tags.includes(LATEST) && stored.activeVersionId !== attachment.id
      ? activated(request, listed, attachment)
      : listed;
  });
  const stored = next.versions?.find(({ version }) => version === name);
  return created(
    'applicationVersion',
    stored === undefined ? '{}' : versionText(stored),
    `${applicationUrl(request, id)}/versions/${segment(name)}`,
  );
}

async function removeVersion(request: ApiRequest): Promise<Answer> {
  const { application } = await loadOwn(request, request.params['id']);
  const wanted = asked(request, application);
  if (wanted === undefined) throw new PlatformError('validation/mandatory-fields', { names: 'version' });
  await removeAttachment(request, await loadAttachment(request.platform, application.id, wanted.binaryId));
  return NO_CONTENT;
}

export function applicationBinaryRoutes(): Route[] {
  const area = 'applications';
  const admin = { area, access: 'roles', roles: APPLICATION_ADMIN } as const;
  const read = { area, access: 'roles', roles: APPLICATION_ANY } as const;
  const binaries = '/application/applications/{id}/binaries';
  const versions = '/application/applications/{id}/versions';
  const form = (schema: TSchema, example: object): RouteBody => ({
    form: 'stream',
    contents: { 'multipart/form-data': { schema, example } },
  });
  const one = { version: text('The version'), tag: text('A tag of the version; not beside version') };
  const madeVersion = [{ status: 201, description: 'The version', mediaType: 'applicationVersion' }];
  return [
    {
      ...read,
      method: 'GET',
      path: binaries,
      summary: 'List archives of an application',
      query: PAGE_PARAMETERS,
      answers: [{ status: 200, description: 'A page of archives', mediaType: 'applicationBinaries' }],
      handle: list,
    },
    {
      ...admin,
      method: 'POST',
      path: binaries,
      summary: 'Upload an archive: part "file", a ZIP; of a microservice with its manifest and image.tar',
      headers: ['content-type'],
      body: form(ArchiveForm, { file: 'PK…' }),
      answers: [{ status: 201, description: 'The archive', mediaType: 'applicationBinary' }],
      handle: post,
    },
    {
      ...admin,
      method: 'POST',
      path: `${binaries}/files`,
      summary: 'Replace text files of the active archive of a web application: a field for each path',
      headers: ['content-type'],
      body: form(FilesForm, { 'cumulocity.json': '{"name":"web"}' }),
      answers: [{ status: 201, description: 'The new archive', mediaType: 'applicationBinary' }],
      handle: postFiles,
    },
    {
      ...read,
      method: 'GET',
      path: `${binaries}/{binaryId}`,
      summary: 'Download an archive',
      produces: ANY_CONTENT,
      answers: [{ status: 200, description: 'The ZIP', contentTypes: [ZIP_TYPE] }],
      handle: download,
    },
    {
      ...admin,
      method: 'DELETE',
      path: `${binaries}/{binaryId}`,
      summary: 'Delete an archive',
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
    {
      ...read,
      method: 'GET',
      path: versions,
      summary: 'List versions of an application, or read one',
      query: one,
      answers: [{ status: 200, description: 'The versions', mediaType: 'applicationVersionCollection' }],
      handle: listVersions,
    },
    {
      ...admin,
      method: 'POST',
      path: versions,
      headers: ['content-type'],
      summary:
        'Upload a version: parts "applicationBinary" (a ZIP) and "applicationVersion" (JSON with version and tags)',
      body: form(VersionForm, {
        applicationVersion: '{"version":"1.0.0","tags":["latest"]}',
        applicationBinary: 'PK…',
      }),
      answers: madeVersion,
      handle: postVersion,
    },
    {
      ...admin,
      method: 'PUT',
      path: `${versions}/{version}`,
      summary: 'Set the tags of a version',
      body: { schema: TagsBody, mediaTypes: ['applicationVersion'], example: { tags: ['latest'] } },
      answers: madeVersion,
      handle: putVersion,
    },
    {
      ...admin,
      method: 'DELETE',
      path: versions,
      summary: 'Delete a version with its archive',
      query: one,
      answers: [{ status: 204, description: 'Deleted' }],
      handle: removeVersion,
    },
  ];
}
