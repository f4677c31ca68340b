/** The one binary of an event, in one piece, as a form or in chunks (docs/spec/events.md#binaries). */
import { createHash } from 'node:crypto';
import { COMMAND } from '../../model/commands/kinds.ts';
import type { EventBinaryChange } from '../../model/commands/entities.ts';
import { PlatformError } from '../../model/errors.ts';
import {
  EVENT_BINARY_MARKS,
  EVENT_CHUNKS_MAX,
  EVENT_CHUNK_BYTES_MAX,
  eventBinaryKeys,
  eventBinaryParts,
  isLastChunk,
  parseChunkRange,
} from '../../model/entities/event-binary.ts';
import type { ChunkRange, EventBinary } from '../../model/entities/event-binary.ts';
import { joinMembers, parseMembers, splitMembers, stringMember } from '../../model/documents/json-document.ts';
import type { ApiRequest } from '../request/request.ts';
import { loadDocument } from '../entities/load.ts';
import { attachmentHeader, isMediaType } from '../http/byte-range.ts';
import { fileBytesMax } from '../request/file-limit.ts';
import { quote, segment, sourceIdOf } from '../entities/text.ts';
import { ANY_CONTENT } from '../http/media-types.ts';
import { readMultipart, storeContent } from '../http/multipart.ts';
import type { UploadLimits } from '../http/multipart.ts';
import { isOwner, requireOwner } from '../lists/owner.ts';
import { NO_CONTENT, created, found } from '../request/reply.ts';
import { ANSWERED } from '../request/answer.ts';
import type { Route } from '../request/route.ts';
import type { Answer } from '../request/answer.ts';
import { Binary } from '../../model/schema/parts.ts';
import { FileForm } from '../../model/entities/body-schemas.ts';

const READ = ['ROLE_EVENT_READ'];
const ADMIN = ['ROLE_EVENT_ADMIN'];
const OCTETS = 'application/octet-stream';
const MEDIA_TYPE = 'eventBinary';
/** Names of the limits in counters. */
const BYTES_LIMIT = 'events/binary-bytes';
const CHUNKS_LIMIT = 'events/binary-chunks';
const NAME_LENGTH_MAX = 1_000;

interface Upload {
  readonly key: string;
  readonly bytes: number;
  readonly type: string;
  readonly name?: string;
}

/** The event with its binary, and the text that the actor compares with. */
interface Target {
  readonly id: string;
  readonly source: string;
  readonly text: string | undefined;
  readonly binary: EventBinary | undefined;
}

const binaryUrl = (request: ApiRequest, id: string): string =>
  `${request.baseUrl}/event/events/${segment(id)}/binaries`;

/** @throws PlatformError `event/not-found`, 403. */
async function load(request: ApiRequest): Promise<Target> {
  const { id } = request.params;
  const { documents } = request.platform;
  const members = splitMembers(await loadDocument(request, 'event', id, 'event/not-found'));
  const source = sourceIdOf(members);
  if (request.method !== 'GET') await requireOwner(request, source, members);
  else if (!request.isPrivileged && (await isOwner(request, source, members)) !== true)
    throw new PlatformError('security/forbidden');
  const text = await documents.get('eventBinary', request.tenant, id);
  return { id, source, text, binary: text === undefined ? undefined : (JSON.parse(text) as EventBinary) };
}

/** Stores the body: the content itself, or a form with one file. @throws PlatformError 400, 413. */
async function store(request: ApiRequest, limitBytes: number): Promise<Upload> {
  const { bodyStream, headers, platform } = request;
  if (bodyStream === undefined) throw new Error('the route streams its body');
  const limits: UploadLimits = {
    blobs: request.blobs,
    limitBytes,
    refusals: { count: () => request.refused(BYTES_LIMIT) },
  };
  const contentType = headers['content-type'];
  if (/^multipart\/form-data/i.test(contentType)) {
    const { jsonBodyMaxBytes } = platform.config;
    const { fields, file } = await readMultipart(bodyStream, contentType, limits, {
      fieldBytesMax: jsonBodyMaxBytes,
      isFile: (name) => name === 'file',
      isField: (name) => name === 'object',
    });
    if (file === undefined) throw new PlatformError('general/bad-multipart', { reason: 'it has no part with a file' });
    const object = parseMembers(fields.get('object') ?? '{}');
    const name = stringMember(object, 'name') ?? file.fileName;
    const type = [stringMember(object, 'type') ?? '', file.mediaType].find(isMediaType) ?? OCTETS;
    return { key: file.key, bytes: file.bytes, type, ...(name === '' ? {} : { name: name.slice(0, NAME_LENGTH_MAX) }) };
  }
  const name = fileNameOf(headers['content-disposition']);
  const stored = await storeContent(bodyStream, limits);
  return { ...stored, type: isMediaType(contentType) ? contentType : OCTETS, ...(name === undefined ? {} : { name }) };
}

