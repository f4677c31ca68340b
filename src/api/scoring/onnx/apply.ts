/** Applying ONNX models and pipelines (docs/spec/scoring.md#apply-onnx). */
import type { Answer } from '../../request/answer.ts';
import type { ApiRequest } from '../../request/request.ts';
import type { Route } from '../../request/route.ts';
import type { RouteBody } from '../../request/route-rules.ts';
import { open } from '../../../model/schema/parts.ts';
import {
  FILE_BODY,
  FILE_HEADERS,
  FILE_QUERY,
  JSON_CONTENT,
  READ,
  SCORING_PATH,
  answers,
  askerOf,
  jsonText,
  onnxOf,
  readContent,
} from '../parts.ts';
import { onnxModelOf } from './models.ts';
import { pipelineOf } from './pipelines.ts';

const INPUTS_EXAMPLE = { input: [[5.1, 3.5, 1.4, 0.2]] };
const OUTPUTS_EXAMPLE = { output: [[0.97, 0.02, 0.01]] };
const BODY: RouteBody = {
  form: 'stream',
  contents: { [JSON_CONTENT]: { schema: open({}), example: INPUTS_EXAMPLE }, ...FILE_BODY.contents },
};

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

async function apply(request: ApiRequest): Promise<Answer> {
  const model = await onnxModelOf(request);
  const scoring = onnxOf(request);
  const outputs = await readContent(request, (content) => scoring.apply(askerOf(request), model, content));
  return jsonText(textOf(outputs));
}

async function applyPipeline(request: ApiRequest): Promise<Answer> {
  const pipeline = await pipelineOf(request);
  const scoring = onnxOf(request);
  const result = await readContent(request, (content) =>
    scoring.applyPipeline(request.platform, askerOf(request), pipeline, content),
  );
  return jsonText(textOf(result));
}

export function onnxApplyRoutes(): Route[] {
  const common = { method: 'POST', ...READ, query: FILE_QUERY, headers: FILE_HEADERS } as const;
  return [
    {
      ...common,
      path: `${SCORING_PATH}/onnx/apply/{modelName}`,
      summary: 'Apply an ONNX model to its inputs, which are nested arrays by their names',
      body: BODY,
      answers: [answers('The outputs by their names', open({}), OUTPUTS_EXAMPLE)],
      handle: apply,
    },
    {
      ...common,
      path: `${SCORING_PATH}/onnx/apply-pipeline/{pipelineName}`,
      summary: 'Apply a pipeline to any content, such as an image',
      body: BODY,
      answers: [answers('What the last part of the pipeline returns', open({}), { digit: 7 })],
      handle: applyPipeline,
    },
  ];
}
