/** Files in the inventory: managed objects with content (docs/spec/binaries.md). */
import { createHash } from 'node:crypto';
import type { ManagedObjectDelete } from '../../actors/handlers/inventory/managed-object.ts';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { BinaryRecord, ManagedObjectUpdate } from '../../model/commands/entities.ts';
import { isDeviceUser } from '../../model/entities/device-request.ts';
import { PlatformError } from '../../model/errors.ts';
import { joinMembers, parseMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { Members } from '../../model/documents/json-document.ts';
import { PROCESSING_MODE } from '../../model/commands/processing-mode.ts';
import type { ApiRequest } from '../request/request.ts';
import { attachmentHeader, byteRangeOf, isKnownTag, isMediaType } from '../http/byte-range.ts';
import { entityText, quote, segment } from '../entities/text.ts';
import { fileBytesMax } from '../request/file-limit.ts';
import { documentPage } from '../../history/page.ts';
import { HistoryFilter } from '../../history/filter.ts';
import type { DocumentRow } from '../../history/filter.ts';
import { CHILD_FILTERS, parentsOfChild } from './query.ts';
import { limitObjects } from '../../history/access.ts';
import { textCondition } from '../../history/inventory-query/text-search.ts';
import { addParameters } from '../../history/parameters.ts';
import { listReaders } from '../lists/readers.ts';
import { linkCollections } from './text.ts';
import { createManagedObject, requireReadable } from './managed-objects.ts';
import { ANY_CONTENT } from '../http/media-types.ts';
import { readMultipart, storeContent } from '../http/multipart.ts';
import type { UploadLimits } from '../http/multipart.ts';
import { deletionRights, reachOf, loadManagedObject, requireOwner } from '../lists/owner.ts';
import { PageBudget } from '../request/page-budget.ts';
import { PAGE_PARAMETERS, collectionText, pageOf } from '../request/paging.ts';
import { text } from '../request/schema/query-parameters.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { Binary } from '../../model/schema/parts.ts';
import { FileForm } from '../../model/entities/body-schemas.ts';

const READ = ['ROLE_INVENTORY_READ', 'ROLE_MANAGED_OBJECT_READ', 'ROLE_BINARY_READ'];
/** A device fetches firmware, software and configuration with its own credentials (docs/spec/binaries.md#devices). */
const OF_DEVICES = 'ROLE_DEVICE';
/** Objects above a file that are looked at. */
const ANCESTORS_MAX = 1_000;
const ADMIN = ['ROLE_INVENTORY_ADMIN', 'ROLE_MANAGED_OBJECT_ADMIN', 'ROLE_BINARY_ADMIN'];
const CREATE = [...ADMIN, 'ROLE_INVENTORY_CREATE', 'ROLE_MANAGED_OBJECT_CREATE', 'ROLE_BINARY_CREATE'];
const TAG_LENGTH = 22;
const OCTETS = 'application/octet-stream';
/** Members that come from the content. */
const OF_CONTENT = ['c8y_IsBinary', 'length', 'contentType'];

const binaryUrl = (request: ApiRequest, id: string): string => `${request.baseUrl}/inventory/binaries/${segment(id)}`;

async function binaryTexts(request: ApiRequest, rows: readonly DocumentRow[]): Promise<string[]> {
  const budget = new PageBudget(request);
  for (const { doc } of rows) budget.take(doc.length);
  const links = await linkCollections(
    request,
    rows.map(({ entityId }) => entityId),
    budget,
  );
  return rows.map(({ entityId, doc }, index) =>
    entityText(binaryUrl(request, entityId), entityId, splitMembers(doc), links[index]),
  );
}

async function binaryText(request: ApiRequest, id: string, doc: string): Promise<string> {
  const [text] = await binaryTexts(request, [{ entityId: id, doc }]);
  return text;
}

async function uploadLimits(request: ApiRequest): Promise<UploadLimits> {
  const { blobs, refusals } = request;
  return { blobs, refusals, limitBytes: await fileBytesMax(request) };
}

/** Members of the object: what was sent in `object`, name and type of the part where it says nothing. */
function documentOf(
  sent: Members,
  file: { readonly fileName: string; readonly mediaType: string; readonly bytes: number },
): Members {
  const members: Members = new Map(sent);
  for (const name of OF_CONTENT) members.delete(name);
  if (!members.has('name') && file.fileName !== '') members.set('name', quote(file.fileName));
  if (!members.has('type') && file.mediaType !== '') members.set('type', quote(file.mediaType));
  for (const name of ['name', 'type', 'owner']) {
    const value = members.get(name);
    if (value !== undefined && value !== 'null' && !value.startsWith('"')) {
      throw new PlatformError('validation/invalid-field', { area: 'inventory', name, value, limit: 'a text' });
    }
  }
  members.set('contentType', quote(contentTypeOf(stringMember(members, 'type'), file.mediaType)));
  members.set('length', String(file.bytes));
  members.set('c8y_IsBinary', '{}');
  return members;
}

/** The field `type` of the object is the content type, unless it is something else. */
function contentTypeOf(type: string | undefined, mediaType: string): string {
  return [type ?? '', mediaType].find(isMediaType) ?? OCTETS;
}

async function post(request: ApiRequest): Promise<Answer> {
  // Processing modes are for messages: a file is stored, or not sent.
  request.mode = PROCESSING_MODE.PERSISTENT;
  const contentType = request.headers['content-type'];
  if (!/^multipart\/form-data/i.test(contentType))
    throw new PlatformError('general/unsupported-media-type', { type: contentType || 'none' });
  const body = request.bodyStream;
  if (body === undefined) throw new Error('the route streams its body');
  const upload = await readMultipart(body, contentType, await uploadLimits(request), {
    fieldBytesMax: request.platform.config.jsonBodyMaxBytes,
    isFile: (name) => name === 'file',
    isField: (name) => name === 'object',
  });
  if (upload.file === undefined)
    throw new PlatformError('general/bad-multipart', { reason: 'it has no part with a file' });
  const { key, bytes } = upload.file;
  const members = documentOf(parseMembers(upload.fields.get('object') ?? '{}'), upload.file);
  const binary: BinaryRecord = { key, bytes, contentType: stringMember(members, 'contentType') ?? OCTETS };
  const { id, doc } = await createManagedObject(request, { members, binary, adminRoles: ADMIN });
  return created('managedObject', request.wantsBody ? await binaryText(request, id, doc) : '', binaryUrl(request, id));
}

/** @throws PlatformError 404 for objects that do not exist or have no content. */
async function loadBinary(request: ApiRequest): Promise<{ id: string; doc: string; binary: BinaryRecord }> {
  const { id } = request.params;
  const doc = await loadManagedObject(request, id);
  const binary = await request.platform.documents.get('binary', request.tenant, id);
  if (binary === undefined) throw new PlatformError('inventory/no-binary', { id });
  return { id, doc, binary: JSON.parse(binary) as BinaryRecord };
}

/** Each content has a key of its own, which is for the store alone. */
const tagOf = ({ key }: BinaryRecord): string =>
  `"${createHash('sha256').update(key).digest('base64url').slice(0, TAG_LENGTH)}"`;

/**
 * Whether a file is one for devices: people have uploaded it, and it belongs to no device. What devices upload, and
 * what people give to one device, may hold secrets of that device.
 */
async function isForDevices(
  { platform: { documents }, tenant }: ApiRequest,
  file: string,
  doc: string,
): Promise<boolean> {
  const seen = new Set([file]);
  let texts: (string | undefined)[] = [doc];
  for (let open = [file]; ; ) {
    const objects = texts.filter((text) => text !== undefined).map(splitMembers);
    if (objects.some((members) => isDeviceUser(stringMember(members, 'owner') ?? '') || members.has('c8y_IsDevice')))
      return false;
    const rows = await Promise.all(
      open.map((child) => documents.list('parents', tenant, `${child}\n`, { limit: ANCESTORS_MAX })),
    );
    open = [...new Set(rows.flat().map((row) => row.id.slice(row.id.lastIndexOf('\n') + 1)))].filter(
      (parent) => !seen.has(parent),
    );
    for (const parent of open) seen.add(parent);
    if (open.length === 0 || seen.size > ANCESTORS_MAX) return open.length === 0;
    texts = await documents.getMany('managedObject', tenant, open);
  }
}

async function get(request: ApiRequest): Promise<Answer | typeof ANSWERED> {
  const { id, doc, binary } = await loadBinary(request);
  if (!request.hasRole(OF_DEVICES) || !(await isForDevices(request, id, doc))) await requireReadable(request, doc);
  const name = stringMember(splitMembers(doc), 'name') ?? id;
  const headers = [
    'Content-Type',
    binary.contentType,
    'X-Content-Type-Options',
    'nosniff',
    'Content-Disposition',
    attachmentHeader(name),
    'Accept-Ranges',
    'bytes',
  ];
  const tag = tagOf(binary);
  headers.push('ETag', tag);
  if (isKnownTag(request.headers['if-none-match'], tag)) return { status: 304, text: '', headers: ['ETag', tag] };
  // A range of a content that is another one now does not fit what the client has (RFC 9110 section 13.1.5).
  const ifRange = request.headers['if-range'].trim();
  const range = ifRange === '' || ifRange === tag ? byteRangeOf(request.headers['range'], binary.bytes) : undefined;
  if (range === 'unsatisfiable') {
    const { error, message } = new PlatformError('general/range-not-satisfiable', {
      length: binary.bytes,
      range: request.headers['range'],
    });
    const headersOfError = ['Content-Range', `bytes */${binary.bytes}`];
    return {
      status: 416,
      mediaType: 'error',
      text: JSON.stringify({ error, message, info: `${request.baseUrl}/openapi` }),
      headers: headersOfError,
    };
  }
  const pieces = await request.platform.blobs.read(binary.key, range);
  if (pieces === undefined) throw new Error(`the content ${binary.key} of the managed object ${id} is missing`);
  if (range === undefined) await request.sendContent(200, headers, binary.bytes, pieces);
  else {
    const contentRange = ['Content-Range', `bytes ${range.from}-${range.through}/${binary.bytes}`];
    await request.sendContent(206, [...headers, ...contentRange], range.through - range.from + 1, pieces);
  }
  return ANSWERED;
}

async function put(request: ApiRequest): Promise<Answer> {
  request.mode = PROCESSING_MODE.PERSISTENT;
  const { id, binary } = await loadBinary(request);
  await requireOwner(request, id);
  const body = request.bodyStream;
  if (body === undefined) throw new Error('the route streams its body');
  const { key, bytes } = await storeContent(body, await uploadLimits(request));
  const sent = request.headers['content-type'];
  const contentType = isMediaType(sent) ? sent : binary.contentType;
  const update: ManagedObjectUpdate = {
    doc: joinMembers([
      ['contentType', quote(contentType)],
      ['length', String(bytes)],
      ['c8y_IsBinary', '{}'],
    ]),
    mayChangeOwner: false,
    binary: { key, bytes, contentType },
  };
  const { doc } = await request.command<{ doc: string }>(COMMAND.MANAGED_OBJECT_UPDATE, Number(id), update);
  return created('managedObject', request.wantsBody ? await binaryText(request, id, doc) : '', binaryUrl(request, id));
}

async function remove(request: ApiRequest): Promise<Answer> {
  const { id, doc } = await loadBinary(request);
  await requireOwner(request, id);
  if (splitMembers(doc).has('c8y_IsDevice'))
    await request.platform.bulkOperations.keepCountsOfObject(request.tenant, request.history, id, false);
  const body: ManagedObjectDelete = await deletionRights(request, id);
  await request.command(COMMAND.MANAGED_OBJECT_DELETE, Number(id), body);
  return NO_CONTENT;
}

async function list(request: ApiRequest): Promise<Answer> {
  const { query } = request;
  const page = pageOf(request);
  const filter = new HistoryFilter(request.tenant).fragment('c8y_IsBinary');
  addParameters(filter, 'managed_objects', {
    ids: query.isGiven('ids') ? query.list('ids') : undefined,
    type: query.text('type'),
    owner: query.text('owner'),
  });
  const wanted = query.text('text');
  if (wanted !== undefined) filter.add(textCondition(wanted, filter));
  for (const name of Object.keys(CHILD_FILTERS))
    if (query.has(name)) filter.idIn('id', await parentsOfChild(request, name));
  limitObjects(filter, reachOf(request));
  const { rows, total, isFull } = await documentPage(listReaders(request), 'managed_objects', filter, 'id', page);
  const items = await binaryTexts(request, rows);
  return found(
    'managedObjectCollection',
    collectionText(request, page, { name: 'managedObjects', items, total, isFull }),
  );
}

const FILTERS = {
  ids: text('Ids, comma separated; unknown ones are left out, and an empty list has none'),
  type: text('Exact type'),
  owner: text('Exact owner'),
  text: text('Some property is equal to or starts with this text'),
  childAssetId: text('Parents of this asset'),
  childDeviceId: text('Parents of this device'),
  childAdditionId: text('Parents of this addition'),
};

export function binaryRoutes(): Route[] {
  const area = 'inventory';
  const path = '/inventory/binaries/{id}';
  return [
    {
      method: 'GET',
      path: '/inventory/binaries',
      area,
      access: 'owner',
      roles: READ,
      summary: 'List files',
      query: { ...FILTERS, ...PAGE_PARAMETERS },
      answers: [{ status: 200, description: 'A page of managed objects', mediaType: 'managedObjectCollection' }],
      handle: list,
    },
    {
      method: 'POST',
      path: '/inventory/binaries',
      area,
      access: 'roles',
      roles: CREATE,
      summary: 'Upload a file: parts "object" (JSON with name and type) and "file"',
      headers: ['content-type'],
      body: {
        form: 'stream',
        contents: {
          'multipart/form-data': {
            schema: FileForm,
            example: { object: '{"name":"a.log","type":"text/plain"}', file: '…' },
          },
        },
      },
      answers: [{ status: 201, description: 'The managed object of the file', mediaType: 'managedObject' }],
      handle: post,
    },
    {
      method: 'GET',
      path,
      area,
      access: 'owner',
      roles: READ,
      summary: 'Download a file, or a range of it',
      headers: ['range', 'if-range', 'if-none-match'],
      produces: ANY_CONTENT,
      answers: [
        { status: 200, description: 'The content', contentTypes: [OCTETS, '*/*'] },
        { status: 206, description: 'The range of the content', contentTypes: [OCTETS, '*/*'] },
        { status: 304, description: 'The client has the content' },
      ],
      handle: get,
    },
    {
      method: 'PUT',
      path,
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Replace the content of a file',
      headers: ['content-type'],
      body: { form: 'stream', contents: { [OCTETS]: { schema: Binary, example: 'the content' } } },
      answers: [{ status: 201, description: 'The managed object of the file', mediaType: 'managedObject' }],
      handle: put,
    },
    {
      method: 'DELETE',
      path,
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Delete a file with its managed object',
      answers: [{ status: 204, description: 'Deleted' }],
      handle: remove,
    },
  ];
}