/** @param header `attachment; filename="x"`, also in the form `filename*=UTF-8''x`. */
function fileNameOf(header: string): string | undefined {
  const encoded = /;\s*filename\*\s*=\s*utf-8''([^;]+)/i.exec(header)?.[1].trim();
  if (encoded !== undefined && /^(?:[^%]|%[0-9a-f]{2})*$/i.test(encoded)) {
    return Buffer.from(
      encoded.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16))),
      'latin1',
    ).toString('utf8');
  }
  const plain = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(header);
  const name = plain === null ? '' : (plain[1]?.replace(/\\(.)/g, '$1') ?? plain[2]);
  return name === '' ? undefined : name.slice(0, NAME_LENGTH_MAX);
}

/** Fragments that mark the event. */
function marksOf(id: string, binary: EventBinary | undefined, range: string | undefined): string {
  const complete = binary?.isComplete
    ? JSON.stringify({ name: binary.name ?? id, type: binary.type, length: binary.bytes })
    : 'null';
  const [whole, part] = EVENT_BINARY_MARKS;
  return joinMembers([
    [whole, complete],
    [part, range === undefined ? 'null' : JSON.stringify({ range })],
  ]);
}

/**
 * Sets the binary unless another request was faster; contents without a reference go, once downloads of them have had
 * their time.
 */
async function change(
  request: ApiRequest,
  target: Target,
  binary: EventBinary | undefined,
  range?: string,
): Promise<void> {
  const { id, text } = target;
  const value = binary === undefined ? undefined : JSON.stringify(binary);
  const body: EventBinaryChange = { id, expected: text, value, marks: marksOf(id, binary, range) };
  try {
    await request.command(COMMAND.EVENT_BINARY_CHANGE, Number(target.source), body);
  } catch (error) {
    // Without an answer it may have been carried out: the sweep sees.
    if (error instanceof PlatformError && error.status < 500) forget(request, value, text);
    throw error instanceof PlatformError && error.code === 'general/changed-meanwhile' && request.method === 'POST'
      ? new PlatformError('event/binary-exists')
      : error;
  }
  forget(request, text, value);
}

/** What a crash leaves here is removed by the sweep. */
function forget({ platform }: ApiRequest, old: string | undefined, kept: string | undefined): void {
  const stays = new Set(kept === undefined ? [] : eventBinaryKeys(kept));
  for (const { key, bytes } of old === undefined ? [] : eventBinaryParts(old))
    if (!stays.has(key)) platform.retiredContents.retire(key, bytes);
}

function answerText(request: ApiRequest, id: string, binary: EventBinary, range?: string): string {
  const { name, type, bytes, isComplete } = binary;
  const size: [string, string] = isComplete ? ['length', String(bytes)] : ['range', quote(range ?? '')];
  const named: [string, string][] = name === undefined ? [] : [['name', quote(name)]];
  return joinMembers([
    ['self', quote(binaryUrl(request, id))],
    ...named,
    ['type', quote(type)],
    ['source', quote(id)],
    size,
  ]);
}

function done(request: ApiRequest, id: string, binary: EventBinary): Answer {
  return created(MEDIA_TYPE, request.wantsBody ? answerText(request, id, binary) : '', binaryUrl(request, id));
}

const wholeOf = ({ key, bytes, type, name }: Upload): EventBinary => ({
  type,
  ...(name === undefined ? {} : { name }),
  bytes,
  parts: [{ key, bytes }],
  isComplete: true,
});

