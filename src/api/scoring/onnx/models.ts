/** ONNX models (docs/spec/scoring.md#onnx-models). */
import Type from 'typebox';
import type { StoredModel } from '../../../model/entities/scoring/model.ts';
import { PlatformError } from '../../../model/errors.ts';
import { Text, open } from '../../../model/schema/parts.ts';
import {
  activateModel,
  listModels,
  loadModel,
  modelInformation,
  removeModel,
  removeModels,
} from '../../../scoring/records.ts';
import { shownOnnxModel } from '../../../scoring/onnx/shown.ts';
import { attachmentHeader } from '../../http/byte-range.ts';
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

const MODELS = `${SCORING_PATH}/onnx/models`;
const MODEL = `${MODELS}/{modelName}`;
const OCTETS = 'application/octet-stream';

const Values = Type.Array(
  open({
    name: Text,
    shape: Type.Union([Type.Array(Type.Union([Type.Integer(), Text, Type.Null()])), Type.Null()]),
    type: Text,
  }),
);
const Information = open({
  modelName: Text,
  modelVersion: Type.Union([Type.Integer(), Text]),
  onnxVersion: Text,
  opsetVersions: Type.Array(Text),
  producerName: Text,
  producerVersion: Text,
  isActive: Type.Boolean(),
  inputs: Values,
  outputs: Values,
});
const EXAMPLE = {
  modelName: 'digits',
  modelVersion: 1,
  onnxVersion: '1.6',
  opsetVersions: ['ai.onnx v11'],
  producerName: 'pytorch',
  producerVersion: '1.6',
  isActive: true,
  inputs: [{ name: 'image', shape: ['N', 1, 28, 28], type: 'tensor(float)' }],
  outputs: [{ name: 'scores', shape: ['N', 10], type: 'tensor(float)' }],
};
const Names = open({ models: Type.Array(Text) });

/** The model that the path names. @throws PlatformError 404. */
export const onnxModelOf = ({ platform, tenant, params }: ApiRequest): Promise<StoredModel> =>
  loadModel(platform, tenant, 'onnx', params['modelName'] ?? '');

const remaining = async ({ platform, tenant }: ApiRequest): Promise<Answer> =>
  json({ models: await listModels(platform, tenant, 'onnx') });

async function information(request: ApiRequest, model: StoredModel): Promise<Answer> {
  const description = await modelInformation(request.platform, request.tenant, 'onnx', model.name);
  return json(shownOnnxModel(model, JSON.parse(description)));
}

async function upload(request: ApiRequest): Promise<Answer> {
  const file = await storeUpload(request);
  const { model, description } = await onnxOf(request).uploadModel(request.platform, askerOf(request), file);
  return json(shownOnnxModel(model, description), 201);
}

const activate =
  (isActive: boolean) =>
  async (request: ApiRequest): Promise<Answer> => {
    const name = request.params['modelName'] ?? '';
    return information(request, await activateModel(request.platform, askerOf(request), 'onnx', name, isActive));
  };

async function remove(request: ApiRequest): Promise<Answer> {
  await removeModel(request.platform, askerOf(request), 'onnx', request.params['modelName'] ?? '');
  return remaining(request);
}

async function removeAll(request: ApiRequest): Promise<Answer> {
  await removeModels(request.platform, askerOf(request), 'onnx');
  return remaining(request);
}

async function source(request: ApiRequest): Promise<typeof ANSWERED> {
  const { name, blob, bytes } = await onnxModelOf(request);
  const pieces = await request.platform.blobs.read(blob);
  if (pieces === undefined) throw new PlatformError('scoring/model-not-found', { name });
  const headers = ['Content-Type', OCTETS, 'Content-Disposition', attachmentHeader(`${name}.onnx`)];
  await request.sendContent(200, headers, bytes, pieces);
  return ANSWERED;
}

export function onnxModelRoutes(): Route[] {
  const one = [answers('The model', Information, EXAMPLE)];
  const names = (description: string) => [answers(description, Names, { models: ['digits'] })];
  return [
    {
      method: 'GET',
      path: MODELS,
      ...READ,
      summary: 'List the names of the ONNX models',
      answers: names('The names'),
      handle: remaining,
    },
    {
      method: 'POST',
      path: MODELS,
      ...ADMIN,
      summary: 'Upload an ONNX model; the name of its graph becomes its name',
      query: FILE_QUERY,
      headers: FILE_HEADERS,
      body: FILE_BODY,
      answers: [answers('The model, which is active', Information, EXAMPLE, 201)],
      handle: upload,
    },
    {
      method: 'DELETE',
      path: MODELS,
      ...ADMIN,
      summary: 'Delete all ONNX models',
      answers: names('None'),
      handle: removeAll,
    },
    {
      method: 'GET',
      path: MODEL,
      ...READ,
      summary: 'Read what an ONNX model is: its inputs, outputs and versions',
      answers: one,
      handle: async (request) => information(request, await onnxModelOf(request)),
    },
    {
      method: 'DELETE',
      path: MODEL,
      ...ADMIN,
      summary: 'Delete an ONNX model',
      answers: names('The names of those that are left'),
      handle: remove,
    },
    {
      method: 'PUT',
      path: `${MODEL}/activate`,
      ...ADMIN,
      summary: 'Activate an ONNX model',
      answers: one,
      handle: activate(true),
    },
    {
      method: 'PUT',
      path: `${MODEL}/deactivate`,
      ...ADMIN,
      summary: 'Deactivate an ONNX model: its memory is freed',
      answers: one,
      handle: activate(false),
    },
    {
      method: 'GET',
      path: `${MODEL}/source`,
      ...READ,
      summary: 'Download an ONNX model',
      answers: [{ status: 200, description: 'The file as it was uploaded', contentTypes: [OCTETS] }],
      handle: source,
    },
  ];
}
