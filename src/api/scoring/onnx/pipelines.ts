/** Pipelines of scripts around ONNX models (docs/spec/scoring.md#pipelines). */
import Type from 'typebox';
import { safeName } from '../../../model/entities/scoring/names.ts';
import type { StoredPipeline } from '../../../model/entities/scoring/pipeline.ts';
import { PlatformError } from '../../../model/errors.ts';
import { OPEN, Text, open } from '../../../model/schema/parts.ts';
import {
  createPipeline,
  listPipelines,
  loadPipeline,
  removePipeline,
  removePipelines,
} from '../../../scoring/onnx/pipelines.ts';
import type { Answer } from '../../request/answer.ts';
import type { ApiRequest } from '../../request/request.ts';
import type { Route } from '../../request/route.ts';
import { ADMIN, JSON_CONTENT, READ, SCORING_PATH, answers, askerOf, json } from '../parts.ts';

const PIPELINES = `${SCORING_PATH}/onnx/pipelines`;
const PIPELINE = `${PIPELINES}/{pipelineName}`;
const KEYS = ['pipelineName', 'modelName', 'preProcessing', 'postProcessing'] as const;
const REQUIRED: readonly string[] = ['pipelineName', 'modelName'];
const VALID_KEYS = `[${KEYS.map((key) => `'${key}'`).join(', ')}]`;

const OptionalText = Type.Optional(Type.Union([Text, Type.Null()]));
const Pipeline = Type.Object(
  { pipelineName: Text, preProcessing: OptionalText, modelName: Text, postProcessing: OptionalText },
  OPEN,
);
const EXAMPLE = {
  pipelineName: 'readDigits',
  preProcessing: 'image_to_array.py',
  modelName: 'digits',
  postProcessing: 'best_digit.py',
};
const List = open({ pipelines: Type.Array(Text) });

/** The pipeline that the path names. @throws PlatformError 404. */
export const pipelineOf = ({ platform, tenant, params }: ApiRequest): Promise<StoredPipeline> =>
  loadPipeline(platform, tenant, params['pipelineName'] ?? '');

const remaining = async ({ platform, tenant }: ApiRequest): Promise<Answer> =>
  json({ pipelines: (await listPipelines(platform, tenant)).map(({ pipelineName }) => pipelineName) });

const shown = ({ pipelineName, preProcessing, modelName, postProcessing }: StoredPipeline): object => ({
  pipelineName,
  preProcessing: preProcessing ?? null,
  modelName,
  postProcessing: postProcessing ?? null,
});

async function post(request: ApiRequest): Promise<Answer> {
  const pipeline = sentPipeline(request.bodyText());
  await createPipeline(request.platform, askerOf(request), pipeline);
  return json(shown(pipeline), 201);
}

/** @throws PlatformError 400 for other keys, keys that are missing, and values that are not texts. */
function sentPipeline(text: string): StoredPipeline {
  const sent = parsed(text);
  for (const key of Object.keys(sent))
    if (!KEYS.includes(key as (typeof KEYS)[number]))
      throw new PlatformError('scoring/invalid-key', { key, valid: VALID_KEYS });
  for (const key of KEYS) {
    const value = sent[key];
    const isAbsent = value === undefined || value === null || value === '';
    if (isAbsent ? REQUIRED.includes(key) : typeof value !== 'string')
      throw new PlatformError('scoring/bad-field', {
        name: key,
        value: isAbsent ? '' : JSON.stringify(value).slice(0, 100),
        limit: 'a text that is not empty',
      });
  }
  const { pipelineName, preProcessing, modelName, postProcessing } = sent as Record<
    (typeof KEYS)[number],
    string | null
  >;
  return {
    pipelineName: safeName(pipelineName ?? ''),
    modelName: safeName(modelName ?? ''),
    ...(preProcessing ? { preProcessing: safeName(preProcessing) } : {}),
    ...(postProcessing ? { postProcessing: safeName(postProcessing) } : {}),
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new PlatformError('scoring/bad-input', { reason: 'Invalid json format.' });
}

async function remove(request: ApiRequest): Promise<Answer> {
  await removePipeline(request.platform, askerOf(request), request.params['pipelineName'] ?? '');
  return remaining(request);
}

async function removeAll(request: ApiRequest): Promise<Answer> {
  await removePipelines(request.platform, askerOf(request));
  return remaining(request);
}

export function pipelineRoutes(): Route[] {
  const list = (description: string) => [answers(description, List, { pipelines: ['readDigits'] })];
  return [
    {
      method: 'GET',
      path: PIPELINES,
      ...READ,
      summary: 'List the names of the pipelines',
      answers: list('The names'),
      handle: remaining,
    },
    {
      method: 'POST',
      path: PIPELINES,
      ...ADMIN,
      summary: 'Create a pipeline: a script before a model, the model, a script behind it',
      body: { form: 'bytes', contents: { [JSON_CONTENT]: { schema: Pipeline, example: EXAMPLE } } },
      answers: [answers('The pipeline', Pipeline, EXAMPLE, 201)],
      handle: post,
    },
    {
      method: 'DELETE',
      path: PIPELINES,
      ...ADMIN,
      summary: 'Delete all pipelines',
      answers: list('None'),
      handle: removeAll,
    },
    {
      method: 'GET',
      path: PIPELINE,
      ...READ,
      summary: 'Read what a pipeline is',
      answers: [answers('The pipeline', Pipeline, EXAMPLE)],
      handle: async (request) => json(shown(await pipelineOf(request))),
    },
    {
      method: 'DELETE',
      path: PIPELINE,
      ...ADMIN,
      summary: 'Delete a pipeline',
      answers: list('The names of those that are left'),
      handle: remove,
    },
  ];
}
