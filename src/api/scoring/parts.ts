/** What the resources of scoring share (docs/spec/scoring.md). */
import { isGroup } from '../../actors/handlers/inventory/managed-object.ts';
import { splitMembers, stringMember } from '../../model/documents/json-document.ts';
import { DEVICE_MARKER } from '../../history/objects-below.ts';
import { isEntityId } from '../../model/entities/entity-id.ts';
import { PlatformError } from '../../model/errors.ts';
import type { Page } from '../../model/documents/page.ts';
import type { Asker } from '../../scoring/asker.ts';
import { FILE_BYTES_MAX, SCORING_LIMIT } from '../../scoring/limits.ts';
import type { OnnxScoring } from '../../scoring/onnx/onnx-scoring.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { Upload } from '../../scoring/uploads.ts';
import { ANY_CONTENT, JSON_TYPE } from '../http/media-types.ts';
import { readFilePart, readMultipart, storeContent } from '../http/multipart.ts';
import type { UploadLimits } from '../http/multipart.ts';
import type { Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { RouteAnswer, RouteBody } from '../request/route-rules.ts';
import type { QueryParameters } from '../request/schema/query-values.ts';
import { text } from '../request/schema/query-parameters.ts';
import type { TSchema } from 'typebox';
import Type from 'typebox';
import { Binary, OPEN } from '../../model/schema/parts.ts';

export const JSON_CONTENT = 'application/json';
export const SCORING_PATH = '/service/scoring';
const ADMIN_ROLE = 'ROLE_MACHINE_LEARNING_ADMIN';
const READ_ROLE = 'ROLE_MACHINE_LEARNING_READ';
const OCTETS = 'application/octet-stream';
const MULTIPART = 'multipart/form-data';
const FIELD_BYTES_MAX = 65_536;

const common = { area: 'scoring', access: 'roles', produces: ANY_CONTENT, hasErrorList: true } as const;
export const READ = { ...common, roles: [READ_ROLE, ADMIN_ROLE] } as const;
export const ADMIN = { ...common, roles: [ADMIN_ROLE] } as const;

export const XML_CONTENT = 'application/xml';

export const json = (value: unknown, status = 200): Answer => jsonText(JSON.stringify(value), status);
export const jsonText = (text: string, status = 200): Answer => ({ status, text, contentType: JSON_TYPE });

/** An answer with JSON, for /openapi.json. */
export const answers = (description: string, schema: TSchema, example: unknown, status = 200): RouteAnswer => ({
  status,
  description,
  contentTypes: [JSON_CONTENT],
  json: schema,
  example,
});

/** @throws Error on a node without the role gateway, which has no such routes. */
export function scoringOf({ platform: { scoring } }: ApiRequest): Scoring {
  if (scoring === undefined) throw new Error('this node does not score');
  return scoring;
}

/** As `scoringOf`, of ONNX models and pipelines. */
export function onnxOf({ platform: { onnx } }: ApiRequest): OnnxScoring {
  if (onnx === undefined) throw new Error('this node does not score');
  return onnx;
}

export const askerOf = ({ tenant, principal, exchange }: ApiRequest): Asker => ({
  tenant,
  user: principal.userName,
  signal: exchange.signal,
});

/** Body and parameters of an upload: the content itself with its name in the query, or a form. */
export const FILE_QUERY: QueryParameters = { file: text('Name of the file, where the body is its content') };
export const FILE_BODY: RouteBody = {
  form: 'stream',
  contents: {
    [OCTETS]: { schema: Binary, example: 'the content' },
    [MULTIPART]: { schema: Type.Object({ file: Binary }, OPEN), example: { file: '…' } },
  },
};
/** The same for records, which may come by their own types too. */
export const BATCH_BODY: RouteBody = {
  form: 'stream',
  contents: {
    ...FILE_BODY.contents,
    'text/csv': { schema: Binary, example: 'temperature,rise\n260,1\n' },
    [JSON_CONTENT]: { schema: Type.Array(Type.Object({}, OPEN)), example: [{ temperature: 260, rise: 1 }] },
    'application/zip': { schema: Binary, example: 'the content' },
    'application/gzip': { schema: Binary, example: 'the content' },
  },
};
export const FILE_HEADERS = ['content-type'] as const;

const isForm = (request: ApiRequest): boolean => /^multipart\/form-data/i.test(request.headers['content-type'] ?? '');

const limitsOf = ({ blobs, refusals }: ApiRequest): UploadLimits => ({
  blobs,
  refusals,
  limitBytes: FILE_BYTES_MAX,
  limit: SCORING_LIMIT.FILE_BYTES,
});

/** Stores the file of the request. @throws PlatformError 400 without one, 413 for one that is too large. */
export async function storeUpload(request: ApiRequest): Promise<Upload> {
  const body = bodyOf(request);
  const limits = limitsOf(request);
  if (!isForm(request)) {
    const { key, bytes } = await storeContent(body, limits);
    return requireContent({ fileName: request.query.text('file') ?? '', key, bytes });
  }
  const { file } = await readMultipart(body, request.headers['content-type'] ?? '', limits, PART_RULES);
  if (file === undefined) throw new PlatformError('scoring/empty-input');
  return requireContent({ ...file, fileName: file.fileName || (request.query.text('file') ?? '') });
}

function requireContent({ fileName, key, bytes }: Upload): Upload {
  if (bytes === 0) throw new PlatformError('scoring/empty-input');
  return { fileName, key, bytes };
}

const PART_RULES = { fieldBytesMax: FIELD_BYTES_MAX, isFile: (name: string) => name === 'file' };

/**
 * Hands the content of the request, or of its file, to `take` as it comes. What `take` leaves is read and dropped: a
 * client that still sends would not read the answer. @throws PlatformError 400 without a file, 413 beyond 500 MiB.
 */
export async function readContent<Result>(
  request: ApiRequest,
  take: (content: AsyncIterable<Uint8Array>, fileName: string) => Promise<Result>,
): Promise<Result> {
  const body = bodyOf(request);
  const { refusals } = request;
  const toEnd = async (content: AsyncIterable<Uint8Array>, fileName: string): Promise<{ result: Result }> => {
    const source = bounded(request, content);
    const drop = async (): Promise<void> => {
      for (let next = await source.next(); next.done !== true; next = await source.next());
    };
    try {
      const result = await take({ [Symbol.asyncIterator]: () => ({ next: () => source.next() }) }, fileName);
      await drop();
      return { result };
    } catch (error) {
      // Why the rest cannot be read does not matter then.
      if (error instanceof PlatformError && error.status === 400) await drop().catch(() => undefined);
      throw error;
    }
  };
  if (!isForm(request)) return (await toEnd(body, request.query.text('file') ?? '')).result;
  const limits = { refusals, limitBytes: FILE_BYTES_MAX, limit: SCORING_LIMIT.FILE_BYTES };
  const { file } = await readFilePart(body, request.headers['content-type'] ?? '', limits, PART_RULES, toEnd);
  if (file === undefined) throw new PlatformError('scoring/empty-input');
  return file.result;
}

/** What is read of a body at once: a client may send it byte by byte, and each piece costs what reads it. */
const PIECE_BYTES = 65_536;

/** Small pieces put together. */
export async function* inLargePieces(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array = new Uint8Array(PIECE_BYTES);
  let used = 0;
  for await (const piece of content) {
    if (used + piece.length > PIECE_BYTES) {
      if (used > 0) yield held.subarray(0, used);
      held = new Uint8Array(PIECE_BYTES);
      used = 0;
    }
    if (piece.length >= PIECE_BYTES) yield piece;
    else {
      held.set(piece, used);
      used += piece.length;
    }
  }
  if (used > 0) yield held.subarray(0, used);
}

async function* bounded(request: ApiRequest, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of inLargePieces(content)) {
    bytes += piece.length;
    if (bytes > FILE_BYTES_MAX) {
      request.refused(SCORING_LIMIT.FILE_BYTES);
      throw new PlatformError('general/payload-too-large', { limit: FILE_BYTES_MAX });
    }
    yield piece;
  }
}

