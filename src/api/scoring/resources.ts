/** Resource files of PMML models (docs/spec/scoring.md#resources). */
import Type from 'typebox';
import { RESOURCE_IDENTIFIERS, type StoredResource } from '../../model/entities/scoring/model.ts';
import { PlatformError } from '../../model/errors.ts';
import { Text, open } from '../../model/schema/parts.ts';
import { listResources, loadResource, removeResource, removeResources } from '../../scoring/records.ts';
import { attachmentHeader } from '../http/byte-range.ts';
import { ANSWERED, type Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
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
  scoringOf,
  storeUpload,
} from './parts.ts';

const RESOURCES = `${SCORING_PATH}/resources`;
const RESOURCE = `${SCORING_PATH}/resource/{fileName}`;
const OCTETS = 'application/octet-stream';

const Resource = open({
  fileName: Text,
  resourceType: Text,
  resourceIdentifier: Text,
  resourceNames: Type.Array(Text),
});
const EXAMPLE = {
  fileName: 'codes.csv',
  resourceType: 'Lookup Tables',
  resourceIdentifier: 'Table Name',
  resourceNames: ['codes'],
};
const List = open({ resources: Type.Array(Resource) });

const shown = ({ fileName, type, names }: StoredResource): object => ({
  fileName,
  resourceType: type,
  resourceIdentifier: RESOURCE_IDENTIFIERS[type] ?? '',
  resourceNames: names,
});

const resourceOf = ({ platform, tenant, params }: ApiRequest): Promise<StoredResource> =>
  loadResource(platform, tenant, 'pmml', params['fileName'] ?? '');

const remaining = async ({ platform, tenant }: ApiRequest): Promise<Answer> =>
  json({ resources: (await listResources(platform, tenant, 'pmml')).map(shown) });

async function upload(request: ApiRequest): Promise<Answer> {
  const file = await storeUpload(request);
  return json(shown(await scoringOf(request).uploadResource(request.platform, askerOf(request), file)), 201);
}

async function source(request: ApiRequest): Promise<typeof ANSWERED> {
  const { fileName, blob, bytes } = await resourceOf(request);
  const pieces = await request.platform.blobs.read(blob);
  if (pieces === undefined) throw new PlatformError('scoring/resource-not-found', { name: fileName });
  const headers = ['Content-Type', OCTETS, 'X-Content-Type-Options', 'nosniff'];
  await request.sendContent(200, [...headers, 'Content-Disposition', attachmentHeader(fileName)], bytes, pieces);
  return ANSWERED;
}

async function remove(request: ApiRequest): Promise<Answer> {
  await removeResource(request.platform, askerOf(request), 'pmml', request.params['fileName'] ?? '');
  return remaining(request);
}

async function removeAll(request: ApiRequest): Promise<Answer> {
  await removeResources(request.platform, askerOf(request), 'pmml');
  return remaining(request);
}

export function resourceRoutes(): Route[] {
  const list = (description: string) => [answers(description, List, { resources: [EXAMPLE] })];
  return [
    {
      method: 'GET',
      path: RESOURCES,
      ...READ,
      summary: 'List the resource files of PMML models',
      answers: list('All resource files'),
      handle: remaining,
    },
    {
      method: 'DELETE',
      path: RESOURCES,
      ...ADMIN,
      summary: 'Delete all resource files of PMML models',
      answers: list('Those that are left: none'),
      handle: removeAll,
    },
    {
      method: 'POST',
      path: `${SCORING_PATH}/resource`,
      ...ADMIN,
      summary: 'Upload a resource file: functions (JavaScript; JAR is kept and not run), or lookup tables (XLSX, CSV)',
      query: FILE_QUERY,
      headers: FILE_HEADERS,
      body: FILE_BODY,
      answers: [answers('The resource file', Resource, EXAMPLE, 201)],
      handle: upload,
    },
    {
      method: 'GET',
      path: RESOURCE,
      ...READ,
      summary: 'Read what is in a resource file',
      answers: [answers('The resource file', Resource, EXAMPLE)],
      handle: async (request) => json(shown(await resourceOf(request))),
    },
    {
      method: 'DELETE',
      path: RESOURCE,
      ...ADMIN,
      summary: 'Delete a resource file',
      answers: list('Those that are left'),
      handle: remove,
    },
    {
      method: 'GET',
      path: `${RESOURCE}/source`,
      ...READ,
      summary: 'Download a resource file',
      answers: [{ status: 200, description: 'The file', contentTypes: [OCTETS] }],
      handle: source,
    },
  ];
}
