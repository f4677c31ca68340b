/** Python scripts of pipelines (docs/spec/scoring.md#scripts). */
import Type from 'typebox';
import { PlatformError } from '../../../model/errors.ts';
import { Text, open } from '../../../model/schema/parts.ts';
import { requireUnused, unusedGuard } from '../../../scoring/onnx/pipelines.ts';
import { listResources, loadResource, removeResource, removeResources } from '../../../scoring/records.ts';
import { ANSWERED, type Answer } from '../../request/answer.ts';
import type { ApiRequest } from '../../request/request.ts';
import type { Route } from '../../request/route.ts';
import {
  ADMIN,
  FILE_BODY,
  FILE_HEADERS,
  FILE_QUERY,
  READ,
  SCORING_PATH,
  answers,
  askerOf,
  json,
  onnxOf,
  storeUpload,
} from '../parts.ts';

const RESOURCES = `${SCORING_PATH}/onnx/resources`;
const RESOURCE = `${RESOURCES}/{fileName}`;
const TEXT = 'text/plain';
const List = open({ resources: Type.Array(Text) });

const namesOf = async ({ platform, tenant }: ApiRequest): Promise<string[]> =>
  (await listResources(platform, tenant, 'onnx')).map(({ fileName }) => fileName);

async function upload(request: ApiRequest): Promise<Answer> {
  const file = await storeUpload(request);
  await onnxOf(request).uploadScript(request.platform, askerOf(request), file);
  return json({ resources: await namesOf(request) }, 201);
}

/** Here the answer ends with a full stop, unlike that for PMML. */
function notFound(name: string): PlatformError {
  return new PlatformError('scoring/script-not-found', { name });
}

async function source(request: ApiRequest): Promise<typeof ANSWERED> {
  const { platform, tenant, params } = request;
  const name = params['fileName'] ?? '';
  const { blob, bytes } = await loadResource(platform, tenant, 'onnx', name).catch((error: unknown) => {
    throw error instanceof PlatformError && error.status === 404 ? notFound(name) : error;
  });
  const pieces = await platform.blobs.read(blob);
  if (pieces === undefined) throw notFound(name);
  const headers = ['Content-Type', `${TEXT};charset=UTF-8`, 'X-Content-Type-Options', 'nosniff'];
  await request.sendContent(200, headers, bytes, pieces);
  return ANSWERED;
}

async function remove(request: ApiRequest): Promise<Answer> {
  const { platform, tenant, params } = request;
  const name = params['fileName'] ?? '';
  await removeResource(platform, askerOf(request), 'onnx', name, () => unusedGuard(platform, tenant, name));
  return json({ resources: await namesOf(request) });
}

async function removeAll(request: ApiRequest): Promise<Answer> {
  const { platform, tenant } = request;
  await requireUnused(platform, tenant, await namesOf(request));
  // A pipeline may be stored meanwhile.
  await removeResources(platform, askerOf(request), 'onnx', (name) => () => unusedGuard(platform, tenant, name));
  return json({ resources: await namesOf(request) });
}

export function scriptRoutes(): Route[] {
  const list = (description: string, status = 200) => [
    answers(description, List, { resources: ['image_to_array.py'] }, status),
  ];
  return [
    {
      method: 'GET',
      path: RESOURCES,
      ...READ,
      summary: 'List the scripts of pipelines',
      answers: list('The names'),
      handle: async (request) => json({ resources: await namesOf(request) }),
    },
    {
      method: 'POST',
      path: RESOURCES,
      ...ADMIN,
      summary: 'Upload a Python script with a function process(content)',
      query: FILE_QUERY,
      headers: FILE_HEADERS,
      body: FILE_BODY,
      answers: list('The names of all scripts', 201),
      handle: upload,
    },
    {
      method: 'DELETE',
      path: RESOURCES,
      ...ADMIN,
      summary: 'Delete all scripts, unless a pipeline needs one',
      answers: list('None'),
      handle: removeAll,
    },
    {
      method: 'GET',
      path: RESOURCE,
      ...READ,
      summary: 'Read a script',
      answers: [{ status: 200, description: 'The text of the script', contentTypes: [TEXT] }],
      handle: source,
    },
    {
      method: 'DELETE',
      path: RESOURCE,
      ...ADMIN,
      summary: 'Delete a script, unless a pipeline needs it',
      answers: list('The names of those that are left'),
      handle: remove,
    },
  ];
}