async function post(request: ApiRequest): Promise<Answer> {
  const target = await load(request);
  const header = request.headers['content-range'];
  if (header !== '') return postChunk(request, target, header);
  if (target.binary?.isComplete) throw new PlatformError('event/binary-exists');
  const binary = wholeOf(await store(request, await fileBytesMax(request)));
  await change(request, target, binary);
  return done(request, target.id, binary);
}

async function put(request: ApiRequest): Promise<Answer> {
  const target = await load(request);
  const header = request.headers['content-range'];
  // A chunk would take the place of the whole.
  if (header !== '') throw chunkError(header, 'PUT replaces the whole binary; chunks are uploaded by POST');
  if (!target.binary?.isComplete) throw new PlatformError('event/binary-not-found');
  const binary = wholeOf(await store(request, await fileBytesMax(request)));
  await change(request, target, binary);
  return done(request, target.id, binary);
}

const chunkError = (range: string, reason: string): PlatformError =>
  new PlatformError('event/chunk', { range, reason });

/** @throws PlatformError `event/chunk`, or 413 for a chunk that is or leads beyond the limits. */
async function chunkOf(request: ApiRequest, header: string): Promise<ChunkRange> {
  const chunk = parseChunkRange(header);
  if (chunk === undefined) throw chunkError(header, 'Content-Range takes <start>-<stop>/<length or *>');
  const bytesMax = await fileBytesMax(request);
  const isTooLarge = chunk.stop - chunk.start >= EVENT_CHUNK_BYTES_MAX && EVENT_CHUNK_BYTES_MAX < bytesMax;
  if (isTooLarge || (chunk.length ?? chunk.stop + 1) > bytesMax) {
    request.refused(BYTES_LIMIT);
    throw new PlatformError('general/payload-too-large', { limit: isTooLarge ? EVENT_CHUNK_BYTES_MAX : bytesMax });
  }
  return chunk;
}

/** Whether the chunk may have been taken already and its answer lost: the place of the last one of what is stored. */
function mayBeRepeat(chunk: ChunkRange, binary: EventBinary): boolean {
  const last = binary.parts[binary.parts.length - 1];
  const isThere = chunk.start > 0 && chunk.stop + 1 === binary.bytes && chunk.start === binary.bytes - last.bytes;
  return isThere && isLastChunk(chunk, binary.length) === binary.isComplete;
}

/** @throws PlatformError unless it has the bytes of the chunk that was taken: 409, or 422 while more are missing. */
async function requireRepeat(request: ApiRequest, chunk: ChunkRange, stored: EventBinary): Promise<void> {
  const { blobs } = request.platform;
  const taken = stored.parts[stored.parts.length - 1];
  const { key, bytes } = await store(request, EVENT_CHUNK_BYTES_MAX);
  try {
    if (bytes === taken.bytes && (await digestOf(request, key)) === (await digestOf(request, taken.key))) return;
  } finally {
    await blobs.remove(key);
  }
  if (stored.isComplete) throw new PlatformError('event/binary-exists');
  throw chunkError(chunk.text, `other bytes were taken there, the next byte is ${stored.bytes}`);
}

/** SHA-256 of a stored content; it may have been removed meanwhile. */
async function digestOf({ platform }: ApiRequest, key: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of (await platform.blobs.read(key)) ?? []) hash.update(piece);
  return hash.digest('hex');
}