function bodyOf(request: ApiRequest): NonNullable<ApiRequest['bodyStream']> {
  if (request.bodyStream === undefined) throw new Error('the route streams its body');
  return request.bodyStream;
}

/** A list of scoring: the member with its items, and its path below the base path of scoring. */
export interface ListName {
  readonly member: string;
  readonly path: string;
}

/**
 * The page of a list as scoring shows it: links without the host, null where that page does not exist. The path of
 * the request may be another one: a deletion answers with a page of the rest.
 *
 * @param shown makes what is shown, of the items of the page alone
 */
export function pageOfList<Item>(
  request: ApiRequest,
  { member, path }: ListName,
  all: readonly Item[],
  page: Page,
  shown: (item: Item) => unknown = (item) => item,
): Record<string, unknown> {
  const items = all.slice(page.offset, page.offset + page.size).map(shown);
  const last = Math.max(1, Math.ceil(all.length / page.size));
  const link = (current: number): string => pageLink(request, path, page.size, current);
  return {
    [member]: items,
    next: page.current < last ? link(page.current + 1) : null,
    prev: page.current > 1 && page.current <= last + 1 ? link(page.current - 1) : null,
    statistics: {
      currentPage: page.current,
      totalPages: page.wantsTotal ? last : null,
      pageSize: page.size,
    },
  };
}

/** @param path as in `ListName` @param size undefined: the pages have a fixed size */
export function pageLink({ exchange }: ApiRequest, path: string, size: number | undefined, current: number): string {
  // The base path that the client uses: it has two names.
  const [base = SCORING_PATH] = /^\/[^/]+\/[^/]+/.exec(exchange.path) ?? [];
  const sized = size === undefined ? '' : `pageSize=${size}&`;
  return `${base}${path}?${sized}currentPage=${current}`;
}

/**
 * The device or group that a body names.
 *
 * @returns whether it is a group @throws PlatformError 404 for what is neither
 */
export async function requireTarget({ platform, tenant }: ApiRequest, id: string): Promise<boolean> {
  const text = isEntityId(id) ? await platform.documents.get('managedObject', tenant, id) : undefined;
  if (text === undefined) throw new PlatformError('scoring/target-not-found', { name: id });
  const members = splitMembers(text);
  const isDynamic = members.has('c8y_IsDynamicGroup') || stringMember(members, 'type') === 'c8y_DynamicGroup';
  if (isDynamic || isGroup(members)) return true;
  if (!members.has(DEVICE_MARKER)) throw new PlatformError('scoring/target-not-found', { name: id });
  return false;
}
