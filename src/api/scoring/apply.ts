/** Applying models to records (docs/spec/scoring.md#apply). */
import Type from 'typebox';
import { PlatformError } from '../../model/errors.ts';
import { Text, open } from '../../model/schema/parts.ts';
import type { RecordFormat } from '../../scoring-workers/protocol.ts';
import type { ANSWERED, Answer } from '../request/answer.ts';
import type { ApiRequest } from '../request/request.ts';
import type { Route } from '../request/route.ts';
import type { QueryParameters } from '../request/schema/query-values.ts';
import { BATCH_PARAMETERS, ZIP_TYPE, answerBatch, batchOptions, writeBatch } from './batches.ts';
import { modelOf } from './models.ts';
import {
  BATCH_BODY,
  FILE_HEADERS,
  FILE_QUERY,
  READ,
  SCORING_PATH,
  answers,
  askerOf,
  jsonText,
  readContent,
  scoringOf,
} from './parts.ts';

const APPLY = `${SCORING_PATH}/apply/{modelName}`;
const TEXT_TYPE = 'text/plain;charset=UTF-8';
const Result = open({ model: Text, outputs: Type.Array(open({})) });
const RESULT_EXAMPLE = { model: 'Iris', outputs: [{ predictedValue: 'setosa', probability: 0.98 }] };

const RECORD: QueryParameters = {
  record: { schema: Type.String(), description: 'JSON object of input fields and their values', isRequired: false },
};
/** The answer of clients' libraries to a record that is not JSON: in the form of the framework that they know. */
function unreadable(request: ApiRequest): Answer {
  const text = JSON.stringify({
    timestamp: request.platform.now(),
    status: 500,
    error: 'Internal Server Error',
    exception: 'JsonParseException',
    message: 'The record is not a JSON object of input fields and their values',
    path: request.exchange.path,
  });
  return jsonText(text, 500);
}

/** The parameter `record`. @throws PlatformError 400 without it. */
function recordOf({ query }: ApiRequest): string {
  const record = query.text('record');
  if (record === undefined)
    throw new PlatformError('scoring/bad-field', {
      name: 'record',
      value: '',
      limit: 'a JSON object of input fields and their values',
    });
  return record;
}

async function apply(request: ApiRequest): Promise<Answer> {
  const model = await modelOf(request);
  const { tenant, principal } = request;
  // A single record is not worth to be cancelled, so it needs no signal of its own.
  const asker = { tenant, user: principal.userName };
  const output = await scoringOf(request).apply(asker, model, recordOf(request));
  if (output === undefined) return unreadable(request);
  return jsonText(`{"model":${JSON.stringify(model.name)},"outputs":[${output}]}`);
}

async function explain(request: ApiRequest): Promise<Answer> {
  const model = await modelOf(request);
  const text = await scoringOf(request).explain(askerOf(request), model, recordOf(request));
  return text === undefined ? unreadable(request) : { status: 200, text, contentType: TEXT_TYPE };
}

/** What the client accepts; undefined: the form of the input. */
function outputOf({ accept }: ApiRequest): RecordFormat | undefined {
  const kind = accept.order.find((one) => one === 'csv' || one === 'json' || one === 'any');
  return kind === 'csv' || kind === 'json' ? kind : undefined;
}

async function applyBatch(request: ApiRequest): Promise<typeof ANSWERED> {
  const model = await modelOf(request);
  const options = { ...batchOptions(request), output: outputOf(request) };
  return answerBatch(request, { modelName: model.name }, (asker, results, running) =>
    readContent(request, async (content, fileName) => {
      const batch = await scoringOf(request).openBatch(asker, model, { content, fileName }, running, options);
      return writeBatch(results, batch, model.name);
    }),
  );
}

export function applyRoutes(): Route[] {
  const common = { path: APPLY, ...READ } as const;
  return [
    {
      method: 'GET',
      ...common,
      summary: 'Apply a PMML model to one record',
      query: RECORD,
      answers: [answers('The outputs', Result, RESULT_EXAMPLE)],
      handle: apply,
    },
    {
      method: 'GET',
      ...common,
      path: `${APPLY}/explain`,
      summary: 'Tell how a PMML model comes to its outputs for one record',
      query: RECORD,
      answers: [{ status: 200, description: 'The computation, line by line', contentTypes: ['text/plain'] }],
      handle: explain,
    },
    {
      method: 'POST',
      ...common,
      summary: 'Apply a PMML model to many records: CSV with a header, or a JSON array, in ZIP or gzip too',
      query: { ...FILE_QUERY, ...BATCH_PARAMETERS },
      headers: FILE_HEADERS,
      body: BATCH_BODY,
      answers: [
        {
          status: 200,
          description: 'The outputs of all records in their order; in ZIP where the input is',
          contentTypes: ['application/json', 'text/csv', ZIP_TYPE],
          json: Result,
          example: RESULT_EXAMPLE,
        },
      ],
      handle: applyBatch,
    },
  ];
}