async function postChunk(request: ApiRequest, target: Target, header: string): Promise<Answer> {
  const chunk = await chunkOf(request, header);
  const answer = (binary: EventBinary): Answer =>
    binary.isComplete
      ? done(request, target.id, binary)
      : found(MEDIA_TYPE, request.wantsBody ? answerText(request, target.id, binary, chunk.text) : '');
  const { binary: stored } = target;
  if (stored !== undefined && mayBeRepeat(chunk, stored)) {
    await requireRepeat(request, chunk, stored);
    return answer(stored);
  }
  if (stored?.isComplete) throw new PlatformError('event/binary-exists');
  // A first chunk begins anew.
  const before = chunk.start === 0 ? undefined : stored;
  if (chunk.start !== (before?.bytes ?? 0)) throw chunkError(chunk.text, `the next byte is ${stored?.bytes ?? 0}`);
  const known = before?.length;
  if (known !== undefined && (chunk.stop >= known || (chunk.length ?? known) !== known)) {
    throw chunkError(chunk.text, `an earlier chunk has said ${known} bytes in all`);
  }
  const length = chunk.length ?? known;
  const parts = before?.parts ?? [];
  if (parts.length >= EVENT_CHUNKS_MAX) {
    request.refused(CHUNKS_LIMIT);
    throw chunkError(chunk.text, `a binary has at most ${EVENT_CHUNKS_MAX} chunks`);
  }
  const { key, bytes, type, name } = await store(request, EVENT_CHUNK_BYTES_MAX);
  if (bytes !== chunk.stop - chunk.start + 1) {
    await request.platform.blobs.remove(key);
    throw chunkError(chunk.text, `the body has ${bytes} bytes`);
  }
  const kept = before ?? { type, ...(name === undefined ? {} : { name }) };
  const binary: EventBinary = {
    ...kept,
    ...(length === undefined ? {} : { length }),
    bytes: (before?.bytes ?? 0) + bytes,
    parts: [...parts, { key, bytes }],
    isComplete: isLastChunk(chunk, known),
  };
  await change(request, target, binary, binary.isComplete ? undefined : chunk.text);
  return answer(binary);
}

async function get(request: ApiRequest): Promise<typeof ANSWERED> {
  const { id, binary } = await load(request);
  if (!binary?.isComplete) throw new PlatformError('event/binary-not-found');
  const headers = [
    'Content-Type',
    binary.type,
    'X-Content-Type-Options',
    'nosniff',
    'Content-Disposition',
    attachmentHeader(binary.name ?? id),
  ];
  await request.sendContent(200, headers, binary.bytes, pieces(request, binary));
  return ANSWERED;
}

async function* pieces(request: ApiRequest, binary: EventBinary): AsyncIterable<Uint8Array> {
  for (const { key } of binary.parts) {
    const content = await request.platform.blobs.read(key);
    if (content === undefined) throw new Error(`the content ${key} of an event is missing`);
    yield* content;
  }
}

async function remove(request: ApiRequest): Promise<Answer> {
  const target = await load(request);
  if (target.binary === undefined) throw new PlatformError('event/binary-not-found');
  await change(request, target, undefined);
  return NO_CONTENT;
}

export function eventBinaryRoutes(): Route[] {
  const area = 'event';
  const path = '/event/events/{id}/binaries';
  const stored = { status: 201, description: 'The binary', mediaType: MEDIA_TYPE };
  const headers = ['content-type', 'content-disposition', 'content-range'];
  const contents = {
    [OCTETS]: { schema: Binary, example: 'the content' },
    'multipart/form-data': { schema: FileForm, example: { object: '{"name":"a.jpg","type":"image/jpeg"}', file: '…' } },
  };
  const body = { form: 'stream', contents } as const;
  return [
    {
      method: 'GET',
      path,
      area,
      access: 'owner',
      roles: READ,
      summary: 'Download the binary of an event',
      produces: ANY_CONTENT,
      answers: [{ status: 200, description: 'The content', contentTypes: [OCTETS, '*/*'] }],
      handle: get,
    },
    {
      method: 'POST',
      path,
      area,
      access: 'owner',
      roles: ADMIN,
      headers,
      body,
      summary: 'Attach a binary to an event: the content, a form with one file, or a chunk with Content-Range',
      answers: [
        {
          status: 200,
          description: 'The chunk was taken; more are missing',
          mediaType: MEDIA_TYPE,
          schema: 'eventBinaryChunk',
        },
        stored,
      ],
      handle: post,
    },
    {
      method: 'PUT',
      path,
      area,
      access: 'owner',
      roles: ADMIN,
      headers,
      body,
      summary: 'Replace the binary of an event',
      answers: [stored],
      handle: put,
    },
    {
      method: 'DELETE',
      path,
      area,
      access: 'owner',
      roles: ADMIN,
      summary: 'Remove the binary of an event',
      answers: [{ status: 204, description: 'Removed' }],
      handle: remove,
    },
  ];
}
